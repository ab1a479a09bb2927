"""Transport to fair scores that are scores: nobody receives more than a score of one.

Maths: docs/derivation.md, section 14. People who would receive too much leave their type, one place
at a time, for a type of their own that has a bound; all other people stay in theirs.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from otfair._io.arrays import Array
from otfair.geometry import NearPlaces, SoftDistances
from otfair.transport._moves import PlaceMoves
from otfair.transport._newton import Newton
from otfair.transport._problem import TransportProblem, to_numpy
from otfair.transport._semidual import Point, Received, Reference, Solved
from otfair.transport._status import Status

logger = logging.getLogger(__name__)

ROUNDS = 200
COARSE = 1e-3  # residual that ends a round, but the last ones
NEGLIGIBLE = 1e-13  # share of a person's score that need not be followed to a place
NEAR = 0.95  # of the bound, from which on people leave their type with those above it
MORE = 1.1  # times as much as at a solution nearby, up to which places need no second look
MANY = 0.25  # of the places, with a second look at more than whom all are read


class BoundedProblem(TransportProblem):
    """A transport problem in which some places are types of their own, with a bound each.

    The constraints f_j <= cap_j are rows of G behind those of the plain problem; `top` says that
    their duals are at most zero. What has one entry per person is NumPy's here.
    """

    def __init__(self, plain: TransportProblem, near: NearPlaces, alone: np.ndarray) -> None:
        vars(self).update(vars(plain))
        self.plain, self.near, self.alone = plain, near, alone  # alone: (a,) places
        self.caps, a = most_received(plain, near.types, near.weight), len(alone)  # (u,)
        given, weight = plain.open_types.cpu().numpy(), near.open_weight
        still = weight[given] > 0
        self.shared = given[still]  # (K,) the types that have people left
        self.distances = near.distances[self.shared][:, near.rows]
        self.own = near.own(alone)
        self.column_mass = np.append(weight[self.shared], near.weight[alone])
        single = plain.all_vectors[:, near.types[alone]]
        rows = np.hstack([plain.vectors[:, still], single])
        below = np.hstack([np.zeros((a, rows.shape[1] - a)), np.eye(a)])
        self.vectors = np.vstack([rows, below])
        self._size = np.abs(self.vectors)
        self.unit = np.append(plain.unit, np.ones(a))
        self.target = np.append(plain.target, self.caps[alone])
        self.top = np.append(plain.top, np.zeros(a))
        self._bound()

    @classmethod
    def of(cls, plain: TransportProblem) -> BoundedProblem:
        """Return the problem in which nobody has left their type yet."""
        assert isinstance(plain.spread, SoftDistances)
        near = NearPlaces(plain.spread)
        caps = np.bincount(
            near.types, most_received(plain, near.types, near.weight), near.columns.n_types
        )
        return cls(plain.with_caps(caps), near, np.zeros(0, dtype=np.int64))

    def with_scores(self, scores: Array) -> BoundedProblem:
        return self._of(self.plain.with_scores(scores))

    def with_slack(self, slack: np.ndarray) -> BoundedProblem:
        return self._of(self.plain.with_slack(slack))

    def refine(self, places: np.ndarray) -> BoundedProblem:
        """Let the people at more places leave their type."""
        alone = np.append(self.alone, places)
        return BoundedProblem(self.plain, self.near.without(places), alone)

    def continued(self, before: TransportProblem, mu: np.ndarray) -> np.ndarray | None:
        if not isinstance(before, BoundedProblem) or before.near.soft is not self.near.soft:
            return None
        a = len(before.alone)
        return self.extended(mu) if np.array_equal(before.alone, self.alone[:a]) else None

    def held(self, point: Point) -> BoundedProblem:
        """Return the problem with near places known to all who send score there; itself if so."""
        if self.near.dense:
            return self
        share = point.share[: len(self.shared)]
        short = self.near.short(self.shared, share, NEGLIGIBLE)
        if not short.any():
            return self
        logger.debug("%d people need near places of a type", short.sum())
        return BoundedProblem(self.plain, self.near.hold(self.shared, share, short), self.alone)

    def received(self, point: Point) -> Received:
        """Mass that each place gets which is still in its type, (u,)."""
        sent = point.share[: len(self.shared)] * self.mass
        return Received(sent, self.near.received(self.shared, sent))

    def most_received(self, point: Point, before: Received | None) -> tuple[Received, np.ndarray]:
        """Return the same, or for places that stay below their bound more than that, (u,).

        Of what a person sends to a type up to MORE times what it was goes where it went, up to MORE
        times as much of it; and all the rest might go to any of the type's places. The first result
        is what is known of all places: as before, or now where too many are near their bound.
        """
        if before is not None:
            sent = point.share[: len(self.shared)] * self.mass
            rest = np.zeros(self.near.columns.n_types)
            rest[self.shared] = np.maximum(sent - MORE * before.sent, 0.0).sum(1)
            most = np.where(self.near.open, MORE * before.by_place + rest[self.near.types], 0.0)
            unsure = most > self.caps
            if unsure.sum() <= MANY * len(unsure):
                exact = self.near.received(self.shared, sent, unsure)
                return before, np.where(unsure, exact, most)
        now = self.received(point)
        return now, now.by_place

    def excess(self, received: np.ndarray) -> np.ndarray:
        """By how much a mass of each place (u,) exceeds its bound, as a residual."""
        size = np.maximum(received, 1e-6 * self.total) + self.caps
        return np.asarray((received - self.caps) / size)

    def moves(self, point: Any) -> PlaceMoves:
        assert self.own is not None
        share, K = point.share * self.mass, len(self.shared)
        i, j, mass, cost = self.near.moves(self.shared, share[:K])
        (a, senders), far = self.own.tocoo().coords, self.own.data
        own = point.own.data * self.mass[self.own.indices]
        far = far + self.epsilon * np.log(self.near.weight[self.alone])[a]
        i, j = np.append(i, senders), np.append(j, self.alone[a])
        mass, cost = np.append(mass, own), np.append(cost, far)
        return PlaceMoves(i, j, mass, cost, self.near.columns, self.caps, len(self.mass))

    def bound_duals(self, mu: np.ndarray) -> Tensor:
        duals = np.zeros_like(self.caps)
        duals[self.alone] = mu[len(self.constraints) :]
        columns = self.near.columns
        return columns.to_people(torch.as_tensor(duals, device=columns.weight.device))

    def _of(self, plain: TransportProblem) -> BoundedProblem:
        """Return the problem with other scores, or another slack."""
        new = object.__new__(BoundedProblem)
        changed = ("as_tensor", "mass", "log_scores", "total", "violation")
        own = {name: getattr(plain, name) for name in changed}
        vars(new).update(vars(self) | own | {"plain": plain})
        new._bound()
        return new

    def _bound(self) -> None:
        """Set what of the bounds depends on the scores, or on the slack."""
        a = len(self.alone)
        self.mass, self.log_scores = to_numpy(self.mass), to_numpy(self.log_scores)
        self.size = np.append(self.plain.size, np.full(a, 1e-6 * self.plain.total or 1.0))
        self.slack = np.append(self.plain.slack, np.zeros(a))


def most_received(problem: TransportProblem, types: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the most that each place, of a type and a weight, may receive, (u,).

    A place of weight w takes w times a score of one. Where rows are other people than columns,
    their number counts: w times rows over columns, of all or of its type, whichever is more.
    """
    rows = problem.row_weight.cpu().numpy()
    columns = np.bincount(types, weight, len(rows))
    by_type = np.divide(rows, columns, out=np.zeros_like(rows), where=columns > 0)
    return np.asarray(weight * np.maximum(by_type, rows.sum() / columns.sum())[types])


