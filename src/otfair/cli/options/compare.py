"""`otfair compare`: two or more models, their gaps, and who gains and who loses.

Compare models by their scores: several columns of one table, or one column of several
tables. Others are compared with the first. Where people are the same (one table; or the
same --id, or rows that agree in order, sensitive columns and label), resamples are the
same too, and it is told who gains and who loses. Prints what differs beyond chance.

  otfair compare scores.csv --score old,new --label y --sensitive sex -o models.html
  otfair compare old.csv new.csv --score p --label y --sensitive sex --id person
"""

from __future__ import annotations

import argparse

from otfair.cli._inputs import InputFile
from otfair.cli._options import (
    add_reading,
    check_label,
    check_report,
    count,
    report_file,
    unit,
    whole,
    zero_or_one,
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what `otfair compare` takes."""
    add_reading(parser, datasets=False)
    add = parser.add_argument
    add("others", type=InputFile, nargs="*", metavar="TABLE", help="tables of other models")
    add("--score", required=True, metavar="A,B", help="scores, from 0 to 1, or decisions: one "
        "column for each model; of several tables one name serves all, or each has its "
        "own")  # fmt: skip
    add("--label", metavar="COLUMN", help="the outcome; two values")
    add("--positive", metavar="VALUE", help="the positive label")
    add("--sensitive", metavar="COLUMN[:KIND]", action="append", required=True,
        help="several as A,B or one by one; KIND is continuous or categorical")  # fmt: skip
    add("--id", metavar="COLUMN", help="says who is who in several tables; people who are not in "
        "all of them are left out")  # fmt: skip
    add("--weight", metavar="COLUMN", help="how many people each row stands for")
    add("--threshold", type=unit, default=0.5, metavar="T",
        help="decisions are positive above this score (default 0.5)")  # fmt: skip
    add("--favourable", type=zero_or_one, metavar="0|1", help="whether a positive decision is good "
        "for people (1) or bad (0) (default: by the names of label or score)")  # fmt: skip
    add("--names", type=InputFile, metavar="FILE", help="words for codes, as for `otfair audit`")
    add("--min-group", type=whole, default=30, metavar="N",
        help="groups of fewer people are too small to say (default 30)")  # fmt: skip
    add("--skip-unscored", action="store_true", help="leave rows without a score out")
    add("--bootstrap", type=count, default=200, metavar="N",
        help="resamples of people for intervals (default 200)")  # fmt: skip
    add("--seed", type=count, default=0, help="of resamples (default 0)")
    add("-o", "--output", type=report_file, metavar="FILE", help="the page: .html, .pdf (by "
        "Chromium, where it is installed) or .json; without it, the summary alone")  # fmt: skip


def check(options: argparse.Namespace) -> None:
    """Raise where options do not go together."""
    check_report(options)
    check_label(options)
