"""Solutions: duals and status as solved, and everything else derived from them when asked for.

Maths: docs/derivation.md, sections 4, 5, 7 and 8.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from otfair.arrays import Array, like_input
from otfair.constraints import Constraints
from otfair.distances import NearestDistances, SoftDistances
from otfair.geometry import Geometry
from otfair.problem import TransportProblem
from otfair.status import Status

MAX_DENSE_ENTRIES = 2**26  # of a dense plan: 512 MiB


@dataclass(frozen=True, kw_only=True)
class Flows:
    """Score that moves from type to type, (K, K), rows giving and columns receiving.

    Attributes
    ----------
    mass : score that goes from people of type k to people of type l; the diagonal stays within a
        type. Its row sums are the scores of each type.
    distance : how far it goes on average, in units of the scaled cost; 0 where no score goes.
    type_names : what the types are called.
    """

    mass: Array
    distance: Array
    type_names: tuple[str, ...]

    @property
    def cost(self) -> Array:
        """What each flow costs; sums to the transport cost."""
        return self.mass * self.distance


@dataclass(frozen=True, kw_only=True)
class Transport:
    """Scores transported to fairness, at one epsilon.

    Attributes
    ----------
    value : the dual value, which is what the four costs of the paper are (a sum over people).
    primal_value, gap : the value of `plan()` itself, and its excess over `value`.
    transport_cost : <C, P>, in units of the scaled cost.
    score_duals : lambda (n,), the price of a unit of a person's score.
    constraint_duals : mu (d,), the change of `value` with the target.
    slack : the violation that was allowed, a row (d,).
    fair_scores : scores after transport (m,); received mass where rows and columns differ.
    flows : score that moves between types of people.
    residual, converged, iterations, status : how good the solution is.
    """

    problem: TransportProblem
    constraints: Constraints
    geometry: Geometry
    spread: SoftDistances | NearestDistances
    open_types: Tensor  # (K',) the types that may receive score, in the order of the problem
    share: Tensor  # p (K', n) share of each person's score that goes to each open type
    value: float
    primal_value: float
    duals: tuple[Tensor, np.ndarray]  # lambda, and mu for the scaled rows of the problem
    status: Status
    residual: float
    iterations: int
    as_tensor: bool

    @property
    def gap(self) -> float:
        """Excess of the plan's own value over the dual value."""
        return self.primal_value - self.value

    @property
    def converged(self) -> bool:
        """Whether the residual is within the tolerance."""
        return self.status is Status.CONVERGED

    @property
    def score_duals(self) -> Array:
        """Price of a unit of each person's score, d value / d h at fixed slack, (n,).

        With sample weights this is the price a copy: d value / d h_i is w_i times it.
        """
        return self._like(self.duals[0])

    @property
    def constraint_duals(self) -> Array:
        """Change of the value with the target of each constraint, (d,)."""
        mu = self.duals[1] / self.problem.unit
        return self._like(torch.as_tensor(mu, device=self.geometry.device))

    @property
    def slack(self) -> Array:
        """Violation of each constraint that was allowed, (d,)."""
        gamma = self.problem.slack * self.problem.unit
        return self._like(torch.as_tensor(gamma, device=self.geometry.device))

    @cached_property
    def transport_cost(self) -> float:
        """<C, P>, in units of the scaled cost; times `geometry.scale_` it is in raw units."""
        return float((self._type_mass * self.spread.mean_cost).sum())

    @cached_property
    def fair_scores(self) -> Array:
        """Scores after transport: column sums of the plan over the columns' weights, (m,)."""
        return self._like(self.spread.column_mass(self._type_mass))

    @cached_property
    def flows(self) -> Flows:
        """Score that moves between types of people, and how far."""
        K = len(self.constraints.type_names)
        giver = torch.as_tensor(self.constraints.types, device=self.geometry.device)
        zero = self.share.new_zeros(K, K)
        mass = zero.index_add(0, giver, self._type_mass)
        cost = zero.index_add(0, giver, self._type_mass * self.spread.mean_cost)
        distance = torch.where(mass > 0, cost / mass, 0.0)
        return Flows(
            mass=self._like(mass),
            distance=self._like(distance),
            type_names=self.constraints.type_names,
        )

    def plan(self, sparse: bool = False, threshold: float = 1e-12) -> Array:
        """Return the coupling P (n, m): score that goes from each row to each column person.

        Parameters
        ----------
        sparse : return a SciPy CSR array (a sparse COO tensor for tensors in) instead.
        threshold : with `sparse`, entries at most this share of their person's score are left out;
            those of an exact plan never are.
        """
        n, m = self.geometry.shape
        if not sparse and n * m > MAX_DENSE_ENTRIES:
            raise MemoryError(
                f"a dense plan between {n} and {m} people takes {n * m * 8 / 2**30:.1f} GiB; pass "
                "`sparse=True`, or use `flows` and `fair_scores`."
            )
        plan = self.spread.plan(self._type_mass, threshold if sparse else 0.0)
        if not sparse:
            return self._like(plan.to_dense())
        if self.as_tensor:
            return plan
        i, j = plan.indices().cpu().numpy()
        return scipy.sparse.csr_array((plan.values().cpu().numpy(), (i, j)), plan.shape)

    @cached_property
    def _type_mass(self) -> Tensor:
        """Score from each person to each type, shut ones included, (n, K)."""
        n, K = self.share.shape[1], len(self.constraints.type_names)
        everywhere = self.share.new_zeros(K, n).index_copy_(0, self.open_types, self.share)
        return (everywhere * self.problem.mass).T

    def _like(self, tensor: Tensor) -> Array:
        return like_input(tensor, self.as_tensor)


@dataclass(frozen=True, kw_only=True)
class AdjustedTransport:
    """The adjusted cost, which is zero for fair scores, and its gradient.

    Attributes
    ----------
    value : smooth minus relaxed value.
    gradient : d value / d scores (n,), the slack's own dependence on the scores included.
    smooth, relaxed : the two solutions.
    """

    smooth: Transport
    relaxed: Transport
    value: float
    gradient: Array

    @property
    def residual(self) -> float:
        """The larger of the two residuals."""
        return max(self.smooth.residual, self.relaxed.residual)

    @property
    def converged(self) -> bool:
        """Whether both problems were solved to the tolerance."""
        return self.smooth.converged and self.relaxed.converged
