"""Columns that alone predict the label: AUC as scikit-learn's, and what counts as too good."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from otfair import load_dataset
from otfair.tables import Why, foretells
from otfair.tables._leaks import single_auc


@pytest.fixture
def people():
    rng = np.random.default_rng(0)
    y = (rng.random(3000) < 0.3).astype(int)
    return rng, y, rng.integers(1, 5, 3000).astype(float)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_number_is_judged_by_its_order_as_scikit_learn_does(people, sign):
    rng, y, w = people
    x = np.round(sign * (y + rng.normal(size=len(y))), 1)  # with ties
    found = single_auc(pd.Series(x), y, w)
    assert found == pytest.approx(roc_auc_score(y, sign * x, sample_weight=w), abs=1e-12)


def test_weights_are_copies(people):
    rng, y, w = people
    x = y + rng.normal(size=len(y))
    copies = np.repeat(np.arange(len(y)), w.astype(int))
    assert single_auc(pd.Series(x), y, w) == pytest.approx(
        single_auc(pd.Series(x[copies]), y[copies])
    )


def test_a_category_is_judged_by_the_rates_of_others(people):
    rng, y, _ = people
    # As many values as people, which say nothing of others.
    assert single_auc(pd.Series([f"v{k}" for k in range(len(y))]), y) == pytest.approx(
        0.5, abs=0.03
    )
    told = pd.Series(np.where(rng.random(len(y)) < 0.02, "other", np.where(y == 1, "a", "b")))
    rates = told.map(pd.Series(y).groupby(told).mean())
    assert single_auc(told, y) == pytest.approx(roc_auc_score(y, rates), abs=2e-3)


def test_what_is_known_only_of_one_outcome_tells(people):
    rng, y, _ = people
    days = np.where(y == 1, rng.integers(1, 700, len(y)), np.nan)  # to the next arrest, if any
    assert single_auc(pd.Series(days), y) == 1
    assert single_auc(pd.Series(days).astype("Int64"), y) == 1
    found = foretells(pd.Series(days), y)
    assert found is not None
    assert found.why is Why.LABEL_LEAK
    assert "alone it predicts the label with an AUC of 1.000" in found


def test_a_wider_window_of_the_same_outcome_is_too_good(people):
    # Arrested at all, and not only within two years: 5.5 % of those who were not, too.
    rng, y, _ = people
    ever = pd.Series(np.maximum(y, rng.random(len(y)) < 0.055))
    assert single_auc(ever, y) == pytest.approx(1 - 0.055 / 2, abs=0.01)
    assert foretells(ever, y) is not None


def test_few_people_of_a_label_prove_nothing():
    y = np.array([1] * 19 + [0] * 100)
    assert foretells(pd.Series(y), y) is None
    assert foretells(pd.Series(np.ones(200)), np.array([0, 1] * 100)) is None


@pytest.mark.parametrize("name", ["adult", "bank", "dutch", "diabetes", "synthetic"])
def test_no_column_of_the_datasets_is_warned_of(name):
    try:
        data = load_dataset(name)
    except OSError:
        pytest.skip("its files are not here")
    columns = pd.concat([data.X, data.sensitive_features], axis=1)
    best = max(single_auc(columns.iloc[:, k], data.y) for k in range(columns.shape[1]))
    assert 0.55 < best < 0.9
