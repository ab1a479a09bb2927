"""Text that a spreadsheet would run as a formula, made harmless in what is written as CSV.

A cell that begins with one of ``= + - @`` is a formula to spreadsheets, also behind a tab or a line
end, and behind a semicolon where they take it for the separator. An apostrophe before it makes it
text. Numbers with a sign, and signs alone, run nothing and stay as they are.
"""

from __future__ import annotations

import re
from typing import Any

import pandas as pd

from otfair.tables._kinds import is_number

PARTS = re.compile(r"([;|\t\r\n])")  # where a spreadsheet may begin a cell
FORMULA = re.compile(r"[\s\0\ufeff\u200b-\u200f\u2060]*[=+\-@＝＋－＠]")
HARMLESS = re.compile(r"\s*[+-]*(?:[0-9.,]+(?:[eE][+-]?[0-9]+)?\s?%?)?\s*")


def without_formulas(frame: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """Return a table whose text and names run nothing in a spreadsheet; how many were changed."""
    names = [harmless(str(c)) for c in frame]
    changed = sum(name != str(c) for name, c in zip(names, frame))
    columns = []
    for j in range(len(names)):
        column, count = _harmless_column(frame.iloc[:, j])
        columns.append(column)
        changed += count
    return pd.concat(columns, axis=1).set_axis(pd.Index(names), axis=1), changed


def _harmless_column(column: pd.Series[Any]) -> tuple[pd.Series[Any], int]:
    """Return a column without formulas, and how many of its values were changed."""
    if is_number(column) or pd.api.types.is_bool_dtype(column):
        return column, 0
    if isinstance(column.dtype, pd.CategoricalDtype):  # few texts, many rows
        odd = {text for text in column.cat.categories if _changes(text)}
    else:
        odd = {text for text in column if _changes(text)}
    if not odd:
        return column, 0
    values = [harmless(v) if isinstance(v, str) and v in odd else v for v in column]
    changed = sum(isinstance(v, str) and v in odd for v in column)
    return pd.Series(values, column.index, dtype=object), changed


def _changes(value: object) -> bool:
    return isinstance(value, str) and harmless(value) != value


def harmless(text: str) -> str:
    """Return text with an apostrophe before what a spreadsheet would take for a formula."""
    if text[:1] in ("\t", "\r", "\n"):
        return f"'{_guarded(text)}"
    return _guarded(text)


def _guarded(text: str) -> str:
    return "".join(
        f"'{part}" if FORMULA.match(part) and not HARMLESS.fullmatch(part) else part
        for part in PARTS.split(text)
    )
