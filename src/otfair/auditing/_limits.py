"""Limits that users set, and how an audit's figures stand to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
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


def judge(
    findings: Iterable[Finding],
    limits: Sequence[Limit],
    min_people: int = 1,
    numbers: Collection[str] = (),
) -> tuple[Status, ...]:
    """Return how each finding stands to each limit that speaks of it.

    None is surely beyond one where no two groups have `min_people`. The violation of an attribute
    of `numbers` compares no groups.
    """
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
        _status(
            finding,
            limit,
            (limit.criterion == "violation" and finding.attribute in numbers)
            or _most_groups(finding.violation, min_people) > 1,
        )
        for limit in limits
        for finding in found
        if limit.notion in ("", finding.notion)
    )


def _most_groups(violation: Violation, min_people: int) -> int:
    """Return how many groups of so many people are compared with each other, at most."""
    many = Counter(g.stratum for g in violation.groups if g.people >= min_people)
    return max(many.values(), default=0)


def _status(finding: Finding, limit: Limit, enough: bool) -> Status:
    figure, beyond, sure = _stands(finding.violation, limit)
    few = limit.criterion != "violation" and finding.violation.too_few
    return Status(
        criterion=limit.criterion,
        limit=limit.bound,
        notion=finding.notion,
        attribute=finding.attribute,
        figure=figure,
        beyond=beyond,
        sure=sure and enough,
        too_few=few or (beyond and not enough),
    )


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
