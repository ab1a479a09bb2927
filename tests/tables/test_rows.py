"""Rows of any table: which are whole, and some of them."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch

from otfair.tables import known_rows, take_rows

NAN = float("nan")


@pytest.mark.parametrize(
    "table",
    [
        np.array([1.0, NAN, 3.0]),
        np.array([[1.0, 0.0], [0.0, NAN], [3.0, 1.0]]),
        np.array(["a", None, "b"], dtype=object),
        torch.tensor([[1.0], [NAN], [2.0]]),
        ["a", None, "b"],
        ["a", NAN, 3],
        {"sex": ["f", "m", "f"], "race": [1, None, 2]},
        pd.DataFrame({"a": ["x", "y", "z"], "b": [1.0, NAN, 2.0]}, index=[7, 8, 9]),
        pd.Series([1, pd.NA, 2], dtype="Int64"),
        pd.Categorical(["a", None, "b"]),
        pl.DataFrame({"a": ["x", None, "y"]}),
        pl.Series([1.0, NAN, 2.0]),
    ],
    ids=lambda table: f"{type(table).__module__} {type(table).__name__}",
)
def test_rows_without_a_gap_are_found_and_taken_as_they_are(table):
    assert known_rows(table, "s").tolist() == [True, False, True]
    taken = take_rows(table, np.array([2, 0, 0]))
    assert type(taken) is type(table)
    assert known_rows(taken, "s").all()
    if isinstance(table, pd.DataFrame):
        assert taken["a"].tolist() == ["z", "x", "x"]
    if isinstance(table, np.ndarray):
        assert np.array_equal(taken[0], table[2])
