"""Bounded transport against convex solvers, optimality conditions, copies, and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from problems import full_bounded_lp, random_problem
from scipy.optimize import minimize

import otfair
from otfair.geometry import _near
from otfair.transport import _bounded, _semidual


def twins(n: int = 12, seed: int = 0) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """People of two groups who are alike in pairs, the first group with high scores."""
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.normal(size=(n // 2, 2)), 2, axis=0)
    groups = ["a", "b"] * (n // 2)
    h = np.where(np.array(groups) == "a", 0.9, 0.4) + 0.05 * rng.random(n)
    return h, X, groups


def by_convex_solver(
    h: np.ndarray, C: np.ndarray, G: np.ndarray, epsilon: float
) -> tuple[float, np.ndarray]:
    """Minimise over the whole plan with SLSQP: the value and the column sums."""
    n, m = C.shape

    def objective(p):
        p = np.maximum(p, 1e-300)
        return float(C.ravel() @ p + epsilon * (p * (np.log(p) - 1)).sum())

    def gradient(p):
        return C.ravel() + epsilon * np.log(np.maximum(p, 1e-300))

    rows = np.kron(np.eye(n), np.ones(m))
    columns = np.kron(np.ones(n), np.eye(m))
    fair = G @ columns
    independent = fair[: np.linalg.matrix_rank(fair)]
    found = minimize(
        objective, np.outer(h, np.full(m, 1 / m)).ravel(), jac=gradient, method="SLSQP",
        bounds=[(1e-12, None)] * (n * m),
        constraints=[
            {"type": "eq", "fun": lambda p: rows @ p - h, "jac": lambda p: rows},
            {"type": "eq", "fun": lambda p: independent @ p, "jac": lambda p: independent},
            {"type": "ineq", "fun": lambda p: 1 - columns @ p, "jac": lambda p: -columns},
        ],
        options={"maxiter": 2000, "ftol": 1e-14},
    )  # fmt: skip
    assert found.success
    return float(found.fun), columns @ found.x


@pytest.mark.filterwarnings("ignore:Values in x were outside bounds")  # of SciPy before 1.14
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("dense", [True, False])
def test_the_smooth_value_is_that_of_a_convex_solver(seed: int, dense: bool, monkeypatch):
    if not dense:
        monkeypatch.setattr(_near, "DENSE_PAIRS", 0)
    rng = np.random.default_rng(seed)
    n = 6
    X, groups = rng.normal(size=(n, 2)), np.array(["a", "b", "a", "b", "a", "b"])
    h = np.where(groups == "a", 0.95, 0.6) + 0.05 * rng.random(n)
    fair = otfair.DemographicParity().constraints(groups)
    geometry = otfair.PointCloud(X)
    t = otfair.smooth_otf(h, geometry, fair, 0.05, bounded=True)
    free = otfair.smooth_otf(h, geometry, fair, 0.05)
    assert free.fair_scores.max() > 1.01  # the bound says something here
    value, f = by_convex_solver(h, geometry.cost_matrix().numpy(), fair.matrix, 0.05)
    assert t.value == pytest.approx(value, abs=1e-6)
    np.testing.assert_allclose(t.fair_scores, f, atol=1e-3)
    assert t.fair_scores.max() <= 1.0
    assert t.converged
    assert abs(t.gap) < 1e-6
    assert (t.bound_duals <= 0).all()


def test_one_person_is_full_and_the_next_one_gets_the_rest():
    # Two of group a have 0.9 each, of group b one has 0.9 and is near, one has 0.1 and is far.
    # Without bounds the near one takes all that must move; with them, what fits: 0.1.
    X = [[0.0], [0.0], [1.0], [3.0]]
    fair = otfair.DemographicParity().constraints(["a", "a", "b", "b"])
    people = otfair.PointCloud(X, scale=None)
    h = [0.9, 0.9, 0.9, 0.1]
    free = otfair.exact_otf(h, people, fair)
    np.testing.assert_allclose(free.fair_scores, [0.7, 0.7, 1.3, 0.1], atol=1e-9)
    assert free.value == pytest.approx(0.4)
    t = otfair.exact_otf(h, people, fair, bounded=True)
    # 0.1 goes a distance 1, and 0.3 a distance of 3: directly, or through the full one.
    np.testing.assert_allclose(t.fair_scores, [0.7, 0.7, 1.0, 0.4], atol=1e-9)
    assert t.value == pytest.approx(0.1 * 1 + 0.3 * 3)
    np.testing.assert_allclose(t.bound_duals, [0, 0, -2, 0], atol=1e-9)
    smooth = otfair.smooth_otf(h, people, fair, 1e-3, bounded=True)
    assert smooth.transport_cost == pytest.approx(t.value, abs=1e-2)
    np.testing.assert_allclose(smooth.bound_duals, t.bound_duals, atol=1e-2)


@pytest.mark.parametrize("seed", [s for s in range(60) if len(random_problem(s).scores) <= 40])
def test_the_exact_value_is_that_of_the_whole_linear_program(seed: int):
    p = random_problem(seed)
    c = p.constraints
    w = np.ones(len(p.scores)) if p.weight is None else p.weight
    t = otfair.exact_otf(p.scores, p.geometry, c, slack=p.slack, bounded=True)
    value = full_bounded_lp(p.cost, w * p.scores, c.matrix, c.target, p.slack, w)
    assert t.value == pytest.approx(value, abs=1e-7 * (w @ p.scores))
    assert t.transport_cost == pytest.approx(value, abs=1e-6 * (w @ p.scores))
    assert t.fair_scores.max() <= 1.0
    np.testing.assert_allclose(t.plan().sum(1), w * p.scores, atol=1e-9)
    violation = np.abs(c.matrix @ (w * t.fair_scores) - c.target) - p.slack
    assert (violation <= 1e-6 * np.abs(c.matrix) @ w).all()
    assert np.asarray(t.flows.mass).sum() == pytest.approx(w @ p.scores)
    assert np.asarray(t.flows.cost).sum() == pytest.approx(value, abs=1e-6 * (w @ p.scores))


def test_bounds_that_do_not_bind_change_nothing():
    rng = np.random.default_rng(0)
    h, groups = rng.uniform(0.05, 0.2, 60), rng.choice(["a", "b"], 60)
    geometry = otfair.PointCloud(rng.normal(size=(60, 3)))
    fair = otfair.DemographicParity().constraints(groups)
    plain = otfair.adjusted_otf(h, geometry, fair, 1e-2)
    bounded = otfair.adjusted_otf(h, geometry, fair, 1e-2, bounded=True)
    assert plain.smooth.fair_scores.max() < 1
    assert bounded.value == pytest.approx(plain.value, rel=1e-9)
    np.testing.assert_allclose(bounded.gradient, plain.gradient, atol=1e-9)
    np.testing.assert_allclose(bounded.smooth.plan(), plain.smooth.plan(), atol=1e-10)
    assert bounded.smooth.transport_cost == pytest.approx(plain.smooth.transport_cost)
    np.testing.assert_allclose(bounded.smooth.flows.mass, plain.smooth.flows.mass, atol=1e-9)
    assert not bounded.smooth.bound_duals.any()


def test_a_twin_of_another_group_no_longer_makes_fairness_free():
    # Group a has three people with 1 at 0; group b a twin of them with 0.2, and two people a
    # distance 5 away with 0.1 each. 1.3 must move: the twin has room for 0.8 of it.
    h, X = [1.0, 1.0, 1.0, 0.2, 0.1, 0.1], [[0.0]] * 4 + [[5.0]] * 2
    fair, people = (
        otfair.DemographicParity().constraints(list("aaabbb")),
        otfair.PointCloud(X, scale=None),
    )
    assert otfair.exact_otf(h, people, fair).value == pytest.approx(0.0, abs=1e-9)
    t = otfair.exact_otf(h, people, fair, bounded=True)
    assert t.value == pytest.approx(0.5 * 5)
    assert t.fair_scores[3] == pytest.approx(1.0)
    assert t.fair_scores[:3].sum() == pytest.approx(1.7)


@pytest.mark.parametrize("score", [1.0, 0.999, 0.5])
def test_constant_scores_cost_nothing_even_at_their_bound(score: float):
    rng = np.random.default_rng(1)
    X, groups = rng.normal(size=(40, 2)), rng.choice(["a", "b", "c"], 40)
    fair = otfair.DemographicParity().constraints(groups)
    a = otfair.adjusted_otf(np.full(40, score), otfair.PointCloud(X), fair, bounded=True)
    assert abs(a.value) < 1e-9
    assert a.converged
    assert otfair.exact_otf(
        np.full(40, score), otfair.PointCloud(X), fair, bounded=True
    ).value == pytest.approx(0.0, abs=1e-9)


def test_copies_and_weights_are_the_same():
    h, X, groups = twins(10, seed=3)
    weight = np.array([1, 2, 3, 1, 1, 2, 1, 1, 2, 3])
    h, X = np.where(h > 0.7, h, h + 0.3), np.random.default_rng(0).normal(size=X.shape)
    notion, r = otfair.DemographicParity(), np.repeat(np.arange(10), weight)
    weighted = notion.constraints(groups, sample_weight=weight)
    copies = notion.constraints(np.array(groups)[r])
    for epsilon in (1e-3, 1e-2):
        a = otfair.adjusted_otf(h, otfair.PointCloud(X), weighted, epsilon, bounded=True)
        b = otfair.adjusted_otf(h[r], otfair.PointCloud(X[r]), copies, epsilon, bounded=True)
        assert a.smooth.bound_duals.any()
        assert a.value == pytest.approx(b.value, rel=1e-7)
        np.testing.assert_allclose(a.smooth.fair_scores[r], b.smooth.fair_scores, atol=1e-7)
        np.testing.assert_allclose(
            a.gradient / weight, b.gradient[np.searchsorted(r, range(10))], atol=1e-6
        )
    one = otfair.exact_otf(h, otfair.PointCloud(X), weighted, bounded=True)
    many = otfair.exact_otf(h[r], otfair.PointCloud(X[r]), copies, bounded=True)
    assert one.value == pytest.approx(many.value, abs=1e-8)


def test_the_gradient_equals_differences():
    rng = np.random.default_rng(2)
    n = 40
    X, groups = rng.normal(size=(n, 2)), np.where(np.arange(n) % 2, "a", "b")
    h = np.where(groups == "a", 0.9, 0.45) + 0.08 * rng.random(n)
    fair, geometry = otfair.DemographicParity().constraints(groups), otfair.PointCloud(X)

    def cost(scores, init=None):
        return otfair.adjusted_otf(scores, geometry, fair, 2e-2, bounded=True, init=init, tol=1e-11)

    a = cost(h)
    assert (a.smooth.bound_duals < 0).sum() > 3
    for i in range(0, n, 7):
        step = np.zeros(n)
        step[i] = 1e-6
        difference = (cost(h + step, a).value - cost(h - step, a).value) / 2e-6
        assert a.gradient[i] == pytest.approx(difference, abs=2e-6)


def test_rows_that_are_a_batch_of_the_columns():
    rng = np.random.default_rng(4)
    n = 60
    X, sensitive = rng.normal(size=(n, 2)), {"s": rng.choice(["a", "b"], n)}
    y = rng.integers(0, 2, n)
    people = otfair.EqualizedOdds().people(sensitive, y)
    whole = otfair.PointCloud(X)
    for size in (5, 20, 60):
        rows = rng.permutation(n)[:size]
        c = people.constraints(rows=rows)
        geometry = whole.rows(rows)
        for score in (1.0, 0.7):  # constants are fair in each batch, and fit its bounds
            a = otfair.adjusted_otf(np.full(size, score), geometry, c, bounded=True)
            assert abs(a.value) < 1e-9
        t = otfair.smooth_otf(rng.uniform(0.5, 1, size), geometry, c, bounded=True)
        received = t.fair_scores
        # All columns together can take what all rows have at most.
        caps = np.minimum(received, 1.0)
        assert t.converged
        types, by_type = c.column_types, np.bincount(c.types, minlength=len(c.type_names))
        columns = np.bincount(types, minlength=len(c.type_names))
        most = np.maximum(by_type / np.maximum(columns, 1), size / n)[types]
        assert (received <= most * (1 + 1e-7)).all()
        assert caps.sum() <= size


def test_tensors_come_out_where_tensors_go_in_and_a_solution_starts_the_next():
    h, X, groups = twins(20, seed=5)
    fair = otfair.DemographicParity().constraints(groups)
    geometry = otfair.PointCloud(X + 0.01 * np.arange(20)[:, None])
    a = otfair.adjusted_otf(torch.as_tensor(h), geometry, fair, bounded=True)
    for out in (a.gradient, a.smooth.fair_scores, a.smooth.bound_duals, a.smooth.plan()):
        assert isinstance(out, torch.Tensor)
    again = otfair.adjusted_otf(h, geometry, fair, bounded=True, init=a)
    assert again.value == pytest.approx(a.value, rel=1e-8)
    assert again.smooth.iterations < a.smooth.iterations
    from_plain = otfair.adjusted_otf(h, geometry, fair, init=a)  # other duals, the same people
    cold = otfair.adjusted_otf(h, geometry, fair)
    assert from_plain.value == pytest.approx(cold.value, rel=1e-8)


def test_what_no_scores_up_to_one_satisfy_is_said():
    G = [[1.0, 1.0, 0.0, 0.0]]
    c = otfair.Constraints.from_matrix(G, target=[3.0], names=["both have three"])
    people, h = otfair.PointCloud([[0.0], [1.0], [2.0], [3.0]]), [0.9, 0.8, 0.9, 0.8]
    assert otfair.smooth_otf(h, people, c).converged
    for solve in (otfair.smooth_otf, otfair.exact_otf):
        with pytest.raises(ValueError, match=r"at most one satisfy.*both have three"):
            solve(h, people, c, bounded=True)


def test_the_published_scheme_knows_no_bounds():
    h, X, groups = twins()
    fair = otfair.DemographicParity().constraints(groups)
    with pytest.raises(ValueError, match="bounded=False"):
        otfair.smooth_otf(h, otfair.PointCloud(X), fair, solver="coordinate", bounded=True)


def test_too_many_near_pairs_are_an_error_with_a_remedy(monkeypatch):
    monkeypatch.setattr(_near, "DENSE_PAIRS", 0)
    monkeypatch.setattr(_near, "MAX_PAIRS", 10)
    h, X, groups = twins()
    fair = otfair.DemographicParity().constraints(groups)
    with pytest.raises(MemoryError, match="Lower `epsilon`"):
        otfair.smooth_otf(h, otfair.PointCloud(X), fair, 0.1, bounded=True)


def crowd(n: int = 200) -> tuple[np.ndarray, otfair.PointCloud, otfair.Constraints]:
    rng = np.random.default_rng(0)
    groups = np.arange(n) % 2
    h = np.where(groups == 0, rng.uniform(0.6, 1, n), rng.uniform(0.3, 0.9, n))
    cloud = otfair.PointCloud(rng.normal(size=(n, 3)))
    return h, cloud, otfair.DemographicParity().constraints(groups.astype(str))


def test_near_pairs_give_the_plan_of_all_pairs(monkeypatch):
    h, cloud, fair = crowd()
    dense = otfair.smooth_otf(h, cloud, fair, 1e-2, bounded=True)
    monkeypatch.setattr(_near, "DENSE_PAIRS", 0)
    near = otfair.smooth_otf(h, cloud, fair, 1e-2, bounded=True)
    assert near.problem.own is not None
    assert near.problem.own.nnz
    np.testing.assert_allclose(near.plan(), dense.plan(), atol=1e-8)
    np.testing.assert_allclose(near.plan(sparse=True).sum(1), h, atol=1e-8)
    assert near.transport_cost == pytest.approx(dense.transport_cost, rel=1e-6)
    np.testing.assert_allclose(near.flows.mass, dense.flows.mass, atol=1e-7)


def test_near_pairs_of_people_without_weight_and_of_people_who_are_all_full(monkeypatch):
    monkeypatch.setattr(_near, "DENSE_PAIRS", 0)
    h, cloud, _ = crowd(40)
    weight = np.where(np.arange(40) % 5 == 0, 0.0, 1.0)
    fair = otfair.DemographicParity().constraints(
        (np.arange(40) % 2).astype(str), sample_weight=weight
    )
    t = otfair.smooth_otf(h, cloud, fair, 1e-2, bounded=True)
    assert np.asarray(t.flows.mass).sum() == pytest.approx(weight @ h)
    people = otfair.PointCloud(np.random.default_rng(0).normal(size=(4, 2)))
    four = otfair.DemographicParity().constraints(list("aabb"))
    a = otfair.adjusted_otf(np.ones(4), people, four, 1e-2, bounded=True)
    assert abs(a.value) < 1e-9
    np.testing.assert_allclose(a.smooth.fair_scores, 1.0, atol=1e-7)


def test_scores_below_the_tolerance_of_a_program_are_sent_too():
    fair = otfair.DemographicParity().constraints(list("abab"))
    people, h = otfair.PointCloud([[0.0], [1.0], [2.0], [3.0]]), [0.9, 0.5, 1e-12, 0.4]
    t = otfair.exact_otf(h, people, fair, bounded=True)
    np.testing.assert_allclose(t.plan().sum(1), h, rtol=1e-9)


def test_the_cheapest_rate_is_sought_among_those_that_scores_can_have():
    rng = np.random.default_rng(0)
    y, groups = np.array([0, 1, 1, 0] * 10), (np.arange(40) // 20).astype(str)
    h, people = rng.uniform(0.1, 0.9, 40), otfair.PointCloud(rng.normal(size=(40, 2)))
    t = otfair.exact_otf(h, people, otfair.PredictiveParity().constraints(groups, y), bounded=True)
    assert t.fair_scores.max() <= 1.0
    rates = np.linspace(0.02, 0.98, 33)
    costs = []
    for rate in rates:
        c = otfair.PredictiveParity(rate=rate).constraints(groups, y)
        try:
            costs.append(otfair.exact_otf(h, people, c, bounded=True).value)
        except ValueError:
            costs.append(np.inf)
    assert np.isinf(costs).any()
    assert t.value <= min(costs) + 1e-9


def test_a_setting_that_is_neither_true_nor_false_is_an_error():
    h, cloud, fair = crowd(10)
    for solve in (otfair.smooth_otf, otfair.exact_otf):
        with pytest.raises(TypeError, match="`bounded` must be True or False"):
            solve(h, cloud, fair, bounded="no")


def near_their_bounds(n: int = 80) -> tuple[np.ndarray, otfair.PointCloud, otfair.Constraints]:
    """People of two groups with high scores, of whom some are full."""
    rng = np.random.default_rng(3)
    X, groups = rng.normal(size=(n, 2)), rng.choice(["a", "b"], n)
    h = np.where(groups == "a", 0.8, 0.5) + 0.2 * rng.random(n)
    return h, otfair.PointCloud(X), otfair.DemographicParity().constraints(groups)


@pytest.mark.parametrize("most", [2**25, -1])
def test_the_curvature_is_the_derivative_of_the_residuals(most: int, monkeypatch):
    monkeypatch.setattr(_semidual, "MOST_DENSE", most)
    h, people, fair = near_their_bounds()
    t = otfair.smooth_otf(h, people, fair, 0.02, bounded=True)
    assert (t.bound_duals < 0).sum() > 1
    semi, step = _semidual.SemiDual(t.problem), 1e-5
    v = np.random.default_rng(0).normal(size=len(t.mu))
    up, down = semi.at(t.mu + step * v), semi.at(t.mu - step * v)
    got = semi.curvature(semi.at(t.mu)) @ v
    np.testing.assert_allclose(got, (down.r - up.r) / (2 * step), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("filled", [0.001, 0.03, 0.9])
def test_sparse_products_are_the_same_by_either_way(filled: float, monkeypatch):
    rng = np.random.default_rng(0)
    rows = rng.random((3, 60))
    M = np.where(rng.random((40, 60)) < filled, rng.random((40, 60)), 0.0)
    place, person = M.nonzero()
    entries = (place, person, M[place, person])
    got = _semidual._products(rows, *entries, len(M))
    np.testing.assert_allclose(got, rows @ M.T, rtol=1e-13, atol=1e-15)
    for most in (2**25, -1):
        monkeypatch.setattr(_semidual, "MOST_DENSE", most)
        got = _semidual._squares(*entries, M.shape)
        np.testing.assert_allclose(got, M @ M.T, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("dense", [True, False])
def test_a_solution_nearby_tells_who_can_not_receive_too_much(dense: bool, monkeypatch):
    if not dense:
        monkeypatch.setattr(_near, "DENSE_PAIRS", 0)
    monkeypatch.setattr(_bounded, "MANY", 1.0)
    (h, people, fair), rng, n = near_their_bounds(), np.random.default_rng(3), 80
    first = otfair.smooth_otf(h, people, fair, 0.02, bounded=True)
    known = first.point.reference.received
    sure = unsure = 0
    for change in (0.01, 0.1, 0.5):
        scores = np.clip(h * np.exp(change * rng.normal(size=n)), 1e-6, 1)
        problem = first.problem.with_scores(scores)
        point = _semidual.SemiDual(problem).at(first.mu + change * rng.normal(size=len(first.mu)))
        (_, most), exact = problem.most_received(point, known), problem.received(point).by_place
        assert (most >= exact * (1 - 1e-12)).all()
        above = most > problem.caps
        np.testing.assert_allclose(most[above], exact[above], rtol=1e-12)
        sure, unsure = sure + (most > exact * (1 + 1e-9)).sum(), unsure + (exact > 0).sum()
        warm = otfair.smooth_otf(scores, people, fair, 0.02, bounded=True, init=first)
        cold = otfair.smooth_otf(scores, people, fair, 0.02, bounded=True)
        assert warm.value == pytest.approx(cold.value, abs=1e-7)
        assert warm.fair_scores.max() <= 1.0 + 1e-8
    assert 0 < sure < unsure  # some were read, and some were not
    monkeypatch.setattr(_bounded, "MANY", 0.0)  # all are read, and known from then on
    now, most = problem.most_received(point, known)
    np.testing.assert_array_equal(most, problem.received(point).by_place)
    assert now.by_place is most


def test_rounds_that_do_not_suffice_are_no_success(monkeypatch):
    rng = np.random.default_rng(0)
    X, group = rng.normal(size=(200, 2)), np.repeat(["a", "b"], 100)
    h = np.where(group == "a", 0.97, 0.9)
    problem = (h, otfair.PointCloud(X), otfair.DemographicParity().constraints(group), 1e-2)
    assert otfair.smooth_otf(*problem, bounded=True).converged
    monkeypatch.setattr(_bounded, "ROUNDS", 1)
    with pytest.raises(otfair.TransportError, match="stalled"):
        otfair.smooth_otf(*problem, bounded=True)
    t = otfair.smooth_otf(*problem, bounded=True, throw=False)
    assert not t.converged
