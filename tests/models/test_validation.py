"""Which columns `cost_features` chooses, by every way to name them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import otfair
from otfair import OTFBoostingClassifier, OTFClassifier
from otfair.models._validation import chosen_columns, encoded_columns

NAMES = ["age", "job=a", "job=b=c", "job is missing", "income", "income is missing"]
ALONE = [[j] for j in range(6)]  # as of a table that is encoded already
TABLE = [range(1), range(1, 4), range(4, 6)]  # age, job, income: as before encoding


@pytest.mark.parametrize("blocks", [ALONE, TABLE])
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("age", [0]),
        (["income"], [4, 5]),  # all that came of it
        (["job", "age"], [0, 1, 2, 3]),
        (["job=b"], [2]),
        ("job=b=c", [2]),
        (["income is missing"], [5]),
        (pd.Index(["age", "age"]), [0]),  # once, however often it is named
    ],
)
def test_names_are_those_before_and_after_encoding(blocks, given, expected):
    assert chosen_columns(given, NAMES, blocks) == expected


@pytest.mark.parametrize(
    ("given", "alone", "table"),
    [
        (0, [0], [0]),
        (np.int64(1), [1], [1, 2, 3]),
        (-1, [5], [4, 5]),
        ([-3, 2], [2, 3], [0, 4, 5]),
        (np.array([2, 0]), [0, 2], [0, 4, 5]),
        (["age", -1], [0, 5], [0, 4, 5]),
    ],
)
def test_positions_are_of_the_columns_that_were_passed(given, alone, table):
    assert chosen_columns(given, NAMES, ALONE) == alone
    assert chosen_columns(given, NAMES, TABLE) == table
    assert chosen_columns([True, False, True], NAMES, TABLE) == [0, 4, 5]
    assert chosen_columns(np.arange(6) > 3, [], ALONE) == [4, 5]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("incom", r"names 'incom'; X has \['age', 'job', 'income'\]"),
        (["age", "jo"], "names 'jo'"),
        (6, "names 6; X has 3 columns. Pass positions from -3 to 2"),
        ([-100], "names -100; X has 3 columns"),
        ([0.0], "names 0.0"),
        ([["age"]], r"names \['age'\]"),
        ([True, "age"], "names True"),
        (1.5, "received 1.5. Pass a list of columns"),
        (True, "received True"),
        (slice(2), "received slice"),
        ([True, False], "a mask of all 3 columns of X; received 2 entries"),
        ([False] * 3, "chooses no column"),
        ([], "chooses no column"),
    ],
)
def test_what_is_no_column_is_said(given, message):
    with pytest.raises(ValueError, match=f"`cost_features` .*{message}"):
        chosen_columns(given, NAMES, TABLE)


def test_columns_without_names_have_positions():
    with pytest.raises(ValueError, match=r"only the positions below 6; .*`set_output"):
        chosen_columns("age", [], ALONE)


@pytest.mark.parametrize(
    "given", ["income", ["income", "area"], 0, [-1], lambda X: X.columns == "income"]
)
def test_every_estimator_chooses_the_same(given):
    data = otfair.load_dataset("synthetic", n=200)
    X = data.X.assign(income=np.where(np.arange(200) % 7, data.X["income"], np.nan))
    given = given(X) if callable(given) else given
    encoder = otfair.TableEncoder().set_output(transform="pandas")
    Z, sex = encoder.fit_transform(X), data.sensitive_features["sex"]
    chosen = encoded_columns(given, encoder.columns_)
    trees = OTFBoostingClassifier(cost_features=given, balance=1.0, n_estimators=1, n_jobs=1)
    trees.fit(X, data.y, sensitive_features=sex)
    np.testing.assert_array_equal(trees.cost_matrix_of(X), Z.to_numpy()[:, chosen])
    if np.asarray(given).dtype.kind == "U":  # by names, which mean the same for what is encoded
        line = OTFClassifier(cost_features=given, standardize=False, alpha=0).fit(Z, data.y)
        np.testing.assert_array_equal(line.cost_matrix_of(Z), Z.to_numpy()[:, chosen])
