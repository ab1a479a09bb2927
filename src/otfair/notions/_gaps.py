"""People who lack a sensitive value: they are trained on, and no constraint speaks of them."""

from __future__ import annotations

from functools import reduce

import numpy as np

from otfair._io.arrays import ArgumentError, Array, check_weight
from otfair.notions._base import GroupNotion, Notion
from otfair.notions._constraints import People
from otfair.notions._types import stack_people
from otfair.tables import known_rows, same_people, take_rows


def known_people(
    notion: Notion,
    sensitive_features: Array,
    labels: Array = None,
    sample_weight: Array = None,
    argument: str = "sensitive_features",
) -> People:
    """Type people as `Notion.people` does; those who lack a sensitive value get no weight.

    A person of weight 0 neither gives nor receives score, and is in no mean, so that constraints
    and violations are those of the others.
    """
    same_people({argument: sensitive_features, "labels": labels, "sample_weight": sample_weight})
    known = known_sensitive(notion, sensitive_features, argument)
    if known is None or known.all():
        return notion.people(sensitive_features, labels, sample_weight)
    n = len(known)
    weight = check_weight(sample_weight, n).cpu().numpy() * known
    # Any known value does for those who have none; what must be of one length stays so.
    filled = take_rows(sensitive_features, np.where(known, np.arange(n), int(known.argmax())))
    parts = (
        part.people(filled if isinstance(part, GroupNotion) else sensitive_features, labels, weight)
        for part in notion.parts
    )
    return reduce(stack_people, parts)


def known_sensitive(
    notion: Notion, sensitive_features: Array, argument: str = "sensitive_features"
) -> np.ndarray | None:
    """Return who has a value in each sensitive column, (n,) bool; none if a notion reads its own.

    That nobody has is an error.
    """
    if not any(isinstance(part, GroupNotion) for part in notion.parts):
        return None  # what a function of the user's takes may be anything
    known = known_rows(sensitive_features, argument)
    if len(known) and not known.any():
        raise ArgumentError(
            argument,
            f"has no person with a value in each column; {len(known)} lack one. Check that the "
            "right columns were passed, or leave out those that are empty.",
        )
    return known
