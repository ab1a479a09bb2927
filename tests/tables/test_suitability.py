"""A reason is a text that knows its kind."""

from __future__ import annotations

import pickle

import pandas as pd
import pytest

from otfair.tables import Why, unsuited


@pytest.mark.parametrize(
    ("values", "why", "guess"),
    [
        ([None] * 30, Why.EMPTY, False),
        ([1] * 30, Why.CONSTANT, False),
        (range(30), Why.IDENTIFIER, True),
        (["2020-01-01", "2020-01-02"] * 15, Why.DATE, False),
        ([[1]] * 30, Why.NO_KIND, False),
    ],
)
def test_a_reason_knows_its_kind_also_in_another_process(values, why, guess):
    reason = unsuited("x", pd.Series(values))
    assert reason is not None
    again = pickle.loads(pickle.dumps(reason))
    assert (again, again.why, again.is_guess) == (reason, why, guess)
    assert unsuited("x", pd.Series([1, 2] * 15)) is None
