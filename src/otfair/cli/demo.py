"""`otfair demo`: train, compare and explain on made-up loan applications."""

from __future__ import annotations

import argparse
from pathlib import Path

from otfair.cli._demonstration import run as demonstrate
from otfair.cli._options import Commands, Outcome, add_command
from otfair.tables import TableError


def add(commands: Commands) -> None:
    """Say what `otfair demo` takes."""
    parser = add_command(
        commands,
        "demo",
        "Train a classifier on made-up loan applications without a penalty, with the norm of the\n"
        "violations and with the OTF cost, at several strengths; compare them, and write the\n"
        "curves (curve.png), what they say (demo.html) and an audit of the scores without a\n"
        "penalty, the report that `otfair audit` writes (audit.html).",
        ["otfair demo --output out"],
    )
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("out"), metavar="DIR",
        help="folder of the files (default out)",
    )  # fmt: skip
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> Outcome:
    """Run the demonstration."""
    try:
        text = demonstrate(options.output, verbose=True)
    except OSError as error:
        raise TableError(
            f"cannot write to {options.output}: {error}. Choose another --output."
        ) from None
    files = {name: str(options.output / name) for name in ("curve.png", "demo.html", "audit.html")}
    return Outcome(text, {"text": text, "files": files})
