"""What it takes to be fair: the cheapest plan, its flows and pairs, and how sure its cost is.

Maths: docs/audit.md.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp
import torch

from otfair.auditing._groups import Comparison
from otfair.auditing._reading import AuditData
from otfair.auditing._results import Cost, Flow, Pairs
from otfair.auditing._statistics import MIN_SCORE
from otfair.auditing.costs._distances import TypeDistances
from otfair.auditing.costs._extrapolation import Checked, extrapolate_cost
from otfair.auditing.costs._solving import (
    Solution,
    Totals,
    at_cheapest_rate,
    representatives,
    solve,
    solve_bounded,
    type_constraints,
)
from otfair.geometry import CostMatrix
from otfair.metrics import Estimate, by_cell, estimate
from otfair.notions import People, type_people
from otfair.transport import TransportError, adjusted_otf, exact_otf


def cost_of_fairness(
    data: AuditData,
    comparison: Comparison,
    distances: TypeDistances | None,
    between: np.ndarray | None,
    counts: np.ndarray,
) -> Cost:
    """Return the costs of fairness under one notion for one attribute, or why there are none.

    With the distances between all people, (n, n), nobody may end with more than a score of one.
    """
    people, w = comparison.people, data.weight
    h = np.maximum(data.scores, MIN_SCORE)
    cost = Cost(least_moved=least_moved(data, comparison, counts), rate=comparison.rate)
    if distances is None:
        return cost
    if "precision" in people.kinds:  # whose rate is the cheapest one without bounds
        between = None
    total = float(w @ h)
    sampling, smooth, failure = None, None, ""
    try:
        people, rate = at_cheapest_rate(people, h, distances.nearest)
        cost = replace(cost, rate=rate)
        if between is not None:
            solved = solve_bounded(people, h, between)
        else:
            solved = solve(people, h, distances.nearest)
        if distances.reference is not None and between is None:
            sampling = extrapolate_cost(people, h, distances, solved)
    except TransportError as error:
        return replace(cost, failure=f"no cheapest plan was found: {error}")
    pairs, shown = _pairs(comparison, solved, distances, total)
    moved = float(pairs.mass.sum())
    received, given = (
        np.bincount(who, pairs.mass, len(h)) for who in (pairs.receiver, pairs.giver)
    )
    fair = data.scores + (received - given) * total / w  # the scores after the transport
    paid = solved.paid
    if paid is None:
        paid = (solved.plan * distances.nearest).sum(1)
    sums = data.resampled(comparison, counts, plan_rows, solved.plan, paid)
    exact = plan_cost(people, solved.value, solved.duals, sums)
    exact = exact if sampling is None else combined(exact, sampling)
    try:
        if between is not None:
            whole = CostMatrix(between, scale=None)
            constraints, epsilon = people.constraints(), distances.epsilon
            smooth = adjusted_otf(h, whole, constraints, epsilon, bounded=True).value / total
        else:
            smooth = _smooth(people, h, distances, exact.value)
    except TransportError as error:
        failure = f"no smooth cost was found: {error}"
    return replace(
        cost,
        exact=exact,
        plan=float(pairs.mass @ pairs.distance),
        gap=solved.gap / total,
        smooth=smooth,
        smoothed=len(distances.soft_rows if between is None else h),
        bounded=between is not None,
        moved=moved,
        distance=exact.value / moved if moved else 0.0,
        destinations=len(h)
        if between is not None or distances.reference is None
        else len(distances.reference),
        sampling=None if sampling is None else (sampling.low, sampling.high),
        bins=comparison.bins,
        left=_correlation_left(data, comparison, fair) if comparison.bins else None,
        piled=float(fair.max()),
        types=shown,
        flows=_flows(pairs, shown),
        pairs=pairs,
        failure=failure,
    )


def combined(people: Estimate, sampling: Estimate) -> Estimate:
    """Return the cost with all people as receivers, unsure by who is there and by the sample."""
    if not np.isfinite(people.low):  # without resamples, by the sample alone
        return sampling
    scale = sampling.value / people.value if people.value else 1.0
    below, above = people.value - people.low, people.high - people.value
    low, high = sampling.low - scale * below, sampling.high + scale * above
    return Estimate(sampling.value, max(0.0, low), high)


def _smooth(people: People, h: np.ndarray, distances: TypeDistances, exact: float) -> float:
    if distances.reference is None:
        few, scores = representatives(people, h, distances.soft_rows)
        return smooth_cost(few, scores, distances.soft, distances.epsilon)
    checked, totals = Checked.of(people, distances), Totals.of(people, h)
    return smooth_of_checked(people, totals, checked, distances.soft, distances.epsilon, exact)


def smooth_cost(people: People, h: np.ndarray, soft: np.ndarray, epsilon: float) -> float:
    """Return the adjusted cost; soft distances may be negative, and a shift of all cancels."""
    shifted = CostMatrix(soft - min(0.0, float(soft.min())))
    answer = adjusted_otf(h, shifted, type_constraints(people), epsilon=epsilon)
    return answer.value / float(people.weight.numpy() @ h)


def smooth_of_checked(
    people: People, totals: Totals, checked: Checked, soft: np.ndarray, epsilon: float,
    exact: float,
) -> float:  # fmt: skip
    """Return the adjusted cost by people who were drawn by their score."""
    # They make too much of chance, in the exact cost as in this one: of them it is the share of the
    # exact cost that counts.
    few, scores = checked.standing(people, totals)
    total = float(few.weight.numpy() @ scores)
    of_few = solve(few, scores, checked.full).value / total
    share = exact / of_few if of_few > 0 else 1.0
    return share * smooth_cost(few, scores, soft, epsilon)


def least_moved(data: AuditData, comparison: Comparison, counts: np.ndarray) -> Estimate:
    """Return the share of score that must move where any two people are at distance 1."""
    people, K = comparison.people, len(comparison.people.type_names)
    sums = data.resampled(comparison, counts, _type_rows)
    weight, mass = sums[0, :K], sums[0, K:]
    crowd = replace(people, types=torch.arange(K), weight=torch.as_tensor(weight))
    D = 1.0 - np.eye(K)
    crowd, _ = at_cheapest_rate(crowd, np.minimum(mass / weight, 1.0), D)
    people = replace(people, rates=crowd.rates)
    t = exact_otf(np.minimum(mass / weight, 1.0), CostMatrix(D), crowd.constraints())
    share = t.plan() / mass[:, None]  # (K, K)
    masses = sums[:, K:]
    paid, sent = masses @ (share * D).sum(1), masses @ share
    duals = np.asarray(t.constraint_duals)
    return _lagrangian(people, t.primal_value, duals, sums[:, :K], masses.sum(1), paid, sent)


def _type_rows(data: AuditData, comparison: Comparison) -> sp.csr_array:
    """Return the matrix whose products are weights and scores by type."""
    people, w = comparison.people, data.weight
    mass = w * np.maximum(data.scores, MIN_SCORE)
    return by_cell(people.types.numpy(), len(people.type_names), w, mass)


def plan_rows(
    data: AuditData, comparison: Comparison, plan: sp.csr_array, paid: np.ndarray
) -> sp.csr_array:
    """Return the matrix whose products are what the cost of a plan is computed from."""
    people, mass = comparison.people, data.weight * np.maximum(data.scores, MIN_SCORE)
    rows = [
        by_cell(people.types.numpy(), len(people.type_names), data.weight),
        sp.csr_array(np.stack([mass, paid])),
        sp.csr_array(plan.T),
    ]
    return sp.csr_array(sp.vstack(rows))


def plan_cost(people: People, value: float, duals: np.ndarray, sums: np.ndarray) -> Estimate:
    """Return the cost of a plan per unit of score, with its interval, from sums of `plan_rows`."""
    K = len(people.type_names)
    weight, total, paid, sent = sums[:, :K], sums[:, K], sums[:, K + 1], sums[:, K + 2 :]
    return _lagrangian(people, value, duals, weight, total, paid, sent)


def _lagrangian(
    people: People, value: float, mu: np.ndarray, weight: np.ndarray, total: np.ndarray,
    paid: np.ndarray, sent: np.ndarray,
) -> Estimate:  # fmt: skip
    """Return the cost of each resample to first order: the Lagrangian at the plan and its duals."""
    # The plan and its duals are optimal for the people as they are, so that a change of the people
    # changes the cost through the Lagrangian alone (envelope theorem).
    values = np.full(len(weight), np.nan)
    values[0] = value / total[0]
    # Rows of G depend on each other, so that the duals have a part that does not matter to these
    # people, and is whatever the solver left; it would matter to others.
    G = people.vectors(torch.as_tensor(weight[0]))[0].numpy()
    mu = G @ np.linalg.pinv(G) @ mu
    for b in range(1, len(weight)):
        vectors, _, _ = people.vectors(torch.as_tensor(weight[b]))
        if len(vectors) == len(mu):  # else a group is absent from this resample
            values[b] = (paid[b] - mu @ vectors.numpy() @ sent[b]) / total[b]
    return estimate(values, 0.0)


def _pairs(
    comparison: Comparison, solved: Solution, distances: TypeDistances, total: float
) -> tuple[Pairs, tuple[str, ...]]:
    """Return who gives to whom, and names of the types that are shown."""
    types = comparison.people.types.numpy()
    if solved.between is not None and solved.distance is not None:
        i, receiver = solved.between.coords
        moves = crossing(i, receiver, solved.between.data, solved.distance, i != receiver)
    else:
        moves = plan_moves(types, solved.plan, distances.person, distances.nearest)
    i, receiver, mass, distance = moves
    mass = mass / total
    order = pair_order(i, mass, distance)
    i, receiver, mass, distance = (x[order] for x in (i, receiver, mass, distance))
    shown = type_people(comparison.strata, [comparison.groups], comparison.people.weight)
    giver_type, receiver_type = shown.types.numpy()[i], shown.types.numpy()[receiver]
    pairs = Pairs(
        giver=i, receiver=receiver, mass=mass, distance=distance,
        giver_type=giver_type, receiver_type=receiver_type,
    )  # fmt: skip
    return pairs, shown.type_names


def pair_order(giver: np.ndarray, mass: np.ndarray, distance: np.ndarray) -> np.ndarray:
    """Return the order of pairs: those that move most first, but for rounding."""
    rounded = (x.astype(np.float32) for x in (distance, -mass))
    return np.lexsort([giver, *rounded])


def plan_moves(
    types: np.ndarray, plan: sp.csr_array, person: np.ndarray, nearest: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Return who gives, to whom, how much and how far, of a plan from people to types."""
    entries = plan.tocoo()
    i, k = entries.coords
    distance = nearest[i, k].astype(np.float64)
    return crossing(i, person[i, k], entries.data, distance, k != types[i])


