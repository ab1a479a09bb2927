"""How unfair scores are: the violations that the paper reports.

Maths: docs/derivation.md, section 2. Both are absolute Pearson correlations of the scores with the
columns of the sensitive features, so 0 is fair and 1 as unfair as can be.
"""

from __future__ import annotations

import numpy as np

from otfair.arrays import Array, to_tensor
from otfair.constraints import People
from otfair.notions import Notion, as_notion


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
    h = to_tensor(scores, "scores").reshape(-1).cpu().numpy()
    if len(h) != len(people.types):
        raise ValueError(
            f"`scores` has {len(h)} entries but `sensitive_features` has {len(people.types)} "
            "people; pass one score a person, in the same order."
        )
    return ViolationOf(people)(h)


class ViolationOf:
    """The violation of one population, prepared for many scores of it."""

    def __init__(self, people: People) -> None:
        vectors, kept, _ = people.table.vectors(people.mass)
        self._types, self._weight = people.types.numpy(), people.weight.numpy()
        self._mass, self._vectors = people.mass.numpy(), vectors.numpy()
        self._strata = people.table.strata[kept].numpy().astype(np.float64)  # (d, K)

    def __call__(self, h: np.ndarray) -> float:
        """Return the violation of scores h, (n,)."""
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
