"""Rows of G are the formulas of docs/derivation.md, section 2, for any table people bring."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import otfair
from otfair import (
    ConditionalParity,
    DemographicParity,
    EqualizedOdds,
    EqualOpportunity,
    LinearNotion,
    PredictiveEquality,
)
from otfair.notions import _attributes as attributes

SEX = ["F", "M", "M", "F", "M"]
LABELS = [1, 0, 1, 0, 1]


def brute_force(sensitive, strata, weight, kinds):
    """Rows of G by the formulas as they are printed, one person at a time: {name: row}."""
    out = {}
    w = np.asarray(weight, dtype=float)
    mean = lambda v: float((w * v).sum() / w.sum())
    for stratum, Y in strata.items():
        Y = np.asarray(Y, dtype=float)
        if mean(Y) == 0:
            continue
        given_ = f" | {stratum}" if stratum else ""
        for name, column in sensitive.items():
            if kinds[name] == "categorical":
                for value in np.unique(column):
                    S = (column == value).astype(float)
                    if mean(S * Y) > 0 and mean((1 - S) * Y) > 0:
                        out[f"{name}={value}{given_}"] = Y * (S / mean(S * Y) - 1 / mean(Y))
            else:
                centre = mean(column * Y) / mean(Y)
                spread = mean(Y * (column - centre) ** 2) / mean(Y)
                if len(np.unique(column[(Y > 0) & (w > 0)])) > 1:
                    out[f"{name}{given_}"] = Y * (column - centre) / spread**0.5
    return out


def random_people(seed: int):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 40))
    sensitive = {
        "sex": np.where(rng.random(n) < 0.4, "F", "M"),
        "race": rng.integers(0, 4, n),
        "age": np.round(rng.normal(40, 10, n), int(rng.integers(0, 3))) + 0.25,
    }
    sensitive["sex"][:2], sensitive["race"][:2], sensitive["age"][:2] = (
        ["F", "M"],
        [0, 1],
        [1.5, 2.5],
    )
    labels = rng.integers(0, 2, n)
    weight = [np.ones(n), rng.integers(0, 3, n), rng.random(n) + 0.01][int(rng.integers(3))]
    weight = np.asarray(weight, dtype=float)
    weight[:2] = 1
    return sensitive, labels, weight


KINDS = {"sex": "categorical", "race": "categorical", "age": "continuous"}


@pytest.mark.parametrize(
    ("notion", "kept"),
    [
        (DemographicParity(), None),
        (EqualizedOdds(), (0, 1)),
        (EqualOpportunity(), (1,)),
        (PredictiveEquality(), (0,)),
    ],
)
@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_rows_are_the_printed_formulas(notion, kept, seed):
    sensitive, labels, weight = random_people(seed)
    strata = {"": np.ones(len(labels))}
    if kept is not None:
        strata = {f"y={label}": labels == label for label in kept}
    rows = brute_force(sensitive, strata, weight, KINDS)
    c = notion.constraints(sensitive, labels, weight)
    assert list(c.names) == list(rows)
    expected = np.array(list(rows.values())).reshape(len(rows), len(labels))
    np.testing.assert_allclose(c.matrix, expected, rtol=1e-9, atol=1e-9)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_conditional_parity_is_the_formula_within_the_strata_of_the_control(seed):
    sensitive, _, weight = random_people(seed)
    kept = {k: v for k, v in sensitive.items() if k != "race"}
    strata = {f"race={r}": sensitive["race"] == r for r in np.unique(sensitive["race"])}
    rows = brute_force(kept, strata, weight, KINDS)
    for control in ("race", ["race"], 1, [-2]):
        c = ConditionalParity(control=control).constraints(sensitive, sample_weight=weight)
        assert list(c.names) == list(rows)
        if rows:
            np.testing.assert_allclose(c.matrix, np.array(list(rows.values())), atol=1e-9)
    by_label = ConditionalParity().constraints(kept, sensitive["race"], weight)
    np.testing.assert_array_equal(by_label.matrix, c.matrix)
    assert by_label.names == tuple(n.replace("race=", "stratum=") for n in c.names)


NOTIONS = [
    DemographicParity(),
    EqualizedOdds(),
    EqualOpportunity(),
    PredictiveEquality(),
    ConditionalParity(control="race"),
    DemographicParity(intersectional=True),
    EqualizedOdds(intersectional=True, continuous=["race"]),
    DemographicParity(categorical="age"),
    DemographicParity() & EqualOpportunity(),
]


@pytest.mark.parametrize("notion", NOTIONS, ids=repr)
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_constant_scores_are_fair_under_every_notion_with_any_weights(notion, seed):
    sensitive, labels, weight = random_people(seed)
    c = notion.constraints(sensitive, labels, weight)
    violation = np.abs(c.matrix @ weight)
    assert (violation <= 1e-12 * (np.abs(c.matrix) @ weight)).all()


@pytest.mark.parametrize("notion", NOTIONS, ids=repr)
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_integer_weights_are_copies(notion, seed):
    sensitive, labels, _ = random_people(seed)
    copies = np.random.default_rng(seed).integers(0, 4, len(labels))
    copies[:2] = 1
    index = np.repeat(np.arange(len(labels)), copies)
    a = notion.constraints(sensitive, labels, copies)
    b = notion.constraints({k: v[index] for k, v in sensitive.items()}, labels[index])
    assert a.names == b.names
    np.testing.assert_allclose(a.matrix[:, index], b.matrix, rtol=1e-9, atol=1e-9)


def test_equalized_odds_does_not_charge_a_constant_as_the_printed_table_would():
    # The paper's table has - 1 where - 1 / mean(Y) belongs.
    c = EqualizedOdds().constraints({"sex": SEX}, LABELS)
    S, Y = np.array(SEX) == "F", np.array(LABELS) == 1
    printed = Y * (S / (S & Y).mean() - 1)
    row = c.matrix[c.names.index("sex=F | y=1")]
    assert abs(printed.sum()) > 1
    assert row.sum() == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(row, Y * (S / (S & Y).mean() - 1 / Y.mean()))


def test_a_row_says_how_far_a_group_mean_is_from_the_mean_of_its_stratum():
    h = np.array([0.1, 0.4, 0.8, 0.3, 0.9])
    c = EqualizedOdds().constraints({"sex": SEX}, LABELS)
    y1 = np.array(LABELS) == 1
    men = np.array(SEX) == "M"
    gap = h[men & y1].mean() - h[y1].mean()
    assert (c.matrix @ h)[c.names.index("sex=M | y=1")] == pytest.approx(5 * gap)


def test_types_group_people_by_value_and_not_by_rounded_numbers():
    # 0.1 + 0.2 is not 0.3: two types, however near; -0.0 is 0.0: one type.
    c = DemographicParity().constraints({"s": np.array([0.1 + 0.2, 0.3, 0.3, -0.0, 0.0])})
    assert len(np.unique(c.types)) == 3
    assert c.types[1] == c.types[2]
    assert c.types[3] == c.types[4]
    assert c.types[0] != c.types[1]


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_types_are_distinct_combinations_and_their_vectors_rebuild_the_matrix(seed):
    sensitive, labels, weight = random_people(seed)
    c = EqualizedOdds().constraints(sensitive, labels, weight)
    combos = {tuple(row) for row in zip(*sensitive.values(), labels)}
    assert c.vectors.shape[1] == len(combos) == len(set(c.type_names))
    np.testing.assert_array_equal(c.matrix, c.vectors[:, c.types])
    assert sorted(set(c.types.tolist())) == list(range(len(combos)))
    np.testing.assert_allclose(c.column_mass, np.bincount(c.types, weight, len(combos)))


def test_people_whom_no_row_speaks_of_are_one_type():
    c = EqualOpportunity().constraints({"sex": SEX, "age": [1.5, 2, 3, 4, 5]}, LABELS)
    outside = c.types[np.array(LABELS) == 0]
    assert len(set(outside.tolist())) == 1
    assert not c.matrix[:, np.array(LABELS) == 0].any()
    assert c.type_names[outside[0]] == "y=0"


def test_names_are_what_a_person_would_call_the_rows():
    c = EqualizedOdds().constraints({"sex": SEX, "age": [20.5, 31, 42, 53, 64]}, LABELS)
    assert c.names == (
        "sex=F | y=0", "sex=M | y=0", "age | y=0", "sex=F | y=1", "sex=M | y=1", "age | y=1",
    )  # fmt: skip
    assert "sex=F, age=20.5, y=1" in c.type_names
    crossed = DemographicParity(intersectional=True).constraints(
        {"sex": ["F", "F", "M", "M"], "old": [True, False, True, True]}
    )
    assert crossed.names == ("sex=F & old=False", "sex=F & old=True", "sex=M & old=True")
    assert crossed.dropped == ("sex=M & old=False",)
    assert DemographicParity().constraints(np.array([[0, 1], [1, 0]])).names == (
        "group0=0", "group0=1", "group1=0", "group1=1",
    )  # fmt: skip


def test_crossing_compares_each_combination_with_everybody():
    data = {"a": np.array([0, 0, 1, 1, 0]), "b": np.array([0, 1, 0, 1, 1])}
    both = np.array([f"{a}{b}" for a, b in zip(data["a"], data["b"])])
    crossed = DemographicParity(intersectional=True).constraints(data)
    np.testing.assert_array_equal(crossed.matrix, DemographicParity().constraints(both).matrix)


@pytest.mark.parametrize(
    ("values", "categorical"),
    [
        (np.arange(10), True),
        (np.arange(11), False),
        (np.arange(12) % 2 * 1000, True),
        (np.arange(12) % 2 * 1.0, True),
        (np.arange(12).astype(np.float32), False),
        (np.arange(12) % 2 == 0, True),
        (np.arange(12).astype(str), True),
        (np.arange(12).astype(np.uint8), False),
        (np.arange(12).astype(object), False),
        (pd.Series(np.arange(12), dtype="category"), True),
        (pd.Series(np.arange(12) % 3, dtype="Int64"), True),
        (pd.Series(np.arange(12), dtype="Int64"), False),
        (pl.Series(np.arange(12)), False),
        (pl.Series(np.arange(12).astype(str), dtype=pl.Categorical), True),
        (torch.arange(12) % 2, True),
        ((torch.arange(12) % 2).float(), True),
        ((torch.arange(12) % 2).bool(), True),
        ([0, 1, 1.0], True),
        ([0, 1, 1.5], False),
        ([0, 1, True], True),
    ],
)
def test_text_categories_booleans_and_few_integers_are_groups_and_other_numbers_are_not(
    values, categorical
):
    c = DemographicParity().constraints({"s": values})
    assert all(name.startswith("s=") for name in c.names) == categorical
    assert (c.names == ("s",)) != categorical


def test_continuous_and_categorical_overrule_the_reading_by_name_and_by_position():
    table = np.array([[0, 1], [1, 0], [1, 1]])
    for chosen in ("group1", ["group1"], 1, [-1], np.array([1])):
        c = DemographicParity(continuous=chosen).constraints(table)
        assert c.names == ("group0=0", "group0=1", "group1")
    floats = {"age": [0.5, 1.5, 0.5]}
    assert DemographicParity(categorical=["age"]).constraints(floats).names == (
        "age=0.5", "age=1.5",
    )  # fmt: skip


def test_positions_count_all_columns_also_beside_a_control():
    table = np.array([[0, 1, 5], [1, 2, 6], [0, 2, 5], [1, 1, 7]])
    c = ConditionalParity(control=0, continuous=[1]).constraints(table)
    assert set(c.names) == {
        "group1 | group0=0", "group1 | group0=1", "group2=6 | group0=1", "group2=7 | group0=1",
    }  # fmt: skip


def test_a_continuous_column_is_standardised_within_its_stratum():
    age = np.array([20.0, 30, 40, 50, 90])
    y = np.array([0, 0, 1, 1, 1])
    c = EqualizedOdds(continuous="age").constraints({"age": age}, y)
    for label, row in zip((0, 1), c.matrix):
        a = age[y == label]
        np.testing.assert_allclose(row[y == label], (a - a.mean()) / a.std())
        assert not row[y != label].any()


@pytest.mark.parametrize("offset", [0.0, 1.7e9, -1e12])
def test_a_large_offset_of_a_continuous_column_changes_nothing(offset):
    # Dates as seconds: means of large numbers cancel badly.
    day = np.arange(64) / 64.0 * 2**10
    a = DemographicParity(continuous="t").constraints({"t": day}).matrix
    b = DemographicParity(continuous="t").constraints({"t": day + offset}).matrix
    np.testing.assert_allclose(b, a, atol=1e-12)
    assert abs(b.sum()) < 1e-11


def test_a_stratum_of_one_value_has_no_row_whatever_the_weights():
    rng = np.random.default_rng(0)
    for _ in range(50):
        n = int(rng.integers(4, 30))
        y = np.r_[0, 0, np.ones(n, dtype=int)]
        sensitive = {"sex": ["F", "M", *["F"] * n], "age": [0.1, 0.2, *[0.3] * n]}
        c = EqualizedOdds().constraints(sensitive, y, rng.random(n + 2) + 1e-3)
        assert c.names == ("sex=F | y=0", "sex=M | y=0", "age | y=0")
        assert c.dropped == ("sex=F | y=1", "sex=M | y=1", "age | y=1")


def test_an_absent_group_is_dropped_by_name():
    declared = ["F", "M", "X"]
    tables = [
        pd.DataFrame({"sex": pd.Categorical(SEX, categories=declared)}),
        {"sex": pd.Categorical(SEX, categories=declared)},
        pl.DataFrame({"sex": pl.Series(SEX, dtype=pl.Enum(declared))}),
    ]
    plain = DemographicParity().constraints({"sex": SEX})
    for table in tables:
        c = DemographicParity().constraints(table)
        assert c.names == ("sex=F", "sex=M")
        assert c.dropped == ("sex=X",)
        np.testing.assert_array_equal(c.matrix, plain.matrix)


def test_a_group_without_weight_is_dropped_by_name_and_can_receive_nothing():
    c = DemographicParity().constraints(["a", "b", "c", "b"], sample_weight=[1, 1, 0, 1])
    assert c.names == ("group=a", "group=b")
    assert c.dropped == ("group=c",)
    assert c.column_mass.tolist() == [1, 2, 0]
    assert np.isfinite(c.matrix).all()


@pytest.mark.parametrize(
    "labels",
    [
        np.array(LABELS),
        LABELS,
        np.array(LABELS, dtype=bool),
        np.array(LABELS, dtype=float),
        np.array(LABELS, dtype=object),
        np.array(LABELS)[:, None],
        pd.Series(LABELS, index=[5, 4, 3, 2, 1]),
        pd.Series(LABELS, dtype="boolean"),
        pd.Series(LABELS, dtype="Int64"),
        pl.Series(LABELS),
        torch.tensor(LABELS),
        torch.tensor(LABELS, dtype=torch.float32),
    ],
    ids=lambda v: f"{type(v).__module__.split('.')[0]}-{getattr(v, 'dtype', 'list')}",
)
def test_labels_may_come_in_any_container(labels):
    expected = EqualizedOdds().constraints({"sex": SEX}, LABELS)
    c = EqualizedOdds().constraints({"sex": SEX}, labels)
    np.testing.assert_array_equal(c.matrix, expected.matrix)


def test_weights_may_come_in_any_container():
    w = [1.0, 2.0, 0.5, 1.0, 3.0]
    expected = DemographicParity().constraints(SEX, sample_weight=w).matrix
    for weight in (np.array(w), pd.Series(w), pl.Series(w), torch.tensor(w), pd.array(w)):
        c = DemographicParity().constraints(SEX, sample_weight=weight)
        np.testing.assert_array_equal(c.matrix, expected)
        np.testing.assert_array_equal(c.sample_weight, w)


def test_tensors_in_tensors_out_and_arrays_in_arrays_out():
    fields = (
        "matrix",
        "types",
        "vectors",
        "target",
        "sample_weight",
        "column_types",
        "column_mass",
    )
    for values, kind in (
        (np.array([0, 1, 1]), np.ndarray),
        (torch.tensor([0, 1, 1]), torch.Tensor),
    ):
        c = DemographicParity().constraints(values)
        assert {type(getattr(c, f)) for f in fields} == {kind}
    stacked = LinearNotion(lambda s, y: np.array([[1, -1, 0]])) & DemographicParity()
    assert isinstance(stacked.constraints(torch.tensor([0, 1, 1])).matrix, torch.Tensor)


def test_a_name_stands_for_its_notion():
    names = {
        "demographic_parity": DemographicParity(),
        "equalized_odds": EqualizedOdds(),
        "equal_opportunity": EqualOpportunity(),
        "predictive_equality": PredictiveEquality(),
        "conditional_parity": ConditionalParity(),
    }
    for name, notion in names.items():
        assert otfair.as_notion(name) == notion
        assert type(otfair.as_notion(name)) is type(notion)
    assert otfair.as_notion(notion) is notion
    for bad in ("equalised", None, 3, DemographicParity):
        with pytest.raises(ValueError, match=r"unknown notion.*'equalized_odds'"):
            otfair.as_notion(bad)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_stacking_notions_stacks_their_rows(seed):
    sensitive, labels, weight = random_people(seed)
    a, b = DemographicParity(intersectional=True), EqualizedOdds()
    both = (a & "equalized_odds").constraints(sensitive, labels, weight)
    parts = [x.constraints(sensitive, labels, weight) for x in (a, b)]
    np.testing.assert_allclose(both.matrix, np.vstack([p.matrix for p in parts]), atol=1e-12)
    assert both.names == parts[0].names + parts[1].names
    assert both.dropped == parts[0].dropped + parts[1].dropped


def test_a_linear_notion_is_given_what_the_user_passed_and_its_rows_are_used_as_they_are():
    seen = []

    def rows(s, y, *weight):
        seen.append((s, y, *weight))
        return np.array([[1.0, -1, 0, 0, 0], [0, 0, 2, -1, 0]])

    notion = LinearNotion(rows, target=[0, 0.5], names=["one", "two"])
    c = notion.constraints(SEX, LABELS)
    assert seen == [(SEX, LABELS)]
    np.testing.assert_array_equal(c.matrix, rows(SEX, LABELS))
    assert c.names == ("one", "two")
    assert c.target.tolist() == [0, 0.5]
    notion.constraints(SEX, LABELS, [1] * 5)
    assert seen[-1] == (SEX, LABELS, [1] * 5)


def test_a_notion_must_be_one_of_its_subclasses():
    with pytest.raises(TypeError, match="use a subclass"):
        otfair.Notion().constraints(SEX)


@pytest.mark.parametrize(
    ("notion", "args", "message"),
    [
        (EqualizedOdds(), (SEX,), "EqualizedOdds compares people of equal label: pass `labels`"),
        (EqualOpportunity(), (SEX,), "EqualOpportunity compares"),
        (PredictiveEquality(), (SEX,), "PredictiveEquality compares"),
        (ConditionalParity(), (SEX,), "needs the strata.*control="),
        (ConditionalParity(), (SEX, ["x"] * 4), "`labels` has 4 entries but .* 5 people"),
        (ConditionalParity(control=["group"]), (SEX,), "no attribute is left"),
        (ConditionalParity(control="job"), (SEX,), r"`control` names 'job'; the columns are"),
        (EqualizedOdds(), (SEX, [0, 1, 2, 1, 0]), "must be 0 or 1; received the values 0, 1, 2"),
        (EqualizedOdds(), (SEX, [-1, 1, 1, 1, 1]), r"-1, 1\. Map the positive outcome"),
        (EqualizedOdds(), (SEX, ["0", "1", "0", "1", "0"]), "received the values '0', '1'"),
        (EqualizedOdds(), (SEX, [0, 1, 0.5, 1, 0]), "0.0, 0.5, 1.0"),
        (EqualizedOdds(), (SEX, [0, 1, 0, 1]), "`labels` has 4 entries but .* 5 people"),
        (EqualizedOdds(), (SEX, np.zeros((5, 2))), "one column.*received 2"),
        (EqualizedOdds(), (SEX, [0, 1, None, 1, 0]), "`labels` column .* row 2"),
        (
            DemographicParity(),
            (SEX, None, [1, 1]),
            "`sample_weight` must have one entry per person",
        ),
        (DemographicParity(), (SEX, None, [1, 1, -1, 1, 1]), "non-negative.*smallest is -1"),
        (DemographicParity(), (SEX, None, [0] * 5), "not all zero"),
        (DemographicParity(), (SEX, None, [1, 1, np.nan, 1, 1]), "`sample_weight` must be finite"),
        (DemographicParity(), (["a"] * 5,), "'group' has only one group here, 'group=a'.*Leave"),
        (DemographicParity(), ({"age": [1.5] * 3},), "'age' has only one value here, 'age=1.5'"),
        (DemographicParity(), (SEX, None, [1, 0, 0, 1, 0]), "only one group.*without weight"),
        (DemographicParity(), ([],), "`sensitive_features` is empty"),
        (DemographicParity(continuous="group"), (SEX,), "named as continuous but holds text"),
        (DemographicParity(continuous=5), (SEX,), "`continuous` names 5"),
        (DemographicParity(continuous=0, categorical=0), ([1, 2],), "both continuous and categ"),
        (DemographicParity(), ({1: [0, 1], "1": [1, 0]},), r"\['1'\] come twice"),
        (DemographicParity(), ({"s": ["a", float("nan")]},), "column 's' has 1 missing"),
        (LinearNotion(lambda s, y: [[1, -1]]) & "demographic_parity", (SEX,), "2 and 5 people"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_with_a_remedy(notion, args, message):
    with pytest.raises(ValueError, match=message):
        notion.constraints(*args)


def test_crossing_too_many_groups_is_refused(monkeypatch):
    monkeypatch.setattr(attributes, "MAX_CROSSED_GROUPS", 3)
    with pytest.raises(ValueError, match=r"crossing \['a', 'b'\] gives 4 groups.*merge"):
        DemographicParity(intersectional=True).constraints({"a": [0, 1], "b": [1, 0]})


def test_an_encoded_matrix_gives_the_rows_of_the_categories_it_encodes():
    rng = np.random.default_rng(0)
    codes, age, y = rng.integers(0, 3, 50), rng.normal(size=50), rng.integers(0, 2, 50)
    matrix = np.column_stack([np.eye(4)[codes], age])  # the fourth group is absent
    for notion in (otfair.DemographicParity, otfair.EqualizedOdds):
        encoded = notion(encoded=True).constraints(torch.tensor(matrix), y)
        read = notion().constraints({"g": codes, "age": age}, y)
        np.testing.assert_allclose(encoded.matrix.numpy(), read.matrix, atol=1e-14)
        assert len(encoded.vectors[0]) == len(read.vectors[0])
        assert all(name.startswith("group3") for name in encoded.dropped)


def test_an_encoded_matrix_of_one_group_has_no_rows():
    c = otfair.DemographicParity(encoded=True).constraints(np.eye(2)[[0, 0, 0]])
    assert len(c) == 0
    assert c.dropped == ("group0", "group1")


def test_strata_that_leave_nobody_to_compare_are_warned_of(caplog):
    table = {"sex": ["f", "m"] * 3, "income": [1.5, 2.5, 3.5, 4.5, 5.5, 6.5]}
    c = ConditionalParity(control="income").constraints(table)
    assert c.names == ()
    assert "too finely" in caplog.text
    assert "sex=f | income=1.5" in caplog.text


def test_a_name_stacks_from_either_side():
    left = "equalized_odds" & otfair.DemographicParity()
    right = otfair.EqualizedOdds() & "demographic_parity"
    assert left == right


def test_each_notion_of_a_stack_may_speak_of_columns_of_its_own():
    table = {"sex": list("FMFMFM"), "age": [20.0, 30.0, 40.0, 50.0, 60.0, 70.0]}
    y = [0, 0, 0, 1, 1, 1]
    both = EqualizedOdds(columns="sex") & DemographicParity(columns=["age"])
    c = both.constraints(table, y)
    parts = [
        EqualizedOdds().constraints({"sex": table["sex"]}, y),
        DemographicParity().constraints({"age": table["age"]}),
    ]
    assert c.names == parts[0].names + parts[1].names
    np.testing.assert_array_equal(c.matrix, np.vstack([part.matrix for part in parts]))


def test_columns_that_are_all_taken_for_strata_leave_nothing_to_compare():
    table = {"sex": list("FMFM"), "job": list("aabb")}
    chosen = ConditionalParity(control="job", columns="sex").constraints(table)
    assert chosen.names == ConditionalParity(control="job").constraints(table).names
    with pytest.raises(ValueError, match="no attribute is left"):
        ConditionalParity(control="job", columns="job").constraints(table)
    with pytest.raises(ValueError, match="`columns` names 'race'"):
        DemographicParity(columns="race").constraints(table)


def test_choices_of_columns_are_the_same_however_they_are_written():
    for chosen in ("sex", ["sex"], ("sex",), np.array(["sex"])):
        assert DemographicParity(columns=chosen) == DemographicParity(columns=("sex",))
        assert hash(DemographicParity(columns=chosen)) == hash(DemographicParity(columns="sex"))
    assert DemographicParity(continuous=np.int64(1)) == DemographicParity(continuous=[1])
    assert ConditionalParity(control="job") == ConditionalParity(control=["job"])
    assert DemographicParity(columns=None) == DemographicParity()


def test_a_name_that_is_a_number_comes_before_a_position():
    table = pd.DataFrame({1: list("FMFM"), 0: list("aabb")})
    assert DemographicParity(columns=0).constraints(table).names == ("0=a", "0=b")
    assert DemographicParity(columns=-1).constraints(table).names == ("0=a", "0=b")
