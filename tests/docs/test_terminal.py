"""What commands print on docs/audit.md and docs/monitoring.md, of 10 000 people of Adult."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from page_scripts import page, says
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from tables_for_commands import otfair

from otfair import TableEncoder, load_dataset

pytestmark = pytest.mark.slow
MODELS = {
    "logistic": LogisticRegression(max_iter=1000),
    "tree": DecisionTreeClassifier(max_depth=7, random_state=0),
}
DAY = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC")


@pytest.fixture(scope="module")
def folder(data_home, tmp_path_factory) -> Path:
    """A folder with the tables of both pages: 6000 people train, and 10 000 others are scored."""
    folder = tmp_path_factory.mktemp("adult")
    data = load_dataset("adult", data_home)
    rows = np.random.default_rng(0).permutation(len(data.y))
    train, some = rows[:6000], rows[6000:16_000]
    encoder = TableEncoder().fit(data.X.iloc[train])
    X, Z = (encoder.transform(data.X.iloc[part]) for part in (train, some))
    people = data.X.join(data.sensitive_features).iloc[some]
    scores = {name: model.fit(X, data.y[train]).predict_proba(Z)[:, 1] for name, model in
              MODELS.items()}  # fmt: skip
    income = np.where(data.y[some] == 1, ">50K", "<=50K")
    people.assign(income=income, p=scores["logistic"]).to_csv(folder / "adult.csv", index=False)
    people = people.assign(income_over_50k=data.y[some])
    people.assign(**scores).to_csv(folder / "scores.csv", index=False)
    people = people.assign(p=scores["logistic"])
    last, this = people[:5000], people[5000:]
    last.to_csv(folder / "last_year.csv", index=False)
    this.to_csv(folder / "this_year.csv", index=False)
    cut = np.where(this["sex"] == "Female", 0.6, 1.0)
    this.assign(p=this["p"] * cut).to_csv(folder / "cut.csv", index=False)
    return folder


def shown(name: str, first: str) -> str:
    """Return the block of a page that begins with these words, without days and line breaks."""
    (found,) = re.findall(rf"^```text\n({first}.*?)^```$", page(name), re.MULTILINE | re.DOTALL)
    return flat(found)


def flat(text: str) -> str:
    """Return a text with one space between its words, and without the day of an audit."""
    return " ".join(DAY.sub("DAY", text).split())


def test_what_an_audit_says_first(folder):
    said = otfair(
        "audit", folder / "adult.csv", "--score", "p", "--label", "income", "--positive", ">50K",
        "--favourable", "1", "--sensitive", "sex", "--sensitive", "race", "--max-difference", "0.1",
        "--receivers", "512",
    )  # fmt: skip
    assert said.code == 3
    assert shown("audit", "adult.csv: 10000 people") in flat(said.out)


def test_what_changed(folder):
    common = ["--score", "p", "--label", "income_over_50k", "--sensitive", "sex", "--sensitive",
              "race"]  # fmt: skip
    old = folder / "old.json"
    assert otfair("audit", folder / "last_year.csv", *common, "-o", old).code == 0
    for name, first in (("this_year", "what changed:\n0 of"), ("cut", "what changed:\n[1-9]")):
        said = otfair("audit", folder / f"{name}.csv", *common, "--baseline", old)
        assert shown("monitoring", first) in flat(said.out)


def test_two_models(folder):
    said = otfair(
        "compare", folder / "scores.csv", "--score", "logistic,tree", "--label", "income_over_50k",
        "--sensitive", "sex",
    )  # fmt: skip
    (block,) = re.findall(r"^```text\n(of +figure.*?)^```$", page("monitoring"), re.M | re.S)
    lines = [flat(line) for line in said.out.splitlines()]
    for line in block.splitlines():
        assert flat(line) in lines
    # Fewer decisions apart, but scores that depend more on sex.
    says("monitoring", "The tree's gap in decisions is smaller, since it takes more from men")
