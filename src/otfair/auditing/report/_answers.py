"""What readers want to know first: who is worse off, by how much, and whether it may be chance.

The page, the cell of a notebook and the command line begin with these sentences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from otfair.auditing._results import Decisions, Gap, GroupDecisions
from otfair.auditing._violations import MAX_WIDTH
from otfair.auditing.report._words import called, interval

if TYPE_CHECKING:
    from otfair.auditing._audit import Audit

SHOWN_SMALL = 6  # groups that are too small to say, by name
MOST = 10**6  # people that shares are told of


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What is said first of one attribute."""

    attribute: str  #: Name of the attribute.
    title: str  #: Who is worst and best off, in a few words that name the attribute.
    gap: str  #: By how much, in people.
    chance: str = ""  #: Whether chance explains it, and how sure it is; "" where nothing is said.
    others: tuple[str, ...] = ()  #: Wrong decisions, groups too small to say, advice.

    @property
    def sentences(self) -> tuple[str, ...]:
        """All but the title."""
        return tuple(text for text in (self.gap, self.chance, *self.others) if text)


def answers(audit: Audit) -> tuple[Answer, ...]:
    """Return what an audit says first: who is worse off, by how much, and whether by chance.

    Parameters
    ----------
    audit : Audit
        What `otfair.audit` found.

    Returns
    -------
    tuple of Answer
        One for each attribute.

    Examples
    --------
    >>> import otfair
    >>> from otfair.auditing import answers
    >>> data = otfair.load_dataset("synthetic", n=500)
    >>> found = otfair.audit(
    ...     data.truth.scores, sensitive_features=data.sensitive_features["sex"], favourable=1
    ... )
    >>> (answer,) = answers(found)
    >>> answer.title
    'sex = Female is worse off than sex = Male'
    """
    return tuple(_answer(audit, one) for one in audit.decisions)


def favourable_sentence(audit: Audit) -> str:
    """Say which decision is favourable, or ask."""
    record, (_, being, decision) = audit.record, _words_of(audit)
    if record.favourable is None:
        return (
            f"Say with --favourable 1 or 0 (in Python, favourable=) whether {being} {decision} is "
            "good for people (1) or bad (0): names don't tell. Until then groups are called lowest "
            "and highest, not worst and best off."
        )
    good = decision if record.favourable else f"not {decision}"
    guessed = record.settings["favourable"] is None
    doubt = ", as names suggest; --favourable (in Python, favourable=) overrules it" * guessed
    return f"The favourable decision is: {good}{doubt}."


def _words_of(audit: Audit) -> tuple[str, str, str]:
    """Return what people are who are decided positively: the verb, once as a noun, and the rest."""
    record, threshold = audit.record, float(str(audit.record.settings["threshold"]))
    if record.outcome:
        return "are", "being", f"predicted {record.outcome}"
    if threshold < 1 and audit.people.are_decisions:
        return "have", "having", f"{record.score} = 1"
    return "have", "having", f"{record.score} above {threshold:.6g}"


def _answer(audit: Audit, decisions: Decisions) -> Answer:
    gap = decisions.gap
    if gap is None:
        return _too_few(audit, decisions)
    if gap.worst_figure.value == gap.best_figure.value in (0.0, 1.0):
        return _alike(audit, decisions)
    return Answer(
        attribute=decisions.attribute,
        title=_title(audit, decisions, gap),
        gap=_in_people(audit, decisions, gap),
        chance=_chance(audit, gap),
        others=(*_errors(audit, decisions), *_small(decisions)),
    )


def _title(audit: Audit, decisions: Decisions, gap: Gap) -> str:
    worst, best = _ends(decisions, gap)
    if gap.difference.value == 0:
        return f"{decisions.attribute}: no difference between groups"
    if gap.by_chance:
        return f"{decisions.attribute}: chance may explain the difference between groups"
    if audit.record.favourable is None:
        return f"{worst} is lowest, {best} highest"
    if sum(not group.small for group in decisions.groups) == 2:
        return f"{worst} is worse off than {best}"
    return f"{worst} is worst off, {best} best off"


def _ends(decisions: Decisions, gap: Gap) -> tuple[str, str]:
    """Return what the groups that fare worst and best are called."""
    return called(decisions.attribute, gap.worst), called(decisions.attribute, gap.best)


def _in_people(audit: Audit, decisions: Decisions, gap: Gap) -> str:
    """Say how large a gap of decisions is, in people."""
    (worst, best), (verb, _, decision) = _ends(decisions, gap), _words_of(audit)
    ours, theirs, less = gap.worst_figure.value, gap.best_figure.value, "fewer"
    what = f"{verb} {decision}"
    if audit.record.favourable is not None:
        what = f"get the favourable decision ({decision})"
    if audit.record.favourable == 0:  # told by the decision that people want to avoid
        ours, theirs, less = 1 - ours, 1 - theirs, "more"
        what = f"get the unfavourable decision ({decision})"
    of = _people(audit, gap)
    ours, theirs = round(ours * of), round(theirs * of)
    if abs(ours - theirs) == 1:
        what = {"get": "gets", "have": "has", "are": "is"}[what.split()[0]] + what[
            what.index(" ") :
        ]
    if ours == theirs:
        return f"Of {of} people with {worst}, as many {what} as of {of} with {best}: {ours}."
    return (
        f"Of {of} people with {worst}, {abs(ours - theirs)} {less} {what} than of {of} with "
        f"{best}: {ours} against {theirs}."
    )


