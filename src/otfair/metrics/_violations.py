"""How unfair scores are: the violations that the paper reports, and differences.

Maths: docs/metrics.md. The former are absolute Pearson correlations of the scores with the columns
of the sensitive features. 0 is fair and 1 as unfair as can be.
"""

from __future__ import annotations

import numpy as np

from otfair._io.arrays import Array, check_weight, to_tensor
from otfair.distributed import is_dask
from otfair.metrics._choice import criterion_of
from otfair.metrics._criteria import MeanDifferenceOf, ViolationOf
from otfair.metrics._parted import score_table
from otfair.notions import (
    DemographicParity,
    EqualizedOdds,
    GroupNotion,
    Notion,
    PredictiveParity,
    as_notion,
    known_people,
)
from otfair.tables import Columns, known_labels, same_people

LARGEST_SCORE = 1e70


def pdp_violation(
    scores: Array,
    sensitive_features: Array,
    sample_weight: Array = None,
    *,
    continuous: Columns = (),
    categorical: Columns = (),
) -> float:
    """Violation of demographic parity: the largest correlation of scores with a sensitive column.

    Categories count as one column each, numbers as they are. People who lack a sensitive value are
    left out, as in an audit.

    Parameters
    ----------
    scores : array-like of shape (n,)
        Scores, such as probabilities.
    sensitive_features : array-like or table
        One or many columns.
    sample_weight : array-like of shape (n,), optional
        One by default.
    continuous, categorical : str, int or sequence of them, default=()
        Columns to read as numbers or as groups, as for `DemographicParity`.

    Returns
    -------
    float
        The violation, from 0 (fair) to 1.

    Examples
    --------
    >>> from otfair import pdp_violation
    >>> pdp_violation([0.9, 0.7, 0.3, 0.1], ["a", "a", "b", "b"])
    0.948683...
    >>> pdp_violation([0.9, 0.1, 0.9, 0.1], ["a", "a", "b", "b"])
    0.0
    """
    notion = DemographicParity(continuous=continuous, categorical=categorical)
    return violation(scores, sensitive_features, notion, None, sample_weight)


def peo_violation(
    scores: Array,
    sensitive_features: Array,
    labels: Array,
    sample_weight: Array = None,
    *,
    continuous: Columns = (),
    categorical: Columns = (),
) -> float:
    """Violation of equalized odds: the larger of the two labels' violations of parity.

    Parameters
    ----------
    scores, sensitive_features, labels, sample_weight : array-like
        As for `pdp_violation`; labels are zeros and ones, or names that tell which is positive,
        such as "yes" and "no"; people without one are left out, too.
    continuous, categorical : str, int or sequence of them, default=()
        As for `pdp_violation`.

    Returns
    -------
    float
        The violation, from 0 (fair) to 1.

    Examples
    --------
    >>> from otfair import peo_violation
    >>> round(peo_violation([0.9, 0.8, 0.2, 0.1], ["a", "b", "a", "b"], [1, 1, 0, 0]), 6)
    1.0
    """
    notion = EqualizedOdds(continuous=continuous, categorical=categorical)
    return violation(scores, sensitive_features, notion, labels, sample_weight)


def predictive_parity_violation(
    scores: Array,
    sensitive_features: Array,
    labels: Array,
    sample_weight: Array = None,
    *,
    rate: float | None = None,
    categorical: Columns = (),
) -> float:
    """Violation of predictive parity: the largest difference between two groups' precision.

    The precision of a group is the share of its score that people with label 1 hold, the sum of
    their scores over that of the whole group. A correlation, as for other notions, would not do: a
    row of this notion says how a group's score is shared out between its outcomes, so that a
    correlation with it is large for every good predictor. Groups of one column are compared with
    each other; of several columns the largest difference counts. A group whose people all have one
    label is not compared, as its precision is 0 or 1 whatever its scores.

    Parameters
    ----------
    scores, sensitive_features, labels, sample_weight : array-like
        As for `peo_violation`, but sensitive columns are groups.
    rate : float, optional
        The precision that groups should have: then the largest difference from it counts.
    categorical : str, int or sequence of them, default=()
        Columns of numbers that are codes of groups.

    Returns
    -------
    float
        The violation, from 0 (fair) to 1.

    Examples
    --------
    >>> from otfair import predictive_parity_violation
    >>> scores, groups, labels = [0.6, 0.2, 0.5, 0.5], ["a", "a", "b", "b"], [1, 0, 1, 0]
    >>> round(predictive_parity_violation(scores, groups, labels), 6)  # 3/4 and 1/2
    0.25
    """
    notion = PredictiveParity(rate=rate, categorical=categorical)
    return violation(scores, sensitive_features, notion, labels, sample_weight)


