"""Impact ratios over all ways to assign people of unknown category, against all these ways."""

from __future__ import annotations

from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from otfair.law._bounds import ratio_bounds
from otfair.law._counts import Counts, Unknown


def made(people, selected, unknown, sides=None) -> Counts:
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


@pytest.mark.parametrize("seed", range(12))
def test_bounds_are_those_of_all_ways_to_assign(seed):
    rng = np.random.default_rng(seed)
    for _ in range(25):
        counts = random_counts(rng)
        K = len(counts)
        reference = sorted(rng.permutation(K)[: rng.integers(1, K + 1)].tolist())
        for among in (list(range(K)), reference):
            for c in range(K):
                found = ratio_bounds(counts, c, among)
                expected = by_brute_force(counts, c, among)
                assert found == pytest.approx(expected, rel=1e-12, nan_ok=True), (counts, c, among)
