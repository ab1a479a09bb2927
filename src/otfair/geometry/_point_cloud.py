"""Costs between people's features, computed when they are needed."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import Any

import numpy as np
import torch
from torch import Tensor

from otfair._io.arrays import Array, to_tensor
from otfair._io.threads import one_thread
from otfair.distributed import is_parted
from otfair.geometry._boxes import Metric
from otfair.geometry._distances import TIED
from otfair.geometry._geometry import Geometry, Scale
from otfair.geometry.costs import Cost, CostFunction, Points, as_cost
from otfair.geometry.costs._cost import BLOCK_ENTRIES, ROWS, by_rows

MOST_TWINS = 1.25  # people for each distinct one, up to whom all are kept where they are


class PointCloud(Geometry):
    """Costs between people's features, computed when needed and never stored as a whole.

    Parameters
    ----------
    X : array of shape (n, p)
        Features of the people whose scores move. Those of a Dask collection stay on its workers.
    Y : array of shape (m, p), default=None
        Features of those who receive score; the same people by default.
    cost : str, callable or Cost, default="euclidean"
        "euclidean", "sqeuclidean", "cityblock", "cosine", "mahalanobis" (by the covariance of all
        these people), a function of two blocks of people, (a, p) and (b, p), giving (a, b), or an
        instance of a class of `otfair.geometry.costs`.
    scale : {"max", "mean", "median"}, float or None, default="max"
        Divide costs by this statistic of all pairs, by a number, or by nothing (None). The median
        of more than 4096 people is that of 4096 evenly spaced ones. Scale and covariance count
        each person once, whatever their weight in the constraints.
    copy : bool, default=True
        Whether features are copied. Without, an array of float64 may be kept as it is, and must not
        change: of millions of numbers that saves half of the memory.

    Notes
    -----
    Identical people are at distance exactly 0, and near pairs are computed by subtraction, so that
    small distances are right to rounding and not only to the rounding of large ones.

    Examples
    --------
    >>> from otfair import PointCloud
    >>> geometry = PointCloud([[0.0, 0.0], [3.0, 4.0], [0.0, 0.0]])
    >>> geometry.scale_
    5.0
    >>> geometry.cost_matrix()
    tensor([[0., 1., 0.],
            [1., 0., 1.],
            [0., 1., 0.]], dtype=torch.float64)
    """

    def __new__(
        cls,
        X: Array = None,
        Y: Array = None,
        cost: str | CostFunction | Cost = "euclidean",
        scale: Scale = "max",
        *,
        copy: bool = True,
    ) -> Any:
        """Make a cloud, or where the rows are on Dask's workers one that leaves them there."""
        if not is_parted(X):
            return super().__new__(cls)
        from otfair.geometry._parted import PartedCloud  # which is made of clouds

        return PartedCloud(X, Y, cost, scale)

    @one_thread()
    def __init__(
        self,
        X: Array,
        Y: Array = None,
        cost: str | CostFunction | Cost = "euclidean",
        scale: Scale = "max",
        *,
        copy: bool = True,
    ):
        rows = to_tensor(X, "X", ndim=2, copy=False)  # chosen rows are a copy
        columns = rows if Y is None else to_tensor(Y, "Y", ndim=2, device=rows.device, copy=False)
        if rows.shape[1] != columns.shape[1] or 0 in (*rows.shape, len(columns)):
            raise ValueError(
                "`X` and `Y` must have the same features and not be empty; received shapes "
                f"{tuple(rows.shape)} and {tuple(columns.shape)}."
            )
        people = rows if Y is None else torch.cat([rows, columns])
        self.cost = as_cost(cost)
        first, index = distinct_rows(people)
        kept = not copy and len(people) < MOST_TWINS * len(first)  # twins stay where they are
        self._points = Points.at(self.cost.place(people if kept else people[first], people))
        here = there = first if kept else torch.arange(len(first), device=rows.device)
        row_index = column_index = index
        if Y is not None:
            used, row_index = torch.unique(index[: len(rows)], return_inverse=True)
            here = here[used]
            used, column_index = torch.unique(index[len(rows) :], return_inverse=True)
            there = there[used]
        self._column_points = there
        super().__init__(here, row_index, column_index, scale)

    def _blocks(self, columns: Tensor, factor: float) -> Callable[[int, int], Tensor]:
        there = self._column_points[columns]
        return self.cost.blocks(self._points, self.row_points, there, factor)

    def pair_costs(self, rows: Tensor, columns: Tensor) -> Tensor | None:
        exact = self.cost.pairs(self._points.places, rows, self._column_points[columns])
        return None if exact is None else exact / self.scale_

    def tied(self, cost: Tensor) -> Tensor:
        if self.cost.order is None:
            return super().tied(cost)
        distance = self.cost.to_distance(cost * self.scale_)
        distance = distance * (1 + TIED) + self._points.tie(self.cost.order)
        return self.cost.of_distance(distance) / self.scale_

    @property
    def _threaded(self) -> bool:
        return super()._threaded and self.cost.threaded

    def _metric(self) -> Metric | None:
        if self.cost.order is None or self.device.type != "cpu":
            return None
        multiple = self.cost.multiple_of_square
        return Metric(
            places=self._points.places.numpy(),
            root=self.cost.order == 2 and multiple is None,
            squares=self.cost.order == 2,
            factor=(multiple or 1.0) / self.scale_,
            tie=(TIED, self._points.tie(self.cost.order)),
        )

    def _column_places(self, columns: Tensor) -> Tensor:
        return self._column_points[columns]

    def _max_cost(self) -> float:
        """Largest cost, leaving out pairs too near the centre to hold it (triangle inequality)."""
        order, points, centre = self.cost.order, self._points.places, self._points.centre
        if order is None:
            return super()._max_cost()
        radius = by_rows(points, lambda some: torch.linalg.vector_norm(some - centre, order, dim=1))
        r = radius[self.row_points].sort(descending=True)
        s = radius[self._column_points].sort(descending=True)
        rows, columns = self.row_points[r.indices], self._column_points[s.indices]
        best, start, step = 0.0, 0, 8
        while start < len(rows):
            reach = int(torch.searchsorted(-s.values, r.values[start] - best))
            if reach == 0:
                break
            X = points[rows[start : start + step]] - centre
            for some in torch.split(columns[:reach], max(1, min(ROWS, BLOCK_ENTRIES // step))):
                best = max(best, float(torch.cdist(X, points[some] - centre, order).amax()))
            start, step = start + step, min(8 * step, 512)
        return self.cost.of_distance(best)


def distinct_rows(X: Tensor) -> tuple[Tensor, Tensor]:
    """Return the first person of each distinct kind and, for each person, which kind they are."""
    kinds: dict[bytes, int] = {}
    # Rows are told apart by a hash of 16 bytes, as many wide rows would take too much memory.
    index = np.array(
        [
            kinds.setdefault(blake2b(row, digest_size=16).digest(), len(kinds))
            for part in torch.split(X, ROWS)
            for row in np.ascontiguousarray((part + 0.0).cpu().numpy())  # -0.0 becomes 0.0
        ]
    )
    _, first = np.unique(index, return_index=True)
    return torch.as_tensor(first, device=X.device), torch.as_tensor(index, device=X.device)
