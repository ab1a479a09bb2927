"""What it costs to move score from one person to another, streamed in blocks.

Maths: docs/derivation.md, sections 5 and 10. A geometry gives blocks of the cost matrix; passes
over its blocks give distances from people to *types* of people, which is all that solvers need.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, TypeVar

import numpy as np
import torch
from torch import Tensor

from otfair._io.arrays import Array, check_weight, to_index, to_vector
from otfair._io.settings import check_epsilon, check_real, check_scale
from otfair._io.threads import one_thread, shared
from otfair.geometry._boxes import Boxes, Metric, boxes_of
from otfair.geometry._distances import TIED, NearestDistances, SoftDistances, TypedColumns
from otfair.geometry._receivers import Receivers
from otfair.geometry.costs._cost import BLOCK_ENTRIES

Scale: TypeAlias = Literal["max", "mean", "median"] | float | None

Result = TypeVar("Result")

# There are as many blocks as threads can share, unless they would be small.
LEAST_BLOCKS, LEAST_ENTRIES = 4, 2**16
TRIED_ROWS = 512  # by which it is estimated how long a pass takes
SAMPLED_PEOPLE = 4096  # of the rows and of the columns, for the median where there are more


@dataclass
class Recent:
    """The columns that were last asked for, and their boxes: the same for other rows."""

    columns: TypedColumns | None = None
    boxes: Boxes | None = None


class Geometry(ABC):
    """Costs between the people whose scores move (rows) and those who receive score (columns).

    Use `PointCloud` or `CostMatrix`. Identical people are kept once, as one *point*.

    Attributes
    ----------
    shape : tuple of int
        Numbers of rows and of columns.
    scale_ : float
        What the raw costs were divided by; multiply a cost by it to get back to raw units.
    verbose : bool
        Whether long passes show how far they are; False, to be set.

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
        self._recent = Recent()
        self._receivers: Receivers | None = None  # a sample; None for all
        self.verbose = False
        self.scale_ = 1.0
        self.scale_ = self._find_scale(scale)

    @abstractmethod
    def _blocks(self, columns: Tensor, factor: float) -> Callable[[int, int], Tensor]:
        """Return a function that gives unscaled costs times `factor`, row points start to stop."""

    def pair_costs(self, rows: Tensor, columns: Tensor) -> Tensor | None:
        """Return scaled costs of single pairs without the rounding of blocks, if they have more.

        Parameters
        ----------
        rows, columns : Tensor of shape (a,)
            Row points and column points.

        Returns
        -------
        Tensor of shape (a,) or None
            None where costs are as blocks have them.
        """
        return None

    def tied(self, cost: Tensor) -> Tensor:
        """Return the largest costs that are equal to some but for rounding.

        Parameters
        ----------
        cost : Tensor
            Scaled costs.

        Returns
        -------
        Tensor
            Of the same shape.
        """
        return cost * (1 + TIED)

    @property
    def _threaded(self) -> bool:
        """Whether blocks may be made in several threads at once."""
        return self.device.type == "cpu"

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
        boxes = self._boxes(columns)
        return boxes if boxes is not None and boxes.pay(self.row_points.numpy(), epsilon) else None

    def comparisons(
        self, types: Array, epsilon: float, sample_weight: Array = None, n_types: int | None = None
    ) -> float:
        """Return how many comparisons of two people a pass takes, about.

        Where boxes of near people spare the most of them, it is estimated by a few hundred rows,
        and a person and a box count as two people. It does not depend on the machine.

        Parameters
        ----------
        types : array of shape (m,)
            As for `soft_distances`.
        epsilon : float
            Smoothing of the distances; 0 for nearest ones.
        sample_weight : array of shape (m,), default=None
            As for `soft_distances`.
        n_types : int, default=None
            As for `soft_distances`.

        Returns
        -------
        float
            At most as many as there are pairs of distinct people.
        """
        columns = self._columns(*self._typed(types, sample_weight, n_types))
        rows, boxes = self.row_points.numpy(), self._boxes(columns)
        if boxes is None or not boxes.pay(rows, epsilon):
            return float(len(rows) * len(columns.points))
        return len(rows) * boxes.visits(rows, epsilon, TRIED_ROWS)

    def _columns(self, types: Tensor, weight: Tensor, n_types: int) -> TypedColumns:
        recent = self._recent
        if recent.columns is None or not recent.columns.are(types, weight, n_types):
            recent.boxes = None
            recent.columns = TypedColumns.of(self, types, weight, n_types)
        return recent.columns

    def _boxes(self, columns: TypedColumns) -> Boxes | None:
        """Return some places in boxes, where all pairs would take long."""
        recent = self._recent
        known = recent.boxes if columns is recent.columns else None
        if known is None:
            known = boxes_of(
                self._metric(), self.row_points.numpy(),
                self._column_places(columns.points).numpy(), columns.types.numpy(),
                columns.weight.numpy(), columns.n_types, columns.person.numpy(),
            )  # fmt: skip
            if columns is recent.columns:
                recent.boxes = known
        return known

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

        Returns
        -------
        iterator of tuple of int, int, Tensor
            Start and stop among the row points, and their costs, (u, stop - start), which are the
            caller's to overwrite.
        """
        return self.each_block(lambda *block: block, columns, factor)

    def each_block(
        self,
        work: Callable[[int, int, Tensor], Result],
        columns: Tensor | None = None,
        factor: float = 1.0,
    ) -> Iterator[Result]:
        """Do work on blocks of scaled costs, some at a time.

        Parameters
        ----------
        work : callable
            What is done with a start, a stop and the costs between, as `blocks` has them, in one
            of several threads.
        columns : Tensor of shape (u,), optional
            Column points; all by default.
        factor : float, default=1.0
            What the costs are multiplied by.

        Returns
        -------
        iterator
            What the work returned, block by block.
        """
        if columns is None:
            columns = torch.arange(self.n_column_points, device=self.device)
        n, u = len(self.row_points), max(1, len(columns))
        if not n:  # a share may be empty
            return iter(())
        step = max(1, min(BLOCK_ENTRIES // u, max(LEAST_ENTRIES // u, -(-n // LEAST_BLOCKS))))
        block = self._blocks(columns, factor / self.scale_)
        ends = [(start, min(n, start + step)) for start in range(0, n, step)]

        def on(piece: tuple[int, int]) -> Result:
            return work(*piece, block(*piece))

        return shared(on, ends) if self._threaded else map(on, ends)

    @one_thread()
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
        some, soft = self._receivers, self._cached_soft
        drawn = weight if some is None else some.weigh(types, weight, count)
        if soft is None or soft.epsilon != epsilon or not soft.columns.are(types, drawn, count):
            soft = SoftDistances.of(self, self._columns(types, drawn, count), epsilon)
            if some is not None:
                by_type = some.with_own(soft.by_type, types, weight, drawn, epsilon)
                soft = replace(soft, by_type=by_type, sampled=True)
            self._cached_soft = soft
        return soft

    @one_thread()
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
        if self._receivers is not None:
            raise ValueError(
                "only a sample of the people receives score, by whom soft distances are estimated "
                "and nearest people are not known; ask the geometry of all people."
            )
        columns = self._columns(*self._typed(types, sample_weight, n_types))
        return NearestDistances.of(self, columns)

    def with_receivers(self, index: Array) -> Geometry:
        """Let a sample of people receive score, next to each person themselves.

        Where rows and columns are the same people, soft distances to their types are then
        estimated: those who were drawn stand for all of their type, and people of a type of which
        nobody was drawn receive all. Costs and gradients can be had of them; who gets what can't.

        Parameters
        ----------
        index : array of shape (b,), (n,) of bool, or None
            Who was drawn; None for all people.

        Returns
        -------
        Geometry
            The same people, with these receivers.
        """
        view = copy.copy(self)
        view._cached_soft, view._recent, view._receivers = None, Recent(), None
        if index is None:
            return view
        self._refuse_others()
        chosen = to_index(index, self.shape[0], "index", self.device)
        drawn = torch.zeros(self.shape[0], dtype=torch.bool, device=self.device)
        drawn[chosen] = True
        view._receivers = Receivers(drawn, torch.arange(self.shape[0], device=self.device))
        return view

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
        if self._receivers is not None:
            view._receivers = self._receivers.rows(chosen)
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
        self._refuse_others()
        view = copy.copy(self)
        view._cached_soft = None
        view = view.rows(index)
        chosen = to_index(index, self.shape[0], "index", self.device)
        if self._receivers is not None:
            view._receivers = self._receivers.take(chosen)
        view._recent = Recent()
        view.column_index = self.column_index[chosen]
        view.shape = (len(chosen), len(chosen))
        return view

    @property
    def n_receivers(self) -> int:
        """How many of the column people receive score: all, or those of `with_receivers`."""
        return self.shape[1] if self._receivers is None else int(self._receivers.drawn.sum())

    def _refuse_others(self) -> None:
        if self.shape[0] != self.shape[1]:
            raise ValueError(
                f"rows and columns must be the same people; there are {self.shape[0]} and "
                f"{self.shape[1]} of them. Choose rows alone with `rows`."
            )

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
        return max(self.each_block(lambda _start, _stop, block: float(block.max())))

    def _mean_cost(self) -> float:
        rows = torch.bincount(self.row_index).to(torch.float64)
        columns = torch.bincount(self.column_index).to(torch.float64)
        total = self.each_block(lambda i, j, block: float(columns @ block @ rows[i:j]))
        return sum(total) / (self.shape[0] * self.shape[1])

    def _median_cost(self) -> float:
        some, columns = self.rows(_spaced(self.shape[0])), _spaced(self.shape[1])
        sample = torch.cat([b for _, _, b in some.blocks(self.column_index[columns])], 1)
        return float(np.median(sample[:, some.row_index].cpu().numpy()))


def _spaced(n: int) -> np.ndarray:
    """Return at most SAMPLED_PEOPLE of n people, evenly spaced."""
    return np.linspace(0, n - 1, min(n, SAMPLED_PEOPLE)).round().astype(np.int64)
