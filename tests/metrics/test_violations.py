"""Violations against direct Pearson correlations."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import otfair
from otfair.metrics import ViolationOf


def sample(n: int = 200, seed: int = 0):
    rng = np.random.default_rng(seed)
    table = {"race": rng.choice(["a", "b", "c"], n), "age": rng.normal(size=n)}
    return rng.uniform(size=n), table, rng.integers(0, 2, n)


def direct(h, table):
    columns = [(table["race"] == v).astype(float) for v in np.unique(table["race"])]
    return max(abs(np.corrcoef(h, c)[0, 1]) for c in [*columns, table["age"]])


def test_pdp_is_the_largest_correlation():
    h, table, _ = sample()
    assert otfair.pdp_violation(h, table) == pytest.approx(direct(h, table), rel=1e-12)


def test_peo_is_the_largest_within_a_label():
    h, table, y = sample()
    within = [direct(h[y == v], {k: c[y == v] for k, c in table.items()}) for v in (0, 1)]
    assert otfair.peo_violation(h, table, y) == pytest.approx(max(within), rel=1e-12)


def test_integer_weights_are_copies():
    h, table, y = sample()
    w = np.random.default_rng(1).integers(0, 4, len(h))
    copies = {k: np.repeat(c, w) for k, c in table.items()}
    weighted = otfair.peo_violation(h, table, y, w)
    copied = otfair.peo_violation(np.repeat(h, w), copies, np.repeat(y, w))
    assert weighted == pytest.approx(copied, rel=1e-12)


def test_constant_scores_are_fair():
    _, table, y = sample()
    assert otfair.pdp_violation(np.full(200, 0.3), table) == 0
    assert otfair.peo_violation(np.full(200, 0.3), table, y) == 0


def test_lengths_that_differ_are_refused():
    h, table, _ = sample()
    with pytest.raises(ValueError, match="one score per person"):
        otfair.pdp_violation(h[:10], table)


def test_scores_of_both_classes_are_refused():
    h, table, _ = sample()
    with pytest.raises(ValueError, match=r"last column, `\[:, 1\]`"):
        otfair.pdp_violation(np.column_stack([1 - h, h]), table)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_scores_that_are_no_numbers_have_no_violation(bad):
    # Of a model that diverged; 0 would call it fair.
    violation = ViolationOf(otfair.DemographicParity().people(["a", "b"] * 4))
    scores = np.linspace(0.1, 0.9, 8)
    assert violation(scores) > 0
    for wrong in (np.where(np.arange(8) == 3, bad, scores), np.full(8, bad)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert np.isnan(violation(wrong))
