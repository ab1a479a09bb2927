"""One answer to whether a column holds numbers or categories, whatever library made it."""

from __future__ import annotations

import datetime
from decimal import Decimal

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest

from otfair.tables import Column, Kind, kind_of, looks_categorical

DAY = datetime.date(2020, 1, 1)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2], Kind.NUMBER),
        ([1.5, None], Kind.NUMBER),
        ([Decimal(1), Decimal(2)], Kind.NUMBER),
        ([True, None], Kind.GROUP),
        (["a", None], Kind.GROUP),
        ([None, None], Kind.GROUP),
        (["a", 1], Kind.GROUP),
        ([DAY, DAY], Kind.OTHER),
        ([b"a", b"b"], Kind.OTHER),
        ([[1], [2]], Kind.OTHER),
        ([{"a": 1}, "a"], Kind.OTHER),
        ([1j, 2j], Kind.OTHER),
    ],
)
def test_objects_are_judged_by_their_values(values, kind):
    column = pd.Series(values, dtype=object)
    assert kind_of(column) is kind
    assert kind_of(column.to_numpy()) is kind
    assert kind_of(nw.from_native(column, series_only=True)) is kind


@pytest.mark.parametrize("library", [pd, pl])
def test_libraries_agree(library):
    for values, kind in (
        ([1, 2], Kind.NUMBER),
        ([0.5, None], Kind.NUMBER),
        (["a", None], Kind.GROUP),
        ([True, False], Kind.GROUP),
        ([datetime.datetime(2020, 1, 1)], Kind.OTHER),
    ):
        column = nw.from_native(library.Series(values), series_only=True)
        assert kind_of(column) is kind
    assert kind_of(pd.Series([1, 2], dtype="category")) is Kind.GROUP


def test_few_whole_numbers_of_a_sensitive_column_are_groups():
    for values, groups in (
        (np.arange(10), True),
        (np.arange(11), False),
        (np.array([0.0, 1.0]), False),
        (np.array([True, False]), True),
        (np.array(["a", "b"]), True),
    ):
        assert looks_categorical(Column("a", values)) is groups
