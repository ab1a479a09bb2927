"""Whether a column holds numbers or categories: the one place that knows."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from enum import Enum
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd

from otfair.tables._columns import Column, Columns, chosen_names

MAX_CODES = 10  # distinct whole numbers, in a sensitive column, that are names of groups
MAX_GROUPS = 50  # of a sensitive column; more are hardly meant
CATEGORIES = (nw.String, nw.Categorical, nw.Enum, nw.Boolean)
# A column of objects is judged by its values; these are pandas' words for what they are.
OBJECT_NUMBERS = ("integer", "floating", "mixed-integer-float", "decimal")
OBJECT_CATEGORIES = ("string", "boolean", "categorical", "empty")
OBJECT_MIXED = ("mixed", "mixed-integer")
# Words in the name of a column of whole numbers that say that it is a quantity, or that it is not.
QUANTITIES = {
    "age", "ages", "year", "years", "month", "months", "week", "weeks", "day", "days", "hour",
    "hours", "minutes", "seconds", "duration", "tenure", "experience", "seniority", "count",
    "counts", "amount", "income", "salary", "wage", "price", "balance", "score", "size", "children",
}  # fmt: skip
PARTS = {"group", "groups", "band", "bands", "bin", "bins", "class", "code", "codes", "id", "cat"}


class Kind(Enum):
    """What a column holds."""

    NUMBER = "number"
    GROUP = "groups"  # text, booleans, categories
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


# Sensitive columns: groups, or a number


def sensitive_kinds(
    columns: Sequence[Column],
    continuous: Columns = (),
    categorical: Columns = (),
    among: Sequence[Column] | None = None,
) -> dict[str, Kind]:
    """Return whether each sensitive column is groups or a number, and warn where it may be either.

    A user's choices, `continuous` and `categorical`, refer to the columns that it is `among`.
    """
    kinds = chosen_kinds(columns if among is None else among, continuous, categorical)
    for column in columns:
        name = str(column.name)
        if name not in kinds and not looks_categorical(column) and may_be_codes(column):
            values = column.values
            warnings.warn(
                f"sensitive column {name!r} is read as a number: it holds {len(np.unique(values))} "
                f"whole numbers, from {values.min():.0f} to {values.max():.0f}. If they are codes "
                f"of groups, say so by `categorical={name!r}` of the notion, the metric or `audit` "
                f"(on the command line, `--sensitive {name}:categorical`); if it is a number, by "
                f"`continuous={name!r}`.",
                stacklevel=3,
            )
        kinds.setdefault(name, Kind.GROUP if looks_categorical(column) else Kind.NUMBER)
    return kinds


def chosen_kinds(
    columns: Sequence[Column], continuous: Columns, categorical: Columns
) -> dict[str, Kind]:
    """Return the kinds of the columns that a user names as numbers or groups."""
    numbers = chosen_names(continuous, columns, "continuous")
    groups = chosen_names(categorical, columns, "categorical")
    if both := sorted(numbers & groups):
        raise ValueError(
            f"sensitive columns {both} are named as both continuous and categorical, and a column "
            "is read in one way. Name them once."
        )
    return dict.fromkeys(numbers, Kind.NUMBER) | dict.fromkeys(groups, Kind.GROUP)


def looks_categorical(column: Column) -> bool:
    """Whether a sensitive column is read as groups by default.

    A few whole numbers are, whatever their type: one missing value makes 1.0 of 1 in pandas.
    """
    values = column.values
    return not is_number(values) or (is_whole(values) and len(np.unique(values)) <= MAX_CODES)


def is_whole(values: np.ndarray) -> bool:
    """Whether all numbers are whole; infinity is none."""
    if values.dtype.kind in "iu":
        return True
    return bool((np.isfinite(values) & (values == np.round(values))).all())


def may_be_codes(column: Column) -> bool:
    """Whether whole numbers may be codes of many groups: they come again, and no name denies it."""
    values = column.values
    if not is_whole(values) or len(np.unique(values)) == len(values):
        return False
    words = re.findall(r"[a-z]+|[A-Z]+(?![a-z])|[A-Z][a-z]*", str(column.name))
    said = {word.lower() for word in words}
    return not said & QUANTITIES or bool(said & PARTS)


def _has_scalars(column: Any) -> bool:
    """Whether values of several types can each be a category, as lists and dicts can't."""
    types = pd.api.types
    return all(types.is_hashable(value) and not types.is_list_like(value) for value in column)
