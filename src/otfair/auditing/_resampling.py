"""Bootstrap intervals of anything that is a function of sums over people.

Maths: docs/audit.md. Resampling changes how often each person counts, so sums are one sparse
product, and what is computed from the sums is computed for all resamples at once.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from otfair.auditing._results import Estimate

BLOCK = 2**24  # counts held at once


def resample(A: sp.csr_array, n_bootstrap: int, seed: int) -> np.ndarray:
    """Return A @ counts for everybody once, then for each resample, (1 + n_bootstrap, s)."""
    n = A.shape[1]
    rng = np.random.default_rng(seed)
    sums = [A @ np.ones((n, 1))]
    step = max(1, BLOCK // n)
    for start in range(0, n_bootstrap, step):
        many = range(min(step, n_bootstrap - start))
        counts = [np.bincount(rng.integers(n, size=n), minlength=n) for _ in many]
        sums.append(A @ np.column_stack(counts).astype(np.float64))
    return np.asarray(np.hstack(sums).T)


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
    """Return the first value with the percentile interval of the others, (1 + n_bootstrap,)."""
    others = values[1:][np.isfinite(values[1:])]
    value = float(values[0])
    if not len(others):
        return Estimate(value, np.nan, np.nan)
    ends = np.clip(np.percentile(others, (2.5, 97.5)), low, high)
    return Estimate(value, float(ends[0]), float(ends[1]))
