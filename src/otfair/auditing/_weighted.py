"""Scales, medians and shares of people who have weights."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
from scipy.stats import beta

from otfair.auditing._results import Estimate
from otfair.tables import TableEncoder

BLOCK = 20_000  # people encoded at once


def fit_encoder(table: pd.DataFrame, weight: np.ndarray) -> TableEncoder:
    """Fit an encoder whose columns have mean 0 and variance 1 over weighted people.

    The encoder knows no weights. What it learns is a mean and a scale of every column, and the
    weighted moments of what it makes of the table correct them.
    """
    encoder = TableEncoder().fit(table)
    if (weight == weight[0]).all():
        return encoder
    ends = np.cumsum([0, *(len(column.mean) for column in encoder.columns_)])
    gapped = [  # numbers, not categories, of which some are missing
        (at, table[name].notna().to_numpy())
        for at, name, column in zip(ends, table.columns, encoder.columns_)
        if column.levels is None and column.missing
    ]
    present, first, second = np.zeros((3, ends[-1]))  # sums of w, w z and w z^2
    present += weight.sum()
    for at, there in gapped:
        present[at] = weight[there].sum()
    for start in range(0, len(table), BLOCK):
        some = slice(start, start + BLOCK)
        z = encoder.transform(table.iloc[some])  # 0 where a number is missing
        first += weight[some] @ z
        second += weight[some] @ z**2
    mean = first / present
    spread = np.sqrt(np.maximum(second - present * mean**2, 0.0) / weight.sum())
    spread = np.where(spread > 1e-12, spread, 1.0)  # of a constant
    encoder.columns_ = [
        replace(
            column,
            mean=column.mean + column.scale * mean[a:b],
            scale=column.scale * spread[a:b],
        )
        for column, a, b in zip(encoder.columns_, ends, ends[1:])
    ]
    return encoder


def effective(weight: np.ndarray) -> float:
    """Return how many people of equal weight are worth as much: (sum w)^2 / sum w^2."""
    return float(weight.sum() ** 2 / (weight @ weight))


def share_of(share: float, count: float) -> Estimate:
    """Return a share of `count` people, of which all or none may be seen, with an interval.

    With a uniform prior it has a beta distribution: 40 out of 40 give 0.914 to 1.
    """
    low, high = beta.ppf((0.025, 0.975), count * share + 1, count * (1 - share) + 1)
    return Estimate(share, min(share, float(low)), max(share, float(high)))
