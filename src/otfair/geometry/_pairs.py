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

    def replaced(self, points: np.ndarray, e: np.ndarray, far: float) -> Self:
        """Return pairs with other exponents for some row points, (u, p), kept if above `far`."""


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

    def replaced(self, points: np.ndarray, e: np.ndarray, far: float) -> AllPairs:
        whole = self.e.copy()
        whole[:, points] = e
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

    def replaced(self, points: np.ndarray, e: np.ndarray, far: float) -> NearPairs:
        new, old = copy.copy(self), self._parts[0]
        gone = np.zeros(old.shape[1], dtype=bool)
        gone[points] = True
        data, share = old.data.copy(), self._shares[0].data.copy()
        gone_here = gone[old.indices]
        data[gone_here], share[gone_here] = -np.inf, 0.0
        j, p = (e > far).nonzero()
        patch = _coo(j, points[p], e[j, p], old.shape)
        for part in self._parts[1:]:
            kept = part.tocoo()
            stay = ~gone[kept.coords[1]]
            rest = (kept.coords[0][stay], kept.coords[1][stay], kept.data[stay])
            both = (np.append(x, y) for x, y in zip(rest, (j, points[p], e[j, p])))
            patch = _coo(*both, old.shape)
        first = sp.csr_array((data, old.indices, old.indptr), old.shape)
        shares = sp.csr_array((share, old.indices, old.indptr), old.shape)
        new._parts, new._shares = [first, patch], [shares, _exp(patch)]
        return new


def _coo(
    j: np.ndarray, i: np.ndarray, e: np.ndarray, shape: tuple[int, ...]
) -> sp.csr_array:
    return sp.csr_array((e, (j, i)), shape)


def _exp(pairs: sp.csr_array) -> sp.csr_array:
    data = np.exp(np.minimum(pairs.data, HIGHEST))
    return sp.csr_array((data, pairs.indices, pairs.indptr), pairs.shape)
