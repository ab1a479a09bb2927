"""Reading mini-batches: the oracle is the whole dataset, typed once and constrained by rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from torch.nn.functional import one_hot

import otfair
from otfair import ConditionalParity, DemographicParity, EqualizedOdds, EqualOpportunity
from otfair.notions import Memory, as_encoded

NOTIONS = [
    DemographicParity(),
    EqualizedOdds(),
    EqualOpportunity(),
    ConditionalParity(control="job"),
    ConditionalParity(),
    DemographicParity(intersectional=True),
    EqualizedOdds(intersectional=True, continuous="race"),
    DemographicParity(categorical=["age"]),
    DemographicParity() & EqualizedOdds(),
    DemographicParity(intersectional=True) & ConditionalParity(control=["job"]),
    EqualizedOdds(columns="race") & DemographicParity(columns=["sex", "job"]),
]


def make_table(n: int = 300, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Few women, few of most races, integers that are groups and integers that are not."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "sex": np.where(rng.random(n) < 0.05, "F", "M"),
            "race": rng.choice(4, n, p=[0.9, 0.06, 0.02, 0.02]),
            "age": rng.integers(18, 60, n),
            "income": rng.normal(size=n),
            "veteran": rng.random(n) < 0.03,
            "job": rng.choice(["clerk", "cook"], n),
        }
    )
    return table, (rng.random(n) < 0.1).astype(int)


def rows_of(constraints: otfair.Constraints) -> dict[str, np.ndarray]:
    return dict(zip(constraints.names, np.asarray(constraints.matrix)))


KINDS = {
    "pandas": lambda table: table,
    "polars": pl.from_pandas,
    "dict": lambda table: {name: table[name].to_numpy() for name in table},
    "categories": lambda table: table.astype({"sex": "category", "job": "category"}),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("notion", NOTIONS, ids=str)
def test_once_everybody_was_seen_a_batch_is_rows_of_the_dataset(notion, kind):
    table, y = make_table()
    people, memory = notion.people(table, y), Memory()
    whole = memory.people(notion, KINDS[kind](table), y)
    assert rows_of(whole.constraints()).keys() == rows_of(people.constraints()).keys()
    rng = np.random.default_rng(1)
    for size in (300, 32, 7, 2, 1):
        rows = rng.permutation(300)[:size]
        batch = memory.people(notion, KINDS[kind](table.iloc[rows]), y[rows]).constraints()
        expected = people.constraints(rows=rows, columns=rows)
        assert rows_of(batch).keys() == rows_of(expected).keys()
        for name, row in rows_of(expected).items():
            np.testing.assert_allclose(rows_of(batch)[name], row, atol=1e-9)
        # Strata that a batch does not show have no name in it; all else that is dropped has.
        assert set(batch.dropped) <= set(expected.dropped)
        if notion in (DemographicParity(), EqualizedOdds()):
            assert set(batch.dropped) == set(expected.dropped)


def test_the_first_batch_knows_its_own_groups_only():
    memory, parity = Memory(), DemographicParity()
    men = memory.people(parity, {"sex": ["M", "M"]}, None).constraints()
    assert (men.names, men.dropped) == ((), ("sex=M",))
    both = memory.people(parity, {"sex": ["F", "M"]}, None).constraints()
    assert (set(both.names), both.dropped) == ({"sex=F", "sex=M"}, ())
    women = memory.people(parity, {"sex": ["F", "F"]}, None).constraints()
    assert (women.names, set(women.dropped)) == ((), {"sex=F", "sex=M"})


def test_integers_of_many_values_stay_numbers_in_a_batch_of_few():
    memory, parity = Memory(), DemographicParity()
    names = [
        memory.people(parity, {"age": np.array(age)}, None).constraints().names
        for age in (range(6), range(4, 12), [3, 4])
    ]
    # Six values are groups; twelve, seen in two batches, are not, nor is any batch after that.
    assert names == [tuple(f"age={k}" for k in range(6)), ("age",), ("age",)]


def test_numbers_in_a_matrix_stay_numbers_in_a_batch_of_zeros_and_ones():
    memory, parity = Memory(), DemographicParity()
    memory.people(parity, np.array([0.0, 1.0, 2.5]), None)
    row = memory.people(parity, np.array([0.0, 0.0, 1.0]), None).constraints().matrix[0]
    np.testing.assert_allclose(row, np.array([-1, -1, 2]) / np.sqrt(2))  # (S - mean) / std
    fresh = Memory().people(parity, np.array([0.0, 0.0, 1.0]), None).constraints().matrix[0]
    np.testing.assert_allclose(fresh, [-1, -1, 2])  # S / mean(S) - 1


def test_integer_one_hot_columns_are_read_as_those_of_floats():
    sex, race = torch.arange(12) % 2, torch.arange(12) % 3
    blocks = torch.cat([one_hot(sex), one_hot(race)], 1)
    for S in (one_hot(race), blocks, blocks.to(torch.uint8), blocks.int().numpy()):
        floats = torch.as_tensor(S).double()
        expected = rows_of(DemographicParity(encoded=True).constraints(floats))
        assert list(expected) == [f"group{k}" for k in range(S.shape[1])]
        whole = as_encoded(DemographicParity(), S).constraints(S)
        batch = Memory().people(DemographicParity(), S, None).constraints()
        for got in (rows_of(whole), rows_of(batch)):
            assert got.keys() == expected.keys()
            for name, row in expected.items():
                np.testing.assert_array_equal(got[name], row)


def test_other_integers_are_codes():
    sex, race = torch.arange(12) % 2, torch.arange(12) % 3
    two = torch.stack([sex, race], 1)
    binary = torch.stack([sex, (race == 0).long()], 1)  # rows sum to 0, 1 and 2: two attributes
    for S in (sex, sex[:, None], two, binary, torch.zeros(3, 2).long()):
        assert as_encoded(DemographicParity(), S) == DemographicParity()
        names = Memory().people(DemographicParity(), S, None).names
        assert all("=" in name for name in names)
    # The user's word counts for more, and so does that of a table.
    chosen = DemographicParity(categorical=[0, 1])
    assert as_encoded(chosen, one_hot(sex)) == chosen
    table = pd.DataFrame(one_hot(sex).numpy(), columns=["f", "m"])
    assert as_encoded(DemographicParity(), table) == DemographicParity()


def test_codes_stay_codes_in_a_batch_that_looks_one_hot():
    memory, parity = Memory(), DemographicParity()
    codes = torch.tensor([[0, 0], [1, 0], [0, 1], [1, 1]])
    first = memory.people(parity, codes, None).names
    assert memory.people(parity, codes[1:3], None).names == first
    # The type of numbers makes no difference; before anything else was seen, zeros and ones of
    # floats are one-hot columns.
    assert memory.people(parity, codes.float(), None).names == first
    assert Memory().people(parity, codes.float(), None).names == ("group0", "group1")


def test_few_whole_numbers_in_a_matrix_of_floats_are_codes():
    codes = np.array([[1.0, 0.0], [2.0, 1.0], [3.0, 1.0]])
    names = ("group0=1", "group0=2", "group0=3", "group1")  # the second column is one-hot
    for S in (codes, torch.from_numpy(codes)):
        assert as_encoded(DemographicParity(), S).constraints(S).names == names
        assert Memory().people(DemographicParity(), S, None).names == names
    many = np.arange(11.0)[:, None]
    assert as_encoded(DemographicParity(), many).constraints(many).names == ("group",)


def test_crossed_integer_columns_are_the_crossed_attributes():
    sex, race = torch.arange(12) % 2, torch.arange(12) // 2 % 3
    crossed = DemographicParity(intersectional=True)
    codes = crossed.constraints(torch.stack([sex, race], 1)).matrix
    S = torch.cat([one_hot(sex), one_hot(race)], 1)
    c = Memory().people(crossed, S, None).constraints()
    assert sorted(map(tuple, c.matrix.tolist())) == sorted(map(tuple, codes.tolist()))
    with pytest.raises(ValueError, match="one-hot columns cannot be crossed"):
        Memory().people(crossed, S.float(), None)


def test_wrong_batches_say_what_is_wrong():
    memory = Memory()
    with pytest.raises(ValueError, match="`sensitive` is empty"):
        memory.people(DemographicParity(), np.array([], dtype=str), None)
    both = DemographicParity(continuous=0, categorical=0)
    with pytest.raises(ValueError, match="named as both continuous and categorical"):
        memory.people(both, np.array([1, 2]), None)
    with pytest.raises(ValueError, match="`sensitive` column 'sex' has 1 missing"):
        memory.people(DemographicParity(), {"sex": ["F", None]}, None)
    with pytest.raises(ValueError, match="`labels` must be 0 or 1"):
        memory.people(EqualizedOdds(), {"sex": ["F", "M"]}, [1, 2])
