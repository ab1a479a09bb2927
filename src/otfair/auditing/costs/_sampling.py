"""Samples of people that have some of every type."""

from __future__ import annotations

import numpy as np

MIN_SCORE = 1e-12  # a score of 0 has nothing to give; solvers and draws want a little


def stratified_sample(types: np.ndarray, count: int, size: int, seed: list[int]) -> np.ndarray:
    """Draw about `size` people, as many of each type as its share, of small types at least some."""
    if size >= len(types):
        return np.arange(len(types))
    rng = np.random.default_rng(seed)
    chosen = []
    for k in range(count):
        people = np.flatnonzero(types == k)
        least = min(len(people), size // (4 * count))
        wanted = max(least, round(size * len(people) / len(types)), 1)
        chosen.append(rng.permutation(people)[:wanted])
    return np.sort(np.concatenate(chosen))


def sample_by_mass(
    types: np.ndarray, count: int, mass: np.ndarray, size: int, seed: list[int]
) -> np.ndarray:
    """Draw people by their mass, with replacement: of each type by its share, and at least four."""
    rng = np.random.default_rng(seed)
    total = np.bincount(types, mass, count)
    chosen = []
    for k in range(count):
        people = np.flatnonzero(types == k)
        if len(people):
            wanted = max(4, round(size * total[k] / total.sum()))
            chosen.append(rng.choice(people, size=wanted, p=mass[people] / total[k]))
    return np.concatenate(chosen)
