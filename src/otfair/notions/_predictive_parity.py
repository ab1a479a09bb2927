"""Predictive parity: of the score that groups have, the same share goes to positive outcomes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from otfair._io.arrays import Array
from otfair._io.settings import check_real
from otfair.notions._attributes import Attribute, Strata
from otfair.notions._base import GroupNotion
from otfair.notions._constraints import People
from otfair.notions._types import type_people
from otfair.tables import Column, binary_labels


@dataclass(frozen=True, kw_only=True)
class PredictiveParity(GroupNotion):
    """Precision is equal between groups: the share of a group's score that positives hold.

    With scores f as soft decisions, the precision of group s is sum_s f y / sum_s f, what its
    positive predictive value is for decisions. All groups have the precision rho where, for each,

        sum_s f (y - rho) = 0,

    which is linear for a given rho. Groups whose people all have one label have the precision 0 or
    1 whatever their scores, and are not compared. Docs/derivation.md, section 16.

    Parameters
    ----------
    columns, continuous, categorical : str, int or sequence of them, default=()
        As for `DemographicParity`. Columns of numbers have no groups, and are refused; leave them
        out by `columns`.
    intersectional, encoded : bool, default=False
        As for `DemographicParity`. One-hot columns next to each other, of which each person has
        one, are the groups of an attribute; another column is compared with those not in it.
    rate : float, default=None
        The precision that all groups must have, between 0 and 1. By default it is found:
        `exact_otf` and `audit` take the one that is cheapest to reach, and all that is
        differentiated (`smooth_otf`, `relaxed_otf`, `adjusted_otf`, the losses and classifiers)
        that of the scores, over all groups of an attribute together; gradients know that it moves
        with the scores.

    Examples
    --------
    >>> from otfair import PredictiveParity
    >>> sex, paid = ["F", "F", "F", "M", "M"], [1, 0, 0, 1, 0]
    >>> c = PredictiveParity(rate=0.5).constraints({"sex": sex}, labels=paid)
    >>> c.names
    ('sex=F', 'sex=M')
    >>> c.matrix.round(3)
    array([[ 0.833, -0.833, -0.833,  0.   ,  0.   ],
           [ 0.   ,  0.   ,  0.   ,  1.25 , -1.25 ]])
    """

    name = "predictive_parity"
    title = "predictive parity"
    meaning = (
        "Of the score that a group has, the share that goes to people with a positive outcome "
        "(its precision) should not depend on the attribute."
    )
    rate_name = "positive predictive value"
    figure = "precision"
    reads_labels = True

    rate: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rate is None:
            return
        hint = " Or pass None. At 0 or 1, people of one outcome could have no score at all."
        object.__setattr__(self, "rate", check_real("rate", self.rate, 0, 1, "()", hint))

    def _strata(self, columns: list[Column], labels: Array, n: int) -> tuple[Strata, list[Column]]:
        if labels is None:
            raise ValueError(
                "PredictiveParity is about outcomes: pass `labels` (0 or 1 per person)."
            )
        y = binary_labels(labels, n, type(self).__name__)
        return Strata(y.astype(np.int64), ["y=0", "y=1"]), columns

    def _laid_out(
        self, strata: Strata, attributes: list[Attribute], weight: Tensor, as_tensor: bool
    ) -> People:
        """Lay out one row per group; types are divided by label, as by the strata of others."""
        for attribute in attributes:
            if not attribute.is_group:
                raise ValueError(
                    f"predictive parity compares the precision of groups, and sensitive column "
                    f"{attribute.name!r} holds numbers. Bin it, for example with `pandas.cut`; "
                    f"name it in `categorical={attribute.name!r}` if its numbers are names of "
                    "groups; or name the other columns in `columns`."
                )
        attributes = _joined(attributes)
        by_label = type_people(strata, attributes, weight, as_tensor)  # first label 0, then 1
        groups = [(a.name, str(value)) for a in attributes for value in a.values]
        q = len(groups)
        return replace(
            by_label,
            design=by_label.strata[q:].double(),  # whether a type has label 1
            strata=by_label.design[:q] > 0,  # whether it is of the group
            kinds=("precision",) * q,
            target=by_label.target[:q],
            names=tuple(name for _, name in groups),
            compared=tuple((attribute, "") for attribute, _ in groups),
            groups=tuple(name for _, name in groups),
            rates=torch.full_like(
                by_label.target[:q], math.nan if self.rate is None else self.rate
            ),
        )


def _joined(attributes: list[Attribute]) -> list[Attribute]:
    """Join one-hot columns to attributes, each of which says of everybody which group is theirs."""
    out: list[Attribute] = []
    begun: list[Attribute] = []  # columns of which nobody has two, and some have none so far
    for attribute in attributes:
        if attribute.values[0]:  # not one-hot
            out.append(attribute)
            continue
        begun.append(attribute)
        members = np.stack([a.codes for a in begun])  # zeros and ones
        if (members.sum(0) == 1).all():
            codes = members.argmax(0)
            values = np.array([a.values[1] for a in begun], dtype=object)
            out.append(Attribute(codes, values, ", ".join(a.name for a in begun), is_group=True))
            begun = []
    for a in begun:  # or else nobody would be compared with those outside
        values = np.array([f"not {a.values[1]}", a.values[1]], dtype=object)
        out.append(Attribute(a.codes, values, a.name, is_group=True))
    return out
