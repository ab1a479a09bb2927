"""`otfair fit`: the model, its record, its report."""

from __future__ import annotations

import hashlib
import io
import json
import re
import shlex
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from tables_for_commands import loans, otfair, refused, write

from otfair import (
    DemographicParity,
    FairDecisions,
    OTFClassifier,
    TableEncoder,
    load_model,
    pdp_violation,
    peo_violation,
)
from otfair.cli.fit import against_limit
from otfair.models import Judgement

pytestmark = pytest.mark.slow

FEATURES = list(loans(20).columns[:10])
FEW = ("--features", "income,debt_ratio,sector")
QUICK = ("--no-curve", "--no-audit")


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A folder with a table, and a model of it with everything that goes with one."""
    folder = tmp_path_factory.mktemp("fit")
    table = write(loans(), folder / "loans.csv", sep=";")
    said = otfair(
        "fit", table, "--label", "granted", "--sensitive", "sex", "--drop", "age,origin,p",
        "--alpha", 0.6, "--alphas", "0,0.6", "-o", folder / "model",
    )  # fmt: skip
    assert said.code == 0, said.err
    return folder, said


def test_the_model_is_the_one_that_python_trains(fitted):
    folder, _ = fitted
    frame = loans()
    y, X, sex = (frame["granted"] == "yes").to_numpy().astype(int), frame[FEATURES], frame["sex"]
    fit, test = train_test_split(np.arange(len(y)), test_size=0.2, random_state=0, stratify=y)
    own = make_pipeline(TableEncoder(), OTFClassifier(alpha=0.6))
    own.fit(X.iloc[fit], y[fit], otfclassifier__sensitive_features=sex.iloc[fit].astype(str))
    loaded = load_model(folder / "model" / "model.safetensors")
    X = X.astype({"has_guarantor": str})
    np.testing.assert_allclose(loaded.predict_proba(X), own.predict_proba(X), atol=1e-9)
    record = json.loads((folder / "model" / "model.json").read_text())
    scores = own.predict_proba(X.iloc[test])[:, 1]
    judged = record["metrics"]["after"]["test"]
    assert judged["pdp"] == pytest.approx(pdp_violation(scores, sex.iloc[test]))
    assert judged["peo"] == pytest.approx(peo_violation(scores, sex.iloc[test], y[test]))
    assert judged["violation"] == judged["pdp"]


def test_what_is_written_and_said(fitted):
    folder, said = fitted
    written = sorted(p.name for p in (folder / "model").iterdir())
    assert written == [
        "audit_after.html",
        "audit_before.html",
        "curve.csv",
        "model.json",
        "model.safetensors",
        "report.html",
    ]
    assert sorted(p.name for p in folder.iterdir()) == ["loans.csv", "model"]  # no litter
    assert "'yes' is positive" in said.out
    assert "300 people, 10 features" in said.out
    assert str(folder / "model" / "report.html") in said.out
    record = json.loads((folder / "model" / "model.json").read_text())
    assert record["label"] == {"name": "granted", "positive": "yes", "negative": "no"}
    assert record["people"] == {"train": 240, "test": 60}
    assert list(record["features"]) == FEATURES
    train = {when: record["metrics"][when]["train"] for when in ("before", "after")}
    assert train["after"]["pdp"] < 0.6 * train["before"]["pdp"]  # it did what was asked


def test_the_curve_goes_through_the_model(fitted):
    folder, _ = fitted
    curve = pd.read_csv(folder / "model" / "curve.csv")
    judged = json.loads((folder / "model" / "model.json").read_text())["metrics"]
    for row, when in ((0, "before"), (1, "after")):
        assert curve["test_auc"][row] == pytest.approx(judged[when]["test"]["auc"], abs=1e-3)
        assert curve["test_pdp"][row] == pytest.approx(judged[when]["test"]["pdp"], abs=5e-3)


def test_the_audits_say_what_they_are_of(fitted):
    folder, _ = fitted
    pages = [(folder / "model" / f"audit_{when}.html").read_text() for when in ("before", "after")]
    for page, alpha, title in zip(
        pages, ("0", "0.6"), ("without a fairness term", "with the fair model")
    ):
        assert "<dd>granted = yes</dd>" in page
        assert "<dt>sex</dt><dd>not used: the sensitive attribute itself</dd>" in page
        assert f"logistic, alpha {alpha}, trained on 240 people" in page
        assert "the 60 kept out of training" in page
        assert f"<h1>Fairness audit: granted of loans.csv, {title}</h1>" in page
        assert hashlib.sha256((folder / "loans.csv").read_bytes()).hexdigest() in page


def test_numbers_of_few_values_are_continuous_in_the_audits_too(tmp_path):
    table = write(loans(200).assign(kids=np.arange(200) % 4), tmp_path / "t.csv")
    said = otfair(
        "fit", table, "--label", "granted", "--sensitive", "kids:continuous", *FEW, "--alpha", 0.5,
        "--no-curve", "--json", "-o", tmp_path / "m",
    )  # fmt: skip
    for when in ("before", "after"):
        page = (tmp_path / "m" / f"audit_{when}.html").read_text()
        judged = said.data["metrics"][when]["test"]
        assert f"<b>Violation {judged['pdp']:.3f} " in page


def test_the_report_asks_for_nothing_and_links_what_is_there(fitted):
    folder, _ = fitted
    page = (folder / "model" / "report.html").read_text()
    assert page.rstrip().endswith("</html>")
    assert page.count("<svg") == 1
    links = re.findall(r'(?:href|src)="([^"#]*)"', page)
    assert sorted(links) == ["audit_after.html", "audit_before.html", "curve.csv"]
    assert all((folder / "model" / link).is_file() for link in links)
    assert "url(http" not in page
    assert "<script" not in page


def test_text_of_the_table_is_escaped_in_the_report(tmp_path):
    frame = loans(200).rename(columns={"sex": "<script>s()</script>", "area": "<b>area</b>"})
    frame["granted"] = np.where(frame["granted"] == "yes", "<img src=x>", "no")
    write(frame, tmp_path / "t.csv")
    said = otfair(
        "fit", tmp_path / "t.csv", "--label", "granted", "--sensitive", "<script>s()</script>",
        "--positive", "<img src=x>", "--alpha", 0, *QUICK, "-o", tmp_path / "m",
    )  # fmt: skip
    assert said.code == 0, said.err
    page = (tmp_path / "m" / "report.html").read_text()
    assert "&lt;script&gt;s()" in page
    for tag in ("<script", "<img", "<b>"):
        assert tag not in page


def test_a_dataset_by_name_and_one_json_object(tmp_path):
    said = otfair(
        "fit", "synthetic", "--sensitive", "sex", "--notion", "equalized_odds",
        "--max-violation", 0.25, "--test-size", 0.8,
        *QUICK, "--json", "-o", tmp_path / "m",
    )  # fmt: skip
    assert said.code == 0, said.err
    data = said.data
    assert data["label"]["name"] == "label"
    assert data["notion"] == ["equalized_odds"]
    assert data["violation"] < data["judgement"]["bound"] <= 0.25
    assert data["judgement"]["people"] == "cross-fitted"
    assert data["judgement"]["n"] == data["people"]["train"]
    assert (
        data["metrics"]["after"]["train"]["peo"] == data["metrics"]["after"]["train"]["violation"]
    )
    assert "origin" not in data["features"]  # sensitive in the dataset, though not asked for
    assert sorted(p.name for p in (tmp_path / "m").iterdir()) == [
        "model.json",
        "model.safetensors",
        "report.html",
    ]


def test_people_kept_out_to_judge_a_limit(tmp_path):
    table = write(loans(200), tmp_path / "t.csv")
    said = otfair(
        "fit", table, "--label", "granted", "--sensitive", "sex", "--max-violation", 0.9, *FEW,
        "--validation-fraction", 0.5, *QUICK, "--json", "-o", tmp_path / "m",
    )  # fmt: skip
    # Judged by others than all who trained it.
    train = said.data["metrics"]["after"]["train"]["violation"]
    assert said.data["violation"] != pytest.approx(train, abs=1e-6)
    assert said.data["validation_fraction"] == 0.5


@pytest.mark.parametrize(
    ("limit", "bound", "test", "parts"),
    [
        (None, np.inf, 0.1, [""]),
        (0.1, 0.08, 0.05, ["at most 0.1; met. Largest correlation of score and group: 0.030",
                           "by 800 people", "On the 200 people kept out of all this it is 0.050."]),
        (0.1, 0.08, 0.12, ["met.", "0.120, which is above: fewer people"]),
        (0.05, 0.08, 0.04, ["at most 0.05; NOT met.", "population at most 0.080, with 90 % conf",
                            "it hangs on sex=F. About 5,000 people would do.", "it is 0.040."]),
        (0.02, 0.08, 0.04, ["at most 0.02; NOT met.", "hangs on sex=F. On the 200"]),
    ],
)  # fmt: skip
def test_a_limit_is_compared_with_who_judged_it_and_with_people_kept_out(limit, bound, test, parts):
    found = Judgement(
        criterion="correlation", people="cross-fitted", n=800, folds=5, violation=0.03, bound=bound,
        new_people=np.inf, confidence=0.9, limit=limit, decided_by="sex=F",
    )  # fmt: skip
    told = asdict(found) | {"met": found.met, "needed": found.needed, "text": str(found)}
    metrics = {"after": {"test": {"violation": test}}}
    said = against_limit({"judgement": told, "metrics": metrics, "people": {"test": 200}})
    assert all(part in said for part in parts)
    assert bool(said) == (limit is not None)


@pytest.mark.parametrize("criterion", ["correlation", "difference"])
def test_a_limit_that_is_not_met_is_said_everywhere_and_ends_with_a_code_of_its_own(
    tmp_path, criterion
):
    table = write(loans(200), tmp_path / "t.csv")
    fit = ("fit", table, "--label", "granted", "--sensitive", "sex", "--max-violation", 0.01, *FEW)
    said = otfair(*fit, "--criterion", criterion, *QUICK, "-o", tmp_path / "m")
    assert said.code == 4
    assert "otfair: warning: no alpha meets max_violation=0.01." in said.err
    line = next(x for x in said.out.splitlines() if x.startswith("Asked for: a violation of at"))
    assert "NOT met. Largest" in line
    assert f"largest {criterion}" in line.lower()
    assert "by 160 people, each kept out of training in one of 5 folds" in line
    page = (tmp_path / "m" / "report.html").read_text().replace("&#39;", "'")
    assert f'<p class="unmet">{line}</p>' in page
    record = json.loads((tmp_path / "m" / "model.json").read_text())
    assert not record["judgement"]["met"]
    asked = {"correlation": "violation", "difference": "score_difference"}[criterion]
    assert f"it is {record['metrics']['after']['test'][asked]:.3f}." in line
    assert (tmp_path / "m" / "model.safetensors").is_file()  # the nearest, all the same


def test_the_limit_is_spoken_of_on_page_and_terminal(tmp_path):
    table = write(loans(200), tmp_path / "t.csv")
    said = otfair(
        "fit", table, "--label", "granted", "--sensitive", "sex", "--max-violation", 0.5, *FEW,
        "--confidence", 0.8, *QUICK, "-o", tmp_path / "m",
    )  # fmt: skip
    assert said.code == 0, said.err
    line = next(x for x in said.out.splitlines() if x.startswith("Asked for: a violation of at"))
    assert "with 80 % confidence" in line
    assert f"<p>{line}</p>" in (tmp_path / "m" / "report.html").read_text()


def test_rows_without_label_are_left_out_and_those_without_group_have_no_part_in_fairness(tmp_path):
    frame = loans(200)
    frame.loc[:9, "granted"] = None
    frame.loc[5:14, "sex"] = None
    frame.loc[20:80, "income"] = None  # a gap in a feature is no reason
    write(frame, tmp_path / "t.csv")
    said = otfair(
        "fit", tmp_path / "t.csv", "--label", "granted", "--sensitive", "sex", "--alpha", 0.3,
        "--alphas", "0,0.3", "--json", "-o", tmp_path / "m",
    )  # fmt: skip
    assert sum(said.data["people"].values()) == 190
    notes = " ".join(said.data["notes"])
    assert "10 of 200 rows are left out: they have no 'granted'" in notes
    assert "5 of 190 rows have no 'sex': the model learns from them" in notes
    assert said.data["missing_sensitive"] == 5
    loaded = load_model(tmp_path / "m" / "model.safetensors")[-1]
    assert 0 < loaded.n_missing_sensitive_ <= 5
    page = (tmp_path / "m" / "report.html").read_text(encoding="utf-8")
    assert "Sensitive: sex (groups)" in page
    assert "5 of them lack a sensitive value" in page
    assert (tmp_path / "m" / "audit_after.html").exists()
    curve = pd.read_csv(tmp_path / "m" / "curve.csv")
    after = said.data["metrics"]["after"]["test"]
    assert curve["test_pdp"].iloc[-1] == pytest.approx(after["pdp"], abs=1e-6)


def test_codes_and_numbers_are_trained_as_what_is_said(tmp_path):
    frame = loans(200).assign(race=np.arange(200) % 3 + 1.0, rank=np.arange(200) % 4)
    frame.loc[3, "race"] = None
    write(frame, tmp_path / "t.csv")
    said = otfair(
        "fit", tmp_path / "t.csv", "--label", "granted", "--sensitive", "race", "--sensitive",
        "rank:continuous", *FEW, "--alpha", 0.3, *QUICK, "-o", tmp_path / "m",
    )  # fmt: skip
    assert "sensitive: race (3 groups), rank (number)" in said.out
    record = json.loads((tmp_path / "m" / "model.json").read_text())
    assert record["kinds"] == {"race": "groups", "rank": "number"}
    model = load_model(tmp_path / "m" / "model.safetensors")
    assert model[-1].notion == DemographicParity(continuous="rank")
    y = (frame["granted"] == "yes").to_numpy().astype(int)
    _, test = train_test_split(np.arange(200), test_size=0.2, random_state=0, stratify=y)
    h = model.predict_proba(frame.iloc[test][["income", "debt_ratio", "sector"]])[:, 1]
    violation = pdp_violation(h, frame.iloc[test][["race", "rank"]], continuous="rank")
    assert record["metrics"]["after"]["test"]["violation"] == pytest.approx(violation)


def test_columns_that_name_rows_are_no_features(tmp_path):
    frame = loans(100).assign(
        id=np.arange(1000, 1100), name=[f"person {i}" for i in range(100)], gone=None
    )
    write(frame, tmp_path / "t.csv")
    base = ("fit", tmp_path / "t.csv", "--label", "granted", "--sensitive", "sex", "--alpha", 0)
    data = otfair(*base, *QUICK, "--json", "-o", tmp_path / "m").data
    assert {"id", "name", "gone"}.isdisjoint(data["features"])
    assert sum("is no feature" in note for note in data["notes"]) == 3
    asked = otfair(*base, *QUICK, "--json", "--features", "id,income", "-o", tmp_path / "m").data
    assert asked["features"] == {"id": "number", "income": "number"}


def test_an_earlier_run_is_replaced_and_other_folders_are_not_touched(tmp_path):
    table = write(loans(120), tmp_path / "t.csv")
    base = ("fit", table, "--label", "granted", "--sensitive", "sex", *FEW, "--alpha")
    out = ("-o", tmp_path / "m")
    assert otfair(*base, 0.2, "--alphas", "0", "--no-audit", *out).code == 0
    assert (tmp_path / "m" / "curve.csv").is_file()
    (tmp_path / "m" / "notes.txt").write_text("mine")
    assert otfair(*base, 0.7, *QUICK, *out).code == 0
    assert json.loads((tmp_path / "m" / "model.json").read_text())["alpha"] == 0.7
    assert not (tmp_path / "m" / "curve.csv").exists()  # it was of the other model
    assert (tmp_path / "m" / "notes.txt").read_text() == "mine"
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "model.json").write_text('{"weights": []}')
    refused(otfair(*base, 0.2, *QUICK, "-o", tmp_path / "other"), "holds other files", "--force")
    assert otfair(*base, 0.2, *QUICK, "--force", "-o", tmp_path / "other").code == 0


def test_nothing_is_left_of_a_fit_that_failed(tmp_path):
    table = write(loans(60).assign(sex="Female"), tmp_path / "t.csv")
    said = otfair(
        "fit", table, "--label", "granted", "--sensitive", "sex", "--alpha", 0.5, *QUICK,
        "-o", tmp_path / "m",
    )  # fmt: skip
    refused(said, "only one group")
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (["--label", "grant", "--sensitive", "sex"], ["no column 'grant'", "mean 'granted'?"]),
        (["--label", "granted", "--sensitive", "sax"], ["no column 'sax'", "mean 'sex'?"]),
        (["--label", "granted", "--sensitive", "granted"], ["both --label and --sensitive"]),
        (["--label", "purpose", "--sensitive", "sex"], ["two values", "--positive"]),
        (["--label", "granted", "--sensitive", "sex", "--positive", "maybe"], ["'no', 'yes'"]),
        (["--label", "granted", "--sensitive", "sex", "--features", "sex"], ["Leave it out"]),
        (["--label", "granted", "--sensitive", "sex", "--drop", "nope"], ["for --drop"]),
        (["--label", "granted", "--sensitive", "sex:continuous"], ["holds text"]),
        (["--label", "granted", "--sensitive", "p:categorical"], ["groups, more than 50"]),
    ],
)
def test_what_can_not_be(tmp_path, options, parts):
    table = write(loans(120), tmp_path / "t.csv")
    refused(otfair("fit", table, *options, "--alpha", 0.5, "-o", tmp_path / "m"), *parts)
    assert not (tmp_path / "m").exists()


def test_more_groups_than_an_audit_takes_are_refused_before_training(tmp_path, monkeypatch):
    monkeypatch.setattr("otfair.cli.fit.train", lambda *_: pytest.fail("trained"))
    town = [f"town {i % 60}" for i in range(240)]
    table = write(loans(240).assign(town=town), tmp_path / "t.csv")
    base = ("--label", "granted", "--sensitive", "town", "--alpha", 0.5, "-o", tmp_path / "m")
    refused(otfair("fit", table, *base), "'town' has 60 groups, more than 50")


def test_usage(tmp_path):
    table = write(loans(40), tmp_path / "t.csv")
    base = ("fit", table, "--sensitive", "sex", "-o", tmp_path / "m")
    for options, part in [
        (["--alpha", 0.5], "--label is missing"),
        (["--label", "granted"], "--alpha, --max-violation, or, for its decisions"),
        (["--label", "granted", "--alpha", 2], "between 0 and 1; received 2"),
        (["--label", "granted", "--alpha", 0.5, "--max-violation", 0.1], "not allowed with"),
        (["--label", "granted", "--alpha", 0.5, "--test-size", 1], "ends apart"),
        (["--label", "granted", "--alpha", 0.5, "--validation-fraction", 0.3], "leave one"),
        (["--label", "granted", "--alpha", 0.5, "--confidence", 0.8], "--confidence is for"),
        (["--label", "granted", "--alpha", 0.5, "--notion", "justice"], "invalid choice"),
    ]:
        said = otfair(*base, *options)
        assert said.code == 2
        assert part in said.err
        assert said.out == ""


def test_trees_that_are_not_installed_name_their_extra(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    table = write(loans(40), tmp_path / "t.csv")
    said = otfair(
        "fit", table, "--label", "granted", "--sensitive", "sex", "--alpha", 0.5,
        "--model", "lightgbm", "-o", tmp_path / "m",
    )  # fmt: skip
    refused(said, "pip install lightgbm")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_bars_or_lines_and_never_on_standard_output(tmp_path, monkeypatch):
    table = write(loans(120), tmp_path / "t.csv")
    fit = ("fit", table, "--label", "granted", "--sensitive", "sex", "--alpha", 0.5, "--json")
    fit = (*fit, *FEW, "--alphas", "0,0.5", "-o", tmp_path / "m")
    monkeypatch.setattr("otfair._io.progress.EVERY", 1e9)
    assert otfair(*fit).err == ""
    monkeypatch.setattr("otfair._io.progress.EVERY", 0.0)
    said = otfair(*fit)
    assert said.data["alpha"] == 0.5
    told = re.findall(r"^otfair: (\w+): (\d+) of \2 in", said.err, re.M)
    passes = [("distances", n) for n in ("96", "24")]  # of training people, and of test people
    assert set(passes) <= set(told)
    audit = [("columns", "4"), ("distances", "1"), ("audit", "3")]
    assert [step for step in told if step not in passes] == [
        ("fitting", "2"), ("training", "2"), ("judging", "2"), *audit, *audit,
    ]  # fmt: skip
    assert "\r" not in said.err
    assert otfair(*fit, "--quiet").err == ""
    monkeypatch.setattr("tables_for_commands.StringIO", Terminal)
    said = otfair(*fit)
    for bar in ("fitting", "training", "judging", "audit"):
        assert f"{bar}: 100%|" in said.err or f"\r{bar}:" in said.err
    assert said.data["alpha"] == 0.5
    assert otfair(*fit, "--quiet").err == ""


def test_a_real_dataset_by_name(data_home, tmp_path):
    said = otfair(
        "fit", "adult", "--data-home", data_home, "--sensitive", "sex", "--alpha", 0, *QUICK,
        "--json", "-o", tmp_path / "m",
    )  # fmt: skip
    assert said.code == 0, said.err
    assert said.data["people"] == {"train": 36177, "test": 9045}
    assert said.data["metrics"]["after"]["test"]["auc"] > 0.89
    assert {"sex", "race", "label"}.isdisjoint(said.data["features"])


@pytest.mark.parametrize("booster", ["xgboost", "lightgbm"])
def test_boosted_trees(tmp_path, booster):
    table = write(loans(200), tmp_path / "t.csv")
    said = otfair(
        "fit", table, "--label", "granted", "--sensitive", "sex", "--alpha", 0.7, *FEW,
        "--model", booster, "--alphas", "0,0.7", "--no-audit", "--json", "-o", tmp_path / "m",
    )  # fmt: skip
    assert said.code == 0, said.err
    assert said.data["violation"] < 0.8 * said.data["metrics"]["before"]["train"]["pdp"]
    scores = otfair("predict", tmp_path / "m", table, "--json").data
    assert scores["people"] == 200
    assert len(pd.read_csv(tmp_path / "m" / "curve.csv")) == 2


def test_settings_of_the_model(tmp_path):
    table = write(loans(), tmp_path / "loans.csv")
    common = (
        "fit",
        table,
        "--label",
        "granted",
        "--sensitive",
        "sex",
        "--alpha",
        0.5,
        *FEW,
        *QUICK,
    )
    said = otfair(*common, "--params", "C=0.01", "--params", "tol=1e-5", "-o", tmp_path / "line")
    assert said.code == 0, said.err
    line = load_model(tmp_path / "line" / "model.safetensors")[-1]
    assert (line.C, line.tol) == (0.01, 1e-5)
    given = '{"max_depth": 2, "n_estimators": 30, "subsample": 0.9}'
    said = otfair(
        *common, "--model", "lightgbm", "--params", given, "--params", "max_depth=3",
        "-o", tmp_path / "trees",
    )  # fmt: skip
    assert said.code == 0, said.err
    trees = load_model(tmp_path / "trees" / "model.safetensors").get_params()
    assert (trees["max_depth"], trees["n_estimators"], trees["subsample"]) == (3, 30, 0.9)
    record = json.loads((tmp_path / "trees" / "model.json").read_text())
    assert record["params"] == {"max_depth": 3, "n_estimators": 30, "subsample": 0.9}


@pytest.mark.parametrize(
    ("model", "given", "code", "parts"),
    [
        ("logistic", "D=1", 2, ["OTFClassifier has no such setting"]),
        ("logistic", "max_itre=1", 2, ["did you mean max_iter?"]),
        ("logistic", "alpha=1", 2, ["--params alpha: it is set by options of its own"]),
        ("logistic", "C", 2, ["must be KEY=VALUE or a JSON object; received 'C'"]),
        ("logistic", "{C: 1}", 2, ["must be JSON"]),
        ("logistic", "C=-1", 1, ["`C` must be positive; received -1"]),
        ("lightgbm", "max_dept=3", 1, ["unknown setting `max_dept`", "did you mean `max_depth`?"]),
        ("xgboost", "max_dept=3", 1, ["unknown setting `max_dept`", "did you mean `max_depth`?"]),
    ],
)
def test_settings_that_the_model_does_not_have(tmp_path, model, given, code, parts):
    table = write(loans(), tmp_path / "loans.csv")
    said = otfair(
        "fit", table, "--label", "granted", "--sensitive", "sex", "--alpha", 0.5, "--model", model,
        "--params", given, "-o", tmp_path / "model", *QUICK,
    )  # fmt: skip
    assert said.code == code
    assert all(part in said.err for part in parts), said.err


def test_a_model_worse_than_a_coin_is_told(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(400, 100)), columns=[f"c{j}" for j in range(100)])
    frame["sex"], frame["y"] = rng.integers(0, 2, 400), rng.integers(0, 2, 400)
    table = write(frame, tmp_path / "noise.csv")
    said = otfair(
        "fit", table, "--label", "y", "--sensitive", "sex", "--alpha", 0.3, "--params", "C=null",
        "--test-size", 0.4, "-o", tmp_path / "model", *QUICK,
    )  # fmt: skip
    assert said.code == 0
    told = "the model is worse than the base rate, which is one score for everybody"
    assert said.err.count(told) == 1
    assert "among the 160 people kept out its log-loss is" in said.err
    assert told in (tmp_path / "model" / "report.html").read_text()
    assert len(json.loads((tmp_path / "model" / "model.json").read_text())["doubts"]) == 1


# Fair decisions


@pytest.fixture(scope="module")
def decided(tmp_path_factory):
    folder = tmp_path_factory.mktemp("decided")
    table = write(loans(2500).drop(columns=["age", "origin", "p"]), folder / "loans.csv")
    said = otfair(
        "fit", table, "--label", "granted", "--sensitive", "sex", "--max-difference", 0.15,
        "--no-audit", "-o", folder / "model", "--json",
    )  # fmt: skip
    assert said.code == 0, said
    return folder, said.data


def test_a_limit_makes_the_model_decide(decided):
    folder, data = decided
    model = load_model(folder / "model" / "model.safetensors")
    assert isinstance(model, FairDecisions)
    assert (model.max_difference, model.cv, model.confidence) == (0.15, 5, 0.9)
    assert model.new_people == data["people"]["test"] == 500
    frame = loans(2500)
    y = (frame["granted"] == "yes").to_numpy().astype(int)
    _, test = train_test_split(np.arange(2500), test_size=0.2, random_state=0, stratify=y)
    held = frame.iloc[test].astype({"has_guarantor": str})
    decisions = model.predict(held[FEATURES])
    found = data["decisions"]
    for group in found["groups"]:
        own = (held["sex"] == group["name"].removeprefix("sex=")).to_numpy()
        assert (group["people"], group["after"]) == (own.sum(), decisions[own].mean())
    judged = data["metrics"]["after"]["test"]
    assert judged["accuracy"] == pytest.approx((decisions == y[test]).mean())
    assert judged["dp_difference"] == found["spreads"][0]["after"]["difference"]
    assert judged["auc"] == pytest.approx(data["metrics"]["before"]["test"]["auc"])


def test_the_report_on_decisions(decided):
    folder, data = decided
    page = (folder / "model" / "report.html").read_text()
    for group in data["decisions"]["groups"]:
        assert f"<td>{group['before']:.3f}</td><td>{group['after']:.3f}</td>" in page
    assert "asked for: at most 0.15, met" in page
    assert "Right decisions" in page
    assert "{" not in page[page.index("<body>") :].partition("<svg")[0]  # nothing is left raw
    curve = pd.read_csv(folder / "model" / "curve.csv")
    assert {"limit", "accuracy", "difference"} <= set(curve)


def test_decisions_of_a_fair_model_of_trees_by_several_attributes(tmp_path):
    table = write(loans(1500).drop(columns=["age", "p"]), tmp_path / "loans.csv", sep=";")
    said = otfair(
        "fit", table, "--label", "granted", "--sensitive", "sex", "--sensitive", "origin",
        "--max-difference", "sex=0.3", "--min-ratio", "origin=0.2", "--alpha", 0.3,
        "--model", "xgboost", "--params", "n_estimators=10", "--ties", "random",
        *QUICK, "-o", tmp_path / "m", "--json",
    )  # fmt: skip
    assert said.code in (0, 4), said
    model = load_model(tmp_path / "m" / "model.safetensors")
    assert model.estimator_.alpha_ == said.data["alpha"] == 0.3
    assert model.ties == "random"
    assert said.data["decisions"]["limits"] == {
        "max_difference": {"sex": 0.3},
        "min_ratio": {"origin": 0.2},
    }


@pytest.mark.parametrize("model", ["logistic", "xgboost"])
def test_a_model_is_trained_again_for_its_decisions(tmp_path, model):
    table = write(loans(1500)[["income", "debt_ratio", "granted", "sex"]], tmp_path / "loans.csv")
    base = ("fit", table, "--label", "granted", "--sensitive", "sex", "--max-difference", 0.05)
    base += ("--model", model, "--confidence", 0, *QUICK)
    said = otfair(*base, "--retrain", "-o", tmp_path / "m", "--json")
    assert said.code in (0, 4), said
    rule = load_model(tmp_path / "m" / "model.safetensors")
    assert said.data["decisions"]["retrained"] == hasattr(rule, "retrained_")
    lines = [line["text"] for line in said.data["decisions"]["lines"]]
    assert any(line.startswith("The model that was trained a second time is") for line in lines)
    said = otfair(*base, "--retrain", "--notion", "equalized_odds", "-o", tmp_path / "o")
    assert said.code == 2
    assert "--retrain is for limits on rates of decisions, not within labels" in said.err
    said = otfair(*base, "--retrain", "--use-sensitive", "-o", tmp_path / "n")
    assert said.code == 2
    assert "--use-sensitive and --retrain do not go together" in said.err


def test_weights_count(tmp_path):
    frame = loans(400)[["income", "debt_ratio", "granted", "sex"]]
    frame["w"] = 2
    weighted, plain = write(frame, tmp_path / "w.csv"), write(frame, tmp_path / "p.csv")
    base = ("--label", "granted", "--sensitive", "sex", "--alpha", 0.5, *QUICK, "--json")
    runs = {
        "weighted": otfair("fit", weighted, *base, "--weight", "w", "-o", tmp_path / "a"),
        "plain": otfair("fit", plain, *base, "--drop", "w", "-o", tmp_path / "b"),
    }
    coefs = {}
    for name, folder in (("weighted", "a"), ("plain", "b")):
        assert runs[name].code == 0, runs[name]
        coefs[name] = load_model(tmp_path / folder / "model.safetensors")[-1].coef_
    # Equal weights change nothing but how much the ridge counts.
    np.testing.assert_allclose(coefs["weighted"], coefs["plain"], rtol=0.05, atol=0.01)
    assert runs["weighted"].data["weight"] == "w"
    heavy = write(frame.assign(w=np.where(frame["sex"] == "Male", 9, 1)), tmp_path / "h.csv")
    said = otfair("fit", heavy, *base, "--weight", "w", "-o", tmp_path / "c")
    judged = said.data["metrics"]["before"]["test"]["accuracy"]
    assert judged != pytest.approx(runs["plain"].data["metrics"]["before"]["test"]["accuracy"])


def test_people_are_compared_within_controls(tmp_path):
    table = write(loans(900).drop(columns=["age", "origin", "p"]), tmp_path / "loans.csv")
    base = ("fit", table, "--label", "granted", "--sensitive", "sex", *QUICK, "--json")
    said = otfair(*base, "--alpha", 0.8, "--control", "area", "-o", tmp_path / "a")
    assert said.code == 0, said
    assert said.data["notion"] == ["conditional_parity"]
    assert said.data["control"] == ["area"]
    assert "area" in said.data["features"]
    train = {when: said.data["metrics"][when]["train"]["violation"] for when in ("before", "after")}
    assert train["after"] < 0.5 * train["before"]
    # Numbers of many values are compared in quarters.
    said = otfair(*base, "--max-difference", 0.5, "--control", "income", "-o", tmp_path / "b")
    assert said.code in (0, 4)
    assert len(said.data["decisions"]["spreads"]) == 4
    both = ("--control", "area", "--notion", "demographic_parity", "--alpha", 0.3)
    said = otfair(*base, *both, "-o", tmp_path / "c")
    assert said.data["notion"] == ["demographic_parity", "conditional_parity"]


def test_options_of_decisions_need_a_limit(tmp_path):
    table = write(loans(60), tmp_path / "t.csv")
    base = ("fit", table, "--label", "granted", "--sensitive", "sex", "--alpha", 0.5)
    for option in (
        ["--ties", "random"], ["--use-sensitive"], ["--threshold", 0.3], ["--randomize"],
        ["--retrain"],
    ):  # fmt: skip
        said = otfair(*base, *option, "-o", tmp_path / "m")
        assert said.code == 2
        assert f"{option[0]} is for --max-difference or --min-ratio" in said.err


def test_the_chain_of_the_readme_passes_its_own_gate(tmp_path, monkeypatch):
    readme = Path(__file__).parents[2] / "README.md"
    text = readme.read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.startswith("otfair ")]
    chain = [shlex.split(line, comments=True)[1:] for line in lines]
    assert [words[0] for words in chain] == ["data", "data", "fit", "predict", "audit"]
    monkeypatch.chdir(tmp_path)
    for words in chain:
        said = otfair(*words)
        assert said.code == 0, said
    *_, fit, predict, audit = chain
    record = json.loads(Path("model/model.json").read_text())
    rates = {group["name"]: group for group in record["decisions"]["groups"]}
    words = " ".join(text.split())
    (women, women_after), (men, men_after) = (
        [f"{100 * rates[f'sex={sex}'][when]:.0f} %" for when in ("before", "after")]
        for sex in ("Female", "Male")
    )
    assert women_after == men_after
    assert f"grants loans to {women} of the women and {men} of the men." in words
    before, after = (
        f"{100 * record['metrics'][when]['test']['accuracy']:.1f} %" for when in ("before", "after")
    )
    assert (
        f"The rule grants them to {men_after} of each, and {after} of the decisions are right "
        f"instead of {before}."
    ) in words
    # The gate is not open to everybody: one threshold for all does not pass.
    limit = fit.index("--max-difference")
    otfair(*fit[:limit], *fit[limit + 2 :], "--alpha", 0, *QUICK)
    assert otfair(*predict, "--threshold", 0.5).code == 0
    said = otfair(*audit, "--bootstrap", 0)
    assert said.code == 3
    assert "sex, demographic_parity: difference of decisions 0." in said.out
    assert ": above the limit, 0.05" in said.out
    # Equalized odds is audited too, as there are labels, and judged by nobody who did not ask.
    assert "equalized_odds: difference" not in said.out
    assert "limits are held against demographic_parity alone" in said.out


def test_columns_have_limits_of_their_own(tmp_path):
    table = write(loans(), tmp_path / "loans.csv")
    fit = ("fit", table, "--label", "granted", "--sensitive", "sex", "--sensitive", "origin", *FEW)
    limits = ("--max-violation", "sex=0.9", "--max-violation", "origin=0.8")
    said = otfair(*fit, *limits, "-o", tmp_path / "model", *QUICK)
    assert said.code == 0, said.err
    record = json.loads((tmp_path / "model" / "model.json").read_text())
    assert record["max_violation"] == record["judgement"]["limits"] == {"sex": 0.9, "origin": 0.8}
    assert "Asked for: a violation of at most 0.9 by sex and 0.8 by origin; met." in said.out
    page = (tmp_path / "model" / "report.html").read_text()
    assert "0.9 by sex and 0.8 by origin among new people" in page
    said = otfair(*fit, "--max-violation", "age=0.1", "-o", tmp_path / "other", *QUICK)
    refused(said, "--max-violation names 'age', which is not among --sensitive", "sex", "origin")


def test_what_is_weighed_is_told(tmp_path):
    table = write(loans(), tmp_path / "loans.csv")
    fit = ("fit", table, "--label", "granted", "--sensitive", "sex", "--sensitive", "origin", *FEW)
    for weigh, names in (
        ("people", None),
        ("attributes", {"sex", "origin"}),
        ("groups", {"sex=Female, sex=Male", "origin=Abroad", "origin=Local", "origin=Regional"}),
    ):
        folder = tmp_path / weigh
        said = otfair(*fit, "--alpha", 0.5, "--weigh", weigh, "-o", folder, *QUICK)
        assert said.code == 0, said.err
        record = json.loads((folder / "model.json").read_text())
        assert record["weigh"] == weigh
        balance = record["balance"]
        assert (set(balance) if isinstance(balance, dict) else None) == names


def test_bounds_are_those_of_the_classifier(tmp_path):
    table = write(loans(150), tmp_path / "t.csv")
    fit = ["fit", table, "--label", "granted", "--sensitive", "sex", "--alpha", 0.5, *FEW, *QUICK]
    for name, more in (("bounded", ["--bounded"]), ("plain", [])):
        said = otfair(*fit, *more, "-o", tmp_path / name)
        assert said.code == 0, said.err
        assert json.loads((tmp_path / name / "model.json").read_text())["bounded"] == bool(more)
        assert load_model(tmp_path / name / "model.safetensors")[-1].bounded == bool(more)
    said = otfair(*fit, "--params", "bounded=true", "-o", tmp_path / "no")
    assert said.code == 2
    assert "--params bounded: it is set by options" in said.err
