"""Audits of many people, of whom a sample may receive score."""

from __future__ import annotations

import json
import time

import numpy as np
import pytest

import otfair
from otfair.auditing.costs import _distances, _solving
from otfair.auditing.costs._distances import reference_size

N = 400
approx = pytest.approx


MANY = 1500


def audit_many(**options):
    many = otfair.load_dataset("synthetic", n=MANY)
    s = many.sensitive_features[["sex", "origin"]]
    h = many.truth.scores
    options = {"sensitive_features": s, "labels": many.y, "n_bootstrap": 20} | options
    return otfair.audit(h, many.X, bounded=False, **options)  # as samples have no bounds


@pytest.fixture(scope="module")
def found():
    """What is found with everybody as a receiver."""
    return audit_many().findings


@pytest.mark.slow
def test_the_cost_with_everybody_is_estimated_from_a_sample(found):
    held, wide, off = [], [], []
    for seed in range(5):
        sampled = audit_many(receivers=256, random_state=seed)
        for true, f in zip(found, sampled.findings):
            low, high = f.cost.sampling
            whole = true.cost.exact.value
            assert low <= f.cost.exact.value <= high <= f.cost.plan + 1e-12
            assert f.cost.exact.low <= low <= high <= f.cost.exact.high
            assert whole <= f.cost.plan + 1e-12  # fewer receivers are never cheaper
            assert f.cost.destinations < MANY
            held.append(low <= whole <= high)
            wide.append((high - low) / (f.cost.plan - whole))
            off.append(f.cost.smooth / true.cost.smooth - 1)
            # What is shown is the plan.
            assert sum(x.mass * x.distance for x in f.cost.flows) == approx(f.cost.plan)
            assert sum(x.mass for x in f.cost.flows) == approx(f.cost.moved)
            assert f.cost.moved * f.cost.distance == approx(f.cost.exact.value)
    assert np.mean(held) >= 0.9  # 95 %, and chance
    assert np.median(wide) < 0.7  # less than what the sample alone would leave open
    assert abs(np.mean(off)) < 0.1
    page = sampled.to_html()
    assert "adds an interval of" in page
    assert "with everybody they would be shorter" in page


def test_all_people_may_receive_by_default(found):
    assert all(f.cost.sampling is None and f.cost.destinations == MANY for f in found)
    assert all(f.cost.plan == approx(f.cost.exact.value) for f in found)


@pytest.mark.parametrize(
    ("people", "size"),
    [
        (1000, 1000), (50_000, 50_000), (50_001, 32_768), (10**6, 2048), (10**8, 512),
    ],
)  # fmt: skip
def test_the_size_of_the_sample_is_a_matter_of_how_many_people_there_are(people, size):
    assert reference_size(people) == size


@pytest.mark.parametrize("pace", [1e-3, 1.0, 1e6])
def test_a_slow_machine_finds_the_same(monkeypatch, pace):
    # A clock that goes faster or slower is a machine that is slower or faster.
    clock = time.perf_counter
    monkeypatch.setattr(time, "perf_counter", lambda: pace * clock())
    monkeypatch.setattr(_distances, "PAIRS", MANY * 600)
    given = {"sensitive_features": ["a", "b"] * (MANY // 2), "n_bootstrap": 5}
    rng = np.random.default_rng(0)
    found = otfair.audit(rng.uniform(size=MANY), rng.normal(size=(MANY, 3)), **given)
    record = json.loads(found.to_json())["record"]
    assert record["settings"]["receivers"] == 512
    assert found.findings[0].cost.destinations == 512
    assert "receivers = 512" in found.to_html()


def test_the_setting_that_a_report_states_gives_the_report_again():
    first = audit_many(receivers=256)
    again = audit_many(receivers=first.record.settings["receivers"])
    assert json.loads(first.to_json())["findings"] == json.loads(again.to_json())["findings"]
    assert audit_many().record.settings["receivers"] == MANY


@pytest.mark.slow
def test_the_cost_of_many_groups_is_estimated_from_few_people():
    # Half of the people drawn are a dozen a group, too few to find prices by themselves.
    many = otfair.load_dataset("synthetic", n=2 * MANY)
    rng = np.random.default_rng(0)
    town = rng.integers(30, size=2 * MANY)
    scores = np.clip(many.truth.scores + 0.2 * (town % 2), 0.01, 1)
    options = {"sensitive_features": town.astype(str), "n_bootstrap": 0, "bounded": False}
    whole, part = (otfair.audit(scores, many.X, receivers=r, **options) for r in (None, 700))
    low, high = part.findings[0].cost.sampling
    exact = part.findings[0].cost.exact
    assert (exact.low, exact.high) == (low, high)  # there are no resamples to add to it
    true, plan = whole.findings[0].cost.exact.value, part.findings[0].cost.plan
    assert 0.3 * true < low < true < high < plan
    assert part.findings[0].cost.exact.value == approx(true, rel=0.15)
    assert part.findings[0].cost.smooth == approx(whole.findings[0].cost.smooth, rel=0.15)


@pytest.mark.slow
def test_a_group_without_any_score_receives_from_a_sample():
    rng = np.random.default_rng(0)
    X, s = rng.normal(size=(MANY, 2)), np.repeat(["a", "b", "c"], MANY // 3)
    decided = (rng.random(MANY) < 0.4) & (s != "c")
    options = {"sensitive_features": s, "n_bootstrap": 0, "bounded": False}
    options["labels"] = rng.integers(2, size=MANY)
    whole, part = (otfair.audit(decided, X, receivers=r, **options) for r in (None, 200))
    for one, two in zip(whole.findings, part.findings):
        low, high = two.cost.sampling
        assert low <= one.cost.exact.value <= high
        assert one.cost.moved == approx(1 / 3, abs=0.02)


@pytest.mark.slow
def test_very_many_distances_are_kept_in_single_precision(found, monkeypatch):
    monkeypatch.setattr(_distances, "SINGLE", 0)
    for one, two in zip(found, audit_many().findings):
        assert two.cost.exact.value == approx(one.cost.exact.value, rel=1e-5)
        assert two.cost.gap < _solving.TOLL
        assert sum(x.mass * x.distance for x in two.cost.flows) == approx(two.cost.plan)
        assert two.cost.plan == approx(two.cost.exact.value, rel=1e-5)
