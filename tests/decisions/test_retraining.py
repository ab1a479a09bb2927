"""The classifier trained again at the prices of limits: what it learns, and as a user meets it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from otfair import (
    DemographicParity,
    EqualOpportunity,
    FairDecisions,
    OTFClassifier,
    TableEncoder,
    load_dataset,
)
from otfair.decisions._margin import Promise
from otfair.decisions._path import Judges
from otfair.decisions._retraining import gains, helps, worth
from otfair.decisions._smooth import Sample
from otfair.decisions._tuning import Rule


def people(n, seed=0):
    """Two features that count together, the second of which tells the group: no line is right."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, n)
    x = rng.normal(size=(n, 2)) + np.column_stack([np.zeros(n), 1.5 * group])
    logit = 2 * x[:, 0] + 0.8 * x[:, 1] - 1.2 * x[:, 0] * x[:, 1]
    y = (rng.random(n) < 1 / (1 + np.exp(-logit))).astype(int)
    return pd.DataFrame(x, columns=["a", "b"]), y, group


def fitted(n=12000, **settings):
    X, y, group = people(n)
    settings = {"max_difference": 0.05, "confidence": None} | settings
    return FairDecisions(LogisticRegression(), **settings).fit(X, y, sensitive_features=group)


def test_gains_are_the_scores_where_both_classifiers_are_right():
    # Groups are known and labels have chances h, so E[a | x] and E|a| have closed forms.
    rng = np.random.default_rng(0)
    h, group, threshold = rng.random(50), rng.integers(0, 2, 50), 0.4
    rows, prices = np.eye(2)[group], np.array([-0.2, 0.15])
    up, down = (np.abs(worth(np.full(50, y), rows, prices, threshold)) for y in (1, 0))
    signs = [worth(np.full(50, y), rows, prices, threshold) > 0 for y in (1, 0)]
    assert signs[0].all()
    assert not signs[1].any()
    chances = h * up / (h * up + (1 - h) * down)  # what a classifier with these weights learns
    np.testing.assert_allclose(gains(chances, h, rows, prices, threshold), h - threshold)


def test_at_its_own_prices_the_rule_is_the_retrained_classifier():
    fair = fitted(retrain=True)
    X, _, _ = people(3000, seed=1)
    fair.duals_ = fair.prices_
    chances = fair.retrained_.predict_proba(X)[:, 1]
    np.testing.assert_array_equal(fair.predict(X), chances > 0.5)


@pytest.mark.parametrize("threshold", [0.5, 0.3])
def test_it_learns_signs_and_sizes_of_what_decisions_are_worth(threshold, monkeypatch):
    monkeypatch.setattr("otfair.decisions._classifier.helps", lambda *_: True)
    X, y, group = people(4000)
    missing = np.arange(4000) % 5 == 0  # whose decisions are worth what their label says
    settings = {"max_difference": 0.05, "confidence": None, "threshold": threshold}
    fair = FairDecisions(LogisticRegression(), retrain=True, **settings)
    given = pd.Series(np.where(missing, None, group.astype(object)))
    fair.fit(X, np.where(y, "yes", "no"), sensitive_features=given)
    rows = np.eye(2)[group] * ~missing[:, None]
    value = worth(y, rows, fair.prices_, threshold)
    weight = np.abs(value) / np.abs(value).mean()
    own = LogisticRegression().fit(X, value > 0, weight)
    np.testing.assert_allclose(own.coef_, fair.retrained_.coef_, rtol=1e-6)
    assert set(fair.predict(X)) == {"no", "yes"}
    # The rule, by hand: what decisions gain by its chances, less the prices of expected rows.
    chances, scores = (m.predict_proba(X)[:, 1] for m in (fair.retrained_, fair.estimator_))
    expected = fair._expected(X, scores)
    gain = gains(chances, scores, expected, fair.prices_, threshold)
    np.testing.assert_allclose(fair.decision_function(X), gain - expected @ fair.duals_)
    fair.set_params(ties="random")
    assert 0 < np.abs(fair.decision_function(X) - gain + expected @ fair.duals_).max() < 1e-6


