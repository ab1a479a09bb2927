"""What it costs to move score from one person to another, streamed in blocks.

Maths: docs/derivation.md, sections 5 and 10. A geometry gives blocks of the cost matrix; passes
over its blocks give distances from people to *types* of people, which is all that solvers need.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Literal, TypeAlias

import numpy as np
import torch
from torch import Tensor

from otfair._io.arrays import Array, check_weight, to_index, to_tensor, to_vector
from otfair.geometry._distances import (
    BLOCK_ENTRIES,
    Costs,
    NearestDistances,
    SoftDistances,
    TypedColumns,
)

Scale: TypeAlias = Literal["max", "mean", "median"] | float | None
CostFunction: TypeAlias = Callable[[Tensor, Tensor], Tensor]

SAMPLED_PEOPLE = 4096  # a side for the median of more pairs than that squared
NEAR = 1e-8  # squared distances below this share of the largest are recomputed by subtraction


class Geometry(Costs):
    """Costs between the people whose scores move (rows) and those who receive score (columns).

    Use `PointCloud` or `CostMatrix`. Identical people are kept once, as one *point*.

    Attributes
    ----------
    shape : (rows, columns).
    scale_ : what the raw costs were divided by; multiply a cost by it to get back to raw units.
    """

    _last: SoftDistances | None = None  # kept, so that other scores of the same people cost no pass

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
        last = self._last
        if last is None or last.epsilon != epsilon or not last.columns.are(types, weight, count):
            last = SoftDistances.of(self, TypedColumns.of(self, types, weight, count), epsilon)
            self._last = last
        return last

    def nearest_distances(
        self, types: Array, sample_weight: Array = None, n_types: int | None = None
    ) -> NearestDistances:
        """Distance of each row to the nearest column person of each type, and who it is, (n, K)."""
        columns = TypedColumns.of(self, *self._typed(types, sample_weight, n_types))
        return NearestDistances.of(self, columns)

    def rows(self, index: Array) -> Geometry:
        """Return the geometry of some rows; soft distances at hand are looked up, not made anew.

        Parameters
        ----------
        index : (b,) which of the rows, in any order, or (n,) booleans.
        """
        view = copy.copy(self)
        chosen = to_index(index, self.shape[0], "index", self.device)
        points, view.row_index = torch.unique(self.row_index[chosen], return_inverse=True)
        view.row_points, view.shape = self.row_points[points], (len(chosen), self.shape[1])
        if self._last is not None:
            values = self._last.values.T[:, chosen].T
            view._last = replace(self._last, values=values, geometry=view)
        return view

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

    def cost_matrix(self) -> Tensor:
        """Return the scaled cost matrix between all rows and all columns, (n, m)."""
        whole = torch.cat([block for _, _, block in self.blocks()], 1).T
        return whole[self.row_index][:, self.column_index]

    def _find_scale(self, scale: Scale) -> float:
        if scale is None:
            return 1.0
        if isinstance(scale, str):
            known = {"max": self._max_cost, "mean": self._mean_cost, "median": self._median_cost}
            if scale not in known:
                raise ValueError(
                    f'unknown scale {scale!r}; pass "max", "mean", "median", a number or None.'
                )
            scale = known[scale]() or 1.0  # 0 when everybody is identical
        if not 0 < scale < torch.inf:
            raise ValueError(f"`scale` must be positive and finite; it is {scale!r}.")
        return float(scale)

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
        self._transposed = matrix.T.clone(memory_format=torch.contiguous_format)
        rows, columns = (torch.arange(size, device=matrix.device) for size in matrix.shape)
        super().__init__(rows, rows, columns)
        self.scale_ = self._find_scale(scale)

    def _blocks(self, columns: Tensor, factor: float) -> Callable[[int, int], Tensor]:
        C = self._transposed
        return lambda i, j: C[columns[:, None], self.row_points[i:j]].mul_(factor)


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
        Scale and covariance count everybody once, whatever their weight in the constraints.

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
        columns = rows if Y is None else to_tensor(Y, "Y", ndim=2, device=rows.device)
        if rows.shape[1] != columns.shape[1] or 0 in (*rows.shape, len(columns)):
            raise ValueError(
                "`X` and `Y` must have the same features and not be empty; received shapes "
                f"{tuple(rows.shape)} and {tuple(columns.shape)}."
            )
        people = rows if Y is None else torch.cat([rows, columns])
        self.cost = cost
        first, index = distinct_rows(people)
        self._points = points = _embed(people, people[first], cost)
        self._centred = points - points.mean(0)  # products of centred numbers cancel less
        self._norms = self._centred.square().sum(1)
        if self._centred.any() and not 1e-280 < float(self._norms.max()) < torch.inf:
            raise ValueError(
                "the squares of the features overflow or vanish; rescale them, or standardise."
            )
        here = there = torch.arange(len(points), device=rows.device)
        row_index = column_index = index
        if Y is not None:
            here, row_index = torch.unique(index[: len(rows)], return_inverse=True)
            there, column_index = torch.unique(index[len(rows) :], return_inverse=True)
        self._column_points = there
        super().__init__(here, row_index, column_index)
        self.scale_ = self._find_scale(scale)

    def _blocks(self, columns: Tensor, factor: float) -> Callable[[int, int], Tensor]:
        points, here, there = self._points, self.row_points, self._column_points[columns]
        if callable(self.cost) or self.cost == "cityblock":
            X, Y = points[here], points[there]
            if self.cost == "cityblock":
                return lambda i, j: torch.cdist(Y, X[i:j], p=1).mul_(factor)
            return lambda i, j: self._called_block(X[i:j], Y).T * factor
        # |y - x|^2 as one product: (y, 1, |y|^2) . (-2 x, |x|^2, 1), in units of the result.
        unit = {"sqeuclidean": factor, "cosine": factor / 2}.get(str(self.cost), factor**2)
        norms, one = self._norms[:, None], torch.ones_like(self._norms[:, None])
        left = torch.cat([self._centred, one, norms], 1).index_select(0, there)
        right = torch.cat([-2 * self._centred, norms, one], 1).mul_(unit)
        right = right if len(here) == len(right) else right[here]
        near = NEAR * unit * float(self._norms.max())
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
                if len(j) * points.shape[1] > BLOCK_ENTRIES:
                    mode = "donot_use_mm_for_euclid_dist"
                    exact = torch.cdist(points[there], points[here[start:stop]], compute_mode=mode)
                    squares = exact.square_().mul_(unit)
                else:
                    difference = points[there[j]] - points[here[start + i]]
                    squares[j, i] = difference.square().sum(1).mul_(unit)
            squares[same] = 0.0
            return squares if self.cost in ("sqeuclidean", "cosine") else squares.sqrt_()

        return block

    def _called_block(self, X: Tensor, Y: Tensor) -> Tensor:
        assert callable(self.cost)
        block = torch.as_tensor(self.cost(X, Y), dtype=torch.float64, device=self.device).detach()
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
        r = radius[self.row_points].sort(descending=True)
        s = radius[self._column_points].sort(descending=True)
        rows, columns = self.row_points[r.indices], self._column_points[s.indices]
        best, start, step = 0.0, 0, 8
        while start < len(rows):
            reach = int(torch.searchsorted(-s.values, r.values[start] - best))
            if reach == 0:
                break
            X = points[rows[start : start + step]]
            for some in torch.split(columns[:reach], max(1, BLOCK_ENTRIES // step)):
                best = max(best, float(torch.cdist(X, points[some], order).amax()))
            start, step = start + step, min(8 * step, 512)
        return {"sqeuclidean": best**2, "cosine": best**2 / 2}.get(str(self.cost), best)


def _embed(people: Tensor, points: Tensor, cost: str | CostFunction) -> Tensor:
    """Map points so that a named cost is a function of their Euclidean or city-block distance."""
    known = ("euclidean", "sqeuclidean", "cityblock", "cosine", "mahalanobis")
    if not callable(cost) and cost not in known:
        raise ValueError(f"unknown cost {cost!r}; pass one of {', '.join(known)}, or a function.")
    if cost == "cosine":
        largest = points.abs().amax(1, keepdim=True)
        if bool((largest == 0).any()):
            raise ValueError(
                "the cosine cost is undefined for people whose features are all zero. Add a "
                "constant feature or use another cost."
            )
        return torch.nn.functional.normalize(points / largest, dim=1)
    if cost == "mahalanobis":
        centre = people.mean(0)
        _, sizes, axes = torch.linalg.svd(people - centre, full_matrices=False)
        kept = sizes > sizes[0] * max(people.shape) * torch.finfo(torch.float64).eps
        stretch = axes[kept].T * math.sqrt(len(people) - 1) / sizes[kept]
        return torch.matmul(points - centre, stretch)
    return points


def distinct_rows(X: Tensor) -> tuple[Tensor, Tensor]:
    """Return the first person of each distinct kind and, for each person, which kind they are."""
    kinds: dict[bytes, int] = {}
    rows = np.ascontiguousarray((X + 0.0).cpu().numpy())  # + 0.0 turns -0.0 into 0.0
    keys = rows.view(f"V{rows[0].nbytes}").ravel().tolist()  # each row's bytes
    index = np.array([kinds.setdefault(key, len(kinds)) for key in keys])
    _, first = np.unique(index, return_index=True)
    return torch.as_tensor(first, device=X.device), torch.as_tensor(index, device=X.device)


def _spaced(n: int) -> np.ndarray:
    """Return at most SAMPLED_PEOPLE of n people, evenly spaced."""
    return np.linspace(0, n - 1, min(n, SAMPLED_PEOPLE)).round().astype(np.int64)
