"""Costs from people on many machines to those who receive score, whom each worker has a copy of.

Maths: docs/scaling.md. Distances of the people of a part are those of a `PointCloud` from that part
to all receivers, at the scale of all pairs.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from otfair._io.arrays import Array, to_tensor
from otfair._io.settings import check_epsilon, check_real
from otfair.distributed import Parts, is_dask, read_parts, to_dask
from otfair.geometry._distances import NearestDistances, SoftDistances
from otfair.geometry._geometry import Geometry, Scale, _spaced
from otfair.geometry._point_cloud import PointCloud
from otfair.geometry._receivers import Receivers as Sampled
from otfair.geometry.costs import Cost, CostFunction, Euclidean, Mahalanobis, as_cost


@dataclass(frozen=True)
class Receivers:
    """The people who receive score, as every worker knows them."""

    places: np.ndarray  # (m, p) features as the cost takes them
    types: np.ndarray  # (m,)
    weight: np.ndarray  # (m,)
    n_types: int


@dataclass(frozen=True)
class PartedDistances:
    """Distances of people on workers to each type, soft or nearest."""

    parts: Parts  # D (K, n) of each part
    epsilon: float  # 0 where they are nearest distances
    receivers: Any  # future of `Receivers`
    n_types: int

    @property
    def values(self) -> Array:
        """The distances D, (n, K), as a Dask array."""
        return to_dask(self.parts.map(_by_person), self.n_types)


@dataclass(frozen=True)
class Drawn:
    """A sample of people who receive score for all, next to each person's own place."""

    index: np.ndarray  # (m,) ascending, their numbers
    typed: Parts  # of all people, their types as typed first, and weights
    every: np.ndarray  # (K0,) weight of each such type
    some: np.ndarray  # (K0,) that of those who were drawn

    def factors(self, merge: np.ndarray, K: int) -> np.ndarray:
        """Return by how much the weight of those drawn of each type is raised, (K,)."""
        every, some = (np.bincount(merge, x, K) for x in (self.every, self.some))
        return np.where(some > 0, every / np.where(some > 0, some, 1.0), 0.0)


