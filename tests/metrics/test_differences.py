"""Differences of decisions against fairlearn."""

from __future__ import annotations

import fairlearn.metrics as fairlearn
import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch

import otfair


def sample(n: int = 200, seed: int = 0):
    rng = np.random.default_rng(seed)
    table = {"race": rng.choice(["a", "b", "c"], n), "age": rng.normal(size=n)}
    return rng.uniform(size=n), table, rng.integers(0, 2, n)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("threshold", [0.5, 0.3])
def test_differences_of_one_column_are_those_of_fairlearn(weighted, threshold):
    h, table, y = sample()
    w = np.random.default_rng(1).uniform(size=len(h)) if weighted else None
    ours = {"threshold": threshold, "sample_weight": w}
    theirs = {"sensitive_features": table["race"], "sample_weight": w}
    parity = otfair.demographic_parity_difference(h, table["race"], **ours)
    assert parity == pytest.approx(
        fairlearn.demographic_parity_difference(y, h > threshold, **theirs), abs=1e-12
    )
    odds = otfair.equalized_odds_difference(h, table["race"], y, **ours)
    assert odds == pytest.approx(
        fairlearn.equalized_odds_difference(y, h > threshold, **theirs), abs=1e-12
    )
    assert odds != pytest.approx(parity, abs=1e-3)


def test_of_several_columns_the_largest_difference_counts():
    h, table, y = sample()
    rng = np.random.default_rng(2)
    columns = {"race": table["race"], "sex": rng.integers(0, 2, len(h)), "vet": h > 0.4}
    each = [otfair.demographic_parity_difference(h, c) for c in columns.values()]
    assert len(set(each)) == 3
    assert otfair.demographic_parity_difference(h, columns) == max(each)
    each = [otfair.equalized_odds_difference(h, c, y) for c in columns.values()]
    assert otfair.equalized_odds_difference(h, pd.DataFrame(columns), y) == max(each)


def test_decisions_and_tables_of_any_kind():
    h, table, y = sample()
    expected = otfair.equalized_odds_difference(h, table["race"], y)
    decided = h > 0.5
    for scores in (decided, decided.astype(int), decided.tolist(), torch.tensor(decided)):
        assert otfair.equalized_odds_difference(scores, table["race"], y) == expected
    for make in (pl.Series, lambda v: pd.Series(v, dtype="category"), list):
        assert (
            otfair.equalized_odds_difference(make(h.tolist()), make(table["race"]), y) == expected
        )
    one_hot = torch.tensor((table["race"] == "a").astype(float))
    assert otfair.demographic_parity_difference(h, one_hot) == pytest.approx(
        abs(decided[table["race"] == "a"].mean() - decided[table["race"] != "a"].mean())
    )


def test_a_group_without_people_of_a_label_is_not_compared_within_it():
    # Nobody in a has label 1: there are no true positive rates to compare.
    decided, group, y = [1, 0, 1, 1, 0], ["a", "a", "b", "b", "b"], [0, 0, 0, 1, 1]
    assert otfair.equalized_odds_difference(decided, group, y) == 0.5
    # Nor is a group whose people have no weight.
    assert otfair.equalized_odds_difference(
        decided, [*group[:4], "c"], y, sample_weight=[1, 1, 1, 1, 0]
    ) == 0.5  # fmt: skip


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"sensitive_features": np.linspace(0, 1, 200)},
            r"'group' holds numbers .* Bin the column",
        ),
        ({"sensitive_features": np.arange(200)}, "200 distinct ones, from 0 to 199"),
        ({"sensitive_features": ["a"] * 200}, "only one group"),
        ({"sensitive_features": ["a"] * 199 + [None]}, "only one group"),
        ({"scores": np.full(200, np.nan)}, "`scores` must be finite"),
        ({"scores": np.zeros(199)}, r"received shape \(199,\)"),
        ({"labels": None}, "pass `labels`"),
        ({"labels": np.full(200, 2)}, "`labels` must be 0 or 1"),
        ({"labels": np.zeros(199)}, "`labels` has 199 entries"),
        ({"sample_weight": -np.ones(200)}, "non-negative"),
        ({"threshold": np.nan}, "`threshold` must be a finite number"),
    ],
)
def test_bad_input_of_differences_is_refused(change, message):
    h, table, y = sample()
    given = {"scores": h, "sensitive_features": table["race"], "labels": y} | change
    with pytest.raises(ValueError, match=message):
        otfair.equalized_odds_difference(**given)


def test_crossed_columns_are_what_fairlearn_takes_several_for():
    h, table, y = sample()
    sex = np.random.default_rng(2).choice(["f", "m"], len(h))
    crossed = np.char.add(table["race"], sex)
    theirs = fairlearn.equalized_odds_difference(
        y, h > 0.5, sensitive_features={"race": table["race"], "sex": sex}
    )
    assert otfair.equalized_odds_difference(h, crossed, y) == pytest.approx(theirs, abs=1e-12)


def test_people_without_a_value_are_left_out_and_rows_must_be_the_same_people():
    h, table, y = sample()
    race = pd.Series(table["race"], dtype=object).mask(np.arange(200) % 6 == 0)
    rest = race.notna().to_numpy()
    for S in (race, race.to_numpy(), {"race": list(race)}):
        found = otfair.equalized_odds_difference(h, S, y)
        expected = otfair.equalized_odds_difference(h[rest], table["race"][rest], y[rest])
        assert found == pytest.approx(expected, abs=1e-12)
    with pytest.raises(ValueError, match="`scores`"):
        otfair.demographic_parity_difference(pd.Series(h), pd.Series(table["race"])[::-1])
    with pytest.raises(ValueError, match="`labels` has the same labels in another order"):
        otfair.equalized_odds_difference(h, race, pd.Series(y)[::-1])


def test_many_codes_are_groups_where_the_caller_says_so():
    h, _, y = sample()
    codes = {"area": np.arange(200) % 12}
    expected = otfair.demographic_parity_difference(h, codes["area"].astype(str))
    assert otfair.demographic_parity_difference(h, codes, categorical="area") == expected
    named = np.where(y == 1, "yes", "no")
    found = otfair.equalized_odds_difference(h, codes, named, categorical="area")
    assert found == otfair.equalized_odds_difference(h, codes["area"].astype(str), y)
    warned = pytest.warns(UserWarning, match="'area' is read as a number")
    with warned, pytest.raises(ValueError, match="categorical='area'"):
        otfair.demographic_parity_difference(h, codes)
