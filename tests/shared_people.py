"""Processes that share people, as threads of this one: what each would do, without their start."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, BrokenBarrierError
from typing import Any

import numpy as np

from otfair._io.processes import Processes

LIMIT = 60  # seconds that one may wait for the others


class Thread(Processes):
    """One of several threads, which take the same steps."""

    def __init__(self, rank: int, size: int, board: list[Any], barrier: Barrier) -> None:
        self.rank, self.size, self._board, self._barrier = rank, size, board, barrier

    def _all(self, value: Any) -> list[Any]:
        self._board[self.rank] = value
        self._barrier.wait(LIMIT)
        values = list(self._board)
        self._barrier.wait(LIMIT)
        return values

    def sum(self, values: np.ndarray) -> np.ndarray:
        every = self._all(values)
        assert len({v.shape for v in every}) == 1
        return sum(every[1:], every[0])

    def max(self, value: float) -> float:
        return max(self._all(value))


def in_threads(size: int, work: Callable[[Processes], Any]) -> list[Any]:
    """Return what each of several threads made of its share."""
    board, barrier = [None] * size, Barrier(size)

    def one(rank: int) -> Any:
        try:
            return work(Thread(rank, size, board, barrier))
        except BaseException:
            barrier.abort()
            raise

    with ThreadPoolExecutor(size) as pool:
        futures = [pool.submit(one, rank) for rank in range(size)]
    # Of those who fail, the first to do so tells why; the others waited for it.
    errors = [future.exception() for future in futures]
    for error in errors:
        if error is not None and not isinstance(error, BrokenBarrierError):
            raise error
    return [future.result() for future in futures]
