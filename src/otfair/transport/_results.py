"""Solutions: duals and status as solved, and everything else derived from them when asked for.

Maths: docs/derivation.md, sections 4, 5, 7 and 8.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from otfair._io.arrays import Array
from otfair.transport._moves import Moves
from otfair.transport._problem import TransportProblem, Vector
from otfair.transport._semidual import Point, Reference
from otfair.transport._status import Status

MAX_DENSE_ENTRIES = 2**26  # of a dense plan: 512 MiB


@dataclass(frozen=True, eq=False)
class Flows:
    """Score that moves from type to type, (K, K), rows giving and columns receiving.

    Parameters
    ----------
    mass : array of shape (K, K)
        Score that goes from people of type k to people of type l; the diagonal stays within a type.
        Its row sums are the scores of each type.
    distance : array of shape (K, K)
        How far it goes on average, in units of the scaled cost; 0 where no score goes.
    type_names : tuple of str
        What the types are called.
    """

    mass: Array
    distance: Array
    type_names: tuple[str, ...]

    @property
    def cost(self) -> Array:
        """What each flow costs; sums to the transport cost."""
        return self.mass * self.distance


@dataclass(frozen=True, kw_only=True, eq=False)
class Transport:
    """Scores transported to fairness, at one epsilon.

    Parameters
    ----------
    problem, mu, prices, point : TransportProblem, ndarray, Tensor and Point
        What was solved, the duals of its scaled rows and of the scores, and the shares of scores
        that go to types; the properties are in terms of the problem as given.
    value : float
        The dual value, which is what the four costs of the paper are (a sum over people).
    primal_value : float
        The value of `plan()` itself; `gap` is its excess over `value`.
    residual : float
        Largest relative violation of the optimality conditions.
    status : Status
        How the solve ended.
    iterations : int
        Evaluations, sweeps or rounds of the solver.
    """

    problem: TransportProblem = field(repr=False)
    mu: np.ndarray = field(repr=False)
    prices: Vector = field(repr=False)
    point: Point | Reference = field(repr=False)
    value: float
    primal_value: float
    residual: float
    status: Status
    iterations: int

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

        With sample weights this is the price per copy: d value / d h_i is w_i times it.
        """
        return self.problem.like(self.prices)

    @property
    def constraint_duals(self) -> Array:
        """Change of the value with the target of each constraint at fixed slack, (d,)."""
        d = len(self.problem.constraints)
        return self.problem.like(self.mu[:d] / self.problem.unit[:d])

    @property
    def slack(self) -> Array:
        """Violation of each constraint that was allowed, (d,)."""
        d = len(self.problem.constraints)
        return self.problem.like(self.problem.slack[:d] * self.problem.unit[:d])

    @cached_property
    def transport_cost(self) -> float:
        """<C, P>, in units of the scaled cost; times `geometry.scale_` it is in raw units."""
        return float(self._moves.paid.sum())

    @cached_property
    def fair_scores(self) -> Array:
        """Scores after transport: column sums of the plan over the columns' weights, (m,).

        People without weight receive nothing.
        """
        return self.problem.like(self._moves.received())

    @cached_property
    def bound_duals(self) -> Array:
        """Change of the value with the bound of each column person, (m,); zero without bounds."""
        return self.problem.like(self.problem.bound_duals(self.mu))

    @cached_property
    def flows(self) -> Flows:
        """Score that moves between types of people, and how far."""
        names, rows = self.problem.constraints.type_names, self.problem.row_types
        zero = self.problem.weight.new_zeros(len(names), len(names))
        mass = zero.index_add(0, rows, self._moves.mass)
        cost = zero.index_add(0, rows, self._moves.paid)
        return Flows(
            self.problem.like(mass),
            self.problem.like(torch.where(mass > 0, cost / mass, 0.0)),
            names,
        )

    def plan(self, sparse: bool = False, threshold: float = 1e-12) -> Array:
        """Return the coupling P (n, m): score that goes from each row to each column person.

        Parameters
        ----------
        sparse : bool, default=False
            Return a SciPy CSR array (a sparse COO tensor for tensors in) instead.
        threshold : float, default=1e-12
            With `sparse`, entries at most this share of their person's score are left out; those of
            an exact plan never are.

        Returns
        -------
        array of shape (n, m)
            The coupling.
        """
        n, m = self.problem.geometry.shape
        if not sparse and n * m > MAX_DENSE_ENTRIES:
            raise MemoryError(
                f"a dense plan between {n} and {m} people takes {n * m * 8 / 2**30:.1f} GiB; pass "
                "`sparse=True`, or use `flows` and `fair_scores`."
            )
        plan = self._moves.plan(threshold if sparse else 0.0)
        if not sparse:
            return self.problem.like(plan.to_dense())
        if self.problem.as_tensor:
            return plan
        i, j = plan.indices().cpu().numpy()
        return scipy.sparse.csr_array((plan.values().cpu().numpy(), (i, j)), plan.shape)

    @property
    def type_mass(self) -> Tensor:
        """Score that each type receives, (K,)."""
        return self.problem.type_mass(self.point)

    @cached_property
    def _moves(self) -> Moves:
        return self.problem.moves(self.point)


@dataclass(frozen=True, eq=False)
class AdjustedTransport:
    """The adjusted cost, which is zero for fair scores, and its gradient.

    Parameters
    ----------
    smooth, relaxed : Transport
        Solutions of the two problems.
    value : float
        Smooth minus relaxed value.
    gradient : array of shape (n,)
        d value / d scores, the slack's own dependence on the scores included.
    """

    smooth: Transport
    relaxed: Transport
    value: float
    gradient: Array = field(repr=False)

    @property
    def residual(self) -> float:
        """The larger of the two residuals."""
        return max(self.smooth.residual, self.relaxed.residual)

    @property
    def status(self) -> Status:
        """How the two solves ended: the relaxed one's status where the smooth one converged."""
        return self.relaxed.status if self.smooth.converged else self.smooth.status

    @property
    def converged(self) -> bool:
        """Whether both problems were solved to the tolerance."""
        return self.status is Status.CONVERGED
