"""The cheapest plan from people to types; of many people, those whose choice is clear are summed.

Maths: docs/audit.md. Distances to types are known, so the receivers of a problem are the types.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
import torch
from sklearn.utils import gen_batches

from otfair.geometry import CostMatrix
from otfair.notions import Constraints, People, stratified_sample
from otfair.transport import exact_otf

MAX_ENTRIES = 4_000_000  # distances between people and types in one linear program
ROUNDS = 8
MARGIN_BINS = 16  # that divide people of one type and choice
TOLERANCE = 1e-9  # of the gap, a unit of score
TOLL = 1e-6  # on whatever leaves its type, so that of plans that cost the same one moves least
BLOCK = 100_000  # people looked at at once
SEARCHED = 400_000  # distances between people and types by which the cheapest rate is found


@dataclass(frozen=True, kw_only=True)
class Solution:
    """A plan, and the duals that certify it."""

    plan: sp.csr_array  # (n, K) score that goes from each person to each type
    value: float  # what it costs
    duals: np.ndarray  # (d,) of the constraints
    price: np.ndarray  # (K,) what a unit of score is worth at each type, g_k'mu
    gap: float = np.inf  # by how much it may be dearer than the optimum, the toll included
    # Where nobody may receive more than one: who gives to whom, (n, n), how far that is, and what
    # each person adds to the cost, their own bound included, (n,).
    between: sp.coo_array | None = None
    distance: np.ndarray | None = None
    paid: np.ndarray | None = None


def type_constraints(people: People) -> Constraints:
    """Return the constraints of people whose score goes to types, each of them one receiver."""
    n, K = len(people.types), len(people.type_names)
    both = replace(
        people,
        types=torch.cat([people.types, torch.arange(K)]),
        weight=torch.cat([people.weight, torch.ones(K, dtype=torch.float64)]),
    )
    return both.constraints(rows=np.arange(n), columns=np.arange(n, n + K))


def with_types(people: People, types: np.ndarray, weight: np.ndarray) -> People:
    """Return other people, who are of the same types."""
    return replace(people, types=torch.as_tensor(types), weight=torch.as_tensor(weight))


@dataclass(frozen=True)
class Totals:
    """What all people of each type weigh, and their score, (K,) each."""

    weight: np.ndarray
    mass: np.ndarray

    @classmethod
    def of(cls, people: People, h: np.ndarray) -> Totals:
        """Return those of people."""
        types, w, K = people.types.numpy(), people.weight.numpy(), len(people.type_names)
        return cls(*(np.bincount(types, x, K) for x in (w, w * h)))


def representatives(people: People, h: np.ndarray, rows: np.ndarray) -> tuple[People, np.ndarray]:
    """Let some people stand for all, in weight and, by their scores, mass of each type."""
    types, w = people.types.numpy(), people.weight.numpy()
    if len(rows) == len(types):
        return people, h
    return stand_for(people, types[rows], w[rows], h[rows], Totals.of(people, h))


def stand_for(
    people: People, types: np.ndarray, w: np.ndarray, h: np.ndarray, totals: Totals
) -> tuple[People, np.ndarray]:
    """Let people of these types, weights and scores stand for all."""
    K = len(people.type_names)
    some = w * (totals.weight / np.bincount(types, w, K).clip(1e-300))[types]
    scale = totals.mass / np.bincount(types, some * h, K).clip(1e-300)
    return with_types(people, types, some), np.minimum(h * scale[types], 1.0)


def at_cheapest_rate(people: People, h: np.ndarray, D: np.ndarray) -> tuple[People, float | None]:
    """Return people whose groups must have the precision that is cheapest to reach, and which.

    In large tables it is found from some people who stand for all.
    """
    if people.rates is None:
        return people, None
    if not bool(people.rates.isnan().any()):
        return people, float(people.rates[0])
    K = len(people.type_names)
    some = stratified_sample(people.types.numpy(), K, SEARCHED // K, seed=[0])
    rate = cheapest_rate(*representatives(people, h, some), D[some])
    return with_rate(people, rate), rate


def cheapest_rate(people: People, h: np.ndarray, D: np.ndarray) -> float | None:
    """Return the precision that is cheapest to reach; None where no two groups can be compared."""
    found = exact_otf(h, CostMatrix(D), type_constraints(people)).problem.constraints.rates
    if not found:
        return None
    (rate,) = set(found.values())
    return rate


def with_rate(people: People, rate: float | None) -> People:
    """Let the precision of groups have to be a rate."""
    if people.rates is None or rate is None:
        return people
    return replace(people, rates=torch.full_like(people.rates, rate))


def solve(people: People, h: np.ndarray, D: np.ndarray) -> Solution:
    """Solve exactly: all at once, or with people whose choice is clear summed."""
    found = (_solve_at_once if D.size <= MAX_ENTRIES else _solve_in_rounds)(people, h, D)
    # The toll is not part of the value; prices that it moved prove a little less: part of the gap.
    bound = lower_bound(D, people.weight.numpy() * h, found.price)
    return replace(found, gap=max(0.0, found.value - bound))


def solve_bounded(people: People, h: np.ndarray, cost: np.ndarray) -> Solution:
    """Solve exactly between people, (n, n), none of whom may end with more than a score of one."""
    types, w = people.types.numpy(), people.weight.numpy()
    toll = np.where(types[:, None] != types, TOLL, TOLL / 2)  # people who are alike don't swap
    np.fill_diagonal(toll, 0.0)
    tolled = CostMatrix(cost + toll, scale=None)
    t = exact_otf(h, tolled, people.constraints(), bounded=True)
    plan = sp.coo_array(t.plan(sparse=True))
    i, j = plan.coords
    distance, bounds = cost[i, j], np.asarray(t.bound_duals)
    price = np.asarray(t.problem.all_vectors.T @ t.mu[: len(t.constraint_duals)])
    value = float(plan.data @ distance)
    least = (cost - price[types] - bounds).min(1)
    lower = float((w * h) @ least + w @ bounds)
    shape, n = (len(h), len(people.type_names)), len(h)
    return Solution(
        plan=sp.csr_array((plan.data, (i, types[j])), shape),
        value=value,
        duals=np.asarray(t.constraint_duals),
        price=price,
        gap=max(0.0, value - lower),
        between=plan,
        distance=distance,
        paid=np.bincount(i, plan.data * (distance - bounds[j]), n) + w * bounds,
    )


def _tolled(D: np.ndarray, types: np.ndarray) -> np.ndarray:
    """Add the toll to the distances to other types than one's own, (b, K)."""
    out = D + np.float64(TOLL)
    out[np.arange(len(D)), types] -= TOLL
    return out


