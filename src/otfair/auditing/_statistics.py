"""Statistics of weighted people: bins of about as many, shares with an interval, samples."""

from __future__ import annotations

import numpy as np
from scipy.stats import beta

from otfair.metrics import Estimate

MIN_SCORE = 1e-12  # a score of 0 has nothing to give; solvers and draws want a little


def quantile_codes(values: np.ndarray, count: int, weight: np.ndarray) -> np.ndarray:
    """Return the bin of each value, (n,), from 0 without gaps; distinct values if they are few."""
    # Bins begin at values, so that none is empty. A person of weight w counts as w copies.
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


def effective_count(weight: np.ndarray) -> float:
    """Return how many people of equal weight are worth as much: (sum w)^2 / sum w^2."""
    return float(weight.sum() ** 2 / (weight @ weight))


def share_of(share: float, count: float) -> Estimate:
    """Return a share of `count` people, of which all or none may be seen, with an interval."""
    # With a uniform prior it has a beta distribution: 40 out of 40 give 0.914 to 1.
    low, high = beta.ppf((0.025, 0.975), count * share + 1, count * (1 - share) + 1)
    return Estimate(share, min(share, float(low)), max(share, float(high)))


def number_text(value: float) -> str:
    """Return a number of a table as readers like it."""
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e15 else f"{value:.4g}"


def sample_by_mass(
    types: np.ndarray, count: int, mass: np.ndarray, size: int, seed: list[int]
) -> np.ndarray:
    """Draw people by their mass, with replacement: of each type by its share, and at least four."""
    rng = np.random.default_rng(seed)
    total = np.bincount(types, mass, count)
    chosen = []
    for k in range(count):
        people = np.flatnonzero(types == k)
        if len(people):
            wanted = max(4, round(size * total[k] / total.sum()))
            chosen.append(rng.choice(people, size=wanted, p=mass[people] / total[k]))
    return np.concatenate(chosen)
