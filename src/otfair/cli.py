"""The command line: `otfair demo`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from otfair import __version__
from otfair.demo import run


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    parser = argparse.ArgumentParser(
        prog="otfair", description="Optimal transport of classifiers to fairness."
    )
    parser.add_argument("--version", action="version", version=f"otfair {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    demo = commands.add_parser(
        "demo",
        help="train, compare and explain on made-up loan applications",
        description="Train a classifier on made-up loan applications without a penalty, with the "
        "norm of the violations and with the OTF cost, at several strengths; compare them, and "
        "write the curves (curve.png) and a report (demo.html).",
        epilog="example: otfair demo --output out",
    )
    demo.add_argument("--output", type=Path, default=Path("out"), help="folder of the files")
    chosen = parser.parse_args(arguments)
    try:
        print(run(chosen.output))
    except OSError as error:
        parser.error(f"cannot write to {chosen.output}: {error}. Choose another --output.")
    return 0
