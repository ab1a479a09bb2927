"""Boosted trees in the manner of scikit-learn: contract, stock booster, tables, paths, files."""

from __future__ import annotations

import pickle
import sys

import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import pytest
import xgboost
from estimators import SuppliesAttribute
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import otfair
from otfair import OTFBoostingClassifier
from otfair.models._judging import split_people
from otfair.models._validation import split_off

BOOSTERS = ("xgboost", "lightgbm")
DEFAULTS = {"reg_lambda": 10}  # of ours, where SMALL has no other
SMALL = {"n_estimators": 20, "max_depth": 3, "learning_rate": 0.3, "n_jobs": 1}


class WithAttribute(SuppliesAttribute, OTFBoostingClassifier):
    """With the penalty in reach of the checks."""


def expected_failures(estimator):
    # Trees choose thresholds among the rows they see, and LightGBM counts rows, not weights.
    reason = "boosters bin rows, whatever their weights"
    return {"check_sample_weight_equivalence_on_dense_data": reason}


@parametrize_with_checks(
    [
        OTFBoostingClassifier(alpha=0, n_estimators=10, n_jobs=1),
        OTFBoostingClassifier("lightgbm", alpha=0, n_estimators=10, n_jobs=1, min_child_samples=2),
        WithAttribute(alpha=0.5, epsilon=0.1, n_estimators=10, n_jobs=1),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def data():
    return otfair.load_dataset("synthetic", n=800)


@pytest.fixture(scope="module")
def gaps(data):
    """The table with missing numbers and categories, as pandas categoricals."""
    table = data.X.copy()
    rng = np.random.default_rng(0)
    for name in table.columns:
        if table[name].dtype.kind not in "iuf":
            table[name] = table[name].astype(str).astype("category")
        else:
            table[name] = table[name].astype(float)
        table.loc[rng.random(len(table)) < 0.1, name] = np.nan
    return table


@pytest.fixture(scope="module")
def sex(data):
    return data.sensitive_features["sex"]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("booster", BOOSTERS)
def test_alpha_0_is_the_stock_booster_with_categories_and_gaps(data, gaps, booster, weighted):
    w = np.random.default_rng(1).integers(1, 4, len(gaps)) if weighted else None
    stock = (
        xgboost.XGBClassifier(enable_categorical=True, **DEFAULTS | SMALL)
        if booster == "xgboost"
        else lightgbm.LGBMClassifier(verbosity=-1, **DEFAULTS | SMALL)
    ).fit(gaps, data.y, sample_weight=w)
    ours = OTFBoostingClassifier(booster, alpha=0, **SMALL).fit(gaps, data.y, sample_weight=w)
    theirs = stock.predict_proba(gaps)
    np.testing.assert_allclose(ours.predict_proba(gaps), theirs, atol=1e-6)
    # And so it is through our own objective, at a strength next to nothing.
    weak = OTFBoostingClassifier(booster, alpha=1e-13, balance=1.0, **SMALL)
    weak.fit(gaps, data.y, data.sensitive_features["sex"], w)
    np.testing.assert_allclose(weak.predict_proba(gaps), theirs, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("booster", BOOSTERS)
def test_the_largest_correlation_is_a_penalty_of_trees_too(data, sex, booster, tmp_path):
    clf = OTFBoostingClassifier(booster, "equalized_odds", regularizer="correlation", **SMALL)
    free, fair = clf.fit_path(data.X, data.y, sex, [0, 0.9])
    assert fair.violation_ < 0.6 * free.violation_
    fair.save(tmp_path / "model.otfair")
    loaded = otfair.load_model(tmp_path / "model.otfair")
    assert loaded.regularizer == "correlation"
    np.testing.assert_array_equal(loaded.predict_proba(data.X), fair.predict_proba(data.X))


@pytest.mark.slow
@pytest.mark.parametrize("notion", ["demographic_parity", "equalized_odds"])
@pytest.mark.parametrize("booster", BOOSTERS)
def test_a_path_leaves_less_and_less_of_the_violation(data, gaps, sex, booster, notion):
    clf = OTFBoostingClassifier(booster, notion, **SMALL | {"n_estimators": 60})
    models = list(clf.fit_path(gaps, data.y, sex, [0, 0.5, 0.95, 0.999]))
    left = np.array([m.violation_ for m in models]) / models[0].violation_
    assert left[1] < 0.9
    assert np.diff(left).max() <= 0.2  # chance, of few people
    assert left[3] < 0.4
    h = models[3].predict_proba(gaps)[:, 1]
    assert roc_auc_score(data.y, h) > 0.7
    measured = otfair.pdp_violation if notion == "demographic_parity" else otfair.peo_violation
    more = () if notion == "demographic_parity" else (data.y,)
    assert models[3].violation_ == pytest.approx(measured(h, sex, *more), abs=1e-6)
    # One of the path is one that was trained alone.
    alone = clone(clf).set_params(alpha=0.5).fit(gaps, data.y, sensitive_features=sex)
    np.testing.assert_allclose(alone.predict_proba(gaps), models[1].predict_proba(gaps), atol=1e-3)
    assert len(alone.history_) == 60
    assert alone.alpha_ == 0.5


@pytest.mark.slow
def test_the_weakest_strength_that_is_fair_enough(data, sex):
    free = OTFBoostingClassifier(alpha=0, **SMALL).fit(data.X, data.y)
    clf = OTFBoostingClassifier(max_violation=0.2, random_state=0, **SMALL)
    clf.fit(data.X, data.y, sensitive_features=sex)
    assert clf.violation_ < clf.violation_bound_ <= 0.2
    assert clf.violation_ < otfair.pdp_violation(free.predict_proba(data.X)[:, 1], sex)
    assert 0 < clf.alpha_ < 1
    weaker = [record["bound"] for record in clf.search_ if record["alpha"] < clf.alpha_]
    assert min(weaker) > 0.2  # no fairer than asked for


@pytest.mark.slow
def test_trees_that_remember_their_people_do_not_judge_by_them(data, sex):
    # Deep trees are as fair as asked for on the people they know, and say that this is not enough.
    deep = {"n_estimators": 60, "max_depth": 8, "n_jobs": 1}
    X, y, sex = data.X[:300], data.y[:300], sex[:300]
    clf = OTFBoostingClassifier(max_violation=0.05, **deep)
    with pytest.warns(otfair.LimitWarning, match="no alpha meets max_violation=0.05"):
        clf.fit(X, y, sensitive_features=sex)
    assert clf.violation_bound_ > 0.05
    assert clf.judgement_.people == "cross-fitted"


def test_after_a_search_the_history_is_that_of_the_model_which_was_kept(data, sex):
    settings = {"random_state": 0, "balance": 30.0, **SMALL}
    found = OTFBoostingClassifier(max_violation=0.2, **settings)
    found.fit(data.X, data.y, sensitive_features=sex)
    assert found.alpha_ > 0
    alone = OTFBoostingClassifier(alpha=found.alpha_, **settings)
    alone.fit(data.X, data.y, sensitive_features=sex)
    np.testing.assert_allclose(found.history_, alone.history_, rtol=1e-3)
    free = OTFBoostingClassifier(max_violation=1.0, **settings)
    assert free.fit(data.X, data.y, sensitive_features=sex).history_ == []


def test_a_share_that_leaves_nobody_to_judge_is_refused(data, sex):
    clf = OTFBoostingClassifier(max_violation=0.1, validation_fraction=1e-9, **SMALL)
    with pytest.raises(ValueError, match="leaves too few on one side"):
        clf.fit(data.X, data.y, sensitive_features=sex)


def test_people_held_out_judge_the_violation(data, sex):
    clf = OTFBoostingClassifier(max_violation=0.3, validation_fraction=0.4, random_state=0, **SMALL)
    clf.fit(data.X, data.y, sensitive_features=sex)
    y = np.asarray(data.y)
    ((kept, judged),), _ = split_people(clf, otfair.DemographicParity().people(sex), y)
    h = clf.predict_proba(data.X)[:, 1]
    held_out = otfair.pdp_violation(h[judged], sex.iloc[judged])
    assert clf.violation_ == pytest.approx(held_out, abs=1e-6)
    assert clf.violation_bound_ <= 0.3
    assert abs(otfair.pdp_violation(h[kept], sex.iloc[kept]) - held_out) > 1e-4  # others
    assert y[judged].mean() == pytest.approx(np.mean(data.y), abs=2e-3)


def test_tables_of_any_kind_and_unseen_values(data, sex):
    clf = OTFBoostingClassifier(alpha=0, **SMALL).fit(data.X, data.y)
    theirs = clf.predict_proba(data.X)
    frame = pl.DataFrame({name: data.X[name].to_list() for name in data.X})
    ours = OTFBoostingClassifier(alpha=0, **SMALL).fit(frame, data.y).predict_proba(frame)
    np.testing.assert_allclose(ours, theirs, atol=1e-6)
    # A category that was never seen is missing.
    name = next(n for n in data.X if data.X[n].dtype.kind not in "biuf")
    unseen, missing = data.X.copy(), data.X.copy()
    unseen[name], missing[name] = "never seen", None
    np.testing.assert_array_equal(clf.predict_proba(unseen), clf.predict_proba(missing))
    number = next(n for n in data.X if data.X[n].dtype.kind in "if")
    for text in ("text", "123"):
        with pytest.raises(ValueError, match="was numeric in `fit`"):
            clf.predict(data.X.assign(**{number: text}))
    with pytest.raises(ValueError, match="has infinite values"):
        clf.predict(data.X.assign(**{number: np.inf}))
    with pytest.raises(TypeError, match=f"{name!r} has the type .*atetime"):
        clf.predict(data.X.assign(**{name: pd.Timestamp("2020-01-01")}))
    with pytest.raises(ValueError, match=r"OTFBoosting.* `X.list.fitted.feature_names_in_"):
        clf.predict(data.X.drop(columns=number))


def test_people_are_alike_by_chosen_columns(data, sex):
    names = list(data.X.columns[:2])
    some = OTFBoostingClassifier(cost_features=names, alpha=0.9, **SMALL)
    some.fit(data.X, data.y, sensitive_features=sex)
    encoded = otfair.TableEncoder().fit_transform(data.X[names])
    np.testing.assert_allclose(some.cost_matrix_of(data.X), encoded)
    given = OTFBoostingClassifier(geometry=otfair.PointCloud(encoded), alpha=0.9, **SMALL)
    given.fit(data.X, data.y, sensitive_features=sex)
    np.testing.assert_allclose(given.predict_proba(data.X), some.predict_proba(data.X), atol=1e-4)
    mask = clone(some).set_params(cost_features=[name in names for name in data.X.columns])
    mask.fit(data.X, data.y, sensitive_features=sex)
    np.testing.assert_array_equal(mask.cost_matrix_of(data.X), some.cost_matrix_of(data.X))
    with pytest.raises(ValueError, match="`cost_features` chooses no column"):
        clone(some).set_params(cost_features=[]).fit(data.X, data.y, sex)
    with pytest.raises(ValueError, match="`cost_features` names 'height'; X has"):
        clone(some).set_params(cost_features="height").fit(data.X, data.y, sex)


def test_cost_and_scale_are_those_of_the_geometry(data, sex, tmp_path):
    far = OTFBoostingClassifier(cost="cityblock", scale="mean", alpha=0.9, **SMALL)
    far.fit(data.X, data.y, sensitive_features=sex)
    encoded = otfair.TableEncoder().fit_transform(data.X)
    geometry = otfair.PointCloud(encoded, cost="cityblock", scale="mean")
    given = OTFBoostingClassifier(geometry=geometry, alpha=0.9, **SMALL)
    given.fit(data.X, data.y, sensitive_features=sex)
    np.testing.assert_array_equal(given.predict_proba(data.X), far.predict_proba(data.X))
    plain = OTFBoostingClassifier(alpha=0.9, **SMALL).fit(data.X, data.y, sex)
    assert plain.balance_ != far.balance_
    far.save(tmp_path / "model.safetensors")
    loaded = OTFBoostingClassifier.load(tmp_path / "model.safetensors")
    assert (loaded.cost, loaded.scale) == ("cityblock", "mean")
    with pytest.raises(ValueError, match="unknown cost 'taxi'"):
        clone(far).set_params(cost="taxi").fit(data.X, data.y, sex)
    with pytest.raises(ValueError, match="`geometry` has a cost of its own"):
        clone(far).set_params(geometry=geometry).fit(data.X, data.y, sex)


@pytest.mark.parametrize("rest", [0.0, 1e-9])
@pytest.mark.parametrize("alpha", [0, 0.5])
def test_where_one_class_has_all_weight_it_is_predicted(data, sex, alpha, rest):
    # XGBoost before 3.2 starts at a chance of 0 or 1, and refuses its own start.
    for label in (0, 1):
        weight = np.where(data.y == label, 1.0, rest)
        model = OTFBoostingClassifier(alpha=alpha, **SMALL)
        chances = model.fit(data.X, data.y, sex, sample_weight=weight).predict_proba(data.X)
        assert chances[:, label].min() > 0.99


def test_weights_are_copies_for_the_penalty(data, sex):
    # Whole numbers; trees choose among the same thresholds here, as every row has its copies.
    clf = OTFBoostingClassifier(alpha=0.8, balance=20.0, tree_method="exact", **SMALL)
    X = otfair.TableEncoder().fit_transform(data.X)
    w = np.random.default_rng(0).integers(1, 3, len(X))
    rows = np.repeat(np.arange(len(X)), w)
    weighted = clone(clf).fit(X, data.y, sex, w).predict_proba(X)
    copied = clone(clf).fit(X[rows], data.y[rows], sex.iloc[rows]).predict_proba(X)
    np.testing.assert_allclose(weighted, copied, atol=1e-2)


@pytest.mark.slow
@pytest.mark.parametrize("booster", BOOSTERS)
def test_saved_in_the_boosters_own_format_and_loaded(data, sex, booster, tmp_path):
    clf = OTFBoostingClassifier(booster, "equalized_odds", subsample=0.9, random_state=3, **SMALL)
    clf.fit(data.X, data.y, sensitive_features=sex)
    clf.save(tmp_path / "model.safetensors")
    again = OTFBoostingClassifier.load(tmp_path / "model.safetensors")
    theirs = clf.predict_proba(data.X)
    np.testing.assert_array_equal(again.predict_proba(data.X), theirs)
    assert again.get_params() == clf.get_params()
    assert again.history_ == clf.history_
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(clf)).predict_proba(data.X), theirs)
    # The stock booster reads the text by itself.
    if booster == "xgboost":
        stock = xgboost.Booster()
        stock.load_model(bytearray(clf.model_text_.encode()))
        assert stock.num_boosted_rounds() == 20
    else:
        assert lightgbm.Booster(model_str=clf.model_text_).num_trees() == 20
    refit = again.fit(data.X, data.y, sensitive_features=sex)
    np.testing.assert_allclose(refit.predict_proba(data.X), theirs, atol=1e-3)


@pytest.mark.parametrize("booster", BOOSTERS)
def test_a_booster_that_was_chosen_for_later_leaves_the_model_as_it_is(data, booster, tmp_path):
    clf = OTFBoostingClassifier(booster, alpha=0, **SMALL).fit(data.X, data.y)
    theirs = clf.predict_proba(data.X)
    clf.set_params(booster=next(name for name in BOOSTERS if name != booster))
    clf.save(tmp_path / "model.safetensors")
    loaded = OTFBoostingClassifier.load(tmp_path / "model.safetensors")
    for again in (pickle.loads(pickle.dumps(clf)), loaded):
        np.testing.assert_array_equal(again.predict_proba(data.X), theirs)
        assert again.booster != booster


@pytest.mark.parametrize(
    ("settings", "change"),
    [
        ({}, {"sensitive_features": None}),
        ({}, {"sensitive_features": ["a"] * 300}),
        ({}, {"y": np.arange(300) % 3}),
        ({}, {"sample_weight": np.full(300, -1.0)}),
        ({"cost_features": "height"}, {}),
        ({"tree_method": "nonsense"}, {}),
    ],
)
def test_a_fit_that_fails_leaves_the_classifier_as_it_was(data, sex, settings, change):
    good = {"X": data.X[:300], "y": data.y[:300], "sensitive_features": sex[:300]}
    bad = {**good, "X": data.X[:300].drop(columns="income"), **change}
    clf = OTFBoostingClassifier(balance=30.0, **SMALL)
    failing = clone(clf).set_params(**settings)
    with pytest.raises((ValueError, xgboost.core.XGBoostError)):
        failing.fit(**bad)
    with pytest.raises(NotFittedError):
        failing.predict(bad["X"])
    clf.fit(**good)
    expected, held = clf.predict_proba(good["X"]), set(vars(clf))
    with pytest.raises((ValueError, xgboost.core.XGBoostError)):
        clf.set_params(**settings).fit(**bad)
    np.testing.assert_array_equal(clf.predict_proba(good["X"]), expected)
    assert set(vars(clf)) - held <= {"_more"}


@pytest.mark.slow
def test_a_pipeline_a_search_and_routing(data, sex):
    with config_context(enable_metadata_routing=True):
        clf = OTFBoostingClassifier(**SMALL).set_fit_request(sensitive_features=True)
        search = GridSearchCV(
            make_pipeline(clf), {"otfboostingclassifier__alpha": [0.1, 0.9]},
            scoring=otfair.pdp_scorer.set_score_request(sensitive_features=True), cv=2,
        )  # fmt: skip
        search.fit(data.X, data.y, sensitive_features=sex)
        costs = GridSearchCV(clf, {"cost": ["euclidean", "cityblock"]}, cv=2)
        costs.fit(data.X, data.y, sensitive_features=sex)
    assert search.best_params_ == {"otfboostingclassifier__alpha": 0.9}
    assert len(set(costs.cv_results_["mean_test_score"])) == 2


def test_the_curve_takes_it(data, gaps, sex):
    curve = otfair.tradeoff_curve(
        gaps, data.y, sensitive_features=sex, alphas=[0, 0.9], n_bootstrap=5,
        estimator=OTFBoostingClassifier(**SMALL),
    )  # fmt: skip
    assert curve["train_pdp"][1] < 0.5 * curve["train_pdp"][0]
    assert curve["test_otf_cost"][1] < curve["test_otf_cost"][0]
    assert (curve["test_auc"] > 0.6).all()


def test_parameters_of_the_booster_are_parameters(data):
    clf = OTFBoostingClassifier(alpha=0, reg_lambda=3.0, **SMALL)
    assert clf.get_params()["reg_lambda"] == 3.0
    other = clone(clf).set_params(reg_lambda=300.0, alpha=0.0)
    assert clf.get_params()["reg_lambda"] == 3.0
    spread = [np.ptp(m.fit(data.X, data.y).decision_function(data.X)) for m in (clf, other)]
    assert spread[1] < 0.7 * spread[0]


@pytest.mark.parametrize("booster", BOOSTERS)
def test_features_keep_their_names(data, booster, tmp_path):
    constrained = {"monotone_constraints": {"income": 1}} if booster == "xgboost" else {}
    clf = OTFBoostingClassifier(booster, alpha=0, **SMALL, **constrained).fit(data.X, data.y)
    names = list(data.X.columns)
    own = clf.booster_.feature_names if booster == "xgboost" else clf.booster_.feature_name()
    assert own == names
    shares = clf.feature_importances_
    assert shares.sum() == pytest.approx(1)
    assert (shares >= 0).all()
    assert shares.max() > 0.15
    clf.save(tmp_path / "model.safetensors")
    loaded = OTFBoostingClassifier.load(tmp_path / "model.safetensors")
    np.testing.assert_allclose(loaded.feature_importances_, shares, rtol=1e-4)
    # Names that the booster refuses are left out.
    odd = data.X.rename(columns={"income": "income, [EUR] <now>"})
    other = OTFBoostingClassifier(booster, alpha=0, **SMALL).fit(odd, data.y)
    if not constrained:
        np.testing.assert_array_equal(other.predict_proba(odd), clf.predict_proba(data.X))


def test_booleans_may_come_as_numbers(data):
    rng = np.random.default_rng(0)
    X = data.X.assign(owner=rng.random(len(data.X)) < 0.5)
    y = np.where(rng.random(len(X)) < 0.8, X["owner"], data.y).astype(int)
    clf = OTFBoostingClassifier(alpha=0, **SMALL).fit(X, y)
    expected = clf.predict_proba(X)
    for kind in (int, float, str, "boolean"):
        found = clf.predict_proba(X.assign(owner=X["owner"].astype(kind)))
        np.testing.assert_array_equal(found, expected)


def test_whole_numbers_of_any_kind_are_one_seed(data):
    settings = {"alpha": 0, "subsample": 0.5, **SMALL}
    first, second = (
        OTFBoostingClassifier(random_state=seed, **settings).fit(data.X, data.y)
        for seed in (3, np.int64(3))
    )
    np.testing.assert_array_equal(first.predict_proba(data.X), second.predict_proba(data.X))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"booster": "catboost"}, "unknown booster 'catboost'; pass one of xgboost, lightgbm"),
        ({"objective": "binary"}, "`objective` can't be set here: it is what this class provides"),
        ({"scale_pos_weight": 5.0}, "pass `sample_weight` instead"),
        ({"num_iterations": 5}, "the rounds of boosting are `n_estimators`"),
        ({"early_stopping_rounds": 0}, "`early_stopping_rounds` must be at least 1"),
        ({"early_stopping": True}, "pass `early_stopping_rounds`"),
        ({"stopping_fraction": 1}, r"`stopping_fraction` must lie in \(0, 1\); received 1"),
        ({"boost": "dart"}, "`boost` can't be set here: .*; pass it as `boosting`"),
        ({"cat_feature": [0]}, "columns of text, booleans and categories are the categories"),
        (
            {"max_violatoin": 0.1},
            "unknown setting `max_violatoin`: .* did you mean `max_violation`",
        ),
        ({"n_estimators": 0}, "`n_estimators` must be at least 1, a whole number.*; received 0"),
        ({"max_violation": -1}, r"`max_violation` must lie in \[0, 1\]"),
        ({"validation_fraction": 2}, r"`validation_fraction` must lie in \[0, 1\]; received 2"),
        ({"criterion": "ratio"}, "unknown criterion 'ratio'; pass one of correlation, difference"),
        ({"confidence": 1}, r"`confidence` must lie in \[0, 0.999999999\]; received 1"),
        ({"cv": 1}, "`cv` must be at least 2, a whole number.*; received 1"),
        ({"alpha": 1.5}, r"`alpha` must lie in \[0, 1\]; received 1.5"),
        ({}, "`sensitive_features` are missing"),
    ],
)
def test_bad_settings(data, settings, message):
    with pytest.raises(ValueError, match=message):
        OTFBoostingClassifier(**settings).fit(data.X, data.y)


