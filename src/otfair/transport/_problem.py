"""The one transport problem that every solver takes, and the arrays in which they hold it.

Maths: docs/derivation.md, sections 1, 4 and 5. Letters follow the paper.
"""

from __future__ import annotations

import copy
import warnings
from typing import Any, Self, TypeAlias

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from otfair._io.arrays import Array, is_tensor, like_input, to_tensor
from otfair.geometry import Geometry, NearestDistances, SoftDistances
from otfair.notions import Constraints, check_existence
from otfair.transport._moves import Moves, TypeMoves

# With one entry or column per person. NumPy's for a batch on a CPU, as its calls cost least, and
# tensors for more people, whose threads can be told to be one, and on other devices.
Vector: TypeAlias = Any
MAX_BATCH = 2048  # people in NumPy's arrays


class TransportProblem:
    """min <C, P> - epsilon H(P)  s.t.  P 1 = h,  |G P'1 - b| <= slack,  by types of columns.

    What is of the size of constraints and types is NumPy, as solvers work on it in plain Python.
    Types without people are left out. Rows of G are divided by their largest entry, `unit`: a dual
    here is `unit` times one of the rows as given. Several processes may hold some of the people
    each; what is summed over people is then summed over processes, so that all of them solve alike.
    """

    def __init__(
        self, scores: Array, geometry: Geometry, constraints: Constraints, epsilon: float
    ) -> None:
        h = _check_scores(scores, geometry, constraints)
        self._speak_of(geometry, constraints, epsilon)
        K = len(constraints.type_names)
        columns = {"sample_weight": constraints.column_weight, "n_types": K}
        self.spread: SoftDistances | NearestDistances
        if epsilon:
            self.spread = geometry.soft_distances(constraints.column_types, epsilon, **columns)
        else:
            self.spread = geometry.nearest_distances(constraints.column_types, **columns)
        D = self.spread.by_type
        D = D if len(self.open_types) == K else D[self.open_types]
        self.distances = solver_array(D)  # D (K, n)
        self._state(constraints)
        self._take(h, is_tensor(scores))

    def _speak_of(self, geometry: Geometry, constraints: Constraints, epsilon: float) -> None:
        """Set who the problem is about."""
        self.geometry, self.constraints, self.epsilon = geometry, constraints, float(epsilon)
        self.processes = constraints.processes  # who hold the other people, if these are some
        device = geometry.device
        self.weight = torch.as_tensor(constraints.sample_weight, device=device)  # w (n,)
        self.row_types = torch.as_tensor(constraints.types, device=device)  # (n,)
        column_mass = torch.as_tensor(constraints.column_mass, device=device)
        self.open_types = torch.nonzero(column_mass > 0).squeeze(1)  # (K,), renumbered from here
        self.column_mass = column_mass[self.open_types].cpu().numpy()  # (K,)

    def _state(self, constraints: Constraints) -> None:
        """Set the rows of G and what they must equal."""
        given = torch.as_tensor(constraints.vectors).cpu().numpy()
        unit = np.abs(given).max(1, initial=0.0)
        self.unit = np.where(unit > 0, unit, 1.0)  # (d,)
        self.all_vectors = given / self.unit[:, None]  # V (d, K) of all types, open or not
        self.vectors = self.all_vectors[:, self.open_types.cpu().numpy()]  # V (d, K)
        self.target = torch.as_tensor(constraints.target).cpu().numpy() / self.unit  # b (d,)
        self._size = np.abs(self.vectors)
        self.type_caps: np.ndarray | None = None  # (K,) the most that types can take, if bounded
        self.constant_fits = False  # whether scores that are the same for all are fair within them
        self.own: sp.csr_array | None = None  # (a, n), distances to types of one place, if near

    @np.errstate(all="ignore")  # where numbers overflow, the status tells
    def _take(self, h: Tensor, as_tensor: bool) -> None:
        """Set all that depends on the scores h, (n,)."""
        self.as_tensor, mass = as_tensor, self.weight * h
        self.log_scores = array_module(solver_array(h)).log(solver_array(h))
        self.mass: Vector = solver_array(mass)  # m (n,)
        zero = mass.new_zeros(self.all_vectors.shape[1])
        own = zero.index_add_(0, self.row_types, mass).cpu().numpy()
        by_type = self.processes.sum(own)
        self.total = float(by_type.sum())
        self.violation = self.all_vectors @ by_type - self.target  # G h - b, by the rows' vectors
        row_size = np.abs(self.all_vectors) @ by_type
        floor = np.maximum(row_size, 1e-6 * self._size.max(1, initial=0.0) * self.total)
        self.size = np.where(floor > 0, floor, 1.0)  # (d,) what violations are measured against
        self.slack = np.zeros_like(self.target)  # gamma (d,)
        self.top = np.full_like(self.target, np.inf)  # (d,) of duals; 0 where G f <= b will do

    def with_scores(self, scores: Array) -> TransportProblem:
        """Return the problem of the same people with other scores."""
        problem = copy.copy(self)
        problem._take(_check_scores(scores, self.geometry, self.constraints), is_tensor(scores))
        return problem

    def with_constraints(self, constraints: Constraints, scores: Array) -> TransportProblem:
        """Return the problem of the same scores, people and types with other rows of G."""
        problem = copy.copy(self)
        problem.constraints = constraints
        problem._state(constraints)
        problem._take(_check_scores(scores, self.geometry, constraints), is_tensor(scores))
        return problem

    def with_slack(self, slack: np.ndarray) -> Self:
        """Return the same problem with a slack for the scaled rows, (d,)."""
        problem = self.with_gamma(slack)
        inside = self._allows(slack)
        if self.epsilon and not inside:
            warnings.warn(
                "the only fair scores leave some types of people with none, so the smooth optimum "
                "is not attained; allow a little `slack` to move away from that edge.",
                stacklevel=5,
            )
        return problem

    def with_gamma(self, slack: np.ndarray) -> Self:
        """Return the same problem with a slack, of which it is known that it allows some scores."""
        problem = copy.copy(self)
        problem.slack = slack
        return problem

    def _allows(self, slack: np.ndarray) -> bool:
        """Raise unless some scores are fair; tell whether positive ones are."""
        c = self.constraints
        if c.always_feasible and (self.type_caps is None or self.constant_fits):
            return True
        return check_existence(c, self.total, slack * self.unit, self.type_caps)

    @property
    def row_weight(self) -> Tensor:
        """Weight of the rows of each type, (K,), open or not."""
        zero = self.weight.new_zeros(self.all_vectors.shape[1])
        return zero.index_add_(0, self.row_types, self.weight)

    def with_caps(self, caps: np.ndarray) -> TransportProblem:
        """Return the same problem, of which it is known what the types can take at most, (K,)."""
        problem = copy.copy(self)
        problem.type_caps = caps
        # Scores that are the same for all are within the bounds; are they fair?
        rows, V = self.row_weight.cpu().numpy(), self.all_vectors
        fair = np.abs(V @ rows) <= 1e-9 * (np.abs(V) @ rows)
        problem.constant_fits = bool(fair.all()) and not self.target.any()
        return problem

    def extended(self, mu: np.ndarray) -> np.ndarray:
        """Return duals with zeros for the bounds that came after them."""
        return np.append(mu, np.zeros(len(self.target) - len(mu)))

    def continued(self, before: TransportProblem, mu: np.ndarray) -> np.ndarray | None:
        """Return duals (d,) of an earlier problem as ones of this, if its rows are among these."""
        return mu if before.distances is self.distances else None

    def read_slack(self, slack: Array) -> np.ndarray:
        """Read a user's slack, one number or one per row, for the scaled rows."""
        out, d = np.asarray(to_tensor(slack, "slack").cpu()), len(self.constraints)
        if out.shape not in ((), (d,)) or (out < 0).any():
            raise ValueError(
                f"`slack` must be a number or one per constraint ({d}) and not negative; received "
                f"shape {out.shape}, smallest {out.min(initial=0.0):.3g}."
            )
        return np.asarray(out / self.unit[:d])

    def moves(self, point: Any) -> Moves:
        """Return who sends how much where, at a point (or reference) of the semi-dual."""
        mass = torch.as_tensor(point.share * self.mass, device=self.weight.device)
        everywhere = mass.new_zeros(self.all_vectors.shape[1], mass.shape[1])
        return TypeMoves(everywhere.index_copy_(0, self.open_types, mass).T, self.spread)

    def type_mass(self, point: Any) -> Tensor:
        """Return the score that each type receives at a point, (K,), also of other processes."""
        own = self.moves(point).mass.sum(0).cpu().numpy()
        return torch.as_tensor(self.processes.sum(own))

    def price(self, point: Any) -> tuple[Vector, float]:
        """Return the price of each person's score at a point, (n,), and the sum that a value is."""
        prices = self.epsilon * (self.log_scores - point.lse)
        return prices, self.processes.total(float(self.mass @ (prices - self.epsilon)))

    def price_change(self, smooth: Any, relaxed: Any, shift: np.ndarray) -> tuple[Vector, float]:
        """Return by how much prices differ at two points, (n,), and what that sums to.

        `shift`, (K,), is by how much exponents differ; eps log h is in both prices.
        """
        change = self.epsilon * (relaxed.lse - smooth.lse)
        if np.abs(shift).max(initial=0.0) <= 1:  # by the shares at the second point: all digits
            change = relaxed.mean(np.expm1(shift))
            change = -self.epsilon * array_module(change).log1p(change)
        return change, self.processes.total(float(self.mass @ change))

    def slope(self, change: Vector, price: np.ndarray) -> Vector:
        """Return the gradient, (n,), of prices that change (n,), and of a price by type, (K,)."""
        by_type, moved = (torch.as_tensor(v, device=self.weight.device) for v in (price, change))
        return self.weight * (moved + by_type[self.row_types])

    @property
    def distance_range(self) -> float:
        """By how much the largest distance exceeds the smallest."""
        own = self.own.data if self.own is not None and not len(self.distances) else None
        D = self.distances if own is None else own
        high, low = (D.max(), D.min()) if D.shape[-1] else (-np.inf, np.inf)
        return self.processes.max(float(high)) + self.processes.max(-float(low))

    @property
    def max_distance(self) -> float:
        """The largest distance."""
        return float(self.distances.max())

    def bound_duals(self, mu: np.ndarray) -> Tensor:
        """Return the duals of the column people's bounds, (m,)."""
        return self.weight.new_zeros(self.geometry.shape[1])

    def like(self, values: Vector) -> Array:
        """Return a copy of numbers in the user's kind of array: a tensor if the scores are one."""
        return like_input(torch.as_tensor(values, device=self.geometry.device), self.as_tensor)

    def residual(self, f: np.ndarray, mu: np.ndarray) -> float:
        """Largest relative violation of the optimality conditions, for the mass f (K,) by type."""
        r, gamma = self.target - self.vectors @ f, self.slack
        v = np.abs(r)
        if gamma.any() or not self.top.all():
            miss = np.where(self.top > 0, v, -r) - gamma
            v = np.where(mu != 0, np.abs(r - gamma * np.sign(mu)), np.maximum(miss, 0.0))
        size = np.maximum(self._size @ f, self.size) + np.abs(self.target)
        return float((v / size).max(initial=0.0))


