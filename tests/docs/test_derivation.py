"""Worked examples of docs/derivation.md, and its figures of Adult, computed again."""

from __future__ import annotations

import numpy as np
import pytest
from page_scripts import says, short
from scipy.optimize import brentq
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

import otfair
from otfair.reproduction._train import load_split

POWERS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def power(value: float, digits: int = 1) -> str:
    """Return a number as the page writes it: 3.8 · 10⁻⁴."""
    left, right = f"{value:.{digits}e}".split("e")
    return f"{left} · 10{str(int(right)).translate(POWERS)}".replace("-", "−")


def test_an_unfair_score_without_cost():
    # Section 7: three people on a line, and how much the cost bends between two zeros of it.
    x, eps = np.array([0.0, 1.0, 3.0]), 0.7
    cost = otfair.CostMatrix(eps * np.log(2) * np.abs(x[:, None] - x))
    parity = otfair.Constraints.from_matrix(np.array([[2.0, -1.0, -1.0]]))
    unfair, fair = np.array([0.26, 0.42, 0.22]), np.array([0.3, 0.2, 0.4])
    for h in (unfair, fair):
        assert otfair.adjusted_otf(h, cost, parity, eps).value == pytest.approx(0, abs=1e-12)
    middle = otfair.adjusted_otf((unfair + fair) / 2, cost, parity, eps).value
    says("derivation", f"but at their midpoint A/ε ≈ {power(middle / eps)}")


# Two people at distance 1, in different groups, with scores 0.9 and 0.1.
H, C, G = np.array([0.9, 0.1]), np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([1.0, -1.0])


def shares(mu: float, eps: float) -> np.ndarray:
    return softmax((mu * G - C) / eps, axis=1)


def optimum(eps: float) -> float:
    return brentq(lambda mu: H @ shares(mu, eps) @ G, -5, 5, xtol=1e-15)


def test_the_first_undamped_step_of_newton():
    steps = []
    for eps in (0.1, 0.03):
        p = shares(0, eps)
        curvature = H @ (4 * p[:, 0] * p[:, 1]) / eps  # of a variable that is 1 or -1
        steps.append(-(H @ p @ G) / curvature)
        assert optimum(eps) == pytest.approx(-0.5, abs=0.02)
    says("derivation", "have μ⋆ near −0.5; the first Newton step from 0 is to "
         f"−{-steps[0]:.0f} at ε = 0.1, and to {power(steps[1], 0)} at ε = 0.03")  # fmt: skip


def test_sweeps_until_two_people_are_fair():
    for eps in (0.1, 0.05, 0.02):
        mu, sweeps, goal = 0.0, 0, optimum(eps)
        while abs(mu - goal) > 1e-3 * abs(goal):
            f = H @ shares(mu, eps)
            mu, sweeps = mu + eps / 2 * np.log(f[1] / f[0]), sweeps + 1
        says("derivation", f"| {eps:g} | {1 / (eps * np.log(9)):.1f} | {sweeps} |")


@pytest.mark.slow
def test_why_parts_need_factors(data_home, monkeypatch):
    monkeypatch.setenv("OTFAIR_DATA_HOME", str(data_home))
    people = load_split("adult", 0)
    X, S = people.X["train"], people.sensitive["train"]
    free = LogisticRegression(C=1e6, max_iter=2000).fit(X, people.y["train"])
    h, cloud, parity = free.predict_proba(X)[:, 1], otfair.PointCloud(X), otfair.DemographicParity()
    sex, race, both = (
        otfair.adjusted_otf(h, cloud, parity.constraints(S[columns]))
        for columns in (["sex"], ["race"], ["sex", "race"])
    )
    groups = [[(S[c] == v).to_numpy() for v in np.unique(S[c])] for c in ("sex", "race")]
    gaps = [np.ptp([h[group].mean() for group in column]) for column in groups]
    least = [min(group.sum() for group in column) for column in groups]
    n = len(h)
    says("derivation", f"On Adult ({n} people, demographic parity) the unfair model's cost per "
         f"person is {power(sex.value / n)} for sex alone and {power(race.value / n)} for race "
         f"alone, {sex.value / race.value:.0f} to 1, where the differences of mean scores are "
         f"{gaps[0] / gaps[1]:.1f} to 1 and the smaller groups {least[0] / least[1]:.1f} to 1"
         )  # fmt: skip
    slope = [h * (1 - h) * a.gradient for a in (sex, race, both)]
    slope = [x / np.linalg.norm(x) for x in slope]
    own, other = short(slope[2] @ slope[0]), short(slope[2] @ slope[1], 2)
    says("derivation", f"all but that of sex (cosine {own}, with race's {other})")
