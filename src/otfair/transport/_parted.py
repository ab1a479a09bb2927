"""The transport problem of people on many machines: the client solves it from sums over parts.

Maths: docs/scaling.md. Of the people, the client holds two of each type, who have the weight and
the mean score of all: what a problem says by type is theirs. What it sums over people, workers sum
over their own: the mass by type f (K,), the value and the curvature (d, d) of a Newton step.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from otfair._io.arrays import Array
from otfair._io.processes import ALONE, Processes
from otfair.distributed import Parts, to_dask
from otfair.geometry import Geometry, PartedCloud, PartedDistances, local_distances
from otfair.notions import Constraints, PartedConstraints, read_scores
from otfair.transport._moves import TypeMoves
from otfair.transport._problem import TransportProblem, Vector, solver_array, to_numpy
from otfair.transport._semidual import FAR, Point, Reference, SemiDual

quiet = np.errstate(all="ignore")  # where numbers overflow, the status tells


@dataclass(frozen=True)
class Table:
    """What workers are told of a problem: as many numbers as there are types and constraints."""

    vectors: np.ndarray  # V (d, K)
    target: np.ndarray  # b (d,)
    column_mass: np.ndarray  # (K,)
    epsilon: float
    tau: float


@dataclass(frozen=True)
class Local:
    """The problem of one part's people, as far as a semi-dual asks for it."""

    vectors: np.ndarray
    target: np.ndarray
    column_mass: np.ndarray
    epsilon: float
    distances: Vector  # D (K, n)
    mass: Vector  # m (n,)
    own: sp.csr_array | None = None
    processes: Processes = ALONE  # parts are summed by the client

    @classmethod
    def of(cls, D: np.ndarray, mass: np.ndarray, table: Table) -> Local:
        """Return the problem of some people."""
        known = (table.vectors, table.target, table.column_mass, table.epsilon)
        both = (solver_array(torch.from_numpy(x)) for x in (D, mass))
        return cls(*known, *both)


@dataclass(frozen=True)
class PartedReference:
    """Shares at one mu, on the workers; see `Reference`."""

    parts: Parts  # of `Reference`
    shift: np.ndarray  # (K,)
    curvature: np.ndarray | None = None


@dataclass(frozen=True)
class PartedPoint:
    """The semi-dual at one mu, from sums over parts; see `Point`."""

    reference: PartedReference
    at: tuple[Any, ...]  # what a part's own point is made of, after its distances and masses
    f: np.ndarray  # (K,) mass by type
    r: np.ndarray  # (d,)
    value: float
    lse: float  # sum of m LSE over people
    size: float  # of what is summed to it
    curvature: np.ndarray  # (d, d)


class PartedSemiDual(SemiDual):
    """A semi-dual that workers evaluate, each for its own people, with its curvature at once."""

    problem: PartedProblem

    def at(self, mu: np.ndarray) -> Any:
        """Evaluate at mu, (d,): one round of tasks."""
        problem, table = self.problem, self.problem.table(self.tau)
        shift, near = mu @ problem.vectors / self.tau, self._reference
        if near is None or np.ptp(shift - near.shift) > FAR:
            parts = problem.distances.map(_referred, problem.masses, table, shift)
            near = self._reference = PartedReference(parts, shift)  # type: ignore[assignment]
        given = (near.parts, table, mu)  # type: ignore[union-attr]
        f, lse, size, curvature = problem.distances.sum(_evaluated, problem.masses, *given)
        value = float(problem.target @ mu) - self.tau * lse
        r = problem.target - problem.vectors @ f
        return PartedPoint(near, given, f, r, value, lse, size, curvature)  # type: ignore[arg-type]

    def size_of(self, point: Any) -> float:
        return float(point.size)

    def curvature(self, point: Any) -> np.ndarray:
        return np.asarray(point.curvature)


