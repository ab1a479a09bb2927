"""What notions have in common: from columns of people to linear constraints, and stacks of them.

Maths: docs/derivation.md, section 2. A notion reads columns of people, numbers their distinct
combinations of values (`_batches.py`), and leaves the arithmetic on types to `_constraints.py`.
Each notion has a file of its own, which holds all facts about it.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_
from typing import Any, ClassVar

import numpy as np
from torch import Tensor

from otfair._io.arrays import Array, check_weight, is_tensor
from otfair.distributed import is_dask
from otfair.notions._attributes import Attribute, Strata, cross, refuse_single
from otfair.notions._batches import Memory, read_columns, reads_one_hot
from otfair.notions._constraints import Constraints, People
from otfair.notions._types import stack_people, type_people
from otfair.tables import Column, Columns, as_columns, chosen_names, named, same_people, to_columns

logger = logging.getLogger(__name__)


class Notion:
    """A linear fairness notion. Stack notions with ``a & b``.

    Use one of its subclasses, or a name: ``"demographic_parity"``, ``"equalized_odds"``,
    ``"equal_opportunity"``, ``"predictive_equality"``, ``"conditional_parity"``,
    ``"predictive_parity"``.
    """

    def people(
        self, sensitive_features: Array, labels: Array = None, sample_weight: Array = None
    ) -> People:
        """Type a population once; `People.constraints(rows=...)` then constrains any batch of it.

        In a batch whose groups are not all present, the rows that cannot be stated are dropped.

        Parameters
        ----------
        sensitive_features, labels, sample_weight : array-like
            As for `constraints`.

        Returns
        -------
        People
            The population, with the rows of G for each type of people.
        """
        raise TypeError(f"{type(self).__name__} is not a notion by itself; use a subclass of it.")

    def constraints(
        self, sensitive_features: Array, labels: Array = None, sample_weight: Array = None
    ) -> Constraints:
        """Return the rows of G for these people.

        Parameters
        ----------
        sensitive_features : array-like or table
            One or many columns: NumPy, torch, pandas, polars, a dict of columns. Strings,
            categories, booleans and whole numbers with at most 10 distinct values, whatever their
            type, are groups; other numbers are continuous, with a warning where they may be codes.
        labels : array-like of shape (n,), optional
            Zeros and ones, for the notions that condition on the label.
        sample_weight : array-like of shape (n,), optional
            A person of weight w counts as w copies; one by default.

        Returns
        -------
        Constraints
            The rows that can be stated for these people.
        """
        given = {"labels": labels, "sample_weight": sample_weight}
        same_people({"sensitive_features": sensitive_features, **given})
        constraints = self.people(sensitive_features, labels, sample_weight).constraints()
        if constraints.dropped and not constraints.names:
            logger.warning(
                "no constraint is left, so that all scores are fair: no group can be compared with "
                "another in %s. Do the strata or labels divide people too finely?",
                ", ".join(constraints.dropped[:5]) + ", ..." * (len(constraints.dropped) > 5),
            )
        return constraints

    def _on_workers(self, *given: Array) -> People:
        """Type the people of Dask collections."""
        from otfair.notions._parted import parted_people  # which knows notions

        return parted_people(self, *given)

    def _batch(self, sensitive: Array, labels: Array, memory: Memory) -> People:
        """Type the people of a batch, which may lack groups that earlier ones had."""
        return self.people(sensitive, labels)

    @property
    def parts(self) -> tuple[Notion, ...]:
        """The notions that a stack is made of; a single notion is its own only part."""
        return (self,)

    def __and__(self, other: Notion | str) -> Notion:
        return _Stack(self, as_notion(other))

    def __rand__(self, other: str) -> Notion:
        return as_notion(other) & self


@dataclass(frozen=True)
class _Stack(Notion):
    first: Notion
    second: Notion

    def __post_init__(self) -> None:
        for part in (self.first, self.second):
            if not isinstance(part, Notion):
                raise TypeError(f"a stack is of notions; received a {type(part).__name__}.")

    @property
    def parts(self) -> tuple[Notion, ...]:
        return self.first.parts + self.second.parts

    def people(
        self, sensitive_features: Array, labels: Array = None, sample_weight: Array = None
    ) -> People:
        data = (sensitive_features, labels, sample_weight)
        if is_dask(sensitive_features):
            return self._on_workers(*data)
        return reduce(stack_people, (part.people(*data) for part in self.parts))


@dataclass(frozen=True, kw_only=True)
class GroupNotion(Notion):
    """What the notions that compare groups, within strata or not, have in common.

    A subclass states these facts, or inherits them; whatever speaks of notions reads them here.
    """

    name: ClassVar[str]  # what `as_notion`, files and the command line call it
    title: ClassVar[str]  # what readers of a report call it
    meaning: ClassVar[str]  # one sentence that says what it asks for
    rate_name: ClassVar[str] = "rate"  # of a group, where scores are decisions
    figure: ClassVar[str] = "mean score"  # what is compared between groups
    reads_labels: ClassVar[bool] = False  # whether it is about outcomes
    within_labels: ClassVar[tuple[int, ...]] = ()  # in which people are compared; () for in none
    needs_control: ClassVar[bool] = False  # whether they are within values of control columns

    columns: Columns = ()
    continuous: Columns = ()
    categorical: Columns = ()
    intersectional: bool = False
    encoded: bool = False

    def __post_init__(self) -> None:
        for name in ("columns", "continuous", "categorical", "control"):
            if hasattr(self, name):
                object.__setattr__(self, name, as_columns(getattr(self, name)))

    def people(
        self, sensitive_features: Array, labels: Array = None, sample_weight: Array = None
    ) -> People:
        if is_dask(sensitive_features):
            return self._on_workers(sensitive_features, labels, sample_weight)
        return self._typed(sensitive_features, labels, sample_weight, None)

    def _batch(self, sensitive: Array, labels: Array, memory: Memory) -> People:
        return self._typed(sensitive, labels, None, memory)

    def _typed(
        self, sensitive: Array, labels: Array, sample_weight: Array, memory: Memory | None
    ) -> People:
        """Type people by their columns: those of a dataset, or of a batch after others."""
        argument = "sensitive_features" if memory is None else "sensitive"
        columns = named(to_columns(sensitive, argument))
        n = len(columns[0].values)
        if n == 0:
            raise ValueError(f"`{argument}` is empty; pass at least one person.")
        weight = check_weight(sample_weight, n)
        strata, kept = split_columns(self, columns, labels, n)
        if self.encoded or (memory is not None and memory.is_one_hot(self, kept, sensitive)):
            reader = Memory() if memory is None else memory
            attributes = [reader.read_encoded(column) for column in kept]
        else:
            if memory is None:
                attributes = read_columns(self, kept, columns)
                for attribute in attributes:
                    refuse_single(attribute, (weight > 0).cpu().numpy())
            else:
                attributes = memory.read(self, kept, columns)
            attributes = cross(attributes) if self.intersectional else attributes
        return self._laid_out(strata, attributes, weight, is_tensor(sensitive))

    def _laid_out(
        self, strata: Strata, attributes: list[Attribute], weight: Tensor, as_tensor: bool
    ) -> People:
        """Lay out the rows of these attributes within strata."""
        return type_people(strata, attributes, weight, as_tensor)

    def _strata(self, columns: list[Column], labels: Array, n: int) -> tuple[Strata, list[Column]]:
        """Return the strata, and the columns that they are not made of."""
        return Strata(np.zeros(n, dtype=np.int64), [""]), columns


def split_columns(
    notion: GroupNotion, columns: list[Column], labels: Array, n: int
) -> tuple[Strata, list[Column]]:
    """Return the strata of n people, and the columns by which they are compared within them."""
    strata, others = notion._strata(columns, labels, n)
    chosen = chosen_names(notion.columns, columns, "columns")
    kept = [c for c in others if not chosen or c.name in chosen]
    if not kept:
        raise ValueError(
            f"no attribute is left to compare people by: of the columns "
            f"{[c.name for c in columns]}, those in `columns` must not all be in `control`."
        )
    return strata, kept


def lay_out(
    notion: GroupNotion, strata: Strata, attributes: list[Attribute], weight: Tensor
) -> People:
    """Return the rows of a notion for people whose columns were read already."""
    return notion._laid_out(strata, attributes, weight, as_tensor=False)


def as_notion(notion: Notion | str) -> Notion:
    """Return the notion of that name; a `Notion` is returned as it is.

    Parameters
    ----------
    notion : Notion or str
        A notion, or the name of one.

    Returns
    -------
    Notion
        The notion.

    Examples
    --------
    >>> from otfair import DemographicParity, as_notion
    >>> as_notion("demographic_parity") == DemographicParity()
    True
    """
    from otfair.notions import NOTIONS  # the door, which knows them all

    if isinstance(notion, Notion):
        return notion
    by_name = {kind.name: kind for kind in NOTIONS}
    if isinstance(notion, str) and notion in by_name:
        return by_name[notion]()
    raise ValueError(
        f"unknown notion {notion!r}; pass one of {', '.join(map(repr, by_name))}, or a Notion."
    )


def named_kinds(notion: Notion) -> dict[str, Any]:
    """Return the columns that a notion, or part of a stack, names as continuous or categorical."""
    groups = [part for part in notion.parts if isinstance(part, GroupNotion)]
    return {
        kind: tuple(dict.fromkeys(name for part in groups for name in getattr(part, kind)))
        for kind in ("continuous", "categorical")
    }


def as_encoded(notion: Notion, sensitive: Array) -> Notion:
    """Return the notion that reads the columns of a one-hot matrix as groups."""
    if len(notion.parts) > 1:
        return reduce(and_, (as_encoded(part, sensitive) for part in notion.parts))
    if isinstance(notion, GroupNotion) and reads_one_hot(notion, sensitive):
        return replace(notion, encoded=True)
    return notion
