"""Constraints with rates to be told: by the scores, or by what is cheapest to reach.

Maths: docs/derivation.md, section 16. How a value changes with a rate follows from its duals, by
the envelope theorem.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from otfair._io.arrays import Array
from otfair.notions import Constraints, Rates
from otfair.transport._results import Transport

REACH = 4.0  # by how much logits of rates are shifted from those of the scores' own, at most
MANY = 1000  # people, of whom each look takes time
# For fewer and for more: how many shifts are looked at, how many of the lowest basins that these
# show are followed to their bottom, and what share of the cost may be left on the table.
FEW_LOOKS, MANY_LOOKS = (33, 3, 1e-9), (9, 1, 1e-5)
ROUNDS = 40  # of narrowing a basin down
NARROW = 1e-8  # interval of logits that is not looked into


def at_own_rates(scores: Array, constraints: Constraints) -> Constraints:
    """Return the constraints at the rates of the scores; what has no free rates, as it is."""
    return constraints.at(scores) if isinstance(constraints, Constraints) else constraints


def rate_price(
    rates: Rates | None, smooth: Transport, relaxed: Transport, above: np.ndarray
) -> np.ndarray | float:
    """Return what a unit of score of each type, (K,), adds to the adjusted cost by moving rates.

    `above`, (d,), are the rows whose slack in the relaxed problem is their violation.
    """
    if rates is None:
        return 0.0
    problem = smooth.problem
    mass = torch.zeros(len(problem.constraints.type_names), dtype=torch.float64)
    mass = mass.index_add(0, problem.row_types.cpu(), torch.as_tensor(problem.mass).cpu())
    mass = torch.as_tensor(problem.processes.sum(mass.numpy()))
    slope = _slopes(rates, smooth) - _slopes(rates, relaxed)
    d = len(above)
    sign = np.abs(relaxed.mu[:d]) * np.sign(problem.violation) / problem.unit[:d]
    sign = np.where(above, sign, 0.0)
    slope += _by_rate(rates, sign * (rates.slope.cpu().numpy() @ mass.numpy()))
    return rates.price(slope, rates.of(mass), mass)


def _slopes(rates: Rates, solved: Transport) -> np.ndarray:
    """Return derivatives of a value in its rates at fixed slack, (r,): -mu' (dG / d rate) f."""
    d = len(rates.of_row)
    mu, received = solved.mu[:d] / solved.problem.unit[:d], solved.type_mass.numpy()
    return _by_rate(rates, -mu * (rates.slope.cpu().numpy() @ received))


def _by_rate(rates: Rates, each: np.ndarray) -> np.ndarray:
    """Sum what rows, (d,), add to each rate, (r,)."""
    of_row = rates.of_row.cpu().numpy()
    return np.bincount(of_row[of_row >= 0], each[of_row >= 0], len(rates.member))


@dataclass(frozen=True)
class _Look:
    """What a shift of all rates, in logits, costs."""

    shift: float
    value: float
    slope: float  # of the value in the shift
    solved: Transport | None  # None where no scores are fair at these rates


def cheapest(
    solve: Callable[[Constraints], Transport], constraints: Constraints, scores: Array
) -> Transport:
    """Solve at the rates that are cheapest to reach, found by a look at many and by slopes.

    Several rates, of attributes whose groups do not cover the same people, are moved together.
    """
    rates = constraints.free
    assert rates is not None
    given = constraints.at(scores).rates
    own = np.empty(len(rates.member))
    for name, r in zip(rates.names, rates.of_name):
        own[r] = np.log(given[name]) - np.log1p(-given[name])

    def look(shift: float) -> _Look:
        rho = 1 / (1 + np.exp(-(own + shift)))
        try:
            solved = solve(constraints.at_rates(torch.as_tensor(rho)))
        except ValueError as error:  # bounds may leave no scores that are fair
            refused.append(error)
            return _Look(shift, np.inf, 0.0, None)
        if not solved.converged:
            return _Look(shift, np.inf, 0.0, solved)
        return _Look(shift, solved.value, float(_slopes(rates, solved) @ (rho * (1 - rho))), solved)

    refused: list[ValueError] = []
    first = look(0.0)
    if first.solved is not None and not first.value > 0:  # fair as they are
        return first.solved
    count, followed, close = FEW_LOOKS if constraints.n_people <= MANY else MANY_LOOKS
    shifts = np.linspace(-REACH, REACH, count)
    looks = [first if shift == 0 else look(shift) for shift in shifts]
    enough = close * min(one.value for one in looks)
    inner = range(1, len(looks) - 1)
    around = [looks[k - 1 : k + 2] for k in inner]
    basins = [three for three in around if three[1].value == min(one.value for one in three)]
    found = list(looks)
    for low, middle, high in sorted(basins, key=lambda three: three[1].value)[:followed]:
        found.append(_descend(look, low, middle, high, enough))
    best = min(found, key=lambda one: one.value).solved
    if best is None:
        raise refused[0]
    return best


def _descend(
    look: Callable[[float], _Look], low: _Look, best: _Look, high: _Look, enough: float
) -> _Look:
    """Narrow down where a value is least between two shifts, neither of which is lower than best.

    Between ends that slope towards each other it is sought where their tangents meet, which a kink
    is found by at once; where these do not say how low it may be, the interval is halved.
    """
    low, high = (low, best) if best.slope > 0 else (best, high)
    for k in range(ROUNDS):
        width, turn = high.shift - low.shift, high.slope - low.slope
        shift, left = low.shift + width / 2, np.inf
        if low.slope < 0 < high.slope and np.isfinite(low.value + high.value):
            step = (low.value - high.value + high.slope * width) / turn
            left = best.value - (low.value + low.slope * step)
            if k % 3 < 2 and 0.01 * width < step < 0.99 * width:
                shift = low.shift + step
        if 0 <= left <= enough or width <= NARROW:
            break
        new = look(shift)
        if new.value < best.value:
            best = new
            low, high = (low, new) if new.slope > 0 else (new, high)
        else:
            low, high = (new, high) if new.shift < best.shift else (low, new)
    return best
