"""People who lack a sensitive value have no part in constraints."""

import numpy as np
import pandas as pd
import pytest
import torch

from otfair import ConditionalParity, DemographicParity, EqualizedOdds, LinearNotion
from otfair.notions import known_people, known_sensitive

N = 60
rng = np.random.default_rng(0)
LABELS, WEIGHT = rng.integers(0, 2, N), rng.random(N) + 0.5
TABLE = pd.DataFrame(
    {"race": rng.integers(1, 4, N) * 1.0, "town": rng.choice(["here", "there"], N)}
)
GAPS = TABLE.mask(rng.random(TABLE.shape) < 0.15)
KNOWN = GAPS.notna().all(axis=1).to_numpy()
OWN = LinearNotion(lambda s, y, *w: np.vstack([y - y.mean()]))


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["", "weighted"])
@pytest.mark.parametrize(
    "notion",
    [
        DemographicParity(),
        EqualizedOdds(),
        ConditionalParity(control="town"),
        EqualizedOdds(columns="race") & DemographicParity(columns="town"),
        DemographicParity(intersectional=True),
    ],
    ids=repr,
)
def test_constraints_are_those_of_the_people_who_have_all_values(notion, weight):
    some = None if weight is None else weight[KNOWN]
    expected = notion.constraints(TABLE[KNOWN], LABELS[KNOWN], some)
    people = known_people(notion, GAPS, LABELS, weight)
    assert people.weight.numpy()[~KNOWN].tolist() == [0.0] * (~KNOWN).sum()
    found = people.constraints()
    assert found.names == expected.names
    np.testing.assert_allclose(found.matrix[:, KNOWN], expected.matrix, rtol=1e-12)


def test_any_kind_of_table_may_have_gaps():
    race = TABLE["race"].to_numpy(copy=True)
    race[~KNOWN] = np.nan
    for S in (race, torch.from_numpy(race), {"group": list(race)}, pd.Series(race)):
        names = known_people(DemographicParity(), S).constraints().names
        assert names == ("group=1", "group=2", "group=3")
    assert known_sensitive(DemographicParity(), TABLE).all()


def test_a_function_of_the_user_sees_what_was_passed():
    seen = []
    notion = LinearNotion(lambda s, y: seen.append(s) or np.ones((1, N)) * 0)
    known_people(notion, GAPS, LABELS)
    assert seen[0] is GAPS
    assert known_sensitive(notion, object()) is None
    both = known_people(DemographicParity() & OWN, GAPS, LABELS)
    assert (both.weight.numpy() == KNOWN).all()


def test_somebody_must_have_a_value():
    with pytest.raises(ValueError, match="`sensitive_features` has no person with a value in each"):
        known_people(DemographicParity(), {"a": [None, 1], "b": [1, None]})


def test_indexes_of_another_order_are_refused():
    other = pd.Series(LABELS)[::-1]
    for ask in (known_people, lambda notion, *given: notion.constraints(*given)):
        with pytest.raises(ValueError, match=r"index of `labels` has the same labels in another"):
            ask(EqualizedOdds(), TABLE, other)
