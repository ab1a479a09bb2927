"""Distances from people to types of people, streamed, through a reference sample if need be.

Maths: docs/audit.md. Each person is always a destination of their own score, so a sample of the
others can only make fairness dearer, never cheaper, than all people would.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from sklearn.utils import gen_batches

from otfair._io.progress import track
from otfair.auditing._features import Features
from otfair.auditing._groups import Comparison
from otfair.auditing._reading import AuditData
from otfair.auditing._statistics import MIN_SCORE, sample_by_mass
from otfair.geometry import PointCloud
from otfair.notions import stratified_sample

BLOCK = 20_000  # people encoded at once
MEDIAN_OF = 2_000  # people, for the typical distance
# Pairs of people who are compared, by whom all may receive score: all pairs of 50 000 people, or
# those that boxes of near people leave.
PAIRS = 2_500_000_000
MOST_PLACES = 3 * 2**29  # bytes of all people as points, who are else encoded block by block
MIN_REFERENCE = 512  # people of a reference sample
SINGLE = 20_000_000  # distances; of more, each is kept to seven digits
MAX_BETWEEN = 2 * 2**30  # bytes of distances between all people
MAX_SOFT = 4_000_000  # soft distances; of more, those of some people
SOFT_PEOPLE = 50_000  # whose soft distances are found, at most


@dataclass(frozen=True, kw_only=True)
class TypeDistances:
    """Distance of each person to each type, with a nearest person of it; own type at 0."""

    nearest: np.ndarray  # (n, K)
    person: np.ndarray  # (n, K) who is nearest; oneself for the own type
    soft_rows: np.ndarray  # (s,) people whose soft distances are known: all, or some of too many
    soft: np.ndarray  # (s, K) their soft distances to all people at `epsilon`
    epsilon: float
    reference: np.ndarray | None  # (m,) the people who could receive score; None for all
    # With a reference sample, some people were drawn by their score and measured to all people.
    checked: np.ndarray  # (r,) who they are
    checked_nearest: np.ndarray  # (r, K) their distances to all people
    stratum: np.ndarray  # (r,) the type that they were drawn from
    stratum_mass: np.ndarray  # the score in each such type

    def merged(self, parts: np.ndarray, count: int) -> TypeDistances:
        """Merge types: `parts` (K,) says which of `count` types each one becomes a part of."""
        if np.array_equal(parts, np.arange(count)):
            return self
        members, eps = [np.flatnonzero(parts == k) for k in range(count)], self.epsilon
        best = np.stack([some[self.nearest[:, some].argmin(1)] for some in members], 1)
        soft = [-eps * np.logaddexp.reduce(self.soft[:, some] / -eps, axis=1) for some in members]
        checked_nearest = [self.checked_nearest[:, some].min(1) for some in members]
        return replace(
            self,
            nearest=np.take_along_axis(self.nearest, best, 1),
            person=np.take_along_axis(self.person, best, 1),
            soft=np.stack(soft, 1),
            checked_nearest=np.stack(checked_nearest, 1),
        )


class Distances:
    """Distances from people to types, in units of the typical distance between two people.

    They are measured once for the comparisons that divide people alike. Of very many people, only
    a sample may receive score, of as many as were `asked` for, or as are affordable; `fewest` is
    the smallest number of receivers so far.
    """

    def __init__(
        self, data: AuditData, features: Features, *, epsilon: float, seed: int,
        reference: int | None, verbose: bool = False,
    ) -> None:  # fmt: skip
        self.features, self.epsilon, self.seed, self.verbose = features, epsilon, seed, verbose
        self.n, self.weight = len(data), data.weight
        self.asked, self.fewest = reference, self.n
        self.mass = data.weight * np.maximum(data.scores, MIN_SCORE)
        some = np.sort(np.random.default_rng(seed).permutation(self.n)[:MEDIAN_OF])
        self.scale = median_distance(features.encode(some), self.weight[some])
        self._last: tuple[object, TypeDistances] | None = None

    def of(self, comparison: Comparison) -> TypeDistances:
        """Return the distances to the types of one comparison."""
        fine, count = comparison.fine, int(comparison.fine.max()) + 1
        if self._last is None or self._last[0] != comparison.fine_key:
            self._last = None  # the old ones go before the new ones come
            self._last = (comparison.fine_key, self.to_types(fine, count))
        parts = np.zeros(count, dtype=np.int64)
        parts[fine] = comparison.people.types.numpy()
        return self._last[1].merged(parts, len(comparison.people.type_names))

    def between(self, rows: np.ndarray | None = None) -> np.ndarray:
        """Return the distances between all people, (n, n), or between some."""
        if rows is None and 8 * self.n**2 > MAX_BETWEEN:
            raise MemoryError(
                f"the distances between {self.n} people take {8 * self.n**2 / 2**30:.1f} GiB; pass "
                "`bounded=False`, or a sample of the people."
            )
        points = self.features.encode(np.arange(self.n) if rows is None else rows)
        return np.asarray(PointCloud(points, scale=self.scale).cost_matrix().numpy())

    @property
    def sampled(self) -> bool:
        """Whether it may be that only a sample receives score."""
        return (self.asked or reference_size(self.n)) < self.n

    @cached_property
    def _everybody(self) -> PointCloud | None:
        """All people as one cloud, whose boxes are made once; None where they take much memory."""
        if 8 * self.n * self.features.width > MOST_PLACES:
            return None
        return PointCloud(self.features.encode(np.arange(self.n)), scale=self.scale)

    def _receivers(self, types: np.ndarray, count: int) -> int:
        """Return how many people may receive score, where there are so many types."""
        size = self.asked or reference_size(self.n)
        if self.asked is not None or size == self.n or self._everybody is None:
            return min(size, self.n)
        affordable = self._everybody.comparisons(types, 0.0, n_types=count) <= PAIRS
        return self.n if affordable else size

    def to_types(self, types: np.ndarray, count: int) -> TypeDistances:
        """Measure from all people to each of `count` types, through a sample if one is needed."""
        people, size = np.arange(self.n), self._receivers(types, count)
        chosen = stratified_sample(types, count, size, [self.seed])
        self.fewest = min(self.fewest, size)
        digits = np.float32 if self.n * count > SINGLE else np.float64
        nearest = np.empty((self.n, count), dtype=digits)
        person = np.empty((self.n, count), dtype=np.int32)
        measure = self._to_chosen(chosen, types, count)
        for b in self._blocks(self.n, "distances"):
            nearest[b], person[b] = measure(people[b])
        nearest[people, types], person[people, types] = 0.0, people
        if len(chosen) < self.n:  # as many people, drawn by their mass, are measured to all
            checked = soft_rows = sample_by_mass(types, count, self.mass, size, [self.seed, 1])
            checked_nearest, soft = self._to_all(checked, types, count)
        else:
            checked, checked_nearest = people[:0], nearest[:0]
            few = min(MAX_SOFT // count, SOFT_PEOPLE)
            soft_rows = stratified_sample(types, count, few, [self.seed, 2])
            soft = np.concatenate(
                [
                    self._to_all(soft_rows[b], types, count)[1]
                    for b in gen_batches(len(soft_rows), BLOCK)
                ]
            )
        return TypeDistances(
            nearest=nearest,
            person=person,
            soft_rows=soft_rows,
            soft=soft,
            epsilon=self.epsilon,
            reference=chosen if len(chosen) < self.n else None,
            checked=checked,
            checked_nearest=checked_nearest,
            stratum=types[checked],
            stratum_mass=np.bincount(types, self.mass, count),
        )

    def _to_chosen(
        self, chosen: np.ndarray, types: np.ndarray, count: int
    ) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
        """Return what gives distances of rows to people who were chosen, and who is nearest."""
        cloud = self._everybody
        if cloud is not None:
            receives = np.zeros(self.n)
            receives[chosen] = 1.0

            def among_all(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
                found = cloud.rows(rows).nearest_distances(types, receives, count)
                return found.values.numpy(), found.person.numpy()

            return among_all
        there, own = self.features.encode(chosen), types[chosen]

        def by_block(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            here = PointCloud(self.features.encode(rows), there, scale=self.scale)
            found = here.nearest_distances(own, n_types=count)
            return found.values.numpy(), chosen[found.person.numpy()]

        return by_block

    def _to_all(
        self, rows: np.ndarray, types: np.ndarray, count: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Nearest and soft distances of some people to all people of each type, (r, K) twice."""
        eps = self.epsilon
        if self._everybody is not None:
            cloud = self._everybody.rows(rows)
            soft = cloud.soft_distances(types, eps, self.weight, count).values.numpy()
            nearest = cloud.nearest_distances(types, self.weight, count).values.numpy()
        else:
            nearest, soft = self._to_blocks(rows, types, count)
        nearest[np.arange(len(rows)), types[rows]] = 0.0
        return nearest, soft

    def _to_blocks(
        self, rows: np.ndarray, types: np.ndarray, count: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Measure some people to all, of whom some are encoded at a time."""
        here, eps = self.features.encode(rows), self.epsilon
        nearest = np.full((len(rows), count), np.inf)
        exponent = np.full((len(rows), count), -np.inf)
        for b in self._blocks(self.n, "distances to all"):
            there = self.features.encode(np.arange(self.n)[b])
            cloud = PointCloud(here, there, scale=self.scale)
            hard = cloud.nearest_distances(types[b], n_types=count).values.numpy()
            soft = cloud.soft_distances(types[b], eps, self.weight[b], count).values.numpy()
            np.minimum(nearest, hard, out=nearest)
            np.logaddexp(exponent, soft / -eps, out=exponent)
        return nearest, -eps * exponent

    def _blocks(self, n: int, what: str) -> Iterator[slice]:
        """Return blocks of n people, whose progress is shown."""
        yield from track(list(gen_batches(n, BLOCK)), what, verbose=self.verbose, leave=False)


def reference_size(n: int) -> int:
    """Return how many of n people may receive score where all of their pairs would be compared.

    It is the largest power of two with at most `PAIRS` pairs, or n. It depends on nothing else, so
    that the same table has the same figures on every machine.
    """
    return n if n**2 <= PAIRS else max(MIN_REFERENCE, 1 << (PAIRS // n).bit_length() - 1)


def median_distance(points: np.ndarray, weight: np.ndarray) -> float:
    """Return the median distance between two people, (n, p); 1 where that is 0."""
    C = PointCloud(points, scale=None).cost_matrix().numpy()
    pairs = np.outer(weight, weight)
    # Copies of one person are two people, at distance 0.
    np.fill_diagonal(pairs, np.maximum(weight * (weight - 1), 0.0))
    order = np.argsort(C, axis=None)
    C, below = C.ravel()[order], np.cumsum(pairs.ravel()[order])
    half = below[-1] / 2
    ends = np.searchsorted(below, [half * (1 - 1e-12), half * (1 + 1e-12)])  # two, if even
    return float(C[ends.clip(max=len(C) - 1)].mean()) or 1.0
