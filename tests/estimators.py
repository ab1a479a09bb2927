"""Estimators for scikit-learn's checks."""

from __future__ import annotations

import numpy as np
import sklearn


def wrong_checks(estimator):
    """Which checks are wrong themselves: those of scikit-learn 1.6, for classes that are two."""
    if tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 7):
        return {}
    reason = "makes three classes two by the first row, which differs with and without weights"
    return {"check_sample_weight_equivalence_on_dense_data": reason}


class SuppliesAttribute:
    """Supplies a sensitive column, so that scikit-learn's checks reach the penalty."""

    def fit(self, X, y, sensitive_features=None, sample_weight=None):
        try:  # by value alone: the same with copies of a person, and without those of weight 0
            first = np.asarray(X)[:, 0].astype(float)
            groups = np.floor(3.3 * np.where(np.isfinite(first), first, 0.0)) % 2
        except (TypeError, ValueError, IndexError, np.exceptions.ComplexWarning):
            groups = np.zeros(1)
        if len(np.unique(groups)) == 2:
            sensitive_features = groups
        return super().fit(X, y, sensitive_features, sample_weight)
