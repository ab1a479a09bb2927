"""Costs by Euclidean distances, whose squares are one matrix product."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import torch
from torch import Tensor

from otfair.geometry.costs._cost import BLOCK_ENTRIES, Cost, Points, Size

CANCELLED = 1e-8  # squares below this share of the largest are recomputed from the difference


class SquaresCost(Cost):
    """The Euclidean distance between places, or a multiple of its square.

    Identical people are at distance exactly 0, and near pairs are computed by subtraction, so that
    small distances are right to rounding and not only to the rounding of large ones.
    """

    order = 2
    multiple: ClassVar[float | None] = None  # of the square; None where the cost is the distance

    @property
    def multiple_of_square(self) -> float | None:
        """What the square of a distance is multiplied by; None where the cost is a distance."""
        return self.multiple

    def of_distance(self, distance: Size) -> Size:
        """Return the cost of a distance."""
        return distance if self.multiple is None else distance**2 * self.multiple

    def to_distance(self, cost: Tensor) -> Tensor:
        """Return the distances of some costs."""
        return cost if self.multiple is None else (cost / self.multiple).sqrt()

    def between(self, X: Tensor, Y: Tensor) -> Tensor:
        """Return the costs by subtraction, (a, b)."""
        distance = _distances(X, Y)
        return distance if self.multiple is None else distance.square_().mul_(self.multiple)

    def pairs(self, places: Tensor, rows: Tensor, columns: Tensor) -> Tensor | None:
        """Return the costs from single places to others by subtraction, (a,)."""
        step = max(1, BLOCK_ENTRIES // places.shape[1])
        squares = [
            (places[i] - places[j]).square().sum(1)
            for i, j in zip(torch.split(rows, step), torch.split(columns, step))
        ]
        found = torch.cat(squares) if squares else places.new_empty(0)
        return found.sqrt_() if self.multiple is None else found.mul_(self.multiple)

    def blocks(
        self, points: Points, rows: Tensor, columns: Tensor, factor: float
    ) -> Callable[[int, int], Tensor]:
        """Prepare blocks of costs between chosen points, of one product each."""
        places = points.places
        # |y - x|^2 as one product: (y, 1, |y|^2) . (-2 x, |x|^2, 1), in units of the result.
        unit = factor**2 if self.multiple is None else factor * self.multiple
        left = torch.cat([*_centred(points, columns)], 1)
        x, one, norms = _centred(points, rows)
        right = torch.cat([x.mul_(-2), norms, one], 1).mul_(unit)
        cancelled = CANCELLED * unit * float(points.norms.max())
        twin = torch.searchsorted(rows, columns).clamp_max_(len(rows) - 1)  # (u,) same row, if any
        twins = torch.nonzero(rows[twin] == columns).squeeze(1)
        twins = twins[torch.argsort(twin[twins])]
        twin_rows = twin[twins]

        def block(start: int, stop: int) -> Tensor:
            squares = left @ right[start:stop].T  # (u, b)
            lo, hi = torch.searchsorted(twin_rows, torch.tensor([start, stop], device=rows.device))
            same = (twins[lo:hi], twin_rows[lo:hi] - start)
            squares[same] = torch.inf
            if float(squares.amin()) <= cancelled:  # take these from the difference
                j, i = torch.nonzero(squares <= cancelled, as_tuple=True)
                if len(j) * places.shape[1] > BLOCK_ENTRIES:
                    exact = _distances(places[columns], places[rows[start:stop]])
                    squares = exact.square_().mul_(unit)
                else:
                    difference = places[columns[j]] - places[rows[start + i]]
                    squares[j, i] = difference.square().sum(1).mul_(unit)
            squares[same] = 0.0
            return squares.sqrt_() if self.multiple is None else squares

        return block


def _centred(points: Points, some: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return some places relative to the centre, (u, p), ones, and their squared norms, (u, 1)."""
    norms = points.norms[some, None]
    return points.places[some] - points.centre, torch.ones_like(norms), norms


def _distances(X: Tensor, Y: Tensor) -> Tensor:
    return torch.cdist(X, Y, compute_mode="donot_use_mm_for_euclid_dist")
