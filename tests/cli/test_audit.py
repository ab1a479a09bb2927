"""`otfair audit`: tables of scores in, a verdict out."""

from __future__ import annotations

import hashlib
import io
import json
import re
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from tables_for_commands import loans, otfair, refused, write

import otfair as library

BASE = ("--score", "p", "--label", "granted", "--sensitive", "sex", "--bootstrap", 20)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return write(loans(200), tmp_path_factory.mktemp("audit") / "loans.csv", sep=";")


def test_the_audit_is_the_one_of_python(table, tmp_path):
    frame = loans(200)
    said = otfair("audit", table, *BASE, "--sensitive", "age:continuous", "-o", tmp_path / "r.html")
    assert said.code == 0, said.err
    own = library.audit(
        frame["p"], frame.drop(columns=["p", "granted", "sex", "age"]),
        sensitive_features=frame[["sex", "age"]], labels=frame["granted"] == "yes", n_bootstrap=20,
    )  # fmt: skip
    assert f"200 people, largest violation {own.worst:.4f}" in said.out
    for notion, attribute, violation in own.summary()[["notion", "attribute", "violation"]].values:
        line = next(x for x in said.out.splitlines() if x.split()[:2] == [notion, attribute])
        assert f"{violation:.4f}" in line
    assert "'yes' is positive" in said.out
    page = (tmp_path / "r.html").read_text()
    assert page.rstrip().endswith("</html>")
    assert [p.name for p in tmp_path.iterdir()] == ["r.html"]


def test_one_json_object_and_a_json_file(table, tmp_path):
    said = otfair("audit", table, *BASE, "--json", "-o", tmp_path / "r.json")
    assert said.err == ""
    data, file = said.data, json.loads((tmp_path / "r.json").read_text())
    assert data["findings"] == file["findings"]
    assert data["failed"] is False
    assert data["worst"] == max(f["violation"]["value"]["value"] for f in data["findings"])


def test_the_limit_decides_the_exit_code(table):
    worst = otfair("audit", table, *BASE, "--json").data["worst"]
    assert otfair("audit", table, *BASE, "--max-violation", worst).code == 0  # not above itself
    said = otfair("audit", table, *BASE, "--max-violation", worst - 1e-6)
    assert said.code == 0
    assert "but by no more than chance explains" in said.out
    said = otfair("audit", table, *BASE, "--max-violation", 0.05)
    assert said.code == 3
    assert "above the limit, 0.05\n" in said.out


def test_notions_features_and_drop(table):
    data = otfair(
        "audit", table, *BASE, "--notion", "equal_opportunity", "--features",
        "income,area,loan_amount", "--drop", "area", "--threshold", 0.3, "--json",
    ).data  # fmt: skip
    assert [f["notion"] for f in data["findings"]] == ["equal_opportunity"]
    assert data["record"]["columns_used"] == ["income", "loan_amount"]
    assert data["record"]["settings"]["threshold"] == 0.3


def test_labels_are_chosen_and_gaps_are_counted(tmp_path):
    frame = loans(200)
    frame.loc[:4, "granted"] = None
    frame.loc[10:12, "p"] = np.nan
    frame.loc[20:23, "sex"] = None
    table = write(frame, tmp_path / "t.csv")
    refused(
        otfair("audit", table, *BASE), "3 of 200 scores are missing, the first in line 12", "--skip"
    )
    some = (*BASE, "--positive", "no", "--skip-unscored")
    assert "note: 5 rows are left out: no label" in otfair("audit", table, *some).out
    data = otfair("audit", table, *some, "--json").data
    assert sorted(data["record"]["dropped"].values()) == [3, 4, 5]
    assert data["record"]["rows_used"] == 188
    kept = frame.dropna(subset=["granted", "p", "sex"])
    own = library.peo_violation(kept["p"], kept["sex"].astype(str), kept["granted"] == "no")
    found = {f["notion"]: f["violation"]["value"]["value"] for f in data["findings"]}
    assert found["equalized_odds"] == pytest.approx(own)