def _solve_at_once(people: People, h: np.ndarray, D: np.ndarray) -> Solution:
    t = exact_otf(h, CostMatrix(_tolled(D, people.types.numpy())), type_constraints(people))
    plan = sp.csr_array(t.plan(sparse=True))
    return Solution(
        plan=plan,
        value=float((plan * D).sum()),
        duals=np.asarray(t.constraint_duals),
        price=np.asarray(t.problem.vectors.T @ t.mu),
    )


def _solve_in_rounds(people: People, h: np.ndarray, D: np.ndarray) -> Solution:
    """Solve with people summed who would choose the same by far, until the gap is closed."""
    # A sum of people moves as they would if all moved alike, so every plan found is possible; the
    # dual value of all people says how far it is from the best one.
    K, types, mass = D.shape[1], people.types.numpy(), people.weight.numpy() * h
    room = MAX_ENTRIES // (2 * K)  # the sums take the rest, at most
    some = stratified_sample(types, K, room, seed=[0])
    price = _solve_at_once(*representatives(people, h, some), D[some]).price
    best: Solution | None = None
    for _ in range(ROUNDS):
        margin, choice = _margins(D, types, price)
        unclear = np.zeros(len(D), dtype=bool)
        unclear[np.argpartition(margin, room)[:room]] = True
        edges = np.quantile(margin[~unclear], np.arange(1, MARGIN_BINS) / MARGIN_BINS)
        alike = np.searchsorted(edges, margin)  # the clearer, the further from another choice
        found = _with_sums(people, h, D, unclear, (types * K + choice) * MARGIN_BINS + alike)
        plan = found.plan.tocoo()
        moved = float(plan.data[plan.col != types[plan.row]].sum())
        paid = found.value + TOLL * moved
        gap = max(0.0, paid - lower_bound(D, mass, found.price, types))
        if best is None or gap < best.gap:
            best = replace(found, gap=gap)
        if gap <= TOLERANCE * mass.sum():
            break
        price = found.price
    assert best is not None
    return best


def lower_bound(
    D: np.ndarray, mass: np.ndarray, price: np.ndarray, types: np.ndarray | None = None
) -> float:
    """Return the dual value, which no plan is cheaper than: sum_i m_i min_k (D_ik - price_k)."""
    total = 0.0
    for b in gen_batches(len(D), BLOCK):
        at = D[b] if types is None else _tolled(D[b], types[b])  # with `types`, with the toll
        total += float(mass[b] @ (at - price).min(1))
    return total


def _margins(D: np.ndarray, types: np.ndarray, price: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """By how much the best type of each person is better than the next, (n,), and which it is."""
    margin, choice = np.empty(len(D)), np.empty(len(D), dtype=np.int64)
    for b in gen_batches(len(D), BLOCK):
        at = _tolled(D[b], types[b]) - price
        choice[b] = at.argmin(1)
        two = np.partition(at, 1, axis=1)
        margin[b] = two[:, 1] - two[:, 0]
    return margin, choice


def _with_sums(
    people: People, h: np.ndarray, D: np.ndarray, unclear: np.ndarray, cells: np.ndarray
) -> Solution:
    """Solve for the unclear people and for sums of the others, one for each cell of those alike."""
    K, w = D.shape[1], people.weight.numpy()
    alone, others = np.flatnonzero(unclear), np.flatnonzero(~unclear)
    codes, place = np.unique(cells[others], return_inverse=True)
    count, mass = len(codes), (w * h)[others]
    weight, total = (np.bincount(place, x, count) for x in (w[others], mass))
    mean = np.stack([np.bincount(place, mass * D[others, k], count) for k in range(K)], 1)
    few = with_types(
        people,
        np.concatenate([people.types.numpy()[alone], codes // (K * MARGIN_BINS)]),
        np.concatenate([w[alone], weight]),
    )
    scores = np.concatenate([h[alone], np.minimum(total / weight, 1.0)])
    solved = _solve_at_once(few, scores, np.concatenate([D[alone], mean / total[:, None]]))
    row_of = np.empty(len(D), dtype=np.int64)
    row_of[alone] = np.arange(len(alone))
    row_of[others] = len(alone) + place
    share = sp.diags_array(1 / (few.weight.numpy() * scores)) @ solved.plan
    plan = sp.csr_array(sp.diags_array(w * h) @ sp.csr_array(share)[row_of])
    return replace(solved, plan=plan, value=float((plan * D).sum()))
