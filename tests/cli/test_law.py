"""`otfair audit --table`: tables of law from a file."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from tables_for_commands import otfair


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    n = 300
    frame = pd.DataFrame(
        {
            "p": rng.random(n).round(3),
            "hired": rng.choice(["taken", "left"], n),
            "gender": rng.choice(["f", "m", ""], n, p=[0.45, 0.45, 0.1]),
            "race_ethnicity": rng.choice(["A", "B", "Prefer not to say"], n),
            "w": 1,
            "style": rng.choice(["x", "y"], n),
        }
    )
    path = tmp_path / "people.csv"
    frame.to_csv(path, index=False)
    return path


ROLES = ("--sensitive", "gender,race_ethnicity")


def test_ll144_counts_people_of_unknown_category(table):
    said = otfair("audit", table, "--score", "p", *ROLES, "--table", "ll144", "--json")
    assert said.code == 0, said.err
    frame = pd.read_csv(table)
    unknown = [found["unknown"] for found in said.data["tables"]]
    told = [frame["gender"].isna(), frame["race_ethnicity"] == "Prefer not to say"]
    assert unknown == [told[0].sum(), told[1].sum(), (told[0] | told[1]).sum()]
    assert said.data["record"]["people"] == len(frame)
    assert said.data["record"]["median"] == frame["p"].median()


def test_the_order_of_columns_does_not_matter_where_names_tell(table):
    turned = ("--sensitive", "race_ethnicity", "--sensitive", "gender")
    one, two = (
        otfair("audit", table, "--score", "p", *some, "--table", "ll144")
        for some in (ROLES, turned)
    )
    assert one.out == two.out
    assert "sex: column gender" in one.out


def test_columns_that_names_do_not_tell_are_named(table):
    frame = pd.read_csv(table).rename(columns={"gender": "s1", "race_ethnicity": "s2"})
    frame.to_csv(table, index=False)
    said = otfair("audit", table, "--score", "p", "--sensitive", "s1,s2", "--table", "ll144")
    assert said.code == 2
    assert "--sensitive sex=COLUMN,race=COLUMN" in said.err
    roles = "race=s2,sex=s1"
    said = otfair("audit", table, "--score", "p", "--sensitive", roles, "--table", "ll144")
    assert said.code == 0, said.err
    assert "sex: column s1" in said.out


@pytest.mark.parametrize("suffix", [".html", ".csv", ".json"])
@pytest.mark.parametrize("law", ["ll144", "four-fifths"])
def test_files_of_each_kind(table, tmp_path, suffix, law):
    path = tmp_path / f"out{suffix}"
    said = otfair("audit", table, "--score", "p", *ROLES, "--table", law, "-o", path,
                  "--source", "made up", "--audit-date", "2026-01-02")  # fmt: skip
    assert said.code == 0, said.err
    text = path.read_text("utf-8")
    assert "made up" in text
    assert "2026-01-02" in text
    if suffix == ".json":
        assert json.loads(text)["rule"]["name"] == law
    if suffix == ".csv":
        assert {"impact_ratio", "lowest", "highest"} <= {*pd.read_csv(path).columns}


def test_decisions_of_text_are_told_by_positive(table):
    options = ("audit", table, "--score", "hired", *ROLES, "--table", "four-fifths")
    said = otfair(*options)
    assert said.code == 1
    assert "--positive 'taken'" in said.err
    said = otfair(*options, "--positive", "taken", "--json")
    assert said.code == 0, said.err
    frame = pd.read_csv(table)
    women = frame[frame["gender"] == "f"]
    assert said.data["tables"][0]["frame"][0]["selected"] == (women["hired"] == "taken").sum()


def test_groups_repeat_the_tables(table):
    said = otfair("audit", table, "--score", "p", *ROLES, "--table", "ll144", "--group", "style",
                  "--json")  # fmt: skip
    assert [t["name"] for t in said.data["tables"]][3::3] == ["x: sex", "y: sex"]


@pytest.mark.parametrize(
    ("options", "message", "code"),
    [
        (("--weight", "w"), "takes no --weight: it counts people", 2),
        (("--max-violation", "0"), "takes no --max-violation", 2),
        (("--cross", "gender,race_ethnicity"), "takes no --cross", 2),
        (("--fail-above", "0"), "takes no --fail-above", 2),
        (("--baseline", __file__), "takes no --baseline", 2),
        (("--fail-on-change",), "takes no --fail-on-change", 2),
        (("--card", "card.md"), "takes no --card", 2),
        (("--threshold", "0.7"), "takes no --threshold", 2),
        (("--drop", "w"), "takes no --drop", 2),
        (("-o", "x.docx"), "must end in .html", 2),
        (("--exclude-below", ".01"), "--reason is empty", 1),
        (("--exclude-below", ".1", "--reason", "x"), "--exclude-below must lie in [0, 0.02]", 1),
        (("--audit-date", "soon"), "--audit-date must be a day such as", 1),
        (("--reference", "f"), "--reference goes with --table four-fifths", 2),
        (("--group", "gender"), "'gender' can't be two of", 1),
        (("--group", "nobody"), "no column 'nobody' for --group", 1),
    ],
)
def test_errors_of_one_line_say_the_fix(table, options, message, code):
    said = otfair("audit", table, "--score", "p", *ROLES, "--table", "ll144", *options)
    assert said.code == code
    assert message in said.err
    assert "Traceback" not in said.err


def test_a_reference_and_words_for_codes(table, tmp_path):
    names = tmp_path / "names.json"
    names.write_text('{"gender": {"f": "women", "m": "men"}}')
    options = ("--table", "four-fifths", "--names", names, "--reference", "gender=women", "--json")
    said = otfair("audit", table, "--score", "p", *ROLES, *options)
    assert said.code == 0, said.err
    rows = {row["category"]: row for row in said.data["tables"][0]["frame"]}
    assert list(rows) == ["men", "women", "(unknown)"]
    assert rows["women"]["status"] == "reference"


def test_missing_scores_are_an_error_or_left_out(table):
    frame = pd.read_csv(table)
    frame.loc[:4, "p"] = None
    frame.to_csv(table, index=False)
    options = ("audit", table, "--score", "p", *ROLES, "--table", "ll144")
    said = otfair(*options)
    assert said.code == 1
    assert "`--skip-unscored`" in said.err
    said = otfair(*options, "--skip-unscored")
    assert "5 people are left out" in said.out


def test_a_score_that_names_call_bad_is_asked_about(table):
    frame = pd.read_csv(table).rename(columns={"p": "p_default"})
    frame.to_csv(table, index=False)
    options = ("audit", table, "--score", "p_default", *ROLES, "--table", "four-fifths")
    said = otfair(*options)
    assert said.code == 2
    assert "--favourable 0 if so, or --favourable 1" in said.err
    assert "is at most 0.5" in otfair(*options, "--favourable", 0).out
    assert "is above 0.5" in otfair(*options, "--favourable", 1).out
