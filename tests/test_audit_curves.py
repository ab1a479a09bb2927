"""Curves and intervals of an audit, against scikit-learn, resampling and known errors."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from otfair.auditing._binning import quantile_codes, range_names
from otfair.auditing._curves import auc, calibration, roc
from otfair.auditing._resampling import by_cell, draw, estimate, resample

approx = pytest.approx


def test_resampled_means_spread_like_the_standard_error():
    values = np.random.default_rng(0).normal(size=500)
    sums = resample(by_cell(np.zeros(500, int), 1, values), draw(500, 400, 0))[:, 0] / 500
    assert sums[0] == approx(values.mean())
    assert sums[1:].std() == approx(values.std() / np.sqrt(500), rel=0.1)
    e = estimate(sums)
    assert e.high - e.low == approx(2 * 1.96 * values.std() / np.sqrt(500), rel=0.15)


def test_auc_is_that_of_scikit_learn_and_its_interval_that_of_resampling():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=300)
    h = np.round(np.clip(0.5 + 0.15 * y + 0.2 * rng.normal(size=300), 0, 1), 2)
    w = rng.integers(1, 4, 300).astype(float)
    assert auc(h, y, w).value == approx(roc_auc_score(y, h, sample_weight=w))
    e = auc(h, y, np.ones(300))
    draws = rng.integers(300, size=(400, 300))
    spread = np.std([roc_auc_score(y[i], h[i]) for i in draws])
    assert e.high - e.low == approx(2 * 1.96 * spread, rel=0.15)


def test_roc_has_few_points_and_the_right_area():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=5000)
    h = rng.random(5000) ** np.where(y, 0.5, 1.5)
    a, b = np.transpose(roc(h, y, np.ones(5000)))
    assert len(a) <= 200
    assert (a[0], b[0], a[-1], b[-1]) == (0, 0, 1, 1)
    assert np.trapezoid(b, a) == approx(roc_auc_score(y, h), abs=1e-3)


def test_calibrated_scores_are_within_their_intervals():
    rng = np.random.default_rng(0)
    h = rng.random(20_000)
    points = calibration(h, (rng.random(20_000) < h).astype(int), np.ones(20_000))
    assert len(points) == 10
    assert sum(e.low <= score <= e.high for score, e, _ in points) >= 8


def test_bins_hold_about_as_many_people_and_share_equal_values():
    values = np.random.default_rng(0).permutation(np.repeat(np.arange(100.0), 3))
    codes = quantile_codes(values, 4)
    assert np.bincount(codes) == approx([75, 75, 75, 75], abs=3)
    assert all(len(np.unique(codes[values == v])) == 1 for v in np.unique(values))
    assert range_names(values, codes)[0] == "0 to 23"
    few = quantile_codes(np.array([3.0, 1.0, 3.0, 2.5]), 4)
    assert few.tolist() == [2, 0, 2, 1]
    assert range_names(np.array([3.0, 1.0, 3.0, 2.5]), few) == ["1", "2.5", "3"]
    skewed = quantile_codes(np.array([0.0] * 90 + [1.0, 2.0, 3.0, 4.0, 5.0] * 2), 4)
    assert set(skewed) == set(range(skewed.max() + 1))  # no gaps where a value fills two bins
