"""What a loaded dataset is, and what was put into one that is made up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Truth:
    """What was put into a synthetic dataset.

    Parameters
    ----------
    scores : array of shape (n,)
        Probability that each person's label is 1, given features *and* sensitive attributes: the
        Bayes scores, bias and label noise included.
    unbiased_scores : array of shape (n,)
        The same had there been no bias: the same people and the same luck, but features that do not
        depend on the sensitive attributes and labels that depend on features alone.
    unbiased_labels : array of shape (n,)
        The labels that the same draws give with `unbiased_scores`.
    unfairness : DataFrame
        One row per sensitive column (``sex=Female``, ..., ``age``). ``gap`` is the mean score
        inside the group minus that outside of it (for age, the change of the mean score for one
        standard deviation). It is the sum of ``chance`` (the gap of `unbiased_scores`, zero but
        for the sample), ``proxy`` (added by features that depend on the group) and ``direct``
        (added by labels that depend on it). ``pdp`` and ``peo`` are the violations of demographic
        parity and of equalized odds by `scores`, absolute Pearson correlations; that of equalized
        odds is the larger of the two labels', each person counted by the probability of having
        the label.
    """

    scores: Floats
    unbiased_scores: Floats
    unbiased_labels: NDArray[np.int64]
    unfairness: pd.DataFrame


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
    description, licence, citation : str
        About the data and the choices made in loading it, its terms of use, and whom to cite.
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