@pytest.mark.parametrize("booster", BOOSTERS)
def test_a_booster_that_is_not_installed_is_named_by_its_extra(data, booster, monkeypatch):
    monkeypatch.setitem(sys.modules, booster, None)
    with pytest.raises(ImportError, match=f"pip install {booster}"):
        OTFBoostingClassifier(booster, alpha=0).fit(data.X, data.y)


def test_numbers_as_an_array_have_no_names(data):
    X = otfair.TableEncoder().fit_transform(data.X)
    clf = OTFBoostingClassifier(alpha=0, **SMALL).fit(X, data.y)
    assert not hasattr(clf, "feature_names_in_")
    with pytest.warns(UserWarning, match="was fitted without feature names"):
        clf.predict(pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])]))


def test_weights_count_in_distances_too():
    d = otfair.load_dataset("synthetic", n=300)
    X, sex = d.X.copy(), d.sensitive_features["sex"]
    weight = np.random.default_rng(0).integers(0, 4, 300)
    X.loc[weight == 0, "income"] = 1e7  # of people who do not count
    copies = np.repeat(np.arange(300), weight)
    model = otfair.OTFBoostingClassifier(n_estimators=5, n_jobs=1, alpha=0.7)
    one = clone(model).fit(X, d.y, sex, sample_weight=weight)
    other = clone(model).fit(X.iloc[copies], d.y[copies], sex.iloc[copies])
    assert one.balance_ == pytest.approx(other.balance_)
    np.testing.assert_allclose(one.predict_proba(d.X), other.predict_proba(d.X), atol=1e-5)


