"""Distances to types are those of a dense log-sum-exp, and what is sent to a type adds up."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

from otfair import CostMatrix, PointCloud
from otfair.geometry import _distances as distances_module
from otfair.geometry import _geometry as geometry_module


class Case:
    """Random people with types and weights, and the dense answers."""

    def __init__(self, seed: int, n_types: int | None = None):
        rng = np.random.default_rng(seed)
        n, m = (int(v) for v in rng.integers(2, 40, 2))
        p = int(rng.integers(1, 4))
        X = rng.normal(size=(n, p))
        Y = np.vstack([rng.normal(size=(m, p)), X[: n // 2]])
        if rng.random() < 0.5:  # many identical people, in rows, columns and both
            X, Y = np.round(X), np.round(Y)
        if rng.random() < 0.3:
            Y = X
        m = len(Y)
        self.K = int(rng.integers(1, 6)) if n_types is None else n_types
        self.types = rng.integers(0, self.K, m)
        self.weight = [np.ones(m), rng.integers(0, 3, m), rng.random(m)][int(rng.integers(3))]
        self.weight = self.weight.astype(float)
        self.weight[0] = 1.0
        self.epsilon = float(10 ** rng.uniform(-4, 1))
        self.geometry = PointCloud(X, Y) if Y is not X else PointCloud(X)
        self.C = self.geometry.cost_matrix().numpy()
        open_ = np.bincount(self.types, self.weight, self.K) > 0
        mass = rng.dirichlet(np.full(self.K, 0.5), len(X)) * rng.random((len(X), 1)) * open_
        mass[rng.random(mass.shape) < 0.2] = 0
        mass[0, self.types[0]] = 0.5
        self.mass = mass

    def soft(self):
        return self.geometry.soft_distances(self.types, self.epsilon, self.weight, self.K)

    def nearest(self):
        return self.geometry.nearest_distances(self.types, self.weight, self.K)

    @property
    def D(self) -> np.ndarray:
        with np.errstate(divide="ignore"):
            logw = np.log(self.weight)
        out = np.full((len(self.C), self.K), np.inf)
        for k in range(self.K):
            among = (self.types == k) & (self.weight > 0)
            if among.any():
                exponent = logw[among] - self.C[:, among] / self.epsilon
                out[:, k] = -self.epsilon * logsumexp(exponent, axis=1)
        return out

    @property
    def share(self) -> np.ndarray:
        """Share of column j in what row i sends to j's type."""
        exponent = np.where(self.weight > 0, self.D[:, self.types] - self.C, 0) / self.epsilon
        return self.weight * np.exp(exponent)

    @property
    def plan(self) -> np.ndarray:
        return self.mass[:, self.types] * self.share


SEEDS = st.integers(0, 10**6)


@settings(max_examples=80, deadline=None)
@given(seed=SEEDS)
def test_soft_distances_are_a_dense_log_sum_exp(seed):
    case = Case(seed)
    D = case.soft()
    assert D.values.shape == (len(case.C), case.K)
    np.testing.assert_allclose(D.values.numpy(), case.D, rtol=1e-12, atol=1e-12)


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS)
def test_more_types_than_are_looped_over_give_the_same_distances(seed):
    case = Case(seed, n_types=int(np.random.default_rng(seed).integers(2, 30)))
    looped = case.soft()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distances_module, "LOOPED_TYPES", 1)
        case.geometry._cached_soft = None
        at_once = case.soft()
    assert at_once is not looped
    torch.testing.assert_close(at_once.values, looped.values, rtol=1e-13, atol=1e-13)


def test_hundreds_of_types_give_the_dense_distances():
    rng = np.random.default_rng(0)
    X, types = rng.normal(size=(400, 2)), rng.permutation(400)
    geometry = PointCloud(X)
    D = geometry.soft_distances(types, 0.01).values.numpy()
    np.testing.assert_allclose(D[:, types], geometry.cost_matrix().numpy(), atol=1e-14)


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS)
def test_nearest_distances_are_minima_and_name_a_nearest_person_with_weight(seed):
    case = Case(seed)
    near = case.nearest()
    for k in range(case.K):
        among = np.flatnonzero((case.types == k) & (case.weight > 0))
        if len(among) == 0:
            assert near.values[:, k].isinf().all()
            assert not near.mean_cost[:, k].any()
            continue
        least = case.C[:, among].min(1)
        # Squares come from products of matrices, which round by their shapes: they are right to the
        # rounding of the largest, 1 by the scale, so that a distance of 1e-4 is to some 1e-12.
        np.testing.assert_allclose(near.values[:, k] ** 2, least**2, rtol=1e-12, atol=2e-15)
        person = near.person[:, k].numpy()
        assert np.isin(person, among).all()
        np.testing.assert_allclose(case.C[np.arange(len(person)), person], least, rtol=1e-12)
        np.testing.assert_array_equal(near.mean_cost[:, k], near.values[:, k])


