"""`otfair decide`: a rule for the scores of any model, its report, and how it is applied."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import train_test_split
from tables_for_commands import loans, otfair, refused, write

from otfair import load_model

pytestmark = pytest.mark.slow

BASE = ("--score", "p", "--label", "granted", "--sensitive", "sex")


def table(folder, columns=("p", "granted", "sex", "sector", "income"), n=3000, **options):
    return write(loans(n)[list(columns)], folder / "scores.csv", **options)


@pytest.fixture(scope="module")
def decided(tmp_path_factory):
    folder = tmp_path_factory.mktemp("decide")
    said = otfair(
        "decide", table(folder), *BASE, "--max-difference", 0.15, "-o", folder / "rule", "--json"
    )
    assert said.code == 0, said
    return folder, said.data


def test_what_is_written(decided):
    folder, data = decided
    names = {p.name for p in (folder / "rule").iterdir()}
    assert names == {"model.safetensors", "model.json", "report.html", "curve.csv"}
    record = json.loads((folder / "rule" / "model.json").read_text())
    assert {**record, "files": data["files"]} == data
    assert record["features"] == {"p": "number", "sector": "text", "income": "number"}
    assert record["people"] == {"train": 2400, "test": 600}


def test_rates_are_those_of_people_held_out(decided):
    folder, data = decided
    frame = loans(3000)
    y = (frame["granted"] == "yes").to_numpy()
    _, test = train_test_split(np.arange(3000), test_size=0.2, random_state=0, stratify=y)
    rule = load_model(folder / "rule" / "model.safetensors")
    held = frame.iloc[test]
    after = rule.predict(held[["p", "sector", "income"]]) == 1
    for group in data["decisions"]["groups"]:
        own = (held["sex"] == group["name"].removeprefix("sex=")).to_numpy()
        assert group["people"] == own.sum()
        assert group["before"] == pytest.approx((held["p"][own] > 0.5).mean())
        assert group["after"] == pytest.approx(after[own].mean())
    (spread,) = data["decisions"]["spreads"]
    assert spread["before"]["difference"] > 0.2 > 0.15 >= spread["after"]["difference"]
    assert spread["met"]
    assert data["metrics"]["after"]["test"]["accuracy"] == pytest.approx((after == y[test]).mean())
    assert data["metrics"]["after"]["test"]["auc"] == data["metrics"]["before"]["test"]["auc"]


def test_predict_applies_the_rule(decided, tmp_path):
    folder, _ = decided
    new = write(loans(500).drop(columns=["sex", "granted"]), tmp_path / "new.csv", sep=";")
    said = otfair("predict", folder / "rule", new, "--keep", "income", "-o", tmp_path / "out.csv")
    assert said.code == 0, said
    assert "by its rule" in said.out
    out = pd.read_csv(tmp_path / "out.csv")
    assert list(out) == ["income", "score", "decision"]
    np.testing.assert_array_equal(out["score"], loans(500)["p"])
    rule = load_model(folder / "rule" / "model.safetensors")
    expected = rule.predict(loans(500)[["p", "sector", "income"]])
    np.testing.assert_array_equal(out["decision"] == "yes", expected == 1)
    said = otfair("predict", folder / "rule", new, "--threshold", 0.5)
    assert said.code == 2
    assert "decides by a rule of its own" in said.err


def test_the_report_shows_rates_before_and_after(decided):
    folder, data = decided
    page = (folder / "rule" / "report.html").read_text()
    for group in data["decisions"]["groups"]:
        assert group["name"] in page
        assert f"{group['before']:.3f}" in page
        assert f"{group['after']:.3f}" in page
    assert "asked for: at most 0.15, met" in page
    assert "Right decisions" in page
    assert "curve.csv" in page


def test_scores_alone_are_enough_and_the_cost_is_noted(tmp_path):
    scores = table(tmp_path, ("p", "granted", "sex"), 1500)
    said = otfair("decide", scores, *BASE, "--max-difference", 0.2, "-o", tmp_path / "r")
    assert said.code in (0, 4)
    assert "scores 'p' and 0 features" in said.out
    assert "the rule has the score alone" in said.out


def test_group_thresholds_need_the_sensitive_column(tmp_path):
    frame = loans(1500).assign(race=lambda f: f["origin"].map({"Local": 1.0, "Regional": 2.0}))
    frame.loc[::50, "race"] = np.nan  # codes that a gap makes floats of
    frame["race"] = frame["race"].fillna(3.0).where(frame.index % 50 > 0)
    columns = ["p", "granted", "race"]
    scores = write(frame[columns], tmp_path / "scores.csv")
    options = ("--score", "p", "--label", "granted", "--sensitive", "race")
    said = otfair(
        "decide", scores, *options, "--max-difference", 0.3, "--use-sensitive", "--json",
        "-o", tmp_path / "r",
    )  # fmt: skip
    assert said.code == 0, said
    assert said.data["kinds"] == {"race": "groups"}
    assert otfair("predict", tmp_path / "r", scores, "-o", tmp_path / "o.csv").code == 0
    rule = load_model(tmp_path / "r" / "model.safetensors")
    out = pd.read_csv(tmp_path / "o.csv")
    # Each group has one threshold: who is above it is decided positively.
    for _, own in out.groupby(frame["race"]):
        yes, no = (own["score"][own["decision"] == d] for d in ("yes", "no"))
        assert yes.min() > no.max()
    assert len(rule.duals_) == 3
    without = write(frame[["p"]], tmp_path / "without.csv")
    refused(otfair("predict", tmp_path / "r", without), "no column 'race'")
    bare = tmp_path / "r" / "other.safetensors"
    bare.write_bytes((tmp_path / "r" / "model.safetensors").read_bytes())
    refused(otfair("predict", bare, scores), "decides by sensitive columns, which model.json")


def test_people_may_be_spread_over_several_rules(tmp_path):
    frame = loans(3000)[["p", "granted", "sex"]]
    noise = np.random.default_rng(0).random(len(frame))  # scores tell less of women
    frame["p"] = frame["p"].where(frame["sex"] != "Female", 0.3 * frame["p"] + 0.7 * noise)
    scores = write(frame, tmp_path / "scores.csv")
    options = ("--max-difference", 0.03, "--notion", "equalized_odds", "--confidence", 0)
    asked = (*BASE, *options, "--use-sensitive", "--json")
    said = otfair("decide", scores, *asked, "--randomize", "-o", tmp_path / "r")
    found = said.data["decisions"]
    assert found["limits_met"]
    assert found["rules"] > 1
    page = (tmp_path / "r" / "report.html").read_text()
    assert f"There are {found['rules']} such rules" in page
    for name in ("a.csv", "b.csv"):
        assert otfair("predict", tmp_path / "r", scores, "-o", tmp_path / name).code == 0
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    rule = load_model(tmp_path / "r" / "model.safetensors")
    assert len(rule.shares_) == found["rules"]


def test_a_limit_that_is_missed_is_said_and_has_a_code(tmp_path):
    scores = table(tmp_path, n=1200)
    options = ("--max-difference", 0.001, "--confidence", 0, "-o", tmp_path / "r")
    said = otfair("decide", scores, *BASE, *options)
    assert said.code == 4
    assert "asked for: at most 0.001, NOT met" in said.out
    assert 'class="unmet"' in (tmp_path / "r" / "report.html").read_text()
    assert (tmp_path / "r" / "model.safetensors").is_file()  # written all the same


def test_a_limit_that_can_not_be_promised_is_said(tmp_path):
    scores = table(tmp_path, n=600)
    options = ("--max-difference", 0.05, "-o", tmp_path / "r", "--json")
    said = otfair("decide", scores, *BASE, *options)
    found = said.data["decisions"]
    assert not any(group["promised"] for group in found["groups"])
    assert all(group["needed"] > group["people"] for group in found["groups"])
    (line,) = (line for line in found["lines"] if "Not promised" in line["text"])
    assert "people would do" in line["text"]


def test_a_tiny_group_does_not_decide_whether_the_limit_is_met(tmp_path):
    frame = loans(3000)[["p", "granted", "sex", "sector", "income"]].astype({"sex": str})
    few = frame["sex"].eq("Male") & (frame["p"] > 0.8) & (frame.index % 25 == 0)
    frame.loc[few, "sex"] = "unknown"  # all of them are decided positively
    scores = write(frame, tmp_path / "s.csv")
    said = otfair("decide", scores, *BASE, "--max-difference", 0.15, "-o", tmp_path / "r", "--json")
    found = said.data["decisions"]
    assert {g["name"]: g["promised"] for g in found["groups"]} == {
        "sex=Female": True,
        "sex=Male": True,
        "sex=unknown": False,
    }
    (spread,) = found["spreads"]
    rates = {group["name"]: group["after"] for group in found["groups"]}
    apart = abs(rates["sex=Male"] - rates["sex=Female"])
    assert spread["judged"]["difference"] == pytest.approx(apart)
    assert spread["after"]["difference"] > 0.15 > apart
    assert (said.code, found["met"]) == (0, True)
    assert any("too few of sex=unknown" in line["text"] for line in found["lines"])


def test_limits_for_each_attribute(tmp_path):
    scores = write(loans(2500)[["p", "granted", "sex", "origin", "area"]], tmp_path / "s.csv")
    options = ("--sensitive", "origin", "--max-difference", "sex=0.2", "--min-ratio", "origin=0.4")
    said = otfair("decide", scores, *BASE, *options, "-o", tmp_path / "r", "--json")
    found = said.data["decisions"]
    assert found["limits"] == {"max_difference": {"sex": 0.2}, "min_ratio": {"origin": 0.4}}
    by_name = {spread["name"]: spread["limits"] for spread in found["spreads"]}
    assert by_name["sex"] == {"max_difference": 0.2, "min_ratio": None}
    assert by_name["origin"] == {"max_difference": None, "min_ratio": 0.4}
    both = ("--max-difference", 0.3, "--max-difference", "sex=0.2")
    said = otfair(
        "decide", scores, *BASE, "--sensitive", "origin", *both, "-o", tmp_path / "q", "--json"
    )
    asked = said.data["decisions"]["limits"]["max_difference"]
    assert asked == {"sex": 0.2, "origin": 0.3}


def test_a_number_has_a_slope(tmp_path):
    scores = write(loans(1500)[["p", "granted", "age", "sector"]], tmp_path / "s.csv")
    options = ("--score", "p", "--label", "granted", "--sensitive", "age", "--max-difference", 0.2)
    said = otfair("decide", scores, *options, "-o", tmp_path / "r")
    assert said.code == 0, said
    assert "age: change of the rate per standard deviation" in said.out


def test_weights_and_controls(tmp_path):
    frame = loans(2500)[["p", "granted", "sex", "area", "income"]]
    frame["w"] = np.where(frame["sex"] == "Male", 2.0, 1.0)
    frame.loc[:9, "w"] = 0
    scores = write(frame, tmp_path / "s.csv")
    options = ("--max-difference", 0.3, "--weight", "w", "--control", "area", "--json")
    said = otfair("decide", scores, *BASE, *options, "-o", tmp_path / "r")
    assert said.code == 0, said
    assert said.data["notion"] == ["conditional_parity"]
    assert said.data["weight"] == "w"
    assert sum(said.data["people"].values()) == 2490
    names = {spread["name"] for spread in said.data["decisions"]["spreads"]}
    assert names == {f"sex | area={area}" for area in frame["area"].unique()}
    said = otfair(
        "decide", scores, *BASE, *options, "--use-sensitive", "-o", tmp_path / "q",
    )  # fmt: skip
    assert said.code == 2
    assert "--use-sensitive and --control do not go together" in said.err


def test_what_can_not_be_done(tmp_path):
    frame = loans(200)
    scores = write(frame, tmp_path / "s.csv")
    out = ("-o", tmp_path / "r")
    limit = ("--max-difference", 0.1)
    for options, part in [
        ((), "a limit is missing"),
        (("--max-difference", "x"), "must be a number; received 'x'"),
        (("--max-difference", "sex=2"), "between 0 and 1; received 2"),
        ((*limit, "--cost-false-positive", 2), "go together"),
        ((*limit, "--cost-false-positive", 2, "--cost-false-negative", 1, "--threshold", 0.3),
         "leave --threshold out"),
        ((*limit, "--notion", "conditional_parity"), "needs --control"),
    ]:  # fmt: skip
        said = otfair("decide", scores, *BASE, *options, *out)
        assert said.code == 2, said
        assert part in said.err
    unknown = ("--max-difference", "race=0.1")
    refused(otfair("decide", scores, *BASE, *unknown, *out), "names 'race'", "--sensitive: sex")
    ages = ("--sensitive", "age:continuous", "--min-ratio", 0.8)
    refused(otfair("decide", scores, *BASE, *ages, *out), "'age' is a number", "--max-difference")
    twice = ("--score", "p", "--label", "p", "--sensitive", "sex")
    refused(otfair("decide", scores, *twice, *limit, *out), "'p' is both --label and --score")
    text = write(frame.assign(p="high"), tmp_path / "text.csv")
    refused(otfair("decide", text, *BASE, *limit, *out), "holds text", "numbers from 0 to 1")
    gaps = write(frame.assign(p=frame["p"].where(frame.index > 3)), tmp_path / "gaps.csv")
    refused(otfair("decide", gaps, *BASE, *limit, *out), "4 of 200 scores are missing")
    large = write(frame.assign(p=100 * frame["p"]), tmp_path / "large.csv")
    refused(otfair("decide", large, *BASE, *limit, *out), "must lie from 0 to 1")
    negative = write(frame.assign(w=-1.0), tmp_path / "negative.csv")
    weighed = ("--weight", "w")
    refused(otfair("decide", negative, *BASE, *limit, *weighed, *out), "must not be negative")
    assert not (tmp_path / "r").exists()


def test_unscored_people_are_left_out_on_request(tmp_path):
    frame = loans(1500)[["p", "granted", "sex", "sector"]]
    frame.loc[:9, "p"] = np.nan
    scores = write(frame, tmp_path / "s.csv")
    options = ("--max-difference", 0.3, "--skip-unscored", "-o", tmp_path / "r")
    said = otfair("decide", scores, *BASE, *options)
    assert said.code == 0, said
    assert "10 of 1500 rows are left out: they have no 'p'" in said.out
