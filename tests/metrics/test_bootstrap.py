"""Bootstrap intervals against known errors."""

from __future__ import annotations

import numpy as np
import pytest

from otfair.metrics import by_cell, draw_counts, draw_rows, estimate, resample

approx = pytest.approx


def test_resampled_means_spread_like_the_standard_error():
    values = np.random.default_rng(0).normal(size=500)
    sums = resample(by_cell(np.zeros(500, int), 1, values), draw_counts(500, 400, 0))[:, 0] / 500
    assert sums[0] == approx(values.mean())
    assert sums[1:].std() == approx(values.std() / np.sqrt(500), rel=0.1)
    e = estimate(sums)
    assert e.high - e.low == approx(2 * 1.96 * values.std() / np.sqrt(500), rel=0.15)


def test_rows_and_counts_are_of_the_same_resamples():
    rows = list(draw_rows(30, 5, seed=3))
    counts = [np.bincount(one, minlength=30) for one in rows]
    np.testing.assert_array_equal(draw_counts(30, 5, seed=3), counts)
    # One draw of them all is the same draw.
    drawn = np.random.default_rng(3).integers(30, size=(5, 30))
    np.testing.assert_array_equal(drawn, rows)


def test_fewer_resamples_than_none_are_none():
    assert draw_counts(30, -1, seed=3).shape == (0, 30)
