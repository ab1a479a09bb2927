"""Distances to types of people by the boxes that are near, without the square of all pairs.

Maths: docs/derivation.md, section 17. People of each type are put in a tree of boxes. A box is
left out where even its nearest corner costs so much more than the soft distance found so far that
all such people together change it by less than a share of epsilon.
"""

from __future__ import annotations

import importlib.util
import logging
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from otfair._io.progress import track
from otfair._io.threads import shared

Result = TypeVar("Result")
logger = logging.getLogger(__name__)

LEAF = 64  # people in a box that is not divided
LEAST_PAIRS = 2**27  # of rows and places, below which all pairs take about a second
TRIED = 64  # rows by which it is told whether boxes pay
PAYS = 2.0  # by which boxes and people visited must be fewer than all people
ROWS = 8192  # people who are looked at together
PIECES = 128  # of the rows, at which threads work
ACCURACY = 1e-3  # share of epsilon by which soft distances may be off
LEAST_SHARE = 1e-7  # of what goes to a type, that its far places may have together


@dataclass(frozen=True)
class Metric:
    """Costs that increase with a sum over features."""

    places: np.ndarray  # (q, p)
    root: bool  # whether the root of the sum is taken
    squares: bool  # whether the sum is of squares, and not of absolute differences
    factor: float  # that the cost is multiplied by
    # Share and amount by which distances differ that are equal but for rounding
    tie: tuple[float, float] = (0.0, 0.0)


