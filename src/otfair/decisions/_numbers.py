"""A number for each person, made from their features: the same for the same person always.

Features count by their value, not by how a table holds them: 1, 1.0 and True are one number in a
column of any type, and all gaps are one gap. So a person has one number alone or among others, in
pandas, polars or NumPy, in single and in double precision.
"""

from __future__ import annotations

import hashlib
import numbers
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.utils import check_random_state

from otfair._io.arrays import Array
from otfair.tables import to_frame

JITTER = 1e-6  # of a score, by which ties are broken
GAP = np.uint64(0x9E3779B97F4A7C15)  # the hash of a missing value
ROWS = 10_000  # of a sparse table, read at a time


def seed_of(random_state: Any) -> int:
    """Return a whole number for a `random_state`, which may be None or a generator."""
    if isinstance(random_state, numbers.Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31))


def jitter(X: Array, seed: int) -> np.ndarray:
    """Return a small number for each person, by which ties are broken, (n,)."""
    return np.asarray(JITTER * (_number(X, f"ties {seed}") - 0.5))


def number_of(X: Array, seed: int) -> np.ndarray:
    """Return a number in [0, 1) for each person, by which they are spread over rules, (n,)."""
    return _number(X, f"rules {seed}")


def _number(X: Array, key: str) -> np.ndarray:
    """Return a hash of each person's features in [0, 1), another one for each key."""
    if sparse.issparse(X):
        rows = sparse.csr_matrix(X)
        parts = [_number(rows[k : k + ROWS].toarray(), key) for k in range(0, rows.shape[0], ROWS)]
        return np.concatenate(parts) if parts else np.zeros(0)
    frame = to_frame(X, "X", "x")
    hashed = np.full(len(frame), _of_text(key), dtype=np.uint64)
    for place in range(frame.shape[1]):
        hashed = _mixed(hashed ^ _mixed(_of_column(frame.iloc[:, place])))
    return np.asarray((hashed >> np.uint64(11)) * 2.0**-53)


def _of_column(column: pd.Series[Any]) -> np.ndarray:
    """Return a hash of each value, (n,)."""
    if pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
        return _of_numbers(column.to_numpy(dtype=np.float64, na_value=np.nan))
    place, values = pd.factorize(column.astype(object))  # gaps have the place -1
    each = np.array([*map(_of_value, values), GAP], dtype=np.uint64)
    return np.asarray(each[place])


def _of_value(value: Any) -> np.uint64:
    """Return the hash of a value of any type; a number has that of a column of numbers."""
    if isinstance(value, numbers.Real | np.bool_):
        return np.uint64(_of_numbers(np.array([float(value)]))[0])
    return _of_text(str(value))


def _of_numbers(values: np.ndarray) -> np.ndarray:
    """Return the hash of numbers, as single precision has them, (n,)."""
    with np.errstate(over="ignore"):
        rounded = values.astype(np.float32).astype(np.float64) + 0.0  # -0.0 is 0.0
    return np.where(np.isnan(rounded), GAP, rounded.view(np.uint64))


def _of_text(text: str) -> np.uint64:
    return np.uint64(int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest()))


def _mixed(x: np.ndarray) -> np.ndarray:
    """Return 64 bits that look random for each, (n,): the last step of splitmix64."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))
