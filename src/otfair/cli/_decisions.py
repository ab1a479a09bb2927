"""Fair decisions on the command line: limits from options, the rule, and how new people fare."""

from __future__ import annotations

import argparse
import math
import warnings
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from sklearn import config_context
from sklearn.pipeline import Pipeline, make_pipeline

from otfair.cli._columns import continuous_names
from otfair.cli._options import UsageError, threshold_of
from otfair.cli._output import text_table
from otfair.cli._task import Task
from otfair.decisions import FairDecisions
from otfair.metrics import LimitWarning, Rate, Spread, group_rates, spread_of
from otfair.models import OTFClassifier, UntrustedModelWarning
from otfair.notions import PredictiveParity
from otfair.tables import TableEncoder, TableError, shown

LIMITS = {"max_difference": "largest difference", "min_ratio": "smallest ratio"}
SLOPE = "change of the rate per standard deviation"  # of a number
CONFIDENCE, FOLDS = 0.9, 5


def make_rule(options: argparse.Namespace, task: Task, classifier: Any, many: int) -> FairDecisions:
    """Return a rule that is not tuned yet; what it promises is for so many new people."""
    if PredictiveParity.name in task.notions:
        raise UsageError(
            f"limits on decisions can't be of --notion {PredictiveParity.name}, whose rates are "
            "shares of the decisions themselves; take another notion, or train with this one: "
            "`otfair fit` with --alpha or --max-violation"
        )
    if options.use_sensitive and len(task.control.columns):
        raise UsageError("--use-sensitive and --control do not go together")
    if options.use_sensitive and options.retrain:
        raise UsageError("--use-sensitive and --retrain do not go together")
    if options.retrain and any(getattr(n, "within_labels", ()) for n in task.notion.parts):
        raise UsageError(
            "--retrain is for limits on rates of decisions, not within labels; leave it out, or "
            "pass --randomize, which is for narrow limits on equalized odds"
        )
    if isinstance(classifier, OTFClassifier):
        with config_context(enable_metadata_routing=True):
            classifier.set_fit_request(sensitive_features=True, sample_weight=True)
        classifier = make_pipeline(TableEncoder(), classifier)
    confidence = CONFIDENCE if options.confidence is None else options.confidence
    return FairDecisions(
        classifier,
        task.notion,
        **{name: limit_of(options, name, task) for name in LIMITS},
        threshold=threshold_of(options),
        confidence=confidence or None,
        new_people=many,
        cv=FOLDS,
        use_sensitive=options.use_sensitive,
        ties=options.ties,
        randomize=options.randomize,
        retrain=options.retrain,
        random_state=options.seed,
    )


def limit_of(options: argparse.Namespace, name: str, task: Task) -> Any:
    """Return the limit for all sensitive columns, or those for each; None without one."""
    found = named_limits(options, name, list(map(str, task.sensitive)))
    limited = found if isinstance(found, dict) else () if found is None else task.sensitive
    if name == "min_ratio" and (numbers := set(limited) & set(continuous_names(task.sensitive))):
        number = min(numbers)
        raise TableError(
            f"--min-ratio compares groups, and sensitive column {number!r} is a number. Limit it "
            f"by --max-difference {number}=0.05, and name the others: --min-ratio COLUMN=0.8."
        )
    return found


def named_limits(options: argparse.Namespace, name: str, names: list[str]) -> Any:
    """Return the limit for all columns of these names, or those for each; None without one."""
    option, given = f"--{name.replace('_', '-')}", dict(getattr(options, name))
    if unknown := [column for column in given if column and column not in names]:
        raise TableError(
            f"{option} names {unknown[0]!r}, which is not among --sensitive: "
            f"{', '.join(map(shown, names))}."
        )
    for_all = given.pop("", None)
    found = {column: given.get(column, for_all) for column in names}
    limited = {column: limit for column, limit in found.items() if limit is not None}
    if not limited:
        return None
    return for_all if len(limited) == len(names) and not given else limited


