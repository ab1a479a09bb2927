"""Which criterion measures how unfair scores are to people, by what their notion compares."""

from __future__ import annotations

import numpy as np

from otfair.metrics._criteria import Criterion, MeanDifferenceOf, ViolationOf
from otfair.metrics._precision import LargestOf, PrecisionDifferenceOf
from otfair.notions import People

# Those that users choose among; precision has its own, whichever they choose.
CRITERIA: dict[str, type[ViolationOf] | type[MeanDifferenceOf]] = {
    criterion.name: criterion for criterion in (ViolationOf, MeanDifferenceOf)
}


def criterion_of(name: str, people: People, rows: np.ndarray | None = None) -> Criterion:
    """Return the criterion of that name for people, or for some of them."""
    some = people if rows is None else people.take(rows)
    precise = np.array([kind == "precision" for kind in people.kinds], dtype=bool)
    if not precise.any():
        return _scores_criterion(name, some, people)
    of_precision = PrecisionDifferenceOf(some, people.mass.numpy())
    if precise.all():
        return of_precision
    others = _scores_criterion(name, some.only(~precise), people.only(~precise))
    return LargestOf(others, of_precision)


def _scores_criterion(name: str, some: People, people: People) -> Criterion:
    if name == MeanDifferenceOf.name:
        return MeanDifferenceOf(some, people.mass.numpy())
    return ViolationOf(some)


def title_of(name: str) -> str:
    """Return what a criterion, by its `name`, is called in a sentence."""
    known = {kind.name: kind.title for kind in (*CRITERIA.values(), PrecisionDifferenceOf)}
    return ", or ".join(known[part] for part in name.split(" or "))