def test_codes_with_a_gap_are_groups(tmp_path):
    # A gap makes floats of integers in pandas; they are groups all the same.
    frame = loans(120).assign(code=lambda f: f["sex"].map({"Female": 1, "Male": 2}))
    frame["code"] = frame["code"].astype("Int64")
    frame.loc[3, "code"] = pd.NA
    table = write(frame, tmp_path / "t.csv")
    data = otfair("audit", table, "--score", "p", "--sensitive", "code", "--json").data
    assert {g["group"] for g in data["findings"][0]["violation"]["groups"]} == {"code=1", "code=2"}
    frame = frame.dropna().astype({"code": float})
    text = otfair("audit", table, "--score", "p", "--sensitive", "code:continuous", "--json").data
    own = library.pdp_violation(frame["p"], frame["code"].to_numpy())
    assert text["worst"] == pytest.approx(own)


@pytest.mark.slow
def test_weights_and_controls(tmp_path):
    frame = loans(120).assign(w=np.arange(120) % 3)
    frame["w"] = frame["w"].astype("Int64")
    frame.loc[1, "w"] = pd.NA
    table = write(frame, tmp_path / "t.csv")
    data = otfair("audit", table, *BASE, "--weight", "w", "--control", "area", "--json").data
    kept = frame[frame["w"].fillna(0) > 0]
    own = library.audit(
        kept["p"],
        kept.drop(columns=["p", "granted", "sex", "w"]),
        sensitive_features=kept["sex"],
        labels=kept["granted"] == "yes",
        sample_weight=kept["w"].astype(float),
        control_features=kept["area"],
        n_bootstrap=20,
    )
    assert data["record"]["dropped"] == {"no weight": 41}
    assert data["record"]["weight"] == "w"
    values = {f["notion"]: f["violation"]["value"]["value"] for f in data["findings"]}
    assert values == pytest.approx({f.notion: f.violation.value.value for f in own.findings})
    assert "conditional_parity" in values
    only = ("--notion", "conditional_parity", "--control", "area", "--json")
    data = otfair("audit", table, *BASE, *only).data
    assert [f["notion"] for f in data["findings"]] == ["conditional_parity"]
    said = otfair("audit", table, *BASE, "--notion", "conditional_parity")
    assert said.code == 2
    assert "needs --control" in said.err


def test_the_report_says_which_file_and_columns_it_is_of(table, tmp_path):
    said = otfair("audit", table, *BASE, "--json", "-o", tmp_path / "r.html")
    record, page = said.data["record"], (tmp_path / "r.html").read_text()
    digest = hashlib.sha256(table.read_bytes()).hexdigest()
    assert record["source"] == {
        "Table": str(table),
        "Format": "CSV, semicolon, utf-8",
        "File": f"SHA-256 {digest}",
        "Rows of the table": "200",
    }
    assert record["title"] == "p of loans.csv"
    for text in (digest, str(table), "<dt>Scores</dt><dd>p</dd>", "<h1>Fairness audit: p of loans"):
        assert text in page
    titled = otfair("audit", table, *BASE, "--json", "--title", "Loans of May")
    assert titled.data["record"]["title"] == "Loans of May"


@pytest.mark.slow
def test_sensitive_columns_are_listed_as_not_compared(table):
    both = (*BASE, "--sensitive", "origin")
    said = otfair("audit", table, *both)
    assert "note: column 'origin' is no feature: the sensitive attribute itself" in said.out
    assert "note: distances do not see what is sensitive (sex, origin)" in said.out
    record = otfair("audit", table, *both, "--features", "income", "--json").data["record"]
    assert record["columns_left_out"] == {}
    assert record["notes"] == []


def test_named_features_are_used_though_they_look_like_identifiers(tmp_path):
    path = write(loans(80).assign(customer_id=range(80)), tmp_path / "t.csv")
    record = otfair("audit", path, *BASE, "--json").data["record"]
    assert "identifier" in record["columns_left_out"]["customer_id"]
    named = otfair("audit", path, *BASE, "--features", "income,customer_id", "--json").data
    assert named["record"]["columns_used"] == ["income", "customer_id"]
    assert named["record"]["columns_left_out"] == {}


