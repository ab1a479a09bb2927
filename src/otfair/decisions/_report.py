"""How groups fare under a rule, what it costs, and what is said where a limit is not sure."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from otfair.decisions._limits import Family
from otfair.decisions._margin import Promise, errors
from otfair.decisions._rows import Row
from otfair.decisions._smooth import Sample
from otfair.decisions._tuning import TOLERANCE
from otfair.metrics import LimitWarning

BY_HEART = 0.8  # of how far models of folds are off
DOUBT = 3.0  # errors of a new sample, by which final models may miss limits
TIED = 0.002  # a share of people with one margin that may be why limits are missed


@dataclass(frozen=True)
class GroupRate:
    """How a group fares: its rate before and after, of the people who tuned the rule."""

    name: str  # such as "sex=Female | y=1"
    people: int
    before: float
    rate: float
    low: float  # of its 95 % interval
    high: float
    new_error: float  # standard error of a new sample's rate around this one
    promised: bool  # whether the limit is promised for new people
    needed: (
        int  # people of the group that a promise would take; 0 if none, -1 if no number would do
    )


def rates_of(
    sample: Sample, promise: Promise, rows: Sequence[Row], free: np.ndarray
) -> list[GroupRate]:
    """Return the rates of all rows, of the decisions or scores before, (n,), and after."""
    before = sample.rates(free)
    outcome = promise.rule.outcome(sample)
    after = sample.rates(outcome)
    reach = errors(sample, after, outcome) * float(ndtri(0.975))
    people = (sample.observed != 0).sum(0)
    found = []
    for c, row in enumerate(rows):
        ends = (0.0, 1.0) if row.kind == "group" else (-np.inf, np.inf)
        low, high = np.clip([after[c] - reach[c], after[c] + reach[c]], *ends)
        found.append(
            GroupRate(
                name=row.name,
                people=int(people[c]),
                before=float(before[c]),
                rate=float(after[c]),
                low=float(low),
                high=float(high),
                new_error=float(promise.error[c]),
                promised=bool(promise.kept[c]),
                needed=int(np.ceil(promise.needed[c])),
            )
        )
    return found


def accuracy(sample: Sample, outcome: np.ndarray, labels: np.ndarray, threshold: float) -> float:
    """Return the share of right decisions, or of scores on the right side of the threshold."""
    decided = outcome > (threshold if sample.soft else 0.5)
    return float(sample.weight @ (decided == labels) / sample.weight.sum())


def measured(sample: Sample, families: Sequence[Family], outcome: np.ndarray) -> dict[str, float]:
    """Return largest difference, smallest ratio and overall rate of decisions or scores."""
    rates = sample.rates(outcome)
    gaps, ratios = [], []
    for family in families:
        own = rates[family.rows]
        if family.compares:
            gaps.append(float(np.ptp(own)))
            ratios.append(float(own.min() / own.max()) if own.max() > 0 else 1.0)
        elif family.target is not None:
            gaps.append(float(np.abs(own - family.target).max()))
    return {
        "difference": max(gaps, default=np.nan),
        "ratio": min(ratios, default=np.nan),
        "rate": float(sample.weight @ outcome / sample.weight.sum()),
    }


def missed_by(
    sample: Sample, promise: Promise, families: Sequence[Family], errors: float = 0.0
) -> tuple[float, str]:
    """Return by how much those who tuned a rule miss limits, and of which family; 0 if they don't.

    Groups that are too small for a promise, and so judged by the model too, do not count if others
    are left. Limits are met as nearly as whole people can, and to within so many errors.
    """
    large = promise.needed == 0
    judged = [part for family in families if (part := family.only(large)) is not None] or families
    rates = sample.rates(promise.rule.outcome(sample))
    room = sample.grain + errors * promise.error
    worst = max(judged, key=lambda family: float(family.excess(rates, -room)))
    if worst.excess(rates, -room) <= TOLERANCE:
        return 0.0, ""
    return float(worst.excess(rates, np.zeros_like(rates))), worst.name


def check_final(
    sample: Sample, final: Sample, promise: Promise, families: Sequence[Family]
) -> Promise:
    """Take a promise back where people are decided quite otherwise as final models see them.

    Models that know these people's groups by heart tell nothing of new people.
    """
    off, off_in_folds = (np.abs(s.observed - s.predicted).mean() for s in (final, sample))
    if off < BY_HEART * off_in_folds:
        return promise
    by, family = missed_by(final, promise, families, errors=DOUBT)
    if by == 0:
        return promise
    text = (
        "the final model of groups decides otherwise than those of the folds did: by it, the limit "
        f"of {family} is missed by {by:.2g}. Nothing is promised; leave `group_estimator=None`, or "
        "take one whose chances have many values."
    )
    warnings.warn(text, LimitWarning, stacklevel=3)  # where `fit` was called
    return replace(promise, confidence=np.nan, kept=np.zeros_like(promise.kept))


def warn(
    sample: Sample, promise: Promise, groups: Sequence[GroupRate], missed: tuple[float, str],
    confidence: float | None, chances: Callable[[], np.ndarray] | None,
) -> None:  # fmt: skip
    """Warn where limits are missed, or can't be promised.

    `chances` returns the numbers, (n,), by which ties would be broken; None where they are.
    """
    unsure = [group for group in groups if group.needed]
    if missed[0] > 0:
        text = _missed(sample, promise, missed, chances)
    elif confidence is None:
        return
    elif unsure:
        worst = max(unsure, key=_lack)
        more = f" and of {len(unsure) - 1} more groups" if len(unsure) > 1 else ""
        enough = (
            f"would take about {_rounded(worst.needed)}" if worst.needed > 0
            else "is out of reach for any number of them while other groups are as they are"
        )  # fmt: skip
        text = (
            f"the limit can't be promised for new people of {worst.name}{more}: it has "
            f"{worst.people} people, and {confidence:.0%} confidence {enough}. Ask for a wider "
            "limit or less confidence, or bring more people; `summary()` tells which groups it is "
            "promised for."
        )
    elif promise.confidence < confidence:
        text = (
            f"new people meet the limits with {promise.confidence:.0%} confidence, less than the "
            f"{confidence:.0%} asked for. Ask for a wider limit or less confidence, or bring more "
            "people."
        )
    else:
        return
    warnings.warn(text, LimitWarning, stacklevel=3)  # where `fit` was called


def _lack(group: GroupRate) -> float:
    """Return how many times the people of a group a promise would take."""
    return group.needed / max(group.people, 1) if group.needed > 0 else np.inf


def _missed(
    sample: Sample,
    promise: Promise,
    missed: tuple[float, str],
    chances: Callable[[], np.ndarray] | None,
) -> str:
    margins = sample.gain - sample.predicted @ promise.rule.duals
    _, crowd, counts = np.unique(margins, return_inverse=True, return_counts=True)
    largest = int(counts.argmax())
    tied = counts[largest] / len(margins)
    chance = ""
    if tied > TIED and chances is not None and not sample.soft:
        chance = (
            f" Up to {tied:.1%} of people share one score and expected group, and so one decision"
        )
        own = chances()[crowd == largest]
        differ = len(np.unique(own)) > 1
        chance += '; `ties="random"` tells them apart by their features.' if differ else "."
    by, family = missed
    one = sample.number is None and not sample.soft
    several = "let people be spread over several rules (`randomize=True`), " * one
    return (
        f"no rule that was found meets the limits: the nearest misses that of {family} by "
        f"{by:.2g}.{chance} Ask for a wider limit, {several}or add features that tell groups apart."
    )


def _rounded(people: int) -> int:
    """Return a number of people to two digits."""
    return round(people, -max(len(str(people)) - 2, 0))
