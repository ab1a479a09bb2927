"""Columns that alone nearly predict the label, as what is known only after the outcome does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from otfair.tables._kinds import is_number
from otfair.tables._suitability import MANY_VALUES, Reason, Why

TOO_GOOD = 0.95  # AUC; the best single column of the datasets here has 0.82
SAMPLE = 10_000  # people of each label
LEAST = 20  # people of each label: fewer may be told apart by chance


def foretells(
    column: pd.Series[Any], labels: np.ndarray, weight: np.ndarray | None = None
) -> Reason | None:
    """Say so where a column alone predicts the label, (n,) 0 or 1, too well to be true."""
    found = single_auc(column, labels, weight)
    if found < TOO_GOOD:
        return None
    return Reason(
        Why.LABEL_LEAK,
        f"alone it predicts the label with an AUC of {found:.3f}, as columns do that are known "
        "only after the outcome",
    )


def single_auc(
    column: pd.Series[Any], labels: np.ndarray, weight: np.ndarray | None = None
) -> float:
    """Return how well one column predicts the label: a number by its order, values by their rates.

    The rate of a value is that among other people. Of very many people it is taken from a sample of
    each label; with very few of one label it is 0.5, as nothing can be said.
    """
    rng = np.random.default_rng(0)
    counted = np.ones(len(labels)) if weight is None else weight
    each = [np.flatnonzero((labels == value) & (counted > 0)) for value in (0, 1)]
    if min(map(len, each)) < LEAST:
        return 0.5
    some = np.concatenate([rng.permutation(rows)[:SAMPLE] for rows in each])
    column, y, w = column.iloc[some], labels[some].astype(np.float64), counted[some]
    codes, values = pd.factorize(column, use_na_sentinel=False)
    number = is_number(column)
    found = []
    if not number or len(values) <= MANY_VALUES:
        found.append(_auc(_rates(codes, len(values), y, w, rng.integers(2, size=len(y))), y, w))
    if number:
        x = column.to_numpy(np.float64, na_value=np.nan)
        gaps = (-np.inf, np.inf) if np.isnan(x).any() else (0.0,)  # a gap may tell, on either side
        for gap in gaps:
            rising = _auc(np.where(np.isnan(x), gap, x), y, w)
            found += [rising, 1 - rising]
    return max(found)


def _rates(
    codes: np.ndarray, count: int, y: np.ndarray, w: np.ndarray, half: np.ndarray
) -> np.ndarray:
    """Return the share of positive labels with each person's value, in the half they are not in."""
    out = np.empty(len(y))
    for here in (half == 0, half == 1):
        base = np.average(y[~here], weights=w[~here])
        positive, people = (np.bincount(codes[~here], x[~here], count) for x in (w * y, w))
        unit = w[~here].mean()  # one person of the overall rate, for values that are rare
        out[here] = ((positive + unit * base) / (people + unit))[codes[here]]
    return out


def _auc(x: np.ndarray, y: np.ndarray, w: np.ndarray) -> float:
    """Return the area under the ROC curve, by weights; ties count half."""
    order = np.argsort(x, kind="stable")
    x, y, w = x[order], y[order], w[order]
    begins = np.flatnonzero(np.concatenate([[True], x[1:] != x[:-1]]))
    positive, negative = (np.add.reduceat(w * of, begins) for of in (y, 1 - y))
    below = np.cumsum(negative) - negative / 2
    return float(positive @ below / (positive.sum() * negative.sum()))
