"""`otfair audit`: how unfair the scores of a table are, to whom, and who would give to whom.

Audit the scores of any model: violations with intervals, the cost of fairness, who
would give score to whom and how alike they are. Writes one HTML page that opens without
a network (or JSON, if the name ends so), and prints a summary.

  otfair audit scores.csv --score p --label y --sensitive sex -o report.html
  otfair audit scores.csv --score p --sensitive age:continuous --fail-above 0.05
  otfair audit scores.csv --score p --sensitive sex --control area --weight w
  otfair audit out.csv --score decision --label y --sensitive sex --max-difference 0.05
  otfair audit scores.csv --score p --label y --sensitive sex --fail-above equalized_odds:0.1
  otfair audit new.csv --score p --sensitive sex --baseline old.json --fail-on-change
  otfair audit scores/ --score p --sensitive sex --dask tcp://scheduler:8786 -o report.html
  otfair audit scores.csv --score p --sensitive sex,race --table ll144 -o ll144.html
"""

from __future__ import annotations

import argparse
from pathlib import Path

from otfair.cli._changes import add_baseline, check_baseline
from otfair.cli._gates import add_gates
from otfair.cli._inputs import InputFile
from otfair.cli._options import (
    UsageError,
    add_notion,
    add_people,
    add_reading,
    add_within,
    check_label,
    check_report,
    count,
    report_file,
    unit,
    whole,
    zero_or_one,
)
from otfair.cli.options._law import add_law, check_law


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what `otfair audit` takes."""
    add_reading(parser, datasets=False)
    column = add_people(parser)
    column("--score", required=True, metavar="COLUMN",
           help="scores, from 0 to 1; or decisions, 0 or 1, or written as the "
           "label is")  # fmt: skip
    add_within(column)
    add_notion(parser, control=True)
    add = parser.add_argument
    add("--threshold", type=unit, default=0.5, metavar="T",
        help="decisions are positive above this score (default 0.5)")  # fmt: skip
    add("--skip-unscored", action="store_true",
        help="leave rows without a score out, and count them")  # fmt: skip
    add("--favourable", type=zero_or_one, metavar="0|1", help="whether a positive decision is good "
        "for people (1), such as a loan, or bad (0), such as being held for a risk (default: by "
        "the names of label or score, where they tell)")  # fmt: skip
    add("--reference", action="append", default=[], metavar="[COLUMN=]GROUP", help="group that "
        "others are compared with, such as Male or sex=Male (default: the most favoured one that "
        "is large enough)")  # fmt: skip
    add("--cross", action="append", default=[], metavar="A,B",
        help="audit these sensitive columns crossed, too")  # fmt: skip
    add("--names", type=InputFile, metavar="FILE", help="words for codes: JSON such as "
        '{"sex": {"1": "men"}}, or a table of column, code, name')  # fmt: skip
    add("--min-group", type=whole, default=30, metavar="N",
        help="groups of fewer people are too small to say (default 30)")  # fmt: skip
    add("--bootstrap", type=count, default=200, metavar="N",
        help="resamples of people for intervals (default 200)")  # fmt: skip
    add("--receivers", type=whole, metavar="N", help="how many people may receive score; of fewer "
        "than all, what sampling adds is estimated (default: all of up to 50 000, and of more "
        "where boxes of near people allow it; else 2048 of a million)")  # fmt: skip
    add("--bounded", action=argparse.BooleanOptionalAction, default=None,
        help="whether plans leave nobody with a score above one (default: up to 3000 "
        "people)")  # fmt: skip
    add("--seed", type=count, default=0, help="of what is sampled (default 0)")
    add("--title", metavar="TEXT", help="of the report (default: the score and the table)")
    add("--dask", metavar="ADDRESS", help="audit on the workers of this Dask scheduler, or with "
        "`local` on worker processes of this machine; TABLE is a folder of Parquet "
        "files")  # fmt: skip
    add_law(parser)
    add("-o", "--output", type=report_file, metavar="FILE", help="the page: .html, .pdf (by "
        "Chromium, where it is installed) or .json; without it, the summary alone")  # fmt: skip
    add("--card", type=Path, metavar="FILE", help="a model card in Markdown, too")
    add_gates(parser)
    add_baseline(parser)


def check(options: argparse.Namespace) -> None:
    """Raise where options do not go together."""
    if options.dask is not None:
        if options.law is not None:
            raise UsageError("--table is for one machine; leave it out with --dask")
        if options.table == "-":
            raise UsageError("--dask reads a folder of Parquet files, or one of them")
    if options.law is not None:
        check_law(options)
        return
    check_report(options)
    written = [path.resolve() for path in (options.card, options.output) if path is not None]
    if len(set(written)) < len(written):
        raise UsageError(f"--card and -o both name {options.card}; choose two files")
    check_label(options)
    check_baseline(options)
