"""Transport to fair scores that are scores: nobody receives more than a score of one.

Maths: docs/derivation.md, section 14. People who would receive too much leave their type, one place
at a time, for a type of their own that has a bound; all other people stay in theirs.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from otfair._io.arrays import Array
from otfair.geometry import PlaceShares, SoftDistances, TypedColumns
from otfair.transport._newton import Newton
from otfair.transport._problem import TransportProblem, convert_like, solver_array, to_numpy
from otfair.transport._semidual import Point, Reference, Solved

logger = logging.getLogger(__name__)

ROUNDS = 200
COARSE = 1e-3  # residual that ends a round, but the last ones
NEAR = 0.95  # of the bound, from which on people leave their type with those above it


class BoundedProblem(TransportProblem):
    """A transport problem in which some places are types of their own, with a bound each.

    The constraints f_j <= cap_j are rows of G behind those of the plain problem; `top` says that
    their duals are at most zero.
    """

    def __init__(
        self, plain: TransportProblem, shares: PlaceShares, alone: Tensor, near: Tensor
    ) -> None:
        self.plain, self.shares, self.alone = plain, shares, alone  # alone: (a,) places
        vars(self).update({k: v for k, v in vars(plain).items() if k != "spread"})
        columns, K, a = shares.columns, len(plain.constraints.type_names), len(alone)
        weight = shares.open_weight
        still = weight[plain.open_types] > 0
        own = columns.weight[alone]
        self._n_shared = int(still.sum())
        self.open_types = torch.cat([plain.open_types[still], K + torch.arange(a).to(alone)])
        self.column_mass = torch.cat([weight[plain.open_types[still]], own]).cpu().numpy()
        self.distances = plain.distances
        self.near = near  # (a, n) from each row person to the places of their own
        if a:
            D = torch.cat([shares.distances[plain.open_types[still]], near])
            self.distances = solver_array(D)
        shared = plain.vectors[:, still.cpu().numpy()]
        own_vectors = plain.all_vectors[:, columns.types[alone].cpu().numpy()]
        below = np.hstack([np.zeros((a, shared.shape[1])), np.eye(a)])
        self.vectors = np.vstack([np.hstack([shared, own_vectors]), below])
        self._size = np.abs(self.vectors)
        self.unit = np.append(plain.unit, np.ones(a))
        self.caps = _caps(plain, columns)  # (u,)
        self.target = np.append(plain.target, self.caps[alone].cpu().numpy())
        self.top = np.append(plain.top, np.zeros(a))
        self._bound()

    @classmethod
    def of(cls, plain: TransportProblem) -> BoundedProblem:
        """Return the problem in which nobody has left their type yet."""
        assert isinstance(plain.spread, SoftDistances)
        shares = PlaceShares(plain.spread)
        columns, none = shares.columns, torch.zeros(0, dtype=torch.long, device=plain.weight.device)
        zero = columns.weight.new_zeros(columns.n_types)
        caps = zero.index_add_(0, columns.types, _caps(plain, columns))
        near = caps.new_zeros(0, len(plain.weight))
        return cls(plain.with_caps(caps.cpu().numpy()), shares, none, near)

    def _bound(self) -> None:
        """Set what of the bounds depends on the scores, or on the slack."""
        a = len(self.alone)
        self.size = np.append(self.plain.size, np.full(a, 1e-6 * self.plain.total or 1.0))
        self.slack = np.append(self.plain.slack, np.zeros(a))

    def with_scores(self, scores: Array) -> BoundedProblem:
        return self._of(self.plain.with_scores(scores))

    def with_slack(self, slack: np.ndarray) -> BoundedProblem:
        return self._of(self.plain.with_slack(slack))

    def _of(self, plain: TransportProblem) -> BoundedProblem:
        """Return the problem with other scores, or another slack."""
        new = object.__new__(BoundedProblem)
        own = {"plain": plain, "as_tensor": plain.as_tensor, "mass": plain.mass}
        own |= {"log_scores": plain.log_scores, "total": plain.total, "violation": plain.violation}
        vars(new).update(vars(self) | own)
        new._bound()
        return new

    def continued(self, before: TransportProblem, mu: np.ndarray) -> np.ndarray | None:
        if not isinstance(before, BoundedProblem) or before.plain.distances is not self.plain.distances:
            return None
        a = len(before.alone)
        return self.extended(mu) if torch.equal(before.alone, self.alone[:a]) else None

    def refine(self, places: Tensor) -> BoundedProblem:
        """Let the people at more places leave their type."""
        weight = self.shares.columns.weight[places]
        near = self.shares.costs(places) - self.epsilon * weight.log()[:, None]
        alone, near = torch.cat([self.alone, places]), torch.cat([self.near, near])
        return BoundedProblem(self.plain, self.shares.without(places), alone, near)

    def excess(self, point: Point | Reference) -> Tensor:
        """By how much each place that is in its type exceeds its bound, as a residual, (u,)."""
        some = self._n_shared
        mass = point.share_of(slice(some)) * self.mass
        types = self.open_types[:some]
        f = self.shares.received(types, torch.as_tensor(mass, device=types.device))
        self.last_received = f
        size = torch.clamp_min(f, 1e-6 * self.total) + self.caps
        return (f - self.caps) / size

    def bound_scores(self, received: Tensor) -> Tensor:
        columns = self.shares.columns
        return torch.minimum(received, columns.to_people(self.caps / columns.weight))

    def bound_duals(self, mu: np.ndarray) -> Tensor:
        duals = torch.zeros_like(self.caps)
        own = torch.as_tensor(mu[len(self.constraints) :], device=duals.device)
        return self.shares.columns.to_people(duals.index_copy_(0, self.alone, own))

    @property
    def parents(self) -> Tensor:
        return torch.cat([self.plain.parents, self.shares.columns.types[self.alone]])

    @cached_property
    def spread(self) -> SoftDistances:  # type: ignore[override]
        """Soft distances to the types, those of one place included."""
        columns = self.shares.columns
        own = columns.n_types + torch.arange(len(self.alone)).to(self.alone)
        kinds = columns.types.index_copy(0, self.alone, own)
        person = torch.cat([kinds, kinds.new_zeros(1)])[columns.member]
        return self.geometry.soft_distances(
            person, self.epsilon, columns.person_weight, columns.n_types + len(self.alone)
        )


def _caps(problem: TransportProblem, columns: TypedColumns) -> Tensor:
    """Return the most that each place may receive, (u,).

    A place of weight w takes w times a score of one. Where rows are other people than columns,
    their number counts: w times rows over columns, of all or of its type, whichever is more.
    """
    rows, types = problem.row_weight, columns.types
    people = torch.zeros_like(rows).index_add_(0, types, columns.weight)
    by_type = torch.where(people > 0, rows / people, 0.0)
    return columns.weight * by_type.clamp_min(float(rows.sum() / people.sum()))[types]


def solve_bounded(
    problem: BoundedProblem, solver: Newton, init: np.ndarray | None, reference: Reference | None
) -> tuple[BoundedProblem, Solved]:
    """Solve, letting people leave their type until nobody receives too much."""
    iterations, rough = 0, replace(solver, tol=max(solver.tol, COARSE))
    method = solver if init is not None else rough
    for _ in range(ROUNDS):
        mu, point, status, residual, count = method.solve(problem, init, reference)
        iterations += count
        if status.failed:
            break
        excess = problem.excess(point)
        most = float(excess.max())
        over = excess > method.tol
        if method is solver and not bool(over.any()):
            residual = max(residual, most)
            break
        init, reference = mu, point.reference
        logger.debug("%d places alone, %d more, excess %.1e, %d evaluations",
                     len(problem.alone), int(over.sum()), most, count)
        if not bool(over.any()):
            method = solver
            continue
        method = rough
        reference = None
        near = over | (problem.shares.open & (problem.last_received > NEAR * problem.caps))
        places = near.nonzero().squeeze(1)
        problem = problem.refine(places)
        init = np.append(mu, np.zeros(len(places)))
    return problem, (mu, point, status, residual, iterations)
