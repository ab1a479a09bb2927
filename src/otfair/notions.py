"""Fairness notions: from sensitive features to linear constraints on scores.

Maths: docs/derivation.md, section 2. A notion reads columns of people, numbers their distinct
combinations of values (types), and leaves the arithmetic on types to `constraints.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TypeAlias

import numpy as np
import torch

from otfair.arrays import Array, Column, is_tensor, to_columns
from otfair.constraints import (
    Constraints,
    People,
    RowKind,
    TypeTable,
    check_weight,
    people_from_matrix,
    stack_tables,
)

MAX_CATEGORICAL_INTEGERS = 10
MAX_CROSSED_GROUPS = 10_000
Columns: TypeAlias = Sequence[str | int] | str | int


@dataclass(frozen=True)
class _Attribute:
    """A sensitive column, numbered: `codes` index `values`, which are groups or numbers."""

    codes: np.ndarray  # (n,)
    values: np.ndarray  # (v,) group names, or distinct numbers in order
    name: str
    is_group: bool

    def value_names(self) -> list[str]:
        if self.is_group:
            return [str(v) for v in self.values]
        return [f"{self.name}={v:.6g}" for v in self.values]


class Notion:
    """A linear fairness notion. Stack notions with ``a & b``.

    Use one of its subclasses, or a name: ``"demographic_parity"``, ``"equalized_odds"``,
    ``"equal_opportunity"``, ``"predictive_equality"``, ``"conditional_parity"``.
    """

    def people(
        self, sensitive_features: Array, labels: Array = None, sample_weight: Array = None
    ) -> People:
        """Type a population once; `People.constraints(rows=...)` then constrains any batch of it.

        In a batch whose groups are not all present, the rows that cannot be stated are dropped.
        """
        raise TypeError(f"{type(self).__name__} is not a notion by itself; use a subclass of it.")

    def constraints(
        self, sensitive_features: Array, labels: Array = None, sample_weight: Array = None
    ) -> Constraints:
        """Return the rows of G for these people.

        Parameters
        ----------
        sensitive_features : one or many columns: NumPy, torch, pandas, polars, a dict of columns.
            Strings, categories, booleans and integers with at most 10 distinct values are groups;
            other numbers are continuous.
        labels : (n,) zeros and ones, for the notions that condition on the label.
        sample_weight : (n,), a person of weight w counts as w copies.
        """
        return self.people(sensitive_features, labels, sample_weight).constraints()

    def __and__(self, other: Notion) -> Notion:
        return _Stack(self, as_notion(other))


@dataclass(frozen=True)
class _Strata:
    """The people a row compares: each person's stratum, -1 where no row speaks of them."""

    codes: np.ndarray  # (n,)
    names: list[str]
    outside: str = ""  # what to call people without a stratum


@dataclass(frozen=True)
class _Stack(Notion):
    first: Notion
    second: Notion

    def people(
        self, sensitive_features: Array, labels: Array = None, sample_weight: Array = None
    ) -> People:
        data = (sensitive_features, labels, sample_weight)
        return stack_tables(self.first.people(*data), self.second.people(*data))


@dataclass(frozen=True, kw_only=True)
class _GroupNotion(Notion):
    """What the notions that compare groups, within strata or not, have in common."""

    continuous: Columns = ()
    categorical: Columns = ()
    intersectional: bool = False

    def people(
        self, sensitive_features: Array, labels: Array = None, sample_weight: Array = None
    ) -> People:
        columns = _named(to_columns(sensitive_features, "sensitive_features"))
        n = len(columns[0].values)
        if n == 0:
            raise ValueError("`sensitive_features` is empty; pass at least one person.")
        weight = check_weight(sample_weight, n)
        strata, kept = self._strata(columns, labels, n)
        attributes = self._attributes(kept, columns, (weight > 0).cpu().numpy())
        types, first = _number_types(strata.codes, attributes)
        table = _tabulate(strata, attributes, first)
        return People(
            table=table,
            types=torch.as_tensor(types),
            weight=weight.cpu(),
            as_tensor=is_tensor(sensitive_features),
        )

    def _strata(self, columns: list[Column], labels: Array, n: int) -> tuple[_Strata, list[Column]]:
        """Return the strata, and the columns that remain attributes."""
        return _Strata(np.zeros(n, dtype=np.int64), [""]), columns

    def _attributes(
        self, kept: list[Column], columns: list[Column], present: np.ndarray
    ) -> list[_Attribute]:
        """Read the columns that are kept; `continuous` and `categorical` refer to all of them."""
        continuous = _chosen(self.continuous, columns, "continuous")
        categorical = _chosen(self.categorical, columns, "categorical")
        if both := continuous & categorical:
            raise ValueError(
                f"columns {sorted(both)} are named as both continuous and categorical."
            )
        numbers, groups = [], []
        for column in kept:
            name = str(column.name)
            if name in categorical or (name not in continuous and _looks_categorical(column)):
                groups.append(_group(column))
            else:
                numbers.append(_number(column))
        for attribute in groups + numbers:
            _refuse_single(attribute, present)
        if self.intersectional and len(groups) > 1:
            groups = [_cross(groups)]
        return groups + numbers