class PartedProblem(TransportProblem):
    """The problem of people on workers; see `TransportProblem`.

    What it has per person, and is not asked for by `parts` of it, is that of the representatives.
    """

    semi_dual: ClassVar[type[SemiDual]] = PartedSemiDual

    def __init__(
        self, scores: Array, geometry: Geometry, constraints: Constraints, epsilon: float
    ) -> None:
        if not isinstance(geometry, PartedCloud) or not isinstance(constraints, PartedConstraints):
            raise TypeError(
                "`scores`, `geometry` and `constraints` must all be of Dask collections, or none; "
                f"received {type(geometry).__name__} and {type(constraints).__name__}."
            )
        h = self._read(scores, constraints)
        merge, receivers = constraints.people.first_types.numpy(), constraints.receivers
        own = constraints.at(h)
        self._speak_of(geometry, own, epsilon)
        K = len(own.type_names)
        found: PartedDistances = geometry.distances_to(receivers, merge, K, epsilon)
        self.spread = found  # type: ignore[assignment]
        self.distances: Parts = found.parts
        if len(self.open_types) < K:
            self.distances = found.parts.map(_rows_of, self.open_types.numpy())
        self._state(own)
        self._take(torch.as_tensor(h), False)

    def _read(self, scores: Array, constraints: PartedConstraints) -> np.ndarray:
        """Read scores on workers; return those of the representatives, (2 K,)."""
        self.in_parts = isinstance(scores, Parts)
        people = constraints.people
        self.scores, h, self._entropy = read_scores(people, scores)
        self.masses = self.scores.map(_massed, people.parts)
        return h

    def with_scores(self, scores: Array) -> PartedProblem:
        problem = copy.copy(self)
        h = problem._read(scores, self.constraints)  # type: ignore[arg-type]
        problem._take(torch.as_tensor(h), False)
        return problem

    def with_constraints(self, constraints: Constraints, scores: Array) -> PartedProblem:
        problem = copy.copy(self)
        problem.constraints = constraints
        problem._state(constraints)
        h = problem._read(scores, constraints)  # type: ignore[arg-type]
        problem._take(torch.as_tensor(h), False)
        return problem

    def table(self, tau: float) -> Table:
        """Return what workers need to know, at a smoothing."""
        return Table(self.vectors, self.target, self.column_mass, self.epsilon, tau)

    def price(self, point: Any) -> tuple[Any, float]:
        prices = partial(
            self.distances.map, _priced, self.masses, *point.at, self.scores
        )  # made when asked for
        return prices, self.epsilon * (self._entropy - point.lse - self.total)

    def price_change(self, smooth: Any, relaxed: Any, shift: np.ndarray) -> tuple[Parts, float]:
        others = (*relaxed.at[::2], shift)
        change = self.distances.map(_changed, self.masses, *smooth.at, *others)
        return change, float(change.sum(_dotted, self.masses))

    def slope(self, change: Parts, price: np.ndarray) -> Parts:
        people = self.constraints.people  # type: ignore[attr-defined]
        by_first = np.broadcast_to(price, self.all_vectors.shape[1:])[people.first_types.numpy()]
        return change.map(_sloped, people.parts, by_first)

    @property
    def distance_range(self) -> float:
        high, low = self.distances.reduce(_widest, _ends)
        return float(high - low)

    @property
    def max_distance(self) -> float:
        return float(self.distances.reduce(_widest, _ends)[0])

    def like(self, values: Any) -> Array:
        if isinstance(values, partial):
            values = values()
        if not isinstance(values, Parts):
            return super().like(values)
        return values if self.in_parts else to_dask(values)

    def moves(self, point: Any) -> PartedMoves:
        return PartedMoves(self, point)

    def type_mass(self, point: Any) -> Tensor:
        if isinstance(point, PartedShares):
            return self.moves(point).mass.sum(0)
        out = np.zeros(self.all_vectors.shape[1])
        out[self.open_types.numpy()] = point.f
        return torch.as_tensor(out)

    def bound_duals(self, mu: np.ndarray) -> Tensor:
        raise TypeError("no bounds are known on Dask's workers.")


class PartedMoves:
    """What moves, by representatives of the senders; see `Moves`."""

    def __init__(self, problem: PartedProblem, point: Any) -> None:
        self._problem = problem
        exact = isinstance(point, PartedShares)
        self._sent = (
            point.parts.map(_sent_exactly, problem.masses)
            if exact
            else problem.distances.map(_sent, problem.masses, *point.at)
        )

    @property
    def mass(self) -> Tensor:
        return self._by_representative(self._sums[0])

    @property
    def paid(self) -> Tensor:
        return self._by_representative(self._sums[1])

    def received(self) -> Any:
        """Score per unit of weight that each column person gets, (m,), as parts: one."""
        problem = self._problem
        whole = self._each().map(_second)
        total = problem.distances.client.submit(_added, list(whole.futures), pure=False)
        m = problem.geometry.shape[1]
        return Parts(whole.client, [total], [m])

    def plan(self, threshold: float) -> Tensor:
        raise MemoryError(
            "a plan between people on Dask's workers fits no single machine; use `flows`, "
            "`fair_scores` and `score_duals`."
        )

    @cached_property
    def _sums(self) -> tuple[np.ndarray, np.ndarray]:
        people = self._problem.constraints.people  # type: ignore[attr-defined]
        found: tuple[np.ndarray, np.ndarray] = self._each().sum(
            _flowed, people.parts, len(people.first_types)
        )
        return found

    def _each(self) -> Parts:
        """Return of each part what each person sends and pays, and what each receiver gets."""
        problem = self._problem
        geometry: Any = problem.geometry
        spread: Any = problem.spread
        if geometry.drawn is not None:
            raise ValueError(
                "only a sample of the people receives score, which tells what fairness costs and "
                "not who gets what; take the geometry of all people."
            )
        how = (geometry.cost, geometry.scale_, problem.epsilon, problem.open_types.numpy())
        found: Parts = geometry.people.map(_spread, spread.receivers, self._sent, *how)
        return found

    def _by_representative(self, sums: np.ndarray) -> Tensor:
        """Return sums by first type, (K0, K), as those of the first of each two representatives."""
        both = np.zeros((2 * len(sums), sums.shape[1]))
        both[::2] = sums
        return torch.as_tensor(both)


