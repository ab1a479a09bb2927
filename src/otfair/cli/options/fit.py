"""`otfair fit`: from a table to a fair model and a report on it.

Train a classifier on a table, with as much fairness as --alpha says or --max-violation
asks for, and write the model (model.safetensors, from which no code is ever run), what
it is (model.json), and a report (report.html) with the trade-off between fairness and
predictive power and an audit before and after. With --max-difference or --min-ratio the
model also decides, so that the rates of groups stay within the limit for new people.
What is asked for and not met is written all the same, said, and ends with exit code 4.

  otfair fit synthetic --sensitive sex --max-violation 0.05 -o model
  otfair fit loans.csv --label paid --sensitive sex --max-difference 0.05 -o model
  otfair fit loans.csv --label paid --sensitive sex --drop id --alpha 0.5 -o model
  otfair fit adult --sensitive sex --notion equalized_odds --alpha 0.5 -o adult
"""

from __future__ import annotations

import argparse
from typing import Any

from otfair.cli._names import CRITERIA
from otfair.cli._options import (
    UsageError,
    add_folder,
    add_limits,
    add_training,
    check_label,
    limit,
    share,
    threshold_of,
    unit,
    units,
    wants_decisions,
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what `otfair fit` takes."""
    add_training(parser, within=True)
    add, one_of = parser.add_argument, parser.add_mutually_exclusive_group()
    one_of.add_argument("--alpha", type=unit, metavar="A", help="weight of fairness: 0 none, 0.5 "
        "halves the violation on the training people, 1 nothing else")  # fmt: skip
    one_of.add_argument("--max-violation", type=limit, action="append", default=[],
        metavar="[COLUMN=]V", help="the weakest weight with which the violation stays below this "
        "among new people, as people judge who were kept out of training, each in one of five "
        "folds; for all sensitive columns, or as sex=0.05 for one; may be repeated")  # fmt: skip
    add("--criterion", choices=CRITERIA, default=CRITERIA[0], help="what a violation "
        "is: the largest correlation of score and group (default), or the largest difference "
        "between two groups' mean scores, which sees small groups")  # fmt: skip
    add("--confidence", type=unit, metavar="P", help="with which --max-violation is to hold among "
        "new people, a third as many as judge, and limits on decisions among as many as are kept "
        "out to judge (default 0.9); 0 is without a margin")  # fmt: skip
    add("--validation-fraction", type=share, metavar="P", help="with --max-violation, judge by "
        "this share of the training people, who are then not trained on")  # fmt: skip
    add("--alphas", type=units, metavar="A,B",
        help="strengths of the curve in the report (default 0 to 0.9)")  # fmt: skip
    add("--no-curve", action="store_true", help="no curve, which takes most time")
    add("--no-audit", action="store_true", help="no audits before and after")
    add("--dask", metavar="ADDRESS", help="train on the workers of this Dask scheduler, or with "
        "`local` on worker processes of this machine; TABLE is a folder of Parquet files. Takes "
        "--alpha or --max-violation, and writes the model without a report")  # fmt: skip
    add_limits(parser)
    add("--retrain", action="store_true", help="with limits on decisions, train a second time for "
        "the decisions that limits leave worth making: more of them are right where the model is "
        "simple for its table; twice the time")  # fmt: skip
    add_folder(parser, "the model and its report")


def check(options: argparse.Namespace) -> None:
    """Raise where options do not go together."""
    check_label(options, required=True)
    if options.dask is not None:
        _check_dask(options)
    strength_of(options)
    threshold_of(options)


def _check_dask(options: argparse.Namespace) -> None:
    """Raise where an option is for one machine."""
    given = {
        "--max-difference or --min-ratio": wants_decisions(options),
        "--weight": options.weight is not None,
        "--control": bool(options.control),
        "--bounded": options.bounded,
        f"--model {options.model}": options.model != "logistic",
    }
    if wrong := [name for name, one in given.items() if one]:
        raise UsageError(f"{wrong[0]} is for one machine; leave it out with --dask")
    if options.table.is_dataset or options.table == "-":
        raise UsageError("--dask reads a folder of Parquet files, or one of them")


def strength_of(options: argparse.Namespace) -> dict[str, Any]:
    """Return the settings of a classifier that say how fair it is to be."""
    decides = wants_decisions(options)
    if options.alpha is None and not options.max_violation and not decides:
        raise UsageError(
            "say how fair the model is to be: --alpha, --max-violation, or, for its decisions, "
            "--max-difference or --min-ratio"
        )
    settings = {"criterion": options.criterion}
    judging = ("confidence", "validation_fraction")
    given = {name: v for name in judging if (v := getattr(options, name)) is not None}
    if options.max_violation:
        return settings | given
    if decides:
        given.pop("confidence", None)
    if given:
        name = next(iter(given)).replace("_", "-")
        raise UsageError(f"--{name} is for --max-violation; leave one of them out")
    return settings | {"alpha": options.alpha or 0.0}
