"""Rows of people on workers: some of them together, one number of each, and resamples.

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
MOST_COUNTS = 2**26  # bytes of resamples that one task draws
MOST_DRAWS = 2**22  # rows drawn at once


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


def draw_counts(parts: Parts, count: int, seed: int) -> Parts:
    """Return how often each person is in each resample, (count, n) of each part.

    The stream of random numbers is that of one machine, so that the resamples are, too. One task
    goes on where the other ended; each draws some resamples of all people.
    """
    n, client = len(parts), parts.client
    block = max(1, MOST_COUNTS // max(n, 1))
    sizes = [min(block, count - k) for k in range(0, count, block)]
    drawn, state = [], None
    for size in sizes:
        both = client.submit(_drawn, n, size, seed, state, pure=False)
        state = client.submit(_second, both, pure=False)
        drawn.append(both)
    futures = []
    for a, b in pairwise(parts.starts):  # cut where they are, so that little is moved
        own = [client.submit(_own_counts, both, a, b, pure=False) for both in drawn]
        futures.append(client.submit(_stacked, own, b - a, pure=False))
    return Parts(client, futures, parts.sizes)


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


def _drawn(n: int, count: int, seed: int, state: Any) -> tuple[np.ndarray, Any]:
    """Draw some resamples, (count, n), and return them with the state of the generator."""
    rng = np.random.default_rng(seed)
    if state is not None:
        rng.bit_generator.state = state
    counts = np.empty((count, n), dtype=np.uint8)
    for one in counts:
        total = np.zeros(n, dtype=np.int64)
        for start in range(0, n, MOST_DRAWS):
            total += np.bincount(rng.integers(n, size=min(MOST_DRAWS, n - start)), minlength=n)
        one[:] = total
    return counts, rng.bit_generator.state


def _second(both: tuple[Any, Any]) -> Any:
    return both[1]


def _own_counts(both: tuple[np.ndarray, Any], a: int, b: int) -> np.ndarray:
    return np.ascontiguousarray(both[0][:, a:b])


def _stacked(counts: Sequence[np.ndarray], n: int) -> np.ndarray:
    return np.concatenate([np.zeros((0, n), dtype=np.uint8), *counts])
