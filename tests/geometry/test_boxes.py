"""Distances by boxes against those by all pairs: ordinary and hostile geometries, their limits."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch

import otfair
from otfair.geometry import _boxes
from otfair.geometry._distances import NearestDistances, SoftDistances

numba = pytest.importorskip("numba", reason="distances by boxes need Numba")

COSTS = ["euclidean", "sqeuclidean", "cityblock", "cosine", "mahalanobis"]


def by_boxes(monkeypatch, least: int = 0) -> None:
    """Let boxes be used for however few people, and whether they pay or not."""
    monkeypatch.setattr(_boxes, "LEAST_PAIRS", least)
    monkeypatch.setattr(_boxes, "PAYS", 0.0)


def hostile(kind: int, rng: np.random.Generator) -> np.ndarray:
    """Return people who lie oddly."""
    n, p = int(rng.integers(2, 400)), int(rng.integers(1, 150))
    X = rng.normal(size=(n, p))
    if kind == 1:  # all alike
        X[:] = X[0]
    if kind == 2:  # one far away
        X[0] = 1e6
    if kind == 3:  # categories, most of them rare
        X = (rng.random((n, p)) < 0.02).astype(float) * rng.exponential(10, p)
    if kind == 4:  # many twins
        X = X[rng.integers(max(1, n // 20), size=n)]
    if kind == 5:  # far from the origin, near each other
        X = 1e7 + 1e-4 * X
    if kind == 6:  # on a line
        X = np.outer(rng.normal(size=n), rng.normal(size=p))
    if kind == 7:  # of very different widths
        X *= 10.0 ** rng.integers(-8, 8, p)
    return X


def of_types(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray, int]:
    count = int(rng.integers(1, 6))
    weight = np.where(rng.random(n) < 0.1, 0.0, rng.exponential(size=n) ** rng.integers(0, 4))
    weight[0] = 1.0
    return rng.integers(count, size=n), weight, count + int(rng.integers(2))


@pytest.mark.slow
@pytest.mark.parametrize("block", range(8))
def test_boxes_agree_with_all_pairs(block, monkeypatch):
    worst = 0.0
    for seed in range(65 * block, 65 * (block + 1)):  # 520 in all
        rng = np.random.default_rng(seed)
        X = hostile(seed % 8, rng)
        Y = None if rng.random() < 0.5 else hostile(seed % 8, rng)[:, : X.shape[1]]
        if Y is not None and Y.shape[1] < X.shape[1]:
            X = X[:, : Y.shape[1]]
        cost, eps = COSTS[seed % 5], 10.0 ** rng.uniform(-4, 0)
        if cost == "cosine":
            X, Y = X + 1e-3, None if Y is None else Y + 1e-3
        try:
            geometry = otfair.PointCloud(X, Y, cost=cost)
        except ValueError:  # squares that overflow or vanish
            continue
        types, weight, count = of_types(rng, geometry.shape[1])
        plain = geometry.soft_distances(types, eps, weight, count)
        exact = geometry.nearest_distances(types, weight, count)
        mass = torch.as_tensor(rng.random(plain.values.shape))
        with monkeypatch.context() as patched:
            by_boxes(patched)
            soft = SoftDistances.of(geometry, plain.columns, eps)
            near = NearestDistances.of(geometry, plain.columns)
        assert soft.boxes is not None
        finite = plain.values.isfinite()
        assert torch.equal(finite, soft.values.isfinite())
        off = ((soft.values - plain.values)[finite].abs() / eps).max()
        rounding = 1e-6 / eps if seed % 8 in (5, 7) else 1e-9 / eps  # of the plain pass
        assert off <= 1e-3 + rounding, (seed, cost, float(off))
        worst = max(worst, float(off))
        torch.testing.assert_close(near.values, exact.values, rtol=1e-6, atol=1e-7)
        # Whoever is said to be nearest is as near as the nearest one.
        row = np.arange(geometry.shape[0])
        for k in range(count):
            if finite[:, k].all():
                costs = geometry.cost_matrix()[row, near.person[:, k]]
                torch.testing.assert_close(costs, exact.values[:, k], rtol=1e-6, atol=1e-7)
                assert (types[near.person[:, k]] == k).all()
        mass = torch.where(finite, mass, 0.0)
        torch.testing.assert_close(soft.mean_cost, plain.mean_cost, rtol=3e-3, atol=1e-5)
        got, want = soft.column_mass(mass), plain.column_mass(mass)
        assert float((got - want).abs() @ torch.as_tensor(weight)) <= 3e-3 * float(mass.sum())
    assert worst > 0 or block == 1


@pytest.mark.parametrize("eps", [1e-9, 1e-3, 1e3])
@pytest.mark.parametrize("cost", COSTS)
def test_weights_of_many_decades_and_twins_of_other_types(cost, eps, monkeypatch):
    # The heaviest may be far away, and count for more than all who are near.
    rng = np.random.default_rng(0)
    X = np.hstack([np.eye(7)[rng.integers(7, size=300)], rng.normal(size=(300, 2))])
    X = np.vstack([X, X])  # twins of the other type
    types, weight = np.repeat([0, 1], 300), 10.0 ** rng.uniform(-12, 12, 600)
    cloud = otfair.PointCloud(X, cost=cost)
    plain = cloud.soft_distances(types, eps, weight)
    by_boxes(monkeypatch)
    soft = SoftDistances.of(cloud, plain.columns, eps)
    assert soft.boxes is not None
    off = (soft.values - plain.values) / eps
    assert float(off.abs().max()) <= 1e-3 + 1e-13 / eps  # rounding of the plain pass
    assert float(NearestDistances.of(cloud, plain.columns).values.max()) == 0.0


def test_categories_are_as_near_as_by_all_pairs(monkeypatch):
    # Of many rare categories the tree is deep, and its leaves are alike in most columns.
    rng = np.random.default_rng(1)
    kinds = [np.eye(40)[np.minimum(rng.geometric(0.1, 3000), 40) - 1] for _ in range(3)]
    X, types = np.hstack([*kinds, rng.normal(size=(3000, 1))]), rng.integers(3, size=3000)
    cloud = otfair.PointCloud(X)
    plain = cloud.soft_distances(types, 1e-3)
    by_boxes(monkeypatch)
    soft = SoftDistances.of(cloud, plain.columns, 1e-3)
    near = NearestDistances.of(cloud, plain.columns)
    assert float((soft.values - plain.values).abs().max()) <= 1e-6
    for i in range(0, 3000, 10):  # by subtraction, which all pairs do for the nearest ones alone
        least = [np.sqrt(((X[types == k] - X[i]) ** 2).sum(1).min()) for k in range(3)]
        np.testing.assert_allclose(near.values[i] * cloud.scale_, least, rtol=1e-13)


def test_boxes_are_used_where_they_pay(monkeypatch):
    rng = np.random.default_rng(0)
    near = rng.normal(size=(3000, 2))  # of two features, few are near
    noise = rng.normal(size=(3000, 60))  # of sixty without structure, all are about as far
    monkeypatch.setattr(_boxes, "LEAST_PAIRS", 0)
    types = rng.integers(2, size=3000)
    assert otfair.PointCloud(near).soft_distances(types, 1e-3).boxes is not None
    assert otfair.PointCloud(noise).soft_distances(types, 1e-1).boxes is None
    cost = lambda X, Y: torch.cdist(X, Y)
    assert otfair.PointCloud(near, cost=cost).soft_distances(types, 1e-3).boxes is None
    monkeypatch.setattr(_boxes, "LEAST_PAIRS", 3000**2 + 1)
    assert otfair.PointCloud(near).soft_distances(types, 1e-3).boxes is None


def test_threads_change_no_digit_and_are_left_as_they_were(monkeypatch):
    by_boxes(monkeypatch)
    X = np.random.default_rng(0).normal(size=(2000, 3))
    types = (X[:, 0] > 0).astype(int)
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            found.append(otfair.PointCloud(X).soft_distances(types, 1e-3))
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    assert torch.equal(found[0].values, found[1].values)
    mass = torch.ones_like(found[0].values)
    torch.testing.assert_close(found[0].column_mass(mass), found[1].column_mass(mass))


def test_without_numba_all_pairs_are_gone_through(monkeypatch):
    by_boxes(monkeypatch)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    X = np.random.default_rng(0).normal(size=(50, 3))
    assert otfair.PointCloud(X).soft_distances(np.arange(50) % 2, 1e-3).boxes is None


def test_rows_and_merged_types_of_distances_by_boxes(monkeypatch):
    rng = np.random.default_rng(0)
    X, types = rng.normal(size=(500, 3)), rng.integers(4, size=500)
    plain = otfair.PointCloud(X)
    plain.soft_distances(types, 1e-2)
    by_boxes(monkeypatch)
    cloud = otfair.PointCloud(X)
    cloud.soft_distances(types, 1e-2)
    some, union = rng.permutation(500)[:70], torch.tensor([0, 1, 1, 0])
    mass = torch.as_tensor(rng.random((70, 2)))
    for of in (lambda g: g.rows(some).merged(union, 2), lambda g: g.merged(union, 2).rows(some)):
        a, b = (of(g)._cached_soft for g in (cloud, plain))
        torch.testing.assert_close(a.values, b.values, rtol=0, atol=1e-5)
        torch.testing.assert_close(a.mean_cost, b.mean_cost, rtol=3e-3, atol=1e-6)
        torch.testing.assert_close(a.column_mass(mass), b.column_mass(mass), rtol=3e-3, atol=1e-4)


def test_a_model_is_the_same_by_boxes(monkeypatch):
    data = otfair.load_dataset("synthetic", n=600)
    options = {"alpha": 0.5, "epsilon": 1e-2}
    fit = lambda: otfair.OTFClassifier(**options).fit(
        np.asarray(otfair.TableEncoder().fit_transform(data.X)), data.y,
        sensitive_features=data.sensitive_features["sex"],
    )  # fmt: skip
    plain = fit()
    by_boxes(monkeypatch)
    np.testing.assert_allclose(fit().coef_, plain.coef_, rtol=1e-2, atol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["adult", "bank", "dutch", "diabetes", "acs_income"])
def test_boxes_agree_with_all_pairs_of_real_people(name, data_home, monkeypatch):
    data = otfair.load_dataset(name, data_home, download=False)
    some = np.random.default_rng(0).permutation(len(data.y))[:3000]
    X = np.asarray(otfair.TableEncoder().fit_transform(data.X.iloc[some]))
    cloud, types = otfair.PointCloud(X), np.asarray(data.y)[some]
    plain, exact = cloud.soft_distances(types, 1e-3), cloud.nearest_distances(types)
    by_boxes(monkeypatch)
    soft = SoftDistances.of(cloud, plain.columns, 1e-3)
    near = NearestDistances.of(cloud, plain.columns)
    assert soft.boxes is not None
    assert float((soft.values - plain.values).abs().max()) <= 1e-6
    torch.testing.assert_close(near.values, exact.values, rtol=1e-9, atol=1e-12)


def test_people_with_boxes_go_to_other_processes(monkeypatch):
    by_boxes(monkeypatch)
    X, types = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 2
    geometry = otfair.PointCloud(X)
    soft = geometry.soft_distances(types, 0.1)
    assert soft.boxes is not None
    again = pickle.loads(pickle.dumps(geometry))
    assert torch.equal(again.soft_distances(types, 0.1).values, soft.values)


def test_boxes_are_made_once_for_all_rows(monkeypatch):
    by_boxes(monkeypatch)
    X, types = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 2
    geometry, made = otfair.PointCloud(X), []
    own = _boxes.Boxes.__init__
    monkeypatch.setattr(_boxes.Boxes, "__init__", lambda *a: made.append(1) or own(*a))
    whole = geometry.nearest_distances(types).values
    parts = [geometry.rows(some).nearest_distances(types).values for some in (range(20), [5, 40])]
    assert torch.equal(torch.cat(parts), whole[[*range(20), 5, 40]])
    assert len(made) == 1


def test_who_receives_decides_the_boxes_whoever_the_rows_are(monkeypatch):
    # Dask's partitions are such parts of the rows; boxes of many people are split by samples.
    by_boxes(monkeypatch)
    rng = np.random.default_rng(0)
    X, types = np.round(rng.normal(size=(3000, 3)), 1), rng.integers(2, size=3000)
    whole = otfair.PointCloud(X, X)
    part = otfair.PointCloud(X[2000:], X, scale=whole.scale_)
    soft = [cloud.soft_distances(types, 0.02) for cloud in (whole, part)]
    np.testing.assert_array_equal(soft[0].values[2000:], soft[1].values)
    np.testing.assert_allclose(soft[0].mean_cost[2000:], soft[1].mean_cost, rtol=1e-13)
    near = [cloud.nearest_distances(types) for cloud in (whole, part)]
    np.testing.assert_array_equal(near[0].values[2000:], near[1].values)
    np.testing.assert_array_equal(near[0].person[2000:], near[1].person)  # of equals the same one


@pytest.mark.parametrize("decades", [0, 4])
def test_what_is_sent_is_received(decades, monkeypatch):
    by_boxes(monkeypatch)
    rng = np.random.default_rng(1)
    X, group, h = rng.normal(size=(800, 2)), rng.integers(2, size=800), rng.random(800)
    weight = 10.0 ** rng.uniform(-decades, 0, 800)
    fair = otfair.DemographicParity().constraints(group, sample_weight=weight)
    t = otfair.smooth_otf(h, otfair.PointCloud(X), fair, 0.02)
    assert (t.fair_scores * weight).sum() == pytest.approx((h * weight).sum(), rel=1e-12)


def test_a_share_without_rows_has_no_distances(monkeypatch):
    by_boxes(monkeypatch)
    rng = np.random.default_rng(2)
    cloud, types = otfair.PointCloud(rng.normal(size=(300, 2))), rng.integers(2, size=300)
    cloud.soft_distances(types, 0.02)
    nobody = cloud.share(torch.zeros(0, dtype=torch.long))
    assert nobody.soft_distances(types, 0.1).values.shape == (0, 2)
    assert nobody.nearest_distances(types).values.shape == (0, 2)
    assert nobody.comparisons(types, 0.1) == 0


def _few(rng):
    return rng.integers(0, 4, size=(900, 5)) * np.array([1, 1, 7, 2, 3]), 3.7


def _dollars(rng):
    near = 10**6 - rng.integers(0, 300, 700)
    return np.concatenate([near, rng.integers(0, 10**6, 200)])[:, None], 2.3e5


def _clusters(rng):
    return rng.integers(0, 9, size=(900, 2)) + 10**6 * rng.integers(0, 2, size=(900, 1)), 3.7


@pytest.mark.parametrize("cost", ["euclidean", "sqeuclidean", "cityblock"])
@pytest.mark.parametrize("table", [_few, _dollars, _clusters])
def test_of_those_who_are_as_near_the_first_is_named_however_distances_are_made(
    cost, table, monkeypatch
):
    # Whole numbers have many ties, which standardising and products of matrices round apart.
    rng = np.random.default_rng(0)
    whole, spread = table(rng)
    types = rng.integers(3, size=900)
    X = (whole - whole.mean(0)) / spread  # all columns alike, so that ties are as in whole numbers
    gaps = np.abs(whole[:, None] - whole[None])
    size = gaps.sum(2) if cost == "cityblock" else (gaps**2).sum(2)
    among = [np.where(types == k, size, size.max() + 1) for k in range(3)]
    first = np.stack([part.argmin(1) for part in among], axis=1)
    ties = np.stack([(part == part.min(1)[:, None]).sum(1) for part in among])
    assert (ties > 1).mean() > 0.2
    part = slice(300, 520)
    found = [otfair.PointCloud(X, cost=cost).nearest_distances(types).person]
    found.append(otfair.PointCloud(X[part], X, cost=cost).nearest_distances(types).person)
    with monkeypatch.context() as patched:
        by_boxes(patched)
        found.append(otfair.PointCloud(X, cost=cost).nearest_distances(types).person)
        found.append(otfair.PointCloud(X[part], X, cost=cost).nearest_distances(types).person)
    for k, person in enumerate(found):
        np.testing.assert_array_equal(person, first[part] if k % 2 else first)


def test_of_people_in_one_direction_the_first_is_named(monkeypatch):
    # By the cosine multiples of one another are at distance zero, but for rounding.
    rng = np.random.default_rng(0)
    W = 0.1 * rng.integers(1, 4, size=(400, 2)) * rng.integers(1, 8, size=(400, 1))
    types = rng.integers(2, size=400)
    unit = np.round(W[:, 0] / W[:, 1], 6)
    same = unit[:, None] == unit[None]
    first = np.stack([(same & (types == k)).argmax(1) for k in range(2)], axis=1)
    for boxes in (False, True):
        with monkeypatch.context() as patched:
            if boxes:
                by_boxes(patched)
            near = otfair.PointCloud(W, cost="cosine").nearest_distances(types)
        np.testing.assert_array_equal(near.person, first)
