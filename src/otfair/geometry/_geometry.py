"""What it costs to move score from one person to another, streamed in blocks.

Maths: docs/derivation.md, sections 5 and 10. A geometry gives blocks of the cost matrix; passes
over its blocks give distances from people to *types* of people, which is all that solvers need.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Literal, TypeAlias

import numpy as np
import torch
from torch import Tensor

from otfair._io.arrays import Array, check_weight, to_index, to_vector
from otfair._io.settings import check_epsilon, check_real, check_scale
from otfair.geometry._boxes import Boxes, Metric, boxes_of
from otfair.geometry._distances import NearestDistances, SoftDistances, TypedColumns
from otfair.geometry.costs._cost import BLOCK_ENTRIES

Scale: TypeAlias = Literal["max", "mean", "median"] | float | None

SAMPLED_PEOPLE = 4096  # of the rows and of the columns, for the median where there are more


class Geometry(ABC):
    """Costs between the people whose scores move (rows) and those who receive score (columns).

    Use `PointCloud` or `CostMatrix`. Identical people are kept once, as one *point*.

    Attributes
    ----------
    shape : tuple of int
        Numbers of rows and of columns.
    scale_ : float
        What the raw costs were divided by; multiply a cost by it to get back to raw units.

    Notes
    -----
    The last soft distances are cached, so that other scores of the same people cost no pass, and
    `rows` takes them along. What is handed out of them is a copy.
    """

    def __init__(
        self, row_points: Tensor, row_index: Tensor, column_index: Tensor, scale: Scale
    ) -> None:
        self.row_points = row_points  # (r,) numbers of the row points that are in use
        self.row_index = row_index  # (n,) which of them each person is at
        self.column_index = column_index  # (m,) column point of each person
        self.n_column_points = int(column_index.max()) + 1
        self.shape = (len(row_index), len(column_index))
        self.device = row_index.device
        self._cached_soft: SoftDistances | None = None
        self.scale_ = 1.0
        self.scale_ = self._find_scale(scale)

    @abstractmethod
    def _blocks(self, columns: Tensor, factor: float) -> Callable[[int, int], Tensor]:
        """Return a function that gives unscaled costs times `factor`, row points start to stop."""

    def _metric(self) -> Metric | None:
        """Return what costs increase with, where boxes of people have bounds on them."""
        return None

    def _column_places(self, columns: Tensor) -> Tensor:
        """Return where column points are, as numbers of the metric's places."""
        return columns

    def near(self, columns: TypedColumns, epsilon: float) -> Boxes | None:
        """Return some places in boxes, where that is sooner than all pairs.

        Parameters
        ----------
        columns : TypedColumns
            The places.
        epsilon : float
            Smoothing of the distances that are asked for; 0 for nearest ones.

        Returns
        -------
        Boxes or None
            None where blocks of all pairs are as good.
        """
        return boxes_of(
            self._metric(), self.row_points.numpy(), self._column_places(columns.points).numpy(),
            columns.types.numpy(), columns.weight.numpy(), columns.n_types, epsilon,
        )  # fmt: skip

    def blocks(
        self, columns: Tensor | None = None, factor: float = 1.0
    ) -> Iterator[tuple[int, int, Tensor]]:
        """Go through scaled costs in blocks of row points.

        Parameters
        ----------
        columns : Tensor of shape (u,), optional
            Column points; all by default.
        factor : float, default=1.0
            What the costs are multiplied by.

        Yields
        ------
        tuple of int, int, Tensor
            Start and stop among the row points, and their costs, (u, stop - start), which are the
            caller's to overwrite.
        """
        if columns is None:
            columns = torch.arange(self.n_column_points, device=self.device)
        if not len(self.row_points):  # a share may be empty
            return
        step = max(1, BLOCK_ENTRIES // max(1, len(columns)))
        block = self._blocks(columns, factor / self.scale_)
        for start in range(0, len(self.row_points), step):
            stop = min(len(self.row_points), start + step)
            yield start, stop, block(start, stop)

    def soft_distances(
        self, types: Array, epsilon: float, sample_weight: Array = None, n_types: int | None = None
    ) -> SoftDistances:
        """Soft distance of each row to each type of columns, (n, K).

        D_ik = -epsilon log sum_{j of type k} w_j exp(-C_ij / epsilon).

        Parameters
        ----------
        types : array of shape (m,)
            Type of each column person, from 0.
        epsilon : float
            Smoothing, in units of the scaled cost.
        sample_weight : array of shape (m,), default=None
            One by default; people without weight are left out.
        n_types : int, default=None
            K, by default the largest type plus one.

        Returns
        -------
        SoftDistances
            The distances (`values`), and what follows from them.
        """
        epsilon = check_epsilon(epsilon)
        types, weight, count = self._typed(types, sample_weight, n_types)
        soft = self._cached_soft
        if soft is None or soft.epsilon != epsilon or not soft.columns.are(types, weight, count):
            soft = SoftDistances.of(self, TypedColumns.of(self, types, weight, count), epsilon)
            self._cached_soft = soft
        return soft

    def nearest_distances(
        self, types: Array, sample_weight: Array = None, n_types: int | None = None
    ) -> NearestDistances:
        """Distance of each row to the nearest column person of each type, and who it is, (n, K).

        Parameters
        ----------
        types, sample_weight : array of shape (m,)
            As for `soft_distances`; weights are one by default.
        n_types : int, default=None
            K, by default the largest type plus one.

        Returns
        -------
        NearestDistances
            The distances (`values`) and the people (`person`).
        """
        columns = TypedColumns.of(self, *self._typed(types, sample_weight, n_types))
        return NearestDistances.of(self, columns)

    def merged(self, union: Tensor, n_types: int) -> Geometry:
        """Return the same costs, with soft distances to unions of the types last asked for.

        Parameters
        ----------
        union : Tensor of shape (K,)
            For each type, which union it belongs to, from 0.
        n_types : int
            How many unions there are.

        Returns
        -------
        Geometry
            It knows these distances, so that they cost no pass.
        """
        if self._cached_soft is None:
            raise ValueError("no soft distances are known yet; call `soft_distances` first.")
        view = copy.copy(self)
        view._cached_soft = replace(self._cached_soft.merged(union, n_types), geometry=view)
        return view

    def rows(self, index: Array) -> Geometry:
        """Choose some rows; cached soft distances are looked up, not made anew.

        Parameters
        ----------
        index : array of shape (b,), or (n,) of bool
            Which of the rows, in any order.

        Returns
        -------
        Geometry
            From these rows to the same columns.
        """
        return self.share(to_index(index, self.shape[0], "index", self.device))

    def share(self, chosen: Tensor) -> Geometry:
        """Choose the rows that one of several processes holds, of which there may be none.

        Parameters
        ----------
        chosen : Tensor of shape (b,)
            Indices of the rows.

        Returns
        -------
        Geometry
            From these rows to the same columns, as by `rows`.
        """
        view, chosen = copy.copy(self), chosen.to(self.device)
        points, view.row_index = torch.unique(self.row_index[chosen], return_inverse=True)
        view.row_points, view.shape = self.row_points[points], (len(chosen), self.shape[1])
        if self._cached_soft is not None:
            by_type = self._cached_soft.by_type[:, chosen]
            view._cached_soft = replace(self._cached_soft, by_type=by_type, geometry=view)
        return view

    def take(self, index: Array) -> Geometry:
        """Choose some people, where rows and columns are the same people.

        Parameters
        ----------
        index : array of shape (b,), or (n,) of bool
            Which of the people, in any order.

        Returns
        -------
        Geometry
            From these people to each other, divided by the same `scale_`.
        """
        if self.shape[0] != self.shape[1]:
            raise ValueError(
                f"rows and columns must be the same people; there are {self.shape[0]} and "
                f"{self.shape[1]} of them. Choose rows alone with `rows`."
            )
        view = copy.copy(self)
        view._cached_soft = None
        view = view.rows(index)
        chosen = to_index(index, self.shape[0], "index", self.device)
        view.column_index = self.column_index[chosen]
        view.shape = (len(chosen), len(chosen))
        return view

    def cost_matrix(self) -> Tensor:
        """Return the scaled cost matrix between all rows and all columns.

        Returns
        -------
        Tensor of shape (n, m)
            Costs, divided by `scale_`.
        """
        whole = torch.cat([block for _, _, block in self.blocks()], 1).T
        return whole[self.row_index][:, self.column_index]

    def _typed(
        self, types: Array, sample_weight: Array, n_types: int | None
    ) -> tuple[Tensor, Tensor, int]:
        """Return copies, so that results that are kept do not change with the user's arrays."""
        given = to_vector(types, "types", self.shape[1], "column person", self.device)
        types = given.to(torch.long, copy=True)
        weight = check_weight(sample_weight, self.shape[1], self.device)
        count = int(types.max()) + 1 if n_types is None else n_types
        if int(types.min()) < 0 or int(types.max()) >= count or not torch.equal(types, given):
            raise ValueError(
                f"`types` must be whole numbers from 0 to {max(count, 1) - 1}, below `n_types`."
            )
        return types, weight, count

    def _find_scale(self, scale: Scale) -> float:
        if scale is None:
            return 1.0
        if isinstance(scale, str):
            known = {"max": self._max_cost, "mean": self._mean_cost, "median": self._median_cost}
            if scale not in known:
                raise ValueError(
                    f'unknown scale {scale!r}; pass "max", "mean", "median", a number or None.'
                )
            scale = known[scale]() or 1.0  # 0 when all people are identical
            return check_real("scale", scale, 0, torch.inf, "()")
        return check_scale(scale)

    def _max_cost(self) -> float:
        return max(float(block.max()) for _, _, block in self.blocks())

    def _mean_cost(self) -> float:
        rows = torch.bincount(self.row_index).to(torch.float64)
        columns = torch.bincount(self.column_index).to(torch.float64)
        total = sum(float(columns @ b @ rows[i:j]) for i, j, b in self.blocks())
        return total / (self.shape[0] * self.shape[1])

    def _median_cost(self) -> float:
        some, columns = self.rows(_spaced(self.shape[0])), _spaced(self.shape[1])
        sample = torch.cat([b for _, _, b in some.blocks(self.column_index[columns])], 1)
        return float(np.median(sample[:, some.row_index].cpu().numpy()))


def _spaced(n: int) -> np.ndarray:
    """Return at most SAMPLED_PEOPLE of n people, evenly spaced."""
    return np.linspace(0, n - 1, min(n, SAMPLED_PEOPLE)).round().astype(np.int64)
