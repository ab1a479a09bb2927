"""Distances from everybody to types of people, streamed, through a reference sample if need be.

Maths: docs/audit.md. Each person is always a destination of their own score, so a sample of the
others can only make fairness dearer, never cheaper, than everybody would.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from otfair.auditing._features import Features
from otfair.auditing._groups import Compared
from otfair.auditing._samples import TINY, draw_by_mass, draw_people
from otfair.auditing._weighted import typical
from otfair.geometry import PointCloud

BLOCK = 20_000  # people encoded at once
TYPICAL = 2_000  # people, for the typical distance
PROBE = 1_000  # people a side, to see how fast distances are
LEAST = 512  # people of a reference sample
SINGLE = 20_000_000  # distances; of more, each is kept to seven digits
SMOOTHED = 4_000_000  # soft distances at most; of more, those of some people


@dataclass(frozen=True, kw_only=True)
class ToTypes:
    """Distance of each person to each type, with a nearest person of it; own type at 0.

    Attributes
    ----------
    nearest : (n, K).
    person : (n, K) who is nearest; oneself for the own type.
    smoothed : (s,) people whose soft distances are known: everybody, or some if that is too many.
    soft : (s, K) soft distances to everybody at `epsilon`.
    reference : (m,) the people who could receive score; None for everybody.
    checked : (r,) people, drawn by their score, whose distances to everybody are known too.
    whole : (r, K) those distances.
    stratum, stratum_mass : (r,) what they were drawn from, and the score in each such stratum.
    """

    nearest: np.ndarray
    person: np.ndarray
    smoothed: np.ndarray
    soft: np.ndarray
    epsilon: float
    reference: np.ndarray | None
    checked: np.ndarray
    whole: np.ndarray
    stratum: np.ndarray
    stratum_mass: np.ndarray

    def merged(self, parts: np.ndarray, count: int) -> ToTypes:
        """Merge types: `parts` (K,) says which of `count` types each one becomes a part of."""
        if np.array_equal(parts, np.arange(count)):
            return self
        n, eps = len(self.nearest), self.epsilon
        nearest = np.empty((n, count), dtype=self.nearest.dtype)
        person = np.empty((n, count), dtype=self.person.dtype)
        soft = np.empty((len(self.soft), count))
        whole = np.empty((len(self.checked), count))
        for k in range(count):
            some = np.flatnonzero(parts == k)
            best = self.nearest[:, some].argmin(1)[:, None]
            nearest[:, k] = np.take_along_axis(self.nearest[:, some], best, 1)[:, 0]
            person[:, k] = np.take_along_axis(self.person[:, some], best, 1)[:, 0]
            soft[:, k] = -eps * np.logaddexp.reduce(self.soft[:, some] / -eps, axis=1)
            whole[:, k] = self.whole[:, some].min(1)
        return replace(self, nearest=nearest, person=person, soft=soft, whole=whole)


class Measure:
    """Distances between the people of a table, in units of the typical one."""

    def __init__(self, features: Features, weight: np.ndarray, epsilon: float, seed: int) -> None:
        self.features, self.n, self.epsilon, self.seed = features, len(weight), epsilon, seed
        some = np.sort(np.random.default_rng(seed).permutation(self.n)[:TYPICAL])
        self.scale = typical(features.encode(some), weight[some])

    def seconds_a_pair(self) -> tuple[float, float]:
        """Measure how long a pair of people takes, for the nearest one and for soft distances."""
        some = self.features.encode(np.arange(min(self.n, PROBE)))
        types = np.zeros(len(some), dtype=np.int64)
        near, soft = [], []
        for _ in range(3):  # the first time is slower
            started = time.perf_counter()
            self._cloud(some, some).nearest_distances(types)
            between = time.perf_counter()
            self._cloud(some, some).soft_distances(types, self.epsilon)
            near.append(between - started)
            soft.append(time.perf_counter() - between)
        return min(near) / len(some) ** 2, min(soft) / len(some) ** 2

    def to_types(
        self,
        types: np.ndarray,
        count: int,
        weight: np.ndarray,
        mass: np.ndarray,
        size: int | None = None,
    ) -> ToTypes:
        """Measure from everybody to every type, through `size` people (None: everybody).

        As many people, drawn by their `mass`, are measured to everybody to check a sample.
        """
        everybody, size = np.arange(self.n), size or self.n
        chosen = draw_people(types, count, size, [self.seed])
        there, own = self.features.encode(chosen), types[chosen]
        digits = np.float32 if self.n * count > SINGLE else np.float64
        nearest = np.empty((self.n, count), dtype=digits)
        person = np.empty((self.n, count), dtype=np.int32)
        for rows in _blocks(everybody):
            found = self._cloud(self.features.encode(rows), there).nearest_distances(
                own, n_types=count
            )
            nearest[rows], person[rows] = found.values.numpy(), chosen[found.person.numpy()]
        nearest[everybody, types], person[everybody, types] = 0.0, everybody
        if len(chosen) < self.n:
            checked = draw_by_mass(types, count, mass, size, [self.seed, 1])
            whole, soft = self._to_everybody(checked, types, count, weight)
            smoothed = checked
        else:
            checked, whole = everybody[:0], nearest[:0]
            smoothed = draw_people(types, count, SMOOTHED // count, [self.seed, 2])
            soft = np.concatenate(
                [self._to_everybody(some, types, count, weight)[1] for some in _blocks(smoothed)]
            )
        return ToTypes(
            nearest=nearest,
            person=person,
            smoothed=smoothed,
            soft=soft,
            epsilon=self.epsilon,
            reference=chosen if len(chosen) < self.n else None,
            checked=checked,
            whole=whole,
            stratum=types[checked],
            stratum_mass=np.bincount(types, mass, count),
        )

    def _to_everybody(
        self, rows: np.ndarray, types: np.ndarray, count: int, weight: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Nearest and soft distances of some people to everybody of each type, (r, K) twice."""
        here, eps = self.features.encode(rows), self.epsilon
        nearest = np.full((len(rows), count), np.inf)
        exponent = np.full((len(rows), count), -np.inf)
        for there in _blocks(np.arange(self.n)):
            cloud = self._cloud(here, self.features.encode(there))
            near = cloud.nearest_distances(types[there], n_types=count).values.numpy()
            soft = cloud.soft_distances(types[there], eps, weight[there], count).values.numpy()
            np.minimum(nearest, near, out=nearest)
            np.logaddexp(exponent, soft / -eps, out=exponent)
        nearest[np.arange(len(rows)), types[rows]] = 0.0
        return nearest, -eps * exponent

    def _cloud(self, here: np.ndarray, there: np.ndarray) -> PointCloud:
        return PointCloud(here, there, scale=self.scale)