def test_one_number_weighs_everybody():
    d = otfair.load_dataset("synthetic", n=100)
    model = otfair.OTFBoostingClassifier(n_estimators=3, n_jobs=1, alpha=0.5)
    one = clone(model).fit(d.X, d.y, d.sensitive_features["sex"], sample_weight=2.0)
    other = clone(model).fit(d.X, d.y, d.sensitive_features["sex"], sample_weight=np.full(100, 2))
    np.testing.assert_array_equal(one.predict_proba(d.X), other.predict_proba(d.X))


@pytest.mark.parametrize("booster", BOOSTERS)
@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_training_stops_where_people_kept_out_find_it_best(data, sex, booster, alpha):
    # What they find is the objective, penalty included: with `OTFObjective` by hand it is the same.
    # The norm, as it has no distances, which would differ a little for fewer people.
    penalty = {"regularizer": "norm", "alpha": alpha, "balance": 0.1}
    how = {**penalty, "n_jobs": 1, "random_state": 0, "learning_rate": 0.5}
    clf = OTFBoostingClassifier(
        booster, n_estimators=80, early_stopping_rounds=5, stopping_fraction=0.3, **how
    ).fit(data.X, data.y, sensitive_features=sex)
    assert 1 <= clf.n_iter_ < 80
    kept, out = split_off(clf, "stopping_fraction", np.arange(len(data.y)), data.y)
    encoder = otfair.TableEncoder().fit(data.X)
    objective = otfair.OTFObjective(**penalty).fit(
        encoder.transform(data.X.iloc[kept]), sex.iloc[kept], data.y[kept]
    )
    objective.watch(encoder.transform(data.X.iloc[out]), sex.iloc[out], data.y[out])

    def judged(rounds):
        some = OTFBoostingClassifier(booster, n_estimators=rounds, **how)
        some.fit(data.X.iloc[kept], data.y[kept], sensitive_features=sex.iloc[kept])
        return objective.metric("objective").value(
            data.y[out], some.decision_function(data.X.iloc[out])
        )

    best = clf.n_iter_
    values = {rounds: judged(rounds) for rounds in range(max(1, best - 3), best + 6)}
    assert min(values, key=values.get) == best
    found = objective.metric("objective").value(
        data.y[out], clf.decision_function(data.X.iloc[out])
    )
    assert found == pytest.approx(values[best], rel=1e-5)


