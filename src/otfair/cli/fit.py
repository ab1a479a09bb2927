"""`otfair fit`: from a table to a fair model and a report on it.

Train a classifier on a table, with as much fairness as --alpha says or --max-violation
asks for, and write the model (model.safetensors, from which no code is ever run), what
it is (model.json), and a report (report.html) with the trade-off between fairness and
predictive power and an audit before and after.

  otfair fit synthetic --sensitive sex --max-violation 0.05 -o model
  otfair fit loans.csv --label paid --sensitive sex --drop id --alpha 0.5 -o model
  otfair fit adult --sensitive sex --notion equalized_odds --alpha 0.5 -o adult
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import otfair
from otfair._io.progress import track
from otfair.cli._columns import continuous_names
from otfair.cli._models import (
    describe_columns,
    judge,
    last_step,
    make_classifier,
    metrics_table,
    split,
    train,
)
from otfair.cli._options import (
    Outcome,
    UsageError,
    add_folder,
    add_people,
    add_reading,
    add_training,
    share,
    unit,
    units,
)
from otfair.cli._output import output_folder, text_table, write_json
from otfair.cli._report import against_limit, write_report
from otfair.cli._task import Task, described, read_notion, read_task
from otfair.saving import save_model
from otfair.tradeoff import tradeoff_curve

MODEL, RECORD, REPORT, CURVE = "model.safetensors", "model.json", "report.html", "curve.csv"
AUDITS = {"before": "audit_before.html", "after": "audit_after.html"}
WHEN = {"before": "without a fairness term", "after": "with the fair model"}
FILES = (RECORD, MODEL, REPORT, CURVE, *AUDITS.values())


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what `otfair fit` takes."""
    add_reading(parser)
    add_people(parser)
    add_training(parser)
    add, one_of = parser.add_argument, parser.add_mutually_exclusive_group(required=True)
    one_of.add_argument("--alpha", type=unit, metavar="A", help="weight of fairness: 0 none, 0.5 "
        "halves the violation on the training people, 1 nothing else")  # fmt: skip
    one_of.add_argument("--max-violation", type=unit, metavar="V", help="the weakest weight with "
        "which the violation on the training people is at most this")  # fmt: skip
    add("--validation-fraction", type=share, metavar="P", help="with --max-violation, judge by "
        "this share of the training people, who are then not trained on")  # fmt: skip
    add("--alphas", type=units, metavar="A,B",
        help="strengths of the curve in the report (default 0 to 0.9)")  # fmt: skip
    add("--no-curve", action="store_true", help="no curve, which takes most time")
    add("--no-audit", action="store_true", help="no audits before and after")
    add_folder(parser, "the model and its report")


def run(options: argparse.Namespace) -> Outcome:
    """Train, judge, write."""
    with output_folder(options.output, FILES, options.force) as folder:
        task = read_task(options)
        parts = split(task, options.test_size, options.seed)
        notion = read_notion(options.notion)
        strength = _strength(options)
        classifiers = {
            when: make_classifier(options.model, notion, random_state=options.seed, **settings)
            for when, settings in (("before", {"alpha": 0.0}), ("after", strength))
        }
        bar = track(classifiers.items(), "fitting", verbose=True)
        models = {when: train(classifier, parts[0]) for when, classifier in bar}
        scores = {
            (when, name): model.predict_proba(part.X)[:, 1]
            for when, model in models.items()
            for name, part in zip(("train", "test"), parts)
        }
        judged = {
            when: {n: judge(scores[when, n], p, notion) for n, p in zip(("train", "test"), parts)}
            for when in models
        }
        record = _record(options, task, parts, last_step(models["after"]), judged)
        save_model(folder / MODEL, models["after"])
        write_json(folder / RECORD, record)
        curve = None if options.no_curve else _curve(options, task, classifiers["after"])
        if curve is not None:
            curve.to_csv(folder / CURVE, index=False)
        audits = {}
        if not options.no_audit:
            for when, name in AUDITS.items():
                found = _audit(scores[when, "test"], parts[1], record, when)
                found.to_html(folder / name)
                audits[when] = name
        write_report(folder / REPORT, record, curve, audits)
    files = {"model": MODEL, "report": REPORT}
    paths = {what: str(options.output / name) for what, name in files.items()}
    return Outcome(
        "\n".join([task.head(), "", _says(record), "", *(f"{k}: {v}" for k, v in paths.items())]),
        {**record, "files": paths},
    )


def _strength(options: argparse.Namespace) -> dict[str, Any]:
    """Return the settings of a classifier that say how fair it is to be."""
    kept_out = options.validation_fraction
    if options.alpha is not None:
        if kept_out is not None:
            raise UsageError("--validation-fraction is for --max-violation; leave one of them out")
        return {"alpha": options.alpha}
    return {"max_violation": options.max_violation, "validation_fraction": kept_out or 0.0}


def _record(
    options: argparse.Namespace,
    task: Task,
    parts: tuple[Task, Task],
    classifier: Any,
    judged: dict[str, Any],
) -> dict[str, Any]:
    """Return what was done, for `model.json`."""
    return {
        "otfair": otfair.__version__,
        "table": {
            "source": task.table.source,
            "format": task.table.format,
            "sha256": task.table.sha256,
            "rows": len(task.table.frame),
        },
        "label": asdict(task.label),
        "sensitive": options.sensitive,
        "features": describe_columns(task.X),
        "notes": task.notes,
        "people": {"train": len(parts[0].y), "test": len(parts[1].y)},
        "model": options.model,
        "notion": options.notion or ["demographic_parity"],
        "alpha": classifier.alpha_,
        "violation": classifier.violation_,
        "max_violation": options.max_violation,
        "validation_fraction": options.validation_fraction,
        "test_size": options.test_size,
        "seed": options.seed,
        "metrics": judged,
    }


def _curve(options: argparse.Namespace, task: Task, classifier: Any) -> pd.DataFrame:
    return tradeoff_curve(
        task.X,
        task.y,
        sensitive_features=task.sensitive,
        estimator=classifier,
        alphas=options.alphas,
        test_size=options.test_size,
        random_state=options.seed,
        verbose=True,
    )


def _audit(scores: np.ndarray, part: Task, record: dict[str, Any], when: str) -> otfair.Audit:
    label, people = part.label, record["people"]
    found = otfair.audit(
        pd.Series(scores, name=f"predicted {label.name}"),
        pd.concat([part.X, part.sensitive], axis=1),  # it says that the latter are not compared
        sensitive_features=part.sensitive,
        labels=pd.Series(np.where(part.y == 1, label.positive, label.negative), name=label.name),
        positive_label=label.positive,
        keep=list(map(str, part.X.columns)),  # the model knows them all
        continuous=continuous_names(part.sensitive),
        notions=record["notion"],
        random_state=record["seed"],
        verbose=True,
    )
    alpha = 0.0 if when == "before" else record["alpha"]
    return described(
        found,
        part.table,
        f"{label.name} of {Path(part.table.source).name}, {WHEN[when]}",
        Model=f"{record['model']}, alpha {alpha:.4g}, trained on {people['train']:,} people",
        People=f"the {people['test']:,} kept out of training, by seed {record['seed']}",
    )


def _says(record: dict[str, Any]) -> str:
    people, limit = record["people"], against_limit(record)
    return (
        f"trained on {people['train']} people, judged on {people['test']} others; before: no "
        f"fairness, after: alpha {record['alpha']:.3g}\n\n"
        f"{text_table(metrics_table(record))}" + (f"\n\n{limit}" if limit else "")
    )