class DemographicParity(_GroupNotion):
    """Mean scores are equal between groups, and uncorrelated with continuous attributes (PDP).

    Parameters
    ----------
    continuous, categorical : names (or positions) of columns, where the default reading of their
        type is not meant.
    intersectional : cross the categorical columns into one (``"sex=Female & race=Black"``).

    Examples
    --------
    >>> from otfair import DemographicParity
    >>> c = DemographicParity().constraints({"sex": ["Female", "Male", "Male", "Male"]})
    >>> c.names
    ('sex=Female', 'sex=Male')
    >>> c.matrix.round(3)
    array([[ 3.   , -1.   , -1.   , -1.   ],
           [-1.   ,  0.333,  0.333,  0.333]])
    """


class EqualizedOdds(_GroupNotion):
    """Demographic parity among the people of each label (PEO).

    Examples
    --------
    >>> from otfair import EqualizedOdds
    >>> EqualizedOdds().constraints({"sex": ["F", "F", "M", "M"]}, labels=[0, 1, 0, 1]).names
    ('sex=F | y=0', 'sex=M | y=0', 'sex=F | y=1', 'sex=M | y=1')
    """

    _kept_labels: tuple[int, ...] = (0, 1)

    def _strata(self, columns: list[Column], labels: Array, n: int) -> tuple[_Strata, list[Column]]:
        y = _binary_labels(labels, n, type(self).__name__)
        kept = {label: code for code, label in enumerate(self._kept_labels)}
        codes = np.array([kept.get(0, -1), kept.get(1, -1)])[y]
        outside = "".join(f"y={label}" for label in (0, 1) if label not in kept)
        return _Strata(codes, [f"y={label}" for label in kept], outside), columns


class EqualOpportunity(EqualizedOdds):
    """Demographic parity among the people with label 1."""

    _kept_labels = (1,)


class PredictiveEquality(EqualizedOdds):
    """Demographic parity among the people with label 0."""

    _kept_labels = (0,)


@dataclass(frozen=True, kw_only=True)
class ConditionalParity(_GroupNotion):
    """Demographic parity within the strata of a control feature.

    Parameters
    ----------
    control : names (or positions) of the columns of `sensitive_features` that make the strata.
        Without them `labels` holds each person's stratum, which may be any category.
    continuous, categorical, intersectional : as for `DemographicParity`.

    Examples
    --------
    >>> from otfair import ConditionalParity
    >>> table = {"sex": ["F", "M", "F", "M"], "job": ["cook", "cook", "clerk", "clerk"]}
    >>> ConditionalParity(control="job").constraints(table).names
    ('sex=F | job=clerk', 'sex=M | job=clerk', 'sex=F | job=cook', 'sex=M | job=cook')
    """

    control: Columns = ()

    def _strata(self, columns: list[Column], labels: Array, n: int) -> tuple[_Strata, list[Column]]:
        chosen = _chosen(self.control, columns, "control")
        if chosen:
            control = [c for c in columns if c.name in chosen]
            columns = [c for c in columns if c.name not in chosen]
            if not columns:
                raise ValueError(
                    "`control` names every column of `sensitive_features`; no attribute is left."
                )
        elif labels is None:
            raise ValueError(
                "ConditionalParity needs the strata: name columns of `sensitive_features` with "
                '`ConditionalParity(control="...")`, or pass each person\'s stratum as `labels`.'
            )
        else:
            control = _named(to_columns(labels, "labels"), "stratum")
            _same_length("labels", len(control[0].values), n)
        groups = [_group(column) for column in control]
        strata = _cross(groups) if len(groups) > 1 else groups[0]
        return _Strata(strata.codes, strata.value_names()), columns


