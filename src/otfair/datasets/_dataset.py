"""What a loaded dataset is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

if TYPE_CHECKING:
    from otfair.datasets._synthetic import Truth


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Dataset:
    """A table of people, ready for `TableEncoder` and for the fairness notions.

    Parameters
    ----------
    name : str
        As given to `load_dataset`.
    X : DataFrame
        Raw features, one row per person. Categories have the dtype ``category`` (or ``bool``),
        everything else is a number. The sensitive columns are not among them.
    y : array of shape (n,)
        Labels, 0 or 1.
    sensitive_features : DataFrame
        The sensitive columns, row for row with `X`.
    description : str
        About the data and the choices made in loading it.
    licence : str
        On what terms the data may be used.
    citation : str
        Whom to cite.
    truth : Truth, default=None
        What was put in, for ``"synthetic"``; None for real data, of which nobody knows it.

    Examples
    --------
    >>> from otfair import load_dataset
    >>> d = load_dataset("synthetic", n=500)
    >>> d
    Dataset('synthetic', 500 rows, 10 features, sensitive: sex, origin, age)
    >>> d.X.shape, d.y.shape, list(d.sensitive_features)
    ((500, 10), (500,), ['sex', 'origin', 'age'])
    """

    name: str
    X: pd.DataFrame
    y: NDArray[np.int64]
    sensitive_features: pd.DataFrame
    description: str
    licence: str
    citation: str
    truth: Truth | None = None

    def __repr__(self) -> str:
        rows, columns = self.X.shape
        sensitive = ", ".join(self.sensitive_features.columns)
        return f"Dataset({self.name!r}, {rows} rows, {columns} features, sensitive: {sensitive})"
