"""What it costs to move score from one person to another, streamed in blocks.

Maths: docs/derivation.md, sections 5 and 10. A geometry gives blocks of the cost matrix; passes
over its blocks give distances from people to *types* of people, which is all that solvers need.
"""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Literal, TypeAlias

import numpy as np
import torch
from torch import Tensor

from otfair.arrays import Array, to_index, to_tensor
from otfair.constraints import check_weight
from otfair.distances import NearestDistances, SoftDistances, nearest_distances, soft_distances

Scale: TypeAlias = Literal["max", "mean", "median"] | float | None
CostFunction: TypeAlias = Callable[[Tensor, Tensor], Tensor]

BLOCK_ENTRIES = 2**20  # of the cost matrix held at once: 8 MiB
SAMPLED_PEOPLE = 4096  # a side for the median of more pairs than that squared
NEAR = 1e-8  # squared distances below this share of the largest are recomputed by subtraction


class Geometry(ABC):
    """Costs between the people whose scores move (rows) and those who receive score (columns).

    Use `PointCloud` or `CostMatrix`. Identical people are kept once, as one *point*.

    Attributes
    ----------
    shape : (rows, columns).
    scale_ : what the raw costs were divided by; multiply a cost by it to get back to raw units.
    """

    def __init__(self, row_index: Tensor, column_index: Tensor, scale: Scale):
        self.row_index = row_index  # (n,) row point of each person
        self.column_index = column_index  # (m,) column point of each person
        self.n_row_points = int(row_index.max()) + 1
        self.n_column_points = int(column_index.max()) + 1
        self.shape = (len(row_index), len(column_index))
        self.device = row_index.device
        self.scale_ = 1.0
        self.scale_ = self._find_scale(scale)
        self._last: tuple[tuple[float, int], Tensor, Tensor, SoftDistances] | None = None

    def soft_distances(
        self, types: Array, epsilon: float, sample_weight: Array = None, n_types: int | None = None
    ) -> SoftDistances:
        """Soft distance of each row to each type of columns, (n, K).

        D_ik = -epsilon log sum_{j of type k} w_j exp(-C_ij / epsilon). The last result is kept, so
        that solving again for other scores costs no pass.

        Parameters
        ----------
        types : (m,) type of each column person, from 0.
        epsilon : smoothing, in units of the scaled cost.
        sample_weight : (m,), one by default; people without weight are left out.
        n_types : K, by default the largest type plus one.
        """
        if not 0 < epsilon < torch.inf:
            raise ValueError(f"`epsilon` must be positive and finite; received {epsilon!r}.")
        types, weight, count = self._typed(types, sample_weight, n_types)
        if self._last is not None:
            key, last_types, last_weight, distances = self._last
            pairs = ((last_types, types), (last_weight, weight))
            if key == (epsilon, count) and all(a is b or torch.equal(a, b) for a, b in pairs):
                return distances
        distances = soft_distances(self, types, weight, count, epsilon)
        self._last = ((epsilon, count), types, weight, distances)
        return distances

    def nearest_distances(
        self, types: Array, sample_weight: Array = None, n_types: int | None = None
    ) -> NearestDistances:
        """Distance of each row to the nearest column person of each type, and who it is, (n, K)."""
        return nearest_distances(self, *self._typed(types, sample_weight, n_types))

    def rows(self, index: Array) -> Geometry:
        """Return the geometry of some rows; soft distances at hand are looked up, not made anew.

        Parameters
        ----------
        index : (b,) which of the rows, in any order, or (n,) booleans.
        """
        view = copy.copy(self)
        chosen = to_index(index, self.shape[0], "index", self.device)
        points, view.row_index = torch.unique(self.row_index[chosen], return_inverse=True)
        view.n_row_points, view.shape = len(points), (len(chosen), self.shape[1])
        view._keep_rows(points)
        if self._last is not None:
            key, types, weight, whole = self._last
            some = replace(whole, values=whole.values.T[:, chosen].T, geometry=view)
            view._last = (key, types, weight, some)
        return view

    @abstractmethod
    def _keep_rows(self, points: Tensor) -> None:
        """Keep some row points only, by their numbers."""

    def _typed(
        self, types: Array, sample_weight: Array, n_types: int | None
    ) -> tuple[Tensor, Tensor, int]:
        """Return copies, so that results that are kept do not change with the user's arrays."""
        given = to_tensor(types, "types", device=self.device)
        types = given.to(torch.long, copy=True)
        weight = check_weight(sample_weight, self.shape[1], self.device).clone()
        if types.shape != weight.shape:
            raise ValueError(
                f"`types` must have one entry a column person: {self.shape[1]}; received shape "
                f"{tuple(types.shape)}."
            )
        count = int(types.max()) + 1 if n_types is None else n_types
        if int(types.min()) < 0 or int(types.max()) >= count or not torch.equal(types, given):
            raise ValueError(
                f"`types` must be whole numbers from 0 to {max(count, 1) - 1}, below `n_types`."
            )
        return types, weight, count

    def blocks(
        self, columns: Tensor | None = None, factor: float = 1.0
    ) -> Iterator[tuple[int, int, Tensor]]:
        """Yield (start, stop, block): scaled costs times `factor` from some row points, (u, b).

        A block has one row a point of `columns` and one column a row point from `start` to `stop`;
        it is the caller's to overwrite.
        """
        if columns is None:
            columns = torch.arange(self.n_column_points, device=self.device)
        step = max(1, BLOCK_ENTRIES // max(1, len(columns)))
        raw = self._raw_blocks(columns)
        for start in range(0, self.n_row_points, step):
            stop = min(self.n_row_points, start + step)
            yield start, stop, raw(start, stop).mul_(factor / self.scale_)

    def cost_matrix(self) -> Tensor:
        """Return the scaled cost matrix between all rows and all columns, (n, m)."""
        whole = torch.cat([block for _, _, block in self.blocks()], 1).T
        return whole[self.row_index][:, self.column_index]

    @abstractmethod
    def _raw_blocks(self, columns: Tensor) -> Callable[[int, int], Tensor]:
        """Return a function that gives the unscaled block of the row points from start to stop."""

    def _find_scale(self, scale: Scale) -> float:
        if scale is None:
            return 1.0
        if isinstance(scale, str):
            known = {"max": self._max_cost, "mean": self._mean_cost, "median": self._median_cost}
            if scale not in known:
                raise ValueError(
                    f'unknown scale {scale!r}; pass "max", "mean", "median", a number or None.'
                )
            return known[scale]() or 1.0  # 0 when everybody is identical
        if not scale > 0 or not np.isfinite(scale):
            raise ValueError(f"`scale` must be positive and finite; received {scale!r}.")
        return float(scale)

    def _max_cost(self) -> float:
        return max(float(block.max()) for _, _, block in self.blocks())

    def _mean_cost(self) -> float:
        rows = torch.bincount(self.row_index).to(torch.float64)
        columns = torch.bincount(self.column_index).to(torch.float64)
        total = sum(float(columns @ b @ rows[i:j]) for i, j, b in self.blocks())
        return total / (self.shape[0] * self.shape[1])

    def _median_cost(self) -> float:
        rows, columns = (_spaced(index) for index in (self.row_index, self.column_index))
        raw = self._raw_blocks(columns)
        points, where = torch.unique(rows, return_inverse=True)
        sample = torch.cat([raw(i, i + 1) for i in points.tolist()], 1)[:, where]
        return float(np.median(sample.cpu().numpy()))


class CostMatrix(Geometry):
    """A cost matrix that is given.

    Parameters
    ----------
    C : (n, m) non-negative; C[i, j] is the cost of moving a unit of score from i to j.
    scale : divide by "max", "mean", "median", a number, or nothing (None).

    Examples
    --------
    >>> from otfair import CostMatrix
    >>> CostMatrix([[0, 2], [2, 0]], scale="max").cost_matrix()
    tensor([[0., 1.],
            [1., 0.]], dtype=torch.float64)
    """

    def __init__(self, C: Array, scale: Scale = None):
        matrix = to_tensor(C, "C", ndim=2)
        if min(matrix.shape) == 0:
            raise ValueError(f"`C` is empty: shape {tuple(matrix.shape)}.")
        if bool((matrix < 0).any()):
            raise ValueError(
                f"costs must not be negative; the smallest entry of `C` is "
                f"{float(matrix.min()):.3g}. Shift or square the costs."
            )
        self._transposed = matrix.T.contiguous()
        rows, columns = (torch.arange(size, device=matrix.device) for size in matrix.shape)
        super().__init__(rows, columns, scale)

    def _raw_blocks(self, columns: Tensor) -> Callable[[int, int], Tensor]:
        return lambda start, stop: self._transposed[columns, start:stop]

    def _keep_rows(self, points: Tensor) -> None:
        self._transposed = self._transposed[:, points]


class PointCloud(Geometry):
    """Costs between people's features, computed when needed and never stored as a whole.

    Parameters
    ----------
    X : (n, p) features of the people whose scores move.
    Y : (m, p) features of those who receive score; the same people by default.
    cost : "euclidean", "sqeuclidean", "cityblock", "cosine", "mahalanobis" (by the covariance of
        all these people), or a function of two blocks of people, (a, p) and (b, p), giving (a, b).
    scale : divide costs by the "max", "mean" or "median" over all pairs, by a number, or by
        nothing (None). The median of more than 4096 people is that of 4096 evenly spaced ones.

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

    def __init__(
        self,
        X: Array,
        Y: Array = None,
        cost: str | CostFunction = "euclidean",
        scale: Scale = "max",
    ):
        rows = to_tensor(X, "X", ndim=2)
        people = rows
        if Y is not None:
            columns = to_tensor(Y, "Y", ndim=2, device=rows.device)
            if rows.shape[1] != columns.shape[1]:
                raise ValueError(
                    f"`X` and `Y` must have the same features; received {rows.shape[1]} and "
                    f"{columns.shape[1]} columns."
                )
            people = torch.cat([rows, columns])
        if min(*people.shape, len(rows), len(people) - len(rows) if Y is not None else 1) == 0:
            raise ValueError(f"`X` or `Y` is empty; `X` has shape {tuple(rows.shape)}.")
        self.cost = cost
        first, index = distinct_rows(people)
        self._points = points = _embed(people, people[first], cost)
        self._centred = points - points.mean(0)  # products of centred numbers cancel less
        self._norms = self._centred.square().sum(1)
        if not bool(self._norms.isfinite().all()):
            raise ValueError("the squares of the features overflow; rescale them, or standardise.")
        self._row_points = self._column_points = torch.arange(len(points), device=rows.device)
        row_index = column_index = index
        if Y is not None:
            n = len(rows)
            self._row_points, row_index = torch.unique(index[:n], return_inverse=True)
            self._column_points, column_index = torch.unique(index[n:], return_inverse=True)
        super().__init__(row_index, column_index, scale)

    def _raw_blocks(self, columns: Tensor) -> Callable[[int, int], Tensor]:
        here, there = self._row_points, self._column_points[columns]
        if callable(self.cost) or self.cost == "cityblock":
            X, Y = self._points[here], self._points[there]
            if self.cost == "cityblock":
                return lambda start, stop: torch.cdist(Y, X[start:stop], p=1)
            return lambda start, stop: self._called_block(X[start:stop], Y).T.clone()
        # |y - x|^2 as one product: (-2 y, 1, |y|^2) . (x, |x|^2, 1).
        norms, one = self._norms[:, None], torch.ones_like(self._norms[:, None])
        left = torch.cat([-2 * self._centred, one, norms], 1)[there]
        right = torch.cat([self._centred, norms, one], 1)
        right = right if len(here) == len(right) else right[here]
        near = NEAR * float(self._norms.max())
        twin = torch.searchsorted(here, there).clamp_max_(len(here) - 1)  # (u,) row point, if any
        twins = torch.nonzero(here[twin] == there).squeeze(1)
        twins = twins[torch.argsort(twin[twins])]
        twin_rows = twin[twins]

        def block(start: int, stop: int) -> Tensor:
            squares = left @ right[start:stop].T  # (u, b)
            lo, hi = torch.searchsorted(twin_rows, torch.tensor([start, stop], device=self.device))
            same = (twins[lo:hi], twin_rows[lo:hi] - start)
            squares[same] = torch.inf
            if float(squares.amin()) <= near:  # cancellation: take these from the difference
                j, i = torch.nonzero(squares <= near, as_tuple=True)
                if len(j) * self._points.shape[1] > BLOCK_ENTRIES:
                    X, Y = self._points[here[start:stop]], self._points[there]
                    mode = "donot_use_mm_for_euclid_dist"
                    squares = torch.cdist(Y, X, compute_mode=mode).square_()
                else:
                    difference = self._points[there[j]] - self._points[here[start + i]]
                    squares[j, i] = difference.square().sum(1)
            squares[same] = 0.0
            if self.cost == "sqeuclidean":
                return squares
            return squares.div_(2) if self.cost == "cosine" else squares.sqrt_()

        return block

    def _keep_rows(self, points: Tensor) -> None:
        self._row_points = self._row_points[points]

    def _called_block(self, X: Tensor, Y: Tensor) -> Tensor:
        assert callable(self.cost)
        block = torch.as_tensor(self.cost(X, Y), dtype=torch.float64, device=self.device)
        if block.shape != (len(X), len(Y)):
            raise ValueError(
                f"`cost` must return one row a person of its first argument and one column a "
                f"person of its second, {(len(X), len(Y))}; it returned {tuple(block.shape)}."
            )
        if not bool(torch.isfinite(block).all()) or bool((block < 0).any()):
            raise ValueError("`cost` returned negative, NaN or infinite costs; they must be >= 0.")
        return block

    def _max_cost(self) -> float:
        """Largest cost, leaving out pairs too near the centre to hold it (triangle inequality)."""
        if callable(self.cost):
            return super()._max_cost()
        order = 1 if self.cost == "cityblock" else 2
        points = self._centred
        radius = torch.linalg.vector_norm(points, order, dim=1)
        r = radius[self._row_points].sort(descending=True)
        s = radius[self._column_points].sort(descending=True)
        rows, columns = self._row_points[r.indices], self._column_points[s.indices]
        best, start, step = 0.0, 0, 32
        while start < len(rows):
            reach = int(torch.searchsorted(-s.values, r.values[start] - best))
            if reach == 0:
                break
            X = points[rows[start : start + step]]
            for some in torch.split(columns[:reach], max(1, BLOCK_ENTRIES // step)):
                best = max(best, float(torch.cdist(X, points[some], order).amax()))
            start, step = start + step, min(4 * step, 512)
        return {"sqeuclidean": best**2, "cosine": best**2 / 2}.get(str(self.cost), best)


def _embed(people: Tensor, points: Tensor, cost: str | CostFunction) -> Tensor:
    """Map points so that a named cost is a function of their Euclidean or city-block distance."""
    known = ("euclidean", "sqeuclidean", "cityblock", "cosine", "mahalanobis")
    if not callable(cost) and cost not in known:
        raise ValueError(f"unknown cost {cost!r}; pass one of {', '.join(known)}, or a function.")
    if cost == "cosine":
        norms = torch.linalg.vector_norm(points, dim=1, keepdim=True)
        if bool((norms == 0).any()):
            raise ValueError(
                "the cosine cost is undefined for people whose features are all zero. Add a "
                "constant feature or use another cost."
            )
        return points.div(norms)
    if cost == "mahalanobis":
        centre = people.mean(0)
        _, sizes, axes = torch.linalg.svd(people - centre, full_matrices=False)
        kept = sizes > sizes[0] * max(people.shape) * torch.finfo(torch.float64).eps
        stretch = axes[kept].T * math.sqrt(len(people) - 1) / sizes[kept]
        return torch.matmul(points - centre, stretch)
    return points


def distinct_rows(X: Tensor) -> tuple[Tensor, Tensor]:
    """Return the first person of each distinct kind and, for each person, which kind they are."""
    rows = np.ascontiguousarray(X.cpu().numpy() + 0.0)  # + 0.0 turns -0.0 into 0.0
    whole = rows.view(f"V{rows.strides[0]}").ravel()  # a row's bytes as one value, sorted as such
    _, first, index = np.unique(whole, return_index=True, return_inverse=True)
    if len(first) == len(X):
        first = index = np.arange(len(X))
    return torch.as_tensor(first, device=X.device), torch.as_tensor(index, device=X.device)


def _spaced(index: Tensor) -> Tensor:
    """Return at most SAMPLED_PEOPLE entries of an index, evenly spaced."""
    count = min(len(index), SAMPLED_PEOPLE)
    return index[torch.linspace(0, len(index) - 1, count, dtype=torch.float64).round().long()]
