"""Rates of groups: counted by hand, weighted as copies, and as far apart as the differences say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from otfair import (
    ConditionalParity,
    DemographicParity,
    demographic_parity_difference,
    equalized_odds_difference,
)
from otfair.metrics import group_rates, spread_of

SEX = ["F", "F", "F", "M", "M", "M", "M", None]
DECIDED = [1, 0, 0, 1, 1, 1, 0, 1]
LABELS = [1, 1, 0, 1, 1, 0, 0, 1]


def by_name(rates):
    return {rate.name: (rate.people, rate.rate) for rate in rates}


def test_rates_are_shares_of_those_whose_group_is_known():
    rates = group_rates(DECIDED, pd.DataFrame({"sex": SEX}))
    assert by_name(rates) == {
        "sex=F": (3, pytest.approx(1 / 3)),
        "sex=M": (4, pytest.approx(3 / 4)),
    }
    (spread,) = spread_of(rates)
    assert (spread.name, spread.difference) == ("sex", pytest.approx(5 / 12))
    assert spread.ratio == pytest.approx(4 / 9)


def test_strata_are_labels_or_controls():
    frame = pd.DataFrame({"sex": SEX[:7]})
    rates = group_rates(DECIDED[:7], frame, "equalized_odds", LABELS[:7])
    assert by_name(rates)["sex=F | y=1"] == (2, pytest.approx(0.5))
    assert by_name(rates)["sex=M | y=0"] == (2, pytest.approx(0.5))
    worst = max(spread.difference for spread in spread_of(rates))
    assert worst == pytest.approx(equalized_odds_difference(DECIDED[:7], frame, LABELS[:7]))
    frame["area"] = ["a", "b", "b", "a", "b", "b", "b"]
    within = spread_of(group_rates(DECIDED[:7], frame, ConditionalParity(control="area")))
    assert [spread.name for spread in within] == ["sex | area=a", "sex | area=b"]
    assert [spread.difference for spread in within] == pytest.approx([0, 2 / 3])


def test_a_number_has_a_slope():
    rng = np.random.default_rng(0)
    age, decided = rng.normal(40, 10, 200), rng.random(200) < 0.3
    (rate,) = group_rates(decided, {"age": age}, DemographicParity(continuous="age"))
    assert rate.rate == pytest.approx(np.polyfit((age - age.mean()) / age.std(), decided, 1)[0])
    (spread,) = spread_of([rate])
    assert spread.difference == abs(rate.rate)
    assert np.isnan(spread.ratio)


def test_a_weight_is_that_many_copies():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"sex": rng.choice(["F", "M"], 60), "age": rng.normal(size=60)})
    decided, weight = rng.integers(0, 2, 60), rng.integers(0, 3, 60)
    copies = np.repeat(np.arange(60), weight)
    notion = DemographicParity(continuous="age")
    weighted = group_rates(decided, frame, notion, sample_weight=weight)
    repeated = group_rates(decided[copies], frame.iloc[copies].reset_index(drop=True), notion)
    assert [r.rate for r in weighted] == pytest.approx([r.rate for r in repeated])


def test_the_spread_is_the_difference_of_decisions():
    rng = np.random.default_rng(2)
    race, decided = rng.choice(list("abcd"), 90), rng.random(90) < 0.4
    (spread,) = spread_of(group_rates(decided, race))
    assert spread.difference == pytest.approx(demographic_parity_difference(decided, race))


def test_nobody_is_decided_positively():
    (spread,) = spread_of(group_rates([0, 0], ["a", "b"]))
    assert (spread.difference, spread.ratio) == (0, 1)


def test_intervals_are_wilsons_and_weights_count_as_people():
    decided = np.array([1, 1, 1, 0, 0, 0, 0, 1])
    rates = group_rates(decided, pd.DataFrame({"sex": ["f"] * 7 + ["m"]}))
    for rate, (k, n) in zip(rates, ((3, 7), (1, 1))):
        expected = binomtest(k, n).proportion_ci(method="wilson")
        assert (rate.low, rate.high) == pytest.approx((expected.low, expected.high))
    # Weights that are all alike change nothing; one who weighs all leaves one person.
    sex = pd.DataFrame({"sex": ["f"] * 7 + ["m"]})
    same = group_rates(decided, sex, sample_weight=np.full(8, 3.0))
    assert [(rate.low, rate.high) for rate in same] == [(rate.low, rate.high) for rate in rates]
    heavy = np.array([1e9] + [1e-9] * 7)
    alone, _ = group_rates(decided, sex, sample_weight=heavy)
    expected = binomtest(1, 1).proportion_ci(method="wilson")
    assert (alone.low, alone.high) == pytest.approx((expected.low, expected.high))


def test_the_interval_of_a_slope_is_that_of_a_mean():
    rng = np.random.default_rng(0)
    age = rng.normal(size=4000)
    decided = rng.uniform(size=4000) < 0.3
    (rate,) = group_rates(decided, {"age": age}, DemographicParity(continuous="age"))
    z = (age - age.mean()) / age.std()
    error = (z * decided).std() / np.sqrt(4000)
    assert rate.high - rate.rate == pytest.approx(1.96 * error, rel=1e-3)
    assert rate.rate - rate.low == pytest.approx(1.96 * error, rel=1e-3)
