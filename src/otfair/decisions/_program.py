"""The decisions that gain most, or the scores that move least, within limits on rates.

Maths: docs/decisions.md, section "The linear program". With v the vectors of people, such that
decisions d have the rates r = mean(w v d):

    max_d  sum_i w_i a_i d_i    s.t.  L r + M u <= q,  0 <= d <= 1
    min_nu sum_i w_i max(0, a_i - v_i' mu) + W q' nu,  mu = L' nu,  nu >= 0,  M' nu = 0

Only people near the boundary, a = v' mu, matter. So the program of these is solved, all others
follow the sign of a - v' mu, and people are added until nobody is on the wrong side. Then the duals
are optimal for all, and the two values tell how nearly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog, minimize

from otfair.decisions._limits import Inequalities

NEAR = 1500  # people near the boundary that the first program has
FAR = 1e-12  # margins below it may have either sign
PRICE = 1e3  # of missing limits by 1: far above any gain
EXACT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
# The second and third for programs on which the one before gives up.
METHODS: tuple[tuple[str, dict[str, float]], ...] = (
    ("highs", EXACT),
    ("highs-ds", {}),
    ("highs-ipm", {}),
)


@dataclass(frozen=True)
class Solved:
    """The optimum of the program."""

    duals: np.ndarray  # mu, (d,)
    decisions: np.ndarray  # (n,); of the linear program, fractions for a few at the boundary
    rates: np.ndarray  # r, (d,)
    value: float  # mean gain of the decisions
    bound: float  # the dual's value, which no decisions can exceed
    missed: float  # by how much the limits are missed, where no decisions meet them

    @property
    def gap(self) -> float:
        """How far the decisions may be from the best, in mean gain."""
        return self.bound - self.value


def decide(
    gain: np.ndarray,
    vectors: np.ndarray,
    weight: np.ndarray,
    limits: Inequalities,
    start: np.ndarray | None = None,
    most: int | None = None,
) -> Solved:
    """Solve the linear program: a (n,), v (n, d), w (n,). Duals of a similar one save time.

    Limits that can't be met take the program of all people to tell; with `most`, that of so many.
    """
    n, share = len(gain), weight / weight.sum()
    size = min(n, max(NEAR, 40 * len(limits.bound)))
    duals = _rough(gain, vectors, weight, limits, size) if start is None else start
    # Duals that are a little off move the margin of a person by the size of their vector.
    reach = np.linalg.norm(vectors - vectors.mean(0), axis=1) + 0.1  # (n,)
    margin = feasible = gain - vectors @ duals
    near = _closest(margin / reach, size)
    while True:
        inside = np.zeros(n, dtype=bool)
        inside[near] = True
        accepted = margin > 0
        fixed = vectors.T @ (share * (accepted & ~inside))  # (d,) rates of the others
        bound = limits.bound - limits.rows @ fixed
        found, nu, missed = _highs(gain[near], vectors[near], share[near], limits, bound)
        if missed > 1e-9 and len(near) < n:  # too few to meet the limits, so nu says nothing
            if most is not None and size >= most:
                break
            size = min(n, 2 * size)
            margin = feasible  # a step too far is taken back
            near = _closest(margin / reach, size)
            continue
        feasible = margin
        margin = gain - vectors @ (limits.rows.T @ nu)
        wrong = ~inside & ((margin > 0) != accepted) & (np.abs(margin) > FAR)
        if not wrong.any():
            break
        near = np.union1d(near, _closest(margin / reach, size))
        if wrong.sum() <= size:
            near = np.union1d(near, np.flatnonzero(wrong))
    decisions = np.where(inside, 0.0, accepted)
    decisions[near] = found
    upper = float(share @ np.maximum(margin, 0.0) + limits.bound @ nu)
    return Solved(
        duals=limits.rows.T @ nu,
        decisions=decisions,
        rates=vectors.T @ (share * decisions),
        value=float(share @ (gain * decisions)),
        bound=upper,
        missed=missed,
    )


def project(
    scores: np.ndarray,
    vectors: np.ndarray,
    weight: np.ndarray,
    limits: Inequalities,
) -> Solved:
    """Find the scores in [0, 1] that are nearest in squares: f = clip(h - v' mu, 0, 1).

    The gain is h f - f^2 / 2, so the dual has clip(m) m - clip(m)^2 / 2 in place of max(0, m): it
    is smooth, in few variables.
    """
    share = weight / weight.sum()

    def dual(nu: np.ndarray) -> tuple[float, np.ndarray]:
        margin = scores - vectors @ (limits.rows.T @ nu)
        f = np.clip(margin, 0.0, 1.0)
        slope = limits.bound - limits.rows @ (vectors.T @ (share * f))
        return float(share @ (f * margin - f**2 / 2) + limits.bound @ nu), slope

    k = len(limits.bound)
    balance = {"type": "eq", "fun": lambda nu: limits.free.T @ nu, "jac": lambda nu: limits.free.T}
    # SLSQP stops by absolute change, and slopes are of the size of rates.
    found = minimize(
        dual, np.zeros(k), jac=True, method="SLSQP", bounds=[(0, None)] * k,
        constraints=[balance] if limits.free.shape[1] else [],
        options={"ftol": 1e-14, "maxiter": 500},
    )  # fmt: skip
    nu = np.maximum(found.x, 0.0)
    duals = limits.rows.T @ nu
    f = np.clip(scores - vectors @ duals, 0.0, 1.0)
    value = float(share @ (scores * f - f**2 / 2))
    rates = vectors.T @ (share * f)
    return Solved(duals, f, rates, value, dual(nu)[0], 0.0)


def _closest(distance: np.ndarray, size: int) -> np.ndarray:
    """Return the people who are nearest to the boundary."""
    if size >= len(distance):
        return np.arange(len(distance))
    return np.sort(np.argpartition(np.abs(distance), size)[:size])


def _rough(
    gain: np.ndarray, vectors: np.ndarray, weight: np.ndarray, limits: Inequalities, size: int
) -> np.ndarray:
    """Return the duals of an eighth of the people (who begin with an eighth of their own)."""
    n = len(gain)
    if n <= size:
        return np.zeros(vectors.shape[1])
    some = np.random.default_rng(0).choice(n, n // 8, replace=False)
    return decide(gain[some], vectors[some], weight[some], limits).duals


def _highs(
    gain: np.ndarray,
    vectors: np.ndarray,
    share: np.ndarray,
    limits: Inequalities,
    bound: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, float]:
    """Solve the program of some people; return decisions, nu, and by how much limits are missed.

    Limits may be missed at a price, so that the program always has an optimum.
    """
    n, f = len(gain), limits.free.shape[1]
    scale = 1.0 / share.max()  # so that entries of a person are near 1
    rows = limits.rows @ (vectors * (share * scale)[:, None]).T  # (k, n)
    matrix = np.hstack([rows, limits.free, -np.ones((len(bound), 1))])
    cost = np.concatenate([-gain * share * scale, np.zeros(f), [PRICE]])
    bounds = [(0, 1)] * n + [(None, None)] * f + [(0, None)]
    for method, options in METHODS:
        found = linprog(cost, matrix, bound * scale, bounds=bounds, method=method, options=options)
        if found.success:
            break
    else:
        raise RuntimeError(f"HiGHS failed on {n} people and {len(bound)} limits: {found.message}")
    return found.x[:n], -found.ineqlin.marginals, float(found.x[-1] / scale)
