"""What fairness would cost if all people could receive score, where only a sample of them can.

Maths: docs/audit.md. The cost is the largest value of a function of the prices that is a sum over
people. Some people, drawn by their score, are measured to all people: enough to estimate it.
"""

from __future__ import annotations

import numpy as np

from otfair.auditing.costs._distances import TypeDistances
from otfair.auditing.costs._solving import Solution, lower_bound, solve, with_types
from otfair.metrics import Estimate
from otfair.notions import People

MULTIPLES = np.linspace(0.8, 1.2, 9)  # of the prices found, of which the best is sought
SHRINKING_MULTIPLES = np.linspace(0.0, 1.2, 13)
TWO_SIDED = 2.24  # standard errors: the better of two bounds is off as seldom as one at 1.96


def extrapolate_cost(
    people: People, h: np.ndarray, distances: TypeDistances, sampled: Solution
) -> Estimate:
    """Return the cost per unit of score with all people as receivers, and where it lies (95 %)."""
    mass = people.weight.numpy() * h
    every, half = np.ones(len(distances.checked), dtype=bool), _halves(distances.stratum)

    def prices(chosen: np.ndarray) -> np.ndarray:
        return solve(
            *drawn_representatives(people, mass, distances, chosen),
            distances.checked_nearest[chosen],
        ).price

    def value(price: np.ndarray, chosen: np.ndarray) -> tuple[float, float]:
        return _value(price, mass, distances, chosen)

    def best(price: np.ndarray, multiples: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        return max((s * price for s in multiples), key=lambda p: value(p, chosen)[0])

    # Prices chosen by one half and judged by the other are worth no more than the best ones; those
    # chosen and judged by the same people no less (but for chance, which has its standard error).
    # Few people find prices of many types badly; those of the sample, shrunk, are better then.
    lows, ends = [0.0], [0.0]  # no price at all is worth nothing
    for choose in (prices, lambda chosen: best(sampled.price, SHRINKING_MULTIPLES, chosen)):
        judged = [value(choose(some), ~some) for some in (half, ~half)]
        lows.append(float(np.mean([v for v, _ in judged])))
        ends.append(lows[-1] - TWO_SIDED * float(np.hypot(judged[0][1], judged[1][1])) / 2)
    # It does not exceed that of `sampled`, the plan with the sample as receivers.
    top, error = value(best(prices(every), MULTIPLES, every), every)
    high = max(0.0, min(sampled.value / mass.sum(), top + 1.96 * error))
    low, middle = min(max(ends), high), (max(lows) + min(top, high)) / 2
    return Estimate(float(np.clip(middle, low, high)), float(low), float(high))


def _halves(stratum: np.ndarray) -> np.ndarray:
    """Take every other one of each stratum, (r,) bool."""
    order = np.argsort(stratum, kind="stable")
    half = np.empty(len(stratum), dtype=bool)
    half[order] = np.arange(len(stratum)) % 2 == 0
    return half


def _masses(distances: TypeDistances, chosen: np.ndarray) -> np.ndarray:
    """Mass that each chosen person stands for, (c,): alike within a stratum."""
    stratum, mass = distances.stratum[chosen], distances.stratum_mass
    count = np.bincount(stratum, minlength=len(mass))
    return np.asarray((mass / np.maximum(count, 1))[stratum])


def drawn_representatives(
    people: People, mass: np.ndarray, distances: TypeDistances, chosen: np.ndarray
) -> tuple[People, np.ndarray]:
    """Let people who were drawn by their score stand for all, in weight and mass of each type."""
    types, K = people.types.numpy(), len(people.type_names)
    weight, total = np.bincount(types, people.weight.numpy(), K), np.bincount(types, mass, K)
    own = types[distances.checked[chosen]]
    stands_for = _masses(distances, chosen)
    mean = np.clip(total / weight, 1e-12, 1.0)
    return with_types(people, own, stands_for / mean[own]), mean[own]


def _value(
    price: np.ndarray, mass: np.ndarray, distances: TypeDistances, chosen: np.ndarray
) -> tuple[float, float]:
    """Value of prices with all people as receivers, per unit of score, and its standard error."""
    # It is the value with the sample, which is known, less the mean of what the sample adds.
    total, stratum = mass.sum(), distances.stratum[chosen]
    part, full = distances.nearest[distances.checked[chosen]], distances.checked_nearest[chosen]
    added = (part - price).min(1) - (full - price).min(1)  # (c,)
    share = _masses(distances, chosen) / total
    count = np.bincount(stratum)
    mean = np.bincount(stratum, added) / np.maximum(count, 1)
    spread = share**2 * (added - mean[stratum]) ** 2 * (count / np.maximum(count - 1, 1))[stratum]
    known = lower_bound(distances.nearest, mass, price) / total
    return known - float(share @ added), float(np.sqrt(spread.sum()))
