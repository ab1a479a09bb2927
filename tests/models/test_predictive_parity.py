"""Classifiers trained for predictive parity, and what they say of it."""

from __future__ import annotations

import numpy as np
import pytest

import otfair
from otfair import PredictiveParity

pytestmark = pytest.mark.filterwarnings("ignore::otfair.models.UntrustedModelWarning")


@pytest.fixture(scope="module")
def loans():
    data = otfair.load_dataset("synthetic", n=600)
    X = otfair.TableEncoder().fit_transform(data.X)
    return np.asarray(X), data.y, data.sensitive_features


@pytest.mark.slow
@pytest.mark.parametrize("regularizer", ["otf", "norm"])
def test_stronger_penalties_bring_precision_together(loans, regularizer):
    X, y, S = loans
    clf = otfair.OTFClassifier("predictive_parity", regularizer=regularizer)
    path = list(clf.fit_path(X, y, S[["sex"]], [0.0, 0.5, 0.9]))
    found = [
        otfair.predictive_parity_violation(one.predict_proba(X)[:, 1], S["sex"], y) for one in path
    ]
    assert found == pytest.approx([one.violation_ for one in path])
    assert found[2] < 0.02 < 0.7 * found[1] < 0.5 * found[0]
    assert path[0].judgement_.criterion == "precision"
    assert str(path[0].judgement_).startswith("largest difference between two groups' precision")


@pytest.mark.slow
def test_a_rate_is_reached(loans):
    X, y, S = loans
    clf = otfair.OTFClassifier(PredictiveParity(rate=0.55), alpha=0.95, max_iter=3000)
    h = clf.fit(X, y, sensitive_features=S[["sex"]]).predict_proba(X)[:, 1]
    for value in S["sex"].unique():
        inside = (S["sex"] == value).to_numpy()
        assert (h * y)[inside].sum() / h[inside].sum() == pytest.approx(0.55, abs=0.01)


def test_a_target_is_judged_by_people_kept_out(loans):
    X, y, S = loans
    clf = otfair.OTFClassifier("predictive_parity", max_violation=0.9, validation_fraction=0.4)
    clf.fit(X, y, sensitive_features=S[["sex"]])
    assert clf.alpha_ == 0
    assert clf.violation_ < clf.violation_bound_ <= 0.9
    assert " and " in clf.judgement_.decided_by


@pytest.mark.slow
def test_adam_takes_batches_that_lack_groups(loans):
    X, y, S = loans
    for mode in ("batch", "dataset"):
        clf = otfair.OTFClassifier(
            "predictive_parity", solver="adam", mode=mode, epochs=2, batch_size=25, random_state=0
        )
        clf.fit(X[:200], y[:200], sensitive_features=S[["sex", "origin"]].iloc[:200])
        assert np.isfinite(clf.coef_).all()


def test_boosted_trees_take_it(loans):
    pytest.importorskip("xgboost")
    X, y, S = loans
    by = {"sensitive_features": S["sex"]}
    free, fair = (
        otfair.OTFBoostingClassifier("xgboost", "predictive_parity", alpha=a, n_estimators=30)
        for a in (0.0, 0.9)
    )
    assert fair.fit(X, y, **by).violation_ < 0.7 * free.fit(X, y, **by).violation_


def test_a_curve_has_its_columns(loans):
    X, y, S = loans
    curve = otfair.tradeoff_curve(
        X, y, sensitive_features=S[["sex"]], notion="predictive_parity", alphas=[0, 0.5],
        n_bootstrap=5,
    )  # fmt: skip
    assert curve["train_violation"][1] < curve["train_violation"][0]
    assert curve["train_otf_cost"][1] < curve["train_otf_cost"][0]
    assert curve[["test_pp_difference", "test_pp_difference_low"]].notna().to_numpy().all()


def test_rules_of_decisions_refuse_it(loans):
    X, y, S = loans
    rule = otfair.FairDecisions(
        otfair.OTFClassifier(alpha=0), "predictive_parity", max_difference=0.05
    )
    with pytest.raises(ValueError, match="can't be tuned for predictive parity"):
        rule.fit(X, y, sensitive_features=S[["sex"]])
