"""Scores of another model: passed on as they are, and refused where they are none."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

from otfair import FairDecisions, ScoreColumn, load_dataset, load_model, save_model

TABLE = pd.DataFrame({"p": [0.25, 1.0, 0.5], "age": [31.0, 42.0, 18.0]})


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_the_column_is_the_score_of_the_second_class(frame):
    table = frame(TABLE.to_dict("list"))
    model = ScoreColumn("p").fit(table, ["no", "yes", "no"])
    np.testing.assert_array_equal(model.predict_proba(table)[:, 1], TABLE["p"])
    np.testing.assert_array_equal(model.predict_proba(table).sum(1), 1.0)
    assert model.predict(table).tolist() == ["no", "yes", "no"]  # one half is not more than half
    assert list(model.feature_names_in_) == ["p", "age"]


def test_a_position_does_for_arrays():
    model = clone(ScoreColumn(0)).fit(TABLE.to_numpy(), [0, 1, 1])
    np.testing.assert_array_equal(model.predict_proba(TABLE.to_numpy())[:, 1], TABLE["p"])
    assert not hasattr(model, "feature_names_in_")


@pytest.mark.parametrize(
    ("values", "column", "message"),
    [
        ([0.1, 0.2, 0.3], "q", r"no column 'q' of scores; the columns are \['p', 'age'\]"),
        ([0.1, 0.2, 0.3], 2, "no column 2 of scores"),
        ([10.0, 20.0, 0.3], "p", "must lie from 0 to 1; 2 of 3 do not, the first is 10"),
        ([0.1, None, 0.3], "p", "1 of 3 do not, the first is nan"),
        (["a", "b", "c"], "p", "must be numbers from 0 to 1"),
    ],
)
def test_what_is_no_score_is_refused(values, column, message):
    with pytest.raises(ValueError, match=message):
        ScoreColumn(column).fit(TABLE.assign(p=values), [0, 1, 1])


def test_fair_decisions_from_scores_alone_are_saved(tmp_path):
    data = load_dataset("synthetic", n=2000)
    X = data.X.assign(p=data.truth.scores)
    sex = data.sensitive_features["sex"]
    fair = FairDecisions(ScoreColumn("p"), max_difference=0.1).fit(
        X, data.y, sensitive_features=sex
    )
    assert fair.limits_met_
    save_model(tmp_path / "rule", fair)
    loaded = load_model(tmp_path / "rule")
    np.testing.assert_array_equal(loaded.decision_function(X), fair.decision_function(X))
    np.testing.assert_array_equal(loaded.predict_proba(X)[:, 1], X["p"])
