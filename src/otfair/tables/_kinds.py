"""Whether a column holds numbers or categories: the one place that knows."""

from __future__ import annotations

from enum import Enum
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd

from otfair.tables._columns import Column

MAX_CATEGORICAL_INTEGERS = 10  # distinct ones, in a sensitive column, that are names of groups
MAX_GROUPS = 50  # of a sensitive column; more are hardly meant
CATEGORIES = (nw.String, nw.Categorical, nw.Enum, nw.Boolean)
# A column of objects is judged by its values; these are pandas' words for what they are.
OBJECT_NUMBERS = ("integer", "floating", "mixed-integer-float", "decimal")
OBJECT_CATEGORIES = ("string", "boolean", "categorical", "empty")
OBJECT_MIXED = ("mixed", "mixed-integer")


class Kind(Enum):
    """What a column holds."""

    NUMBER = "number"
    GROUP = "group"  # text, booleans, categories
    OTHER = "other"  # dates, lists and the like


def kind_of(column: Any) -> Kind:
    """Return what a column of pandas, NumPy or narwhals holds; gaps don't count."""
    if isinstance(column, nw.Series) and column.dtype != nw.Object:
        if column.dtype.is_numeric():
            return Kind.NUMBER
        return Kind.GROUP if column.dtype in CATEGORIES else Kind.OTHER
    inferred = type_name(column)
    if inferred in OBJECT_NUMBERS:
        return Kind.NUMBER
    if inferred in OBJECT_CATEGORIES or (inferred in OBJECT_MIXED and _has_scalars(column)):
        return Kind.GROUP
    return Kind.OTHER


def is_number(column: Any) -> bool:
    """Whether a column holds numbers."""
    return kind_of(column) is Kind.NUMBER


def type_name(column: Any) -> str:
    """Return what to call the type of a column's values."""
    if isinstance(column, nw.Series):
        if column.dtype != nw.Object:
            return str(column.dtype)
        column = column.to_numpy()
    return pd.api.types.infer_dtype(column, skipna=True)


def looks_categorical(column: Column) -> bool:
    """Whether a sensitive column is read as groups by default; a few whole numbers are."""
    if not is_number(column.values):
        return True
    few = MAX_CATEGORICAL_INTEGERS
    return column.values.dtype.kind in "iu" and len(np.unique(column.values)) <= few


def _has_scalars(column: Any) -> bool:
    """Whether values of several types can each be a category, as lists and dicts can't."""
    types = pd.api.types
    return all(types.is_hashable(value) and not types.is_list_like(value) for value in column)
