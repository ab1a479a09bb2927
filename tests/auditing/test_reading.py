"""What an audit reads: tables of every kind, who and what is left out, and what is refused."""

from __future__ import annotations

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch

import otfair
from otfair.auditing._features import choose_columns, read_features
from otfair.auditing._reading import read
from otfair.tables import to_frame, unsuited
from otfair.tables._labels import outcomes, read_labels

N = 60
rng = np.random.default_rng(0)
SCORES = rng.random(N)
SEX = np.array(["f", "m"] * (N // 2))
LABELS = rng.integers(2, size=N)
TABLE = pd.DataFrame({"pay": rng.normal(size=N), "job": rng.choice(["cook", "clerk"], N)})


def read_all(scores=SCORES, X=TABLE, sensitive=SEX, labels=LABELS, weight=None, **options):
    defaults = {"continuous": (), "categorical": (), "positive_label": None}
    return read(scores, X, sensitive, labels, weight, **(defaults | options))


def columns(X, drop=(), keep=(), **options):
    people = read_all(X=X, **options)
    return read_features(choose_columns(people, drop, keep), people.weight)


def left_out(X, drop=(), keep=(), **options):
    return choose_columns(read_all(X=X, **options), drop, keep).left_out


def notes(X, **options):
    return choose_columns(read_all(X=X, **options), (), ()).notes


def test_every_kind_of_table_gives_the_same_audit():
    sensitive = pd.DataFrame({"sex": SEX, "age": np.arange(N) + 0.5})
    options = {"n_bootstrap": 5, "labels": LABELS}
    pandas = otfair.audit(SCORES, TABLE, sensitive_features=sensitive, **options)
    others = [
        otfair.audit(
            pl.Series(SCORES), pl.from_pandas(TABLE), sensitive_features=pl.from_pandas(sensitive),
            n_bootstrap=5, labels=pl.Series(LABELS),
        ),
        otfair.audit(
            torch.tensor(SCORES), TABLE.to_dict("list"),
            sensitive_features={c: sensitive[c].to_numpy() for c in sensitive}, **options,
        ),
        otfair.audit(
            list(SCORES), TABLE.set_index(np.arange(N) + 7), sensitive_features=sensitive,
            n_bootstrap=5, labels=pd.Series(LABELS, index=np.arange(N) + 7),
        ),
    ]  # fmt: skip
    for other in others:
        pd.testing.assert_frame_equal(other.summary(), pandas.summary())
        assert other.record.checksum == pandas.record.checksum


def test_arrays_have_no_names_and_get_some():
    a = otfair.audit(SCORES, rng.normal(size=(N, 3)), sensitive_features=SEX, n_bootstrap=0)
    assert a.record.columns_used == ("x0", "x1", "x2")
    assert a.findings[0].attribute == "group"


def test_people_who_lack_something_are_left_out_and_counted():
    scores, labels = SCORES.copy(), LABELS.astype(object)
    sensitive = pd.DataFrame({"sex": SEX.astype(object), "age": np.arange(N) + 0.5})
    scores[0], labels[1], weight = np.nan, None, np.ones(N)
    sensitive.loc[[1, 2], "sex"] = None
    sensitive.loc[3, "age"] = np.nan
    weight[4] = 0
    people = read_all(scores, TABLE, sensitive, labels, weight, skip_unscored=True)
    assert people.rows.tolist() == list(range(5, N))
    assert people.received == N
    assert people.dropped == {
        "no score": 1,
        "no weight": 1,
        "no label": 1,
        "no value of 'sex'": 2,
        "no value of 'age'": 1,
    }
    assert len(people.features) == N - 5
    a = otfair.audit(
        scores, TABLE, sensitive_features=sensitive, labels=labels, sample_weight=weight,
        n_bootstrap=0, skip_unscored=True,
    )  # fmt: skip
    assert a.counterparts()["giver"].min() >= 5
    assert "1 left out with no score" in a.to_html()


def test_a_missing_weight_is_none():
    weight = np.arange(1.0, N + 1)
    weight[3], none = np.nan, np.where(np.arange(N) == 3, 0, weight)
    for given in (weight, pd.Series(weight, name="w"), weight.tolist(), torch.tensor(weight)):
        people = read_all(weight=given)
        assert people.dropped == {"no weight": 1}
        assert 3 not in people.rows
        assert people.weight.tolist() == np.delete(weight, 3).tolist()
        assert people.checksum == read_all(weight=none).checksum
    assert read_all(weight=pd.Series(weight, name="w")).weighted == "w"
    for bad, message in ((-weight, "weight"), (["x"] * N, "`sample_weight` must be numbers; 60")):
        with pytest.raises(ValueError, match=message):
            read_all(weight=bad)


def test_nobody_left_is_an_error():
    with pytest.raises(ValueError, match="nobody is left of 2 people: 2 have no score"):
        read_all([np.nan, None], None, ["a", "b"], None)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (SCORES * 100, "look like percentages: divide them by 100"),
        (SCORES * 550 + 300, "Turn them into probabilities"),
        (
            np.where(np.arange(N) == 7, np.nan, SCORES),
            r"1 of \d+ scores are missing, the first in row 7",
        ),
        (np.where(np.arange(N) == 7, np.inf, SCORES), "1 of .* are infinite"),
        (SCORES * 10 - 5, "look like logits: apply the sigmoid"),
        (SCORES * 6 + 0.5, r"look like logits \(apply the sigmoid, .*\), or like marks"),
        (SCORES * 9, r"look like logits .* or small percentages \(divide them by the largest"),
        (SCORES / SCORES.max() + 1e-9, r"rounded badly: clip them to \[0, 1\]"),
        ([f"{100 * s:.1f}%" for s in SCORES], "look like percentages: remove the %"),
        (SCORES * 1000, "Turn them into probabilities"),
        (np.full(N, 0.25), "every score is 0.25"),
        (np.stack([1 - SCORES, SCORES], 1), r"pass the last column, `\[:, 1\]`"),
        (SCORES[:-1], "`scores` has 59 entries"),
        (["high"] * N, "must be numbers; 60 are not, the first is 'high' in row 0"),
        ([np.inf] + [0.5] * (N - 1), r"must lie in \[0, 1\]"),
    ],
)
def test_scores_that_are_none_are_refused_with_a_remedy(scores, message):
    with pytest.raises(ValueError, match=message):
        read_all(scores)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([0, 1, 1], [0, 1, 1]),
        ([-1, 1, -1], [0, 1, 0]),
        ([0.0, 1.0, 1.0], [0, 1, 1]),
        ([True, False, True], [1, 0, 1]),
        (["yes", "no", "Yes"], None),
        (["refused", "accepted", "accepted"], [0, 1, 1]),
        (["yes", "yes", "yes"], [1, 1, 1]),
        (["No", "Yes", "No"], [0, 1, 0]),
        (["bad", "good", "good"], [0, 1, 1]),
    ],
)
def test_labels_that_speak_for_themselves_are_read(labels, expected):
    if expected is None:  # two spellings are three values
        with pytest.raises(ValueError, match="3 values"):
            read_labels(pd.Series(labels))
    else:
        assert read_labels(pd.Series(labels)).tolist() == expected


