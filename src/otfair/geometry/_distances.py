"""Distances from people to types of people, and how mass sent to a type spreads over its people.

Maths: docs/derivation.md, section 5 (soft, epsilon > 0) and section 10 (nearest, epsilon = 0).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import torch
from torch import Tensor

from otfair._io.progress import track

if TYPE_CHECKING:
    from otfair.geometry._boxes import Boxes
    from otfair.geometry._geometry import Geometry

Result = TypeVar("Result")

LOWEST_EXPONENT = -700.0  # exp of less is denormal or zero, and slow
LOOPED_TYPES = 256  # past this many types, segments are reduced in one call
PLAN_ENTRIES = 2**20  # of a dense plan held at once
MAX_BYTES = 4 * 2**30
ROUNDED = 1e-6  # share of a cost that rounding may take in a product of matrices
TIED = 1e-11  # share by which distances differ that are equal but for rounding


@dataclass(frozen=True)
class TypedColumns:
    """The column points of a geometry, once for each type that has people there, sorted by type."""

    points: Tensor  # (u,) column point
    types: Tensor  # (u,) ascending
    weight: Tensor  # (u,) total weight of the people there, positive
    member: Tensor  # (m,) where each person is in this list; u for people without weight
    person: Tensor  # (u,) the first of the people there
    person_types: Tensor  # (m,)
    person_weight: Tensor  # (m,)
    n_types: int

    @classmethod
    def of(cls, geometry: Geometry, types: Tensor, weight: Tensor, n_types: int) -> TypedColumns:
        """Group people who are identical and of one type; people without weight are left out."""
        size = 8 * geometry.shape[0] * n_types
        if size > MAX_BYTES:
            raise MemoryError(
                f"distances from {geometry.shape[0]} people to {n_types} types of people take "
                f"{size / 2**30:.1f} GiB, more than the budget of {MAX_BYTES / 2**30:.1f} GiB. Bin "
                "a continuous sensitive column (ten to a hundred values serve as well), or move "
                "the scores of fewer people at a time; the budget is "
                "`otfair.geometry._distances.MAX_BYTES`."
            )
        people = torch.nonzero(weight > 0).squeeze(1)
        key = types[people] * geometry.n_column_points + geometry.column_index[people]
        key, where = torch.unique(key, return_inverse=True)
        member = torch.full_like(types, len(key)).index_put_((people,), where)
        person = torch.full_like(key, len(types)).scatter_reduce_(0, where, people, "amin")
        total = weight.new_zeros(len(key)).index_add_(0, where, weight[people])
        points, kinds = key % geometry.n_column_points, key // geometry.n_column_points
        return cls(points, kinds, total, member, person, types, weight, n_types)

    def take(self, places: Tensor) -> TypedColumns:
        """Leave out all places but these, (v,), in their order; people there are without weight."""
        where = torch.full_like(self.types, len(places))
        where[places] = torch.arange(len(places), device=where.device)
        member = torch.cat([where, where.new_tensor([len(places)])])[self.member]
        kept = {
            name: getattr(self, name)[places] for name in ("points", "types", "weight", "person")
        }
        return replace(self, **kept, member=member)

    def are(self, types: Tensor, weight: Tensor, n_types: int) -> bool:
        """Whether these are the people of such types and weights."""
        same = self.n_types == n_types and torch.equal(self.person_types, types)
        return same and torch.equal(self.person_weight, weight)

    def segments(self) -> Iterator[tuple[int, slice]]:
        """Yield (type, its rows of a block) for the types that have people."""
        for k, (lo, hi) in enumerate(zip(self._bounds, self._bounds[1:])):
            if hi > lo:
                yield k, slice(lo, hi)

    def to_people(self, values: Tensor) -> Tensor:
        """Return for each person, (m,), the value of their place (u,); 0 without weight."""
        return torch.cat([values, values.new_zeros(1)])[self.member]

    @cached_property
    def _bounds(self) -> list[int]:
        """Where each type begins, and the end, (K + 1,)."""
        edges = torch.arange(self.n_types + 1, device=self.types.device)
        return torch.searchsorted(self.types, edges).tolist()


@dataclass(frozen=True)
class SoftDistances:
    """D_ik = -eps log sum_{j of type k} w_j exp(-C_ij / eps), infinite for a type without people.

    A geometry keeps the last one: `values` and `mean_cost` are copies, the caller's to overwrite.
    """

    by_type: Tensor  # D (K, n), shared with those who solve: not to be overwritten
    epsilon: float
    geometry: Geometry
    columns: TypedColumns
    boxes: Boxes | None = None  # of the columns, where they are sooner than all pairs
    sampled: bool = False  # whether a sample of receivers stands for all

    @classmethod
    def of(cls, geometry: Geometry, columns: TypedColumns, epsilon: float) -> SoftDistances:
        """One pass over the costs, in O(n K) memory."""
        boxes = geometry.near(columns, epsilon)
        if boxes is not None:
            out = boxes.soft(geometry.row_points.numpy(), epsilon, geometry.verbose)
            by_type = (epsilon * out)[:, geometry.row_index]
            return cls(by_type, epsilon, geometry, columns, boxes)
        out = columns.weight.new_empty(columns.n_types, len(geometry.row_points))

        def soft(start: int, stop: int, block: Tensor) -> int:
            out[:, start:stop] = _soft_minimum_(block, columns)
            return stop - start

        shown = geometry.verbose
        with track(
            None, "distances", out.shape[1], verbose=shown, leave=False, unit=" people"
        ) as bar:
            for done in geometry.each_block(soft, columns.points, 1 / epsilon):
                bar.update(done)
        return cls((epsilon * out)[:, geometry.row_index], epsilon, geometry, columns)

    def merged(self, union: Tensor, n_types: int) -> SoftDistances:
        """Return distances to unions of types, (K,) to which of them each type belongs.

        Sums nest, so that a union's is another soft minimum, without a pass over the costs.
        """
        union = union.to(self.by_type.device)
        out = self.by_type.new_full((n_types, self.by_type.shape[1]), torch.inf)
        for k in range(n_types):
            some = self.by_type[union == k]
            if len(some):
                out[k] = -self.epsilon * torch.logsumexp(-some / self.epsilon, 0)
        types, weight = union[self.columns.person_types], self.columns.person_weight
        columns = TypedColumns.of(self.geometry, types, weight, n_types)
        return SoftDistances(out, self.epsilon, self.geometry, columns, sampled=self.sampled)

    @property
    def values(self) -> Tensor:
        """The distances D, (n, K)."""
        return self.by_type.clone().T

    @property
    def mean_cost(self) -> Tensor:
        """Mean cost of mass sent from i to type k, (n, K); zero for a type without people."""
        return self._mean_cost.clone()

    @cached_property
    def _mean_cost(self) -> Tensor:
        self._refuse_sample()
        zero, weight = torch.zeros_like(self._point_values), self.columns.weight[:, None]
        if self.boxes is not None:
            mean, _ = self._near_shares(zero)
            return (mean * self.epsilon)[:, self.geometry.row_index].T

        def mean_of(start: int, stop: int, share: Tensor, cost: Tensor) -> Tensor:
            parts = share.mul_(cost).mul_(weight)
            return zero[:, start:stop].clone().index_add_(0, self.columns.types, parts)

        mean = torch.cat(list(self._each_share(mean_of)), 1)
        return (mean * self.epsilon)[:, self.geometry.row_index].T

    def column_mass(self, type_mass: Tensor) -> Tensor:
        """Mass per unit of weight that each column person receives, (m,), of (n, K) by type."""
        self._refuse_sample()
        mass = torch.zeros_like(self._point_values)  # (K, r)
        mass.index_add_(1, self.geometry.row_index, type_mass.T)
        if self.boxes is not None:
            return self.columns.to_people(self._near_shares(mass)[1])

        def received(start: int, stop: int, share: Tensor, _cost: Tensor) -> Tensor:
            return share.mul_(mass[:, start:stop][self.columns.types]).sum(1)

        zero = torch.zeros_like(self.columns.weight)  # (u,), per unit of weight
        return self.columns.to_people(sum(self._each_share(received), zero))

    def plan(self, type_mass: Tensor, threshold: float) -> Tensor:
        """Return the coupling (n, m), sparse, without entries up to `threshold` of a row's mass."""
        self._refuse_sample()
        columns, point = self.columns, self.geometry.row_index
        people = torch.nonzero(columns.person_weight > 0).squeeze(1)
        member, weight = columns.member[people], columns.person_weight[people]

        def entries(
            start: int, stop: int, share: Tensor, _cost: Tensor
        ) -> list[tuple[Tensor, Tensor]]:
            senders, found = torch.nonzero((point >= start) & (point < stop)).squeeze(1), []
            for rows in torch.split(senders, max(1, PLAN_ENTRIES // len(people))):
                block = share[member][:, point[rows] - start].T * weight
                block *= type_mass[rows][:, columns.types[member]]
                least = threshold * type_mass[rows].sum(1)[:, None]
                i, j = torch.nonzero(block > least, as_tuple=True)
                found.append((torch.stack([rows[i], people[j]]), block[i, j]))
            return found

        index, values = zip(*(part for parts in self._each_share(entries) for part in parts))
        return _sparse(torch.cat(index, 1), torch.cat(values), self.geometry.shape)

    def _refuse_sample(self) -> None:
        if self.sampled:
            raise ValueError(
                "only a sample of the people receives score, which tells what fairness costs and "
                "not who gets what; take the geometry of all people, without `with_receivers`."
            )

    def _near_shares(self, mass: Tensor) -> tuple[Tensor, Tensor]:
        """Mean costs over epsilon, (K, r), and what places get of a mass (K, r), (u,)."""
        assert self.boxes is not None
        rows, soft = self.geometry.row_points.numpy(), self._point_values / self.epsilon
        return self.boxes.shares(rows, self.epsilon, soft.numpy(), mass.numpy())

    def _each_share(self, work: Callable[[int, int, Tensor, Tensor], Result]) -> Iterator[Result]:
        """Do work on starts, stops, shares of a type per weight, and costs / epsilon, (u, b)."""
        values = self._point_values / self.epsilon

        def on(start: int, stop: int, cost: Tensor) -> Result:
            share = values[:, start:stop][self.columns.types]
            return work(start, stop, share.sub_(cost).clamp_min_(LOWEST_EXPONENT).exp_(), cost)

        return self.geometry.each_block(on, self.columns.points, 1 / self.epsilon)

    @cached_property
    def _point_values(self) -> Tensor:
        """D by row point, (K, r)."""
        out = self.by_type.new_zeros(self.columns.n_types, len(self.geometry.row_points))
        return out.index_copy_(1, self.geometry.row_index, self.by_type)


@dataclass(frozen=True)
class NearestDistances:
    """Distance from each person to the nearest person of each type, and who that is."""

    values: Tensor  # (n, K), infinite for a type without people
    person: Tensor  # (n, K), index of a nearest person
    columns: TypedColumns

    @classmethod
    def of(cls, geometry: Geometry, columns: TypedColumns) -> NearestDistances:
        """One pass over the costs, in O(n K) memory: the limit of soft distances at epsilon 0."""
        index, boxes = geometry.row_index, geometry.near(columns, 0.0)
        if boxes is not None:
            out, where = boxes.nearest(geometry.row_points.numpy(), geometry.verbose)
            return cls(out[:, index].T, columns.person[where][:, index].T, columns)
        out = columns.weight.new_full((columns.n_types, len(geometry.row_points)), torch.inf)
        where = torch.zeros_like(out, dtype=torch.long)

        def nearest(start: int, stop: int, block: Tensor) -> None:
            for k, rows in columns.segments():
                part, here = block[rows], geometry.row_points[start:stop]
                out[k, start:stop], least = _first_of_nearest(geometry, columns, rows, part, here)
                where[k, start:stop] = least + rows.start

        for _ in geometry.each_block(nearest, columns.points):
            pass
        return cls(out[:, index].T, columns.person[where][:, index].T, columns)

    @property
    def by_type(self) -> Tensor:
        """The distances, (K, n)."""
        return self.values.T

    @property
    def mean_cost(self) -> Tensor:
        """The distances themselves, zero for a type without people."""
        return torch.where(self.values.isinf(), 0.0, self.values)

    def column_mass(self, type_mass: Tensor) -> Tensor:
        """Mass per unit of weight that each column person gets, (m,); identical people share."""
        place, zero = self.columns.member[self.person], torch.zeros_like(self.columns.weight)
        received = zero.index_add_(0, place.flatten(), type_mass.flatten())
        return self.columns.to_people(received / self.columns.weight)

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


def _first_of_nearest(
    geometry: Geometry, columns: TypedColumns, rows: slice, block: Tensor, here: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the least costs of a block (u, b), and where they are: the first where some tie.

    A product of matrices tells costs that are equal from each other by its rounding, so those that
    are nearly so are taken from the differences of features.
    """
    least, where = block.min(0)
    near = block <= geometry.tied(least * (1 + ROUNDED))
    several = torch.nonzero(near.sum(0) > 1).squeeze(1)
    if len(several):
        i, j = torch.nonzero(near[:, several].T, as_tuple=True)  # in the order of i
        cost = block[j, several[i]]
        exact = geometry.pair_costs(here[several[i]], columns.points[rows][j])
        cost = cost if exact is None else exact
        best = cost.new_full((len(several),), torch.inf).scatter_reduce_(0, i, cost, "amin")
        tied = cost <= geometry.tied(best)[i]
        person = torch.where(tied, columns.person[rows][j], len(columns.member))
        first = torch.full_like(several, len(columns.member)).scatter_reduce_(0, i, person, "amin")
        chosen = torch.nonzero(person == first[i]).squeeze(1)
        where[several[i[chosen]]], least[several] = j[chosen], best
    return least, where


def _soft_minimum_(block: Tensor, columns: TypedColumns) -> Tensor:
    """-log sum w exp(-block) of a block (u, b) over each type's rows, (K, b); overwrites it."""
    out, types = block.new_full((columns.n_types, block.shape[1]), torch.inf), columns.types
    if columns.n_types > LOOPED_TYPES:  # all types at once, which is faster where they are many
        out.scatter_reduce_(0, types[:, None].expand_as(block), block, "amin")
        share = torch.sub(out[types], block, out=block).clamp_min_(LOWEST_EXPONENT).exp_()
        share.mul_(columns.weight[:, None])
        return out.sub_(torch.zeros_like(out).index_add_(0, types, share).log_())
    for k, rows in columns.segments():
        part = block[rows]
        least = part.amin(0)
        share = torch.sub(least, part, out=part).clamp_min_(LOWEST_EXPONENT).exp_()
        out[k] = least - (columns.weight[rows] @ share).log_()
    return out


def _sparse(index: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    return torch.sparse_coo_tensor(index, values, shape, check_invariants=True).coalesce()
