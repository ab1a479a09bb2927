"""The exact cost of people on many machines: only those whose type is undecided reach the client.

Maths: docs/scaling.md. Of the pairs of a person and a type that a program is about, most people
have one, and their score goes there. Workers sum these by type. What is left to decide are the few
people with several pairs, whom the client puts in the program, next to one for each type who stands
for all that are decided.
"""

from __future__ import annotations

from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np

from otfair.transport._exact import Pairs, excess
from otfair.transport._parted import PartedProblem, PartedShares

MOST_OPEN = 100_000  # people in a program to begin with
GROWTH = 10  # by which they may become more


class PartedPairs(Pairs):
    """The pairs of people on workers; see `Pairs`."""

    def __init__(self, problem: PartedProblem) -> None:
        self._problem: PartedProblem = problem
        self._D, self._V = problem.distances, problem.vectors
        self._pairs = self._D.map(_no_pairs)
        self.possible = len(self._D) * self._V.shape[1]

    @property
    def all(self) -> bool:
        return bool(self._pairs.sum(np.sum) == self.possible)

    def add(self, mu: np.ndarray, margin: float) -> None:
        added = self._D.map(_added, self._pairs, self._V, mu, margin)
        count = added.sum(_count_open)
        if count > MOST_OPEN and margin > 0:
            return self.add(mu, margin / 4)
        if count > GROWTH * MOST_OPEN:
            raise MemoryError(
                f"an exact plan leaves {count} people undecided, more than one machine is to hold; "
                "use `smooth_otf` with a small `epsilon`."
            )
        self._pairs = added
        return None

    def program(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        K = len(self._problem.column_mass)
        found = self._D.gather(_undecided, self._problem.masses, self._pairs)
        self._ends = [*accumulate(part[0].shape[1] for part in found)]
        mass = np.sum([part[3] for part in found], axis=0)  # (K,) decided, and what it costs
        cost = np.sum([part[4] for part in found], axis=0)
        decided = np.diag(cost / np.where(mass > 0, mass, 1.0))
        D = np.concatenate([*(part[0] for part in found), decided], 1)
        m = np.concatenate([*(part[1] for part in found), mass])
        return D, m, np.concatenate([*(part[2] for part in found), np.eye(K, dtype=bool)], 1)

    def prices(self, mu: np.ndarray) -> tuple[Any, float]:
        shift = mu @ self._V
        total = self._D.sum(_paid, self._problem.masses, shift)
        return partial(self._D.map, _lowest, shift), float(total)

    def point(self, P: np.ndarray, prices: Any, mu: np.ndarray) -> Any:
        each = np.split(P, self._ends, axis=1)[:-1]
        return PartedShares(self._pairs.each(_shares, each, self._problem.masses))


def _no_pairs(D: np.ndarray) -> np.ndarray:
    return np.zeros(D.shape, dtype=bool)


def _added(
    D: np.ndarray, pairs: np.ndarray, V: np.ndarray, mu: np.ndarray, margin: float
) -> np.ndarray:
    return pairs | (excess(D, V, mu) <= margin)


def _count_open(pairs: np.ndarray) -> int:
    return int((pairs.sum(0) > 1).sum())


def _undecided(D: np.ndarray, m: np.ndarray, pairs: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return distances, masses and pairs of those with several; mass and cost of the others."""
    several = pairs.sum(0) > 1
    decided = np.where(pairs & ~several, m, 0.0)
    return D[:, several], m[several], pairs[:, several], decided.sum(1), (decided * D).sum(1)


def _paid(D: np.ndarray, m: np.ndarray, shift: np.ndarray) -> float:
    return float(m @ _lowest(D, shift))


def _lowest(D: np.ndarray, shift: np.ndarray) -> np.ndarray:
    return np.asarray((D - shift[:, None]).min(0))


def _shares(pairs: np.ndarray, P: np.ndarray, m: np.ndarray) -> np.ndarray:
    """Return shares (K, n), of a plan P (K, o) of those with several pairs."""
    several = pairs.sum(0) > 1
    share = pairs.astype(np.float64)
    share[:, several] = P / np.where(m[several] > 0, m[several], 1.0)
    return share
