"""The published coordinate ascent: its iterates, its stopping rule, and where it leads."""

from __future__ import annotations

import numpy as np
import pytest
from problems import random_problem
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

import otfair


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
