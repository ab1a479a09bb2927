"""The trade-off curve against direct computations."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from joblib import parallel_config
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import train_test_split

import otfair
from otfair.tradeoff import METRICS


@pytest.fixture(scope="module")
def data():
    return otfair.load_dataset("synthetic", n=900)


@pytest.fixture(scope="module")
def curve(data):
    return otfair.tradeoff_curve(
        data.X,
        data.y,
        sensitive_features=data.sensitive_features[["sex", "origin"]],
        notion="equalized_odds",
        alphas=[0, 0.3, 0.9],
        n_bootstrap=40,
    )


def test_each_row_is_the_model_of_its_strength_judged_directly(data, curve):
    fit, test = train_test_split(np.arange(900), test_size=0.2, random_state=0, stratify=data.y)
    encoder = otfair.TableEncoder().fit(data.X.iloc[fit])
    Z = [np.asarray(encoder.transform(data.X.iloc[rows])) for rows in (fit, test)]
    model = otfair.OTFClassifier("equalized_odds", alpha=0)
    model.fit(Z[0], data.y[fit])
    S = data.sensitive_features[["sex", "origin"]].iloc[test]
    h = model.predict_proba(Z[1])[:, 1]
    row = curve.iloc[0]
    assert row["test_auc"] == pytest.approx(roc_auc_score(data.y[test], h), abs=1e-9)
    assert row["test_log_loss"] == pytest.approx(log_loss(data.y[test], h), abs=1e-9)
    assert row["test_accuracy"] == pytest.approx(model.score(Z[1], data.y[test]), abs=1e-12)
    assert row["test_pdp"] == pytest.approx(otfair.pdp_violation(h, S), abs=1e-9)
    assert row["test_peo"] == pytest.approx(otfair.peo_violation(h, S, data.y[test]), abs=1e-9)
    c = otfair.EqualizedOdds().constraints(S, data.y[test])
    cost = otfair.adjusted_otf(h, otfair.PointCloud(Z[1]), c).value / len(test)
    assert row["test_otf_cost"] == pytest.approx(cost, rel=1e-4, abs=1e-9)
    given = (h, S, data.y[test])
    assert row["test_dp_difference"] == otfair.demographic_parity_difference(*given[:2])
    assert row["test_eo_difference"] == otfair.equalized_odds_difference(*given)


def test_the_violation_falls_and_intervals_hold_their_value(curve):
    assert curve["alpha"].tolist() == [0, 0.3, 0.9]
    assert curve["train_peo"].is_monotonic_decreasing
    for part in ("train", "test"):
        for name in METRICS:
            low, high = curve[f"{part}_{name}_low"], curve[f"{part}_{name}_high"]
            value = curve[f"{part}_{name}"]
            assert ((low <= value) & (value <= high)).all()
        auc = curve[f"{part}_auc"]
        assert ((curve[f"{part}_auc_low"] < auc) & (auc < curve[f"{part}_auc_high"])).all()


@pytest.mark.slow
def test_tables_and_labels_of_any_kind(data):
    X, sex = data.X.iloc[:300], data.sensitive_features[["sex"]].iloc[:300]
    y = np.where(data.y[:300], "yes", "no")
    settings = {"alphas": [0, 0.5], "n_bootstrap": 5}
    expected = otfair.tradeoff_curve(X, y, sensitive_features=sex, **settings)
    for table, labels, sensitive in (
        (pl.from_pandas(X), pl.Series(y), pl.from_pandas(sex)),
        (pa.Table.from_pandas(X), (y == "yes").tolist(), {"sex": sex["sex"]}),
        (X, pd.Series(y, dtype="category"), sex["sex"]),
    ):
        found = otfair.tradeoff_curve(table, labels, sensitive_features=sensitive, **settings)
        pd.testing.assert_frame_equal(found, expected)


def test_several_workers_judge_as_one_does(data):
    X = otfair.TableEncoder().fit_transform(data.X)[:200]
    sex = data.sensitive_features["sex"].iloc[:200]
    settings = {"sensitive_features": sex, "alphas": [0, 0.5], "n_bootstrap": 5}
    one = otfair.tradeoff_curve(X, data.y[:200], **settings)
    with parallel_config("threading"):  # processes would import everything again
        two = otfair.tradeoff_curve(X, data.y[:200], n_jobs=2, **settings)
    pd.testing.assert_frame_equal(two, one)


@pytest.mark.slow
def test_what_is_given_comes_before_the_estimators_own(data):
    X = otfair.TableEncoder().fit_transform(data.X)
    settings = {
        "sensitive_features": data.sensitive_features[["sex"]], "alphas": [0.5], "n_bootstrap": 5
    }  # fmt: skip
    by_norm = otfair.tradeoff_curve(
        X, data.y, notion="equalized_odds", regularizer="norm", **settings
    )
    own = otfair.OTFClassifier("equalized_odds", regularizer="norm")
    again = otfair.tradeoff_curve(X, data.y, estimator=own, **settings)
    pd.testing.assert_frame_equal(by_norm, again)
    own = otfair.OTFClassifier("demographic_parity", max_violation=0.1)
    again = otfair.tradeoff_curve(
        X, data.y, estimator=own, notion="equalized_odds", regularizer="norm", **settings
    )
    pd.testing.assert_frame_equal(by_norm, again)


@pytest.mark.parametrize("standardize", [True, False])
def test_the_cost_is_by_what_the_estimator_calls_alike(data, standardize):
    X = data.X[["income", "debt_ratio", "late_payments"]].to_numpy(dtype=float)
    sex = data.sensitive_features[["sex"]]
    clf = otfair.OTFClassifier(
        regularizer=otfair.OTFLoss(epsilon=0.01, cost="cityblock"),
        cost_features=[0, 2], standardize=standardize,
    )  # fmt: skip
    if not standardize:
        X = X / 1000
    row = otfair.tradeoff_curve(
        X, data.y, sensitive_features=sex, estimator=clf, alphas=[0], n_bootstrap=0
    ).iloc[0]
    fit, test = train_test_split(np.arange(900), test_size=0.2, random_state=0, stratify=data.y)
    h = clf.set_params(alpha=0).fit(X[fit], data.y[fit]).predict_proba(X)[:, 1]
    Z = (X - X[fit].mean(0)) / X[fit].std(0) if standardize else X
    for name, rows in (("train", fit), ("test", test)):
        people = otfair.PointCloud(Z[rows][:, [0, 2]], cost="cityblock")
        c = otfair.DemographicParity().constraints(sex.iloc[rows])
        expected = otfair.adjusted_otf(h[rows], people, c, 0.01).value / len(rows)
        assert row[f"{name}_otf_cost"] == pytest.approx(expected, rel=1e-6)
        assert row[f"{name}_otf_cost_low"] == row[f"{name}_otf_cost_high"]


def test_the_cost_is_the_estimators(data):
    settings = {
        "sensitive_features": data.sensitive_features[["sex"]], "alphas": [0], "n_bootstrap": 0
    }  # fmt: skip
    loss = otfair.OTFLoss(cost="cityblock", scale="mean")
    given, by_loss, plain = (
        otfair.tradeoff_curve(data.X, data.y, estimator=clf, **settings)
        for clf in (
            otfair.OTFClassifier(cost="cityblock", scale="mean"),
            otfair.OTFClassifier(regularizer=loss),
            otfair.OTFClassifier(),
        )
    )
    pd.testing.assert_frame_equal(given, by_loss)
    assert given["test_otf_cost"][0] != plain["test_otf_cost"][0]


def test_cost_features_may_name_columns_before_encoding(data):
    settings = {
        "sensitive_features": data.sensitive_features[["sex"]], "alphas": [0.5], "n_bootstrap": 0
    }  # fmt: skip
    columns = ["income", *(f"area={v}" for v in sorted(data.X["area"].unique()))]
    by_column = otfair.OTFClassifier(cost_features=["income", "area"])
    by_output = otfair.OTFClassifier(cost_features=columns)
    pd.testing.assert_frame_equal(
        otfair.tradeoff_curve(data.X, data.y, estimator=by_column, **settings),
        otfair.tradeoff_curve(data.X, data.y, estimator=by_output, **settings),
    )


def test_one_column_is_a_cost_feature_by_name_or_position(data):
    # Of the table before encoding, where gaps make a second column of it.
    X = data.X.assign(income=np.where(np.arange(900) % 7, data.X["income"], np.nan))
    settings = {
        "sensitive_features": data.sensitive_features[["sex"]], "alphas": [0.5], "n_bootstrap": 0
    }  # fmt: skip
    position, width = X.columns.get_loc("income"), X.shape[1]
    both = ["income", "income is missing"]
    curves = [
        otfair.tradeoff_curve(
            X, data.y, estimator=otfair.OTFClassifier(cost_features=chosen), **settings
        )
        for chosen in (both, ["income"], "income", position, [position - width])
    ]
    for curve in curves[1:]:
        pd.testing.assert_frame_equal(curve, curves[0])
    for wrong in ("incom", width, 1.5):
        clf = otfair.OTFClassifier(cost_features=wrong)
        with pytest.raises(ValueError, match="`cost_features`"):
            otfair.tradeoff_curve(X, data.y, estimator=clf, **settings)


def test_numbers_have_no_differences_of_decisions(data):
    X = otfair.TableEncoder().fit_transform(data.X)
    S = data.sensitive_features
    settings = {"alphas": [0], "n_bootstrap": 5}
    age = otfair.tradeoff_curve(
        X[:200], data.y[:200], sensitive_features=S[["age"]].iloc[:200], **settings
    )
    assert age.filter(like="difference").isna().all(axis=None)
    assert age.drop(columns=age.filter(like="difference")).notna().all(axis=None)
    both, sex = (
        otfair.tradeoff_curve(
            X[:200], data.y[:200], sensitive_features=S[columns].iloc[:200], **settings
        )
        for columns in (["sex", "age"], ["sex"])
    )
    pd.testing.assert_frame_equal(both.filter(like="difference"), sex.filter(like="difference"))


def test_progress_is_shown_when_asked_for(data, capsys, monkeypatch):
    monkeypatch.setattr("otfair._io.progress._watched", lambda: True)
    X = otfair.TableEncoder().fit_transform(data.X)[:200]
    given = {"sensitive_features": data.sensitive_features["sex"].iloc[:200], "n_bootstrap": 0}
    otfair.tradeoff_curve(X, data.y[:200], alphas=[0], **given)
    assert capsys.readouterr().err == ""
    otfair.tradeoff_curve(X, data.y[:200], alphas=[0], verbose=True, **given)
    shown = capsys.readouterr().err
    assert "training: 100%" in shown
    assert "judging: 100%" in shown


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": np.zeros((10, 2))}, "`X` has 10 entries but `y` has 60"),
        ({"sensitive_features": ["a", "b"]}, "`sensitive_features` has 2 entries"),
        ({"sensitive_features": None}, "`sensitive_features` are missing"),
        ({"sensitive_features": ["a"] * 60}, "in the train part of the split, .* only one group"),
        ({"y": np.zeros(60)}, r"two classes; received 1 column\(s\), the first with 1 value"),
        ({"y": np.arange(60)}, "with 60 value"),
        ({"y": [0, 1, None] * 20}, "`y` column number 0 has 20 missing"),
        ({"alphas": [0, 1.5]}, r"`alphas` must lie in \[0, 1\]; received 1.5"),
        ({"alphas": []}, "at least one"),
        ({"notion": "parity"}, "unknown notion"),
        ({"regularizer": "lasso"}, "unknown regularizer"),
        ({"X": np.full((60, 2), "a")}, "`X` must be numeric"),
        ({"X": np.full((60, 2), np.nan)}, "NaN"),
        (
            {"estimator": otfair.OTFClassifier(geometry=otfair.PointCloud(np.eye(48)))},
            "by `cost_features`, or train by `OTFClassifier.fit_path`",
        ),
        (
            {"estimator": otfair.TableEncoder()},
            "must be an OTFClassifier or OTFBoostingClassifier; received TableEncoder",
        ),
    ],
)
def test_bad_input_is_refused(change, message):
    rng = np.random.default_rng(0)
    good = {"X": rng.normal(size=(60, 2)), "y": np.arange(60) % 2, "alphas": [0]}
    good["sensitive_features"] = ["a", "b", "b"] * 20
    with pytest.raises((ValueError, TypeError), match=message):
        otfair.tradeoff_curve(**good | change)


def test_a_group_that_the_test_part_lacks_is_said_before_training(data):
    rare = ["b"] + ["a"] * 199
    with pytest.raises(ValueError, match=r"in the (train|test) part of the split, .* one group"):
        otfair.tradeoff_curve(data.X[:200], data.y[:200], sensitive_features=rare)


def test_the_violation_of_a_notion_is_that_of_its_own_columns():
    data = otfair.load_dataset("synthetic", n=400)
    S = data.sensitive_features[["sex", "origin"]]
    by_sex = otfair.DemographicParity(columns="sex")
    curve = otfair.tradeoff_curve(
        data.X, data.y, sensitive_features=S, notion=by_sex, alphas=[0], n_bootstrap=5
    )
    alone = otfair.tradeoff_curve(
        data.X, data.y, sensitive_features=S[["sex"]], alphas=[0], n_bootstrap=5
    )
    for part in ("train", "test"):
        for end in ("", "_low", "_high"):
            assert curve[f"{part}_violation{end}"][0] == pytest.approx(alone[f"{part}_pdp{end}"][0])
    assert curve["test_pdp"][0] >= curve["test_violation"][0]


@pytest.mark.slow
def test_people_without_a_sensitive_value_are_learnt_from_and_not_judged_by(data):
    sex = data.sensitive_features["sex"].astype(object)
    gaps = sex.mask(np.arange(900) % 6 == 0).to_frame()
    settings = {"alphas": [0, 0.7], "n_bootstrap": 3}
    curve = otfair.tradeoff_curve(data.X, data.y, sensitive_features=gaps, **settings)
    fit, test = train_test_split(np.arange(900), test_size=0.2, random_state=0, stratify=data.y)
    encoder = otfair.TableEncoder().fit(data.X.iloc[fit])
    Z = [np.asarray(encoder.transform(data.X.iloc[rows])) for rows in (fit, test)]
    path = otfair.OTFClassifier().fit_path(Z[0], data.y[fit], gaps.iloc[fit], [0.0, 0.7])
    known = gaps["sex"].notna().to_numpy()[test]
    for (_, row), model in zip(curve.iterrows(), path):
        h = model.predict_proba(Z[1])[:, 1]
        assert row["test_auc"] == pytest.approx(roc_auc_score(data.y[test], h), abs=1e-9)
        some, groups = h[known], sex.iloc[test][known]
        assert row["test_pdp"] == pytest.approx(otfair.pdp_violation(some, groups), abs=1e-9)
        gap = otfair.demographic_parity_difference(some, groups)
        assert row["test_dp_difference"] == pytest.approx(gap, abs=1e-12)
        c = otfair.DemographicParity().constraints(groups)
        cost = otfair.adjusted_otf(some, otfair.PointCloud(Z[1][known]), c).value / known.sum()
        assert row["test_otf_cost"] == pytest.approx(cost, rel=1e-4, abs=1e-9)


def test_rows_of_another_order_are_refused_by_their_indexes(data):
    sex = data.sensitive_features["sex"].sample(frac=1, random_state=0)
    with pytest.raises(ValueError, match="`sensitive_features` has the same labels in another"):
        otfair.tradeoff_curve(data.X, data.y, sensitive_features=sex)


@pytest.mark.slow
def test_columns_are_read_as_the_notion_says(data):
    area = pd.DataFrame({"area": np.arange(900) % 12})
    settings = {"alphas": [0], "n_bootstrap": 2}
    notion = otfair.DemographicParity(categorical="area")
    found = otfair.tradeoff_curve(
        data.X, data.y, sensitive_features=area, notion=notion, **settings
    )
    texts = otfair.tradeoff_curve(data.X, data.y, sensitive_features=area.astype(str), **settings)
    pd.testing.assert_frame_equal(found, texts)
