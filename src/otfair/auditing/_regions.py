"""Where it happens: which values of which columns the score that moves comes from and goes to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from otfair._io.progress import track
from otfair.auditing._features import Features
from otfair.auditing._reading import AuditData
from otfair.auditing._results import Pairs, Region
from otfair.auditing._statistics import quantile_codes, range_names, share_of
from otfair.metrics import Estimate
from otfair.tables import is_number

BINS = 5  # of a number, by quantiles
LEAST_PEOPLE = 30  # with a value, for it to be ranked
SHOWN = 40  # values in all
EDGE = 1e-12  # a share that is nearer to 0 or 1 is one of them


def find_regions(
    data: AuditData, features: Features | None, pairs: Pairs | None, verbose: bool = False
) -> tuple[Region, ...]:
    """Rank values of columns by how much more they give or receive than their share of score."""
    if features is None or pairs is None:
        return ()
    n, w = len(data), data.weight
    given = np.bincount(pairs.giver, pairs.mass, n)
    received = np.bincount(pairs.receiver, pairs.mass, n)
    if not given.sum() > 0:
        return ()
    score = w * data.scores
    found = []
    columns = features.table.items()
    total = len(features.table.columns)
    for name, column in track(columns, "where it happens", total, verbose=verbose, leave=False):
        codes, values = binned(column, w)
        K = len(values)
        people, scored = (np.bincount(codes, x, K) / x.sum() for x in (w, score))
        gives, receives = (
            shares_of(np.bincount(codes, x, K), np.bincount(codes, x**2, K))
            for x in (given, received)
        )
        large = np.bincount(codes, minlength=K) >= min(LEAST_PEOPLE, n // 4)
        found += regions_of(str(name), values, large, people, scored, gives, receives)
    return ranked(found)


def regions_of(
    name: str, values: list[str], large: np.ndarray, people: np.ndarray, scored: np.ndarray,
    gives: list[Estimate], receives: list[Estimate],
) -> list[Region]:  # fmt: skip
    """Return the values of a column that enough people have."""
    return [
        Region(
            column=name, value=values[k], people=float(people[k]), score=float(scored[k]),
            given=gives[k], received=receives[k],
        )
        for k in np.flatnonzero(large)
    ]  # fmt: skip


def ranked(found: list[Region]) -> tuple[Region, ...]:
    """Return the clearest first."""
    return tuple(sorted(found, key=lambda region: -region.excess)[:SHOWN])


def shares_of(masses: np.ndarray, squares: np.ndarray) -> list[Estimate]:
    """Share of mass at each value, from sums of it and of its squares over people, (K,) each.

    The interval is that of a ratio of two sums over people.
    """
    total, square = masses.sum(), squares.sum()
    share = masses / total
    # sum_i m_i^2 (1[i in value] - share)^2, over people.
    spread = squares * (1 - 2 * share) + float(square) * share**2
    error = np.sqrt(np.maximum(spread, 0.0)) / total
    low, high = np.clip(share - 1.96 * error, 0, 1), np.clip(share + 1.96 * error, 0, 1)
    count = float(total**2 / square)  # all or none of it, in a few people, proves little
    return [
        Estimate(*map(float, ends))
        if EDGE < ends[0] < 1 - EDGE
        else share_of(round(ends[0]), count)
        for ends in zip(share, low, high)
    ]


def binned(column: pd.Series[Any], weight: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Return which value each person has, (n,), numbers by quantiles, and their names."""
    gaps = column.isna().to_numpy()
    if is_number(column):
        present = column.to_numpy(np.float64, na_value=np.nan)[~gaps]
        bins = quantile_codes(present, BINS, weight[~gaps])
        codes = np.full(len(gaps), -1)
        codes[~gaps] = bins
        names = range_names(present, bins)
    else:
        codes, found = pd.factorize(column)
        names = [str(value) for value in found]
    if gaps.any():
        codes = np.where(gaps, len(names), codes)
        names.append("(missing)")
    return codes, names
