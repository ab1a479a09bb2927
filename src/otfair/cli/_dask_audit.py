"""`otfair audit --dask`: a folder of Parquet files, audited by the workers of a cluster."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from otfair.cli._columns import decision_values, read_scores, read_sensitive, split_kinds
from otfair.cli._dask import read_rows
from otfair.cli._people import AuditPeople, require_single, say_label
from otfair.cli._task import Label, read_label
from otfair.tables import MAX_GROUPS, Table, TableError, is_number, plain_text

MOST_VALUES = 4 * MAX_GROUPS  # distinct ones that tell what a column is


def read_on_workers(options: argparse.Namespace) -> AuditPeople:
    """Read a folder, and what distinct values tell of the columns that options name."""
    rows, table = read_rows(str(options.table))
    kinds = split_kinds(table, options.sensitive)
    require_single(table, options)
    sensitive = read_sensitive(_distinct(rows, table, kinds), options.sensitive)
    groups = tuple(name for name, kind in kinds.items() if kind == "categorical")
    labels = outcome = None
    notes: list[str] = []
    if options.label is not None:
        values = _distinct(rows, table, [options.label]).frame[options.label].dropna()
        if values.empty:
            raise TableError(f"--label {options.label}: the column is empty.")
        _, label, said = read_label(values.reset_index(drop=True), options.positive)
        notes, outcome = say_label(label, said, options), label.positive
        meta = (options.label, object)
        labels = rows[options.label].map_partitions(_named, label, meta=meta)
    return AuditPeople(
        table=table,
        rows=rows,
        sensitive=sensitive,
        sensitive_features=rows[list(kinds)],
        labels=labels,
        outcome=outcome,
        notes=notes,
        scores=lambda: _scores(options, rows, table, outcome, notes),
        weight=lambda: _weight(options, rows, table),
        known=lambda names: _distinct(rows, table, [c for c in names if c in table.columns]),
        categorical=groups,
    )


def _distinct(rows: Any, table: Table, names: Iterable[str]) -> Table:
    """Return a table of distinct values of some columns, as many as tell what these are."""
    found = {
        name: rows[name].drop_duplicates().head(MOST_VALUES, npartitions=-1, compute=True)
        for name in names
    }
    columns = {name: values.reset_index(drop=True) for name, values in found.items()}
    frame = pd.DataFrame(columns)
    others = [c for c in table.columns if c not in frame]
    return replace(table, frame=frame.reindex(columns=[*frame.columns, *others]))


def _named(column: pd.Series[Any], label: Label) -> pd.Series[Any]:
    """Return labels by one of two names; gaps stay missing."""
    known = column.notna().to_numpy()
    out = pd.Series([None] * len(column), column.index, dtype=object, name=column.name)
    positive = column[known].astype(object).map(plain_text) == label.positive
    out[known] = np.where(positive, label.positive, label.negative)
    return out


def _scores(
    options: argparse.Namespace, rows: Any, table: Table, outcome: str | None, notes: list[str]
) -> Any:
    """Return scores; decisions may be written as the labels are."""
    name = options.score
    if is_number(table.frame[name]):
        return rows[name]
    values = _distinct(rows, table, [name])
    labels = None
    if options.label is not None:
        labels = _distinct(rows, table, [options.label]).frame[options.label].dropna()
        labels = labels.astype(object).map(plain_text)
    read_scores(values, name, True, labels, outcome)  # what is wrong with them is said there
    known = decision_values(labels, outcome)
    return rows[name].map_partitions(_decisions, known, meta=(name, "float64"))


def _decisions(column: pd.Series[Any], values: dict[Any, float]) -> pd.Series[Any]:
    return column.astype(object).map(values).astype(np.float64)


def _weight(options: argparse.Namespace, rows: Any, table: Table) -> Any:
    if options.weight is None:
        return None
    if not is_number(table.frame[options.weight]):
        value, place, _ = table.no_number(options.weight)
        raise TableError(
            f"--weight {options.weight}: the column holds text, such as {value!r} in {place}, "
            "where numbers are needed."
        )
    return rows[options.weight].fillna(0).astype(np.float64)
