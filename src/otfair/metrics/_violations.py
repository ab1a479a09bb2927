"""How unfair scores are: the violations that the paper reports, and differences of decisions.

Maths: docs/metrics.md. The violations are absolute Pearson correlations of the scores with the
columns of the sensitive features, the differences compare groups by how many of them are decided
positively, so 0 is fair and 1 as unfair as can be.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from otfair._io.arrays import Array, check_weight, to_tensor
from otfair.notions import (
    Attribute,
    Notion,
    People,
    as_notion,
    read_group,
    refuse_single,
)
from otfair.tables import Column, binary_labels, looks_categorical, named, to_columns


def pdp_violation(scores: Array, sensitive_features: Array, sample_weight: Array = None) -> float:
    """Violation of demographic parity: the largest correlation of scores with a sensitive column.

    Categories count as one column each, numbers as they are.

    Examples
    --------
    >>> from otfair import pdp_violation
    >>> pdp_violation([0.9, 0.7, 0.3, 0.1], ["a", "a", "b", "b"])
    0.948683...
    >>> pdp_violation([0.9, 0.1, 0.9, 0.1], ["a", "a", "b", "b"])
    0.0
    """
    return violation(scores, sensitive_features, "demographic_parity", None, sample_weight)


def peo_violation(
    scores: Array, sensitive_features: Array, labels: Array, sample_weight: Array = None
) -> float:
    """Violation of equalized odds: the larger of the two labels' violations of parity.

    Examples
    --------
    >>> from otfair import peo_violation
    >>> round(peo_violation([0.9, 0.8, 0.2, 0.1], ["a", "b", "a", "b"], [1, 1, 0, 0]), 6)
    1.0
    """
    return violation(scores, sensitive_features, "equalized_odds", labels, sample_weight)


def demographic_parity_difference(
    scores: Array,
    sensitive_features: Array,
    *,
    threshold: float = 0.5,
    sample_weight: Array = None,
) -> float:
    """Largest difference between two groups' rates of positive decisions.

    Groups of one column are compared with each other; of several columns the largest difference
    counts. Strings, categories, booleans, zeros and ones, and integers with at most 10 distinct
    values are groups; other numbers must be binned first.

    Parameters
    ----------
    scores : (n,) scores, positive above `threshold`; or decisions, as 0 and 1 or booleans.
    sensitive_features : one or many columns of groups.
    threshold : above which a score is a positive decision.
    sample_weight : (n,), one by default.

    Examples
    --------
    >>> from otfair import demographic_parity_difference
    >>> demographic_parity_difference([0.9, 0.7, 0.6, 0.1], ["a", "a", "b", "b"])
    0.5
    >>> demographic_parity_difference([True, True, True, True], ["a", "a", "b", "b"])
    0.0
    """
    groups, decided, weight = _read(scores, sensitive_features, threshold, sample_weight)
    return DifferenceOf(groups)(decided, weight)


def equalized_odds_difference(
    scores: Array,
    sensitive_features: Array,
    labels: Array,
    *,
    threshold: float = 0.5,
    sample_weight: Array = None,
) -> float:
    """Largest difference between two groups' true positive rates, or false positive rates.

    It is the larger of the two labels' differences of positive decisions. A group without people
    of a label is not compared within it. The other parameters are those of
    `demographic_parity_difference`.

    Parameters
    ----------
    labels : (n,) zeros and ones.

    Examples
    --------
    >>> from otfair import equalized_odds_difference
    >>> groups, labels = ["a", "a", "b", "b", "b"], [1, 0, 1, 1, 0]
    >>> equalized_odds_difference([1, 0, 1, 0, 0], groups, labels)  # true positives: all, and half
    0.5
    """
    groups, decided, weight = _read(scores, sensitive_features, threshold, sample_weight)
    strata = binary_labels(labels, len(weight), "equalized_odds_difference")
    return DifferenceOf(groups, strata)(decided, weight)


def violation(
    scores: Array,
    sensitive_features: Array,
    notion: Notion | str = "demographic_parity",
    labels: Array = None,
    sample_weight: Array = None,
) -> float:
    """Largest correlation of the scores with a row of any notion, within the people it speaks of.

    For demographic parity and equalized odds this is `pdp_violation` and `peo_violation`.
    """
    people = as_notion(notion).people(sensitive_features, labels, sample_weight)
    return ViolationOf(people)(_read_scores(scores, len(people.types)))


class ViolationOf:
    """The violation of one population, prepared for many scores of it."""

    def __init__(self, people: People) -> None:
        vectors, kept, _ = people.vectors(people.mass)
        self._types, self._weight = people.types.numpy(), people.weight.numpy()
        self._mass, self._vectors = people.mass.numpy(), vectors.numpy()
        self._strata = people.strata[kept].numpy().astype(np.float64)  # (d, K)

    def __call__(self, h: np.ndarray) -> float:
        """Return the violation of scores h, (n,); NaN where some are not finite."""
        if not np.isfinite(h).all():
            return np.nan
        if not len(self._vectors):
            return 0.0
        offset = float(h.mean())  # centred numbers cancel less
        first, second = (
            np.bincount(self._types, self._weight * (h - offset) ** power, len(self._mass))
            for power in (1, 2)
        )
        size = self._strata @ self._mass
        spread = self._strata @ second / size - (self._strata @ first / size) ** 2
        own = self._vectors**2 @ self._mass / size - (self._vectors @ self._mass / size) ** 2
        covariance = (self._vectors @ first) / size - (self._vectors @ self._mass / size) * (
            self._strata @ first / size
        )
        scale = np.sqrt(np.maximum(own * spread, 0.0))
        # Equal scores leave only rounding.
        varies = spread > 1e-24 * float(np.abs(h).max()) ** 2
        return float(np.abs(covariance[varies] / scale[varies]).max(initial=0.0))


class DifferenceOf:
    """The largest difference of decisions within strata, prepared for many decisions and weights.

    Parameters
    ----------
    groups : for each column, the group of each person, (n,).
    strata : (n,) the people who are compared with each other, such as labels; by default all.
    """

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


def read_groups(sensitive_features: Array) -> tuple[list[Attribute], list[Column]]:
    """Return the columns that are groups, and those that are not."""
    groups, others = [], []
    for column in named(to_columns(sensitive_features, "sensitive_features")):
        if looks_categorical(column) or np.isin(column.values, [0, 1]).all():
            groups.append(read_group(column))
        else:
            others.append(column)
    return groups, others


def _read(
    scores: Array, sensitive_features: Array, threshold: float, sample_weight: Array
) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """Return the groups of each column, decisions and weights."""
    groups, others = read_groups(sensitive_features)
    if others:
        values = others[0].values
        raise ValueError(
            f"sensitive column {others[0].name!r} holds numbers ({len(np.unique(values))} distinct "
            f"ones, from {values.min():.6g} to {values.max():.6g}), but differences of decisions "
            "are between groups. Bin the column, for example with `pandas.cut`, turn it into text "
            "if its numbers are names of groups, or leave it out."
        )
    n = len(groups[0].codes)
    h, weight = _read_scores(scores, n), check_weight(sample_weight, n).cpu().numpy()
    if not math.isfinite(threshold):
        raise ValueError(f"`threshold` must be a finite number; received {threshold!r}.")
    for group in groups:
        refuse_single(group, weight > 0)
    return [group.codes for group in groups], h > threshold, weight


def _read_scores(scores: Array, n: int) -> np.ndarray:
    """Return the scores as floats, (n,)."""
    h = to_tensor(scores, "scores").cpu().numpy()
    if h.shape not in ((n,), (n, 1)):
        raise ValueError(
            f"`scores` must have one entry for each of the {n} people of `sensitive_features`; "
            f"received shape {h.shape}. Pass one score a person, in the same order; of "
            "`predict_proba(X)` that is the last column, `[:, 1]`."
        )
    return h.reshape(-1)
