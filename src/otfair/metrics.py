"""How unfair scores are: the violations that the paper reports.

Maths: docs/derivation.md, section 2. Both are absolute Pearson correlations of the scores with the
columns of the sensitive features, so 0 is fair and 1 as unfair as can be.
"""

from __future__ import annotations

import numpy as np

from otfair.arrays import Array, to_tensor
from otfair.notions import DemographicParity, EqualizedOdds, Notion


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
    return _violation(DemographicParity(), scores, sensitive_features, None, sample_weight)


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
    return _violation(EqualizedOdds(), scores, sensitive_features, labels, sample_weight)


def _violation(
    notion: Notion, scores: Array, sensitive: Array, labels: Array, sample_weight: Array
) -> float:
    people = notion.people(sensitive, labels, sample_weight)
    h, w = to_tensor(scores, "scores").reshape(-1).cpu().numpy(), people.weight.numpy()
    if len(h) != len(w):
        raise ValueError(
            f"`scores` has {len(h)} entries but `sensitive_features` has {len(w)} people; pass one "
            "score a person, in the same order."
        )
    vectors, kept, _ = people.table.vectors(people.mass)
    rows = vectors.numpy()[:, people.types]  # (d, n), each a centred and scaled column
    strata = people.table.strata[kept].numpy()[:, people.types]
    largest = 0.0
    for g, inside in zip(rows, strata):
        share = np.where(inside, w, 0.0)
        centred = np.where(inside, h - share @ h / share.sum(), 0.0)
        size = np.sqrt((share @ g**2) * (share @ centred**2))
        # Equal scores leave only rounding.
        if size > 1e-12 * share.sum() * np.abs(h).max() * np.abs(g).max():
            largest = max(largest, abs(float(share @ (g * centred))) / float(size))
    return largest
