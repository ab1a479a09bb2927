"""The models that the command line trains, and how it judges them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from otfair.cli._task import Task, smaller
from otfair.metrics import (
    demographic_parity_difference,
    equalized_odds_difference,
    pdp_violation,
    peo_violation,
    read_groups,
    violation,
)
from otfair.models import BOOSTERS, OTFBoostingClassifier, OTFClassifier
from otfair.notions import Notion
from otfair.tables import TableEncoder, TableError, is_number

METRICS = {  # by what the record calls them: for people
    "violation": "violation of the notion",
    "auc": "AUC",
    "accuracy": "accuracy",
    "log_loss": "log-loss",
    "positive_rate": "positive decisions",
    "pdp": "PDP violation",
    "peo": "PEO violation",
    "dp_difference": "difference in positive decisions",
    "eo_difference": "difference in true or false positive rates",
}
THRESHOLD = 0.5  # of decisions


def make_classifier(kind: str, notion: Notion, **settings: Any) -> Any:
    """Return a classifier that is not trained yet: a line, or boosted trees."""
    if kind == "logistic":
        return OTFClassifier(notion, **settings)
    if not BOOSTERS[kind].is_installed():
        raise TableError(
            f"--model {kind} needs {kind}, which is not installed. Install it with "
            f"`pip install 'otfair[{kind}]'`, or leave --model out."
        )
    return OTFBoostingClassifier(booster=kind, notion=notion, **settings)


def train(classifier: Any, task: Task) -> Any:
    """Train a classifier on people, with an encoder before it where it needs one."""
    if isinstance(classifier, OTFClassifier):
        model = make_pipeline(TableEncoder(), classifier)
        return model.fit(task.X, task.y, otfclassifier__sensitive_features=task.sensitive)
    return classifier.fit(task.X, task.y, sensitive_features=task.sensitive)


def last_step(model: Any) -> Any:
    """Return the classifier of a model, pipeline or not."""
    return model[-1] if hasattr(model, "steps") else model


def split(task: Task, test_size: float, seed: int) -> tuple[Task, Task]:
    """Return people to train on and people to judge by; the split is that of `tradeoff_curve`."""
    least = np.bincount(task.y, minlength=2).min()
    if least < 2:
        raise TableError(
            f"label {task.label.name!r} has {least} people of one value; two are the least that "
            "can be split into a part to train on and one to judge by. Pass more rows."
        )
    fit, test = train_test_split(
        np.arange(len(task.y)), test_size=test_size, random_state=seed, stratify=task.y
    )
    parts = smaller(task, fit), smaller(task, test)
    for name, part in zip(("train", "test"), parts):
        for column in part.sensitive:
            if task.sensitive[column].nunique() > 1 and part.sensitive[column].nunique() < 2:
                raise TableError(
                    f"in the {name} part of the split, sensitive column {column!r} has one value "
                    "only. Change --test-size or --seed, or pass more rows."
                )
    return parts


def judge(scores: np.ndarray, part: Task, notion: Notion) -> dict[str, float]:
    """Judge scores: how good and how fair; differences of decisions are between groups only."""
    y, sensitive = part.y, part.sensitive
    decided = scores > THRESHOLD
    groups = sensitive[[str(g.name) for g in read_groups(sensitive)[0]]]
    none = float("nan")
    return {
        "violation": violation(scores, sensitive, notion, y),
        "auc": float(roc_auc_score(y, scores)),
        "accuracy": float(accuracy_score(y, decided)),
        "log_loss": float(log_loss(y, np.clip(scores, 1e-15, 1 - 1e-15))),
        "positive_rate": float(decided.mean()),
        "pdp": pdp_violation(scores, sensitive),
        "peo": peo_violation(scores, sensitive, y),
        "dp_difference": demographic_parity_difference(decided, groups) if len(groups.T) else none,
        "eo_difference": equalized_odds_difference(decided, groups, y) if len(groups.T) else none,
    }


def chosen_violation(names: list[str]) -> str:
    """Return which violation to draw for notions: "pdp", or "peo" where labels count."""
    return "pdp" if names == ["demographic_parity"] else "peo"


def describe_columns(X: pd.DataFrame) -> dict[str, str]:
    """Return what each feature is, so that another table can be read the same way."""
    return {str(c): "number" if is_number(X[c]) else "text" for c in X}


def metrics_table(record: dict[str, Any]) -> pd.DataFrame:
    """Lay out the metrics of a record, one row each."""
    columns = {"": list(METRICS.values())}
    for when in ("before", "after"):
        for part in ("train", "test"):
            judged = record["metrics"][when][part]
            columns[f"{when}, {part}"] = [judged[m] for m in METRICS]
    return pd.DataFrame(columns)