class PartedCloud(Geometry):
    """What `PointCloud` is where `X` is a Dask collection; see there.

    Its rows stay on the workers. Those who receive score are gathered once by a worker, and every
    other one gets a copy.
    """

    def __init__(
        self,
        X: Array,
        Y: Array = None,
        cost: str | CostFunction | Cost = "euclidean",
        scale: Scale = "max",
    ) -> None:
        people = X if isinstance(X, Parts) else read_parts({"X": X}).map(_numbers, "X")
        if Y is None:
            there, m = people.joined(np.concatenate), len(people)
        elif isinstance(Y, tuple):  # a future of them, and how many they are
            there, m = Y
        elif is_dask(Y):
            others = read_parts({"Y": Y}).map(_numbers, "Y")
            there, m = others.joined(np.concatenate), len(others)
        else:
            places = to_tensor(Y, "Y", ndim=2).numpy()
            there, m = people.client.submit(_as_it_is, places, pure=False), len(places)
        self._state(people, there, m, as_cost(cost), apart=Y is not None)
        self.scale_ = self._scale_of(scale, self.people, self._there)

    def _state(self, people: Parts, there: Any, m: int, cost: Cost, apart: bool) -> None:
        self.shape, self.device = (len(people), m), torch.device("cpu")
        self.people, self._there, self.cost, self.scale_ = people, there, cost, 1.0
        self._cached: tuple[Any, PartedDistances] | None = None
        self.drawn: Drawn | None = None
        if isinstance(cost, Mahalanobis):
            centre, stretch = _whitening(people, there, m if apart else 0)
            self.people = people.map(_placed, centre, stretch)
            self._there = people.client.submit(_placed, there, centre, stretch, pure=False)
            self.cost = Euclidean()

    def scaled_by(self, scale: Scale, people: Parts, there: Any) -> PartedCloud:
        """Return the same costs at the scale of some of the rows and receivers."""
        view = copy.copy(self)
        view._cached = None
        view.scale_ = self._scale_of(scale, people, there)
        return view

    def with_drawn(self, drawn: Drawn | None) -> PartedCloud:
        """Return the same costs, of which soft distances are to a sample; None for all people."""
        view = copy.copy(self)
        view._cached, view.drawn = None, drawn
        view.shape = (self.shape[0], self.shape[0]) if drawn is not None else self.shape
        return view

    def _scale_of(self, scale: Scale, people: Parts, there: Any) -> float:
        if scale not in ("max", "mean", "median"):
            return PointCloud([[0.0]], scale=scale).scale_  # checked there
        if scale == "max":
            found = people.reduce(max, _max_cost, there, self.cost)
        elif scale == "mean":
            total, pairs = people.sum(_sum_of_costs, there, self.cost)
            found = total / max(pairs, 1)
        else:
            some = people.each(_rows_of, people.split(_spaced(len(people)))).gather(_as_it_is)
            columns = people.client.submit(_spaced_rows, there, pure=False).result()
            found = PointCloud(np.concatenate(some), columns, self.cost, None)._median_cost()
        return check_real("scale", found or 1.0, 0, math.inf, "()")

    def distances_to(self, columns: Any, merge: np.ndarray, K: int, epsilon: float) -> Any:
        """Return distances to types of receivers.

        Parameters
        ----------
        columns : Future
            Types as typed first, and weights, of the receivers, (m,) each.
        merge : ndarray
            For each of these types, of which of K types it is now.
        K : int
            How many types there are.
        epsilon : float
            Smoothing; 0 for nearest distances.

        Returns
        -------
        PartedDistances
            On the workers. The last ones are kept.
        """
        key = (columns, merge.tobytes(), K, epsilon)
        if self.drawn is not None and (self._cached is None or self._cached[0] != key):
            self._cached = (key, self._to_drawn(self.drawn, merge, K, epsilon))
        if self._cached is None or self._cached[0] != key:
            submit = self.people.client.submit
            receivers = submit(_receivers, self._there, columns, merge, K, pure=False)
            parts = self.people.map(_measured, receivers, self.cost, self.scale_, epsilon)
            self._cached = (key, PartedDistances(parts, epsilon, receivers, K))
        return self._cached[1]

    def _to_drawn(self, drawn: Drawn, merge: np.ndarray, K: int, epsilon: float) -> PartedDistances:
        """Measure to a sample, which stands for all of its types, and to oneself."""
        people, submit = self.people, self.people.client.submit
        which = people.split(drawn.index)
        there = people.each(_rows_of, which).joined(np.concatenate)
        typed = drawn.typed.each(_typed_at, which).joined(_all_typed)
        factors = drawn.factors(merge, K)
        receivers = submit(_weighed, there, typed, merge, K, factors, pure=False)
        how = (self.cost, self.scale_, epsilon, factors)
        parts = people.each(_measured_with_own, which, drawn.typed, receivers, merge, *how)
        return PartedDistances(parts, epsilon, receivers, K)

    def soft_distances(
        self, types: Array, epsilon: float, sample_weight: Array = None, n_types: int | None = None
    ) -> Any:
        """Soft distance of each row to each type of columns; `values` is a Dask array, (n, K).

        Parameters
        ----------
        types, sample_weight : array-like or Dask array of shape (m,)
            Type and weight of each column person; a weight is one by default.
        epsilon : float
            Smoothing, in units of the scaled cost.
        n_types : int, default=None
            K, by default the largest type plus one.

        Returns
        -------
        PartedDistances
            The distances.
        """
        return self._distances(types, sample_weight, n_types, check_epsilon(epsilon))

    def nearest_distances(
        self, types: Array, sample_weight: Array = None, n_types: int | None = None
    ) -> Any:
        """Distance of each row to the nearest column person of each type, as `soft_distances`.

        Parameters
        ----------
        types, sample_weight : array-like or Dask array of shape (m,)
            As for `soft_distances`.
        n_types : int, default=None
            As for `soft_distances`.

        Returns
        -------
        PartedDistances
            The distances.
        """
        return self._distances(types, sample_weight, n_types, 0.0)

    def _distances(
        self, types: Array, weight: Array, n_types: int | None, epsilon: float
    ) -> PartedDistances:
        client = self.people.client
        if is_dask(types):
            given = read_parts({"types": types, "weight": weight})
            columns = given.joined(_typed_columns)
        else:
            columns = client.submit(_typed_columns, [{"types": types, "weight": weight}])
        if n_types is None:
            n_types = client.submit(_largest, columns).result() + 1
        found: PartedDistances = self.distances_to(columns, np.arange(n_types), n_types, epsilon)
        return found

    def merged(self, union: Tensor, n_types: int) -> Geometry:
        """Return the same costs, with soft distances to unions of the types last asked for.

        Parameters
        ----------
        union : Tensor of shape (K,)
            For each type, which union it belongs to, from 0.
        n_types : int
            How many unions there are.

        Returns
        -------
        Geometry
            It knows these distances, so that they cost no pass.
        """
        assert self._cached is not None  # soft distances are asked for first
        (columns, merge, _, epsilon), found = self._cached
        now = union.numpy()[np.frombuffer(merge, dtype=np.int64)]
        view, submit = copy.copy(self), self.people.client.submit
        if self.drawn is not None:  # who stands for whole unions there, not for types
            view._cached = None
            return view
        receivers = submit(_receivers, self._there, columns, now, n_types, pure=False)
        parts = found.parts.map(_united, union.numpy(), n_types, epsilon)
        key = (columns, now.tobytes(), n_types, epsilon)
        view._cached = (key, PartedDistances(parts, epsilon, receivers, n_types))
        return view

    def _blocks(self, columns: Tensor, factor: float) -> Callable[[int, int], Tensor]:
        raise TypeError(
            "the rows are on Dask's workers, and no single machine sees all costs; ask for "
            "distances, or pass `X.compute()` to `PointCloud` where it fits one machine."
        )

    def _of_one_machine(self, *given: Any, **named: Any) -> Any:
        """Refuse what one machine alone can do."""
        return self._blocks(torch.empty(0), 1.0)

    blocks = cost_matrix = near = rows = take = _of_one_machine


