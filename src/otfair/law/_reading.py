"""From the user's arrays to who was selected: decisions, or scores above a limit."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from otfair._io.arrays import ArgumentError, Array
from otfair._io.settings import shown
from otfair.tables import is_number, label_values, listed, plain_text, read_labels, to_series

LARGEST = 1e300


@dataclass(frozen=True)
class Outcome:
    """What a tool gave to people: decisions, or scores, of those who have one."""

    name: str
    values: np.ndarray  # (n,) 0 or 1 for decisions, of which 1 is favourable; else scores
    is_score: bool
    low_is_good: bool  # of scores
    known: np.ndarray  # (N,) bool: who of the user's people has an outcome
    favourable: str  # which decision is favourable, in words; "" for scores
    column: pd.Series[Any]  # as given

    def above(self, limit: float) -> np.ndarray:
        """Return whose score is on the favourable side of a limit, (n,) bool."""
        return self.values < limit if self.low_is_good else self.values > limit


def read_outcome(values: Array, argument: str, favourable: object, skip: bool) -> Outcome:
    """Read scores or decisions; without one people are left out only if `skip` says so."""
    column = to_series(values, argument, "outcome").reset_index(drop=True)
    known = column.notna().to_numpy(dtype=bool)
    if not known.any():
        raise ArgumentError(argument, "is empty: nobody has a score or a decision.")
    if not known.all() and not skip:
        raise ArgumentError(
            argument,
            f"is missing for {int((~known).sum())} of {len(known)} people, the first in row "
            f"{int((~known).argmax())} (counted from 0). Pass what the tool gave them, or leave "
            "them out with `skip_unscored=True`.",
        )
    some = column[known]
    name = str(column.name)
    if is_number(some) and not set(some.unique()) <= {0, 1}:
        low = _flag(favourable, argument)
        numbers = some.to_numpy(np.float64)
        return Outcome(name, _finite(numbers, argument), True, low, known, "", column)
    y, word = _decisions(some, argument, favourable)
    return Outcome(name, y, False, False, known, word, column)


def _flag(favourable: object, argument: str) -> bool:
    """Return whether low scores are favourable."""
    if isinstance(favourable, str) and favourable in ("0", "1"):
        favourable = int(favourable)
    if favourable not in (0, 1):
        raise ArgumentError(
            "favourable",
            f"must be 1 where high scores are favourable, or 0 where low ones are; received "
            f"{shown(favourable)}, and `{argument}` holds numbers that are no decisions.",
        )
    return favourable == 0


def _finite(numbers: np.ndarray, argument: str) -> np.ndarray:
    if not (np.abs(numbers) <= LARGEST).all():
        raise ArgumentError(argument, f"must be finite, within {LARGEST:g}; mend what is not.")
    found = np.unique(numbers)
    if len(found) == 2:
        raise ArgumentError(
            argument,
            f"has two values, {found[0]:g} and {found[1]:g}, and can't be told from decisions. "
            "Write 1 for the favourable decision and 0 for the other.",
        )
    return numbers


def _decisions(some: pd.Series[Any], argument: str, favourable: object) -> tuple[np.ndarray, str]:
    """Return decisions, 1 where they are favourable, and what the favourable one is called."""
    found = label_values(some)
    by_name = not (isinstance(favourable, int | float) and favourable in (0, 1))
    try:
        y = read_labels(some, favourable if by_name else None)
    except ArgumentError as error:
        if error.argument == "positive_label":
            problem = f"is {shown(favourable)}, which no decision is; they are {listed(found)}."
            raise ArgumentError("favourable", problem) from None
        remedy = "Pass decisions of two values, or scores that are numbers."
        if len(found) <= 2:
            remedy = f"Say which one is favourable with `favourable={found[-1]!r}`."
        problem = f"holds text of {len(found)} value(s): {listed(found)}. {remedy}"
        raise ArgumentError(argument, problem) from None
    good = (y == 1) if by_name or favourable == 1 else (y == 0)
    word = plain_text(some[good].iloc[0]) if good.any() else plain_text(favourable)
    return good.astype(np.float64), word


def read_date(date: object) -> str:
    """Return the day of an audit as ISO writes it; today by default."""
    if date is None:
        return datetime.date.today().isoformat()
    if isinstance(date, datetime.date):
        return date.isoformat()[:10]
    try:
        return datetime.date.fromisoformat(str(date)).isoformat()
    except ValueError:
        raise ArgumentError(
            "date", f"must be a day such as 2026-11-17; received {shown(date)}."
        ) from None
