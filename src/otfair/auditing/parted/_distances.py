"""Distances from people on workers to types of people, through a reference sample if need be.

Maths: docs/audit.md, as on one machine. Those who receive score are put together by a worker, and
every other one gets a copy. With a reference sample, people who were drawn by their score are
measured to all: each worker measures them to its own people.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from otfair.auditing._groups import Comparison
from otfair.auditing._reading import AuditData
from otfair.auditing._statistics import MIN_SCORE, sample_by_mass
from otfair.auditing.costs._distances import (
    MAX_BETWEEN,
    MAX_SOFT,
    MEDIAN_OF,
    SINGLE,
    SOFT_PEOPLE,
    median_distance,
    reference_size,
)
from otfair.auditing.costs._extrapolation import Checked
from otfair.auditing.parted._features import PartedFeatures
from otfair.auditing.parted._reading import PartedAuditData
from otfair.auditing.parted._rows import at_rows, reduced, shuffled, together
from otfair.distributed import Parts
from otfair.geometry import PointCloud
from otfair.notions import stratified_sample


@dataclass(frozen=True, kw_only=True)
class PartedTypeDistances:
    """Distance of each person to each type; see `TypeDistances`."""

    nearest: Parts  # (n, K)
    person: Parts  # (n, K) who is nearest, by their number among all
    soft_rows: np.ndarray | None  # (s,) people whose soft distances are known; None for all
    soft: Any  # future of (s, K)
    epsilon: float
    n_receivers: int
    sampled: bool  # whether receivers are a sample; then some people were measured to all
    checked: np.ndarray  # (r,) who they are
    full: Any  # future of (r, K), their distances to all people
    stratum: Any  # future of (r,)
    stratum_mass: np.ndarray

    def merged(self, parts: np.ndarray, count: int) -> PartedTypeDistances:
        """Merge types: `parts` (K,) says which of `count` types each one becomes a part of."""
        if np.array_equal(parts, np.arange(count)):
            return self
        client = self.nearest.client
        both = self.nearest.map(_merged, self.person, parts, count)
        soft = client.submit(_merged_soft, self.soft, parts, count, self.epsilon, pure=False)
        full = self.full
        if self.sampled:
            full = client.submit(_merged_nearest, self.full, parts, count, pure=False)
        return replace(
            self, nearest=both.map(_first), person=both.map(_second), soft=soft, full=full
        )

    def checked_people(self, types: Parts) -> Any:
        """Return a future of those who were measured to all, whose types these are now."""
        own, part = at_rows(types, self.checked), at_rows(self.nearest, self.checked)
        given = (own, part, self.full, self.stratum, self.stratum_mass)
        return self.nearest.client.submit(_checked, *given, pure=False)


class PartedDistances:
    """Distances from people on workers to types; see `Distances`."""

    def __init__(
        self, data: PartedAuditData, features: PartedFeatures, *, epsilon: float, seed: int,
        reference: int | None, verbose: bool = False,
    ) -> None:  # fmt: skip
        self.data, self.points, self.epsilon, self.seed = data, features.points, epsilon, seed
        self.n = len(data)
        self.asked, self.fewest = reference, self.n
        some = shuffled(data.parts, seed, MEDIAN_OF)
        given = (at_rows(self.points, some), at_rows(data.parts.map(_weight), some))
        self.scale: float = self.client.submit(median_distance, *given, pure=False).result()
        self._last: tuple[object, PartedTypeDistances] | None = None

    @property
    def client(self) -> Any:
        """Who hands out tasks."""
        return self.points.client

    @property
    def sampled(self) -> bool:
        """Whether only a sample receives score."""
        return (self.asked or reference_size(self.n)) < self.n

    def of(self, comparison: Comparison) -> PartedTypeDistances:
        """Return the distances to the types of one comparison."""
        fine, count = comparison.fine, int(comparison.fine.max()) + 1
        if self._last is None or self._last[0] != comparison.fine_key:
            self._last = None  # the old ones go before the new ones come
            types = self.data.compared(comparison).map(_fine)
            self._last = (comparison.fine_key, self.to_types(types, count))
        parts = np.zeros(count, dtype=np.int64)
        parts[fine] = comparison.people.types.numpy()
        return self._last[1].merged(parts, len(comparison.people.type_names))

    def between(self, rows: np.ndarray | None = None) -> Any:
        """Return a future of the distances between all people, (n, n), or between some."""
        if rows is None and 8 * self.n**2 > MAX_BETWEEN:
            raise MemoryError(
                f"the distances between {self.n} people take {8 * self.n**2 / 2**30:.1f} GiB; pass "
                "`bounded=False`, or a sample of the people."
            )
        points = together(self.points) if rows is None else at_rows(self.points, rows)
        return self.client.submit(_between, points, self.scale, pure=False)

    def sample(self, types: Any, count: int, size: int, seed: list[int]) -> np.ndarray | None:
        """Draw people by their types, a future; None for all."""
        if size >= self.n:
            return None
        task = partial(stratified_sample, count=count, size=size, seed=seed)
        return np.asarray(self.client.submit(task, types, pure=False).result())

    def to_types(self, types: Parts, count: int) -> PartedTypeDistances:
        """Measure from all people to each of `count` types, through a sample if one is needed."""
        submit, points, data = self.client.submit, self.points, self.data
        size = min(self.asked or reference_size(self.n), self.n)
        self.fewest = min(self.fewest, size)
        all_types = together(types)
        chosen = self.sample(all_types, count, size, [self.seed])
        m = self.n if chosen is None else len(chosen)
        if chosen is None:
            there, own = together(points), all_types
        else:
            there, own = at_rows(points, chosen), at_rows(types, chosen)
        digits = np.float32 if self.n * count > SINGLE else np.float64
        how = (there, own, chosen, self.scale, count, digits)
        both = points.each(_measured, points.starts[:-1], types, *how)
        mass = data.parts.sum(_stratum_mass, types, count)
        weighed = data.parts.map(_weight)
        if m < self.n:  # as many people, drawn by their mass, are measured to all
            task = partial(_drawn_by_mass, count=count, size=size, seed=[self.seed, 1])
            masses = together(data.parts.map(_mass))
            checked = np.asarray(submit(task, all_types, masses, pure=False).result())
            here, stratum = at_rows(points, checked), at_rows(types, checked)
            given = (types, weighed, here, self.scale, count, self.epsilon)
            found = reduced(points.map(_to_part, *given), _nearer)
            full, soft = (submit(_of_checked, found, stratum, k, self.epsilon, pure=False)
                          for k in (0, 1))  # fmt: skip
            soft_rows: np.ndarray | None = checked
        else:
            checked, full, stratum = np.zeros(0, dtype=np.int64), None, None
            few = min(MAX_SOFT // count, SOFT_PEOPLE)
            soft_rows = self.sample(all_types, count, few, [self.seed, 2])
            given = (there, own, together(weighed), self.scale, count, self.epsilon)
            which = [None] * len(points.sizes) if soft_rows is None else points.split(soft_rows)
            soft = together(points.each(_soft, which, *given))
        return PartedTypeDistances(
            nearest=both.map(_first),
            person=both.map(_second),
            soft_rows=soft_rows,
            soft=soft,
            epsilon=self.epsilon,
            n_receivers=m,
            sampled=m < self.n,
            checked=checked,
            full=full,
            stratum=stratum,
            stratum_mass=mass,
        )


# What workers do.


def _measured(
    points: np.ndarray, start: int, types: np.ndarray, there: np.ndarray, own: np.ndarray,
    chosen: np.ndarray | None, scale: float, count: int, digits: Any,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Return the distances of a part's people, and who is nearest; own type at 0."""
    found = PointCloud(points, there, scale=scale).nearest_distances(own, n_types=count)
    nearest, person = found.values.numpy().astype(digits), found.person.numpy()
    person = person if chosen is None else chosen[person]
    rows = np.arange(len(points))
    nearest[rows, types], person[rows, types] = 0.0, rows + start
    return nearest, person


