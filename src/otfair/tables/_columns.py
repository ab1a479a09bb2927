"""Columns of a table, whatever library made it, a user's choice of some, and their indexes."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
import pandas as pd
import torch
from torch import Tensor

from otfair._io.arrays import ArgumentError, Array, is_missing

Columns: TypeAlias = Sequence[str | int] | str | int


@dataclass(frozen=True)
class Column:
    """One column of a table: its name (None when it has none), values, and declared categories."""

    name: str | None
    values: np.ndarray  # (n,): bool, integer, float or str
    categories: tuple[str, ...] | None = None  # declared by the table, present or not


def to_columns(table: Array, argument: str) -> list[Column]:
    """Split a table or array into columns, refusing missing values by the column's name."""
    columns = [
        _from_series(name, part) if isinstance(part, nw.Series) else _from_array(name, part)
        for name, part in _split(table, argument)
    ]
    if not columns:
        raise ArgumentError(argument, "has no columns; pass at least one.")
    for position, column in enumerate(columns):
        _refuse_missing(column, argument, position)
    return columns


def to_frame(table: Array, argument: str, single: str) -> pd.DataFrame:
    """Return any table, array or dict of columns as a pandas table with names of text.

    Missing values stay missing. A column without a name is called `single`.
    """
    parts = _split(table, argument)
    names = _names([name for name, _ in parts], single)
    return pd.DataFrame({name: _as_pandas(part) for name, (_, part) in zip(names, parts)})


def to_series(table: Array, argument: str, single: str) -> pd.Series[Any]:
    """Return what must be one column as pandas holds it."""
    frame = to_frame(table, argument, single)
    _refuse_several(len(frame.columns), argument)
    return frame.iloc[:, 0]


def one_below(columns: Sequence[pd.Series[Any]]) -> pd.Series[Any]:
    """Put columns below each other; categories stay declared, those of all of them."""
    if all(isinstance(c.dtype, pd.CategoricalDtype) for c in columns):
        declared = dict.fromkeys(v for c in columns for v in c.cat.categories)
        kind = pd.CategoricalDtype([*declared], ordered=columns[0].cat.ordered)
        columns = [c.astype(kind) for c in columns]
    return pd.concat(columns, ignore_index=True)


def to_narwhals(table: Array, argument: str) -> nw.DataFrame[Any] | nw.Series[Any] | None:
    """Return what is a data frame or a series of any library as narwhals knows it; else None."""
    try:
        native = nw.from_native(table, allow_series=True, pass_through=True)
    except nw.exceptions.DuplicateError:
        names = [str(name) for name in table.columns]
        twice = sorted({name for name in names if names.count(name) > 1})
        raise ArgumentError(
            argument, f"must have unique names, but has columns of one name: {twice}. Rename them."
        ) from None
    if isinstance(native, nw.LazyFrame):
        raise TypeError("a lazy table has no rows yet; call `.collect()` on it first.")
    return native if isinstance(native, (nw.DataFrame, nw.Series)) else None


def _split(table: Array, argument: str) -> list[tuple[str | None, Any]]:
    """Return the name of each column, if it has one, and the column: of narwhals, or an array."""
    if isinstance(table, Mapping):
        parts: list[tuple[str | None, Any]] = []
        for key, values in table.items():
            inner = _split(values, argument)
            _refuse_several(len(inner), f"{argument}[{key!r}]")
            parts.append((str(key), inner[0][1]))
        lengths = {name: len(part) for name, part in parts}
        if len(set(lengths.values())) > 1:
            raise ArgumentError(argument, f"has columns of different lengths: {lengths}.")
        return parts
    if isinstance(table, (pd.Index, pd.api.extensions.ExtensionArray)):  # such as a Categorical
        table = pd.Series(table)
    native = to_narwhals(table, argument)
    if native is not None:
        series = [native] if isinstance(native, nw.Series) else native.iter_columns()
        return [(None if s.name in (None, "") else str(s.name), s) for s in series]
    array = _as_array(table)
    if array.ndim not in (1, 2):
        raise ArgumentError(argument, f"must have 1 or 2 dimensions; received shape {array.shape}.")
    return [(None, array)] if array.ndim == 1 else [(None, column) for column in array.T]


def _refuse_several(count: int, argument: str) -> None:
    if count != 1:
        hint = " Of `predict_proba(X)` pass the last column, `[:, 1]`." * (argument == "scores")
        raise ArgumentError(argument, f"must be one column; received {count}.{hint}")


def _as_array(values: Array) -> np.ndarray:
    if isinstance(values, Tensor):
        values = values.detach().cpu()
        values = (values.float() if values.dtype is torch.bfloat16 else values).numpy()
    array = np.asarray(values)
    if array.dtype.kind in "US" and not isinstance(values, np.ndarray):
        return np.array(values, dtype=object)  # or else NaN among text becomes the text "nan"
    return array.astype(object) if array.dtype.kind == "T" else array


