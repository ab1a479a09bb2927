"""Pairs of places of one type and row points: all of them in a matrix, or the near ones.

Maths: docs/derivation.md, section 14. A pair has the exponent e = (D - C) / epsilon, and exp(e) is
the share per unit of weight that a place has in what the row point sends to the type.
"""

from __future__ import annotations

import copy
from typing import Protocol, Self

import numpy as np
import scipy.sparse as sp

HIGHEST = 700.0  # that exp can take
LOWEST = -700.0


class Pairs(Protocol):
    """What both kinds of pairs can do; u places and r row points."""

    def sum(self, weight: np.ndarray) -> np.ndarray:
        """Sum over places of weight (u,) times share, (r,)."""

    def send(self, mass: np.ndarray, places: slice | np.ndarray) -> np.ndarray:
        """Sum over row points of a mass (r,) times share, for some places."""

    def entries(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the pairs of some places: which of them, row point, and exponent."""

    def replaced(self, points: np.ndarray, found: sp.csr_array) -> Self:
        """Return pairs with others for some row points, (u, p)."""


class AllPairs:
    """All pairs of the places of a type, in a matrix."""

    def __init__(self, e: np.ndarray) -> None:
        self.e = e  # (u, r)
        self._share = np.exp(np.clip(e, LOWEST, HIGHEST))

    def sum(self, weight: np.ndarray) -> np.ndarray:
        return np.asarray(weight @ self._share)

    def send(self, mass: np.ndarray, places: slice | np.ndarray) -> np.ndarray:
        return np.asarray(self._share[places] @ mass)

    def entries(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        e = self.e[places]
        a, i = np.indices(e.shape).reshape(2, -1)
        return a, i, e.ravel()

    def replaced(self, points: np.ndarray, found: sp.csr_array) -> AllPairs:
        whole, pairs = self.e.copy(), found.tocoo()
        whole[:, points] = -np.inf
        whole[pairs.coords[0], points[pairs.coords[1]]] = pairs.data
        return AllPairs(whole)


class NearPairs:
    """The near pairs of the places of a type: those found first, and those of rows found anew."""

    def __init__(self, e: sp.csr_array) -> None:
        self._first, self._share = e, _exp(e)  # (u, r)
        self._anew, self._anew_share = sp.csr_array(e.shape), sp.csr_array(e.shape)
        self._gone = np.zeros(e.shape[1], dtype=bool)  # (r,) row points that were found anew

    def sum(self, weight: np.ndarray) -> np.ndarray:
        first = np.where(self._gone, 0.0, self._share.T @ weight)
        return np.asarray(first + self._anew_share.T @ weight)

    def send(self, mass: np.ndarray, places: slice | np.ndarray) -> np.ndarray:
        first, anew = self._share, self._anew_share
        if not isinstance(places, slice):
            first, anew = first[places], anew[places]
        return np.asarray(first @ np.where(self._gone, 0.0, mass) + anew @ mass)

    def entries(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        first, anew = self._first[places].tocoo(), self._anew[places].tocoo()
        some = ~self._gone[first.coords[1]]
        a, i = (np.append(x[some], y) for x, y in zip(first.coords, anew.coords))
        return a, i, np.append(first.data[some], anew.data)

    def replaced(self, points: np.ndarray, found: sp.csr_array) -> NearPairs:
        new, old, pairs = copy.copy(self), self._anew.tocoo(), found.tocoo()
        now = np.zeros_like(self._gone)
        now[points] = True
        stay = ~now[old.coords[1]]
        j = np.append(old.coords[0][stay], pairs.coords[0])
        i = np.append(old.coords[1][stay], points[pairs.coords[1]])
        anew = sp.csr_array((np.append(old.data[stay], pairs.data), (j, i)), old.shape)
        if not self._first.nnz:  # the first to be found
            return NearPairs(anew)
        new._gone, new._anew, new._anew_share = self._gone | now, anew, _exp(anew)
        return new


def _exp(pairs: sp.csr_array) -> sp.csr_array:
    data = np.exp(np.minimum(pairs.data, HIGHEST))
    return sp.csr_array((data, pairs.indices, pairs.indptr), pairs.shape)
