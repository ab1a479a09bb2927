"""Hostile transport problems by seed, and who is right about them: the whole plan, and HiGHS."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from problems import full_bounded_lp, full_lp, relative_residual
from scipy.optimize import linprog
from scipy.spatial.distance import cdist

import otfair

KINDS = (
    "plain", "twins", "one place", "one of a kind", "all ones", "tiny scores", "fair already",
    "weights over decades", "weights of zero", "somebody far away", "free distances",
    "odd distances", "rows and columns", "two attributes", "labels", "numbers", "own rows",
    "coarse rows", "nobody else",
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    kind: str
    scores: np.ndarray  # (n,)
    cost: np.ndarray  # (n, m), as the geometry has it
    geometry: otfair.Geometry
    constraints: otfair.Constraints
    epsilon: float
    slack: float
    bounded: bool


def case(seed: int) -> Case:
    """The problem of a seed; kinds take turns."""
    rng, kind = np.random.default_rng([seed, 11]), KINDS[seed % len(KINDS)]
    n, groups = int(rng.integers(4, 26)), int(rng.integers(2, 4))
    X = rng.normal(size=(n, int(rng.integers(1, 4))))
    s = rng.permutation(np.arange(n) % groups)
    h = rng.uniform(0.02, 1, n) ** rng.choice([0.2, 1, 3])
    y = rng.permutation(np.arange(n) % 2)
    weight = None if rng.random() < 0.7 else rng.integers(1, 4, n).astype(float)
    sensitive: dict[str, np.ndarray] = {"s": s}
    notion: otfair.Notion = otfair.DemographicParity()
    if kind == "twins":
        X = X[rng.integers(0, 3, n)]
    elif kind == "one place":
        X = np.full_like(X, rng.normal())
    elif kind == "one of a kind":
        s = sensitive["s"] = (np.arange(n) == 0).astype(int)
    elif kind == "all ones":
        h = np.where(rng.random(n) < 0.3, h, 1.0)
    elif kind == "tiny scores":
        h = np.where(rng.random(n) < 0.5, 10 ** rng.uniform(-15, -6), h)
    elif kind == "fair already":
        h = np.full(n, h[0])
    elif kind == "weights over decades":
        weight = 10 ** rng.uniform(-4, 4, n)
    elif kind == "weights of zero":
        weight = np.where((rng.random(n) < 0.3) & (np.arange(n) > 3), 0.0, 1.0)
        sensitive["s"] = np.arange(n) % groups
    elif kind == "somebody far away":
        X[int(rng.integers(n))] *= 10 ** rng.uniform(2, 7)
    elif kind == "two attributes":
        sensitive["t"] = rng.permutation(np.arange(n) % 2)
    elif kind == "labels":
        notion = otfair.EqualizedOdds() & otfair.DemographicParity()
    elif kind == "numbers":
        sensitive = {"s": rng.normal(size=n) * 10 ** rng.uniform(-6, 6)}
    elif kind == "nobody else":
        keep = [int((s == g).nonzero()[0][0]) for g in range(groups)]
        X, h, y, s = X[keep], h[keep], y[keep], s[keep]
        sensitive, weight = {"s": s}, None
    rows = columns = np.arange(len(h))
    if kind == "rows and columns":
        rows = np.sort(rng.permutation(n)[: int(rng.integers(groups, n + 1))])
    if kind in ("own rows", "coarse rows"):
        S = (s[:, None] == np.arange(groups)).astype(np.float64)
        G = (S / S.mean(0) - 1).T * 10 ** rng.uniform(-3, 3)
        G = G.astype(np.float32) if kind == "coarse rows" else np.vstack([G, G[:1] * 2])
        fair = otfair.Constraints.from_matrix(G, sample_weight=weight)
    else:
        people = notion.people(sensitive, y, weight)
        fair = people.constraints(rows, columns)
    geometry, cost = _geometry(kind, X, rows, rng)
    size = float(np.abs(fair.matrix).max(initial=0) * h.sum())
    return Case(
        kind=kind,
        scores=h[rows],
        cost=cost,
        geometry=geometry,
        constraints=fair,
        epsilon=float(10 ** rng.uniform(-4, 0)),
        slack=float(rng.choice([0.0, 0.0, 1e-3, 0.1])) * size,
        bounded=bool(rng.random() < 0.6),
    )


def _geometry(
    kind: str, X: np.ndarray, rows: np.ndarray, rng: np.random.Generator
) -> tuple[otfair.Geometry, np.ndarray]:
    if kind in ("free distances", "odd distances"):
        C = cdist(X, X) if kind == "free distances" else rng.uniform(size=(len(X), len(X)))
        C = np.where(rng.random(C.shape) < 0.3, 0.0, C)
        geometry: otfair.Geometry = otfair.CostMatrix(C)
    else:
        geometry = otfair.PointCloud(X[rows], X if len(rows) < len(X) else None)
    return geometry, geometry.cost_matrix().numpy()


def mistakes(c: Case, tol: float = 3e-7) -> list[str]:
    """What is wrong with the library's answers; refusals that say why are not."""
    found = []
    how = {"slack": c.slack, "bounded": c.bounded}
    try:
        a = otfair.adjusted_otf(c.scores, c.geometry, c.constraints, c.epsilon, **how)
    except otfair.TransportError:
        return ["refused"]
    except ValueError as error:
        if str(error).startswith("no non-negative scores") and not _possible(c):
            return []
        return [str(error)]
    for name, t in (("smooth", a.smooth), ("relaxed", a.relaxed)):
        found += [f"{name}: {text}" for text in _wrong_plan(c, t, tol)]
    mass = c.constraints.sample_weight * c.scores
    scale = float(mass.sum()) * float(c.cost.max(initial=0.0) or 1.0)
    if a.value < -1e-9 * scale:
        found.append(f"an adjusted cost of {a.value}")
    if not np.isfinite(a.gradient).all():
        found.append("a gradient that is not finite")
    try:
        exact = otfair.exact_otf(c.scores, c.geometry, c.constraints, **how)
    except otfair.TransportError:
        return [*found, "exact refused"]
    G = c.constraints.vectors[:, c.constraints.column_types]
    there = _weight(c) > 0  # who has no weight is nobody
    program = (c.cost[:, there], mass, G[:, there], c.constraints.target, c.slack)
    lp = full_bounded_lp(*program, caps(c)[there]) if c.bounded else _scaled_lp(*program)
    if abs(exact.value - lp) > 1e-6 * scale:
        found.append(f"an exact cost of {exact.value} where the program has {lp}")
    return found


