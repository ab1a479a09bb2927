"""Who of people on Dask's workers may receive score, and what a sample does to the penalty.

As on one machine (`_receivers.py`), by the same samples. Some people are measured to all: each
worker measures them to its own people.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch

from otfair.distributed import Parts
from otfair.geometry import CostMatrix, Drawn, PartedCloud, PointCloud
from otfair.models._receivers import (
    CHECKED,
    COMPARISONS,
    FAIR,
    LEAST_SCORE,
    Receiving,
    default_size,
    jackknife,
)
from otfair.notions import PartedPeople, possible_constraints, stratified_sample
from otfair.transport import adjusted_otf

Typed = tuple[np.ndarray, np.ndarray]  # types as typed first, and weights, of people


def draw_receivers(people: PartedPeople, receivers: int | None, seed: list[int]) -> Drawn | None:
    """Draw as many people as asked for to receive score; None where all of them do."""
    n = len(people.parts)
    if receivers is None:
        if n**2 <= COMPARISONS:
            return None
        receivers = default_size(n)
    index = _sample(people, receivers, seed, False)
    if index is None:
        return None
    count, parts = len(people.first_types), people.parts
    some = parts.each(_weight_at, parts.split(index), count).sum(_as_it_is)
    return Drawn(index, parts, people.first_mass, some)


def some_drawn(drawn: Drawn, people: PartedPeople) -> Drawn:
    """Return the sample among people of whom some have no weight now.

    Where nobody who was drawn of a type is left, all of it receive, as on one machine.
    """
    typed, every = people.parts, people.first_mass
    count = len(every)
    weight = np.concatenate(typed.each(_weights_at, typed.split(drawn.index)).gather(_as_it_is))
    index = drawn.index[weight > 0]
    some = typed.each(_weight_at, typed.split(index), count).sum(_as_it_is)
    if (lost := (every > 0) & (some <= 0)).any():
        more = zip(typed.starts, typed.gather(_numbers_of, lost))
        index = np.sort(np.concatenate([index, *(start + own for start, own in more)]))
        some = np.where(lost, every, some)
    return Drawn(index, typed, every, some)


def receiving(
    cloud: PartedCloud, people: PartedPeople, scores: Parts, epsilon: float, seed: list[int]
) -> Receiving:
    """Return who receives score, and what a sample does to the penalty of these scores."""
    n, drawn = len(people.parts), cloud.drawn
    if drawn is None:
        return {"people": n, "of": n, "ratio": 1.0, "low": 1.0, "high": 1.0}
    rows = _sample(people, CHECKED, seed, True)
    assert rows is not None
    merge, K = people.first_types.numpy(), len(people.type_names)
    receivers = people.constraints().receivers  # type: ignore[attr-defined]
    found = cloud.distances_to(receivers, merge, K, epsilon)
    own, weight = _at(people.parts, rows, _typed_at)
    some = _at(found.parts, rows, _distances_at)
    here = _at(cloud.people, rows, _rows_at)
    to_part = (people.parts, here, merge, K, cloud.cost, cloud.scale_, epsilon)
    every = -epsilon * cloud.people.reduce(np.logaddexp, _to_part, *to_part)
    h = np.clip(_at(scores, rows, _rows_at), LEAST_SCORE, 1.0)
    # Each type is one receiver, at its soft distance; a shift of all distances cancels.
    open_types = np.flatnonzero(np.isfinite(every).all(0))
    both = replace(
        people.local(),
        types=torch.cat([torch.as_tensor(merge[own]), torch.as_tensor(open_types)]),
        weight=torch.cat([torch.as_tensor(weight), torch.ones(len(open_types)).double()]),
    )
    columns = torch.arange(len(rows), len(rows) + len(open_types))
    low = min(0.0, float(some[:, open_types].min()), float(every[:, open_types].min()))

    def ratio(part: np.ndarray) -> float | None:
        constraints = possible_constraints(both, torch.as_tensor(part), h[part], columns)
        a, b = (
            adjusted_otf(h[part], CostMatrix(D[part][:, open_types] - low), constraints, epsilon)
            for D in (some, every)
        )
        return a.value / b.value if b.value > FAIR * len(part) else None

    return {"people": len(drawn.index), "of": n} | jackknife(ratio, len(rows))


def _sample(people: PartedPeople, size: int, seed: list[int], shuffled: bool) -> np.ndarray | None:
    """Draw people by their types; None where they would be all. One worker has all types."""
    parts, merge = people.parts, people.first_types.numpy()
    typed = parts.client.submit(all_typed, list(parts.futures), pure=False)
    task = partial(
        _drawn, merge=merge, count=len(people.type_names), size=size, seed=seed, shuffled=shuffled
    )
    found: np.ndarray | None = parts.client.submit(task, typed, pure=False).result()
    return found


def _at(parts: Parts, rows: np.ndarray, take: Any) -> Any:
    """Return something of a few people, in the order of `rows`."""
    order = np.argsort(rows, kind="stable")
    back = np.argsort(order, kind="stable")
    some = parts.each(take, parts.split(rows[order])).gather(_as_it_is)
    if isinstance(some[0], tuple):
        return tuple(np.concatenate(column)[back] for column in zip(*some))
    return np.concatenate(some)[back]


# What workers do.


def _drawn(
    typed: Typed, *, merge: np.ndarray, count: int, size: int, seed: list[int], shuffled: bool
) -> np.ndarray | None:
    types, weight = typed
    counted = np.flatnonzero(weight > 0)
    if not shuffled and size >= len(counted):
        return None
    chosen = counted[stratified_sample(merge[types[counted]], count, size, seed)]
    return np.random.default_rng(seed).permutation(chosen) if shuffled else chosen


def _to_part(
    places: np.ndarray, typed: Typed, here: np.ndarray, merge: np.ndarray, K: int, cost: Any,
    scale: float, epsilon: float,
) -> np.ndarray:  # fmt: skip
    """Measure some people to those of a part: sums as exponents, (r, K)."""
    cloud = PointCloud(here, places, cost, scale)
    found = cloud.soft_distances(merge[typed[0]], epsilon, typed[1], K) if typed[1].any() else None
    if found is None:
        return np.full((len(here), K), -np.inf)
    return np.ascontiguousarray(found.values.numpy() / -epsilon)


def all_typed(parts: list[Typed]) -> Typed:
    """Put the types and weights of all parts together."""
    types, weights = zip(*parts)
    return np.concatenate(types), np.concatenate(weights)


def _weight_at(typed: Typed, rows: np.ndarray, count: int) -> np.ndarray:
    return np.bincount(typed[0][rows], typed[1][rows], count)


def _weights_at(typed: Typed, rows: np.ndarray) -> np.ndarray:
    return np.asarray(typed[1][rows])


def _numbers_of(typed: Typed, chosen: np.ndarray) -> np.ndarray:
    """Return which of the people are of chosen types, and have weight."""
    return np.flatnonzero(chosen[typed[0]] & (typed[1] > 0))


def _typed_at(typed: Typed, rows: np.ndarray) -> Typed:
    return typed[0][rows], typed[1][rows]


def _distances_at(D: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return np.asarray(D[:, rows].T)


def _rows_at(X: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return np.asarray(X[rows])


def _as_it_is(value: Any) -> Any:
    return value
