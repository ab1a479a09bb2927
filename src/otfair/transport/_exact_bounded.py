"""The exact cost with bounds: a linear program over pairs of people, certified by its duality gap.

Maths: docs/derivation.md, section 14. Pairs are generated: first those that are nearly optimal by
the duals of a lightly smoothed problem, then those that would improve on the program solved so far,
until none does.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from scipy.optimize import linprog
from torch import Tensor

from otfair.geometry import NearestDistances
from otfair.transport._bounded import BoundedProblem, most_received, solve_bounded
from otfair.transport._exact import FAIR, HIGHS, TOLERANCE
from otfair.transport._moves import PlaceMoves
from otfair.transport._newton import Newton
from otfair.transport._problem import TransportProblem, to_numpy
from otfair.transport._results import Transport
from otfair.transport._status import Status

logger = logging.getLogger(__name__)

ROUNDS = 60
SMOOTHING = 2e-3  # of a typical distance, at which the first pairs are found
MARGIN = 20.0  # times that, within which a pair is nearly optimal
MOST_NEW = 4  # pairs of a row point that are added in a round


class PlaceProblem(TransportProblem):
    """The exact problem by row points and places; a bound for each place follows the rows of G."""

    def __init__(self, plain: TransportProblem) -> None:
        vars(self).update(vars(plain))
        assert isinstance(plain.spread, NearestDistances)
        self.plain, self.columns = plain, plain.spread.columns
        self.types = self.columns.types.cpu().numpy()  # (u,)
        self.caps = most_received(plain, self.types, self.columns.weight.cpu().numpy())  # (u,)
        self.type_caps = np.bincount(self.types, self.caps, self.columns.n_types)
        self.rows = plain.geometry.row_index.cpu().numpy()  # (n,)
        self.sent = np.bincount(self.rows, to_numpy(plain.mass))  # (r,)
        self.place_vectors = plain.all_vectors[:, self.types]  # (d, u)

    def residual(self, f: np.ndarray, mu: np.ndarray) -> float:
        """Largest relative violation, for the mass f (u,) of each place."""
        d = len(self.constraints)
        by_type = np.bincount(self.types, f, self.columns.n_types)[self.open_types.cpu().numpy()]
        over = (f - self.caps) / (np.maximum(f, 1e-6 * self.total) + self.caps)
        return max(super().residual(by_type, mu[:d]), float(over.max(initial=0.0)))

    def moves(self, point: Any) -> PlaceMoves:
        assert isinstance(point, Pairs)
        # People at one row point share what it sends by their own scores.
        share = to_numpy(self.mass) / np.maximum(self.sent, 1e-300)[self.rows]
        n, shape = len(self.rows), (len(self.sent), len(point.row))
        at = sp.csr_array((np.ones(len(point.row)), (point.row, np.arange(len(point.row)))), shape)
        by_person = at[self.rows].tocoo()
        i, p = by_person.coords
        amount = point.mass[p] * share[i]
        return PlaceMoves(i, point.place[p], amount, point.cost[p], self.columns, self.caps, n)

    def bound_duals(self, mu: np.ndarray) -> Tensor:
        duals = torch.as_tensor(mu[len(self.constraints) :], device=self.columns.weight.device)
        return self.columns.to_people(duals)


@dataclass
class Pairs:
    """Pairs of a row point and a place, with the mass that goes between them."""

    row: np.ndarray
    place: np.ndarray
    cost: np.ndarray
    mass: np.ndarray


def solve_exact_bounded(plain: TransportProblem, slack: np.ndarray) -> Transport:
    """Solve min <C, P> s.t. P 1 = m, |G P'1 - b| <= slack, P'1 <= caps, certified by the gap."""
    problem = PlaceProblem(plain).with_slack(slack)
    d, unit = len(problem.target), _typical(problem)
    mu, beta, margin = _start(problem, unit)
    lowest, pairs = _price(problem, mu, beta, margin)
    primal, dual, done, rounds = np.inf, -np.inf, False, 0
    for rounds in range(1, ROUNDS + 1):
        answer = _program(problem, pairs, unit)
        if answer is None:
            if margin > problem.distances.max():
                break
            margin *= 10  # too few pairs to be fair with
            lowest, pairs = _price(problem, mu, beta, margin)
            continue
        mu, beta = answer
        lowest, new = _price(problem, mu, beta, 0.0, MOST_NEW)
        primal = float(pairs.cost @ pairs.mass)
        linear = problem.target @ mu - problem.slack @ np.abs(mu) + problem.caps @ beta
        dual = float(problem.sent @ lowest + linear)
        if primal == 0:  # no plan is cheaper, and no duals at all prove it
            mu, beta, dual, lowest = np.zeros(d), np.zeros_like(beta), 0.0, np.zeros_like(lowest)
        done = abs(primal - dual) <= TOLERANCE * unit * problem.total
        logger.debug("round %d: %d pairs, gap %.2e", rounds, len(pairs.row), primal - dual)
        if done:
            break
        pairs = _joined(pairs, new)
    received = np.bincount(pairs.place, pairs.mass, len(problem.caps))
    both = np.append(mu, beta)
    residual = problem.residual(received, both) if done else np.inf
    return Transport(
        problem=problem,
        mu=both,
        prices=lowest[problem.rows],
        point=pairs,  # type: ignore[arg-type]
        value=dual,
        primal_value=primal,
        residual=residual,
        status=Status.CONVERGED if residual <= FAIR else Status.LP_FAILED,
        iterations=rounds,
    )


def _typical(problem: PlaceProblem) -> float:
    """How far score has to go typically: to the farthest type, from the mean person."""
    D = to_numpy(problem.distances)
    most = float(D.max()) or 1.0  # where all people are identical, any unit will do
    return max(float(to_numpy(problem.mass) @ D.max(0)) / problem.total, 1e-6 * most)


def _start(problem: PlaceProblem, unit: float) -> tuple[np.ndarray, np.ndarray, float]:
    """Return duals of a lightly smoothed problem, and the margin of pairs that matter there."""
    epsilon, p = SMOOTHING * unit, problem.plain
    h = np.clip(np.exp(to_numpy(p.log_scores)), 1e-300, 1.0)
    smooth = TransportProblem(h, p.geometry, p.constraints, epsilon)
    bounded = BoundedProblem.of(smooth)._of(smooth.with_gamma(problem.slack))
    with np.errstate(all="ignore"):  # duals that are no good only mean more rounds
        bounded, (mu, *_) = solve_bounded(bounded, Newton(tol=1e-4), None, None)
    beta, d = np.zeros_like(problem.caps), len(problem.target)
    if not np.isfinite(mu).all():
        return np.zeros(d), beta, MARGIN * epsilon
    beta[bounded.alone] = np.minimum(mu[d:], 0.0)
    return mu[:d], beta, MARGIN * epsilon


def _price(
    problem: PlaceProblem, mu: np.ndarray, beta: np.ndarray, margin: float, most: int | None = None
) -> tuple[np.ndarray, Pairs]:
    """Return the price of a unit of each row point's score, (r,), and the pairs within a margin."""
    columns, parts, lowest = problem.columns, [], np.empty_like(problem.sent)
    open_types = np.isin(problem.types, problem.open_types.cpu().numpy())
    gain = np.where(open_types, mu @ problem.place_vectors + beta, -np.inf)
    price = torch.as_tensor(gain, device=columns.weight.device)[:, None]
    for start, stop, cost in problem.geometry.blocks(columns.points):
        reduced = cost - price
        least = reduced.amin(0)
        lowest[start:stop] = least.cpu().numpy()
        if most is None:
            j, i = torch.nonzero(reduced <= least + margin, as_tuple=True)
        else:
            best, where = reduced.topk(min(most, len(reduced)), dim=0, largest=False)
            a, i = torch.nonzero(best < torch.inf, as_tuple=True)
            j = where[a, i]
        found = (i + start, j, cost[j, i])
        parts.append([part.cpu().numpy() for part in found])
    row, place, paid = (np.concatenate(part) for part in zip(*parts))
    return lowest, Pairs(row, place, paid, np.zeros(len(row)))


