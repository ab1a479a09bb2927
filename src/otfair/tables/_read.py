"""Tables from files: CSV of any separator or Parquet, plain or gzipped, with no surprises in types.

A column of a CSV file is a number where every value of it is written as one, and text otherwise:
codes with leading zeros, integers too long for a float and "1,234" stay the text they are, and a
column that nearly is numbers comes with a remark.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import re
import sys
import zlib
from array import array
from collections import Counter
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from otfair.tables._kinds import type_name
from otfair.tables._numbers import typed
from otfair.tables._text import nearest

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
BYTE_ORDER_MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
SAMPLE = 1 << 16  # characters by which the separator is found
CONTROLS = bytes({*range(32)} - {9, 10, 12, 13, 27})  # which text hardly holds


class TableError(ValueError):
    """A table that can't be read, or lacks what was asked of it; the message says what to do."""


@dataclass(frozen=True)
class Table:
    """A table as it was read, and what its file was."""

    frame: pd.DataFrame  # numbers, and text as categories
    source: str  # what to call it
    sha256: str | None = None  # of the file as it is stored
    format: str = ""  # such as "CSV, comma, utf-8"
    lines: np.ndarray | None = None  # (n,) in which line of a CSV file each row begins
    remarks: dict[str, str] = field(default_factory=dict)  # on columns that are nearly numbers

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return [str(c) for c in self.frame]

    def place(self, row: int) -> str:
        """Say where a row is: in which line of a CSV file, else which row, counted from 1."""
        return f"row {row + 1}" if self.lines is None else f"line {self.lines[row]}"

    def no_number(self, name: str) -> tuple[str, str, int]:
        """Return the first value of a column of text that is no number, its place, how many are."""
        known = self.frame[name].dropna().astype(str)
        odd = known[pd.to_numeric(known, errors="coerce").isna()]
        odd = odd if len(odd) else known
        return str(odd.iloc[0]), self.place(int(odd.index[0])), len(odd)


def read_table(
    path: str | Path, separator: str | None = None, encoding: str | None = None, decimal: str = "."
) -> Table:
    """Read a CSV or Parquet file, or "-"; what it is, its content tells where options don't."""
    name = "standard input" if str(path) == "-" else str(path)
    stored = _bytes(Path(path), name)
    found: dict[str, Any] = {}
    data, zipped = stored, stored[:2] == b"\x1f\x8b"
    if zipped:
        try:
            data = gzip.decompress(stored)
        except (EOFError, OSError, zlib.error) as error:
            raise TableError(
                f"{name} is gzipped and damaged or cut off ({error}). Copy it again."
            ) from None
    if data[:4] == b"PAR1":
        frame, kind = read_parquet(data, name), "Parquet"
    else:
        mark = next((e for m, e in BYTE_ORDER_MARKS.items() if data.startswith(m)), "utf-8")
        encoding = encoding or mark
        _refuse_binary(data, name, encoding)
        frame, separator, found = _read_csv(data, name, separator, encoding, decimal)
        kind = f"CSV, {SEPARATORS.get(separator, repr(separator))}, {encoding}"
    if not len(frame):
        raise TableError(f"{name} has columns but no rows. Pass a table of people, one per row.")
    kind += ", gzipped" * zipped
    digest = hashlib.sha256(stored).hexdigest()
    return Table(frame, source=name, sha256=digest, format=kind, **found)


def _bytes(path: Path, name: str) -> bytes:
    try:
        data = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    except FileNotFoundError:
        others = [p.name for p in path.parent.glob("*")] if path.parent.is_dir() else []
        hint = nearest(path.name, others) or nearest(path.stem, {Path(b).stem: b for b in others})
        raise TableError(f"there is no file {name}{hint or '. Check its path.'}") from None
    except IsADirectoryError:
        raise TableError(f"{name} is a folder; name a file in it.") from None
    except OSError as error:
        raise TableError(f"{name} can't be read ({error.strerror}).") from None
    if not data.strip():
        raise TableError(f"{name} is empty. Pass a table with a row of names and rows of people.")
    return data


def _refuse_binary(data: bytes, name: str, encoding: str) -> None:
    if data[:2] == b"PK":
        raise TableError(
            f"{name} is a zip archive or an Excel workbook. Unpack it, or save the sheet as CSV."
        )
    if re.match(rb'\s*(\{\s*"|\[\s*[\[{])', data[:SAMPLE]):
        raise TableError(f"{name} is a JSON file. Save it as CSV, one row per person.")
    sample = data[:SAMPLE]
    if re.search("16|32", encoding):
        return
    for start, order in ((1, "le"), (0, "be")):
        if sample[start::2].count(0) > len(sample) / 5:
            raise TableError(
                f"{name} looks like UTF-16 without a mark. Pass `--encoding utf-16-{order}`."
            )
    odd = len(sample) - len(sample.translate(None, CONTROLS))
    if b"\0" in sample or odd > max(100, len(sample) / 20):
        raise TableError(f"{name} is a binary file, neither CSV nor Parquet. Export it as CSV.")


