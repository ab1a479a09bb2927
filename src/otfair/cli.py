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
        description="Train a classifier on made-up loan applications with and without the OTF "
        "cost, compare them, and write a report.",
        epilog="example: otfair demo --output out",
    )
    demo.add_argument("--output", type=Path, default=Path("out"), help="folder of the report")
    chosen = parser.parse_args(arguments)
    print(run(chosen.output))
    return 0
