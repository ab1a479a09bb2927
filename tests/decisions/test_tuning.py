"""Rules that meet limits as observed: against each other, and by how they treat new people."""

from __future__ import annotations

import numpy as np
import pytest

from otfair.decisions import _tuning
from otfair.decisions._limits import Family, excess
from otfair.decisions._margin import errors, keep_promise
from otfair.decisions._smooth import Sample
from otfair.decisions._tuning import some_people, tune

SIZES = (0.002, 0.01, 0.03, 0.06, 0.1, 0.1, 0.15, 0.2)


def several_groups(seed, n, size, tilt):
    """A model of groups that is off, and gains that differ by group."""
    rng = np.random.default_rng(seed)
    group = rng.choice(len(size), n, p=size)
    noise = rng.normal(size=(n, len(size)))
    logits = np.log(size) + 1.5 * (np.eye(len(size))[group] + noise)
    predicted = np.exp(logits)
    predicted /= predicted.sum(1, keepdims=True)
    gain = 1 / (1 + np.exp(-(rng.normal(size=n) + np.asarray(tilt)[group]))) - 0.5
    observed = np.eye(len(size))[group]
    share = observed.mean(0)
    return Sample(gain, predicted / share, observed / share, np.ones(n))


def nine_groups(seed, n=20000):
    """Groups from large to tiny."""
    tilt = np.random.default_rng(seed).normal(size=9) / 2
    return several_groups(seed, n, np.array([*SIZES, 1 - sum(SIZES)]), tilt)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_nine_groups_are_within_a_limit_and_a_wider_one_gains_more(seed):
    sample = nine_groups(seed)
    rules = []
    for limit in (0.2, 0.1, 0.05):
        families = [Family("a", np.arange(9), difference=limit)]
        rule = tune(sample, families, np.zeros(9))
        assert excess(families, rule.rates, -sample.grain) <= 1e-9
        assert rule.met
        rules.append(rule)
    values = [rule.value for rule in rules]
    assert values == sorted(values, reverse=True)
    # A rule of a tighter limit meets the wider one, so nothing that it found is missed.
    assert values[0] <= sample.value(sample.outcome(np.zeros(9)))


@pytest.mark.slow
def test_a_start_and_a_part_of_the_people_lead_to_the_same_rule(monkeypatch):
    sample = nine_groups(0)
    families = [Family("a", np.arange(9), difference=0.1)]
    cold = tune(sample, families, np.zeros(9))
    warm = tune(sample, families, np.zeros(9), tune(sample, families, np.full(9, 0.01)))
    monkeypatch.setattr(_tuning, "MANY", 10_000)
    monkeypatch.setattr(_tuning, "SOME", 5400)
    assert len(some_people(sample).gain) < len(sample.gain) / 2
    part = tune(sample, families, np.zeros(9))
    for rule in (warm, part):
        assert rule.met
        assert rule.value == pytest.approx(cold.value, abs=0.003)


def test_fewer_people_stand_for_all(monkeypatch):
    sample = nine_groups(1, n=50000)
    monkeypatch.setattr(_tuning, "MANY", 1000)
    monkeypatch.setattr(_tuning, "SOME", 7200)
    some = some_people(sample)
    outcome, part = (s.outcome(np.zeros(9)) for s in (sample, some))
    # Weights make up for those who are left out, and small groups are there as they are.
    assert some.weight.sum() == pytest.approx(len(sample.gain), rel=0.005)
    assert (some.observed[:, 0] != 0).sum() == (sample.observed[:, 0] != 0).sum()
    assert some.rates(part) == pytest.approx(sample.rates(outcome), abs=0.05)
    # The error is that of all people, whoever are left out.
    own = errors(sample, sample.rates(outcome), outcome)
    assert errors(some, some.rates(part), part, sample.people) == pytest.approx(own, rel=0.1)


def test_margins_hold_for_samples_that_are_drawn():
    # New samples of a third as many people, from the same population, as the promise says.
    families = [Family("a", np.arange(4), difference=0.15)]
    held = []
    for seed in range(25):
        everybody = several_groups(seed, 9000, (0.2, 0.25, 0.25, 0.3), tilt=(0.5, 0.0, -0.5, 0.2))
        promise = keep_promise(everybody.take(np.arange(3000)), families, 0.9, 1 / 3)
        assert promise.kept.all()
        for k in range(6):
            new = everybody.take(np.arange(3000 + 1000 * k, 4000 + 1000 * k))
            decided = new.outcome(promise.rule.duals)
            rates = np.array([decided[new.observed[:, c] != 0].mean() for c in range(4)])
            held.append(excess(families, rates, np.zeros(4)) <= 0)
    # 150 samples, in 25 clusters.
    assert 0.8 <= np.mean(held) < 1


def test_a_floor_raises_a_group():
    sample = nine_groups(0)
    free = sample.rates(sample.outcome(np.zeros(9)))
    lowest = int(free[4:].argmin()) + 4
    floor = free[lowest] + 0.08
    families = [Family("g", np.array([lowest]), floor=floor)]
    rule = tune(sample, families, np.zeros(9))
    assert rule.rates[lowest] >= floor - sample.grain[lowest]
    assert rule.rates[lowest] <= floor + 0.02
    assert rule.duals[lowest] < 0
