"""Columns that tell what is audited: the sensitive attribute, label or score under another name.

Distances that see them would find no two people of different groups, or scores, alike; a model that
sees them would know what it is to be fair about, or what it is to predict.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import lgamma, log
from typing import Any

import numpy as np
import pandas as pd

from otfair.tables._kinds import is_number
from otfair.tables._suitability import MANY_VALUES, Reason, Why

BY_CHANCE = log(1e-4)  # what is as likely as this among shuffled people is no coincidence
SAME = 1e-6  # of the range: what a column may differ by and still be the scores on another scale
LEAST_PEOPLE = 20  # fewer may lie on a line by chance
ALONE = Reason(Why.SCORE_COPY, "the scores are a function of this column alone")


@dataclass(frozen=True)
class Known:
    """A column that others may copy: which of its values each person has."""

    why: Why  # a copy of it is left out
    what: str  # such as "the sensitive attribute 'sex'"
    codes: np.ndarray  # (n,)
    values: np.ndarray  # (K,)
    numbers: np.ndarray | None = None  # (n,) of a continuous attribute


def known_column(values: np.ndarray, sensitive: str | None = None) -> Known:
    """Return labels to compare columns with, or a sensitive column; its floats are numbers."""
    codes, found = pd.factorize(values)
    if sensitive is None:
        return Known(Why.LABEL_COPY, "the label", codes, np.asarray(found))
    numbers = values if values.dtype.kind == "f" else None
    what = f"the sensitive attribute {sensitive!r}"
    return Known(Why.SENSITIVE_COPY, what, codes, np.asarray(found), numbers)


def explain_copy(
    column: pd.Series[Any],
    known: Sequence[Known],
    scores: np.ndarray | None = None,
    seen: str = "distances see it",
) -> tuple[Reason | None, list[Reason]]:
    """Say why a column is left out, if so, and what is to be noted of one that is not.

    `seen` says who sees the columns that stay.
    """
    codes, values = pd.factorize(column, use_na_sentinel=False)
    present = column.notna().to_numpy()
    numbers = column.to_numpy(np.float64, na_value=np.nan) if is_number(column) else None
    for one in known:
        if _is_copy(codes, np.asarray(values, dtype=object), present, numbers, one):
            return Reason(one.why, f"{one.what} under another name"), []
    found = None if scores is None else _from_scores(scores, codes, present, numbers)
    if found is not None and found is not ALONE:
        return found, []
    implied = {one.what: one.why for one in known if _tells(codes, one)}
    end = f"and {seen}: no two people of one value differ in it"
    notes = [Reason(why, f"it tells {what}, {end}") for what, why in implied.items()]
    return None, notes if found is None else [found, *notes]


def _from_scores(
    scores: np.ndarray, codes: np.ndarray, present: np.ndarray, numbers: np.ndarray | None
) -> Reason | None:
    """Say so where a column was made from the scores; `ALONE` where they were made from it."""
    some = slice(None) if present.all() else present
    h, codes = scores[some], codes[some]
    if numbers is not None and len(h):
        x = numbers[some]
        if np.array_equal(x, h):
            return Reason(Why.SCORE, "the scores themselves")
        if _affine(x, h):
            return Reason(Why.SCORE_COPY, "the scores on another scale")
        if _monotone(x, h):
            return ALONE
    low, high = _ranges(h, codes)
    if len(low) < 2 or (high[:-1] > low[1:]).any() or not _sure(codes):
        return None
    if len(low) == 2:
        cut = _between(high[0], low[1])
        return Reason(Why.SCORE_COPY, f"a cut of the scores at {cut}, such as a decision")
    if (low < high).any():
        return Reason(Why.SCORE_COPY, f"a cut of the scores into {len(low)} bands")
    return ALONE


def _ranges(h: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the lowest and the highest score with each value, in the order of both."""
    order = np.argsort(codes, kind="stable")
    begins = np.flatnonzero(np.diff(codes[order], prepend=-1))
    if not len(begins):
        return h[:0], h[:0]
    low, high = (of.reduceat(h[order], begins) for of in (np.minimum, np.maximum))
    rising = np.lexsort((high, low))
    return low[rising], high[rising]


def _is_copy(
    codes: np.ndarray, values: np.ndarray, present: np.ndarray, numbers: Any, known: Known
) -> bool:
    """Whether a column is a known one, one value for one value."""
    if numbers is not None and known.numbers is not None and present.any():
        x, s = numbers[present], known.numbers[present]
        if np.array_equal(x, s) or _affine(x, s):
            return True
    gaps = [present] if 0.5 <= present.mean() < 1 else []
    for some in (np.ones_like(present), *gaps):  # a gap may be a value, or not known
        here, pairs = codes[some], _function(codes[some], known.codes[some], len(values))
        if pairs is None:
            continue
        used = np.flatnonzero(pairs >= 0)
        if not 2 <= len(used) == len(np.unique(pairs[used])):
            continue
        if _sure(here) or all(str(values[k]) == str(known.values[pairs[k]]) for k in used):
            return True
    return False


def _tells(codes: np.ndarray, known: Known) -> bool:
    """Whether each of the few values of a column has people of one group only."""
    count = int(codes.max()) + 1
    few = known.numbers is None and count <= MANY_VALUES
    if not few or _function(codes, known.codes, count) is None:
        return False
    shares = np.bincount(known.codes) / len(codes)
    return (len(codes) - count) * log(float(shares @ shares)) <= BY_CHANCE


def _function(codes: np.ndarray, of: np.ndarray, count: int) -> np.ndarray | None:
    """Return what each value goes with, (count,) with -1 for none; None if with more than one."""
    found = np.full(count, -1, dtype=np.int64)
    found[codes] = of
    return found if np.array_equal(found[codes], of) else None


def _sure(codes: np.ndarray) -> bool:
    """Whether people of one value would hardly be together, in any order, by chance."""
    counts = np.bincount(codes)
    counts = counts[counts > 0]
    ways = lgamma(counts.sum() + 1) - sum(lgamma(int(c) + 1) for c in counts)
    return lgamma(len(counts) + 1) - ways < BY_CHANCE


def _affine(x: np.ndarray, of: np.ndarray) -> bool:
    """Whether numbers are a + b times others, b not 0, of so many people that it is no chance."""
    if len(x) < LEAST_PEOPLE or not np.isfinite(x).all():
        return False
    low, high = int(of.argmin()), int(of.argmax())
    span = x[high] - x[low]
    if span == 0 or of[high] == of[low]:
        return False
    line = x[low] + span * ((of - of[low]) / (of[high] - of[low]))
    return bool(np.abs(x - line).max() <= SAME * abs(span))


def _monotone(x: np.ndarray, of: np.ndarray) -> bool:
    """Whether numbers rise, or fall, wherever others rise, and only there."""
    if len(x) < LEAST_PEOPLE:
        return False
    order = np.argsort(of, kind="stable")
    steps, rises = np.diff(x[order]), np.diff(of[order]) > 0
    return any(np.array_equal(one > 0, rises) and (one >= 0).all() for one in (steps, -steps))


def _between(low: float, high: float) -> str:
    """Return the shortest number from one to another."""
    rounded = (round((low + high) / 2, digits) for digits in range(1, 16))
    return f"{next((middle for middle in rounded if low <= middle <= high), low):g}"
