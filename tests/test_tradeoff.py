"""The trade-off curve against direct computations."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import train_test_split

import otfair
from otfair.tradeoff import METRICS, _auc, plot_tradeoff


@pytest.fixture(scope="module")
def data():
    return otfair.load_dataset("synthetic", n=900)


@pytest.fixture(scope="module")
def curve(data):
    return otfair.tradeoff_curve(
        data.X,
        data.y,
        sensitive_features=data.sensitive_features,
        notion="equalized_odds",
        alphas=[0, 0.3, 0.9],
        n_bootstrap=40,
    )


def test_the_weighted_auc_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    h, y, w = rng.integers(0, 20, 300) / 20, rng.integers(0, 2, 300), rng.integers(0, 4, 300)
    assert _auc(h, y, w) == pytest.approx(roc_auc_score(y, h, sample_weight=w), abs=1e-12)


def test_each_row_is_the_model_of_its_strength_judged_directly(data, curve):
    fit, test = train_test_split(np.arange(900), test_size=0.2, random_state=0, stratify=data.y)
    encoder = otfair.TableEncoder().fit(data.X.iloc[fit])
    Z = [np.asarray(encoder.transform(data.X.iloc[rows])) for rows in (fit, test)]
    model = otfair.OTFClassifier("equalized_odds", alpha=0)
    model.fit(Z[0], data.y[fit], sensitive_features=data.sensitive_features.iloc[fit])
    h, S = model.predict_proba(Z[1])[:, 1], data.sensitive_features.iloc[test]
    row = curve.iloc[0]
    assert row["test_auc"] == pytest.approx(roc_auc_score(data.y[test], h), abs=1e-9)
    assert row["test_log_loss"] == pytest.approx(log_loss(data.y[test], h), abs=1e-9)
    assert row["test_accuracy"] == pytest.approx(model.score(Z[1], data.y[test]), abs=1e-12)
    assert row["test_pdp"] == pytest.approx(otfair.pdp_violation(h, S), abs=1e-9)
    assert row["test_peo"] == pytest.approx(otfair.peo_violation(h, S, data.y[test]), abs=1e-9)
    c = otfair.EqualizedOdds().constraints(S, data.y[test])
    cost = otfair.adjusted_otf(h, otfair.PointCloud(Z[1]), c).value / len(test)
    assert row["test_otf_cost"] == pytest.approx(cost, rel=1e-4, abs=1e-9)
    rates = [
        max(np.mean((h > 0.5)[(S[s] == g)]) for g in S[s].unique())
        - min(np.mean((h > 0.5)[(S[s] == g)]) for g in S[s].unique())
        for s in ("sex", "origin")
    ]
    assert row["test_dp_difference"] == pytest.approx(max(rates), abs=1e-12)


def test_the_violation_falls_and_intervals_hold_their_value(curve):
    assert curve["alpha"].tolist() == [0, 0.3, 0.9]
    assert curve["train_peo"].is_monotonic_decreasing
    for part in ("train", "test"):
        for name in METRICS:
            low, high = curve[f"{part}_{name}_low"], curve[f"{part}_{name}_high"]
            assert (low <= high).all()
        auc = curve[f"{part}_auc"]
        assert ((curve[f"{part}_auc_low"] < auc) & (auc < curve[f"{part}_auc_high"])).all()


def test_arrays_polars_and_an_estimator_of_ones_own(data):
    X = otfair.TableEncoder().fit_transform(data.X)
    sex = data.sensitive_features[["sex"]]
    settings = {"alphas": [0.5], "n_bootstrap": 5}
    by_norm = otfair.tradeoff_curve(
        X, data.y, sensitive_features=sex, regularizer="norm", **settings
    )
    own = otfair.OTFClassifier(regularizer="norm")
    again = otfair.tradeoff_curve(
        X, data.y, sensitive_features=pl.from_pandas(sex), estimator=own, **settings
    )
    np.testing.assert_allclose(by_norm, again, atol=1e-12)


def test_the_picture_has_a_line_a_curve(curve):
    axes = Figure().subplots()
    plot_tradeoff({"OTF": curve, "again": curve}, axes, violation="peo")
    assert [t.get_text() for t in axes.get_legend().get_texts()] == ["OTF", "again"]
    assert "PEO" in axes.get_xlabel()
