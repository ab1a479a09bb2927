"""The search for the weakest strength, on models whose violation is a known function of alpha."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from otfair.models._base import ALPHAS, BISECTIONS, weakest_alpha


def search(violation, limit):
    return weakest_alpha(lambda alpha, _: alpha, violation, 0.0, limit)


def test_a_falling_violation_is_met_to_within_the_last_bisection():
    alpha, model = search(lambda a: 1 - a, 0.37)
    assert alpha == model
    assert 0 <= alpha - 0.63 <= 0.2 / 2**BISECTIONS


def test_no_strength_at_all_where_none_is_needed():
    assert search(lambda a: 0.1, 0.1) == (0.0, 0.0)


def test_where_none_is_fair_enough_the_fairest_is_kept():
    with pytest.warns(UserWarning, match=r"the lowest violation is 0.2, at alpha=0.5"):
        assert search(lambda a: 0.2 + abs(a - 0.5), 0.1) == (0.5, 0.5)


@pytest.mark.parametrize("broken", [{0.0}, {0.0, 0.1, 0.3}, {ALPHAS[-1]}, {0.0, ALPHAS[-1]}])
def test_a_model_without_a_violation_is_never_fair_enough(broken):
    # NaN is what a model has that went wrong: it is neither chosen nor the fairest.
    with pytest.warns(UserWarning, match="the lowest violation is 0.5, at alpha=0.7"):
        found = search(lambda a: np.nan if a in broken else 0.5 + abs(a - 0.7), 0.1)
    assert found == (0.7, 0.7)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        alpha, _ = search(lambda a: np.nan if a in broken else 1 - a, 0.37)
    assert 0 <= alpha - 0.63 <= 0.2 / 2**BISECTIONS
