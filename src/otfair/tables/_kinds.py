"""Whether a column holds numbers or the names of groups."""

from __future__ import annotations

import numpy as np

from otfair.tables._columns import Column

MAX_CATEGORICAL_INTEGERS = 10


def looks_categorical(column: Column) -> bool:
    """Whether a column is read as groups unless told otherwise."""
    kind = column.values.dtype.kind
    if kind in "iu":
        return len(np.unique(column.values)) <= MAX_CATEGORICAL_INTEGERS
    return kind != "f"
