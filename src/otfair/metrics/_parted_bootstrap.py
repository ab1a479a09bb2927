"""Resamples of people on Dask's workers: those that one machine draws."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from otfair.distributed import Parts

MOST_COUNTS = 2**26  # bytes of resamples that one task draws
MOST_DRAWS = 2**22  # rows drawn at once


def draw_parted_counts(parts: Parts, count: int, seed: int) -> Parts:
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
