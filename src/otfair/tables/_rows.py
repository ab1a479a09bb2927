"""Rows of any table or array: which have a value in every column, and some of them."""

from __future__ import annotations

from collections.abc import Mapping

import narwhals as nw
import numpy as np
import torch
from torch import Tensor

from otfair._io.arrays import Array
from otfair.tables._columns import to_frame


def known_rows(table: Array, argument: str) -> np.ndarray:
    """Return which rows, (n,) bool, have a value in every column."""
    return ~to_frame(table, argument, "group").isna().any(axis=1).to_numpy(dtype=bool)


def take_rows(table: Array, rows: np.ndarray) -> Array:
    """Return some rows of a table or array of any kind, as that kind."""
    if isinstance(table, Mapping):
        return {name: take_rows(column, rows) for name, column in table.items()}
    if isinstance(table, Tensor):
        return table[torch.from_numpy(np.asarray(rows)).to(table.device)]
    native = nw.from_native(table, eager_only=True, allow_series=True, pass_through=True)
    if isinstance(native, (nw.DataFrame, nw.Series)):
        return native[rows].to_native()
    if hasattr(table, "take"):  # NumPy's, and pandas' own arrays and indexes
        return table.take(rows, axis=0) if isinstance(table, np.ndarray) else table.take(rows)
    return [table[row] for row in rows]
