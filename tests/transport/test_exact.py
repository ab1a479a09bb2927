"""The exact cost: closed forms, the full linear program, certificates, sparse plans."""

from __future__ import annotations

import numpy as np
import pytest
from problems import full_lp

import otfair
from otfair.transport import _exact as exact


def small_problem(seed: int):
    """People in one to three groups or on a continuous attribute, few enough for the n x n LP."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 16))
    X = rng.normal(size=(n, 2))
    if rng.random() < 0.4:
        X = np.round(X)  # ties and duplicates
    groups = rng.integers(0, 3, n)
    groups[:2] = [0, 1]
    sensitive = {"g": groups}
    if rng.random() < 0.4:
        sensitive["age"] = rng.normal(size=n)
    labels = rng.integers(0, 2, n)
    notion = otfair.EqualizedOdds() if rng.random() < 0.4 else otfair.DemographicParity()
    slack = float(rng.choice([0.0, 0.3]))
    return rng.uniform(1e-3, 1, n), X, notion.constraints(sensitive, labels), slack


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 200, 50))
def test_the_reduced_program_has_the_optimum_of_the_full_one(first: int):
    for seed in range(first, first + 50):
        h, X, constraints, slack = small_problem(seed)
        geometry = otfair.PointCloud(X)
        t = otfair.exact_otf(h, geometry, constraints, slack=slack)
        C = geometry.cost_matrix().numpy()
        full = full_lp(C, h, constraints.matrix, constraints.target, slack)
        assert t.value == pytest.approx(full, abs=1e-9), f"seed {seed}"
        assert t.primal_value == pytest.approx(full, abs=1e-9), f"seed {seed}"


@pytest.mark.parametrize("all_pairs", [0, exact.ALL_PAIRS])
@pytest.mark.parametrize("far", [1e6, 1e9, 1e11])
def test_one_person_far_away_costs_the_others_no_digit(far, all_pairs, monkeypatch):
    # As a number does that stands for "unknown": all other costs are tiny beside the largest.
    monkeypatch.setattr(exact, "ALL_PAIRS", all_pairs)
    rng = np.random.default_rng(1)
    X, h = rng.normal(size=(30, 2)), rng.uniform(0.05, 0.95, 30)
    parity = otfair.DemographicParity().constraints(np.arange(30) % 2)
    C = otfair.PointCloud(X, scale=None).cost_matrix().numpy()
    C[0, 1:] = C[1:, 0] = 100.0  # far enough that nobody would go there
    X[0] += far
    geometry = otfair.PointCloud(X)
    t = otfair.exact_otf(h, geometry, parity)
    full = full_lp(C, h, parity.matrix, parity.target, 0.0)
    assert t.value * geometry.scale_ == pytest.approx(full, rel=1e-6)
    assert t.primal_value * geometry.scale_ == pytest.approx(full, rel=1e-6)


def test_two_people_split_the_difference():
    # One person in each group, scores a and b, distance c: half the gap must travel.
    a, b, c = 0.8, 0.3, 0.7
    parity = otfair.DemographicParity().constraints(["x", "y"])
    t = otfair.exact_otf([a, b], otfair.CostMatrix([[0, c], [c, 0]]), parity)
    assert t.value == pytest.approx(c * abs(a - b) / 2)
    np.testing.assert_allclose(t.fair_scores, [(a + b) / 2] * 2)
    np.testing.assert_allclose(t.plan(), [[(a + b) / 2, (a - b) / 2], [0, b]])


def test_fair_scores_cost_nothing():
    parity = otfair.DemographicParity().constraints(["x", "y", "x", "y"])
    t = otfair.exact_otf([0.2, 0.6, 0.6, 0.2], otfair.PointCloud(np.eye(4)), parity)
    assert t.value == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(t.fair_scores, [0.2, 0.6, 0.6, 0.2])


def test_identical_people_of_both_groups_make_fairness_free():
    X = np.repeat(np.arange(3.0)[:, None], 2, axis=0)
    parity = otfair.DemographicParity().constraints(["x", "y"] * 3)
    h = np.array([0.9, 0.1, 0.8, 0.2, 0.7, 0.3])
    t = otfair.exact_otf(h, otfair.PointCloud(X), parity)
    assert t.value == pytest.approx(0, abs=1e-12)
    assert t.fair_scores[::2].sum() == pytest.approx(t.fair_scores[1::2].sum())


def test_slack_lowers_the_cost_to_zero_where_it_covers_the_violation():
    parity = otfair.DemographicParity().constraints(["x", "y"])
    C = otfair.CostMatrix([[0, 1], [1, 0]])
    costs = [otfair.exact_otf([0.9, 0.5], C, parity, slack=s).value for s in (0, 0.1, 0.2, 0.5)]
    np.testing.assert_allclose(costs, [0.2, 0.15, 0.1, 0.0], atol=1e-12)


def big_problem(n: int = 6000, seed: int = 0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    X[n // 2 :] = np.round(X[n // 2 :])
    sensitive = {"sex": rng.integers(0, 2, n), "race": rng.integers(0, 3, n)}
    h = 1 / (1 + np.exp(-X[:, 0] - sensitive["sex"]))
    labels = (rng.random(n) < h).astype(int)
    return h, X, sensitive, labels


@pytest.mark.parametrize("notion", ["demographic_parity", "equalized_odds"])
@pytest.mark.parametrize("slack", [0.0, 20.0])
def test_generated_pairs_reach_the_optimum_of_all_pairs(notion: str, slack: float, monkeypatch):
    h, X, sensitive, labels = big_problem(1200)
    constraints = otfair.as_notion(notion).constraints(sensitive, labels)
    geometry = otfair.PointCloud(X)
    whole = otfair.exact_otf(h, geometry, constraints, slack=slack)
    monkeypatch.setattr(exact, "ALL_PAIRS", 0)
    part = otfair.exact_otf(h, geometry, constraints, slack=slack)
    assert part.value == pytest.approx(whole.value, abs=1e-9 * h.sum())
    assert part.gap <= 1e-9 * h.sum()
    assert part.residual <= 1e-8


def test_past_a_few_thousand_people_the_gap_certifies_the_optimum():
    h, X, sensitive, labels = big_problem()
    constraints = otfair.EqualizedOdds().constraints(sensitive, labels)
    t = otfair.exact_otf(h, otfair.PointCloud(X), constraints)
    assert len(h) * len(constraints.type_names) > exact.ALL_PAIRS
    assert 0 <= t.gap + 1e-9 * h.sum() <= 2e-9 * h.sum()
    assert t.residual <= 1e-8
    # The dual value is a bound by itself: recompute it from the duals alone.
    D = otfair.PointCloud(X).nearest_distances(constraints.types).values.numpy()
    bound = h @ (D - t.constraint_duals @ constraints.vectors).min(1)
    assert t.value == pytest.approx(bound, rel=1e-9)


def test_the_plan_is_sparse_between_real_people_and_adds_up():
    h, X, sensitive, labels = big_problem()
    constraints = otfair.DemographicParity().constraints(sensitive, labels)
    geometry = otfair.PointCloud(X)
    t = otfair.exact_otf(h, geometry, constraints)
    plan = t.plan(sparse=True)
    n = len(h)
    assert plan.shape == (n, n)
    assert plan.nnz < 4 * n
    np.testing.assert_allclose(plan.sum(1), h, atol=1e-12)
    np.testing.assert_allclose(plan.sum(0), t.fair_scores, atol=1e-9)
    i, j = plan.nonzero()
    paid = np.linalg.norm(X[i] - X[j], axis=1) @ plan.data / geometry.scale_
    assert paid == pytest.approx(t.value, rel=1e-8)
    violation = np.abs(constraints.matrix @ t.fair_scores)
    assert violation.max() <= 1e-7 * np.abs(constraints.matrix @ h).max()


def test_weights_are_copies():
    h, X, _, _ = small_problem(3)
    w = np.random.default_rng(1).integers(1, 4, len(h))
    notion, sensitive = otfair.DemographicParity(), {"g": np.arange(len(h)) % 2}
    one = otfair.exact_otf(h, otfair.PointCloud(X), notion.constraints(sensitive, None, w))
    r = np.repeat(np.arange(len(h)), w)
    copied = otfair.exact_otf(
        h[r], otfair.PointCloud(X[r]), notion.constraints({"g": sensitive["g"][r]})
    )
    assert one.value == pytest.approx(copied.value, abs=1e-10)


def test_the_smooth_cost_is_within_its_entropy_bound_of_the_program():
    # Plans with row sums h have entropy between sum h (1 - log h) and that plus log(n) sum h.
    for seed in range(30):
        h, X, constraints, slack = small_problem(seed)
        geometry = otfair.PointCloud(X)
        lp = otfair.exact_otf(h, geometry, constraints, slack=slack).value
        low = float((h * (1 - np.log(h))).sum())
        for epsilon in (1e-4, 1e-2, 1.0):
            t = otfair.smooth_otf(h, geometry, constraints, epsilon, slack=slack)
            high = low + np.log(len(h)) * h.sum()
            assert lp - epsilon * high - 1e-9 <= t.value <= lp - epsilon * low + 1e-9
            assert lp - 1e-7 <= t.transport_cost <= lp + epsilon * (high - low) + 1e-7


def test_everybody_alike_costs_nothing_and_does_not_divide_by_zero():
    parity = otfair.DemographicParity().constraints(["x", "y", "y"])
    t = otfair.exact_otf([0.9, 0.1, 0.1], otfair.PointCloud(np.ones((3, 2))), parity)
    assert t.value == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("values", [["a", "a", "b", "b"], [1.0, 1.0, 2.0, 3.0]])
def test_without_a_constraint_score_goes_to_the_nearest(values):
    # The batch has one group (or one value), so nothing is left to compare.
    c = otfair.DemographicParity().people(values).constraints(rows=[0, 1])
    assert len(c) == 0
    C = otfair.CostMatrix([[0, 1, 2, 3], [1, 0, 1, 2]])
    t = otfair.exact_otf([0.9, 0.1], C, c)
    assert (t.value, t.gap, t.residual) == (0, 0, 0)
    np.testing.assert_allclose(t.fair_scores, [0.9, 0.1, 0, 0])


def test_fairness_at_the_edge_is_no_news_to_a_linear_program():
    c = otfair.Constraints.from_matrix([[0.0, 0.0, 1.0]])  # only f_2 = 0 will do; warnings raise
    t = otfair.exact_otf([0.5, 0.5, 0.5], otfair.PointCloud(np.eye(3)), c)
    assert t.value == pytest.approx(0.5)
    assert t.fair_scores[2] == 0


def test_scores_of_every_size_are_sent_to_the_last_digit():
    # The program's tolerances are of the total: a sum of 1e-4 is no excuse, nor a weight of 1e-5.
    rng = np.random.default_rng(0)
    groups, X = np.arange(40) % 3, rng.normal(size=(40, 2))
    for h, w in (
        (10 ** rng.uniform(-12, -5, 40), None),
        (rng.random(40), 10.0 ** (groups * 4 - 5)),
    ):
        mass = h if w is None else w * h
        c = otfair.DemographicParity().constraints(groups, sample_weight=w)
        t = otfair.exact_otf(h, otfair.PointCloud(X), c)
        np.testing.assert_allclose(t.plan().sum(1), mass, rtol=1e-12)
        assert abs(t.gap) <= 1e-9 * mass.sum()
        assert t.residual <= 1e-8


def test_dependent_rows_that_agree_but_for_rounding_have_a_solution():
    rng = np.random.default_rng(0)
    for _ in range(20):
        V, h = rng.choice([-1.0, 1.0], (8, 4)), 10 ** rng.uniform(-12, -3, 30)
        G = (V * 10 ** rng.uniform(-4, 4, (8, 1)))[:, np.arange(30) % 4]
        b = G @ (rng.dirichlet(np.ones(30)) * h.sum())
        t = otfair.exact_otf(
            h, otfair.PointCloud(rng.random((30, 2))), otfair.Constraints.from_matrix(G, b)
        )
        assert t.residual <= 1e-8


def test_a_program_that_failed_has_no_plan_that_looks_like_one(monkeypatch):
    monkeypatch.setattr(exact, "_program", lambda *_: None)
    parity = otfair.DemographicParity().constraints(["x", "y"])
    given = ([0.9, 0.5], otfair.CostMatrix([[0, 1], [1, 0]]), parity)
    t = otfair.exact_otf(*given, throw=False)
    assert t.status is otfair.Status.LP_FAILED
    assert np.isnan(t.transport_cost)
    assert np.isnan(t.fair_scores).all()
    with pytest.raises(otfair.TransportError, match="linear program failed"):
        otfair.exact_otf(*given)


@pytest.mark.parametrize("far", [1e3, 1e6, 1e12])
def test_fair_scores_cost_nothing_where_somebody_is_far_away(far):
    constraints = otfair.DemographicParity().constraints(["a", "c", "b"])
    t = otfair.exact_otf([0.5] * 3, otfair.PointCloud([[-1.52], [-1.23], [far]]), constraints)
    assert t.converged
    assert t.value == t.primal_value == 0
    assert t.fair_scores == pytest.approx([0.5] * 3)


def test_what_is_called_converged_is_fair_whatever_the_weights():
    # Weights over twelve decades: rows of the lightest may be lost in rounding, which must be said.
    rng = np.random.default_rng(0)
    ends = []
    for _ in range(120):
        n = int(rng.integers(4, 12))
        groups = np.array(["a", "b", "c"])[np.r_[0, 1, 2, rng.integers(0, 3, n - 3)]]
        weight = 10.0 ** rng.uniform(-6, 6, n)
        constraints = otfair.DemographicParity().constraints(groups, sample_weight=weight)
        geometry = otfair.PointCloud(rng.normal(size=(n, 2)))
        t = otfair.exact_otf(rng.uniform(0.05, 1, n), geometry, constraints, throw=False)
        assert not t.converged or t.residual <= 1e-7
        ends.append(t.converged)
    assert np.mean(ends) >= 0.9  # so many by HiGHS in SciPy 1.13; later ones do better


@pytest.mark.parametrize("slack", [0.0, 0.02])
@pytest.mark.parametrize("notion", [otfair.DemographicParity(), otfair.EqualizedOdds()])
def test_people_as_far_from_all_types_as_others_are_one_to_the_program(notion, slack, monkeypatch):
    # Few distinct people, each with one group and label only, so that fairness has its price.
    rng = np.random.default_rng(0)
    place, h = rng.integers(0, 8, 90), rng.uniform(0.05, 0.95, 90)
    group, labels = place // 4, place % 2
    geometry = otfair.PointCloud(rng.normal(size=(8, 2))[place])
    constraints = notion.constraints(group, labels)
    program, people = exact._program, []

    def counted(problem, D, m, pairs):
        people.append(D.shape[1])
        return program(problem, D, m, pairs)

    monkeypatch.setattr(exact, "_program", counted)
    monkeypatch.setattr(exact, "ALL_PAIRS", 0)
    t = otfair.exact_otf(h, geometry, constraints, slack=slack)
    full = full_lp(geometry.cost_matrix().numpy(), h, constraints.matrix, constraints.target, slack)
    assert full > 0.01
    assert t.value == pytest.approx(full, abs=1e-9)
    assert t.primal_value == pytest.approx(full, abs=1e-9)
    assert max(people) == 8
    # Everybody's own plan: it sends the score, costs that much, is fair, and few send to several.
    plan = t.plan()
    np.testing.assert_allclose(plan.sum(1), h, rtol=1e-9)
    assert (plan * geometry.cost_matrix().numpy()).sum() == pytest.approx(full, abs=1e-9)
    assert t.residual <= exact.FAIR
    split = (np.asarray(t.point.share) > 1e-9).sum(0) > 1
    assert split.sum() <= len(constraints.vectors)