def _soft(
    points: np.ndarray, rows: np.ndarray | None, there: np.ndarray, own: np.ndarray,
    weight: np.ndarray, scale: float, count: int, epsilon: float,
) -> np.ndarray:  # fmt: skip
    """Return soft distances of a part's people, or of some of them, to all."""
    here = points if rows is None else points[rows]
    if not len(here):
        return np.zeros((0, count))
    cloud = PointCloud(here, there, scale=scale)
    return np.ascontiguousarray(cloud.soft_distances(own, epsilon, weight, count).values.numpy())


def _to_part(
    points: np.ndarray, types: np.ndarray, weight: np.ndarray, here: np.ndarray, scale: float,
    count: int, epsilon: float,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Measure some people to those of a part: nearest distances, and sums as exponents."""
    cloud = PointCloud(here, points, scale=scale)
    nearest = cloud.nearest_distances(types, n_types=count).values.numpy()
    soft = cloud.soft_distances(types, epsilon, weight, count).values.numpy()
    return nearest, soft / -epsilon


def _nearer(
    a: tuple[np.ndarray, np.ndarray], b: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    return np.minimum(a[0], b[0]), np.logaddexp(a[1], b[1])


def _of_checked(
    found: tuple[np.ndarray, np.ndarray], types: np.ndarray, which: int, epsilon: float
) -> np.ndarray:
    if which:
        return -epsilon * found[1]
    nearest = found[0].copy()
    nearest[np.arange(len(nearest)), types] = 0.0
    return nearest


def _checked(
    types: np.ndarray, part: np.ndarray, full: np.ndarray, stratum: np.ndarray, mass: np.ndarray
) -> Checked:
    return Checked(types=types, part=part, full=full, stratum=stratum, stratum_mass=mass)


def _merged(
    nearest: np.ndarray, person: np.ndarray, parts: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray]:
    members = [np.flatnonzero(parts == k) for k in range(count)]
    best = np.stack([some[nearest[:, some].argmin(1)] for some in members], 1)
    return np.take_along_axis(nearest, best, 1), np.take_along_axis(person, best, 1)


def _merged_soft(soft: np.ndarray, parts: np.ndarray, count: int, epsilon: float) -> np.ndarray:
    members = [np.flatnonzero(parts == k) for k in range(count)]
    each = [-epsilon * np.logaddexp.reduce(soft[:, some] / -epsilon, axis=1) for some in members]
    return np.stack(each, 1)


def _merged_nearest(full: np.ndarray, parts: np.ndarray, count: int) -> np.ndarray:
    return np.stack([full[:, parts == k].min(1) for k in range(count)], 1)


def _drawn_by_mass(
    types: np.ndarray, mass: np.ndarray, *, count: int, size: int, seed: list[int]
) -> np.ndarray:
    return sample_by_mass(types, count, mass, size, seed)


def _between(points: np.ndarray, scale: float) -> np.ndarray:
    return np.asarray(PointCloud(points, scale=scale).cost_matrix().numpy())


def _fine(comparison: Comparison) -> np.ndarray:
    return comparison.fine


def _weight(data: AuditData) -> np.ndarray:
    return data.weight


def _mass(data: AuditData) -> np.ndarray:
    return np.asarray(data.weight * np.maximum(data.scores, MIN_SCORE))


def _stratum_mass(data: AuditData, types: np.ndarray, count: int) -> np.ndarray:
    return np.bincount(types, _mass(data), count)


def _first(of: tuple[Any, ...]) -> Any:
    return of[0]


def _second(of: tuple[Any, ...]) -> Any:
    return of[1]
