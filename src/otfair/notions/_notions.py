"""Fairness notions: from sensitive features to linear constraints on scores.

Maths: docs/derivation.md, section 2. A notion reads columns of people, numbers their distinct
combinations of values (`attributes.py`), and leaves the arithmetic on types to `constraints.py`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from otfair._io.arrays import Array, check_weight, is_tensor, same_length
from otfair.notions._attributes import (
    Attribute,
    Strata,
    binary_labels,
    cross,
    read_attributes,
    read_encoded,
    read_group,
    refuse_single,
)
from otfair.notions._constraints import (
    Constraints,
    People,
    people_from_matrix,
    stack_people,
    type_people,
)
from otfair.tables import Column, Columns, as_columns, chosen_names, named, to_columns

logger = logging.getLogger(__name__)


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
        constraints = self.people(sensitive_features, labels, sample_weight).constraints()
        if constraints.dropped and not constraints.names:
            logger.warning(
                "no constraint is left, so that all scores are fair: no group can be compared with "
                "another in %s. Do the strata or labels divide people too finely?",
                ", ".join(constraints.dropped[:5]) + ", ..." * (len(constraints.dropped) > 5),
            )
        return constraints

    def __and__(self, other: Notion | str) -> Notion:
        return _Stack(self, as_notion(other))

    def __rand__(self, other: str) -> Notion:
        return as_notion(other) & self


@dataclass(frozen=True)
class _Stack(Notion):
    first: Notion
    second: Notion

    def people(
        self, sensitive_features: Array, labels: Array = None, sample_weight: Array = None
    ) -> People:
        data = (sensitive_features, labels, sample_weight)
        return stack_people(self.first.people(*data), self.second.people(*data))


@dataclass(frozen=True, kw_only=True)
class _GroupNotion(Notion):
    """What the notions that compare groups, within strata or not, have in common."""

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
        columns = named(to_columns(sensitive_features, "sensitive_features"))
        n = len(columns[0].values)
        if n == 0:
            raise ValueError("`sensitive_features` is empty; pass at least one person.")
        weight = check_weight(sample_weight, n)
        strata, kept = self.parts(columns, labels, n)
        attributes = self._attributes(kept, columns, (weight > 0).cpu().numpy())
        return type_people(strata, attributes, weight, is_tensor(sensitive_features))

    def parts(self, columns: list[Column], labels: Array, n: int) -> tuple[Strata, list[Column]]:
        """Return the strata, and the columns by which people are compared within them."""
        strata, others = self._strata(columns, labels, n)
        chosen = chosen_names(self.columns, columns, "columns")
        kept = [c for c in others if not chosen or c.name in chosen]
        if not kept:
            raise ValueError(
                f"no attribute is left to compare people by: of the columns "
                f"{[c.name for c in columns]}, those in `columns` must not all be in `control`."
            )
        return strata, kept

    def _strata(self, columns: list[Column], labels: Array, n: int) -> tuple[Strata, list[Column]]:
        """Return the strata, and the columns that they are not made of."""
        return Strata(np.zeros(n, dtype=np.int64), [""]), columns

    def _attributes(
        self, kept: list[Column], columns: list[Column], present: np.ndarray
    ) -> list[Attribute]:
        if self.encoded:
            return [read_encoded(column) for column in kept]
        attributes = read_attributes(kept, columns, self.continuous, self.categorical)
        for attribute in attributes:
            refuse_single(attribute, present)
        return cross(attributes) if self.intersectional else attributes


class DemographicParity(_GroupNotion):
    """Mean scores are equal between groups, and uncorrelated with continuous attributes (PDP).

    Parameters
    ----------
    columns : names (or positions) of the columns that the notion speaks of; all by default. So
        ``EqualizedOdds(columns="sex") & DemographicParity(columns="age")`` asks for one each.
    continuous, categorical : names (or positions) of columns, where the default reading of their
        type is not meant.
    intersectional : cross the categorical columns into one (``"sex=Female & race=Black"``).
    encoded : the columns are numeric, and those of zeros and ones are groups, as in a one-hot
        matrix; a group may be absent.

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

    def _strata(self, columns: list[Column], labels: Array, n: int) -> tuple[Strata, list[Column]]:
        y = binary_labels(labels, n, type(self).__name__)
        kept = {label: code for code, label in enumerate(self._kept_labels)}
        codes = np.array([kept.get(0, -1), kept.get(1, -1)])[y]
        outside = "".join(f"y={label}" for label in (0, 1) if label not in kept)
        return Strata(codes, [f"y={label}" for label in kept], outside), columns


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
    columns, continuous, categorical, intersectional, encoded : as for `DemographicParity`.

    Examples
    --------
    >>> from otfair import ConditionalParity
    >>> table = {"sex": ["F", "M", "F", "M"], "job": ["cook", "cook", "clerk", "clerk"]}
    >>> ConditionalParity(control="job").constraints(table).names
    ('sex=F | job=clerk', 'sex=M | job=clerk', 'sex=F | job=cook', 'sex=M | job=cook')
    """

    control: Columns = ()

    def _strata(self, columns: list[Column], labels: Array, n: int) -> tuple[Strata, list[Column]]:
        chosen = chosen_names(self.control, columns, "control")
        if chosen:
            control = [c for c in columns if c.name in chosen]
            columns = [c for c in columns if c.name not in chosen]
        elif labels is None:
            raise ValueError(
                "ConditionalParity needs the strata: name columns of `sensitive_features` with "
                '`ConditionalParity(control="...")`, or pass each person\'s stratum as `labels`.'
            )
        else:
            control = named(to_columns(labels, "labels"), "stratum")
            same_length("labels", len(control[0].values), n)
        (strata,) = cross([read_group(column) for column in control])
        return Strata(strata.codes, strata.value_names()), columns


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
    >>> from otfair import DemographicParity, as_notion
    >>> as_notion("demographic_parity") == DemographicParity()
    True
    """
    if isinstance(notion, Notion):
        return notion
    if isinstance(notion, str) and notion in _NAMED:
        return _NAMED[notion]()
    raise ValueError(
        f"unknown notion {notion!r}; pass one of {', '.join(map(repr, _NAMED))}, or a Notion."
    )
