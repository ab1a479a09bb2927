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
from otfair.geometry import PointCloud

BLOCK = 20_000  # people encoded at once
TYPICAL = 2_000  # people, for the typical distance
PROBE = 1_000  # people a side, to see how fast distances are
LEAST = 512  # people of a reference sample


@dataclass(frozen=True, kw_only=True)
class ToTypes:
    """Distance of each person to each type, with a nearest person of it; own type at 0.

    Attributes
    ----------
    nearest : (n, K).
    person : (n, K) who is nearest; oneself for the own type.
    soft : (n, K) soft distances at `epsilon`.
    reference : (m,) the people who could receive score; None for everybody.
    checked : (r,) people, drawn by their score, whose distances to everybody are known too.
    whole : (r, K) those distances.
    """

    nearest: np.ndarray
    person: np.ndarray
    soft: np.ndarray
    epsilon: float
    reference: np.ndarray | None
    checked: np.ndarray
    whole: np.ndarray

    def merged(self, parts: np.ndarray, count: int) -> ToTypes:
        """Merge types: `parts` (K,) says which of `count` types each one becomes a part of."""
        if np.array_equal(parts, np.arange(count)):
            return self
        n, eps = len(self.nearest), self.epsilon
        nearest = np.empty((n, count))
        person = np.empty((n, count), dtype=np.int64)
        soft = np.empty((n, count))
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

    def __init__(self, features: Features, n: int, epsilon: float, seed: int) -> None:
        self.features, self.n, self.epsilon, self.seed = features, n, epsilon, seed
        some = np.random.default_rng(seed).permutation(n)[: min(n, TYPICAL)]
        self.scale = PointCloud(features.encode(np.sort(some)), scale="median").scale_

    def seconds_a_pair(self) -> float:
        """Measure how long one pair of people takes, on a few; the first time is slower."""
        some = self.features.encode(np.arange(min(self.n, PROBE)))
        types, weight = np.zeros(len(some), dtype=np.int64), np.ones(len(some))
        seconds = []
        for _ in range(3):
            started = time.perf_counter()
            self._block(some, some, types, weight, 1)
            seconds.append(time.perf_counter() - started)
        return min(seconds) / len(some) ** 2

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
        reference = self._reference(types, count, size)
        chosen = np.arange(self.n) if reference is None else reference
        there = self.features.encode(chosen)
        whole = np.bincount(types, weight, count)
        sampled = np.bincount(types[chosen], weight[chosen], count)
        stands_for = weight[chosen] * (whole / sampled)[types[chosen]]
        nearest = np.empty((self.n, count))
        soft = np.empty((self.n, count))
        person = np.empty((self.n, count), dtype=np.int64)
        for start in range(0, self.n, BLOCK):
            rows = np.arange(start, min(self.n, start + BLOCK))
            here = self.features.encode(rows)
            nearest[rows], found, soft[rows] = self._block(
                here, there, types[chosen], stands_for, count
            )
            person[rows] = chosen[found]
        everybody = np.arange(self.n)
        if reference is not None:  # one's own place, of one's own weight, counts too
            own = soft[everybody, types] / -self.epsilon
            soft[everybody, types] = -self.epsilon * np.logaddexp(own, np.log(weight))
        nearest[everybody, types], person[everybody, types] = 0.0, everybody
        checked = everybody[:0]
        if reference is not None:
            rng = np.random.default_rng([self.seed, 1])
            checked = rng.choice(self.n, size=len(reference), p=mass / mass.sum())
        return ToTypes(
            nearest=nearest,
            person=person,
            soft=soft,
            epsilon=self.epsilon,
            reference=reference,
            checked=checked,
            whole=self._to_everybody(checked, types, nearest[checked]),
        )

    def _to_everybody(self, rows: np.ndarray, types: np.ndarray, nearest: np.ndarray) -> np.ndarray:
        """Distance of some people to the nearest of everybody of each type, (r, K)."""
        if not len(rows):
            return nearest
        here, count = self.features.encode(rows), nearest.shape[1]
        for start in range(0, self.n, BLOCK):
            there = np.arange(start, min(self.n, start + BLOCK))
            cloud = PointCloud(here, self.features.encode(there), scale=self.scale)
            found = cloud.nearest_distances(types[there], n_types=count).values.numpy()
            np.minimum(nearest, found, out=nearest)
        return nearest

    def _block(
        self, here: np.ndarray, there: np.ndarray, types: np.ndarray, weight: np.ndarray, count: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        cloud = PointCloud(here, there, scale=self.scale)
        near = cloud.nearest_distances(types, n_types=count)
        soft = cloud.soft_distances(types, self.epsilon, weight, count)
        return near.values.numpy(), near.person.numpy(), soft.values.numpy()

    def _reference(self, types: np.ndarray, count: int, size: int | None) -> np.ndarray | None:
        """Draw people, as many of each type as its share, and of small types at least some."""
        if size is None or size >= self.n:
            return None
        rng = np.random.default_rng(self.seed)
        chosen = []
        for k in range(count):
            people = np.flatnonzero(types == k)
            least = min(len(people), size // (4 * count))
            wanted = max(least, round(size * len(people) / self.n), 1)
            chosen.append(rng.permutation(people)[:wanted])
        return np.sort(np.concatenate(chosen))


class Distances:
    """Distances to types, measured once for the notions that divide people alike."""

    def __init__(
        self, weight: np.ndarray, scores: np.ndarray, measure: Measure | None, size: int | None
    ) -> None:
        self._weight, self._mass = weight, weight * scores
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
        return self._last[1].merged(parts, len(compared.people.table.type_names))


def reference_size(n: int, passes: int, seconds_a_pair: float, budget: float) -> int | None:
    """Return the largest power of two of people whose distances fit the budget; None for all."""
    affordable = budget / max(seconds_a_pair * passes * n, 1e-12)
    if affordable >= n:
        return None
    return int(max(LEAST, 2 ** int(np.log2(max(affordable, 1.0)))))