def test_decisions_of_new_people_are_right_more_often_at_the_same_limit():
    # A line is too simple for these people, and the best line depends on where it must divide them.
    X, y, group = people(100_000, seed=2)
    found = {}
    for retrain in (False, True):
        fair = fitted(20_000, retrain=retrain, max_difference=0.1)
        decided = fair.predict(X)
        assert fair.limits_met_
        found[retrain] = np.ptp([decided[group == g].mean() for g in (0, 1)]), (decided == y).mean()
    (gap, plain), (gap_again, again) = found.values()
    assert gap_again == pytest.approx(gap, abs=0.003)
    assert again > plain + 0.002


def test_limits_that_cost_nothing_train_nothing_again():
    fair = fitted(2000, retrain=True, max_difference=1.0)
    assert not hasattr(fair, "retrained_")
    assert not hasattr(fair, "prices_")


def judged(outcome, labels, missed=0.0, kept=True, sure=0.9, weight=None):
    """Return judges and a promise whose rule decides so."""
    n = len(labels)
    weight = np.ones(n) if weight is None else weight
    sample = Sample(2.0 * np.asarray(outcome) - 1, np.zeros((n, 1)), np.ones((n, 1)), weight)
    none = np.zeros(1)
    rule = Rule(none, none, 0.0, missed, missed == 0, True)
    promise = Promise(rule, none, none, sure, np.array([kept]), none)
    return Judges(sample, np.asarray(labels), 0.5), promise


def test_a_rule_helps_whose_decisions_are_worth_more():
    labels = np.tile([0, 1], 50)
    right = judged(labels, labels)
    off = judged(np.where(np.arange(100) < 1, 1 - labels, labels), labels)
    assert helps(*right, *off)
    assert not helps(*off, *right)
    assert not helps(*right, *right)
    # By weights: two who are wrong count less than one who is right.
    weight = np.where(np.arange(100) < 2, 0.1, 1.0)
    few = judged(np.where(np.arange(100) < 2, 1 - labels, labels), labels, weight=weight)
    one = judged(np.where(np.arange(100) == 50, 1 - labels, labels), labels, weight=weight)
    assert helps(*few, *one)
    assert not helps(*one, *few)


def test_limits_come_before_what_decisions_are_worth():
    labels = np.tile([0, 1], 50)
    wrong = 1 - labels
    assert not helps(*judged(labels, labels, missed=0.01), *judged(wrong, labels))
    assert helps(*judged(wrong, labels), *judged(labels, labels, missed=0.01))
    # Of two that miss them, the nearer.
    near, far = judged(wrong, labels, missed=0.01), judged(labels, labels, missed=0.1)
    assert helps(*near, *far)
    assert not helps(*far, *near)
    # Then what is promised, and how surely where nothing is.
    assert not helps(*judged(labels, labels, kept=False), *judged(wrong, labels))
    low, high = (judged(d, labels, kept=False, sure=p) for d, p in ((labels, 0.7), (wrong, 0.8)))
    assert not helps(*low, *high)
    # Without a confidence asked for there is none to compare.
    free = {"kept": False, "sure": np.nan}
    assert helps(*judged(labels, labels, **free), *judged(wrong, labels, **free))


def test_a_worse_classifier_leaves_the_rule_as_it_was(monkeypatch):
    plain = fitted(4000)
    monkeypatch.setattr("otfair.decisions._classifier.helps", lambda *_: False)
    fair = fitted(4000, retrain=True)
    X, _, _ = people(500, seed=1)
    np.testing.assert_array_equal(fair.decision_function(X), plain.decision_function(X))
    assert fair.accuracy_ == plain.accuracy_
    assert not hasattr(fair, "retrained_")


