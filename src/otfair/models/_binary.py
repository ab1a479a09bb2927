"""What classifiers of two classes share: classes from logits, and a `fit` all or nothing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy.special import expit

from otfair._io.arrays import Array


class BinaryClassifier(ABC):
    """Gives a classifier that has logits its probabilities and classes."""

    classes_: np.ndarray  # (2,)

    @abstractmethod
    def decision_function(self, X: Array) -> np.ndarray:
        """Return the logits of the positive class, (n,)."""

    def predict_proba(self, X: Array) -> np.ndarray:
        """Return the probabilities of the two classes, (n, 2)."""
        positive = expit(self.decision_function(X))
        return np.column_stack([1 - positive, positive])

    def predict(self, X: Array) -> np.ndarray:
        """Return the likelier class of each person, (n,)."""
        likely = (self.decision_function(X) > 0).astype(int)
        return np.asarray(self.classes_[likely])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.classifier_tags.multi_class = False
        return tags


@contextmanager
def all_or_nothing(estimator: Any) -> Iterator[None]:
    """Leave an estimator as it was where what is done to it fails."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
