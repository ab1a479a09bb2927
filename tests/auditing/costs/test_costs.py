"""Costs of fairness: the cheapest plan, continuous attributes, and solvers that fail."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

import otfair
from otfair.auditing import _groups
from otfair.auditing.costs import _costs, _distances
from otfair.auditing.costs._distances import median_distance
from otfair.auditing.costs._solving import TOLL

N = 400
approx = pytest.approx


@pytest.fixture(scope="module")
def data():
    return otfair.load_dataset("synthetic", n=N)


def programs(h, C, group):
    """The least cost of fair scores, and the least that moves at this cost, over all pairs."""
    n = len(h)
    rows = np.kron(np.eye(n), np.ones(n))  # what each person has is sent
    fair = [np.tile((group == g) - np.mean(group == g), n) for g in np.unique(group)]
    A, b = np.vstack([rows, *fair]), np.append(h, np.zeros(len(fair)))
    cheapest = linprog(C.ravel(), A_eq=A, b_eq=b)
    moves = (group[:, None] != group).astype(float).ravel()
    bound = [cheapest.fun + 1e-8]
    least = linprog(moves, A_ub=[C.ravel()], b_ub=bound, A_eq=A, b_eq=b)
    return cheapest.fun / h.sum(), least.fun / h.sum()


@pytest.mark.parametrize("alone", [False, True])
def test_of_the_cheapest_plans_one_that_moves_least_is_shown(alone):
    # Twins of two groups could swap their scores for nothing.
    rng = np.random.default_rng(0)
    n = 40
    X, group = rng.integers(2, size=(n, 2)).astype(float), rng.choice(["a", "b", "c"], n)
    X[group == "c", 0] += 3 * alone  # then a group has no twins elsewhere, and the cost is not 0
    h = np.clip(0.3 + 0.3 * (group == "a") + 0.3 * rng.random(n), 0, 1)
    for order in (np.arange(n), rng.permutation(n)):
        a = otfair.audit(h[order], X[order], sensitive_features=group[order], n_bootstrap=0)
        points = a.features.encode(np.arange(n))
        C = (
            otfair.PointCloud(points, scale=median_distance(points, np.ones(n)))
            .cost_matrix()
            .numpy()
        )
        cost, moved = programs(h[order], C, group[order])
        found = a.findings[0].cost
        assert found.exact.value == approx(cost, abs=1e-8)
        assert (cost > 0.01) == alone
        assert found.moved == approx(moved, abs=1e-5)
        assert sum(flow.mass for flow in found.flows) == approx(moved, abs=1e-5)
        assert found.gap <= TOLL


def test_a_continuous_attribute_is_not_binned_where_its_values_are_few_enough():
    # One program over all pairs of people, with the covariance with age as the only constraint.
    rng = np.random.default_rng(0)
    n = 50
    age, X = rng.gamma(2, 10, n), rng.normal(size=(n, 2))
    h = 1 / (1 + np.exp(-0.1 * (age - 20) - 0.5 * X[:, 0]))
    a = otfair.audit(h, X, sensitive_features={"age": age}, n_bootstrap=0, bounded=False)
    points = a.features.encode(np.arange(n))
    C = otfair.PointCloud(points, scale=median_distance(points, np.ones(n))).cost_matrix().numpy()
    A = np.vstack([np.kron(np.eye(n), np.ones(n)), np.tile(age - age.mean(), n)])
    best = linprog(C.ravel(), A_eq=A, b_eq=np.append(h, 0))
    cost = a.findings[0].cost
    assert cost.exact.value == approx(best.fun / h.sum(), abs=1e-7)
    assert (cost.bins, cost.left) == (None, None)
    fair = h.copy()
    np.add.at(fair, cost.pairs.giver, -cost.pairs.mass * h.sum())
    np.add.at(fair, cost.pairs.receiver, cost.pairs.mass * h.sum())
    assert np.corrcoef(fair, age)[0, 1] == approx(0, abs=1e-9)
    assert " bins" not in a.to_html()


def test_bins_of_a_continuous_attribute_are_told(data, monkeypatch):
    monkeypatch.setattr(_groups, "MAX_ENTRIES", 20 * N)
    h, age = np.asarray(data.truth.scores), np.random.default_rng(0).gamma(2, 10, N)
    h = np.clip(h + 0.01 * age, 0, 1)
    a = otfair.audit(h, data.X, sensitive_features={"age": age}, n_bootstrap=0)
    cost = a.findings[0].cost
    fair = h.copy()
    np.add.at(fair, cost.pairs.giver, -cost.pairs.mass * h.sum())
    np.add.at(fair, cost.pairs.receiver, cost.pairs.mass * h.sum())
    assert cost.bins == 20
    assert cost.left == approx(abs(np.corrcoef(fair, age)[0, 1]), rel=1e-6)
    assert 1e-6 < cost.left < 0.1
    assert "with age in 20 bins" in a.to_html()


def test_score_that_stays_in_a_quarter_is_named_so(data):
    wealth = np.random.default_rng(0).lognormal(0, 1.5, N)
    h = np.clip(0.2 + 0.02 * wealth + 0.1 * np.asarray(data.truth.scores), 0, 1)
    a = otfair.audit(h, data.X, sensitive_features={"wealth": wealth}, n_bootstrap=0)
    assert any(flow.within for flow in a.findings[0].cost.flows)
    assert "others of the same" in a.to_html()
    assert "score also moves between people of one quarter" in a.to_html()


def test_what_a_solver_does_not_find_is_told(data, monkeypatch):
    def fails(*args, **options):
        raise otfair.TransportError("the linear program failed: rescale `cost`")

    options = {"sensitive_features": data.sensitive_features["sex"], "n_bootstrap": 0}
    with monkeypatch.context() as patch:
        patch.setattr(_costs, "adjusted_otf", fails)
        a = otfair.audit(data.truth.scores, data.X, **options)
    said = "sex, demographic_parity: no smooth cost was found: the linear program failed: rescale"
    assert a.record.notes[-1].startswith(said)
    assert (a.findings[0].cost.exact.value > 0, a.findings[0].cost.smooth) == (True, None)
    assert "no smooth cost was found" in a.to_html()
    assert "Euclidean" in a.to_html()
    monkeypatch.setattr(_costs, "solve_bounded", fails)
    a = otfair.audit(data.truth.scores, data.X, **options)
    assert "no cheapest plan was found: the linear program failed" in a.record.notes[-1]
    assert a.findings[0].cost.exact is None
    page = a.to_html()
    assert "no cheapest plan was found" in page
    assert "Euclidean" not in page
    assert "none: no cost was found that they are part of" in page


def test_plans_within_bounds_are_proposals(data):
    # Fair scores that the plan makes are scores, and fair.
    s, h = data.sensitive_features["sex"], np.asarray(data.truth.scores)
    a = otfair.audit(h, data.X, sensitive_features=s, n_bootstrap=50)
    free = otfair.audit(h, data.X, sensitive_features=s, n_bootstrap=50, bounded=False)
    cost, unbounded = a.findings[0].cost, free.findings[0].cost
    assert (cost.bounded, unbounded.bounded) == (True, False)
    assert unbounded.piled > 1
    assert cost.exact.value > unbounded.exact.value
    assert cost.exact.low <= cost.exact.value <= cost.exact.high
    fair = h.copy()
    np.add.at(fair, cost.pairs.giver, -cost.pairs.mass * h.sum())
    np.add.at(fair, cost.pairs.receiver, cost.pairs.mass * h.sum())
    assert fair.max() <= 1 + 1e-9
    assert fair.min() >= -1e-9
    means = [fair[s == group].mean() for group in np.unique(s)]
    assert np.ptp(means) < 1e-6
    assert "the plan is a proposal" in a.to_html()
    assert "it is a measure, not a proposal" in free.to_html()
    assert a.record.settings["bounded"] is True


def test_intervals_within_bounds_are_those_of_costs_solved_anew():
    # To first order: the spread of costs of resamples that are solved, in the same resamples.
    rng = np.random.default_rng(0)
    n = 120
    X, s = rng.normal(size=(n, 2)), np.where(np.arange(n) % 2, "a", "b")
    h = np.where(s == "a", 0.8, 0.45) + 0.15 * rng.random(n)
    found = otfair.audit(h, X, sensitive_features={"s": s}, n_bootstrap=200).findings[0].cost
    points = otfair.audit(h, X, sensitive_features={"s": s}, n_bootstrap=0).features.encode(
        np.arange(n)
    )
    scale, costs = median_distance(points, np.ones(n)), []
    for _ in range(60):
        some = rng.integers(0, n, n)
        fair = otfair.DemographicParity().constraints(s[some])
        cloud = otfair.PointCloud(points[some], scale=scale)
        t = otfair.exact_otf(h[some], cloud, fair, bounded=True)
        costs.append(t.value / h[some].sum())
    spread = (found.exact.high - found.exact.low) / (2 * 1.96)
    assert spread == approx(np.std(costs), rel=0.4)


def test_too_many_people_for_distances_between_all_are_an_error(data, monkeypatch):
    monkeypatch.setattr(_distances, "MAX_BETWEEN", 100)
    with pytest.raises(MemoryError, match="bounded=False"):
        otfair.audit(
            data.truth.scores, data.X, sensitive_features=data.sensitive_features["sex"],
            n_bootstrap=0, bounded=True,
        )  # fmt: skip


def test_predictive_parity_is_audited_without_bounds():
    rng = np.random.default_rng(0)
    n = 60
    s = np.where(np.arange(n) % 2, "a", "b")
    y = (rng.random(n) < np.where(s == "a", 0.8, 0.2)).astype(int)
    h, X = rng.uniform(0.6, 1, n), rng.normal(size=(n, 2))
    a = otfair.audit(
        h, X, sensitive_features={"s": s}, labels=y, notions="predictive_parity", n_bootstrap=0
    )
    assert a.findings[0].cost.exact is not None
    assert a.findings[0].cost.bounded is False


def test_flows_that_only_rounding_tells_apart_are_in_the_order_of_their_types():
    mass = np.array([0.0, 0.1 + 0.2, 0.3, 0.5])  # 0.1 + 0.2 > 0.3
    for own in (mass, mass[[0, 2, 1, 3]]):
        found = _costs.flows_of(own, own, ("a", "b"))
        assert [(f.giver, f.receiver) for f in found] == [("b", "b"), ("a", "b"), ("b", "a")]