def _people(audit: Audit, gap: Gap) -> int:
    """Return of how many people shares are told, so that they are not all nothing."""
    most, of = max(gap.worst_figure.value, gap.best_figure.value), 1000
    if audit.record.favourable == 0:  # it is the others who are counted
        most = 1 - min(gap.worst_figure.value, gap.best_figure.value)
    while of < MOST and (most * of < 10 or 0 < gap.difference.value * of < 1):
        of *= 10
    return of


def _chance(audit: Audit, gap: Gap) -> str:
    """Say whether chance explains a gap of decisions, and how sure it is."""
    what = "" if audit.record.favourable is None else " of favourable decisions"
    ratio = f"Ratio{what}: {interval(gap.ratio, '.2f')}."
    if gap.by_chance is None:
        return f"Whether chance explains it was not measured, without resamples. {ratio}"
    of = _people(audit, gap)
    low, high, most = (
        f"{round(x * of)}".replace("-", "\N{MINUS SIGN}")
        for x in (gap.difference.low, gap.difference.high, gap.chance)
    )
    verdict = "Chance may explain it" if gap.by_chance else "This is more than chance explains"
    if gap.difference.value == 0:
        verdict = "This does not prove that there is none"
    return (
        f"{verdict}: between groups of these sizes, gaps of up to {most} in {of} come about by "
        f"chance. 95 % interval of the gap: {low} to {high}. {ratio}"
    )


def _errors(audit: Audit, decisions: Decisions) -> list[str]:
    """Say who is wronged most, where that is known."""
    gap = decisions.error_gap
    if gap is None:
        return []
    of, actual = 1000, audit.people.outcomes[int(audit.record.favourable == 1)]
    many, few = (round(e.value * of) for e in (gap.worst_figure, gap.best_figure))
    worst, best = _ends(decisions, gap)
    said = (
        f"Wrong decisions: of {of} people with {worst} and {actual}, {many} get the unfavourable "
        f"decision, against {few} with {best}; {_in_brief(gap)}."
    )
    return [said]


def _in_brief(gap: Gap) -> str:
    if gap.by_chance is None:
        return "whether by chance was not measured"
    return "chance may explain it" if gap.by_chance else "more than chance explains"


def _small(decisions: Decisions) -> list[str]:
    """Name the groups that are too small to say."""
    few = sorted((g for g in decisions.groups if g.small), key=lambda g: -g.people)
    return [f"Too few people to say: {_listed(decisions, few)}."] if few else []


def _listed(decisions: Decisions, groups: Sequence[GroupDecisions]) -> str:
    names = [f"{called(decisions.attribute, g.group)} ({g.people:,})" for g in groups]
    more = f", and {len(names) - SHOWN_SMALL} more groups" if len(names) > SHOWN_SMALL else ""
    return ", ".join(names[:SHOWN_SMALL]) + more


def _too_few(audit: Audit, decisions: Decisions) -> Answer:
    """Answer that groups can't be compared."""
    large = [called(decisions.attribute, g.group) for g in decisions.groups if not g.small]
    who = f"Only {large[0]} is" if large else "No group is"
    return Answer(
        attribute=decisions.attribute,
        title=f"{decisions.attribute}: too few people to compare groups",
        gap=f"{who} large enough to speak of, which takes {audit.record.settings['min_people']} "
        f"people and an interval of the rate no wider than {MAX_WIDTH:g}.",
        others=tuple(_small(decisions)),
    )


def _alike(audit: Audit, decisions: Decisions) -> Answer:
    """Answer by mean scores, as the threshold does not tell people apart."""
    gap, (verb, _, decision), record = decisions.score_gap, _words_of(audit), audit.record
    assert gap is not None  # as decisions have one
    rate = next(g.rates["selection_rate"].value for g in decisions.groups if not g.small)
    who = "everybody" if rate else "nobody"
    worst, best = _ends(decisions, gap)
    off = "lowest" if record.favourable is None else "worst off"
    title = f"{decisions.attribute}: all are decided alike at this threshold; "
    title += (
        "chance may explain mean scores" if gap.by_chance else f"by mean score {worst} is {off}"
    )
    ends = f"{gap.worst_figure.value:.3f} with {worst}, {gap.best_figure.value:.3f} with {best}"
    advice = (
        "To compare decisions, pass another --threshold (in Python, threshold=): the median score "
        f"is {audit.people.median_score:.3g}."
    )
    return Answer(
        attribute=decisions.attribute,
        title=title,
        gap=f"At the threshold {record.settings['threshold']:.6g} {who} "
        f"{'is' if verb == 'are' else 'has'} {decision}, so mean scores are compared: {ends}.",
        chance=f"Their difference is {interval(gap.difference)}; {_in_brief(gap)}.",
        others=(advice, *_small(decisions)),
    )
