"""Small tables of made-up loans, and the command line called as a user calls it."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from otfair import load_dataset
from otfair.cli._main import main


@dataclass(frozen=True)
class Said:
    """What a command left behind: exit code, standard output, standard error."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> dict[str, Any]:
        """The one JSON object on standard output."""
        return json.loads(self.out)


def otfair(*arguments: object, err: StringIO | None = None) -> Said:
    out, err = StringIO(), StringIO() if err is None else err
    with redirect_stdout(out), redirect_stderr(err):
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as stop:
            code = int(stop.code or 0)
    return Said(code, out.getvalue(), err.getvalue())


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Raise in what takes longer, so that a hang fails a test."""

    def stop(*_: object) -> None:
        raise RuntimeError(f"it took more than {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def loans(n: int = 300) -> pd.DataFrame:
    """People with sex, origin and age, whether a loan was granted (yes, no), and a score."""
    data = load_dataset("synthetic", n=n)
    label = {"granted": np.where(data.y == 1, "yes", "no"), "p": data.truth.scores.round(4)}
    return pd.concat([data.X, data.sensitive_features], axis=1).assign(**label)


def write(frame: pd.DataFrame, path: Path, **options: Any) -> Path:
    frame.to_csv(path, index=False, **options)
    return path


def refused(said: Said, *parts: str) -> None:
    """A bad input: exit code 1, one message on standard error, nothing else."""
    assert said.code == 1, said
    assert said.out == ""
    assert said.err.startswith("otfair: error: ")
    assert "Traceback" not in said.err
    assert said.err.count("\n") == 1
    for part in parts:
        assert part in said.err
