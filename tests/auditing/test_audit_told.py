"""Audits tell the least that moves, what a sample can say, and nothing that is not so."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog
from scipy.spatial.distance import pdist

import otfair
from otfair.auditing import _costs, _groups
from otfair.auditing._solving import TOLL
from otfair.auditing._weighted import typical
from otfair.auditing.report import _page as _report

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
        C = otfair.PointCloud(points, scale=typical(points, np.ones(n))).cost_matrix().numpy()
        cost, moved = programs(h[order], C, group[order])
        found = a.findings[0].cost
        assert found.exact.value == approx(cost, abs=1e-8)
        assert (cost > 0.01) == alone
        assert found.moved == approx(moved, abs=1e-5)
        assert sum(flow.mass for flow in found.flows) == approx(moved, abs=1e-5)
        assert found.gap <= TOLL


def test_a_rate_at_an_end_is_not_certain():
    # A group of 40, all above the threshold: Wilson's interval begins at n / (n + z^2).
    wilson = 40 / (40 + 1.96**2)
    rng = np.random.default_rng(0)
    group = np.repeat(["a", "b"], [40, 360])
    h = np.where(group == "a", rng.uniform(0.6, 0.9, 400), rng.uniform(0.05, 0.95, 400))
    v = otfair.audit(h, sensitive_features=group, n_bootstrap=2000).findings[0].violation
    all_of_a = v.groups[0].rate
    assert (all_of_a.value, all_of_a.high) == (1, approx(1, abs=1e-3))
    assert all_of_a.low == approx(wilson, abs=0.01)
    decided = (h > 0.5) & (group == "b")
    v = otfair.audit(decided, sensitive_features=group, labels=decided).findings[0].violation
    none_of_a = v.groups[0]
    assert none_of_a.rate.high == approx(1 - wilson, abs=0.02)
    assert none_of_a.base_rate.high == approx(1 - wilson, abs=0.02)
    assert v.rate_ratio.value == 0
    assert 0.05 < v.rate_ratio.high < 0.3
    # All of both groups decided alike: the difference may still not be 0.
    fair = otfair.audit(0.6 + 0.1 * h, sensitive_features=group).findings[0].violation
    assert 0.03 < fair.rate_difference.high < 0.15


@pytest.mark.parametrize(("scale", "shift"), [(1e-7, 0.0), (1e-9, 0.0), (1e-7, 0.9)])
def test_scores_that_hardly_differ_are_as_unfair(data, scale, shift):
    options = {"sensitive_features": data.sensitive_features[["sex", "age"]], "labels": data.y}
    h = np.asarray(data.truth.scores)
    plain, tiny = (otfair.audit(x, n_bootstrap=20, **options) for x in (h, shift + scale * h))
    for a, b in zip(plain.violations, tiny.violations):
        for one, two in ((a.value.value, b.value.value), (a.value.high, b.value.high)):
            assert two == approx(one, rel=1e-5)
        assert b.chance == approx(a.chance, rel=1e-5)
        wide = [[g.mean_score.high - g.mean_score.low for g in v.groups] for v in (a, b)]
        assert wide[1] == approx(scale * np.array(wide[0]), rel=1e-5)


def test_equal_scores_within_a_label_are_fair(data):
    h = np.where(data.y == 1, 0.7, 0.1 + 1e-17)
    options = {"sensitive_features": data.sensitive_features[["sex", "age"]], "labels": data.y}
    fair = otfair.audit(h, notions="equalized_odds", n_bootstrap=20, **options)
    assert [(v.value.value, v.value.high, v.chance) for v in fair.violations] == [(0, 0, 0)] * 2


def test_a_group_of_one_says_next_to_nothing():
    h = np.linspace(0.1, 0.9, 60)
    a = otfair.audit(h, sensitive_features=["a"] * 59 + ["b"])
    alone = a.findings[0].violation.groups[1]
    assert alone.small
    assert alone.mean_score.high - alone.mean_score.low > 0.5
    assert alone.rate.high - alone.rate.low > 0.5
    heavy = otfair.audit(h, sensitive_features=["a"] * 59 + ["b"], sample_weight=[100] * 60)
    assert heavy.findings[0].violation.groups[1].rate == alone.rate  # one person all the same


def test_nobody_is_a_typical_distance_from_themselves():
    points = np.random.default_rng(0).normal(size=(20, 3))
    assert typical(points, np.ones(20)) == approx(np.median(pdist(points)))
    assert typical(np.ones((5, 2)), np.ones(5)) == 1


def test_a_continuous_attribute_is_not_binned_where_its_values_are_few_enough():
    # One program over all pairs of people, with the covariance with age as the only constraint.
    rng = np.random.default_rng(0)
    n = 50
    age, X = rng.gamma(2, 10, n), rng.normal(size=(n, 2))
    h = 1 / (1 + np.exp(-0.1 * (age - 20) - 0.5 * X[:, 0]))
    a = otfair.audit(h, X, sensitive_features={"age": age}, n_bootstrap=0)
    points = a.features.encode(np.arange(n))
    C = otfair.PointCloud(points, scale=typical(points, np.ones(n))).cost_matrix().numpy()
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
    monkeypatch.setattr(_groups, "ENTRIES", 20 * N)
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


def test_people_who_differ_a_little_do_not_differ_in_nothing():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"near": rng.normal(size=300), "client_id": [f"<c{k}>" for k in range(300)]})
    group = np.repeat(["a", "b"], 150)
    h = 0.3 + 0.2 * (group == "a") + 0.2 * rng.random(300)
    a = otfair.audit(h, X, sensitive_features=group, n_bootstrap=0)
    first = _report.pairs(a, a.findings[0])[0]
    assert 0 < first.distance < 0.25
    assert first.differs == "nothing by more than 0.25 standard deviations"
    giver = a.findings[0].cost.pairs.giver[0]  # named by what is no feature
    assert first.giver_row == f"row {giver}, client_id <c{giver}>"
    assert f"row {giver}, client_id &lt;c{giver}&gt;" in a.to_html()
    twins = otfair.audit(h, X[["near"]].round(0), sensitive_features=group, n_bootstrap=0)
    assert _report.pairs(twins, twins.findings[0])[0].differs == "nothing"


@pytest.mark.parametrize(
    ("differ", "alike", "words", "said"),
    [
        (50, 0, ", 20 more features", "and 20 more features, of which 20 differ<"),
        (35, 5, ", 5 more features", "and 10 more features, of which 5 differ<"),
        (10, 30, ", x9", "and 10 more features that are alike<"),
    ],
)
def test_features_that_are_not_shown_are_not_called_alike(differ, alike, words, said):
    rng = np.random.default_rng(0)
    group = np.repeat(["a", "b"], 20)
    X = {f"x{k}": (group == "a") + rng.normal(0, 1e-3, 40) for k in range(differ)}
    X |= {f"one {k}": np.arange(40) == 39 for k in range(alike)}  # of one person only
    h = 0.3 + 0.2 * (group == "a") + 0.2 * rng.random(40)
    a = otfair.audit(h, X, sensitive_features=group, n_bootstrap=0)
    pairs = _report.pairs(a, a.findings[0])
    assert pairs[0].differs.endswith(words)
    assert said in a.to_html()


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
    monkeypatch.setattr(_costs, "solve", fails)
    a = otfair.audit(data.truth.scores, data.X, **options)
    assert "no cheapest plan was found: the linear program failed" in a.record.notes[-1]
    assert a.findings[0].cost.exact is None
    page = a.to_html()
    assert "no cheapest plan was found" in page
    assert "Euclidean" not in page
    assert "none: no cost was found that they are part of" in page


def test_indexes_that_differ_are_an_error(data):
    h, sex = pd.Series(data.truth.scores), data.sensitive_features["sex"].reset_index(drop=True)
    names = [f"p{k}" for k in range(N)]
    shuffled = h.sample(frac=1, random_state=0)
    with pytest.raises(ValueError, match="the same labels in another order than that of `scores`"):
        otfair.audit(shuffled, sensitive_features=sex, n_bootstrap=0)
    with pytest.raises(ValueError, match=r"index of `labels` has other labels .* `\.to_numpy\(\)`"):
        otfair.audit(
            h.set_axis(names),
            sensitive_features={"sex": sex},
            labels=pd.Series(data.y, index=[*names[::-1][:-1], "q"]),
            n_bootstrap=0,
        )
    # Arrays have no index, and a default one says nothing.
    one = otfair.audit(h.to_numpy(), sensitive_features=sex.set_axis(names), n_bootstrap=0)
    two = otfair.audit(h, sensitive_features=sex.set_axis(names), n_bootstrap=0)
    assert one.worst == two.worst


@pytest.mark.parametrize("notion", ["conditional_parity", otfair.ConditionalParity()])
def test_conditional_parity_wants_to_know_on_what(data, notion):
    options = {"sensitive_features": data.sensitive_features["sex"], "n_bootstrap": 0}
    for labels in (data.y, None):
        with pytest.raises(ValueError, match="pass them as `control_features`"):
            otfair.audit(data.truth.scores, labels=labels, notions=[notion], **options)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (6.94e-5, "< 0.0001"),
        (1.234e-4, "0.000123"),
        (-6e-5, "< 0.0001"),
        (6e-9, "0"),
        (0.0, "0"),
        (0.01234, "0.0123"),
        (1.5, "1.5"),
    ],
)
def test_costs_are_written_without_powers_of_ten(value, text):
    assert _report.decimal(value) == text
