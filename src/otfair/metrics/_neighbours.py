"""How differently people are scored who are alike but of different groups.

Maths: docs/metrics.md. Distances are streamed in blocks, from people to the distinct points at
which others are; of each pair only the sums over people at a point are held.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from otfair._io.arrays import Array, check_weight, same_length
from otfair.geometry import Geometry, PointCloud
from otfair.metrics._differences import only_groups
from otfair.metrics._violations import read_scores
from otfair.notions import Attribute, refuse_single
from otfair.tables import (
    Columns,
    TableEncoder,
    binary_labels,
    known_labels,
    same_people,
    take_rows,
)

TIED = 1e-6  # relative difference up to which two distances are equal


@dataclass(frozen=True)
class Crowd:
    """People who are compared, or whom others are compared with."""

    scores: np.ndarray  # h (n,)
    groups: np.ndarray  # (n,) codes
    strata: np.ndarray  # (n,) codes: who is compared with whom, as labels say; -1 for nobody
    weight: np.ndarray  # w (n,)

    def take(self, rows: np.ndarray) -> Crowd:
        """Return some of them."""
        parts = (self.scores, self.groups, self.strata, self.weight)
        return Crowd(*(part[rows] for part in parts))


@dataclass(frozen=True)
class Gaps:
    """How each person's score differs from those of their neighbours of another group.

    Arrays of shape (n,); NaN for people who have no such neighbour.
    """

    absolute: np.ndarray  # mean of |h_i - h_j| over the neighbours j
    signed: np.ndarray  # mean of h_i - h_j
    distance: np.ndarray  # mean of the costs, in units of the geometry


def neighbour_gap(
    scores: Array,
    X: Array | Geometry,
    sensitive_features: Array,
    *,
    labels: Array = None,
    n_neighbors: int = 5,
    sample_weight: Array = None,
    categorical: Columns = (),
) -> float:
    """How differently people are scored who are alike but of different groups.

    The mean, over people, of the absolute difference between their score and those of the people
    nearest to them by their features among all of another group. Of several sensitive columns the
    largest mean counts. It is not zero for a perfectly fair model, unless that scores people who
    are alike alike: compare it between models, or with that of an unfair one.

    Parameters
    ----------
    scores : array-like of shape (n,)
        Scores, such as probabilities.
    X : table or array-like of shape (n, p), or Geometry
        Features that say who is like whom, encoded by `TableEncoder` and compared by their
        Euclidean distance; or a `Geometry` of these people, such as ``PointCloud(X, cost=...)``.
    sensitive_features : array-like or table
        One or many columns of groups, as for `demographic_parity_difference`. People who lack a
        value are left out.
    labels : array-like of shape (n,), default=None
        With labels, neighbours are people of the same label, as for equalized odds. People without
        one are left out.
    n_neighbors : int, default=5
        How many neighbours. People who are equally far share the last places.
    sample_weight : array-like of shape (n,), default=None
        One by default. A person of weight w counts as w copies, among neighbours, too.
    categorical : str, int or sequence of them, default=()
        Columns of numbers that are codes of groups.

    Returns
    -------
    float
        The mean difference, in units of the scores.

    Examples
    --------
    Each has a neighbour of the other group at no distance, whose score is 0.2 away, or 0.

    >>> from otfair import neighbour_gap
    >>> X, groups = [[0.0], [0.0], [9.0], [9.0]], ["a", "b", "a", "b"]
    >>> round(neighbour_gap([0.9, 0.7, 0.3, 0.3], X, groups, n_neighbors=1), 6)
    0.1
    """
    table = neighbour_gap_by_group(
        scores,
        X,
        sensitive_features,
        labels=labels,
        n_neighbors=n_neighbors,
        sample_weight=sample_weight,
        categorical=categorical,
    )
    means = [
        float(np.average(rows["gap"], weights=rows["weight"]))
        for _, rows in table.dropna().groupby("attribute", sort=False)
    ]
    if not means:
        raise ValueError(
            "nobody has a neighbour of another group: in each label there is one group only. "
            "Leave `labels` out, or pass people of several groups with the same label."
        )
    return max(means)


def neighbour_gap_by_group(
    scores: Array,
    X: Array | Geometry,
    sensitive_features: Array,
    *,
    labels: Array = None,
    n_neighbors: int = 5,
    sample_weight: Array = None,
    categorical: Columns = (),
) -> pd.DataFrame:
    """Compare people of each group with those who are alike but of another: see `neighbour_gap`.

    Parameters
    ----------
    scores, X, sensitive_features, labels : array-like or table
        As for `neighbour_gap`.
    n_neighbors : int, default=5
        As for `neighbour_gap`.
    sample_weight : array-like of shape (n,), default=None
        As for `neighbour_gap`.
    categorical : str, int or sequence of them, default=()
        As for `neighbour_gap`.

    Returns
    -------
    DataFrame
        One row for each group of each sensitive column, with columns `attribute`, `group`,
        `weight` (of the people who have neighbours), `gap` (mean absolute difference to them),
        `more` (mean difference: positive where the group has the higher scores among people who
        are alike) and `distance` (mean cost of a neighbour, as a share of the largest between two
        people); NaN where nobody has one.

    Examples
    --------
    >>> from otfair import neighbour_gap_by_group
    >>> X, groups = [[0.0], [0.0], [9.0], [9.0]], ["a", "b", "a", "b"]
    >>> found = neighbour_gap_by_group([0.9, 0.7, 0.3, 0.3], X, groups, n_neighbors=1)
    >>> found[["group", "gap", "more"]].round(6)
         group  gap  more
    0  group=a  0.1   0.1
    1  group=b  0.1  -0.1
    """
    if isinstance(n_neighbors, bool) or not isinstance(n_neighbors, (int, np.integer)):
        raise TypeError(f"`n_neighbors` must be a whole number; received {n_neighbors!r}.")
    if n_neighbors < 1:
        raise ValueError(f"`n_neighbors` must be at least 1; received {n_neighbors!r}.")
    given = {"scores": scores, "sensitive_features": sensitive_features, "labels": labels}
    same_people({**given, "X": X, "sample_weight": sample_weight})
    attributes, known = only_groups(
        sensitive_features, categorical, "neighbours are people of another group"
    )
    n = len(known)
    h, weight = read_scores(scores, n), check_weight(sample_weight, n).cpu().numpy() * known
    strata = np.zeros(n, dtype=np.int64)
    if labels is not None:
        labels, labelled = known_labels(labels)
        same_length("labels", len(labelled), n)
        weight = weight * labelled
        strata = binary_labels(labels, n, "neighbour_gap").astype(np.int64)
    for attribute in attributes:
        refuse_single(attribute, weight > 0)
    counted = np.flatnonzero(weight > 0)
    geometry = _geometry(X, n, counted, weight[counted])
    rows = []
    for attribute in attributes:
        crowd = Crowd(h, attribute.codes, strata, weight).take(counted)
        gaps = find_gaps(geometry, crowd, crowd, n_neighbors)
        rows += [_row(attribute, g, crowd, gaps) for g in range(len(attribute.values))]
    return pd.DataFrame(rows)


def find_gaps(geometry: Geometry, rows: Crowd, columns: Crowd, k: int) -> Gaps:
    """Compare the scores of `rows` with those of their k nearest of another group in `columns`.

    The geometry is from the former to the latter. A person of weight w is w neighbours; the last
    places are shared by all who are equally far.
    """
    n = len(rows.scores)
    sums = np.zeros((4, n))  # of the neighbours' weights, absolute and signed gaps, and costs
    for stratum in np.unique(rows.strata[rows.strata >= 0]):
        for group in np.unique(rows.groups):
            looking = (rows.groups == group) & (rows.strata == stratum) & (rows.weight > 0)
            others = (columns.groups != group) & (columns.strata == stratum) & (columns.weight > 0)
            if looking.any() and others.any():
                who, whom = np.flatnonzero(looking), np.flatnonzero(others)
                places = _Places(geometry, columns, whom)
                sums[:, who] = _sums(geometry.rows(who), rows.scores[who], places, k)
    size = np.where(sums[0] > 0, sums[0], np.nan)
    return Gaps(*(sums[1:] / size))


class _Places:
    """The distinct points at which some people are, and sums over the people at each."""

    def __init__(self, geometry: Geometry, crowd: Crowd, people: np.ndarray) -> None:
        index = geometry.column_index.cpu().numpy()[people]
        points, at = np.unique(index, return_inverse=True)
        self.points = torch.as_tensor(points, device=geometry.device)  # (u,)
        h, w = crowd.scores[people], crowd.weight[people]
        order = np.lexsort([h, at])
        at, h, w = at[order], h[order], w[order]
        self._begin = np.searchsorted(at, np.arange(len(points)))
        self._end = np.append(self._begin[1:], len(at))
        self._weight, self._score = (np.append(0.0, np.cumsum(x)) for x in (w, w * h))
        self.weight = self._between(self._weight)  # (u,)
        self.score = self._between(self._score)  # (u,) times weight
        self._low, self._unit = float(h.min()), float(np.ptp(h)) or 1.0
        self._key = 2.0 * at + self._scaled(h)  # sorted: by place, then by score

    def absolute(self, place: np.ndarray, h: np.ndarray) -> np.ndarray:
        """Return sum_j w_j |h - h_j| over the people j at a place, for many places and scores."""
        below = np.searchsorted(self._key, 2.0 * place + self._scaled(h), side="right")
        begin = self._begin[place]
        below = np.clip(below, begin, self._end[place])
        weight, score = (x[below] - x[begin] for x in (self._weight, self._score))
        return np.asarray(h * (2 * weight - self.weight[place]) + self.score[place] - 2 * score)

    def _scaled(self, h: np.ndarray) -> np.ndarray:
        return np.clip((h - self._low) / self._unit, -0.5, 1.25)

    def _between(self, sums: np.ndarray) -> np.ndarray:
        return np.asarray(sums[self._end] - sums[self._begin])


def _sums(geometry: Geometry, h: np.ndarray, places: _Places, k: int) -> np.ndarray:
    """Return, over each person's neighbours, sums of weights, gaps, signed gaps, costs, (4, n)."""
    out = np.zeros((4, len(h)))
    index = geometry.row_index.cpu().numpy()  # (n,) row point of each person
    order = np.argsort(index, kind="stable")
    bounds = np.searchsorted(index[order], np.arange(len(geometry.row_points) + 1))
    mass = torch.as_tensor(places.weight, device=geometry.device)
    for start, _, block in geometry.blocks(places.points):
        place, row, share, cost = _nearest(block, mass, k)
        # Identical people have the same neighbours, but scores of their own.
        begin, count = bounds[row + start], bounds[row + start + 1] - bounds[row + start]
        pair = np.repeat(np.arange(len(row)), count)
        step = np.arange(len(pair)) - np.repeat(np.cumsum(count) - count, count)
        person = order[begin[pair] + step]
        place, share, cost = place[pair], share[pair], cost[pair]
        weight = share * places.weight[place]
        values = (
            weight,
            share * places.absolute(place, h[person]),
            weight * h[person] - share * places.score[place],
            weight * cost,
        )
        for total, value in zip(out, values):
            total += np.bincount(person, value, len(h))
    return out


