"""Reading the columns of people: groups or numbers, as earlier batches have shown them.

Maths: docs/derivation.md, section 5. A dataset is read like a first batch, but its columns must
have several groups; a batch may well lack some, and the next one may not.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from otfair._io.arrays import Array
from otfair.notions._attributes import Attribute, read_group, read_number
from otfair.notions._constraints import People
from otfair.notions._types import stack_people
from otfair.tables import (
    MAX_CODES,
    Column,
    Kind,
    chosen_kinds,
    is_number,
    is_whole,
    sensitive_kinds,
)

if TYPE_CHECKING:
    from otfair.notions._base import GroupNotion, Notion


class Memory:
    """What the batches so far have shown of their columns; reading a batch adds to it."""

    def __init__(self) -> None:
        self.groups: dict[str, np.ndarray] = {}  # names of those of each column
        self.numbers: set[str] = set()  # columns that turned out to be continuous

    def people(self, notion: Notion, sensitive: Array, labels: Array) -> People:
        """Type the people of a batch, whatever groups, labels or values it lacks."""
        return reduce(stack_people, (p._batch(sensitive, labels, self) for p in notion.parts))

    def is_one_hot(self, notion: GroupNotion, kept: list[Column], sensitive: Array) -> bool:
        """Whether the columns of a batch are one-hot; integers that were codes before still are."""
        codes = kept[0].values.dtype.kind in "iu" and str(kept[0].name) in self.groups
        return not codes and reads_one_hot(notion, sensitive)

    def read(
        self, notion: GroupNotion, kept: list[Column], columns: list[Column]
    ) -> list[Attribute]:
        """Read the columns that are kept, groups first; the user's choices refer to all columns."""
        chosen = chosen_kinds(columns, notion.continuous, notion.categorical)
        for c in kept:
            chosen.setdefault(str(c.name), Kind.NUMBER if self._is_number(c) else Kind.GROUP)
        attributes = [
            self._read_group(c) if chosen[str(c.name)] is Kind.GROUP else read_number(c)
            for c in kept
        ]
        return groups_first(attributes)

    def read_encoded(self, column: Column) -> Attribute:
        """Read a numeric column; zeros and ones say who is in a group, and nobody need be.

        Other whole numbers are codes, if they are few, as in a table.
        """
        number = read_number(column)
        seen = number.name in self.numbers or number.name in self.groups
        if seen or not np.isin(number.values, [0.0, 1.0]).all():
            return number if self._is_number(column) else self._read_group(column)
        names = np.array(["", column.name], dtype=object)  # being outside has no row of its own
        return Attribute(column.values.astype(np.int64), names, number.name, is_group=True)

    def _is_number(self, column: Column) -> bool:
        """Whether a column is one; whole numbers are, once they are too many for groups."""
        name, values = str(column.name), column.values
        if name in self.numbers or not is_number(values):
            return name in self.numbers
        if is_whole(values) and len(self._read_group(column).values) <= MAX_CODES:
            return False
        self.groups.pop(name, None)
        self.numbers.add(name)
        return True

    def _read_group(self, column: Column) -> Attribute:
        """Read the groups of a column in this batch and in earlier ones, and remember them."""
        attribute = read_group(column, self.groups.get(str(column.name), ()))
        self.groups[attribute.name] = attribute.values
        return attribute


def read_columns(notion: GroupNotion, kept: list[Column], columns: list[Column]) -> list[Attribute]:
    """Read the columns of a dataset that are kept, as `Memory.read` does those of a batch."""
    kinds = sensitive_kinds(kept, notion.continuous, notion.categorical, columns)
    attributes = [
        read_group(c) if kinds[str(c.name)] is Kind.GROUP else read_number(c) for c in kept
    ]
    return groups_first(attributes)


def groups_first(attributes: list[Attribute]) -> list[Attribute]:
    """Return the attributes in their order, numbers last."""
    return sorted(attributes, key=lambda attribute: not attribute.is_group)


def reads_one_hot(notion: GroupNotion, sensitive: Array) -> bool:
    """Whether a matrix is one of one-hot (and continuous) columns, or else a table of values.

    One of floats or booleans is. One of integers is where it has several columns of zeros and ones
    and all rows have the same sum, the number of attributes; else its integers are codes.
    """
    values = sensitive.detach().cpu() if isinstance(sensitive, Tensor) else sensitive
    if notion.categorical or not isinstance(values, Tensor | np.ndarray):
        return False  # the user says what the columns are, or the table does
    if isinstance(values, np.ndarray) and values.dtype.kind not in "biuf":
        return False
    values = torch.as_tensor(values)
    if values.is_floating_point() or values.dtype is torch.bool:
        if notion.intersectional:
            raise ValueError(
                "one-hot columns cannot be crossed, as they do not tell which of them make an "
                "attribute. Cross the attributes first, or pass a table with one column per "
                "attribute."
            )
        return True
    if notion.intersectional or values.ndim != 2 or values.shape[1] < 2 or not len(values):
        return False  # crossed zeros and ones are the same groups as crossed attributes
    sums = values.sum(1)
    return bool(((values == 0) | (values == 1)).all() and (sums == sums[0]).all() and sums[0] > 0)
