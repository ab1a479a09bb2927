"""What the report says: findings in sentences, figures as readers like them."""

from __future__ import annotations

from markupsafe import Markup

from otfair.auditing._results import Cost, Finding, Group, Status, Violation
from otfair.auditing.costs._solving import TOLL
from otfair.metrics import Estimate

MAX_LETTERS = 80  # of a value
SMALLEST_COST = 1e-4  # figures of a smaller one tell readers nothing


def sentence(cost: Cost) -> str:
    """Say what the cost means."""
    if cost.exact is None or cost.moved is None or cost.distance is None:
        return f"To be fair, at least {percent(cost.least_moved.value)} of all score must move."
    if cost.moved == 0:
        return "The scores are fair as they are: no score must move."
    far = f"{cost.distance:.2f}" if cost.distance >= 0.005 else "less than 0.01"
    far = f"about {far}" if cost.sampling and cost.distance >= 0.005 else far
    return (
        f"To be fair in the cheapest way, {percent(cost.moved)} of all score must move, over {far} "
        "of the typical distance between two people."
    )


def verdict(violation: Violation) -> str:
    """Say whether a violation is more than chance."""
    value, chance = violation.value.value, violation.chance
    if chance != chance:
        return "what chance explains was not measured"
    if value <= chance:
        return f"no more than chance explains ({chance:.3f})"
    few = [g for g in violation.groups if g.small and violation.worst in (g.group, g.whole)]
    unsure = f", but {violation.worst} has too few people to say" if few else ""
    return f"more than chance explains ({chance:.3f}){unsure}"


def status_sentence(status: Status) -> str:
    """Say how a figure stands to a limit."""
    value, limit = f"{status.figure.value:.3f}", f"{status.limit:g}"
    of = "" if status.criterion == "violation" else " of decisions"
    what = f"{status.attribute}, {status.notion}: {status.criterion}{of} {value}"
    side = "below" if status.criterion == "ratio" else "above"
    if status.figure.value != status.figure.value:
        return f"{what}: too few people to hold it against the limit, {limit}"
    if not status.beyond:
        return f"{what}: within the limit, {limit}"
    doubt = "" if status.sure else ", but by no more than chance explains"
    return f"{what}: {side} the limit, {limit}{doubt}"


def figure_range(finding: Finding) -> str:
    """Say who has the lowest and who the highest mean score, where they are furthest apart.

    For predictive parity it is precision.
    """
    strata: dict[str, list[Group]] = {}
    for group in finding.violation.groups:
        strata.setdefault(group.stratum, []).append(group)
    pairs = [
        tuple(pick(groups, key=lambda g: g.figure.value) for pick in (min, max))
        for groups in strata.values()
    ]
    low, high = max(pairs, key=lambda pair: pair[1].figure.value - pair[0].figure.value)
    of = f" of people with {low.stratum}" if low.stratum else ""
    said = [
        f"{g.figure.value:.3f} ({short(finding, g.group)}{', too few to say' * g.small})"
        for g in (low, high)
    ]
    what = "Mean scores" if low.precision is None else "Precision of scores"
    return f"{what}{of} {'go' if low.precision is None else 'goes'} from {said[0]} to {said[1]}."


def notion_title(finding: Finding) -> str:
    """Return what a finding's notion is called, as the beginning of a sentence."""
    return finding.facts.title[:1].upper() + finding.facts.title[1:]


def certificate(gap: float) -> str:
    """Say how far a plan may be from the cheapest one."""
    if gap < TOLL:
        return "optimal: its duality gap is below 0.000001"
    return f"no plan is cheaper by more than {gap:.1e} (duality gap)"


def short(finding: Finding, name: str) -> str:
    """Leave the attribute's own name out of the name of a group or type."""
    return name.removeprefix(f"{finding.attribute}=")


def brief(text: str) -> str:
    """Cut text that is too long for a table."""
    return text if len(text) <= MAX_LETTERS else f"{text[: MAX_LETTERS - 1]}…"


def percent(share: float) -> str:
    """Write a share in per cent."""
    return "less than 0.1 %" if 0 < share < 0.0005 else f"{100 * share:.1f} %"


def decimal(value: float) -> str:
    """Write a cost in three digits, without powers of ten; less than the toll is nothing."""
    if abs(value) < TOLL:
        return "0"
    return "< 0.0001" if abs(value) < SMALLEST_COST else f"{value:.3g}"


def interval(e: Estimate | None, form: str = ".3f") -> str:
    """Write a figure with its interval in one line; `form` may be "cost" or "%" too."""
    value, ends = _figures(e, form)
    return f"{value} ({ends})" if ends else value


def cell(e: Estimate | None, form: str = ".3f") -> Markup | str:
    """Write a figure with its interval below it, for the cell of a table."""
    value, ends = _figures(e, form)
    return Markup('{} <span class="ci">{}</span>').format(value, ends) if ends else value


def _figures(e: Estimate | None, form: str) -> tuple[str, str]:
    """Return the value and the ends of its interval, "" where it has none."""
    if e is None or e.value != e.value:
        return "–", ""
    value, low, high = (
        decimal(x) if form == "cost" else f"{100 * x:.1f}" if form == "%" else f"{x:{form}}"
        for x in (e.value, e.low, e.high)
    )
    unit = " %" if form == "%" else ""
    value = percent(e.value) if form == "%" else value
    return value, "" if e.low != e.low else f"{low} to {high}{unit}"
