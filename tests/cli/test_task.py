"""Labels, features and output: the parts that commands share."""

from __future__ import annotations

import argparse
import json
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from tables_for_commands import loans, otfair, write

from otfair._io.rendering import to_json
from otfair.cli._output import output_file, output_folder, text_table
from otfair.cli._task import choose_features, read_label, read_notion, read_task, refuse_unusable
from otfair.notions import DemographicParity
from otfair.tables._labels import positive_value, read_labels
from otfair.tables._read import TableError, read_table


@pytest.mark.parametrize(
    ("values", "given", "positive", "negative"),
    [
        ([0, 1, 1], None, "1", "0"),
        ([0.0, 1.0, 1.0], None, "1", "0"),
        ([1, 2, 2], None, "1", "2"),  # 1 is what labels call positive
        ([-1, 5, 5], None, "5", "-1"),
        ([9, 10, 10], None, "10", "9"),  # as numbers, not as text
        ([False, True, True], None, "True", "False"),
        (["no", "yes", "yes"], None, "yes", "no"),
        (["Yes", "No", "No"], None, "Yes", "No"),
        (["bad", "good", "good"], None, "good", "bad"),
        (["approved", "rejected", "rejected"], None, "approved", "rejected"),
        (["paid", "rejected", "rejected"], None, "paid", "rejected"),  # what is not negative
        (["<=50K", ">50K", ">50K"], None, ">50K", "<=50K"),
        ([0, 1, 1], "0", "0", "1"),
        ([0.0, 1.0, 1.0], "1.0", "1", "0"),
        (["a", "b", "c"], "b", "b", "not b"),
    ],
)
def test_which_label_is_positive(values, given, positive, negative):
    y, label, notes = read_label(pd.Series(values, name="y"), given)
    assert (label.positive, label.negative) == (positive, negative)
    texts = [str(int(v)) if isinstance(v, float) else str(v) for v in values]
    assert y.tolist() == [int(text == positive) for text in texts]
    sure = given is not None or positive_value(sorted(set(texts))) is not None
    if sure:  # Python reads them in the same way
        assert read_labels(pd.Series(values), given).tolist() == y.tolist()
    else:  # of others it makes no choice
        with pytest.raises(ValueError, match="Say which one is positive"):
            read_labels(pd.Series(values))
    # A choice that was made for the user is told.
    assert bool(notes) == (not sure or negative == "not b")


def test_labels_that_are_none():
    with pytest.raises(TableError, match=r"received '1' alone"):
        read_label(pd.Series([1, 1], name="y"), None)
    with pytest.raises(TableError, match=r"received 7: '0', '1', '2', '3', '4', ..."):
        read_label(pd.Series(range(7), name="y"), None)


def test_notions_are_stacked():
    assert read_notion(None) == DemographicParity()
    both = read_notion(["demographic_parity", "equalized_odds", "demographic_parity"])
    assert both == DemographicParity() & "equalized_odds"


def test_what_is_no_feature_of_an_audit_is_none_of_a_fit_and_both_say_why(tmp_path):
    rng, n = np.random.default_rng(0), 200
    frame = loans(n).assign(
        customer_id=[1_234_567, 1_234_567, *rng.choice(9_000_000, n - 2, replace=False)],
        joined=[f"{1 + i % 28:02}.{1 + i % 12:02}.2020" for i in range(n)],
        town=[f"town {i % 120}" for i in range(n)],
        gone=None,
    )
    table = read_table(write(frame, tmp_path / "t.csv"))
    features, notes = choose_features(table, ["granted", "sex"], None, [])
    assert {"customer_id", "joined", "town", "gone"}.isdisjoint(features)
    base = ("--score", "p", "--sensitive", "sex", "--drop", "granted", "--bootstrap", 0)
    said = otfair("audit", tmp_path / "t.csv", *base)
    for name, reason in {
        "customer_id": "looks like an identifier: 199 of 200 values are unique",
        "joined": "a date or time; turn it into a number, such as days, to use it",
        "town": "looks like an identifier or free text: most values are unique",
        "gone": "it has no values",
    }.items():
        note = f"column {name!r} is no feature: {reason}"
        assert note in notes
        assert f"note: {note}\n" in said.out
    assert notes[-1] == "a column that is no identifier is used if --features names it"
    asked, _ = choose_features(table, ["granted", "sex"], ["joined,customer_id"], [])
    assert asked == ["joined", "customer_id"]


@pytest.mark.parametrize(
    "value", [pd.Timestamp("2020-01-01"), [1, 2], b"x", pd.Timedelta(1), {"a": 1}]
)
def test_values_that_are_neither_numbers_nor_categories(value):
    with pytest.raises(TableError, match="--drop odd"):
        refuse_unusable(pd.Series([value, value, None], name="odd"))


@pytest.mark.parametrize("values", [["a", None], [True, None], [1, 2.5], [None], [Decimal(1)]])
def test_values_that_are(values):
    refuse_unusable(pd.Series(values, dtype=object))


