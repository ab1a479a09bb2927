"""The published coordinate ascent: its iterates, its stopping rule, and where it leads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from problems import random_problem
from scipy.optimize import minimize, minimize_scalar
from scipy.special import logsumexp

import otfair
from otfair.transport import _coordinate

# What the paper's released code (repository aida-ugent/OTF) computed on 250 encoded rows of Adult,
# 2026-11-16: the batch, its constraint matrices, and at 24 settings the loss (times 100 / epsilon
# up to epsilon 0.01, times 1e4 above), its gradient by logits, and the duals.
RELEASED = Path(__file__).with_name("released_adult_250.npz")


def people(n: int = 30, seed: int = 0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    groups = np.array(["a", "b", "c"])[rng.integers(0, 3, n)]
    return rng.uniform(0.05, 0.95, n), X, groups


def sweep_as_published(h, C, G, mu, eps):
    """One sweep on the n x n problem, each univariate problem solved by SciPy."""
    mu = mu.copy()
    lam = eps * (np.log(h) - logsumexp((mu @ G - C) / eps, axis=1))
    eta = np.exp((lam[:, None] - C) / eps).sum(0)
    for c in range(len(G)):
        rest = mu @ G - mu[c] * G[c]
        found = minimize_scalar(
            lambda m, rest=rest, c=c: eta @ np.exp((rest + m * G[c]) / eps),
            bracket=(mu[c] - eps, mu[c] + eps),
            tol=1e-12,
        )
        mu[c] = found.x
    return mu


@pytest.mark.parametrize("sweeps", [1, 3])
def test_working_on_types_gives_the_published_iterates(sweeps: int):
    h, X, groups = people()
    geometry, c = otfair.PointCloud(X), otfair.DemographicParity().constraints(groups)
    eps, mu = 0.1, np.zeros(len(c))
    for _ in range(sweeps):
        mu = sweep_as_published(h, geometry.cost_matrix().numpy(), c.matrix, mu, eps)
    t = otfair.smooth_otf(
        h, geometry, c, eps, solver="coordinate", max_sweeps=sweeps, tol=0, univariate_tol=1e-13
    )
    np.testing.assert_allclose(t.constraint_duals, mu, atol=1e-6)
    assert t.status is otfair.Status.SWEEP_LIMIT
    assert t.iterations == sweeps


@pytest.mark.parametrize("relaxed", [False, True])
def test_with_patience_it_reaches_the_optimum_of_newton(relaxed: bool):
    h, X, groups = people()
    geometry, c = otfair.PointCloud(X), otfair.DemographicParity().constraints(groups)
    solve = otfair.relaxed_otf if relaxed else otfair.smooth_otf
    best = solve(h, geometry, c, 0.3)
    slow = solve(
        h, geometry, c, 0.3, solver="coordinate", max_sweeps=5000, tol=0, univariate_tol=1e-14
    )
    assert slow.value == pytest.approx(best.value, abs=1e-8)
    assert slow.residual < 1e-6


def test_each_sweep_raises_the_dual_value():
    h, X, groups = people()
    geometry, c = otfair.PointCloud(X), otfair.DemographicParity().constraints(groups)
    for solve in (otfair.smooth_otf, otfair.relaxed_otf):
        values = [
            solve(
                h, geometry, c, 0.02, solver="coordinate", max_sweeps=k, tol=0, univariate_tol=1e-12
            ).value
            for k in range(1, 8)
        ]
        assert np.all(np.diff(values) >= -1e-9)


def test_at_the_released_settings_it_settles_far_from_fair_and_does_not_raise():
    h, X, groups = people(200)
    geometry, c = otfair.PointCloud(X), otfair.DemographicParity().constraints(groups)
    t = otfair.smooth_otf(h, geometry, c, 1e-3, solver="coordinate")
    assert t.status is otfair.Status.SETTLED
    assert t.iterations == 2
    assert not t.converged
    best = otfair.smooth_otf(h, geometry, c, 1e-3)
    assert t.residual > 1e-3 > 1e-8 >= best.residual


def test_constraints_with_a_target_are_swept_too():
    p = random_problem(7)
    h, geometry = p.scores, p.geometry
    half = np.arange(len(h)) % 2
    c = otfair.Constraints.from_matrix(half[None], target=[0.5 * h.sum()], names=["half of all"])
    best = otfair.smooth_otf(h, geometry, c, 0.5)
    t = otfair.smooth_otf(
        h, geometry, c, 0.5, solver="coordinate", tol=0, max_sweeps=3000, univariate_tol=1e-13
    )
    assert t.value == pytest.approx(best.value, abs=1e-8)


@pytest.mark.parametrize("released", [False, True])
@pytest.mark.parametrize("factor", [1 / 60, 1e-6, 1e6])
def test_tolerances_do_not_depend_on_how_rows_are_scaled(factor: float, released: bool):
    h, X, groups = people(60)
    c = otfair.DemographicParity().constraints(groups)
    factors = factor * np.array([1.0, 2.0, 0.5])
    scaled = otfair.Constraints.from_matrix(factors[:, None] * c.matrix)
    solver = otfair.Coordinate(released=released)
    for cost in (otfair.smooth_otf, otfair.relaxed_otf):
        a, b = (cost(h, otfair.PointCloud(X), some, 0.05, solver=solver) for some in (c, scaled))
        assert np.abs(a.constraint_duals).max() > 1e-4
        np.testing.assert_allclose(b.constraint_duals * factors, a.constraint_duals, rtol=1e-6)
        np.testing.assert_allclose(b.score_duals, a.score_duals, atol=1e-9)


def test_tolerances_take_weights_as_copies():
    h, X, groups = people()
    weight = np.arange(30) % 3 + 1
    copies = np.repeat(np.arange(30), weight)
    for released in (False, True):
        once, many = (
            otfair.adjusted_otf(
                h[rows],
                otfair.PointCloud(X[rows]),
                otfair.DemographicParity().constraints(groups[rows], sample_weight=some),
                0.1,
                solver=otfair.Coordinate(released=released),
            )
            for rows, some in ((np.arange(30), weight), (copies, None))
        )
        assert once.value == pytest.approx(many.value, rel=1e-9)
        each = once.gradient[copies] / weight[copies]
        np.testing.assert_allclose(each, many.gradient, atol=1e-12)


# What the released code returns


def test_released_score_duals_are_from_before_the_last_update_of_the_constraint_duals():
    h, X, groups = people()
    geometry, c = otfair.PointCloud(X), otfair.DemographicParity().constraints(groups)
    C, eps = geometry.cost_matrix().numpy(), 0.1
    for cost in (otfair.smooth_otf, otfair.relaxed_otf):
        before = np.zeros(len(c))
        for sweeps in (1, 2, 3):
            solver = otfair.Coordinate(max_sweeps=sweeps, tol=0, released=True)
            t = cost(h, geometry, c, eps, solver=solver)
            lam = eps * (np.log(h) - logsumexp((before @ c.matrix - C) / eps, axis=1))
            np.testing.assert_allclose(t.score_duals, lam, atol=1e-12)
            plan = np.exp((lam[:, None] + before @ c.matrix - C) / eps)
            np.testing.assert_allclose(t.fair_scores, plan.sum(0), atol=1e-12)
            before = t.constraint_duals


def test_one_released_sweep_costs_nothing_and_two_cost_what_one_did_by_default():
    h, X, groups = people(200)
    problem = (h, otfair.PointCloud(X), otfair.DemographicParity().constraints(groups), 1e-3)
    one = otfair.adjusted_otf(*problem, solver="coordinate", max_sweeps=1, released=True)
    assert one.value == 0
    assert not one.gradient.any()
    assert one.smooth.constraint_duals.any()
    two = otfair.adjusted_otf(*problem, solver="coordinate", released=True)
    ours = otfair.adjusted_otf(*problem, solver="coordinate", max_sweeps=1)
    assert two.smooth.iterations == 2
    assert two.value == pytest.approx(ours.value, rel=0.02)
    np.testing.assert_allclose(two.gradient, ours.gradient, atol=0.05 * np.abs(ours.gradient).max())


def test_the_released_cost_and_its_gradient_leave_out_the_slack():
    h, X, groups = people()
    problem = (h, otfair.PointCloud(X), otfair.DemographicParity().constraints(groups), 0.1)
    a = otfair.adjusted_otf(*problem, solver=otfair.Coordinate(released=True))
    np.testing.assert_allclose(a.gradient, a.smooth.score_duals - a.relaxed.score_duals, atol=1e-15)
    assert a.value == pytest.approx(h @ a.gradient)


@pytest.mark.parametrize("sweeps", [1, 2, 3, 100])
@pytest.mark.parametrize("epsilon", ["0.001", "0.01", "0.1"])
@pytest.mark.parametrize("name", ["pdp", "peo"])
def test_it_returns_what_the_released_code_does(name, epsilon, sweeps):
    with np.load(RELEASED) as stored:
        given = {key: stored[key] for key in ("features", "sensitive", "labels", "logits")}
        rows = stored[f"{name}/G"].T
        setting = f"{name}/epsilon={epsilon}/sweeps={sweeps}/"
        names = ("loss", "gradient", "score_duals", "constraint_duals", "relaxed_score_duals")
        names += ("relaxed_phi", "relaxed_psi")
        loss, gradient, lam, mu, kappa, phi, psi = (stored[setting + key] for key in names)
    h, n, eps = 1 / (1 + np.exp(-given["logits"])), len(rows.T), float(epsilon)
    factor = (100 / eps if eps <= 0.01 else 1e4) / n
    notion = {"pdp": otfair.DemographicParity, "peo": otfair.EqualizedOdds}[name](encoded=True)
    ours = notion.constraints(given["sensitive"], given["labels"])
    # The notion's own rows, and those of the released code, which are divided by n.
    for c, unit in ((ours, n), (otfair.Constraints.from_matrix(rows), 1)):
        a = otfair.adjusted_otf(
            h, otfair.PointCloud(given["features"]), c, eps,
            solver=otfair.Coordinate(max_sweeps=sweeps, released=True),
        )  # fmt: skip
        close = {"rtol": 1e-5, "atol": 1e-5 * eps}
        np.testing.assert_allclose(a.smooth.score_duals, lam, **close)
        np.testing.assert_allclose(a.relaxed.score_duals, kappa, **close)
        np.testing.assert_allclose(a.smooth.constraint_duals * unit, mu, **close)
        np.testing.assert_allclose(a.relaxed.constraint_duals * unit, phi - psi, **close)
        assert factor * a.value == pytest.approx(float(loss), rel=1e-5, abs=1e-9)
        by_logit = factor * a.gradient * h * (1 - h)
        size = 1e-4 * np.abs(gradient).max() + 1e-12
        np.testing.assert_allclose(by_logit, gradient, rtol=0, atol=size)


def test_a_released_search_that_ends_where_it_starts_is_what_scipy_returns():
    # The way round SciPy's `minimize` returns what it would, for searches free and bounded.
    rng = np.random.default_rng(0)
    shortcuts = 0
    for _ in range(300):
        mass, g = rng.exponential(size=5), rng.normal(size=5) * rng.choice([1e-4, 1e-2, 1.0])
        eps, slope = 10 ** rng.uniform(-4, 0), float(mass @ g) * rng.choice([0.0, 0.99, 1.0, 2.0])
        top = rng.choice([np.inf, _coordinate.RELEASED_TOP])
        now = 0.0 if np.isinf(top) else float(top)

        def descent(x, mass=mass, g=g, eps=eps, slope=slope, now=now):
            e = mass * np.exp(np.clip(g * (x[0] - now) / eps, -600, 600))
            return eps * e.sum() - slope * x[0], np.array([e @ g - slope])

        bounds, start = (None, 0.0) if np.isinf(top) else ([(None, top)], top)
        expected = minimize(descent, [start], jac=True, bounds=bounds, tol=1e-3)
        got = _coordinate._search_as_released(mass, g, eps, slope, now, top, 1e-3)
        assert got == expected.x[0] - now
        shortcuts += expected.nit == 0
    assert 50 < shortcuts < 250
