"""Several rules at once: against the best mixture of thresholds, and as a user meets them."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from scipy.optimize import linprog
from scipy.stats import chisquare
from sklearn.linear_model import LogisticRegression

from otfair import FairDecisions, LimitWarning
from otfair.decisions._limits import Family, inequalities
from otfair.decisions._mixing import LEAST, Mix, Mixing, rule_of
from otfair.decisions._numbers import JITTER, jitter, number_of, seed_of
from otfair.decisions._smooth import Sample
from otfair.decisions._tuning import tune


def people(n, seed, known=(2.0, 0.7)):
    """Two groups, of whom scores tell more in the first: no thresholds have equal odds."""
    rng = np.random.default_rng(seed)
    group, y = rng.integers(0, 2, n), rng.integers(0, 2, n)
    strength = np.array(known)[group]
    x = strength * (2 * y - 1) + rng.normal(size=n)
    return pd.DataFrame({"x": x, "z": rng.normal(size=n), "g": group}), y, group


def sample_of(n=4000, seed=0):
    """The same people as a rule that knows the group sees them, with scores that are right."""
    X, y, group = people(n, seed)
    h = 1 / (1 + np.exp(-2 * np.array([2.0, 0.7])[group] * X["x"].to_numpy()))
    observed = np.column_stack([(group == g) & (y == label) for g in (0, 1) for label in (0, 1)])
    share = observed.mean(0)
    chance = np.column_stack([(group == g) * p for g in (0, 1) for p in (1 - h, h)])
    number = np.random.default_rng(seed + 1).random(n)
    return Sample(h - 0.5, chance / share, observed / share, np.ones(n), number=number)


def odds(limit):
    return [
        Family(f"group | y={label}", np.array([label, 2 + label]), difference=limit)
        for label in (0, 1)
    ]


def best_of_thresholds(sample, limit):
    """The most that any mixture of thresholds of each group gains within a limit on odds."""
    group = (sample.observed[:, :2] == 0).all(1).astype(int)
    gains, rates = [], []
    for g in (0, 1):
        for t in np.linspace(-0.5, 0.5, 201):
            d = (group == g) & (sample.gain > t)
            gains.append(sample.value(d.astype(float)))
            rates.append(sample.rates(d.astype(float)))
    rates, k = np.array(rates).T, 201
    apart = np.array([rates[2 + label] - rates[label] for label in (0, 1)])
    one = np.repeat(np.eye(2), k, axis=1)  # shares of a group's thresholds add up to 1
    found = linprog(
        -np.array(gains), np.vstack([apart, -apart]), np.full(4, limit), one, [1.0, 1.0]
    )
    assert found.success
    return -found.fun


@pytest.mark.parametrize("limit", [0.1, 0.03, 0.0])
def test_several_rules_gain_what_the_best_mixture_of_thresholds_does(limit):
    sample = sample_of()
    bound = best_of_thresholds(sample, limit)
    rule = tune(sample, odds(limit), np.zeros(4))
    assert rule.met
    assert rule.mix is not None
    # Numbers of people are not spread quite as shares say, which may gain a little, too.
    assert rule.value == pytest.approx(bound, abs=0.003)
    alone = tune(replace(sample, number=None), odds(limit), np.zeros(4))
    assert alone.value < bound - 0.01 or not alone.met


def test_shares_are_those_of_the_program_and_rules_are_worth_the_same_at_its_prices():
    sample = sample_of()
    families = odds(0.02)
    limits = inequalities(families, np.zeros(4), np.zeros(4))
    mixing = Mixing(sample, [np.zeros(4)])
    mixing.extend(limits)
    mix, expected = mixing.best(limits)
    shares, prices, worth = mixing._solve(limits)
    assert shares.sum() == pytest.approx(1)
    # Complementary slackness: rules that are used have the largest worth, and none has more.
    each = np.array(mixing.gains) - np.array(mixing.rates) @ prices
    assert each.max() == pytest.approx(worth, abs=1e-9)
    assert each[shares > LEAST] == pytest.approx(worth, abs=1e-9)
    for family in families:
        assert np.ptp(expected[family.rows]) <= 0.02 + 1e-9
    assert len(mix.shares) <= 3 < len(shares)  # two limits bind


def test_numbers_say_whose_rule_is_whose():
    shares = np.array([0.25, 0.0, 0.75])
    number = np.array([0.0, 0.2499, 0.25, 0.9, np.nextafter(1, 0)])
    assert rule_of(shares, number).tolist() == [0, 0, 2, 2, 2]
    # Rounding of shares leaves nobody without a rule.
    assert rule_of(np.array([0.5, 0.5 - 1e-12]), number).max() == 1
    sample = sample_of(400)
    all_, none = np.full(4, -10.0), np.full(4, 10.0)
    decided = Mix(np.array([all_, none]), np.array([0.3, 0.7])).outcome(sample)
    np.testing.assert_array_equal(decided, sample.number < 0.3)


def gap(decided, y, group):
    rates = [[decided[(group == g) & (y == k)].mean() for g in (0, 1)] for k in (0, 1)]
    return max(abs(a - b) for a, b in rates)


def fitted(n=6000, **settings):
    X, y, group = people(n, 0)
    settings = {"max_difference": 0.03, "use_sensitive": True} | settings
    model = FairDecisions(LogisticRegression(), "equalized_odds", **settings)
    return model.fit(X[["x", "z"]], y, sensitive_features=group)


@pytest.mark.slow
def test_narrow_odds_are_promised_where_one_rule_can_not_meet_them():
    with pytest.warns(LimitWarning, match=r"misses that of .*randomize=True"):
        alone = fitted(confidence=None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fair = fitted(n=40_000, randomize=True)
    assert fair.limits_met_
    assert fair.confidence_ >= 0.9
    X, y, group = people(40_000, 1)
    new = {"X": X[["x", "z"]], "sensitive_features": group}
    assert gap(fair.predict(**new), y, group) <= 0.03
    assert gap(alone.predict(**new), y, group) > 0.06
    assert fair.duals_.shape == (len(fair.shares_), len(fair.rows_))
    assert fair.shares_.sum() == pytest.approx(1)


@pytest.mark.slow
def test_the_same_person_has_the_same_answer_always():
    fair = fitted(randomize=True, confidence=None)
    X, _, group = people(2000, 3)
    X = X[["x", "z"]]
    decided = fair.predict(X, sensitive_features=group)
    order = np.random.default_rng(0).permutation(len(X))
    again = fair.predict(X.iloc[order], sensitive_features=group[order])
    np.testing.assert_array_equal(again, decided[order])
    np.testing.assert_array_equal(fair.predict(X[:1], sensitive_features=group[:1]), decided[:1])
    # The same people and seed give the same rule, another seed spreads them otherwise.
    same = fitted(randomize=True, confidence=None).predict(X, sensitive_features=group)
    np.testing.assert_array_equal(same, decided)
    other = fitted(randomize=True, confidence=None, random_state=1)
    assert (other.predict(X, sensitive_features=group) != decided).any()
    margins = fair.decision_function(X, sensitive_features=group)
    np.testing.assert_array_equal(margins > 0, decided == 1)


@pytest.mark.slow
def test_a_path_of_several_rules_costs_less_than_one_of_one():
    several = fitted(randomize=True, confidence=None).path([0.05, 0.02])
    assert several["met"].all()
    assert (several["difference"] <= several["limit"] + 0.01).all()
    assert several["accuracy"].is_monotonic_decreasing


@pytest.mark.slow
@pytest.mark.parametrize("notion", ["demographic_parity", "equalized_odds"])
@pytest.mark.parametrize("n", [400, 1500])
@pytest.mark.filterwarnings("ignore::otfair.LimitWarning")
def test_several_rules_are_never_worse_than_one(notion, n):
    rng = np.random.default_rng(n)
    group = rng.integers(0, 3, n)
    x = rng.normal(size=(n, 4)) + np.eye(3)[group] @ rng.normal(size=(3, 4))
    y = (x @ [1, 0.5, -0.5, 1] + rng.normal(size=n) > 0.5).astype(int)
    made = [
        FairDecisions(
            LogisticRegression(), notion, max_difference=0.03, confidence=None, randomize=randomize
        ).fit(x, y, sensitive_features=group)
        for randomize in (False, True)
    ]
    one, several = made
    assert several.limits_met_ >= one.limits_met_
    if one.limits_met_:  # gains are what is compared; accuracy is what labels make of them
        assert several.accuracy_ >= one.accuracy_ - 0.015
        assert hasattr(several, "shares_") == (several.accuracy_ != one.accuracy_)


def test_a_persons_number_hangs_on_values_and_not_on_how_they_are_held():
    X = pd.DataFrame(
        {
            "a": [1, 2, 3],
            "b": ["x", None, "z"],
            "c": [True, False, True],
            "d": [0.1, np.nan, -0.0],
            "e": pd.to_datetime(["2020-01-01 00:00", "2021-05-06 07:08", None]),
        }
    )
    all_ = number_of(X, 0)
    assert len(np.unique(all_)) == 3
    for i in range(3):
        assert number_of(X.iloc[[i]], 0)[0] == all_[i]
        assert number_of(X.iloc[i].to_frame().T, 0)[0] == all_[i]  # of objects
    held = [
        X.astype({"a": float, "d": np.float32}),
        X.astype({"a": object, "b": "category", "c": int}),
        X.astype({"a": "Int64", "b": "string", "c": "boolean", "d": "Float32"}),
        X.assign(d=[0.1, None, 0.0], b=["x", np.nan, "z"]),
    ]
    for other in held:
        np.testing.assert_array_equal(number_of(other, 0), all_)
    np.testing.assert_array_equal(number_of(pl.from_pandas(X), 0), all_)
    numbers = np.random.default_rng(0).normal(size=(50, 3)) * (np.arange(150).reshape(50, 3) % 4)
    dense = number_of(numbers, 0)
    np.testing.assert_array_equal(number_of(sparse.csr_matrix(numbers), 0), dense)
    np.testing.assert_array_equal(number_of(numbers.astype(np.float32), 0), dense)


def test_numbers_are_spread_evenly_and_hang_on_the_seed_and_on_what_they_are_for():
    X = np.random.default_rng(0).normal(size=(20_000, 2))
    first, second, ties = number_of(X, 0), number_of(X, 1), jitter(X, 0) / JITTER + 0.5
    for number in (first, second, ties):
        assert number.min() >= 0
        assert number.max() < 1
        counts = np.bincount((number * 20).astype(int), minlength=20)
        assert chisquare(counts).pvalue > 1e-4
    for one, other in ((first, second), (first, ties)):
        assert abs(np.corrcoef(one, other)[0, 1]) < 0.03
    assert seed_of(7) == 7
    assert 0 <= seed_of(None) < 2**31
    assert seed_of(np.random.RandomState(3)) == seed_of(np.random.RandomState(3))


def test_numbers_stay_those_of_fit():
    fair = fitted(randomize=True, confidence=None, random_state=np.random.RandomState(0))
    X, _, group = people(500, 3)
    X = X[["x", "z"]]
    decided = fair.predict(X, sensitive_features=group)
    fair.set_params(random_state=5, randomize=False)
    np.testing.assert_array_equal(fair.predict(X, sensitive_features=group), decided)
    assert len(fair.path([0.05], X, group, sensitive_features=group)) == 1


@pytest.mark.filterwarnings("ignore::otfair.LimitWarning")
def test_people_with_few_different_features_are_spread_too():
    X, y, group = people(4000, 0)
    X = X[["x", "z"]].round(0)  # a few dozen kinds of people
    settings = {"max_difference": 0.05, "use_sensitive": True, "confidence": None}
    gaps = []
    for randomize in (False, True):
        fair = FairDecisions(
            LogisticRegression(), "equalized_odds", randomize=randomize, **settings
        )
        fair.fit(X, y, sensitive_features=group)
        gaps.append(gap(fair.predict(X, sensitive_features=group), y, group))
    assert gaps[1] < gaps[0] / 2


def test_where_limits_cost_nothing_there_is_one_rule():
    fair = fitted(randomize=True, confidence=None, max_difference=0.9)
    assert not hasattr(fair, "shares_")
    assert not fair.duals_.any()


def test_scores_are_not_spread_over_rules():
    with pytest.raises(ValueError, match=r"with `target=\"scores\"` there is one"):
        fitted(randomize=True, target="scores")
    with pytest.raises(ValueError, match=r"`randomize` must be True or False; received 'yes'"):
        fitted(randomize="yes")
