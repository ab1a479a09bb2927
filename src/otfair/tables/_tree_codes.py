"""Tables as trees see them: numbers as they are, categories as codes, gaps as NaN."""

from __future__ import annotations

from typing import Any

import numpy as np

from otfair.tables._encoded_column import EncodedColumn
from otfair.tables._feature_table import as_table, check_columns


def tree_matrix(owner: Any, X: Any, columns: list[EncodedColumn]) -> np.ndarray:
    """Return a table as floats, (n, p), by what a `TableEncoder` learnt of each column.

    The table must have the columns that `owner`, an estimator, saw in `fit`.
    """
    table, named = as_table(X)
    check_columns(owner, table.columns, named)
    pairs = zip(columns, table.iter_columns(), strict=True)
    return np.column_stack([learnt.tree_codes(column) for learnt, column in pairs])


def is_category(columns: list[EncodedColumn]) -> np.ndarray:
    """Whether each column is a category, (p,)."""
    return np.array([column.levels is not None for column in columns])
