"""Which columns say who is like whom, and people as points between which distances are taken."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from otfair.auditing._reading import Audited
from otfair.auditing._weighted import fit_encoder
from otfair.tables import Copies, TableEncoder, label_column, plain_text, sensitive_column

MANY_VALUES = 50  # of a category; the rest become one
OTHER = "(other)"
ID_NAME = re.compile(
    r"(?i:(^|[^a-z])(id|uuid|guid|key|index|nr|no|num|number)$|^unnamed: \d+$)"
    r"|[a-z](Id|ID|Nr|No|Key)$"
)
DATE = re.compile(r"(\d{4}([-/.])\d\d?\2\d\d?|\d\d?([-/.])\d\d?\3\d{4})([ T]\d.*)?")
A_DATE = "a date or time; turn it into a number, such as days, to use it"
DATES = (datetime.date, datetime.time, datetime.timedelta)
TWINS = 10  # expected among numbers drawn by chance: a tenth of so many means that they name
NO_DISTANCES = "no column is left to compare people by, so distances between them are ignored"
LEAST_ROWS = 20  # below this, many a column has no value twice


@dataclass(frozen=True, kw_only=True)
class Features:
    """The columns that distances are taken from."""

    table: pd.DataFrame  # as shown to readers
    encoder: TableEncoder
    missing: dict[str, int]

    def encode(self, rows: np.ndarray) -> np.ndarray:
        """Return some people as points, (b, p)."""
        return np.asarray(self.encoder.transform(self.table.iloc[rows]), dtype=np.float64)


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Which columns of a table distances may be taken from, and what was decided about them."""

    columns: dict[str, pd.Series[Any]]
    left_out: dict[str, str]  # column, why
    notes: tuple[str, ...]


def choose_columns(people: Audited, drop: Iterable[str], keep: Iterable[str]) -> Choice:
    """Choose the columns that say who is like whom; none where there are no features."""
    X = people.features
    if X is None:
        return Choice(columns={}, left_out={}, notes=())
    dropped, named = (_known(names, what, X) for names, what in ((drop, "drop"), (keep, "keep")))
    sensitive = {str(c.name) for c in people.columns}
    known = [sensitive_column(str(c.name), c.values) for c in people.columns]
    if people.labels is not None and len(np.unique(people.labels)) > 1:
        known.append(label_column(people.labels))
    copies = Copies(known, people.scores)
    left_out: dict[str, str] = {}
    notes, kept = [], {}
    for name in X.columns:
        column = X[name]
        why = "left out as asked" if name in dropped else ""
        why = why or ("the sensitive attribute itself" if name in sensitive else "")
        why = why or unsuited(str(name), column, guess=name not in named)
        if not why:
            why, said = copies.explain(column, is_number(column))
            if why and name in named:
                why, said = "", f"{why}, and used as it was named"
            notes += [f"{name}: {said}"] if said else []
        if why:
            left_out[str(name)] = why
            continue
        column, note = _merged(column)
        kept[str(name)] = column
        notes += [note] if note else []
    hidden = [name for name in X.columns if name in sensitive]
    if hidden and len(sensitive) > 1:
        notes.append(
            f"distances do not see what is sensitive ({', '.join(hidden)}), so that the cost for "
            "one attribute depends on which others are audited with it"
        )
    if not kept:
        notes.append(NO_DISTANCES)
    return Choice(columns=kept, left_out=left_out, notes=tuple(notes))


def read_features(choice: Choice, weight: np.ndarray) -> Features | None:
    """Encode the columns that were chosen; None where there are none."""
    if not choice.columns:
        return None
    table = pd.DataFrame(choice.columns)
    missing = {str(k): int(v) for k, v in table.isna().sum().items() if v}
    return Features(table=table, encoder=fit_encoder(table, weight), missing=missing)


def _known(names: Iterable[str], what: str, X: pd.DataFrame) -> list[str]:
    """Return the columns that a setting names, all of which `X` must have."""
    names = [names] if isinstance(names, str) else [str(name) for name in names]
    if unknown := [name for name in names if name not in X.columns]:
        raise ValueError(f"`{what}` names {unknown}; the columns of `X` are {list(X.columns)}.")
    return names


def is_number(column: pd.Series[Any]) -> bool:
    """Whether a column holds numbers rather than categories."""
    if pd.api.types.is_bool_dtype(column):
        return False
    if pd.api.types.is_numeric_dtype(column):
        return True
    kind = pd.api.types.infer_dtype(column, skipna=True)
    return kind in ("integer", "floating", "mixed-integer-float", "decimal")


def unsuited(name: str, column: pd.Series[Any], guess: bool = True) -> str:
    """Say why a column can't tell who is like whom, nor be learnt from, if so.

    Without `guess` a column may look like an identifier.
    """
    present = column.dropna()
    if present.empty:
        return "it has no values"
    example, number = present.iloc[0], is_number(column)
    timed = pd.api.types.is_datetime64_any_dtype(column) or isinstance(example, DATES)
    if timed or pd.api.types.is_timedelta64_dtype(column):
        return A_DATE
    category = isinstance(column.dtype, pd.CategoricalDtype)  # whose values become text
    if not (number or category or isinstance(example, (str, bool, np.bool_, int, float))):
        return f"neither a number nor a category ({type(example).__name__})"
    rows, distinct = len(present), present.nunique()
    if distinct == 1 and rows == len(column):
        return "it has one value only"
    if rows < LEAST_ROWS:
        return ""
    most = distinct > MANY_VALUES and distinct > 0.5 * rows
    if not number:
        if all(DATE.fullmatch(str(value)) for value in present.unique()):
            return A_DATE
        return "looks like an identifier or free text: most values are unique" * (most and guess)
    if not guess:
        return ""
    values = present.to_numpy(np.float64)
    if not np.isfinite(values).all() or (values != values.round()).any():
        return ""
    unique, span = distinct == rows, values.max() - values.min() + 1
    by_chance = rows**2 / (2 * span)  # twins, if each value were drawn anew
    drawn_without = by_chance > TWINS and (rows - distinct) * TWINS <= by_chance
    ordered = present.is_monotonic_increasing or present.is_monotonic_decreasing
    if unique and (ordered or span == rows or drawn_without or ID_NAME.search(name)):
        return "looks like an identifier: every value is unique"
    if most and (drawn_without or ID_NAME.search(name)):
        return f"looks like an identifier: {distinct} of {rows} values are unique"
    return ""


def _merged(column: pd.Series[Any]) -> tuple[pd.Series[Any], str]:
    """Keep the most frequent categories of many, and call the rest one."""
    if is_number(column):
        return column, ""
    counts = column.value_counts()
    counts = counts[counts > 0]  # a category may have nobody
    if len(counts) <= MANY_VALUES:
        return column, ""
    frequent = set(counts.index[: MANY_VALUES - 1])
    texts = column.astype(object).map(plain_text, na_action="ignore")
    merged = texts.where(column.isna() | column.isin(frequent), OTHER)
    return merged, (
        f"{column.name}: {len(counts)} values, of which the {MANY_VALUES - 1} most frequent are "
        f"kept and the rest count as one"
    )
