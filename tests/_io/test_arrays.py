"""Whatever people hold their data in is read by value, and gaps are refused by name."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
import torch

from otfair._io.arrays import ArgumentError, is_tensor, like_input, to_tensor


def read_only(values: np.ndarray) -> np.ndarray:
    values = np.array(values)
    values.setflags(write=False)
    return values


MATRIX = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


@pytest.mark.parametrize(
    "values",
    [
        MATRIX,
        MATRIX.tolist(),
        MATRIX.astype(np.float32),
        MATRIX.astype(int),
        MATRIX.astype(object),
        read_only(MATRIX),
        MATRIX[::-1, ::-1][::-1, ::-1],
        np.asfortranarray(MATRIX),
        torch.tensor(MATRIX, dtype=torch.float32, requires_grad=True),
        pd.DataFrame(MATRIX),
        pd.DataFrame(MATRIX).convert_dtypes(),
        pd.DataFrame(MATRIX, dtype="Float64"),
        pl.DataFrame(MATRIX),
    ],
    ids=lambda v: type(v).__name__,
)
def test_the_same_numbers_come_out_of_any_container(values):
    tensor = to_tensor(values, "X", ndim=2)
    assert tensor.dtype == torch.float64
    assert not tensor.requires_grad
    np.testing.assert_array_equal(tensor.numpy(), MATRIX)


def test_a_tensor_made_from_an_array_does_not_follow_later_changes_of_the_array():
    values = MATRIX.copy()
    tensor = to_tensor(values, "X")
    values[:] = 0
    np.testing.assert_array_equal(tensor.numpy(), MATRIX)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_an_entry_that_is_not_finite_is_refused_with_its_place(bad):
    values = MATRIX.copy()
    values[2, 1] = bad
    with pytest.raises(ValueError, match=r"`X` must be finite; 1 of 6 .*\(2, 1\).*impute"):
        to_tensor(values, "X")


def test_infinities_that_cancel_in_a_sum_and_finite_numbers_that_overflow_it_are_told_apart():
    with pytest.raises(ValueError, match="2 of 2"):
        to_tensor([np.inf, -np.inf], "X")
    assert to_tensor([1e308, 1e308], "X").tolist() == [1e308, 1e308]


@pytest.mark.parametrize(
    "gaps",
    [
        pd.DataFrame({"a": pd.Series([1, None], dtype="Int64")}),
        pl.DataFrame({"a": [1, None]}),
        [[1.0], [None]],
    ],
    ids=["pandas", "polars", "list"],
)
def test_missing_numbers_are_refused(gaps):
    with pytest.raises(ValueError, match="`X` must be"):
        to_tensor(gaps, "X")


def test_text_and_wrong_shapes_are_refused_with_a_remedy():
    with pytest.raises(ValueError, match=r"must be numeric.*one-hot"):
        to_tensor([["a"], ["b"]], "X")
    with pytest.raises(ValueError, match=r"2 dimension\(s\); received shape \(3,\).*reshape"):
        to_tensor([1, 2, 3], "X", ndim=2)


def test_results_are_tensors_only_where_an_argument_was():
    assert is_tensor(None, torch.zeros(1))
    assert not is_tensor(None, np.zeros(1))
    tensor = torch.arange(3)
    given, array = like_input(tensor, True), like_input(tensor, False)
    assert isinstance(given, torch.Tensor)
    assert isinstance(array, np.ndarray)
    given[0] = array[0] = 7  # the user's to overwrite
    assert tensor.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"age": [1, None], "b": [1.0, 2.0]}).convert_dtypes(),
        pd.DataFrame({"age": [1.0, np.nan], "b": [1.0, 2.0]}),
        pl.DataFrame({"age": [1, None], "b": [1.0, 2.0]}),
    ],
)
def test_a_missing_feature_is_named_by_its_column(table):
    with pytest.raises(ValueError, match=r"`X` must be finite.*\(column 'age'\)"):
        to_tensor(table, "X", ndim=2)


def test_sparse_matrices_are_read_as_what_they_hold():
    assert to_tensor(scipy.sparse.eye_array(2), "X").tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_an_error_knows_its_argument_also_in_another_process():
    with pytest.raises(ValueError, match="`x` must be finite") as caught:
        to_tensor([np.nan], "x")
    error = pickle.loads(pickle.dumps(caught.value))
    assert isinstance(error, ArgumentError)
    assert (error.argument, str(error)) == ("x", f"`x` {error.problem}")
