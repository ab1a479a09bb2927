"""CSV to columns: one pass of one parser, which holds each distinct text of a column once."""

from __future__ import annotations

import csv
import io
import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain, compress, count, islice
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from otfair._io.progress import track
from otfair.tables._budget import Budget, TableError
from otfair.tables._numbers import typed
from otfair.tables._text import listed

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
SAMPLE = 1 << 16  # characters by which the separator is found
MOST_COLUMNS = 100_000  # more are rows that were taken for columns
ROWS, FIELDS = 256, 1 << 18  # that are parsed, at most, before they are sorted into columns
LONG = 1 << 22  # bytes of a file; more may take a while
LINE_END = re.compile("\r\n?|\n")
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
    if separator is not None and (len(separator) != 1 or separator in '"\r\n\0'):
        raise TableError(f"`separator` must be one character, such as ';'; received {separator!r}.")
    try:
        separator = separator or _find_separator(data, encoding)
        try:
            header, columns, lines = _read_rows(data, budget, separator, encoding)
        except csv.Error:
            _refuse(data, name, separator, encoding)
    except UnicodeError:
        raise TableError(_undecodable(data, name, encoding)) from None
    except LookupError:
        raise TableError(f"unknown encoding {encoding!r}; common ones: utf-8, latin-1.") from None
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


def _rows(text: io.TextIOWrapper, separator: str) -> Any:
    """Return a parser of rows; the last one is empty, unless a quote is still open there."""
    return csv.reader(chain(text, [""]), delimiter=separator, skipinitialspace=True)


def _read_rows(
    data: bytes, budget: Budget, separator: str, encoding: str
) -> tuple[list[str], list[_Coded], np.ndarray]:
    """Return the names of the columns, the columns, and in which line each row begins, (n,)."""
    stored = io.BytesIO(data)
    text = _lines(stored, encoding)  # held here: with it, `stored` is closed
    reader = _rows(text, separator)
    first: list[str] = next(filter(None, reader), [])
    header = _names(first, budget)
    columns = [_Coded() for _ in header]
    begins, done = array("q"), 0
    units: dict[str, Any] = {"unit": "B", "unit_scale": True, "leave": False}
    with track(None, "reading", len(data), verbose=len(data) > LONG, **units) as bar:
        for places, rows in _blocks(reader, first):
            begins.extend(places)
            for column, values in zip(columns, zip(*rows)):
                column.extend(values)
            texts = sum(len(column.texts) for column in columns)
            budget.check(len(data) + FIELD * len(begins) * len(columns) + TEXT * texts)
            done, before = stored.tell(), done
            bar.update(done - before)
    return header, columns, np.array(begins, dtype=np.int64)


def _blocks(reader: Any, first: list[str]) -> Iterator[tuple[Sequence[int], list[list[str]]]]:
    """Yield rows of as many fields as the first, some at once, and in which line each begins."""
    width, last, end = len(first), first, reader.line_num
    at_once = max(1, min(ROWS, FIELDS // max(1, width)))
    while rows := list(islice(reader, at_once)):
        last, places = rows[-1], [*range(end + 1, end + 1 + len(rows))]
        if reader.line_num != places[-1]:  # values go over lines
            spans = (1 + len(LINE_END.findall(",".join(row))) for row in rows)
            places = [*accumulate(spans, initial=end + 1)][:-1]
        end = reader.line_num
        if {*map(len, rows)} != {width}:
            sound = [len(row) == width for row in rows]
            others = (row for row, as_wide in zip(rows, sound) if not as_wide)
            if any(value.strip() for row in others for value in row):
                raise csv.Error("a row is of another width")
            # What is left is an empty line, or one of blanks.
            places, rows = [*compress(places, sound)], [*compress(rows, sound)]
        yield places, rows
    if last:
        raise csv.Error("a quote is open")


def _refuse(data: bytes, source: str, separator: str, encoding: str) -> NoReturn:
    """Say which row can't be read, in which line and why: a second pass, row by row."""
    whole = sum(1 for _ in _lines(io.BytesIO(data), encoding))  # lines
    reader = _rows(_lines(io.BytesIO(data), encoding), separator)
    width, begin, is_open, wrong = 0, 1, False, "a row can't be taken apart."
    try:
        for row in reader:
            width = width or len(row)
            if row and reader.line_num > whole:
                is_open = True
                wrong = f"the file ends within a row that begins in line {begin}."
                break
            if len(row) != width and any(value.strip() for value in row):
                wrong = (
                    f"line {reader.line_num} has {len(row)} fields, the header has {width}. Quote "
                    f"values that hold a {separator!r}, or pass `--separator`."
                )
                break
            begin = reader.line_num + 1
    except csv.Error:  # the parser has no other one
        wrong = (
            f"line {reader.line_num} has a value of more than {csv.field_size_limit()} characters. "
            "Shorten it, or leave its column out."
        )
    raw = "".join(islice(_lines(io.BytesIO(data), encoding), begin - 1, reader.line_num))
    is_open = is_open or raw.count('"') % 2 == 1
    raise TableError(f"{source} can't be read: {wrong}{OPEN.format(begin) if is_open else ''}")


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