def read_parquet(data: bytes, name: str) -> pd.DataFrame:
    """Read the content of a Parquet file, which messages call `name`."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise TableError(
            f"{name} is a Parquet file, and pyarrow, which reads these, is not installed. Install "
            "it with `pip install pyarrow`, or pass CSV."
        ) from None
    try:
        stored = pq.read_table(io.BytesIO(data))
        _refuse_twins(stored.column_names, name)
        frame: pd.DataFrame = stored.to_pandas()
    except pa.ArrowException as error:
        raise TableError(f"{name} is a damaged Parquet file ({error}). Copy it again.") from None
    named = any(level is not None for level in frame.index.names)
    frame = frame.reset_index(drop=not named)
    frame.columns = pd.Index([str(c) for c in frame.columns])
    text = [c for c in frame.columns if type_name(frame[c]) == "string"]
    return frame.astype(dict.fromkeys(text, "category"))


def _read_csv(
    data: bytes, name: str, separator: str | None, encoding: str, decimal: str
) -> tuple[pd.DataFrame, str, dict[str, Any]]:
    """Return the table, its separator, and its `lines` and `remarks`."""
    try:
        separator = separator or _find_separator(data, encoding)
        header, lines = _check_rows(data, name, separator, encoding)
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise TableError(
            f"{name} is not {encoding}: byte {data[error.start]:#04x} in line {line} or after. "
            "Save it as UTF-8, or name its encoding, such as `--encoding latin-1`."
        ) from None
    except LookupError:
        raise TableError(f"unknown encoding {encoding!r}; common ones: utf-8, latin-1.") from None
    except csv.Error as error:
        raise TableError(
            f"{name} can't be taken apart at {separator!r} ({error}); is a quote not closed?"
        ) from None
    try:
        raw = pd.read_csv(
            io.BytesIO(data), sep=separator, encoding=encoding, header=0, names=header,
            index_col=False, dtype=str, na_filter=False, skipinitialspace=True,
        )  # fmt: skip
    except pd.errors.ParserError as error:
        is_open = len(lines) and _lines(data, encoding).read().count('"') % 2
        ends = f"the file ends within a row that begins in line {lines[-1]}" if is_open else error
        raise TableError(f"{name} can't be read: {ends}. Is a quote not closed?") from None
    columns = {c: typed(raw.pop(c), decimal, lines) for c in header}
    frame = pd.DataFrame({c: column for c, (column, _) in columns.items()})
    known = lines if len(lines) == len(frame) else None
    remarks = {c: remark for c, (_, remark) in columns.items() if remark}
    return frame, separator, {"lines": known, "remarks": remarks}


def _lines(data: bytes, encoding: str) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(data), encoding=encoding, newline="")


def _find_separator(data: bytes, encoding: str) -> str:
    """Return the separator by which most rows are as wide as the header, and it is widest."""
    sample = _lines(data, encoding).read(SAMPLE)
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


def _check_rows(
    data: bytes, name: str, separator: str, encoding: str
) -> tuple[list[str], np.ndarray]:
    """Return the names of the columns, and in which line each row begins; all have as many fields.

    Rows of a quote that is not closed have many lines.
    """
    reader = csv.reader(_lines(data, encoding), delimiter=separator, skipinitialspace=True)
    header: list[str] | None = None
    begins, end = array("q"), 0
    for row in reader:
        begin, end = end + 1, reader.line_num
        if not row:
            continue
        if header is None:
            header = [text.strip() for text in row]
        elif len(row) != len(header):
            text = "".join(islice(_lines(data, encoding), begin - 1, end))
            hint = f" Is a quote not closed that opens in line {begin}?" * (text.count('"') % 2)
            raise TableError(
                f"{name} is ragged: line {end} has {len(row)} fields, the header has {len(header)}."
                f" Quote values that hold a {separator!r}, or pass `--separator`.{hint}"
            )
        else:
            begins.append(begin)
    header = [text or f"column {i}" for i, text in enumerate(header or [], 1)]
    _refuse_twins(header, name)
    return header, np.array(begins, dtype=np.int64)


def _refuse_twins(names: list[str], name: str) -> None:
    if twins := [column for column, count in Counter(names).items() if count > 1]:
        raise TableError(
            f"{name} has {', '.join(map(repr, twins))} as the name of two columns or more. Rename "
            "or remove one of them."
        )
