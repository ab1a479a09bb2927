"""Criteria of unfair scores, and the bound below which they stay among new people."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import otfair
from otfair.metrics import CRITERIA, MeanDifferenceOf, ViolationOf, criterion_of
from otfair.metrics import _criteria as module
from otfair.notions import as_notion


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def table(rng):
    n = 400
    frame = pd.DataFrame({
        "sex": rng.choice(["F", "M"], n, p=[0.3, 0.7]),
        "race": rng.choice(["a", "b", "c"], n, p=[0.1, 0.6, 0.3]),
        "age": rng.normal(40, 12, n),
    })  # fmt: skip
    y = rng.integers(0, 2, n)
    h = 1 / (1 + np.exp(-rng.normal(y + (frame["sex"] == "F"), 1)))
    return frame, y, np.asarray(h)


def spread_of_means(h, y, column, weight=None):
    """The largest difference of means of groups, by pandas."""
    weight = np.ones(len(h)) if weight is None else weight
    rows = pd.DataFrame({"g": np.asarray(column), "y": y, "w": weight, "wh": weight * h})
    sums = rows.groupby(["y", "g"])[["w", "wh"]].sum()
    means = (sums["wh"] / sums["w"]).unstack()
    return float((means.max(axis=1) - means.min(axis=1)).max())


def test_a_difference_is_between_two_groups_of_one_column_and_stratum(table):
    frame, y, h = table
    groups = frame[["sex", "race"]]
    for notion, strata in (("demographic_parity", 0 * y), ("equalized_odds", y)):
        found = otfair.mean_score_difference(h, groups, notion, y)
        expected = max(spread_of_means(h, strata, groups[c]) for c in groups)
        assert found == pytest.approx(expected, abs=1e-12)
    only = otfair.mean_score_difference(h, groups, "equal_opportunity", y)
    yes = y == 1
    expected = max(spread_of_means(h[yes], y[yes], groups[c][yes]) for c in groups)
    assert only == pytest.approx(expected, abs=1e-12)
    crossed = otfair.DemographicParity(intersectional=True)
    found = otfair.mean_score_difference(h, groups, crossed)
    expected = spread_of_means(h, 0 * y, groups["sex"] + groups["race"])
    assert found == pytest.approx(expected, abs=1e-12)


def test_a_weight_is_so_many_copies(table, rng):
    frame, y, h = table
    weight = rng.integers(0, 4, len(h))
    copies = np.repeat(np.arange(len(h)), weight)
    for criterion in CRITERIA:
        weighted, copied = (
            criterion_of(
                criterion, as_notion("equalized_odds").people(frame.iloc[rows], y[rows], w)
            )
            for rows, w in ((np.arange(len(h)), weight.astype(float)), (copies, None))
        )
        assert weighted(h) == pytest.approx(copied(h[copies]), abs=1e-12)


def test_of_one_hot_columns_a_group_is_compared_with_everybody_else(table):
    frame, _, h = table
    matrix = (frame[["race"]].to_numpy() == ["a", "b"]).astype(float)  # "c" has no column
    notion = otfair.DemographicParity(encoded=True)
    found = otfair.mean_score_difference(h, matrix, notion)
    expected = max(abs(h[m == 1].mean() - h[m == 0].mean()) for m in matrix.T)
    assert found == pytest.approx(expected, abs=1e-12)


def test_a_number_counts_from_one_deviation_below_its_mean_to_one_above(table):
    frame, _, h = table
    slope = np.polyfit(frame["age"], h, 1)[0]
    found = otfair.mean_score_difference(h, frame[["age"]])
    assert found == pytest.approx(abs(slope) * 2 * frame["age"].std(ddof=0), abs=1e-12)
    # Two groups of equal size are one deviation from the mean.
    half = np.arange(len(h)) % 2
    numbers = otfair.DemographicParity(continuous="half")
    found = otfair.mean_score_difference(h, {"half": half.astype(float)}, numbers)
    assert found == pytest.approx(otfair.mean_score_difference(h, {"half": half}), abs=1e-12)


def test_a_small_group_is_seen_by_differences_and_hardly_by_correlations(rng):
    n = 10_000
    groups = np.where(np.arange(n) < 50, "few", "many")
    h = np.clip(rng.normal(0.5, 0.1, n) + 0.2 * (groups == "few"), 0, 1)
    assert otfair.pdp_violation(h, groups) < 0.15
    assert otfair.mean_score_difference(h, groups) > 0.15


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("notion", ["demographic_parity", "equalized_odds"])
def test_influences_are_derivatives_of_the_figures(table, criterion, notion):
    # What a person adds to a figure is its derivative by their weight.
    frame, y, h = table
    z = h - h.mean()

    def figures(weight):
        people = as_notion(notion).people(frame, y, weight)
        return criterion_of(criterion, people), people

    weight = np.linspace(0.5, 2, len(h))
    of, people = figures(weight)
    _, coefficients, _ = of._figures(z)
    types = people.types.numpy()
    for i in (0, 7, 111):
        up, down = weight.copy(), weight.copy()
        up[i] += 1e-4
        down[i] -= 1e-4
        slope = (figures(up)[0]._figures(z)[0] - figures(down)[0]._figures(z)[0]) / 2e-4
        found = sum(c[:, types[i]] * z[i] ** p for p, c in enumerate(coefficients))
        np.testing.assert_allclose(found, slope, atol=1e-8)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_deviations_have_the_covariance_of_the_influences(table, criterion, monkeypatch):
    frame, y, h = table
    people = as_notion("demographic_parity").people(frame, y)
    of, z, types = criterion_of(criterion, people), h - h.mean(), people.types.numpy()
    _, coefficients, _ = of._figures(z)
    each = sum(c[:, types] * z**p for p, c in enumerate(coefficients))  # (q, n)
    drawn = of._deviations(z, coefficients)
    scale = np.sqrt((each**2).sum(1))
    np.testing.assert_allclose(np.cov(drawn.T) / np.outer(scale, scale),
                               each @ each.T / np.outer(scale, scale), atol=0.06)  # fmt: skip
    monkeypatch.setattr(module, "MOST_CORRELATED", 0)
    np.testing.assert_allclose(of._deviations(z, coefficients).std(0), scale, rtol=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("notion", ["demographic_parity", "equalized_odds"])
@pytest.mark.parametrize("gap", [0.0, 0.5])
def test_the_bound_holds_with_its_confidence(criterion, notion, gap):
    # People are drawn from a population whose violation is known, and so are new ones.
    rng = np.random.default_rng(5)
    N, n, times = 200_000, 500, 400
    sex, race = (
        rng.choice(["F", "M"], N, p=[0.3, 0.7]),
        rng.choice([*"abc"], N, p=[0.08, 0.6, 0.32]),
    )
    y = rng.integers(0, 2, N)
    h = 1 / (1 + np.exp(-rng.normal(y + gap * (sex == "F"), 1)))
    frame, notion = pd.DataFrame({"sex": sex, "race": race}), as_notion(notion)
    truth = criterion_of(criterion, notion.people(frame, y))(h)
    held, again = 0, 0
    for _ in range(times):
        some, new = rng.integers(N, size=n), rng.integers(N, size=n)
        of, of_new = (
            criterion_of(criterion, notion.people(frame.iloc[r], y[r])) for r in (some, new)
        )
        held += truth <= of.bound(h[some], 0.9).upper
        again += of_new(h[new]) <= of.bound(h[some], 0.9, new_people=n).upper
    assert held / times > 0.87  # 0.9, less two standard errors
    assert again / times > 0.87


def test_the_bound_hangs_on_confidence_and_people(table):
    frame, y, h = table
    of = MeanDifferenceOf(as_notion("demographic_parity").people(frame[["sex"]], y))
    plain = of.bound(h, 0.0)
    assert plain.upper == plain.value == of(h)
    bounds = [of.bound(h, c).upper for c in (0.5, 0.9, 0.99)]
    assert plain.value <= bounds[0] < bounds[1] < bounds[2]
    sampled = of.bound(h, 0.9, new_people=len(h)).upper
    margins = np.array([bounds[1], sampled]) - plain.value
    assert margins[1] / margins[0] == pytest.approx(np.sqrt(2), rel=1e-6)
    four = np.tile(np.arange(len(h)), 4)
    more = MeanDifferenceOf(as_notion("demographic_parity").people(frame[["sex"]].iloc[four]))
    found = more.bound(h[four], 0.9)
    assert found.upper - found.value == pytest.approx(0.5 * margins[0], rel=0.02)
    assert found.name in ("sex=F and sex=M", "sex=M and sex=F")


def test_weights_are_not_people(table):
    # Weights that sum to millions do not make 400 people say more.
    frame, y, h = table
    for criterion in CRITERIA:
        small, large = (
            criterion_of(criterion, as_notion("demographic_parity").people(frame, y, w + 0 * h))
            for w in (1.0, 1e6)
        )
        assert small.bound(h, 0.9).upper == pytest.approx(large.bound(h, 0.9).upper, rel=1e-9)


def test_a_group_of_one_person_has_no_bound_and_is_named(table):
    frame, y, h = table
    race = frame["race"].where(np.arange(len(h)) > 0, "alone")
    people = as_notion("demographic_parity").people(race.to_frame(), y)
    found = MeanDifferenceOf(people).bound(h, 0.9)
    assert np.isfinite(found.value)
    assert found.upper == np.inf
    assert found.name == "race=alone"
    assert np.isfinite(ViolationOf(people).bound(h, 0.9).upper)
    # Nor has a group of which nobody judges.
    others = criterion_of("difference", people, np.arange(1, len(h)))
    assert others(h[1:]) == pytest.approx(spread_of_means(h[1:], 0 * y[1:], race[1:]))
    assert others.bound(h[1:], 0.9).upper == np.inf


def test_fewer_people_of_a_group_widen_its_bound_by_more_than_the_root():
    wide = []
    for size in (5, 20):
        groups = np.repeat(["few", "many"], [size, 4000])
        h = np.concatenate([np.tile([0.4, 0.6], size)[:size], np.tile([0.4, 0.6], 2000)])
        found = MeanDifferenceOf(as_notion("demographic_parity").people(groups)).bound(h, 0.9)
        wide.append(found.upper)
    assert wide[0] > 2.2 * wide[1]


def test_scores_that_are_not_finite_have_no_bound(table):
    frame, y, h = table
    for criterion in CRITERIA:
        of = criterion_of(criterion, as_notion("demographic_parity").people(frame, y))
        found = of.bound(np.where(np.arange(len(h)) == 3, np.nan, h), 0.9)
        assert np.isnan(found.value)
        assert found.upper == np.inf


def test_equal_scores_are_fair_without_doubt(table):
    frame, y, h = table
    for criterion in CRITERIA:
        of = criterion_of(criterion, as_notion("equalized_odds").people(frame, y))
        assert of.bound(np.full(len(h), 0.3), 0.9).upper == pytest.approx(0, abs=1e-12)


def test_rows_of_your_own_have_no_groups_to_compare(table):
    frame, _, h = table
    notion = otfair.LinearNotion(lambda s, y: np.where(s == "F", 1, -1)[None], names=["mine"])
    people = notion.people(frame["sex"].to_numpy())
    with pytest.raises(ValueError, match=r"'mine' of your own notion.*criterion=\"correlation\""):
        criterion_of("difference", people)
    assert criterion_of("correlation", people).bound(h, 0.9).name == "mine"


@pytest.mark.parametrize("name", list(CRITERIA))
def test_limits_of_attributes_count_by_the_largest(name):
    rng = np.random.default_rng(5)
    n = 600
    S = {"sex": rng.choice(["F", "M"], n), "origin": rng.choice(["a", "b", "c"], n)}
    S["age"] = rng.normal(size=n)
    h = 0.4 + 0.1 * (S["sex"] == "F") + 0.05 * (S["origin"] == "b") + 0.2 * rng.random(n)
    criterion = criterion_of(name, otfair.DemographicParity().people(S))
    alone = {
        key: criterion_of(name, otfair.DemographicParity().people({key: S[key]}))(h) for key in S
    }
    assert criterion.by_attribute(h) == pytest.approx(alone)
    limits = {"sex": 0.1, "origin": 0.02}
    own = criterion.limited(limits)
    assert own(h) == pytest.approx(max(0.1 / limits[key] * alone[key] for key in limits))
    # Equal limits of all are none, for the bound as well.
    same, plain = criterion.limited(dict.fromkeys(S, 0.3)).bound(h, 0.9), criterion.bound(h, 0.9)
    assert (same.value, same.upper, same.name) == (plain.value, plain.upper, plain.name)
    # The bound of all limits at once is no less than that of one of them, but for other draws.
    both, one = own.bound(h, 0.9), criterion.limited({"origin": 0.02}).bound(h, 0.9)
    assert both.upper >= 0.97 * 0.1 / 0.02 * one.upper
    assert criterion.limited({"sex": 0.0, "origin": 0.1})(h) > 1e6  # no violation is within 0
