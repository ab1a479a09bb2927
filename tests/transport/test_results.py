"""What is derived from a solution: plans, fair scores, flows, costs, in arrays or tensors."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
import torch
from problems import full_plan, random_problem

import otfair
from otfair.transport import _results as transport

SEEDS = [2, 7, 12, 23, 38, 61, 71, 84]


@pytest.fixture(params=SEEDS)
def solved(request):
    problem = random_problem(request.param)
    t = otfair.smooth_otf(
        problem.scores, problem.geometry, problem.constraints, problem.epsilon, problem.slack
    )
    return problem, t


def test_the_plan_is_the_coupling_of_the_duals(solved):
    problem, t = solved
    P = full_plan(problem, t)
    np.testing.assert_allclose(t.plan(), P, rtol=1e-6, atol=1e-12)
    sparse = t.plan(sparse=True, threshold=1e-9)
    assert isinstance(sparse, scipy.sparse.csr_array)
    assert np.abs(sparse.toarray() - P).max() <= 1e-8 * P.sum(1).max()


def test_fair_scores_are_its_column_sums_a_unit_of_weight(solved):
    problem, t = solved
    w = problem.weight if problem.weight is not None else 1.0
    np.testing.assert_allclose(t.fair_scores, full_plan(problem, t).sum(0) / w, rtol=1e-6)


def test_transport_cost_is_the_plan_times_the_cost(solved):
    problem, t = solved
    paid = float((full_plan(problem, t) * problem.cost).sum())
    assert t.transport_cost == pytest.approx(paid, rel=1e-6, abs=1e-10)


def test_flows_sum_the_plan_by_type_and_cost_what_the_transport_costs(solved):
    problem, t = solved
    P, types = full_plan(problem, t), problem.constraints.types
    K = len(problem.constraints.type_names)
    to_type = np.eye(K)[types]
    np.testing.assert_allclose(t.flows.mass, to_type.T @ P @ to_type, rtol=1e-6, atol=1e-12)
    assert t.flows.cost.sum() == pytest.approx(t.transport_cost, rel=1e-9, abs=1e-12)
    assert t.flows.mass.sum() == pytest.approx(P.sum(), rel=1e-9)
    assert len(t.flows.type_names) == K


def test_primal_value_is_that_of_the_plan_and_the_gap_closes(solved):
    problem, t = solved
    P = full_plan(problem, t)
    w = problem.weight if problem.weight is not None else np.ones(len(P))
    entropy = -(P * (np.log(np.maximum(P, 1e-300) / (w[:, None] * w)) - 1)).sum()
    primal = float((P * problem.cost).sum() - problem.epsilon * entropy)
    assert t.primal_value == pytest.approx(primal, rel=1e-7, abs=1e-9)
    assert abs(t.gap) <= 1e-6 * max(1.0, abs(t.value))


def test_the_duals_are_derivatives_of_the_value():
    p = random_problem(7)
    geometry, c = p.geometry, p.constraints
    t = otfair.smooth_otf(p.scores, geometry, c, 0.05, tol=1e-11)
    rng = np.random.default_rng(0)
    v = p.scores * rng.uniform(-1, 1, len(p.scores))
    h = np.minimum(p.scores, 0.999)
    t, step = otfair.smooth_otf(h, geometry, c, 0.05, tol=1e-11), 1e-5
    up, down = (
        otfair.smooth_otf(h + s * step * v, geometry, c, 0.05, tol=1e-11).value for s in (1, -1)
    )
    assert (up - down) / (2 * step) == pytest.approx(t.score_duals @ v, rel=1e-6)
    G, u = c.matrix, rng.normal(size=len(c))
    u = G @ (G.T @ u)  # a change of target that non-negative scores can follow
    up, down = (
        otfair.smooth_otf(
            h, geometry, otfair.Constraints.from_matrix(G, s * 1e-6 * u), 0.05, tol=1e-11
        ).value
        for s in (1, -1)
    )
    assert (up - down) / 2e-6 == pytest.approx(t.constraint_duals @ u, rel=1e-5)


def test_tensors_in_tensors_out_arrays_in_arrays_out():
    p = random_problem(7)
    c = p.constraints
    as_tensor = otfair.adjusted_otf(torch.tensor(p.scores, dtype=torch.float32), p.geometry, c)
    as_array = otfair.adjusted_otf(p.scores, p.geometry, c)
    for name in ("fair_scores", "score_duals", "constraint_duals", "slack"):
        left, right = getattr(as_tensor.smooth, name), getattr(as_array.smooth, name)
        assert isinstance(left, torch.Tensor)
        assert isinstance(right, np.ndarray)
        np.testing.assert_allclose(left.numpy(), right, rtol=1e-3, atol=1e-4)
    assert isinstance(as_tensor.gradient, torch.Tensor)
    assert as_tensor.gradient.dtype is torch.float64
    assert isinstance(as_tensor.smooth.plan(), torch.Tensor)
    assert as_tensor.smooth.plan(sparse=True).is_sparse
    assert isinstance(as_tensor.smooth.flows.mass, torch.Tensor)
    assert isinstance(as_array.smooth.flows.mass, np.ndarray)


def test_a_dense_plan_past_the_guard_is_refused_with_a_remedy(monkeypatch):
    p = random_problem(7)
    t = otfair.smooth_otf(p.scores, p.geometry, p.constraints)
    monkeypatch.setattr(transport, "MAX_DENSE_ENTRIES", 10)
    with pytest.raises(MemoryError, match="sparse=True"):
        t.plan()
    assert t.plan(sparse=True).sum() == pytest.approx(t.problem.total)


def test_a_result_is_shown_in_a_few_words():
    p = random_problem(7)
    a = otfair.adjusted_otf(p.scores, p.geometry, p.constraints)
    assert "tensor" not in repr(a)
    assert "array" not in repr(a)
    assert repr(a.smooth).startswith("Transport(value=")


def test_overwriting_a_result_leaves_the_solution_as_it_was():
    p = random_problem(7)
    t = otfair.smooth_otf(p.scores, p.geometry, p.constraints, p.epsilon)
    for name in ("score_duals", "constraint_duals", "slack"):
        before = getattr(t, name).copy()
        got = getattr(t, name)
        got += 1.0
        np.testing.assert_array_equal(getattr(t, name), before)
