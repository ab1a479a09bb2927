"""The Newton solver's parts: the semi-dual, the proximal step, warm starts, failures."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import random_problem

import otfair
from otfair.transport._newton import Newton, _shortened, proximal_step
from otfair.transport._problem import TransportProblem
from otfair.transport._semidual import SemiDual


def stated(seed: int, epsilon: float = 0.05) -> TransportProblem:
    p = random_problem(seed)
    return TransportProblem(p.scores, p.geometry, p.constraints, epsilon)


@pytest.mark.parametrize("seed", [2, 7, 23, 38, 71])
@pytest.mark.parametrize("tau", [None, 0.5])
def test_gradient_and_curvature_are_the_derivatives_of_the_value(seed: int, tau: float | None):
    semi = SemiDual(stated(seed), tau)
    rng = np.random.default_rng(seed)
    mu = rng.normal(size=len(semi.problem.target)) * 0.05
    v = rng.normal(size=len(mu))
    here, t = semi.at(mu), 1e-5
    up, down = semi.at(mu + t * v), semi.at(mu - t * v)
    scale = np.abs(semi.problem.vectors).max() * semi.problem.total
    assert (up.value - down.value) / (2 * t) == pytest.approx(here.r @ v, abs=1e-6 * scale)
    np.testing.assert_allclose(
        (up.r - down.r) / (2 * t), -semi.curvature(here) @ v, atol=1e-4 * scale / semi.tau
    )


def test_the_annealed_function_at_epsilon_is_the_true_one():
    problem = stated(7)
    mu = np.full(len(problem.target), 0.03)
    near = SemiDual(problem, problem.epsilon * (1 + 1e-12)).at(mu)
    assert near.value == pytest.approx(SemiDual(problem).at(mu).value, rel=1e-9)


@pytest.mark.parametrize("seed", [2, 7, 23, 38, 71])
@pytest.mark.parametrize("reach", [0.01, 1.0, 30.0])
def test_a_point_near_a_reference_is_the_one_found_afresh(seed: int, reach: float):
    # From far beyond a reference's range to well within it.
    problem = stated(seed)
    rng = np.random.default_rng(seed)
    mu, v = rng.normal(size=(2, len(problem.target)))
    semi = SemiDual(problem)
    semi.at(0.1 * mu)
    found, afresh = semi.at(0.1 * mu + reach * v), SemiDual(problem).at(0.1 * mu + reach * v)
    same = {"rtol": 1e-9, "atol": 1e-12}
    np.testing.assert_allclose(found.lse, afresh.lse, **same)
    np.testing.assert_allclose(found.share, afresh.share, **same)
    np.testing.assert_allclose(found.f, afresh.f, **same)
    assert found.value == pytest.approx(afresh.value, rel=1e-9)
    np.testing.assert_allclose(
        semi.curvature(found), semi.curvature(afresh), rtol=1e-7, atol=1e-9 * problem.total
    )


@pytest.mark.parametrize("change", [0.01, 0.5, 5.0])
def test_other_scores_solved_from_an_earlier_solution_are_as_if_solved_anew(change: float):
    rng = np.random.default_rng(0)
    X, s = rng.normal(size=(200, 3)), rng.integers(0, 3, 200)
    geometry, c = otfair.PointCloud(X), otfair.DemographicParity().constraints(s)
    logits = X[:, 0] + s
    first = otfair.adjusted_otf(1 / (1 + np.exp(-logits)), geometry, c, 1e-3)
    h = 1 / (1 + np.exp(-logits - change * rng.normal(size=200)))
    kept = first.smooth.fair_scores.copy()
    again = otfair.adjusted_otf(h, geometry, c, 1e-3, init=first)
    anew = otfair.adjusted_otf(h, otfair.PointCloud(X), c, 1e-3)
    assert again.converged
    assert again.value == pytest.approx(anew.value, rel=1e-6)
    np.testing.assert_allclose(again.gradient, anew.gradient, atol=1e-6)
    np.testing.assert_allclose(again.smooth.fair_scores, anew.smooth.fair_scores, atol=1e-6)
    np.testing.assert_array_equal(first.smooth.fair_scores, kept)
    # From the same start it ends at the same bits.
    twice = otfair.adjusted_otf(h, geometry, c, 1e-3, init=first)
    np.testing.assert_array_equal(twice.gradient, again.gradient)


def test_an_earlier_solution_of_other_people_gives_its_duals_only():
    p, q = random_problem(7), random_problem(7)
    first = otfair.smooth_otf(p.scores, p.geometry, p.constraints, 0.05)
    X = np.random.default_rng(1).permutation(q.X)
    other = otfair.smooth_otf(q.scores, otfair.PointCloud(X), q.constraints, 0.05, init=first)
    anew = otfair.smooth_otf(q.scores, otfair.PointCloud(X), q.constraints, 0.05)
    assert other.value == pytest.approx(anew.value, rel=1e-9)
    smoother = otfair.smooth_otf(p.scores, p.geometry, p.constraints, 0.5, init=first)
    expected = otfair.smooth_otf(p.scores, p.geometry, p.constraints, 0.5)
    assert smoother.value == pytest.approx(expected.value, rel=1e-9)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000))
def test_the_proximal_step_is_the_best_over_all_sign_patterns(seed: int):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 5))
    A = rng.normal(size=(d, d))
    B, q = A @ A.T + 1e-3 * np.eye(d), rng.normal(size=d)
    gamma = np.maximum(rng.normal(size=d), 0.0)
    start = rng.normal(size=d) * (rng.random(d) < 0.7)

    def objective(x):
        return 0.5 * x @ B @ x - q @ x + gamma @ np.abs(x)

    best = np.inf
    for signs in product([-1.0, 0.0, 1.0], repeat=d):
        on = np.array(signs) != 0
        x = np.zeros(d)
        if on.any():
            x[on] = np.linalg.solve(B[np.ix_(on, on)], (q - gamma * np.array(signs))[on])
        best = min(best, objective(x))  # each is a feasible point, one of them the optimum
    found = proximal_step(B, q, gamma, np.full(len(q), np.inf), start)
    assert objective(found) <= best + 1e-9 * (1 + abs(best))


def test_a_warm_start_takes_fewer_evaluations_and_finds_the_same():
    p = random_problem(7)
    geometry, constraints = p.geometry, p.constraints
    cold = otfair.smooth_otf(p.scores, geometry, constraints, 1e-3)
    again = otfair.smooth_otf(p.scores, geometry, constraints, 1e-3, init=cold)
    assert cold.iterations > 1
    assert again.iterations == 1
    assert again.value == pytest.approx(cold.value, rel=1e-12)
    by_array = otfair.smooth_otf(p.scores, geometry, constraints, 1e-3, init=cold.constraint_duals)
    assert by_array.iterations == 1


def test_a_bad_start_is_recovered_from():
    p = random_problem(7)
    constraints = p.constraints
    good = otfair.smooth_otf(p.scores, p.geometry, constraints, 1e-3)
    far = 1e3 * np.random.default_rng(0).normal(size=len(constraints))
    t = otfair.smooth_otf(p.scores, p.geometry, constraints, 1e-3, init=far)
    assert t.value == pytest.approx(good.value, rel=1e-9)


def test_a_start_of_the_wrong_length_is_refused():
    p = random_problem(7)
    with pytest.raises(ValueError, match="one entry per constraint: 4; received"):
        otfair.smooth_otf(p.scores, p.geometry, p.constraints, init=np.zeros(99))


def test_running_out_of_evaluations_raises_with_a_remedy_or_is_returned():
    p = random_problem(7)
    with pytest.raises(otfair.TransportError, match="raise `max_evaluations`"):
        otfair.smooth_otf(p.scores, p.geometry, p.constraints, 1e-3, max_evaluations=3)
    t = otfair.smooth_otf(p.scores, p.geometry, p.constraints, 1e-3, max_evaluations=3, throw=False)
    assert t.status is otfair.Status.EVALUATION_LIMIT
    assert not t.converged
    assert t.residual > 1e-8
    assert t.iterations == 3


def test_a_tighter_tolerance_gives_a_smaller_residual():
    p = random_problem(7)
    t = otfair.smooth_otf(p.scores, p.geometry, p.constraints, 1e-3, solver=Newton(tol=1e-12))
    assert t.residual <= 1e-12


def test_unknown_solvers_and_options_are_named():
    p = random_problem(7)
    with pytest.raises(ValueError, match="unknown solver 'sinkhorn'"):
        otfair.smooth_otf(p.scores, p.geometry, p.constraints, solver="sinkhorn")
    for solver in (None, Newton):
        with pytest.raises(ValueError, match=r"a `Newton\(\.\.\.\)`"):
            otfair.smooth_otf(p.scores, p.geometry, p.constraints, solver=solver)
    with pytest.raises(TypeError, match="max_sweeps"):
        otfair.smooth_otf(p.scores, p.geometry, p.constraints, solver=Newton(), max_sweeps=3)
    with pytest.raises(TypeError, match="max_sweeps"):
        otfair.smooth_otf(p.scores, p.geometry, p.constraints, max_sweeps=3)


@pytest.mark.parametrize("seed", [2, 7, 23, 38, 71])
def test_tensors_and_numpy_solve_alike(seed: int, monkeypatch):
    # Small problems are solved in NumPy, others in tensors, which a GPU needs; values are the same.
    p = random_problem(seed)

    def solved() -> dict[str, np.ndarray]:
        people = (p.scores, p.geometry, p.constraints)
        adjusted = otfair.adjusted_otf(*people, 0.05)
        again = otfair.adjusted_otf(p.scores**1.01, *people[1:], 0.05, init=adjusted)
        swept = otfair.smooth_otf(*people, 0.05, solver="coordinate", throw=False)
        exact = otfair.exact_otf(*people)
        costs = [t.value for t in (adjusted, again, swept, exact)]
        scores = [t.fair_scores for t in (adjusted.smooth, adjusted.relaxed, swept, exact)]
        flows = [adjusted.smooth.flows.mass, exact.flows.mass]
        return {"costs": costs, "gradient": again.gradient, "scores": scores, "flows": flows}

    in_numpy = solved()
    monkeypatch.setattr("otfair.transport._problem.MAX_BATCH", 0)
    assert isinstance(stated(seed).mass, torch.Tensor)
    for name, values in solved().items():
        np.testing.assert_allclose(values, in_numpy[name], atol=1e-7, err_msg=name)


@pytest.mark.parametrize("excess", [0.005, 0.02, 0.1])
def test_a_bound_that_becomes_tight_takes_the_step_that_empties_its_place(excess: float):
    # Three people keep nearly all of their score at one place, which must lose some of it.
    h, p, tau = np.array([0.9, 0.6, 0.3]), 1 - np.array([1e-3, 5e-3, 1e-4]), 0.01
    newton = -tau * excess / (h @ (p * (1 - p)))
    mu, x = np.array([0.0, -1.0, 0.0, 0.0]), np.array([newton, newton, newton, -0.5 * tau])
    short = _shortened(x, mu, np.array([0.0, 0.0, np.inf, 0.0]), tau)
    kept = p * np.exp(short[0] / tau)
    lost = h @ p - h @ (kept / (1 - p + kept))
    assert newton < -tau
    assert lost == pytest.approx(excess, rel=0.2)
    # Duals that are not at zero, have no bound, or go not far are left alone.
    np.testing.assert_array_equal(short[1:], x[1:])


def test_a_curvature_that_serves_is_kept(monkeypatch):
    rng = np.random.default_rng(0)
    people = otfair.PointCloud(rng.normal(size=(80, 2)))
    groups = rng.choice(["a", "b", "c"], 80)
    fair = otfair.DemographicParity().constraints(groups)
    h = np.where(groups == "a", 0.3, 0.1) + 0.5 * rng.random(80)
    first = otfair.smooth_otf(h, people, fair, 0.05)
    made, curvature = [], SemiDual.curvature
    monkeypatch.setattr(SemiDual, "curvature", lambda *a: made.append(1) or curvature(*a))
    steps = 0
    for change in np.logspace(-4, -1, 13):
        scores = np.clip(h * np.exp(change * rng.normal(size=80)), 1e-6, 1)
        again = otfair.smooth_otf(scores, people, fair, 0.05, init=first)
        steps += again.iterations - 1
        assert again.residual <= 1e-8
    # The first step is the earlier solution's; of the others some do without, too.
    assert 0 < len(made) < steps - 13
