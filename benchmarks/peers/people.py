"""The people of Adult, encoded and split, and how a call is timed."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from sklearn.linear_model import LogisticRegression

import otfair

EPSILON = 1e-3  # of the largest distance


@dataclass(frozen=True)
class Row:
    """One line of a table: what was timed, and how well it did."""

    section: str
    people: int
    method: str
    seconds: float
    auc: float = float("nan")
    violation: float = float("nan")
    note: str = ""


@dataclass(frozen=True)
class People:
    """Some people of a dataset."""

    X: np.ndarray
    y: np.ndarray
    sex: np.ndarray
    scores: np.ndarray  # of a logistic regression

    def take(self, rows: slice | np.ndarray) -> People:
        """Return some of them."""
        return People(self.X[rows], self.y[rows], self.sex[rows], self.scores[rows])


@cache
def adult() -> People:
    """Return all people of Adult in an order drawn with seed 0."""
    data = otfair.load_dataset("adult", download=False)
    order = np.random.default_rng(0).permutation(len(data.y))
    X = np.asarray(otfair.TableEncoder().fit_transform(data.X))[order]
    y, sex = data.y[order], data.sensitive_features["sex"].to_numpy()[order]
    model = LogisticRegression(max_iter=300).fit(X[:10_000], y[:10_000])
    return People(X, y, sex, model.predict_proba(X)[:, 1])


def seconds(call: Callable[[], object], least: float = 1.0, most: int = 41) -> float:
    """Median time of a call, after one that warms up, in about as many seconds as `least`."""
    start = time.perf_counter()
    call()
    first = time.perf_counter() - start
    if first > 5 * least:
        return first
    taken: list[float] = []
    while len(taken) < 3 or (sum(taken) < least and len(taken) < most):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def as_groups(values: np.ndarray) -> np.ndarray:
    """Return one-hot columns, one for each group."""
    return (values[:, None] == np.unique(values)).astype(float)
