"""Impact ratios over all ways to assign people of unknown category.

The ratio of category c is its rate over the highest rate of some categories, R. Whom an unknown
person may be is a set of categories; a category without known people can't come about.

Smallest: for each possible reference k of R apart, the ratio is least where all unknown people who
are not selected join c and all who are selected join k, as far as they may. The least of these is
the answer, since a ratio to the highest rate is the least of the ratios to each.

Largest: the selected join c and the others stay out of it, as far as they may. What is left is to
spread them over R such that the highest rate there is least. For a limit t on that rate this is a
linear program in whole numbers; t falls to the rate that was reached until nothing improves it.
"""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array

from otfair.law._counts import Counts

CLOSE = 1e-9  # rates that are the same
NODES = 300  # of a search tree: few are needed where a table is small


def ratio_bounds(counts: Counts, c: int, reference: Collection[int]) -> tuple[float, float]:
    """Return the smallest and the largest ratio of category c to the highest of `reference`.

    Ways in which both are 0 have no ratio and do not count; NaN where there is no other one.
    """
    others = [k for k in reference if k != c]
    within = c in reference
    if not others:
        some = counts.selected[c] + sum(u.selected for u in counts.unknown if c in u.cells)
        return (1.0, 1.0) if within and some else (np.nan, np.nan)
    ratios = [r for k in others if (r := _least(counts, c, k)) is not None]
    high = _largest(counts, c, others, bool(ratios))
    if within:
        ends = [min(r, Fraction(1)) for r in [*ratios, high] if r is not None]
        return (float(min(ends)), float(ends[-1])) if ends else (np.nan, np.nan)
    low = min(ratios) if ratios else high
    return (np.nan, np.nan) if low is None or high is None else (float(low), float(high))


def shared_rates(counts: Counts) -> np.ndarray:
    """Return the rate of each category, (K,), where unknown people are shared out as known are."""
    people, selected = counts.people.astype(float), counts.selected.astype(float)
    for some in counts.unknown:
        cells = list(some.cells)
        shares = counts.people[cells] / counts.people[cells].sum()
        people[cells] += shares * some.people
        selected[cells] += shares * some.selected
    rates: np.ndarray = selected / people
    return rates


def _least(counts: Counts, c: int, k: int) -> Fraction | None:
    """Return the least ratio of c to k; None where k never has a rate above 0."""
    ours = [int(counts.selected[c]), int(counts.people[c])]
    theirs = [int(counts.selected[k]), int(counts.people[k])]
    for some in counts.unknown:
        others = some.people - some.selected
        if k in some.cells:
            theirs = [n + some.selected for n in theirs]
        elif some.cells == (c,):
            ours = [n + some.selected for n in ours]
        if c in some.cells:
            ours[1] += others
        elif some.cells == (k,):
            theirs[1] += others
    return Fraction(*ours) / Fraction(*theirs) if theirs[0] else None


def _largest(counts: Counts, c: int, others: list[int], some_rate: bool) -> Fraction | float | None:
    """Return the largest ratio of c to the highest rate of others; None where there is none."""
    s, n = int(counts.selected[c]), int(counts.people[c])
    for some in counts.unknown:
        if c in some.cells:
            s, n = s + some.selected, n + some.selected
        if some.cells == (c,):
            n += some.people - some.selected
    if s == 0:
        return Fraction(0) if some_rate else None
    highest = _lowest_peak(counts, c, others)
    return Fraction(s, n) / highest if highest else np.inf


def _lowest_peak(counts: Counts, c: int, others: list[int]) -> Fraction | float:
    """Return the least that the highest rate of some categories can be, nobody of whom is in c."""
    place = {k: j for j, k in enumerate(others)}
    parts = []  # (is selected, how many, where to): who must be, or may well be, in `others`
    for some in counts.unknown:
        into = [place[k] for k in some.cells if k in place]
        free = any(k not in place and k != c for k in some.cells)  # where they change nothing
        if some.selected and c not in some.cells and not free:
            parts.append((True, some.selected, into))
        if into and some.people > some.selected:
            parts.append((False, some.people - some.selected, into))
    people, selected = counts.people[others], counts.selected[others]
    for chosen, number, into in parts:
        if len(into) == 1:  # there is one place for them
            people[into] += number
            selected[into] += number * chosen
    parts = [part for part in parts if len(part[2]) > 1]
    if not parts:
        return _peak(people, selected)
    if len(parts) == 1 and not parts[0][0]:
        _, number, into = parts[0]
        return max(_peak(people, selected * ~_mask(into, len(others))),
                   _level(people[into], selected[into], number))  # fmt: skip
    return _Spread(people, selected, parts).lowest_peak()


def _mask(places: list[int], size: int) -> np.ndarray:
    return np.isin(np.arange(size), places)


def _peak(people: np.ndarray, selected: np.ndarray) -> Fraction:
    """Return the highest rate."""
    return max(Fraction(int(s), int(n)) for s, n in zip(selected, people))