@pytest.mark.parametrize(
    "settings",
    [
        {"randomize": True},
        {"ties": "random"},
        {"confidence": 0.9, "max_difference": 0.1},
        {"threshold": 0.3},
        {"min_ratio": 0.9, "max_difference": None},
    ],
    ids=lambda v: "-".join(v),
)
@pytest.mark.filterwarnings("ignore::otfair.LimitWarning")
def test_it_goes_with_other_settings(settings, monkeypatch):
    monkeypatch.setattr("otfair.decisions._classifier.helps", lambda *_: True)
    fair = fitted(3000, retrain=True, **settings)
    assert hasattr(fair, "retrained_")
    X, y, group = people(3000)
    assert fair.limits_met_
    path = fair.path([0.2, 0.1], X, y, group) if "min_ratio" not in settings else fair.path([0.5])
    assert path["met"].all()
    own = fair.predict_proba(X)[:, 1]  # the classifier's own scores, as without
    np.testing.assert_array_equal(own, fair.estimator_.predict_proba(X)[:, 1])


def test_weights_are_those_of_copies(monkeypatch):
    monkeypatch.setattr("otfair.decisions._classifier.helps", lambda *_: True)
    X, y, group = people(1500)
    twice = np.random.default_rng(3).integers(1, 3, 1500)
    copies = np.repeat(np.arange(1500), twice)
    # The same folds: people by their position, copies with those they are copies of.
    fold = np.arange(1500) % 3
    cv = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(3)]
    cv_copies = [tuple(np.flatnonzero(np.isin(copies, part)) for part in parts) for parts in cv]
    settings = {"max_difference": 0.03, "confidence": None, "retrain": True}
    light = FairDecisions(LogisticRegression(tol=1e-10), cv=cv, **settings)
    heavy = FairDecisions(LogisticRegression(tol=1e-10), cv=cv_copies, **settings)
    light.fit(X, y, sensitive_features=group, sample_weight=twice)
    heavy.fit(X.iloc[copies].reset_index(drop=True), y[copies], sensitive_features=group[copies])
    # Prices of copies are found by other steps, and as near as one of more people can move a rate.
    np.testing.assert_allclose(light.prices_, heavy.prices_, atol=0.01)
    np.testing.assert_allclose(light.retrained_.coef_, heavy.retrained_.coef_, atol=0.01)


def test_people_without_weight_are_not_there(monkeypatch):
    monkeypatch.setattr("otfair.decisions._classifier.helps", lambda *_: True)
    X, y, group = people(3000)
    there = np.arange(3000) % 3 == 0
    fold = np.arange(3000) // 3 % 2
    cv = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(2)]
    own = [(np.flatnonzero(fold[there] != k), np.flatnonzero(fold[there] == k)) for k in range(2)]
    settings = {"max_difference": 0.05, "confidence": None, "retrain": True}
    model = LogisticRegression(C=0.05, tol=1e-10)  # a penalty that counts
    all_ = FairDecisions(model, cv=cv, **settings)
    all_.fit(X, y, sensitive_features=group, sample_weight=there.astype(float))
    some = FairDecisions(model, cv=own, **settings)
    some.fit(X[there].reset_index(drop=True), y[there], sensitive_features=group[there])
    np.testing.assert_allclose(all_.retrained_.coef_, some.retrained_.coef_, atol=0.01)


def test_pipelines_take_weights_by_their_last_step(monkeypatch):
    monkeypatch.setattr("otfair.decisions._classifier.helps", lambda *_: True)
    data = load_dataset("synthetic", n=3000)
    sex = data.sensitive_features["sex"]
    settings = {"max_difference": 0.02, "confidence": None, "retrain": True, "cv": 3}
    pipeline = make_pipeline(TableEncoder(), LogisticRegression())
    fair = FairDecisions(pipeline, **settings).fit(data.X, data.y, sensitive_features=sex)
    assert hasattr(fair, "retrained_")
    with config_context(enable_metadata_routing=True):
        asks = make_pipeline(
            TableEncoder(), LogisticRegression().set_fit_request(sample_weight=True)
        )
        routed = FairDecisions(asks, **settings).fit(data.X, data.y, sensitive_features=sex)
        # Where weights are routed, the encoder takes them for its means, too.
        # What is compared is what was learnt: which rule is best may hang on rounding.
        one, two = (model.retrained_.predict_proba(data.X) for model in (routed, fair))
        np.testing.assert_allclose(one, two, atol=0.005)
        refuses = LogisticRegression().set_fit_request(sample_weight=False)
        # An encoder that takes weights is no classifier that does.
        for wrong in (refuses, make_pipeline(TableEncoder(), refuses), pipeline,
                      make_pipeline(TableEncoder(), KNeighborsClassifier())):  # fmt: skip
            with pytest.raises(ValueError, match="does not ask for weights; call `set_fit_request"):
                FairDecisions(wrong, **settings).fit(data.X, data.y, sensitive_features=sex)


