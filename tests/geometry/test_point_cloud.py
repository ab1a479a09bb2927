"""Costs are those of scipy, exact where people are near, whatever the size of a block."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import cloud
from scipy.spatial.distance import cdist

import otfair
from otfair import PointCloud
from otfair.geometry import _geometry as geometry_module
from otfair.geometry import _point_cloud as cloud_module
from otfair.geometry._point_cloud import distinct_rows
from otfair.geometry.costs import _squares as squares_module

COSTS = ["euclidean", "sqeuclidean", "cityblock", "cosine", "mahalanobis"]


def dense(X: np.ndarray, Y: np.ndarray | None, cost: str) -> np.ndarray:
    """The whole unscaled matrix by scipy."""
    everybody = X if Y is None else np.vstack([X, Y])
    Y = X if Y is None else Y
    if cost == "mahalanobis":
        VI = np.linalg.pinv(np.atleast_2d(np.cov(everybody.T)))
        return cdist(X, Y, cost, VI=VI)
    return cdist(X, Y, cost)


def small_blocks(monkeypatch: pytest.MonkeyPatch, entries: int) -> None:
    for module in (geometry_module, cloud_module, squares_module):
        monkeypatch.setattr(module, "BLOCK_ENTRIES", entries)


@pytest.mark.parametrize("cost", COSTS)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), other=st.booleans())
def test_costs_are_those_of_scipy(cost, seed, other):
    X = cloud(seed)
    Y = cloud(seed + 1)[:, : X.shape[1]] if other else None
    if other and Y.shape[1] < X.shape[1]:
        X = X[:, : Y.shape[1]]
    C = dense(X, Y, cost)
    geometry = PointCloud(X, Y, cost=cost, scale=None)
    assert geometry.shape == C.shape
    np.testing.assert_allclose(geometry.cost_matrix().numpy(), C, rtol=1e-7, atol=1e-7 * C.max())


@pytest.mark.parametrize("cost", [*COSTS, "function"])
@pytest.mark.parametrize("other", [False, True])
def test_small_blocks_give_the_same_numbers_and_none_is_larger(cost, other, monkeypatch):
    function = lambda x, y: (x[:, None] - y).abs().sum(2) ** 0.5
    cost = function if cost == "function" else cost
    X = np.round(cloud(3, 50), 1)
    Y = X[10:37] if other else None
    types = np.arange(27 if other else 50) % 3
    whole = PointCloud(X, Y, cost=cost)
    expected = (
        whole.cost_matrix(),
        whole.soft_distances(types, 0.1).values,
        whole.soft_distances(types, 0.1).mean_cost,
        whole.nearest_distances(types).values,
    )
    small_blocks(monkeypatch, 60)
    small = PointCloud(X, Y, cost=cost)
    assert small.scale_ == pytest.approx(whole.scale_, rel=1e-14)
    sizes = [block.numel() for _, _, block in small.blocks()]
    assert max(sizes) <= 60
    assert sum(sizes) == len(small.row_points) * small.n_column_points
    got = (
        small.cost_matrix(),
        small.soft_distances(types, 0.1).values,
        small.soft_distances(types, 0.1).mean_cost,
        small.nearest_distances(types).values,
    )
    for a, b in zip(got, expected):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-12)


def test_a_pass_asks_for_blocks_within_the_limit_and_never_for_the_whole_matrix(monkeypatch):
    asked = []

    def cost(x, y):
        asked.append(len(x) * len(y))
        return torch.cdist(x, y)

    X = np.random.default_rng(0).normal(size=(300, 2))
    small_blocks(monkeypatch, 3000)
    geometry = PointCloud(X, cost=cost)
    geometry.soft_distances(np.arange(300) % 2, 0.1)
    geometry.nearest_distances(np.arange(300) % 2)
    assert max(asked) <= 3000


def test_one_person_far_away_does_not_make_all_others_be_recomputed_pair_by_pair(monkeypatch):
    # Next to a norm of 1e7 every other pair is near; gathering them all would take p blocks.
    X = np.random.default_rng(0).normal(size=(200, 30))
    X[0] = 1e7
    small_blocks(monkeypatch, 2000)
    gathered = []
    square = torch.Tensor.square
    monkeypatch.setattr(
        torch.Tensor, "square", lambda self: gathered.append(self.numel()) or square(self)
    )
    geometry = PointCloud(X, scale=None)
    gathered.clear()
    C = geometry.cost_matrix().numpy()
    assert max(gathered, default=0) <= 2000
    np.testing.assert_allclose(C, cdist(X, X), rtol=1e-12)


@pytest.mark.parametrize("cost", COSTS)
def test_identical_people_are_at_distance_exactly_zero(cost):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 7)) * 10.0 ** rng.integers(-3, 4, 7)
    index = rng.integers(0, 40, 200)
    same = index[:, None] == index
    C = PointCloud(X[index], cost=cost).cost_matrix().numpy()
    assert (C[same] == 0).all()
    assert (C[~same] > 0).all()
    rows, columns = index[:90], index[90:]
    C = PointCloud(X[rows], X[columns], cost=cost).cost_matrix().numpy()
    same = rows[:, None] == columns
    assert same.any()
    assert (C[same] == 0).all()
    assert (C[~same] > 0).all()


@pytest.mark.parametrize("cost", COSTS)
def test_minus_zero_is_zero(cost):
    X = np.array([[0.0, 1.0], [-0.0, 1.0], [2.0, -0.0], [2.0, 0.0], [3.0, 1.0]])
    for geometry in (PointCloud(X, cost=cost), PointCloud(X[::2], X[1::2], cost=cost)):
        C = geometry.cost_matrix().numpy()
        assert C[0, 0 if C.shape == (3, 2) else 1] == 0
    assert len(PointCloud(X, cost=cost).row_points) == 3


@pytest.mark.parametrize("cost", ["euclidean", "sqeuclidean", "cityblock"])
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6])
def test_near_distances_are_right_to_rounding_beside_far_people(cost, offset):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 5))
    X *= 1e3 / np.linalg.norm(X, axis=1, keepdims=True)
    X = np.vstack([X, X + 1e-9 * rng.normal(size=X.shape)]) + offset
    C = PointCloud(X, cost=cost, scale=None).cost_matrix().numpy()
    exact = cdist(X, X, cost)  # by differences
    near = (exact < 1) & (exact > 0)
    assert near.any()
    np.testing.assert_allclose(C[near], exact[near], rtol=1e-13)
    np.testing.assert_allclose(C, exact, rtol=1e-7)


def test_a_narrow_cone_has_accurate_cosine_costs_and_scale():
    X = 1 + 1e-6 * np.random.default_rng(3).normal(size=(80, 4))
    U = X.astype(np.longdouble)
    U /= np.sqrt((U**2).sum(1, keepdims=True))
    exact = (((U[:, None] - U) ** 2).sum(2) / 2).astype(float)
    geometry = PointCloud(X, cost="cosine")
    assert geometry.scale_ == pytest.approx(exact.max(), rel=1e-8)
    C = geometry.cost_matrix().numpy() * geometry.scale_
    np.testing.assert_allclose(C, exact, atol=1e-8 * exact.max())


# Scales.


@pytest.mark.parametrize("cost", COSTS)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), other=st.booleans())
def test_scales_are_the_largest_mean_and_median_of_all_pairs(cost, seed, other):
    X = cloud(seed)
    Y = X[:: 1 + seed % 3] * 1.5 if other else None
    C = dense(X, Y, cost)
    if C.max() < 1e-12:  # everybody is identical, as scipy sees it up to rounding
        C = np.ones_like(C)
    scales = {s: PointCloud(X, Y, cost=cost, scale=s).scale_ for s in ("max", "mean", "median")}
    # scipy's own Mahalanobis distance squares the condition of the covariance.
    assert scales["max"] == pytest.approx(C.max(), rel=1e-6 if cost == "mahalanobis" else 1e-9)
    assert scales["mean"] == pytest.approx(C.mean(), rel=1e-7, abs=1e-7 * C.max())
    median = np.median(C)
    if median > 1e-6 * C.max():
        assert scales["median"] == pytest.approx(median, rel=1e-7, abs=1e-7 * C.max())


coordinate = st.floats(-1, 1).map(lambda x: round(x, 2)) | st.sampled_from([-1e6, 1e-6, 1e6])


@pytest.mark.parametrize("cost", ["euclidean", "cityblock"])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_the_search_for_the_largest_cost_misses_no_pair(cost, data):
    p = data.draw(st.integers(1, 3))
    people = st.lists(st.lists(coordinate, min_size=p, max_size=p), min_size=1, max_size=80)
    X, Y = np.array(data.draw(people)), np.array(data.draw(people))
    assert PointCloud(X, cost=cost).scale_ == pytest.approx(cdist(X, X, cost).max() or 1, rel=1e-9)
    expected = cdist(X, Y, cost).max() or 1
    assert PointCloud(X, Y, cost=cost).scale_ == pytest.approx(expected, rel=1e-9)


def test_the_search_for_the_largest_cost_misses_no_pair_on_a_circle():
    # Everybody is as far from the centre, so that nothing can be left out early.
    angle = np.random.default_rng(0).uniform(0, 2 * np.pi, 3000)
    X = np.stack([np.cos(angle), np.sin(angle)], 1)
    assert PointCloud(X).scale_ == pytest.approx(cdist(X, X).max(), rel=1e-12)
    half = X[X[:, 0] > 0]
    assert PointCloud(half).scale_ == pytest.approx(cdist(half, half).max(), rel=1e-12)
    assert PointCloud(half, X).scale_ == pytest.approx(cdist(half, X).max(), rel=1e-12)


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("scale", ["max", "mean", "median"])
def test_people_who_are_all_identical_have_scale_one(cost, scale):
    for n in (1, 5):
        geometry = PointCloud(np.full((n, 3), 0.1), cost=cost, scale=scale)
        assert geometry.scale_ == 1.0
        assert not geometry.cost_matrix().any()


# A cost of one's own.


def test_a_function_is_called_on_blocks_of_people_and_may_be_asymmetric():
    X, Y = cloud(7, 20), cloud(8, 15)
    p = min(X.shape[1], Y.shape[1])
    X, Y = X[:, :p], Y[:, :p]
    function = lambda x, y: (x[:, :1] - 2 * y[:, 0]).clamp_min(0)
    C = np.maximum(X[:, :1] - 2 * Y[:, 0], 0)
    geometry = PointCloud(X, Y, cost=function, scale=None)
    np.testing.assert_allclose(geometry.cost_matrix().numpy(), C)
    geometry = PointCloud(X, Y, cost=lambda x, y: function(x, y).numpy(), scale="max")
    assert geometry.scale_ == C.max()
    np.testing.assert_allclose(geometry.cost_matrix().numpy(), C / C.max())


def test_people_who_differ_may_be_alike_by_the_cost():
    geometry = PointCloud([[-0.05], [-1.1], [-3e200]], cost="cosine")
    assert geometry.scale_ == 1.0
    assert not geometry.cost_matrix().any()


def test_a_function_may_be_learned():
    metric = torch.nn.Linear(2, 3, dtype=torch.float64)
    X = np.random.default_rng(0).normal(size=(6, 2))
    geometry = PointCloud(X, cost=lambda x, y: torch.cdist(metric(x), metric(y)), scale=None)
    Z = metric(torch.as_tensor(X)).detach()
    np.testing.assert_allclose(geometry.cost_matrix(), torch.cdist(Z, Z), atol=1e-12)
    fair = otfair.DemographicParity().constraints(list("aabbab"))
    for cost in (otfair.exact_otf, otfair.adjusted_otf):
        assert cost([0.9, 0.6, 0.5, 0.2, 0.4, 0.3], geometry, fair).value > 0


@pytest.mark.parametrize("wrap", [np.array, torch.tensor, pd.DataFrame, list])
def test_features_may_come_in_any_container(wrap):
    X = [[0.0, 0.0], [3.0, 4.0]]
    assert PointCloud(wrap(X)).scale_ == 5.0
    assert PointCloud(wrap(X), wrap(X[:1])).shape == (2, 1)


# Distinct people.


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_distinct_rows_are_those_of_numpy(seed):
    rng = np.random.default_rng(seed)
    X = rng.choice([0.0, -0.0, 1.0, 2.0, 1e-300], size=(int(rng.integers(1, 40)), 3))
    first, index = distinct_rows(torch.tensor(X))
    _, expected = np.unique(X + 0.0, axis=0, return_inverse=True)
    same = expected.reshape(-1)[:, None] == expected.reshape(-1)
    np.testing.assert_array_equal(index.numpy()[:, None] == index.numpy(), same)
    np.testing.assert_array_equal(X[first.numpy()][index.numpy()], X)
    assert first.numpy()[index.numpy()].tolist() == same.argmax(1).tolist()


def test_rows_whose_keys_agree_are_told_apart_by_their_values(monkeypatch):
    # With multipliers of one, the key of a row is that of its entries in any order.
    ones = SimpleNamespace(integers=lambda high, size: np.zeros(size, dtype=np.int64))
    monkeypatch.setattr(np.random, "default_rng", lambda seed: ones)
    first, index = distinct_rows(torch.tensor([[2.0, 1.0], [1.0, 2.0], [2.0, 1.0], [3.0, 3.0]]))
    assert first[index].tolist() == [0, 1, 0, 3]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0, 2.0],), "`X` must have 2 dimension"),
        (([[1.0, np.nan]],), r"`X` must be finite.*\(0, 1\)"),
        (([["a"]],), "`X` must be numeric"),
        ((np.zeros((0, 2)),), "empty"),
        ((np.zeros((2, 0)),), "empty"),
        ((np.zeros((2, 2)), np.zeros((0, 2))), "empty"),
        (
            (np.zeros((2, 2)), np.zeros((2, 3))),
            r"same features .* \(2, 2\) and \(2, 3\)",
        ),
        ((np.zeros((2, 2)), [[1.0, np.inf]]), "`Y` must be finite"),
        ((np.eye(2), None, 3), "unknown cost 3; pass one of euclidean"),
        ((np.eye(2), None, "manhattan"), "unknown cost 'manhattan'; pass one of euclidean"),
        ((np.eye(2), None, "euclidean", "largest"), "unknown scale 'largest'"),
        ((np.eye(2), None, "euclidean", 0), "`scale` must be positive"),
        ((np.eye(2), None, "euclidean", -1.0), "`scale` must be positive"),
        ((np.eye(2), None, "euclidean", np.inf), r"`scale` must lie in \[1e-100, 1e\+100\]"),
        ((np.eye(2), None, "euclidean", np.nan), "`scale` must be positive"),
        (([[0.0, 0.0], [1.0, 0.0]], None, "cosine"), "undefined for people whose features are all"),
        ((1e200 * np.eye(2),), "overflow or vanish; rescale"),
        ((1e-200 * np.eye(2),), "overflow or vanish; rescale"),
        ((1e-160 * np.eye(2), None, "sqeuclidean"), "overflow or vanish; rescale"),
        ((np.eye(3), None, lambda x, y: x[:, :2]), r"\(3, 3\); it returned \(3, 2\)"),
        ((np.eye(2), None, lambda x, y: -torch.cdist(x, y)), "negative, NaN or infinite"),
        ((np.eye(2), None, lambda x, y: torch.cdist(x, y) / 0), "negative, NaN or infinite"),
    ],
)
def test_a_cloud_that_makes_no_sense_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        PointCloud(*arguments)


@pytest.mark.parametrize("cost", COSTS)
def test_features_that_are_not_copied_cost_the_same(cost):
    X = np.random.default_rng(0).normal(size=(40, 3)) + 2
    X[7] = X[3]  # a twin
    types, weight = np.arange(40) % 3, np.linspace(0, 2, 40)
    own, kept = (PointCloud(X, cost=cost, copy=copy) for copy in (True, False))
    rows = np.array([9, 7, 3, 30])
    for a, b in ((own, kept), (own.rows(rows), kept.rows(rows)), (own.take(rows), kept.take(rows))):
        torch.testing.assert_close(a.cost_matrix(), b.cost_matrix(), rtol=1e-12, atol=1e-14)
    first, second = (
        [g.soft_distances(types, 0.1, weight).values, g.nearest_distances(types).values]
        for g in (own, kept)
    )
    torch.testing.assert_close(first, second, rtol=1e-12, atol=1e-14)
    Y = X[10:20]
    a, b = (PointCloud(X, Y, cost=cost, copy=copy) for copy in (True, False))
    torch.testing.assert_close(a.cost_matrix(), b.cost_matrix(), rtol=1e-12, atol=1e-14)


HELD = """
import resource, sys
import numpy as np
import otfair

def peak():  # bytes, as Linux counts kilobytes
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

otfair.PointCloud(np.eye(3))
X = np.random.default_rng(0).normal(size=(40_000, 250))
X[0] = 100.0  # so far away that nobody searches for the largest distance: this is of memory
for _ in range(3):
    np.ones(3_000_000).sum()  # large pieces that come and go, as in any process
before = peak()
otfair.PointCloud(X)
print((peak() - before) / X.nbytes)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="sizes are counted as Linux does")
def test_many_people_take_the_memory_of_one_copy():
    # Small results between large pieces left holes: once more the size of the people.
    done = subprocess.run(
        [sys.executable, "-c", HELD], capture_output=True, text=True, check=True, timeout=120
    )
    assert float(done.stdout) < 1.5
