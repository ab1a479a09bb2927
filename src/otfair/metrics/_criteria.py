"""Criteria of how unfair scores are, and how unfair they may be among people not seen.

Maths: docs/metrics.md. A criterion is the largest of some figures, and each of these is a function
of sums over people. What one person adds to a figure, to first order, is a polynomial in their
score whose coefficients depend on their type only. So the covariance of all figures follows from
sums of powers of the scores in each type, in one pass over the people.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from scipy import stats

from otfair.notions import People

DRAWS = 5000  # of figures, to find the quantile of the largest
MOST_CORRELATED = 500  # figures; with more, each is drawn by itself, which bounds them from above
TINY = 1e-12  # in place of a limit of 0
NEARLY = 1e-9  # share of a figure by which others are as large but for rounding
NORMAL = 0.95  # at which the tails of small groups are compared with the normal's


@dataclass(frozen=True)
class Bound:
    """A violation, and what it stays below among new people with some confidence."""

    value: float  #: As measured.
    upper: float  #: The bound; never below `value`.
    name: str  #: What decides it, such as a group.


class Criterion(ABC):
    """How unfair scores are to one population, prepared for many scores of it."""

    name: ClassVar[str]  # as users choose it
    title: ClassVar[str]  # what it is called in a sentence
    _attributes: Sequence[str]  # of each figure
    _unit: np.ndarray | float = 1.0  # (q,) by what figures are multiplied

    @abstractmethod
    def __call__(self, h: np.ndarray) -> float:
        """Return the violation of scores h, (n,); NaN where some are not finite."""

    def limited(self, limits: Mapping[str, float]) -> Self:
        """Return the criterion in which each attribute counts by its own limit.

        Parameters
        ----------
        limits : mapping of str to float
            Limits of some attributes; the others do not count.

        Returns
        -------
        Criterion
            Its violation is the largest of an attribute's violation times the largest limit over
            its own, so that it is within the largest limit where each is within its own.
        """
        most = max(limits.values())
        unit = {name: most / max(limit, TINY) if most else 1.0 for name, limit in limits.items()}
        own = copy.copy(self)
        own._unit = np.array([unit.get(name, 0.0) for name in self._attributes])
        return own

    def by_attribute(self, h: np.ndarray) -> dict[str, float]:
        """Return the violation of each attribute by itself, of scores h, (n,)."""
        return {name: self.limited({name: 1.0})(h) for name in dict.fromkeys(self._attributes)}

    @abstractmethod
    def bound(self, h: np.ndarray, confidence: float, new_people: float = np.inf) -> Bound:
        """Return the violation and the bound below which it stays among new people.

        Parameters
        ----------
        h : ndarray of shape (n,)
            Scores that their people had no part in, such as those of a model trained on others.
        confidence : float
            From 0, where the bound is the violation itself, to 1.
        new_people : float, default=inf
            How many there are in the sample for which the bound is to hold; infinity stands for the
            population that the people were drawn from.

        Returns
        -------
        Bound
            The violation, the bound, and what decides it.
        """


class FiguresCriterion(Criterion):
    """The largest of some figures."""

    def __init__(self, people: People) -> None:
        self._types, self._weight = people.types.numpy(), people.weight.numpy()
        self._count = len(people.type_names)

    def __call__(self, h: np.ndarray) -> float:
        if not np.isfinite(h).all():
            return np.nan
        return self._violation(self._centred(h), float(np.abs(h).max(initial=0.0)))

    def _centred(self, h: np.ndarray) -> np.ndarray:
        """Return scores as figures take them, (n,): centred numbers cancel less."""
        return h - float(h.mean())

    @abstractmethod
    def _violation(self, z: np.ndarray, size: float) -> float:
        """Return the largest figure of centred scores, (n,), of which the largest had this size."""

    @abstractmethod
    def _figures(self, z: np.ndarray) -> tuple[np.ndarray, Sequence[np.ndarray], np.ndarray]:
        """Return figures (q,), the coefficients of influences, each (q, K), and widening (q,)."""

    @abstractmethod
    def _largest(self, figures: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the violation of each row of figures, (b, q), and which comparison it is of."""

    @abstractmethod
    def _called(self, which: int) -> str:
        """Return what a comparison is of."""

    def bound(self, h: np.ndarray, confidence: float, new_people: float = np.inf) -> Bound:
        value = self(h)
        if not np.isfinite(value):
            return Bound(value, np.inf, "scores that are not finite")
        z = self._centred(h)
        figures, influence, widening = self._figures(z)
        if not len(figures):
            return Bound(value, value, "nothing")
        unit = np.broadcast_to(self._unit, figures.shape)
        figures, influence = figures * unit, [each * unit[:, None] for each in influence]
        with np.errstate(invalid="ignore"):  # a group of one person says nothing: zero by infinity
            deviations = self._deviations(z, influence) * widening
        deviations *= np.sqrt(1 + self._effective() / new_people)
        drawn, which = self._largest(figures + deviations)
        upper = float(np.quantile(drawn, confidence, method="inverted_cdf"))
        deciding, times = np.unique(which[drawn >= upper], return_counts=True)
        return Bound(value, max(value, upper), self._called(int(deciding[times.argmax()])))

    def _effective(self) -> float:
        """Return of how many people of equal weight the population tells as much."""
        return float(self._weight.sum() ** 2 / (self._weight**2).sum())

    def _sums(self, z: np.ndarray, power: int) -> np.ndarray:
        """Return weighted sums of a power of the scores in each type, (K,)."""
        return np.bincount(self._types, self._weight * z**power, self._count)

    def _deviations(self, z: np.ndarray, influence: Sequence[np.ndarray]) -> np.ndarray:
        """Draw how far figures may be from those of the population, (DRAWS, q)."""
        powers = range(2 * len(influence) - 1)
        squared = [np.bincount(self._types, self._weight**2 * z**p, self._count) for p in powers]
        pairs = [(p, q) for p in range(len(influence)) for q in range(len(influence))]
        rng, q = np.random.default_rng(0), len(influence[0])
        if q > MOST_CORRELATED:
            variance = sum((influence[i] * influence[j]) @ squared[i + j] for i, j in pairs)
            return np.asarray(rng.standard_normal((DRAWS, q)) * np.sqrt(np.maximum(variance, 0.0)))
        covariance = sum((influence[i] * squared[i + j]) @ influence[j].T for i, j in pairs)
        values, axes = np.linalg.eigh(covariance)
        kept = values > 1e-12 * max(float(values[-1]), 0.0)
        axes = axes[:, kept]
        # An axis has no sign of its own: its first large entry is positive, or rounding would draw.
        size = np.abs(axes)
        large = (size >= (1 - NEARLY) * size.max(0, initial=0.0)).argmax(0)
        root = axes * (np.sign(axes[large, np.arange(axes.shape[1])]) * np.sqrt(values[kept]))
        return np.asarray(rng.standard_normal((DRAWS, int(kept.sum()))) @ root.T)


