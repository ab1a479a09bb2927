"""The weakest strength that people kept out of training find enough."""

from __future__ import annotations

import numpy as np
import pytest

from otfair.models._judging import Judgement
from otfair.models._search import ALPHAS, weakest_alpha


def judged(violation, limit=0.05, margin=0.01):
    return Judgement(
        criterion="correlation", people="cross-fitted", n=1000, folds=5, violation=violation,
        bound=violation + margin, new_people=np.inf, confidence=0.9, limit=limit, decided_by="F",
    )  # fmt: skip


def search(violation, **settings):
    """Search where a model is its strength, and `violation` a function of it."""
    trained = []

    def train(alpha, starts):
        assert starts[0] < alpha  # from a weaker one
        trained.append(alpha)
        return [alpha]

    found = weakest_alpha(train, lambda models: judged(violation(models[0]), **settings), [0.0])
    assert len(set(trained)) == len(trained)  # none twice
    assert [r["alpha"] for r in found.tried] == sorted([0.0, *trained])
    return found, trained


@pytest.mark.parametrize("free", [0.06, 0.3, 0.9])
def test_the_bound_ends_just_below_the_limit(free):
    found, trained = search(lambda alpha: (1 - alpha) * free)
    assert found.models == [found.alpha]
    assert 0.95 * 0.05 <= found.judgement.bound <= 0.05
    assert len(trained) <= 6


def test_what_is_fair_already_needs_no_strength():
    found, trained = search(lambda alpha: 0.03)
    assert found.alpha == 0
    assert trained == []


def test_no_weaker_strength_that_was_tried_would_do():
    # The violation falls, rises above the limit, and falls again.
    found, _ = search(lambda alpha: 0.3 * (1 - alpha) if not 0.85 < alpha < 0.97 else 0.06)
    assert found.judgement.met
    weaker = [r for r in found.tried if r["alpha"] < found.alpha]
    assert all(r["bound"] > 0.05 for r in weaker)


def test_a_strength_is_judged_by_itself_and_not_by_its_neighbours():
    # Only one strength of the grid is enough, and it is not the strongest.
    for lone in ALPHAS:
        found, trained = search(lambda alpha, lone=lone: 0.01 if alpha == lone else 0.1)
        assert found.judgement.met, lone
        assert found.alpha == lone
        assert len(trained) <= len(ALPHAS) + 4


def test_where_none_is_enough_the_nearest_is_returned():
    # The strongest need not be the fairest.
    found, trained = search(lambda alpha: 0.1 + abs(alpha - 0.8))
    assert not found.judgement.met
    assert found.alpha == 0.8
    assert set(trained) == set(ALPHAS)


@pytest.mark.parametrize("broken", [{0.0}, {0.0, 0.1, 0.3}, {ALPHAS[-1]}, {0.0, ALPHAS[-1]}])
def test_a_model_without_a_violation_is_never_fair_enough(broken):
    # NaN is what a model has that went wrong: it is neither chosen nor the fairest.
    found, _ = search(lambda a: np.nan if a in broken else 0.5 + abs(a - 0.7))
    assert not found.judgement.met
    assert found.alpha == 0.7
    found, _ = search(lambda a: np.nan if a in broken else 1 - a, limit=0.38)  # a margin of 0.01
    assert 0 <= found.alpha - 0.63 <= 0.05 * 0.38
    found, _ = search(lambda alpha: np.nan)
    assert not found.judgement.met
