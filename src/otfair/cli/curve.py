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
from dataclasses import asdict
from typing import Any

import pandas as pd

from otfair import __version__
from otfair.cli._models import chosen_violation, make_classifier
from otfair.cli._options import (
    Outcome,
    add_folder,
    add_people,
    add_reading,
    add_training,
    count,
    units,
)
from otfair.cli._output import output_folder, text_table, write_json
from otfair.cli._report import draw
from otfair.cli._task import read_notion, read_task
from otfair.losses import LOSSES, loss_class
from otfair.tradeoff import UNFAIRNESS, tradeoff_curve

FILES = ("curve.json", "curve.csv", "curve.png")
SHOWN = ("test_auc", "test_accuracy", "test_pdp", "test_peo", "test_otf_cost")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what `otfair curve` takes."""
    add_reading(parser)
    add_people(parser)
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
        notion, notions = read_notion(options.notion), options.notion or ["demographic_parity"]
        regularizers = list(dict.fromkeys(options.regularizer or ["otf"]))
        curves = {
            loss_class(name).title: tradeoff_curve(
                task.X,
                task.y,
                sensitive_features=task.sensitive,
                estimator=make_classifier(
                    options.model, notion, regularizer=name, random_state=options.seed
                ),
                alphas=options.alphas,
                test_size=options.test_size,
                random_state=options.seed,
                n_bootstrap=options.bootstrap,
                verbose=True,
            )
            for name in regularizers
        }
        whole = pd.concat(
            [c.assign(regularizer=n) for n, c in zip(regularizers, curves.values())],
            ignore_index=True,
        )
        whole = whole[["regularizer", *(c for c in whole if c != "regularizer")]]
        violation = options.violation or chosen_violation(notions)
        whole.to_csv(folder / "curve.csv", index=False)
        draw(curves, violation).savefig(folder / "curve.png", dpi=200)
        record: dict[str, Any] = {
            "otfair": __version__,
            "table": {"source": task.table.source, "sha256": task.table.sha256},
            "label": asdict(task.label),
            "sensitive": options.sensitive,
            "features": list(task.X.columns),
            "notes": task.notes,
            "notion": notions,
            "model": options.model,
            "test_size": options.test_size,
            "seed": options.seed,
            "bootstrap": options.bootstrap,
        }
        write_json(folder / "curve.json", record)
    files = {name: str(options.output / name) for name in FILES[1:]}
    shown = whole[["regularizer", "alpha", *SHOWN]].rename(
        columns=lambda c: c.removeprefix("test_")
    )
    said = [task.head(), "", text_table(shown), "", *files.values()]
    return Outcome("\n".join(said), {**record, "curve": whole, "files": files})
