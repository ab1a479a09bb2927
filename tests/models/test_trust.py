"""Whether scores can be trusted: leaving people out, the base rate, scores that collapse."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

import otfair
from otfair import OTFBoostingClassifier, OTFClassifier
from otfair.models import UntrustedModelWarning
from otfair.models._trust import compare_losses, doubt_losses, doubt_spread, left_out_logits


def noise(n, p, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)), rng.integers(0, 2, n)


@pytest.mark.parametrize("weighted", [False, True])
def test_what_each_person_gets_from_the_others(weighted):
    # Against as many trainings, each without one person.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = (X[:, 0] + rng.normal(size=60) > 0).astype(int)
    w = rng.uniform(0.5, 2, 60) if weighted else np.ones(60)

    def fit(rows):
        model = LogisticRegression(C=1.0, tol=1e-10, max_iter=1000)
        return model.fit(X[rows], y[rows], sample_weight=w[rows])

    rows = np.arange(60)
    whole = fit(rows)
    theta = np.append(whole.coef_, whole.intercept_)
    found = left_out_logits(X, y, w / w.mean(), theta, 1 / w.sum())
    true = [fit(np.delete(rows, i)).decision_function(X[[i]])[0] for i in rows]
    moved = np.abs(true - whole.decision_function(X)).max()
    assert np.abs(found - true).max() < 0.15 * moved


def test_where_it_would_take_long_nobody_is_left_out(monkeypatch):
    X, y = noise(50, 3)
    monkeypatch.setattr("otfair.models._trust.COSTLY", 100)
    assert left_out_logits(X, y, np.ones(50), np.zeros(4), 0.0) is None


def test_losses_are_those_of_scores_and_of_the_base_rate():
    y, w = np.array([1, 0, 0, 1]), np.array([1.0, 2.0, 1.0, 0.0])
    z = np.array([2.0, -1.0, 0.5, 9.0])
    found = compare_losses(z, y, w)
    each = -np.log(np.where(y == 1, expit(z), 1 - expit(z)))
    assert found.model == pytest.approx(np.average(each, weights=w))
    assert found.base == pytest.approx(-(0.25 * np.log(0.25) + 0.75 * np.log(0.75)))


def test_few_people_can_not_tell():
    rng = np.random.default_rng(0)
    for n, worse in ((99, False), (100, True)):
        y, z = np.arange(n) % 2, rng.normal(size=n) * 5
        assert compare_losses(z, y, np.ones(n)).worse == worse


def test_a_line_that_learnt_by_heart_is_warned_of():
    X, y = noise(300, 120)
    with pytest.warns(UntrustedModelWarning, match=r"worse than the base rate.*Set `C`, such as"):
        OTFClassifier(alpha=0, C=None).fit(X, y)
    with pytest.warns(UntrustedModelWarning, match=r"left out in turn.*Set `C` below 1\b"):
        OTFClassifier(alpha=0, C=1).fit(X, y)
    OTFClassifier(alpha=0, C=1e-5).fit(X, y)  # next to the base rate itself


def test_trees_are_judged_by_the_people_who_stop_them():
    X, y = noise(1500, 5)
    settings = {"learning_rate": 5.0, "reg_lambda": 0, "n_estimators": 1, "n_jobs": 1}
    clf = OTFBoostingClassifier(
        alpha=0, early_stopping_rounds=5, stopping_fraction=0.5, random_state=0, **settings
    )
    with pytest.warns(UntrustedModelWarning, match="among the people kept out to stop training"):
        clf.fit(X, y)


def test_scores_that_collapse_are_warned_of():
    # All that is known of people is what makes them unequal: fair scores are all alike.
    rng = np.random.default_rng(0)
    s = rng.integers(0, 2, 500)
    X = (s + 0.05 * rng.normal(size=500))[:, None]
    y = (rng.uniform(size=500) < 0.2 + 0.6 * s).astype(int)
    with pytest.warns(UntrustedModelWarning, match="scores have collapsed: 90 % of them lie"):
        OTFClassifier(alpha=0.99).fit(X, y, sensitive_features=s)


def test_what_is_sound_is_not_doubted():
    data = otfair.load_dataset("synthetic", n=400)
    X, sex = otfair.TableEncoder().fit_transform(data.X), data.sensitive_features["sex"]
    OTFClassifier(alpha=0.9).fit(X, data.y, sensitive_features=sex)  # warnings are errors
    h = np.linspace(0, 1, 101)
    assert doubt_spread(0.4 + 0.21 * h, h, 0.5) == ""
    assert "within 0.17 of each other, without fairness within 0.9" in doubt_spread(
        0.4 + 0.19 * h, h, 0.5
    )
    assert doubt_losses(compare_losses(2 * data.y - 1.0, data.y, np.ones(400)), "", "") == ""
