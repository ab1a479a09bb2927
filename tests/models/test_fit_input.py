"""What both classifiers read: codes, people without a sensitive value, rows of another order."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

import otfair
from otfair import OTFBoostingClassifier, OTFClassifier, OTFLoss


def classifiers(**settings):
    trees = {"n_estimators": 15, "n_jobs": 1, "random_state": 0, "learning_rate": 0.3}
    return [OTFClassifier(**settings), OTFBoostingClassifier(**settings, **trees)]


@pytest.fixture(scope="module")
def codes():
    """Features, labels, and a race whose middle code has other features and labels."""
    rng = np.random.default_rng(0)
    race = rng.integers(1, 4, 400)
    X = np.column_stack([rng.normal(size=400) + 1.5 * (race == 2), rng.normal(size=400)])
    return X, (X[:, 0] + rng.normal(size=400) > 0.5).astype(int), race


@pytest.mark.filterwarnings("ignore::otfair.models.UntrustedModelWarning")
@pytest.mark.slow
@pytest.mark.parametrize("which", [0, 1], ids=["line", "trees"])
def test_codes_stored_as_floats_are_groups(codes, which):
    # As a number the middle code is worth no more than the others: .0001 for .123 was said once.
    X, y, race = codes
    clf = classifiers(alpha=0.9)[which]
    texts = clf.fit(X, y, sensitive_features=race.astype(str))
    expected, h = texts.violation_, texts.predict_proba(X)[:, 1]
    assert expected == pytest.approx(otfair.pdp_violation(h, race.astype(str)))
    for S in (race * 1.0, pd.Series(race * 1.0, name="race"), race.astype(np.float32)):
        found = clf.fit(X, y, sensitive_features=S)
        assert found.violation_ == pytest.approx(expected, rel=1e-6)
        np.testing.assert_allclose(found.predict_proba(X)[:, 1], h, atol=1e-6)


@pytest.mark.filterwarnings("ignore::otfair.models.UntrustedModelWarning")
@pytest.mark.slow
@pytest.mark.parametrize("which", [0, 1], ids=["line", "trees"])
def test_people_without_a_sensitive_value_train_the_loss_and_not_the_constraint(codes, which):
    X, y, race = codes
    gaps = pd.Series(race * 1.0).mask(np.arange(400) % 5 == 0)
    known = gaps.notna().to_numpy()
    clf = classifiers(alpha=0.8)[which].fit(X, y, sensitive_features=gaps)
    assert clf.n_missing_sensitive_ == 80
    h = clf.predict_proba(X)[:, 1]
    violation = otfair.pdp_violation(h[known], race[known].astype(str))
    assert clf.violation_ == pytest.approx(violation, rel=1e-9)
    # It is fairer to people who are known than a model without a penalty, and not the model of
    # these people alone: the others were learnt from.
    free = classifiers(alpha=0)[which].fit(X, y, sensitive_features=gaps)
    assert clf.violation_ < 0.5 * free.violation_
    assert free.n_missing_sensitive_ == 80
    same = classifiers(alpha=0)[which].fit(X, y)
    np.testing.assert_array_equal(free.predict_proba(X), same.predict_proba(X))
    alone = classifiers(alpha=0.8)[which].fit(X[known], y[known], sensitive_features=race[known])
    assert alone.n_missing_sensitive_ == 0
    assert np.abs(alone.predict_proba(X)[:, 1] - h).max() > 1e-3
    paths = clf.fit_path(X, y, gaps, [0.0, 0.8])
    assert [fitted.n_missing_sensitive_ for fitted in paths] == [80, 80]


def test_the_sum_of_both_terms_is_what_is_minimised_where_values_are_missing(codes):
    # The line's objective: cross-entropy of all people, penalty of those who are known.
    X, y, race = codes
    gaps = pd.Series(race * 1.0).mask(np.arange(400) % 5 == 0)
    known = gaps.notna().to_numpy()
    settings = {"alpha": 0.5, "balance": 3.0, "standardize": False, "tol": 1e-10}
    clf = OTFClassifier(C=None, **settings).fit(X, y, sensitive_features=gaps)
    loss = OTFLoss("demographic_parity", tol=1e-10).fit(X[known], race[known].astype(str))

    def objective(theta):
        z = X @ theta[:-1] + theta[-1]
        entropy = np.mean(np.logaddexp(0, z) - y * z)
        return 0.5 * entropy + 0.5 * 3.0 * float(loss(torch.from_numpy(z[known])))

    best = np.append(clf.coef_[0], clf.intercept_)
    value = objective(best)
    assert clf.history_[-1]["loss"] == pytest.approx(value, rel=1e-6)
    for step in np.random.default_rng(1).normal(size=(20, 3)):
        assert objective(best + 0.02 * step) > value - 1e-7


@pytest.mark.parametrize("which", [0, 1], ids=["line", "trees"])
@pytest.mark.parametrize("shuffled", ["y", "sensitive_features", "sample_weight"])
def test_rows_of_another_order_are_refused_by_their_indexes(codes, which, shuffled):
    X, y, race = codes
    index = np.arange(1000, 1400)
    given = {
        "X": pd.DataFrame(X, index, ["a", "b"]),
        "y": pd.Series(y, index),
        "sensitive_features": pd.DataFrame({"race": race}, index),
        "sample_weight": pd.Series(np.ones(400), index),
    }
    given[shuffled] = given[shuffled].sample(frac=1, random_state=0)
    clf = classifiers(alpha=0)[which]
    with pytest.raises(ValueError, match=f"`{shuffled}` has the same labels in another order"):
        clf.fit(**given)
    with pytest.raises(ValueError, match=f"`{shuffled}` has the same labels in another order"):
        next(clf.fit_path(**given, alphas=[0.0]))


def test_many_codes_bring_a_warning_that_names_the_setting(codes):
    X, y, _ = codes
    area = pd.DataFrame({"area": np.arange(400) % 12})
    with pytest.warns(UserWarning, match="`categorical='area'`"):
        OTFClassifier(alpha=0.5).fit(X, y, sensitive_features=area)
    notion = otfair.DemographicParity(categorical="area")
    grouped = OTFClassifier(notion, alpha=0.5).fit(X, y, sensitive_features=area)
    texts = OTFClassifier(alpha=0.5).fit(X, y, sensitive_features=area.astype(str))
    np.testing.assert_allclose(grouped.coef_, texts.coef_)


@pytest.mark.parametrize("factor", [1e160, 1e-200])
@pytest.mark.parametrize("alpha", [0, 0.5])
def test_features_whose_squares_are_no_numbers_are_refused(codes, factor, alpha):
    X, y, race = codes
    with pytest.raises(ValueError, match="squares of the features overflow or vanish, as in"):
        OTFClassifier(alpha=alpha).fit(X * factor, y, sensitive_features=race)


@pytest.mark.parametrize("which", [0, 1], ids=["line", "trees"])
def test_one_person_can_not_have_all_the_weight(codes, which):
    # Training took 20 seconds for forty people, and more on a busy machine.
    X, y, race = codes
    weight = np.ones(400)
    weight[7] = 1e17
    with pytest.raises(ValueError, match=r"`sample_weight` gives the person in row 7 all weight"):
        classifiers()[which].fit(X, y, sensitive_features=race.astype(str), sample_weight=weight)
