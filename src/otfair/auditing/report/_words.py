"""What the report says: findings in sentences, figures as readers like them."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from markupsafe import Markup

from otfair.auditing._results import TWINS, Cost, Finding, Group, Status, Violation
from otfair.auditing.costs._solving import TOLL
from otfair.metrics import Estimate

MAX_LETTERS = 80  # of a value
SMALLEST_COST = 1e-4  # figures of a smaller one tell readers nothing


def sentence(cost: Cost) -> str:
    """Say what the cost means."""
    if cost.exact is None or cost.moved is None or cost.distance is None:
        least = percent(cost.least_moved.value)
        return f"To be fair, at least {least} of all score must move to other people."
    if cost.moved == 0:
        return "The scores are fair as they are: no score must move."
    pass_on = f"To be fair in the cheapest way, {percent(cost.moved)} of all score must move to"
    about = "about " * bool(cost.sampling)
    to = f"other people, on average to somebody {about}{_unlike(cost.distance)}"
    to = "twins: people who are alike in every column compared" if cost.distance <= TWINS else to
    found = cost.with_bound
    if not cost.looks_free or (found and found.value < SMALLEST_COST):
        return f"{pass_on} {to}."
    instead = f"; if they may not, it costs up to about {decimal(found.value)}" if found else ""
    return f"{pass_on} {to}. That looks free only as these may end with scores above one{instead}."


def _unlike(distance: float) -> str:
    """Say how different two people are, as a share of the typical distance between two."""
    if distance < 0.005:
        return "almost alike in the columns compared"
    if distance < 0.995:
        return f"{100 * distance:.0f} % as different as two people picked at random"
    if distance < 1.05:
        return "as different as two people picked at random"
    return f"{distance:.1f} times as different as two people picked at random"


def exactly(cost: Cost) -> str:
    """Say the same in figures; "" where there are none, or nothing moves."""
    if cost.exact is None or not cost.moved or cost.distance is None:
        return ""
    about = "about " * bool(cost.sampling)
    return (
        f"In figures: {100 * cost.moved:.3g} % of all score moves, over {about}"
        f"{decimal(cost.distance)} of the typical (median) distance between two people, at an OTF "
        f"cost of {decimal(cost.exact.value)}."
    )


def why_free(cost: Cost) -> str:
    """Say why unfair scores seem to cost nothing, and what they cost really; "" elsewhere."""
    if cost.bounded and cost.moved and cost.distance is not None and cost.distance <= TWINS:
        return (
            f"A cost of 0 does not mean that the scores are fair: {percent(cost.moved)} of all "
            "score must move to other people. It is 0 as enough of them have a twin, alike in "
            "every column compared, in another group."
        )
    if not cost.looks_free or cost.piled is None:
        return ""
    twins = cost.to_twins
    alike = "people who are alike in every column compared" if twins > 0.9995 else (
        "people who are nearly alike" if twins < 0.0005 else
        f"people who are alike ({percent(twins)} of what moves goes to twins, who are so in every "
        "column compared)"
    )  # fmt: skip
    said = (
        "A cost this low does not mean that the scores are nearly fair: at least "
        f"{percent(cost.least_moved.value)} of all score must move to other people. It is low as "
        f"this plan may hand any amount of score to {alike}; one person would end with "
        f"{cost.piled:.1f}."
    )
    found = cost.with_bound
    if found is None:
        return f"{said} The bounded cost, in which nobody ends above one, was not computed."
    who = f"of {found.people:,} people drawn to stand for all"
    if found.value < SMALLEST_COST:
        return (
            f"{said} It stays so low if nobody may end above one ({who}): enough people have a "
            "twin, or nearly, whom the notion compares them with."
        )
    assert cost.exact is not None
    low, high = decimal(cost.exact.value), decimal(found.value)
    return (
        f"{said} If nobody may end above one, the cost lies between {low} and about {high}. The "
        f"latter is that {who}, fewer of whom are near each other; {percent(found.moved)} of "
        f"their score moves, and without the bound they cost {decimal(found.unbounded)}."
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
    if status.figure.value != status.figure.value or (status.too_few and not status.sure):
        return f"{what}: too few people to hold it against the limit, {limit}"
    if not status.beyond:
        return f"{what}: within the limit, {limit}"
    doubt = "" if status.sure else ", but by no more than chance explains"
    return f"{what}: {side} the limit, {limit}{doubt}"


def status_kind(status: Status) -> str:
    """Return the class of a status on the page, which gives it its mark and colour."""
    if status.sure:
        return "beyond"
    unknown = status.figure.value != status.figure.value
    return "unsure" if unknown or status.beyond or status.too_few else "within"


def sort_statuses(statuses: Sequence[Status]) -> list[Status]:
    """Return what is beyond a limit first, then what is unsure."""
    kinds = ["beyond", "unsure", "within"]
    return sorted(statuses, key=lambda status: kinds.index(status_kind(status)))


def figure_range(finding: Finding) -> str:
    """Say who has the lowest and who the highest mean score, where they are furthest apart.

    For predictive parity it is precision. Groups that are too small to say are left out; "" where
    no two others can be compared.
    """
    strata: dict[str, list[Group]] = {}
    for group in finding.violation.groups:
        if not group.small:
            strata.setdefault(group.stratum, []).append(group)
    pairs = [
        tuple(pick(groups, key=lambda g: g.figure.value) for pick in (min, max))
        for groups in strata.values()
        if len(groups) > 1
    ]
    if not pairs:
        return ""
    low, high = max(pairs, key=lambda pair: pair[1].figure.value - pair[0].figure.value)
    of = f" of people with {low.stratum}" if low.stratum else ""
    said = [f"{g.figure.value:.3f} ({called(finding.attribute, g.group)})" for g in (low, high)]
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
    """Leave the attribute's own name out of the name of a group or type, where words are left."""
    rest = name.removeprefix(f"{finding.attribute}=")
    return rest if any(map(str.isalpha, rest)) else called(finding.attribute, name)


def called(attribute: str, group: str) -> str:
    """Return the name of a group with that of its column, such as "sex = Female", cut if too long.

    Examples
    --------
    >>> called("sex & race", "sex=Female & race=Black")
    'sex = Female & race = Black'
    >>> called("age", "age 20 to 30")
    'age 20 to 30'
    """
    columns = [attribute] if group.startswith(f"{attribute}=") else attribute.split(" & ")
    out, rest = "", group
    for k, column in enumerate(columns):
        before, found, after = rest.partition(f"{' & ' if k else ''}{column}=")
        if not found or (k == 0 and before):
            return brief(group)
        out, rest = f"{out}{before}{found[:-1]} = ", after
    return brief(out + rest)


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


def rate_cell(e: Estimate, unsure: bool, form: str = ".3f", between: str = " to ") -> Markup | str:
    """Write a figure for the cell of a table, with a question mark where too few people tell it."""
    value, ends = _figures(e, form)
    mark = "?" if unsure and value != "–" else ""
    tag = Markup('{}{} <span class="ci">{}</span>')
    return tag.format(value, mark, ends.replace(" to ", between))


def _figures(e: Estimate | None, form: str) -> tuple[str, str]:
    """Return the value and the ends of its interval, "" where it has none."""
    if e is None or not isfinite(e.value):
        return "–", ""
    value, low, high = (
        decimal(x) if form == "cost" else f"{100 * x:.1f}" if form == "%" else f"{x:{form}}"
        for x in (e.value, e.low, e.high)
    )
    unit = " %" if form == "%" else ""
    value = percent(e.value) if form == "%" else value
    return value, "" if e.low != e.low else f"{low} to {high}{unit}"