@pytest.mark.slow
def test_copies_of_what_is_audited_are_no_features(tmp_path):
    frame = loans(80)
    plain = otfair("audit", write(frame, tmp_path / "t.csv"), *BASE, "--json").data
    frame = frame.assign(
        code=(frame["sex"] == "Male").astype(int),
        above=np.where(frame["p"] > 0.5, "yes", "no"),
        q=1 - frame["p"],
    )
    path = write(frame, tmp_path / "t.csv")
    data = otfair("audit", path, *BASE, "--json").data
    assert set(data["record"]["columns_left_out"]) == {"sex", "code", "above", "q"}
    assert data["findings"] == plain["findings"]
    said = otfair("audit", path, *BASE).out
    assert "column 'code' is no feature: the sensitive attribute 'sex' under another name" in said
    assert "note: a column that only looks so is used if --features names it" in said
    named = otfair("audit", path, *BASE, "--features", "above,q", "--json").data["record"]
    assert named["columns_used"] == ["above", "q"]
    assert named["notes"] == [
        "above: a cut of the scores at 0.5, such as a decision, and used as it was named",
        "q: the scores on another scale, and used as it was named",
    ]


@pytest.mark.parametrize("columns", [["sex", "p"], ["sex", "p", "id"], ["sex", "p", "id", "same"]])
def test_scores_alone_are_audited_without_distances(tmp_path, columns):
    frame = loans(60).assign(id=range(60), same=1)[[*columns, "granted"]]
    path = write(frame, tmp_path / "t.csv")
    page = tmp_path / "r.html"
    for more in ((), ("--features", ",".join(columns[2:] or ["sex"]))):
        said = otfair("audit", path, *BASE, *more, "-o", page)
        assert said.code == 0, said.err
        if more[-1:] not in (("id",), ("id,same",)):  # an identifier that is named is used
            assert "no column is left to compare people by, so distances" in said.out
            assert "at least" in page.read_text()
    nothing = otfair("audit", path, *BASE, "--drop", ",".join(columns))
    assert "no column is left to compare people by" in nothing.out


def test_a_feature_with_a_comma_in_its_name(tmp_path):
    table = write(loans(80).rename(columns={"area": "area, now"}), tmp_path / "t.csv")
    data = otfair("audit", table, *BASE, "--features", "income,area, now", "--json").data
    assert data["record"]["columns_used"] == ["income", "area, now"]
    refused(otfair("audit", table, *BASE, "--features", "income,area"), "'area' for --features")


def test_without_resamples_there_is_no_interval(table):
    said = otfair("audit", table, *BASE, "--bootstrap", 0).out
    assert "nan" not in said
    assert "interval" not in said
    assert "95 % interval" in otfair("audit", table, *BASE).out


def test_decisions_as_words(tmp_path):
    frame = loans(100)[["sex", "income"]].assign(d=loans(100)["p"] > 0.5)
    write(frame, tmp_path / "t.csv")
    frame.to_parquet(tmp_path / "t.parquet")
    own = library.pdp_violation(frame["d"].astype(float), frame["sex"])
    for name in ("t.csv", "t.parquet"):
        said = otfair("audit", tmp_path / name, "--score", "d", "--sensitive", "sex", "--json")
        assert said.data["worst"] == pytest.approx(own)


def test_decimals_are_scores_and_weights(tmp_path):
    frame = loans(60)
    exact = {c: frame[c].map(lambda v: Decimal(str(v))) for c in ("p", "income")}
    frame.assign(**exact).to_parquet(tmp_path / "t.parquet")
    asked = ["--weight", "income", "--bootstrap", 5, "--json"]
    said = otfair("audit", tmp_path / "t.parquet", *BASE, *asked)
    assert said.code == 0, said.err
    plain = otfair("audit", write(frame, tmp_path / "t.csv"), *BASE, *asked)
    assert said.data["worst"] == plain.data["worst"]


