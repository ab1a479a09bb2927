"""One answer to whether a column holds numbers or categories, whatever library made it."""

from __future__ import annotations

import datetime
from dataclasses import replace
from decimal import Decimal

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest

from otfair.tables import Column, Kind, is_whole, kind_of, looks_categorical, sensitive_kinds

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


def test_infinity_is_no_whole_number():
    # Else a column of 0, 1 and infinity would be codes of groups, and integers, which have none.
    assert is_whole(np.array([0.0, 1.0]))
    assert not is_whole(np.array([0.0, 1.0, np.inf]))
    assert not is_whole(np.array([0.0, np.nan]))


def test_few_whole_numbers_of_a_sensitive_column_are_groups():
    for values, groups in (
        (np.arange(10), True),
        (np.arange(11), False),
        (np.array([0.0, 1.0]), True),
        (np.array([1.0, 2.0, 7.0]), True),
        (np.array([0.5, 1.0]), False),
        (np.arange(11.0), False),
        (np.array([True, False]), True),
        (np.array(["a", "b"]), True),
    ):
        assert looks_categorical(Column("a", values)) is groups


def test_numbers_that_may_be_codes_are_numbers_with_a_warning_that_names_the_setting():
    codes = Column("race", np.repeat(np.arange(12), 3))
    with pytest.warns(UserWarning, match=r"12 whole numbers, from 0 to 11.*`categorical='race'`"):
        assert sensitive_kinds([codes]) == {"race": Kind.NUMBER}
    with pytest.warns(UserWarning, match=r"--sensitive race:categorical"):
        sensitive_kinds([replace(codes, values=codes.values.astype(float))])
    # Whoever says what it is hears nothing.
    assert sensitive_kinds([codes], categorical="race") == {"race": Kind.GROUP}
    assert sensitive_kinds([codes], continuous=0) == {"race": Kind.NUMBER}
    with pytest.raises(ValueError, match=r"\['race'\] are named as both"):
        sensitive_kinds([codes], continuous=0, categorical="race")


@pytest.mark.parametrize(
    "column",
    [
        Column("age", np.repeat(np.arange(17, 90), 3)),
        Column("hoursPerWeek", np.repeat(np.arange(99.0), 2)),
        Column("children_count", np.repeat(np.arange(12), 3)),
        Column("k", np.arange(30)),  # no value comes again
        Column("k", np.repeat(np.arange(30), 2) + 0.5),
    ],
    ids=lambda column: f"{column.name} {column.values[:2]}",
)
def test_quantities_bring_no_warning(column):
    assert sensitive_kinds([column]) == {column.name: Kind.NUMBER}


def test_a_name_that_speaks_of_groups_denies_a_quantity():
    with pytest.warns(UserWarning, match="age_group"):
        sensitive_kinds([Column("age_group", np.repeat(np.arange(12), 3))])
