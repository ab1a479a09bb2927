"""Numbers in bins of about as many people, and what to call them."""

from __future__ import annotations

import numpy as np

from otfair.auditing._results import number_text


def quantile_codes(values: np.ndarray, count: int) -> np.ndarray:
    """Return the bin of each value, (n,), from 0 without gaps; distinct values if they are few.

    Bins begin at values, so that none is empty, and equal values share one.
    """
    edges = np.unique(values)
    if len(edges) > count:
        edges = np.unique(np.quantile(values, np.arange(count) / count, method="lower"))
    return np.asarray(np.searchsorted(edges, values, side="right") - 1)


def range_names(values: np.ndarray, codes: np.ndarray) -> list[str]:
    """Name each bin by the least and the largest value in it."""
    bins = [values[codes == k] for k in range(codes.max() + 1)] if len(codes) else []
    ends = [(some.min(), some.max()) for some in bins]
    return [number_text(a) + (f" to {number_text(b)}" if a < b else "") for a, b in ends]
