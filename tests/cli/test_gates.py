"""Gates of `otfair audit`: criteria, notions, sizes of groups, chance."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tables_for_commands import otfair, write

QUICK = ("--score", "d", "--sensitive", "g", "--drop", "y", "--bootstrap", 50)


def decided(n: int = 2000) -> pd.DataFrame:
    """People whose rates are equal in both groups, but not among those with one label."""
    half = n // 2
    group = np.repeat(["a", "b"], half)
    y = np.concatenate([np.arange(half) < 0.3 * half, np.arange(half) < 0.7 * half]).astype(int)
    d = np.tile(np.arange(half) < half // 2, 2).astype(int)
    return pd.DataFrame({"d": d, "y": y, "g": group})


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return write(decided(), tmp_path_factory.mktemp("gates") / "t.csv")


@pytest.mark.parametrize(
    ("options", "code", "judged"),
    [
        # With labels equalized odds is audited too, which nobody asked for.
        (["--fail-above", 0.05], 0, ["demographic_parity"]),
        (["--max-violation", 0.05], 0, ["demographic_parity"]),
        (["--max-difference", 0.05], 0, ["demographic_parity"]),
        (["--min-ratio", 0.9], 0, ["demographic_parity"]),
        (["--fail-above", "equalized_odds:0.05"], 3, ["equalized_odds"]),
        (["--fail-above", "equalized_odds:difference=0.05"], 3, ["equalized_odds"]),
        (["--fail-above", "equalized_odds:ratio=0.9"], 3, ["equalized_odds"]),
        (["--fail-above", "correlation=0.05", "--notion", "equalized_odds"], 3, ["equalized_odds"]),
        # One that is not audited by default is, where a gate names it.
        (["--fail-above", "equal_opportunity:difference=0.05"], 3, ["equal_opportunity"]),
        (["--fail-above", "difference=0.05", "--fail-above", "ratio=0.9"], 0,
         ["demographic_parity", "demographic_parity"]),
    ],
)  # fmt: skip
def test_a_gate_judges_what_was_asked_for(table, options, code, judged):
    said = otfair("audit", table, *QUICK, "--label", "y", *options, "--json")
    assert said.code == code, said.err
    statuses = said.data["statuses"]
    assert [s["notion"] for s in statuses] == judged
    assert said.data["failed"] == (code == 3) == any(s["sure"] for s in statuses)


def test_who_is_judged_is_said(table):
    said = otfair("audit", table, *QUICK, "--label", "y", "--fail-above", 0.05)
    assert "limits are held against demographic_parity alone, as no --notion is named" in said.out
    for options in (["--fail-above", 0.05, "--notion", "demographic_parity"], []):
        assert "limits are" not in otfair("audit", table, *QUICK, "--label", "y", *options).out


def test_a_control_asks_for_conditional_parity(tmp_path):
    table = write(decided(), tmp_path / "t.csv")
    options = (*QUICK, "--control", "y", "--fail-above", "difference=0.05", "--json")
    said = otfair("audit", table, *options)
    assert {s["notion"]: s["sure"] for s in said.data["statuses"]} == {
        "demographic_parity": False, "conditional_parity": True,
    }  # fmt: skip
    assert said.code == 3


def test_small_groups_do_not_fail_a_gate(tmp_path):
    frame = decided()
    few = pd.DataFrame({"d": [1] * 90, "y": [0] * 90, "g": ["c"] * 90})
    table = write(pd.concat([frame, few]), tmp_path / "t.csv")
    for limit in ("violation=0.05", "difference=0.05", "ratio=0.9"):
        options = ("audit", table, *QUICK, "--fail-above", limit)
        assert otfair(*options).code == 3, limit
        assert otfair(*options, "--min-group", 100).code == 0, limit


@pytest.mark.parametrize("limit", ["violation=0.05", "difference=0.05", "ratio=0.9"])
def test_groups_that_are_all_small_fail_no_gate(tmp_path, limit):
    frame = pd.DataFrame({"d": [1] * 45 + [0] * 15 + [1] * 12 + [0] * 48, "y": 0})
    table = write(frame.assign(g=["a"] * 60 + ["b"] * 60), tmp_path / "t.csv")
    options = ("audit", table, *QUICK, "--fail-above", limit)
    assert otfair(*options).code == 3
    said = otfair(*options, "--min-group", 61)
    assert said.code == 0
    assert "too few people to hold it against the limit" in said.out


def test_chance_alone_fails_no_gate(tmp_path):
    table = write(decided(60).assign(d=lambda t: t.d | (t.index < 18)), tmp_path / "t.csv")
    options = (*QUICK, "--fail-above", "difference=0.05", "--min-group", 5)
    said = otfair("audit", table, *options)
    assert said.code == 0
    (status,) = otfair("audit", table, *options, "--json").data["statuses"]
    assert status["beyond"]
    assert not status["sure"]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("nope:0.1", "names the notion 'nope'; notions are demographic_parity, "),
        ("size=0.1", "names the criterion 'size'; criteria are violation, correlation, "),
        ("ratio=1.5", "must end with a number from 0 to 1"),
        ("ratio=nan", "must end with a number from 0 to 1"),
        ("x", "must end with a number from 0 to 1"),
        ("", "must end with a number from 0 to 1"),
    ],
)
def test_a_gate_that_can_not_be_read(table, text, part):
    said = otfair("audit", table, *QUICK, "--fail-above", text)
    assert said.code == 2
    assert f"--fail-above: {part}" in said.err.replace(f"{text!r} ", "")


def test_a_gate_on_labels_needs_labels(table):
    said = otfair("audit", table, *QUICK, "--fail-above", "equalized_odds:0.1")
    assert said.code == 2
    assert "--fail-above equalized_odds needs --label: the column of outcomes" in said.err
    said = otfair("audit", table, *QUICK, "--fail-above", "conditional_parity:0.1")
    assert "--fail-above conditional_parity needs --control" in said.err
