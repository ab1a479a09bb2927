"""Which columns say who is like whom, and people as points between which distances are taken."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from otfair._io.progress import track
from otfair.auditing._reading import AuditData
from otfair.tables import (
    MANY_VALUES,
    Known,
    Reason,
    TableEncoder,
    Why,
    explain_copy,
    foretells,
    is_number,
    known_column,
    plain_text,
    unsuited,
)

OTHER = "(other)"
MOST_POINTS = 1 << 28  # bytes of people as points that are kept
NO_DISTANCES = "no column is left to compare people by, so distances between them are ignored"


@dataclass(frozen=True, kw_only=True)
class Features:
    """The columns that distances are taken from."""

    table: pd.DataFrame  # as shown to readers
    encoder: TableEncoder
    missing: dict[str, int]
    spreads: dict[str, float] | None = None  # of numbers, where the table has some people only

    def spread_of(self, name: str) -> float:
        """Return the standard deviation of a column of numbers, of all people."""
        if self.spreads is not None:
            return self.spreads[name]
        return float(np.nanstd(self.table[name].to_numpy(np.float64, na_value=np.nan)))

    def encode(self, rows: np.ndarray) -> np.ndarray:
        """Return some people as points, (b, p)."""
        if self._points is None:
            return self._encoded(self.table.iloc[rows])
        return np.asarray(self._points[rows])

    @property
    def width(self) -> int:
        """How many numbers a point has, p."""
        return sum(len(column.mean) for column in self.encoder.columns_)

    @cached_property
    def _points(self) -> np.ndarray | None:
        """All people as points, (n, p), where they take little memory: wide ones take time."""
        small = 8 * len(self.table) * self.width <= MOST_POINTS
        return self._encoded(self.table) if small else None

    def _encoded(self, table: pd.DataFrame) -> np.ndarray:
        return np.asarray(self.encoder.transform(table), dtype=np.float64)


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Which columns of a table distances may be taken from, and what was decided about them."""

    columns: dict[str, pd.Series[Any]]
    left_out: dict[str, Reason]  # column, why
    notes: tuple[str, ...]


def choose_columns(
    data: AuditData, drop: Iterable[str], keep: Iterable[str], verbose: bool = False
) -> Choice:
    """Choose the columns that say who is like whom; none where there are no features."""
    X = data.features
    if X is None:
        return Choice(columns={}, left_out={}, notes=())
    dropped, named = (
        known_names(names, what, list(X.columns))
        for names, what in ((drop, "drop"), (keep, "keep"))
    )
    sensitive = tuple(str(c.name) for c in data.columns)
    told = Told.of(data)
    left_out: dict[str, Reason] = {}
    notes, kept = [], {}
    for name, column in track(X.items(), "columns", len(X.columns), verbose=verbose, leave=False):
        asked, used = name in dropped, name in named
        looked = look_at(str(name), column, told, sensitive, asked=asked, used=used)
        notes += looked.notes
        if looked.why is not None:
            left_out[str(name)] = looked.why
        else:
            kept[str(name)] = merged(column, looked.frequent)
    notes += last_notes(list(X.columns), sensitive, bool(kept))
    return Choice(columns=kept, left_out=left_out, notes=tuple(notes))


@dataclass(frozen=True)
class Told:
    """What columns may tell of people, who are (n,)."""

    known: list[Known]
    scores: np.ndarray
    labels: np.ndarray | None
    weight: np.ndarray

    @classmethod
    def of(cls, data: AuditData) -> Told:
        """Return what is audited of people."""
        known = [known_column(c.values, sensitive=str(c.name)) for c in data.columns]
        if data.labels is not None and len(np.unique(data.labels)) > 1:
            known.append(known_column(data.labels))
        return cls(known, data.scores, data.labels, data.weight)


@dataclass(frozen=True)
class Looked:
    """What was decided about a column: why it is left out, if so, what is kept of it, and notes."""

    why: Reason | None
    notes: list[str]
    frequent: frozenset[Any] | None = None  # of many categories, those that are kept


def look_at(
    name: str, column: pd.Series[Any], told: Told, sensitive: tuple[str, ...], *, asked: bool,
    used: bool,
) -> Looked:  # fmt: skip
    """Decide about a column, which may be `asked` to be left out, or to be `used` in any case."""
    said: list[Reason] = []
    if asked:
        why: Reason | None = Reason(Why.ASKED, "left out as asked")
    elif name in sensitive:
        why = Reason(Why.SENSITIVE, "the sensitive attribute itself")
    else:
        why = unsuited(name, column, guess=not used)
    if why is None:
        why, said = explain_copy(column, told.known, told.scores)
        if why is None and told.labels is not None:
            said += _foretold(column, told, said)
        if why is not None and used:
            said, why = [Reason(why.why, f"{why}, and used as it was named")], None
    notes = [f"{name}: {'; '.join(said)}"] if said else []
    if why is not None:
        return Looked(why, notes)
    frequent, note = _frequent(column)
    return Looked(None, notes + ([note] if note else []), frequent)


def last_notes(columns: list[str], sensitive: tuple[str, ...], any_kept: bool) -> list[str]:
    """Say what is to be noted of all columns together."""
    notes = []
    hidden = [name for name in columns if name in sensitive]
    if hidden and len(sensitive) > 1:
        notes.append(
            f"distances do not see what is sensitive ({', '.join(hidden)}), so that the cost for "
            "one attribute depends on which others are audited with it"
        )
    return notes if any_kept else [*notes, NO_DISTANCES]


def _foretold(column: pd.Series[Any], told: Told, said: list[Reason]) -> list[Reason]:
    """Say so where a column nearly is the label, and nothing was said of the label yet."""
    assert told.labels is not None
    if any(reason.why is Why.LABEL_COPY for reason in said):
        return []
    found = foretells(column, np.asarray(told.labels), told.weight)
    if found is None:
        return []
    return [Reason(found.why, f"{found}; distances see it: drop it if it is one")]


def read_features(choice: Choice, weight: np.ndarray) -> Features | None:
    """Encode the columns that were chosen; None where there are none."""
    if not choice.columns:
        return None
    table = pd.DataFrame(choice.columns)
    missing = {str(k): int(v) for k, v in table.isna().sum().items() if v}
    encoder = TableEncoder().fit(table, sample_weight=weight)
    return Features(table=table, encoder=encoder, missing=missing)


def known_names(names: Iterable[str], what: str, columns: list[str]) -> list[str]:
    """Return the columns that a setting names, all of which `X` must have."""
    names = [names] if isinstance(names, str) else [str(name) for name in names]
    if unknown := [name for name in names if name not in columns]:
        raise ValueError(f"`{what}` names {unknown}; the columns of `X` are {columns}.")
    return names


def _frequent(column: pd.Series[Any]) -> tuple[frozenset[Any] | None, str]:
    """Return the most frequent of many categories, where the rest is to be called one."""
    if is_number(column):
        return None, ""
    counts = column.value_counts()
    counts = counts[counts > 0]  # a category may have nobody
    if len(counts) <= MANY_VALUES:  # more are made one
        return None, ""
    note = (
        f"{column.name}: {len(counts)} values, of which the {MANY_VALUES - 1} most frequent are "
        f"kept and the rest count as one"
    )
    return frozenset(counts.index[: MANY_VALUES - 1]), note


def merged(column: pd.Series[Any], frequent: frozenset[Any] | None) -> pd.Series[Any]:
    """Keep the most frequent categories of many, and call the rest one."""
    if frequent is None:
        return column
    texts = column.astype(object).map(plain_text, na_action="ignore")
    return texts.where(column.isna() | column.isin(frequent), OTHER)
