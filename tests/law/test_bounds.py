"""Impact ratios over all ways to assign people of unknown category, against all these ways."""

from __future__ import annotations

from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from otfair.law._bounds import ratio_bounds, shared_rates
from otfair.law._counts import Counts, Unknown


def made(people, selected, unknown) -> Counts:
    """Make counts; unknown people are (cells, people, selected)."""
    return Counts(
        names=("group",),
        cells=tuple((f"c{j}",) for j in range(len(people))),
        people=np.array(people),
        selected=np.array(selected),
        unknown=tuple(Unknown(tuple(cells), n, s) for cells, n, s in unknown),
        outside=0,
        outside_selected=0,
    )


def every_way(counts: Counts):
    """Yield people and selected people for each way to assign those of unknown category."""
    parts = [(u.cells, n, chosen) for u in counts.unknown
             for n, chosen in ((u.selected, 1), (u.people - u.selected, 0)) if n]  # fmt: skip
    for way in product(*(combinations_with_replacement(cells, n) for cells, n, _ in parts)):
        people, selected = counts.people.copy(), counts.selected.copy()
        for places, (_, _, chosen) in zip(way, parts):
            np.add.at(people, list(places), 1)
            np.add.at(selected, list(places), chosen)
        yield people, selected


def by_brute_force(counts: Counts, c: int, reference: list[int]) -> tuple[float, float]:
    ratios = []
    for people, selected in every_way(counts):
        rates = selected / people
        highest = max(rates[k] for k in reference)
        if highest > 0:
            ratios.append(rates[c] / highest)
        elif rates[c] > 0:
            ratios.append(np.inf)
    return (min(ratios), max(ratios)) if ratios else (np.nan, np.nan)


def random_counts(rng: np.random.Generator) -> Counts:
    """Make a small table: crossed or not, with ties, nobody selected, everybody selected."""
    if rng.random() < 0.5:
        K = int(rng.integers(1, 5))
        cells = [(j,) for j in range(K)]
        sets = [tuple(range(K))]
    else:
        shape = (2, int(rng.integers(2, 4)))
        every = list(product(*map(range, shape)))
        cells = [every[j] for j in rng.permutation(len(every))[: rng.integers(1, len(every) + 1)]]
        agreeing = [
            tuple(j for j, cell in enumerate(cells) if cell[side] == value)
            for side in (0, 1)
            for value in range(shape[side])
        ]
        sets = [tuple(range(len(cells))), *(some for some in agreeing if some)]
    people = rng.integers(1, 6, len(cells))
    if rng.random() < 0.3:
        people[:] = people[0]
    share = rng.choice([0.0, 0.3, 0.5, 0.8, 1.0])
    selected = rng.binomial(people, share)
    unknown, room = [], 5
    for some in rng.permutation(len(sets)):
        n = int(rng.integers(0, min(room, 4) + 1))
        room -= n
        unknown.append((sets[some], n, int(rng.integers(0, n + 1))))
    return made(people, selected, unknown)


@pytest.mark.parametrize("seed", range(16))
def test_bounds_are_those_of_all_ways_to_assign(seed):
    rng = np.random.default_rng(seed)
    for _ in range(15):
        counts = random_counts(rng)
        K = len(counts)
        reference = sorted(rng.permutation(K)[: rng.integers(1, K + 1)].tolist())
        for among in (list(range(K)), reference):
            for c in range(K):
                found = ratio_bounds(counts, c, among)
                expected = by_brute_force(counts, c, among)
                assert found == pytest.approx(expected, rel=1e-12, nan_ok=True), (counts, c, among)


def test_hand_computed_bounds():
    # 2 of 4 against 3 of 4; one unknown person is selected and one is not.
    counts = made([4, 4], [2, 3], [((0, 1), 2, 1)])
    assert ratio_bounds(counts, 0, [0, 1]) == (0.4 / 0.8, 1.0)
    # Nobody unknown is selected: all five join the second category, 3 of 9.
    counts = made([4, 4], [1, 3], [((0, 1), 5, 0)])
    assert ratio_bounds(counts, 0, [0, 1]) == pytest.approx(((1 / 9) / (3 / 4), (1 / 4) / (3 / 9)))


def test_no_one_unknown_leaves_the_ratio():
    counts = made([10, 8], [5, 2], [])
    assert ratio_bounds(counts, 1, [0, 1]) == (0.5, 0.5)
    assert ratio_bounds(counts, 0, [0, 1]) == (1.0, 1.0)


def test_who_is_known_in_part_stays_within_the_cells_that_agree():
    # The unknown may be in the second cell alone, where they are selected: the first falls.
    counts = made([4, 4], [2, 2], [((1,), 4, 4)])
    assert ratio_bounds(counts, 0, [0, 1]) == pytest.approx((0.5 / 0.75, 0.5 / 0.75))


def test_without_any_selected_there_is_no_ratio():
    counts = made([4, 4], [0, 0], [((0, 1), 3, 0)])
    assert np.isnan(ratio_bounds(counts, 0, [0, 1])).all()
    # One unknown person is selected: in the category the ratio is 1, in the other it is 0.
    counts = made([4, 4], [0, 0], [((0, 1), 1, 1)])
    assert ratio_bounds(counts, 0, [0, 1]) == (0.0, 1.0)


def test_shares_of_the_known_share_out_the_unknown():
    counts = made([30, 10], [15, 2], [((0, 1), 8, 4)])
    # 6 join the first, 3 of them selected, and 2 the second, 1 of them selected.
    assert shared_rates(counts) == pytest.approx([18 / 36, 3 / 12])


def test_large_tables_are_spread_within_a_person_of_the_best():
    # Row 0 has two cells with unknown selected and others of row 0; no cell of row 1 may take them.
    people, selected = [900, 700, 800, 650], [500, 200, 300, 350]
    counts = made(
        people, selected, [((0, 1), 1200, 500), ((1, 3), 800, 300), ((0, 1, 2, 3), 50, 9)]
    )
    low, high = ratio_bounds(counts, 2, [0, 1, 2, 3])
    assert 0 < low < high <= 1
    # The best of many ways drawn by chance is no better, and not far off what a grid finds.
    rate = (300 + 9) / (800 + 9)
    best = np.inf
    for a in range(0, 501, 5):  # selected of the first set who join cell 0
        for b in range(0, 301, 5):  # selected of the second who join cell 1
            s = np.array([500 + a, 200 + 500 - a + b, 350 + 300 - b])
            n = np.array([900 + a, 700 + 500 - a + b, 650 + 300 - b])
            best = min(best, _level_of(n, s))
    assert rate / best <= high + 1e-12
    assert high == pytest.approx(min(rate / best, 1), rel=2e-3)


def _level_of(n: np.ndarray, s: np.ndarray) -> float:
    """Spread others by bisection: 700 over cells 0 and 1, 500 over 1 and 3, 41 over all."""
    low, high = 0.0, 1.0
    for _ in range(25):
        t = (low + high) / 2
        a, b, c = np.maximum(s / t - n, 0)
        feasible = (
            max(a - 700, 0) + max(c - 500, 0) <= 41 and a + b + c <= 1241
            and max(a + b - 1200, 0) <= 41 and max(b + c - 1200, 0) <= 41
        )  # fmt: skip
        low, high = (low, t) if feasible else (t, high)
    return high
