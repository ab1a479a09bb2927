"""`otfair fit`: from a table to a fair model and a report on it.

Train a classifier on a table, with as much fairness as --alpha says or --max-violation
asks for, and write the model (model.safetensors, from which no code is ever run), what
it is (model.json), and a report (report.html) with the trade-off between fairness and
predictive power and an audit before and after. A --max-violation that is not met with
--confidence is written all the same, said, and ends with exit code 4.

  otfair fit synthetic --sensitive sex --max-violation 0.05 -o model
  otfair fit loans.csv --label paid --sensitive sex --drop id --alpha 0.5 -o model
  otfair fit adult --sensitive sex --notion equalized_odds --alpha 0.5 -o adult
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from otfair._io.progress import track
from otfair._io.rendering import inline_svg, templates
from otfair.auditing import Audit, audit
from otfair.cli._columns import continuous_names
from otfair.cli._models import (
    METRICS,
    chosen_violation,
    curve_of,
    doubts,
    draw,
    judge,
    make_classifier,
    split,
    train,
)
from otfair.cli._options import (
    NOT_MET,
    Outcome,
    UsageError,
    add_folder,
    add_training,
    share,
    unit,
    units,
)
from otfair.cli._output import output_folder, text_table, write_json
from otfair.cli._task import Task, described, read_notion, read_task
from otfair.metrics import CRITERIA, MeanDifferenceOf, ViolationOf
from otfair.notions import NOTIONS
from otfair.saving import save_model
from otfair.tables import is_number
from otfair.tradeoff import UNFAIRNESS

MODEL, RECORD, REPORT, CURVE = "model.safetensors", "model.json", "report.html", "curve.csv"
AUDITS = {"before": "audit_before.html", "after": "audit_after.html"}
WHEN = {"before": "without a fairness term", "after": "with the fair model"}
TESTED = {ViolationOf.name: "violation", MeanDifferenceOf.name: "score_difference"}  # by criterion
FILES = (RECORD, MODEL, REPORT, CURVE, *AUDITS.values())


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what `otfair fit` takes."""
    add_training(parser)
    add, one_of = parser.add_argument, parser.add_mutually_exclusive_group(required=True)
    one_of.add_argument("--alpha", type=unit, metavar="A", help="weight of fairness: 0 none, 0.5 "
        "halves the violation on the training people, 1 nothing else")  # fmt: skip
    one_of.add_argument("--max-violation", type=unit, metavar="V", help="the weakest weight with "
        "which the violation stays below this among new people, as people judge who were kept out "
        "of training, each in one of five folds")  # fmt: skip
    add("--criterion", choices=list(CRITERIA), default=ViolationOf.name, help="what a violation "
        "is: the largest correlation of score and group (default), or the largest difference "
        "between two groups' mean scores, which sees small groups")  # fmt: skip
    add("--confidence", type=unit, metavar="P", help="with which --max-violation is to hold among "
        "new people, a third as many as judge (default 0.9); 0 is without a margin")  # fmt: skip
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
        notion = read_notion(task.notions, task.sensitive)
        classifiers = {
            when: make_classifier(
                options.model, notion, options.params, random_state=options.seed, **settings
            )
            for when, settings in (("before", {"alpha": 0.0}), ("after", _strength(options)))
        }
        bar = track(classifiers.items(), "fitting", verbose=True)
        models = {when: train(classifier, parts["train"]) for when, classifier in bar}
        scores = {
            when: {name: model.predict_proba(part.X)[:, 1] for name, part in parts.items()}
            for when, model in models.items()
        }
        judged = {
            when: {name: judge(by[name], part, notion) for name, part in parts.items()}
            for when, by in scores.items()
        }
        model = models["after"]
        record = _record(options, task, parts, model[-1] if hasattr(model, "steps") else model)
        record["metrics"] = judged
        after, before = (scores[when]["test"] for when in ("after", "before"))
        record["doubts"] = doubts(after, before, parts["test"], record["alpha"])
        for doubt in record["doubts"]:
            warnings.warn(doubt, stacklevel=2)
        save_model(folder / MODEL, model)
        write_json(folder / RECORD, record)
        curve = None if options.no_curve else curve_of(options, task, classifiers["after"])
        if curve is not None:
            curve.to_csv(folder / CURVE, index=False)
        audits = {} if options.no_audit else AUDITS
        for when, name in audits.items():
            _audit(scores[when]["test"], parts["test"], record, when).to_html(folder / name)
        page = _page(record, curve, audits)
        (folder / REPORT).write_text(page, encoding="utf-8")
    paths = {"model": str(options.output / MODEL), "report": str(options.output / REPORT)}
    said = [task.head(), "", _says(record), "", *(f"{k}: {v}" for k, v in paths.items())]
    code = 0 if record["judgement"]["met"] else NOT_MET
    return Outcome("\n".join(said), {**record, "files": paths}, code)