class ViolationOf(FiguresCriterion):
    """The largest correlation of scores with a row of the notion, within those it speaks of."""

    name = "correlation"
    title = "largest correlation of score and group"

    def __init__(self, people: People) -> None:
        super().__init__(people)
        vectors, kept, _ = people.vectors(people.mass)
        self._names = [n for n, k in zip(people.names, kept.tolist()) if k]
        self._attributes = [a for (a, _), k in zip(people.compared, kept.tolist()) if k]
        mass, rows = people.mass.numpy(), vectors.numpy()
        # A correlation does not depend on the size of a row, whose square may be no number.
        size = np.abs(rows).max(1, initial=0.0)
        self._vectors = rows / np.exp2(np.floor(np.log2(np.where(size > 0, size, 1.0))))[:, None]
        self._strata = people.strata[kept].numpy().astype(np.float64)  # (d, K)
        self._size = self._strata @ mass
        self._mean = self._vectors @ mass / self._size  # of each row of G, and its variance
        self._variance = self._vectors**2 @ mass / self._size - self._mean**2

    def _violation(self, z: np.ndarray, size: float) -> float:
        return float(np.abs(self._correlations(z, size)[0] * self._unit).max(initial=0.0))

    def _correlations(
        self, z: np.ndarray, size: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the correlation of each row, and mean and variance of scores in it, (d,)."""
        first, second = self._sums(z, 1), self._sums(z, 2)
        mean = self._strata @ first / self._size
        spread = self._strata @ second / self._size - mean**2
        covariance = self._vectors @ first / self._size - self._mean * mean
        scale = np.sqrt(np.maximum(self._variance * spread, 0.0))
        varies = spread > 1e-24 * size**2  # equal scores leave only rounding
        return np.where(varies, covariance / np.where(varies, scale, 1.0), 0.0), mean, spread

    def _figures(self, z: np.ndarray) -> tuple[np.ndarray, Sequence[np.ndarray], np.ndarray]:
        size = float(np.abs(z).max(initial=0.0))
        r, mean, spread = self._correlations(z, size)
        varies = (spread > 1e-24 * size**2) & (self._variance > 0)
        deviation = np.sqrt(np.where(varies, spread, 1.0))
        u = (self._vectors - self._mean[:, None]) / np.sqrt(
            np.where(self._variance > 0, self._variance, 1.0)
        )[:, None]
        # u v - r (u^2 + v^2) / 2, with v = (z - mean) / deviation, by powers of z
        each = self._strata * (varies / self._size)[:, None]
        shift, half = (mean / deviation)[:, None], 0.5 * r[:, None]
        influence = [
            each * (-u * shift - half * (u**2 + shift**2)),
            each * (u + 2 * half * shift) / deviation[:, None],
            each * (-half / deviation[:, None] ** 2),
        ]
        return r, influence, np.ones(len(r))

    def _largest(self, figures: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        sizes = np.minimum(np.abs(figures), self._unit)
        largest = sizes.max(1)
        # Of two groups both correlations are as large but for rounding: the first is named.
        return largest, (sizes >= largest[:, None] * (1 - NEARLY)).argmax(1)

    def _called(self, which: int) -> str:
        return self._names[which]


class MeanDifferenceOf(FiguresCriterion):
    """The largest difference between two groups' mean scores, within a stratum of the notion.

    A number has no groups: its figure is the difference, on the line of scores against it, between
    one standard deviation above its mean and one below. For two groups of equal size both agree.
    """

    name = "difference"
    title = "largest difference between two groups' mean scores"

    # `expected`, (K,), is the weight of each type among all people: a group of theirs that is not
    # among `people` is not compared, and has no bound.
    def __init__(self, people: People, expected: np.ndarray | None = None) -> None:
        super().__init__(people)
        if "fixed" in people.kinds:
            row = people.names[people.kinds.index("fixed")]
            raise ValueError(
                f'`criterion="difference"` compares groups, but the row {row!r} of your own notion '
                'has none. Take `criterion="correlation"`.'
            )
        self._mass = people.mass.numpy()
        expected = self._mass if expected is None else expected
        design, strata = people.design.numpy(), people.strata.numpy()
        cells: list[np.ndarray] = []  # (K,) who is in it
        names: list[str] = []
        attributes: list[str] = []
        ranges: list[tuple[int, int]] = []  # cells that are compared with each other
        lines: list[int] = []  # rows that are numbers
        rows: dict[tuple[tuple[str, str], bytes], list[int]] = {}
        for c, (compared, kind) in enumerate(zip(people.compared, people.kinds)):
            if kind == "group":
                rows.setdefault((compared, strata[c].tobytes()), []).append(c)
            else:
                lines.append(c)
        for some in rows.values():
            begin = len(cells)
            groups = [(people.names[c], (design[c] > 0) & strata[c]) for c in some]
            rest = strata[some[0]] & ~np.any([inside for _, inside in groups], axis=0)
            groups.append((f"not {people.names[some[0]]}", rest))  # of a one-hot column
            for name, inside in groups:
                if float(expected[inside].sum()) > 0:
                    cells.append(inside)
                    names.append(name)
                    attributes.append(people.compared[some[0]][0])
            ranges.append((begin, len(cells)))
        self._cells = np.array(cells, dtype=np.float64).reshape(len(cells), self._count)
        self._ranges = [(a, b) for a, b in ranges if b - a > 1]
        self._size = self._cells @ self._mass
        squared = np.bincount(self._types, self._weight**2, self._count)
        people_in = self._size**2 / np.maximum(self._cells @ squared, 1e-300)
        self._widening = small_sample_factor(people_in)
        self._read_lines(design[lines], strata[lines])
        self._names = names + [people.names[c] for c in lines]
        self._attributes = attributes + [people.compared[c][0] for c in lines]

    def _read_lines(self, values: np.ndarray, strata: np.ndarray) -> None:
        """Standardise the columns that are numbers within their strata."""
        self._line_size = strata @ self._mass
        size = np.maximum(self._line_size, 1e-300)
        mean = (values * strata) @ self._mass / size
        centred = (values - mean[:, None]) * strata
        spread = np.sqrt(centred**2 @ self._mass / size)
        varies = spread > 1e-12 * np.abs(values).max(1, initial=0.0)
        self._lines = centred * (varies / np.where(varies, spread, 1.0))[:, None]  # (l, K)
        self._inside = strata.astype(np.float64)

    def _means(self, z: np.ndarray) -> np.ndarray:
        """Return the mean of each cell, and the difference along each number, (q,)."""
        first = self._sums(z, 1)
        means = self._cells @ first / np.where(self._size > 0, self._size, 1.0)
        return np.append(means, 2 * self._lines @ first / np.maximum(self._line_size, 1e-300))

    def _violation(self, z: np.ndarray, size: float) -> float:
        figures = self._means(z) * self._unit
        absent = np.append(self._size <= 0, np.zeros(len(self._lines), dtype=bool))
        largest = np.abs(figures[len(self._cells) :]).max(initial=0.0)
        for begin, end in self._ranges:
            some = figures[begin:end][~absent[begin:end]]
            largest = max(largest, float(np.ptp(some)) if len(some) else 0.0)
        return float(largest)

    def _figures(self, z: np.ndarray) -> tuple[np.ndarray, Sequence[np.ndarray], np.ndarray]:
        figures, count = self._means(z), len(self._cells)
        each = self._cells / np.where(self._size > 0, self._size, 1.0)[:, None]
        size, first = np.maximum(self._line_size, 1e-300)[:, None], self._sums(z, 1)
        mean = (self._inside @ first)[:, None] / size
        u, half = self._lines, 0.25 * figures[count:, None]
        line = -u * mean - half * (u**2 + self._inside)  # u (z - mean) - slope (u^2 + 1) / 2
        influence = [
            np.vstack([-each * figures[:count, None], 2 * line / size]),
            np.vstack([each, 2 * u / size]),
        ]
        return figures, influence, np.append(self._widening, np.ones(len(u)))

    def _largest(self, figures: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        rows, q = np.arange(len(figures)), len(self._names)
        figures = np.where(np.isfinite(figures), figures, np.nan)
        found, which = np.zeros(len(figures)), np.zeros(len(figures), dtype=np.int64)
        for begin, end in self._ranges:
            some = figures[:, begin:end]
            if (unknown := np.isnan(some[0])).any():
                return np.full(len(figures), np.inf), which + (begin + unknown.argmax()) * (q + 1)
            high, low = some.argmax(1), some.argmin(1)
            gap = some[rows, high] - some[rows, low]
            code = (high + begin) * q + low + begin
            found, which = np.maximum(found, gap), np.where(gap > found, code, which)
        for c in range(len(self._cells), q):
            gap = np.abs(figures[:, c])
            found, which = np.maximum(found, gap), np.where(gap > found, c * (q + 1), which)
        return found, which

    def _called(self, which: int) -> str:
        high, low = divmod(which, len(self._names))
        return self._names[high] + (f" and {self._names[low]}" if low != high else "")


def small_sample_factor(people: np.ndarray) -> np.ndarray:
    """Return by how much tails of a mean over so many people are longer than the normal's."""
    free = people - 1  # degrees of freedom
    with np.errstate(divide="ignore", invalid="ignore"):
        wider = stats.t.ppf(NORMAL, np.maximum(free, 1)) / stats.norm.ppf(NORMAL)
        wider = wider * np.sqrt(people / free)
    return np.where(free >= 1 - 1e-9, wider, np.inf)
