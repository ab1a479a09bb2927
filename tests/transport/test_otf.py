"""The four costs: closed forms, invariances, samples that differ from receivers, bad input."""

from __future__ import annotations

import logging
import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import random_problem
from scipy.optimize import brentq
from scipy.special import logsumexp

import otfair

SOLVERS = [otfair.smooth_otf, otfair.relaxed_otf]
SEEDS = st.integers(0, 400).filter(lambda seed: len(random_problem(seed).scores) < 120)


def test_two_people_in_closed_form():
    # One unknown dual: mu makes the two receive equal mass; solve that equation by bisection.
    a, b, c, eps = 0.8, 0.3, 0.7, 0.1
    C = np.array([[0, c], [c, 0]])
    g = np.array([1.0, -1.0])

    def excess(mu):
        p = np.exp((mu * g - C) / eps)
        return float(np.array([a, b]) @ (p / p.sum(1, keepdims=True)) @ g)

    mu = brentq(excess, -5, 5, xtol=1e-14)
    h = np.array([a, b])
    value = h @ (eps * np.log(h) - eps - eps * logsumexp((mu * g - C) / eps, axis=1))
    t = otfair.smooth_otf(h, otfair.CostMatrix(C), otfair.Constraints.from_matrix([g]), eps)
    assert t.value == pytest.approx(value, abs=1e-12)
    assert t.constraint_duals[0] == pytest.approx(mu, abs=1e-8)
    np.testing.assert_allclose(t.fair_scores, [(a + b) / 2] * 2, atol=1e-8)


def test_constant_scores_cost_zero_under_every_notion_and_have_no_gradient():
    rng = np.random.default_rng(0)
    n = 60
    X = rng.normal(size=(n, 3))
    table = {"sex": rng.choice(["f", "m"], n), "age": rng.normal(size=n)}
    strata, y = rng.choice(["u", "v"], n), rng.integers(0, 2, n)
    for name in (
        "demographic_parity",
        "equalized_odds",
        "equal_opportunity",
        "predictive_equality",
    ):
        c = otfair.as_notion(name).constraints(table, y)
        a = otfair.adjusted_otf(np.full(n, 0.4), otfair.PointCloud(X), c, 1e-2)
        assert abs(a.value) < 1e-10
        assert np.abs(a.gradient).max() < 1e-8
    c = otfair.ConditionalParity().constraints(table, strata)
    assert abs(otfair.adjusted_otf(np.full(n, 0.4), otfair.PointCloud(X), c).value) < 1e-10


def test_relaxed_scores_stay_within_their_own_violation():
    p = random_problem(7)
    c = p.constraints
    t = otfair.relaxed_otf(p.scores, p.geometry, c, 0.05)
    before, after = np.abs(c.matrix @ p.scores), np.abs(c.matrix @ t.fair_scores)
    assert np.all(after <= before + 1e-6 * np.abs(c.matrix) @ p.scores)
    np.testing.assert_allclose(t.slack, before)


def test_relaxed_is_smooth_at_the_slack_of_the_scores():
    p = random_problem(7)
    c = p.constraints
    relaxed = otfair.relaxed_otf(p.scores, p.geometry, c, 0.05)
    same = otfair.smooth_otf(p.scores, p.geometry, c, 0.05, slack=np.abs(c.matrix @ p.scores))
    assert relaxed.value == pytest.approx(same.value, abs=1e-10)


def test_adjusted_is_smooth_minus_relaxed():
    p = random_problem(7)
    a = otfair.adjusted_otf(p.scores, p.geometry, p.constraints, 0.05)
    assert a.value == pytest.approx(a.smooth.value - a.relaxed.value, abs=1e-9)
    assert a.converged
    assert a.residual <= 1e-8


def test_a_slack_that_covers_the_violation_makes_the_adjusted_cost_zero():
    p = random_problem(7)
    c = p.constraints
    slack = 1.01 * np.abs(c.matrix @ p.scores)
    a = otfair.adjusted_otf(p.scores, p.geometry, c, 0.05, slack=slack)
    assert abs(a.value) < 1e-10
    assert np.abs(a.gradient).max() < 1e-8