@dataclass(frozen=True)
class LinearNotion(Notion):
    """Any linear notion: `fn` gives the rows of G.

    Parameters
    ----------
    fn : called as ``fn(sensitive_features, labels)`` with what the user passed, or with a third
        argument when a `sample_weight` is given; returns (d, n).
    target : (d,) what ``G @ scores`` must equal, zero by default.
    names : what to call the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from otfair import LinearNotion
    >>> equal_sums = LinearNotion(lambda s, y: np.where(s == "a", 1, -1)[None], names=["a = b"])
    >>> equal_sums.constraints(np.array(["a", "b", "b"])).matrix
    array([[ 1., -1., -1.]])
    """

    fn: Callable[..., Array]
    target: Array = None
    names: Sequence[str] | None = None

    def people(
        self, sensitive_features: Array, labels: Array = None, sample_weight: Array = None
    ) -> People:
        """Type people by the columns of the G that `fn` returns."""
        weight = () if sample_weight is None else (sample_weight,)
        G = self.fn(sensitive_features, labels, *weight)
        return people_from_matrix(G, self.target, self.names, sample_weight)


_NAMED: dict[str, type[_GroupNotion]] = {
    "demographic_parity": DemographicParity,
    "equalized_odds": EqualizedOdds,
    "equal_opportunity": EqualOpportunity,
    "predictive_equality": PredictiveEquality,
    "conditional_parity": ConditionalParity,
}


def as_notion(notion: Notion | str) -> Notion:
    """Return the notion of that name; a `Notion` is returned as it is.

    Examples
    --------
    >>> from otfair import as_notion
    >>> as_notion("demographic_parity")
    DemographicParity(continuous=(), categorical=(), intersectional=False)
    """
    if isinstance(notion, Notion):
        return notion
    if isinstance(notion, str) and notion in _NAMED:
        return _NAMED[notion]()
    raise ValueError(
        f"unknown notion {notion!r}; pass one of {', '.join(map(repr, _NAMED))}, or a Notion."
    )


def _named(columns: list[Column], single: str = "group") -> list[Column]:
    """Give columns without a name one, and refuse two of the same name."""
    if len(columns) == 1 and columns[0].name is None:
        return [Column(single, columns[0].values, columns[0].categories)]
    out = [
        c if c.name is not None else Column(f"{single}{j}", c.values, c.categories)
        for j, c in enumerate(columns)
    ]
    names = [c.name for c in out]
    if repeated := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"column names must differ; {sorted(map(str, repeated))} come twice.")
    return out


def _chosen(chosen: Columns, columns: list[Column], argument: str) -> set[str]:
    names = [str(c.name) for c in columns]
    out = set()
    for item in [chosen] if isinstance(chosen, (str, int)) else chosen:
        if isinstance(item, (int, np.integer)) and -len(names) <= item < len(names):
            out.add(names[item])
        elif item in names:
            out.add(str(item))
        else:
            raise ValueError(f"`{argument}` names {item!r}; the columns are {names}.")
    return out


def _looks_categorical(column: Column) -> bool:
    kind = column.values.dtype.kind
    if kind in "iu":
        return len(np.unique(column.values)) <= MAX_CATEGORICAL_INTEGERS
    return kind != "f"


def _group(column: Column) -> _Attribute:
    if column.categories is not None:
        order = {category: code for code, category in enumerate(column.categories)}
        codes = np.array([order[str(v)] for v in column.values])
        values: Sequence[object] = column.categories
    else:
        unique, codes = np.unique(column.values, return_inverse=True)
        values = unique.tolist()
    names = np.array([f"{column.name}={value}" for value in values], dtype=object)
    return _Attribute(codes, names, str(column.name), is_group=True)


def _number(column: Column) -> _Attribute:
    if column.values.dtype.kind not in "biuf":
        raise ValueError(
            f"sensitive column {column.name!r} is named as continuous but holds text, such as "
            f"{str(column.values[0])!r}; convert it to numbers or leave it out of `continuous`."
        )
    values, codes = np.unique(column.values.astype(np.float64) + 0.0, return_inverse=True)
    return _Attribute(codes, values, str(column.name), is_group=False)


