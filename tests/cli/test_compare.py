"""`otfair compare`, and what `otfair audit` says of an earlier audit and writes as a card."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tables_for_commands import loans, otfair, refused, write

import otfair as library

BASE = ("--label", "granted", "--sensitive", "sex", "--bootstrap", 30)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compare")
    frame = loans(400)
    frame["q"] = (frame["p"] * np.where(frame["sex"] == "Female", 0.5, 1)).round(4)
    frame["person"] = np.arange(400)
    write(frame, folder / "two.csv")
    write(frame.drop(columns="q"), folder / "old.csv")
    shuffled = frame.drop(columns="p").rename(columns={"q": "p"}).sample(frac=0.9, random_state=0)
    write(shuffled, folder / "new.csv")
    return folder


def test_columns_of_one_table(folder, tmp_path):
    said = otfair("compare", folder / "two.csv", "--score", "p,q", *BASE, "-o", tmp_path / "c.html")
    assert said.code == 0, said.err
    assert "The models scored the same 400 people." in said.out
    assert "sex, demographic parity violation" in said.out
    assert "* beyond chance" in said.out
    assert (tmp_path / "c.html").read_text().rstrip().endswith("</html>")
    data = otfair("compare", folder / "two.csv", "--score", "p,q", *BASE, "--json").data
    frame = loans(400)
    auc = next(f for f in data["figures"] if f["figure"] == "auc")
    own = library.audit(frame["p"], sensitive_features=frame[["sex"]], n_bootstrap=0)
    assert data["worst"]["p"] >= own.worst
    assert 0 < auc["values"][0]["value"] < 1


def test_what_a_gain_is_and_who_is_left_out_is_said(tmp_path):
    frame = loans(300)
    frame["q"] = (frame["p"] * 0.8).round(4)
    frame["sex"] = frame["sex"].astype(object).replace("Female", "Fe\nmale")
    frame.loc[:6, "sex"] = None
    command = ("compare", write(frame, tmp_path / "t.csv"), "--score", "p,q", *BASE)
    said = otfair(*command, "--favourable", 0).out
    assert "note: 7 rows are left out of q: no value of 'sex'" in said
    assert "A positive decision is unfavourable here: who gets one loses" in said
    assert "(sex=Fe\\nmale), " in said
    assert "A positive decision is favourable here" in otfair(*command, "--favourable", 1).out


@pytest.mark.slow
def test_a_page_that_ends_in_pdf_is_one(folder, tmp_path):
    path = tmp_path / "c.pdf"
    said = otfair("compare", folder / "two.csv", "--score", "p,q", *BASE, "-o", path)
    assert said.code == 0, said.err
    assert path.read_bytes().startswith(b"%PDF")


def test_a_pdf_without_a_browser_is_refused(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    command = ("compare", folder / "two.csv", "--score", "p,q", *BASE)
    refused(otfair(*command, "-o", tmp_path / "c.pdf"), "by Chromium", ".html")


@pytest.mark.parametrize("name", ["c.csv", "c.docx"])
def test_a_page_of_another_kind_is_refused(folder, tmp_path, name):
    command = ("compare", folder / "two.csv", "--score", "p,q", *BASE)
    said = otfair(*command, "-o", tmp_path / name)
    assert said.code == 2
    assert ".html" in said.err
    assert not (tmp_path / name).exists()


def test_tables_are_matched_by_a_key(folder):
    command = ("compare", folder / "old.csv", folder / "new.csv", "--score", "p", *BASE)
    data = otfair(*command, "--id", "person", "--json").data
    assert data["paired"]
    assert data["people"] == [360, 360]
    women = next(m for m in data["moves"] if m["group"] == "sex=Female")
    assert women["gained"] == 0
    assert women["lost"] > 0
    said = otfair(*command, "--id", "person")
    assert "40 of 400 people of" in said.out
    # Without a key, they are as of different people.
    said = otfair(*command)
    assert "compared as of different people: there are 400 rows and 360" in said.out


@pytest.mark.parametrize(
    ("tables", "options", "parts"),
    [
        (["old.csv"], ["--score", "p"], ["one table needs two or more columns of scores"]),
        (["old.csv", "new.csv"], ["--score", "p,age,income"], ["3 columns for 2 tables"]),
        (["old.csv", "new.csv"], ["--score", "nope"], ["no column 'nope' for --score"]),
        (["old.csv", "new.csv"], ["--score", "p", "--id", "area"], ["is in more than one row"]),
        (["old.csv", "new.csv"], ["--score", "p", "--id", "nope"], ["no column 'nope' for --id"]),
        (["old.csv", "none.csv"], ["--score", "p"], ["none.csv"]),
        (["two.csv"], ["--score", "p,income"], ["--score income: must lie in [0, 1]"]),
    ],
)  # fmt: skip
def test_what_can_not_be(folder, tables, options, parts):
    said = otfair("compare", *(folder / name for name in tables), *options, *BASE)
    assert said.code in (1, 2)
    assert said.out == ""
    assert said.err.splitlines()[-1].startswith(("otfair: error: ", "otfair compare: error: "))
    for part in parts:
        assert part in said.err


def test_a_key_that_joins_other_people_is_refused(folder, tmp_path):
    frame = loans(400).assign(person=np.arange(400)[::-1])
    other = write(frame, tmp_path / "other.csv")
    said = otfair("compare", folder / "old.csv", other, "--score", "p", *BASE, "--id", "person")
    refused(said, "--id person: says that people are the same, but", "rows differ in sex")


@pytest.mark.slow
def test_what_changed_and_the_gate_on_it(folder, tmp_path):
    first = write(loans(1500), tmp_path / "first.csv")
    frame = loans(1500)
    frame["p"] *= np.where(frame["sex"] == "Female", 0.4, 1)
    second = write(frame, tmp_path / "second.csv")
    audit = (*BASE, "--score", "p", "--features", "age", "--no-bounded")
    old = tmp_path / "old.json"
    assert otfair("audit", first, *audit, "-o", old).code == 0
    gate = ("--baseline", old, "--fail-on-change")
    said = otfair("audit", second, *audit, *gate, "-o", tmp_path / "new.html")
    assert said.code == 3
    assert "sex, demographic parity violation rose from" in said.out
    assert said.out.endswith("fails, as --fail-on-change asks: unfairness grew beyond chance\n")
    assert '<section id="changed">' in (tmp_path / "new.html").read_text()
    data = otfair("audit", second, *audit, *gate, "--json").data
    assert data["failed"]
    assert data["changes"]["changes"]
    assert otfair("audit", second, *audit, "--baseline", old).code == 0
    # What got better is no failure, nor is what stayed.
    better = tmp_path / "second.json"
    otfair("audit", second, *audit, "-o", better)
    said = otfair("audit", first, *audit, "--baseline", better, "--fail-on-change")
    assert said.code == 0
    assert "No unfairness grew beyond chance." in said.out
    # Of other groups there is nothing to judge, which is no pass.
    turned = write(loans(1500).rename(columns={"sex": "se_x"}), tmp_path / "turned.csv")
    other = ("--label", "granted", "--sensitive", "se_x", "--bootstrap", 30, "--score", "p")
    refused(otfair("audit", turned, *other, *gate), "has nothing to judge", "same --sensitive")
    said = otfair("audit", turned, *other, "--baseline", old)
    assert "Nothing could be compared with p of first.csv" in said.out
    said = otfair("audit", first, *audit, *gate)
    assert said.code == 0
    assert "Both audits are of the same data" in said.out


def test_a_baseline_is_read_before_the_work(folder, tmp_path):
    audit = ("audit", folder / "old.csv", *BASE, "--score", "p")
    refused(otfair(*audit, "--baseline", tmp_path / "no.json"), "no.json")
    refused(otfair(*audit, "--baseline", folder / "old.csv"), "it is no JSON of an audit")
    (tmp_path / "x.json").write_text(json.dumps({"findings": [], "record": {}}))
    refused(otfair(*audit, "--baseline", tmp_path / "x.json"), "an earlier version of otfair")
    said = otfair(*audit, "--fail-on-change")
    assert said.code == 2
    assert "--fail-on-change needs --baseline" in said.err


def test_a_card(folder, tmp_path):
    audit = ("audit", folder / "old.csv", *BASE, "--score", "p", "--features", "age")
    card = tmp_path / "my card.md"
    assert otfair(*audit, "--card", card).code == 0
    text = card.read_text()
    assert text.startswith("# Fairness of p of old.csv\n")
    assert f"otfair audit {folder / 'old.csv'} --label granted" in text
    assert f"--card '{card}'" in text
    assert "SHA-256" in text
    assert otfair(*audit, "--card", card, "-o", card).code == 2
