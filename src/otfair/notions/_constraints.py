"""Linear fairness constraints on scores, held by types of people.

Maths: docs/derivation.md, sections 2, 3 and 5. A constraint is a row of G; people with equal
columns of G are of one type, so G is stored as one vector per type and one type per person.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from otfair._io.arrays import (
    EPS,
    Array,
    check_weight,
    is_tensor,
    like_input,
    precision_of,
    to_index,
    to_tensor,
    to_vector,
)
from otfair._io.processes import ALONE, Processes
from otfair.notions._existence import check_existence
from otfair.notions._rates import Rates, comparable, free_rates, precision_rows


@dataclass(frozen=True, kw_only=True, eq=False)
class People:
    """A population whose people are typed once, so that any sample of it is constrained quickly.

    Made by `Notion.people`; `constraints(rows=...)` constrains a mini-batch of rows whose score may
    go to anybody in `columns`.
    """

    design: Tensor  #: S, (d, K): membership, value, or the user's own G.
    strata: Tensor  #: Y, (d, K): whether a row speaks of a type.
    #: Of each row: "group", "continuous", "fixed" where G is S itself, or "precision", where S are
    #: labels and Y is the group.
    kinds: tuple[str, ...]
    target: Tensor  #: b, (d,): what G f must equal.
    names: tuple[str, ...]  #: Of the rows.
    compared: tuple[tuple[str, str], ...]  #: Of each row, its attribute and stratum.
    groups: tuple[str, ...]  #: Of each row, its group, number or name, in any stratum.
    type_names: tuple[str, ...]  #: Of the types.
    types: Tensor  #: Type of each person, (n,).
    weight: Tensor  #: w, (n,): weight of each person.
    as_tensor: bool  #: Whether constraints are tensors, or else arrays.
    #: Rate of each row of precision, (d,); NaN where scores are to tell it, and in other rows.
    rates: Tensor | None = None

    def constraints(self, rows: Array = None, columns: Array = None) -> Constraints:
        """Constrain a sample: G is normalised by the shares of its own `rows`.

        Parameters
        ----------
        rows, columns : array-like, optional
            Indices of the people whose scores are moved, and of those who may receive score; all
            people by default.

        Returns
        -------
        Constraints
            The rows of G that the sample can speak of.
        """
        givers = self if rows is None else self.take(rows)
        receivers = self if columns is None else self.take(columns, "columns")
        vectors, keep, shut, free = self._rows(givers.mass)
        kept = keep.tolist()
        # Constant scores of the rows are fair, so there is nothing to check where each row's type
        # is among the columns, as it is when the columns are all people.
        covered = columns is None or bool((receivers.mass[givers.mass > 0] > 0).all())
        column_mass = receivers.mass.masked_fill(shut, 0.0)
        if not bool((column_mass > 0).any()):
            has = [self.type_names[k] for k in torch.nonzero(givers.mass).flatten().tolist()]
            raise ValueError(
                "nobody can receive score: no person of `columns` has weight and is of a group "
                f"that is among the rows, which are {'; '.join(has[:5])}."
            )
        out = Constraints(
            types=like_input(givers.types, self.as_tensor),
            vectors=like_input(vectors, self.as_tensor),
            strata=like_input(self.strata[keep], self.as_tensor),
            target=like_input(self.target[keep], self.as_tensor),
            names=tuple(n for n, k in zip(self.names, kept) if k),
            dropped=tuple(n for n, k in zip(self.names, kept) if not k),
            type_names=self.type_names,
            sample_weight=like_input(givers.weight, self.as_tensor),
            column_types=like_input(receivers.types, self.as_tensor),
            column_weight=like_input(receivers.weight, self.as_tensor),
            column_mass=like_input(column_mass, self.as_tensor),
            always_feasible=covered and self._always_feasible,
            rates={} if free is not None else self._given_rates(kept),
            free=free,
        )
        if free is not None:
            out = out.at_rates(free.of(givers.mass), free=free)
        if "precision" in self.kinds and not out.always_feasible:
            return replace(out, always_feasible=self._feasible_at_any_rate(out))
        # Where the target is zero, positive fair scores of one total are so for every other. Else a
        # user's own rows are left to the solver, which knows the total, and the slack.
        own = "fixed" in self.kinds
        if out.always_feasible or (own and bool(self.target.any())):
            return out
        return replace(out, always_feasible=check_existence(out, throw=not own))

    def _feasible_at_any_rate(self, constraints: Constraints) -> bool:
        """Whether positive scores are known to be fair; if not, a solver looks at its own rates."""
        rates = constraints.free
        shared = (
            len(set(constraints.rates.values())) == 1 if rates is None else len(rates.member) == 1
        )
        if set(self.kinds) != {"precision"} or not shared:
            return False  # which hangs on the rates
        return check_existence(constraints, throw=False)  # one rate can be scaled to another

    @property
    def _always_feasible(self) -> bool:
        """Whether there are fair scores in any sample that has its own rows' types."""
        if "precision" in self.kinds:  # groups that do not overlap can each have the rate
            return set(self.kinds) == {"precision"} and len(set(self.compared)) == 1
        return "fixed" not in self.kinds

    def _given_rates(self, kept: Sequence[bool]) -> dict[str, float]:
        """Return the user's rate for each attribute that is compared by precision."""
        if self.rates is None:
            return {}
        given = zip(self.compared, self.kinds, self.rates.tolist(), kept)
        return {name: rate for (name, _), kind, rate, k in given if kind == "precision" and k}

    def vectors(self, weight: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return G by type, which rows to keep, and which types to shut out, for a sample.

        A row that the sample cannot speak of (group or stratum absent, everyone in the group, no
        variance) is not kept; the types of an absent group or stratum are shut out, as nothing
        would hold their share in check.

        Parameters
        ----------
        weight : Tensor of shape (K,)
            The sample's weight in each type.

        Returns
        -------
        tuple of Tensor
            G of the rows that are kept, then booleans of all rows and of all types. Rates that
            scores are to tell are those of equal scores.
        """
        G, keep, shut, free = self._rows(weight)
        return G if free is None else free.vectors(free.of(weight)), keep, shut

    def _rows(self, weight: Tensor) -> tuple[Tensor, Tensor, Tensor, Rates | None]:
        """Return what `vectors` does, and the rates that scores are to tell, which are 0 in G."""
        S, Y = self.design, self.strata.to(self.design.dtype)
        is_group, is_fixed = self._is("group"), self._is("fixed")
        members = torch.where(is_group[:, None], S * Y, Y)  # the group, or all of the stratum
        inside, stratum = members @ weight, Y @ weight  # (d,)
        # Compared exactly: sums of weights would leave rounding where there is no variance.
        present = self.strata & (weight > 0)
        low = torch.where(present, S, torch.inf).amin(1)
        high = torch.where(present, S, -torch.inf).amax(1)
        unit = (S - low[:, None]) / (high - low)[:, None]  # from 0 to 1, so that no mean cancels
        value = unit - ((unit * Y) @ weight / stratum)[:, None]
        value = value / ((value.square() * Y) @ weight / stratum).sqrt()[:, None]
        group = weight.sum() * (S / inside[:, None] - 1 / stratum[:, None])
        G = torch.where(is_group[:, None], group, value) * Y
        G = torch.where(is_fixed[:, None], S, G)
        keep = is_fixed | (high > low)
        absent = ~is_fixed & (inside <= 0) & (weight.sum() > 0)
        shut = (members[absent] > 0).any(0)  # (K,)
        if self.rates is None:
            return G[keep], keep, shut, None
        p = self._is("precision")
        own = [c for c, kind in enumerate(self.kinds) if kind == "precision"]
        part = (S[p], Y[p], self.rates[p])
        slope, keep = torch.zeros_like(G), keep.clone()
        keep[p], missing = comparable(*part, weight, [self.compared[c] for c in own])
        G[p], slope[p] = precision_rows(*part, weight)
        free = self.rates.isnan().tolist()
        families = [
            name if kind == "precision" and nan else None
            for (name, _), kind, nan, k in zip(self.compared, self.kinds, free, keep.tolist())
            if k
        ]
        labels = S[p].amax(0)  # the same in each row
        rates = free_rates(G[keep], slope[keep], labels, families, weight)
        return G[keep], keep, shut | missing, rates

    def take(self, rows: Array, argument: str = "rows") -> People:
        """Return some of these people, typed as before.

        Parameters
        ----------
        rows : array-like
            Their indices, or one boolean per person.
        argument : str, default="rows"
            What errors call them.

        Returns
        -------
        People
            The people of these rows, in their order.
        """
        index = to_index(rows, len(self.types), argument, self.types.device)
        return replace(self, types=self.types[index], weight=self.weight[index])

    def only(self, kept: np.ndarray) -> People:
        """Return the same people with some of the rows.

        Parameters
        ----------
        kept : ndarray of shape (d,)
            Whether each row is kept.

        Returns
        -------
        People
            The people, typed as before.
        """
        rows, own = torch.as_tensor(kept, device=self.design.device), np.flatnonzero(kept)
        kinds = tuple(self.kinds[c] for c in own)
        without = self.rates is None or "precision" not in kinds
        return replace(
            self,
            design=self.design[rows],
            strata=self.strata[rows],
            target=self.target[rows],
            rates=None if without else self.rates[rows],  # type: ignore[index]
            names=tuple(self.names[c] for c in own),
            compared=tuple(self.compared[c] for c in own),
            groups=tuple(self.groups[c] for c in own),
            kinds=kinds,
        )

    @property
    def n_people(self) -> int:
        """How many people there are."""
        return len(self.types)

    def to_tensors(self) -> People:
        """Return people whose constraints are tensors, whatever they were made from.

        Returns
        -------
        People
            The same people.
        """
        return replace(self, as_tensor=True)

    @cached_property
    def mass(self) -> Tensor:
        """Weight of all people in each type, (K,)."""
        zero = self.weight.new_zeros(len(self.type_names))
        return zero.index_add_(0, self.types, self.weight)

    def _is(self, kind: str) -> Tensor:
        return torch.tensor([k == kind for k in self.kinds], device=self.design.device).bool()


@dataclass(frozen=True, kw_only=True, eq=False)
class Constraints:
    """The notion as numbers: scores f are fair when `matrix @ f == target`."""

    types: Array = field(repr=False)  #: Type of each person, (n,).
    vectors: Array = field(repr=False)  #: Column of G of each type, (d, K).
    strata: Array = field(repr=False)  #: Whether a row speaks of people of a type, (d, K).
    target: Array = field(repr=False)  #: b, (d,): what G f must equal.
    names: tuple[str, ...]  #: Of the rows, such as ``"sex=Female | y=1"``.
    dropped: tuple[str, ...]  #: Rows of which this sample can't speak: their group is absent.
    type_names: tuple[str, ...] = field(repr=False)  #: Such as ``"sex=Female, y=1"``.
    sample_weight: Array = field(repr=False)  #: A person of weight w counts as w copies, (n,).
    column_types: Array = field(repr=False)  #: Types of the people who may receive score, (m,).
    column_weight: Array = field(repr=False)  #: Their weights, (m,).
    #: Their weight in each type, (K,); zero for types that are shut out.
    column_mass: Array = field(repr=False)
    #: Whether fair scores are known to exist, so that a solver need not check.
    always_feasible: bool = field(repr=False)
    #: Precision that each attribute's groups must have, where the notion is about it.
    rates: dict[str, float] = field(default_factory=dict, repr=False)
    #: What tells the rates of scores where the user gave none; `vectors` are then for equal scores.
    free: Rates | None = field(default=None, repr=False)
    #: Who holds the other people, where `types` and `sample_weight` are of some of them only.
    processes: Processes = field(default=ALONE, repr=False)

    @property
    def matrix(self) -> Array:
        """G, (d, n): one row per constraint, one column per person."""
        return self.vectors[:, self.types]

    @property
    def n_people(self) -> int:
        """How many people's scores are moved."""
        return len(self.types)

    @property
    def about_precision(self) -> bool:
        """Whether some rows compare precision, which does not depend on the size of scores."""
        return self.free is not None or bool(self.rates)

    def __len__(self) -> int:
        return len(self.names)

    def at(self, scores: Array) -> Constraints:
        """Return the constraints at the rates of these scores, where they have rates to be told.

        Parameters
        ----------
        scores : array-like of shape (n,)
            Scores of the people whose scores are moved.

        Returns
        -------
        Constraints
            Constraints whose rates are given; these themselves where they are so already.

        Examples
        --------
        >>> from otfair import PredictiveParity
        >>> c = PredictiveParity().constraints(["a", "a", "b", "b"], labels=[1, 0, 1, 0])
        >>> c.at([0.6, 0.3, 0.4, 0.7]).rates
        {'group': 0.5}
        """
        if self.free is None:
            return self
        types, weight = (torch.as_tensor(x).cpu() for x in (self.types, self.sample_weight))
        h = to_vector(to_tensor(scores, "scores").reshape(-1), "scores", len(types)).cpu()
        mass = weight.new_zeros(len(self.type_names)).index_add_(0, types, weight * h)
        return self.at_rates(self.free.of(torch.as_tensor(self.processes.sum(mass.numpy()))))

    def at_rates(self, rates: Tensor, free: Rates | None = None) -> Constraints:
        """Return the constraints at rates of one's own, one for each of `free`.

        Parameters
        ----------
        rates : Tensor of shape (r,)
            The rates.
        free : Rates, optional
            What is still to be told by scores; nothing by default.

        Returns
        -------
        Constraints
            The constraints at these rates.
        """
        assert self.free is not None
        vectors = like_input(self.free.vectors(rates), is_tensor(self.vectors))
        told = self.free.named(rates) if free is None else {}
        return replace(self, vectors=vectors, rates=told, free=free)

    def share(self, rows: Tensor, processes: Processes) -> Constraints:
        """Return the same constraints as one of several processes holds them.

        Parameters
        ----------
        rows : Tensor of shape (b,)
            Indices of the people whom this process holds.
        processes : Processes
            Those that share the people.

        Returns
        -------
        Constraints
            The same rows of G on all people, of whom these are here.
        """
        types, weight = self.types[rows], self.sample_weight[rows]
        return replace(self, types=types, sample_weight=weight, processes=processes)

    @classmethod
    def from_matrix(
        cls,
        G: Array,
        target: Array = None,
        names: Sequence[str] | None = None,
        sample_weight: Array = None,
        *,
        rows: Array = None,
        columns: Array = None,
    ) -> Constraints:
        """Constrain scores by your own linear rows: `G @ (sample_weight * scores) == target`.

        Parameters
        ----------
        G : array-like of shape (d, n)
            One row per constraint and one column per person.
        target : array-like of shape (d,), optional
            Zero by default.
        names : sequence of str, optional
            What to call the rows in results and errors.
        sample_weight : array-like of shape (n,), optional
            One by default.
        rows, columns : array-like, optional
            Where the people whose scores are moved are not those who may receive score, the indices
            of both among the people of `G`.

        Returns
        -------
        Constraints
            Whether any scores satisfy them is for a solver to say, which knows the slack.

        Examples
        --------
        >>> from otfair import Constraints
        >>> c = Constraints.from_matrix([[1, 1, -1, -1]], names=["first two = last two"])
        >>> c.vectors
        array([[-1.,  1.]])
        >>> c.types
        array([1, 1, 0, 0])
        """
        return people_from_matrix(G, target, names, sample_weight).constraints(rows, columns)


def people_from_matrix(
    G: Array, target: Array, names: Sequence[str] | None, sample_weight: Array
) -> People:
    """Type people by the exact values of their columns of G."""
    matrix = to_tensor(G, "G", ndim=2)
    d, n = matrix.shape
    if n == 0:
        raise ValueError(f"`G` has no people: shape {(d, n)}; pass one column per person.")
    labels = _numbered("row", d) if names is None else tuple(str(name) for name in names)
    if len(labels) != d:
        raise ValueError(f"`names` must have one entry per row of G: {d}; received {len(labels)}.")
    vectors, types = np.unique((matrix + 0.0).cpu().numpy(), axis=1, return_inverse=True)
    b = to_vector(torch.zeros(d) if target is None else target, "target", d, "row of G")
    if (eps := precision_of(G)) > EPS:
        vectors, b = _without_rounding(vectors, b, eps)
    design = torch.as_tensor(vectors, device=matrix.device)
    return People(
        design=design,
        strata=torch.ones_like(design, dtype=torch.bool),
        kinds=("fixed",) * d,
        target=b.to(matrix.device),
        names=labels,
        compared=tuple((name, "") for name in labels),
        groups=labels,
        type_names=_numbered("type", design.shape[1]),
        types=torch.as_tensor(types.reshape(-1), device=matrix.device),
        weight=check_weight(sample_weight, n, matrix.device),
        as_tensor=is_tensor(G),
    )


def _without_rounding(vectors: np.ndarray, target: Tensor, eps: float) -> tuple[np.ndarray, Tensor]:
    """Return rows (d, K) and target (d,) without what the rounding of coarse numbers adds to them.

    Rows that depend on others, as one-hot ones do, do so up to rounding only; what is left would
    be a constraint of its own.
    """
    unit = np.abs(vectors).max(1, initial=0.0)
    some = unit > 0  # a row of zeros is as it should be
    unit = unit[some, None]
    U, s, W = np.linalg.svd(vectors[some] / unit, full_matrices=False)
    real = s > 4 * max(vectors.shape) * eps * s.max(initial=0.0)
    if real.all():
        return vectors, target
    exact, b = vectors.copy(), target.cpu().numpy().copy()
    exact[some] = (U[:, real] * s[real]) @ W[real] * unit
    scaled = b[some] / unit[:, 0]
    near = U[:, real] @ (U[:, real].T @ scaled)
    if np.abs(near - scaled).max() <= 4 * len(b) * eps * np.abs(scaled).max():
        b[some] = near * unit[:, 0]  # else rows contradict one another, which is said elsewhere
    return exact, torch.as_tensor(b)


def _numbered(word: str, count: int) -> tuple[str, ...]:
    return tuple(f"{word} {k}" for k in range(count))
