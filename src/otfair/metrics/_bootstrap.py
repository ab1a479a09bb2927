"""Bootstrap intervals of anything that is a function of sums over people.

Maths: docs/audit.md. Resampling changes how often each person counts, so sums are one sparse
product, and what is computed from the sums is computed for all resamples at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

ENDS = (2.5, 97.5)  # percentiles


@dataclass(frozen=True)
class Estimate:
    """A figure and its 95 % interval."""

    value: float
    low: float
    high: float


def draw_rows(n: int, n_bootstrap: int, seed: int) -> Iterator[np.ndarray]:
    """Yield the rows of each resample of n people, (n,)."""
    rng = np.random.default_rng(seed)
    for _ in range(n_bootstrap):
        yield rng.integers(n, size=n)


def draw_counts(n: int, n_bootstrap: int, seed: int) -> np.ndarray:
    """Return how often each of n people is in each resample, (n_bootstrap, n), as small numbers."""
    counts = np.empty((max(n_bootstrap, 0), n), dtype=np.uint8)  # more than 255 times never happens
    for one, rows in zip(counts, draw_rows(n, n_bootstrap, seed), strict=True):
        one[:] = np.bincount(rows, minlength=n)
    return counts


def resample(A: sp.csr_array, counts: np.ndarray) -> np.ndarray:
    """Return A @ counts for all people once, then for each resample, (1 + n_bootstrap, s)."""
    resampled = (A @ one.astype(np.float64) for one in counts)
    return np.stack([A @ np.ones(A.shape[1]), *resampled])


def by_cell(cells: np.ndarray, count: int, *columns: np.ndarray) -> sp.csr_array:
    """Return the matrix whose products are sums of each column over each cell, (q count, n).

    People of cell -1 are in none. Rows are ordered by column, then by cell.
    """
    inside = np.flatnonzero(cells >= 0)
    parts = [
        sp.csr_array((c[inside], (cells[inside], inside)), (count, len(cells))) for c in columns
    ]
    return sp.csr_array(sp.vstack(parts, format="csr"))


def estimate(values: np.ndarray, low: float = -np.inf, high: float = np.inf) -> Estimate:
    """Return the first value with the percentile interval of the others, (1 + n_bootstrap,).

    A largest difference is larger in most resamples; the interval is widened to hold the value.
    """
    others = values[1:][np.isfinite(values[1:])]
    value = float(values[0])
    if not len(others):
        return Estimate(value, np.nan, np.nan)
    ends = np.clip(np.percentile(others, ENDS), low, high)
    return Estimate(value, min(value, float(ends[0])), max(value, float(ends[1])))
