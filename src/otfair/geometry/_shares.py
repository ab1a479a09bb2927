"""How score that goes to a type of people spreads over its places, and over all but some of them.

Maths: docs/derivation.md, section 14. A place is a point with people of one type, as in
`TypedColumns`. Shares do not depend on scores or duals, so they are held where they fit.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import cached_property

import torch
from torch import Tensor

from otfair.geometry._distances import SoftDistances, TypedColumns

HELD_ENTRIES = 2**26  # of the shares: 512 MiB
LOST = 1e-250  # where less is left of a type, digits are lost


class PlaceShares:
    """Shares s_ij = exp((D_ik - C_ij) / epsilon) of place j in what row i sends to its type k.

    They are held by row point, and sum_j w_j s_ij = 1 over the places of a type. Some places may
    be left out; what is `left` of a type is then sum_j w_j s_ij over the others.
    """

    def __init__(self, soft: SoftDistances) -> None:
        self.soft = soft
        self.columns: TypedColumns = soft.columns
        self.n_places = len(self.columns.points)
        # Of what the shares were made, if not of all places.
        self._kept, self._part = torch.arange(self.n_places, device=soft.by_type.device), soft
        self.open = torch.ones_like(self.columns.weight, dtype=torch.bool)  # (u,)
        self.distances = soft.by_type  # D without the places left out, (K, n)
        self._left = torch.ones_like(soft._point_values)  # (K, r)

    def without(self, places: Tensor) -> PlaceShares:
        """Leave out some more places, (a,)."""
        new = copy.copy(self)
        new.open = self.open.index_fill(0, places, False)
        weight = (self.columns.weight * new.open)[self._kept]
        touched = set(self.columns.types[places].tolist())
        segments = [(k, rows) for k, rows in self._part.columns.segments() if k in touched]
        new._left = self._left.clone()
        for start, stop, share in self._blocks():
            for k, rows in segments:
                new._left[k, start:stop] = weight[rows] @ share[rows]
        index, part, types = self.soft.geometry.row_index, self._part, sorted(touched)
        left, some = new._left[types], new.open_weight[types] > 0
        if bool((left[some] < LOST).any()):
            new._make_anew()
        else:
            new.distances = self.distances.clone()
            new.distances[types] = part.by_type[types] - part.epsilon * left.log()[:, index]
        return new

    @property
    def open_weight(self) -> Tensor:
        """Weight of the places of each type that are not left out, (K,)."""
        zero = self.columns.weight.new_zeros(self.columns.n_types)
        return zero.index_add_(0, self.columns.types, self.columns.weight * self.open)

    def costs(self, places: Tensor) -> Tensor:
        """Cost from each row person to some places, (a, n)."""
        geometry, points = self.soft.geometry, self.columns.points[places]
        blocks = [block for _, _, block in geometry.blocks(points)]
        return torch.cat(blocks, 1)[:, geometry.row_index]

    def received(self, types: Tensor, mass: Tensor) -> Tensor:
        """Mass that each place gets, (u,), of a mass by row person for some types, (t, n).

        Places that are left out get none.
        """
        geometry, out = self.soft.geometry, torch.zeros_like(self.columns.weight)
        by_point = mass.new_zeros(len(mass), self._left.shape[1])
        by_point.index_add_(1, geometry.row_index, mass).div_(self._left[types])
        number = {k: t for t, k in enumerate(types.tolist())}
        for start, stop, share in self._blocks():
            for k, rows in self._part.columns.segments():
                if k in number:
                    out[self._kept[rows]] += share[rows] @ by_point[number[k], start:stop]
        return out.mul_(self.columns.weight * self.open)

    def _make_anew(self) -> None:
        """Make the shares from the places that are open, as too little is left of some type."""
        self._kept = self.open.nonzero().squeeze(1)
        self._part = SoftDistances.of(
            self.soft.geometry, self.columns.take(self._kept), self.soft.epsilon
        )
        self.distances = self._part.by_type
        self._left = torch.where(self.distances[:, :1] < torch.inf, 1.0, 0.0).expand_as(self._left)
        vars(self).pop("_held", None)

    def _blocks(self) -> Iterator[tuple[int, int, Tensor]]:
        """Yield (start, stop, shares (u, stop - start)) of row points."""
        if self.n_places * self._left.shape[1] <= HELD_ENTRIES:
            yield 0, self._left.shape[1], self._held
            return
        for start, stop, share, _ in self._part._shares():
            yield start, stop, share

    @cached_property
    def _held(self) -> Tensor:
        return torch.cat([share for _, _, share, _ in self._part._shares()], 1)
