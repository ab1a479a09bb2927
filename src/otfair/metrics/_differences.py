"""How unfair decisions are: differences between groups in how many, and whom, they favour.

Maths: docs/metrics.md. 0 is fair and 1 as unfair as can be.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from otfair._io.arrays import Array, check_weight, same_length
from otfair._io.settings import check_real
from otfair.distributed import is_dask
from otfair.metrics._parted import decided_table
from otfair.metrics._violations import read_scores
from otfair.notions import Attribute, read_group, refuse_single
from otfair.tables import (
    Column,
    Columns,
    Kind,
    binary_labels,
    known_labels,
    known_rows,
    named,
    same_people,
    sensitive_kinds,
    take_rows,
    to_columns,
)


def demographic_parity_difference(
    scores: Array,
    sensitive_features: Array,
    *,
    threshold: float = 0.5,
    sample_weight: Array = None,
    categorical: Columns = (),
) -> float:
    """Largest difference between two groups' rates of positive decisions.

    Groups of one column are compared with each other; of several columns the largest difference
    counts. Strings, categories, booleans and whole numbers with at most 10 distinct values are
    groups; other numbers must be binned first. People who lack a sensitive value are left out.

    Parameters
    ----------
    scores : array-like of shape (n,)
        Scores, positive above `threshold`; or decisions, as 0 and 1 or booleans.
    sensitive_features : array-like or table
        One or many columns of groups.
    threshold : float, default=0.5
        Above which a score is a positive decision.
    sample_weight : array-like of shape (n,), optional
        One by default.
    categorical : str, int or sequence of them, default=()
        Columns of numbers that are codes of groups.

    Returns
    -------
    float
        The difference, from 0 (fair) to 1.

    Examples
    --------
    >>> from otfair import demographic_parity_difference
    >>> demographic_parity_difference([0.9, 0.7, 0.6, 0.1], ["a", "a", "b", "b"])
    0.5
    >>> demographic_parity_difference([True, True, True, True], ["a", "a", "b", "b"])
    0.0
    """
    if is_dask(scores):
        table = decided_table(scores, sensitive_features, None, sample_weight, threshold)
        return demographic_parity_difference(**table, categorical=categorical)
    given = {"scores": scores, "sensitive_features": sensitive_features}
    groups, decided, weight = _read(given, threshold, sample_weight, categorical)
    return DifferenceOf(groups)(decided, weight)


def equalized_odds_difference(
    scores: Array,
    sensitive_features: Array,
    labels: Array,
    *,
    threshold: float = 0.5,
    sample_weight: Array = None,
    categorical: Columns = (),
) -> float:
    """Largest difference between two groups' true positive rates, or false positive rates.

    It is the larger of the two labels' differences of positive decisions. A group without people
    of a label is not compared within it.

    Parameters
    ----------
    scores, sensitive_features : array-like
        As for `demographic_parity_difference`.
    labels : array-like of shape (n,)
        Zeros and ones, or names that tell which is positive, such as "yes" and "no"; people
        without one are left out, too.
    threshold : float, default=0.5
        As for `demographic_parity_difference`.
    sample_weight : array-like of shape (n,), optional
        As for `demographic_parity_difference`.
    categorical : str, int or sequence of them, default=()
        As for `demographic_parity_difference`.

    Returns
    -------
    float
        The difference, from 0 (fair) to 1.

    Examples
    --------
    >>> from otfair import equalized_odds_difference
    >>> groups, labels = ["a", "a", "b", "b", "b"], [1, 0, 1, 1, 0]
    >>> equalized_odds_difference([1, 0, 1, 0, 0], groups, labels)  # true positives: all, and half
    0.5
    """
    if is_dask(scores):
        table = decided_table(scores, sensitive_features, labels, sample_weight, threshold)
        return equalized_odds_difference(**table, categorical=categorical)
    given = {"scores": scores, "sensitive_features": sensitive_features, "labels": labels}
    groups, decided, weight = _read(given, threshold, sample_weight, categorical)
    strata, weight = _read_labels(labels, weight, "equalized_odds_difference")
    return DifferenceOf(groups, strata)(decided, weight)


def predictive_parity_difference(
    scores: Array,
    sensitive_features: Array,
    labels: Array,
    *,
    threshold: float = 0.5,
    sample_weight: Array = None,
    categorical: Columns = (),
) -> float:
    """Largest difference between two groups' positive predictive values.

    It is the share of people with label 1 among those who are decided positively: how often a
    positive decision is right. A group without positive decisions is not compared.

    Parameters
    ----------
    scores, sensitive_features, labels : array-like
        As for `equalized_odds_difference`.
    threshold : float, default=0.5
        As for `demographic_parity_difference`.
    sample_weight : array-like of shape (n,), optional
        As for `demographic_parity_difference`.
    categorical : str, int or sequence of them, default=()
        As for `demographic_parity_difference`.

    Returns
    -------
    float
        The difference, from 0 (fair) to 1.

    Examples
    --------
    >>> from otfair import predictive_parity_difference
    >>> groups, labels = ["a", "a", "b", "b", "b"], [1, 0, 1, 1, 0]
    >>> predictive_parity_difference([1, 0, 1, 0, 1], groups, labels)  # right: always, and half
    0.5
    """
    if is_dask(scores):
        table = decided_table(scores, sensitive_features, labels, sample_weight, threshold)
        return predictive_parity_difference(**table, categorical=categorical)
    given = {"scores": scores, "sensitive_features": sensitive_features, "labels": labels}
    groups, decided, weight = _read(given, threshold, sample_weight, categorical)
    y, weight = _read_labels(labels, weight, "predictive_parity_difference")
    return DifferenceOf(groups)(y == 1, weight * decided)


def false_omission_difference(
    scores: Array,
    sensitive_features: Array,
    labels: Array,
    *,
    threshold: float = 0.5,
    sample_weight: Array = None,
    categorical: Columns = (),
) -> float:
    """Largest difference between two groups' false omission rates.

    It is the share of people with label 1 among those who are decided negatively: how often a
    negative decision is wrong. A group without negative decisions is not compared.

    Parameters
    ----------
    scores, sensitive_features, labels : array-like
        As for `equalized_odds_difference`.
    threshold : float, default=0.5
        As for `demographic_parity_difference`.
    sample_weight : array-like of shape (n,), optional
        As for `demographic_parity_difference`.
    categorical : str, int or sequence of them, default=()
        As for `demographic_parity_difference`.

    Returns
    -------
    float
        The difference, from 0 (fair) to 1.

    Examples
    --------
    >>> from otfair import false_omission_difference
    >>> groups, labels = ["a", "a", "b", "b", "b"], [1, 0, 1, 1, 0]
    >>> false_omission_difference([1, 0, 1, 0, 0], groups, labels)  # wrong: never, and half
    0.5
    """
    if is_dask(scores):
        table = decided_table(scores, sensitive_features, labels, sample_weight, threshold)
        return false_omission_difference(**table, categorical=categorical)
    given = {"scores": scores, "sensitive_features": sensitive_features, "labels": labels}
    groups, decided, weight = _read(given, threshold, sample_weight, categorical)
    y, weight = _read_labels(labels, weight, "false_omission_difference")
    return DifferenceOf(groups)(y == 1, weight * ~decided)


class DifferenceOf:
    """The largest difference of decisions in a stratum, prepared for many decisions and weights."""

    # The codes of each column, (n,); `strata`, (n,), say who is compared with whom, as labels do.
    def __init__(self, groups: Sequence[np.ndarray], strata: np.ndarray | None = None) -> None:
        self._strata = 1 if strata is None else int(strata.max()) + 1
        inside = 0 if strata is None else strata
        # Of each column: the cell (group, stratum) of each person, and the number of cells.
        self._cells = [
            (codes * self._strata + inside, (int(codes.max()) + 1) * self._strata)
            for codes in groups
        ]

    def __call__(self, decided: np.ndarray, weight: np.ndarray) -> float:
        """Return the difference of decisions, (n,) bool, of people of weights (n,)."""
        largest = 0.0
        for cells, count in self._cells:
            size, positive = (
                np.bincount(cells, w, count).reshape(-1, self._strata)  # (groups, strata)
                for w in (weight, weight * decided)
            )
            present = size > 0
            rate = positive / np.where(present, size, 1.0)
            high = np.where(present, rate, -np.inf).max(0)
            low = np.where(present, rate, np.inf).min(0)
            largest = max(largest, float((high - low).max()))
        return largest


def read_groups(
    sensitive_features: Array, continuous: Columns = (), categorical: Columns = ()
) -> tuple[list[Attribute], list[Column], np.ndarray]:
    """Return the columns that are groups, those that are not, and who has a value in each, (n,)."""
    known = known_rows(sensitive_features, "sensitive_features")
    if len(known) and not known.all():
        filled = np.where(known, np.arange(len(known)), int(known.argmax()))
        sensitive_features = take_rows(sensitive_features, filled)
    columns = named(to_columns(sensitive_features, "sensitive_features"))
    kinds = sensitive_kinds(columns, continuous, categorical)
    groups = [read_group(c) for c in columns if kinds[str(c.name)] is Kind.GROUP]
    return groups, [c for c in columns if kinds[str(c.name)] is Kind.NUMBER], known


def only_groups(
    sensitive_features: Array, categorical: Columns, why: str
) -> tuple[list[Attribute], np.ndarray]:
    """Return the columns, all of which must be groups, and who has a value in each, (n,)."""
    groups, others, known = read_groups(sensitive_features, categorical=categorical)
    if others:
        values, name = others[0].values, others[0].name
        raise ValueError(
            f"sensitive column {name!r} holds numbers ({len(np.unique(values))} distinct "
            f"ones, from {values.min():.6g} to {values.max():.6g}), but {why}. Bin the column, for "
            f"example with `pandas.cut`, name it in `categorical={name!r}` if its numbers are "
            "names of groups, or leave it out."
        )
    return groups, known


def _read(
    given: dict[str, Array], threshold: float, sample_weight: Array, categorical: Columns
) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """Return the groups of each column, decisions and weights."""
    same_people({**given, "sample_weight": sample_weight})
    groups, known = only_groups(
        given["sensitive_features"], categorical, "differences of decisions are between groups"
    )
    n = len(known)
    h, weight = read_scores(given["scores"], n), check_weight(sample_weight, n).cpu().numpy()
    threshold = check_real("threshold", threshold, -math.inf, math.inf, "()")
    weight = weight * known
    for group in groups:
        refuse_single(group, weight > 0)
    return [group.codes for group in groups], h > threshold, weight


def _read_labels(labels: Array, weight: np.ndarray, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return labels, and weights, (n,) each; those without a label have none."""
    if labels is not None:
        labels, known = known_labels(labels)
        same_length("labels", len(known), len(weight))
        weight = weight * known
    return binary_labels(labels, len(weight), name), weight