def local_distances(
    places: np.ndarray, receivers: Receivers, cost: Cost, scale: float, epsilon: float
) -> SoftDistances | NearestDistances:
    """Return the distances of one part, where it is."""
    cloud = PointCloud(places, receivers.places, cost, scale)
    given = (receivers.weight, receivers.n_types)
    if epsilon:
        return cloud.soft_distances(receivers.types, epsilon, *given)
    return cloud.nearest_distances(receivers.types, *given)


def _measured(
    places: np.ndarray, receivers: Receivers, cost: Cost, scale: float, epsilon: float
) -> np.ndarray:
    by_type = local_distances(places, receivers, cost, scale, epsilon).by_type
    return np.ascontiguousarray(by_type.numpy())


def _measured_with_own(
    places: np.ndarray, rows: np.ndarray, typed: tuple[np.ndarray, np.ndarray],
    receivers: Receivers, merge: np.ndarray, cost: Cost, scale: float, epsilon: float,
    factors: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """Return soft distances (K, n) to a sample, to which each person adds themselves, once."""
    by_type = local_distances(places, receivers, cost, scale, epsilon).by_type
    types, weight = merge[typed[0]], typed[1]
    drawn = np.zeros(len(places), dtype=bool)
    drawn[rows] = True
    in_sum = np.where(drawn, weight * factors[types], 0.0)
    some = Sampled(torch.from_numpy(drawn), torch.arange(len(places)))
    own, w, twice = (torch.from_numpy(x) for x in (types, weight, in_sum))
    return np.ascontiguousarray(some.with_own(by_type, own, w, twice, epsilon).numpy())


def _weighed(
    places: np.ndarray, typed: tuple[np.ndarray, np.ndarray], merge: np.ndarray, K: int,
    factors: np.ndarray,
) -> Receivers:  # fmt: skip
    types = merge[typed[0]]
    return Receivers(places, types, typed[1] * factors[types], K)


def _typed_at(
    typed: tuple[np.ndarray, np.ndarray], rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    return typed[0][rows], typed[1][rows]


def _all_typed(parts: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    types, weights = zip(*parts)
    return np.concatenate(types), np.concatenate(weights)


def _united(D: np.ndarray, union: np.ndarray, n_types: int, epsilon: float) -> np.ndarray:
    soft, out = torch.from_numpy(D), torch.full((n_types, D.shape[1]), torch.inf).double()
    for k in np.unique(union).tolist():
        out[k] = -epsilon * torch.logsumexp(-soft[union == k] / epsilon, 0)
    return out.numpy()


def _receivers(
    places: np.ndarray, typed: tuple[np.ndarray, np.ndarray], merge: np.ndarray, K: int
) -> Receivers:
    types, weight = typed
    if len(types) != len(places):
        raise ValueError(
            f"the geometry has {len(places)} people who receive score and the constraints have "
            f"{len(types)}; pass the same people to both, in the same order."
        )
    return Receivers(places, merge[types], weight, K)


def _typed_columns(parts: list[dict[str, Any]]) -> tuple[np.ndarray, np.ndarray]:
    types = np.concatenate([np.asarray(part["types"]) for part in parts]).astype(np.int64)
    if parts[0].get("weight") is None:
        return types, np.ones(len(types))
    weight = np.concatenate([np.asarray(part["weight"]) for part in parts])
    return types, weight.astype(np.float64)


def _numbers(rows: dict[str, Any], name: str) -> np.ndarray:
    return to_tensor(rows[name], name, ndim=2).numpy()


def _whitening(people: Parts, there: Any, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Return centre (p,) and stretch (p, q) that make the features of all people uncorrelated.

    The singular vectors of all rows are those of the small triangles that stand for each part's.
    """
    n = len(people) + m
    everybody = people
    if m:  # who are other people
        everybody = Parts(people.client, [*people.futures, there], [*people.sizes, m])
    centre = everybody.sum(_column_sums) / n
    triangles = everybody.gather(_triangle, centre)
    _, sizes, axes = np.linalg.svd(np.concatenate(triangles), full_matrices=False)
    kept = sizes > sizes[0] * max(n, len(centre)) * np.finfo(np.float64).eps
    return centre, axes[kept].T * math.sqrt(n - 1) / sizes[kept]


def _triangle(X: np.ndarray, centre: np.ndarray) -> np.ndarray:
    return np.asarray(np.linalg.qr(X - centre, mode="r"))


def _column_sums(X: np.ndarray) -> np.ndarray:
    return np.asarray(X.sum(0))


def _placed(X: np.ndarray, centre: np.ndarray, stretch: np.ndarray) -> np.ndarray:
    return np.asarray((X - centre) @ stretch)


def _max_cost(X: np.ndarray, there: np.ndarray, cost: Cost) -> float:
    return PointCloud(X, there, cost, None)._max_cost() if len(X) else 0.0


def _sum_of_costs(X: np.ndarray, there: np.ndarray, cost: Cost) -> tuple[float, int]:
    pairs = len(X) * len(there)
    return (PointCloud(X, there, cost, None)._mean_cost() * pairs if pairs else 0.0), pairs


def _spaced_rows(X: np.ndarray) -> np.ndarray:
    return np.asarray(X[_spaced(len(X))])


def _rows_of(X: np.ndarray, index: np.ndarray) -> np.ndarray:
    return np.asarray(X[index])


def _largest(typed: tuple[np.ndarray, np.ndarray]) -> int:
    return int(typed[0].max())


def _by_person(D: np.ndarray) -> np.ndarray:
    return np.asarray(D.T)


def _as_it_is(value: Any) -> Any:
    return value