def test_scores_alone_and_from_standard_input(monkeypatch):
    class Input:
        buffer = io.BytesIO(b"p,sex\n" + b"0.9,f\n0.2,m\n0.7,f\n0.4,m\n" * 10)

    monkeypatch.setattr("sys.stdin", Input())
    said = otfair("audit", "-", "--score", "p", "--sensitive", "sex", "--json")
    assert said.code == 0, said.err
    assert said.data["worst"] > 0.8


@pytest.mark.parametrize(
    ("change", "options", "parts"),
    [
        ({}, ["--score", "q"], ["no column 'q' for --score"]),
        ({}, ["--score", "sex"], ["can't be two of"]),
        ({}, ["--score", "area"], ["the column holds text"]),
        ({}, ["--score", "income"], ["[0, 1]"]),
        ({}, ["--weight", "area"], ["--weight area: the column holds text"]),
        ({}, ["--weight", "p"], ["can't be two of"]),
        ({}, ["--control", "are"], ["did you mean 'area'?"]),
        ({}, ["--control", "sex"], ["can't be two of"]),
        (
            {"p": [0.5, 0.25, "x"] + [0.125] * 37},
            [],
            ["in 1 of 40 rows, the first is 'x' in line 4", "empty them and pass `--skip-unscored"],
        ),
        ({"p": "0,5"}, [], ["--decimal ,"]),
        ({"p": "74.8 %"}, [], ["'74.8 %'", "look like percentages: remove the %"]),
        ({"p": None}, [], ["--score p: the column is empty"]),
        ({"income": None}, ["--weight", "income"], ["--weight income: the column is empty"]),
        ({"sex": None}, [], ["--sensitive sex: the column is empty"]),
        (
            {"age": None},
            ["--sensitive", "age:continuous"],
            ["--sensitive age: the column is empty"],
        ),
        ({"granted": None}, [], ["--label granted: the column is empty"]),
        ({"granted": "yes"}, [], ["two values"]),
        ({"sex": "Female"}, [], ["sex", "one group"]),
        ({}, ["--features", "incom"], ["did you mean 'income'?"]),
    ],
)
def test_what_can_not_be(tmp_path, change, options, parts):
    table = write(loans(40).assign(**change), tmp_path / "t.csv", sep=";")
    said = otfair("audit", table, *BASE, *options, "-o", tmp_path / "r.html")
    refused(said, *parts)
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]


def test_a_report_that_can_not_be_written_is_said_before_the_work(table, monkeypatch):
    monkeypatch.setattr("otfair.cli.audit.audit", lambda *_, **__: pytest.fail("audited"))
    refused(otfair("audit", table, *BASE, "-o", table / "r.html"), "can't write to")
    own = table.with_suffix(".html")
    own.write_bytes(table.read_bytes())
    refused(otfair("audit", own, *BASE, "-o", own), "is the table that is read")


@pytest.mark.slow
def test_a_report_that_ends_in_pdf_is_one(table, tmp_path):
    said = otfair("audit", table, *BASE, "--bootstrap", 10, "-o", tmp_path / "r.PDF")
    assert said.code == 0, said.err
    assert (tmp_path / "r.PDF").read_bytes().startswith(b"%PDF")
    assert [p.name for p in tmp_path.iterdir()] == ["r.PDF"]


def test_a_pdf_without_a_browser_is_refused_before_the_work(table, tmp_path, monkeypatch):
    monkeypatch.setattr("otfair.cli.audit.audit", lambda *_, **__: pytest.fail("audited"))
    monkeypatch.setenv("PATH", str(tmp_path))
    refused(otfair("audit", table, *BASE, "-o", tmp_path / "r.pdf"), "by Chromium", ".html")


@pytest.mark.parametrize("name", ["r.docx", "r.htmlx", "r"])
def test_other_endings_are_refused_before_the_work(table, tmp_path, monkeypatch, name):
    monkeypatch.setattr("otfair.cli.audit.audit", lambda *_, **__: pytest.fail("audited"))
    said = otfair("audit", table, *BASE, "-o", tmp_path / name)
    assert said.code == 2
    assert "-o/--output: must end in .html, .htm, .pdf or .json, or .csv with --table" in said.err


