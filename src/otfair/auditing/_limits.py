"""Limits that users set, and how an audit's figures stand to them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from otfair._io.arrays import ArgumentError
from otfair._io.settings import check_real
from otfair.auditing._results import Finding, Status, Violation
from otfair.metrics import Estimate

CRITERIA = ("violation", "difference", "ratio")


@dataclass(frozen=True, kw_only=True)
class Limit:
    """What a figure may be at most or, for a ratio, at least."""

    criterion: str  #: "violation", "difference" or "ratio"; the latter two are of decisions.
    bound: float  #: From 0 to 1.
    notion: str = ""  #: The notion that it is set for; "" for all that are audited.

    def __post_init__(self) -> None:
        if self.criterion not in CRITERIA:
            raise ArgumentError(
                "criterion", f"must be one of {', '.join(CRITERIA)}; received {self.criterion!r}."
            )
        check_real("bound", self.bound, 0, 1)


def judge(findings: Iterable[Finding], limits: Sequence[Limit]) -> tuple[Status, ...]:
    """Return how each finding stands to each limit that speaks of it."""
    found = tuple(findings)
    names = {finding.notion for finding in found}
    for limit in limits:
        if limit.notion and limit.notion not in names:
            raise ArgumentError(
                "limits",
                f"has one for {limit.notion!r}, which is not audited; audited are "
                f"{', '.join(sorted(names))}. Ask for this notion too.",
            )
    return tuple(
        _status(finding, limit)
        for limit in limits
        for finding in found
        if limit.notion in ("", finding.notion)
    )


def _status(finding: Finding, limit: Limit) -> Status:
    figure, beyond, sure = _stands(finding.violation, limit)
    return Status(
        criterion=limit.criterion, limit=limit.bound, notion=finding.notion,
        attribute=finding.attribute, figure=figure, beyond=beyond, sure=sure,
        too_few=limit.criterion != "violation" and finding.violation.too_few,
    )  # fmt: skip


def _stands(violation: Violation, limit: Limit) -> tuple[Estimate, bool, bool]:
    """Return a figure, whether it is beyond the limit, and whether by more than chance."""
    if limit.criterion == "ratio":
        figure = violation.rate_ratio
        beyond, measured = figure.value < limit.bound, figure.low == figure.low
        # The smallest ratio is smaller in most resamples: reflecting its interval undoes that.
        most = max(2 * figure.value - figure.low, figure.high)
        return figure, beyond, beyond and (not measured or most < limit.bound)
    figure, chance = violation.rate_difference, violation.rate_chance
    if limit.criterion == "violation":
        figure, chance = violation.among_large, violation.chance
    beyond, measured = figure.value > limit.bound, chance == chance
    return figure, beyond, beyond and (not measured or figure.value - chance > limit.bound)
