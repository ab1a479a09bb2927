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
    dropped, named = (_known(names, what, X) for names, what in ((drop, "drop"), (keep, "keep")))
    sensitive = {str(c.name) for c in data.columns}
    known = [known_column(c.values, sensitive=str(c.name)) for c in data.columns]
    if data.labels is not None and len(np.unique(data.labels)) > 1:
        known.append(known_column(data.labels))
    left_out: dict[str, Reason] = {}
    notes, kept = [], {}
    for name, column in track(X.items(), "columns", len(X.columns), verbose=verbose, leave=False):
        said: list[Reason] = []
        if name in dropped:
            why: Reason | None = Reason(Why.ASKED, "left out as asked")
        elif name in sensitive:
            why = Reason(Why.SENSITIVE, "the sensitive attribute itself")
        else:
            why = unsuited(str(name), column, guess=name not in named)
        if why is None:
            why, said = explain_copy(column, known, data.scores)
            if why is None and data.labels is not None:
                said += _foretold(column, data, said)
            if why is not None and name in named:
                said, why = [Reason(why.why, f"{why}, and used as it was named")], None
        notes += [f"{name}: {'; '.join(said)}"] if said else []
        if why is not None:
            left_out[str(name)] = why
            continue
        kept[str(name)], note = _merged(column)
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


def _foretold(column: pd.Series[Any], data: AuditData, said: list[Reason]) -> list[Reason]:
    """Say so where a column nearly is the label, and nothing was said of the label yet."""
    assert data.labels is not None
    if any(reason.why is Why.LABEL_COPY for reason in said):
        return []
    found = foretells(column, np.asarray(data.labels), data.weight)
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


def _known(names: Iterable[str], what: str, X: pd.DataFrame) -> list[str]:
    """Return the columns that a setting names, all of which `X` must have."""
    names = [names] if isinstance(names, str) else [str(name) for name in names]
    if unknown := [name for name in names if name not in X.columns]:
        raise ValueError(f"`{what}` names {unknown}; the columns of `X` are {list(X.columns)}.")
    return names


def _merged(column: pd.Series[Any]) -> tuple[pd.Series[Any], str]:
    """Keep the most frequent categories of many, and call the rest one."""
    if is_number(column):
        return column, ""
    counts = column.value_counts()
    counts = counts[counts > 0]  # a category may have nobody
    if len(counts) <= MANY_VALUES:  # more are made one
        return column, ""
    frequent = set(counts.index[: MANY_VALUES - 1])
    texts = column.astype(object).map(plain_text, na_action="ignore")
    note = (
        f"{column.name}: {len(counts)} values, of which the {MANY_VALUES - 1} most frequent are "
        f"kept and the rest count as one"
    )
    return texts.where(column.isna() | column.isin(frequent), OTHER), note
