"""The people of an audit: columns of a table that options name."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from otfair.cli._columns import read_scores, read_sensitive, read_weight, require_columns
from otfair.cli._task import Label, load, read_label
from otfair.tables import Table, TableError, positive_value


@dataclass(frozen=True, kw_only=True)
class AuditPeople:
    """What is audited, as options name it."""

    table: Table  # or, of rows on Dask's workers, the first of them
    rows: Any  # the table itself, or a Dask collection
    sensitive: pd.DataFrame  # columns as groups or numbers; on Dask, of their distinct values
    sensitive_features: Any
    labels: Any
    outcome: str | None  # what the positive label is called
    notes: list[str]
    scores: Callable[[], Any]  # read when everything else is known to be right
    weight: Callable[[], Any]
    known: Callable[[Iterable[str]], Table]  # a table that has all values of some columns
    categorical: tuple[str, ...] = ()


def read_people(options: argparse.Namespace) -> AuditPeople:
    """Read a table, and the columns that options name."""
    table, _ = load(options)
    sensitive = read_sensitive(table, options.sensitive)
    require_single(table, options)
    labels, outcome, notes = read_labels_of(table.frame, options)
    return AuditPeople(
        table=table,
        rows=table.frame,
        sensitive=sensitive,
        sensitive_features=sensitive,
        labels=labels,
        outcome=outcome,
        notes=notes,
        scores=lambda: read_scores(table, options.score, options.skip_unscored, labels, outcome),
        weight=lambda: read_weight(table, options.weight),
        known=lambda _: table,
    )


def require_single(table: Table, options: argparse.Namespace) -> None:
    """Raise where a table has not the columns of score, label and weight."""
    for option in ("score", "label", "weight"):
        if getattr(options, option) is not None:
            require_columns(table, [getattr(options, option)], f"--{option}")


def read_labels_of(
    frame: pd.DataFrame, options: argparse.Namespace
) -> tuple[pd.Series[Any] | None, str | None, list[str]]:
    """Return labels of two names, which one is positive, and what was decided about them."""
    if options.label is None:
        return None, None, []
    column = frame[options.label]
    known = column.notna().to_numpy()
    if not known.any():
        raise TableError(f"--label {options.label}: the column is empty.")
    y, label, notes = read_label(column[known], options.positive)
    labels = pd.Series([None] * len(frame), name=options.label, dtype=object)
    labels[known] = np.where(y == 1, label.positive, label.negative)
    return labels, label.positive, say_label(label, notes, options)


def say_label(label: Label, notes: list[str], options: argparse.Namespace) -> list[str]:
    """Say which label is positive, and what was decided about labels."""
    guessed = options.positive is None and positive_value([label.negative, label.positive]) is None
    first, *others = notes if guessed else [f"{label.positive!r} is positive", *notes]
    return [f"label {label.name!r}: {first}", *others]
