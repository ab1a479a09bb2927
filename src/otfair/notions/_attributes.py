"""Columns of people, numbered: sensitive attributes, strata, and the types they make together.

Maths: docs/derivation.md, section 5. Everything is grouped by value, never by rounded numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd

from otfair.tables import Column, plain_text

MAX_CROSSED_GROUPS = 10_000


@dataclass(frozen=True)
class Attribute:
    """A sensitive column, numbered: `codes` index `values`, which are groups or numbers."""

    codes: np.ndarray  # (n,)
    values: np.ndarray  # (v,) group names, or distinct numbers in order
    name: str
    is_group: bool

    def value_names(self) -> list[str]:
        """Return what to call each value."""
        if self.is_group:
            return [str(v) for v in self.values]
        return [f"{self.name}={v:.6g}" for v in self.values]


@dataclass(frozen=True)
class Strata:
    """The people a row compares: each person's stratum, -1 where no row speaks of them."""

    codes: np.ndarray  # (n,)
    names: list[str]
    outside: str = ""  # what to call people without a stratum


def read_group(column: Column, earlier: Iterable[str] = ()) -> Attribute:
    """Read the groups of a column after `earlier` ones, in the order of declared categories."""
    found, unique = pd.factorize(column.values)
    values = column.categories or sorted(unique.tolist())
    names = dict.fromkeys([*earlier, *(f"{column.name}={plain_text(v)}" for v in values)])
    order = {name: code for code, name in enumerate(names)}
    codes = np.array([order[f"{column.name}={plain_text(v)}"] for v in unique.tolist()])[found]
    return Attribute(codes, np.array([*names], dtype=object), str(column.name), is_group=True)


def read_number(column: Column) -> Attribute:
    """Read the distinct values of a continuous column."""
    if column.values.dtype.kind not in "biuf":
        raise ValueError(
            f"sensitive column {column.name!r} is named as continuous but holds text, such as "
            f"{str(column.values[0])!r}; convert it to numbers or leave it out of `continuous`."
        )
    values, codes = np.unique(column.values.astype(np.float64) + 0.0, return_inverse=True)
    return Attribute(codes, values, str(column.name), is_group=False)


def refuse_single(attribute: Attribute, present: np.ndarray) -> None:
    """Raise where the people present, (n,) bool, leave nothing to compare."""
    codes = np.unique(attribute.codes[present])
    if len(codes) < 2:
        kind = "group" if attribute.is_group else "value"
        raise ValueError(
            f"sensitive column {attribute.name!r} has only one {kind} here, "
            f"{attribute.value_names()[codes[0]]!r}, so there is nothing to compare it with. Leave "
            "the column out, or pass people of the others too (those without weight do not count)."
        )


def cross(attributes: list[Attribute]) -> list[Attribute]:
    """Cross the groups of several columns into those of one; numbers stay as they are."""
    groups = [a for a in attributes if a.is_group]
    if len(groups) < 2:
        return attributes
    sizes, name = [len(g.values) for g in groups], " & ".join(g.name for g in groups)
    if math.prod(sizes) > MAX_CROSSED_GROUPS:
        raise ValueError(
            f"crossing {[g.name for g in groups]} gives {math.prod(sizes)} groups, more than "
            f"{MAX_CROSSED_GROUPS}; merge rare categories or cross fewer columns."
        )
    names = [" & ".join(map(str, parts)) for parts in product(*(g.values for g in groups))]
    codes = np.ravel_multi_index([g.codes for g in groups], sizes)
    crossed = Attribute(codes, np.array(names, dtype=object), name, is_group=True)
    return [crossed] + [a for a in attributes if not a.is_group]


def number_types(strata: np.ndarray, attributes: list[Attribute]) -> tuple[np.ndarray, np.ndarray]:
    """Return each person's type and, for each type, the first person of it.

    A type is a distinct combination of stratum and values; people without a stratum are one type.
    """
    types = strata
    for attribute in attributes:
        codes = np.where(strata < 0, 0, attribute.codes)
        _, types = np.unique(types * len(attribute.values) + codes, return_inverse=True)
    _, first, types = np.unique(types, return_index=True, return_inverse=True)
    return types, first
