"""Numbers in bins of about as many people, or weight, and what to call them."""

from __future__ import annotations

import numpy as np

from otfair.auditing._results import number_text


def quantile_codes(values: np.ndarray, count: int, weight: np.ndarray) -> np.ndarray:
    """Return the bin of each value, (n,), from 0 without gaps; distinct values if they are few.

    Bins begin at values, so that none is empty, and equal values share one. A person of weight w
    counts as w copies.
    """
    distinct, codes = np.unique(values, return_inverse=True)
    if len(distinct) <= count:
        return np.asarray(codes)
    up_to = np.bincount(codes, weight).cumsum()  # the weight of all values up to each one
    ends = up_to[-1] * np.arange(count) / count
    first = np.unique(np.searchsorted(up_to, ends * (1 + 1e-12), side="right"))
    return np.asarray(np.searchsorted(first, codes, side="right") - 1)


def range_names(values: np.ndarray, codes: np.ndarray) -> list[str]:
    """Name each bin by the least and the largest value in it."""
    bins = [values[codes == k] for k in range(codes.max() + 1)] if len(codes) else []
    ends = [(some.min(), some.max()) for some in bins]
    return [number_text(a) + (f" to {number_text(b)}" if a < b else "") for a, b in ends]