def _strength(options: argparse.Namespace) -> dict[str, Any]:
    """Return the settings of a classifier that say how fair it is to be."""
    settings = {"criterion": options.criterion}
    judging = ("confidence", "validation_fraction")
    given = {name: v for name in judging if (v := getattr(options, name)) is not None}
    if options.alpha is None:
        return settings | given | {"max_violation": options.max_violation}
    if given:
        name = next(iter(given)).replace("_", "-")
        raise UsageError(f"--{name} is for --max-violation; leave one of them out")
    return settings | {"alpha": options.alpha}


def _record(
    options: argparse.Namespace, task: Task, parts: dict[str, Task], classifier: Any
) -> dict[str, Any]:
    """Return what was done, for `model.json`."""
    record, found = task.record(options), classifier.judgement_
    record["table"] |= {"format": task.table.format, "rows": len(task.table.frame)}
    return record | {
        # What each one is, so that another table can be read the same way.
        "features": {str(c): "number" if is_number(task.X[c]) else "text" for c in task.X},
        "people": {name: len(part.y) for name, part in parts.items()},
        "alpha": classifier.alpha_,
        "violation": classifier.violation_,
        "max_violation": options.max_violation,
        "validation_fraction": options.validation_fraction,
        "judgement": asdict(found) | {"met": found.met, "needed": found.needed, "text": str(found)},
    }


def _audit(scores: np.ndarray, part: Task, record: dict[str, Any], when: str) -> Audit:
    label, people = part.label, record["people"]
    found = audit(
        pd.Series(scores, name=f"predicted {label.name}"),
        pd.concat([part.X, part.sensitive], axis=1),  # it says that the latter are not compared
        sensitive_features=part.sensitive,
        labels=pd.Series(np.where(part.y == 1, label.positive, label.negative), name=label.name),
        positive_label=label.positive,
        keep=list(map(str, part.X.columns)),  # the model knows them all
        continuous=continuous_names(part.sensitive),
        notions=part.notions,
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


def _page(record: dict[str, Any], curve: pd.DataFrame | None, audits: dict[str, str]) -> str:
    """Return the report on a model, an HTML page that makes no request."""
    violation, picture = chosen_violation(record["notion"]), None
    if curve is not None:
        named = {"one model for each α": curve}
        picture = inline_svg(draw(named, violation, record["metrics"]["after"]["test"]))
    titles = {notion.name: notion.title for notion in NOTIONS}
    page = templates("otfair.cli").get_template("fit.html")
    return page.render(
        record=record,
        metrics=METRICS,
        asked=TESTED[record["judgement"]["criterion"]],
        curve=picture,
        audits=audits,
        notion=" and ".join(titles[name] for name in record["notion"]),
        violation_name=UNFAIRNESS[violation],
        limit=against_limit(record),
    )


def _says(record: dict[str, Any]) -> str:
    people, limit = record["people"], against_limit(record)
    columns = {"": list(METRICS.values())}
    for when, judged in record["metrics"].items():
        columns |= {f"{when}, {part}": [of[m] for m in METRICS] for part, of in judged.items()}
    return (
        f"trained on {people['train']} people, judged on {people['test']} others; before: no "
        f"fairness, after: alpha {record['alpha']:.3g}\n\n"
        f"{text_table(pd.DataFrame(columns))}" + (f"\n\n{limit}" if limit else "")
    )


def against_limit(record: dict[str, Any]) -> str:
    """Say whether what was asked for is met, by whom that was judged, and what others say."""
    found = record["judgement"]
    if found["limit"] is None:
        return ""
    test = record["metrics"]["after"]["test"][TESTED[found["criterion"]]]
    said = (
        f"Asked for: a violation of at most {found['limit']:g}; {'' if found['met'] else 'NOT '}"
        f"met. {found['text'][0].upper()}{found['text'][1:]}."
    )
    if not found["met"]:
        said += f" No strength did better; it hangs on {found['decided_by']}."
        if found["needed"] is not None:
            said += f" About {found['needed']:,} people would do."
    people = record["people"]["test"]
    said += f" On the {people:,} people kept out of all this it is {test:.3f}"
    if found["met"] and test > found["limit"]:
        said += ", which is above: fewer people than those who judged it vary more"
    return f"{said}."
