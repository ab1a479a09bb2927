"""Predictive parity on the command line: trained for, audited, and refused where it can't work."""

from __future__ import annotations

import json

import pytest
from tables_for_commands import otfair


@pytest.fixture(scope="module")
def loans(tmp_path_factory):
    path = tmp_path_factory.mktemp("parity") / "loans.csv"
    assert otfair("data", "sample", path, "--rows", 400).code == 0
    return path


def asked(command, loans, *more):
    columns = ("--label", "granted", "--sensitive", "sex", "--notion", "predictive_parity")
    return otfair(command, loans, *columns, *more)


@pytest.mark.slow
def test_a_model_is_trained_and_its_scores_audited(loans, tmp_path):
    model = tmp_path / "model"
    said = asked("fit", loans, "--alpha", 0.3, "--no-curve", "-o", model)
    assert said.code == 0, said.err
    record = json.loads((model / "model.json").read_text())
    before, after = (record["metrics"][when]["train"] for when in ("before", "after"))
    assert after["violation"] < before["violation"]
    assert 0 <= after["pp_difference"] <= 1
    scores = tmp_path / "out.csv"
    assert otfair("predict", model, loans, "--keep", "granted,sex", "-o", scores).code == 0
    said = asked("audit", scores, "--score", "score", "--bootstrap", 5, "--json")
    assert said.code == 0, said.err
    (finding,) = json.loads(said.out)["findings"]
    assert finding["notion"] == "predictive_parity"


def test_what_it_needs_is_said(loans, tmp_path):
    limited = asked("fit", loans, "--max-difference", 0.05, "-o", tmp_path / "a")
    assert limited.code == 2
    assert "limits on decisions can't be of --notion predictive_parity" in limited.err
    number = asked("fit", loans, "--sensitive", "age", "--alpha", 0.5, "-o", tmp_path / "b")
    assert number.code == 1
    assert "'age' is a number. Bin it in the table" in number.err
    blind = otfair(
        "audit", loans, "--score", "debt_ratio", "--sensitive", "sex", "--notion",
        "predictive_parity",
    )  # fmt: skip
    assert blind.code == 2
    assert "needs --label" in blind.err