def mean_score_difference(
    scores: Array,
    sensitive_features: Array,
    notion: Notion | str = "demographic_parity",
    labels: Array = None,
    sample_weight: Array = None,
) -> float:
    """Largest difference between two groups' mean scores, within those whom a notion compares.

    Unlike a correlation it sees small groups. Groups of one column are compared with each other; of
    several columns the largest difference counts. A number has no groups: there it is the
    difference, on the line of scores against it, between one standard deviation above its mean and
    one below.

    Parameters
    ----------
    scores : array-like of shape (n,)
        Scores, such as probabilities.
    sensitive_features : array-like or table
        One or many columns.
    notion : Notion or str, default="demographic_parity"
        Says among whom groups are compared, such as people of one label.
    labels : array-like of shape (n,), optional
        Zeros and ones, for the notions that condition on the label.
    sample_weight : array-like of shape (n,), optional
        One by default.

    Returns
    -------
    float
        The difference, from 0 (fair) to 1.

    Examples
    --------
    >>> from otfair import mean_score_difference
    >>> round(mean_score_difference([0.9, 0.7, 0.3, 0.1], ["a", "a", "b", "b"]), 6)
    0.6
    """
    notion = as_notion(notion)
    if any(isinstance(part, PredictiveParity) for part in notion.parts):
        raise ValueError(
            "predictive parity compares no mean scores but the precision of groups; use "
            "`predictive_parity_violation`."
        )
    return violation(
        scores, sensitive_features, notion, labels, sample_weight, MeanDifferenceOf.name
    )


def violation(
    scores: Array,
    sensitive_features: Array,
    notion: Notion | str = "demographic_parity",
    labels: Array = None,
    sample_weight: Array = None,
    criterion: str = ViolationOf.name,
) -> float:
    """Violation of any notion by a criterion: the largest correlation, or difference of means.

    For demographic parity and equalized odds the former is `pdp_violation` and `peo_violation`;
    predictive parity is measured by differences of precision, whatever the criterion.
    """
    if is_dask(scores):
        table = score_table(scores, sensitive_features, labels, sample_weight)
        return violation(**table, notion=notion, criterion=criterion)
    given = {"labels": labels, "sample_weight": sample_weight}
    same_people({"scores": scores, "sensitive_features": sensitive_features, **given})
    notion = as_notion(notion)
    groups = (part for part in notion.parts if isinstance(part, GroupNotion))
    if labels is not None and any(part.reads_labels for part in groups):
        labels, known = known_labels(labels)
        if not known.all():
            sample_weight = check_weight(sample_weight, len(known)).cpu().numpy() * known
    people = known_people(notion, sensitive_features, labels, sample_weight)
    return criterion_of(criterion, people)(read_scores(scores, len(people.types)))


def read_scores(scores: Array, n: int) -> np.ndarray:
    """Return the scores as floats, (n,)."""
    h = to_tensor(scores, "scores").cpu().numpy()
    if h.shape not in ((n,), (n, 1)):
        raise ValueError(
            f"`scores` must have one entry for each of the {n} people of `sensitive_features`; "
            f"received shape {h.shape}. Pass one score per person, in the same order; of "
            "`predict_proba(X)` that is the last column, `[:, 1]`."
        )
    if len(h) and np.abs(h).max() > LARGEST_SCORE:
        raise ValueError(
            f"`scores` must be at most {LARGEST_SCORE:g} in size, for sums of squares to be "
            f"finite; the largest is {np.abs(h).max():.3g}. Pass probabilities."
        )
    return h.reshape(-1)