def test_following_the_gradient_makes_scores_fair():
    rng = np.random.default_rng(0)
    n = 80
    X, s = rng.normal(size=(n, 2)), rng.integers(0, 2, n)
    geometry, c = otfair.PointCloud(X), otfair.DemographicParity().constraints(s)
    logits, a = X[:, 0] + 1.5 * s, None
    for _ in range(400):
        h = 1 / (1 + np.exp(-logits))
        a = otfair.adjusted_otf(h, geometry, c, 1e-2, init=a)
        logits = logits - 2.0 * a.gradient * h * (1 - h)
    start = 1 / (1 + np.exp(-(X[:, 0] + 1.5 * s)))
    assert np.abs(c.matrix @ h).max() < 0.15 * np.abs(c.matrix @ start).max()


@settings(max_examples=25, deadline=None)
@given(SEEDS)
def test_permuting_people_permutes_the_solution(seed: int):
    p = random_problem(seed)
    order = np.random.default_rng(seed).permutation(len(p.scores))
    permuted = {k: v[order] for k, v in p.sensitive.items()}
    w = None if p.weight is None else p.weight[order]
    c = p.notion.constraints(permuted, p.labels[order], w)
    a = otfair.adjusted_otf(p.scores, p.geometry, p.constraints, p.epsilon, p.slack)
    b = otfair.adjusted_otf(p.scores[order], otfair.PointCloud(p.X[order]), c, p.epsilon, p.slack)
    assert b.value == pytest.approx(a.value, rel=1e-6, abs=1e-9)
    assert b.smooth.value == pytest.approx(a.smooth.value, rel=1e-9, abs=1e-9)
    fair = a.smooth.fair_scores[order]
    np.testing.assert_allclose(b.smooth.fair_scores, fair, rtol=1e-4, atol=1e-7)


@settings(max_examples=25, deadline=None)
@given(SEEDS, st.floats(1e-3, 1e3))
def test_scaling_costs_and_epsilon_scales_the_value(seed: int, factor: float):
    p = random_problem(seed)
    C, c = p.cost, p.constraints
    for solve in SOLVERS:
        t = solve(p.scores, otfair.CostMatrix(C), c, p.epsilon, p.slack)
        scaled = solve(p.scores, otfair.CostMatrix(factor * C), c, factor * p.epsilon, p.slack)
        assert scaled.value == pytest.approx(factor * t.value, rel=1e-8, abs=1e-8 * factor)


@settings(max_examples=25, deadline=None)
@given(SEEDS)
def test_scaling_and_repeating_rows_changes_nothing(seed: int):
    p = random_problem(seed)
    c = p.constraints
    rng = np.random.default_rng(seed)
    G = c.matrix
    scaled = 10 ** rng.uniform(-3, 3, len(G))[:, None] * G
    repeated = np.vstack([scaled, G[:1], -2 * G[-1:], G.sum(0, keepdims=True)])
    w = p.weight
    a = otfair.adjusted_otf(p.scores, p.geometry, c, p.epsilon)
    for rows in (scaled, repeated):
        again = otfair.Constraints.from_matrix(rows, sample_weight=w)
        t = otfair.smooth_otf(p.scores, p.geometry, again, p.epsilon)
        assert t.value == pytest.approx(a.smooth.value, rel=1e-8, abs=1e-8)
    b = otfair.adjusted_otf(
        p.scores, p.geometry, otfair.Constraints.from_matrix(scaled, sample_weight=w), p.epsilon
    )
    assert b.value == pytest.approx(a.value, rel=1e-6, abs=1e-8)


