"""The solver's promise, on random problems judged apart from the solver.

Every problem of `problems.random_problem` is solved to the relative residual of the design, the
adjusted cost is non-negative and zero for fair scores, and its gradient agrees with differences.
`make test` judges 200 of them, `make test-all` 2000.
"""

from __future__ import annotations

import numpy as np
import pytest
from problems import (
    Problem,
    full_plan,
    random_linear_problem,
    random_problem,
    relative_residual,
)

import otfair
from otfair.geometry import _near

pytestmark = pytest.mark.slow

CHUNK = 50


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    count = 2000 if metafunc.config.getoption("--exhaustive") else 200
    metafunc.parametrize("first", range(0, count, CHUNK))


def weights(problem: Problem) -> np.ndarray:
    return np.ones(len(problem.scores)) if problem.weight is None else problem.weight


def test_every_problem_converges_and_fair_scores_cost_nothing(first: int):
    for seed in range(first, first + CHUNK):
        problem = random_problem(seed)
        constraints = problem.constraints
        a = otfair.adjusted_otf(
            problem.scores, problem.geometry, constraints, problem.epsilon, slack=problem.slack
        )
        G, b, mass = constraints.matrix, constraints.target, weights(problem) * problem.scores
        for t in (a.smooth, a.relaxed):
            P = full_plan(problem, t)
            residual = relative_residual(G, b, mass, P.sum(0), t.constraint_duals, t.slack)
            assert residual <= 1e-8, f"seed {seed}: {residual}"
            assert t.converged, f"seed {seed}"
            np.testing.assert_allclose(P.sum(1), mass, rtol=1e-7, err_msg=f"seed {seed}")
        assert a.value >= -1e-9, f"seed {seed}: {a.value}"
        violation, size = np.abs(G @ mass - b), np.abs(G) @ mass
        if np.all(violation <= np.maximum(problem.slack, 1e-12 * size)):
            assert a.value <= 1e-9, f"seed {seed}: {a.value}"


def test_directional_derivatives_equal_central_differences(first: int):
    for seed in range(first, first + CHUNK):
        problem = random_problem(seed)
        if not problem.generic:
            continue
        rng = np.random.default_rng([seed, 1])
        geometry, constraints = problem.geometry, problem.constraints
        h = np.minimum(problem.scores, 1 - 2e-4)  # room for a step on both sides
        mass = weights(problem) * h
        G, size = constraints.matrix, np.abs(constraints.matrix) @ mass
        if np.any(np.abs(np.abs(G @ mass) - problem.slack) < 1e-3 * size):
            continue  # a step of 1e-4 would reach over the kink

        def cost(scores, init=None, problem=problem, geometry=geometry, constraints=constraints):
            return otfair.adjusted_otf(
                scores, geometry, constraints, problem.epsilon, problem.slack, init=init, tol=1e-10
            )

        a = cost(h)
        for _ in range(3):
            direction = h * rng.uniform(-1, 1, len(h))
            slope, errors = float(a.gradient @ direction), []
            for step in (1e-5, 1e-6, 1e-7, 1e-8, 1e-4):  # the curvature may be 1 / epsilon or none
                up, down = cost(h + step * direction, a), cost(h - step * direction, a)
                difference = (up.value - down.value) / (2 * step)
                # A sum that cancels is judged by the size of its terms.
                size = max(abs(slope), abs(difference), 1e-3 * np.abs(a.gradient * direction).sum())
                errors.append(abs(difference - slope) / max(size, 1e-10))
                if errors[-1] < 1e-6:
                    break
            assert min(errors) <= 1e-5, f"seed {seed}: {errors}"


def test_every_set_of_rows_that_can_be_met_is_met(first: int):
    # Half as many: a user's own G, up to 40 rows, targets, slack a row, givers and receivers apart.
    for seed in range(first, first + CHUNK, 2):
        p = random_linear_problem(seed)
        t = otfair.smooth_otf(p.scores, p.geometry, p.constraints, p.epsilon, p.slack)
        P, mass = full_plan(p, t), p.constraints.sample_weight * p.scores
        residual = relative_residual(
            p.column_matrix, p.constraints.target, mass, P.sum(0), t.constraint_duals, t.slack,
            p.row_matrix,
        )  # fmt: skip
        assert residual <= 1e-8, f"seed {seed}: {residual}"
        assert t.converged, f"seed {seed}"
        np.testing.assert_allclose(P.sum(1), mass, rtol=1e-7, err_msg=f"seed {seed}")


@pytest.mark.parametrize("dense", [True, False])
def test_every_bounded_problem_satisfies_the_conditions_of_an_optimum(
    first: int, dense: bool, monkeypatch: pytest.MonkeyPatch
):
    if not dense:
        monkeypatch.setattr(_near, "DENSE_PAIRS", 0)
    for seed in range(first, first + CHUNK, 1 if dense else 3):
        p = random_problem(seed)
        c, w = p.constraints, weights(p)
        mass = w * p.scores
        a = otfair.adjusted_otf(p.scores, p.geometry, c, p.epsilon, p.slack, bounded=True)
        for t in (a.smooth, a.relaxed):
            P, beta = full_plan(p, t), t.bound_duals
            f = P.sum(0)
            residual = relative_residual(c.matrix, c.target, mass, f, t.constraint_duals, t.slack)
            over = (f - w) / (np.maximum(f, 1e-6 * mass.sum()) + w)
            assert residual <= 2e-8, f"seed {seed}: {residual}"
            assert over.max() <= 2e-8, f"seed {seed}: {over.max()}"
            assert beta.max() <= 0, f"seed {seed}"
            assert np.abs(over[beta < 0]).max(initial=0.0) <= 2e-8, f"seed {seed}"
            np.testing.assert_allclose(P.sum(1), mass, rtol=1e-7, err_msg=f"seed {seed}")
            np.testing.assert_allclose(
                w * t.fair_scores, f, atol=1e-6 * max(1, f.max()), err_msg=f"seed {seed}"
            )
            assert t.fair_scores.max() <= 1.0
        assert a.value >= -1e-9, f"seed {seed}: {a.value}"
        violation, size = np.abs(c.matrix @ mass - c.target), np.abs(c.matrix) @ mass
        if np.all(violation <= np.maximum(p.slack, 1e-12 * size)):
            assert a.value <= 1e-9, f"seed {seed}: {a.value}"
