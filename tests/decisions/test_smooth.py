"""The smooth program of observed rates: slopes, and rules against those that a search finds."""

from __future__ import annotations

import numpy as np
import pytest

from otfair.decisions._limits import Family, excess, inequalities
from otfair.decisions._smooth import Sample, polish, smoothed


def people(seed, n=3000, groups=3, soft=False):
    """Gains, groups, and a model of groups that is off."""
    rng = np.random.default_rng(seed)
    gain = rng.beta(2, 2, n) - (0.0 if soft else 0.5)
    chance = np.exp(rng.normal(size=(n, groups)) + np.arange(groups) * gain[:, None] * 2)
    chance /= chance.sum(1, keepdims=True)
    group = (rng.uniform(size=n)[:, None] > chance.cumsum(1)).sum(1).clip(0, groups - 1)
    observed = np.eye(groups)[group]
    wrong = np.sqrt(chance)
    wrong /= wrong.sum(1, keepdims=True)
    share = observed.mean(0)
    weight = rng.uniform(0.5, 2, n)
    return Sample(gain, wrong / share, observed / share, weight, soft)


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("trust", [1.0, 0.3])
def test_slopes_are_those_of_finite_differences(soft, trust):
    sample = people(0, soft=soft)
    sample = Sample(
        sample.gain, sample.predicted, sample.observed, sample.weight, soft, np.full(3, trust)
    )
    duals = np.array([0.05, -0.02, 0.01])
    step = 1e-6
    here = smoothed(sample, duals, 0.05)
    for c in range(3):
        move = step * np.eye(3)[c]
        up, down = (smoothed(sample, duals + sign * move, 0.05) for sign in (1, -1))
        assert here.gain_slope[c] == pytest.approx((up.gain - down.gain) / 2 / step, abs=1e-4)
        rates = (up.rates - down.rates) / 2 / step
        assert here.rates_slope[:, c] == pytest.approx(rates, abs=1e-3)


def test_a_narrow_boundary_is_that_of_whole_decisions():
    sample, duals = people(1), np.array([0.03, 0.0, -0.03])
    outcome = sample.outcome(duals)
    found = smoothed(sample, duals, 1e-6)
    assert found.rates == pytest.approx(sample.rates(outcome), abs=2 / 3000)
    assert found.gain == pytest.approx(sample.value(outcome), abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_no_prices_on_a_grid_are_better(seed):
    # Two groups: prices add up to 0, so one number says it all.
    sample = people(seed, groups=2)
    family = Family("a", np.arange(2), difference=0.03)
    limits = inequalities([family], np.zeros(2), np.full(2, 0.5))
    found = polish(sample, limits, np.zeros(2), 0.01)
    assert found.sum() == pytest.approx(0.0, abs=1e-9)
    here = smoothed(sample, found, 0.01)
    assert excess([family], here.rates, np.zeros(2)) < 1e-5
    for price in np.linspace(-0.4, 0.4, 400):
        other = smoothed(sample, np.array([price, -price]), 0.01)
        if excess([family], other.rates, np.zeros(2)) <= 0:
            assert other.gain < here.gain + 1e-5


def test_trust_is_between_observed_and_predicted():
    sample = people(2)
    outcome = sample.outcome(np.zeros(3))
    mixed = Sample(sample.gain, sample.predicted, sample.observed, sample.weight, trust=0.25)
    by_model = Sample(sample.gain, sample.predicted, sample.predicted, sample.weight)
    expected = 0.25 * sample.rates(outcome) + 0.75 * by_model.rates(outcome)
    assert mixed.rates(outcome) == pytest.approx(expected)