def crossing(
    giver: np.ndarray, receiver: np.ndarray, mass: np.ndarray, distance: np.ndarray,
    crosses: np.ndarray,
) -> tuple[np.ndarray, ...]:  # fmt: skip
    """Leave out who keeps their score, and what is nothing."""
    crosses = crosses & (mass > MIN_SCORE)
    return tuple(x[crosses] for x in (giver, receiver, mass, distance))


def _flows(pairs: Pairs, names: tuple[str, ...]) -> tuple[Flow, ...]:
    K = len(names)
    cells = pairs.giver_type * K + pairs.receiver_type
    mass = np.bincount(cells, pairs.mass, K * K)
    paid = np.bincount(cells, pairs.mass * pairs.distance, K * K)
    return flows_of(mass, paid, names)


def flows_of(mass: np.ndarray, paid: np.ndarray, names: tuple[str, ...]) -> tuple[Flow, ...]:
    """Return score between types, the largest first, from sums by giver and receiver, (K K,).

    Of flows that only rounding tells apart, the first in the order of the types comes first.
    """
    K = len(names)
    size = np.round(mass / max(mass.sum(), 1e-300), 10)
    return tuple(
        Flow(giver=names[c // K], receiver=names[c % K], mass=float(m), distance=float(paid[c] / m))
        for c in np.argsort(-size, kind="stable")
        if (m := mass[c]) > 0
    )


def _correlation_left(data: AuditData, comparison: Comparison, fair: np.ndarray) -> float:
    """Return the largest correlation with a continuous attribute that its bins leave."""
    assert comparison.numbers is not None
    left = [0.0]
    for k in range(len(comparison.strata.names)):
        inside = comparison.strata.codes == k
        s, f, w = (x[inside] for x in (comparison.numbers, fair, data.weight))
        if len(w) > 1 and np.ptp(s) > 0 and np.ptp(f) > 0:
            C = np.cov(s, f, aweights=w)
            left.append(abs(float(C[0, 1] / np.sqrt(C[0, 0] * C[1, 1]))))
    return max(left)
