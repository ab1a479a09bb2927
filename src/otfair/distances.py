"""Distances from people to types of people, and how mass sent to a type spreads over its people.

Maths: docs/derivation.md, section 5 (soft, epsilon > 0) and section 10 (nearest, epsilon = 0).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import torch
from torch import Tensor

LOWEST_EXPONENT = -700.0  # exp of less is denormal or zero, and slow
LOOPED_TYPES = 256  # past this many types, segments are reduced in one call
PLAN_ENTRIES = 2**20  # of a dense plan held at once
MAX_BYTES = 4 * 2**30


class Costs(Protocol):
    """What a pass needs of a geometry; `geometry.Geometry` documents the parts."""

    row_index: Tensor
    column_index: Tensor
    n_row_points: int
    n_column_points: int
    shape: tuple[int, int]
    device: torch.device

    def blocks(
        self, columns: Tensor | None = None, factor: float = 1.0
    ) -> Iterator[tuple[int, int, Tensor]]:
        """Yield (start, stop, costs from those row points to `columns`)."""


@dataclass(frozen=True)
class TypedColumns:
    """The column points of a geometry, once for each type that has people there, sorted by type."""

    points: Tensor  # (u,) column point
    types: Tensor  # (u,) ascending
    weight: Tensor  # (u,) total weight of the people there, positive
    member: Tensor  # (m,) where each person is in this list; u for people without weight
    person: Tensor  # (u,) one of the people there
    person_weight: Tensor  # (m,)
    n_types: int

    @classmethod
    def of(cls, geometry: Costs, types: Tensor, weight: Tensor, n_types: int) -> TypedColumns:
        """Group people who are identical and of one type; people without weight are left out."""
        index, device = geometry.column_index, geometry.device
        types, weight = types.to(device), weight.to(device)
        people = torch.nonzero(weight > 0).squeeze(1)
        key = types[people] * geometry.n_column_points + index[people]
        key, where = torch.unique(key, return_inverse=True)
        u = len(key)
        member = torch.full_like(types, u).index_put_((people,), where)
        person = torch.zeros_like(key).index_put_((where,), people)
        total = torch.zeros(u, dtype=weight.dtype, device=device).index_add_(
            0, where, weight[people]
        )
        points = key % geometry.n_column_points
        types = key // geometry.n_column_points
        return cls(points, types, total, member, person, weight, n_types)

    @cached_property
    def bounds(self) -> list[int]:
        """Where each type begins, and the end, (K + 1,)."""
        edges = torch.arange(self.n_types + 1, device=self.types.device)
        return torch.searchsorted(self.types, edges).tolist()

    def segments(self) -> Iterator[tuple[int, slice]]:
        """Yield (type, its rows of a block) for the types that have people."""
        for k, (lo, hi) in enumerate(zip(self.bounds, self.bounds[1:])):
            if hi > lo:
                yield k, slice(lo, hi)


@dataclass(frozen=True)
class SoftDistances:
    """D_ik = -eps log sum_{j of type k} w_j exp(-C_ij / eps), infinite for a type without people.

    Attributes
    ----------
    values : (n, K).
    epsilon : the smoothing it was made with.
    """

    values: Tensor
    epsilon: float
    geometry: Costs
    columns: TypedColumns

    @cached_property
    def mean_cost(self) -> Tensor:
        """Mean cost of mass sent from i to type k, (n, K); zero for a type without people."""
        out = self._point_zeros()
        for k, rows, columns, share, cost in self._shares():
            out[k, columns] = self.columns.weight[rows] @ share.mul_(cost)
        return out[:, self.geometry.row_index].T

    def column_mass(self, type_mass: Tensor) -> Tensor:
        """Mass a unit of weight that each column person receives, (m,).

        `type_mass` (n, K) is the mass that goes from i to type k.
        """
        received = torch.zeros_like(self.columns.weight)  # (u,), a unit of weight
        mass = self._point_zeros().T.index_add_(0, self.geometry.row_index, type_mass).T  # (K, r)
        for k, rows, columns, share, _ in self._shares():
            received[rows] += share @ mass[k, columns]
        return torch.cat([received, received.new_zeros(1)])[self.columns.member]

    def _shares(self) -> Iterator[tuple[int, slice, slice, Tensor, Tensor]]:
        """Yield (type, its column points, row points, share a unit of weight, cost), (u_k, b)."""
        for start, stop, cost in self.geometry.blocks(self.columns.points):
            for k, rows in self.columns.segments():
                exponent = (self._point_values[k, start:stop] - cost[rows]).div_(self.epsilon)
                share = exponent.clamp_min_(LOWEST_EXPONENT).exp_()
                yield k, rows, slice(start, stop), share, cost[rows]

    def plan(self, type_mass: Tensor, threshold: float) -> Tensor:
        """Return the coupling (n, m), sparse, without entries up to `threshold` of a row's mass."""
        geometry, columns = self.geometry, self.columns
        people = torch.nonzero(columns.member < len(columns.points)).squeeze(1)  # with weight
        order = torch.argsort(geometry.row_index)
        ends = [0, *torch.bincount(geometry.row_index).cumsum(0).tolist()]
        weight = columns.person_weight[people]
        index, values = [], []
        for start, stop, cost in geometry.blocks(columns.points, 1 / self.epsilon):
            D = self._point_values[:, start:stop][columns.types] / self.epsilon
            share = D.sub_(cost).clamp_min_(LOWEST_EXPONENT).exp_()  # (u, b)
            member = columns.member[people]
            senders = order[ends[start] : ends[stop]]  # many people may be at one point
            for rows in torch.split(senders, max(1, PLAN_ENTRIES // len(people))):
                block = share[member][:, geometry.row_index[rows] - start].T * weight
                block *= type_mass[rows][:, columns.types[member]]
                least = threshold * type_mass[rows].sum(1)[:, None]
                i, j = torch.nonzero(block > least, as_tuple=True)
                index.append(torch.stack([rows[i], people[j]]))
                values.append(block[i, j])
        return _sparse(torch.cat(index, 1), torch.cat(values), geometry.shape)

    @cached_property
    def _point_values(self) -> Tensor:
        out = self._point_zeros()
        return out.index_copy_(1, self.geometry.row_index, self.values.T)

    def _point_zeros(self) -> Tensor:
        size = (self.columns.n_types, self.geometry.n_row_points)
        return torch.zeros(size, dtype=torch.float64, device=self.geometry.device)


def soft_distances(
    geometry: Costs, types: Tensor, weight: Tensor, n_types: int, epsilon: float
) -> SoftDistances:
    """One pass over the costs, in O(n K) memory."""
    _check_budget(geometry, n_types)
    columns = TypedColumns.of(geometry, types, weight, n_types)
    out = torch.empty((n_types, geometry.n_row_points), dtype=torch.float64, device=geometry.device)
    for start, stop, block in geometry.blocks(columns.points, -1 / epsilon):
        out[:, start:stop] = _segment_lse_(block, columns)
    values = (-epsilon * out)[:, geometry.row_index].T  # type by type in memory, as solvers read it
    return SoftDistances(values, epsilon, geometry, columns)


@dataclass(frozen=True)
class NearestDistances:
    """Distance from each person to the nearest person of each type, and who that is.

    Attributes
    ----------
    values : (n, K), infinite for a type without people.
    person : (n, K) index of a nearest person.
    """

    values: Tensor
    person: Tensor
    columns: TypedColumns

    @property
    def mean_cost(self) -> Tensor:
        """The distances themselves, zero for a type without people."""
        return torch.where(self.values.isinf(), 0.0, self.values)

    def column_mass(self, type_mass: Tensor) -> Tensor:
        """Mass a unit of weight that each column person receives, (m,); identical people share."""
        place = self.columns.member[self.person]  # (n, K)
        received = torch.zeros_like(self.columns.weight).index_add_(
            0, place.flatten(), type_mass.flatten()
        )
        share = received / self.columns.weight
        return torch.cat([share, share.new_zeros(1)])[self.columns.member]

    def plan(self, type_mass: Tensor, threshold: float) -> Tensor:
        """Return the coupling (n, m), sparse by itself, so that `threshold` is not used.

        Identical people of one type share what is sent to any of them. They are served in order,
        each until full, so that there are few entries more than senders and receivers.
        """
        member, size = self.columns.member, (len(type_mass), len(self.columns.member))
        sender, k = torch.nonzero(type_mass > 0, as_tuple=True)
        sent, person = type_mass[sender, k], self.person[sender, k]
        crowd = torch.bincount(member, minlength=len(self.columns.points) + 1)  # at each place
        alone = crowd[member[person]] == 1
        index, values = torch.stack([sender, person])[:, alone], sent[alone]
        # Lay sent and due end to end, place by place: each stretch has one sender, one receiver.
        order = torch.argsort(member[person], stable=True)
        order = order[~alone[order]]
        sender, sent = sender[order], sent[order]
        due = self.column_mass(type_mass) * self.columns.person_weight
        receiver = torch.argsort(member, stable=True)
        receiver = receiver[(crowd[member[receiver]] > 1) & (due[receiver] > 0)]
        sent_end, due_end = sent.cumsum(0), due[receiver].cumsum(0)
        ends = torch.cat([sent_end, due_end]).sort().values
        length = torch.diff(ends, prepend=ends.new_zeros(1))
        middle = ends - length / 2
        i = torch.searchsorted(sent_end, middle).clamp_max(len(sender) - 1)
        j = torch.searchsorted(due_end, middle).clamp_max(len(receiver) - 1)
        place = member[receiver[j]]
        kept = (length > 1e-14 * sent.sum()) & (member[person[order]][i] == place)
        shared = torch.stack([sender[i], receiver[j]])[:, kept]
        index, values = torch.cat([index, shared], 1), torch.cat([values, length[kept]])
        return _sparse(index, values, size)


def nearest_distances(
    geometry: Costs, types: Tensor, weight: Tensor, n_types: int
) -> NearestDistances:
    """One pass over the costs, in O(n K) memory: the limit of soft distances at epsilon 0."""
    _check_budget(geometry, n_types)
    columns = TypedColumns.of(geometry, types, weight, n_types)
    size = (n_types, geometry.n_row_points)
    out = torch.full(size, torch.inf, dtype=torch.float64, device=geometry.device)
    where = torch.zeros(size, dtype=torch.long, device=geometry.device)
    for start, stop, block in geometry.blocks(columns.points):
        for k, rows in columns.segments():
            least = block[rows].min(0)
            out[k, start:stop] = least.values
            where[k, start:stop] = least.indices + rows.start
    index = geometry.row_index
    return NearestDistances(out[:, index].T, columns.person[where][:, index].T, columns)


def _segment_lse_(block: Tensor, columns: TypedColumns) -> Tensor:
    """Weighted log-sum-exp of a block (u, b) over each type's rows, (K, b); overwrites it."""
    if columns.n_types > LOOPED_TYPES:
        return _scattered_lse(block, columns)
    out = block.new_full((columns.n_types, block.shape[1]), -torch.inf)
    for k, rows in columns.segments():
        part = block[rows]
        top = part.amax(0)
        share = part.sub_(top).clamp_min_(LOWEST_EXPONENT).exp_()
        out[k] = (columns.weight[rows] @ share).log_().add_(top)
    return out


def _scattered_lse(block: Tensor, columns: TypedColumns) -> Tensor:
    """Do the same for all types at once, which is faster where they are many."""
    types = columns.types
    top = block.new_full((columns.n_types, block.shape[1]), -torch.inf)
    top.scatter_reduce_(0, types[:, None].expand_as(block), block, "amax")
    share = block.sub_(top[types]).clamp_min_(LOWEST_EXPONENT).exp_().mul_(columns.weight[:, None])
    return torch.zeros_like(top).index_add_(0, types, share).log_().add_(top)


def _sparse(index: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    return torch.sparse_coo_tensor(index, values, shape, check_invariants=True).coalesce()


def _check_budget(geometry: Costs, n_types: int) -> None:
    size = 8 * geometry.shape[0] * n_types
    if size > MAX_BYTES:
        raise MemoryError(
            f"distances from {geometry.shape[0]} people to {n_types} types of people take "
            f"{size / 2**30:.1f} GiB, more than the budget of {MAX_BYTES / 2**30:.1f} GiB. Bin a "
            "continuous sensitive column (ten to a hundred values serve as well), or move the "
            "scores of fewer people at a time; `otfair.distances.MAX_BYTES` sets the budget."
        )
