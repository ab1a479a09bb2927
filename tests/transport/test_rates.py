"""Transport to equal precision: at the scores' own rate, and at the one that is cheapest."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog

import otfair
from otfair import PredictiveParity


def problem_of(seed: int, groups: int = 2, n: int = 24):
    rng = np.random.default_rng(seed)
    g = np.concatenate([np.repeat(np.arange(groups), 2), rng.integers(0, groups, n)])
    y = (rng.random(len(g)) < rng.uniform(0.2, 0.8, groups)[g]).astype(int)
    y[: 2 * groups] = np.tile([0, 1], groups)
    X = rng.normal(size=(len(g), 2)) + 0.5 * g[:, None] + rng.normal() * y[:, None]
    return g.astype(str), y, X, rng.random(len(g)) * 0.98 + 0.01, rng


def full_program(C, h, g, y, rate):
    """Solve the linear program over all pairs of people."""
    n = len(h)
    groups = np.unique(g)
    rows = [np.tile((g == s) * (y - rate), n) for s in groups]
    A = sp.vstack([sp.kron(sp.eye_array(n), np.ones((1, n))), sp.csr_array(np.array(rows))])
    b = np.concatenate([h, np.zeros(len(groups))])
    return linprog(C.ravel(), A_eq=A.tocsr(), b_eq=b, options={"presolve": False}).fun


def precisions(f, g, y):
    return [float((f * y)[g == s].sum() / f[g == s].sum()) for s in np.unique(g)]


@pytest.mark.parametrize("seed", range(3))
def test_at_a_rate_it_is_the_linear_program(seed):
    g, y, X, h, _ = problem_of(seed, groups=2 + seed % 2)
    people = otfair.PointCloud(X)
    C = people.cost_matrix().numpy()
    for rate in (0.25, 0.5, 0.7):
        c = PredictiveParity(rate=rate).constraints(g, y)
        t = otfair.exact_otf(h, people, c)
        assert t.value == pytest.approx(full_program(C, h, g, y, rate), abs=1e-7)
        assert precisions(t.fair_scores, g, y) == pytest.approx([rate] * len(set(g)), abs=1e-6)
        smooth = otfair.smooth_otf(h, people, c, epsilon=1e-3)
        assert smooth.converged
        assert smooth.transport_cost == pytest.approx(t.value, rel=0.05, abs=0.02)


@pytest.mark.parametrize("seed", range(4))
def test_without_a_rate_no_rate_is_cheaper(seed):
    g, y, X, h, _ = problem_of(seed, groups=2 + seed % 2)
    people = otfair.PointCloud(X)
    t = otfair.exact_otf(h, people, PredictiveParity().constraints(g, y))
    rate = t.problem.constraints.rates["group"]
    C = people.cost_matrix().numpy()
    assert t.value == pytest.approx(full_program(C, h, g, y, rate), abs=1e-7)
    least = min(full_program(C, h, g, y, one) for one in np.linspace(0.02, 0.98, 97))
    assert t.value <= least + 1e-9
    assert t.converged
    assert abs(t.gap) < 1e-9


def test_the_cheapest_rate_may_be_outside_of_those_that_groups_have():
    # Score goes for free from negatives of b to positives of a, and nowhere else: both become more
    # precise. With x moved, (5 + x) / (10 + x) = 4 / (10 - x), so that x^2 - x - 10 = 0.
    g, y = np.array(["a", "a", "b", "b"]), np.array([1, 0, 1, 0])
    C = np.full((4, 4), 1.0)
    np.fill_diagonal(C, 0.0)
    C[3, 0] = 0.0
    h = np.array([0.5, 0.5, 0.4, 0.6])
    t = otfair.exact_otf(h, otfair.CostMatrix(C), PredictiveParity().constraints(g, y))
    x = (1 + 41**0.5) / 20
    assert t.value == pytest.approx(0.0, abs=1e-7)
    assert t.problem.constraints.rates["group"] == pytest.approx((0.5 + x) / (1 + x), abs=1e-4)


def test_fair_scores_cost_nothing_and_keep_their_rate():
    g, y, X, h, _ = problem_of(5)
    people, c = otfair.PointCloud(X), PredictiveParity().constraints(g, y)
    t = otfair.exact_otf(h, people, c)
    fair = t.fair_scores / t.fair_scores.max()
    assert otfair.exact_otf(fair.clip(1e-9), people, c).value == pytest.approx(0.0, abs=1e-6)
    a = otfair.adjusted_otf(fair.clip(1e-9), people, c, 0.01)
    assert abs(a.value) < 1e-6


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("slack", [0.0, 0.05])
def test_the_gradient_knows_that_the_rate_moves_with_the_scores(seed, slack):
    g, y, X, h, rng = problem_of(seed, groups=2 + seed % 2)
    weight = rng.uniform(0.5, 2, len(h)) if seed % 2 else None
    people, c = otfair.PointCloud(X), PredictiveParity().constraints(g, y, weight)

    def cost(scores):
        return otfair.adjusted_otf(scores, people, c, 0.05, slack, tol=1e-11)

    a = cost(h)
    assert a.value > 0
    direction = rng.normal(size=len(h)) * np.minimum(h, 1 - h)
    step = 1e-5
    ends = [cost(h + s * step * direction).value for s in (-1, 1)]
    assert (ends[1] - ends[0]) / (2 * step) == pytest.approx(a.gradient @ direction, rel=1e-5)
    if not slack:  # homogeneous in the scores, as precision does not depend on their size
        assert a.gradient @ h == pytest.approx(a.value, rel=1e-7)


def test_the_three_costs_at_the_scores_own_rate_agree():
    g, y, X, h, _ = problem_of(8)
    people, c = otfair.PointCloud(X), PredictiveParity().constraints(g, y)
    own = PredictiveParity(rate=c.at(h).rates["group"]).constraints(g, y)
    a = otfair.adjusted_otf(h, people, c, 0.02)
    smooth, relaxed = (
        solve(h, people, c, 0.02) for solve in (otfair.smooth_otf, otfair.relaxed_otf)
    )
    assert a.value == pytest.approx(smooth.value - relaxed.value, abs=1e-9)
    assert a.value == pytest.approx(otfair.adjusted_otf(h, people, own, 0.02).value, abs=1e-9)
    warm = otfair.adjusted_otf(h * 0.99, people, c, 0.02, init=a)
    assert warm.value == pytest.approx(0.99 * a.value, rel=1e-6)


def test_how_a_cost_changes_with_the_rate_follows_from_its_duals():
    # dT / d rate = sum_s mu_s sum_{j in s} f_j, for rows that are not divided by shares.
    g, y, X, h, _ = problem_of(9)
    people = otfair.PointCloud(X)

    def solved(rate):
        G = np.array([(g == s) * (y - rate) for s in np.unique(g)])
        return otfair.smooth_otf(h, people, otfair.Constraints.from_matrix(G), 0.05, tol=1e-11)

    for rate in (0.3, 0.5, 0.7):
        t = solved(rate)
        slope = sum(mu * t.fair_scores[g == s].sum() for mu, s in zip(t.constraint_duals, "01"))
        ends = [solved(rate + s * 1e-4).value for s in (-1, 1)]
        assert (ends[1] - ends[0]) / 2e-4 == pytest.approx(slope, rel=1e-5)


def test_weights_are_copies_at_the_cheapest_rate():
    g, y, X, h, rng = problem_of(10, n=12)
    weight = rng.integers(1, 4, len(h))
    r = np.repeat(np.arange(len(h)), weight)
    scale = 1.0
    few = otfair.exact_otf(
        h, otfair.PointCloud(X, scale=scale), PredictiveParity().constraints(g, y, weight)
    )
    many = otfair.exact_otf(
        h[r], otfair.PointCloud(X[r], scale=scale), PredictiveParity().constraints(g[r], y[r])
    )
    assert few.value == pytest.approx(many.value, abs=1e-6)


def test_false_omission_is_linear_with_a_target():
    # Of what is withheld, sum_s (1 - f) (y - rate) = 0: the same rows, with b_s = sum_s (y - rate).
    g, y, X, h, _ = problem_of(11)
    rate = float((1 - h) @ y / (1 - h).sum())
    G = np.array([(g == s) * (y - rate) for s in np.unique(g)])
    c = otfair.Constraints.from_matrix(G, target=G.sum(1))
    f = otfair.exact_otf(h, otfair.PointCloud(X), c).fair_scores
    omitted = [float(((1 - f) * y)[g == s].sum() / (1 - f)[g == s].sum()) for s in np.unique(g)]
    assert omitted == pytest.approx([rate, rate], abs=1e-6)


def test_wrong_scores_are_told_as_for_other_notions():
    g, y, X, h, _ = problem_of(12)
    people, c = otfair.PointCloud(X), PredictiveParity().constraints(g, y)
    with pytest.raises(ValueError, match="one entry per person"):
        otfair.exact_otf(h[:-1], people, c)
    with pytest.raises(ValueError, match=r"`scores` must lie in \(0, 1\]"):
        otfair.adjusted_otf(np.append(h[:-1], 1.5), people, c)
    column = otfair.exact_otf(h[:, None], people, c)
    assert column.value == pytest.approx(otfair.exact_otf(h, people, c).value)
