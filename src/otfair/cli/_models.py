"""The models that the command line trains, how it judges and how it draws them."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from otfair.cli._columns import continuous_names
from otfair.cli._options import UsageError
from otfair.cli._task import Task, smaller
from otfair.metrics import (
    MeanDifferenceOf,
    demographic_parity_difference,
    equalized_odds_difference,
    pdp_violation,
    peo_violation,
    predictive_parity_difference,
    violation,
)
from otfair.models import (
    BOOSTERS,
    OTFBoostingClassifier,
    OTFClassifier,
    UntrustedModelWarning,
    compare_losses,
    doubt_losses,
    doubt_spread,
)
from otfair.notions import NOTIONS, Notion, PredictiveParity
from otfair.tables import TableEncoder, TableError
from otfair.tradeoff import UNFAIRNESS, part_labels, plot_tradeoff, tradeoff_curve

METRICS = {  # by what the record calls them: for people
    "violation": UNFAIRNESS["violation"],
    "score_difference": "difference of mean scores",
    "auc": "AUC",
    "accuracy": "accuracy",
    "log_loss": "log-loss",
    "positive_rate": "positive decisions",
    **{
        name: UNFAIRNESS[name]
        for name in ("pdp", "peo", "dp_difference", "eo_difference", "pp_difference")
    },
}
ELSEWHERE = frozenset({  # settings that are no text, or are options
    "booster", "notion", "alpha", "regularizer", "weigh", "bounded", "receivers", "max_violation",
    "validation_fraction", "criterion", "confidence", "cv", "random_state", "verbose", "module",
    "init", "geometry",
})  # fmt: skip
INK, MARKED = "#1f2933", "#c2410c"


def make_classifier(
    kind: str, notion: Notion, params: Sequence[dict[str, Any]] = (), **settings: Any
) -> Any:
    """Return a classifier that is not trained yet: a line, or boosted trees.

    `params` are those of the user, for whom options have to do with the rest.
    """
    given = {name: value for some in params for name, value in some.items()}
    if taken := [name for name in given if name in settings or name in ELSEWHERE]:
        raise UsageError(f"--params {taken[0]}: it is set by options of its own, or can't be set")
    settings |= given | {"verbose": True}
    if kind == "logistic":
        own = OTFClassifier().get_params()
        if unknown := [name for name in given if name not in own]:
            close = get_close_matches(unknown[0], own, 1)
            meant = f"did you mean {close[0]}?" if close else f"it has {', '.join(sorted(own))}."
            raise UsageError(f"--params {unknown[0]}: OTFClassifier has no such setting; {meant}")
        return OTFClassifier(notion, **settings)
    if not BOOSTERS[kind].is_installed():
        raise TableError(
            f"--model {kind} needs {kind}, which is not installed. Install it with "
            f"`pip install {kind}`, or leave --model out."
        )
    return OTFBoostingClassifier(booster=kind, notion=notion, **settings)


def train(classifier: Any, task: Task) -> Any:
    """Train a classifier on people, with an encoder before it where it needs one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UntrustedModelWarning)  # people kept out tell, see `doubts`
        if isinstance(classifier, OTFClassifier):
            model = make_pipeline(TableEncoder(), classifier)
            given = {"sensitive_features": task.compared, "sample_weight": task.weight}
            given = {f"otfclassifier__{name}": value for name, value in given.items()}
            return model.fit(task.X, task.y, tableencoder__sample_weight=task.weight, **given)
        return classifier.fit(
            task.X, task.y, sensitive_features=task.compared, sample_weight=task.weight
        )


def doubts(scores: np.ndarray, before: np.ndarray, part: Task, alpha: float) -> list[str]:
    """Say why scores of people kept out are not to be trusted, if there is a reason."""
    safe = np.clip(scores, 1e-15, 1 - 1e-15)
    weight = np.ones(len(part.y)) if part.weight is None else part.weight
    losses = compare_losses(np.log(safe) - np.log1p(-safe), part.y, weight)
    remedy = (
        "Make the model simpler (--params C=0.01, for trees --params max_depth=3), name fewer "
        "columns with --features, or ask for less fairness."
    )
    found = [doubt_losses(losses, f"the {len(part.y)} people kept out", remedy)]
    found += [doubt_spread(scores, before, alpha)] if alpha else []
    return [doubt for doubt in found if doubt]


