"""Gaps between neighbours of different groups, against all pairs, one by one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

import otfair
from otfair import neighbour_gap, neighbour_gap_by_group
from otfair.geometry.costs import _cost
from otfair.metrics import Crowd, find_gaps

approx = pytest.approx


def one_by_one(h, C, groups, k, w=None, strata=None):
    """Absolute and signed gap and distance of each person, from the whole cost matrix."""
    n = len(h)
    w = np.ones(n) if w is None else w
    strata = np.zeros(n) if strata is None else strata
    out = np.full((3, n), np.nan)
    for i in range(n):
        others = np.flatnonzero((groups != groups[i]) & (strata == strata[i]) & (w > 0))
        if not len(others) or not w[i]:
            continue
        left, sums = float(k), np.zeros(4)
        d = np.round(C[i, others], 9)
        for distance in np.unique(d):  # all who are equally far share what is left
            some = others[d == distance]
            share = min(1.0, left / w[some].sum())
            part = share * w[some]
            sums += [
                part.sum(),
                part @ np.abs(h[i] - h[some]),
                part @ (h[i] - h[some]),
                part @ C[i, some],
            ]
            left -= part.sum()
            if left <= 1e-12:
                break
        out[:, i] = sums[1:] / sums[0]
    return out


def crowd(seed: int):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 60))
    # On a grid no two distances are nearly equal, which the library calls equal to six digits.
    X = np.round(rng.normal(size=(n, int(rng.integers(1, 4)))), 1)
    if rng.random() < 0.6:
        X = np.round(X)  # identical people, and people who are equally far
    groups = np.r_[0, 1, rng.integers(0, int(rng.integers(2, 5)), n - 2)]
    h = rng.choice([0.1, 0.4, 0.9], n) if rng.random() < 0.3 else rng.uniform(size=n)
    strata = np.r_[0, 0, rng.integers(0, 2, n - 2)]
    return X, groups, h, strata, int(rng.integers(1, 8)), rng


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_each_person_is_compared_with_their_nearest(seed):
    X, groups, h, strata, k, rng = crowd(seed)
    weights = [np.ones(len(h)), rng.integers(0, 4, len(h)) * 1.0, rng.uniform(0, 2, len(h))]
    geometry = otfair.PointCloud(X)
    C = cdist(X, X) / geometry.scale_
    for w in weights:
        for s in (np.zeros(len(h), dtype=int), strata):
            people = Crowd(h, groups, s, w)
            found = find_gaps(geometry, people, people, k)
            expected = one_by_one(h, C, groups, k, w, s)
            np.testing.assert_allclose(found.absolute, expected[0], atol=1e-9)
            np.testing.assert_allclose(found.signed, expected[1], atol=1e-9)
            np.testing.assert_allclose(found.distance, expected[2], atol=1e-6)


def test_blocks_do_not_matter(monkeypatch):
    X, groups, h, strata, k, _ = crowd(3)
    people = Crowd(h, groups, strata, np.ones(len(h)))
    whole = find_gaps(otfair.PointCloud(X), people, people, k)
    for module in (_cost, otfair.geometry._geometry):
        monkeypatch.setattr(module, "BLOCK_ENTRIES", 7)
    parts = find_gaps(otfair.PointCloud(X), people, people, k)
    np.testing.assert_allclose(parts.absolute, whole.absolute, atol=1e-12)


def test_others_than_those_who_look_may_be_compared_with():
    X, groups, h, strata, k, _ = crowd(5)
    people, some = Crowd(h, groups, strata, np.ones(len(h))), np.array([0, 3, 1])
    geometry = otfair.PointCloud(X)
    whole = find_gaps(geometry, people, people, k)
    part = find_gaps(
        otfair.PointCloud(X[some], X, scale=geometry.scale_), people.take(some), people, k
    )
    np.testing.assert_allclose(part.absolute, whole.absolute[some], atol=1e-12)


def test_by_hand():
    # Two women at 0 and 10, three men at 1, 2 and 10. With one neighbour each:
    X = np.array([[0.0], [10.0], [1.0], [2.0], [10.0]])
    sex, h = ["f", "f", "m", "m", "m"], [0.2, 0.5, 0.6, 0.3, 0.9]
    found = neighbour_gap_by_group(h, X, {"sex": sex}, n_neighbors=1)
    assert found["attribute"].tolist() == ["sex", "sex"]
    assert found["group"].tolist() == ["sex=f", "sex=m"]
    assert found["weight"].tolist() == [2, 3]
    np.testing.assert_allclose(found["gap"], [(0.4 + 0.4) / 2, (0.4 + 0.1 + 0.4) / 3])
    np.testing.assert_allclose(found["more"], [-(0.4 + 0.4) / 2, (0.4 + 0.1 + 0.4) / 3])
    np.testing.assert_allclose(found["distance"], [0.05, 0.1], atol=1e-12)
    assert neighbour_gap(h, X, {"sex": sex}, n_neighbors=1) == approx(1.7 / 5)


def test_a_model_that_scores_people_alike_who_are_alike_has_no_gap_however_unequal_groups_are():
    rng = np.random.default_rng(0)
    place = rng.integers(0, 20, 4000)
    sex = rng.random(4000) < 0.1 + 0.04 * place  # at each place there are five of both
    h = 0.05 * place
    assert otfair.pdp_violation(h, sex) > 0.2
    assert neighbour_gap(h, np.eye(20)[place], sex) == approx(0, abs=1e-12)
    # What sex itself adds is found, in whose favour too.
    table = neighbour_gap_by_group(0.5 * h + 0.2 * sex, np.eye(20)[place], sex)
    np.testing.assert_allclose(table["gap"], 0.2, atol=1e-9)
    np.testing.assert_allclose(table["more"], [-0.2, 0.2], atol=1e-9)


@pytest.mark.parametrize("with_labels", [False, True])
def test_weights_are_copies(with_labels):
    data = otfair.load_dataset("synthetic", n=150)
    weight = np.random.default_rng(0).integers(0, 4, 150)
    copies = np.repeat(np.arange(150), weight)
    labels = data.y if with_labels else None
    S = data.sensitive_features[["sex", "origin"]]
    once = neighbour_gap_by_group(data.truth.scores, data.X, S, labels=labels, sample_weight=weight)
    many = neighbour_gap_by_group(
        data.truth.scores[copies], data.X.iloc[copies].reset_index(drop=True),
        S.iloc[copies].reset_index(drop=True), labels=data.y[copies] if with_labels else None,
    )  # fmt: skip
    pd.testing.assert_frame_equal(once, many, atol=1e-9)


def test_features_are_encoded_and_of_several_columns_the_largest_counts():
    data = otfair.load_dataset("synthetic", n=300)
    h, S = data.truth.scores, data.sensitive_features[["sex", "origin"]]
    points = otfair.TableEncoder().fit_transform(data.X)
    C = cdist(points, points)
    by_column = []
    for name in S:
        codes = np.unique(S[name].astype(str), return_inverse=True)[1]
        by_column.append(np.nanmean(one_by_one(h, C, codes, 5)[0]))
        assert neighbour_gap(h, data.X, S[name]) == approx(by_column[-1], abs=1e-9)
    assert neighbour_gap(h, data.X, S) == approx(max(by_column), abs=1e-9)
    for geometry in (otfair.PointCloud(points), otfair.CostMatrix(C)):
        assert neighbour_gap(h, geometry, S) == approx(max(by_column), abs=1e-9)
    within = np.nanmean(one_by_one(h, C, codes, 5, strata=data.y)[0])
    assert neighbour_gap(h, data.X, S["origin"], labels=data.y) == approx(within, abs=1e-9)


def test_arrays_of_any_kind_and_order_give_the_same():
    data = otfair.load_dataset("synthetic", n=120)
    h, sex = data.truth.scores, data.sensitive_features["sex"]
    expected = neighbour_gap(h, data.X, sex)
    as_polars = pl.from_pandas(data.X)
    assert neighbour_gap(torch.tensor(h), as_polars, sex.tolist()) == approx(expected)
    order = np.random.default_rng(0).permutation(120)
    mixed = neighbour_gap(h[order], as_polars[order], sex.to_numpy()[order])
    assert mixed == approx(expected, abs=1e-9)
    assert neighbour_gap(3 * h - 1, data.X, sex) == approx(3 * expected)


def test_people_who_lack_a_group_or_a_label_have_no_part():
    data = otfair.load_dataset("synthetic", n=200)
    sex = data.sensitive_features["sex"].astype(object).copy()
    y = pd.Series(data.y.astype(object))
    sex.iloc[:5], y.iloc[5:9] = None, None
    kept = np.arange(9, 200)
    rest = (data.truth.scores[kept], data.X.iloc[kept].reset_index(drop=True))
    expected = neighbour_gap(*rest, sex.iloc[kept].tolist(), labels=data.y[kept])
    assert neighbour_gap(data.truth.scores, data.X, sex, labels=y) == approx(expected, abs=1e-9)


def test_a_group_alone_in_its_label_is_not_compared_there():
    X, h = np.arange(6.0)[:, None], np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.9])
    groups, labels = list("aabbcc"), [0, 0, 0, 0, 1, 1]
    found = neighbour_gap_by_group(h, X, groups, labels=labels)
    assert found["weight"].tolist() == [2, 2, 0]
    assert found["gap"].isna().tolist() == [False, False, True]
    assert neighbour_gap(h, X, groups, labels=labels) == approx(0.2)  # all of the other group
    with pytest.raises(ValueError, match="nobody has a neighbour of another group"):
        neighbour_gap(h, X, list("aaabbb"), labels=[0, 0, 0, 1, 1, 1])


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"n_neighbors": 0}, ValueError, "at least 1; received 0"),
        ({"n_neighbors": 2.5}, TypeError, "whole number; received 2.5"),
        ({"sensitive_features": ["a"] * 4}, ValueError, "only one group"),
        ({"sensitive_features": [0.5, 1.5, 2.5, 3.7]}, ValueError, "neighbours are people of an"),
        ({"X": np.zeros((3, 2))}, ValueError, "`X` has 3"),
        ({"X": otfair.CostMatrix(np.zeros((3, 3)))}, ValueError, "3 rows and 3 columns"),
        ({"scores": [0.5] * 3}, ValueError, "`scores` must have one entry"),
        ({"labels": [0, 1, 2, 1]}, ValueError, "must be 0 or 1"),
        ({"sample_weight": [1, -1, 1, 1]}, ValueError, "non-negative"),
    ],
)
def test_bad_input_is_refused_with_a_remedy(change, error, message):
    given = {"scores": [0.1, 0.2, 0.3, 0.4], "X": np.eye(4), "sensitive_features": list("abab")}
    with pytest.raises(error, match=message):
        neighbour_gap(**given | change)