def test_a_folder_is_there_as_a_whole_or_not_at_all(tmp_path):
    names, target = ("record.json", "a", "b"), tmp_path / "deep" / "out"
    with pytest.raises(KeyError), output_folder(target, names, False) as folder:
        (folder / "a").write_text({}["what goes wrong"])
    assert list(target.parent.iterdir()) == []
    with output_folder(target, names, False) as folder:
        (folder / "record.json").write_text('{"otfair": "1"}')
        (folder / "a").write_text("1")
        assert not target.exists()
    with output_folder(target, names, False) as folder:
        (folder / "b").write_text("2")
    assert sorted(p.name for p in target.iterdir()) == [".otfair", "b"]
    assert list(target.parent.iterdir()) == [target]
    (tmp_path / "file").touch()
    with (
        pytest.raises(TableError, match="is a file"),
        output_folder(tmp_path / "file", names, True),
    ):
        pass


def test_a_file_is_there_as_a_whole_or_not_at_all(tmp_path):
    target = tmp_path / "out.csv"
    target.write_text("old")
    with pytest.raises(KeyError), output_file(target) as part:
        part.write_text({}["what goes wrong"])
    assert target.read_text() == "old"
    with output_file(target) as part:
        assert part.suffix == ".csv"
        part.write_text("new")
    assert target.read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]
    with pytest.raises(TableError, match="is a folder"), output_file(tmp_path):
        pass
    with pytest.raises(TableError, match="can't write"), output_file(target / "below"):
        pass


def test_json_knows_no_nan():
    data = {"a": np.float64("nan"), "b": [np.int64(1), float("inf")], "c": pd.DataFrame({"x": [2]})}
    assert json.loads(to_json(data)) == {"a": None, "b": [1, None], "c": [{"x": 2}]}


def test_tables_for_a_terminal():
    frame = pd.DataFrame({"name": ["a", "long"], "value": [0.25, float("nan")], "n": [7, 10]})
    assert text_table(frame).splitlines() == [
        "name   value   n",
        "----------------",
        "a     0.2500   7",
        "long       -  10",
    ]


COPIES = {  # what is made of people, and the line about it
    "gender": "the sensitive attribute 'sex' under another name",
    "months": "the sensitive attribute 'age' under another name",
    "outcome": "the label under another name (leakage)",
}
TELLS = (
    "column 'form of address': it tells the sensitive attribute 'sex', and the model learns from "
    "it: no two people of one value differ in it; --drop 'form of address' leaves it out"
)


@pytest.fixture
def copied(tmp_path):
    """A table with copies of the label and of what is sensitive, and one without."""
    frame, rng = loans(120).drop(columns=["p", "origin"]), np.random.default_rng(0)
    female = (frame["sex"] == "Female").to_numpy()
    address = np.where(female, rng.choice(["Ms", "Mrs"], len(frame)), "Mr")
    frame = frame.assign(**{"form of address": address})
    made = {
        "gender": np.where(female, "F", "M"),
        "months": 12 * frame["age"] + 1,
        "outcome": (frame["granted"] == "yes").astype(int),
    }
    return write(frame.assign(**made), tmp_path / "copied.csv"), write(frame, tmp_path / "t.csv")


@pytest.mark.slow
@pytest.mark.parametrize("command", ["fit", "curve"])
def test_copies_are_left_out_unless_they_are_named_and_both_are_said(command, copied, tmp_path):
    own = {"fit": ("--alpha", 0.5, "--no-curve", "--no-audit"), "curve": ("--alphas", "0,0.5")}
    base = ("--label", "granted", "--sensitive", "sex", "--sensitive", "age", *own[command])
    said = otfair(command, copied[0], *base, "-o", tmp_path / "m")
    data = otfair(command, copied[0], *base, "--json", "-o", tmp_path / "m").data
    plain = otfair(command, copied[1], *base, "--json", "-o", tmp_path / "n").data
    # As if they were not there.
    for same in ("features", "metrics", "curve"):
        assert data.get(same) == plain.get(same)
    lines = [
        f"column {name!r} is no feature: {why}; it is used if --features names it"
        for name, why in COPIES.items()
    ]
    assert said.err == "".join(f"otfair: warning: {line}\n" for line in (TELLS, *lines))
    for line in (TELLS, *lines):
        assert f"note: {line}\n" in said.out
        assert line in data["notes"]
    named = ("--features", "income,gender,outcome")
    said = otfair(command, copied[0], *base, *named, "--json", "-o", tmp_path / "m")
    assert list(said.data["features"]) == ["income", "gender", "outcome"]
    for name in ("gender", "outcome"):
        why, leak = COPIES[name].partition(" (")[::2]
        leak = leak and f" ({leak}"
        line = f"{name!r}: {why}, and used as --features names it{leak}; --drop {name} leaves it"
        assert f"otfair: warning: column {line} out\n" in said.err


