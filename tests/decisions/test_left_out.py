"""Chances of groups without a person: against models that were trained without them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from otfair.decisions._left_out import chances_left_out, is_cheap


@pytest.mark.parametrize("groups", [2, 3, 5])
def test_one_step_is_near_the_model_without_the_person(groups):
    rng = np.random.default_rng(groups)
    n = 300
    codes = rng.integers(0, groups, n)
    X = rng.normal(size=(n, 5)) + np.eye(5)[codes]
    weight = rng.uniform(0.5, 2, n)
    weight[::7] = 0  # who have not trained it
    settings = {"max_iter": 5000, "tol": 1e-10}
    whole = LogisticRegression(**settings).fit(X, codes, weight)
    logits = whole.decision_function(X)
    logits = np.column_stack([np.zeros(n), logits]) if groups == 2 else logits
    found = chances_left_out(logits, codes, X, weight)
    inside = whole.predict_proba(X)
    assert found[::7] == pytest.approx(inside[::7], abs=1e-9)
    errors, moves = [], []
    for i in range(1, 60):
        if weight[i] == 0:
            continue
        others = np.arange(n) != i
        without = LogisticRegression(**settings).fit(X[others], codes[others], weight[others])
        expected = without.predict_proba(X[[i]])[0]
        errors.append(np.abs(found[i] - expected).max())
        moves.append(np.abs(inside[i] - expected).max())
    # What is left of the difference is far less than the difference.
    assert np.mean(errors) < 0.1 * np.mean(moves)


def test_large_models_are_left_to_folds():
    assert is_cheap(2, 2000)
    assert not is_cheap(10, 2000)