@settings(max_examples=25, deadline=None)
@given(SEEDS)
def test_integer_weights_are_copies(seed: int):
    p = random_problem(seed)
    w = np.random.default_rng(seed).integers(1, 4, len(p.scores))
    r = np.repeat(np.arange(len(w)), w)
    c = p.notion.constraints(p.sensitive, p.labels, w)
    copies = p.notion.constraints({k: v[r] for k, v in p.sensitive.items()}, p.labels[r])
    a = otfair.adjusted_otf(p.scores, p.geometry, c, p.epsilon, p.slack)
    b = otfair.adjusted_otf(p.scores[r], otfair.PointCloud(p.X[r]), copies, p.epsilon, p.slack)
    assert b.value == pytest.approx(a.value, rel=1e-6, abs=1e-8)
    assert b.smooth.value == pytest.approx(a.smooth.value, rel=1e-8, abs=1e-8)
    fair = np.repeat(a.smooth.fair_scores, w)
    np.testing.assert_allclose(b.smooth.fair_scores, fair, rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(b.smooth.score_duals, np.repeat(a.smooth.score_duals, w), atol=1e-6)


def test_people_without_weight_do_not_count():
    p = random_problem(38)
    keep = np.arange(len(p.scores)) % 4 != 0
    everyone = p.notion.constraints(p.sensitive, p.labels, keep.astype(float))
    some = p.notion.constraints({k: v[keep] for k, v in p.sensitive.items()}, p.labels[keep])
    scale = p.geometry.scale_
    a = otfair.adjusted_otf(p.scores, p.geometry, everyone, 0.05)
    b = otfair.adjusted_otf(p.scores[keep], otfair.PointCloud(p.X[keep], scale=scale), some, 0.05)
    assert a.value == pytest.approx(b.value, abs=1e-9)
    assert np.all(a.gradient[~keep] == 0)
    np.testing.assert_allclose(a.gradient[keep], b.gradient, atol=1e-7)


class TestRowsThatAreNotTheColumns:
    """Dataset mode: a mini-batch of rows, everybody as columns."""

    def setup_method(self):
        rng = np.random.default_rng(0)
        n = 300
        self.X = rng.normal(size=(n, 3))
        self.table = {"sex": rng.choice(["f", "m"], n), "race": rng.integers(0, 3, n)}
        self.y = rng.integers(0, 2, n)
        self.h = 1 / (1 + np.exp(-self.X[:, 0] - (self.table["sex"] == "m")))
        self.rows = rng.choice(n, 70, replace=False)
        self.geometry = otfair.PointCloud(self.X[self.rows], self.X)

    @pytest.mark.parametrize("name", ["demographic_parity", "equalized_odds"])
    def test_constants_cost_zero(self, name):
        people = otfair.as_notion(name).people(self.table, self.y)
        c = people.constraints(rows=self.rows)
        a = otfair.adjusted_otf(np.full(70, 0.3), self.geometry, c, 1e-2)
        assert abs(a.value) < 1e-10

    @pytest.mark.parametrize("name", ["demographic_parity", "equalized_odds"])
    def test_received_mass_is_fair_and_the_gradient_is_right(self, name):
        people = otfair.as_notion(name).people(self.table, self.y)
        c = people.constraints(rows=self.rows)
        h = self.h[self.rows]
        a = otfair.adjusted_otf(h, self.geometry, c, 1e-2, tol=1e-11)
        G = c.vectors[:, c.column_types]
        assert np.abs(G @ a.smooth.fair_scores).max() < 1e-6
        assert a.smooth.fair_scores.shape == (300,)
        v, step = h * np.random.default_rng(1).uniform(-1, 1, 70), 1e-5
        up, down = (
            otfair.adjusted_otf(h + s * step * v, self.geometry, c, 1e-2, tol=1e-11).value
            for s in (1, -1)
        )
        assert (up - down) / (2 * step) == pytest.approx(a.gradient @ v, rel=1e-5)

    def test_a_batch_without_a_group_drops_its_rows_and_sends_it_nothing(self):
        rows = np.flatnonzero(self.table["race"] != 2)[:70]
        c = otfair.DemographicParity().people(self.table).constraints(rows=rows)
        assert c.dropped == ("race=2",)
        t = otfair.smooth_otf(self.h[rows], otfair.PointCloud(self.X[rows], self.X), c, 1e-2)
        assert t.converged
        assert np.all(t.fair_scores[self.table["race"] == 2] == 0)

    def test_a_batch_of_one_group_has_no_constraint_and_costs_zero(self):
        rows = np.flatnonzero(self.table["sex"] == "f")[:40]
        c = otfair.DemographicParity().people({"sex": self.table["sex"]}).constraints(rows=rows)
        assert len(c) == 0
        assert set(c.dropped) == {"sex=f", "sex=m"}
        a = otfair.adjusted_otf(self.h[rows], otfair.PointCloud(self.X[rows], self.X), c, 1e-2)
        assert a.value == pytest.approx(0, abs=1e-12)
        assert np.abs(a.gradient).max() == pytest.approx(0, abs=1e-12)
        assert a.smooth.constraint_duals.shape == (0,)

    def test_receivers_that_lack_a_group_make_fairness_impossible(self):
        people = otfair.DemographicParity().people(self.table)
        women = np.flatnonzero(self.table["sex"] == "f")
        with pytest.raises(ValueError, match="sex=m"):
            people.constraints(rows=self.rows, columns=women)


def test_a_total_that_no_scores_can_have_is_an_error_that_names_the_row():
    h = np.array([0.2, 0.3, 0.4])
    c = otfair.Constraints.from_matrix([[1, 1, 1]], target=[2.0], names=["sum is two"])
    with pytest.raises(ValueError, match="sum is two"):
        otfair.smooth_otf(h, otfair.PointCloud(np.eye(3)), c)
    loose = otfair.smooth_otf(h, otfair.PointCloud(np.eye(3)), c, slack=1.1)
    assert loose.fair_scores.sum() == pytest.approx(h.sum())


def test_fair_scores_at_the_edge_only_are_warned_of():
    # Row: people 0 and 1 minus the mass of all: only f_2 = 0 will do.
    c = otfair.Constraints.from_matrix([[0.0, 0.0, 1.0]], names=["nothing for the last"])
    for cost in (otfair.smooth_otf, otfair.relaxed_otf, otfair.adjusted_otf):
        with pytest.warns(UserWarning, match="not attained") as told:
            t = cost([0.5, 0.5, 1e-9], otfair.PointCloud(np.eye(3)), c, 0.1)
        assert told[0].filename == __file__  # it points to who called
    assert t.smooth.fair_scores[2] < 1e-6


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([0.5, 1.2, 0.3], "from 0.3 to 1.2"),
        ([0.5, 0.0, 0.3], "clip"),
        ([0.5, np.nan, 0.3], "`scores` must be finite"),
        ([0.5, 0.5], "same people"),
        ([-2.0, 3.0, 0.1], "sigmoid"),
        (["a", "b", "c"], "must be numeric"),
    ],
)
def test_bad_scores_get_an_error_with_a_remedy(scores, message):
    c = otfair.DemographicParity().constraints(["x", "y", "y"])
    with pytest.raises(ValueError, match=message):
        otfair.smooth_otf(scores, otfair.PointCloud(np.eye(3)), c)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"epsilon": 0.0}, "exact_otf"),
        ({"epsilon": -1.0}, "must be positive"),
        ({"slack": -0.1}, "not negative"),
        ({"slack": [0.1, 0.2, 0.3]}, "one per constraint"),
    ],
)
def test_bad_settings_get_an_error_with_a_remedy(arguments, message):
    c = otfair.DemographicParity().constraints(["x", "y", "y"])
    with pytest.raises(ValueError, match=message):
        otfair.smooth_otf([0.1, 0.2, 0.3], otfair.PointCloud(np.eye(3)), c, **arguments)


