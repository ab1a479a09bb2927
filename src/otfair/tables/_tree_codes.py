"""Tables as trees see them: numbers as they are, categories as codes, gaps as NaN."""

from __future__ import annotations

from typing import Any

import numpy as np

from otfair.tables._encoder import (
    UNKNOWN,
    EncodedColumn,
    TableEncoder,
    _as_table,
    _numbers_again,
    _positions_again,
)


def tree_matrix(owner: Any, X: Any, columns: list[EncodedColumn]) -> np.ndarray:
    """Return a table as floats, (n, p); a category that was not learnt is missing.

    Parameters
    ----------
    owner : the estimator whose `n_features_in_` and `feature_names_in_` the table must match.
    X : a table or an array.
    columns : what a `TableEncoder` learnt of each column.
    """
    table, named = _as_table(X)
    TableEncoder._check_columns(owner, table.columns, named)
    out = np.empty((len(table), len(columns)))
    for j, (learnt, name) in enumerate(zip(columns, table.columns, strict=True)):
        column = table.get_column(name)
        if learnt.levels is None:
            out[:, j] = _numbers_again(column)
        else:
            codes = _positions_again(column, learnt.levels, False)
            out[:, j] = np.where(codes == UNKNOWN, np.nan, codes)
    return out


def is_category(columns: list[EncodedColumn]) -> np.ndarray:
    """Whether each column is a category, (p,)."""
    return np.array([column.levels is not None for column in columns])
