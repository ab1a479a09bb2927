"""Equalized odds: parity among the people of each label, and its two halves of one label."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from otfair._io.arrays import Array
from otfair.notions._attributes import Strata
from otfair.notions._base import GroupNotion
from otfair.tables import Column, binary_labels


class EqualizedOdds(GroupNotion):
    """Demographic parity among the people of each label (PEO).

    Parameters
    ----------
    columns, continuous, categorical : str, int or sequence of them, default=()
        As for `DemographicParity`.
    intersectional, encoded : bool, default=False
        As for `DemographicParity`.

    Examples
    --------
    >>> from otfair import EqualizedOdds
    >>> EqualizedOdds().constraints({"sex": ["F", "F", "M", "M"]}, labels=[0, 1, 0, 1]).names
    ('sex=F | y=0', 'sex=M | y=0', 'sex=F | y=1', 'sex=M | y=1')
    """

    name = "equalized_odds"
    title = "equalized odds"
    meaning = "Among people with the same outcome, mean scores should not depend on the attribute."
    rate_name = "true or false positive rate"
    reads_labels = True
    within_labels: ClassVar[tuple[int, ...]] = (0, 1)

    def _strata(self, columns: list[Column], labels: Array, n: int) -> tuple[Strata, list[Column]]:
        y = binary_labels(labels, n, type(self).__name__)
        kept = {label: code for code, label in enumerate(self.within_labels)}
        codes = np.array([kept.get(0, -1), kept.get(1, -1)])[y]
        outside = "".join(f"y={label}" for label in (0, 1) if label not in kept)
        return Strata(codes, [f"y={label}" for label in kept], outside), columns


class EqualOpportunity(EqualizedOdds):
    """Demographic parity among the people with label 1.

    Parameters
    ----------
    columns, continuous, categorical : str, int or sequence of them, default=()
        As for `DemographicParity`.
    intersectional, encoded : bool, default=False
        As for `DemographicParity`.
    """

    name = "equal_opportunity"
    title = "equal opportunity"
    meaning = (
        "Among people with a positive outcome, mean scores should not depend on the attribute."
    )
    rate_name = "true positive rate"
    within_labels = (1,)


class PredictiveEquality(EqualizedOdds):
    """Demographic parity among the people with label 0.

    Parameters
    ----------
    columns, continuous, categorical : str, int or sequence of them, default=()
        As for `DemographicParity`.
    intersectional, encoded : bool, default=False
        As for `DemographicParity`.
    """

    name = "predictive_equality"
    title = "predictive equality"
    meaning = (
        "Among people with a negative outcome, mean scores should not depend on the attribute."
    )
    rate_name = "false positive rate"
    within_labels = (0,)
