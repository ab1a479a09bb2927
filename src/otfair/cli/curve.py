"""`otfair curve`: the trade-off between fairness and predictive power."""

from __future__ import annotations

import argparse

import pandas as pd

from otfair.cli._models import chosen_violation, curve_of, draw, make_classifier
from otfair.cli._options import Outcome
from otfair.cli._output import output_folder, text_table, write_json
from otfair.cli._task import model_record, read_task
from otfair.losses import OTFLoss, loss_class
from otfair.models import Receiving, say_sample

FILES = ("curve.json", "curve.csv", "curve.png")
GOOD, UNFAIR = ("auc", "accuracy"), ("pdp", "peo", "otf_cost")  # what is printed


def run(options: argparse.Namespace) -> Outcome:
    """Train, judge, draw."""
    with output_folder(options.output, FILES, options.force) as folder:
        task = read_task(options)
        settings = {"notion": task.notion, "random_state": options.seed, "weigh": options.weigh}
        curves: dict[str, pd.DataFrame] = {}
        received: dict[str, Receiving | None] = {}
        for name in dict.fromkeys(options.regularizer or ["otf"]):
            of = {"regularizer": name, "bounded": options.bounded and name == OTFLoss.name}
            of["receivers"] = None if of["bounded"] else options.receivers
            model = make_classifier(options.model, params=options.params, **of, **settings)
            curve = curve_of(options, task, model, n_bootstrap=options.bootstrap)
            received |= {name: curve.attrs.get("receivers")}
            curve.insert(0, "regularizer", name)
            curves[loss_class(name).title] = curve
        whole = pd.concat(curves.values(), ignore_index=True)
        violation = options.violation or chosen_violation(task.notions)
        whole.to_csv(folder / "curve.csv", index=False)
        draw(curves, violation).savefig(folder / "curve.png", dpi=200)
        record = task.record(options) | model_record(options) | {"bootstrap": options.bootstrap}
        record["received"] = received
        write_json(folder / "curve.json", record)
    files = {name: str(options.output / name) for name in FILES[1:]}
    names = list(dict.fromkeys([*GOOD, violation, *UNFAIR]))
    shown = whole[["regularizer", "alpha", *(f"test_{name}" for name in names)]]
    shown.columns = ["regularizer", "alpha", *names]
    said = [task.head(), "", text_table(shown), ""]
    said += [f"{told}\n" for each in received.values() for told in say_sample(each)]
    said += files.values()
    return Outcome("\n".join(said), {**record, "curve": whole, "files": files})
