"""Parts of the rows: one for each attribute or group, typed as if it were alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

import otfair
from otfair.notions import LinearNotion, attributes_of, parts_of

NOTIONS = ["demographic_parity", "equalized_odds", "equal_opportunity", "predictive_equality"]


@pytest.fixture
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    n = 60
    return pd.DataFrame(
        {
            "sex": rng.choice(["F", "M"], n),
            "origin": rng.choice(["a", "b", "c"], n),
            "age": rng.normal(40, 10, n).round(1),
        }
    )


@pytest.fixture
def labels() -> np.ndarray:
    return np.random.default_rng(1).integers(0, 2, 60)


def same_partition(a, b) -> bool:
    """Whether two typings put the same people together."""
    both = set(zip(np.asarray(a).tolist(), np.asarray(b).tolist()))
    return len(both) == len(set(np.asarray(a).tolist())) == len(set(np.asarray(b).tolist()))


@pytest.mark.parametrize("notion", NOTIONS)
def test_the_part_of_an_attribute_is_what_it_is_alone(notion, table, labels):
    notion = otfair.as_notion(notion)
    parts = parts_of(notion.people(table, labels), "attributes")
    assert [part.name for part in parts] == ["sex", "origin", "age"]
    for part in parts:
        alone, own = notion.constraints(table[[part.name]], labels), part.people.constraints()
        assert own.names == alone.names
        np.testing.assert_allclose(own.matrix, alone.matrix, atol=1e-12)
        assert same_partition(own.types, alone.types)
        assert len(own.type_names) == len(set(own.type_names)) == len(alone.type_names)


def test_the_part_of_a_group_compares_it_with_all_others(table):
    parts = parts_of(otfair.DemographicParity().people(table), "groups")
    assert [part.name for part in parts] == [
        "sex=F, sex=M", "origin=a", "origin=b", "origin=c", "age"
    ]  # fmt: skip
    for part, group in zip(parts[1:4], "abc"):
        inside = (table["origin"] == group).to_numpy()
        expected = inside / inside.mean() - 1
        np.testing.assert_allclose(part.people.constraints().matrix, expected[None], atol=1e-12)


def test_one_attribute_is_one_part_and_so_are_two_groups(table):
    people = otfair.EqualizedOdds().people(table[["sex"]], np.arange(60) % 2)
    for weigh in ("attributes", "groups"):
        (part,) = parts_of(people, weigh)
        assert part.people is people
        assert (part.name, part.merge) == ("", None)


def test_rows_of_a_stack_go_with_their_attribute(table, labels):
    notion = otfair.DemographicParity() & otfair.EqualizedOdds()
    people = notion.people(table[["sex", "origin"]], labels)
    sex, origin = parts_of(people, "attributes")
    assert sex.people.names == (
        "sex=F", "sex=M", "sex=F | y=0", "sex=M | y=0", "sex=F | y=1", "sex=M | y=1"
    )  # fmt: skip
    assert len(sex.people.names) + len(origin.people.names) == len(people.names)


def test_rows_of_one_s_own_are_one_attribute():
    own = LinearNotion(lambda s, y: np.array([[1, -1, 0, 0], [0, 0, 1, -1.0]]))
    people = (own & otfair.DemographicParity()).people(["a", "a", "b", "b"])
    assert attributes_of(people) == ("own rows", "group")
    first, _ = parts_of(people, "attributes")
    np.testing.assert_array_equal(first.people.constraints().matrix, own.fn(None, None))
    assert [p.name for p in parts_of(people, "groups")][:2] == ["row 0", "row 1"]


def test_types_are_merged_into_those_of_a_part(table):
    people = otfair.DemographicParity().people(table[["sex", "origin"]])
    for part in parts_of(people, "attributes"):
        assert torch.equal(part.merge[people.types], part.people.types)


def test_an_unknown_weigh_is_refused(table):
    with pytest.raises(ValueError, match="unknown weigh 'columns'"):
        parts_of(otfair.DemographicParity().people(table), "columns")
