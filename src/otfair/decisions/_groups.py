"""A model of groups: what the rows of people are, as far as their features tell.

Maths: docs/decisions.md, section "Without the attribute". Groups are predicted by multinomial
logistic regression on encoded features, and values by ridge regression. Where strata are labels,
the chance of the label is the classifier's own.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge

from otfair.decisions._people import take
from otfair.decisions._rows import Row

ENOUGH = 10  # people of the smallest group for each feature


@dataclass(frozen=True)
class Block:
    """Rows of which a person is in at most one (groups), or a single one of values."""

    rows: tuple[int, ...]
    is_group: bool
    coef: np.ndarray  # (r + 1, p) with people in none of the rows last; or (1, p)
    intercept: np.ndarray


def blocks_of(rows: Sequence[Row]) -> list[tuple[int, ...]]:
    """Return the rows that one model predicts together: those of an attribute in all strata."""
    found: dict[tuple[Any, ...], list[int]] = {}
    for c, row in enumerate(rows):
        alone = c if row.kind != "group" else -1
        found.setdefault((row.part, row.attribute, alone), []).append(c)
    return [tuple(own) for own in found.values()]


def learn(
    rows: Sequence[Row], values: np.ndarray, features: np.ndarray, weight: np.ndarray
) -> list[Block]:
    """Fit the default models: values (n, d) of people with encoded features (n, p)."""
    learnt = []
    for own in blocks_of(rows):
        part = values[:, own]
        if rows[own[0]].kind == "group":
            learnt.append(_learn_groups(own, part, features, weight))
        else:
            inside = part[:, 0] != 0 if rows[own[0]].label >= 0 else np.ones(len(part), dtype=bool)
            model = Ridge(1.0).fit(features[inside], part[inside, 0], weight[inside])
            learnt.append(Block(own, False, model.coef_[None], np.atleast_1d(model.intercept_)))
    return learnt


def is_steady(values: np.ndarray, features: np.ndarray, weight: np.ndarray) -> bool:
    """Whether a default model sees those who trained it much as it sees new people.

    Then they need no folds, and tune the rule by the very model that new people get.
    """
    people = (values[weight > 0] != 0).sum(0)
    return bool(people.min() >= ENOUGH * features.shape[1])


def _learn_groups(
    own: tuple[int, ...], member: np.ndarray, features: np.ndarray, weight: np.ndarray
) -> Block:
    codes = np.where(member.any(1), member.argmax(1), len(own))  # the last for those in none
    used = weight > 0
    coef = np.zeros((len(own) + 1, features.shape[1]))
    intercept = np.full(len(own) + 1, -np.inf)
    classes = np.unique(codes[used])
    if len(classes) == 1:
        intercept[classes] = 0.0
        return Block(own, True, coef, intercept)
    with warnings.catch_warnings():  # a rough model will do: what counts is observed in the end
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LogisticRegression(max_iter=100).fit(features[used], codes[used], weight[used])
    if len(classes) == 2:  # scikit-learn has one row then
        coef[classes[1]], intercept[classes] = model.coef_[0], [0.0, model.intercept_[0]]
    else:
        coef[classes], intercept[classes] = model.coef_, model.intercept_
    return Block(own, True, coef, intercept)


def predict(
    rows: Sequence[Row], blocks: Sequence[Block], features: np.ndarray, scores: np.ndarray
) -> np.ndarray:
    """Return what rows people are expected to have, (n, d)."""
    out = np.zeros((len(features), len(rows)))
    for block in blocks:
        found = features @ block.coef.T + block.intercept
        chances = softmax(found, axis=1) if block.is_group else found
        _put(out, rows, block.rows, chances, scores)
    return out


def learn_by(
    estimator: Any, rows: Sequence[Row], values: np.ndarray, X: Any, weight: np.ndarray
) -> list[Any]:
    """Fit a user's own classifier for each block of groups; weights of 0 leave people out."""
    fitted = []
    for own in blocks_of(rows):
        if rows[own[0]].kind != "group":
            raise ValueError(
                f"`group_estimator` predicts groups, and {rows[own[0]].attribute!r} is a number; "
                "leave `group_estimator=None`, or bin the column."
            )
        member = values[:, own]
        codes = np.where(member.any(1), member.argmax(1), len(own))
        used = np.flatnonzero(weight > 0)
        fitted.append(clone(estimator).fit(take(X, used), codes[used]))
    return fitted


def predict_by(
    fitted: Sequence[Any], rows: Sequence[Row], X: Any, scores: np.ndarray
) -> np.ndarray:
    """Return what rows people are expected to have, by a user's own classifiers, (n, d)."""
    out = np.zeros((len(scores), len(rows)))
    for own, model in zip(blocks_of(rows), fitted):
        chances = np.zeros((len(scores), len(own) + 1))
        chances[:, model.classes_] = model.predict_proba(X)
        _put(out, rows, own, chances, scores)
    return out


def _put(
    out: np.ndarray,
    rows: Sequence[Row],
    own: tuple[int, ...],
    chances: np.ndarray,
    scores: np.ndarray,
) -> None:
    """Write the chances of a block; those within a label are made to add up to its chance."""
    out[:, own] = chances[:, : len(own)]
    for label, chance in ((0, 1 - scores), (1, scores)):
        inside = [c for c in own if rows[c].label == label]
        if not inside:
            continue
        if rows[inside[0]].kind == "group":
            total = out[:, inside].sum(1, keepdims=True)
            out[:, inside] *= chance[:, None] / np.maximum(total, 1e-12)
        else:
            out[:, inside] *= chance[:, None]
