"""Where score moves: intervals of shares."""

from __future__ import annotations

import numpy as np
import pytest

from otfair.auditing._regions import shares_of

approx = pytest.approx


def _shares(mass, codes, count):
    return shares_of(np.bincount(codes, mass, count), np.bincount(codes, mass**2, count))


def test_all_or_nothing_of_the_mass_has_an_interval_too():
    mass, codes = np.array([1.0, 1, 1, 1, 0, 0]), np.array([0, 0, 0, 0, 1, 1])
    all_of_it, none_of_it = _shares(mass, codes, 2)
    assert (all_of_it.value, all_of_it.high) == (1, 1)
    assert all_of_it.low == approx(0.025 ** (1 / 5))  # four givers
    assert (none_of_it.value, none_of_it.low) == (0, 0)
    assert none_of_it.high == approx(1 - all_of_it.low)
    one = _shares(np.array([5.0, 0, 0, 0, 1e-9, 0]), codes, 2)[0]
    assert one.low < 1  # one giver
    assert _shares(np.array([8.0, 0, 0, 0, 0, 0]), codes, 2)[0].low == approx(0.025**0.5)
    half = _shares(np.array([1.0, 1, 0, 0, 1, 1]), codes, 2)[0]
    assert (half.low, half.high) == (approx(0.5 - 1.96 / 4), approx(0.5 + 1.96 / 4))
