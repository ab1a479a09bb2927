"""Whatever people hold their columns in is read by value, and gaps are refused by name."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch

from otfair.tables import to_columns


def read_only(values: np.ndarray) -> np.ndarray:
    values = np.array(values)
    values.setflags(write=False)
    return values


WORDS = ["b", "a", "b", "c"]


@pytest.mark.parametrize(
    "table",
    [
        WORDS,
        tuple(WORDS),
        np.array(WORDS),
        np.array(WORDS, dtype=object),
        read_only(np.array(WORDS)),
        np.array(WORDS[::-1])[::-1],
        np.array(WORDS)[:, None],
        pd.Series(WORDS),
        pd.Series(WORDS, dtype="string"),
        pd.Series(WORDS, dtype=object),
        pd.Series(WORDS, dtype="category"),
        pd.Categorical(WORDS),
        pd.Index(WORDS),
        pl.Series(WORDS),
        pl.Series(WORDS, dtype=pl.Categorical),
        pl.Series(WORDS, dtype=pl.Enum(["a", "b", "c"])),
    ],
    ids=lambda t: f"{type(t).__module__.split('.')[0]}-{getattr(t, 'dtype', type(t).__name__)}",
)
def test_one_column_of_text_is_read_by_value_and_has_no_name(table):
    (column,) = to_columns(table, "sensitive_features")
    assert column.name is None
    assert [str(v) for v in column.values] == WORDS


@pytest.mark.skipif(
    not hasattr(getattr(np, "dtypes", None), "StringDType"), reason="NumPy 1 has no such strings"
)
def test_numpy_strings_of_any_length_are_text():
    dtype = np.dtypes.StringDType(na_object=np.nan)
    (column,) = to_columns(np.array(WORDS, dtype=dtype), "s")
    assert column.values.tolist() == WORDS
    with pytest.raises(ValueError, match="1 missing"):
        to_columns(np.array(["a", np.nan], dtype=dtype), "s")


@pytest.mark.parametrize(
    ("table", "kind"),
    [
        (pd.Series([1, 2], dtype="Int64"), "i"),
        (pd.Series([1, 2], dtype="UInt8"), "u"),
        (pd.Series([True, False], dtype="boolean"), "b"),
        (pd.Series([1.5, 2], dtype="Float32"), "f"),
        (pd.Series([1, 2], dtype=object), "i"),
        (pl.Series([1, 2]), "i"),
        (pl.Series([True, False]), "b"),
        (pl.Series(["1.50", "2.25"]).cast(pl.Decimal(10, 2)), "f"),
        (np.array([True, False], dtype=object), "b"),
        (torch.tensor([True, False]), "b"),
        (torch.tensor([1, 2], dtype=torch.uint8), "u"),
        (torch.tensor([1.5, 2], dtype=torch.bfloat16, requires_grad=True), "f"),
        ([1, 2.5], "f"),
    ],
)
def test_numbers_keep_their_kind(table, kind):
    (column,) = to_columns(table, "sensitive_features")
    assert column.values.dtype.kind == kind


def test_columns_keep_the_names_of_a_table_and_of_a_dict():
    data = {"sex": ["F", "M"], "age": [30, 40]}
    for table in (data, pd.DataFrame(data), pl.DataFrame(data)):
        assert [c.name for c in to_columns(table, "s")] == ["sex", "age"]
    assert to_columns(pd.Series([1, 2], name="sex"), "s")[0].name == "sex"
    assert to_columns(pl.Series("sex", [1, 2]), "s")[0].name == "sex"
    assert [c.name for c in to_columns(np.eye(2), "s")] == [None, None]


def test_numbers_beside_text_in_a_list_of_people_stay_numbers():
    sex, age = to_columns([["F", 30], ["M", 40]], "s")
    assert sex.values.dtype.kind == "U"
    assert age.values.tolist() == [30, 40]


@pytest.mark.parametrize("ordered", [False, True])
def test_declared_categories_are_kept_in_their_order_whether_present_or_not(ordered):
    values = pd.Categorical(["a", "b"], categories=["z", "b", "a"], ordered=ordered)
    for table in (values, pd.Series(values), pd.DataFrame({"s": values}), {"s": values}):
        assert to_columns(table, "s")[0].categories == ("z", "b", "a")
    enum = pl.Series(["a", "b"], dtype=pl.Enum(["z", "b", "a"]))
    for table in (enum, pl.DataFrame({"s": enum}), {"s": enum}):
        assert to_columns(table, "s")[0].categories == ("z", "b", "a")


def test_binned_numbers_are_categories():
    (column,) = to_columns(pd.Series(pd.cut([1, 30], [0, 10, 20, 40]), name="age"), "s")
    assert column.categories == ("(0, 10]", "(10, 20]", "(20, 40]")
    assert column.values.tolist() == ["(0, 10]", "(20, 40]"]


GAPS = {
    "list with NaN beside text": ["a", float("nan")],
    "list with None": ["a", None],
    "floats": [1.0, float("nan")],
    "infinite": [1.0, float("inf")],
    "objects": np.array([1, np.nan], dtype=object),
    "string objects": np.array(["a", np.nan], dtype=object),
    "float32": np.array([1, np.nan], dtype=np.float32),
    "pandas str": pd.Series(["a", None]),
    "pandas string": pd.Series(["a", None], dtype="string"),
    "pandas object": pd.Series(["a", np.nan], dtype=object),
    "pandas Int64": pd.Series([1, None], dtype="Int64"),
    "pandas Float64": pd.Series([1.5, None], dtype="Float64"),
    "pandas boolean": pd.Series([True, None], dtype="boolean"),
    "pandas category": pd.Series(["a", None], dtype="category"),
    "pandas Categorical": pd.Categorical(["a", None]),
    "polars int": pl.Series([1, None]),
    "polars float": pl.Series([1.0, float("nan")]),
    "polars bool": pl.Series([True, None]),
    "polars str": pl.Series(["a", None]),
    "polars Categorical": pl.Series(["a", None], dtype=pl.Categorical),
    "polars Enum": pl.Series(["a", None], dtype=pl.Enum(["a"])),
    "polars Null": pl.Series([None, None]),
}


@pytest.mark.parametrize("kind", GAPS)
def test_a_missing_value_is_refused_by_the_name_of_its_column_and_its_row(kind):
    row = 0 if kind == "polars Null" else 1
    with pytest.raises(ValueError, match=rf"`s` column 'age' has .*row {row}.*Drop those people"):
        to_columns({"sex": ["F", "M"], "age": GAPS[kind]}, "s")


def test_a_missing_value_in_a_table_without_names_is_refused_by_position():
    for table in (np.array([[0, 1.0], [0, np.nan]]), torch.tensor([[0, 1.0], [0, np.nan]])):
        with pytest.raises(ValueError, match="column number 1 has 1 missing"):
            to_columns(table, "s")
    data = {"sex": ["F", "M"], "age": [1, None]}
    for table in (pl.DataFrame(data), pd.DataFrame(data), pd.DataFrame(data).convert_dtypes()):
        with pytest.raises(ValueError, match="column 'age' has 1 missing"):
            to_columns(table, "s")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.zeros((2, 2, 2)), "1 or 2 dimensions"),
        (None, "1 or 2 dimensions"),
        ({}, "no columns"),
        (pd.DataFrame(index=[0, 1]), "no columns"),
        ({"a": [1, 2], "b": [1]}, r"different lengths: \{'a': 2, 'b': 1\}"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "Rename"),
        (pd.Series(pd.to_datetime(["2020-01-01"]), name="born"), "'born' has type.*bin it"),
        (pl.Series("born", ["2020-01-01"]).str.to_date(), "'born' has type.*bin it"),
        (np.array([1j]), "neither a number nor a category"),
        (pd.Series([[1], [2]], name="jobs"), "'jobs' has type.*neither a number nor a category"),
        (pd.Series([(1, 2), (3, 4)], name="jobs"), "'jobs' has type.*neither a number nor a"),
    ],
)
def test_a_table_that_cannot_be_read_is_refused_with_the_reason(table, message):
    with pytest.raises(ValueError, match=message):
        to_columns(table, "s")
