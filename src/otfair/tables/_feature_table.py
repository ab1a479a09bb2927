"""Tables of features as scikit-learn wants them: never empty, with the columns of `fit`."""

from __future__ import annotations

import warnings
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from sklearn.utils.validation import check_array

from otfair.tables._columns import to_narwhals


def as_table(X: Any) -> tuple[nw.DataFrame[Any], bool]:
    """Any input as a table, and whether its columns have names of their own."""
    table = to_narwhals(X, "X")
    if not isinstance(table, nw.DataFrame):
        # A list of rows may mix types: as objects, they keep them.
        rows = np.asarray(X, dtype=object) if isinstance(X, list | tuple) else X
        rows = check_array(rows, dtype=None, ensure_all_finite=False)
        return _without_names(pd.DataFrame(rows)), False
    kinds = {type(name).__name__ for name in table.columns if not isinstance(name, str)}
    if kinds and any(isinstance(name, str) for name in table.columns):
        raise TypeError(
            f"Column names must be text, all of them or none; got text and {', '.join(kinds)}. "
            "Convert them: `X.columns = X.columns.astype(str)`."
        )
    rows, columns = table.shape
    for count, what in ((rows, "sample(s)"), (columns, "feature(s)")):
        if count == 0:
            raise ValueError(
                f"Found a table with 0 {what} (shape=({rows}, {columns})) while a minimum of 1 is "
                "required."
            )
    return (_without_names(X), False) if kinds else (table, True)


def _without_names(table: pd.DataFrame) -> nw.DataFrame[Any]:
    names = [f"x{i}" for i in range(table.shape[1])]
    return nw.from_native(table.set_axis(names, axis=1), eager_only=True)


def check_columns(owner: Any, columns: list[str], named: bool) -> None:
    """Compare with the columns that an estimator saw in `fit`, in the words of scikit-learn."""
    own = type(owner).__name__
    fitted_names = getattr(owner, "feature_names_in_", None)
    if named and fitted_names is None:
        warnings.warn(
            f"X has feature names, but {own} was fitted without feature names",
            stacklevel=3,
        )
    elif not named and fitted_names is not None:
        warnings.warn(
            f"X does not have valid feature names, but {own} was fitted with feature names",
            stacklevel=3,
        )
    elif named and fitted_names is not None and columns != list(fitted_names):
        missing = [name for name in fitted_names if name not in columns]
        extra = [name for name in columns if name not in fitted_names]
        details = ""
        if extra:
            details += f"\nFeature names unseen at fit time: {', '.join(extra)}."
        if missing:
            details += f"\nFeature names seen at fit time, yet now missing: {', '.join(missing)}."
        if not details:
            details = "\nFeature names must be in the same order as they were in fit."
        raise ValueError(
            f"The feature names should match those that were passed during fit.{details}\n"
            f"Select the columns {own} was fitted on: `X[list(fitted.feature_names_in_)]`."
        )
    if len(columns) != owner.n_features_in_:
        raise ValueError(
            f"X has {len(columns)} features, but {own} is expecting "
            f"{owner.n_features_in_} features as input."
        )
