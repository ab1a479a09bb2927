"""What it takes to be fair, of people on workers: the cheapest plan, its flows and first pairs.

Maths: docs/audit.md. Who gives to whom stays with those who give; what people receive is summed by
one worker, which has one number of each person.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from torch import as_tensor

from otfair.auditing._groups import Comparison
from otfair.auditing._reading import AuditData
from otfair.auditing._results import SHOWN_PAIRS, TWINS, BoundedCost, Cost, Pairs
from otfair.auditing._statistics import MIN_SCORE
from otfair.auditing.costs import _solving
from otfair.auditing.costs._bounding import SAMPLE, bounded_cost
from otfair.auditing.costs._costs import (
    combined,
    crossing,
    flows_of,
    least_moved,
    pair_order,
    plan_cost,
    plan_moves,
    plan_rows,
    smooth_cost,
    smooth_of_checked,
)
from otfair.auditing.costs._extrapolation import Checked, candidates, judge_prices
from otfair.auditing.costs._solving import (
    Totals,
    cheapest_rate,
    lower_bound,
    stand_for,
    with_rate,
    with_types,
)
from otfair.auditing.parted._distances import PartedDistances, PartedTypeDistances
from otfair.auditing.parted._reading import PartedAuditData
from otfair.auditing.parted._rows import at_rows, cut, together
from otfair.auditing.parted._solving import PartedSolution, Thin, solve_parts
from otfair.distributed import Parts
from otfair.geometry import CostMatrix
from otfair.metrics import Estimate
from otfair.notions import People, stratified_sample, type_people
from otfair.transport import TransportError, adjusted_otf


@dataclass(frozen=True, kw_only=True)
class PartedPairs(Pairs):
    """The first pairs, and on workers what each person gives and receives, as shares of score."""

    moved: Parts  # (given, received), (n,) each


def cost_of_fairness(
    data: PartedAuditData, comparison: Comparison, distances: PartedTypeDistances | None,
    between: Any, counts: Any,
) -> Cost:  # fmt: skip
    """Return the costs of fairness under one notion for one attribute, or why there are none.

    With a future of the distances between all people, nobody may end with more than a score of one.
    """
    cost = Cost(least_moved=least_moved(data, comparison, counts), rate=comparison.rate)
    if distances is None:
        return cost
    people, client = comparison.people, data.parts.client
    if "precision" in people.kinds:  # whose rate is the cheapest one without bounds
        between = None
    thin = data.compared(comparison).map(_thin, data.parts)
    totals = Totals(*data.total(comparison, _totals))
    total = float(totals.mass.sum())
    sampling, smooth, failure = None, None, ""
    try:
        people, rate = _at_cheapest_rate(people, thin, totals, distances.nearest)
        cost = replace(cost, rate=rate)
        solved = solve_parts(people, thin, totals, distances.nearest, between)
        if distances.sampled and between is None:
            sampling = _extrapolated(people, thin, totals, distances, solved)
    except TransportError as error:
        return replace(cost, failure=f"no cheapest plan was found: {error}")
    n = len(data)
    pairs = _Paired(data, comparison, solved, distances, total)
    sums = data.resampled(comparison, counts, plan_rows, solved.plan, solved.paid)
    exact = plan_cost(people, solved.value, solved.duals, sums)
    exact = exact if sampling is None else combined(exact, sampling)
    try:
        if between is not None:
            task = partial(_smooth_bounded, people, distances.epsilon)
            smooth = client.submit(task, together(thin), between, pure=False).result() / total
        else:
            smooth = _smooth(people, thin, totals, distances, exact.value)
    except TransportError as error:
        failure = f"no smooth cost was found: {error}"
    smoothed = n if distances.soft_rows is None or between is not None else len(distances.soft_rows)
    return replace(
        cost,
        exact=exact,
        plan=pairs.paid,
        gap=solved.gap / total,
        smooth=smooth,
        smoothed=smoothed,
        bounded=between is not None,
        moved=pairs.mass,
        distance=exact.value / pairs.mass if pairs.mass else 0.0,
        destinations=n if between is not None else distances.n_receivers,
        sampling=None if sampling is None else (sampling.low, sampling.high),
        bins=comparison.bins,
        left=pairs.correlation_left() if comparison.bins else None,
        piled=pairs.piled,
        types=pairs.names,
        flows=pairs.flows,
        pairs=pairs.first,
        failure=failure,
    )


def add_bound(
    cost: Cost, data: PartedAuditData, comparison: Comparison, distances: PartedDistances
) -> Cost:
    """Return a cost with that of bounded scores next to it, where it looks free without."""
    people = comparison.people
    if not cost.looks_free or "precision" in people.kinds:
        return cost
    thin = data.compared(comparison).map(_thin, data.parts)
    totals = Totals(*data.total(comparison, _totals))
    types, count = together(thin.map(_types)), len(people.type_names)
    rows = distances.sample(types, count, SAMPLE, [distances.seed])
    few = together(thin) if rows is None else at_rows(thin, rows)
    task = partial(_bounded, people, None if rows is None else totals)
    found = thin.client.submit(task, few, distances.between(rows), pure=False).result()
    return cost if found is None else replace(cost, with_bound=found)


class _Paired:
    """Who gives to whom, on workers, and what is told of it."""

    def __init__(
        self, data: PartedAuditData, comparison: Comparison, solved: PartedSolution,
        distances: PartedTypeDistances, total: float,
    ) -> None:  # fmt: skip
        self._data, self._comparison, self._total = data, comparison, total
        assert isinstance(comparison.table, PartedAuditData)
        place = comparison.table.place
        weight = as_tensor(comparison.table.weight)
        shown = type_people(comparison.strata, [comparison.groups], weight)
        self.names = shown.type_names
        types = place.map(_at, shown.types.numpy())
        starts, K = place.starts[:-1], len(self.names)
        if solved.between is not None:
            moves = solved.between
        else:
            own = data.compared(comparison)
            moves = own.map(_moves, solved.plan, distances.person, distances.nearest)
        pairs = moves.each(_paired, starts, total, types, together(types))
        mass, paid, count, twins, twin_mass = pairs.sum(_told, K)
        self.flows = flows_of(mass, paid, self.names)
        self.mass, self.paid = float(mass.sum()), float(paid.sum())
        columns = [np.concatenate(c) for c in zip(*pairs.gather(_first_pairs))]
        first = _first_pairs(columns)
        received = cut(data.parts, data.parts.client.submit(
            _received, list(pairs.futures), len(data), pure=False
        ))  # fmt: skip
        moved = pairs.each(_both, starts, received)
        self.first = PartedPairs(
            giver=first[0], receiver=first[1], mass=first[2], distance=first[3],
            giver_type=first[4], receiver_type=first[5],
            totals=(int(count), int(twins), float(twin_mass)), moved=moved,
        )  # fmt: skip
        self._fair = data.parts.map(_fair, moved, total)
        self.piled = float(self._fair.reduce(max, _largest))

    def correlation_left(self) -> float:
        """Return the largest correlation with a continuous attribute that its bins leave."""
        data, c = self._data, self._comparison
        W, s, f, count = data.total(c, _first_moments, self._fair)
        safe = np.where(W > 0, W, 1.0)
        sums = data.total(c, _second_moments, self._fair, s / safe, f / safe)
        ss, ff, sf = sums
        found = [0.0]
        for k in np.flatnonzero((count > 1) & (ss > 0) & (ff > 0)):
            found.append(abs(float(sf[k] / np.sqrt(ss[k] * ff[k]))))
        return max(found)


def _at_cheapest_rate(
    people: People, thin: Parts, totals: Totals, nearest: Parts
) -> tuple[People, float | None]:
    """Return people whose groups must have the precision that is cheapest to reach, and which."""
    if people.rates is None:
        return people, None
    if not bool(people.rates.isnan().any()):
        return people, float(people.rates[0])
    K, client = len(people.type_names), thin.client
    if (size := _solving.SEARCHED // K) >= len(thin):
        task = partial(_rate_of, people, None)
        rate = client.submit(task, together(thin), together(nearest), pure=False).result()
    else:
        draw = partial(stratified_sample, count=K, size=size, seed=[0])
        some = client.submit(draw, together(thin.map(_types)), pure=False).result()
        given = (at_rows(thin, some), at_rows(nearest, some))
        rate = client.submit(partial(_rate_of, people, totals), *given, pure=False).result()
    return with_rate(people, rate), rate


def _extrapolated(
    people: People, thin: Parts, totals: Totals, distances: PartedTypeDistances,
    solved: PartedSolution,
) -> Estimate:  # fmt: skip
    """Return the cost per unit of score with all people as receivers, and where it lies (95 %)."""
    client = thin.client
    checked = distances.checked_people(thin.map(_types))
    find = partial(candidates, people, totals, sampled=solved.price)
    prices = client.submit(find, checked, pure=False).result()
    known = distances.nearest.sum(_bounds, thin, prices)
    judge = partial(
        judge_prices, prices=prices, known=known, sampled=solved.value,
        total=float(totals.mass.sum()),
    )  # fmt: skip
    found: Estimate = client.submit(judge, checked, pure=False).result()
    return found


def _smooth(
    people: People, thin: Parts, totals: Totals, distances: PartedTypeDistances, exact: float
) -> float:
    client, rows = thin.client, distances.soft_rows
    if distances.sampled:
        checked = distances.checked_people(thin.map(_types))
        task: Any = partial(_smooth_checked, people, totals, distances.epsilon, exact)
    else:
        checked = together(thin) if rows is None else at_rows(thin, rows)
        task = partial(_smooth_of, people, None if rows is None else totals, distances.epsilon)
    return float(client.submit(task, checked, distances.soft, pure=False).result())


# What workers do.


def _thin(comparison: Comparison, data: AuditData) -> Thin:
    """Return types, weights and scores of people."""
    return comparison.people.types.numpy(), data.weight, np.maximum(data.scores, MIN_SCORE)


def _types(thin: Thin) -> np.ndarray:
    return thin[0]


def _totals(data: AuditData, comparison: Comparison) -> tuple[np.ndarray, np.ndarray]:
    totals = Totals.of(comparison.people, np.maximum(data.scores, MIN_SCORE))
    return totals.weight, totals.mass


def _standing(people: People, totals: Totals | None, thin: Thin) -> tuple[People, np.ndarray]:
    """Let people stand for all; without totals they are all."""
    types, w, h = thin
    return (with_types(people, types, w), h) if totals is None else stand_for(people, *thin, totals)


def _rate_of(people: People, totals: Totals | None, thin: Thin, D: np.ndarray) -> float | None:
    return cheapest_rate(*_standing(people, totals, thin), D)


def _bounds(D: np.ndarray, thin: Thin, prices: np.ndarray) -> np.ndarray:
    _, w, h = thin
    return np.array([lower_bound(D, w * h, price) for price in prices])


def _smooth_of(
    people: People, totals: Totals | None, epsilon: float, thin: Thin, soft: np.ndarray
) -> float:
    return smooth_cost(*_standing(people, totals, thin), soft, epsilon)


def _smooth_checked(
    people: People, totals: Totals, epsilon: float, exact: float, checked: Checked,
    soft: np.ndarray,
) -> float:  # fmt: skip
    return smooth_of_checked(people, totals, checked, soft, epsilon, exact)


def _smooth_bounded(people: People, epsilon: float, thin: Thin, between: np.ndarray) -> float:
    few, h = _standing(people, None, thin)
    whole = CostMatrix(between, scale=None)
    return float(adjusted_otf(h, whole, few.constraints(), epsilon, bounded=True).value)


def _bounded(
    people: People, totals: Totals | None, thin: Thin, between: np.ndarray
) -> BoundedCost | None:
    return bounded_cost(*_standing(people, totals, thin), between)


def _at(place: np.ndarray, codes: np.ndarray) -> np.ndarray:
    return np.asarray(codes[place])


def _moves(
    comparison: Comparison, plan: sp.csr_array, person: np.ndarray, nearest: np.ndarray
) -> tuple[np.ndarray, ...]:
    return plan_moves(comparison.people.types.numpy(), plan, person, nearest)


def _paired(
    moves: tuple[np.ndarray, ...], start: int, total: float, types: np.ndarray, of_all: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Return giver and receiver, by their numbers among all, mass, distance and both types."""
    giver, receiver, mass, distance = moves
    giver = giver + start
    giver, receiver, mass, distance = crossing(giver, receiver, mass, distance, giver != receiver)
    return giver, receiver, mass / total, distance, types[giver - start], of_all[receiver]


