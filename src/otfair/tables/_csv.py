"""CSV to columns: one pass of one parser, which holds each distinct text of a column once."""

from __future__ import annotations

import csv
import io
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, islice
from typing import Any

import numpy as np
import pandas as pd

from otfair._io.progress import track
from otfair.tables._budget import Budget, TableError
from otfair.tables._numbers import typed
from otfair.tables._text import listed

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
SAMPLE = 1 << 16  # characters by which the separator is found
MOST_COLUMNS = 100_000  # more are rows that were taken for columns
FIELDS = 1 << 18  # that are parsed before they are sorted into columns
LONG = 1 << 22  # bytes of a file; more may take a while
OPEN = " Is a quote not closed that opens in line {}?"
FIELD, TEXT = 16, 200  # bytes that a field takes, and each distinct text of a column


@dataclass(frozen=True)
class _Coded:
    """A column of text while it is read: which of its distinct texts each row has."""

    codes: array[int] = field(default_factory=lambda: array("i"))
    texts: dict[str, int] = field(default_factory=lambda: defaultdict(count().__next__))

    def extend(self, values: tuple[str, ...]) -> None:
        self.codes.extend(map(self.texts.__getitem__, values))  # a new text gets the next number


def read_csv(
    data: bytes, budget: Budget, separator: str | None, encoding: str, decimal: str
) -> tuple[pd.DataFrame, str, dict[str, Any]]:
    """Return the table, its separator, and the `lines` and `remarks` of a `Table`."""
    name = budget.source
    try:
        separator = separator or _find_separator(data, encoding)
        header, columns, lines = _read_rows(data, budget, separator, encoding)
    except UnicodeError:
        raise TableError(_undecodable(data, name, encoding)) from None
    except LookupError:
        raise TableError(f"unknown encoding {encoding!r}; common ones: utf-8, latin-1.") from None
    except csv.Error as error:
        raise TableError(
            f"{name} can't be taken apart at {separator!r} ({error}); is a quote not closed?"
        ) from None
    columns.reverse()
    out: dict[str, pd.Series[Any]] = {}
    remarks: dict[str, str] = {}
    for title in track(header, "columns read", verbose=len(data) > LONG, leave=False):
        column = columns.pop()  # the first that is left; its memory goes with it
        codes = np.frombuffer(column.codes, dtype=np.intc)
        out[title], remark = typed(codes, [*column.texts], decimal, lines)
        if remark:
            remarks[title] = remark
    return pd.DataFrame(out), separator, {"lines": lines, "remarks": remarks}


def _lines(stored: io.BytesIO, encoding: str) -> io.TextIOWrapper:
    return io.TextIOWrapper(stored, encoding=encoding, newline="")


def _find_separator(data: bytes, encoding: str) -> str:
    """Return the separator by which most rows are as wide as the header, and it is widest."""
    sample = _lines(io.BytesIO(data), encoding).read(SAMPLE)
    best, found = (0.0, 1), ","
    for separator in SEPARATORS:
        lines = io.StringIO(sample, newline="")
        rows = [r for r in csv.reader(lines, delimiter=separator, skipinitialspace=True) if r]
        if len(sample) == SAMPLE and len(rows) > 1:
            rows.pop()  # cut off
        width = len(rows[0]) if rows else 0
        alike = sum(len(row) == width for row in rows) / max(len(rows), 1)
        if width > 1 and (alike, width) > best:
            best, found = (alike, width), separator
    return found


def _read_rows(
    data: bytes, budget: Budget, separator: str, encoding: str
) -> tuple[list[str], list[_Coded], np.ndarray]:
    """Return the names of the columns, the columns, and in which line each row begins, (n,)."""
    stored = io.BytesIO(data)
    text = _lines(stored, encoding)  # held here: with it, `stored` is closed
    sound = _sound_rows(text, data, budget.source, separator, encoding)
    header = _names(next(sound, (0, []))[1], budget)
    columns = [_Coded() for _ in header]
    begins, done, at_once = array("q"), 0, max(1, FIELDS // max(1, len(header)))
    units: dict[str, Any] = {"unit": "B", "unit_scale": True, "leave": False}
    with track(None, "reading", len(data), verbose=len(data) > LONG, **units) as bar:
        while some := list(islice(sound, at_once)):
            begins.extend(begin for begin, _ in some)
            for column, values in zip(columns, zip(*(row for _, row in some))):
                column.extend(values)
            texts = sum(len(column.texts) for column in columns)
            budget.check(len(data) + FIELD * len(begins) * len(columns) + TEXT * texts)
            done, before = stored.tell(), done
            bar.update(done - before)
    return header, columns, np.array(begins, dtype=np.int64)


def _sound_rows(
    text: io.TextIOWrapper, data: bytes, source: str, separator: str, encoding: str
) -> Iterator[tuple[int, list[str]]]:
    """Yield each row, of as many fields as the first, and in which line it begins."""
    at_end = False

    def lines() -> Iterator[str]:
        nonlocal at_end
        yield from text
        at_end = True

    reader = csv.reader(lines(), delimiter=separator, skipinitialspace=True)
    width, end = 0, 0
    for row in reader:
        begin, end = end + 1, reader.line_num
        if at_end:  # only a quote that is not closed has the parser look behind the last line
            raise TableError(
                f"{source} can't be read: the file ends within a row that begins in line {begin}."
                f"{OPEN.format(begin)}"
            )
        width = width or len(row)
        if row and len(row) == width:
            yield begin, row
        elif any(value.strip() for value in row):  # or else the line is empty, or of blanks
            raw = "".join(islice(_lines(io.BytesIO(data), encoding), begin - 1, end))
            raise TableError(
                f"{source} is ragged: line {end} has {len(row)} fields, the header has {width}. "
                f"Quote values that hold a {separator!r}, or pass `--separator`."
                f"{OPEN.format(begin) if raw.count(chr(34)) % 2 else ''}"
            )


def _names(row: list[str], budget: Budget) -> list[str]:
    """Return the names of the columns by the first row."""
    if len(row) > MOST_COLUMNS:
        raise TableError(
            f"{budget.source} has {len(row)} columns, more than {MOST_COLUMNS}. Are rows and "
            "columns swapped, or is a line end missing? Pass a table with one row per person."
        )
    names = [text.strip() or f"column {i}" for i, text in enumerate(row, 1)]
    refuse_twins(names, budget.source)
    return names


def refuse_twins(names: Sequence[str], source: str) -> None:
    """Raise where two columns have one name."""
    if twins := [column for column, times in Counter(names).items() if times > 1]:
        raise TableError(
            f"{source} has {listed(twins)} as the name of two columns or more. Rename or remove "
            "one of them."
        )


def _undecodable(data: bytes, name: str, encoding: str) -> str:
    """Say which byte is not of an encoding, and where."""
    where = ""
    try:
        data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        where = f": byte {data[error.start]:#04x} in line {line} or after"
    except (UnicodeError, LookupError):
        pass
    return (
        f"{name} is not {encoding}{where}. Save it as UTF-8, or name its encoding, such as "
        "`--encoding latin-1`."
    )
