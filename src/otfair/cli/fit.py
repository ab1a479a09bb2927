"""`otfair fit`: from a table to a fair model and a report on it."""

from __future__ import annotations

import argparse
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from otfair._io.progress import track
from otfair._io.rendering import inline_svg, templates
from otfair.auditing import Audit, audit
from otfair.cli._columns import continuous_names
from otfair.cli._dask import fit_on_workers
from otfair.cli._decisions import (
    decide,
    draw_path,
    judge_rule,
    limit_of,
    make_rule,
    say_cost,
    say_rates,
    tune_rule,
)
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
    threshold_of,
    wants_decisions,
)
from otfair.cli._output import output_folder, text_table, write_json
from otfair.cli._task import Task, described, model_record, read_task
from otfair.cli.options.fit import strength_of
from otfair.decisions import FairDecisions
from otfair.metrics import MeanDifferenceOf
from otfair.models import say_sample
from otfair.notions import NOTIONS
from otfair.saving import save_model
from otfair.tables import is_number
from otfair.tradeoff import UNFAIRNESS

MODEL, RECORD, REPORT, CURVE = "model.safetensors", "model.json", "report.html", "curve.csv"
AUDITS = {"before": "audit_before.html", "after": "audit_after.html"}
WHEN = {"before": "without a fairness term", "after": "with the fair model"}
FILES = (RECORD, MODEL, REPORT, CURVE, *AUDITS.values())


def run(options: argparse.Namespace) -> Outcome:
    """Train, judge, write."""
    if options.dask is not None:
        return fit_on_workers(options, MODEL, RECORD)
    decides = wants_decisions(options)
    strength = strength_of(options)
    with output_folder(options.output, FILES, options.force) as folder:
        task = read_task(options)
        options.max_violation = limit_of(options, "max_violation", task)
        if options.max_violation is not None:
            strength["max_violation"] = options.max_violation
        parts = split(task, options.test_size, options.seed)
        notion = task.notion
        classifiers = {
            when: make_classifier(
                options.model,
                notion,
                options.params,
                random_state=options.seed,
                weigh=options.weigh,
                bounded=options.bounded,
                receivers=options.receivers,
                **settings,
            )
            for when, settings in (("before", {"alpha": 0.0}), ("after", strength))
        }
        rule = None
        if decides:
            rule = make_rule(options, task, classifiers["after"], len(parts["test"].y))
            classifiers["after"] = rule
        bar = track(classifiers.items(), "fitting", verbose=True)
        models = {when: _train(classifier, parts["train"]) for when, classifier in bar}
        scores = {
            when: {name: model.predict_proba(part.X)[:, 1] for name, part in parts.items()}
            for when, model in models.items()
        }
        threshold = threshold_of(options)
        decided = {
            when: {name: made > threshold for name, made in by.items()}
            for when, by in scores.items()
        }
        if rule is not None:
            decided["after"] = {name: decide(rule, part) for name, part in parts.items()}
        judged = {
            when: {n: judge(by[n], part, notion, decided[when][n]) for n, part in parts.items()}
            for when, by in scores.items()
        }
        model = models["after"]
        record = _record(options, task, parts, _last(model))
        record["metrics"] = judged
        test = {when: by["test"] for when, by in decided.items()}
        record["decisions"] = None if rule is None else judge_rule(rule, test, parts["test"])
        after, before = (scores[when]["test"] for when in ("after", "before"))
        record["doubts"] = doubts(after, before, parts["test"], record["alpha"])
        for doubt in record["doubts"]:
            warnings.warn(doubt, stacklevel=2)
        save_model(folder / MODEL, model)
        write_json(folder / RECORD, record)
        curve = None if options.no_curve else _curve(options, task, classifiers["after"], rule)
        if curve is not None:
            curve.to_csv(folder / CURVE, index=False)
        audits = {} if options.no_audit else AUDITS
        for when, name in audits.items():
            made = scores[when]["test"] if rule is None else test[when].astype(np.float64)
            _audit(made, parts["test"], record, when).to_html(folder / name)
        page = _page(record, _picture(record, curve, rule), audits)
        (folder / REPORT).write_text(page, encoding="utf-8")
    paths = {"model": str(options.output / MODEL), "report": str(options.output / REPORT)}
    said = [task.head(), "", _says(record), "", *(f"{k}: {v}" for k, v in paths.items())]
    met = record["judgement"]["met"] and (rule is None or record["decisions"]["met"])
    return Outcome("\n".join(said), {**record, "files": paths}, 0 if met else NOT_MET)


def _train(classifier: Any, part: Task) -> Any:
    return (tune_rule if isinstance(classifier, FairDecisions) else train)(classifier, part)


def _last(model: Any) -> Any:
    """Return the classifier itself, without an encoder before it or a rule around it."""
    model = model.estimator_ if isinstance(model, FairDecisions) else model
    return model[-1] if hasattr(model, "steps") else model


def _curve(
    options: argparse.Namespace, task: Task, classifier: Any, rule: FairDecisions | None
) -> pd.DataFrame | None:
    """Return what fairness costs: for each limit on decisions, or for each strength."""
    if rule is not None:
        return rule.path()
    if task.weight is not None or len(task.control.columns):
        warnings.warn("no curve is drawn with --weight or --control", stacklevel=2)
        return None
    return curve_of(options, task, classifier)