def _weight(c: Case) -> np.ndarray:
    """Weights of those who may receive; types of which the rows know nobody are shut out."""
    open_types = c.constraints.column_mass > 0
    return np.asarray(c.constraints.column_weight * open_types[c.constraints.column_types])


def _possible(c: Case) -> bool:
    """Whether some scores satisfy the rows, by HiGHS."""
    G = c.constraints.vectors[:, c.constraints.column_types]
    unit = np.abs(G).max(1, initial=0.0) + (np.abs(G).max(1, initial=0.0) == 0)
    total = float(c.constraints.sample_weight @ c.scores)
    fair = G / unit[:, None]
    most = caps(c) if c.bounded else np.full(len(fair[0]), total)
    answer = linprog(
        np.zeros(len(most)),
        A_ub=np.vstack([fair, -fair]), b_ub=np.tile(c.slack / unit, 2),
        A_eq=np.ones((1, len(most))), b_eq=[total],
        bounds=[(0, top if w > 0 else 0) for top, w in zip(most, _weight(c))],
    )  # fmt: skip
    return bool(answer.status == 0)


def _scaled_lp(
    C: np.ndarray, mass: np.ndarray, G: np.ndarray, b: np.ndarray, slack: float
) -> float:
    unit = np.abs(G).max(1, initial=0.0)
    unit[unit == 0] = 1.0
    return full_lp(C, mass, G / unit[:, None], b / unit, slack / unit)


def caps(c: Case) -> np.ndarray:
    """The most that each column may receive, counted by people and not by the library."""
    given, types = c.constraints.sample_weight, c.constraints.types
    received, into = c.constraints.column_weight, c.constraints.column_types
    all_of = given.sum() / received.sum()
    of_type = [
        max(all_of, given[types == k].sum() / received[into == k].sum()) for k in into.tolist()
    ]
    return np.asarray(received * np.array(of_type))


def _wrong_plan(c: Case, t: otfair.Transport, tol: float) -> list[str]:
    """Judge by the optimality conditions of the whole plan, made from the duals alone."""
    rows, w = c.constraints, _weight(c)
    G = rows.vectors[:, rows.column_types]
    price = t.constraint_duals @ G + t.bound_duals
    exponent = (t.score_duals[:, None] + price - c.cost) / c.epsilon
    plan = rows.sample_weight[:, None] * w * np.exp(np.minimum(exponent, 700))
    mass, f, found = rows.sample_weight * c.scores, plan.sum(0), []
    given = rows.vectors[:, rows.types]
    residual = relative_residual(G, rows.target, mass, f, t.constraint_duals, t.slack, given)
    if residual > tol:
        found.append(f"residual {residual:.1e}")
    if np.abs(plan.sum(1) - mass).max() > tol * mass.max():
        found.append("people do not give what they have")
    most, b = caps(c), t.bound_duals
    if c.bounded:
        size = np.maximum(f, 1e-6 * mass.sum()) + most
        if ((f - most) / size).max() > tol:
            found.append("somebody receives too much")
        if b.max() > 0 or (np.abs(f - most) / size)[b < 0].max(initial=0) > tol:
            found.append("a bound has a price where it does not bind")
    elif b.any():
        found.append("a bound where there is none")
    return found
