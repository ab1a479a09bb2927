"""A cost matrix is used as it is."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch

from otfair import CostMatrix


def test_a_cost_matrix_is_used_as_it_is():
    C = np.random.default_rng(0).random((4, 6))
    for given_ in (C, C.tolist(), torch.tensor(C), pd.DataFrame(C), pl.DataFrame(C)):
        geometry = CostMatrix(given_)
        assert geometry.scale_ == 1.0
        np.testing.assert_array_equal(geometry.cost_matrix().numpy(), C)
    kept = C.copy()
    CostMatrix(C, scale="max").soft_distances(np.zeros(6), 0.1)
    np.testing.assert_array_equal(C, kept)
    tensor = torch.tensor(C)
    CostMatrix(tensor, scale="max").soft_distances(np.zeros(6), 0.1)
    np.testing.assert_array_equal(tensor.numpy(), kept)


@pytest.mark.parametrize(
    ("C", "message"),
    [
        ([[0, -1.0]], "must not be negative; the smallest entry of `C` is -1"),
        ([[0, np.nan]], "`C` must be finite"),
        ([0.0, 1.0], "2 dimension"),
        (np.zeros((0, 2)), "empty"),
    ],
)
def test_a_matrix_that_makes_no_sense_is_refused(C, message):
    with pytest.raises(ValueError, match=message):
        CostMatrix(C)


def test_a_matrix_does_not_follow_changes_of_the_users_own():
    C = torch.ones(3, 3, dtype=torch.float64)
    geometry = CostMatrix(C.T)
    C.fill_(7.0)
    assert geometry.cost_matrix().max() == 1