def test_a_column_of_scores_will_do():
    c = otfair.DemographicParity().constraints(["x", "y", "y"])
    geometry = otfair.PointCloud(np.eye(3))
    flat = otfair.smooth_otf(torch.tensor([0.1, 0.2, 0.3]), geometry, c)
    column = otfair.smooth_otf(torch.tensor([[0.1], [0.2], [0.3]]), geometry, c)
    assert flat.value == column.value


@pytest.mark.slow
def test_warnings_go_to_the_log_and_not_to_the_screen():
    code = (
        "import otfair; c = otfair.EqualOpportunity().constraints(['a', 'b'], [0, 0]); "
        "assert not len(c) and c.dropped"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == run.stderr == ""


def test_the_library_logs_and_never_prints(capsys, caplog):
    p = random_problem(33)  # needs annealing
    with caplog.at_level(logging.DEBUG, logger="otfair"):
        otfair.adjusted_otf(p.scores, p.geometry, p.constraints, 1e-5, p.slack)
    assert "annealing" in caplog.text
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""


def test_what_is_not_a_geometry_or_constraints_is_told_how_to_become_one():
    c = otfair.DemographicParity().constraints(["x", "y", "y"])
    for X in (np.eye(3), [[0.0], [1.0], [2.0]], None):
        with pytest.raises(TypeError, match=r"PointCloud\(X\)"):
            otfair.smooth_otf([0.1, 0.2, 0.3], X, c)
    for notion in ("demographic_parity", otfair.DemographicParity(), np.ones((1, 3))):
        with pytest.raises(TypeError, match=r"\.constraints\(sensitive_features\)"):
            otfair.smooth_otf([0.1, 0.2, 0.3], otfair.PointCloud(np.eye(3)), notion)


def test_an_adjusted_cost_starts_from_a_result_or_a_pair_only():
    c, geometry = otfair.DemographicParity().constraints(["x", "y"]), otfair.PointCloud(np.eye(2))
    a = otfair.adjusted_otf([0.1, 0.2], geometry, c)
    pair = (a.smooth.constraint_duals, a.relaxed.constraint_duals)
    again = otfair.adjusted_otf([0.1, 0.2], geometry, c, init=pair)
    assert again.smooth.iterations == again.relaxed.iterations == 1
    for init in (a.smooth, a.smooth.constraint_duals, pair[:1]):
        with pytest.raises(ValueError, match="a pair"):
            otfair.adjusted_otf([0.1, 0.2], geometry, c, init=init)


def test_the_status_of_the_adjusted_cost_is_that_of_the_worse_problem():
    p = random_problem(7)
    good = otfair.adjusted_otf(p.scores, p.geometry, p.constraints, 1e-3)
    assert good.status is otfair.Status.CONVERGED
    bad = otfair.adjusted_otf(
        p.scores, p.geometry, p.constraints, 1e-3, max_evaluations=3, throw=False
    )
    assert bad.status is otfair.Status.EVALUATION_LIMIT
    assert not bad.converged


@pytest.mark.parametrize("solver", ["newton", "coordinate"])
def test_numbers_past_what_floats_hold_are_a_failure_and_never_converged(solver):
    fair = otfair.DemographicParity().constraints(["a", "b"])
    given = ([0.9, 0.5], otfair.CostMatrix([[1e306, 1e306], [1e306, 0.0]]), fair, 1e-3)
    assert not otfair.smooth_otf(*given, solver=solver, throw=False).converged  # nor a warning
    with pytest.raises(otfair.TransportError, match="residual nan"):
        otfair.smooth_otf(*given, solver=solver)


def test_a_batch_without_weight_costs_nothing():
    people = otfair.DemographicParity().people(list("abab"), sample_weight=[0, 0, 1, 1])
    geometry = otfair.PointCloud([[0.0], [1.0]], [[0.0], [1.0], [2.0], [3.0]])
    a = otfair.adjusted_otf([0.5, 0.9], geometry, people.constraints(rows=[0, 1]))
    assert a.value == 0
    assert not a.gradient.any()
