"""What is said where a limit is not met."""

from __future__ import annotations

import numpy as np
import pytest

from otfair.metrics import people_needed


def test_the_margin_of_the_people_needed_fits_below_the_limit():
    # A margin of 0.04 is twice what is left below the limit, so four times as many are needed.
    assert people_needed(0.03, 0.07, 0.05, 1000) == 4000
    assert people_needed(0.03, 0.05, 0.05, 1000) == pytest.approx(1000, abs=1)


def test_no_number_of_people_mends_a_violation_above_the_limit():
    assert people_needed(0.06, 0.07, 0.05, 1000) is None
    assert people_needed(0.01, np.inf, 0.05, 1000) is None
    assert people_needed(np.nan, np.inf, 0.05, 1000) is None
