"""A model of groups: what the rows of people are, as far as their features tell.

Maths: docs/decisions.md, section "Deciding without the sensitive attribute". Groups are predicted
by multinomial logistic regression on encoded features, and values by ridge regression. Where strata
are labels, the chance of the label is the classifier's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.utils.validation import has_fit_parameter

from otfair._io.quiet import without
from otfair.decisions._left_out import chances_left_out, is_cheap
from otfair.decisions._people import take
from otfair.decisions._rows import Row


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


def expected_left_out(
    rows: Sequence[Row],
    blocks: Sequence[Block],
    values: np.ndarray,
    features: np.ndarray,
    weight: np.ndarray,
    scores: np.ndarray,
) -> np.ndarray | None:
    """Return what rows people are expected to have, (n, d), by models without them.

    None where folds are cheaper, or where a model is of values.
    """
    out = np.zeros_like(values)
    for block in blocks:
        present = np.flatnonzero(np.isfinite(block.intercept))
        if not block.is_group or not is_cheap(len(present), features.shape[1]):
            return None
        logits = features @ block.coef[present].T + block.intercept[present]
        codes = np.searchsorted(present, _codes(values[:, block.rows]))
        chances = np.zeros((len(out), len(block.intercept)))
        chances[:, present] = (
            chances_left_out(logits, codes, features, weight) if len(present) > 1 else 1.0
        )
        _put(out, rows, block.rows, chances, scores)
    return out


def _codes(member: np.ndarray) -> np.ndarray:
    """Return the group of each person, (n,), from rows (n, r); r for those in none."""
    return np.asarray(np.where(member.any(1), member.argmax(1), member.shape[1]))


def _learn_groups(
    own: tuple[int, ...], member: np.ndarray, features: np.ndarray, weight: np.ndarray
) -> Block:
    codes = _codes(member)
    used = weight > 0
    coef = np.zeros((len(own) + 1, features.shape[1]))
    intercept = np.full(len(own) + 1, -np.inf)
    classes = np.unique(codes[used])
    if len(classes) == 1:
        intercept[classes] = 0.0
        return Block(own, True, coef, intercept)
    with without(ConvergenceWarning):  # a rough model will do: what counts is observed in the end
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
        codes = _codes(member)
        used = np.flatnonzero(weight > 0)
        weighs = has_fit_parameter(estimator, "sample_weight")
        by = {"sample_weight": weight[used]} if weighs else {}
        fitted.append(clone(estimator).fit(take(X, used), codes[used], **by))
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