def test_a_report_is_no_csv(table, tmp_path):
    said = otfair("audit", table, *BASE, "-o", tmp_path / "r.csv")
    assert said.code == 2
    assert "a report is .html, .pdf or .json; .csv is for --table of" in said.err


def test_columns_that_are_nearly_numbers_are_noted(tmp_path):
    frame = loans(60).astype({"income": object})
    frame.loc[3, "income"] = "n.a."
    frame["up"] = [f"{k}%" for k in range(60)]
    table = write(frame, tmp_path / "t.csv")
    said = otfair("audit", table, *BASE, "-o", tmp_path / "r.html")
    notes = [
        "column 'income': 1 of 60 values count as missing, such as 'n.a.' (line 5)",
        "column 'up': values such as '0%' (line 2) are percentages; remove the % to have numbers",
    ]
    page = (tmp_path / "r.html").read_text()
    for note in notes:
        assert f"note: {note}" in said.out
        assert note.replace("'", "&#39;") in page
    record = otfair("audit", table, *BASE, "--json", "--drop", "up").data["record"]
    assert record["missing"] == {"income": 1}
    assert record["notes"] == notes[:1]


def test_messages_speak_of_options(table, tmp_path):
    said = otfair(
        "audit", table, "--score", "p", "--sensitive", "sex", "--notion", "equalized_odds"
    )
    assert said.code == 2
    assert "--notion equalized_odds needs --label" in said.err
    percent = write(loans(40).assign(p=lambda f: f["p"] * 100), tmp_path / "t.csv")
    said = otfair("audit", percent, *BASE)
    refused(said, "--score p: must lie in [0, 1]", "divide them by 100")
    assert "`" not in said.err
    many = loans(80).assign(sex=[f"n{k}" for k in range(80)])
    refused(otfair("audit", write(many, tmp_path / "t.csv"), *BASE), "write :continuous behind its")


def test_a_label_is_spoken_of_once(tmp_path):
    frame = loans(60)
    frame["granted"] = np.where(frame["granted"] == "yes", "b", "a")
    said = otfair("audit", write(frame, tmp_path / "t.csv"), *BASE).out
    assert "note: label 'granted': 'b' is taken as positive; choose with --positive" in said
    assert said.count("is positive") == 0
    told = otfair("audit", tmp_path / "t.csv", *BASE, "--positive", "a").out
    assert "note: label 'granted': 'a' is positive\n" in told


def test_people_are_found_by_their_line(tmp_path):
    frame = loans(60)
    frame["income"] = frame["income"].where(frame.index > 0, np.nan)
    page = tmp_path / "r.html"
    otfair("audit", write(frame, tmp_path / "t.csv"), *BASE, "-o", page)
    csv = page.read_text()
    frame.to_parquet(tmp_path / "t.parquet")
    otfair("audit", tmp_path / "t.parquet", *BASE, "-o", page)
    rows = [int(row) for row in re.findall(r'class="who">row (\d+),', page.read_text())]
    lines = [int(line) for line in re.findall(r'class="who">line (\d+),', csv)]
    assert rows
    assert lines == [row + 1 for row in rows]  # below the names of the columns
    assert "Rows are those of the table, counted from 1." in page.read_text()
    assert "Lines are those of the file" in csv
    scores = re.findall(r'class="who">line \d+, score ([0-9.]+)', csv)
    texts = (tmp_path / "t.csv").read_text().splitlines()
    place = frame.columns.get_loc("p")
    for line, score in zip(lines, scores):
        assert f"{float(texts[line - 1].split(',')[place]):.2f}" == score


def test_hostile_text_stays_text(tmp_path):
    bad = '<script>alert("x")</script>'
    frame = loans(80).rename(columns={"area": bad, "sex": f"{bad}: sex"})
    frame["purpose"] = frame["purpose"].astype(str).where(frame.index > 40, bad)
    table = write(frame, tmp_path / f"{bad.replace('/', '')}.csv")
    said = otfair(
        "audit", table, "--score", "p", "--label", "granted", "--sensitive", f"{bad}: sex",
        "-o", tmp_path / "r.html",
    )  # fmt: skip
    assert said.code == 0, said.err
    assert bad not in (tmp_path / "r.html").read_text()