@dataclass(frozen=True)
class PartedShares:
    """Shares of an exact plan, on the workers."""

    parts: Parts  # P / m (K, n) of the open types


def _local_point(
    D: np.ndarray, mass: np.ndarray, reference: Reference, table: Table, mu: np.ndarray
) -> tuple[SemiDual, Point]:
    semi = SemiDual(Local.of(D, mass, table), table.tau, reference)  # type: ignore[arg-type]
    return semi, semi.at(mu)


@quiet
def _referred(D: np.ndarray, mass: np.ndarray, table: Table, shift: np.ndarray) -> Reference:
    return SemiDual(Local.of(D, mass, table), table.tau)._refer(shift)  # type: ignore[arg-type]


@quiet
def _evaluated(D: np.ndarray, mass: np.ndarray, *at: Any) -> tuple[Any, ...]:
    """Evaluate a semi-dual for one part: mass by type, sum of m LSE, its size, curvature."""
    semi, point = _local_point(D, mass, *at)
    lse = float(semi.problem.mass @ point.lse)
    return point.f, lse, semi.size_of(point), semi.curvature(point)


@quiet
def _priced(
    D: np.ndarray, mass: np.ndarray, reference: Reference, table: Table, mu: np.ndarray,
    h: np.ndarray,
) -> np.ndarray:  # fmt: skip
    _, point = _local_point(D, mass, reference, table, mu)
    return np.asarray(table.epsilon * (np.log(h) - to_numpy(point.lse)))


@quiet
def _changed(
    D: np.ndarray, mass: np.ndarray, first: Reference, table: Table, mu: np.ndarray,
    second: Reference, nu: np.ndarray, shift: np.ndarray,
) -> np.ndarray:  # fmt: skip
    semi, smooth = _local_point(D, mass, first, table, mu)
    _, relaxed = _local_point(D, mass, second, table, nu)
    change, _ = TransportProblem.price_change(semi.problem, smooth, relaxed, shift)
    return to_numpy(change)


@quiet
def _sent(D: np.ndarray, mass: np.ndarray, *at: Any) -> np.ndarray:
    semi, point = _local_point(D, mass, *at)
    return to_numpy(point.share * semi.problem.mass)


def _sent_exactly(share: np.ndarray, mass: np.ndarray) -> np.ndarray:
    return np.asarray(share * mass)


def _spread(
    places: np.ndarray, receivers: Any, sent: np.ndarray, cost: Any, scale: float, epsilon: float,
    open_types: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """Return what the people of a part send and pay by type, (n, K), and what receivers get."""
    spread = local_distances(places, receivers, cost, scale, epsilon)
    mass = np.zeros((receivers.n_types, sent.shape[1]))
    mass[open_types] = sent
    moves = TypeMoves(torch.from_numpy(np.ascontiguousarray(mass.T)), spread)
    return moves.mass.numpy(), moves.paid.numpy(), moves.received().numpy()


def _flowed(
    moved: tuple[np.ndarray, ...], typed: tuple[np.ndarray, np.ndarray], count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Sum what is sent and paid over the people of each first type, (K0, K) each."""
    mass, paid, _ = moved
    member = sp.csr_array(
        (np.ones(len(mass)), (typed[0], np.arange(len(mass)))), (count, len(mass))
    )
    return np.asarray(member @ mass), np.asarray(member @ paid)


def _second(moved: tuple[np.ndarray, ...]) -> np.ndarray:
    return moved[2]


def _added(parts: list[np.ndarray]) -> np.ndarray:
    return np.asarray(np.sum(parts, axis=0))


def _massed(h: np.ndarray, typed: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    return np.asarray(h * typed[1])


def _dotted(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b)


def _sloped(
    change: np.ndarray, typed: tuple[np.ndarray, np.ndarray], price: np.ndarray
) -> np.ndarray:
    types, weight = typed
    return np.asarray(weight * (change + price[types]))


def _rows_of(D: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return np.asarray(D[rows])


def _ends(D: np.ndarray) -> tuple[float, float]:
    return float(D.max()), float(D.min())


def _widest(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    return max(a[0], b[0]), min(a[1], b[1])
