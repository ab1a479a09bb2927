"""Statistics of weighted people."""

from __future__ import annotations

import numpy as np
import pytest

from otfair.auditing._statistics import (
    quantile_codes,
    range_names,
    sample_by_mass,
)
from otfair.notions import stratified_sample


def test_bins_hold_about_as_many_people_and_share_equal_values():
    values = np.random.default_rng(0).permutation(np.repeat(np.arange(100.0), 3))
    codes = quantile_codes(values, 4, np.ones(300))
    assert np.bincount(codes).tolist() == [75, 75, 75, 75]
    assert all(len(np.unique(codes[values == v])) == 1 for v in np.unique(values))
    assert range_names(values, codes)[0] == "0 to 24"
    few = quantile_codes(np.array([3.0, 1.0, 3.0, 2.5]), 4, np.ones(4))
    assert few.tolist() == [2, 0, 2, 1]
    assert range_names(np.array([3.0, 1.0, 3.0, 2.5]), few) == ["1", "2.5", "3"]
    skewed = quantile_codes(np.array([0.0] * 90 + [1.0, 2.0, 3.0, 4.0, 5.0] * 2), 4, np.ones(100))
    assert set(skewed) == set(range(skewed.max() + 1))  # no gaps where a value fills two bins


@pytest.mark.parametrize("scale", [1.0, 0.1, 1e-6])
def test_weights_are_copies_in_bins(scale):
    rng = np.random.default_rng(0)
    for _ in range(50):
        values, weight = rng.integers(30, size=60) / 7, rng.integers(1, 9, 60)
        codes = quantile_codes(values, 4, scale * weight)
        copies = np.repeat(values, weight)
        assert np.repeat(codes, weight).tolist() == (
            quantile_codes(copies, 4, np.ones(len(copies))).tolist()
        )


def test_a_sample_has_people_of_every_type():
    types = np.array([0] * 990 + [1] * 9 + [2])
    some = stratified_sample(types, 3, 100, [0])
    assert np.bincount(types[some]).tolist() == [99, 8, 1]
    assert len(np.unique(some)) == len(some)
    mass = np.where(np.arange(1000) % 2, 1.0, 1e-12)
    drawn = sample_by_mass(types, 3, mass, 100, [0])
    assert np.bincount(types[drawn]).min() == 4
    assert (drawn[types[drawn] < 2] % 2 == 1).all()  # whoever has no score is never drawn
