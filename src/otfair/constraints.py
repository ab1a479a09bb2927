"""Linear fairness constraints on scores, held by types of people.

Maths: docs/derivation.md, sections 2, 3 and 5. A constraint is a row of G; people with equal
columns of G are of one type, so G is stored as one vector a type and one type a person.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property

import numpy as np
import torch
from scipy.optimize import linprog
from torch import Tensor

from otfair.arrays import Array, is_tensor, like_input, to_index, to_tensor


class RowKind(Enum):
    """How a row of G follows from the sample."""

    GROUP = "group"  # S / mean(S Y) - 1 / mean(Y), S the group and Y the stratum
    CONTINUOUS = "continuous"  # (S - mean) / std within the stratum
    FIXED = "fixed"  # the user's own numbers


@dataclass(frozen=True, kw_only=True)
class TypeTable:
    """What the rows of G need to know of each type of people, before any sample is counted."""

    design: Tensor  # S  (d, K): membership, value, or the user's own G
    strata: Tensor  # Y  (d, K) bool: the types a row speaks of
    kinds: tuple[RowKind, ...]  # (d,)
    target: Tensor  # b  (d,)
    names: tuple[str, ...]  # (d,)
    type_names: tuple[str, ...]  # (K,)

    def vectors(self, weight: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return G by type, which rows to keep, and which types to shut out, for a sample.

        `weight` (K,) is the sample's weight in each type. A row that the sample cannot speak of
        (group or stratum absent, everyone in the group, no variance) is not kept; the types of an
        absent group or stratum are shut out, as nothing would hold their share in check.
        """
        S, Y = self.design, self.strata.to(self.design.dtype)
        is_group, is_fixed = self._is(RowKind.GROUP), self._is(RowKind.FIXED)
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
        absent = ~is_fixed & (inside <= 0)
        shut = (members[absent] > 0).any(0)  # (K,)
        return G[keep], keep, shut

    def _is(self, kind: RowKind) -> Tensor:
        flags = [k is kind for k in self.kinds]
        return torch.tensor(flags, dtype=torch.bool, device=self.design.device)


@dataclass(frozen=True, kw_only=True)
class People:
    """A population whose people are typed once, so that any sample of it is constrained quickly.

    Made by `Notion.people`; `constraints(rows=...)` constrains a mini-batch of rows whose score may
    go to anybody in `columns`.
    """

    table: TypeTable
    types: Tensor  # (n,)
    weight: Tensor  # w (n,)
    as_tensor: bool

    def constraints(self, rows: Array = None, columns: Array = None) -> Constraints:
        """Constrain a sample: G is normalised by the shares of its own `rows`.

        Parameters
        ----------
        rows : indices of the people whose scores are moved; everybody by default.
        columns : indices of the people who may receive score. By default everybody, which are the
            rows themselves when `rows` is not given either.
        """
        table, types, weight = self.table, self.types, self.weight
        row_types, row_weight = _take(types, rows, "rows"), _take(weight, rows, "rows")
        column_types = _take(types, columns, "columns")
        column_weight = _take(weight, columns, "columns")
        row_mass = self.mass if rows is None else self._mass(row_types, row_weight)
        column_mass = self.mass if columns is None else self._mass(column_types, column_weight)
        vectors, keep, shut = table.vectors(row_mass)
        kept = keep.tolist()
        # Constant scores of the rows are fair, so there is nothing to check where each row's type
        # is among the columns, as it is when the columns are everybody.
        covered = columns is None or bool((column_mass[row_mass > 0] > 0).all())
        out = Constraints(
            types=like_input(row_types, self.as_tensor),
            vectors=like_input(vectors, self.as_tensor),
            target=like_input(table.target[keep], self.as_tensor),
            names=tuple(n for n, k in zip(table.names, kept) if k),
            dropped=tuple(n for n, k in zip(table.names, kept) if not k),
            type_names=table.type_names,
            sample_weight=like_input(row_weight, self.as_tensor),
            column_types=like_input(column_types, self.as_tensor),
            column_weight=like_input(column_weight, self.as_tensor),
            column_mass=like_input(column_mass.masked_fill(shut, 0.0), self.as_tensor),
            always_feasible=covered and RowKind.FIXED not in table.kinds,
        )
        # Where the target is zero, positive fair scores of one total are so for every other.
        if not out.always_feasible and check_existence(out) and not bool(table.target.any()):
            return replace(out, always_feasible=True)
        return out

    def take(self, rows: Array) -> People:
        """Return some of these people, typed as before."""
        types, weight = _take(self.types, rows, "rows"), _take(self.weight, rows, "rows")
        return replace(self, types=types, weight=weight)

    def to_tensors(self) -> People:
        """Return people whose constraints are tensors, whatever they were made from."""
        return replace(self, as_tensor=True)

    @cached_property
    def mass(self) -> Tensor:
        """Weight of everybody in each type, (K,)."""
        return self._mass(self.types, self.weight)

    def _mass(self, types: Tensor, weight: Tensor) -> Tensor:
        zero = torch.zeros(len(self.table.type_names), dtype=weight.dtype, device=weight.device)
        return zero.index_add_(0, types, weight)


