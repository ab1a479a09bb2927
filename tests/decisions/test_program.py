"""The program of decisions against the whole linear program, and that of scores against KKT."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

from otfair.decisions import _program
from otfair.decisions._limits import Family, excess, inequalities
from otfair.decisions._program import decide, project


def problem(seed, n=None, groups=None, attributes=None):
    """Scores, soft groups of several attributes that depend on them, weights, and limits."""
    rng = np.random.default_rng(seed)
    n = n or int(rng.integers(40, 1500))
    attributes = attributes or int(rng.integers(1, 4))
    groups = groups or int(rng.integers(2, 6))
    gain = rng.beta(1, 2, n) - 0.5
    vectors, families = [], []
    for j in range(attributes):
        tilt = np.arange(groups) * rng.normal()
        p = np.exp(2 * rng.normal(size=(n, groups)) + tilt * gain[:, None] - np.arange(groups))
        p /= p.sum(1, keepdims=True)
        vectors.append(p / p.mean(0))
        limit = {"difference": rng.uniform(0, 0.1)} if j % 2 == 0 else {"ratio": 0.9}
        families.append(Family(str(j), np.arange(groups) + groups * j, **limit))
    v = np.hstack(vectors)
    limits = inequalities(families, np.zeros(v.shape[1]), np.full(v.shape[1], 0.5))
    return gain, v, rng.uniform(0.5, 2, n), limits, families


def whole_program(gain, v, w, limits):
    """The value of the linear program of all people at once."""
    n, free, share = len(gain), limits.free.shape[1], w / w.sum()
    found = linprog(
        np.concatenate([-gain * share, np.zeros(free)]) * n,
        np.hstack([limits.rows @ (v * share[:, None]).T * n, limits.free]),
        limits.bound * n,
        bounds=[(0, 1)] * n + [(None, None)] * free,
        method="highs-ds",
    )
    assert found.success
    return -found.fun / n


@pytest.mark.parametrize("seed", range(30))
def test_the_optimum_is_that_of_the_whole_program(seed, monkeypatch):
    monkeypatch.setattr(_program, "NEAR", 60)  # so that people are sifted
    gain, v, w, limits, families = problem(seed)
    found = decide(gain, v, w, limits)
    assert found.value == pytest.approx(whole_program(gain, v, w, limits), abs=1e-7)
    # The dual's value is the same, so nobody can do better.
    assert abs(found.gap) < 1e-9
    assert excess(families, found.rates, np.zeros(v.shape[1])) < 1e-8
    # The duals make the decisions, save for the few at the boundary.
    margin = gain - v @ found.duals
    assert np.array_equal(margin > 0, found.decisions > 0.5) or (
        np.abs(margin[(margin > 0) != (found.decisions > 0.5)]).max() < 1e-9
    )


def test_a_start_changes_nothing():
    gain, v, w, limits, _ = problem(3, n=9000, groups=4, attributes=2)
    cold = decide(gain, v, w, limits)
    warm = decide(gain, v, w, limits, cold.duals + 0.05)
    assert warm.value == pytest.approx(cold.value, abs=1e-9)


def test_limits_that_nobody_can_meet_are_said_to_be_missed():
    # Everybody is expected to be in group 0 or 1 with one chance, so rates can't differ by 0.5.
    v = np.tile([1.0, 1.0], (50, 1))
    limits = inequalities([Family("a", np.arange(2), 0.0)], np.zeros(2), np.full(2, 0.5))
    apart = np.array([0.5, -0.5])
    shifted = replace(limits, bound=limits.bound - limits.rows @ apart)
    found = decide(np.linspace(-0.5, 0.5, 50), v, np.ones(50), shifted)
    assert found.missed == pytest.approx(0.5)


@pytest.mark.parametrize("seed", range(10))
def test_projected_scores_are_the_nearest(seed):
    gain, v, w, limits, families = problem(seed)
    h = gain + 0.5
    found = project(h, v, w, limits)
    assert found.decisions.min() >= 0
    assert found.decisions.max() <= 1
    assert excess(families, found.rates, np.zeros(v.shape[1])) < 1e-6
    # Duality: the value of the scores is that of the duals, so no scores are nearer.
    assert abs(found.gap) < 1e-6


def test_two_groups_split_the_difference():
    # One score a group, limits of equal means: the projection moves both halfway.
    v = np.array([[2.0, 0.0], [0.0, 2.0]])
    limits = inequalities([Family("a", np.arange(2), 0.0)], np.zeros(2), np.full(2, 0.5))
    found = project(np.array([0.2, 0.6]), v, np.ones(2), limits)
    assert found.decisions == pytest.approx([0.4, 0.4], abs=1e-6)
