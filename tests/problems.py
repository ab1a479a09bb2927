"""Random transport problems, and judgements of solutions made apart from the library's solvers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.optimize import linprog
from scipy.spatial.distance import cdist

import otfair


@dataclass(frozen=True)
class Problem:
    scores: np.ndarray
    X: np.ndarray
    sensitive: dict[str, np.ndarray]
    labels: np.ndarray
    notion: otfair.Notion
    epsilon: float
    slack: float
    weight: np.ndarray | None
    generic: bool  # scores are continuous random numbers, so that derivatives exist

    @property
    def cost(self) -> np.ndarray:
        C = cdist(self.X, self.X)
        return C / (C.max() or 1.0)

    @property
    def geometry(self) -> otfair.PointCloud:
        return otfair.PointCloud(self.X)

    @property
    def constraints(self) -> otfair.Constraints:
        return self.notion.constraints(self.sensitive, self.labels, self.weight)


def random_problem(seed: int) -> Problem:
    """A problem from the whole range that the solver promises to handle, by seed."""
    rng = np.random.default_rng(seed)
    big = rng.random() < 0.15
    n = int(rng.integers(1001, 2002)) if big else int(np.exp(rng.uniform(np.log(2), np.log(300))))
    p = int(rng.integers(1, 8))
    X = rng.normal(size=(n, p)) * np.exp(rng.normal(size=p))
    if rng.random() < 0.3:  # many identical people, across groups
        X = X[rng.integers(0, max(1, n // 3), n)]
    if rng.random() < 0.2:  # a few distinct values
        X = np.round(X)
    labels = _at_least_one_of_each(rng.random(n) < rng.uniform(0.1, 0.9), rng).astype(int)
    sensitive = _sensitive(rng, n, X, big)
    kinds = [
        otfair.DemographicParity(),
        otfair.EqualizedOdds(),
        otfair.EqualOpportunity(),
        otfair.PredictiveEquality(),
        otfair.DemographicParity(intersectional=True),
        otfair.EqualizedOdds() & otfair.DemographicParity(),
    ]
    notion = kinds[int(rng.choice(len(kinds), p=[0.3, 0.3, 0.1, 0.1, 0.1, 0.1]))]
    if not len(notion.constraints(sensitive, labels)):
        notion = kinds[0]  # few people may leave the others nothing to compare
    style = rng.choice(
        ["logistic", "uniform", "tiny", "constant", "tied"], p=[0.4, 0.25, 0.2, 0.1, 0.05]
    )
    if style == "logistic":
        unfair = rng.normal(scale=2) * (next(iter(sensitive.values())) == 0)
        scores = 1 / (1 + np.exp(-(X @ rng.normal(size=p) + unfair)))
    elif style == "uniform":
        scores = rng.uniform(size=n)
    elif style == "tiny":
        scores = 10 ** rng.uniform(-6, 0, size=n)
    elif style == "constant":
        scores = np.full(n, rng.uniform(0.01, 1))
    else:
        scores = rng.choice([0.1, 0.5, 1.0], size=n)
    scores = np.clip(scores, 1e-6, 1.0)
    weight = rng.integers(1, 4, n).astype(float) if rng.random() < 0.15 else None
    return Problem(
        scores=scores,
        X=X,
        sensitive=sensitive,
        labels=labels,
        notion=notion,
        epsilon=float(10 ** rng.uniform(-5, 1)),
        slack=float(rng.choice([0.0, 10 ** rng.uniform(-4, 0) * n / 10])),
        weight=weight,
        generic=style in ("logistic", "uniform", "tiny"),
    )


def _sensitive(
    rng: np.random.Generator, n: int, X: np.ndarray, rare: bool
) -> dict[str, np.ndarray]:
    out: dict[str, np.ndarray] = {}
    for a in range(int(rng.integers(1, 4))):
        kind = rng.choice(
            ["binary", "categories", "continuous", "one person"], p=[0.4, 0.3, 0.2, 0.1]
        )
        if rare and a == 0:  # 1 person in 1000
            out["s0"] = np.zeros(n, dtype=int)
            out["s0"][rng.integers(n)] = 1
        elif kind == "binary":
            out[f"s{a}"] = _at_least_one_of_each(
                rng.random(n) < rng.uniform(0.02, 0.5), rng
            ).astype(int)
        elif kind == "categories":
            out[f"s{a}"] = rng.integers(0, int(rng.integers(2, 8)), n)
            out[f"s{a}"][:2] = [0, 1]
        elif kind == "continuous":
            values = rng.normal(size=n) + X[:, 0]
            out[f"s{a}"] = values if n <= 60 else np.round(values) + 0.5 * (np.arange(n) % 2)
            if len(np.unique(out[f"s{a}"])) < 2:
                out[f"s{a}"][0] += 1.0
        else:
            out[f"s{a}"] = np.zeros(n, dtype=int)
            out[f"s{a}"][rng.integers(n)] = 1
    return out


def _at_least_one_of_each(flags: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    i, j = rng.permutation(len(flags))[:2]
    flags[i], flags[j] = True, False
    return flags


@dataclass(frozen=True)
class LinearProblem:
    """Rows of a user's own, where those who give score need not be those who receive it."""

    scores: np.ndarray  # (n,)
    cost: np.ndarray  # (n, m)
    geometry: otfair.PointCloud
    constraints: otfair.Constraints
    row_matrix: np.ndarray  # G (d, n)
    column_matrix: np.ndarray  # G (d, m)
    epsilon: float
    slack: np.ndarray  # (d,)


