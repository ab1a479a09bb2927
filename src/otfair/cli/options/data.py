"""`otfair data`: which datasets there are, where their files lie, and a table to try things on.

The datasets that other commands take in place of a file. `list` says what there is,
`where` where the files of one lie, `download` fetches what is missing, and `verify`
compares its files with their known sha256. `sample` writes a CSV of made-up loans, the
dataset synthetic, to try the other commands on; the same seed gives the same file.

  otfair data
  otfair data sample loans.csv --rows 2000
  otfair data download adult
  otfair data verify adult --data-home data
"""

from __future__ import annotations

import argparse
from pathlib import Path

from otfair.cli._options import count, whole

ROWS = 4000  # of a sample


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what `otfair data` takes."""
    add = parser.add_argument
    add(
        "action",
        nargs="?",
        choices=["list", "where", "download", "verify", "sample"],
        default="list",
    )
    add("name", nargs="?", metavar="NAME", help="one of the list; for sample, the file to write")
    add("--rows", type=whole, default=ROWS, metavar="N", help=f"of a sample (default {ROWS})")
    add("--seed", type=count, default=0, help="of a sample (default 0)")
    add("--data-home", type=Path, metavar="DIR",
        help="folder of the files (default: $OTFAIR_DATA_HOME, or the user's cache)")  # fmt: skip
