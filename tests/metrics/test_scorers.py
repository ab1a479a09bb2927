"""Scorers by routing against the metrics they wrap, in scikit-learn's searches and in fairlearn."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from fairlearn.metrics import MetricFrame
from sklearn import config_context
from sklearn.exceptions import UndefinedMetricWarning, UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer, roc_auc_score
from sklearn.model_selection import (
    GridSearchCV,
    StratifiedKFold,
    TunedThresholdClassifierCV,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import otfair

SCORERS = {
    "pdp": otfair.pdp_scorer,
    "peo": otfair.peo_scorer,
    "dp": otfair.demographic_parity_difference_scorer,
    "eo": otfair.equalized_odds_difference_scorer,
}


def direct(model, X, y, S, w=None):
    """The four metrics by their functions; y is 0 and 1."""
    h, groups = model.predict_proba(X)[:, 1], S[["sex", "origin"]]
    return {
        "pdp": otfair.pdp_violation(h, S, w),
        "peo": otfair.peo_violation(h, S, y, w),
        "dp": otfair.demographic_parity_difference(h, groups, sample_weight=w),
        "eo": otfair.equalized_odds_difference(h, groups, y, sample_weight=w),
    }


@pytest.fixture(scope="module")
def people():
    data = otfair.load_dataset("synthetic", n=600)
    return otfair.TableEncoder().fit_transform(data.X), data.y, data.sensitive_features


@pytest.fixture(scope="module")
def weights():
    return np.random.default_rng(0).integers(1, 4, 600)


@pytest.fixture
def routing():
    with config_context(enable_metadata_routing=True):
        yield


def test_importing_does_not_switch_routing_on():
    assert not sklearn.get_config()["enable_metadata_routing"]


@pytest.mark.parametrize("weighted", [False, True])
def test_a_scorer_is_minus_its_metric(people, weights, weighted):
    X, y, S = people
    w = weights if weighted else None
    model = LogisticRegression().fit(X, y)
    expected = direct(model, X, y, S, w)
    for name, scorer in SCORERS.items():
        found = scorer(model, X, y, sensitive_features=S, sample_weight=w)
        assert found == pytest.approx(-expected[name], abs=1e-12)


def test_the_positive_class_is_the_last_of_any_two(people):
    X, y, S = people
    model = LogisticRegression().fit(X, np.where(y, "accepted", "refused"))
    # "refused" comes last, so that the odds are those of being refused.
    scores, labels = model.predict_proba(X)[:, 1], 1 - y
    expected = otfair.peo_violation(scores, S, labels)
    given = pd.Series(np.where(y, "accepted", "refused"))
    assert otfair.peo_scorer(model, X, given, sensitive_features=S) == -expected
    # Also where a part of the people is of one class only.
    some = np.flatnonzero(y == 1)
    one = otfair.peo_scorer(model, X[some], given.iloc[some], sensitive_features=S.iloc[some])
    assert one == -otfair.peo_violation(scores[some], S.iloc[some], labels[some])


def test_decisions_are_those_of_predict(people):
    X, y, S = people
    model = LinearSVC(C=0.01).fit(X, y)
    found = otfair.demographic_parity_difference_scorer(model, X, y, sensitive_features=S["sex"])
    assert found == -otfair.demographic_parity_difference(model.predict(X), S["sex"])
    with pytest.raises(ValueError, match="LinearSVC has no `predict_proba`"):
        otfair.pdp_scorer(model, X, y, sensitive_features=S["sex"])


KINDS = {
    "pandas": lambda S: S,
    "series": lambda S: S["sex"],
    "polars": pl.from_pandas,
    "polars series": lambda S: pl.from_pandas(S)["sex"],
    "array": lambda S: S[["sex", "origin"]].to_numpy(dtype=str),
    "list": lambda S: S["sex"].tolist(),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("routing")
def test_cross_validation_routes_sensitive_features_of_any_kind(people, kind):
    X, y, S = people
    given, labels = KINDS[kind](S), np.where(y, "yes", "no")
    found = cross_validate(
        LogisticRegression(), X, labels, cv=3, scoring=SCORERS, error_score="raise",
        return_estimator=True, params={"sensitive_features": given},
    )  # fmt: skip
    table = S if kind in ("pandas", "polars") else S[["sex", "origin"]]
    for fold, (_, test) in enumerate(StratifiedKFold(3).split(X, y)):
        if "series" in kind or kind == "list":
            h = found["estimator"][fold].predict_proba(X[test])[:, 1]
            expected = {"pdp": otfair.pdp_violation(h, S["sex"].iloc[test])}
        else:
            expected = direct(found["estimator"][fold], X[test], y[test], table.iloc[test])
        for name, value in expected.items():
            assert found[f"test_{name}"][fold] == pytest.approx(-value, abs=1e-12)


@pytest.mark.usefixtures("routing")
def test_a_search_over_a_pipeline_picks_the_best_of_the_fair():
    data = otfair.load_dataset("synthetic", n=500)
    sex, y = data.sensitive_features["sex"], np.where(data.y, "yes", "no")
    clf = otfair.OTFClassifier().set_fit_request(sensitive_features=True)
    pipe = make_pipeline(otfair.TableEncoder(), clf)
    scoring = {"auc": "roc_auc", "fair": otfair.make_fair_scorer(max_violation=0.1)} | SCORERS
    search = GridSearchCV(
        pipe, {"otfclassifier__alpha": [0, 0.7]}, scoring=scoring, refit="fair", cv=2,
        error_score="raise",
    )  # fmt: skip
    search.fit(data.X, y, sensitive_features=sex)
    table = pd.DataFrame(search.cv_results_)
    assert table["mean_test_auc"][0] > table["mean_test_auc"][1]
    assert table["mean_test_pdp"][0] < -0.1 < table["mean_test_pdp"][1]
    assert search.best_params_ == {"otfclassifier__alpha": 0.7}
    expected = scoring["fair"](search.best_estimator_, data.X, y, sensitive_features=sex)
    assert search.score(data.X, y, sensitive_features=sex) == expected


def test_performance_is_traded_at_a_price_above_what_is_allowed(people, weights):
    X, y, S = people
    model = LogisticRegression().fit(X, y)
    h, given = model.predict_proba(X)[:, 1], {"sensitive_features": S, "sample_weight": weights}
    auc, v = roc_auc_score(y, h, sample_weight=weights), otfair.peo_violation(h, S, y, weights)
    for allowed, expected in ((v / 2, auc - 3 * v / 2), (min(1, 2 * v), auc)):
        scorer = otfair.make_fair_scorer(
            "roc_auc", "equalized_odds", max_violation=allowed, price=3
        )
        assert scorer(model, X, y, **given) == pytest.approx(expected, abs=1e-12)
    scorer = otfair.make_fair_scorer(
        get_scorer("accuracy"), otfair.equalized_odds_difference_scorer, max_violation=0, price=1
    )
    assert scorer(model, X, y, sensitive_features=S) == pytest.approx(
        model.score(X, y) - direct(model, X, y, S)["eo"], abs=1e-12
    )
    alone = otfair.make_fair_scorer(None, "equal_opportunity", max_violation=0, price=1)
    only = y == 1
    assert alone(model, X, y, sensitive_features=S) == pytest.approx(
        -otfair.pdp_violation(h[only], S[only]), abs=1e-12
    )


@pytest.mark.usefixtures("routing")
def test_weights_are_routed_when_asked_for(people, weights):
    X, y, S = people
    params = {"sensitive_features": S, "sample_weight": weights, "people": S[["sex"]]}
    model = LogisticRegression().set_fit_request(sample_weight=False)
    wanted = otfair.pdp_scorer.set_score_request(sample_weight=True)
    renamed = otfair.pdp_scorer.set_score_request(sensitive_features="people", sample_weight=False)
    found = cross_validate(
        model, X, y, cv=2, scoring={"wanted": wanted, "renamed": renamed}, params=params,
        return_estimator=True,
    )  # fmt: skip
    for fold, (_, test) in enumerate(StratifiedKFold(2).split(X, y)):
        h = found["estimator"][fold].predict_proba(X[test])[:, 1]
        expected = otfair.pdp_violation(h, S.iloc[test], weights[test])
        assert found["test_wanted"][fold] == pytest.approx(-expected, abs=1e-12)
        expected = otfair.pdp_violation(h, S["sex"].iloc[test])
        assert found["test_renamed"][fold] == pytest.approx(-expected, abs=1e-12)
    # The scorer that was not asked is as it was, and does not take weights unasked.
    del params["people"]
    with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
        cross_validate(model, X, y, cv=2, scoring=otfair.pdp_scorer, params=params)


def test_without_routing_the_error_says_how(people):
    X, y, _ = people
    with pytest.raises(ValueError, match=r"enable_metadata_routing=True.*set_score_request"):
        cross_validate(
            LogisticRegression(), X, y, cv=2, scoring=otfair.pdp_scorer, error_score="raise"
        )


def test_bad_input_is_refused(people):
    X, y, S = people
    model = LogisticRegression().fit(X, y)
    with pytest.raises(ValueError, match="two classes"):
        otfair.pdp_scorer(model, X, np.where(y, "yes", "no"), sensitive_features=S)
    with pytest.raises(ValueError, match="two classes"):
        otfair.pdp_scorer(LogisticRegression(), X, y, sensitive_features=S)
    with pytest.raises(TypeError, match=r"can't ask for \['groups'\]"):
        otfair.pdp_scorer.set_score_request(groups=True)
    with pytest.raises(ValueError, match=r"`price` must lie in \[0, 1e\+300\]; received -1"):
        otfair.make_fair_scorer(price=-1)
    with pytest.raises(ValueError, match="unknown notion 'parity'"):
        otfair.make_fair_scorer(notion="parity")
    with pytest.raises(ValueError, match="age' holds numbers"):
        SCORERS["dp"](model, X, y, sensitive_features=S[["age"]])


def test_one_group_alone_is_undefined(people):
    X, y, S = people
    model, women = LogisticRegression().fit(X, y), (S["sex"] == "Female").to_numpy()
    fair = otfair.make_fair_scorer("roc_auc")
    for scorer in [*SCORERS.values(), fair]:
        with pytest.warns(UndefinedMetricWarning, match="'sex' is Female for all of these"):
            assert np.isnan(
                scorer(model, X[women], y[women], sensitive_features=S.loc[women, ["sex"]])
            )
    control = otfair.make_fair_scorer(None, otfair.ConditionalParity(control="sex"))
    columns = S.loc[women, ["sex", "origin"]]  # a single stratum is no harm
    assert np.isfinite(control(model, X[women], y[women], sensitive_features=columns))


def test_scorers_are_pickled_and_shown():
    scorer = otfair.make_fair_scorer("accuracy", max_violation=0.1, price=2)
    again = pickle.loads(pickle.dumps(otfair.peo_scorer))
    assert again == otfair.peo_scorer
    assert repr(again) == "FairnessScorer(EqualizedOdds violation)"
    assert "max_violation=0.1, price=2" in repr(pickle.loads(pickle.dumps(scorer)))


def test_metric_frame_measures_one_attribute_within_another(people, weights):
    X, y, S = people
    model = LogisticRegression().fit(X, y)
    h = model.predict_proba(X)[:, 1]
    params = {"sensitive_features": S["sex"], "sample_weight": weights}
    frame = MetricFrame(
        metrics={"auc": roc_auc_score} | {name: s.metric for name, s in SCORERS.items()},
        y_true=y,
        y_pred=h,
        sensitive_features=S["origin"],
        sample_params=dict.fromkeys(SCORERS, params),
    )
    for origin in (None, *S["origin"].unique()):
        part = (S["origin"] == origin).to_numpy() if origin else np.full(len(y), True)
        row = frame.by_group.loc[origin] if origin else frame.overall
        data = (h[part], S.loc[part, "sex"])
        expected = {
            "auc": roc_auc_score(y[part], h[part]),
            "pdp": otfair.pdp_violation(*data, weights[part]),
            "peo": otfair.peo_violation(*data, y[part], weights[part]),
            "dp": otfair.demographic_parity_difference(*data, sample_weight=weights[part]),
            "eo": otfair.equalized_odds_difference(*data, y[part], sample_weight=weights[part]),
        }
        assert row.to_dict() == pytest.approx(expected, abs=1e-12)


def test_metric_frame_shows_nan_where_there_is_one_group(people):
    _, y, S = people
    with pytest.warns(UndefinedMetricWarning, match="'group' is"):
        frame = MetricFrame(
            metrics=otfair.pdp_scorer.metric,
            y_true=y,
            y_pred=np.linspace(0, 1, len(y)),
            sensitive_features=S["sex"],
            sample_params={"sensitive_features": S["sex"]},
        )
    assert frame.by_group.isna().all()
    assert 0 < frame.overall < 1


# Thresholds, which TunedThresholdClassifierCV chooses by a scorer that it takes apart


@pytest.mark.parametrize("names", [(0, 1), ("no", "yes")], ids=str)
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
def test_a_tuned_threshold_is_the_best_of_all_by_direct_computation(
    people, weights, routing, names, weighted
):
    X, zeros_and_ones, S = people
    y, sex, w = np.array(names)[zeros_and_ones], S["sex"], weights if weighted else None
    scorer = otfair.make_fair_scorer(
        "accuracy", otfair.demographic_parity_difference_scorer, max_violation=0.1, price=10.0
    )
    model, given = LogisticRegression().fit(X, y), {"sensitive_features": sex}
    if weighted:
        scorer = scorer.set_score_request(sample_weight=True)
        model.set_fit_request(sample_weight=False)
        given["sample_weight"] = w
    tuned = TunedThresholdClassifierCV(
        model, scoring=scorer, cv="prefit", refit=False, thresholds=60, store_cv_results=True
    ).fit(X, y, **given)
    h = model.predict_proba(X)[:, 1]
    cuts = np.linspace(h.min(), h.max(), 60)
    gaps = [otfair.demographic_parity_difference(h >= c, sex, sample_weight=w) for c in cuts]
    right = [np.average((h >= c) == zeros_and_ones, weights=w) for c in cuts]
    expected = np.array(right) - 10 * np.maximum(0, np.array(gaps) - 0.1)
    np.testing.assert_allclose(tuned.cv_results_["scores"], expected, atol=1e-12)
    np.testing.assert_allclose(tuned.cv_results_["thresholds"], cuts)
    assert tuned.best_threshold_ == cuts[expected.argmax()]
    # The best threshold is fair, and the most accurate one is not: no sign is the wrong way round.
    fair = np.asarray(tuned.predict(X)) == names[1]
    assert otfair.demographic_parity_difference(fair, sex, sample_weight=w) <= 0.1
    assert gaps[int(np.argmax(right))] > 0.1


@pytest.mark.parametrize("scorer", SCORERS.values(), ids=SCORERS)
def test_every_scorer_tunes_a_threshold_in_folds(people, routing, scorer):
    X, y, S = people
    clf = otfair.OTFClassifier(alpha=0.3).set_fit_request(sensitive_features=True)
    scorer = replace(scorer, performance=get_scorer("balanced_accuracy"))
    tuned = TunedThresholdClassifierCV(clf, scoring=scorer, cv=2, thresholds=10)
    tuned.fit(X, y, sensitive_features=S[["sex"]])
    assert 0 < tuned.best_threshold_ < 1
    decided = (tuned.estimator_.predict_proba(X)[:, 1] >= tuned.best_threshold_).astype(int)
    assert tuned.predict(X).tolist() == decided.tolist()


def test_what_a_threshold_needs_is_said(people, routing):
    X, y, S = people
    model = LogisticRegression().fit(X, y)
    free = otfair.pdp_scorer.set_score_request(sensitive_features=None)
    with pytest.raises(ValueError, match="did not reach the scorer"):
        TunedThresholdClassifierCV(model, scoring=free, cv="prefit", refit=False).fit(X, y)
    own = otfair.make_fair_scorer(lambda estimator, X, y: 0.5)
    with pytest.raises(TypeError, match="`make_scorer`"):
        TunedThresholdClassifierCV(model, scoring=own, cv="prefit", refit=False).fit(
            X, y, sensitive_features=S["sex"]
        )


# Input that would be misread


def test_rows_of_another_order_are_refused_by_their_indexes(people):
    X, y, S = people
    model = LogisticRegression().fit(X, y)
    labels, sex = pd.Series(y), S["sex"].sample(frac=1, random_state=0)
    with pytest.raises(ValueError, match="`sensitive_features` has the same labels in another"):
        otfair.pdp_scorer(model, X, labels, sensitive_features=sex)
    with pytest.raises(ValueError, match="`sensitive_features` has the same labels in another"):
        otfair.pdp_scorer.metric(labels, labels, sensitive_features=sex)


def test_people_without_a_sensitive_value_are_left_out(people):
    X, y, S = people
    model = LogisticRegression().fit(X, y)
    gone = np.arange(len(y)) % 7 == 0
    gaps = S.astype({"sex": object, "origin": object})
    gaps.loc[gone, "sex"] = None
    for scorer in SCORERS.values():
        expected = scorer(model, X[~gone], y[~gone], sensitive_features=S[~gone])
        assert scorer(model, X, y, sensitive_features=gaps) == pytest.approx(expected, abs=1e-12)
    alone = gaps.assign(sex=np.where(gaps["sex"] == "Male", "Male", None))
    with pytest.warns(UndefinedMetricWarning, match="is Male for all"):
        assert np.isnan(otfair.pdp_scorer(model, X, y, sensitive_features=alone))


def test_differences_of_codes_follow_the_notion_of_a_scorer(people):
    X, y, _ = people
    model, codes = LogisticRegression().fit(X, y), pd.DataFrame({"area": np.arange(len(y)) % 12})
    notion = otfair.DemographicParity(categorical="area")
    scorer = otfair.make_fair_scorer(None, notion, max_violation=0.0, price=1.0)
    h = model.predict_proba(X)[:, 1]
    expected = otfair.pdp_violation(h, codes.astype(str))
    assert scorer(model, X, y, sensitive_features=codes) == pytest.approx(-expected)
    assert otfair.pdp_violation(h, codes, categorical="area") == pytest.approx(expected)
