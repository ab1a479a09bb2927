"""Distances to types of people by the boxes that are near, without the square of all pairs.

Maths: docs/derivation.md, section 17. People of each type are put in a tree of boxes. A box is
left out where even its nearest corner costs so much more than the nearest person of the type that
all such people together change a soft distance by less than a share of epsilon.
"""

from __future__ import annotations

import importlib.util
import logging
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from otfair._io.progress import track
from otfair._io.threads import shared

logger = logging.getLogger(__name__)

LEAF = 32  # people in a box that is not divided
LEAST_PAIRS = 2**27  # of rows and places, below which all pairs take about a second
TRIED = 64  # rows by which it is told whether boxes pay
PAYS = 2.0  # by which boxes and people visited must be fewer than all people
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


class Boxes:
    """The places that receive score, (u,) sorted by type, in a tree of boxes for each type.

    Rows are numbers of the metric's places.
    """

    def __init__(
        self, metric: Metric, points: np.ndarray, types: np.ndarray, weight: np.ndarray, count: int
    ) -> None:
        self.metric, _kernels = metric, self._kernels
        self._kind = _kernels.SUM if not metric.squares else _kernels.SQUARE
        self._kind = _kernels.ROOT if metric.root else self._kind
        edges = np.searchsorted(types, np.arange(count + 1))
        self.order = np.arange(len(points))  # (u,) the places as they are in the tree
        self._tree = _kernels.Tree(
            *_kernels.grow(metric.places, points, self.order, edges, LEAF, metric.places.min(0), metric.places.max(0))
        )
        self._weight = weight[self.order]
        total = np.add.reduceat(np.append(weight, 0.0), edges[:-1])
        self._all = np.log(np.where(edges[1:] > edges[:-1], total, 1.0))  # (K,)

    @property
    def _kernels(self) -> Any:
        from otfair.geometry import _kernels  # not sooner: it takes an extra

        return _kernels

    def visits(self, rows: np.ndarray, epsilon: float, tried: int) -> float:
        """Return how many boxes and people a row meets, on average, by a few of the rows, (r,)."""
        some = rows[np.linspace(0, len(rows) - 1, min(tried, len(rows))).astype(np.int64)]
        visits = self._soft(some, epsilon)[1] if epsilon else self._nearest(some)[2]
        return visits / len(some)

    def pay(self, rows: np.ndarray, epsilon: float) -> bool:
        """Whether boxes are sooner than all pairs, by a few of the rows, (r,)."""
        return bool(PAYS * self.visits(rows, epsilon, TRIED) < len(self.order))

    def soft(self, rows: np.ndarray, epsilon: float, verbose: bool = False) -> Tensor:
        """Soft distances of rows (r,) to each type, over epsilon, (K, r)."""
        found = _by_pieces(partial(self._soft, epsilon=epsilon), rows, verbose=verbose)
        return torch.as_tensor(np.concatenate([out for out, _ in found], 1))

    def nearest(self, rows: np.ndarray, verbose: bool = False) -> tuple[Tensor, Tensor]:
        """Least costs of rows (r,) to each type, and the places where they are, (K, r) each."""
        found = list(_by_pieces(self._nearest, rows, verbose=verbose))
        out, where = (np.concatenate([part[k] for part in found], 1) for k in (0, 1))
        return torch.as_tensor(out), torch.as_tensor(self.order[where])

    def shares(
        self, rows: np.ndarray, epsilon: float, soft: np.ndarray, mass: np.ndarray
    ) -> tuple[Tensor, Tensor]:
        """Mean cost over epsilon from rows to types, (K, r), and mass per weight of places, (u,).

        `soft` (K, r) are the distances over epsilon, `mass` (K, r) is what rows send.
        """
        found = _by_pieces(partial(self._shares, epsilon=epsilon), rows, soft, mass)
        received, means = np.zeros_like(self._weight), []
        for mean, part in found:
            received[self.order] += part
            means.append(mean)
        return torch.as_tensor(np.concatenate(means, 1)), torch.as_tensor(received)

    def _soft(self, rows: np.ndarray, epsilon: float) -> tuple[np.ndarray, int]:
        far = self._all - math.log(ACCURACY)
        out = np.empty((len(far), len(rows)))
        places, factor = self.metric.places, self.metric.factor / epsilon
        visits = self._kernels.soft_pass(
            places, rows, self._weight, self._tree, far, self._kind, factor, out
        )
        return out, visits

    def _nearest(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
        out = np.empty((len(self._all), len(rows)))
        where = np.empty(out.shape, dtype=np.int64)
        places, factor = self.metric.places, self.metric.factor
        visits = self._kernels.nearest_pass(
            places, rows, self._tree, self._kind, factor, out, where
        )
        return out, where, visits

    def _shares(
        self, rows: np.ndarray, soft: np.ndarray, mass: np.ndarray, epsilon: float
    ) -> tuple[np.ndarray, np.ndarray]:
        far = self._all - math.log(LEAST_SHARE)
        mean, received = np.empty((len(far), len(rows))), np.zeros_like(self._weight)
        places, factor = self.metric.places, self.metric.factor / epsilon
        self._kernels.share_pass(
            places, rows, self._weight, self._tree, far, self._kind, factor,
            np.ascontiguousarray(soft), np.ascontiguousarray(mass), mean, received,
        )  # fmt: skip
        return mean, received


def boxes_of(
    metric: Metric | None, rows: np.ndarray, points: np.ndarray, types: np.ndarray,
    weight: np.ndarray, count: int,
) -> Boxes | None:  # fmt: skip
    """Return the places in boxes; None where there is no need of them, or they can't be made."""
    if metric is None or len(rows) * len(points) < LEAST_PAIRS:
        return None
    if importlib.util.find_spec("numba") is None:
        logger.info("all pairs of %d and %d people: Numba would save time", len(rows), len(points))
        return None
    return Boxes(metric, points, types, weight, count)


def _by_pieces(
    work: Callable[..., Any], rows: np.ndarray, *by_row: np.ndarray, verbose: bool = False
) -> Iterator[Any]:
    """Do work on pieces of the rows, (r,) and (K, r)."""
    ends = np.linspace(0, len(rows), PIECES + 1).astype(int)
    pieces = [slice(a, b) for a, b in pairwise(ends) if b > a]
    found = shared(lambda p: work(rows[p], *(x[:, p] for x in by_row)), pieces)
    return iter(track(found, "distances", len(pieces), verbose=verbose, leave=False))
