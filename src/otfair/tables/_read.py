"""Tables from files: CSV of any separator or Parquet, plain or gzipped, with no surprises in types.

A column of a CSV file is a number where every value of it is written as one, and text otherwise:
codes with leading zeros, integers too long for a float and "1,234" stay the text they are, and a
column that nearly is numbers comes with a remark.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import re
import sys
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd

from otfair._io.inputs import say_missing
from otfair._io.memory import say_size
from otfair.tables._budget import Budget, TableError, budget_for
from otfair.tables._csv import SAMPLE, SEPARATORS, read_csv
from otfair.tables._parquet import read_parquet

BYTE_ORDER_MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
PART = 1 << 20  # bytes that are read at once
CONTROLS = bytes({*range(32)} - {9, 10, 12, 13, 27})  # which text hardly holds


@dataclass(frozen=True)
class Table:
    """A table as it was read, and what its file was."""

    frame: pd.DataFrame  # numbers, and text as categories
    source: str  # what to call it
    sha256: str | None = None  # of the file as it is stored
    format: str = ""  # such as "CSV, comma, utf-8"
    lines: np.ndarray | None = None  # (n,) in which line of a CSV file each row begins
    remarks: dict[str, str] = field(default_factory=dict)  # on columns of numbers, or nearly so

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
    path: str | Path,
    separator: str | None = None,
    encoding: str | None = None,
    decimal: str = ".",
    max_memory: int | None = None,
) -> Table:
    """Read a CSV or Parquet file, or "-"; what it is, its content tells where options don't.

    `max_memory` are the bytes that the table may take, half of the machine's memory by default;
    one that takes more, also once it is unpacked, is refused.
    """
    name = "standard input" if str(path) == "-" else str(path)
    budget = budget_for(name, max_memory)
    stored = _bytes(Path(path), budget)
    found: dict[str, Any] = {}
    data, zipped = stored, stored[:2] == b"\x1f\x8b"
    if zipped:
        data = _unpacked(stored, budget)
    if data[:4] == b"PAR1":
        frame, kind = read_parquet(data, name, max_memory), "Parquet"
    else:
        mark = next((e for m, e in BYTE_ORDER_MARKS.items() if data.startswith(m)), "utf-8")
        encoding = encoding or mark
        _refuse_binary(data, name, encoding)
        frame, separator, found = read_csv(data, budget, separator, encoding, decimal)
        kind = f"CSV, {SEPARATORS.get(separator, repr(separator))}, {encoding}"
    if not len(frame):
        raise TableError(f"{name} has columns but no rows. Pass a table of people, one per row.")
    kind += ", gzipped" * zipped
    digest = hashlib.sha256(stored).hexdigest()
    return Table(frame, source=name, sha256=digest, format=kind, **found)


def _bytes(path: Path, budget: Budget) -> bytes:
    """Return the content of a file, of which no more is read than fits the budget."""
    name = budget.source
    try:
        if str(path) == "-":
            data = _read_within(budget, sys.stdin.buffer)
        else:
            with path.open("rb") as file:
                budget.check(os.fstat(file.fileno()).st_size)
                data = _read_within(budget, file)
    except FileNotFoundError:
        raise TableError(say_missing(path)) from None
    except IsADirectoryError:
        raise TableError(f"{name} is a folder; name a file in it.") from None
    except OSError as error:
        raise TableError(f"{name} can't be read ({error.strerror}).") from None
    if not data.strip():
        raise TableError(f"{name} is empty. Pass a table with a row of names and rows of people.")
    return data


def _unpacked(stored: bytes, budget: Budget) -> bytes:
    """Return what a gzipped file holds, if it fits the budget."""
    try:
        with gzip.open(io.BytesIO(stored)) as file:
            return _read_within(
                budget, file, f"is a file of {say_size(len(stored))} and unpacks to"
            )
    except (EOFError, OSError, zlib.error) as error:
        raise TableError(
            f"{budget.source} is gzipped and damaged or cut off ({error}). Copy it again."
        ) from None


def _read_within(budget: Budget, file: IO[bytes] | io.BufferedIOBase, what: str = "takes") -> bytes:
    """Read a stream to its end, if it fits the budget."""
    held = io.BytesIO()
    while part := file.read(PART):
        budget.check(held.tell() + len(part), what)
        held.write(part)
    return held.getvalue()


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