def test_decisions_may_be_written_as_the_label_is(tmp_path):
    frame = loans(200)[["granted", "sex", "p"]]
    decided = frame["p"] > 0.5
    words = write(frame.assign(d=np.where(decided, "yes", "no")), tmp_path / "words.csv")
    numbers = write(frame.assign(d=decided.astype(int)), tmp_path / "numbers.csv")
    base = ("--score", "d", "--label", "granted", "--sensitive", "sex", "--drop", "p", "--json")
    found = [otfair("audit", table, *base, "--bootstrap", 0).data for table in (words, numbers)]
    assert found[0]["worst"] == found[1]["worst"] > 0
    other = write(frame.assign(d=np.where(decided, "yes", "maybe")), tmp_path / "other.csv")
    refused(otfair("audit", other, *base), "holds text", "'maybe'")


def test_a_gate_on_rates(tmp_path):
    frame = loans(400)[["granted", "sex", "p"]]
    rates = (frame["p"] > 0.5).groupby(frame["sex"].astype(str)).mean()
    table, apart = write(frame, tmp_path / "t.csv"), float(rates.max() - rates.min())
    base = ("audit", table, "--score", "p", "--sensitive", "sex", "--drop", "granted")
    assert otfair(*base, "--bootstrap", 0, "--max-difference", apart + 1e-6).code == 0
    said = otfair(*base, "--bootstrap", 0, "--max-difference", apart - 1e-6)
    assert said.code == 3
    assert f"difference of decisions {apart:.3f}: above the limit" in said.out


def test_the_first_lines_say_who_is_worse_off_and_by_how_much(tmp_path):
    rng = np.random.default_rng(0)
    sex = np.repeat([1, 2, 3], [400, 400, 5])
    y = rng.integers(2, size=805)
    p = np.clip(0.7 * rng.random(805) + 0.2 * y + 0.2 * (sex == 1), 0, 1).round(3)
    frame = pd.DataFrame({"p": p, "sex": sex, "hired": np.where(y, "yes", "no")})
    table = write(frame, tmp_path / "t.csv")
    names = tmp_path / "names.json"
    names.write_text(json.dumps({"sex": {"2": "wo\nmen"}}))
    base = ("--score", "p", "--label", "hired", "--sensitive", "sex", "--names", names)
    said = otfair("audit", table, *base, "--bootstrap", 50, "--min-ratio", 0.9)
    lines = said.out.splitlines()
    assert lines[1].startswith("The favourable decision is: predicted hired = yes, as names ")
    assert lines[3] == r"sex = wo\nmen is worse off than sex = 1"
    rates = (frame.p > 0.5).groupby(frame.sex).mean()
    few, many = (round(1000 * rates[k]) for k in (2, 1))
    assert lines[4] == (
        rf"  Of 1000 people with sex = wo\nmen, {many - few} fewer get the favourable decision "
        f"(predicted hired = yes) than of 1000 with sex = 1: {few} against {many}."
    )
    assert lines[5].startswith("  This is more than chance explains: ")
    assert lines[6].startswith(r"  Wrong decisions: of 1000 people with sex = wo\nmen and hired = ")
    assert lines[7] == "  Too few people to say: sex = 3 (5)."
    assert "sex, demographic_parity: ratio of decisions" in lines[9]
    (row,) = (line for line in lines if line.startswith("sex = 1 "))
    one = frame[frame.sex == 1]
    figures = re.findall(r"([0-9.]+) \(", row)
    right = (one.p > 0.5) & (one.hired == "yes")
    want = [
        rates[1], right.sum() / (one.hired == "yes").sum(),
        ((one.p > 0.5) & (one.hired == "no")).sum() / (one.hired == "no").sum(),
        right.sum() / (one.p > 0.5).sum(),
    ]  # fmt: skip
    assert figures == [f"{figure:.3f}" for figure in want]
    (row,) = (line for line in lines if line.startswith("sex = 3 "))
    assert "? (" in row
    assert "?: rough, as too few people tell it" in lines
    plain = otfair("audit", table, "--score", "p", "--sensitive", "sex", "--bootstrap", 0).out
    assert "whether having p above 0.5 is good for people" in plain
    assert "precision" not in plain


