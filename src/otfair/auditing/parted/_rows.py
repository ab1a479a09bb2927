"""Rows of people on workers: some of them together, or one number of each.

What is made here is a future: it stays on a worker, and the client asks for small results only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from otfair.distributed import Parts
from otfair.tables import one_below

FAN_IN = 16  # parts that one task puts together


def at_rows(parts: Parts, index: np.ndarray) -> Any:
    """Return a future of some rows of arrays in parts, in the order of `index`."""
    order = np.argsort(index, kind="stable")
    some = parts.each(_take, parts.split(index[order]))
    back = np.argsort(order, kind="stable")
    return parts.client.submit(_together, list(some.futures), back, pure=False)


def together(parts: Parts) -> Any:
    """Return a future of arrays in parts, of all people: one number or a few of each."""
    return parts.client.submit(_together, list(parts.futures), pure=False)


def reduced(parts: Parts, combine: Callable[[Any, Any], Any]) -> Any:
    """Return a future of parts combined two at a time, in their order, by a few tasks at once."""
    found = list(parts.futures)
    while len(found) > 1:
        groups = [found[k : k + FAN_IN] for k in range(0, len(found), FAN_IN)]
        found = [parts.client.submit(_combined, combine, group, pure=False) for group in groups]
    return found[0]


def cut(parts: Parts, whole: Any) -> Parts:
    """Cut a future of something of all people into parts."""
    ends = pairwise(parts.starts)
    futures = [parts.client.submit(_slice, whole, a, b, pure=False) for a, b in ends]
    return Parts(parts.client, futures, parts.sizes)


def shuffled(parts: Parts, seed: Any, most: int) -> np.ndarray:
    """Return the first of all people in a random order, that of one machine, ascending."""
    task = partial(_first_of, len(parts), seed, most)
    return np.asarray(parts.client.submit(task, pure=False).result())


def _take(rows: Any, index: np.ndarray) -> Any:
    if isinstance(rows, tuple):
        return tuple(_take(one, index) for one in rows)
    return rows.iloc[index] if hasattr(rows, "iloc") else rows[index]


def _together(parts: Sequence[Any], order: np.ndarray | None = None) -> Any:
    if isinstance(parts[0], tuple):
        return tuple(_together(some, order) for some in zip(*parts))
    if isinstance(parts[0], pd.DataFrame):
        return pd.DataFrame(
            {name: _together([part[name] for part in parts], order) for name in parts[0].columns}
        )
    if isinstance(parts[0], pd.Series):
        whole = one_below(parts)
        return whole if order is None else whole.iloc[order].reset_index(drop=True)
    array = np.concatenate(parts)
    return array if order is None else array[order]


def _combined(combine: Callable[[Any, Any], Any], found: Sequence[Any]) -> Any:
    out = found[0]
    for one in found[1:]:
        out = combine(out, one)
    return out


def _slice(whole: Any, a: int, b: int) -> Any:
    return tuple(one[a:b] for one in whole) if isinstance(whole, tuple) else whole[a:b]


def _first_of(n: int, seed: Any, most: int) -> np.ndarray:
    return np.sort(np.random.default_rng(seed).permutation(n)[:most])
