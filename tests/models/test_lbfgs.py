"""The search for a minimum, on functions whose minimum is known, smooth and with kinks."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import rosen, rosen_der

from otfair.models._lbfgs import minimize


def test_a_smooth_function_is_minimised():
    found = minimize(lambda x: (rosen(x), rosen_der(x)), np.zeros(5), tol=1e-12)
    np.testing.assert_allclose(found.x, 1.0, atol=1e-4)
    assert found.converged
    assert not found.stuck
    assert found.evaluations >= found.iterations


@pytest.mark.parametrize("seed", range(5))
def test_kinks_are_not_minima(seed):
    # |Ax - b|_1 plus a bowl: a kink for every row, all of which meet at the minimum.
    rng = np.random.default_rng(seed)
    A, b = rng.normal(size=(6, 12)), rng.normal(size=6)

    def objective(x):
        r = A @ x - b
        return np.abs(r).sum() + 0.05 * x @ x, A.T @ np.sign(r) + 0.1 * x

    # Exactly solvable: all rows can be met, and the bowl picks the shortest such x where the
    # multipliers 0.1 (AA')^-1 b are below one.
    shortest = np.linalg.pinv(A) @ b
    multipliers = 0.1 * np.linalg.solve(A @ A.T, b)
    assert np.abs(multipliers).max() < 1
    best = objective(shortest)[0]
    found = minimize(objective, np.zeros(12), max_iter=3000, tol=1e-9)
    assert found.value <= best + 2e-2 * max(best, 0.05)
    # Started on a kink, at the least point of its first row alone, it gets away.
    on_kink = A[0] * b[0] / (A[0] @ A[0])
    again = minimize(objective, on_kink, max_iter=3000, tol=1e-9)
    assert again.value <= best + 2e-2 * max(best, 0.05)


def test_a_kink_at_the_minimum_ends_the_search():
    found = minimize(lambda x: (np.abs(x).sum(), np.sign(x)), np.array([1.0, -2.0]))
    np.testing.assert_allclose(found.x, 0.0, atol=1e-3)
    assert found.converged


def test_a_search_that_is_cut_short_says_so():
    found = minimize(lambda x: (rosen(x), rosen_der(x)), np.zeros(5), max_iter=3)
    assert not found.converged
    assert found.iterations == 3


def test_every_step_is_told():
    told = []
    minimize(
        lambda x: (float(x @ x), 2 * x), np.ones(3), callback=lambda x, value: told.append(value)
    )
    assert told == sorted(told, reverse=True)
    assert told[-1] < 1e-8


def test_a_start_without_a_value_is_an_error_and_no_minimum():
    with pytest.raises(ValueError, match="the loss is nan where training starts"):
        minimize(lambda x: (float("nan"), np.full(2, np.nan)), np.zeros(2))