def test_a_label_of_many_values_leaks_by_each(copied, tmp_path):
    rng = np.random.default_rng(0)
    grade = rng.choice(list("ABCD"), 120)
    frame = pd.read_csv(copied[1]).drop(columns="form of address")
    frame = frame.assign(grade=grade, mark=[" ABCD".index(g) for g in grade], top=grade == "A")
    said = otfair(
        "fit", write(frame, tmp_path / "g.csv"), "--label", "grade", "--positive", "A",
        "--sensitive", "sex", "--alpha", 0, "--no-curve", "--no-audit", "-o", tmp_path / "m",
    )  # fmt: skip
    for name in ("mark", "top"):
        assert f"column {name!r} is no feature: the label under another name (leakage)" in said.err
    assert said.err.count("\n") == 2


def test_a_table_of_copies_alone_has_no_feature(copied, tmp_path):
    frame = pd.read_csv(copied[0])[["granted", "sex", "gender", "outcome"]]
    said = otfair(
        "fit", write(frame, tmp_path / "g.csv"), "--label", "granted", "--sensitive", "sex",
        "--alpha", 0, "-o", tmp_path / "m",
    )  # fmt: skip
    assert said.code == 1
    assert "no feature is left of" in said.err
    assert "column 'gender' is no feature" in said.err


def test_a_folder_of_the_users_is_never_taken_for_a_file(tmp_path):
    (tmp_path / "record.json").mkdir()
    with (
        pytest.raises(TableError, match=r"record\.json is a folder"),
        output_folder(tmp_path, ("record.json",), True),
    ):
        pass
    assert (tmp_path / "record.json").is_dir()


# What a sensitive column is taken for


def kinds_said(tmp_path, frame, *sensitive):
    table = write(frame, tmp_path / "t.csv")
    options = [part for name in sensitive for part in ("--sensitive", name)]
    return otfair(
        "audit", table, "--score", "p", "--label", "granted", *options, "--bootstrap", 0,
        "--features", "income",
    )  # fmt: skip


def test_the_kind_of_each_sensitive_column_is_said(tmp_path):
    frame = loans(120).assign(race=np.arange(120) % 3 + 1.0, area=np.arange(120) % 15)
    frame.loc[5, "race"] = None
    said = kinds_said(tmp_path, frame, "sex", "race", "area:categorical", "age")
    assert "sensitive: sex (2 groups), race (3 groups), area (15 groups), age (number)" in said.out
    assert said.err.count("warning") == 0
    doubtful = kinds_said(tmp_path, frame, "area")
    assert "sensitive: area (number)" in doubtful.out
    assert doubtful.err.count("otfair: warning: sensitive column 'area' is read as a number") == 1
    assert "--sensitive area:categorical" in doubtful.err
    sure = kinds_said(tmp_path, frame, "race:continuous")
    assert "sensitive: race (number)" in sure.out
    assert sure.err.count("warning") == 0


def test_people_without_a_sensitive_value_stay_in_the_task(tmp_path):
    frame = loans(120).assign(race=np.arange(120) % 3 + 1.0)
    frame.loc[:9, "race"] = None
    frame.loc[20, "granted"] = None
    options = argparse.Namespace(
        table=write(frame, tmp_path / "t.csv"), label="granted", positive=None, sensitive=["race"],
        features=None, drop=["p"], notion=None, separator=None, encoding=None, decimal=".",
        max_memory=None, model="logistic", test_size=0.2, seed=0,
    )  # fmt: skip
    task = read_task(options)
    assert len(task.y) == len(task.X) == len(task.sensitive) == 119
    assert task.sensitive["race"].isna().sum() == 10
    head = task.head()
    assert "sensitive: race (3 groups)" in head
    assert "note: 10 of 119 rows have no 'race': the model learns from them" in head
    assert "note: 1 of 120 rows are left out: they have no 'granted'" in head
    record = task.record(options)
    assert (record["kinds"], record["missing_sensitive"]) == ({"race": "groups"}, 10)
    frame["race"] = None
    write(frame, tmp_path / "t.csv")
    with pytest.raises(TableError, match="--sensitive race: the column is empty"):
        read_task(options)


@pytest.mark.slow
def test_a_column_of_the_future_is_warned_of(tmp_path):
    frame = loans(400)
    rng = np.random.default_rng(0)
    paid = frame["granted"] == "yes"
    frame["ever"] = np.where(paid | (rng.random(400) < 0.05), "yes", "no")
    frame["late days"] = np.where(paid, np.nan, rng.integers(1, 90, 400))
    table = write(frame, tmp_path / "t.csv")
    said = otfair(
        "fit", table, "--label", "granted", "--sensitive", "sex", "--drop", "p", "--alpha", 0,
        "--no-curve", "--no-audit", "-o", tmp_path / "m",
    )  # fmt: skip
    assert said.code == 0, said.err
    warned = [line for line in said.err.splitlines() if "alone it predicts" in line]
    assert len(warned) == 2
    assert warned[0].startswith("otfair: warning: column 'ever': alone it predicts the label with")
    assert warned[0].endswith("(leakage); --drop ever leaves it out")
    assert "with an AUC of 0.9" in warned[0]
    assert "with an AUC of 1.000" in warned[1]
    assert warned[1].endswith("--drop 'late days' leaves it out")
