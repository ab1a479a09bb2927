"""`otfair reproduce`: makes what is missing, says what it did, and goes on where it was."""

from __future__ import annotations

import json

import pytest
from tables_for_commands import otfair

from otfair.cli import reproduce
from otfair.cli._main import main
from otfair.reproduction import Run

pytestmark = pytest.mark.slow

FREE = Run("curves", "synthetic", (), "", "unfair", "full", 0.0, 0.0, 0)
BAD = Run("curves", "synthetic", ("nobody",), "pdp", "norm", "full", 0.5, 0.0, 0)


@pytest.fixture
def few(monkeypatch):
    runs = [FREE]
    monkeypatch.setattr(reproduce, "plan", lambda *_: runs)
    return runs


def test_a_second_time_there_is_nothing_to_do(few, tmp_path, capsys):
    command = ["reproduce", "dutch", "--jobs", "1", "-o", str(tmp_path / "a"), "--json"]
    assert main(command) == 0
    first = json.loads(capsys.readouterr().out)
    assert (first["runs"], first["made"], first["failed"]) == (1, 1, 0)
    assert main(command) == 0
    assert json.loads(capsys.readouterr().out)["made"] == 0
    # Another folder takes the CSV's results, and has nothing to do either.
    other = ["reproduce", "dutch", "--take", str(tmp_path / "a" / "runs.csv")]
    assert main([*other, "-o", str(tmp_path / "b")]) == 0
    assert "1 runs: 1 were there, 0 made" in capsys.readouterr().out


def test_a_failure_is_said_and_the_rest_is_made(few, tmp_path, capsys):
    few.append(BAD)
    assert main(["reproduce", "dutch", "--jobs", "1", "-o", str(tmp_path)]) == 1
    said = capsys.readouterr().out
    assert "1 made" in said
    assert "1 failed" in said
    assert "nobody" in said


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--splits", "0"], "--splits: must be at least 1; received 0"),
        (["--take", "no.csv"], "there is no file no.csv"),
        (["--take", "."], ". is a folder; name a file in it"),
    ],
)
def test_bad_options_are_said(tmp_path, options, message):
    said = otfair("reproduce", "dutch", "-o", tmp_path, *options)
    assert said.code == (2 if options[0] == "--splits" else 1)
    assert message in said.err
