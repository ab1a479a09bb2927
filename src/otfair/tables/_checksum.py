"""A checksum of tables as they were read, by which the data of a result can be known again."""

from __future__ import annotations

import hashlib

import numpy as np
import pandas as pd


def checksum(tables: dict[str, pd.DataFrame | None]) -> str:
    """SHA-256 of names and values as they were read, gaps included."""
    digest = hashlib.sha256()
    for argument, table in tables.items():
        for name, column in () if table is None else table.items():
            digest.update(f"{argument}\x1f{name}\x1e".encode())
            if pd.api.types.is_numeric_dtype(column):
                numbers = column.to_numpy(np.float64, na_value=np.nan)
                digest.update((numbers + 0.0).tobytes())
            else:
                values = column.astype(object)
                codes, found = pd.factorize(values.where(values.isna(), values.map(str)))
                digest.update("\x1f".join(map(str, found)).encode(errors="replace"))
                digest.update(codes.astype(np.int64).tobytes())
    return digest.hexdigest()
