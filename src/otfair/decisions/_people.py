"""People in parts: folds, some rows of any table, and crowds of people who are alike."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils import _safe_indexing, check_array
from sklearn.utils.validation import _check_sample_weight

from otfair._io.quiet import without

CROWD = 20  # people who are alike
NEARLY = 0.05  # of scores, that they may differ by in folds
PREFIT_FOLDS = 5  # of the model of groups, where the classifier has none
Folds = list[tuple[np.ndarray, np.ndarray]]


def folds_of(cv: Any, labels: np.ndarray, values: np.ndarray, seed: int) -> Folds:
    """Split people; a number of folds spreads labels, and who is in which row, evenly."""
    folds = PREFIT_FOLDS if isinstance(cv, str) and cv == "prefit" else cv
    blank = np.zeros(len(labels))
    if not isinstance(folds, numbers.Integral):
        parts = list(check_cv(folds, labels, classifier=True).split(blank, labels))
        for k, (train, _) in enumerate(parts, 1):
            if len(np.unique(labels[train])) < 2:
                raise ValueError(
                    f"`cv` leaves only one class to train on in fold {k} of {len(parts)}; pass a "
                    "splitter that spreads the classes, such as `StratifiedKFold`, or a number."
                )
        return parts
    if (rarest := np.bincount(labels).min()) < int(folds):
        raise ValueError(
            f"`cv={folds}` needs as many people of each class, but the rarer has {rarest}. Pass a "
            "smaller `cv`."
        )
    signs = np.column_stack([labels, np.sign(values)])
    _, kinds = np.unique(signs, axis=0, return_inverse=True)
    kinds = kinds.reshape(-1)
    rare = np.bincount(kinds)[kinds] < int(folds)
    kinds = np.where(rare, labels - 2, kinds)  # spread by their label alone
    with without(UserWarning):  # of few who are rare
        splitter = StratifiedKFold(int(folds), shuffle=True, random_state=seed)
        return list(splitter.split(blank, kinds))


def read_X(X: Any, sparse: bool) -> Any:
    """Return features that have rows: a table or list as it is, else an array."""
    if isinstance(X, list) or hasattr(X, "columns") or hasattr(X, "iloc"):
        return X
    return check_array(
        X, accept_sparse="csr" if sparse else False, dtype=None, ensure_all_finite=False
    )


def read_weight(weight: Any, people: int) -> np.ndarray:
    """Return the weights of people, (n,); one each by default."""
    blank = np.zeros((people, 1))
    given = _check_sample_weight(weight, blank, dtype=np.float64, ensure_non_negative=True)
    if not given.sum() > 0:
        raise ValueError("`sample_weight` is 0 for everybody; give some people a weight.")
    return np.asarray(given)


def with_mean_one(weight: np.ndarray) -> np.ndarray:
    """Return weights of a mean of 1: penalties of our own models know no other scale."""
    return np.asarray(weight * (len(weight) / weight.sum()))


def take(X: Any, index: np.ndarray) -> Any:
    """Return some rows of a table or array."""
    return _safe_indexing(X, index)


def see_crowds(
    final: np.ndarray, scores: np.ndarray, expected: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return scores (n,) and expected rows (n, d), which for crowds are those of the final models.

    A crowd are those of whom the final models say the same, (n, 1 + d), and the models of folds
    nearly so. New people who are alike have one decision, and which it is may hang on the last
    digit. (Those whose labels the final classifier knows by heart are alike to it, but not to the
    models of folds.)
    """
    hashed = pd.util.hash_pandas_object(pd.DataFrame(final), index=False).to_numpy()
    first, alike, size = np.unique(hashed, return_inverse=True, return_counts=True)
    low, high = np.full(len(first), np.inf), np.full(len(first), -np.inf)
    np.minimum.at(low, alike, scores)
    np.maximum.at(high, alike, scores)
    crowd = ((high - low <= NEARLY) & (size >= CROWD))[alike]
    return (
        np.where(crowd, final[:, 0], scores),
        np.where(crowd[:, None], final[:, 1:], expected),
    )
