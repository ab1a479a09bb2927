"""Who is near enough to receive score: places of people, and distances to types without some.

Maths: docs/derivation.md, section 14. A place is a point with people of one type, as in
`TypedColumns`. What a row sends to a type goes to its near places, whatever the scores and duals
are, so one pass over the costs finds all pairs that matter.
"""

from __future__ import annotations

import copy
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp
import torch

from otfair.geometry._distances import SoftDistances
from otfair.geometry._geometry import Geometry

Pairs: TypeAlias = np.ndarray | sp.csr_array

FAR = -40.0  # log of the share of a type below which a place does not count
DENSE_PAIRS = 2**23  # up to which all pairs are held, in matrices, and beyond which near ones are
MAX_PAIRS = 2**28  # near ones that are held: about 3 GiB
# What is left of a type must be a share of its distance above these, or else digits are lost, or
# places that count now are not among the near ones.
LEFT_OF_ALL, LEFT_OF_NEAR = 1e-280, 1e-3
HIGHEST = 700.0  # that exp can take


class NearPlaces:
    """Pairs of a place j of type k and a row point i, by e_ij = (D_ik - C_ij) / epsilon.

    D_ik is the soft distance to those places of the type that were open when the pairs of i were
    found, so that w_j exp(e_ij) is the share of j. More places can be left out, and `distances`
    are to those that are open. All pairs are kept for a type that has none left.
    """

    def __init__(self, soft: SoftDistances) -> None:
        self.soft, self.columns = soft, soft.columns
        self.types = soft.columns.types.cpu().numpy()  # (u,) ascending
        self.weight = soft.columns.weight.cpu().numpy()  # (u,)
        self.rows = soft.geometry.row_index.cpu().numpy()  # (n,) row point of each person
        self.open = np.ones(len(self.types), dtype=bool)  # (u,)
        self._base = soft._point_values.cpu().numpy()  # D (K, r) that the pairs refer to
        self._left = np.ones_like(self._base)  # (K, r) share of it that goes to open places
        self.distances = self._base  # (K, r), infinite for a type without open places
        self.dense = len(self.types) * self._base.shape[1] <= DENSE_PAIRS
        edges = np.searchsorted(self.types, np.arange(self.columns.n_types + 1)).tolist()
        self._places = [slice(*ends) for ends in zip(edges, edges[1:])]
        self._hold(self._find(soft.geometry, self._base))

    @property
    def open_weight(self) -> np.ndarray:
        """Weight of the open places of each type, (K,)."""
        return np.bincount(self.types, self.weight * self.open, self.columns.n_types)

    def without(self, places: np.ndarray) -> NearPlaces:
        """Leave out some more places, (a,)."""
        new, touched = copy.copy(self), np.unique(self.types[places])
        new.open, new._left = self.open.copy(), self._left.copy()
        new.open[places] = False
        new._leave(touched)
        least, known = LEFT_OF_ALL if self.dense else LEFT_OF_NEAR, np.unique(self.types)
        some = new.open_weight > 0
        few, used_up = (new._left[some] < least).any(0).nonzero()[0], known[~some[known]]
        if len(few):
            new._find_anew(few)
        if not self.dense and len(used_up) and (len(few) or not some[touched].all()):
            new._keep_all(used_up)
        if new._pairs is not self._pairs:
            new._leave(known)
        with np.errstate(divide="ignore"):
            new.distances = new._base - self.soft.epsilon * np.log(new._left)
        return new

    def received(self, types: np.ndarray, mass: np.ndarray) -> np.ndarray:
        """Mass that each open place gets, (u,), of a mass by row person for some types, (t, n)."""
        out = np.zeros_like(self.weight)
        for k, sent in zip(types, mass):
            by_point = np.bincount(self.rows, sent, self._left.shape[1])
            out[self._places[k]] = self._share[k] @ (by_point / self._left[k])
        return out * self.weight * self.open

    def own(self, places: np.ndarray) -> Pairs:
        """Distance C - epsilon log w from row people to single places, (a, n), all or the near."""
        k, epsilon, log_weight = self.types[places], self.soft.epsilon, np.log(self.weight[places])
        e = self._pairs[places]
        if self.dense:
            return np.asarray(self._base[k] - epsilon * (e + log_weight[:, None]))[:, self.rows]
        (a, i), e = e.tocoo().coords, e.tocoo().data
        cost = self._base[k[a], i] - epsilon * e
        near = cost < self.distances[k[a], i] - FAR * epsilon
        cost, a, i = cost[near] - epsilon * log_weight[a[near]], a[near], i[near]
        shape = (len(places), self._base.shape[1])
        return sp.csc_array((cost, (a, i)), shape)[:, self.rows].tocsr()

    def moves(self, types: np.ndarray, mass: np.ndarray) -> tuple[np.ndarray, ...]:
        """Who sends how much to which open place, and how far: i, j, mass and cost of each pair."""
        sent = np.zeros((self.columns.n_types, len(self.rows)))
        sent[types] = mass / self._left[types][:, self.rows]
        pairs = self._pairs
        if isinstance(pairs, np.ndarray):
            with np.errstate(divide="ignore"):
                near = pairs - np.log(self._left)[self.types] > FAR
            pairs = sp.csr_array((pairs[near], near.nonzero()), pairs.shape)
        pairs = pairs.T.tocsr()[self.rows].tocoo()
        some = self.open[pairs.coords[1]]
        (i, j), e = (axis[some] for axis in pairs.coords), pairs.data[some]
        k = self.types[j]
        moved = np.exp(e) * sent[k, i] * self.weight[j]
        return i, j, moved, self._base[k, self.rows[i]] - self.soft.epsilon * e

    def _hold(self, pairs: Pairs) -> None:
        """Hold pairs (u, r), and the shares exp(e) of each type's places, (u_k, r)."""
        self._pairs = pairs
        self._share = [_exp(pairs[places]) for places in self._places]

    def _leave(self, types: np.ndarray) -> None:
        """Sum the shares of the open places of some types."""
        weight = self.weight * self.open
        for k in types:
            self._left[k] = self._share[k].T @ weight[self._places[k]]

    def _find(self, view: Geometry, base: np.ndarray) -> Pairs:
        """Find the pairs of all places and the row points of a view, (u, r)."""
        columns, epsilon, blocks, count = self.columns, self.soft.epsilon, [], 0
        D = torch.as_tensor(base / epsilon, device=columns.weight.device)  # (K, r)
        for start, stop, cost in view.blocks(columns.points, 1 / epsilon):
            e = torch.sub(D[:, start:stop][columns.types], cost, out=cost)
            if self.dense:
                blocks.append(e.cpu().numpy())
                continue
            near = e > FAR
            point = torch.nonzero(near)[:, 1].cpu().numpy()
            ends = near.sum(1).cumsum(0).cpu().numpy()
            data = e[near].cpu().numpy()
            blocks.append(sp.csr_array((data, point, np.append(0, ends)), tuple(e.shape)))
            count += len(point)
            if count > MAX_PAIRS:
                raise MemoryError(
                    f"with `bounded=True` and epsilon {epsilon:.3g}, more than {MAX_PAIRS:.0e} "
                    "pairs of people are near each other. Lower `epsilon`, take a sample of the "
                    "people, or pass `bounded=False`."
                )
        return np.concatenate(blocks, 1) if self.dense else sp.hstack(blocks, format="csr")

    def _find_anew(self, points: np.ndarray) -> None:
        """Find the pairs of some row points once more, by distances to the places that are open."""
        soft, device = self.soft, self.soft.geometry.device
        person = np.zeros(self._base.shape[1], dtype=np.int64)
        person[self.rows] = np.arange(len(self.rows))
        view = soft.geometry.rows(torch.as_tensor(person[points], device=device))
        kept = self.columns.take(torch.as_tensor(self.open.nonzero()[0], device=device))
        base = SoftDistances.of(view, kept, soft.epsilon).by_type.cpu().numpy()
        self._base = self._base.copy()
        self._base[:, points] = np.where(np.isfinite(base), base, self._base[:, points])
        found = self._find(view, self._base[:, points])
        if isinstance(self._pairs, np.ndarray):
            pairs = self._pairs.copy()
            pairs[:, points] = found
            return self._hold(pairs)
        j, i = found.tocoo().coords
        self._replace(j, points[i], found.tocoo().data, np.isin(self._pairs.indices, points))

    def _keep_all(self, types: np.ndarray) -> None:
        """Keep all pairs of the places of types that have none left that is open."""
        chosen = np.isin(self.types, types)
        places = chosen.nonzero()[0]
        on = torch.as_tensor(places, device=self.columns.points.device)
        blocks = self.soft.geometry.blocks(self.columns.points[on])
        cost = torch.cat([block for _, _, block in blocks], 1).cpu().numpy()  # (a, r)
        e = (self._base[self.types[places]] - cost) / self.soft.epsilon
        a, i = np.indices(e.shape).reshape(2, -1)
        old = np.repeat(chosen, np.diff(self._pairs.indptr))
        self._replace(places[a], i, e.ravel(), old)

    def _replace(self, j: np.ndarray, i: np.ndarray, e: np.ndarray, old: np.ndarray) -> None:
        """Put new pairs, of places j and row points i, where old near ones were."""
        pairs = self._pairs.tocoo()
        places, points = (np.append(a[~old], b) for a, b in zip(pairs.coords, (j, i)))
        data = np.append(pairs.data[~old], e)
        self._hold(sp.csr_array((data, (places, points)), pairs.shape))


def _exp(pairs: Pairs) -> Pairs:
    if isinstance(pairs, np.ndarray):
        return np.exp(np.clip(pairs, -HIGHEST, HIGHEST))
    data = np.exp(np.minimum(pairs.data, HIGHEST))
    return sp.csr_array((data, pairs.indices, pairs.indptr), pairs.shape)
