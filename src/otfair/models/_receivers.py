"""Who of the training people may receive score: all, or a sample where all would take too long.

What a sample does to the penalty is found from some people, who are measured to all.
Maths: docs/training.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from scipy.stats import t as student

from otfair.geometry import Geometry
from otfair.notions import People, possible_constraints, stratified_sample
from otfair.transport import adjusted_otf

COMPARISONS = 10**10  # of two people, by which all may receive: a few minutes on one core
LEAST = 512  # people of a sample, however many there are
CHECKED = 2048  # people who are measured to all
PARTS = 16  # of them, of which each is left out in turn
LEAST_SCORE = 1e-12
FAIR = 1e-12  # cost per person, of scores that need not move
#: People who may receive, of how many, and how many times its value with all the penalty is: with
#: the ends of a 95 % interval. None where the scores are fair, so that it is zero by both.
Receiving: TypeAlias = dict[str, Any]


def default_size(n: int) -> int:
    """Return how many of n people receive score where all of them would be too many."""
    return min(n, max(LEAST, 1 << max(1, COMPARISONS // n).bit_length() - 1))


def with_receivers(
    geometry: Geometry, people: People, epsilon: float, receivers: int | None, seed: list[int]
) -> Geometry:
    """Let as many people as asked for receive score; None is all, or as many as are affordable."""
    n, types, count = geometry.shape[0], people.types, len(people.type_names)
    if receivers is None:
        few = n**2 <= COMPARISONS
        if few or geometry.comparisons(types, epsilon, people.weight, count) <= COMPARISONS:
            return geometry
        receivers = default_size(n)
    counted = np.flatnonzero(people.weight.numpy() > 0)
    if receivers >= len(counted):
        return geometry
    chosen = stratified_sample(types.numpy()[counted], count, receivers, seed)
    return geometry.with_receivers(counted[chosen])


def receiving(
    geometry: Geometry, people: People, scores: np.ndarray, epsilon: float, seed: list[int]
) -> Receiving:
    """Return who receives score, and what a sample does to the penalty of these scores."""
    n = geometry.shape[0]
    if geometry.n_receivers == n:
        return {"people": n, "of": n, "ratio": 1.0, "low": 1.0, "high": 1.0}
    counted = np.flatnonzero(people.weight.numpy() > 0)
    types, count = people.types.numpy()[counted], len(people.type_names)
    rows = np.random.default_rng(seed).permutation(
        counted[stratified_sample(types, count, CHECKED, seed)]
    )
    views = [some.rows(rows) for some in (geometry, geometry.with_receivers(None))]
    for view in views:  # one pass each
        view.soft_distances(people.types, epsilon, people.weight, count)

    def ratio(part: np.ndarray) -> float | None:
        h = np.clip(scores[rows[part]], LEAST_SCORE, 1.0)
        constraints = possible_constraints(people, rows[part], h)
        some, every = (
            adjusted_otf(h, view.rows(part), constraints, epsilon).value for view in views
        )
        return some / every if every > FAIR * len(part) else None

    return {"people": geometry.n_receivers, "of": n} | jackknife(ratio, len(rows))


def jackknife(ratio: Callable[[np.ndarray], float | None], count: int) -> Receiving:
    """Return the ratio of penalties of some people, with its interval from parts left out."""
    whole = ratio(np.arange(count))
    told: Receiving = {}
    parts = np.arange(count) % PARTS
    left_out = [ratio(np.flatnonzero(parts != k)) for k in range(min(PARTS, count - 1))]
    found = [r for r in left_out if r is not None]
    if whole is None or len(found) < 2:
        return told | {"ratio": None, "low": None, "high": None}
    spread = np.sqrt((len(found) - 1) * np.var(found))  # of the jackknife
    off = float(student.ppf(0.975, len(found) - 1) * spread)
    return told | {"ratio": float(whole), "low": max(0.0, whole - off), "high": whole + off}


def say_sample(told: Receiving | None) -> list[str]:
    """Say who may receive score, and what that does to the penalty, where they are a sample."""
    if told is None or told["people"] == told["of"]:
        return []
    said = f"{told['people']:,} of {told['of']:,} training people may receive score"
    if told["ratio"] is None:
        return [f"{said}; the scores are fair by them and by all."]
    said += f": the penalty is {told['ratio']:.3g} times its value with all as receivers, with 95 %"
    return [f"{said} confidence {told['low']:.3g} to {told['high']:.3g} times."]
