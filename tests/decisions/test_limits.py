"""Limits: by how much they are missed, and the same as inequalities."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from otfair.decisions._limits import Family, excess, inequalities

RATES = np.array([0.3, 0.2, 0.5, -0.04])


def feasible(families, rates, margin):
    """Whether some u makes L r + M u <= q true."""
    limits = inequalities(families, margin, rates)
    if not limits.free.shape[1]:
        return bool((limits.rows @ rates <= limits.bound + 1e-12).all())
    left = limits.bound - limits.rows @ rates
    free = [(None, None)] * limits.free.shape[1]
    return linprog(np.zeros(len(free)), limits.free, left + 1e-12, bounds=free).status == 0


@pytest.mark.parametrize("margin", [0.0, 0.01])
@pytest.mark.parametrize(
    "family",
    [
        Family("a", np.arange(3), difference=0.32),
        Family("a", np.arange(3), difference=0.29),
        Family("a", np.arange(2), ratio=0.6),
        Family("a", np.arange(2), ratio=0.7),
        Family("a", np.arange(3), difference=0.32, ratio=0.3),
        Family("a", np.arange(3), difference=0.32, ratio=0.5),
        Family("b", np.array([3]), difference=0.06, target=0.0),
        Family("b", np.array([3]), difference=0.03, target=0.0),
    ],
)
def test_excess_and_inequalities_agree(family, margin):
    m = np.full(4, margin)
    assert (excess([family], RATES, m) <= 0) == feasible([family], RATES, m)


def test_the_excess_is_in_units_of_rates():
    assert excess([Family("a", np.arange(3), 0.25)], RATES, np.zeros(4)) == pytest.approx(0.05)
    # Two samples at once, as simulations need it.
    both = np.stack([RATES, np.full(4, 0.1)])
    found = excess([Family("a", np.arange(3), 0.25)], both, np.zeros(4))
    assert found == pytest.approx([0.05, -0.25])


def test_margins_never_forbid_equal_rates():
    for family in (Family("a", np.arange(3), 0.05), Family("a", np.arange(3), ratio=0.8)):
        assert family.excess(np.full(4, 0.3), np.full(4, 9.0)) == pytest.approx(0.0)