def _nearest(block: Tensor, mass: Tensor, k: int) -> tuple[np.ndarray, ...]:
    """Return places and rows of neighbours, the share of the place that counts, and the cost.

    `block` is (u, b), from b rows to u places that have `mass` (u,).
    """
    count, k_mass = min(k, len(mass)), k * (1 - 1e-12)
    while True:
        near, who = block.topk(count, dim=0, largest=False)
        reached = mass[who].cumsum(0) >= k_mass  # (count, b)
        if count == len(mass) or bool(reached[-1].all()):
            break
        count = min(2 * count, len(mass))  # of people who weigh less than one, more are needed
    last = torch.where(reached.any(0), reached.to(torch.int8).argmax(0), count - 1)
    farthest = near.gather(0, last[None])  # (1, b)
    nearer = block < farthest * (1 - TIED)
    within = block <= farthest * (1 + TIED)
    whole = mass @ nearer.to(mass.dtype)
    tied = mass @ (within & ~nearer).to(mass.dtype)
    share = ((k - whole) / tied).clamp(0.0, 1.0)  # of those at the farthest
    place, row = torch.nonzero(within, as_tuple=True)
    part = torch.where(nearer[place, row], 1.0, share[row])
    return tuple(x.cpu().numpy() for x in (place, row, part, block[place, row]))


