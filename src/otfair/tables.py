"""Tables from files: CSV of any separator or Parquet, plain or gzipped, with no surprises in types.

A column of a CSV file is a number where every value of it is written as one, and text otherwise:
codes with leading zeros, integers too long for a float and "1,234" stay the text they are.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import re
import sys
import zlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "?")  # not "None", which names a value
SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
BYTE_ORDER_MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
SAMPLE = 1 << 16  # characters by which the separator is found
CONTROLS = bytes({*range(32)} - {9, 10, 12, 13, 27})  # which text hardly holds
LARGEST_WHOLE = 2**53  # beyond it, floats skip integers
WHOLE = re.compile(r"[+-]?(?:0|[1-9][0-9]*)")
NUMBER = re.compile(
    r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?|[+-]?inf(?:inity)?", re.I
)


class TableError(ValueError):
    """A table that can't be read, or lacks what was asked of it; the message says what to do."""


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table as it was read, and what its file was."""

    frame: pd.DataFrame  # numbers, and text as categories
    source: str  # what to call it
    sha256: str | None = None  # of the file as it is stored
    format: str = ""  # such as "CSV, comma, utf-8"


def read_table(
    path: str | Path,
    *,
    separator: str | None = None,
    encoding: str | None = None,
    decimal: str = ".",
) -> Table:
    r"""Read a CSV or Parquet file, plain or gzipped; what it is, its content tells.

    Parameters
    ----------
    path : the file, or "-" for standard input.
    separator : of a CSV file; by default the one of comma, semicolon, tab and bar that fits.
    encoding : of a CSV file; by default UTF-8, or UTF-16 where the file begins with its mark.
    decimal : "." or ",", as numbers are written in a CSV file.

    Returns
    -------
    Table
        Its rows are in the order of the file; empty lines are not rows.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from otfair.tables import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "people.csv")
    ...     _ = file.write_text("age;zip;job\n31;01234;cook\n45;90210;?\n")
    ...     table = read_table(file)
    >>> table.frame.dtypes.astype(str).to_dict()
    {'age': 'int64', 'zip': 'category', 'job': 'category'}
    >>> int(table.frame["job"].isna().sum()), table.format
    (1, 'CSV, semicolon, utf-8')
    """
    name = "standard input" if str(path) == "-" else str(path)
    stored = _bytes(Path(path), name)
    digest = hashlib.sha256(stored).hexdigest()
    data, zipped = stored, stored[:2] == b"\x1f\x8b"
    if zipped:
        try:
            data = gzip.decompress(stored)
        except (EOFError, OSError, zlib.error) as error:
            raise TableError(
                f"{name} is gzipped and damaged or cut off ({error}). Copy it again."
            ) from None
    if data[:4] == b"PAR1":
        frame, kind = _read_parquet(data, name), "Parquet"
    else:
        mark = next((e for m, e in BYTE_ORDER_MARKS.items() if data.startswith(m)), "utf-8")
        encoding = encoding or mark
        _refuse_binary(data, name, encoding)
        frame, found = _read_csv(data, name, separator, encoding, decimal)
        kind = f"CSV, {SEPARATORS.get(found, repr(found))}, {encoding}"
    if not len(frame):
        raise TableError(f"{name} has columns but no rows. Pass a table of people, one a row.")
    return Table(
        frame=frame, source=name, sha256=digest, format=kind + (", gzipped" if zipped else "")
    )


def nearest(name: str, names: Iterable[str]) -> str:
    """Return ", did you mean 'x'?" for the nearest name, or nothing.

    Examples
    --------
    >>> from otfair.tables import nearest
    >>> nearest("Sex", ["age", "sex"])
    ", did you mean 'sex'?"
    """
    folded = {n.casefold(): n for n in names}
    close = get_close_matches(name.casefold(), folded, n=1, cutoff=0.6)
    return f", did you mean {folded[close[0]]!r}?" if close else ""


def shown(text: str) -> str:
    r"""Return text for a terminal, where line ends and control characters are spelled out.

    Examples
    --------
    >>> from otfair.tables import shown
    >>> print(shown("plain"), shown("two\nlines"))
    plain 'two\nlines'
    """
    return text if text.isprintable() else repr(text)


def require_columns(table: Table, names: Iterable[str], option: str) -> list[str]:
    """Return the names, all of which the table must have."""
    known = [str(c) for c in table.frame.columns]
    absent = [name for name in names if name not in known]
    if absent:
        hint = nearest(absent[0], known)
        listed = ", ".join(map(shown, known[:20])) + (", ..." if len(known) > 20 else "")
        raise TableError(
            f"{table.source} has no column {', '.join(map(repr, absent))} for {option}"
            f"{hint or '.'} Its columns are: {listed}."
        )
    return list(names)


def split_names(given: Iterable[str], columns: Iterable[str]) -> list[str]:
    """Split "a,b" into names; a comma may be part of one where a column is called so.

    Examples
    --------
    >>> from otfair.tables import split_names
    >>> split_names(["age,job,income, gross"], ["age", "job", "income, gross"])
    ['age', 'job', 'income, gross']
    """
    known, out = set(columns), []
    for text in given:
        if text in known:
            out.append(text)
            continue
        parts = text.split(",")
        while parts:
            joined = (",".join(parts[:k]).strip() for k in range(1, len(parts) + 1))
            name = next((name for name in joined if name in known), parts[0].strip())
            out.append(name)
            parts = parts[name.count(",") + 1 :]
    return list(dict.fromkeys(name for name in out if name))


def read_sensitive(table: Table, given: Iterable[str]) -> pd.DataFrame:
    """Return sensitive columns given as "sex", "age:continuous" or "code:categorical".

    A column whose name holds a colon is meant where the whole text is its name. Numbers that are
    to be groups become text; those that are to be continuous become floats.

    Examples
    --------
    >>> import pandas as pd
    >>> from otfair.tables import Table, read_sensitive
    >>> table = Table(frame=pd.DataFrame({"age": [30, 40], "code": [1, 2]}), source="people")
    >>> read_sensitive(table, ["age:continuous", "code:categorical"]).dtypes.astype(str).to_dict()
    {'age': 'float64', 'code': 'object'}
    """
    columns = list(table.frame.columns)
    out: dict[str, Any] = {}
    for text in given:
        name, _, kind = text.rpartition(":")
        if text in columns or not name:
            name, kind = text, ""
        elif kind not in ("continuous", "categorical"):
            if name in columns:
                raise TableError(
                    f"--sensitive {text}: received {kind!r}, which is no kind of column. Write "
                    f"{name}:continuous or {name}:categorical."
                )
            name, kind = text, ""
        require_columns(table, [name], "--sensitive")
        if name in out:
            raise TableError(f"--sensitive names {name!r} twice; name it once.")
        out[name] = _as_kind(table.frame[name], kind)
    return pd.DataFrame(out)


def continuous_names(sensitive: pd.DataFrame) -> list[str]:
    """Return which columns of `read_sensitive` are numbers rather than groups for sure."""
    return [str(c) for c in sensitive if sensitive[c].dtype == np.float64]


def _as_kind(column: pd.Series[Any], kind: str) -> Any:
    """Return a sensitive column as floats, integers or text; missing values stay missing."""
    gaps = column.isna()
    numeric = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
    if kind == "continuous":
        if not numeric:
            example = column[~gaps].astype(str).iloc[0] if (~gaps).any() else ""
            raise TableError(
                f"sensitive column {column.name!r} is to be continuous but holds text, such as "
                f"{example!r}. Write its numbers plainly, or leave ':continuous' out."
            )
        return column.astype(np.float64)
    if kind == "" and numeric:
        whole = (column[~gaps].astype(np.float64) % 1 == 0).all()
        # A gap would make floats of integers, and floats are never groups.
        return column.astype(("Int64" if gaps.any() else np.int64) if whole else np.float64)
    text = column.astype(object)
    text[~gaps] = [plain_text(v) for v in text[~gaps]]
    return text.where(~gaps, None)


def plain_text(value: Any) -> str:
    """Return a value as text; a whole number has no point, whatever type a gap made of it.

    Examples
    --------
    >>> from otfair.tables import plain_text
    >>> plain_text(3.0), plain_text(0.5), plain_text("3.0")
    ('3', '0.5', '3.0')
    """
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def without_gaps(frame: pd.DataFrame, rows: Any) -> pd.DataFrame:
    """Return rows of sensitive columns that have no gap, with plain integers."""
    kept: pd.DataFrame = frame[rows].reset_index(drop=True)
    return kept.astype({c: np.int64 for c in kept if isinstance(kept[c].dtype, pd.Int64Dtype)})


def _bytes(path: Path, name: str) -> bytes:
    try:
        data = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    except FileNotFoundError:
        beside = [p.name for p in path.parent.glob("*")] if path.parent.is_dir() else []
        hint = nearest(path.name, beside)
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
    sample = data[:SAMPLE]
    odd = len(sample) - len(sample.translate(None, CONTROLS))
    if (b"\0" in sample or odd > max(100, len(sample) / 20)) and not re.search("16|32", encoding):
        raise TableError(f"{name} is a binary file, neither CSV nor Parquet. Export it as CSV.")


def _read_parquet(data: bytes, name: str) -> pd.DataFrame:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise TableError(
            f"{name} is a Parquet file, and pyarrow, which reads these, is not installed. Install "
            "it with `pip install 'otfair[parquet]'`, or pass CSV."
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
    text = [
        c
        for c in frame.columns
        if not isinstance(frame[c].dtype, pd.CategoricalDtype)
        and pd.api.types.infer_dtype(frame[c], skipna=True) == "string"
    ]
    return frame.astype(dict.fromkeys(text, "category"))


def _read_csv(
    data: bytes, name: str, separator: str | None, encoding: str, decimal: str
) -> tuple[pd.DataFrame, str]:
    try:
        separator = separator or _find_separator(data, encoding)
        header = _check_rows(data, name, separator, encoding)
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
        reason = str(error).removeprefix("Error tokenizing data. C error: ")
        raise TableError(f"{name} can't be read ({reason}); is a quote not closed?") from None
    return pd.DataFrame({c: _typed(raw.pop(c), decimal) for c in header}), separator


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


def _check_rows(data: bytes, name: str, separator: str, encoding: str) -> list[str]:
    """Return the names of the columns; every row must have as many fields."""
    reader = csv.reader(_lines(data, encoding), delimiter=separator, skipinitialspace=True)
    rows = (row for row in reader if row)
    header = [text.strip() for text in next(rows, [])]
    for row in rows:
        if len(row) != len(header):
            raise TableError(
                f"{name} is ragged: line {reader.line_num} has {len(row)} fields, the header has "
                f"{len(header)}. Quote values that hold a {separator!r}, or pass `--separator`."
            )
    header = [text or f"column {i}" for i, text in enumerate(header, 1)]
    _refuse_twins(header, name)
    return header


def _refuse_twins(names: list[str], name: str) -> None:
    twins = [column for column, count in Counter(names).items() if count > 1]
    if twins:
        raise TableError(
            f"{name} has {', '.join(map(repr, twins))} as the name of two columns or more. Rename "
            "or remove one of them."
        )


def _typed(column: pd.Series[Any], decimal: str) -> pd.Series[Any]:
    """Turn text into numbers where every value is one; it is looked at once a distinct value."""
    codes, distinct = pd.factorize(column)
    texts = [str(value).strip() for value in distinct]
    known = [text for text in texts if text not in MISSING]
    plain = [text.replace(decimal, ".") for text in known] if decimal != "." else known
    if known and all(NUMBER.fullmatch(text) for text in plain):
        whole = all(WHOLE.fullmatch(text) for text in plain)
        if not whole or all(abs(int(text)) < LARGEST_WHOLE for text in plain):
            number = dict(zip(known, plain))
            values = np.array([float(number.get(text, "nan")) for text in texts])[codes]
            exact = whole and not np.isnan(values).any()
            return pd.Series(values.astype(np.int64) if exact else values, name=column.name)
    names = sorted(set(known))
    place = {text: code for code, text in enumerate(names)}
    moved = np.array([place.get(text, -1) for text in texts], dtype=np.int64)[codes]
    return pd.Series(
        pd.Categorical.from_codes(moved, pd.Index(names, dtype=object)), name=column.name
    )