@dataclass(frozen=True, kw_only=True)
class Constraints:
    """The notion as numbers: scores f are fair when `matrix @ f == target`.

    Attributes
    ----------
    types : (n,) type of each person.
    vectors : (d, K) column of G of each type.
    target : (d,) b, what G f must equal.
    names : one for each row, such as ``"sex=Female | y=1"``.
    dropped : names of the rows that this sample cannot speak of (their group is absent).
    type_names : one for each type, such as ``"sex=Female, y=1"``.
    sample_weight : (n,) w; a person of weight w counts as w copies.
    column_types, column_weight : the same for the people who may receive score.
    column_mass : (K,) their weight in each type, zero for types that are shut out.
    always_feasible : whether fair scores are known to exist, so that a solver need not check.
    """

    types: Array
    vectors: Array
    target: Array
    names: tuple[str, ...]
    dropped: tuple[str, ...]
    type_names: tuple[str, ...]
    sample_weight: Array
    column_types: Array
    column_weight: Array
    column_mass: Array
    always_feasible: bool

    @property
    def matrix(self) -> Array:
        """G, (d, n): one row a constraint, one column a person."""
        return self.vectors[:, self.types]

    def __len__(self) -> int:
        return len(self.names)

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
        G : (d, n), one row a constraint and one column a person.
        target : (d,), zero by default.
        names : what to call the rows in results and errors.
        sample_weight : (n,), one by default.
        rows, columns : where the people whose scores are moved are not those who may receive score,
            the indices of both among the people of `G`.

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
        raise ValueError(f"`G` has no people: shape {(d, n)}; pass one column a person.")
    weight = check_weight(sample_weight, n, matrix.device)
    b = torch.zeros(d, dtype=matrix.dtype) if target is None else to_tensor(target, "target")
    if b.shape != (d,):
        raise ValueError(
            f"`target` must have one entry a row of G: {d}; received {tuple(b.shape)}."
        )
    labels = tuple(str(name) for name in names) if names is not None else _numbered("row", d)
    if len(labels) != d:
        raise ValueError(f"`names` must have one entry a row of G: {d}; received {len(labels)}.")
    vectors, index = np.unique((matrix + 0.0).cpu().numpy(), axis=1, return_inverse=True)
    design = torch.as_tensor(vectors, device=matrix.device)
    table = TypeTable(
        design=design,
        strata=torch.ones_like(design, dtype=torch.bool),
        kinds=(RowKind.FIXED,) * d,
        target=b.to(matrix.device),
        names=labels,
        type_names=_numbered("type", design.shape[1]),
    )
    types = torch.as_tensor(index.reshape(-1), device=matrix.device)
    return People(table=table, types=types, weight=weight, as_tensor=is_tensor(G))


def check_weight(sample_weight: Array, n: int, device: torch.device | None = None) -> Tensor:
    """Return the weights as a tensor, one by default."""
    if sample_weight is None:
        return torch.ones(n, dtype=torch.float64, device=device)
    weight = to_tensor(sample_weight, "sample_weight", device=device)
    if weight.shape != (n,):
        raise ValueError(
            f"`sample_weight` must have one entry a person: {n}; received shape "
            f"{tuple(weight.shape)}."
        )
    if bool((weight < 0).any()) or float(weight.sum()) <= 0:
        raise ValueError(
            "`sample_weight` must be non-negative and not all zero; "
            f"the smallest is {float(weight.min()):.3g}, the sum {float(weight.sum()):.3g}."
        )
    return weight


