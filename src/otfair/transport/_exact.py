"""The exact cost as a linear program over (person, type) pairs, certified by its duality gap.

Maths: docs/derivation.md, section 10. All pairs at once for a few thousand people; beyond that,
pairs are generated: first those near the annealed semi-dual's optimum, then those that would
improve on the program solved so far, until none does. People who are as far from every type as
others are one person to the program, if there are many of them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from otfair.transport._newton import anneal
from otfair.transport._problem import TransportProblem, Vector, convert_like, to_numpy
from otfair.transport._results import Transport
from otfair.transport._semidual import Reference
from otfair.transport._status import Status

logger = logging.getLogger(__name__)

ALL_PAIRS = 20_000  # the program with every pair is solved up to this many
ROUNDS = 50
TOLERANCE = 1e-9  # of the gap, as a share of all mass moved over a distance of one unit
FAIR = 1e-7  # of the residual
HIGHS = {  # settings of the solver of the program
    "primal_feasibility_tolerance": 1e-10,
    "dual_feasibility_tolerance": 1e-10,
    "presolve": False,  # which calls rows infeasible that agree but for rounding
}
FINEST = 1e-15  # of the largest distance, that a unit may be


def solve_exact(
    problem: TransportProblem, pairs_of: Callable[[Any], Pairs] | None = None
) -> Transport:
    """Solve min <D, P> s.t. P 1 = m, |V P'1 - b| <= slack, certified by the gap.

    `pairs_of` a problem are those of people on this machine by default.
    """
    largest, pairs_of = problem.max_distance, pairs_of or Pairs
    found = _generate(problem, pairs_of(problem), max(largest, 1e-300))
    for _ in range(3):  # most costs may be far below the largest, which was the unit
        if not found.converged or abs(found.gap) <= 1e-6 * found.primal_value:
            break
        unit = max(found.primal_value / problem.total, FINEST * largest)
        finer = _generate(problem, pairs_of(problem), unit)
        if not finer.converged or abs(finer.gap) >= abs(found.gap):
            break
        found = finer
    return found


class Pairs:
    """The pairs of a person and a type that a program is about, of people on this machine."""

    def __init__(self, problem: TransportProblem) -> None:
        self._problem = problem
        self.D, self.m = to_numpy(problem.distances), to_numpy(problem.mass)  # (K, n), (n,)
        self.possible, self._alike = self.D.size, None
        if self.possible > ALL_PAIRS:
            self.D, self.m, self._alike = _merged(self.D, self.m)
        self.pairs = np.zeros(self.D.shape, dtype=bool)

    @property
    def all(self) -> bool:
        """Whether no pair is left out."""
        return bool(self.pairs.all())

    def add(self, mu: np.ndarray, margin: float) -> None:
        """Add the pairs that are, at duals mu, dearer by at most a margin than a person's best."""
        self.pairs |= excess(self.D, self._problem.vectors, mu) <= margin

    def program(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return distances, masses and pairs of the people that a program is about."""
        return self.D, self.m, self.pairs

    def prices(self, mu: np.ndarray) -> tuple[Vector, float]:
        """Return the least price of each person's unit of score at duals mu, and their sum."""
        lowest = (self.D - (mu @ self._problem.vectors)[:, None]).min(0)
        paid = float(self.m @ lowest)
        lowest = lowest if self._alike is None else lowest[self._alike]
        return convert_like(lowest, self._problem.mass), paid

    def point(self, P: np.ndarray, prices: Vector, mu: np.ndarray) -> Any:
        """Return the shares of a plan of the program."""
        m = to_numpy(self._problem.mass)
        P = P if self._alike is None else _shared(P, m, self._alike)
        share = P / np.where(m > 0, m, 1.0)
        return Reference(
            convert_like(share, self._problem.mass), prices, mu @ self._problem.vectors
        )


def _generate(problem: TransportProblem, pairs: Pairs, unit: float) -> Transport:
    """Generate pairs until the gap is below the tolerance, with costs in a unit."""
    centre, margin = np.zeros(len(problem.vectors)), problem.max_distance
    if pairs.possible > ALL_PAIRS:
        margin = 1e-3 * unit
        centre, _ = anneal(problem, margin / 30, budget=1000)
    pairs.add(centre, margin)
    D, m, some = pairs.program()
    P, mu, primal, dual, done = np.full_like(D, np.nan), centre, np.inf, -np.inf, False
    prices, _ = pairs.prices(mu)
    for rounds in range(1, ROUNDS + 1):
        answer = _program(problem, D / unit, m, some)
        if answer is None:
            if pairs.all:
                break
            margin *= 10  # too few pairs to be fair with
            pairs.add(centre, margin)
            D, m, some = pairs.program()
            continue
        P, mu = answer[0], answer[1] * unit
        prices, paid = pairs.prices(mu)
        linear = problem.target @ mu - problem.slack @ np.abs(mu)
        primal, dual = float((D * P).sum()), paid + float(linear)
        if primal == 0:  # no plan is cheaper, and no duals at all prove it
            mu, dual = np.zeros_like(mu), 0.0
            prices, _ = pairs.prices(mu)
        done = abs(primal - dual) <= TOLERANCE * unit * problem.total
        logger.debug("round %d: %d pairs, gap %.2e", rounds, int(some.sum()), primal - dual)
        if done or pairs.all:
            break
        pairs.add(mu, 0.0)
        D, m, some = pairs.program()
    residual = problem.residual(P.sum(1), mu) if done else np.inf
    return Transport(
        problem=problem,
        mu=mu,
        prices=prices,
        point=pairs.point(P, prices, mu),
        value=dual,
        primal_value=primal,
        residual=residual,
        status=Status.CONVERGED if residual <= FAIR else Status.LP_FAILED,
        iterations=rounds,
    )


def _merged(D: np.ndarray, m: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Sum the mass of people with the same distances, if that leaves half of them at most.

    Returns distances, masses, and which of them each person is; None where nobody was summed.
    """
    order = np.lexsort(D)
    new = np.append(True, (D[:, order[1:]] != D[:, order[:-1]]).any(0))
    if new.sum() > len(m) / 2:
        return D, m, None
    alike = np.empty(len(m), dtype=np.int64)
    alike[order] = np.cumsum(new) - 1
    return D[:, order[new]], np.bincount(alike, m), alike


def _shared(P: np.ndarray, m: np.ndarray, alike: np.ndarray) -> np.ndarray:
    """Let those who were summed send what their sum sends, in turn, so that few send to several."""
    order = np.argsort(alike, kind="stable")
    until = np.cumsum(m[order])  # where each person's mass ends, of all mass in a line
    since = until - m[order]
    mine = alike[order]
    begin = since[np.searchsorted(mine, np.arange(P.shape[1]))]  # of each sum
    out = np.empty((len(P), len(m)))
    for k, end in enumerate(begin + np.cumsum(P, axis=0)):  # of what goes to the types up to k
        out[k, order] = np.minimum(until, end[mine]) - np.maximum(since, begin[mine])
        begin = end
    out = np.maximum(out, 0.0)
    lost = np.flatnonzero(out.sum(0) <= 0)  # so small that rounding took them
    out[P.argmax(0)[alike[lost]], lost] = 1.0
    return np.asarray(out * (m / out.sum(0)))


def excess(D: np.ndarray, V: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """By how much each type is dearer than the best one, for each person, at duals mu, (K, n)."""
    price = D - (mu @ V)[:, None]
    return np.asarray(price - price.min(0))


def _program(
    problem: TransportProblem, D: np.ndarray, m: np.ndarray, pairs: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """Solve the program over the given pairs; None when they do not allow fairness."""
    total = problem.total or 1.0
    unit = problem.size / total  # tolerances are of the total mass, and of each row's size
    V, target = problem.vectors / unit[:, None], problem.target / unit
    room, d = problem.slack / total, len(V)
    P = np.where(pairs, m, 0.0)  # right for people with one pair
    open_people = np.flatnonzero(pairs.sum(0) > 1)
    P[:, open_people] = 0.0
    k, i = np.nonzero(pairs[:, open_people])
    if d == 0 and len(i) == 0:
        return P, np.zeros(0)
    row_sums = sp.csr_array((np.ones(len(i)), (i, np.arange(len(i)))), (len(open_people), len(i)))
    fair = [sp.csr_array(V[:, k]), sp.diags_array(-1 / unit)]
    A = sp.block_array([[row_sums, None], fair], format="csr")
    answer = linprog(
        np.concatenate([D[k, open_people[i]], np.zeros(d)]),
        A_eq=A,
        b_eq=np.concatenate([m[open_people], target - V @ P.sum(1)]) / total,
        bounds=[(0, None)] * len(i) + [*zip(-room, room)],
        options=HIGHS,
    )
    if answer.status != 0:
        return None
    P[k, open_people[i]] = np.maximum(answer.x[: len(i)], 0.0) * total
    mu = answer.eqlin.marginals[len(open_people) :]
    mu = np.where(np.abs(mu) > 1e-12 * unit, mu, 0.0)
    # Send each score to the last digit; one below the tolerance goes where it is cheapest.
    lost = np.flatnonzero(P.sum(0) <= 0)
    cheapest = np.where(pairs, D - (mu @ V)[:, None], np.inf).argmin(0)
    P[cheapest[lost], lost] = 1.0
    return P * (m / P.sum(0)), mu / unit
