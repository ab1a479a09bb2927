"""What fairness would cost if all people could receive score, where only a sample of them can.

Maths: docs/audit.md. The cost is the largest value of a function of the prices that is a sum over
people. Some people, drawn by their score, are measured to all people: enough to estimate it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from otfair.auditing.costs._distances import TypeDistances
from otfair.auditing.costs._solving import Solution, Totals, lower_bound, solve, with_types
from otfair.metrics import Estimate
from otfair.notions import People

MULTIPLES = np.linspace(0.8, 1.2, 9)  # of the prices found, of which the best is sought
SHRINKING_MULTIPLES = np.linspace(0.0, 1.2, 13)
TWO_SIDED = 2.24  # standard errors: the better of two bounds is off as seldom as one at 1.96


@dataclass(frozen=True, kw_only=True)
class Checked:
    """People who were drawn by their score, (r,), and measured to all people, (r, K)."""

    types: np.ndarray  # their own
    part: np.ndarray  # distances with the sample as receivers
    full: np.ndarray  # distances with all people as receivers
    stratum: np.ndarray  # the type that they were drawn from
    stratum_mass: np.ndarray  # the score in each such type

    @classmethod
    def of(cls, people: People, distances: TypeDistances) -> Checked:
        """Return those of distances through a sample."""
        rows = distances.checked
        return cls(
            types=people.types.numpy()[rows], part=distances.nearest[rows],
            full=distances.checked_nearest, stratum=distances.stratum,
            stratum_mass=distances.stratum_mass,
        )  # fmt: skip

    def standing(
        self, people: People, totals: Totals, chosen: np.ndarray | None = None
    ) -> tuple[People, np.ndarray]:
        """Let them, or some of them, stand for all, in weight and mass of each type."""
        chosen = np.ones(len(self.types), dtype=bool) if chosen is None else chosen
        own, mean = self.types[chosen], np.clip(totals.mass / totals.weight, 1e-12, 1.0)
        return with_types(people, own, self.masses(chosen) / mean[own]), mean[own]

    def masses(self, chosen: np.ndarray) -> np.ndarray:
        """Mass that each chosen person stands for, (c,): alike within a stratum."""
        stratum = self.stratum[chosen]
        count = np.bincount(stratum, minlength=len(self.stratum_mass))
        return np.asarray((self.stratum_mass / np.maximum(count, 1))[stratum])


def extrapolate_cost(
    people: People, h: np.ndarray, distances: TypeDistances, sampled: Solution
) -> Estimate:
    """Return the cost per unit of score with all people as receivers, and where it lies (95 %)."""
    checked, totals = Checked.of(people, distances), Totals.of(people, h)
    mass = people.weight.numpy() * h
    prices = candidates(people, totals, checked, sampled.price)
    known = [lower_bound(distances.nearest, mass, price) for price in prices]
    return judge_prices(checked, prices, np.array(known), sampled.value, float(mass.sum()))


def candidates(people: People, totals: Totals, checked: Checked, sampled: np.ndarray) -> np.ndarray:
    """Return the prices that may be best, (p, K): of either half, then shrunk, then of all."""
    half = _halves(checked.stratum)

    def prices(chosen: np.ndarray) -> np.ndarray:
        few = checked.standing(people, totals, chosen)
        return solve(*few, checked.full[chosen]).price

    every = prices(np.ones_like(half))
    return np.stack(
        [
            *(prices(some) for some in (half, ~half)),
            *(s * sampled for s in SHRINKING_MULTIPLES),
            *(s * every for s in MULTIPLES),
        ]
    )


def judge_prices(
    checked: Checked, prices: np.ndarray, known: np.ndarray, sampled: float, total: float
) -> Estimate:
    """Return the cost from the values of candidates with the sample as receivers, (p,)."""
    every, half = np.ones(len(checked.types), dtype=bool), _halves(checked.stratum)

    def value(k: int, chosen: np.ndarray) -> tuple[float, float]:
        return _value(prices[k], float(known[k]), total, checked, chosen)

    def best(which: range, chosen: np.ndarray) -> int:
        return max(which, key=lambda k: value(k, chosen)[0])

    # Prices chosen by one half and judged by the other are worth no more than the best ones; those
    # chosen and judged by the same people no less (but for chance, which has its standard error).
    # Few people find prices of many types badly; those of the sample, shrunk, are better then.
    shrunk = range(2, 2 + len(SHRINKING_MULTIPLES))
    lows, ends = [0.0], [0.0]  # no price at all is worth nothing
    for chosen in ([0, 1], [best(shrunk, some) for some in (half, ~half)]):
        judged = [value(k, ~some) for k, some in zip(chosen, (half, ~half))]
        lows.append(float(np.mean([v for v, _ in judged])))
        ends.append(lows[-1] - TWO_SIDED * float(np.hypot(judged[0][1], judged[1][1])) / 2)
    # It does not exceed `sampled`, the cost of the plan with the sample as receivers.
    top, error = value(best(range(shrunk.stop, len(prices)), every), every)
    high = max(0.0, min(sampled / total, top + 1.96 * error))
    low, middle = min(max(ends), high), (max(lows) + min(top, high)) / 2
    return Estimate(float(np.clip(middle, low, high)), float(low), float(high))


def _halves(stratum: np.ndarray) -> np.ndarray:
    """Take every other one of each stratum, (r,) bool."""
    order = np.argsort(stratum, kind="stable")
    half = np.empty(len(stratum), dtype=bool)
    half[order] = np.arange(len(stratum)) % 2 == 0
    return half


def _value(
    price: np.ndarray, known: float, total: float, checked: Checked, chosen: np.ndarray
) -> tuple[float, float]:
    """Value of prices with all people as receivers, per unit of score, and its standard error."""
    # It is the value with the sample, which is known, less the mean of what the sample adds.
    stratum, part, full = checked.stratum[chosen], checked.part[chosen], checked.full[chosen]
    added = (part - price).min(1) - (full - price).min(1)  # (c,)
    share = checked.masses(chosen) / total
    count = np.bincount(stratum)
    mean = np.bincount(stratum, added) / np.maximum(count, 1)
    spread = share**2 * (added - mean[stratum]) ** 2 * (count / np.maximum(count - 1, 1))[stratum]
    return known / total - float(share @ added), float(np.sqrt(spread.sum()))
