"""Samples of people."""

from __future__ import annotations

import numpy as np

from otfair.auditing.costs._sampling import sample_by_mass, stratified_sample


def test_a_sample_has_people_of_every_type():
    types = np.array([0] * 990 + [1] * 9 + [2])
    some = stratified_sample(types, 3, 100, [0])
    assert np.bincount(types[some]).tolist() == [99, 8, 1]
    assert len(np.unique(some)) == len(some)
    mass = np.where(np.arange(1000) % 2, 1.0, 1e-12)
    drawn = sample_by_mass(types, 3, mass, 100, [0])
    assert np.bincount(types[drawn]).min() == 4
    assert (drawn[types[drawn] < 2] % 2 == 1).all()  # whoever has no score is never drawn
