"""Scores that are chances within each group, where the rule may know the group.

A classifier that was not given an attribute is not calibrated by it, and a rule that is given it
should be. One logistic regression on the logit of the score, and on its products with the rows.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

SMALL = 1e-6  # from 0 and 1, where logits are cut


def learn_calibration(
    labels: np.ndarray, scores: np.ndarray, rows: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """Return the coefficients, (2 d + 2,), from the rows of people, (n, d), and their labels."""
    used = weight > 0
    model = LogisticRegression(max_iter=1000)
    model.fit(_features(scores, rows)[used], labels[used], weight[used])
    return np.concatenate([model.coef_[0], model.intercept_])


def calibrated(scores: np.ndarray, rows: np.ndarray, coef: np.ndarray) -> np.ndarray:
    """Return the chances of the positive class, (n,)."""
    return np.asarray(expit(_features(scores, rows) @ coef[:-1] + coef[-1]))


def _features(scores: np.ndarray, rows: np.ndarray) -> np.ndarray:
    logits = logit(np.clip(scores, SMALL, 1 - SMALL))[:, None]
    return np.hstack([logits, rows, rows * logits])
