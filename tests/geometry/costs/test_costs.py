"""A cost is a name, a function or an instance; a new one is one class."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.spatial.distance import cdist

import otfair
from otfair import PointCloud
from otfair.geometry.costs import COSTS, Cost, Euclidean, FunctionCost


class Chebyshev(Cost):
    """The largest difference of any feature: all that a new cost needs."""

    def between(self, X, Y):
        return torch.cdist(X, Y, p=torch.inf)


@pytest.mark.parametrize("cost", COSTS)
def test_an_instance_is_as_good_as_its_name(cost):
    X = np.random.default_rng(0).normal(size=(20, 3))
    by_name, by_instance = PointCloud(X, cost=cost.name), PointCloud(X, cost=cost())
    assert torch.equal(by_name.cost_matrix(), by_instance.cost_matrix())
    assert by_name.scale_ == by_instance.scale_


@pytest.mark.parametrize("cost", COSTS)
def test_costs_between_two_blocks_are_those_of_a_cloud(cost):
    X, Y = np.random.default_rng(1).normal(size=(2, 20, 3))
    cloud, own = PointCloud(X, Y, cost=cost.name, scale=None), cost()
    people = torch.as_tensor(np.vstack([X, Y]))
    places = own.place(people, people)
    expected = own.between(places[:20], places[20:])
    torch.testing.assert_close(cloud.cost_matrix(), expected, rtol=1e-9, atol=1e-9)


def test_a_new_cost_is_one_class():
    X, Y = np.random.default_rng(2).normal(size=(2, 15, 3))
    cloud = PointCloud(X, Y, cost=Chebyshev(), scale="max")
    expected = cdist(X, Y, "chebyshev")
    assert cloud.scale_ == pytest.approx(expected.max())
    np.testing.assert_allclose(cloud.cost_matrix() * cloud.scale_, expected)
    fair = otfair.DemographicParity().constraints(["a", "b", "a"] * 5)
    people = PointCloud(X, cost=Chebyshev())
    assert otfair.smooth_otf(np.linspace(0.1, 0.9, 15), people, fair, 0.1).converged


def test_a_function_is_a_cost_too():
    X = np.random.default_rng(3).normal(size=(10, 2))
    function = lambda x, y: torch.cdist(x, y, p=3)
    one, two = PointCloud(X, cost=function), PointCloud(X, cost=FunctionCost(function))
    assert torch.equal(one.cost_matrix(), two.cost_matrix())


def test_every_named_cost_has_a_name_of_its_own():
    names = [cost.name for cost in COSTS]
    assert all(names)
    assert len(set(names)) == len(names)
    assert isinstance(PointCloud(np.eye(2)).cost, Euclidean)