def _blocks(people: np.ndarray) -> list[np.ndarray]:
    return [people[start : start + BLOCK] for start in range(0, len(people), BLOCK)]


class Distances:
    """Distances to types, measured once for the notions that divide people alike."""

    def __init__(
        self, weight: np.ndarray, scores: np.ndarray, measure: Measure | None, size: int | None
    ) -> None:
        self._weight, self._mass = weight, weight * np.maximum(scores, TINY)
        self._measure, self._size = measure, size
        self._last: tuple[object, ToTypes] | None = None

    def of(self, compared: Compared) -> ToTypes | None:
        """Return the distances to the types of one comparison."""
        if self._measure is None:
            return None
        fine, count = compared.fine, int(compared.fine.max()) + 1
        if self._last is None or self._last[0] != compared.fine_key:
            self._last = None  # the old ones go before the new ones come
            measured = self._measure.to_types(fine, count, self._weight, self._mass, self._size)
            self._last = (compared.fine_key, measured)
        parts = np.zeros(count, dtype=np.int64)
        parts[fine] = compared.people.types.numpy()
        return self._last[1].merged(parts, len(compared.people.type_names))


def reference_size(n: int, whole: float, sampled: float, budget: float) -> int | None:
    """Return the largest power of two of people whose distances fit the budget; None for all.

    `whole` and `sampled` are seconds a pair where everybody may receive, or only a sample.
    """
    if whole * n**2 <= budget:
        return None
    affordable = budget / (sampled * n)
    return int(max(LEAST, 2 ** int(np.log2(max(affordable, 1.0)))))
