"""Small samples in which the groups of several attributes can't all have one precision.

Maths: docs/derivation.md, section 16. A row that a batch can't meet is dropped, as one is of which
it can't speak.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from torch import Tensor

from otfair.notions._constraints import Constraints, People
from otfair.notions._existence import check_existence


def possible_constraints(
    people: People, rows: Tensor | None, scores: Tensor, columns: Tensor | None = None
) -> Constraints:
    """Constrain a batch by those attributes whose groups can have one precision together.

    Attributes are added in their order; one that would leave some people without any score is
    dropped. Other notions, and an attribute that is alone with them, are kept whatever they ask.
    """
    whole = people.constraints(rows=rows, columns=columns)
    if not whole.about_precision:
        return whole
    if _allows_all(whole, scores):
        return replace(whole, always_feasible=True)  # at the rates of these scores
    precise = np.array([kind == "precision" for kind in people.kinds])
    kept = ~precise
    for attribute in dict.fromkeys(key for key, p in zip(people.compared, precise) if p):
        own = precise & np.array([key == attribute for key in people.compared])
        if _allows_all(people.only(kept | own).constraints(rows=rows, columns=columns), scores):
            kept = kept | own
    if not (kept & precise).any():
        return whole
    found = people.only(kept).constraints(rows=rows, columns=columns)
    lost = tuple(name for name, k in zip(people.names, kept) if not k)
    return replace(found, dropped=(*found.dropped, *lost), always_feasible=True)


def _allows_all(constraints: Constraints, scores: Tensor) -> bool:
    """Whether fair scores may leave everybody with some."""
    if constraints.always_feasible or not constraints.names:
        return True
    try:
        return check_existence(constraints.at(scores))
    except ValueError:
        return False
