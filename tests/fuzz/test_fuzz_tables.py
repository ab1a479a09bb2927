"""No table, however hostile, ends a command in a way that nobody foresaw."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pandas as pd
import pytest
from fuzz.tables import case, people
from tables_for_commands import Said, limited, otfair, write

from otfair.tables import read_table

CORPUS = Path(__file__).with_name("corpus") / "tables"
WHAT = json.loads((CORPUS / "what.json").read_text(encoding="utf-8"))  # went wrong, by file
SECONDS = 60  # for a command on a small table: what takes longer hangs
DONE = (0, 4)  # exit codes of a command that did its work


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    """Train on sound people."""
    folder = tmp_path_factory.mktemp("model")
    table = write(pd.DataFrame(people(random.Random(0), 60)), folder / "people.csv")
    said = otfair(
        "fit", table, "--label", "y", "--sensitive", "sex", "--features", "x,k", "--alpha", 0.5,
        "--no-curve", "--no-audit", "-o", folder / "model",
    )  # fmt: skip
    assert said.code == 0, said.err
    return folder / "model"


def commands(table: Path, model: Path) -> dict[str, list[object]]:
    """Return what is tried on each table; what is written goes beside it."""
    out, who = table.parent, ["--label", "y", "--sensitive", "sex"]
    few = ["--bootstrap", 3, "--json"]
    return {
        "audit": [
            "audit", table, "--score", "p", *who, "--weight", "w", *few, "-o", out / "a.html",
        ],
        "plain audit": ["audit", table, "--score", "p", "--sensitive", "sex", *few],
        "fit": [
            "fit", table, *who, "--drop", "p,w", "--alpha", 0.5, "--no-curve", "--no-audit",
            "--force", "-o", out / "fitted",
        ],
        "predict": ["predict", model, table, "--keep", "sex", "-o", out / "scores.csv"],
    }  # fmt: skip


def wrong(said: Said) -> str:
    """Say what is wrong with the end of a command, or nothing."""
    lines = said.err.splitlines()
    if said.code in DONE:
        return "" if "Traceback" not in said.err else "a traceback"
    errors = [line for line in lines if line.startswith("otfair: error: ")]
    if said.code != 1 or len(errors) != 1 or lines[-1] != errors[0]:
        return f"exit code {said.code} with {len(errors)} errors"
    if any(not line.startswith("otfair: ") for line in lines):
        return "an error of several lines"
    return "not foreseen" if "not foreseen" in said.err or "Traceback" in said.err else ""


def mistakes(content: bytes, model: Path, folder: Path, without: str = "") -> list[str]:
    """Run commands on a table, without one if it is named, and return what went wrong."""
    table = folder / "table"
    table.write_bytes(content)
    found = []
    for name, arguments in commands(table, model).items():
        if name == without:
            continue
        with limited(SECONDS):
            said = otfair(*arguments)
        if problem := wrong(said):
            found.append(f"{name}: {problem}: {said.err[-300:]}")
        elif said.code == 0 and "audit" in name:
            assert said.data["worst"] >= 0
        elif said.code == 0 and name == "predict":
            rows, scores = len(read_table(table).frame), pd.read_csv(folder / "scores.csv")["score"]
            if len(scores) != rows or not scores.between(0, 1).all():
                found.append(f"predict: {len(scores)} scores of {rows} people")
    return found


@pytest.mark.slow
def test_tables(fuzz_cases, model, tmp_path):
    found = {}
    for seed in range(fuzz_cases):
        made = case(seed)
        without = "plain audit" if seed % 2 else "audit"
        if problems := mistakes(made.content, model, tmp_path, without):
            found[seed] = (made.odd, problems)
    assert not found


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(WHAT))
def test_tables_that_once_failed(name, model, tmp_path):
    assert mistakes((CORPUS / name).read_bytes(), model, tmp_path) == [], WHAT[name]


def test_every_file_of_the_corpus_is_tried():
    assert {path.name for path in CORPUS.iterdir()} == {*WHAT, "what.json"}


def test_a_seed_makes_the_same_table_and_both_kinds_are_made():
    tables = [case(seed) for seed in range(30)]
    assert tables == [case(seed) for seed in range(30)]
    assert 5 < sum(made.content[:4] == b"PAR1" for made in tables) < 25
