"""What it takes to be fair: the cheapest plan, its flows and pairs, and how sure its cost is.

Maths: docs/audit.md. Distances to types are known, so the receivers of a problem are the types.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp
import torch

from otfair.attributes import number_types, tabulate
from otfair.auditing._distances import ToTypes
from otfair.auditing._groups import Compared
from otfair.auditing._reading import Audited
from otfair.auditing._resampling import by_cell, estimate, resample
from otfair.auditing._results import Cost, Estimate, Flow, Pairs
from otfair.constraints import Constraints
from otfair.geometry import CostMatrix
from otfair.otf import adjusted_otf, exact_otf
from otfair.status import TransportError
from otfair.transport import Transport

TINY = 1e-12  # a score of 0 has nothing to give; solvers want a little
SHRINKING = np.linspace(0.0, 1.2, 25)  # of the duals, in search of the best lower bound


def transport(
    audited: Audited, compared: Compared, to_types: ToTypes | None, counts: np.ndarray
) -> Cost:
    """Return the costs of fairness under one notion for one attribute."""
    types = compared.people.types.numpy()
    K, w = len(compared.people.table.type_names), audited.weight
    h = np.maximum(audited.scores, TINY)
    cost = Cost(least_moved=_least_moved(compared, types, K, h, w, counts))
    if to_types is None:
        return cost
    total = float(w @ h)
    constraints = _by_types(compared, len(h), K)
    try:
        t = exact_otf(h, CostMatrix(to_types.nearest), constraints)
    except TransportError:
        return cost
    plan = t.plan(sparse=True)  # (n, K)
    pairs, shown = _pairs(compared, plan, to_types, total)
    moved = float(pairs.mass.sum())
    value = float(pairs.mass @ pairs.distance)
    reference = to_types.reference
    return replace(
        cost,
        exact=_interval(compared, t, plan, to_types.nearest, counts),
        gap=max(0.0, t.gap / total),
        smooth=_smooth(h, to_types, constraints, total),
        moved=moved,
        distance=value / moved if moved else 0.0,
        destinations=len(h) if reference is None else len(reference),
        sampling=None if reference is None else _sampling(w * h, t, to_types),
        piled=_piled(audited, pairs, total),
        types=shown,
        flows=_flows(pairs, shown),
        pairs=pairs,
    )


def _by_types(compared: Compared, n: int, K: int) -> Constraints:
    """Constrain people whose score goes to types, each of them one receiver."""
    people = compared.people
    both = replace(
        people,
        types=torch.cat([people.types, torch.arange(K)]),
        weight=torch.cat([people.weight, torch.ones(K, dtype=torch.float64)]),
    )
    return both.constraints(rows=np.arange(n), columns=np.arange(n, n + K))


def _smooth(
    h: np.ndarray, to_types: ToTypes, constraints: Constraints, total: float
) -> float | None:
    """Return the adjusted cost; soft distances may be negative, and a shift of all cancels."""
    shifted = to_types.soft - min(0.0, float(to_types.soft.min()))
    try:
        answer = adjusted_otf(h, CostMatrix(shifted), constraints, epsilon=to_types.epsilon)
    except TransportError:
        return None
    return answer.value / total


def _least_moved(
    compared: Compared, types: np.ndarray, K: int, h: np.ndarray, w: np.ndarray, counts: np.ndarray
) -> Estimate:
    """Return the share of score that must move where any two people are at distance 1."""
    weight, mass = (np.bincount(types, x, K) for x in (w, w * h))
    crowd = replace(compared.people, types=torch.arange(K), weight=torch.as_tensor(weight))
    D = 1.0 - np.eye(K)
    t = exact_otf(np.minimum(mass / weight, 1.0), CostMatrix(D), crowd.constraints())
    share = t.plan() / mass[:, None]  # (K, K)
    sums = resample(by_cell(types, K, w, w * h), counts)
    masses = sums[:, K:]
    paid, sent = masses @ (share * D).sum(1), masses @ share
    return _lagrangian(compared, t, sums[:, :K], masses.sum(1), paid, sent)


def _interval(
    compared: Compared, t: Transport, plan: sp.csr_array, D: np.ndarray, counts: np.ndarray
) -> Estimate:
    types, K = compared.people.types.numpy(), D.shape[1]
    paid = (plan * D).sum(1)  # (n,)
    w, mass = t.problem.weight.numpy(), t.problem.mass.numpy()
    rows = [by_cell(types, K, w), sp.csr_array(np.stack([mass, paid])), sp.csr_array(plan.T)]
    sums = resample(sp.csr_array(sp.vstack(rows)), counts)
    return _lagrangian(compared, t, sums[:, :K], sums[:, K], sums[:, K + 1], sums[:, K + 2 :])


def _lagrangian(
    compared: Compared, t: Transport, weight: np.ndarray, total: np.ndarray, paid: np.ndarray,
    sent: np.ndarray,
) -> Estimate:  # fmt: skip
    """Return the cost of each resample to first order: the Lagrangian at the plan and its duals.

    The plan and its duals are optimal for the people as they are, so that a change of the people
    changes the cost through the Lagrangian alone (envelope theorem).
    """
    mu = np.asarray(t.constraint_duals)
    values = np.full(len(weight), np.nan)
    values[0] = t.primal_value / total[0]
    for b in range(1, len(weight)):
        vectors, _, _ = compared.people.table.vectors(torch.as_tensor(weight[b]))
        if len(vectors) == len(mu):  # else a group is absent from this resample
            values[b] = (paid[b] - mu @ vectors.numpy() @ sent[b]) / total[b]
    return estimate(values, 0.0)


def _sampling(mass: np.ndarray, t: Transport, to_types: ToTypes) -> tuple[float, float]:
    """Return between what costs the one with everybody as a destination lies.

    The plan found is possible there too, so it is no dearer. Any duals bound it from below; the
    bound is a sum over people, estimated from those whose distances to everybody are known.
    """
    total = float(mass.sum())
    price = t.problem.vectors.T @ t.mu  # (K,)
    D, part, whole = to_types.nearest, to_types.nearest[to_types.checked], to_types.whole
    everyone = np.array([float(mass @ (D - s * price).min(1)) / total for s in SHRINKING])
    drop = np.stack([(part - s * price).min(1) - (whole - s * price).min(1) for s in SHRINKING])
    half = np.arange(len(part)) % 2 == 0  # each half judges the duals that the other one chose
    bounds = []
    for chosen_by, judged_by in ((half, ~half), (~half, half)):
        best = int(np.argmax(everyone - drop[:, chosen_by].mean(1)))
        bounds.append(everyone[best] - drop[best, judged_by])
    values = np.concatenate(bounds)
    low = values.mean() - 1.96 * values.std(ddof=1) / np.sqrt(len(values))
    high = t.primal_value / total
    return float(np.clip(low, 0.0, high)), high


def _pairs(
    compared: Compared, plan: sp.csr_array, to_types: ToTypes, total: float
) -> tuple[Pairs, tuple[str, ...]]:
    """Return who gives to whom, and names of the types that are shown."""
    coo = plan.tocoo()
    i, k = coo.coords
    crosses = (k != compared.people.types.numpy()[i]) & (coo.data > TINY)
    i, k, mass = i[crosses], k[crosses], coo.data[crosses] / total
    receiver, distance = to_types.person[i, k], to_types.nearest[i, k]
    shown, first = number_types(compared.strata.codes, [compared.groups])
    names = tabulate(compared.strata, [compared.groups], first).type_names
    order = np.lexsort([i, distance, -mass])
    i, receiver = i[order], receiver[order]
    return Pairs(
        giver=i,
        receiver=receiver,
        mass=mass[order],
        distance=distance[order],
        giver_type=shown[i],
        receiver_type=shown[receiver],
    ), names


def _flows(pairs: Pairs, names: tuple[str, ...]) -> tuple[Flow, ...]:
    K = len(names)
    cells = pairs.giver_type * K + pairs.receiver_type
    mass = np.bincount(cells, pairs.mass, K * K)
    paid = np.bincount(cells, pairs.mass * pairs.distance, K * K)
    return tuple(
        Flow(
            giver=names[c // K],
            receiver=names[c % K],
            mass=float(mass[c]),
            distance=float(paid[c] / mass[c]),
        )
        for c in np.argsort(-mass, kind="stable")
        if mass[c] > 0
    )


def _piled(audited: Audited, pairs: Pairs, total: float) -> float:
    """Return the largest score after the transport."""
    n = len(audited)
    change = np.bincount(pairs.receiver, pairs.mass, n) - np.bincount(pairs.giver, pairs.mass, n)
    return float((audited.scores + change * total / audited.weight).max())
