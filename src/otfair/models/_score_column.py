"""`ScoreColumn`: a classifier whose scores are there already, as a column of the table."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from otfair._io.arrays import Array
from otfair._io.checks import brief, check_classes, check_width, require
from otfair._io.saved import SaveMixin
from otfair.tables import is_number, to_frame, two_classes


class ScoreColumn(SaveMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose scores are a column of the table, made by whatever model.

    It learns nothing. With it `FairDecisions` makes a rule for scores of which the model is not at
    hand: ``FairDecisions(ScoreColumn("p"), max_difference=0.05)``.

    Parameters
    ----------
    column : str or int
        Name of the column, or its position, that holds the scores of the positive class, from 0
        to 1.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The classes; the second is the positive one.
    n_features_in_ : int
        Columns of the table, that of the scores included.

    Examples
    --------
    >>> import pandas as pd
    >>> from otfair import ScoreColumn
    >>> table = pd.DataFrame({"p": [0.2, 0.9], "age": [31, 42]})
    >>> ScoreColumn("p").fit(table, [0, 1]).predict_proba(table)
    array([[0.8, 0.2],
           [0.1, 0.9]])
    """

    _fitted = ("classes_", "n_features_in_", "feature_names_in_")

    def __init__(self, column: str | int) -> None:
        self.column = column

    def fit(self, X: Array, y: Array) -> Self:
        """Note the classes and the columns.

        Parameters
        ----------
        X : table or array of shape (n_samples, n_features)
            One row per person.
        y : array-like of shape (n_samples,)
            Labels of two classes.

        Returns
        -------
        ScoreColumn
            The classifier itself.
        """
        self._scores(X)
        self.classes_, _ = two_classes(np.asarray(y))
        self.n_features_in_ = int(np.shape(X)[1])
        if hasattr(X, "columns"):
            self.feature_names_in_ = np.asarray([str(name) for name in X.columns], dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def predict_proba(self, X: Array) -> np.ndarray:
        """Return the scores of the two classes.

        Parameters
        ----------
        X : table or array of shape (n_samples, n_features)
            As for `fit`.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            The column is the second one.
        """
        check_is_fitted(self)
        scores = self._scores(X)
        return np.column_stack([1 - scores, scores])

    def predict(self, X: Array) -> np.ndarray:
        """Return the class whose score is the larger one.

        Parameters
        ----------
        X : table or array of shape (n_samples, n_features)
            As for `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
            One class for each row.
        """
        check_is_fitted(self)
        return np.asarray(self.classes_[(self._scores(X) > 0.5).astype(int)])

    def _scores(self, X: Array) -> np.ndarray:
        frame = to_frame(X, "X", "x")
        names = list(frame.columns)
        place = names.index(self.column) if self.column in names else self.column
        if not isinstance(place, int) or not 0 <= place < len(names):
            raise ValueError(
                f"there is no column {self.column!r} of scores; the columns are {names[:20]}."
            )
        column = frame.iloc[:, place]
        if not is_number(column):
            raise ValueError(f"the scores in column {self.column!r} must be numbers from 0 to 1.")
        scores = column.to_numpy(dtype=np.float64, na_value=np.nan)
        wrong = ~((scores >= 0) & (scores <= 1))
        if wrong.any():
            raise ValueError(
                f"the scores in column {self.column!r} must lie from 0 to 1; {int(wrong.sum())} of "
                f"{len(scores)} do not, the first is {scores[wrong.argmax()]:g}."
            )
        return scores

    @staticmethod
    def _check_fitted(state: Any) -> None:
        check_width(state)
        check_classes(state)

    def _check_loaded(self) -> None:
        column, names = self.column, getattr(self, "feature_names_in_", ())
        place = type(column) is int and 0 <= column < self.n_features_in_
        require(place or column in list(names), f"there is no column {brief(column)} of scores")
