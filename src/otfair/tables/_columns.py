"""Columns of a table, whatever library made it, and a user's choice of some of them."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
import torch
from torch import Tensor

from otfair._io.arrays import Array, is_missing

Columns: TypeAlias = Sequence[str | int] | str | int


@dataclass(frozen=True)
class Column:
    """One column of a table: its name (None when it has none), values, and declared categories."""

    name: str | None
    values: np.ndarray  # (n,): bool, integer, float or str
    categories: tuple[str, ...] | None = None  # declared by the table, present or not


def to_columns(table: Array, argument: str) -> list[Column]:
    """Split a table or array into columns, refusing missing values by the column's name."""
    named = _columns(table, argument)
    if not named:
        raise ValueError(f"`{argument}` has no columns; pass at least one.")
    lengths = {str(c.name): len(c.values) for c in named}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"`{argument}` has columns of different lengths: {lengths}.")
    for position, column in enumerate(named):
        _refuse_missing(column, argument, position)
    return named


def _columns(table: Array, argument: str) -> list[Column]:
    if isinstance(table, Mapping):
        return [replace(c, name=str(k)) for k, v in table.items() for c in _columns(v, argument)]
    if isinstance(table, Tensor):
        tensor = table.detach().cpu()
        tensor = tensor.float() if tensor.dtype is torch.bfloat16 else tensor
        return _from_matrix(tensor.numpy(), argument)
    if (frame := _as_narwhals(table, argument)) is not None:
        series = [frame] if isinstance(frame, nw.Series) else frame.iter_columns()
        return [_from_series(s) for s in series]
    if getattr(table, "categories", None) is not None:  # a pandas Categorical by itself
        return [_from_categories(None, list(table), table.categories)]
    return _from_matrix(_as_array(table), argument)


def _as_narwhals(table: Array, argument: str) -> Any:
    try:
        native = nw.from_native(table, eager_only=True, allow_series=True, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise ValueError(f"`{argument}`: {error}. Rename these columns.") from None
    return native if isinstance(native, (nw.DataFrame, nw.Series)) else None


def _as_array(values: Array) -> np.ndarray:
    array = np.asarray(values)
    if array.dtype.kind in "US" and not isinstance(values, np.ndarray):
        return np.array(values, dtype=object)  # or else NaN beside text becomes the text "nan"
    return array


def _from_matrix(values: np.ndarray, argument: str) -> list[Column]:
    if values.ndim == 1:
        return [_from_array(values, None)]
    if values.ndim != 2:
        raise ValueError(f"`{argument}` must have 1 or 2 dimensions; received {values.shape}.")
    return [_from_array(values[:, j], None) for j in range(values.shape[1])]


def _from_array(values: np.ndarray, name: str | None) -> Column:
    if values.dtype.kind in "OT":
        missing = np.array([is_missing(v) for v in values], dtype=bool)
        if missing.any():  # keep the gaps visible as NaN or None for `_refuse_missing`
            return Column(name, values.astype(object))
        values = np.array(values.tolist())
    if values.dtype.kind not in "biufUS":
        raise ValueError(
            f"column {name or '(without a name)'!r} has type {values.dtype}, which is neither a "
            "number nor a category; bin it or turn it into text first."
        )
    return Column(name, values)


def _from_series(series: Any) -> Column:
    name = None if series.name in (None, "") else str(series.name)
    dtype = series.dtype
    if dtype in (nw.Categorical, nw.Enum):
        declared = getattr(dtype, "categories", None)  # an Enum's, or else pandas' own
        if declared is None:
            declared = getattr(getattr(series.to_native(), "cat", None), "categories", None)
        return _from_categories(name, series.to_list(), declared)
    if dtype == nw.Decimal:
        series = series.cast(nw.Float64)
    if dtype.is_numeric() or dtype == nw.Boolean:
        has_gaps = bool(series.is_null().any())
        return Column(
            name, np.array(series.to_list(), dtype=object) if has_gaps else _dense(series)
        )
    return _from_array(np.array([*series.to_list(), None], dtype=object)[:-1], name)


def _from_categories(name: str | None, values: list[object], declared: Any) -> Column:
    categories = None if declared is None else tuple(str(c) for c in declared)
    text = np.array([v if is_missing(v) else str(v) for v in values], dtype=object)
    return Column(name, text, categories)


def _dense(series: Any) -> np.ndarray:
    values = series.to_numpy()
    return np.array(values.tolist()) if values.dtype.kind == "O" else np.asarray(values)


def _refuse_missing(column: Column, argument: str, position: int) -> None:
    values = column.values
    if values.dtype.kind == "O":
        missing = np.array([is_missing(v) for v in values], dtype=bool)
    elif values.dtype.kind == "f":
        missing = ~np.isfinite(values)
    else:
        return
    if missing.any():
        label = repr(column.name) if column.name is not None else f"number {position}"
        raise ValueError(
            f"`{argument}` column {label} has {int(missing.sum())} missing or infinite values, "
            f"the first in row {int(missing.argmax())}. Drop those people, or give the missing "
            "ones a category of their own."
        )


def named(columns: list[Column], single: str = "group") -> list[Column]:
    """Give columns without a name one, and refuse two of the same name."""
    if len(columns) == 1 and columns[0].name is None:
        return [Column(single, columns[0].values, columns[0].categories)]
    out = [
        c if c.name is not None else Column(f"{single}{j}", c.values, c.categories)
        for j, c in enumerate(columns)
    ]
    names = [c.name for c in out]
    if repeated := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"column names must differ; {sorted(map(str, repeated))} come twice.")
    return out


def as_columns(chosen: Columns | None) -> tuple[str | int, ...]:
    """Return a choice of columns, by name or position, as a tuple."""
    if chosen is None or isinstance(chosen, (str, int, np.integer)):
        chosen = () if chosen is None else [chosen]
    return tuple(c if isinstance(c, str) else operator.index(c) for c in chosen)


def chosen_names(chosen: Columns, columns: list[Column], argument: str) -> set[str]:
    """Return the names of the columns that a user chose by name or position."""
    names = [str(c.name) for c in columns]
    out = set()
    for item in as_columns(chosen):
        if str(item) in names:  # which may be a number, too
            out.add(str(item))
        elif isinstance(item, int) and -len(names) <= item < len(names):
            out.add(names[item])
        else:
            raise ValueError(f"`{argument}` names {item!r}; the columns are {names}.")
    return out
