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

    def send(self, mass: np.ndarray) -> np.ndarray:
        """Sum over row points of a mass (r,) times share, (u,)."""

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

    def send(self, mass: np.ndarray) -> np.ndarray:
        return np.asarray(self._share @ mass)

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
    """The near pairs of the places of a type, and those that took the place of earlier ones."""

    def __init__(self, e: sp.csr_array) -> None:
        self._parts = [e]  # (u, r) each; a pair is in one of them
        self._shares = [_exp(e)]

    def sum(self, weight: np.ndarray) -> np.ndarray:
        return np.asarray(sum(share.T @ weight for share in self._shares))

    def send(self, mass: np.ndarray) -> np.ndarray:
        return np.asarray(sum(share @ mass for share in self._shares))

    def entries(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        parts = [part[places].tocoo() for part in self._parts]
        some = [part.data > -np.inf for part in parts]
        a, i = (np.concatenate([p.coords[x][s] for p, s in zip(parts, some)]) for x in (0, 1))
        return a, i, np.concatenate([p.data[s] for p, s in zip(parts, some)])

    def replaced(self, points: np.ndarray, found: sp.csr_array) -> NearPairs:
        new, old, last = copy.copy(self), self._parts[0], self._parts[-1].tocoo()
        gone = np.zeros(old.shape[1], dtype=bool)
        gone[points] = True
        data, share = old.data.copy(), self._shares[0].data.copy()
        gone_here = gone[old.indices]
        data[gone_here], share[gone_here] = -np.inf, 0.0
        stay = ~gone[last.coords[1]] & (len(self._parts) > 1)
        pairs = found.tocoo()
        j = np.append(last.coords[0][stay], pairs.coords[0])
        i = np.append(last.coords[1][stay], points[pairs.coords[1]])
        patch = sp.csr_array((np.append(last.data[stay], pairs.data), (j, i)), old.shape)
        first = sp.csr_array((data, old.indices, old.indptr), old.shape)
        shares = sp.csr_array((share, old.indices, old.indptr), old.shape)
        new._parts, new._shares = [first, patch], [shares, _exp(patch)]
        if not gone_here.size:  # nothing was held before
            new._parts, new._shares = [patch], [new._shares[1]]
        return new


def _exp(pairs: sp.csr_array) -> sp.csr_array:
    data = np.exp(np.minimum(pairs.data, HIGHEST))
    return sp.csr_array((data, pairs.indices, pairs.indptr), pairs.shape)