@pytest.mark.parametrize("booster", BOOSTERS)
def test_a_model_that_was_stopped_is_saved_without_the_trees_after(data, booster, tmp_path):
    settings = {"early_stopping_rounds": 3, "learning_rate": 0.5, "n_jobs": 1, "random_state": 1}
    clf = OTFBoostingClassifier(booster, alpha=0, **settings).fit(data.X, data.y)
    clf.save(tmp_path / "model.safetensors")
    loaded = otfair.load_model(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(loaded.predict_proba(data.X), clf.predict_proba(data.X))
    assert loaded.n_iter_ == clf.n_iter_ == loaded._trained().rounds < 100
    assert loaded.early_stopping_rounds == 3


def test_people_who_stop_it_are_not_those_of_a_geometry(data, sex):
    geometry = otfair.PointCloud(otfair.TableEncoder().fit_transform(data.X))
    clf = OTFBoostingClassifier(early_stopping_rounds=3, geometry=geometry)
    with pytest.raises(ValueError, match="`early_stopping_rounds` keeps people out of training"):
        clf.fit(data.X, data.y, sensitive_features=sex)


@pytest.mark.parametrize(
    ("people", "settings"),
    [
        (40, {"early_stopping_rounds": 2}),  # four of whom are kept out
        (30, {}),
        (30, {"min_data_in_leaf": 16}),
    ],
)
def test_too_few_people_for_two_leaves_are_an_error_with_a_remedy(data, people, settings):
    X, y, sex = data.X[:people], data.y[:people], data.sensitive_features["sex"][:people]
    few = OTFBoostingClassifier("lightgbm", n_estimators=2, n_jobs=1, **settings)
    with pytest.raises(ValueError, match=r"can't split 3\d people .*a smaller `min_child_samples`"):
        few.fit(X, y, sensitive_features=sex)
    remedied = OTFBoostingClassifier("lightgbm", n_estimators=2, n_jobs=1, min_child_samples=4)
    assert remedied.fit(X, y, sensitive_features=sex).n_iter_ == 2


@pytest.mark.parametrize("feature", ["constant", "absent", "rare"])
def test_features_that_divide_nobody_are_an_error_before_lightgbm_prints(data, feature, capfd):
    n, sex = len(data.y), data.sensitive_features["sex"]
    made = {"constant": np.ones(n), "absent": np.full(n, np.nan), "rare": np.arange(n) < 5.0}
    X = np.stack([made[feature]] * 2, axis=1).astype(float)
    same = OTFBoostingClassifier("lightgbm", n_estimators=2, n_jobs=1)
    with pytest.raises(ValueError, match=r"LightGBM can't train on these people: no .*that differ"):
        same.fit(X, data.y, sensitive_features=sex)
    assert capfd.readouterr() == ("", "")
    if feature == "rare":  # the remedy
        fitted = same.set_params(min_child_samples=2).fit(X, data.y, sensitive_features=sex)
        assert fitted.n_iter_ == 2