def test_soft_distances_tend_to_nearest_ones():
    rng = np.random.default_rng(1)
    geometry = PointCloud(rng.normal(size=(50, 3)))
    types = rng.integers(0, 4, 50)
    near = geometry.nearest_distances(types).values
    for epsilon in (1e-2, 1e-4, 1e-6, 1e-9):
        gap = near - geometry.soft_distances(types, epsilon).values
        assert gap.min() >= -1e-15
        assert gap.max() <= epsilon * np.log(50)


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS)
def test_integer_weights_are_copies(seed):
    case = Case(seed)
    copies = np.random.default_rng(seed).integers(0, 4, len(case.types))
    copies[0] = 1
    index = np.repeat(np.arange(len(copies)), copies)
    a = case.geometry.soft_distances(case.types, case.epsilon, copies, case.K)
    copied = CostMatrix(case.C[:, index])
    b = copied.soft_distances(case.types[index], case.epsilon, n_types=case.K)
    torch.testing.assert_close(a.values, b.values, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(a.mean_cost, b.mean_cost, rtol=1e-9, atol=1e-12)


def test_a_type_without_people_or_without_weight_is_infinitely_far():
    geometry = PointCloud(np.arange(4.0)[:, None])
    D = geometry.soft_distances([0, 0, 2, 3], 0.1, [1, 1, 1, 0], n_types=5)
    assert D.values.isinf().all(0).tolist() == [False, True, False, True, True]
    assert D.mean_cost[:, [1, 3, 4]].eq(0).all()
    assert geometry.nearest_distances([0, 0, 2, 3], [1, 1, 1, 0], 5).values[0, 3] == torch.inf


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS)
def test_the_mean_cost_of_a_type_is_the_mean_over_the_shares_of_its_people(seed):
    case = Case(seed)
    expected = np.stack(
        [(case.share * case.C)[:, case.types == k].sum(1) for k in range(case.K)], 1
    )
    np.testing.assert_allclose(case.soft().mean_cost.numpy(), expected, rtol=1e-8, atol=1e-11)


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS)
def test_the_soft_plan_and_its_column_sums_are_the_dense_ones(seed):
    case = Case(seed)
    D, mass = case.soft(), torch.as_tensor(case.mass)
    plan = D.plan(mass, 0.0)
    assert plan.is_sparse
    P = plan.to_dense().numpy()
    np.testing.assert_allclose(P, case.plan, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(P.sum(1), case.mass.sum(1), rtol=1e-9)
    received = D.column_mass(mass).numpy()
    np.testing.assert_allclose(P.sum(0), received * case.weight, rtol=1e-8, atol=1e-12)
    assert not received[case.weight == 0].any()


@settings(max_examples=30, deadline=None)
@given(seed=SEEDS, threshold=st.sampled_from([1e-3, 0.02, 0.2]))
def test_a_threshold_drops_what_is_small_beside_its_row_and_nothing_else(seed, threshold):
    case = Case(seed)
    P = case.soft().plan(torch.as_tensor(case.mass), threshold).to_dense().numpy()
    bound = threshold * case.mass.sum(1, keepdims=True)
    clear = np.abs(case.plan - bound) > 1e-9  # leave ties to rounding
    expected = np.where(case.plan > bound, case.plan, 0)
    np.testing.assert_allclose(P[clear], expected[clear], rtol=1e-8, atol=1e-12)


def test_a_plan_among_many_identical_people_is_made_in_pieces(monkeypatch):
    X = np.repeat(np.arange(3.0), 20)[:, None]
    types = np.arange(60) % 2
    mass = torch.rand(60, 2, dtype=torch.float64)
    D = PointCloud(X).soft_distances(types, 0.1)
    whole = D.plan(mass, 0.0).to_dense()
    monkeypatch.setattr(distances_module, "PLAN_ENTRIES", 300)
    largest = []
    nonzero = torch.nonzero
    monkeypatch.setattr(
        torch, "nonzero", lambda t, **k: largest.append(t.numel()) or nonzero(t, **k)
    )
    torch.testing.assert_close(D.plan(mass, 0.0).to_dense(), whole)
    assert max(largest) <= 300


@settings(max_examples=80, deadline=None)
@given(seed=SEEDS)
def test_the_nearest_plan_sends_what_is_asked_at_the_cost_of_the_distances(seed):
    case = Case(seed)
    near, mass = case.nearest(), torch.as_tensor(case.mass)
    plan = near.plan(mass, 0.0)
    P = plan.to_dense().numpy()
    total = case.mass.sum()
    by_type = np.stack([P[:, case.types == k].sum(1) for k in range(case.K)], 1)
    np.testing.assert_allclose(by_type, case.mass, atol=1e-12 * total)
    received = near.column_mass(mass).numpy()
    np.testing.assert_allclose(P.sum(0), received * case.weight, atol=1e-12 * total)
    assert not P[:, case.weight == 0].any()
    assert (P >= 0).all()
    cost = float((mass * near.mean_cost).sum())
    assert (P * case.C).sum() == pytest.approx(cost, abs=1e-12 * total)
    # Identical people of one type end with the same mass a unit of weight.
    place = near.columns.member.numpy()
    for at in set(place[case.weight > 0].tolist()):
        assert len(set(received[place == at].tolist())) == 1
    assert plan._nnz() <= (case.mass > 0).sum() + len(case.types)


def test_small_masses_beside_large_ones_keep_their_digits_in_the_nearest_plan():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    near = PointCloud(X).nearest_distances(rng.integers(0, 3, 2000))
    mass = torch.as_tensor(10 ** rng.uniform(-9, 0, (2000, 3)))
    sent = torch.sparse.sum(near.plan(mass, 0.0), 1).to_dense()
    torch.testing.assert_close(sent, mass.sum(1), rtol=1e-13, atol=0)


def test_no_score_crosses_between_places_in_the_nearest_plan():
    # A cost of exactly zero stays zero: everybody has an identical twin of the other type.
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(1000, 2)))
    X = np.vstack([X, X])
    types = np.repeat([0, 1], 1000)
    near = PointCloud(X).nearest_distances(types)
    mass = torch.as_tensor(rng.random((2000, 2)))
    assert not near.values.any()
    i, j = near.plan(mass, 0.0).indices().numpy()
    np.testing.assert_array_equal(X[i], X[j])