def _level(people: np.ndarray, selected: np.ndarray, number: int) -> Fraction:
    """Return the least highest rate where people who are not selected may join any category.

    It is s / (n + m) for some category that m people join, so that each one is tried, with the
    largest m that leaves enough people to keep all others within that rate.
    """
    some = selected > 0
    people, selected = people[some], selected[some]
    lowest = Fraction(int(some.any()))
    for n, s in zip(people.tolist(), selected.tolist()):
        low, high = 0, number + 1  # m = low is within reach or the first rate is not; high is not
        while high - low > 1:
            m = (low + high) // 2
            low, high = (m, high) if _needed(people, selected, s, n + m) <= number else (low, m)
        if _needed(people, selected, s, n + low) <= number:
            lowest = min(lowest, Fraction(s, n + low))
    return lowest


def _needed(people: np.ndarray, selected: np.ndarray, p: int, q: int) -> int:
    """Return how many people who are not selected have to join for no rate to be above p / q."""
    return int(np.maximum(-(-selected * q // p) - people, 0).sum())


class _Spread:
    """Parts of unknown people, spread over categories: one variable for each part and category."""

    def __init__(
        self,
        people: np.ndarray,
        selected: np.ndarray,
        parts: list[tuple[bool, int, list[int]]],
    ) -> None:
        self.known, self.known_selected = people, selected
        self.of = np.array([p for p, part in enumerate(parts) for _ in part[2]])  # (V,) part
        self.to = np.array([k for _, _, into in parts for k in into])  # (V,) category
        self.chosen = np.array([part[0] for part in parts])[self.of].astype(np.int64)  # (V,)
        self.sizes = np.array([number for _, number, _ in parts])

    def lowest_peak(self) -> Fraction | float:
        """Return the least that the highest rate can be.

        First for people who can be divided, then for whole ones. Where the search for these does
        not end, the first answer stands: it is never too high, and off by what a person or two in
        a category make.
        """
        first = np.r_[True, self.of[1:] != self.of[:-1]]
        divided = self._lowered(np.where(first, self.sizes[self.of], 0), whole=False)
        if divided is None:  # not seen; what is known is still true
            return 0.0
        whole = self._lowered(divided, whole=True)
        return self._rates(divided).max() - CLOSE if whole is None else _peak(*self._people(whole))

    def _lowered(self, spread: np.ndarray, whole: bool) -> np.ndarray | None:
        """Return the way with the least highest rate; None where it can't be told."""
        if whole:  # a first way of whole people
            found = self._below(spread, whole)
            if found is None:
                return None
            spread = found
        peak = self._rates(spread).max()
        while peak > 0:
            found = self._below(spread, whole)
            if found is None:
                return None
            lower = self._rates(found).max()
            if lower > peak - CLOSE:
                break
            spread, peak = found, lower
        return spread

    def _people(self, spread: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return people and selected people of each category."""
        joined = np.bincount(self.to, spread, minlength=len(self.known))
        chosen = np.bincount(self.to, spread * self.chosen, minlength=len(self.known))
        return self.known + joined, self.known_selected + chosen

    def _rates(self, spread: np.ndarray) -> np.ndarray:
        people, selected = self._people(spread)
        rates: np.ndarray = selected / people
        return rates

    def _below(self, spread: np.ndarray, whole: bool) -> np.ndarray | None:
        """Return a way in which rates are as far below the highest of this one as they can be."""
        t, scale = self._rates(spread).max(), self._people(spread)[0]
        count, K, parts = len(self.of), len(self.known), len(self.sizes)
        v = np.arange(count)
        # 1 + (t * people - selected) / scale >= z for each category; z, the last variable, is as
        # large as can be, and close to 1 at the end, so that the solver's gap is one of rates.
        weights = np.r_[(t - self.chosen) / scale[self.to], -np.ones(K)]
        places = (np.r_[self.to, np.arange(K)], np.r_[v, np.full(K, count)])
        rates = coo_array((weights, places), shape=(K, count + 1)).tocsr()
        all_of = coo_array((np.ones(count), (self.of, v)), shape=(parts, count + 1)).tocsr()
        least = (self.known_selected - t * self.known) / scale - 1.0
        wide = 2.0 + self.sizes.sum()  # z is within it
        found = milp(
            -np.eye(1, count + 1, count)[0],
            constraints=[
                LinearConstraint(rates, least, np.inf),
                LinearConstraint(all_of, self.sizes, self.sizes),
            ],
            integrality=np.r_[np.full(count, int(whole)), 0],
            bounds=Bounds(np.r_[np.zeros(count), -wide], np.r_[self.sizes[self.of], wide]),
            # Without presolving, by which older solvers call some of these infeasible.
            options={"node_limit": NODES, "mip_rel_gap": CLOSE, "presolve": False},
        )
        if found.status != 0:
            return None
        numbers: np.ndarray = np.maximum(found.x[:count], 0.0)
        numbers = np.round(numbers) if whole else numbers
        off = np.abs(np.bincount(self.of, numbers, minlength=parts) - self.sizes).max()
        return numbers if off < (0.5 if whole else np.inf) else None
