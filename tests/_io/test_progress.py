"""Progress: bars for those who watch, sparse lines for logs, nothing for those who do not ask."""

from __future__ import annotations

import io
import time

import pytest

from otfair._io import progress
from otfair._io.progress import EVERY, Lines, track


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch):
    """Let time pass by hand: what is returned is called with seconds."""
    now = [1000.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(Lines, "since", 0.0)

    def wait(seconds: float) -> None:
        now[0] += seconds

    return wait


def go_through(steps: int, seconds: float, wait, desc: str = "training") -> list[int]:
    seen = []
    for step in track(range(steps), desc, verbose=True):
        wait(seconds)
        seen.append(step)
    return seen


def test_long_work_has_a_line_now_and_then_and_one_at_the_end(clock, capsys):
    assert go_through(20, 7, clock) == list(range(20))
    assert capsys.readouterr().err.splitlines() == [
        "otfair: training: 5 of 20 in 00:35, about 01:45 left",
        "otfair: training: 10 of 20 in 01:10, about 01:10 left",
        "otfair: training: 15 of 20 in 01:45, about 00:35 left",
        "otfair: training: 20 of 20 in 02:20",
    ]


def test_the_end_has_one_line_wherever_the_last_step_falls(clock, capsys):
    go_through(7, 7, clock)
    assert capsys.readouterr().err.splitlines() == [
        "otfair: training: 5 of 7 in 00:35, about 00:14 left",
        "otfair: training: 7 of 7 in 00:49",
    ]


def test_short_work_has_no_line(clock, capsys):
    go_through(4, EVERY / 4.01, clock)
    assert capsys.readouterr().err == ""


def test_parts_of_long_work_share_the_wait(clock, capsys):
    go_through(4, 5, clock, "training")
    go_through(4, 5, clock, "judging")
    assert capsys.readouterr().err.splitlines() == [
        "otfair: judging: 2 of 4 in 00:10, about 00:10 left",
        "otfair: judging: 4 of 4 in 00:20",
    ]
    with progress.session(silent=False):  # other work
        go_through(4, 5, clock)
    assert capsys.readouterr().err == ""


def test_a_silent_session_shows_nothing_and_ends(clock, capsys):
    with progress.session(silent=True):
        go_through(9, EVERY, clock)
    assert capsys.readouterr().err == ""
    go_through(9, EVERY, clock)
    assert capsys.readouterr().err != ""


def test_what_ends_early_says_nothing_of_time_left(clock, capsys):
    for step in track(range(9), "max_violation", verbose=True):
        clock(EVERY - 1)
        if step == 3:
            break
    assert capsys.readouterr().err.splitlines() == [
        "otfair: max_violation: 2 of 9 in 00:58, about 03:23 left",
        "otfair: max_violation: 3 of 9 in 01:56",
    ]


def test_progress_that_is_told_with_units_and_more_to_say(clock, capsys):
    with track(None, "a.csv", 50_000_000, verbose=True, unit="B", unit_scale=True) as bar:
        clock(EVERY)
        bar.set_postfix_str("from afar")
        bar.update(20_000_000)
    with track(desc="alpha 0.5", verbose=True) as bar:
        clock(EVERY)
        bar.set_postfix(loss="0.31", violation="0.02")
        bar.update()
    assert capsys.readouterr().err.splitlines() == [
        "otfair: a.csv: 20.0M of 50.0M in 00:30, about 00:45 left, from afar",
        "otfair: alpha 0.5: 1 in 00:30, loss=0.31, violation=0.02",
    ]


def test_who_does_not_ask_is_told_nothing(clock, monkeypatch):
    for stream in (io.StringIO(), Terminal()):
        monkeypatch.setattr("sys.stderr", stream)
        steps = track(range(3), "training", verbose=False)
        assert [clock(EVERY) or step for step in steps] == [0, 1, 2]
        assert stream.getvalue() == ""


def test_terminals_and_notebooks_have_bars(monkeypatch):
    notebook = type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})
    for stream in (Terminal(), notebook()):
        monkeypatch.setattr("sys.stderr", stream)
        assert list(track(range(3), "training", verbose=True)) == [0, 1, 2]
        assert "training: 100%|" in stream.getvalue()


# Signs of life


def test_work_that_ends_no_step_is_told_of_by_the_clock(clock, capsys):
    Lines.since = 1000.0
    progress.show_life(1000.0)
    clock(EVERY)
    progress.show_life(1000.0)  # nothing is counted yet
    with track(range(2), "fitting", verbose=True):
        for _ in range(3):
            clock(EVERY)
            progress.show_life(1000.0)
            progress.show_life(1000.0)
    assert capsys.readouterr().err.splitlines() == [
        "otfair: at work for 00:30",
        "otfair: fitting: 0 of 2 in 00:30",
        "otfair: fitting: 0 of 2 in 01:00",
        "otfair: fitting: 0 of 2 in 01:30",
    ]


def test_bars_tell_the_time(clock, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with track(None, "fitting", 2, verbose=True):
        before = terminal.getvalue()
        progress.show_life(0.0)
        assert terminal.getvalue() != before
    after = terminal.getvalue()
    Lines.since = progress.time.monotonic()
    progress.show_life(0.0)
    assert terminal.getvalue() == after


def test_a_session_shows_life_by_itself_and_stops(monkeypatch, capsys):
    monkeypatch.setattr(progress, "PULSE", 0.01)
    monkeypatch.setattr(progress, "EVERY", 0.0)
    for silent in (True, False):
        with progress.session(silent=silent):
            for _ in range(1000):
                time.sleep(0.01)
                if silent or (said := capsys.readouterr().err):
                    break
    assert said.startswith("otfair: at work for 00:00\n")
    capsys.readouterr()
    time.sleep(0.1)
    assert capsys.readouterr().err == ""
