"""Distances between people."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from otfair.auditing.costs._distances import median_distance

approx = pytest.approx


def test_nobody_is_a_typical_distance_from_themselves():
    points = np.random.default_rng(0).normal(size=(20, 3))
    assert median_distance(points, np.ones(20)) == approx(np.median(pdist(points)))
    assert median_distance(np.ones((5, 2)), np.ones(5)) == 1
