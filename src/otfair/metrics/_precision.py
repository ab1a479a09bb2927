"""How unequal the precision of groups is, and how unequal it may be among people not seen.

Maths: docs/metrics.md. The precision of a group is the share of its score that positives hold,
sum w h y / sum w h. What one person adds to it, to first order, is w h (y - precision) over the
group's score: linear in their score, with a factor that depends on their type only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import torch

from otfair.metrics._criteria import Bound, Criterion, FiguresCriterion, small_sample_factor
from otfair.notions import People


class PrecisionDifferenceOf(FiguresCriterion):
    """The largest difference between two groups' precision, or from the rate that was asked for.

    Groups whose people all have one label are not compared, as by the constraints.
    """

    name = "precision"
    title = "largest difference between two groups' precision"

    # `expected`, (K,), is the weight of each type among all people: a group that can be compared
    # among them but not among `people` is not compared, and has no bound.
    def __init__(self, people: People, expected: np.ndarray | None = None) -> None:
        super().__init__(people)
        mass = people.mass.numpy()
        expected = mass if expected is None else expected
        rows = np.flatnonzero(people.vectors(torch.as_tensor(expected))[1].numpy())
        rows = rows[[people.kinds[c] == "precision" for c in rows]]
        assert people.rates is not None
        self._members = people.strata[rows].numpy().astype(np.float64)  # (q, K)
        self._labels = people.design[rows].numpy()
        self._rates = people.rates[rows].numpy()
        self._names = [people.names[c] for c in rows]
        self._attributes = [people.compared[c][0] for c in rows]
        # Whom one's own people can tell of, by both labels.
        counts = [(self._members * (self._labels == k)) @ mass > 0 for k in (0, 1)]
        self._known = counts[0] & counts[1]
        keys = [(people.compared[c], *_exact(rate)) for c, rate in zip(rows, self._rates)]
        families = [np.array([k == key for k in keys]).nonzero()[0] for key in dict.fromkeys(keys)]
        self._families = [
            own for own in families if len(own) > 1 or not np.isnan(self._rates[own[0]])
        ]

    def _centred(self, h: np.ndarray) -> np.ndarray:
        return h  # precision is not that of shifted scores

    def _precision(self, h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return precision and score of each group, (q,); NaN where people can't tell."""
        mass = self._sums(h, 1)
        score = self._members @ mass
        tells = self._known & (score > 0)
        held = (self._members * self._labels) @ mass
        return np.where(tells, held / np.where(tells, score, 1.0), np.nan), score

    def _violation(self, z: np.ndarray, size: float) -> float:
        precision, _ = self._precision(z)
        return max((self._gap(precision[own], own) for own in self._families), default=0.0)

    def _gap(self, values: np.ndarray, own: np.ndarray) -> float:
        """Return how far groups are apart, or from their rate, those left out that can't tell."""
        rate, unit = self._rates[own[0]], self._units()[own[0]]
        known = values[~np.isnan(values)]
        if not np.isnan(rate):
            return float(unit * np.abs(known - rate).max(initial=0.0))
        return float(unit * np.ptp(known)) if len(known) else 0.0

    def _units(self) -> np.ndarray:
        return np.broadcast_to(self._unit, len(self._names))

    def _figures(self, z: np.ndarray) -> tuple[np.ndarray, Sequence[np.ndarray], np.ndarray]:
        precision, score = self._precision(z)
        each = self._members / np.where(score > 0, score, 1.0)[:, None]
        linear = each * (self._labels - precision[:, None])
        squared = np.bincount(self._types, (self._weight * z) ** 2, self._count)
        widening = small_sample_factor(score**2 / np.maximum(self._members @ squared, 1e-300))
        return precision, [np.zeros_like(linear), np.nan_to_num(linear)], widening

    def _largest(self, figures: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        q = len(self._names)
        found, which = np.zeros(len(figures)), np.zeros(len(figures), dtype=np.int64)
        rows = np.arange(len(figures))
        for own in self._families:
            unit = self._units()[own[0]]
            some, rate = figures[:, own], unit * self._rates[own[0]]
            if not np.isfinite(some).all():
                unknown = own[~np.isfinite(some).all(0)][0]
                return np.full(len(figures), np.inf), which + unknown * (q + 1)
            if np.isnan(rate):
                high, low = some.argmax(1), some.argmin(1)
                gap = some[rows, high] - some[rows, low]
                code = own[high] * q + own[low]
            else:
                high = np.abs(some - rate).argmax(1)
                gap, code = np.abs(some - rate)[rows, high], own[high] * (q + 1)
            found, which = np.maximum(found, gap), np.where(gap > found, code, which)
        return np.minimum(found, np.max(self._unit)), which

    def _called(self, which: int) -> str:
        high, low = divmod(which, len(self._names))
        return self._names[high] + (f" and {self._names[low]}" if low != high else "")


class LargestOf(Criterion):
    """The larger of two criteria, of the rows of precision and of the others of a stack."""

    def __init__(self, *parts: Criterion) -> None:
        self._parts = parts
        self.name = " or ".join(part.name for part in parts)  # type: ignore[misc]
        self.title = ", or ".join(part.title for part in parts)  # type: ignore[misc]

    def __call__(self, h: np.ndarray) -> float:
        return float(np.max([part(h) for part in self._parts]))

    def limited(self, limits: Mapping[str, float]) -> LargestOf:
        return LargestOf(*(part.limited(limits) for part in self._parts))

    def by_attribute(self, h: np.ndarray) -> dict[str, float]:
        found: dict[str, float] = {}
        for name, value in (item for part in self._parts for item in part.by_attribute(h).items()):
            found[name] = max(value, found.get(name, 0.0))
        return found

    def bound(self, h: np.ndarray, confidence: float, new_people: float = np.inf) -> Bound:
        # Each of them may be exceeded, so that each has its share of the doubt.
        each = 1 - (1 - confidence) / len(self._parts) if confidence > 0 else 0.0
        found = [part.bound(h, each, new_people) for part in self._parts]
        return replace(max(found, key=lambda one: one.upper), value=self(h))


def _exact(rate: float) -> tuple[float, ...]:
    """Return a rate as a key, by which those without one are alike."""
    return () if np.isnan(rate) else (rate,)
