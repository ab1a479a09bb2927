"""The cheapest plan from people on workers to types.

Maths: docs/audit.md, as on one machine. A linear program of bounded size is solved by one worker,
from distances that it is sent. Of more people, those whose choice is clear are summed where they
are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from otfair.auditing.costs import _solving
from otfair.auditing.costs._solving import (
    MARGIN_BINS,
    ROUNDS,
    TOLERANCE,
    TOLL,
    Solution,
    Totals,
    _margins,
    _solve_at_once,
    lower_bound,
    solve,
    solve_bounded,
    stand_for,
    with_types,
)
from otfair.auditing.parted._rows import at_rows, cut, together
from otfair.distributed import Parts
from otfair.notions import People, stratified_sample

Thin = tuple[np.ndarray, np.ndarray, np.ndarray]  # types, weights and scores of people, (n,) each


@dataclass(frozen=True, kw_only=True)
class PartedSolution:
    """A plan of people on workers; see `Solution`."""

    plan: Parts  # (n, K)
    paid: Parts  # (n,) what each person adds to the cost
    value: float
    duals: np.ndarray
    price: np.ndarray
    gap: float
    between: Parts | None = None  # who gives, by their number in the part, to whom, mass, distance


def solve_parts(
    people: People, thin: Parts, totals: Totals, nearest: Parts, between: Any
) -> PartedSolution:
    """Solve exactly, with a future of distances between all people if nobody may exceed one."""
    K, client = len(people.type_names), thin.client
    if between is None and len(thin) * K > _solving.MAX_ENTRIES:
        return _in_rounds(people, thin, totals, nearest)
    D = together(nearest)
    given = (people, together(thin), D if between is None else between, between is not None)
    whole = client.submit(_solved, *given, pure=False)
    value, duals, price, gap = client.submit(_facts, whole, pure=False).result()
    ends = list(pairwise(thin.starts))
    plans = [client.submit(_plan_rows, whole, a, b, pure=False) for a, b in ends]
    plan = Parts(client, plans, thin.sizes)
    if between is None:
        return PartedSolution(
            plan=plan, paid=plan.map(_paid, nearest), value=value, duals=duals, price=price, gap=gap
        )
    moves = [client.submit(_between_rows, whole, a, b, pure=False) for a, b in ends]
    return PartedSolution(
        plan=plan, paid=cut(thin, client.submit(_paid_of, whole, pure=False)), value=value,
        duals=duals, price=price, gap=gap, between=Parts(client, moves, thin.sizes),
    )  # fmt: skip


def _in_rounds(people: People, thin: Parts, totals: Totals, nearest: Parts) -> PartedSolution:
    """Solve with people summed who would choose the same by far, until the gap is closed."""
    K, client = len(people.type_names), thin.client
    room, total = _solving.MAX_ENTRIES // (2 * K), float(totals.mass.sum())
    draw = partial(stratified_sample, count=K, size=room, seed=[0])
    types = thin.map(_types)
    some = np.asarray(client.submit(draw, together(types), pure=False).result())
    given = (people, at_rows(thin, some), at_rows(nearest, some), totals)
    price = client.submit(_first_price, *given, pure=False).result()
    best: PartedSolution | None = None
    for _ in range(ROUNDS):
        chosen = nearest.map(_margins, types, price)
        clear = client.submit(_clear, together(chosen.map(_first)), room, pure=False)
        edges = client.submit(_second, clear, pure=False).result()
        unclear = cut(thin, client.submit(_first, clear, pure=False))
        cells = chosen.map(_cells, types, edges, K)
        summed = nearest.map(_alone_and_sums, thin, unclear, cells, K)
        found = client.submit(_with_sums, people, list(summed.futures), K, pure=False)
        duals, now = client.submit(_prices, found, pure=False).result()
        shares = [client.submit(_shares_of, found, k, pure=False) for k in range(len(thin.sizes))]
        plan = unclear.each(_plan_of, shares, cells, thin)
        paid = plan.map(_paid, nearest)
        value, moved, tolled, untolled = plan.sum(_sums_of, nearest, thin, now)
        gap = max(0.0, value + TOLL * moved - tolled)
        if best is None or gap < best.gap:
            best = PartedSolution(
                plan=plan, paid=paid, value=value, duals=duals, price=now, gap=gap
            )
            bound = untolled
        if gap <= TOLERANCE * total:
            break
        price = now
    assert best is not None
    return replace(best, gap=max(0.0, best.value - bound))


# What workers do.


def _solved(people: People, thin: Thin, D: np.ndarray, bounded: bool) -> Solution:
    types, w, h = thin
    everybody = with_types(people, types, w)
    return solve_bounded(everybody, h, D) if bounded else solve(everybody, h, D)


def _facts(solved: Solution) -> tuple[float, np.ndarray, np.ndarray, float]:
    return solved.value, solved.duals, solved.price, solved.gap


def _plan_rows(solved: Solution, a: int, b: int) -> sp.csr_array:
    return sp.csr_array(solved.plan[a:b])


def _paid(plan: sp.csr_array, nearest: np.ndarray) -> np.ndarray:
    return np.asarray((plan * nearest).sum(1))


def _paid_of(solved: Solution) -> np.ndarray:
    assert solved.paid is not None
    return solved.paid


def _between_rows(solved: Solution, a: int, b: int) -> tuple[np.ndarray, ...]:
    assert solved.between is not None
    assert solved.distance is not None
    i, j = solved.between.coords
    own = (i >= a) & (i < b)
    return i[own] - a, j[own], solved.between.data[own], solved.distance[own]


def _first_price(people: People, thin: Thin, D: np.ndarray, totals: Totals) -> np.ndarray:
    return _solve_at_once(*stand_for(people, *thin, totals), D).price


def _types(thin: Thin) -> np.ndarray:
    return thin[0]


def _clear(margin: np.ndarray, room: int) -> tuple[np.ndarray, np.ndarray]:
    """Return whose choice is least clear, (n,), and the edges that divide the others."""
    unclear = np.zeros(len(margin), dtype=bool)
    unclear[np.argpartition(margin, room)[:room]] = True
    return unclear, np.quantile(margin[~unclear], np.arange(1, MARGIN_BINS) / MARGIN_BINS)


def _cells(
    chosen: tuple[np.ndarray, np.ndarray], types: np.ndarray, edges: np.ndarray, K: int
) -> np.ndarray:
    margin, choice = chosen
    return np.asarray((types * K + choice) * MARGIN_BINS + np.searchsorted(edges, margin))


def _alone_and_sums(
    D: np.ndarray, thin: Thin, unclear: np.ndarray, cells: np.ndarray, K: int
) -> tuple[Any, ...]:
    """Return the unclear people of a part, and sums of the others by cell."""
    types, w, h = thin
    others = ~unclear
    codes, place = np.unique(cells[others], return_inverse=True)
    mass, count = (w * h)[others], len(codes)
    sums = [np.bincount(place, x, count) for x in (w[others], mass)]
    far = [np.bincount(place, mass * D[others, k], count) for k in range(K)]
    alone = (types[unclear], w[unclear], h[unclear], D[unclear])
    return alone, codes, np.stack([*sums, *far], 1)


def _with_sums(people: People, parts: Sequence[tuple[Any, ...]], K: int) -> dict[str, Any]:
    """Solve for the unclear people and for sums of the others, one for each cell of those alike."""
    types, w, h, D = (np.concatenate(column) for column in zip(*(alone for alone, _, _ in parts)))
    codes, place = np.unique(np.concatenate([c for _, c, _ in parts]), return_inverse=True)
    sums = np.zeros((len(codes), 2 + K))
    np.add.at(sums, place, np.concatenate([s for _, _, s in parts]))
    weight, total, mean = sums[:, 0], sums[:, 1], sums[:, 2:]
    few = with_types(
        people,
        np.concatenate([types, codes // (K * MARGIN_BINS)]),
        np.concatenate([w, weight]),
    )
    scores = np.concatenate([h, np.minimum(total / weight, 1.0)])
    solved = _solve_at_once(few, scores, np.concatenate([D, mean / total[:, None]]))
    share = sp.csr_array(sp.diags_array(1 / (few.weight.numpy() * scores)) @ solved.plan)
    ends = np.cumsum([0, *(len(alone[0]) for alone, _, _ in parts)])
    return {
        "duals": solved.duals, "price": solved.price, "codes": codes, "cells": share[len(types) :],
        "alone": [share[a:b] for a, b in pairwise(ends.tolist())],
    }  # fmt: skip


def _prices(found: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    return found["duals"], found["price"]


def _shares_of(found: dict[str, Any], k: int) -> tuple[Any, ...]:
    return found["alone"][k], found["codes"], found["cells"]


def _plan_of(
    unclear: np.ndarray, shares: tuple[Any, ...], cells: np.ndarray, thin: Thin
) -> sp.csr_array:
    """Return the plan of a part's people: their own shares, or those of their cell."""
    alone, codes, by_cell = shares
    _, w, h = thin
    row = np.empty(len(unclear), dtype=np.int64)
    row[unclear] = np.arange(int(unclear.sum()))
    row[~unclear] = alone.shape[0] + np.searchsorted(codes, cells[~unclear])
    share = sp.csr_array(sp.vstack([alone, by_cell]))[row]
    return sp.csr_array(sp.diags_array(w * h) @ share)


def _sums_of(
    plan: sp.csr_array, D: np.ndarray, thin: Thin, price: np.ndarray
) -> tuple[float, float, float, float]:
    """Return what a part's plan costs and moves, and dual values with and without the toll."""
    types, w, h = thin
    entries = plan.tocoo()
    moved = float(entries.data[entries.col != types[entries.row]].sum())
    tolled, bound = (lower_bound(D, w * h, price, own) for own in (types, None))
    return float((plan * D).sum()), moved, tolled, bound


def _first(of: tuple[Any, ...]) -> Any:
    return of[0]


def _second(of: tuple[Any, ...]) -> Any:
    return of[1]
