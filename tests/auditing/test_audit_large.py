"""Audits of many people: intervals, samples of receivers, and linear programs in rounds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

import otfair
from otfair.auditing import _distances, _solving
from otfair.auditing._costs import _interval
from otfair.auditing._distances import Measure, reference_size
from otfair.auditing._features import choose_columns, read_features
from otfair.auditing._groups import compare, read_notions
from otfair.auditing._reading import read
from otfair.auditing._resampling import draw
from otfair.auditing._samples import draw_by_mass, draw_people
from otfair.auditing._solving import by_types, solve, stand_ins
from otfair.geometry._geometry import CostMatrix

N = 400
approx = pytest.approx


@pytest.fixture(scope="module")
def data():
    return otfair.load_dataset("synthetic", n=N)


@pytest.fixture(scope="module")
def audited(data):
    h, s = np.asarray(data.truth.scores), data.sensitive_features
    return read(h, data.X, s, data.y, None, continuous=(), categorical=(), positive_label=None)


@pytest.fixture(scope="module")
def measure(audited):
    return Measure(
        read_features(choose_columns(audited, (), ()), audited.weight), audited.weight, 1e-3, 0
    )


def problems(audited, measure):
    """Every notion and attribute, with the distances to its types."""
    for notion in ("demographic_parity", "equalized_odds"):
        for c in compare(audited, read_notions(notion, labelled=True)):
            types, K = c.people.types.numpy(), len(c.people.type_names)
            yield c, measure.to_types(types, K, audited.weight, audited.scores).nearest


def test_the_interval_of_the_cost_is_that_of_solving_anew(audited, measure):
    # To first order: resampled costs by the Lagrangian against solving each resample.
    compared, D = list(problems(audited, measure))[1]
    h = audited.scores
    rng = np.random.default_rng(0)
    anew = []
    for _ in range(60):
        counts = np.bincount(rng.integers(N, size=N), minlength=N).astype(np.float64)
        again = replace(compared.people, weight=torch.as_tensor(counts))
        solved = otfair.exact_otf(h, CostMatrix(D), by_types(again))
        anew.append(solved.value / (counts @ h))
    interval = _interval(compared, solve(compared.people, h, D), h, D, draw(N, 60, 0))
    low, high = np.percentile(anew, (2.5, 97.5))
    width = high - low
    assert interval.low == approx(low, abs=0.15 * width)
    assert interval.high == approx(high, abs=0.15 * width)


def test_solving_in_rounds_is_solving_at_once(audited, measure, monkeypatch):
    h = audited.scores
    for compared, D in problems(audited, measure):
        whole = solve(compared.people, h, D)
        with monkeypatch.context() as patch:
            patch.setattr(_solving, "MOST", D.size // 2)
            parts = solve(compared.people, h, D)
        assert parts.value == approx(whole.value, rel=1e-9)
        assert parts.gap <= _solving.TOLL * h.sum()
        assert np.asarray(parts.plan.sum(1)) == approx(h)
        # Received score is fair, and the plan costs what it says.
        fair = np.asarray(parts.plan.sum(0))
        weight = np.bincount(compared.people.types.numpy(), minlength=D.shape[1])
        vectors, _, _ = compared.people.vectors(torch.as_tensor(weight, dtype=torch.float64))
        assert vectors.numpy() @ fair == approx(0, abs=1e-6)
        assert (parts.plan * D).sum() == approx(parts.value)


def test_twins_swap_no_score_in_rounds_either(monkeypatch):
    rng = np.random.default_rng(3)
    X, sex = rng.integers(3, size=(N, 2)), rng.choice(["a", "b", "c"], N)
    h = np.clip(0.3 + 0.2 * (sex == "a") + 0.2 * rng.random(N), 0, 1)
    options = {"sensitive_features": sex, "n_bootstrap": 0}
    whole = otfair.audit(h, X, **options).findings[0].cost
    monkeypatch.setattr(_solving, "MOST", 3 * N // 2)
    parts = otfair.audit(h, X, **options).findings[0].cost
    assert whole.exact.value == parts.exact.value == approx(0, abs=1e-12)
    assert whole.moved == approx(whole.least_moved.value, rel=1e-6)
    assert parts.moved == approx(whole.moved, rel=1e-6)


def test_the_gap_is_told_where_rounds_do_not_close_it(audited, measure, monkeypatch):
    monkeypatch.setattr(_solving, "ROUNDS", 1)
    h = audited.scores
    for compared, D in problems(audited, measure):
        best = solve(compared.people, h, D).value
        with monkeypatch.context() as patch:
            patch.setattr(_solving, "MOST", D.size // 10)
            parts = solve(compared.people, h, D)
        assert parts.value - parts.gap - 1e-9 <= best <= parts.value + 1e-9


def test_stand_ins_have_the_weight_and_mass_of_every_type(audited, measure):
    compared, _ = next(problems(audited, measure))
    h, types = audited.scores, compared.people.types.numpy()
    few, scores = stand_ins(compared.people, h, draw_people(types, 2, 50, [0]))
    w = few.weight.numpy()
    assert np.bincount(few.types.numpy(), w) == approx(np.bincount(types))
    assert np.bincount(few.types.numpy(), w * scores) == approx(np.bincount(types, h))


def test_a_sample_has_people_of_every_type():
    types = np.array([0] * 990 + [1] * 9 + [2])
    some = draw_people(types, 3, 100, [0])
    assert np.bincount(types[some]).tolist() == [99, 8, 1]
    assert len(np.unique(some)) == len(some)
    mass = np.where(np.arange(1000) % 2, 1.0, 1e-12)
    drawn = draw_by_mass(types, 3, mass, 100, [0])
    assert np.bincount(types[drawn]).min() == 4
    assert (drawn[types[drawn] < 2] % 2 == 1).all()  # whoever has no score is never drawn


MANY = 1500


def audit_many(**options):
    many = otfair.load_dataset("synthetic", n=MANY)
    s = many.sensitive_features[["sex", "origin"]]
    h = many.truth.scores
    return otfair.audit(h, many.X, sensitive_features=s, labels=many.y, n_bootstrap=20, **options)


@pytest.fixture(scope="module")
def found():
    """What is found with everybody as a receiver."""
    return audit_many().findings


def test_the_cost_with_everybody_is_estimated_from_a_sample(found):
    held, wide, off = [], [], []
    for seed in range(5):
        sampled = audit_many(reference=256, random_state=seed)
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


def test_everybody_is_the_reference_where_time_allows(found):
    assert all(f.cost.sampling is None and f.cost.destinations == MANY for f in found)
    assert all(f.cost.plan == approx(f.cost.exact.value) for f in found)
    assert reference_size(1000, 2e-9, 2e-9, 10.0) is None
    assert reference_size(10**6, 2e-8, 2e-8, 100.0) == 4096
    assert reference_size(10**6, 2e-8, 4e-8, 100.0) == 2048
    assert reference_size(10**6, 2e-8, 2e-8, 1e-3) == 512


def test_the_cost_of_many_groups_is_estimated_from_few_people():
    # Half of the people drawn are a dozen a group, too few to find prices by themselves.
    many = otfair.load_dataset("synthetic", n=2 * MANY)
    rng = np.random.default_rng(0)
    town = rng.integers(30, size=2 * MANY)
    scores = np.clip(many.truth.scores + 0.2 * (town % 2), 0.01, 1)
    options = {"sensitive_features": town.astype(str), "n_bootstrap": 0}
    whole, part = (otfair.audit(scores, many.X, reference=r, **options) for r in (None, 700))
    low, high = part.findings[0].cost.sampling
    exact = part.findings[0].cost.exact
    assert (exact.low, exact.high) == (low, high)  # there are no resamples to add to it
    true, plan = whole.findings[0].cost.exact.value, part.findings[0].cost.plan
    assert 0.3 * true < low < true < high < plan
    assert part.findings[0].cost.exact.value == approx(true, rel=0.15)
    assert part.findings[0].cost.smooth == approx(whole.findings[0].cost.smooth, rel=0.15)


def test_a_group_without_any_score_receives_from_a_sample():
    rng = np.random.default_rng(0)
    X, s = rng.normal(size=(MANY, 2)), np.repeat(["a", "b", "c"], MANY // 3)
    decided = (rng.random(MANY) < 0.4) & (s != "c")
    options = {"sensitive_features": s, "labels": rng.integers(2, size=MANY), "n_bootstrap": 0}
    whole, part = (otfair.audit(decided, X, reference=r, **options) for r in (None, 200))
    for one, two in zip(whole.findings, part.findings):
        low, high = two.cost.sampling
        assert low <= one.cost.exact.value <= high
        assert one.cost.moved == approx(1 / 3, abs=0.02)


def test_very_many_distances_are_kept_in_single_precision(found, monkeypatch):
    monkeypatch.setattr(_distances, "SINGLE", 0)
    for one, two in zip(found, audit_many().findings):
        assert two.cost.exact.value == approx(one.cost.exact.value, rel=1e-5)
        assert two.cost.gap < _solving.TOLL
        assert sum(x.mass * x.distance for x in two.cost.flows) == approx(two.cost.plan)
        assert two.cost.plan == approx(two.cost.exact.value, rel=1e-5)