def _told(pairs: tuple[np.ndarray, ...], K: int) -> tuple[Any, ...]:
    """Return what flows between types and what it costs, how many pairs there are, and twins."""
    _, _, mass, distance, giver, receiver = pairs
    cells, twins = giver * K + receiver, distance <= TWINS
    sums = (np.bincount(cells, x, K * K) for x in (mass, mass * distance))
    return *sums, len(mass), int(twins.sum()), float(mass[twins].sum())


def _ordered(columns: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return pairs with the one that moves most first, each once."""
    order = pair_order(columns[0], columns[2], columns[3])
    return [column[order] for column in columns]


def _first_pairs(pairs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return the first pairs of a part, and the first of those who are no twins."""
    columns = _ordered(pairs)
    first = np.arange(len(columns[0])) < SHOWN_PAIRS
    others = columns[3] > TWINS
    first |= others & (others.cumsum() <= SHOWN_PAIRS)
    return [column[first] for column in columns]


def _received(parts: Sequence[tuple[np.ndarray, ...]], n: int) -> np.ndarray:
    out = np.zeros(n)
    for _, receiver, mass, *_ in parts:
        out += np.bincount(receiver, mass, n)
    return out


def _both(
    pairs: tuple[np.ndarray, ...], start: int, received: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    return np.bincount(pairs[0] - start, pairs[2], len(received)), received


def _fair(data: AuditData, moved: tuple[np.ndarray, np.ndarray], total: float) -> np.ndarray:
    """Return the scores after the transport."""
    given, received = moved
    return np.asarray(data.scores + (received - given) * total / data.weight)


def _largest(values: np.ndarray) -> float:
    return float(values.max())


def _first_moments(
    data: AuditData, comparison: Comparison, fair: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Sum weights, numbers and fair scores by stratum, and count people."""
    inside, S = comparison.strata.codes >= 0, len(comparison.strata.names)
    codes, w, s = comparison.strata.codes[inside], data.weight[inside], comparison.numbers
    assert s is not None
    sums = (w, w * s[inside], w * fair[inside], np.ones(len(w)))
    return tuple(np.bincount(codes, x, S) for x in sums)


def _second_moments(
    data: AuditData, comparison: Comparison, fair: np.ndarray, s0: np.ndarray, f0: np.ndarray
) -> tuple[np.ndarray, ...]:
    inside, S = comparison.strata.codes >= 0, len(comparison.strata.names)
    codes, w, numbers = comparison.strata.codes[inside], data.weight[inside], comparison.numbers
    assert numbers is not None
    s, f = numbers[inside] - s0[codes], fair[inside] - f0[codes]
    return tuple(np.bincount(codes, w * x, S) for x in (s * s, f * f, s * f))
