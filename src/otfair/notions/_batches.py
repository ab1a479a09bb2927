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
from otfair.notions._constraints import People, stack_people
from otfair.tables import MAX_CATEGORICAL_INTEGERS, Column, chosen_names, looks_categorical

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
        numbers = chosen_names(notion.continuous, columns, "continuous")
        groups = chosen_names(notion.categorical, columns, "categorical")
        if both := numbers & groups:
            raise ValueError(
                f"columns {sorted(both)} are named as both continuous and categorical."
            )
        attributes = [
            self._read_group(c)
            if c.name in groups or (c.name not in numbers and not self._is_continuous(c))
            else read_number(c)
            for c in kept
        ]
        return sorted(attributes, key=lambda attribute: not attribute.is_group)

    def read_encoded(self, column: Column) -> Attribute:
        """Read a numeric column; zeros and ones say who is in a group, and nobody need be."""
        number = read_number(column)
        if number.name in self.numbers or not np.isin(number.values, [0.0, 1.0]).all():
            self.numbers.add(number.name)
            return number
        names = np.array(["", column.name], dtype=object)  # being outside has no row of its own
        return Attribute(column.values.astype(np.int64), names, number.name, is_group=True)

    def _is_continuous(self, column: Column) -> bool:
        """Whether a column is a number; integers are, once their values are too many for groups."""
        name, numbers = str(column.name), self.numbers
        if column.values.dtype.kind not in "iu":
            return not looks_categorical(column)
        if name not in numbers and len(self._read_group(column).values) > MAX_CATEGORICAL_INTEGERS:
            del self.groups[name]
            numbers.add(name)
        return name in numbers

    def _read_group(self, column: Column) -> Attribute:
        """Read the groups of a column in this batch and in earlier ones, and remember them."""
        attribute = read_group(column, self.groups.get(str(column.name), ()))
        self.groups[attribute.name] = attribute.values
        return attribute


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