def test_identical_people_of_one_type_share_in_proportion_to_their_weight():
    geometry = PointCloud([[0.0], [1.0], [1.0], [1.0]])
    near = geometry.nearest_distances([0, 1, 1, 1], [1, 1, 3, 0])
    mass = torch.tensor([[0, 0.8], [0, 0], [0, 0], [0, 0]], dtype=torch.float64)
    np.testing.assert_allclose(near.column_mass(mass), [0, 0.2, 0.2, 0])
    np.testing.assert_allclose(near.plan(mass, 0.0).to_dense()[0], [0, 0.2, 0.6, 0])


def test_distances_past_the_memory_budget_are_refused_with_a_remedy(monkeypatch):
    geometry = PointCloud(np.random.default_rng(0).normal(size=(30, 2)))
    types = np.arange(30)
    monkeypatch.setattr(distances_module, "MAX_BYTES", 8 * 30 * 29)
    for call in (
        lambda: geometry.soft_distances(types, 0.1),
        lambda: geometry.nearest_distances(types),
    ):
        with pytest.raises(
            MemoryError, match=r"30 people to 30 types.*Bin a continuous.*MAX_BYTES"
        ):
            call()
    assert geometry.soft_distances(types % 29, 0.1).values.shape == (30, 29)


def test_tiny_epsilon_and_far_people_leave_finite_distances():
    X = np.r_[np.zeros(3), 1e-9, 1.0, 1e6][:, None]
    types = np.arange(6) % 2
    for epsilon in (1e-12, 1e-6, 1.0, 1e6):
        D = PointCloud(X).soft_distances(types, epsilon)
        assert D.values.isfinite().all()
        assert D.mean_cost.isfinite().all()
        assert D.plan(torch.ones(6, 2, dtype=torch.float64), 0.0).to_dense().isfinite().all()


def test_a_pass_holds_no_more_than_a_block_at_once(monkeypatch):
    monkeypatch.setattr(geometry_module, "BLOCK_ENTRIES", 500)
    case = Case(11)
    seen = []
    blocks = case.geometry._blocks

    def counted(*given):
        block = blocks(*given)
        return lambda *ends: seen.append((b := block(*ends)).numel()) or b

    monkeypatch.setattr(case.geometry, "_blocks", counted)
    D = case.soft()
    near = case.nearest()
    D.mean_cost  # noqa: B018
    D.column_mass(torch.as_tensor(case.mass))
    assert len(seen) >= 4
    assert max(seen) <= 500
    np.testing.assert_allclose(D.values.numpy(), case.D, rtol=1e-12, atol=1e-12)
    assert near.values.shape == D.values.shape
