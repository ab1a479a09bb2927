"""`otfair curve`: table, picture and what is printed."""

from __future__ import annotations

import io
import json

import numpy as np
import pandas as pd
import pytest
from tables_for_commands import loans, otfair, refused, write

from otfair import tradeoff_curve

pytestmark = pytest.mark.slow


def test_curves_of_two_regularizers(tmp_path):
    frame = loans(200)
    table = write(frame, tmp_path / "t.csv", sep="\t")
    said = otfair(
        "curve", table, "--label", "granted", "--sensitive", "sex", "--drop", "p,age,origin",
        "--regularizer", "otf", "--regularizer", "correlation", "--alphas", "0,0.5",
        "--bootstrap", 5, "-o", tmp_path / "c",
    )  # fmt: skip
    assert said.code == 0, said.err
    assert sorted(p.name for p in (tmp_path / "c").iterdir()) == [
        "curve.csv",
        "curve.json",
        "curve.png",
    ]
    assert (tmp_path / "c" / "curve.png").read_bytes().startswith(b"\x89PNG")
    curve = pd.read_csv(tmp_path / "c" / "curve.csv")
    assert curve["regularizer"].tolist() == ["otf", "otf", "correlation", "correlation"]
    # The same numbers as from Python.
    own = tradeoff_curve(
        frame.iloc[:, :10].astype({"has_guarantor": str}), frame["granted"],
        sensitive_features=frame["sex"].astype(str), alphas=[0, 0.5], n_bootstrap=5,
    )  # fmt: skip
    mine = curve[curve["regularizer"] == "otf"][own.columns].to_numpy()
    np.testing.assert_allclose(mine, own.to_numpy(), atol=1e-6)
    for name in (c.removesuffix("_low") for c in curve if c.endswith("_low")):
        assert (curve[f"{name}_low"] <= curve[name]).all()
        assert (curve[name] <= curve[f"{name}_high"]).all()
    # And the ones that are printed.
    lines = [line for line in said.out.splitlines() if line.startswith(("otf ", "correlation "))]
    printed = pd.read_csv(io.StringIO("\n".join(lines)), sep=r"\s+", header=None)
    np.testing.assert_allclose(printed[2], curve["test_auc"], atol=1e-4)


def test_the_violation_that_is_drawn_is_printed(tmp_path):
    table = write(loans(120), tmp_path / "t.csv")
    said = otfair(
        "curve", table, "--label", "granted", "--sensitive", "sex", "--alphas", "0",
        "--violation", "dp_difference", "--bootstrap", 0, "-o", tmp_path / "c",
    )  # fmt: skip
    assert said.code == 0, said.err
    head, _, row = next(
        lines for lines in zip(*(said.out.splitlines()[k:] for k in range(3)))
        if lines[0].startswith("regularizer")
    )  # fmt: skip
    printed = dict(zip(head.split(), row.split()))
    curve = pd.read_csv(tmp_path / "c" / "curve.csv")
    found = curve["test_dp_difference"][0]
    assert float(printed["dp_difference"]) == pytest.approx(found, abs=1e-4)


def test_json_has_the_curve(tmp_path):
    table = write(loans(120), tmp_path / "t.csv")
    data = otfair(
        "curve", table, "--label", "granted", "--sensitive", "age:continuous", "--alphas", "0",
        "--bootstrap", 0, "--json", "-o", tmp_path / "c",
    ).data  # fmt: skip
    assert len(data["curve"]) == 1
    assert data["curve"][0]["alpha"] == 0
    assert data["curve"][0]["test_dp_difference"] is None  # numbers are no groups


def test_what_a_regularizer_can_not_do_is_said(tmp_path):
    table = write(loans(120), tmp_path / "t.csv")
    said = otfair(
        "curve", table, "--label", "granted", "--sensitive", "sex", "--notion", "equalized_odds",
        "--regularizer", "barycenter", "-o", tmp_path / "c",
    )  # fmt: skip
    refused(said, "parity")
    assert not (tmp_path / "c").exists()


def test_a_sample_of_receivers_is_told_with_its_error(tmp_path):
    table = write(loans(300), tmp_path / "t.csv")
    options = ["--label", "granted", "--sensitive", "sex", "--receivers", 60]
    curve = otfair(
        "curve", table, *options, "--alphas", "0,0.5", "--bootstrap", 0, "-o", tmp_path / "c"
    )
    fit = otfair("fit", table, *options, "--alpha", 0.5, "--no-curve", "--no-audit", "-o",
                 tmp_path / "f")  # fmt: skip
    for said in (curve, fit):
        assert said.code == 0, said.err
        assert "60 of 240 training people may receive score: the penalty is" in said.out
    assert "60 of 240 training people" in (tmp_path / "f" / "report.html").read_text("utf-8")
    record = json.loads((tmp_path / "f" / "model.json").read_text("utf-8"))
    assert record["receivers"] == record["received"]["people"] == 60
    whole = json.loads((tmp_path / "c" / "curve.json").read_text("utf-8"))
    assert whole["received"]["otf"]["of"] == 240