def random_linear_problem(seed: int) -> LinearProblem:
    """Any G, dependent rows too, and a target that some positive scores reach, by seed."""
    rng = np.random.default_rng([seed, 2])
    people, d = int(rng.integers(2, 100)), int(rng.integers(1, 41))
    K = int(rng.integers(1, people + 1))
    V = rng.normal(size=(d, K)) if rng.random() < 0.5 else rng.integers(-1, 2, (d, K)).astype(float)
    G = V[:, rng.integers(0, K, people)]
    rows = columns = np.arange(people)
    if rng.random() < 0.5:
        rows = rng.integers(0, people, int(rng.integers(1, people + 1)))
        columns = rng.permutation(people)[: int(rng.integers(1, people + 1))]
    weight = np.ones(people)
    if rng.random() < 0.3:  # people who do not count, and people who count more than once
        weight = rng.integers(0, 4, people).astype(float)
        weight[[rows[0], columns[0]]] = 1.0
    h = np.clip(10 ** rng.uniform(-6, 0, len(rows)), 1e-6, 1.0)
    mass = weight[rows] @ h
    fair = rng.uniform(0.1, 1, len(columns)) * weight[columns]
    target = G[:, columns] @ (fair * mass / fair.sum())
    slack = rng.choice([0.0, 1.0]) * rng.choice([0.0, 1e-3, 0.1], d) * mass

    name = str(rng.choice(["euclidean", "sqeuclidean", "cityblock", "cosine"]))
    X = rng.normal(size=(people, 4))
    C = cdist(X[rows], X[columns], name)
    cost = name if rng.random() < 0.8 else lambda x, y: np.asarray(cdist(x, y, name))
    return LinearProblem(
        scores=h,
        cost=C / (C.max() or 1.0),
        geometry=otfair.PointCloud(X[rows], X[columns], cost=cost),
        constraints=otfair.Constraints.from_matrix(
            G, target, sample_weight=weight, rows=rows, columns=columns
        ),
        row_matrix=G[:, rows],
        column_matrix=G[:, columns],
        epsilon=float(10 ** rng.uniform(-5, 1)),
        slack=slack,
    )


def full_plan(problem: Problem | LinearProblem, t: otfair.Transport) -> np.ndarray:
    """The coupling from the duals and the whole cost matrix, with no use of types."""
    c = t.problem.constraints
    price = t.constraint_duals @ c.vectors[:, c.column_types] + t.bound_duals
    exponent = (t.score_duals[:, None] + price - problem.cost) / problem.epsilon
    return c.sample_weight[:, None] * c.column_weight * np.exp(np.minimum(exponent, 700))


def relative_residual(
    G: np.ndarray,
    b: np.ndarray,
    mass: np.ndarray,
    f: np.ndarray,
    mu: np.ndarray,
    gamma: np.ndarray,
    rows: np.ndarray | None = None,
) -> float:
    """The residual of the design page, from a full plan's column sums.

    `rows` is G of those who give score, where they are not those who receive it.
    """
    if not len(G):
        return 0.0
    r = b - G @ f
    v = np.where(mu != 0, np.abs(r - gamma * np.sign(mu)), np.maximum(np.abs(r) - gamma, 0))
    size, given = np.abs(G), np.abs(G if rows is None else rows)
    floor = 1e-6 * size.max(1) * mass.sum()
    s = np.maximum(np.maximum(size @ f, given @ mass), floor) + np.abs(b)
    return float((v / np.where(s > 0, s, 1.0)).max())


def full_lp(C: np.ndarray, mass: np.ndarray, G: np.ndarray, b: np.ndarray, slack: float) -> float:
    """Optimum of the n x n linear program, by HiGHS, with no use of types."""
    n, m = C.shape
    rows = np.kron(np.eye(n), np.ones(m))
    fair = np.tile(G, n)  # acts on column sums
    answer = linprog(
        C.ravel(),
        A_eq=rows, b_eq=mass,
        A_ub=np.vstack([fair, -fair]), b_ub=np.concatenate([b + slack, slack - b]),
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )  # fmt: skip
    assert answer.status == 0, answer.message
    return float(answer.fun)


def cloud(seed: int, n: int | None = None) -> np.ndarray:
    """Random features, often of people who are identical, or of one far away."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 60)) if n is None else n
    X = rng.normal(size=(n, int(rng.integers(1, 6)))) + 0.1
    if rng.random() < 0.4:
        X = np.round(X) + 0.25  # many identical people
    if rng.random() < 0.3:
        X[rng.integers(n)] *= 1e3  # one far away
    return X


def full_bounded_lp(
    C: np.ndarray, mass: np.ndarray, G: np.ndarray, b: np.ndarray, slack: float, caps: np.ndarray
) -> float:
    """The exact cost with bounds as one linear program over the whole plan."""
    n, m = C.shape
    rows = sparse.kron(sparse.eye_array(n), np.ones((1, m)), format="csr")
    columns = sparse.kron(np.ones((1, n)), sparse.eye_array(m), format="csr")
    fair = sparse.csr_array(G) @ columns
    answer = linprog(
        C.ravel(),
        A_ub=sparse.vstack([fair, -fair, columns]),
        b_ub=np.concatenate([b + slack, slack - b, caps]),
        A_eq=rows,
        b_eq=mass,
    )
    assert answer.status == 0, answer.message
    return float(answer.fun)
