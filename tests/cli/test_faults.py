"""The command line when it is killed, short of room or memory, or given hostile names."""

from __future__ import annotations

import json
import os
import pty
import re
import resource
import shlex
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pandas as pd
import pytest
from mounts import mounted
from tables_for_commands import loans, otfair, refused, write

from otfair.cli._main import main
from otfair.cli._options import Outcome

OTFAIR = [sys.executable, "-m", "otfair"]
AUDIT = ("--score", "p", "--sensitive", "sex", "--bootstrap", "0")
FIT = ("--label", "granted", "--sensitive", "sex", "--alpha", "0.1", "--no-curve", "--no-audit")


@pytest.fixture(scope="module")
def table(tmp_path_factory) -> Path:
    return write(loans(200), tmp_path_factory.mktemp("table") / "t.csv")


@pytest.fixture(scope="module")
def model(table, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("model") / "m"
    assert otfair("fit", table, *FIT, "-o", folder).code == 0
    return folder


def started(*arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*OTFAIR, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


# Signals


@pytest.mark.slow
def test_who_is_terminated_cleans_up_and_who_is_killed_is_cleaned_up_after(tmp_path, table):
    fit = ("fit", "synthetic", "--sensitive", "sex", "--alpha", "0.5", "-o", tmp_path / "m")
    for number in (signal.SIGTERM, signal.SIGKILL):
        process = started(*fit)
        while not any(tmp_path.iterdir()) and process.poll() is None:  # the folder in the making
            time.sleep(0.01)
        process.send_signal(number)
        process.send_signal(number)  # a second one does not disturb the cleaning up
        _, err = process.communicate()
        if number == signal.SIGTERM:
            assert (process.returncode, err) == (143, "otfair: terminated\n")
            assert list(tmp_path.iterdir()) == []
    (left,) = tmp_path.iterdir()
    assert left.name.endswith(".part")
    assert otfair("audit", table, *AUDIT, "-o", tmp_path / "a.html").code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["a.html"]


def test_signals_are_as_before_when_a_command_has_ended(monkeypatch):
    heard = []

    def listed(home):
        heard.append(signal.getsignal(signal.SIGTERM))
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60)

    monkeypatch.setattr("otfair.cli.data._list", listed)
    said = otfair("data")
    assert (said.code, said.out, said.err) == (143, "", "otfair: terminated\n")
    assert heard[0] not in (signal.SIG_DFL, signal.SIG_IGN)
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


# Standard output


@pytest.mark.parametrize("place", ["/dev/full", "/dev/null"])
def test_predictions_are_never_lost_without_a_word(model, table, monkeypatch, capsys, place):
    reading = os.open(place, os.O_RDONLY if place == "/dev/null" else os.O_WRONLY)
    with os.fdopen(reading, "w") as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        assert main(["predict", str(model), str(table)]) == 1
    err = capsys.readouterr().err
    assert re.search("(No space left on device|Bad file descriptor).*with -o", err)
    assert err.count("\n") == 1


@pytest.mark.slow
def test_a_closed_standard_output_is_an_error_at_once():
    for words in ("data", "predict no model", "--help"):
        ended = subprocess.run(
            f"{shlex.join(OTFAIR)} {words} >&-", shell=True, stderr=subprocess.PIPE, check=False
        )
        assert ended.returncode == 1
        assert ended.stderr.startswith(b"otfair: error: standard output is closed.")
        assert ended.stderr.count(b"\n") == 1


def test_a_closed_standard_error_is_no_reason_to_mix_warnings_into_data(monkeypatch, capsys):
    def listed(home):
        warnings.warn("mind the gap", stacklevel=2)
        return Outcome("", {"datasets": []})

    monkeypatch.setattr("otfair.cli.data._list", listed)
    monkeypatch.setattr(sys, "stderr", None)
    assert main(["data", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"datasets": []}


# Room, rights and memory


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "parquet"])
def test_a_file_that_grows_too_large_leaves_the_old_one(model, table, tmp_path, suffix):
    target = tmp_path / f"p.{suffix}"
    target.write_text("old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        said = otfair("predict", model, table, "-o", target)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    refused(said, f"can't write to {target} (File too large)", "Make room", "another -o")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_folder_whose_file_grows_too_large_stays_as_it_was(table, tmp_path):
    target = tmp_path / "m"
    assert otfair("fit", table, *FIT, "-o", target).code == 0
    before = {path.name: path.read_bytes() for path in target.iterdir()}
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        said = otfair("fit", table, *FIT, "-o", target)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    refused(said, f"can't write to {target} (File too large)", "Make room")
    assert {path.name: path.read_bytes() for path in target.iterdir()} == before


@pytest.mark.slow
def test_a_mount_point_that_is_full_and_one_that_is_not(table, tmp_path):
    fit = shlex.join([*OTFAIR, "fit", str(table), *FIT, "-o", str(tmp_path / "v")])
    ended = mounted(tmp_path / "v", "1m", fit, "&& ls -A", tmp_path / "v")
    assert ended.stderr == ""
    assert ended.stdout.splitlines()[-4:] == [
        ".otfair", "model.json", "model.safetensors", "report.html",
    ]  # fmt: skip
    full = f"head -c 1044480 /dev/zero > {tmp_path}/v/model.json"
    ended = mounted(tmp_path / "v", "1m", full, ";", fit, "--force; ls -A", tmp_path / "v")
    assert "No space left on device). Make room there" in ended.stderr
    assert ended.stderr.count("\n") == 1
    assert ended.stdout == "model.json\n"


@pytest.mark.slow
def test_a_place_that_can_not_be_written_is_said_before_the_work(tmp_path):
    target, table = tmp_path / "v", tmp_path / "no table"
    table.write_text("")  # which reading would refuse
    fit = shlex.join([*OTFAIR, "fit", str(table), *FIT, "-o", str(target)])
    ended = mounted(target, "1m", "mount -o remount,ro", target, ";", fit)
    assert f"can't write to {target} (Read-only file system)" in ended.stderr
    assert ended.stderr.count("\n") == 1
    assert ended.returncode == 1


def test_a_folder_that_vanishes_is_said(table, tmp_path, monkeypatch):
    def vanish(*_: object) -> None:
        for path in sorted(tmp_path.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        tmp_path.rmdir()

    monkeypatch.setattr("otfair.cli.fit.doubts", lambda *_: vanish() or [])
    refused(
        otfair("fit", table, *FIT, "-o", tmp_path / "deep" / "m"),
        f"can't write to {tmp_path / 'deep' / 'm'} (No such file or directory). Choose another -o",
    )
    assert not tmp_path.exists()


@pytest.mark.slow
def test_too_little_memory_is_said(table, tmp_path):
    script = (
        "import resource, sys\nfrom otfair.cli import audit, main\n"
        "size = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "import otfair.cli.data, pandas\n"
        "resource.setrlimit(resource.RLIMIT_AS, (size + 2**28,) * 2)\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    arguments = ["data", "sample", tmp_path / "large.csv", "--rows", str(10**8)]
    ended = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1, ended.stderr
    assert "there is not enough memory (" in ended.stderr
    assert ended.stderr.endswith("Use fewer rows or columns, or give the process more.\n")
    assert ended.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("size", [300, 700, 750])  # MB; with 700, the import ended the process
def test_a_limit_below_what_imports_take_is_said_before_them(table, size):
    script = (
        "import resource, sys\nfrom otfair.cli import main\n"
        f"resource.setrlimit(resource.RLIMIT_AS, ({size} << 20,) * 2)\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    audit = ["audit", str(table), "--score", "p", "--sensitive", "sex"]
    for arguments, code in (audit, 1), (["--version"], 0):
        ended = subprocess.run(
            [sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=False
        )
        assert ended.returncode == code, ended.stderr
        assert ended.stderr == code * (
            f"otfair: error: the process may take only {size} MB of memory, and PyTorch takes "
            "800 MB to start with. Allow more, such as by `ulimit -v`.\n"
        )


@pytest.mark.parametrize(
    "problem",
    [
        MemoryError(),
        ImportError("libtorch_cpu.so: failed to map segment from shared object"),
        RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_too_little_memory_for_the_imports_or_in_other_libraries_is_said(problem, monkeypatch):
    def fail(*_: object) -> None:
        raise problem

    monkeypatch.setattr("otfair.cli._main.import_module", fail)
    refused(otfair("data"), "there is not enough memory (", "Use fewer rows or columns")
    monkeypatch.undo()
    monkeypatch.setattr("otfair.cli.data._list", fail)
    refused(otfair("data"), "there is not enough memory (", "Use fewer rows or columns")


# Names

HOSTILE = "s\x1b[31m\u202e\x9bx"


def test_names_of_columns_and_categories_reach_no_terminal_raw(tmp_path):
    frame = loans(200).rename(columns={"sex": HOSTILE})
    frame[HOSTILE] = frame[HOSTILE].astype(object).replace("Male", f"M\n{HOSTILE}")
    table = write(frame, tmp_path / "t.csv")
    good = ("audit", table, "--score", "p", "--bootstrap", 0, "--sensitive")
    found = [
        otfair(*good, HOSTILE, "--drop", "p"),
        otfair(*good, HOSTILE, "--json"),
        otfair(*good, HOSTILE + "y"),
        otfair("fit", table, "--label", HOSTILE, "--sensitive", "origin", *FIT[4:],
               "-o", tmp_path / "m"),
        otfair("predict", tmp_path / HOSTILE, table),
        otfair("audit", table, "--score", "p", "--sensitive", HOSTILE, "--notion", HOSTILE),
    ]  # fmt: skip
    for said in found:
        assert (said.out + said.err).replace("\n", "").isprintable()
    assert [said.code for said in found] == [0, 0, 1, 0, 1, 2]
    assert json.loads(found[1].out)["findings"][0]["attribute"] == HOSTILE


def test_predictions_keep_their_text_for_programs_and_terminals_see_it_spelled_out(
    model, table, tmp_path
):
    frame = pd.read_csv(table).assign(note=f"a{HOSTILE}")
    write(frame, tmp_path / "t.csv")
    arguments = ["predict", str(model), str(tmp_path / "t.csv"), "--keep", "note"]
    assert otfair(*arguments).out.count(HOSTILE) == 200
    outer, inner = pty.openpty()
    with os.fdopen(inner, "w", encoding="utf-8") as terminal, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", terminal)
        frame.head(3).to_csv(tmp_path / "t.csv", index=False)
        assert main(arguments) == 0
    shown = os.read(outer, 10_000).decode()
    os.close(outer)
    assert shown.count(r"as\x1b[31m\u202e\x9bx") == 3
    assert shown.replace("\r\n", "").isprintable()


def test_file_names_that_are_no_text_work(table, tmp_path):
    odd = os.fsdecode(b"\xff\x1b[2J")
    given = tmp_path / f"{odd}.csv"
    given.write_bytes(table.read_bytes())
    fitted = otfair("fit", given, *FIT, "-o", tmp_path / odd)
    assert (fitted.code, fitted.err) == (0, "")
    assert r"/\xff\x1b[2J/model.safetensors" in fitted.out
    for suffix in ("csv", "parquet"):
        out = tmp_path / f"{odd}p.{suffix}"
        said = otfair("predict", tmp_path / odd, given, "--keep", "sex,p", "-o", out, "--json")
        assert said.data["file"] == str(out)
        assert out.is_file()
    for suffix in ("html", "json"):
        out = tmp_path / f"{odd}.{suffix}"
        assert otfair("audit", given, *AUDIT, "-o", out).code == 0
        assert "\\udcff" in out.read_text("utf-8")
    assert json.loads((tmp_path / odd / "model.json").read_text())["table"]["source"] == str(given)


def test_output_through_a_link_that_another_user_planted_is_refused(model, table, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("only root can make files of other users")
    (tmp_path / "mine").mkdir()
    for name in ("out.csv", "out"):
        (tmp_path / name).symlink_to(tmp_path / "mine")
        os.lchown(tmp_path / name, 12345, 12345)
    for command in (
        ("fit", table, *FIT, "-o", tmp_path / "out"),
        ("predict", model, table, "-o", tmp_path / "out" / "p.csv"),
    ):
        refused(otfair(*command), "made by another user", "Choose another -o")
    assert list((tmp_path / "mine").iterdir()) == []