def tune_rule(rule: FairDecisions, task: Task) -> FairDecisions:
    """Train the classifier and tune the rule."""
    with warnings.catch_warnings():
        # `judge_rule` says it in the words of options; people kept out tell what can't be trusted.
        for kind in (LimitWarning, UntrustedModelWarning):
            warnings.simplefilter("ignore", kind)
        with config_context(enable_metadata_routing=isinstance(rule.estimator, Pipeline)):
            return rule.fit(
                task.X, task.y, sensitive_features=task.compared, sample_weight=task.weight
            )


def decide(rule: FairDecisions, part: Task) -> np.ndarray:
    """Return the decisions about people, (n,) bool."""
    return np.asarray(rule.predict(part.X, part.compared if rule.use_sensitive else None) == 1)


def judge_rule(rule: FairDecisions, decided: dict[str, np.ndarray], part: Task) -> dict[str, Any]:
    """Say how people kept out fare, by decisions before and after, and whether limits are met."""
    rates = {when: _rates(made, part) for when, made in decided.items()}
    tuned = {group.name: group for group in rule.groups_}
    sure = {name for name, group in tuned.items() if group.promised}
    groups = [
        {
            "name": after.name,
            "people": after.people,
            "before": before.rate,
            "after": after.rate,
            "low": after.low,
            "high": after.high,
            "promised": after.name in sure,
            "needed": tuned[after.name].needed if after.name in tuned else 0,
        }
        for before, after in zip(rates["before"], rates["after"])
    ]
    spreads, judged = [], _judged(rates["after"], sure)
    for before, after in zip(*(spread_of(rates[when]) for when in ("before", "after"))):
        limits, kept = _limits_of(rule, after.attribute), judged[after.name]
        spreads.append(
            {
                "name": after.name,
                "before": {"difference": before.difference, "ratio": before.ratio},
                "after": {"difference": after.difference, "ratio": after.ratio},
                "judged": {"difference": kept.difference, "ratio": kept.ratio},
                "limits": limits,
                "met": _is_met(kept, limits),
            }
        )
    met = all(
        _is_met(spread, _limits_of(rule, spread.attribute))
        for spread in _judged(_tuned(rule), sure).values()
    )
    found = {
        "limits": {name: getattr(rule, name) for name in LIMITS},
        "threshold": rule.threshold,
        "ties": rule.ties,
        "use_sensitive": rule.use_sensitive,
        "rules": len(getattr(rule, "shares_", [1.0])),
        "retrained": hasattr(rule, "retrained_") if rule.retrain else None,
        "confidence": rule.confidence,
        "promise": rule.confidence_,
        "limits_met": met,  # by those who tuned the rule, without a margin
        "groups": groups,
        "spreads": spreads,
        "met": met and all(spread["met"] for spread in spreads),
    }
    return found | {"lines": _lines(found, part)}


def _tuned(rule: FairDecisions) -> list[Rate]:
    """Return the rates of those who tuned a rule."""
    return [
        Rate(row.name, row.attribute, row.stratum, row.kind, group.people, group.rate)
        for row, group in zip(rule.rows_, rule.groups_)
    ]


def _rates(decided: np.ndarray, part: Task) -> list[Rate]:
    return group_rates(decided, part.compared, part.notion, part.y, part.weight)


def _judged(rates: list[Rate], sure: set[str]) -> dict[str, Spread]:
    """Return spreads by name, of groups large enough for a promise where there are two."""
    promised = [rate for rate in rates if rate.name in sure]
    return {spread.name: spread for spread in (*spread_of(rates), *spread_of(promised))}


def _limits_of(rule: FairDecisions, attribute: str) -> dict[str, float | None]:
    """Return the limits of an attribute."""
    given = {name: getattr(rule, name) for name in LIMITS}
    return {n: g.get(attribute) if isinstance(g, dict) else g for n, g in given.items()}


def _is_met(spread: Spread, limits: dict[str, float | None]) -> bool:
    difference, ratio = limits["max_difference"], limits["min_ratio"]
    close = difference is None or spread.difference <= difference + 1e-9
    return close and (ratio is None or not spread.ratio < ratio - 1e-9)


