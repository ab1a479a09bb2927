"""People in several places are typed and constrained as one population."""

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from partitions import people

import otfair
from otfair.notions import join, parted_people, represent, tally

NOTIONS = {
    "parity": otfair.DemographicParity(),
    "odds": otfair.EqualizedOdds(continuous="age"),
    "crossed": otfair.DemographicParity(columns=["sex", "race"], intersectional=True),
    "conditional": otfair.ConditionalParity(control="race", columns="sex"),
    "precision": otfair.PredictiveParity(columns=["sex", "race"]),
    "stack": otfair.EqualOpportunity(columns="sex") & otfair.DemographicParity(columns="age"),
}


@pytest.mark.parametrize("name", NOTIONS)
def test_tallies_of_places_give_the_people_of_all(name):
    frame = people(300).here
    S, y, w = frame[["sex", "race", "age"]], frame["y"], frame["w"]
    whole = NOTIONS[name].people(S, y, w)
    cuts = [slice(0, 50), slice(50, 51), slice(51, 300)]
    places = [tally(S[c], y[c], w[c]) for c in cuts]
    found = join([own for own, _ in places]).people(NOTIONS[name])
    starts = np.cumsum([0, *(len(own.weight) for own, _ in places)])
    types = np.concatenate([found.types[a + codes] for a, (_, codes) in zip(starts, places)])
    assert found.names == whole.names
    assert found.type_names == whole.type_names
    np.testing.assert_array_equal(types, whole.types)
    np.testing.assert_allclose(found.mass, whole.mass, rtol=1e-14)


def test_two_of_each_type_have_the_moments_of_all():
    frame = people(300).here
    typed = otfair.DemographicParity().people(frame[["sex", "race"]], sample_weight=frame["w"])
    two = represent(typed)
    h, w, types = frame["h"].to_numpy(), typed.weight.numpy(), typed.types.numpy()
    mass = np.bincount(types, w)
    mean = np.bincount(types, w * h) / mass
    wide = np.sqrt(np.bincount(types, w * (h - mean[types]) ** 2) / mass)
    scores = np.stack([mean + wide, mean - wide], 1).reshape(-1)
    for criterion in ("correlation", "difference"):
        of = otfair.metrics.criterion_of(criterion, typed)
        assert otfair.metrics.criterion_of(criterion, two)(scores) == pytest.approx(
            of(h), abs=1e-13
        )


def test_a_missing_value_is_refused_or_has_no_weight():
    S = pd.DataFrame({"sex": ["F", None, "M", "F"]})
    own, _ = tally(S)
    with pytest.raises(ValueError, match="missing"):
        own.people(otfair.DemographicParity())
    typed = own.people(otfair.DemographicParity(), gaps=True)
    assert typed.mass.tolist() == [2.0, 1.0]
    assert own.missing(otfair.DemographicParity()) == 1


def test_a_notion_of_ones_own_is_refused():
    own, _ = tally(["a", "b"])
    with pytest.raises(TypeError, match="reads all people at once"):
        own.people(otfair.LinearNotion(lambda s, y: [[1, -1]]))


def test_declared_categories_stay_declared():
    kind = pd.CategoricalDtype(["low", "high"])
    columns = [pd.Series(v, dtype=kind, name="pay") for v in (["high"], ["low", "high"])]
    found = join([tally(c.to_frame())[0] for c in columns])
    assert found.people(otfair.DemographicParity()).names == ("pay=low", "pay=high")


@pytest.mark.parametrize("name", NOTIONS)
def test_constraints_on_workers_are_those_of_one_machine(workers, name):
    both = people()
    columns = ["sex", "race", "age"]
    (S, Sd), (y, yd), (w, wd) = both[columns], both["y"], both["w"]
    a, b = NOTIONS[name].constraints(S, y, w), NOTIONS[name].constraints(Sd, yd, wd)
    assert (a.names, a.dropped, a.type_names) == (b.names, b.dropped, b.type_names)
    np.testing.assert_allclose(a.vectors, b.vectors, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(a.column_mass, b.column_mass, rtol=1e-14)
    np.testing.assert_allclose(a.matrix, b.matrix.compute(), rtol=1e-12, atol=1e-12)


def test_some_receivers_are_named_by_their_rows(workers):
    both, some = people(), np.arange(5, 600, 7)
    (S, Sd) = both[["sex", "race"]]
    a = otfair.DemographicParity().people(S).constraints(columns=some)
    b = otfair.DemographicParity().people(Sd).constraints(columns=some)
    np.testing.assert_allclose(a.column_mass, b.column_mass, rtol=1e-14)
    types, weight = b.receivers.result()
    np.testing.assert_array_equal(types, a.column_types)
    np.testing.assert_array_equal(weight, a.column_weight)


def test_partitions_without_rows_and_with_one_group_are_no_trouble(workers):
    frame = people(60).here.sort_values("sex", ignore_index=True)
    there = dd.from_pandas(frame, npartitions=4)
    there = dd.concat([there, there[there["h"] > 2]])
    b = parted_people(otfair.DemographicParity(), there[["sex"]])
    assert b.mass.tolist() == frame["sex"].value_counts().sort_index().tolist()
