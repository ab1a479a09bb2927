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

import pandas as pd

from otfair.cli._models import chosen_violation, curve_of, draw, make_classifier
from otfair.cli._options import Outcome, add_folder, add_training, count, units
from otfair.cli._output import output_folder, text_table, write_json
from otfair.cli._task import model_record, read_task
from otfair.losses import LOSSES, OTFLoss, loss_class
from otfair.tradeoff import UNFAIRNESS

FILES = ("curve.json", "curve.csv", "curve.png")
SHOWN = ("auc", "accuracy", "pdp", "peo", "otf_cost")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what `otfair curve` takes."""
    add_training(parser)
    add = parser.add_argument
    add("--regularizer", choices=[loss.name for loss in LOSSES], action="append",
        help="repeat to compare (default otf); barycenter is for demographic parity of one "
        "categorical column")  # fmt: skip
    add("--alphas", type=units, metavar="A,B", help="weights of fairness (default 0 to 0.9)")
    add(
        "--violation", choices=list(UNFAIRNESS), help="what is drawn; by default that of the notion"
    )
    add("--bootstrap", type=count, default=100, metavar="N", help="resamples (default 100)")
    add_folder(parser, "the table and the picture")


def run(options: argparse.Namespace) -> Outcome:
    """Train, judge, draw."""
    with output_folder(options.output, FILES, options.force) as folder:
        task = read_task(options)
        settings = {"notion": task.notion, "random_state": options.seed, "weigh": options.weigh}
        curves = {}
        for name in dict.fromkeys(options.regularizer or ["otf"]):
            of = {"regularizer": name, "bounded": options.bounded and name == OTFLoss.name}
            model = make_classifier(options.model, params=options.params, **of, **settings)
            curve = curve_of(options, task, model, n_bootstrap=options.bootstrap)
            curve.insert(0, "regularizer", name)
            curves[loss_class(name).title] = curve
        whole = pd.concat(curves.values(), ignore_index=True)
        violation = options.violation or chosen_violation(task.notions)
        whole.to_csv(folder / "curve.csv", index=False)
        draw(curves, violation).savefig(folder / "curve.png", dpi=200)
        record = task.record(options) | model_record(options) | {"bootstrap": options.bootstrap}
        write_json(folder / "curve.json", record)
    files = {name: str(options.output / name) for name in FILES[1:]}
    shown = whole[["regularizer", "alpha", *(f"test_{name}" for name in SHOWN)]]
    shown.columns = ["regularizer", "alpha", *SHOWN]
    said = [task.head(), "", text_table(shown), "", *files.values()]
    return Outcome("\n".join(said), {**record, "curve": whole, "files": files})
