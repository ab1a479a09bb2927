"""Arrays, tensors and tables in; float64 tensors and plain columns out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
import torch
from scipy.sparse import issparse
from torch import Tensor

Array: TypeAlias = Any  # what the user holds: np.ndarray, Tensor, a pandas or polars object, a list


@dataclass(frozen=True)
class Column:
    """One column of a table: its name (None when it has none), values, and declared categories."""

    name: str | None
    values: np.ndarray  # (n,): bool, integer, float or str
    categories: tuple[str, ...] | None = None  # declared by the table, present or not


def to_tensor(
    values: Array, name: str, *, ndim: int | None = None, device: torch.device | None = None
) -> Tensor:
    """Return `values` as a finite float64 tensor, or say what is wrong with them."""
    columns = getattr(values, "columns", None)
    if not isinstance(values, Tensor):
        if issparse(values):
            values = values.toarray()
        elif hasattr(values, "to_numpy"):
            values = values.to_numpy()
            if values.dtype.kind == "O":  # missing values of every kind become NaN
                values = np.frompyfunc(lambda v: np.nan if _is_missing(v) else v, 1, 1)(values)
        try:
            values = torch.from_numpy(np.array(values, dtype=np.float64, order="C"))
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"`{name}` must be numeric; it could not be read as numbers ({error}). "
                "Encode strings and categories first, for example with one-hot columns."
            ) from None
    tensor: Tensor = values.detach().to(device=device, dtype=torch.float64)
    if ndim is not None and tensor.ndim != ndim:
        raise ValueError(
            f"`{name}` must have {ndim} dimension(s); received shape {tuple(tensor.shape)}. "
            "Reshape it, for example with `.reshape(-1)` or `.reshape(len(x), -1)`."
        )
    if not math.isfinite(tensor.sum()) and not bool(torch.isfinite(tensor).all()):
        bad = torch.nonzero(~torch.isfinite(tensor))
        first = tuple(bad[0].tolist())
        where = "" if columns is None else f" (column {columns[first[-1]]!r})"
        raise ValueError(
            f"`{name}` must be finite; {len(bad)} of {tensor.numel()} entries are NaN or infinite, "
            f"the first at {first}{where}. Drop those people or impute the values."
        )
    return tensor


def to_vector(
    values: Array, name: str, n: int, of: str = "person", device: torch.device | None = None
) -> Tensor:
    """Return `values` as a finite float64 tensor of n entries, or say what is wrong with them."""
    vector = to_tensor(values, name, device=device)
    if vector.shape != (n,):
        raise ValueError(
            f"`{name}` must have one entry a {of}: {n}; received shape {tuple(vector.shape)}."
        )
    return vector


def check_weight(sample_weight: Array, n: int, device: torch.device | None = None) -> Tensor:
    """Return the weights as a tensor, one by default."""
    if sample_weight is None:
        return torch.ones(n, dtype=torch.float64, device=device)
    weight = to_vector(sample_weight, "sample_weight", n, device=device).clone()
    if bool((weight < 0).any()) or float(weight.sum()) < 1e-150:
        raise ValueError(
            "`sample_weight` must be non-negative and not all zero (or nearly); "
            f"the smallest is {float(weight.min()):.3g}, the sum {float(weight.sum()):.3g}."
        )
    return weight


def to_index(values: Array, n: int, name: str, device: torch.device | None = None) -> Tensor:
    """Return indices of some of n people, given as integers or as one boolean a person."""
    index = torch.as_tensor(values if isinstance(values, Tensor) else np.array(values))
    whole = not index.is_floating_point() and index.ndim == 1
    if index.dtype is torch.bool:
        whole = index.shape == (n,)
        index = torch.nonzero(index.flatten()).squeeze(1)
    if not whole or not len(index) or int(index.min()) < -n or int(index.max()) >= n:
        raise ValueError(
            f"`{name}` must choose at least one of {n} people, by integers below {n} or by one "
            f"boolean a person; received {index.dtype} of shape {tuple(index.shape)}."
        )
    return index.to(device=device, dtype=torch.long)


def is_tensor(*values: Array) -> bool:
    """Whether any of the user's arguments is a torch tensor, so that results should be too."""
    return any(isinstance(value, Tensor) for value in values)


def like_input(tensor: Tensor, as_tensor: bool) -> Array:
    """Return a copy in the kind of array the user works with, theirs to overwrite."""
    return tensor.clone() if as_tensor else tensor.cpu().numpy().copy()


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
        missing = np.array([_is_missing(v) for v in values], dtype=bool)
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
    text = np.array([v if _is_missing(v) else str(v) for v in values], dtype=object)
    return Column(name, text, categories)


def _dense(series: Any) -> np.ndarray:
    values = series.to_numpy()
    return np.array(values.tolist()) if values.dtype.kind == "O" else np.asarray(values)


def _is_missing(value: object) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating)) and bool(value != value)


def _refuse_missing(column: Column, argument: str, position: int) -> None:
    values = column.values
    if values.dtype.kind == "O":
        missing = np.array([_is_missing(v) for v in values], dtype=bool)
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
