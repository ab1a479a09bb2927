"""Checks of trees that came with a file, before a booster's own code sees them.

That code trusts what it reads: a child out of range is a crash, and a tree that leads back to
itself never ends. Both formats are therefore read here, checked, and written anew.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from otfair._io.checks import require

DEEPEST = 2000  # splits on the way to a leaf; boosters measure trees by recursion
LARGEST_FLOAT = float(np.finfo(np.float32).max)


def whole(values: Any, what: str, count: int, low: int, high: int) -> np.ndarray:
    """Return whole numbers from `low` to `high`, as many as there must be."""
    found = _array(values, what, count, {int})
    require(not count or found.dtype.kind == "i", f"{what} are not whole numbers")
    found = found.astype(np.int64)
    inside = not count or (found.min() >= low and found.max() <= high)
    require(bool(inside), f"{what} are not from {low} to {high}")
    return found


def real(
    values: Any,
    what: str,
    count: int,
    largest: float = LARGEST_FLOAT,
    infinite: bool = False,
    unused: Any = False,
) -> np.ndarray:
    """Return numbers of at most this size, as many as there must be.

    None is NaN, but for those that are `unused`, (n,) bool.
    """
    found = _array(values, what, count, {int, float}).astype(np.float64)
    sound = np.abs(found) <= largest
    if infinite:
        sound |= np.isinf(found)
    sound |= unused & np.isnan(found)
    require(bool(sound.all()), f"{what} are not numbers of at most {largest:.0e}")
    return found


def _array(values: Any, what: str, count: int, kinds: set[type]) -> np.ndarray:
    require(isinstance(values, list) and len(values) == count, f"{what} are not {count} values")
    # Before NumPy sees them: one long text would make all of them as long.
    whole = "whole " * (float not in kinds)
    require(set(map(type, values)) <= kinds, f"{what} are not {whole}numbers")
    return np.array(values)


def reached(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return which nodes the first one leads to, (n,) bool; raise unless each once.

    `left` and `right` are the children of each node, (n,), below zero where there is none.
    """
    seen = np.zeros(len(left), dtype=bool)
    level = np.zeros(min(len(left), 1), dtype=np.int64)  # the root
    for _ in range(DEEPEST + 1):
        if not len(level):
            return seen
        once = not seen[level].any() and len(np.unique(level)) == len(level)
        require(once, "a tree leads to a node twice")
        seen[level] = True
        level = np.concatenate([left[level], right[level]])
        level = level[level >= 0]
    raise ValueError(f"a tree is deeper than {DEEPEST} splits")
