"""Rows of benchmarks: what is there is known, nothing is lost, and every row says of what it is."""

from __future__ import annotations

import pandas as pd
import pytest
from page_scripts import BENCHMARKS, script

KEY = ("table", "seed")


@pytest.fixture(scope="module")
def Rows():
    return script("rows", BENCHMARKS).Rows


def test_what_was_measured_is_known_when_a_run_goes_on(Rows, tmp_path):
    path = tmp_path / "runs.csv"
    Rows(path, KEY).add(
        {"table": "a", "seed": 1, "auc": 0.5}, {"table": "a", "seed": 1, "auc": 0.6}
    )
    again = Rows(path, KEY)
    assert ("a", 1) in again
    assert ("a", 2) not in again
    again.add({"table": "a", "seed": 0, "auc": 0.25})
    assert ("a", 0) in again
    found = pd.read_csv(path)
    assert found[["seed", "auc"]].to_numpy().tolist() == [[0, 0.25], [1, 0.5], [1, 0.6]]
    assert found["commit"].notna().all()
    assert found["date"].str.fullmatch(r"\d{4}-\d\d-\d\d").all()


def test_two_that_write_to_one_file_keep_each_others_rows(Rows, tmp_path):
    path = tmp_path / "runs.csv"
    one, two = Rows(path, KEY), Rows(path, KEY)
    one.add({"table": "a", "seed": 0})
    two.add({"table": "b", "seed": 0})
    one.add({"table": "a", "seed": 1})
    found = pd.read_csv(path)
    assert sorted(zip(found["table"], found["seed"])) == [("a", 0), ("a", 1), ("b", 0)]


def test_a_write_that_fails_leaves_the_file_as_it_was(Rows, tmp_path, monkeypatch):
    path = tmp_path / "runs.csv"
    rows = Rows(path, KEY)
    rows.add({"table": "a", "seed": 0})
    before = path.read_bytes()

    def fails(*_args: object, **_options: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(pd.DataFrame, "to_csv", fails)
    with pytest.raises(OSError, match="no space"):
        rows.add({"table": "a", "seed": 1})
    assert path.read_bytes() == before
    assert ("a", 1) not in rows