def solve_bounded(
    problem: BoundedProblem, solver: Newton, init: np.ndarray | None, reference: Reference | None
) -> tuple[BoundedProblem, Solved]:
    """Solve, letting people leave their type until nobody receives too much."""
    rough = replace(solver, tol=max(solver.tol, COARSE))
    method, iterations = rough if init is None else solver, 0
    for _ in range(ROUNDS):
        solved = problem
        mu, point, status, residual, count = method.solve(solved, init, reference)
        iterations += count
        if status.failed:
            break
        if (longer := problem.held(point)) is not problem:
            problem, init, reference = longer, mu, None
            continue
        known, most = problem.most_received(point, point.reference.received)
        excess = problem.excess(most)
        if most is not known.by_place and (excess > method.tol).any():
            known = problem.received(point)
            most, excess = known.by_place, problem.excess(known.by_place)
        over = excess > method.tol
        logger.debug(
            "%d places of their own, %d more; residual %.1e, excess %.1e after %d evaluations",
            len(problem.alone), over.sum(), residual, excess.max(), count,
        )  # fmt: skip
        point = replace(point, reference=replace(point.reference, received=known))
        init, reference = mu, point.reference
        if over.any():
            places = (over | (most > NEAR * problem.caps)).nonzero()[0]
            problem, method = problem.refine(places), rough
            init, reference = problem.extended(mu), None
        elif method is rough:
            method = solver
        else:
            residual = max(residual, float(excess.max()))
            break
    else:  # somebody still receives too much
        status = Status.STALLED
    return solved, (mu, point, status, residual, iterations)
