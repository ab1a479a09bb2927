"""No input of 10 MB keeps a command busy for a minute without a word, or ends it unforeseen.

By default the inputs are a tenth of that; `--exhaustive` makes them as large.
"""

from __future__ import annotations

import time
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from tables_for_commands import limited, otfair

PATIENCE = 60.0  # seconds without a word
AT_MOST = 1200  # seconds in all: what takes longer hangs


def row(rng: np.random.Generator) -> str:
    return f"{rng.random():.3f},{rng.integers(2)},{rng.choice(['f', 'm'])},{rng.integers(10)}"


def rows(size: int) -> str:
    rng = np.random.default_rng(0)
    return "\n".join(row(rng) for _ in range(size // 12))


def different(size: int) -> str:
    rng = np.random.default_rng(0)
    return "\n".join(f"{row(rng)},{rng.random():.4f},{rng.random():.4f}" for _ in range(size // 25))


def wide(size: int, columns: int) -> str:
    rng = np.random.default_rng(0)
    names = ",".join(f"c{j}" for j in range(columns))
    count = max(40, (size - len(names)) // (2 * columns))
    values = (",".join(map(str, rng.integers(0, 10, columns))) for _ in range(count))
    return f"{HEADER},{names}\n" + "\n".join(f"{row(rng)},{more}" for more in values)


def categories(size: int, distinct: int) -> str:
    rng = np.random.default_rng(0)
    lines = (f"{row(rng)},v{i % distinct}" for i in range(size // 18))
    return f"{HEADER},job\n" + "\n".join(lines)


def twins(size: int, value: object) -> str:
    return f",{value}" * min(size // 4, 99_000)


def long_text(size: int) -> str:
    return "".join(f"{PERSON},{'z' * 99_000}{i}\n" for i in range(size // 99_000))


HEADER = "p,y,sex,x"
PERSON = "0.5,1,m,1"
INPUTS = {
    "many rows": lambda size: f"{HEADER}\n{rows(size)}\n",
    "nobody alike": lambda size: f"{HEADER},v,w\n{different(size)}\n",
    "many columns": lambda size: wide(size, size // 1000),
    "columns of one name": lambda size: f"{HEADER}{twins(size, 'a')}\n{PERSON}{twins(size, 1)}\n",
    "commas alone": lambda size: HEADER + "," * size,
    "many categories": lambda size: categories(size, size // 50),
    "long text": lambda size: f"{HEADER},t\n{long_text(size)}",
    "empty lines": lambda size: f"{HEADER}\n{rows(9000)}\n" + "\n" * size,
    "carriage returns": lambda size: f"{HEADER}\r" + rows(9000).replace("\n", "\r") + "\r" * size,
    "an open quote": lambda size: f'{HEADER}\n0.5,1,m,"1\n' + f"{PERSON}\n" * (size // 10),
    "quotes alone": lambda size: '"' * size,
    "a ragged end": lambda size: f"{HEADER}\n{rows(size)}\n1,2\n",
}  # fmt: skip


class Timed(StringIO):
    """Standard error that knows when it was last written to, and the longest silence."""

    def __init__(self) -> None:
        super().__init__()
        self.last, self.silence = time.monotonic(), 0.0

    def write(self, text: str) -> int:
        self.heard()
        return super().write(text)

    def heard(self) -> None:
        now = time.monotonic()
        self.last, self.silence = now, max(self.silence, now - self.last)


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("large")
    (folder / "t.csv").write_text(INPUTS["many rows"](6000), encoding="utf-8")
    said = otfair(
        "fit", folder / "t.csv", "--label", "y", "--sensitive", "sex", "--features", "x",
        "--alpha", 0.5,
        "--no-curve", "--no-audit", "-o", folder / "model",
    )  # fmt: skip
    assert said.code == 0, said.err
    return folder / "model"


def commands(table: Path, model: Path) -> dict[str, list[object]]:
    out, who = table.parent, [table, "--label", "y", "--sensitive", "sex"]
    return {
        "predict": ["predict", model, table, "-o", out / "scores.csv"],
        "audit": ["audit", *who, "--score", "p", "--bootstrap", 20, "-o", out / "a.html"],
        "decide": ["decide", *who, "--score", "p", "--max-difference", 0.1, "--no-curve", "-o",
        out / "d"],
        "fit": ["fit", *who, "--drop", "p", "--alpha", 0.5, "--no-curve", "--no-audit", "-o",
        out / "f"],
        "curve": ["curve", *who, "--drop", "p", "--alphas", "0,0.5", "--bootstrap", 5, "-o",
        out / "c"],
    }  # fmt: skip


OTHERS = [  # than `predict`, that are tried in every run, on tables a tenth as large
    ("audit", "many columns"), ("fit", "many columns"), ("audit", "many rows"),
]  # fmt: skip


def pytest_generate_tests(metafunc):
    if "command" in metafunc.fixturenames:
        some = [("predict", kind) for kind in INPUTS] + OTHERS
        if metafunc.config.getoption("--exhaustive"):
            some = [(name, kind) for kind in INPUTS for name in commands(Path(), Path())]
        metafunc.parametrize(("command", "kind"), some)


@pytest.mark.slow
def test_no_input_keeps_a_command_busy_without_a_word(command, kind, model, tmp_path, request):
    size = 10**7 if request.config.getoption("--exhaustive") else 10**6
    (tmp_path / "t.csv").write_text(INPUTS[kind](size), encoding="utf-8", newline="")
    heard = Timed()
    with limited(AT_MOST):
        said = otfair(*commands(tmp_path / "t.csv", model)[command], err=heard)
    heard.heard()
    assert heard.silence < PATIENCE
    assert said.code in (0, 1, 4)
    assert "not foreseen" not in said.err
    assert said.err.count("otfair: error: ") == (said.code == 1)