def _lines(found: dict[str, Any], part: Task) -> list[dict[str, Any]]:
    """Say for each attribute what was asked for and came out, and what is not sure."""
    lines: list[dict[str, Any]] = []

    def add(text: str, met: bool = True) -> None:
        lines.append({"text": text, "met": met})

    for spread in found["spreads"]:
        for name, limit in spread["limits"].items():
            if limit is None:
                continue
            what = name.partition("_")[2]
            before, after, judged = (spread[k][what] for k in ("before", "after", "judged"))
            bound = f"at {'least' if what == 'ratio' else 'most'} {limit:g}"
            met = limit_met(spread, name)
            number = math.isnan(spread["after"]["ratio"])
            measure = SLOPE if number else f"{LIMITS[name]} of rates"
            said = (
                f"{shown(spread['name'])}: {measure} {after:.3f}, before {before:.3f}; asked for: "
                f"{bound}, {'met' if met else 'NOT met'}"
            )
            if judged != after:
                said += f" ({judged:.3f} among groups that it is promised for)"
            add(f"{said}.", met)
    if found["retrained"] is not None:
        helped = "kept" if found["retrained"] else "not kept, as it was no help"
        add(f"The model that was trained a second time is {helped}.")
    promise, asked = found["promise"], found["confidence"]
    small = [group for group in found["groups"] if group["needed"]]
    if not found["limits_met"]:
        add(
            "NOT met: no rule that was found meets the limits among those who tuned it. Ask for a "
            "wider limit, add features that tell groups apart, let people with equal scores differ "
            "(--ties random), spread people over several rules (--randomize), or allow one "
            "threshold for each group (--use-sensitive).",
            met=False,
        )
    elif small:
        named = ", ".join(
            shown(group["name"])
            + (f" (about {_two_digits(n):,} people would do)" if (n := group["needed"]) > 0 else "")
            for group in small[:5]
        )
        more = f" and {len(small) - 5} more" if len(small) > 5 else ""
        add(f"Not promised for new people, as there are too few of {named}{more}.")
    elif asked is not None and promise < asked:
        add(
            f"New people meet the limits with {_percent(promise)} confidence, less than the "
            f"{_percent(asked)} asked for. Ask for a wider limit or less --confidence, or bring "
            "more people."
        )
    if found["limits_met"] and asked is not None and promise >= asked:
        add(
            f"{_percent(promise)} of samples of {len(part.y):,} new people are expected to meet "
            f"the limits{' of the other groups' if small else ''}."
        )
    return lines


def limit_met(spread: dict[str, Any], name: str) -> bool:
    """Whether one of the limits of an attribute is met."""
    judged = Spread(spread["name"], "", spread["judged"]["difference"], spread["judged"]["ratio"])
    return _is_met(judged, dict.fromkeys(LIMITS) | {name: spread["limits"][name]})


def _percent(share: float, digits: int = 0) -> str:
    return f"{100 * share:.{digits}f} %"


def _two_digits(number: int) -> int:
    return round(number, -max(len(str(number)) - 2, 0))


def say_cost(metrics: dict[str, dict[str, dict[str, float]]]) -> str:
    """Say what fair decisions cost people kept out."""
    before, after = (metrics[when]["test"] for when in ("before", "after"))
    ranks = "" if before["auc"] == after["auc"] else f" (before {before['auc']:.3f})"
    return (
        f"Right decisions: {_percent(after['accuracy'], 1)}, before "
        f"{_percent(before['accuracy'], 1)}. Positive decisions: "
        f"{_percent(after['positive_rate'], 1)}, before {_percent(before['positive_rate'], 1)}. "
        f"The AUC of the scores is {after['auc']:.3f}{ranks}; decisions do not change it."
    )


def say_rates(found: dict[str, Any]) -> str:
    """Lay out the rates of people kept out, before and after, for a terminal."""
    rows = pd.DataFrame(
        {
            "positive decisions": group["name"],
            "people": group["people"],
            "before": group["before"],
            "after": group["after"],
            "95 % interval": f"{group['low']:.3f} to {group['high']:.3f}",
        }
        for group in found["groups"]
    )
    return "\n".join([text_table(rows), "", *(line["text"] for line in found["lines"])])


def draw_path(rule: FairDecisions, path: pd.DataFrame) -> Figure:
    """Draw what each limit costs."""
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    rule.plot_path(path, figure.subplots())
    return figure
