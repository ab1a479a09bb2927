"""Where fairness looks free, what it costs if nobody may end with a score above one: of a sample.

Maths: docs/audit.md, "Bounded plans".
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from otfair.auditing._groups import Comparison
from otfair.auditing._reading import AuditData
from otfair.auditing._results import BoundedCost, Cost
from otfair.auditing._statistics import MIN_SCORE
from otfair.auditing.costs._distances import Distances
from otfair.auditing.costs._solving import representatives, solve, solve_bounded
from otfair.notions import People, stratified_sample
from otfair.transport import TransportError

SAMPLE = 2000  # people, for whom it takes a few seconds


def add_bound(cost: Cost, data: AuditData, comparison: Comparison, distances: Distances) -> Cost:
    """Return a cost with that of bounded scores next to it, where it looks free without."""
    people = comparison.people
    if not cost.looks_free or "precision" in people.kinds:
        return cost
    types, count = people.types.numpy(), len(people.type_names)
    rows = stratified_sample(types, count, SAMPLE, [distances.seed])
    few, h = representatives(people, np.maximum(data.scores, MIN_SCORE), rows)
    found = bounded_cost(few, h, distances.between(rows))
    return cost if found is None else replace(cost, with_bound=found)


def bounded_cost(few: People, h: np.ndarray, between: np.ndarray) -> BoundedCost | None:
    """Return the cost of some people with the bound; None where it was not found."""
    own = few.types.numpy()
    nearest = np.full((len(own), len(few.type_names)), np.inf)
    for k in np.unique(own):
        nearest[:, k] = between[:, own == k].min(1)
    total = float(few.weight.numpy() @ h)
    try:
        bounded, free = solve_bounded(few, h, between), solve(few, h, nearest)
    except TransportError:
        return None
    assert bounded.between is not None
    giver, receiver = bounded.between.coords
    moved = float(bounded.between.data[giver != receiver].sum())
    return BoundedCost(
        value=bounded.value / total,
        unbounded=free.value / total,
        moved=moved / total,
        people=len(own),
    )