def _as_pandas(part: Any) -> pd.Series[Any]:
    """Return a column as pandas holds it best, whatever library it came from."""
    if not isinstance(part, nw.Series):
        return pd.Series(part).infer_objects()
    native = part.to_native()
    if isinstance(native, pd.Series):
        return native.reset_index(drop=True)
    if part.dtype.is_numeric() and part.dtype != nw.Decimal:
        return pd.Series(part.to_numpy())
    if part.dtype in (nw.Categorical, nw.Enum):
        part = part.cast(nw.String)
    return pd.Series(part.to_list(), dtype=object).infer_objects()


def _from_array(name: str | None, values: np.ndarray) -> Column:
    if values.dtype.kind == "O":
        if any(map(is_missing, values)):  # keep the gaps visible as NaN or None
            return Column(name, values)
        flat = np.array(values.tolist())
        values = flat if flat.ndim == 1 else values  # lists are no values
    if values.dtype.kind not in "biufUS":
        raise ValueError(
            f"column {name or '(without a name)'!r} has type {values.dtype}, which is neither a "
            "number nor a category; bin it or turn it into text first."
        )
    return Column(name, values)


def _from_series(name: str | None, series: Any) -> Column:
    dtype = series.dtype
    if dtype in (nw.Categorical, nw.Enum):
        declared = getattr(dtype, "categories", None)  # an Enum's, or else pandas' own
        if declared is None:
            declared = getattr(getattr(series.to_native(), "cat", None), "categories", None)
        text = [v if is_missing(v) else str(v) for v in series.to_list()]
        categories = None if declared is None else tuple(str(c) for c in declared)
        return Column(name, np.array(text, dtype=object), categories)
    if dtype == nw.Decimal:
        series = series.cast(nw.Float64)
    if (dtype.is_numeric() or dtype == nw.Boolean) and not series.is_null().any():
        return _from_array(name, np.asarray(series.to_numpy()))
    values = np.array([*series.to_list(), None], dtype=object)[:-1]  # lists stay what they are
    return _from_array(name, values)


def _refuse_missing(column: Column, argument: str, position: int) -> None:
    if column.values.dtype.kind == "O":
        missing = np.array([is_missing(v) for v in column.values], dtype=bool)
    elif column.values.dtype.kind == "f":
        missing = ~np.isfinite(column.values)
    else:
        return
    if missing.any():
        label = repr(column.name) if column.name is not None else f"number {position}"
        raise ArgumentError(
            argument,
            f"column {label} has {int(missing.sum())} missing or infinite values, the first in row "
            f"{int(missing.argmax())}. Drop those people, or give the missing ones a category of "
            "their own.",
        )


def named(columns: list[Column], single: str = "group") -> list[Column]:
    """Give columns without a name one, and refuse two of the same name."""
    names = _names([c.name for c in columns], single)
    return [replace(c, name=name) for c, name in zip(columns, names)]


def _names(names: list[str | None], single: str) -> list[str]:
    if names == [None]:
        return [single]
    called = [f"{single}{j}" if name is None else name for j, name in enumerate(names)]
    if repeated := {name for name in called if called.count(name) > 1}:
        raise ValueError(f"column names must differ; {sorted(repeated)} come twice.")
    return called


def as_columns(chosen: Columns | None) -> tuple[str | int, ...]:
    """Return a choice of columns, by name or position, as a tuple."""
    if chosen is None or isinstance(chosen, (str, int, np.integer)):
        chosen = () if chosen is None else [chosen]
    return tuple(c if isinstance(c, str) else operator.index(c) for c in chosen)


def chosen_names(chosen: Columns, columns: Sequence[Column], argument: str) -> set[str]:
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


# Rows are joined by their position; indexes of pandas that say otherwise are an error.


def same_people(given: Mapping[str, Array]) -> None:
    """Raise where two arguments have indexes of their own that are not the same.

    A default index, 0 to n - 1, says nothing, unless it holds the other's labels in another order.
    """
    found = [(name, index) for name, values in given.items() for index in _indexes(values)]
    for j, (name, index) in enumerate(found):
        for earlier, other in found[:j]:
            if len(index) != len(other) or index.equals(other):
                continue  # lengths are compared elsewhere
            shuffled = bool(index.isin(other).all() and other.isin(index).all())
            if shuffled or not (_is_default(index) or _is_default(other)):
                order = "the same labels in another order" if shuffled else "other labels"
                raise ValueError(
                    f"the index of `{name}` has {order} than that of `{earlier}`, yet rows are "
                    f"joined by position. Align them, as with `.loc[{earlier}.index]`, or pass "
                    "`.to_numpy()` if their order is right."
                )


def _indexes(values: Array) -> list[pd.Index]:
    if isinstance(values, Mapping):
        return [index for column in values.values() for index in _indexes(column)]
    return [values.index] if isinstance(values, (pd.Series, pd.DataFrame)) else []


def _is_default(index: pd.Index) -> bool:
    return index.equals(pd.RangeIndex(len(index)))
