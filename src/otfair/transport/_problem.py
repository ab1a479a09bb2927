"""The one transport problem that every solver takes, and its semi-dual.

Maths: docs/derivation.md, sections 1, 4 and 5. Letters follow the paper.
"""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from otfair._io.arrays import Array, is_tensor, to_tensor
from otfair.geometry import Geometry, NearestDistances, SoftDistances
from otfair.notions import Constraints, check_existence
from otfair.transport._status import Status

# An array of the size of people, in the solvers: NumPy's for a batch on a CPU, as its calls cost
# least, and a tensor for more people, as it works on all cores, and on other devices.
Vector: TypeAlias = Any
MAX_BATCH = 8192

# Shares near a reference are products of its own, of at least exp(LOWEST_SHARE), and of ratios of
# at most exp(FAR): none is so small that it would be denormal, and none that matters is cut off.
LOWEST_SHARE, FAR = -400.0, 250.0


class TransportProblem:
    """min <C, P> - epsilon H(P)  s.t.  P 1 = h,  |G P'1 - b| <= slack,  by types of columns.

    What is of the size of constraints and types is NumPy, as solvers work on it in plain Python.
    Types without people are left out. Rows of G are divided by their largest entry, `unit`: a dual
    here is `unit` times one of the rows as given.
    """

    def __init__(
        self, scores: Array, geometry: Geometry, constraints: Constraints, epsilon: float
    ) -> None:
        self.geometry, self.constraints, self.epsilon = geometry, constraints, float(epsilon)
        h = _check_scores(scores, geometry, constraints)
        device, K = geometry.device, len(constraints.type_names)
        self.weight = torch.as_tensor(constraints.sample_weight, device=device)  # w (n,)
        self.row_types = torch.as_tensor(constraints.types, device=device)  # (n,)
        column_mass = torch.as_tensor(constraints.column_mass, device=device)
        self.open_types = torch.nonzero(column_mass > 0).squeeze(1)  # (K,), renumbered from here
        self.column_mass = column_mass[self.open_types].cpu().numpy()  # (K,)
        columns = {"sample_weight": constraints.column_weight, "n_types": K}
        self.spread: SoftDistances | NearestDistances
        if epsilon:
            self.spread = geometry.soft_distances(constraints.column_types, epsilon, **columns)
        else:
            self.spread = geometry.nearest_distances(constraints.column_types, **columns)
        D = self.spread.values.T
        self.distances = engine(D if len(self.open_types) == K else D[self.open_types])  # D (K, n)
        given = torch.as_tensor(constraints.vectors).cpu().numpy()
        unit = np.abs(given).max(1, initial=0.0)
        self.unit = np.where(unit > 0, unit, 1.0)  # (d,)
        self.all_vectors = given / self.unit[:, None]  # V (d, K) of all types, open or not
        self.vectors = self.all_vectors[:, self.open_types.cpu().numpy()]  # V (d, K)
        self.target = torch.as_tensor(constraints.target).cpu().numpy() / self.unit  # b (d,)
        self._size = np.abs(self.vectors)
        self.near: Reference | None = None  # of a solution from which solvers start
        self._take(h, is_tensor(scores))

    @np.errstate(all="ignore")  # where numbers overflow, the status tells
    def _take(self, h: Tensor, as_tensor: bool) -> None:
        """Set all that depends on the scores h, (n,)."""
        self.as_tensor, mass = as_tensor, self.weight * h
        self.log_scores = namespace(engine(h)).log(engine(h))
        self.mass: Vector = engine(mass)  # m (n,)
        zero = mass.new_zeros(self.all_vectors.shape[1])
        by_type = zero.index_add_(0, self.row_types, mass).cpu().numpy()
        self.total = float(by_type.sum())
        self.violation = self.all_vectors @ by_type - self.target  # G h - b, by the rows' vectors
        row_size = np.abs(self.all_vectors) @ by_type
        floor = np.maximum(row_size, 1e-6 * self._size.max(1, initial=0.0) * self.total)
        self.size = np.where(floor > 0, floor, 1.0)  # (d,) what violations are measured against
        self.slack = np.zeros_like(self.target)  # gamma (d,)

    def with_scores(self, scores: Array) -> TransportProblem:
        """Return the problem of the same people with other scores."""
        problem = copy.copy(self)
        problem._take(_check_scores(scores, self.geometry, self.constraints), is_tensor(scores))
        return problem

    def with_slack(self, slack: np.ndarray) -> TransportProblem:
        """Return the same problem with a slack for the scaled rows, (d,)."""
        problem, c = copy.copy(self), self.constraints
        problem.slack = slack
        inside = c.always_feasible or check_existence(c, self.total, slack * self.unit)
        if self.epsilon and not inside:
            warnings.warn(
                "the only fair scores leave some types of people with none, so the smooth optimum "
                "is not attained; allow a little `slack` to move away from that edge.",
                stacklevel=4,
            )
        return problem

    def read_slack(self, slack: Array) -> np.ndarray:
        """Read a user's slack, one number or one a row, for the scaled rows."""
        out, d = np.asarray(to_tensor(slack, "slack").cpu()), len(self.target)
        if out.shape not in ((), (d,)) or (out < 0).any():
            raise ValueError(
                f"`slack` must be a number or one a constraint ({d}) and not negative; received "
                f"shape {out.shape}, smallest {out.min(initial=0.0):.3g}."
            )
        return np.asarray(out / self.unit)

    def residual(self, f: np.ndarray, mu: np.ndarray) -> float:
        """Largest relative violation of the optimality conditions, for the mass f (K,) by type."""
        r, gamma = self.target - self.vectors @ f, self.slack
        v = np.abs(r)
        if gamma.any():
            v = np.where(mu != 0, np.abs(r - gamma * np.sign(mu)), np.maximum(v - gamma, 0.0))
        size = np.maximum(self._size @ f, self.size) + np.abs(self.target)
        return float((v / size).max(initial=0.0))


