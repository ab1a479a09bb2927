"""Precision of groups: as counted by hand, and how far off it may be among new people."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import otfair
from otfair import PredictiveParity
from otfair.metrics import criterion_of, group_rates, title_of
from otfair.notions import as_notion


def people_of(seed: int, n: int = 300):
    rng = np.random.default_rng(seed)
    S = pd.DataFrame({"sex": rng.choice(["F", "M"], n), "race": rng.choice(["x", "y", "z"], n)})
    y = (rng.random(n) < np.where(S["sex"] == "F", 0.3, 0.6)).astype(int)
    return S, y, rng.random(n) * 0.7 + 0.25 * y, rng


def by_hand(h, groups, y, w):
    return [float((w * h * y)[groups == g].sum() / (w * h)[groups == g].sum()) for g in set(groups)]


def test_the_violation_is_the_largest_difference_of_precision():
    S, y, h, rng = people_of(0)
    w = rng.uniform(0, 2, len(y))
    gaps = {name: np.ptp(by_hand(h, S[name].to_numpy(), y, w)) for name in S}
    for name, gap in gaps.items():
        assert otfair.predictive_parity_violation(h, S[name], y, w) == pytest.approx(gap)
    assert otfair.predictive_parity_violation(h, S, y, w) == pytest.approx(max(gaps.values()))
    # It does not depend on the size of scores.
    assert otfair.predictive_parity_violation(h / 3, S, y, w) == pytest.approx(max(gaps.values()))


def test_with_a_rate_it_is_the_largest_difference_from_it():
    S, y, h, _ = people_of(1)
    far = max(abs(p - 0.5) for p in by_hand(h, S["sex"].to_numpy(), y, np.ones(len(y))))
    assert otfair.predictive_parity_violation(h, S["sex"], y, rate=0.5) == pytest.approx(far)


def test_transported_scores_have_no_violation():
    S, y, h, _ = people_of(2, 60)
    c = PredictiveParity().constraints(S["sex"], y)
    fair = otfair.exact_otf(h, otfair.PointCloud(h[:, None]), c).fair_scores
    assert otfair.predictive_parity_violation(fair, S["sex"], y) == pytest.approx(0.0, abs=1e-6)


def test_a_group_of_one_label_and_people_without_a_label_are_left_out():
    S, y, h, _ = people_of(3)
    y[S["race"] == "z"] = 0
    inside = (S["race"] != "z").to_numpy()
    two = np.ptp(by_hand(h[inside], S["race"].to_numpy()[inside], y[inside], np.ones(inside.sum())))
    assert otfair.predictive_parity_violation(h, S["race"], y) == pytest.approx(two)
    labels = y.astype(float)
    labels[0] = np.nan
    assert otfair.predictive_parity_violation(h, S["sex"], labels) == pytest.approx(
        otfair.predictive_parity_violation(h[1:], S["sex"][1:], y[1:])
    )


def test_decisions_are_right_and_wrong_as_counted_by_hand():
    S, y, h, rng = people_of(4)
    w, d, sex = rng.uniform(0.1, 2, len(y)), h > 0.6, S["sex"].to_numpy()
    for of, chosen in (
        (otfair.predictive_parity_difference, d),
        (otfair.false_omission_difference, ~d),
    ):
        rates = [np.average(y[i], weights=w[i]) for i in ((sex == g) & chosen for g in "FM")]
        found = of(h, sex, y, threshold=0.6, sample_weight=w)
        assert found == pytest.approx(abs(rates[0] - rates[1]))
    # Nobody of a group decided positively: nothing to compare.
    nobody = np.where(sex == "F", 0.0, 1.0)
    assert otfair.predictive_parity_difference(nobody, sex, y) == 0.0


def test_rates_of_groups_are_positive_predictive_values():
    S, y, h, _ = people_of(5)
    found = {r.name: r for r in group_rates(h > 0.5, S[["sex"]], "predictive_parity", y)}
    for g in "FM":
        chosen = (S["sex"] == g).to_numpy() & (h > 0.5)
        rate = found[f"sex={g}"]
        assert rate.rate == pytest.approx(y[chosen].mean())
        assert rate.people == chosen.sum()
        assert rate.low < rate.rate < rate.high


def test_influences_are_the_derivatives_of_figures():
    S, y, h, _ = people_of(6)
    people = as_notion("predictive_parity").people(S, y)
    of = criterion_of("correlation", people)
    figures, (constant, linear), _ = of._figures(h)
    assert not constant.any()
    for i in (0, 7, 50):  # a person of weight 1 + t
        more = people.weight.clone()
        more[i] += 1e-6
        moved = criterion_of("correlation", replace(people, weight=more))
        change = (moved._figures(h)[0] - figures) / 1e-6
        k = people.types[i]
        np.testing.assert_allclose(change, linear[:, k] * h[i], atol=1e-6)


@pytest.mark.parametrize("rate", [None, 0.6])
def test_a_bound_holds_as_often_as_it_says(rate):
    S, y, h, rng = people_of(7, 4000)
    notion = PredictiveParity(rate=rate)
    truth = criterion_of("difference", notion.people(S, y))(h)
    held = 0
    for _ in range(60):
        r = rng.integers(len(y), size=800)
        found = criterion_of("difference", notion.people(S.iloc[r], y[r])).bound(h[r], 0.9)
        assert found.upper >= found.value
        held += truth <= found.upper
    assert held >= 52
    nothing = criterion_of("difference", notion.people(S, y)).bound(h, 0.0)
    assert nothing.upper == nothing.value == pytest.approx(truth)


def test_who_judges_may_lack_a_label_and_has_no_bound_then():
    S, y, h, _ = people_of(8)
    people = as_notion("predictive_parity").people(S[["race"]], y)
    rows = np.flatnonzero((S["race"] != "z") | (y == 0))
    found = criterion_of("correlation", people, rows).bound(h[rows], 0.9)
    assert np.isfinite(found.value)
    assert found.upper == np.inf
    assert found.name == "race=z"


def test_a_stack_is_as_unfair_as_its_worst_part():
    S, y, h, _ = people_of(9)
    both = as_notion("predictive_parity") & "demographic_parity"
    people, parts = both.people(S, y), ("predictive_parity", "demographic_parity")
    for name in ("correlation", "difference"):
        of = criterion_of(name, people)
        singly = [criterion_of(name, as_notion(part).people(S, y))(h) for part in parts]
        assert of(h) == pytest.approx(max(singly))
        assert of.name == f"{name} or precision"
        assert title_of(of.name) == of.title
        assert of.bound(h, 0.9).upper > of.bound(h, 0.0).upper == pytest.approx(of(h))
    assert np.isnan(of(np.full(len(y), np.nan)))


def test_scorers_measure_it():
    S, y, h, _ = people_of(10)
    X = np.column_stack([h, S["sex"] == "F"])
    clf = LogisticRegression().fit(X, y)
    scores = clf.predict_proba(X)[:, 1]
    by = {"sensitive_features": S["sex"]}
    assert otfair.predictive_parity_scorer(clf, X, y, **by) == pytest.approx(
        -otfair.predictive_parity_violation(scores, S["sex"], y)
    )
    assert otfair.predictive_parity_difference_scorer(clf, X, y, **by) == pytest.approx(
        -otfair.predictive_parity_difference(clf.predict(X), S["sex"], y)
    )
    one = {"sensitive_features": ["F"] * len(y)}
    with pytest.warns(UserWarning, match="undefined"):
        assert np.isnan(otfair.predictive_parity_scorer(clf, X, y, **one))


def test_mean_scores_are_not_what_it_compares():
    S, y, h, _ = people_of(11)
    with pytest.raises(ValueError, match="use `predictive_parity_violation`"):
        otfair.mean_score_difference(h, S, "predictive_parity", y)
