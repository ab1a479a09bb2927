"""`otfair predict`: scores and decisions of a saved model for the people of a table.

Score people with a model of `otfair fit`, or apply a rule of `otfair decide`. The table
needs the columns of the features only; others are ignored, and the sensitive ones too,
unless the rule was made with --use-sensitive. One row per person comes out, in the order
of the table: the score, and the decision if the model decides or --threshold is given.
Reading a model runs no code from it.

  otfair predict model new.csv > scores.csv
  otfair predict rule new.csv --keep id -o decisions.csv
  otfair predict model new.parquet --keep id --threshold 0.3 -o scores.parquet
"""

from __future__ import annotations

import argparse
from pathlib import Path

from otfair.cli._inputs import InputModel
from otfair.cli._options import add_reading, unit


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what `otfair predict` takes."""
    add = parser.add_argument
    add("model", metavar="MODEL", type=InputModel, help="folder or file of the model")
    add_reading(parser)
    add("--threshold", type=unit, metavar="T",
        help="add a column of decisions, positive above this score; fair decisions have a rule of "
        "their own")  # fmt: skip
    add("--keep", action="append", default=[], metavar="A,B", help="columns to copy to the output")
    add("--keep-formulas", action="store_true", help="write text that a spreadsheet would run as "
        "a formula, such as =1+1, as it is (default: CSV has an apostrophe before it)")  # fmt: skip
    add("-o", "--output", type=Path, metavar="FILE", help="CSV, or Parquet if the name ends so; "
        ".gz compresses (default: standard output)")  # fmt: skip
