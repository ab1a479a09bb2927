"""`otfair curve`: the trade-off between fairness and predictive power.

Train at many weights of fairness and judge each on people kept out of training. Writes
every metric with its 95 % interval (curve.csv), the picture (curve.png) and what was
done (curve.json).

  otfair curve synthetic --sensitive sex -o curve
  otfair curve loans.csv --label granted --sensitive sex --alphas 0,0.3,0.6 -o curve
  otfair curve bank --sensitive age_binned --regularizer otf --regularizer norm -o bank
"""

from __future__ import annotations

import argparse

from otfair.cli._names import REGULARIZERS, UNFAIRNESS
from otfair.cli._options import add_folder, add_training, check_label, count, units


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what `otfair curve` takes."""
    add_training(parser)
    add = parser.add_argument
    add("--regularizer", choices=REGULARIZERS, action="append",
        help="repeat to compare (default otf); barycenter is for demographic parity of one "
        "categorical column")  # fmt: skip
    add("--alphas", type=units, metavar="A,B", help="weights of fairness (default 0 to 0.9)")
    add("--violation", choices=UNFAIRNESS,
        help="what is drawn, and printed too; by default that of the notion")  # fmt: skip
    add("--bootstrap", type=count, default=100, metavar="N", help="resamples (default 100)")
    add_folder(parser, "the table and the picture")


def check(options: argparse.Namespace) -> None:
    """Raise where options do not go together."""
    check_label(options, required=True)