def test_references_of_columns_and_of_crossed_ones(table):
    base = ("--score", "p", "--sensitive", "sex", "--sensitive", "origin", "--bootstrap", 0)
    frame = loans(200)
    for sex in frame.sex.unique():  # one of them is not the one by default
        both = f"sex={sex} & origin={frame.origin[0]}"
        said = otfair(
            "audit", table, *base, "--cross", "origin,sex", "--reference", both, "--reference",
            f"sex={sex}", "--json",
        )  # fmt: skip
        found = {d["attribute"]: d["reference"] for d in said.data["decisions"]}
        assert found["sex & origin"] == both
        assert found["sex"] == f"sex={sex}"


@pytest.mark.slow
def test_costs_that_look_free_are_explained_once(tmp_path):
    rng = np.random.default_rng(0)
    group, sex = rng.choice(["a", "b"], 400), rng.choice(["m", "f"], 400)
    p = 0.1 + 0.4 * (group == "a") + 0.3 * (sex == "m") + 0.2 * rng.random(400)
    x = rng.integers(2, size=400)  # all have twins
    frame = pd.DataFrame({"g": group, "s": sex, "x": x, "p": p})
    said = otfair(
        "audit", write(frame, tmp_path / "t.csv"), "--score", "p", "--sensitive", "g",
        "--sensitive", "s", "--no-bounded",
    )  # fmt: skip
    assert said.out.count("A cost this low does not mean") == 1
    assert "Likewise, as the report says: demographic_parity, s.\n" in said.out


def test_sensitive_columns_may_come_with_commas(tmp_path):
    frame = loans(200)
    frame["a,b"] = frame["sex"]
    table = write(frame, tmp_path / "t.csv")
    options = ("--score", "p", "--bootstrap", 5, "--features", "age", "--json")
    kinds = otfair("audit", table, *options, "--sensitive", "sex, age:continuous").data["kinds"]
    assert kinds == {"sex": "groups", "age": "number"}
    assert otfair("audit", table, *options, "--sensitive", "a,b").data["kinds"] == {"a,b": "groups"}
    refused(otfair("audit", table, *options, "--sensitive", "sex,rase"), "no column 'rase'")


def test_a_bounded_cost_of_nothing_beside_a_violation_is_explained(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"g": ["a", "b"] * 100, "x": rng.integers(0, 2, 200)})
    frame["p"] = np.where(frame["g"] == "a", 0.3, 0.6)
    table = write(frame, tmp_path / "t.csv")
    said = otfair("audit", table, "--score", "p", "--sensitive", "g", "--bootstrap", 5)
    assert (
        "demographic_parity, g: A cost of 0 does not mean that the scores are fair: 16" in said.out
    )
    fair = write(frame.assign(p=0.4 + 0.1 * frame["x"] * (frame.index < 0)), tmp_path / "fair.csv")
    said = otfair("audit", fair, "--score", "p", "--sensitive", "g", "--bootstrap", 5)
    assert "A cost of 0" not in said.out


def test_words_for_what_is_not_there_are_noted(tmp_path):
    frame = loans(200).assign(sex=lambda t: np.where(t["sex"] == "Female", 2, 1))
    words = tmp_path / "names.json"
    words.write_text('{"sex": {"1": "men", "2": "women", "3": "others"}, "gender": {"1": "men"}}')
    said = otfair(
        "audit", write(frame, tmp_path / "t.csv"), "--score", "p", "--sensitive", "sex",
        "--names", words, "--features", "age", "--bootstrap", 5,
    )  # fmt: skip
    assert "sex = women" in said.out
    assert "note: --names has words for 'gender', no column of the table" in said.out
    assert "note: --names has words for '3', which no row has in 'sex'" in said.out
