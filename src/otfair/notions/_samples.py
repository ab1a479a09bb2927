"""Samples of people, by their types."""

from __future__ import annotations

import numpy as np


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
