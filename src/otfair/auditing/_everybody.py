"""What fairness would cost if everybody could receive score, where only a sample of people can.

Maths: docs/audit.md. The cost is the largest value of a function of the prices that is a sum over
people. Some people, drawn by their score, are measured to everybody: enough to estimate it.
"""

from __future__ import annotations

import numpy as np

from otfair.auditing._distances import ToTypes
from otfair.auditing._results import Estimate
from otfair.auditing._solving import Solved, lower_bound, of_types, solve
from otfair.notions import People

NEARBY = np.linspace(0.8, 1.2, 9)  # multiples of the prices found, of which the best is sought
SHRUNK = np.linspace(0.0, 1.2, 13)
TWO_SIDED = 2.24  # standard errors: the better of two bounds is off as seldom as one at 1.96


def with_everybody(people: People, h: np.ndarray, to_types: ToTypes, found: Solved) -> Estimate:
    """Return the cost with everybody as a receiver, a unit of score, and where it lies (95 %).

    Parameters
    ----------
    people, h : everybody, typed, and their scores.
    to_types : distances to the sample, and to everybody of the people who were drawn.
    found : the plan with the sample, whose cost it does not exceed.
    """
    mass = people.weight.numpy() * h
    every, half = np.ones(len(to_types.checked), dtype=bool), _halves(to_types.stratum)

    def prices(chosen: np.ndarray) -> np.ndarray:
        return solve(*drawn(people, mass, to_types, chosen), to_types.whole[chosen]).price

    def value(price: np.ndarray, chosen: np.ndarray) -> tuple[float, float]:
        return _value(price, mass, to_types, chosen)

    def best(price: np.ndarray, multiples: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        return max((s * price for s in multiples), key=lambda p: value(p, chosen)[0])

    # Prices chosen by one half and judged by the other are worth no more than the best ones; those
    # chosen and judged by the same people no less (but for chance, which has its standard error).
    # Few people find prices of many types badly; those of the sample, shrunk, are better then.
    lows, ends = [0.0], [0.0]  # no price at all is worth nothing
    for choose in (prices, lambda chosen: best(found.price, SHRUNK, chosen)):
        judged = [value(choose(some), ~some) for some in (half, ~half)]
        lows.append(float(np.mean([v for v, _ in judged])))
        ends.append(lows[-1] - TWO_SIDED * float(np.hypot(judged[0][1], judged[1][1])) / 2)
    top, error = value(best(prices(every), NEARBY, every), every)
    high = max(0.0, min(found.value / mass.sum(), top + 1.96 * error))
    low, middle = min(max(ends), high), (max(lows) + min(top, high)) / 2
    return Estimate(float(np.clip(middle, low, high)), float(low), float(high))


def _halves(stratum: np.ndarray) -> np.ndarray:
    """Take every other one of each stratum, (r,) bool."""
    order = np.argsort(stratum, kind="stable")
    half = np.empty(len(stratum), dtype=bool)
    half[order] = np.arange(len(stratum)) % 2 == 0
    return half


def _masses(stratum: np.ndarray, everybody: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Mass that each chosen person stands for, (c,): alike within a stratum."""
    count = np.bincount(stratum[chosen], minlength=len(everybody))
    return np.asarray((everybody / np.maximum(count, 1))[stratum[chosen]])


def drawn(
    people: People, mass: np.ndarray, to_types: ToTypes, chosen: np.ndarray
) -> tuple[People, np.ndarray]:
    """Let people who were drawn by their score stand for all, in weight and mass of each type."""
    types, K = people.types.numpy(), len(people.type_names)
    weight, total = np.bincount(types, people.weight.numpy(), K), np.bincount(types, mass, K)
    own = types[to_types.checked[chosen]]
    stands_for = _masses(to_types.stratum, to_types.stratum_mass, chosen)
    mean = np.clip(total / weight, 1e-12, 1.0)
    return of_types(people, own, stands_for / mean[own]), mean[own]


def _value(
    price: np.ndarray, mass: np.ndarray, to_types: ToTypes, chosen: np.ndarray
) -> tuple[float, float]:
    """Value of prices with everybody as a receiver, a unit of score, and its standard error.

    It is the value with the sample, which is known, less the mean of what the sample adds.
    """
    total, stratum = mass.sum(), to_types.stratum[chosen]
    part, whole = to_types.nearest[to_types.checked[chosen]], to_types.whole[chosen]
    added = (part - price).min(1) - (whole - price).min(1)  # (c,)
    share = _masses(to_types.stratum, to_types.stratum_mass, chosen) / total
    count = np.bincount(stratum)
    mean = np.bincount(stratum, added) / np.maximum(count, 1)
    spread = share**2 * (added - mean[stratum]) ** 2 * (count / np.maximum(count - 1, 1))[stratum]
    known = lower_bound(to_types.nearest, mass, price) / total
    return known - float(share @ added), float(np.sqrt(spread.sum()))
