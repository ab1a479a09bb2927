"""Shares of people who have weights."""

from __future__ import annotations

import numpy as np
from scipy.stats import beta

from otfair.metrics import Estimate


def effective(weight: np.ndarray) -> float:
    """Return how many people of equal weight are worth as much: (sum w)^2 / sum w^2."""
    return float(weight.sum() ** 2 / (weight @ weight))


def share_of(share: float, count: float) -> Estimate:
    """Return a share of `count` people, of which all or none may be seen, with an interval.

    With a uniform prior it has a beta distribution: 40 out of 40 give 0.914 to 1.
    """
    low, high = beta.ppf((0.025, 0.975), count * share + 1, count * (1 - share) + 1)
    return Estimate(share, min(share, float(low)), max(share, float(high)))