class Boxes:
    """The places that receive score, (u,) sorted by type, in a tree of boxes for each type.

    Rows are numbers of the metric's places. `first` (u,) is the first person at each place: trees
    follow from the people who receive, in their order, whoever the rows are.
    """

    def __init__(
        self,
        metric: Metric,
        points: np.ndarray,
        types: np.ndarray,
        weight: np.ndarray,
        count: int,
        first: np.ndarray | None = None,
    ) -> None:
        from otfair.geometry import _tree  # not sooner: it takes an extra

        self.metric, _kernels = metric, self._kernels
        self._kind = _kernels.SUM if not metric.squares else _kernels.SQUARE
        self._kind = _kernels.ROOT if metric.root else self._kind
        first = np.arange(len(points)) if first is None else first
        self.order = np.lexsort((first, types))  # (u,) the places as they are in the trees
        edges = np.searchsorted(types, np.arange(count + 1))
        self._parts = [slice(a, b) for a, b in pairwise(edges.tolist())]  # of each type
        people = points[self.order]
        box = _box(metric.places, people)

        def grow(part: slice) -> Any:
            if part.start == part.stop:
                return None
            own = people[part]  # views, which are put in order
            nodes = _tree.grow(metric.places, own, self.order[part], LEAF)
            return _tree.Tree(*_tree.describe(metric.places, own, *box, *nodes))

        self._trees = list(shared(grow, self._parts))  # None for a type without people
        self._weight, self._first = weight[self.order], first[self.order]

    @property
    def _kernels(self) -> Any:
        from otfair.geometry import _kernels  # not sooner: it takes an extra

        return _kernels

    def visits(self, rows: np.ndarray, epsilon: float, tried: int) -> float:
        """Return how many boxes and people a row meets, on average, by a few of the rows, (r,)."""
        if not len(rows):  # a share may be empty
            return 0.0
        some = rows[np.linspace(0, len(rows) - 1, min(tried, len(rows))).astype(np.int64)]
        out = np.empty(len(some))
        where = np.empty(len(some), dtype=np.int64)
        found = (
            self._soft(k, some, epsilon, out) if epsilon else self._nearest(k, some, out, where)
            for k, tree in enumerate(self._trees) if tree
        )  # fmt: skip
        return sum(found) / len(some)

    def pay(self, rows: np.ndarray, epsilon: float) -> bool:
        """Whether boxes are sooner than all pairs, by a few of the rows, (r,)."""
        return bool(PAYS * self.visits(rows, epsilon, TRIED) < len(self.order))

    def soft(self, rows: np.ndarray, epsilon: float, verbose: bool = False) -> Tensor:
        """Soft distances of rows (r,) to each type, over epsilon, (K, r)."""
        out = np.full((len(self._trees), len(rows)), np.inf)
        work = lambda k, piece: self._soft(k, rows[piece], epsilon, out[k, piece])
        for _ in self._by_pieces(work, len(rows), verbose):
            pass
        return torch.as_tensor(out)

    def nearest(self, rows: np.ndarray, verbose: bool = False) -> tuple[Tensor, Tensor]:
        """Least costs of rows (r,) to each type, and the places where they are, (K, r) each."""
        out = np.full((len(self._trees), len(rows)), np.inf)
        where = np.zeros(out.shape, dtype=np.int64)
        work = lambda k, piece: self._nearest(k, rows[piece], out[k, piece], where[k, piece])
        for _ in self._by_pieces(work, len(rows), verbose):
            pass
        return torch.as_tensor(out), torch.as_tensor(self.order[where])

    def shares(
        self, rows: np.ndarray, epsilon: float, soft: np.ndarray, mass: np.ndarray
    ) -> tuple[Tensor, Tensor]:
        """Mean cost over epsilon from rows to types, (K, r), and mass per weight of places, (u,).

        `soft` (K, r) are the distances over epsilon, `mass` (K, r) is what rows send.
        """
        mean, received = np.zeros(soft.shape), np.zeros_like(self._weight)

        def work(k: int, piece: slice) -> tuple[int, np.ndarray]:
            got, weight = np.zeros_like(self._weight[self._parts[k]]), self._weight[self._parts[k]]
            far = math.log(weight.sum() / LEAST_SHARE)
            self._kernels.share_pass(
                *self._of(k, rows[piece], epsilon), weight, far, soft[k, piece].copy(),
                mass[k, piece].copy(), mean[k, piece], got,
            )  # fmt: skip
            return k, got

        for k, got in self._by_pieces(work, len(rows)):
            received[self.order[self._parts[k]]] += got
        return torch.as_tensor(mean), torch.as_tensor(received)

    def _of(self, k: int, rows: np.ndarray, epsilon: float = 1.0) -> tuple[Any, ...]:
        factor = self.metric.factor / epsilon
        return self.metric.places, rows, self._trees[k], self._kind, factor

    def _soft(self, k: int, rows: np.ndarray, epsilon: float, out: np.ndarray) -> int:
        weight = self._weight[self._parts[k]]
        far = math.log(weight.sum() / ACCURACY)
        visits: int = self._kernels.soft_pass(*self._of(k, rows, epsilon), weight, far, out)
        return visits

    def _nearest(self, k: int, rows: np.ndarray, out: np.ndarray, where: np.ndarray) -> int:
        first, tie = self._first[self._parts[k]], self.metric.tie
        visits: int = self._kernels.nearest_pass(*self._of(k, rows), first, tie, out, where)
        where += self._parts[k].start
        return visits

    def _by_pieces(
        self, work: Callable[[int, slice], Result], count: int, verbose: bool = False
    ) -> Iterator[Result]:
        """Do work on pieces of so many rows, for each type that has people."""
        types = [k for k, tree in enumerate(self._trees) if tree]
        ends = np.linspace(0, count, max(1, PIECES // max(1, len(types))) + 1).astype(int).tolist()
        pieces = [(k, slice(a, b)) for k in types for a, b in pairwise(ends) if b > a]
        found = shared(lambda piece: work(*piece), pieces)
        return iter(track(found, "distances", len(pieces), verbose=verbose, leave=False))


def _box(places: np.ndarray, people: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the corners of the box around people, by some of them at a time."""
    low, high = places[people[0]].copy(), places[people[0]].copy()
    for k in range(0, len(people), ROWS):
        rows = places[people[k : k + ROWS]]
        np.minimum(low, rows.min(0), out=low)
        np.maximum(high, rows.max(0), out=high)
    return low, high


def boxes_of(
    metric: Metric | None, rows: np.ndarray, points: np.ndarray, types: np.ndarray,
    weight: np.ndarray, count: int, first: np.ndarray,
) -> Boxes | None:  # fmt: skip
    """Return the places in boxes; None where there is no need of them, or they can't be made."""
    if metric is None or len(rows) * len(points) < LEAST_PAIRS:
        return None
    if importlib.util.find_spec("numba") is None:
        logger.info("all pairs of %d and %d people: Numba would save time", len(rows), len(points))
        return None
    return Boxes(metric, points, types, weight, count, first)
