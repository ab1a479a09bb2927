"""The four costs on Dask collections are those of one machine."""

import dask.array as da
import numpy as np
import pytest
from partitions import FEATURES, people

import otfair

PLACES = {"rtol": 1e-8, "atol": 1e-10}


def problem(both, notion, geometry=None, **weight):
    """Return the arguments of a cost, in memory and on workers."""
    out = []
    for side in (both.here, both.there):
        X, S, y = side[FEATURES], side[["sex", "race"]], side["y"]
        w = {name: side[column] for name, column in weight.items()}
        cloud = otfair.PointCloud(X, **(geometry or {}))
        out.append((side["h"], cloud, notion.constraints(S, y, **w)))
    return out


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "notion", [otfair.DemographicParity(), otfair.EqualizedOdds(), otfair.PredictiveParity()]
)
def test_smooth_costs_are_the_same(workers, notion, weighted):
    weight = {"sample_weight": "w"} if weighted else {}
    here, there = problem(people(), notion, **weight)
    for cost in (otfair.smooth_otf, otfair.relaxed_otf):
        a, b = cost(*here), cost(*there)
        assert b.value == pytest.approx(a.value, rel=1e-10, abs=1e-10)
        assert b.primal_value == pytest.approx(a.primal_value, rel=1e-8)
        # Rows of G depend on each other, so that duals are known by what they add up to only.
        by_type = [t.constraint_duals @ t.problem.constraints.vectors for t in (a, b)]
        np.testing.assert_allclose(by_type[1], by_type[0], rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(b.score_duals.compute(), a.score_duals, **PLACES)
    a, b = otfair.adjusted_otf(*here), otfair.adjusted_otf(*there)
    assert b.value == pytest.approx(a.value, rel=1e-10)
    np.testing.assert_allclose(b.gradient.compute(), a.gradient, **PLACES)
    assert b.converged


def test_what_follows_from_a_solution_is_the_same(workers):
    here, there = problem(people(), otfair.EqualizedOdds())
    for cost in (otfair.smooth_otf, otfair.exact_otf):
        a, b = cost(*here, slack=0.01), cost(*there, slack=0.01)
        np.testing.assert_allclose(b.flows.mass, a.flows.mass, **PLACES)
        np.testing.assert_allclose(b.flows.distance, a.flows.distance, **PLACES)
        np.testing.assert_allclose(b.fair_scores.compute(), a.fair_scores, **PLACES)
        assert b.transport_cost == pytest.approx(a.transport_cost, rel=1e-8)
        with pytest.raises(MemoryError, match="fits no single machine"):
            b.plan(sparse=True)


@pytest.mark.parametrize("n", [600, 3000])  # all pairs at once, and pairs that are generated
def test_the_exact_cost_is_the_same(workers, n):
    here, there = problem(people(n), otfair.EqualizedOdds(columns=["sex", "race"]))
    assert n < 2000 or n * len(here[2].type_names) > 20_000
    a, b = otfair.exact_otf(*here), otfair.exact_otf(*there)
    assert b.value == pytest.approx(a.value, rel=1e-9)
    assert abs(b.gap) <= 1e-9 * n
    assert b.residual <= 1e-7


def test_the_exact_cost_of_a_free_rate_is_the_same(workers, monkeypatch):
    monkeypatch.setattr(otfair.transport._rates, "FEW_LOOKS", (3, 0, 1e-9))  # not for long
    here, there = problem(people(120, partitions=2), otfair.PredictiveParity(columns="sex"))
    a, b = otfair.exact_otf(*here), otfair.exact_otf(*there)
    assert b.value == pytest.approx(a.value, rel=1e-8)


def test_few_undecided_people_are_enough_for_the_exact_cost(workers, monkeypatch):
    monkeypatch.setattr(otfair.transport._parted_exact, "MOST_OPEN", 40)
    here, there = problem(people(3000), otfair.EqualizedOdds(columns=["sex", "race"]))
    assert otfair.exact_otf(*there).value == pytest.approx(otfair.exact_otf(*here).value, rel=1e-9)


@pytest.mark.parametrize(
    "geometry",
    [
        {"scale": "mean"},
        {"scale": "median"},
        {"scale": None},
        {"cost": "mahalanobis"},
        {"cost": "cosine", "scale": 2.0},
        {"cost": "sqeuclidean"},
    ],
    ids=str,
)
def test_distances_are_the_same_for_every_cost_and_scale(workers, geometry):
    both = people(300)
    (X, Xd), (S, Sd) = both[FEATURES], both["sex"]
    a, b = otfair.PointCloud(X, **geometry), otfair.PointCloud(Xd, **geometry)
    assert b.scale_ == pytest.approx(a.scale_, rel=1e-12)
    assert b.shape == a.shape
    types = (S == "F").astype(int)
    soft = b.soft_distances((Sd == "F").astype(int), 1e-2).values
    np.testing.assert_allclose(soft.compute(), a.soft_distances(types, 1e-2).values, **PLACES)
    near = b.nearest_distances(types.to_numpy()).values
    np.testing.assert_allclose(near.compute(), a.nearest_distances(types).values, **PLACES)


def test_a_reference_sample_of_receivers_is_the_same(workers):
    both, some = people(), np.arange(3, 600, 5)
    (X, Xd), (S, Sd), (h, hd) = both[FEATURES], both[["sex", "race"]], both["h"]
    fair = otfair.DemographicParity()
    Y = X.to_numpy()[some]
    a = otfair.smooth_otf(h, otfair.PointCloud(X, Y), fair.people(S).constraints(columns=some))
    there = fair.people(Sd).constraints(columns=some)
    blocks = Xd.to_dask_array(lengths=True)[some]  # receivers that are on workers, too
    for receivers in (Y, blocks):
        b = otfair.smooth_otf(hd, otfair.PointCloud(Xd, receivers), there)
        assert b.value == pytest.approx(a.value, rel=1e-10)
        np.testing.assert_allclose(b.fair_scores.compute(), a.fair_scores, **PLACES)


def test_arrays_of_other_chunks_are_rechunked_and_a_warm_start_is_one(workers):
    frame = people().here
    X = da.from_array(frame[FEATURES].to_numpy(), chunks=(200, 2))
    S = da.from_array(frame[["sex"]].to_numpy().astype(str), chunks=(200, 1))
    fair = otfair.DemographicParity().constraints(S, da.from_array(frame["y"].to_numpy(), 150))
    h = da.from_array(frame["h"].to_numpy(), chunks=200)
    first = otfair.smooth_otf(h, cloud := otfair.PointCloud(X), fair)
    again = otfair.smooth_otf(h, cloud, fair, init=first)
    assert again.iterations == 1
    assert again.value == pytest.approx(first.value, rel=1e-10)
    here = otfair.DemographicParity().constraints(frame[["sex"]])
    a = otfair.smooth_otf(frame["h"], otfair.PointCloud(frame[FEATURES]), here)
    assert first.value == pytest.approx(a.value, rel=1e-10)


def test_what_one_machine_alone_can_do_is_refused(workers):
    both = people(60, partitions=2)
    here, there = problem(both, otfair.DemographicParity())
    with pytest.raises(TypeError, match="leave `bounded` False"):
        otfair.smooth_otf(*there, bounded=True)
    with pytest.raises(TypeError, match="coordinate ascent is for one machine"):
        otfair.smooth_otf(*there, solver="coordinate")
    with pytest.raises(TypeError, match="must all be of Dask collections"):
        otfair.smooth_otf(there[0], here[1], there[2])
    with pytest.raises(TypeError, match="no single machine sees all costs"):
        there[1].cost_matrix()
    with pytest.raises(ValueError, match=r"60 of 60 do not: they range from .* to -"):
        otfair.smooth_otf(-there[0], *there[1:])
    with pytest.raises(ValueError, match="in the same partitions"):
        otfair.smooth_otf(both.there["h"].repartition(npartitions=1), *there[1:])
    with pytest.raises(TypeError, match="`labels` is no Dask collection"):
        otfair.EqualizedOdds().constraints(both.there[["sex"]], both.here["y"])
