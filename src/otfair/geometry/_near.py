"""Who is near enough to receive score: places of people, and distances to types without some.

Maths: docs/derivation.md, section 14. A place is a point with people of one type, as in
`TypedColumns`. What a row sends to a type goes to its near places, whatever the scores and duals
are, so one pass over the costs finds all pairs that matter.
"""

from __future__ import annotations

import copy
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from otfair.geometry._distances import SoftDistances
from otfair.geometry._pairs import HIGHEST, AllPairs, NearPairs, Pairs

FAR = -26.0  # log of the share of a person's score below which a place does not count
LEAST_FAR = -12.0  # of the share of a type, however little goes to it
RISE = 7.0  # by which the log of what goes to a type may rise before its places are found anew
DENSE_PAIRS = 2**23  # up to which all pairs are held, in matrices, and beyond which near ones are
MAX_PAIRS = 2**27  # near ones of a type that are held: about 2.5 GiB
# What is left of a type must be a share of its distance above these, or else digits are lost, or
# places that count now are not among the near ones.
LEFT_OF_ALL, LEFT_OF_NEAR = 1e-280, 1e-2


class NearPlaces:
    """Pairs of a place j of type k and a row point i, by e_ij = (D_ik - C_ij) / epsilon.

    D_ik is the soft distance to those places of the type that were open when the pairs of i were
    found, so that w_j exp(e_ij) is the share of j. More places can be left out, and `distances`
    are to those that are open. All pairs are kept for a type that has none left.

    Where people are many, pairs are held for a type and the rows that send score there, the more
    the more they send: until then their distance is that to all places, which is never too large.
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
        self._places = [slice(*ends) for ends in pairwise(edges)]
        # Log of the share of a row's score up to which its pairs with a type suffice, (K, r)
        self._reach = np.full(self._base.shape, 0.0 if self.dense else -np.inf)
        none = [(places.stop - places.start, self._base.shape[1]) for places in self._places]
        self._pairs: list[Pairs] = [NearPairs(sp.csr_array(shape)) for shape in none]
        if self.dense:
            self._pairs = [AllPairs(e) for e in self._all()]

    @property
    def open_weight(self) -> np.ndarray:
        """Weight of the open places of each type, (K,)."""
        return np.bincount(self.types, self.weight * self.open, self.columns.n_types)

    def without(self, places: np.ndarray) -> NearPlaces:
        """Leave out some more places, (a,)."""
        new = self._copy()
        new.open[places] = False
        least = LEFT_OF_ALL if self.dense else LEFT_OF_NEAR
        for k in np.unique(self.types[places]):
            weight = (new.weight * new.open)[self._places[k]]
            if not weight.any():
                new._reach[k] = 0.0
                new._find(k, np.arange(len(new._left[k])), every=True)
                continue
            new._left[k] = np.where(new._reach[k] > -np.inf, new._pairs[k].sum(weight), 1.0)
            few = (new._left[k] < least).nonzero()[0]
            if len(few):
                new._find(k, few)
        return new._measured()

    def short(self, types: np.ndarray, share: np.ndarray, least: float) -> np.ndarray:
        """Which people send more of their score to types than the pairs held suffice for, (t, n).

        `share` (t, n) is what goes there; less than `least` need not be followed.
        """
        most = np.exp(self._reach[types][:, self.rows])
        return np.asarray(share > np.maximum(most, least))

    def hold(self, types: np.ndarray, share: np.ndarray, short: np.ndarray) -> NearPlaces:
        """Find the pairs of those who need them, (t, n), for what they send to types now."""
        new = self._copy()
        for k, own, people in zip(types, share, short):
            points = np.unique(self.rows[people])
            if not len(points):
                continue
            most = np.zeros(self._base.shape[1])
            np.maximum.at(most, self.rows[people], own[people])
            reach = np.minimum(np.log(most[points]) + RISE, 0.0)
            new._reach[k, points] = np.maximum(new._reach[k, points], reach)
            new._find(k, points)
        return new._measured()

    def received(
        self, types: np.ndarray, mass: np.ndarray, some: np.ndarray | None = None
    ) -> np.ndarray:
        """Mass that each open place gets, (u,), of a mass by row person for some types, (t, n).

        Where some places are marked, (u,), it is that of those, and of others zero.
        """
        out = np.zeros_like(self.weight)
        for k, sent in zip(types, mass):
            slots = self._places[k]
            if some is not None and not some[slots].any():
                continue
            which = slice(None) if some is None else some[slots].nonzero()[0]
            by_point = np.bincount(self.rows, sent, self._left.shape[1])
            with np.errstate(all="ignore"):  # those left out would get more than there are numbers
                out[slots][which] = self._pairs[k].send(by_point / self._left[k], which)
        return np.where(self.open, out * self.weight, 0.0)

    def own(self, places: np.ndarray) -> sp.csr_array:
        """Distance C - epsilon log w from row people to single places that are near, (a, n)."""
        a, i, cost = self._costs(places)
        cost -= self.soft.epsilon * np.log(self.weight[places])[a]
        shape = (len(places), self._base.shape[1])
        near = cost < self.distances[self.types[places][a], i] - FAR * self.soft.epsilon
        return sp.csc_array((cost[near], (a[near], i[near])), shape)[:, self.rows].tocsr()

    def moves(self, types: np.ndarray, mass: np.ndarray) -> tuple[np.ndarray, ...]:
        """Who sends how much to which open place, and how far: i, j, mass and cost of each pair."""
        sent = np.zeros((self.columns.n_types, len(self.rows)))
        sent[types] = mass
        open_places = self.open.nonzero()[0]
        a, point, cost = self._costs(open_places)
        share = (self.distances[self.types[open_places][a], point] - cost) / self.soft.epsilon
        near = share > FAR
        number = sp.csr_array((near.nonzero()[0], (point[near], a[near])), self._shape(open_places))
        by_person = number[self.rows].tocoo()
        (i, a), pair = by_person.coords, by_person.data
        j = open_places[a]
        return i, j, np.exp(share[pair]) * sent[self.types[j], i] * self.weight[j], cost[pair]

    def _shape(self, places: np.ndarray) -> tuple[int, int]:
        return self._base.shape[1], len(places)

    def _costs(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return pairs of some places, as which of them, row point and cost."""
        parts: list[tuple[np.ndarray, ...]] = []
        for k in np.unique(self.types[places]):
            chosen = (self.types[places] == k).nonzero()[0]
            a, i, e = self._pairs[k].entries(places[chosen] - self._places[k].start)
            parts.append((chosen[a], i, self._base[k][i] - self.soft.epsilon * e))
        if not parts:
            return np.zeros(0, dtype=int), np.zeros(0, dtype=int), np.zeros(0)
        a, i, cost = (np.concatenate(part) for part in zip(*parts))
        return a, i, cost

    def _copy(self) -> NearPlaces:
        new = copy.copy(self)
        for name in ("open", "_reach", "_left", "_base", "_pairs"):
            setattr(new, name, getattr(self, name).copy())
        return new

    def _measured(self) -> NearPlaces:
        """Set the distances by what is left of each type, and return the places themselves."""
        with np.errstate(divide="ignore"):
            self.distances = self._base - self.soft.epsilon * np.log(self._left)
        return self

    def _all(self) -> list[np.ndarray]:
        """Return the exponents of all pairs, (u_k, r), by one pass over the costs."""
        columns, epsilon = self.columns, self.soft.epsilon
        D = torch.as_tensor(self._base / epsilon, device=columns.weight.device)  # (K, r)
        blocks = self.soft.geometry.blocks(columns.points, 1 / epsilon)
        parts = [(D[:, i:j][columns.types] - cost).cpu().numpy() for i, j, cost in blocks]
        e = np.concatenate(parts, 1)
        return [e[places] for places in self._places]

    def _find(self, k: int, points: np.ndarray, every: bool = False) -> None:
        """Find the pairs of a type and some row points, by distances to the places now open."""
        soft, places, device = self.soft, self._places[k], self.columns.points.device
        far = np.clip(FAR - self._reach[k, points], FAR, LEAST_FAR)
        far[:] = -np.inf if every or self.dense else far
        least_share = torch.as_tensor(far, device=device)
        person = np.zeros(self._base.shape[1], dtype=np.int64)
        person[self.rows] = np.arange(len(self.rows))
        view = soft.geometry.rows(torch.as_tensor(person[points], device=device))
        weight = torch.as_tensor((self.weight * self.open)[places], device=device)
        base = torch.as_tensor(self._base[k, points] / soft.epsilon, device=device)
        found = []
        for start, stop, cost in view.blocks(self.columns.points[places], 1 / soft.epsilon):
            if bool((weight > 0).any()):
                part = cost[weight > 0]
                least = part.amin(0)
                share = torch.sub(least, part, out=part).clamp_min_(-HIGHEST).exp_()
                base[start:stop] = least - (weight[weight > 0] @ share).log_()
            e = torch.sub(base[start:stop], cost, out=cost)
            found.append(_near(e, least_share[start:stop]))
        pairs = sp.hstack(found, format="csr")
        if pairs.nnz > MAX_PAIRS:
            raise MemoryError(
                f"with `bounded=True` and epsilon {soft.epsilon:.3g}, more than {MAX_PAIRS:.0e} "
                "pairs of people are near each other. Lower `epsilon`, take a sample of the "
                "people, or pass `bounded=False`."
            )
        self._base[k, points] = base.cpu().numpy() * soft.epsilon
        self._pairs[k] = self._pairs[k].replaced(points, pairs)
        # Not quite one, as far places are left out.
        self._left[k, points] = self._pairs[k].sum((self.weight * self.open)[places])[points]


def _near(e: Tensor, far: Tensor) -> sp.csr_array:
    """Return the exponents of a block, (u, b), above a number for each row point, (b,)."""
    near = e > far
    point = torch.nonzero(near)[:, 1].to(torch.int32).cpu().numpy()
    ends = near.sum(1).cumsum(0).to(torch.int32).cpu().numpy()
    return sp.csr_array(
        (e[near].cpu().numpy(), point, np.append(np.int32(0), ends)), tuple(e.shape)
    )