def split(task: Task, test_size: float, seed: int) -> dict[str, Task]:
    """Return people to train on and people to judge by; the split is that of `tradeoff_curve`."""
    least = np.bincount(task.y, minlength=2).min()
    if least < 2:
        raise TableError(
            f"label {task.label.name!r} has {least} people of one value; two are the least that "
            "can be split into a part to train on and one to judge by. Pass more rows."
        )
    people = np.arange(len(task.y))
    rows = train_test_split(people, test_size=test_size, random_state=seed, stratify=task.y)
    parts = {name: smaller(task, some) for name, some in zip(("train", "test"), rows)}
    for name, part in parts.items():
        for column in part.sensitive:
            if task.sensitive[column].nunique() > 1 and part.sensitive[column].nunique() < 2:
                raise TableError(
                    f"in the {name} part of the split, sensitive column {column!r} has one value "
                    "only. Change --test-size or --seed, or pass more rows."
                )
    return parts


def judge(
    scores: np.ndarray, part: Task, notion: Notion, decided: np.ndarray | None = None
) -> dict[str, float]:
    """Judge scores, and decisions, made at 0.5 by default: how good and how fair.

    Differences of decisions are between groups only.
    """
    y, sensitive, weight = part.y, part.sensitive, part.weight
    decided = scores > 0.5 if decided is None else decided
    numbers = continuous_names(sensitive)
    groups = sensitive.drop(columns=numbers)
    none = float("nan")
    by: dict[str, Any] = {"sample_weight": weight}
    means = not all(isinstance(part, PredictiveParity) for part in notion.parts)
    asked = (scores, part.compared, notion, y, weight)
    return {
        "violation": violation(*asked),
        "score_difference": violation(*asked, MeanDifferenceOf.name) if means else none,
        "auc": float(roc_auc_score(y, scores, **by)),
        "accuracy": float(accuracy_score(y, decided, **by)),
        "log_loss": float(log_loss(y, np.clip(scores, 1e-15, 1 - 1e-15), **by)),
        "positive_rate": float(np.average(decided, weights=weight)),
        "pdp": pdp_violation(scores, sensitive, continuous=numbers, **by),
        "peo": peo_violation(scores, sensitive, y, continuous=numbers, **by),
        "dp_difference": (
            demographic_parity_difference(decided, groups, **by) if len(groups.T) else none
        ),
        "eo_difference": (
            equalized_odds_difference(decided, groups, y, **by) if len(groups.T) else none
        ),
        "pp_difference": (
            predictive_parity_difference(decided, groups, y, **by) if len(groups.T) else none
        ),
    }


def curve_of(options: argparse.Namespace, task: Task, classifier: Any, **more: Any) -> pd.DataFrame:
    """Return the trade-off curve of a classifier."""
    return tradeoff_curve(
        task.X,
        task.y,
        sensitive_features=task.sensitive,
        estimator=classifier,
        alphas=options.alphas,
        test_size=options.test_size,
        random_state=options.seed,
        verbose=True,
        **more,
    )


def chosen_violation(names: list[str]) -> str:
    """Return which violation to draw for notions: "pdp", or "peo" where labels count.

    With predictive parity among them it is that of the notions themselves.
    """
    if PredictiveParity.name in names:
        return "violation"
    return "peo" if any(n.within_labels for n in NOTIONS if n.name in names) else "pdp"


def draw(
    curves: dict[str, pd.DataFrame], violation: str, chosen: dict[str, float] | None = None
) -> Figure:
    """Draw trade-off curves, and the chosen model on them."""
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = plot_tradeoff(curves, figure.subplots(), violation=violation)
    if chosen is not None:
        axes.plot(
            chosen[violation], chosen["auc"], "*", ms=15, color=MARKED, mec="white",
            label="this model", zorder=4,
        )  # fmt: skip
        axes.legend(frameon=False, loc="lower right")
        part_labels(axes)
    axes.tick_params(colors=INK)
    return figure
