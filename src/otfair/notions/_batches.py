"""Reading mini-batches: a group may be absent, and columns keep the meaning they had before.

Maths: docs/derivation.md, section 5. A whole dataset is read by `_base.py`, which refuses columns
with one group only; a batch may well have such columns, and the next one may not.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from operator import and_

import numpy as np
import torch
from torch import Tensor

from otfair._io.arrays import Array
from otfair.notions._attributes import (
    Attribute,
    cross,
    read_attributes,
    read_encoded,
    read_group,
    read_number,
)
from otfair.notions._base import GroupNotion, Notion, read_people
from otfair.notions._constraints import People, stack_people
from otfair.tables import MAX_CATEGORICAL_INTEGERS, Column, looks_categorical


class Memory:
    """What the batches so far have shown of their columns; reading a batch adds to it."""

    def __init__(self) -> None:
        self.categories: dict[str, tuple[str, ...]] = {}  # of each column of groups
        self.numbers: set[str] = set()  # columns that turned out to be continuous

    def people(self, notion: Notion, sensitive: Array, labels: Array) -> People:
        """Type the people of a batch, whatever groups, labels or values it lacks."""
        return reduce(
            stack_people, (self._people(part, sensitive, labels) for part in notion.parts)
        )

    def _people(self, notion: Notion, sensitive: Array, labels: Array) -> People:
        if not isinstance(notion, GroupNotion):
            return notion.people(sensitive, labels)

        def read(kept: list[Column], columns: list[Column], _: np.ndarray) -> list[Attribute]:
            # Integers that were codes before are codes still, though a small batch may look
            # one-hot.
            codes = kept[0].values.dtype.kind in "iu" and str(kept[0].name) in self.categories
            if notion.encoded or (not codes and reads_one_hot(notion, sensitive)):
                return [self._read_encoded(column) for column in kept]
            attributes = read_attributes(
                kept,
                columns,
                notion.continuous,
                notion.categorical,
                lambda column: not self._is_continuous(column),
                lambda column: read_group(replace(column, categories=self._groups(column))),
            )
            return cross(attributes) if notion.intersectional else attributes

        return read_people(notion, sensitive, labels, None, read, "sensitive")

    def _read_encoded(self, column: Column) -> Attribute:
        known = column.name in self.numbers
        attribute = read_number(column) if known else read_encoded(column)
        if not attribute.is_group:
            self.numbers.add(attribute.name)
        return attribute

    def _is_continuous(self, column: Column) -> bool:
        """Whether a column is a number; integers are, once their values are too many for groups."""
        name, numbers = str(column.name), self.numbers
        if column.values.dtype.kind not in "iu":
            return not looks_categorical(column)
        if name not in numbers and len(self._groups(column)) > MAX_CATEGORICAL_INTEGERS:
            del self.categories[name]
            numbers.add(name)
        return name in numbers

    def _groups(self, column: Column) -> tuple[str, ...]:
        """Return the groups of a column in this batch and in earlier ones, and remember them."""
        known, name = self.categories, str(column.name)
        here = column.categories or map(str, np.unique(column.values).tolist())
        known[name] = tuple(dict.fromkeys([*known.get(name, ()), *here]))
        return known[name]


def as_encoded(notion: Notion, sensitive: Array) -> Notion:
    """Return the notion that reads the columns of a one-hot matrix as groups."""
    if len(notion.parts) > 1:
        return reduce(and_, (as_encoded(part, sensitive) for part in notion.parts))
    if isinstance(notion, GroupNotion) and reads_one_hot(notion, sensitive):
        return replace(notion, encoded=True)
    return notion


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