def test_a_report_says_what_the_positive_outcome_is():
    options = {"sensitive_features": SEX, "n_bootstrap": 0}
    paid = pd.Series(np.where(LABELS == 1, "ja", "nein"), name="paid")
    assert otfair.audit(SCORES, labels=paid, **options).record.outcome == "paid = ja"
    told = otfair.audit(SCORES, labels=paid, positive_label="nein", **options)
    assert told.record.outcome == "paid = nein"
    assert "<dd>paid = nein</dd>" in told.to_html()
    assert otfair.audit(SCORES, **options).record.outcome == ""


@pytest.mark.parametrize(
    ("labels", "positive", "expected"),
    [
        (["yes", "no", "no"], None, ("paid = no", "paid = yes")),
        ([1, 0, 1], None, ("paid = 0", "paid = 1")),
        (["a", "b", "c"], "b", ("paid = not b", "paid = b")),
        ([1, 1, 1], None, ("paid = not 1", "paid = 1")),
        ([0, 0, 0], None, ("paid = 0", "paid = 1")),
        ([0.0, 1.0, 0.0], None, ("paid = 0", "paid = 1")),
    ],
)
def test_both_outcomes_have_a_name(labels, positive, expected):
    column = pd.Series(labels, name="paid", index=[5, 6, 7])
    assert outcomes(column, read_labels(column, positive)) == expected