def _check_scores(scores: Array, geometry: Geometry, constraints: Constraints) -> Tensor:
    if not isinstance(geometry, Geometry):
        raise TypeError(
            f"`geometry` must say who is like whom: pass `PointCloud(X)` or `CostMatrix(C)`; "
            f"received {type(geometry).__name__}."
        )
    if not isinstance(constraints, Constraints):
        raise TypeError(
            "`constraints` must be those of a notion on these people, such as "
            "`DemographicParity().constraints(sensitive_features)`; received "
            f"{constraints!r:.60}."
        )
    h = to_tensor(scores, "scores", device=geometry.device)
    h = h.squeeze(1) if h.ndim == 2 and h.shape[1] == 1 else h
    n, m = geometry.shape
    people, receivers = len(constraints.types), len(constraints.column_types)
    if h.shape != (n,) or people != n or receivers != m:
        raise ValueError(
            f"`scores`, `geometry` and `constraints` must speak of the same people; received "
            f"scores of shape {tuple(h.shape)}, a geometry of {n} rows and {m} columns, and "
            f"constraints on {people} people and {receivers} receivers."
        )
    if len(h) and (float(h.min()) <= 0 or float(h.max()) > 1):
        bad = int(((h <= 0) | (h > 1)).sum())
        raise ValueError(
            f"`scores` must lie in (0, 1]; {bad} of {n} do not: they range from "
            f"{float(h.min()):.3g} to {float(h.max()):.3g}. Pass probabilities: for logits, apply "
            "`torch.sigmoid` first; where a score of 0 is meant, clip at a small positive number."
        )
    return h


def solver_array(tensor: Tensor) -> Vector:
    """Return a tensor as solvers hold it."""
    small = tensor.device.type == "cpu" and tensor.shape[-1] <= MAX_BATCH
    return tensor.numpy() if small else tensor


def array_module(array: Vector) -> Any:
    """Return the module of an array's functions, of which those that both name alike are used."""
    return np if isinstance(array, np.ndarray) else torch


def convert_like(values: np.ndarray, array: Vector) -> Vector:
    """Return numbers, one per type, in the kind of an array of people."""
    return values if array_module(array) is np else torch.as_tensor(values, device=array.device)


def to_numpy(array: Vector) -> np.ndarray:
    """Return an array of either kind as NumPy's."""
    return array if isinstance(array, np.ndarray) else np.asarray(array.cpu().numpy())