def _joined(pairs: Pairs, new: Pairs) -> Pairs:
    """Return pairs that are in one or the other, once."""
    row, place, cost = (
        np.append(getattr(pairs, x), getattr(new, x)) for x in ("row", "place", "cost")
    )
    key = row * (place.max() + 1) + place
    _, first = np.unique(key, return_index=True)
    return Pairs(row[first], place[first], cost[first], np.zeros(len(first)))


def _program(
    problem: PlaceProblem, pairs: Pairs, unit: float
) -> tuple[np.ndarray, np.ndarray] | None:
    """Solve over the given pairs, whose masses are set; None where they do not allow fairness."""
    total, d, p = problem.total, len(problem.target), len(pairs.row)
    size = problem.size / total  # tolerances are of the total mass, and of each row's size
    V, one, every = problem.place_vectors / size[:, None], np.ones(p), np.arange(p)
    sums = sp.csr_array((one, (pairs.row, every)), (len(problem.sent), p))
    fair = [sp.csr_array(V[:, pairs.place]), sp.diags_array(-1 / size)]
    # A place that all its senders together can't fill needs no bound.
    can = np.bincount(pairs.place, problem.sent[pairs.row], len(problem.caps))
    tight = np.flatnonzero(can > problem.caps)
    number = np.full(len(problem.caps), -1)
    number[tight] = np.arange(len(tight))
    at = number[pairs.place]
    bound = sp.csr_array((one[at >= 0], (at[at >= 0], every[at >= 0])), (len(tight), p + d))
    room = problem.slack / total
    answer = linprog(
        np.concatenate([pairs.cost / unit, np.zeros(d)]),
        A_eq=sp.block_array([[sums, None], fair], format="csr") if d else sums,
        b_eq=np.concatenate([problem.sent / total, problem.target / size / total]),
        A_ub=bound if len(tight) else None,
        b_ub=problem.caps[tight] / total if len(tight) else None,
        bounds=[(0, None)] * p + [*zip(-room, room)],
        options=HIGHS,
    )
    if answer.status != 0:
        return None
    mass = np.maximum(answer.x[:p], 0.0) * total
    sent = np.bincount(pairs.row, mass, len(problem.sent))
    factor = np.divide(problem.sent, sent, out=np.ones_like(sent), where=sent > 0)
    pairs.mass = mass * factor[pairs.row]
    duals = answer.eqlin.marginals[len(problem.sent) :] * unit
    # A score below the tolerance goes where it is cheapest.
    lost = ((sent <= 0) & (problem.sent > 0))[pairs.row].nonzero()[0]
    if len(lost):
        price = pairs.cost[lost] - (duals / size) @ problem.place_vectors[:, pairs.place[lost]]
        order = lost[np.lexsort([price, pairs.row[lost]])]
        row, at = np.unique(pairs.row[order], return_index=True)
        pairs.mass[order[at]] = problem.sent[row]
    beta = np.zeros_like(problem.caps)
    if len(tight):
        beta[tight] = np.minimum(answer.ineqlin.marginals, 0.0) * unit
    return duals / size, beta
