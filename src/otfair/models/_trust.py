"""Whether scores can be trusted: better than the base rate, and not all alike; else a warning.

People who train a model judge it too well. A line tells what each of them would have got from the
others by one Newton step, for the price of one matrix: docs/training.md.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import expit

SURE, MATTERS = 2.0, 0.01  # standard errors, and share of the base rate's loss, to be worse by
FEWEST = 100  # people by whom that can be told
ALIKE = 0.2  # share of the spread without fairness, below which scores have collapsed
MIDDLE = (0.05, 0.95)  # quantiles between which scores are compared
COSTLY = 2e10  # people times squared features: about two seconds


class UntrustedModelWarning(UserWarning):
    """A model was trained whose scores say less than one number for everybody would."""


@dataclass(frozen=True)
class Losses:
    """Mean cross-entropy of scores among people, and of the base rate, with what chance makes."""

    model: float
    base: float
    error: float  # standard error of the difference
    people: int

    @property
    def worse(self) -> bool:
        """Whether the scores are worse than the base rate, beyond chance and by what matters."""
        least = max(SURE * self.error, MATTERS * self.base)
        return self.people >= FEWEST and bool(self.model - self.base > least)


def compare_losses(logits: np.ndarray, y: np.ndarray, weight: np.ndarray) -> Losses:
    """Compare the cross-entropy of logits with that of one score for everybody, the base rate."""
    rate = np.clip(weight @ y / weight.sum(), 1e-12, 1 - 1e-12)
    base = np.log(rate) - np.log1p(-rate)
    each = [np.logaddexp(0.0, z) - y * z for z in (logits, np.full(len(y), base))]
    share = weight / weight.sum()
    more = each[0] - each[1]
    mean = float(share @ more)
    error = float(np.sqrt(share**2 @ (more - mean) ** 2))
    return Losses(float(share @ each[0]), float(share @ each[1]), error, len(y))


def left_out_logits(
    X: np.ndarray, y: np.ndarray, weight: np.ndarray, theta: np.ndarray, ridge: float
) -> np.ndarray | None:
    """Return the logit that each person gets from a line of all others, by one Newton step, (n,).

    For a minimum of the mean cross-entropy, weights of mean 1, plus ridge / 2 times the squared
    length of the weights: leaving out i moves its logit by l (h - y) / (1 - l h (1 - h)), with the
    leverage l of i. None where that would take long.
    """
    n, p = X.shape
    if n * (p + 1) ** 2 > COSTLY:
        return None
    Z = np.column_stack([X, np.ones(n)])
    z = Z @ theta
    h = expit(z)
    curvature = weight * h * (1 - h)
    H = (Z * curvature[:, None]).T @ Z
    H[np.diag_indices(p)] += n * ridge
    H[np.diag_indices(p + 1)] += 1e-9 * max(np.trace(H) / (p + 1), 1e-12)  # columns that depend
    try:
        solved = cho_solve(cho_factor(H), Z.T)
    except LinAlgError:
        return None
    leverage = np.einsum("ij,ji->i", Z, solved)
    left = np.maximum(1 - leverage * curvature, 1e-6)
    return np.asarray(z + leverage * weight * (h - y) / left)


def doubt_losses(losses: Losses, people: str, remedy: str) -> str:
    """Say that scores are worse than the base rate, where they are."""
    if not losses.worse:
        return ""
    return (
        "the model is worse than the base rate, which is one score for everybody: among "
        f"{people} its log-loss is {losses.model:.3f}, that of the base rate {losses.base:.3f}. "
        f"{remedy}"
    )


def doubt_spread(scores: np.ndarray, free: np.ndarray, alpha: float) -> str:
    """Say that nearly all scores are alike, where they are and were not without fairness."""
    width, before = (float(np.ptp(np.quantile(h, MIDDLE))) for h in (scores, free))
    if width >= ALIKE * before:
        return ""
    return (
        f"scores have collapsed: 90 % of them lie within {width:.2g} of each other, without "
        f"fairness within {before:.2g}. At alpha {alpha:.3g} they are fair as they say little "
        "about anybody. Ask for less fairness, or add features."
    )


def warn_of(*doubts: str, stacklevel: int) -> None:
    """Warn of each doubt that there is."""
    for doubt in filter(None, doubts):
        warnings.warn(doubt, UntrustedModelWarning, stacklevel=stacklevel + 1)
