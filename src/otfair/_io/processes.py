"""Processes that share the people of one problem, and what they tell each other: small sums.

Each process holds some of the people, and all of them take the same steps in the same order. What
is summed is of the size of constraints and types, never of people.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

T = TypeVar("T")


class Processes:
    """The processes that share the people: here, one that has them all."""

    size = 1  # how many there are
    rank = 0  # which of them this is

    def sum(self, values: np.ndarray) -> np.ndarray:
        """Return the sum over processes of an array that all have in one shape."""
        return values

    def max(self, value: float) -> float:
        """Return the largest of the processes' numbers."""
        return value

    def together(self, read: Callable[[], T]) -> list[T]:
        """Do what may fail, and return what it gave each process; if one fails, all do."""
        return [read()]

    def first(self, values: np.ndarray) -> np.ndarray:
        """Return the first process's numbers, by which all go on.

        What each makes of the same sums may differ by rounding, where machines do; whoever took
        another turn than the others would wait for them.
        """
        if self.size == 1:
            return values
        return self.sum(values if self.rank == 0 else np.zeros_like(values))

    def total(self, value: float) -> float:
        """Return the sum over processes of a number."""
        return value if self.size == 1 else float(self.sum(np.array([value]))[0])

    def sum_both(self, values: np.ndarray, value: float) -> tuple[np.ndarray, float]:
        """Return the sums over processes of an array (k,) and of a number, by one message."""
        if self.size == 1:
            return values, value
        sums = self.sum(np.append(values, value))
        return sums[:-1], float(sums[-1])

    def decide(self, *numbers: float) -> tuple[float, ...]:
        """Return the first process's numbers, as `first` does."""
        return numbers if self.size == 1 else tuple(self.first(np.array(numbers)).tolist())


ALONE = Processes()
