"""The cheapest plan of many people: linear programs in rounds, and the interval of the cost."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

import otfair
from otfair.auditing._features import choose_columns, read_features
from otfair.auditing._groups import compare, read_notions
from otfair.auditing._reading import read
from otfair.auditing.costs import _solving
from otfair.auditing.costs._costs import plan_cost, plan_rows
from otfair.auditing.costs._distances import Distances
from otfair.auditing.costs._solving import representatives, solve, type_constraints
from otfair.geometry import CostMatrix
from otfair.metrics import draw_counts
from otfair.notions import stratified_sample

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
    features = read_features(choose_columns(audited, (), ()), audited.weight)
    return Distances(audited, features, epsilon=1e-3, seed=0, reference=N)


def problems(audited, measure):
    """Every notion and attribute, with the distances to its types."""
    for notion in ("demographic_parity", "equalized_odds"):
        for c in compare(audited, read_notions(notion, labelled=True)):
            types, K = c.people.types.numpy(), len(c.people.type_names)
            yield c, measure.to_types(types, K).nearest


def test_solving_in_rounds_is_solving_at_once(audited, measure, monkeypatch):
    h = audited.scores
    for compared, D in problems(audited, measure):
        whole = solve(compared.people, h, D)
        with monkeypatch.context() as patch:
            patch.setattr(_solving, "MAX_ENTRIES", D.size // 2)
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
    monkeypatch.setattr(_solving, "MAX_ENTRIES", 3 * N // 2)
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
            patch.setattr(_solving, "MAX_ENTRIES", D.size // 10)
            parts = solve(compared.people, h, D)
        assert parts.value - parts.gap - 1e-9 <= best <= parts.value + 1e-9


def test_stand_ins_have_the_weight_and_mass_of_every_type(audited, measure):
    compared, _ = next(problems(audited, measure))
    h, types = audited.scores, compared.people.types.numpy()
    few, scores = representatives(compared.people, h, stratified_sample(types, 2, 50, [0]))
    w = few.weight.numpy()
    assert np.bincount(few.types.numpy(), w) == approx(np.bincount(types))
    assert np.bincount(few.types.numpy(), w * scores) == approx(np.bincount(types, h))


@pytest.mark.slow
def test_the_interval_of_the_cost_is_that_of_solving_anew(audited, measure):
    # To first order: resampled costs by the Lagrangian against solving each resample.
    compared, D = list(problems(audited, measure))[1]
    h = audited.scores
    rng = np.random.default_rng(0)
    anew = []
    for _ in range(60):
        counts = np.bincount(rng.integers(N, size=N), minlength=N).astype(np.float64)
        again = replace(compared.people, weight=torch.as_tensor(counts))
        solved = otfair.exact_otf(h, CostMatrix(D), type_constraints(again))
        anew.append(solved.value / (counts @ h))
    solved, counts = solve(compared.people, h, D), draw_counts(N, 60, 0)
    paid = (solved.plan * D).sum(1)
    sums = audited.resampled(compared, counts, plan_rows, solved.plan, paid)
    interval = plan_cost(compared.people, solved.value, solved.duals, sums)
    low, high = np.percentile(anew, (2.5, 97.5))
    width = high - low
    assert interval.low == approx(low, abs=0.15 * width)
    assert interval.high == approx(high, abs=0.15 * width)