def check_existence(
    constraints: Constraints, total: float | None = None, slack: np.ndarray | None = None
) -> bool:
    """Raise unless non-negative scores satisfy the constraints; tell whether positive ones do.

    Solves max t s.t. f_k >= t, |V f - b| <= slack, sum f = total over the types that receive
    score (docs/derivation.md, section 3). Without `total`, any positive total will do.
    """
    V = _numpy(constraints.vectors)[:, _numpy(constraints.column_mass) > 0]
    b, (d, K) = _numpy(constraints.target), V.shape
    if d == 0:
        return True
    unit = np.maximum(np.abs(V).max(1, initial=0.0), 1e-300)
    mass = total or max(1.0, np.abs(b / unit).max())
    gamma = np.zeros(d) if slack is None else slack / unit / mass
    V, b = V / unit[:, None], b / unit / mass
    # Variables: f - t (K), V f - b (d) within the slack, misses up and down (2d), t.
    none, eye = np.zeros((1, d)), np.eye(d)
    A = np.hstack([V, -eye, eye, -eye, V.sum(1, keepdims=True)])
    if total is not None or not b.any():
        A = np.vstack([A, np.hstack([np.ones((1, K)), none, none, none, [[K]]])])
        b = np.append(b, 1.0)
    gamma = gamma + 1e-9  # dependent rows may disagree by rounding
    bounds = [(0, None)] * K + [*zip(-gamma, gamma)]

    missed = linprog(
        np.concatenate([np.zeros(K + d), np.ones(2 * d), [0.0]]),
        A_eq=A, b_eq=b, bounds=[*bounds, *[(0, None)] * (2 * d), (0, 0)],
    )  # fmt: skip
    if missed.fun > 1e-7:
        excess = missed.x[K + d : K + 2 * d] + missed.x[K + 2 * d : K + 3 * d]
        bad = [constraints.names[c] for c in np.flatnonzero(excess > 1e-8)]
        raise ValueError(
            f"no non-negative scores satisfy the constraint(s) {bad}"
            + ("" if total is None else f" with the total of these scores, {total:.6g}")
            + ". Check the sign and `target` of these rows and that every group they name is among "
            "the people who receive score, or allow a `slack`."
        )
    lowest = linprog(  # the presolve of HiGHS calls rows infeasible that repeat up to rounding
        np.append(np.zeros(K + 3 * d), -1.0),
        A_eq=A, b_eq=b, bounds=[*bounds, *[(0, 0)] * (2 * d), (0, 1)], options={"presolve": False},
    )  # fmt: skip
    return bool(lowest.success and -lowest.fun * K > 1e-6)


def stack_tables(a: People, b: People) -> People:
    """Type people by both notions at once and stack the rows of the two."""
    if len(a.types) != len(b.types):
        raise ValueError(
            f"the two notions speak of {len(a.types)} and {len(b.types)} people. Let the function "
            "of a `LinearNotion` return one column a person."
        )
    pairs, types = np.unique(
        np.stack([a.types.cpu().numpy(), b.types.cpu().numpy()]), axis=1, return_inverse=True
    )
    i, j = (torch.as_tensor(p, device=a.types.device) for p in pairs)
    s, t = a.table, b.table
    table = TypeTable(
        design=torch.cat([s.design[:, i], t.design[:, j]]),
        strata=torch.cat([s.strata[:, i], t.strata[:, j]]),
        kinds=s.kinds + t.kinds,
        target=torch.cat([s.target, t.target]),
        names=s.names + t.names,
        type_names=tuple(
            _merged_name(s.type_names[k], t.type_names[l]) for k, l in zip(i.tolist(), j.tolist())
        ),
    )
    index = torch.as_tensor(types.reshape(-1), device=i.device)
    return replace(a, table=table, types=index, as_tensor=a.as_tensor or b.as_tensor)


def _merged_name(a: str, b: str) -> str:
    parts = a.split(", ")
    return ", ".join(parts + [p for p in b.split(", ") if p not in parts])


def _take(values: Tensor, index: Array, argument: str) -> Tensor:
    if index is None:
        return values
    return values[to_index(index, len(values), argument, values.device)]


def _numbered(word: str, count: int) -> tuple[str, ...]:
    return tuple(f"{word} {k}" for k in range(count))


def _numpy(values: Array) -> np.ndarray:
    return values.cpu().numpy() if isinstance(values, Tensor) else np.asarray(values)