def _refuse_single(attribute: _Attribute, present: np.ndarray) -> None:
    codes = np.unique(attribute.codes[present])
    if len(codes) < 2:
        kind = "group" if attribute.is_group else "value"
        raise ValueError(
            f"sensitive column {attribute.name!r} has only one {kind} here, "
            f"{attribute.value_names()[codes[0]]!r}, so there is nothing to compare it with. Leave "
            "the column out, or pass people of the others too (those without weight do not count)."
        )


def _cross(groups: list[_Attribute]) -> _Attribute:
    count = int(np.prod([len(g.values) for g in groups]))
    if count > MAX_CROSSED_GROUPS:
        raise ValueError(
            f"crossing {[g.name for g in groups]} gives {count} groups, more than "
            f"{MAX_CROSSED_GROUPS}; merge rare categories or cross fewer columns."
        )
    names = [
        " & ".join(map(str, combination)) for combination in product(*(g.values for g in groups))
    ]
    codes = np.ravel_multi_index([g.codes for g in groups], [len(g.values) for g in groups])
    return _Attribute(
        codes, np.array(names, dtype=object), " & ".join(g.name for g in groups), True
    )


def _binary_labels(labels: Array, n: int, notion: str) -> np.ndarray:
    if labels is None:
        raise ValueError(
            f"{notion} compares people of equal label: pass `labels` (0 or 1 a person)."
        )
    columns = to_columns(labels, "labels")
    if len(columns) != 1:
        raise ValueError(f"`labels` must be one column of zeros and ones; received {len(columns)}.")
    values = columns[0].values
    _same_length("labels", len(values), n)
    found = np.unique(values)
    if values.dtype.kind not in "biuf" or not np.isin(found, [0, 1]).all():
        shown = ", ".join(repr(v) for v in found[:5].tolist())
        raise ValueError(
            f"`labels` must be 0 or 1; received the values {shown}"
            f"{', ...' if len(found) > 5 else ''}. Map the positive outcome to 1 and the other to "
            "0, for example with `(y == positive).astype(int)`."
        )
    return values.astype(np.int64)


def _same_length(argument: str, received: int, n: int) -> None:
    if received != n:
        raise ValueError(
            f"`{argument}` has {received} entries but `sensitive_features` has {n} people; "
            "pass one entry a person, in the same order."
        )


def _number_types(
    strata: np.ndarray, attributes: list[_Attribute]
) -> tuple[np.ndarray, np.ndarray]:
    """Return each person's type and, for each type, the first person of it.

    A type is a distinct combination of stratum and values; people without a stratum are one type.
    """
    types = strata
    for attribute in attributes:
        codes = np.where(strata < 0, 0, attribute.codes)
        _, types = np.unique(types * len(attribute.values) + codes, return_inverse=True)
    _, first, types = np.unique(types, return_index=True, return_inverse=True)
    return types, first


def _tabulate(strata: _Strata, attributes: list[_Attribute], first: np.ndarray) -> TypeTable:
    """Lay out one row a stratum and a group (or continuous attribute), one column a type."""
    levels = strata.codes[first]  # (K,)
    design, inside, kinds, names = [], [], [], []
    for level, stratum in enumerate(strata.names):
        given = f" | {stratum}" if stratum else ""
        for attribute in attributes:
            codes = attribute.codes[first]  # (K,)
            if attribute.is_group:
                rows = [(codes == code, name) for code, name in enumerate(attribute.values)]
            else:
                rows = [(attribute.values[codes], attribute.name)]
            for row, name in rows:
                design.append(row.astype(np.float64))
                inside.append(levels == level)
                kinds.append(RowKind.GROUP if attribute.is_group else RowKind.CONTINUOUS)
                names.append(f"{name}{given}")
    values = [attribute.value_names() for attribute in attributes]
    type_names = []
    for level, person in zip(levels.tolist(), first.tolist()):
        parts = [v[a.codes[person]] for v, a in zip(values, attributes)] if level >= 0 else []
        stratum = strata.names[level] if level >= 0 else strata.outside
        type_names.append(", ".join([*parts, *([stratum] if stratum else [])]))
    return TypeTable(
        design=torch.as_tensor(np.array(design)),
        strata=torch.as_tensor(np.array(inside)),
        kinds=tuple(kinds),
        target=torch.zeros(len(names), dtype=torch.float64),
        names=tuple(names),
        type_names=tuple(type_names),
    )