def _record(
    options: argparse.Namespace, task: Task, parts: dict[str, Task], classifier: Any
) -> dict[str, Any]:
    """Return what was done, for `model.json`."""
    record, found = task.record(options), classifier.judgement_
    record["table"] |= {"format": task.table.format, "rows": len(task.table.frame)}
    return (
        record
        | model_record(options)
        | {
            "features": feature_kinds(task),
            "people": {name: len(part.y) for name, part in parts.items()},
            "alpha": classifier.alpha_,
            "balance": classifier.balance_,
            "received": classifier.receivers_,
            "violation": classifier.violation_,
            "weight": options.weight,
            "max_violation": options.max_violation,
            "validation_fraction": options.validation_fraction,
            "judgement": asdict(found)
            | {"met": found.met, "needed": found.needed, "text": str(found)},
        }
    )


def feature_kinds(task: Task) -> dict[str, str]:
    """Return what each feature is, so that another table can be read the same way."""
    return {str(c): "number" if is_number(task.X[c]) else "text" for c in task.X}


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
        sample_weight=part.weight,
        control_features=part.control if len(part.control.columns) else None,
        random_state=record["seed"],
        verbose=True,
    )
    alpha = 0.0 if when == "before" else record["alpha"]
    return described(
        found,
        part.table,
        f"{label.name} of {Path(part.table.source).name}, {WHEN[when]}"
        + ", by its decisions" * (record["decisions"] is not None),
        Model=f"{record['model']}, alpha {alpha:.4g}, trained on {people['train']:,} people",
        People=f"the {people['test']:,} kept out of training, by seed {record['seed']}",
    )


def _picture(
    record: dict[str, Any], curve: pd.DataFrame | None, rule: FairDecisions | None
) -> Markup | None:
    """Draw the curve, as an SVG within a page."""
    if curve is None:
        return None
    if rule is not None:
        return inline_svg(draw_path(rule, curve))
    violation, test = chosen_violation(record["notion"]), record["metrics"]["after"]["test"]
    return inline_svg(draw({"one model for each α": curve}, violation, test))


def _page(record: dict[str, Any], picture: Markup | None, audits: dict[str, str]) -> str:
    """Return the report on a model, an HTML page that makes no request."""
    page = templates("otfair.cli").get_template("fit.html")
    return page.render(
        record=record,
        metrics=METRICS,
        asked=tested_by(record["judgement"]["criterion"]) if record["decisions"] is None else None,
        curve=picture,
        audits=audits,
        notion=notion_titles(record),
        violation_name=UNFAIRNESS[chosen_violation(record["notion"])],
        limit=against_limit(record),
        sampled=" ".join(say_sample(record["received"])),
        asked_for="" if record["max_violation"] is None else say_limit(record),
        cost=say_cost(record["metrics"]),
        what_before="Before: the same kind of model without fairness, and one threshold for all.",
    )


def tested_by(criterion: str) -> str:
    """Return the metric that a criterion is, by what the record calls it."""
    return "score_difference" if criterion.startswith(MeanDifferenceOf.name) else "violation"


def notion_titles(record: dict[str, Any]) -> str:
    """Return what readers of a report call the notions of a record."""
    titles = {notion.name: notion.title for notion in NOTIONS}
    return " and ".join(titles[name] for name in record["notion"])


def _says(record: dict[str, Any]) -> str:
    people, limit = record["people"], against_limit(record)
    columns = {"": list(METRICS.values())}
    for when, judged in record["metrics"].items():
        columns |= {f"{when}, {part}": [of[m] for m in METRICS] for part, of in judged.items()}
    decisions = record["decisions"]
    fair = "" if decisions is None else ", and fair decisions"
    who = (
        f"trained on {people['train']} people, judged on {people['test']} others; before: no "
        f"fairness, after: alpha {record['alpha']:.3g}{fair}"
    )
    said = [who, text_table(pd.DataFrame(columns))]
    said += say_sample(record["received"])
    if decisions is not None:
        said += [f"of the {people['test']} others:\n{say_rates(decisions)}"]
        said += [say_cost(record["metrics"])]
    return "\n\n".join(said + ([limit] if limit else []))


def say_limit(record: dict[str, Any]) -> str:
    """Say which violation was asked for: one for all, or one for each attribute."""
    found = record["judgement"]
    each = [f"{limit:g} by {name}" for name, limit in found["limits"].items()]
    return " and ".join(each) or f"{found['limit']:g}"


def against_limit(record: dict[str, Any]) -> str:
    """Say whether what was asked for is met, by whom that was judged, and what others say."""
    found = record["judgement"]
    if found["limit"] is None:
        return ""
    test = record["metrics"]["after"]["test"][tested_by(found["criterion"])]
    said = (
        f"Asked for: a violation of at most {say_limit(record)}; {'' if found['met'] else 'NOT '}"
        f"met. {found['text'][0].upper()}{found['text'][1:]}."
    )
    if not found["met"]:
        said += f" No strength did better; it hangs on {found['decided_by']}."
        if found["needed"] is not None:
            said += f" About {found['needed']:,} people would do."
    people = record["people"]["test"]
    said += f" On the {people:,} people kept out of all this it is {test:.3f}"
    if not found["limits"] and found["met"] and test > found["limit"]:
        said += ", which is above: fewer people than those who judged it vary more"
    return f"{said}."