def _geometry(X: Array | Geometry, n: int, counted: np.ndarray, weight: np.ndarray) -> Geometry:
    """Return who is like whom among the people who count, whose weights these are."""
    if isinstance(X, Geometry):
        if X.shape != (n, n):
            raise ValueError(
                f"the geometry has {X.shape[0]} rows and {X.shape[1]} columns, but there are {n} "
                "people in `sensitive_features`; pass the geometry of these people."
            )
        return X.take(counted)
    same_length("X", len(next(iter(X.values()))) if isinstance(X, dict) else len(X), n)
    table = take_rows(X, counted)
    return PointCloud(TableEncoder().fit(table, sample_weight=weight).transform(table))


def _row(attribute: Attribute, group: int, crowd: Crowd, gaps: Gaps) -> dict[str, object]:
    found = (crowd.groups == group) & np.isfinite(gaps.absolute)
    w = crowd.weight[found]
    row: dict[str, object] = {
        "attribute": attribute.name, "group": str(attribute.values[group]), "weight": float(w.sum())
    }  # fmt: skip
    for name, values in (
        ("gap", gaps.absolute),
        ("more", gaps.signed),
        ("distance", gaps.distance),
    ):
        row[name] = float(np.average(values[found], weights=w)) if found.any() else np.nan
    return row
