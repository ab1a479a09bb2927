"""Options: what is wrong with them is said in words, before anything heavy is imported."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator

import pytest
from tables_for_commands import loans, otfair, write

from otfair.cli import _names
from otfair.cli._main import SUMMARIES, _parser
from otfair.datasets import list_datasets
from otfair.losses import LOSSES
from otfair.metrics import CRITERIA
from otfair.models import BOOSTERS
from otfair.notions import NOTIONS
from otfair.reproduction import COLUMNS
from otfair.tradeoff import UNFAIRNESS

HEAVY = ("torch", "pandas", "sklearn", "scipy", "numpy", "matplotlib")
AUDIT = ["--score", "p", "--sensitive", "sex"]


def test_options_know_the_names_that_the_library_knows():
    assert list(_names.DATASETS) == list_datasets()
    assert list(COLUMNS) == list(_names.EXPERIMENTS)
    assert [notion.name for notion in NOTIONS] == list(_names.NOTIONS)
    within = [notion.name for notion in NOTIONS if notion.needs_control]
    assert within == list(_names.WITH_CONTROL)
    assert [loss.name for loss in LOSSES] == list(_names.REGULARIZERS)
    assert list(BOOSTERS) == list(_names.BOOSTERS)
    assert list(CRITERIA) == list(_names.CRITERIA)
    assert list(UNFAIRNESS) == list(_names.UNFAIRNESS)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--help"], "usage: otfair"),
        (["audit", "--help"], "--bootstrap"),
        (["fit", "--help"], "demographic_parity"),
        (["audit", "missing.csv", *AUDIT], "there is no file missing.csv"),
        (["fit", "missing.csv", "--label", "y", "--sensitive", "s", "--alpha", "1", "-o", "m"],
         "there is no file missing.csv"),
        (["curve", "missing", "--label", "y", "--sensitive", "s", "-o", "m"],
         "there is no file missing. Check its path. The datasets are: adult, "),
        (["predict", "missing", "new.csv"], "there is no model at missing. Pass the folder"),
        (["audit", "missing.csv", "--score", "p"], "required: --sensitive"),
        (["audit", "missing.csv", *AUDIT, "--positive", "yes"], "--label, which is missing"),
        (["audit", "missing.csv", *AUDIT, "-o", "r.docx"], "must end in .html, .htm, .pdf or"),
        (["fit", "t.csv", "--label", "y", "--sensitive", "s", "-o", "m"], "say how fair"),
        (["fit", "t.csv", "--sensitive", "s", "--alpha", "1", "-o", "m"], "--label is missing"),
        (["decide", "t.csv", *AUDIT, "-o", "m"], "a limit is missing"),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, list) else "",
)  # fmt: skip
def test_what_is_wrong_is_said_before_anything_heavy_is_imported(arguments, said, tmp_path):
    script = (
        "import sys\nfrom otfair.cli import main\n"
        "try:\n    code = main(sys.argv[1:])\nexcept SystemExit as stop:\n    code = stop.code\n"
        f"print('imported:', [name for name in {HEAVY} if name in sys.modules])\n"
        "sys.exit(code)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert said in ended.stdout + ended.stderr
    assert ended.stdout.endswith("imported: []\n"), ended.stdout
    assert ended.returncode == (0 if "--help" in arguments else 1 if "there is no" in said else 2)


def typed_options() -> Iterator[tuple[str, argparse.ArgumentParser, argparse.Action]]:
    for command in SUMMARIES:
        parser = _parser([command])._subparsers._group_actions[0].choices[command]
        for action in parser._actions:
            if action.type is not None:
                yield command, parser, action


@pytest.mark.parametrize("given", ["x", "", "nan", "1e", "0,x", ","])
def test_no_message_has_the_name_of_a_function(given):
    said = []
    for command, parser, action in typed_options():
        try:
            parser._get_value(action, given)
        except argparse.ArgumentError as error:
            said.append(f"{command}: {error}")
    assert len(said) > 20
    assert [line for line in said if "invalid" in line or "must" not in line] == []


def test_numbers_that_are_none_are_said_plainly(tmp_path):
    table = write(loans(60), tmp_path / "t.csv")
    people = ["--label", "granted", "--sensitive", "sex", "-o", tmp_path / "c"]
    said = otfair("curve", table, *people, "--alphas", "0,half")
    assert said.code == 2
    assert said.err.endswith("argument --alphas: must be a number; received 'half'\n")


def test_a_positive_label_without_a_label_is_an_error(tmp_path):
    table = write(loans(60), tmp_path / "t.csv")
    said = otfair("audit", table, *AUDIT, "--positive", "yes")
    assert said.code == 2
    assert "--positive is a value of --label, which is missing; name its column" in said.err
