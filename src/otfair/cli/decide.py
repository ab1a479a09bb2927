"""`otfair decide`: fair decisions for the scores of any model."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, roc_auc_score

from otfair._io.rendering import inline_svg, templates
from otfair.cli._decisions import (
    decide,
    draw_path,
    judge_rule,
    make_rule,
    say_cost,
    say_rates,
    tune_rule,
)
from otfair.cli._models import split
from otfair.cli._options import (
    NOT_MET,
    Outcome,
    threshold_of,
)
from otfair.cli._output import output_folder, write_json
from otfair.cli._task import Task, read_task
from otfair.cli.fit import CURVE, MODEL, RECORD, REPORT, feature_kinds, notion_titles
from otfair.models import ScoreColumn
from otfair.saving import save_model

FILES = (RECORD, MODEL, REPORT, CURVE)


def run(options: argparse.Namespace) -> Outcome:
    """Tune, judge, write."""
    threshold = threshold_of(options)
    with output_folder(options.output, FILES, options.force) as folder:
        task = read_task(options)
        parts = split(task, options.test_size, options.seed)
        test = parts["test"]
        rule = make_rule(options, task, ScoreColumn(options.score), len(test.y))
        rule = tune_rule(rule, parts["train"])
        scores = test.X[options.score].to_numpy()
        decided = {"before": scores > threshold, "after": decide(rule, test)}
        record = task.record(options) | {
            "score": options.score,
            "features": feature_kinds(task),
            "weight": options.weight,
            "people": {name: len(part.y) for name, part in parts.items()},
            "metrics": {when: {"test": _judge(scores, d, test)} for when, d in decided.items()},
            "decisions": judge_rule(rule, decided, test),
        }
        record["table"] |= {"format": task.table.format, "rows": len(task.table.frame)}
        save_model(folder / MODEL, rule)
        write_json(folder / RECORD, record)
        curve = None if options.no_curve else rule.path()
        if curve is not None:
            curve.to_csv(folder / CURVE, index=False)
        picture = None if curve is None else inline_svg(draw_path(rule, curve))
        page = _page(record, picture)
        (folder / REPORT).write_text(page, encoding="utf-8")
    paths = {"rule": str(options.output), "report": str(options.output / REPORT)}
    people, found = record["people"], record["decisions"]
    who = (
        f"tuned by {people['train']} people, judged on {people['test']} others; before: one "
        f"threshold, {threshold:g}, for all"
    )
    files = "\n".join(f"{name}: {path}" for name, path in paths.items())
    said = [task.head(), who, say_rates(found), say_cost(record["metrics"]), files]
    return Outcome("\n\n".join(said), {**record, "files": paths}, 0 if found["met"] else NOT_MET)


def _judge(scores: np.ndarray, decided: np.ndarray, part: Task) -> dict[str, float]:
    by = {"sample_weight": part.weight}
    return {
        "auc": float(roc_auc_score(part.y, scores, **by)),
        "accuracy": float(accuracy_score(part.y, decided, **by)),
        "positive_rate": float(np.average(decided, weights=part.weight)),
    }


def _page(record: dict[str, Any], picture: Any) -> str:
    """Return the report on a rule, an HTML page that makes no request."""
    return (
        templates("otfair.cli")
        .get_template("decide.html")
        .render(
            record=record,
            curve=picture,
            notion=notion_titles(record),
            cost=say_cost(record["metrics"]),
            what_before="Before: one threshold for all.",
        )
    )
