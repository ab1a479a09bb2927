"""Constraints of a batch are normalised by the batch; a user's own G is kept as it is."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import full_lp

import otfair
from otfair import (
    Constraints,
    DemographicParity,
    EqualizedOdds,
    LinearNotion,
    PointCloud,
    adjusted_otf,
    exact_otf,
    smooth_otf,
)
from otfair.notions._existence import check_existence

NOTIONS = [
    DemographicParity(),
    EqualizedOdds(),
    DemographicParity(intersectional=True),
    DemographicParity() & EqualizedOdds(),
    otfair.ConditionalParity(control="race"),
]


def population(seed: int, n: int = 60):
    rng = np.random.default_rng(seed)
    sensitive = {
        "sex": np.where(rng.random(n) < 0.3, "F", "M"),
        "race": rng.choice(4, n, p=[0.7, 0.2, 0.05, 0.05]),
        "age": rng.integers(18, 40, n) + 0.5,
    }
    for key, first in (("sex", ["F", "M"]), ("race", [0, 1]), ("age", [18.5, 19.5])):
        sensitive[key][:2] = first
    labels = rng.integers(0, 2, n)
    weight = rng.integers(0, 3, n) if rng.random() < 0.5 else rng.random(n)
    weight[:2] = 1
    rows = rng.choice(n, int(rng.integers(1, n // 3)), replace=bool(rng.random() < 0.5))
    return sensitive, labels, weight.astype(float), rows


@pytest.mark.parametrize("notion", NOTIONS, ids=repr)
@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_a_batch_has_the_rows_it_would_have_by_itself(notion, seed):
    sensitive, labels, weight, rows = population(seed)
    batch = notion.people(sensitive, labels, weight).constraints(rows=rows)
    try:
        alone = notion.constraints(
            {k: v[rows] for k, v in sensitive.items()}, labels[rows], weight[rows]
        )
    except ValueError:  # one group, or no weight: an error by itself, no rows in a batch
        return
    assert batch.names == alone.names
    np.testing.assert_allclose(batch.matrix, alone.matrix, rtol=1e-9, atol=1e-9)
    assert set(alone.dropped) <= set(batch.dropped)


@pytest.mark.parametrize("notion", NOTIONS, ids=repr)
@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_constant_scores_are_fair_in_every_batch_and_can_be_kept_by_the_columns(notion, seed):
    sensitive, labels, weight, rows = population(seed)
    people = notion.people(sensitive, labels, weight)
    c = people.constraints(rows=rows)
    w = weight[rows]
    assert np.isfinite(c.vectors).all()
    assert (np.abs(c.matrix @ w) <= 1e-12 * (np.abs(c.matrix) @ w)).all()
    # Every type that a row with weight has is open to receive, so its score may stay.
    assert (c.column_mass[c.types[w > 0]] > 0).all()
    assert c.always_feasible
    np.testing.assert_array_equal(c.sample_weight, w)
    np.testing.assert_array_equal(c.column_weight, weight)
    assert len(c.column_types) == len(labels)
    np.testing.assert_array_equal(c.types, c.column_types[rows])


def test_a_batch_is_normalised_by_its_own_shares_and_not_by_those_of_everybody():
    people = DemographicParity().people(["a", "b", "b", "b", "a", "b"])
    c = people.constraints(rows=[0, 1])
    np.testing.assert_array_equal(c.matrix, [[1, -1], [-1, 1]])
    np.testing.assert_array_equal(people.constraints().vectors[:, 0], [2, -1])
    np.testing.assert_array_equal(c.column_mass, [2, 4])


def test_types_of_an_absent_group_are_shut_out_and_its_row_is_dropped():
    people = EqualizedOdds().people(["a", "b", "c", "a", "b", "c"], [0, 0, 0, 1, 1, 1])
    c = people.constraints(rows=[0, 1, 3, 4])
    assert c.dropped == ("group=c | y=0", "group=c | y=1")
    shut = [name for name, mass in zip(c.type_names, c.column_mass) if mass == 0]
    assert shut == ["group=c, y=0", "group=c, y=1"]
    assert people.constraints().dropped == ()


def test_types_of_an_absent_stratum_are_shut_out_for_groups_and_for_numbers():
    y = [0, 0, 1, 1]
    for sensitive in ({"sex": ["F", "M", "F", "M"]}, {"age": [1.5, 2.5, 1.5, 2.5]}):
        c = EqualizedOdds().people(sensitive, y).constraints(rows=[0, 1])
        assert all(name.endswith("y=1") for name in c.dropped)
        assert c.column_mass[c.column_types].tolist() == [1, 1, 0, 0]


def test_a_batch_of_one_group_has_no_rows_and_says_so():
    c = DemographicParity().people(["a", "b", "b"]).constraints(rows=[1, 2])
    assert len(c) == 0
    assert c.matrix.shape == (0, 2)
    assert c.dropped == ("group=a", "group=b")


def test_columns_may_be_a_batch_too():
    people = DemographicParity().people(["a", "b", "b", "a"], sample_weight=[1, 2, 3, 4])
    c = people.constraints(rows=[0, 1], columns=[2, 3])
    np.testing.assert_array_equal(c.column_types, [1, 0])
    np.testing.assert_array_equal(c.column_weight, [3, 4])
    np.testing.assert_array_equal(c.column_mass, [4, 3])
    with pytest.raises(ValueError, match=r"\['group=[ab]'.*among the people who receive"):
        people.constraints(rows=[0, 1], columns=[0])


@pytest.mark.parametrize(
    "rows",
    [
        [3, 1],
        np.array([1, 3])[::-1],
        np.array([3, 1], dtype=np.uint8),
        np.array([3, 1], dtype=np.int32),
        pd.Series([3, 1], index=[7, 9]),
        pd.Index([3, 1]),
        pl.Series([3, 1]),
        torch.tensor([3, 1]),
        np.array([-1, 1]),
    ],
    ids=lambda r: f"{type(r).__module__.split('.')[0]}-{getattr(r, 'dtype', '')}",
)
def test_rows_may_come_in_any_container(rows):
    people = DemographicParity().people(["a", "b", "b", "a"], sample_weight=[1, 2, 3, 4])
    c = people.constraints(rows=rows)
    assert c.sample_weight.tolist() == [4, 2]
    assert c.types.tolist() == [0, 1]


def test_rows_may_be_a_mask_or_a_read_only_array():
    people = DemographicParity().people(["a", "b", "b", "a"], sample_weight=[1, 2, 3, 4])
    mask = np.array([False, True, False, True])
    index = np.flatnonzero(mask)
    index.setflags(write=False)
    for rows in (mask, torch.as_tensor(mask), index):
        assert people.constraints(rows=rows).sample_weight.tolist() == [2, 4]


@pytest.mark.parametrize("rows", [[], [0.0, 1.0], torch.tensor([0.0])])
def test_rows_that_are_not_integers_are_refused(rows):
    people = DemographicParity().people(["a", "b"])
    with pytest.raises(ValueError, match="by integers"):
        people.constraints(rows=rows)


def test_tensors_in_tensors_out_also_in_a_batch():
    for values, kind in (([0, 1, 1], np.ndarray), (torch.tensor([0, 1, 1]), torch.Tensor)):
        c = DemographicParity().people(values).constraints(rows=np.array([0, 1]))
        for field in (c.matrix, c.types, c.vectors, c.target, c.column_mass, c.sample_weight):
            assert isinstance(field, kind)


# A user's own rows.


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_a_matrix_is_rebuilt_from_its_types_and_equal_columns_are_one_type(seed):
    rng = np.random.default_rng(seed)
    d, n = int(rng.integers(1, 5)), int(rng.integers(2, 30))
    G = rng.choice([-1.0, -0.0, 0.0, 0.5, 1e-300], size=(d, n))
    G[:, 0], G[:, 1] = 1, -1  # so that fair scores exist
    c = Constraints.from_matrix(G)
    np.testing.assert_array_equal(c.matrix, G)
    assert c.vectors.shape == (d, len({tuple(column + 0.0) for column in G.T}))
    assert c.names == tuple(f"row {i}" for i in range(d))
    assert not c.target.any()


def test_columns_that_differ_in_the_last_bit_are_two_types():
    c = Constraints.from_matrix([[1.0, np.nextafter(1.0, 2), -1.0, -1.0]])
    assert c.vectors.shape == (1, 3)


def from_rows(rows):
    return pl.DataFrame(rows, orient="row")


@pytest.mark.parametrize("wrap", [np.array, torch.tensor, pd.DataFrame, from_rows, list])
def test_a_matrix_may_come_in_any_container(wrap):
    c = Constraints.from_matrix(wrap([[1.0, -1.0], [0.0, 0.0]]), target=[0, 0], names=["x", "y"])
    np.testing.assert_array_equal(np.asarray(c.matrix), [[1, -1], [0, 0]])
    assert isinstance(c.matrix, torch.Tensor) == (wrap is torch.tensor)
    assert c.names == ("x", "y")


def test_receivers_may_be_other_people_of_the_matrix():
    for wrap in (np.array, torch.tensor, list):
        c = Constraints.from_matrix(
            wrap([[1.0, -1.0, 1.0, -1.0, -1.0]]),
            sample_weight=[2, 3, 1, 1, 4],
            rows=[0, 1],
            columns=[2, 3, 4],
        )
        assert c.matrix.tolist() == [[1, -1]]
        assert c.vectors[:, c.column_types].tolist() == [[1, -1, -1]]
        assert c.column_mass.tolist() == [5, 1]
        assert c.sample_weight.tolist() == [2, 3]


def test_a_matrix_without_rows_constrains_nothing():
    c = Constraints.from_matrix(np.zeros((0, 3)))
    assert len(c) == 0
    assert check_existence(c)


@pytest.mark.parametrize(
    ("G", "arguments", "message"),
    [
        ([1, -1], {}, r"`G` must have 2 dimension"),
        ([[1, np.nan]], {}, r"`G` must be finite.*\(0, 1\)"),
        ([[1, -1]], {"target": [0, 0]}, r"`target` must have one entry per row of G: 1.*\(2,\)"),
        ([[1, -1]], {"names": ["a", "b"]}, "`names` must have one entry per row"),
        ([[1, -1]], {"sample_weight": [1]}, "`sample_weight` must have one entry per person: 2"),
    ],
)
def test_a_matrix_that_does_not_fit_is_refused(G, arguments, message):
    with pytest.raises(ValueError, match=message):
        Constraints.from_matrix(G, **arguments)


# Whether fair scores exist: f >= 0 with G f = b.


@pytest.mark.parametrize(
    ("G", "b", "bad"),
    [
        ([[1, 2]], [0], ["x"]),
        ([[1, 2]], [-1], ["x"]),
        ([[1, -1], [1, 2]], [0, 0], ["y"]),
        ([[1, 2], [1, -1]], [0, 0], ["x"]),
        ([[0, 0], [1, -1]], [1, 0], ["x"]),
        ([[1e-9, 2e-9], [1e9, -1e9]], [0, 0], ["x"]),
        ([[-1, -2, 0], [1, -1, 0]], [1, 0], ["x"]),
    ],
)
def test_a_row_that_no_scores_can_satisfy_is_named(G, b, bad):
    c = Constraints.from_matrix(G, b, names=["x", "y"][: len(G)])
    with pytest.raises(ValueError, match="no non-negative scores") as error:
        solved(smooth_otf, c)
    assert str(bad) in str(error.value)
    assert "or allow a `slack`" in str(error.value)


@pytest.mark.parametrize("kind", [np.float32, np.float16, torch.float32, pd.DataFrame])
def test_rounding_of_coarse_numbers_is_no_constraint(kind):
    # One-hot rows depend on one another; in single precision they do so up to 1e-7 only.
    rng = np.random.default_rng(0)
    group = np.r_[:4, rng.integers(0, 4, 196)]
    X = rng.normal(size=(200, 3)) + 0.3 * group[:, None]
    scores, geometry = 1 / (1 + np.exp(-X.sum(1))), PointCloud(X)
    one_hot = np.eye(4)[group]
    exact = (one_hot / one_hot.mean(0) - 1).T
    if kind is torch.float32:
        coarse = torch.as_tensor(exact, dtype=kind)
    else:
        coarse = (
            pd.DataFrame(exact.astype(np.float32)) if kind is pd.DataFrame else exact.astype(kind)
        )
    digits = 1e-2 if kind is np.float16 else 1e-5
    for solve in (
        exact_otf,
        partial(smooth_otf, epsilon=1e-2),
        partial(adjusted_otf, epsilon=1e-2),
    ):
        expected = solve(scores, geometry, Constraints.from_matrix(exact)).value
        found = solve(scores, geometry, Constraints.from_matrix(coarse)).value
        assert float(found) == pytest.approx(float(expected), rel=digits, abs=digits)


def test_rows_that_contradict_others_are_not_made_to_agree():
    G = np.array([[1, -1, 0], [2, -2, 0]], dtype=np.float32)
    assert check_existence(Constraints.from_matrix(G, [0.1, 0.2]))
    with pytest.raises(ValueError, match="no non-negative"):
        check_existence(Constraints.from_matrix(G, [0.1, 0.3]))


def test_a_row_of_zeros_takes_a_slack_however_large():
    c = replace(Constraints.from_matrix([[0, 0], [1, -1]]), target=np.array([1.0, 0.0]))
    assert check_existence(c, total=1.0, slack=np.array([1e8, 0.0]))
    with pytest.raises(ValueError, match="no non-negative"):
        check_existence(c, total=1.0, slack=np.array([0.5, 0.0]))


def test_people_without_weight_cannot_make_a_row_satisfiable():
    assert solved(smooth_otf, Constraints.from_matrix([[1, -1]])).converged
    with pytest.raises(ValueError, match=r"no non-negative.*\['row 0'\]"):
        solved(smooth_otf, Constraints.from_matrix([[1, -1]], sample_weight=[1, 0]))


def test_existence_tells_positive_scores_from_scores_with_a_zero():
    assert check_existence(Constraints.from_matrix([[1, -1]]))
    assert not check_existence(Constraints.from_matrix([[1, 0]]))  # forces the first to zero
    assert check_existence(Constraints.from_matrix([[1, 0]], target=[1]))
    forced = Constraints.from_matrix([[1, 0]])
    assert check_existence(forced, total=1.0, slack=np.array([0.1]))


def test_existence_is_judged_at_the_total_of_the_scores():
    c = Constraints.from_matrix([[1, 0, 0], [0, 1, 0]], target=[1, 2])
    assert check_existence(c, total=4.0)
    assert not check_existence(c, total=3.0)
    with pytest.raises(ValueError, match="total of these scores, 2"):
        check_existence(c, total=2.0)
    assert check_existence(c, total=2.5, slack=np.array([0.5, 0.5]))


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_rows_that_repeat_each_other_up_to_rounding_do_not_hide_positive_scores(seed):
    rng = np.random.default_rng(seed)
    sensitive, labels, weight, _ = population(seed, n=int(rng.integers(9, 60)))
    notion = NOTIONS[int(rng.integers(len(NOTIONS)))]
    G = notion.constraints(sensitive, labels, weight).matrix
    if len(G) == 0:
        return
    G = 10 ** rng.uniform(-3, 3, len(G))[:, None] * G
    G = np.vstack([G, -2 * G[-1:], G.sum(0, keepdims=True), G[:1]])
    assert check_existence(Constraints.from_matrix(G, sample_weight=weight))


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_scores_that_satisfy_the_rows_are_never_called_impossible(seed):
    rng = np.random.default_rng(seed)
    d, n = int(rng.integers(1, 5)), int(rng.integers(2, 12))
    G = rng.integers(-3, 4, size=(d, n)) * 10.0 ** rng.integers(-4, 5, size=(d, 1))
    scores = rng.uniform(0.1, 1, n)
    c = Constraints.from_matrix(G, G @ scores)
    assert check_existence(c, total=float(scores.sum()))


def test_a_linear_notion_is_checked_in_a_batch_whose_columns_are_some_people_only():
    people = LinearNotion(lambda s, y: np.array([[1, 1, -1, -1]]), names=["a = b"]).people([0] * 4)
    solved(smooth_otf, people.constraints(rows=[0, 2], columns=[1, 3]))
    with pytest.raises(ValueError, match=r"\['a = b'\]"):
        solved(smooth_otf, people.constraints(rows=[0, 2], columns=[0, 1]))


@pytest.mark.parametrize("rows", [[4], [-5], np.zeros(3, bool), np.ones(3, bool), [[0, 1]]])
def test_rows_that_are_nobody_are_refused(rows):
    people = DemographicParity().people(["a", "b", "b", "a"])
    with pytest.raises(ValueError, match="`rows` must choose at least one of 4 people"):
        people.constraints(rows=rows)


def test_a_matrix_of_nobody_is_refused():
    with pytest.raises(ValueError, match="one column per person"):
        Constraints.from_matrix(np.zeros((1, 0)))


def test_existence_that_no_scores_can_change_is_not_checked_again():
    assert Constraints.from_matrix([[1, -1, 2]]).always_feasible
    assert not Constraints.from_matrix([[1, 0, 0]]).always_feasible  # only at the edge
    assert not Constraints.from_matrix([[1, -1, 2]], target=[1.0]).always_feasible  # by the total
    assert not Constraints.from_matrix([[1, 1, 2]]).always_feasible  # with slack only


def test_rows_and_columns_without_a_group_in_common_are_refused():
    by_sex = DemographicParity().people({"sex": list("FFMM")})
    with pytest.raises(ValueError, match=r"nobody can receive score.*rows, which are sex=F\."):
        by_sex.constraints(rows=[0, 1], columns=[2, 3])


def solved(cost, constraints, scores=0.5, **arguments):
    """Solve a problem of people who are all equally far from one another."""
    n, m = len(constraints.types), len(constraints.column_types)
    return cost(np.full(n, scores), otfair.CostMatrix(1.0 - np.eye(n, m)), constraints, **arguments)


def test_where_no_scores_are_fair_the_remedy_is_one_that_helps():
    c = Constraints.from_matrix([[1.0, 2.0]])  # only scores of zero have 1 f + 2 f = 0
    with pytest.raises(ValueError, match=r"\['row 0'\].*or allow a `slack`"):
        solved(smooth_otf, c)
    for slack in (1.2, [1.2]):
        t = solved(smooth_otf, c, slack=slack)
        assert c.matrix @ t.fair_scores == pytest.approx(1.2)
    with pytest.raises(ValueError, match="no non-negative"):
        solved(smooth_otf, c, slack=0.99)  # even all score at the first has 1


@pytest.mark.parametrize("seed", range(12))
def test_rows_that_no_scores_satisfy_are_solved_where_slack_allows_it(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(3, 12)), int(rng.integers(1, 4))
    X, h, weight = rng.normal(size=(n, 2)), rng.uniform(0.1, 1, n), rng.integers(1, 4, n) * 1.0
    G = np.vstack([rng.uniform(0.5, 2, n), rng.normal(size=(d - 1, n))])  # one row is positive
    b = np.append(-rng.uniform(0, 1), np.zeros(d - 1))  # which no scores can meet
    c = Constraints.from_matrix(G, b, sample_weight=weight)
    geometry, mass = PointCloud(X), weight * h
    C = geometry.cost_matrix().numpy()
    for cost in (exact_otf, smooth_otf, adjusted_otf):
        with pytest.raises(ValueError, match=r"no non-negative.*'row 0'"):
            cost(h, geometry, c)

    # As unfair as the scores are now: they cost nothing, and smoothing moves them by little.
    relaxed = otfair.relaxed_otf(h, geometry, c, 1e-4)
    now = np.abs(G @ mass - b)
    assert relaxed.converged
    assert np.all(np.abs(G @ (weight * relaxed.fair_scores) - b) <= now * (1 + 1e-6) + 1e-9)
    assert relaxed.transport_cost == pytest.approx(full_lp(C, mass, G, b, now), abs=1e-3 * n)

    nearer = 0.5 * mass  # the other half goes to whom the first row is smallest for
    nearer[G[0].argmin()] += 0.5 * mass.sum()
    slack = 1.01 * np.abs(G @ nearer - b)
    best = full_lp(C, mass, G, b, slack)
    exact = exact_otf(h, geometry, c, slack=slack)
    assert exact.value == pytest.approx(best, abs=1e-8)
    smooth = smooth_otf(h, geometry, c, 1e-4, slack=slack)
    assert smooth.converged
    assert smooth.transport_cost == pytest.approx(best, abs=1e-3 * n)
    assert smooth.transport_cost >= best - 1e-6


def test_a_penalty_on_rows_that_no_scores_satisfy_names_them():
    own = LinearNotion(lambda s, y: np.array([[1.0, 2.0, 3.0]]), names=["all of it"])
    X, logits = np.eye(3), torch.tensor([0.5, 0.1, -0.2], requires_grad=True)
    for fitted in (True, False):
        loss = otfair.OTFLoss(own, 0.1)
        people = {"index": [0, 1, 2]} if fitted else {"features": X, "sensitive": [0, 1, 2]}
        loss = loss.fit(X, [0, 1, 2]) if fitted else loss
        with pytest.raises(ValueError, match=r"no non-negative.*\['all of it'\]"):
            loss(logits, **people)
    # A penalty that moves nobody can do with them.
    assert float(otfair.NormLoss(own)(logits.detach(), None, [0, 1, 2])) > 0


def test_group_notions_say_at_once_that_receivers_lack_a_group():
    people = DemographicParity().people({"sex": list("FFMM")})
    with pytest.raises(ValueError, match=r"no non-negative.*sex=M.*among the people who receive"):
        people.constraints(columns=[0, 1])


def test_constraints_are_shown_by_name_and_compared_by_identity():
    c = DemographicParity().constraints(list("ab"))
    assert repr(c) == "Constraints(names=('group=a', 'group=b'), dropped=())"
    assert c == c
    assert c != DemographicParity().constraints(list("ab"))


def test_constraints_do_not_follow_changes_of_the_users_weights():
    weight = torch.ones(3, dtype=torch.float64)
    c = DemographicParity().constraints(torch.tensor([0, 1, 1]), sample_weight=weight)
    weight *= 5
    assert c.sample_weight.tolist() == [1, 1, 1]
