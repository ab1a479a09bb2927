"""Curves of an audit, against scikit-learn, resampling and known errors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import trapezoid
from sklearn.metrics import roc_auc_score

from otfair.auditing._curves import auc, calibration, roc

approx = pytest.approx


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


def test_a_perfect_ranking_of_a_few_is_no_certainty():
    h, y = np.array([0.1, 0.2, 0.3, 0.7, 0.8, 0.9]), np.array([0, 0, 0, 1, 1, 1])
    e = auc(h, y, np.ones(6))
    assert (e.value, e.high) == (1, 1)
    assert e.low == approx(0.025 ** (1 / 4))  # of a beta distribution, three out of three
    tied = auc(np.full(6, 0.5), y, np.ones(6))
    assert tied.low < 0.2 < tied.value == 0.5 < 0.8 < tied.high
    many = auc(np.repeat(h, 100), np.repeat(y, 100), np.ones(600))
    assert 0.98 < many.low < 1


def test_one_person_of_a_label_tells_no_interval():
    e = auc(np.array([0.1, 0.2, 0.3, 0.7]), np.array([0, 0, 0, 1]), np.ones(4))
    assert e.value == 1
    assert np.isnan([e.low, e.high]).all()


def test_the_interval_of_an_area_holds_it_as_often_as_it_says():
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(400):
        y = np.repeat([0, 1], 8)
        h = rng.normal(size=16) + 0.6745 * np.sqrt(2) * y  # an area of 0.75
        e = auc(h, y, np.ones(16))
        held += e.low <= 0.75 <= e.high
    assert held >= 0.92 * 400


def test_roc_has_few_points_and_the_right_area():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=5000)
    h = rng.random(5000) ** np.where(y, 0.5, 1.5)
    a, b = np.transpose(roc(h, y, np.ones(5000)))
    assert len(a) <= 200
    assert (a[0], b[0], a[-1], b[-1]) == (0, 0, 1, 1)
    assert trapezoid(b, a) == approx(roc_auc_score(y, h), abs=1e-3)


def test_calibrated_scores_are_within_their_intervals():
    rng = np.random.default_rng(0)
    h = rng.random(20_000)
    points = calibration(h, (rng.random(20_000) < h).astype(int), np.ones(20_000))
    assert len(points) == 10
    assert sum(e.low <= score <= e.high for score, e, _ in points) >= 8


def test_calibration_of_weighted_people_is_as_sure_as_it_says():
    # The weighted share of 200 people, a few of whom have most of the weight.
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(400):
        y, w = (rng.random(200) < 0.3).astype(int), rng.lognormal(0, 1.5, 200)
        ((_, e, people),) = calibration(np.full(200, 0.3), y, w)
        held += e.low <= 0.3 <= e.high
    assert people == 200
    assert held >= 0.93 * 400


def test_calibration_of_few_people_has_fewer_parts_and_leaves_nobody_out():
    rng = np.random.default_rng(0)
    for n, parts in ((9, 0), (10, 1), (45, 4), (99, 9), (100, 10), (300, 10)):
        points = calibration(rng.random(n), rng.integers(2, size=n), np.ones(n))
        assert parts - (parts > 4) <= len(points) <= parts
        assert sum(people for _, _, people in points) == (n if parts else 0)
        assert all(people >= 10 for _, _, people in points)
    tied = np.repeat([0.1, 0.2, 0.3, 0.9], [60, 2, 3, 35])  # parts of two and three by themselves
    points = calibration(tied, rng.integers(2, size=100), np.ones(100))
    assert sum(people for _, _, people in points) == 100
    assert all(people >= 10 for _, _, people in points)
