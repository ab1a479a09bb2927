"""Which columns of a Dask collection say who is like whom, and people on workers as points.

A column is looked through by one worker, which has that column of all people for as long. It also
learns how the column is encoded, from the numbers of all people in their order: points are then
those of one machine to the last digit, and people who are equally far are told apart alike.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from otfair.auditing._features import (
    Choice,
    Features,
    Looked,
    Told,
    known_names,
    last_notes,
    look_at,
    merged,
)
from otfair.auditing._reading import AuditData
from otfair.auditing.parted._reading import PartedAuditData
from otfair.auditing.parted._rows import at_rows, together
from otfair.distributed import Parts
from otfair.tables import Column, EncodedColumn, Reason, TableEncoder, is_number


@dataclass(frozen=True, kw_only=True)
class PartedFeatures(Features):
    """The columns that distances are taken from, of people on workers; see `Features`."""

    rows: Parts  # of tables, as shown to readers
    points: Parts  # of people as points (n, p)
    numbers: tuple[bool, ...]  # whether each column holds numbers
    cache: dict[str, Any] = field(default_factory=dict)  # what was made of them

    def of(self, index: np.ndarray) -> Features:
        """Return the columns of some people, who come to the client."""
        table = at_rows(self.rows, index).result()
        return Features(
            table=table, encoder=self.encoder, missing=self.missing, spreads=self.spreads
        )


@dataclass(frozen=True, kw_only=True)
class PartedChoice(Choice):
    """Which columns distances may be taken from; see `Choice`, whose columns it has not."""

    rows: Parts  # of tables with these columns
    encoded: list[EncodedColumn]


def choose_columns(
    data: PartedAuditData, drop: Iterable[str], keep: Iterable[str], verbose: bool = False
) -> Choice:
    """Choose the columns that say who is like whom; none where there are no features."""
    names = data.parts.gather(_names)[0]
    if names is None:
        return Choice(columns={}, left_out={}, notes=())
    dropped, named = (known_names(n, what, names) for n, what in ((drop, "drop"), (keep, "keep")))
    sensitive = tuple(str(c.name) for c in data.columns)
    client = data.parts.client
    thin = together(data.parts.map(_thin, data.place, data.columns))
    told = client.submit(_told, thin, sensitive, data.labels is not None, pure=False)
    looking = []
    for name in names:
        known = name in dropped or name in sensitive  # which needs no look
        parts = data.parts.map(_column, name, known)
        how = (sensitive, name in dropped, name in named)
        looking.append(client.submit(_looked, together(parts), told, name, *how, pure=False))
    left_out: dict[str, Reason] = {}
    notes: list[str] = []
    kept: dict[str, Any] = {}
    encoded: list[EncodedColumn] = []
    found: list[tuple[Looked, EncodedColumn | None]] = client.gather(looking)
    for name, (looked, learnt) in zip(names, found):
        encoded += [] if learnt is None else [learnt]
        notes += looked.notes
        if looked.why is not None:
            left_out[name] = looked.why
        else:
            kept[name] = looked.frequent
    notes += last_notes(names, sensitive, bool(kept))
    told_of: dict[str, Any] = {"left_out": left_out, "notes": tuple(notes), "columns": {}}
    if not kept:
        return Choice(**told_of)
    return PartedChoice(**told_of, rows=data.parts.map(_chosen, kept), encoded=encoded)


def read_features(choice: Choice, data: PartedAuditData) -> PartedFeatures | None:
    """Encode the columns that were chosen; None where there are none."""
    if not isinstance(choice, PartedChoice):
        return None
    rows = choice.rows
    first: pd.DataFrame = rows.gather(_first_row)[0]
    encoder = TableEncoder().fit(first)  # names and number of columns
    encoder.columns_ = choice.encoded
    missing, counts, sums = rows.sum(_gaps)
    kinds = np.array(rows.gather(_kinds))  # of each part: numbers, 1, nothing, 0, or else, -1
    numbers = (kinds.min(0) >= 0) & (kinds.max(0) > 0)
    means = sums / np.maximum(counts, 1)
    squares = rows.sum(_squares, means)
    spreads = np.sqrt(squares / np.maximum(counts, 1))
    columns = [str(name) for name in first.columns]
    return PartedFeatures(
        table=first,
        encoder=encoder,
        missing={c: int(k) for c, k in zip(columns, missing) if k},
        spreads={c: float(s) for c, s, one in zip(columns, spreads, numbers) if one},
        numbers=tuple(numbers.tolist()),
        rows=rows,
        points=rows.map(_encoded, encoder),
    )


def _names(data: AuditData) -> list[str] | None:
    return None if data.features is None else list(data.features.columns)


def _thin(
    data: AuditData, place: np.ndarray, columns: tuple[Column, ...]
) -> tuple[np.ndarray, ...]:
    """Return what columns are compared with: sensitive values, scores, weights, labels."""
    numbers = {column.name: column.values for column in data.columns}
    sensitive = [numbers.get(c.name, c.values[place]) for c in columns]
    labels = [] if data.labels is None else [data.labels]
    return *sensitive, data.scores, data.weight, *labels


def _told(thin: tuple[np.ndarray, ...], sensitive: tuple[str, ...], labelled: bool) -> Told:
    values, (scores, weight, *labels) = thin[: len(sensitive)], thin[len(sensitive) :]
    people = AuditData(
        scores=scores, weight=weight, labels=labels[0] if labelled else None,
        columns=tuple(Column(name, v) for name, v in zip(sensitive, values)), controls=(),
        features=None, rows=weight[:0], received=0, dropped={}, checksum="", outcomes=("", ""),
        score="", weighted="",
    )  # fmt: skip
    return Told.of(people)


def _column(data: AuditData, name: str, known: bool) -> pd.Series[Any]:
    assert data.features is not None
    return data.features[name].iloc[:0] if known else data.features[name]


def _looked(
    column: pd.Series[Any], told: Told, name: str, sensitive: tuple[str, ...], asked: bool,
    used: bool,
) -> tuple[Looked, EncodedColumn | None]:  # fmt: skip
    """Decide about a column of all people, and learn how it is encoded."""
    looked = look_at(name, column, told, sensitive, asked=asked, used=used)
    if looked.why is not None:
        return looked, None
    table = pd.DataFrame({name: merged(column, looked.frequent)})
    return looked, TableEncoder().fit(table, sample_weight=told.weight).columns_[0]


def _chosen(data: AuditData, kept: dict[str, Any]) -> pd.DataFrame:
    assert data.features is not None
    columns = {name: merged(data.features[name], frequent) for name, frequent in kept.items()}
    return pd.DataFrame(columns)


def _first_row(table: pd.DataFrame) -> pd.DataFrame:
    return table.iloc[:1]


def _kinds(table: pd.DataFrame) -> list[int]:
    return [
        1 if is_number(column) else 0 if column.isna().all() else -1 for _, column in table.items()
    ]


def _as_numbers(table: pd.DataFrame) -> list[np.ndarray]:
    return [
        column.to_numpy(np.float64, na_value=np.nan) if is_number(column) else np.zeros(0)
        for _, column in table.items()
    ]


def _gaps(table: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Count missing values of each column, and sum numbers."""
    numbers = _as_numbers(table)
    counts = [int((~np.isnan(x)).sum()) for x in numbers]
    return (
        table.isna().sum().to_numpy(),
        np.array(counts),
        np.array([np.nansum(x) for x in numbers]),
    )


def _squares(table: pd.DataFrame, means: np.ndarray) -> np.ndarray:
    numbers = _as_numbers(table)
    return np.array([np.nansum((x - mean) ** 2) for x, mean in zip(numbers, means)])


def _encoded(table: pd.DataFrame, encoder: TableEncoder) -> np.ndarray:
    return np.asarray(encoder.transform(table), dtype=np.float64)
