"""The command line, as a new user meets it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import warnings
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from itertools import pairwise
from pathlib import Path

import pytest
from tables_for_commands import loans, otfair, refused, write

from otfair import __version__
from otfair.cli._main import SUMMARIES, _parser, main
from otfair.cli._options import Outcome


@pytest.fixture(scope="module")
def demo(tmp_path_factory) -> tuple[Path, str, str]:
    """The folder that a demonstration wrote to, what it said, and its progress."""
    folder = tmp_path_factory.mktemp("demo") / "new" / "folder"
    said, progress = StringIO(), StringIO()
    with redirect_stdout(said), redirect_stderr(progress):
        assert main(["demo", "--quiet", "--output", str(folder)]) == 0
    return folder, said.getvalue(), progress.getvalue()


def rows_of(said: str) -> dict[str, list[list[float]]]:
    """The numbers of the table by method: alpha, AUC, PDP, PEO, gap, cost."""
    rows: dict[str, list[list[float]]] = {}
    for method, *numbers in re.findall(r"^(\w+)" + r" +([\d.e+-]+)" * 6 + "$", said, re.MULTILINE):
        rows.setdefault(method, []).append([float(x) for x in numbers])
    return rows


def test_demo_compares_three_methods(demo):
    rows = rows_of(demo[1])
    assert {method: len(r) for method, r in rows.items()} == {
        "unconstrained": 1,
        "Norm": 10,
        "OTF": 10,
    }
    free = rows["unconstrained"][0]
    for method in ("Norm", "OTF"):
        path = [free, *rows[method]]
        assert [r[0] for r in path] == sorted(r[0] for r in path)
        violation = [r[2] for r in path]
        # Fairer with every strength, until chance among the people who judge decides.
        assert all(b < a for a, b in pairwise(violation) if a > 0.2 * free[2])
        assert violation[-1] < 0.3 * free[2]
        assert all(r[1] > 0.85 * free[1] for r in path)  # and still good
        assert path[-1][4] < 0.5 * free[4]
        assert path[-1][5] < 0.2 * free[5]


def test_demo_compares_at_the_same_violation(demo):
    found = re.search(
        r"\(PDP (\S+)\), the AUC is (\S+) with OTF and (\S+) with Norm, a difference of (\S+) "
        r"\((\S+) to (\S+) in",
        demo[1],
    )
    assert found is not None
    level, otf, norm, difference, low, high = map(float, found.groups())
    free = rows_of(demo[1])["unconstrained"][0]
    assert level == pytest.approx(free[2] / 2, abs=1e-3)
    assert max(otf, norm) < free[1]
    assert difference == pytest.approx(otf - norm, abs=2e-4)
    assert low < difference < high


def test_demo_writes_whole_files_and_says_where(demo):
    folder, said, progress = demo
    files = ["audit.html", "curve.png", "demo.html"]
    assert sorted(p.name for p in folder.iterdir()) == files
    for name in files:
        assert str(folder.resolve() / name) in said
    report = (folder / "audit.html").read_text("utf-8")
    assert "<title>Fairness audit: made-up loans, scores without a penalty</title>" in report
    assert (folder / "curve.png").read_bytes().startswith(b"\x89PNG")
    page = (folder / "demo.html").read_text()
    assert page.rstrip().endswith("</html>")
    assert page.count("<svg") == 2
    assert page.count("<td>Norm</td>") == page.count("<td>OTF</td>") == 10
    assert page.count('"chosen') == 1
    # Nothing is fetched from elsewhere.
    assert "http://" not in re.sub(r'xmlns(:\w+)?="[^"]*"|<!DOCTYPE[^>]*>', "", page).replace(
        "http://purl.org", ""
    ).replace("http://creativecommons.org", "")
    for text in (said, page):
        assert re.search(r"on average to\s+somebody \d+ % as different as two people", text)
    assert progress == ""  # as asked, however long it takes


def test_a_folder_that_cannot_be_is_said_at_once(tmp_path):
    (tmp_path / "file").write_text("")
    refused(otfair("demo", "--output", tmp_path / "file"), "cannot write to")


def test_version_and_usage():
    assert otfair("--version").out == f"otfair {__version__}\n"
    for wrong in ([], ["dance"], ["demo", "--outpt", "x"], ["predict", "model"]):
        said = otfair(*wrong)
        assert said.code == 2
        assert said.out == ""
        assert "usage: otfair" in said.err


@pytest.mark.parametrize("command", list(SUMMARIES))
def test_every_command_has_help_with_an_example(command):
    said = otfair(command, "--help")
    assert said.code == 0
    assert f"\n  otfair {command}" in said.out
    for option in ("--json", "--debug", "exit codes:"):
        assert option in said.out
    assert re.search(rf"^    {command}\s+{SUMMARIES[command][:20]}", otfair("--help").out, re.M)


@pytest.mark.parametrize("command", ["fit", "predict", "curve", "audit", "data"])
def test_the_examples_of_the_help_parse(command):
    examples = re.findall(rf"^  otfair ({command}[^>\n]*)", otfair(command, "--help").out, re.M)
    assert len(examples) >= 2
    for example in examples:
        given = example.split()
        assert _parser(given).parse_args(given).command == command


def test_commands_do_without_docstrings(monkeypatch):
    # Which `python -OO` removes; then the help has options alone.
    monkeypatch.setattr("otfair.cli.options.data.__doc__", None)
    assert "--data-home" in otfair("data", "--help").out


def test_debug_shows_the_traceback_and_the_same_error(tmp_path):
    plain = otfair("predict", tmp_path, tmp_path / "t.csv")
    refused(plain)
    debugged = otfair("predict", tmp_path, tmp_path / "t.csv", "--debug")
    assert debugged.code == 1
    assert "Traceback" in debugged.err
    assert debugged.err.endswith(plain.err)


def test_what_was_not_foreseen_is_no_traceback_either(monkeypatch):
    monkeypatch.setattr("otfair.cli.data._list", lambda home: {}["x"])
    refused(otfair("data"), "KeyError: 'x'", "--debug")


def test_warnings_are_lines_on_standard_error(monkeypatch):
    def listed(home):
        warnings.warn("mind the gap", stacklevel=2)
        warnings.warn("for programmers", DeprecationWarning, stacklevel=2)
        return Outcome("", {"datasets": []})

    monkeypatch.setattr("otfair.cli.data._list", listed)
    said = otfair("data", "--json")
    assert said.err == "otfair: warning: mind the gap\n"
    assert said.data["datasets"] == []


def started(*arguments: object, **options) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "otfair", *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options,
    )  # fmt: skip


@pytest.mark.slow
def test_exit_codes_of_the_program(tmp_path):
    table = write(loans(400), tmp_path / "t.csv")
    audit = ("audit", table, "--score", "p", "--label", "granted", "--sensitive", "sex")
    running = {
        0: started(*audit, "--json"),
        1: started(*audit, "--label", "nope"),
        2: started("audit", table),
        3: started(*audit, "--fail-above", 0.001, "--json"),
    }
    for code, process in running.items():
        out, err = process.communicate()
        assert process.returncode == code, err
        assert "Traceback" not in err
        if code in (0, 3):
            assert json.loads(out)["failed"] == (code == 3)
            assert err == ""
        else:
            assert out == ""


@pytest.mark.slow
def test_an_interrupt_ends_cleanly(tmp_path):
    process = started(
        "fit", "synthetic", "--sensitive", "sex", "--alpha", 0.5, "-o", tmp_path / "m"
    )
    while not any(tmp_path.iterdir()) and process.poll() is None:  # the folder in the making
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    # Python itself ends by the signal if it came within an exec, though caught: a shell's 130 too.
    assert process.returncode in (130, -signal.SIGINT)
    assert err == "otfair: interrupted\n"
    assert out == ""
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def interrupted_import(tmp_path, monkeypatch) -> dict[str, str]:
    """An environment where whoever imports PyTorch is interrupted at it."""
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "torch.py").write_text(
        "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(60)\n"
    )
    places = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": places}


@pytest.mark.slow
def test_an_interrupt_of_the_imports_ends_cleanly(interrupted_import, tmp_path):
    fit = ("fit", "synthetic", "--sensitive", "sex", "--alpha", 0.5, "-o", tmp_path / "m")
    process = started(*fit, env=interrupted_import)
    out, err = process.communicate()
    assert (process.returncode, out, err) == (130, "", "otfair: interrupted\n")


@pytest.mark.slow
@pytest.mark.parametrize("options", [["--version"], ["--help"], ["fit", "--help"]])
def test_what_needs_no_pytorch_does_not_wait_for_it(interrupted_import, options):
    process = started(*options, env=interrupted_import)
    out, err = process.communicate()
    assert (process.returncode, err) == (0, "")
    assert out == otfair(*options).out


@pytest.mark.slow
def test_output_that_is_read_by_programs(tmp_path):
    write(loans(3000).assign(name="José"), tmp_path / "t.csv")
    fit = ("fit", tmp_path / "t.csv", "--label", "granted", "--sensitive", "sex", "--alpha", 0)
    assert otfair(*fit, "--no-curve", "--no-audit", "-o", tmp_path / "m").code == 0
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "otfair", "predict", tmp_path / "m", tmp_path / "t.csv"]
    # UTF-8, whatever the machine's own encoding is.
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
    out = subprocess.run(
        [*command, "--keep", "name"], env=ascii_only, stdout=subprocess.PIPE, check=True
    )
    assert out.stdout.decode("utf-8").splitlines()[1].startswith("José,")
    # A reader who had enough is no error.
    ended = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert ended.returncode == 141
    assert ended.stderr == ""
