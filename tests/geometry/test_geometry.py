"""What every geometry does: scales, rows, and soft distances that are kept."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from problems import cloud
from scipy.spatial.distance import cdist

import otfair
from otfair import CostMatrix, PointCloud
from otfair.geometry import _geometry as geometry_module


def test_a_kept_result_is_returned_only_for_the_same_types_weights_and_epsilon():
    geometry = PointCloud(cloud(9, 30))
    types = np.arange(30) % 3
    weight = np.random.default_rng(0).random(30)
    fresh = lambda *a, **k: PointCloud(cloud(9, 30)).soft_distances(*a, **k).values
    calls = [
        ((types, 0.1, weight), {}),
        ((types, 0.2, weight), {}),
        ((types[::-1], 0.2, weight), {}),
        ((types, 0.2, weight[::-1]), {}),
        ((types, 0.2), {}),
        ((types, 0.2), {"n_types": 5}),
        ((types, 0.1, weight), {}),
    ]
    for args, kwargs in calls:
        values = geometry.soft_distances(*args, **kwargs).values
        torch.testing.assert_close(values, fresh(*args, **kwargs), rtol=0, atol=0)
    again = geometry.soft_distances(types.tolist(), 0.1, torch.tensor(weight))
    assert again is geometry.soft_distances(types, 0.1, weight)


@pytest.mark.parametrize("wrap", [np.array, torch.tensor])
def test_a_kept_result_does_not_change_with_the_users_arrays(wrap):
    geometry = PointCloud(cloud(9, 30))
    types, weight = wrap(np.arange(30) % 3), wrap(np.ones(30))
    before = geometry.soft_distances(types, 0.1, weight)
    mass = torch.ones(30, 3, dtype=torch.float64)
    plan = before.plan(mass, 0.0).to_dense()
    weight[:] = 5.0
    types[:] = 0
    again = geometry.soft_distances(np.arange(30) % 3, 0.1, np.ones(30))
    torch.testing.assert_close(again.plan(mass, 0.0).to_dense(), plan)
    changed = geometry.soft_distances(types, 0.1, weight)
    assert changed.values.shape == (30, 1)


def test_what_is_handed_out_of_a_kept_result_may_be_overwritten():
    geometry, fair = (
        PointCloud(cloud(9, 30)),
        otfair.DemographicParity().constraints(["a", "b"] * 15),
    )
    h = np.linspace(0.1, 0.9, 30)
    before = otfair.smooth_otf(h, geometry, fair, 0.1)
    cost, flows = before.transport_cost, before.flows.distance
    soft = geometry.soft_distances(fair.column_types, 0.1, fair.column_weight)
    soft.values.zero_()
    soft.mean_cost.zero_()
    again = otfair.smooth_otf(h, geometry, fair, 0.1)
    assert (again.value, again.transport_cost) == (before.value, cost)
    np.testing.assert_array_equal(again.flows.distance, flows)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 1], 0.1), r"one entry per column person: 3; received shape \(2,\)"),
        (([0, 1, 0], 0.1, [1, 1]), r"one entry per person: 3; received shape \(2,\)"),
        (([0, 1, 0], 0.1, [1, -1, 1]), "`sample_weight` must be non-negative"),
        (([0, 1, 0], 0.1, [0, 0, 0]), "not all zero"),
        (([0, 1, 0], 0.1, [1, np.nan, 1]), "`sample_weight` must be finite"),
        (([0, -1, 0], 0.1), "`types` must be whole numbers from 0"),
        (([0, 0.5, 0], 0.1), "`types` must be whole numbers from 0"),
        (([0, 2, 0], 0.1, None, 2), "from 0 to 1"),
        (([0, 1, 0], 0.0), "`epsilon` must be positive"),
        (([0, 1, 0], -1.0), "`epsilon` must be positive"),
        (([0, 1, 0], np.nan), "`epsilon` must be positive"),
        (([0, 1, 0], np.inf), r"`epsilon` must lie in \[1e-30, 1e\+50\]; received inf"),
    ],
)
def test_types_weights_and_epsilon_that_make_no_sense_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        PointCloud(np.eye(3)).soft_distances(*arguments)


@pytest.mark.parametrize("given", [False, True])
def test_some_rows_are_those_of_the_whole_with_distances_looked_up(given, monkeypatch):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(40, 2)), 1)[rng.integers(0, 25, 40)]  # with identical people
    whole = CostMatrix(cdist(X, X)) if given else PointCloud(X)
    types = rng.integers(0, 3, 40)
    index = [7, 3, 3, 39, 0]
    fresh = whole.rows(index)
    np.testing.assert_allclose(fresh.cost_matrix(), whole.cost_matrix()[index], atol=1e-15)
    made = fresh.soft_distances(types, 0.1)
    expected = whole.soft_distances(types, 0.1)
    np.testing.assert_allclose(made.values, expected.values[index], atol=1e-13)
    some = whole.rows(index)
    monkeypatch.setattr(some, "blocks", None)  # a pass would fail
    found = some.soft_distances(types, 0.1)
    assert torch.equal(found.values, expected.values[index])
    monkeypatch.undo()
    np.testing.assert_allclose(found.mean_cost, expected.mean_cost[index], atol=1e-13)


@pytest.mark.parametrize("index", [[0.0], [7], [], np.ones(3, dtype=bool)])
def test_rows_that_are_nobody_are_refused(index):
    with pytest.raises(ValueError, match="`index` must choose at least one of 6 people"):
        PointCloud(cloud(2, 6)).rows(index)


def test_rows_may_be_booleans():
    geometry, mask = PointCloud(cloud(2, 6)), np.array([0, 1, 0, 0, 1, 1], dtype=bool)
    chosen = geometry.rows(np.flatnonzero(mask)).cost_matrix()
    torch.testing.assert_close(geometry.rows(mask).cost_matrix(), chosen, rtol=0, atol=0)


def test_the_median_of_many_people_is_that_of_evenly_spaced_ones(monkeypatch):
    monkeypatch.setattr(geometry_module, "SAMPLED_PEOPLE", 11)
    X = cloud(5, 101)
    some = X[::10]
    expected = np.median(cdist(some, some))
    assert PointCloud(X, scale="median").scale_ == pytest.approx(expected, rel=1e-9)


def test_a_scale_divides_costs():
    X = cloud(6, 20)
    C = PointCloud(X, scale=None).cost_matrix()
    for scale in ("max", "mean", "median", 7, 0.5, np.float64(2)):
        geometry = PointCloud(X, scale=scale)
        torch.testing.assert_close(geometry.cost_matrix() * geometry.scale_, C)
    assert PointCloud(X, scale=7).scale_ == 7.0
    assert PointCloud(X, scale="max").cost_matrix().max() == pytest.approx(1, rel=1e-12)
    assert CostMatrix(C, scale="mean").cost_matrix().mean() == pytest.approx(1)


def test_a_scale_that_overflows_is_refused():
    with pytest.raises(ValueError, match="`scale` must be positive and finite; received inf"):
        CostMatrix(np.full((3, 3), 1.7e308), scale="mean")


@pytest.mark.parametrize("rows", [[4, 0, 7, 7], np.arange(9) % 2 == 0])
def test_some_people_are_as_far_from_each_other_as_before(rows):
    X = np.vstack([cloud(7, 8), cloud(7, 8)[:1]])  # one of them twice
    C = PointCloud(X).cost_matrix()
    for geometry in (PointCloud(X), CostMatrix(C)):
        types, weight = np.arange(9) % 3, np.linspace(1, 2, 9)
        geometry.soft_distances(types, 0.1, weight)  # of all people: not of these
        some = geometry.take(rows)
        assert some.shape == (len(X[rows]),) * 2
        assert some.scale_ == geometry.scale_
        torch.testing.assert_close(some.cost_matrix(), C[rows][:, rows])
        alone = CostMatrix(C[rows][:, rows]).soft_distances(types[rows], 0.1, weight[rows], 3)
        found = some.soft_distances(types[rows], 0.1, weight[rows], 3)
        torch.testing.assert_close(found.values, alone.values)
        assert geometry.shape == (9, 9)  # it stays as it was
    with pytest.raises(ValueError, match="must be the same people; there are 9 and 4"):
        PointCloud(X, X[:4]).take([0])


def test_distances_to_unions_of_types_are_those_of_the_coarser_types():
    rng = np.random.default_rng(3)
    X, fine = rng.normal(size=(40, 2)), rng.integers(0, 5, 40)
    X[20:25] = X[5:10]  # twins of other types
    weight, union = rng.integers(0, 3, 40), torch.tensor([0, 1, 0, 2, 1, 2])  # one has nobody
    known, fresh = PointCloud(X), PointCloud(X)
    known.soft_distances(fine, 1e-2, weight, 6)
    merged = known.merged(union, 4)
    coarse = union.numpy()[fine]
    direct, found = (g.soft_distances(coarse, 1e-2, weight, 4) for g in (fresh, merged))
    assert found.geometry is merged  # known, not made anew
    np.testing.assert_allclose(found.values, direct.values, atol=1e-12)
    np.testing.assert_allclose(found.mean_cost, direct.mean_cost, atol=1e-10)
    mass = torch.tensor(rng.random((40, 4)))
    mass[:, 3] = 0  # to which nobody belongs
    np.testing.assert_allclose(found.column_mass(mass), direct.column_mass(mass), atol=1e-10)
    some = merged.rows([3, 1, 30]).soft_distances(coarse, 1e-2, weight, 4)
    np.testing.assert_allclose(some.values, direct.values[[3, 1, 30]], atol=1e-12)
    with pytest.raises(ValueError, match="no soft distances are known yet"):
        PointCloud(X).merged(union, 4)
