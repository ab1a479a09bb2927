"""Which columns say nothing of who is like whom, and why."""

from __future__ import annotations

import datetime
import re
from enum import Enum, auto
from typing import Any, Self

import numpy as np
import pandas as pd

from otfair.tables._kinds import Kind, kind_of

MANY_VALUES = 50  # of a category
ID_NAME = re.compile(
    r"(?i:(^|[^a-z])(id|uuid|guid|key|index|nr|no|num|number)$|^unnamed: \d+$)"
    r"|[a-z](Id|ID|Nr|No|Key)$"
)
DATE = re.compile(r"(\d{4}([-/.])\d\d?\2\d\d?|\d\d?([-/.])\d\d?\3\d{4})([ T]\d.*)?")
DATES = (datetime.date, datetime.time, datetime.timedelta)
TWINS = 10  # expected among numbers drawn by chance: a tenth of so many means that they name
LEAST_ROWS = 20  # below this, many a column has no value twice


class Why(Enum):
    """What kind of reason a `Reason` is."""

    ASKED = auto()
    EMPTY = auto()
    CONSTANT = auto()
    DATE = auto()
    NO_KIND = auto()  # neither a number nor a category
    IDENTIFIER = auto()
    SENSITIVE = auto()  # the sensitive column itself; below, under another name or cut
    SCORE = auto()
    SENSITIVE_COPY = auto()
    LABEL_COPY = auto()
    LABEL_LEAK = auto()  # nearly the label
    SCORE_COPY = auto()


class Reason(str):
    """Why a column is left out, or what is to be noted of it: a text that knows its kind."""

    why: Why

    def __new__(cls, why: Why, text: str) -> Self:
        reason = super().__new__(cls, text)
        reason.why = why
        return reason

    def __getnewargs__(self) -> tuple[Why, str]:  # type: ignore[override]
        return self.why, str(self)

    @property
    def is_guess(self) -> bool:
        """Whether it may be wrong, so that a user may want to keep the column."""
        return self.why in (Why.IDENTIFIER, Why.SENSITIVE_COPY, Why.LABEL_COPY, Why.SCORE_COPY)


A_DATE = Reason(Why.DATE, "a date or time; turn it into a number, such as days, to use it")


def unsuited(name: str, column: pd.Series[Any], guess: bool = True) -> Reason | None:
    """Say why a column can't tell who is like whom, nor be learnt from, if so.

    Without `guess` a column may look like an identifier.
    """
    present, kind = column.dropna(), kind_of(column)
    if present.empty:
        return Reason(Why.EMPTY, "it has no values")
    example = present.iloc[0]
    timed = pd.api.types.is_datetime64_any_dtype(column) or isinstance(example, DATES)
    if timed or pd.api.types.is_timedelta64_dtype(column):
        return A_DATE
    if kind is Kind.OTHER:
        return Reason(Why.NO_KIND, f"neither a number nor a category ({type(example).__name__})")
    rows, distinct = len(present), present.nunique()
    if distinct == 1 and rows == len(column):
        return Reason(Why.CONSTANT, "it has one value only")
    if rows < LEAST_ROWS:
        return None
    if kind is Kind.GROUP and all(DATE.fullmatch(str(value)) for value in present.unique()):
        return A_DATE
    said = _looks_unique(name, present, distinct, kind) if guess else ""
    return Reason(Why.IDENTIFIER, f"looks like an identifier{said}") if said else None


def _looks_unique(name: str, present: pd.Series[Any], distinct: int, kind: Kind) -> str:
    """Say what makes a column look like an identifier, or nothing."""
    rows = len(present)
    most = distinct > MANY_VALUES and distinct > 0.5 * rows
    if kind is Kind.GROUP:
        return " or free text: most values are unique" * most
    values = present.to_numpy(np.float64)
    if not np.isfinite(values).all() or (values != values.round()).any():
        return ""
    unique, span = distinct == rows, values.max() - values.min() + 1
    by_chance = rows**2 / (2 * span)  # twins, if each value were drawn anew
    drawn_without = by_chance > TWINS and (rows - distinct) * TWINS <= by_chance
    ordered = present.is_monotonic_increasing or present.is_monotonic_decreasing
    if unique and (ordered or span == rows or drawn_without or ID_NAME.search(name)):
        return ": every value is unique"
    if most and (drawn_without or ID_NAME.search(name)):
        return f": {distinct} of {rows} values are unique"
    return ""