@pytest.mark.parametrize("positive", [1, 1.0, True, "1", np.int64(1)])
@pytest.mark.parametrize(
    "labels",
    [
        [1, 0, np.nan] * (N // 3),
        [True, False, np.nan] * (N // 3),
        pl.Series([1, 0, None] * (N // 3)),
        pd.Series([1, 0, None] * (N // 3), dtype="Int64"),
    ],
)
def test_a_gap_does_not_change_which_label_is_positive(labels, positive):
    people = read_all(labels=labels, positive_label=positive)
    assert people.labels.tolist() == [1, 0] * (N // 3)
    assert people.outcomes == ("label = 0", "label = 1")


def test_other_labels_need_to_be_told():
    labels = pd.Series(["left", "right", "left"])
    with pytest.raises(ValueError, match="Say which one is positive with `positive_label='right'`"):
        read_labels(labels)
    assert read_labels(labels, "left").tolist() == [1, 0, 1]
    with pytest.raises(ValueError, match="received 2 values: 'Yes', 'yes'"):
        read_labels(pd.Series(["yes", "Yes"]))
    with pytest.raises(ValueError, match="which no label is"):
        read_labels(labels, "up")
    with pytest.raises(ValueError, match="received 3 values: '1', '2', '3'"):
        read_labels(pd.Series([1, 2, 3]))


@pytest.mark.parametrize(
    ("sensitive", "message"),
    [
        (["a"] * N, "'group' has only one group here, 'a'"),
        (np.full(N, 0.5), "only one value here, 0.5"),
        ([f"person {i}" for i in range(N)], "60 groups, more than 50"),
        (pd.DataFrame(index=range(N)), "is empty"),
        ({"tags": pd.Series([["a"], ["b"]] * (N // 2))}, "'tags' holds lists, .* `.map"),
        (pl.DataFrame({"tags": [["a"], ["b", "c"]] * (N // 2)}), "'tags' holds lists"),
        (pd.DataFrame(np.zeros((N, 2)), columns=["a", "a"]), r"columns of one name: \['a'\]"),
    ],
)
def test_groups_that_are_none_are_refused(sensitive, message):
    with pytest.raises(ValueError, match=message):
        read_all(sensitive=sensitive)


def test_columns_are_read_as_groups_or_numbers():
    table = pd.DataFrame(
        {
            "flag": np.arange(N) % 2 == 0,
            "few": np.arange(N) % 3,
            "gaps": np.where(np.arange(N) == 5, np.nan, np.arange(N) % 2),
            "many": np.arange(N),
            "real": np.arange(N) / 7,
        }
    )
    groups = {c.name: c.categories for c in read_all(sensitive=table).columns}
    assert groups == {
        "flag": ("False", "True"),
        "few": ("0", "1", "2"),
        "gaps": ("0", "1"),
        "many": None,
        "real": None,
    }
    told = read_all(sensitive=table, continuous=["few"], categorical=["flag"]).columns
    assert told[1].categories is None
    with pytest.raises(ValueError, match="continuous but holds text"):
        read_all(continuous="group")
    with pytest.raises(ValueError, match="the columns are"):
        read_all(continuous="age")


def test_columns_that_name_people_are_left_out_with_a_note():
    X = TABLE.assign(
        id=np.arange(1000, 1000 + N),
        customer_id=rng.permutation(N) * 300,
        customerNr=rng.permutation(N) * 300,
        client=rng.permutation(2 * N)[:N],  # so dense that chance would repeat some
        joined=pd.date_range("2020-01-01", periods=N).strftime("%d.%m.%Y"),
        name=[f"person {i}" for i in range(N)],
        seen=pd.date_range("2020-01-01", periods=N),
        same=1,
        empty=None,
        sex=SEX,
        p=SCORES,
        y=LABELS,
        tags=[["a"]] * N,
    )
    options = {"drop": ["job"], "sensitive": {"sex": SEX}}
    assert list(columns(X, **options).table.columns) == ["pay"]
    reasons = {
        "id": "identifier",
        "customer_id": "identifier",
        "customerNr": "identifier",
        "client": "identifier",
        "joined": "date or time",
        "name": "identifier",
        "seen": "date or time",
        "same": "one value",
        "empty": "no values",
        "sex": "sensitive attribute",
        "p": "scores themselves",
        "y": "the label under another name",
        "tags": "neither a number",
        "job": "as asked",
    }
    found = left_out(X, **options)
    assert found.keys() == reasons.keys()
    assert all(reason in found[name] for name, reason in reasons.items())


def test_categories_of_any_kind_are_features():
    # Numbers and intervals as categories are the text that they are written as.
    X = pd.DataFrame(
        {
            "grade": pd.Categorical(rng.integers(3, size=N)),
            "size": pd.cut(rng.normal(size=N), 4),
            "fine": pd.cut(rng.normal(size=N), 60),
        }
    )
    X.loc[3, "size"] = np.nan
    found = columns(X)
    assert list(found.table.columns) == ["grade", "size", "fine"]
    text = X.astype(object).map(str).where(X.notna(), None)
    assert found.encode(np.arange(N)) == pytest.approx(columns(text).encode(np.arange(N)))
    a = otfair.audit(SCORES, X, sensitive_features=SEX, n_bootstrap=0)
    assert str(X["size"][0]).replace("<", "&lt;") in a.to_html()
    dates = pd.Series(pd.Categorical(pd.date_range("2020-01-01", periods=3).repeat(20)))
    assert "date or time" in unsuited("seen", dates)


def test_what_only_looks_like_an_identifier_is_kept_if_named():
    X = TABLE.assign(id=range(N), name=[f"person {i}" for i in range(N)], same=1)
    keep = ["id", "name", "same"]
    assert list(columns(X, keep=keep).table.columns) == ["pay", "job", "id", "name"]
    assert list(left_out(X, keep=keep)) == ["same"]
    assert list(columns(X, keep="id").table.columns) == ["pay", "job", "id"]
    assert "id" in left_out(X, drop=["id"], keep=["id"])
    with pytest.raises(ValueError, match=r"`keep` names \['idd'\]; the columns of `X` are"):
        columns(X, keep=["idd"])


def test_it_is_said_that_distances_see_no_sensitive_column():
    both = {"sex": SEX, "town": np.where(np.arange(N) % 3 == 0, "here", "there")}
    assert list(left_out(TABLE.assign(**both), sensitive=both)) == ["sex", "town"]
    (note,) = notes(TABLE.assign(**both), sensitive=both)
    assert note.startswith("distances do not see what is sensitive (sex, town), so")
    assert notes(TABLE.assign(sex=SEX), sensitive={"sex": SEX}) == ()
    assert notes(TABLE, sensitive=both) == ()  # they never were among the features


@pytest.mark.parametrize(
    ("name", "values", "reason"),
    [
        ("x", range(5, 105), "identifier"),
        ("x", [float(i) for i in range(100)], "identifier"),
        ("x", [*range(99), np.nan], "identifier"),
        ("x", [*rng.permutation(99), np.inf], ""),
        ("x", [f"n{i}" for i in range(100)], "identifier or free text"),
        ("x", [f"n{i % 60}" for i in range(100)], "identifier or free text"),
        ("x", [f"n{i % 50}" for i in range(100)], ""),
        ("x", [f"n{i}" for i in range(10)], ""),  # too few to say
        ("x", [Decimal(i * 37 % 100) for i in range(100)], "identifier"),
        ("x", [datetime.date(2020, 1, 1 + i % 28) for i in range(100)], "date or time"),
        # One value twice, or each customer twice or thrice in some rows.
        ("customer_id", [7, 7, *rng.choice(9_000_000, 98, replace=False)], "99 of 100 values"),
        ("customer_id", rng.choice(9_000_000, 60)[np.arange(100) % 60], "60 of 100 values"),
        ("shop_id", np.arange(100) % 40, ""),  # names shops, not people
        ("client", [7, 7, *rng.choice(np.arange(10, 400), 98, replace=False)], "identifier"),
        ("points", rng.integers(400, size=100), ""),  # as many twins as chance has
        ("income", sorted([*rng.choice(90_000, 98, replace=False), 500, 500]), ""),
        ("income", rng.choice(90_000, 100, replace=False), ""),
    ],
)
def test_one_rule_says_which_columns_name_people(name, values, reason):
    said = unsuited(name, pd.Series(values)) or ""
    assert reason in said
    assert bool(said) == bool(reason)


def test_numbers_that_happen_to_differ_are_no_identifiers():
    X = pd.DataFrame({"income": rng.permutation(N) * 137 + 20_000, "size": rng.normal(size=N)})
    assert left_out(X) == {}


def test_a_column_that_is_not_there_is_an_error():
    with pytest.raises(ValueError, match=r"`drop` names \['x'\]; the columns of `X` are"):
        columns(TABLE, drop=["x"])


def test_many_categories_are_merged_and_gaps_counted():
    town = np.array([f"town {i % 55}" for i in range(220)], dtype=object)
    town[0] = None
    options = {"scores": np.linspace(0, 1, 220), "sensitive": ["a", "b"] * 110, "labels": None}
    found = columns(pd.DataFrame({"town": town}), **options)
    assert found.table["town"].nunique() == 50
    assert "(other)" in set(found.table["town"])
    assert found.missing == {"town": 1}
    assert notes(pd.DataFrame({"town": town}), **options) == (
        "town: 55 values, of which the 49 most frequent are kept and the rest count as one",
    )
    assert found.encode(np.arange(3)).shape == (3, 51)
    numbers = pd.DataFrame({"town": pd.Categorical(np.arange(220) % 55)})
    assert columns(numbers, **options).encode(np.arange(3)).shape == (3, 50)


def test_mixed_tables_with_gaps_work_as_they_are():
    X = TABLE.assign(
        kind=pd.Categorical(rng.choice(["x", "y"], N)), flag=rng.random(N) > 0.5
    ).astype({"pay": object})
    X.loc[3, "pay"], X.loc[4, "job"], X.loc[5, "kind"] = None, None, None
    a = otfair.audit(SCORES, X, sensitive_features=SEX, n_bootstrap=5)
    assert a.record.missing == {"pay": 1, "job": 1, "kind": 1}
    assert "pay: 1, job: 1, kind: 1" in a.to_html()


def test_the_checksum_sees_every_value_and_name():
    base = read_all().checksum
    assert read_all().checksum == base
    changed = TABLE.copy()
    changed.loc[7, "job"] = "smith"
    assert read_all(X=changed).checksum != base
    assert read_all(X=TABLE.rename(columns={"pay": "wage"})).checksum != base
    assert read_all(scores=SCORES[::-1]).checksum != base


def test_a_frame_keeps_text_and_gaps_apart():
    frame = to_frame(["a", None, "nan"], "X", "x")
    assert frame["x"].isna().tolist() == [False, True, False]
    with pytest.raises(ValueError, match="different lengths"):
        to_frame({"a": [1, 2], "b": [1]}, "X", "x")
    with pytest.raises(ValueError, match=r"`X\['a'\]` must be one column; received 3"):
        to_frame({"a": np.zeros((2, 3))}, "X", "x")
    with pytest.raises(ValueError, match="received shape"):
        to_frame(np.zeros((2, 2, 2)), "X", "x")
