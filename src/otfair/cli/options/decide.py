"""`otfair decide`: fair decisions for the scores of any model.

Make a rule from a table of scores, outcomes and sensitive columns, whatever model made
the scores: decisions whose rates in two groups differ by at most --max-difference, or
are in a ratio of at least --min-ratio, for new people too. Other columns are features,
by which the rule tells, as far as it can, who is in which group; without any it has the
score alone. The folder gets the rule (model.safetensors), what it is (model.json) and a
report (report.html); `otfair predict` applies the rule to another table of scores. A
limit that is not met is said, and ends with exit code 4.

  otfair decide scores.csv --score p --label y --sensitive sex --max-difference 0.05 -o rule
  otfair decide scores.csv --score p --label y --sensitive race --min-ratio 0.8 -o rule
  otfair predict rule new.csv --keep id -o decisions.csv
"""

from __future__ import annotations

import argparse

from otfair.cli._options import (
    UsageError,
    add_folder,
    add_limits,
    add_notion,
    add_people,
    add_reading,
    add_split,
    add_within,
    check_label,
    threshold_of,
    unit,
    wants_decisions,
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what `otfair decide` takes."""
    add_reading(parser, datasets=False)
    column = add_people(parser)
    column("--score", required=True, metavar="COLUMN", help="scores, from 0 to 1")
    add_within(column)
    add_limits(parser)
    parser.set_defaults(retrain=False)  # there is nothing to train
    add_notion(parser, control=True)
    add = parser.add_argument
    add("--confidence", type=unit, metavar="P", help="with which limits are to hold among as many "
        "new people as are kept out to judge (default 0.9); 0 is without a margin")  # fmt: skip
    add("--skip-unscored", action="store_true",
        help="leave rows without a score out, and count them")  # fmt: skip
    add("--no-curve", action="store_true", help="no curve of what limits cost")
    add_split(add)
    add_folder(parser, "the rule and its report")


def check(options: argparse.Namespace) -> None:
    """Raise where options do not go together."""
    if not wants_decisions(options):
        raise UsageError("a limit is missing: --max-difference 0.05 or --min-ratio 0.8, or both")
    check_label(options, required=True)
    threshold_of(options)
