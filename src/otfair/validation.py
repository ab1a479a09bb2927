"""What an `OTFClassifier` accepts: its settings, and the table it is trained on."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, validate_data

from otfair.arrays import Array
from otfair.penalty import FairnessLoss

KNOWN = {
    "regularizer": ("otf", "norm", "barycenter"),
    "solver": ("lbfgs", "adam"),
    "mode": ("dataset", "batch"),
}


def check_settings(estimator: Any) -> None:
    """Raise where a setting of an `OTFClassifier` makes no sense."""
    if not 0 <= estimator.alpha <= 1:
        raise ValueError(f"`alpha` must lie in [0, 1]; received {estimator.alpha!r}.")
    for name, known in KNOWN.items():
        own = name == "regularizer" and isinstance(estimator.regularizer, FairnessLoss)
        if not own and getattr(estimator, name) not in known:
            raise ValueError(
                f"unknown {name} {getattr(estimator, name)!r}; pass one of {', '.join(known)}."
            )
    by_adam = estimator.solver == "adam" or estimator.module is not None
    if estimator.mode == "batch" and (not by_adam or estimator.geometry is not None):
        raise ValueError(
            '`mode="batch"` needs `solver="adam"` or a `module`, as L-BFGS looks at everybody at '
            'once, and takes no `geometry`. Leave `mode="dataset"`.'
        )
    if not (
        estimator.balance == "auto"
        or (np.isreal(estimator.balance) and float(estimator.balance) > 0)
    ):
        raise ValueError(
            f'`balance` must be "auto" or a positive number; received {estimator.balance!r}.'
        )
    if estimator.max_violation is not None and not 0 <= estimator.max_violation <= 1:
        raise ValueError(
            f"`max_violation` must lie in [0, 1]; received {estimator.max_violation!r}."
        )


def read_training_data(
    estimator: Any, X: Array, y: Array, sample_weight: Array
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Validate a table; returns features, labels as 0 and 1, and weights; sets `classes_`."""
    try:
        X, y = validate_data(estimator, X, y, dtype=np.float64)
    except ValueError as error:
        if "could not convert" in str(error):
            raise ValueError(
                f"`X` must be numeric ({error}). Encode text and categories first: "
                "`make_pipeline(TableEncoder(), OTFClassifier(...))`."
            ) from None
        raise
    check_classification_targets(y)
    estimator.classes_, labels = np.unique(y, return_inverse=True)
    if len(estimator.classes_) > 2:
        raise ValueError(
            "Only binary classification is supported. The type of the target is multiclass: "
            f"{len(estimator.classes_)} classes."
        )
    if len(estimator.classes_) < 2:
        raise ValueError(
            "Classifier can't train when only one class is present: every label is "
            f"{estimator.classes_[0]!r}."
        )
    weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    return X, labels, weight