def test_errors_say_what_does_not_go():
    X, y, group = people(200)
    neighbours = make_pipeline(TableEncoder(), KNeighborsClassifier())
    for model in (neighbours, neighbours[-1]):
        fair = FairDecisions(model, max_difference=0.1, retrain=True)
        with pytest.raises(ValueError, match=r"`fit` of .* has no parameter `sample_w"):
            fair.fit(X, y, sensitive_features=group)
    for settings in ({"target": "scores"}, {"use_sensitive": True}, {"cv": "prefit"}):
        (name,) = settings
        with pytest.raises(ValueError, match=rf"`retrain=True` and `{name}=.* do not go together"):
            fitted(200, retrain=True, **settings)
    with pytest.raises(ValueError, match="not within labels, where prices take away what labels"):
        fitted(200, retrain=True, notion="equalized_odds")
    with pytest.raises(ValueError, match="not within labels"):
        fitted(200, retrain=True, notion=DemographicParity() & EqualOpportunity())
    with pytest.raises(ValueError, match="`retrain` must be True or False; received 1"):
        fitted(200, retrain=1)


def test_one_sign_in_a_fold_leaves_the_classifier_as_it_is(monkeypatch):
    one = "otfair.decisions._classifier.worth"
    monkeypatch.setattr(one, lambda labels, *_: np.ones(len(labels)))
    fair = fitted(2000, retrain=True)
    assert fair.limits_met_
    assert not hasattr(fair, "retrained_")


def test_a_second_fit_forgets_the_first():
    fair = fitted(retrain=True)  # of fewer people rounding tells whether it helps
    assert hasattr(fair, "retrained_")
    X, y, group = people(3000)
    fair.set_params(retrain=False).fit(X, y, sensitive_features=group)
    assert not hasattr(fair, "retrained_")
    np.testing.assert_array_equal(fair.predict(X), fitted(3000).predict(X))


def test_a_path_begins_with_the_classifier_s_own_decisions():
    fair = fitted(retrain=True)
    assert hasattr(fair, "retrained_")
    path = fair.path()
    assert path.attrs["no limit"] == pytest.approx(fair.accuracy_before_)
    before = fair.summary()["before"]
    assert path["limit"].max() == pytest.approx(np.ptp(before))
    X, y, group = people(5000, seed=3)
    judged = fair.path([0.1], X, y, group)
    own = fair.estimator_.predict(X)
    assert judged.attrs["no limit"] == pytest.approx((own == y).mean())


def test_weights_reach_the_last_step_of_a_pipeline():
    X, y, group = people(1000)
    weight = np.where(group == 1, 50.0, 1.0)
    settings = {"max_difference": 0.1, "confidence": None, "cv": 2}
    alone = FairDecisions(LogisticRegression(), **settings)
    within = FairDecisions(make_pipeline(FunctionTransformer(), LogisticRegression()), **settings)
    for fair in (alone, within):
        fair.fit(X, y, sensitive_features=group, sample_weight=weight)
    np.testing.assert_allclose(within.estimator_[-1].coef_, alone.estimator_.coef_)


def test_around_a_model_of_ours():
    X, y, group = people(2000)
    fair = FairDecisions(OTFClassifier(alpha=0.2), max_difference=0.03, confidence=None, cv=2)
    fair.set_params(retrain=True).fit(X, y, sensitive_features=group)
    assert fair.limits_met_
