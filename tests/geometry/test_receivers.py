"""A sample of receivers against all of them: sums that are estimated, and what is exact."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import otfair

EPS = 0.05


def people(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features, types and weights of n people."""
    rng = np.random.default_rng(seed)
    weight = rng.integers(0, 3, n).astype(float)
    weight[:6] = 1.0
    return rng.normal(size=(n, 3)), np.append([0, 1, 2] * 2, rng.integers(3, size=n - 6)), weight


def test_everybody_as_a_sample_is_everybody():
    X, types, weight = people(50)
    cloud = otfair.PointCloud(X)
    whole = cloud.soft_distances(types, EPS, weight).values
    drawn = cloud.with_receivers(np.arange(50)).soft_distances(types, EPS, weight).values
    torch.testing.assert_close(drawn, whole, rtol=1e-12, atol=1e-12)


def test_sums_are_right_on_average():
    # The sum over a type is the person's own part and, of the others, an estimate by the sample.
    X, types, _ = people(30)
    cloud, rng = otfair.PointCloud(X), np.random.default_rng(1)
    exact = torch.exp(-cloud.soft_distances(types, EPS).values / EPS)
    members, total = [np.flatnonzero(types == k) for k in range(3)], torch.zeros_like(exact)
    for _ in range(1000):
        some = np.concatenate([rng.permutation(m)[: len(m) // 2] for m in members])
        soft = cloud.with_receivers(some).soft_distances(types, EPS)
        total += torch.exp(-soft.values / EPS)
    torch.testing.assert_close(total / 1000, exact, rtol=0.15, atol=0.03)


def test_the_estimate_by_hand():
    # Person 0 is drawn and stands for two; person 1 adds themselves.
    cloud = otfair.PointCloud([[0.0], [1.0]], scale=None).with_receivers([0])
    d = np.exp(-1 / EPS)
    expected = -EPS * np.log([[1.0], [2 * d + 1.0]])
    found = cloud.soft_distances([0, 0], EPS).values
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)


def test_a_type_of_which_nobody_was_drawn_keeps_all():
    X, types, weight = people(40)
    cloud = otfair.PointCloud(X)
    whole = cloud.soft_distances(types, EPS, weight).values
    drawn = cloud.with_receivers(types != 1).soft_distances(types, EPS, weight).values
    torch.testing.assert_close(drawn, whole, rtol=1e-12, atol=1e-12)


def test_some_rows_and_some_people_keep_the_sample():
    X, types, weight = people(60)
    cloud = otfair.PointCloud(X).with_receivers(np.arange(0, 60, 2))
    soft, rows = cloud.soft_distances(types, EPS, weight).values, np.array([7, 3, 20])
    fresh = otfair.PointCloud(X).with_receivers(np.arange(0, 60, 2))  # which knows no distances
    for view in (cloud.rows(rows), fresh.rows(rows)):
        torch.testing.assert_close(view.soft_distances(types, EPS, weight).values, soft[rows])
    kept = np.arange(10, 50)
    part = cloud.take(kept).soft_distances(types[kept], EPS, weight[kept]).values
    scale = otfair.PointCloud(X).scale_
    alone = otfair.PointCloud(X[kept], scale=scale).with_receivers(np.arange(0, 40, 2))
    torch.testing.assert_close(part, alone.soft_distances(types[kept], EPS, weight[kept]).values)


def test_types_that_are_merged_add_up():
    X, types, _ = people(40)
    cloud = otfair.PointCloud(X).with_receivers(np.arange(0, 40, 3))
    fine = cloud.soft_distances(types, EPS).values
    union = cloud.merged(torch.tensor([0, 1, 0]), 2).soft_distances(types % 2, EPS).values
    expected = -EPS * torch.logsumexp(-fine[:, [0, 2]] / EPS, 1)
    torch.testing.assert_close(union[:, 0], expected)


@pytest.mark.parametrize("X", [np.zeros((20, 2)), np.r_[np.zeros((19, 2)), [[1e9, 0]]]])
def test_people_who_lie_oddly(X):
    # All alike, or one far away: distances are numbers, and nobody is far from their own type.
    types = np.arange(20) % 2
    soft = otfair.PointCloud(X).with_receivers([0, 1, 2, 3]).soft_distances(types, 1e-3).values
    assert torch.isfinite(soft).all()
    assert bool((soft[np.arange(20), types] <= 1e-12).all())


def test_who_gets_what_is_not_told_by_a_sample():
    X, types, _ = people(20)
    cloud = otfair.PointCloud(X).with_receivers([0, 1, 2])
    fair = otfair.DemographicParity().constraints(types)
    t = otfair.smooth_otf(np.linspace(0.1, 0.9, 20), cloud, fair, EPS)
    assert t.converged
    for ask in (lambda: t.fair_scores, lambda: t.plan(), lambda: t.transport_cost):
        with pytest.raises(ValueError, match="sample of the people receives"):
            ask()
    with pytest.raises(ValueError, match="sample of the people receives"):
        cloud.nearest_distances(types)
    with pytest.raises(ValueError, match="same people; there are 20 and 3"):
        otfair.PointCloud(X, X[:3]).with_receivers([0])