@dataclass(frozen=True)
class Reference:
    """Shares at one mu, from which those at others nearby follow without exponentials."""

    share: Vector  # p (K, n)
    lse: Vector  # (n,) log-sum-exp over types
    shift: np.ndarray  # G'mu / tau by type, (K,)
    curvature: np.ndarray | None = None  # minus a Hessian nearby, (d, d)

    def mean(self, values: np.ndarray) -> Vector:
        """Mean over types, by share, of one row (K,) or of several (d, K): (n,) or (d, n)."""
        return beside(values, self.share) @ self.share


@dataclass(frozen=True)
class Point:
    """The semi-dual at one mu: everything a Newton step asks for."""

    near: Reference
    ratio: np.ndarray  # (K,) of the types' exponentials to those of `near`, at least 1
    total: Vector  # (n,) sum over types of ratio times share
    lse: Vector  # (n,) log-sum-exp over types
    f: np.ndarray  # (K,) mass by type
    r: np.ndarray  # b - G f  (d,), the gradient of the smooth part
    value: float  # the smooth part of L

    @cached_property
    def share(self) -> Vector:
        """Share p of a person's score that goes to each type, (K, n)."""
        return self.near.share * beside(self.ratio, self.total)[:, None] / self.total

    def mean(self, values: np.ndarray) -> Vector:
        """Mean over types, by share, as for a reference."""
        return self.near.mean(values * self.ratio) / self.total


# What a solver of a smooth problem returns: mu, the point there, status, residual, iterations.
Solved: TypeAlias = tuple[np.ndarray, Point, Status, float, int]


class SemiDual:
    """Evaluates L(mu) = -tau sum_i m_i LSE_k((g_k'mu - D_ik) / tau) + b'mu and its derivatives.

    The constant eps h (log h - 1) and the term -slack'|mu| are left to the caller. At tau > epsilon
    this is the annealed function of docs/derivation.md, section 9; at tau = epsilon the true one.
    """

    def __init__(self, problem: TransportProblem, tau: float | None = None) -> None:
        self.problem, eps = problem, problem.epsilon
        self.tau = eps if tau is None else tau
        self._near = problem.near if self.tau == eps else None

    def at(self, mu: np.ndarray) -> Point:
        """Evaluate at mu, (d,)."""
        problem, V = self.problem, self.problem.vectors
        shift = mu @ V / self.tau
        change = shift - (shift if self._near is None else self._near.shift)
        if self._near is None or change.max() - change.min() > FAR:
            self._near, change = self._reference(shift), np.zeros_like(shift)
        near, least = self._near, float(change.min())
        ratio = np.exp(change - least)
        total = near.mean(ratio)
        f = ratio * to_numpy(near.share @ (problem.mass / total))
        lse = namespace(total).log(total)
        lse += near.lse
        lse += least
        value = float(problem.target @ mu) - self.tau * float(problem.mass @ lse)
        return Point(near, ratio, total, lse, f, problem.target - V @ f, value)

    def curvature(self, point: Point) -> np.ndarray:
        """Minus the Hessian: sum_i m_i Cov_{p_i}(g) / tau, (d, d)."""
        V = self.problem.vectors
        mean = point.near.mean(V * point.ratio)  # (d, n), times the total
        within = to_numpy((mean * (self.problem.mass / point.total**2)) @ mean.T)
        return np.asarray(((V * point.f) @ V.T - within) / self.tau)

    def _reference(self, shift: np.ndarray) -> Reference:
        """Return the shares at a shift, (K,)."""
        problem, D = self.problem, self.problem.distances
        add = shift + np.log(problem.column_mass) * (1 - problem.epsilon / self.tau)
        xp, share = namespace(D), D / -self.tau
        share += beside(add, D)[:, None]
        top = xp.amax(share, 0)
        share -= top
        total = xp.exp(xp.clip(share, LOWEST_SHARE, None, out=share), out=share).sum(0)
        share /= total
        return Reference(share, xp.log(total) + top, shift)


def engine(tensor: Tensor) -> Vector:
    """Return what solvers work on, for a tensor with one entry or column a person."""
    small = tensor.device.type == "cpu" and tensor.shape[-1] <= MAX_BATCH
    return tensor.numpy() if small else tensor


def namespace(array: Vector) -> Any:
    """Return the module of an array's functions, of which those that both name alike are used."""
    return np if isinstance(array, np.ndarray) else torch


def beside(values: np.ndarray, array: Vector) -> Vector:
    """Return what is of the size of types in the form of an array of people."""
    return values if namespace(array) is np else torch.as_tensor(values, device=array.device)


def to_numpy(array: Vector) -> np.ndarray:
    """Return an array of either kind as NumPy's."""
    return array if isinstance(array, np.ndarray) else np.asarray(array.cpu().numpy())


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
    if float(h.min()) <= 0 or float(h.max()) > 1:
        bad = int(((h <= 0) | (h > 1)).sum())
        raise ValueError(
            f"`scores` must lie in (0, 1]; {bad} of {n} do not: they range from "
            f"{float(h.min()):.3g} to {float(h.max()):.3g}. Pass probabilities: for logits, apply "
            "`torch.sigmoid` first; where a score of 0 is meant, clip at a small positive number."
        )
    return h
