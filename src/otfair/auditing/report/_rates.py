"""Decisions of one attribute as the page shows them: tables, a chart, and counts for its slider."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from otfair._io.rendering import to_json
from otfair.auditing._results import RATES, Decisions, GroupDecisions
from otfair.auditing._violations import MAX_WIDTH
from otfair.auditing.report import _charts
from otfair.auditing.report._words import called

SHOWN_CURVES = 8  # of the largest groups, as many as colours can tell apart


@dataclass(frozen=True, kw_only=True)
class RatesView:
    """What a template needs to show the decisions of one attribute."""

    against: str  # the reference group
    reference: str  # what it is called
    rates: dict[str, str]  # by name, what they are called
    groups: list[tuple[GroupDecisions, str]]  # and what they are called
    curves: list[str]  # names of the groups that are drawn
    hidden: int  # how many are not
    own: int  # which threshold is the audit's
    counts: str  # JSON; "" where thresholds make no difference
    chart: Markup


def rates_view(decisions: Decisions, threshold: float, least: int) -> RatesView:
    """Return how the page shows decisions; curves need as many people as are `least`."""
    groups, own = decisions.groups, decisions.thresholds.index(threshold)
    names = [called(decisions.attribute, group.group) for group in groups]
    rates = {rate: title for rate, title in RATES.items() if rate in groups[0].rates}
    large = [k for k, group in enumerate(groups) if not group.small]
    largest = sorted(large, key=lambda k: -groups[k].people)[:SHOWN_CURVES]
    drawn = [k for k in large if k in largest]
    decided = any(len({*group.above[:-1]}) > 1 for group in groups)  # by the threshold
    return RatesView(
        against=decisions.reference,
        reference=called(decisions.attribute, decisions.reference),
        rates=rates,
        groups=[*zip(groups, names)],
        curves=[names[k] for k in drawn],
        hidden=len(groups) - len(drawn),
        own=own,
        counts=_counts(decisions, list(rates), own, least) if decided else "",
        chart=_charts.selection([(k, groups[k], names[k]) for k in drawn], decisions, threshold),
    )


def _counts(decisions: Decisions, rates: list[str], own: int, least: int) -> str:
    """Return the counts that all rates follow from at all thresholds; they hold no text."""
    names = [group.group for group in decisions.groups]
    data = {
        "thresholds": decisions.thresholds,
        "own": own,
        "least": least,
        "widest": MAX_WIDTH,
        "rates": len(rates),
        "reference": names.index(decisions.reference),
        "square": [_charts.LEFT, _charts.SIDE, _charts.BOTTOM],
        "groups": [
            {
                "weight": _number(g.weight), "worth": _number(g.worth),
                "positive": _number(g.positive), "above": [*map(_number, g.above)],
                "right": [*map(_number, g.positive_above)],
            }
            for g in decisions.groups
        ],
    }  # fmt: skip
    return to_json(data).replace(" ", "")


def _number(x: float) -> float | int:
    """Return a whole number as such, and others in nine digits."""
    return int(x) if x == int(x) else float(f"{x:.9g}")
