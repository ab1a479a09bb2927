"""Hostile tables by seed: CSV and Parquet as no sane program writes them, and some that are fine.

`case(seed)` returns the bytes of a file and what is odd about it, always the same for a seed.
"""

from __future__ import annotations

import gzip
import io
import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

TEXTS = [
    "", " ", "NA", "nan", "NaN", "null", "None", "?", "-", "--", ".", "inf", "-inf", "Infinity",
    "1e400",
    "-1e400", "1e-400", "9" * 400, "9007199254740993", "-0", "+5", "0x10", "1_000", "1,234",
    "1.234,5",
    "1'000", "50%", "$5", "5 €", "007", "٣", "½", "１", "\u200b", "\u202eabc", "é", "e\u0301",
    "\ufeff",
    "\x1b[31mred", "\x07", "\x7f", "=1+1", "@x", "'", '"', '""', "a\nb", "a\rb", "a\r\nb", "a,b",
    "a;b", "a\tb",
    "True", "false", "yes", "no", "1970-01-01", "31.12.2020", "12:30", "1970-01-01T00:00:00Z",
    "z" * 9999,
    "<script>alert(1)</script>", "{{ 7*7 }}", "%s %d", "{0}", "..", "C:\\x", "\\N", "\u0000",
    "🏳️‍🌈", "ǅ", "ß",
    "I", "İ", "ı", "column 1", "score", "decision", "sex", "#N/A", "n/a", "[1, 2]", '{"a": 1}',
]  # fmt: skip
NAMES = [
    "", " ", "sex", "p", "x", "SEX", "sex ", "score", "decision", "column 3", "Unnamed: 0", "id",
    "0", "1.5",
    "a,b", "a:b", "sex:categorical", "a\nb", "=1+1", "\x1b[2J", "é", "e\u0301", "n" * 5000,
    "__index_level_0__",
    "<b>", "{{ 1 }}", "%s", "x is missing", "x=1", "\u202e", "nan", "None", "--drop", "index",
    "level_0",
]  # fmt: skip
CODECS = [
    "utf-8-sig",
    "utf-16",
    "utf-16-le",
    "utf-16-be",
    "utf-32",
    "latin-1",
    "cp1252",
    "utf-7",
    "cp037",
]


@dataclass(frozen=True)
class Case:
    """A file for the command line, and what is odd about it."""

    seed: int
    content: bytes
    odd: tuple[str, ...]


Column = list[Any]
Columns = list[tuple[str, Column]]


def people(rng: random.Random, n: int) -> dict[str, Column]:
    """Return sound people: a score, a label, groups, features and a weight."""
    return {
        "p": [round(rng.random(), 3) for _ in range(n)],
        "y": [rng.choice(["yes", "no"]) for _ in range(n)],
        "sex": [rng.choice("fm") for _ in range(n)],
        "x": [rng.gauss(0, 1) for _ in range(n)],
        "k": [rng.choice(["red", "green", "blue"]) for _ in range(n)],
        "w": [rng.randint(1, 3) for _ in range(n)],
    }


def case(seed: int) -> Case:
    """Return the case of a seed."""
    rng = random.Random(seed)
    n = rng.choice([0, 1, 2, 3, 10, *[40, 60] * 12, 200])
    columns = list(people(rng, n).items())
    odd = [f"{n} rows"] if n < 10 else []
    make = _parquet if rng.random() < 0.4 else _csv
    content, more = make(rng, columns)
    return Case(seed, content, tuple(odd + more))


def _some(rng: random.Random, choices: dict[str, Any], most: int) -> list[str]:
    return rng.sample(list(choices), rng.randint(0, most))


# CSV: columns of text that go wrong, names, rows, how it is written, and bytes


def _sprinkled(rng: random.Random, values: Column) -> Column:
    share = rng.choice([0.02, 0.3, 1.0])
    return [rng.choice(TEXTS) if rng.random() < share else v for v in values]


VALUES: dict[str, Callable[[random.Random, Column], Column]] = {
    "sprinkled": _sprinkled,
    "one odd text": lambda rng, v: [rng.choice(TEXTS), *v[1:]] if v else v,
    "constant": lambda rng, v: [rng.choice([*TEXTS, 0, 1, 0.5])] * len(v),
    "empty": lambda rng, v: [""] * len(v),
    "booleans": lambda rng, v: [rng.choice(["True", "False", "TRUE", ""]) for _ in v],
    "huge integers": lambda rng, v: [rng.choice([2**63, -(2**64), 10**30, 2**53 + 1]) for _ in v],
    "huge floats": lambda rng, v: [rng.choice([1e308, -1e308, 5e-324, 1e300]) for _ in v],
    "hardly different": lambda rng, v: [1 + rng.choice([0, 2**-52]) for _ in v],
    "infinite": lambda rng, v: [rng.choice(["inf", "-inf", "1", "0"]) for _ in v],
    "thousands": lambda rng, v: [f"{rng.randint(0, 10**7):,}" for _ in v],
    "decimal commas": lambda rng, v: [f"{rng.random():.3f}".replace(".", ",") for _ in v],
    "percentages": lambda rng, v: [f"{rng.randint(0, 100)}%" for _ in v],
    "numbers and text": lambda rng, v: [rng.choice([1, 2.5, "a", "7a"]) for _ in v],
    "unique": lambda rng, v: [f"id{i}" for i in range(len(v))],
    "counted": lambda rng, v: [*range(len(v))],
    "dates": lambda rng, v: [f"20{rng.randint(10, 30)}-01-{rng.randint(1, 28):02}" for _ in v],
    "zeros and ones": lambda rng, v: [rng.randint(0, 1) for _ in v],
    "integers": lambda rng, v: [rng.randint(-20, 20) for _ in v],
    "negative": lambda rng, v: [-rng.random() for _ in v],
    "alike but for marks": lambda rng, v: [rng.choice(["e\u0301", "é", "E", " é "]) for _ in v],
    "gaps": lambda rng, v: [rng.choice([x, "", "NA", "?"]) for x in v],
}


def _repeat(rng: random.Random, columns: Columns) -> None:
    columns.append((rng.choice(columns)[0], [1] * len(columns[0][1])))


def _rename(rng: random.Random, columns: Columns) -> None:
    at = rng.randrange(len(columns))
    columns[at] = (rng.choice(NAMES), columns[at][1])


def _add(rng: random.Random, columns: Columns) -> None:
    n = len(columns[0][1])
    for _ in range(rng.choice([1, 3, 120])):
        made = VALUES[rng.choice(list(VALUES))](rng, [0] * n)
        columns.append((f"{rng.choice(NAMES)}{len(columns)}", made))


SHAPES: dict[str, Callable[[random.Random, Columns], None]] = {
    "a name comes twice": _repeat,
    "an odd name": _rename,
    "a column is gone": lambda rng, columns: columns.remove(rng.choice(columns)),
    "more columns": _add,
    "shuffled": lambda rng, columns: rng.shuffle(columns),
    "copied": lambda rng, columns: columns.append(("copy", rng.choice(columns)[1])),
}


def _ragged(rng: random.Random, lines: list[str], sep: str) -> None:
    at = rng.randrange(len(lines))
    lines[at] = rng.choice([lines[at] + sep, lines[at] + f"{sep}1{sep}2", lines[at].split(sep)[0]])


def _insert(*texts: str) -> Callable[[random.Random, list[str], str], None]:
    def inserted(rng: random.Random, lines: list[str], sep: str) -> None:
        for _ in range(rng.randint(1, 3)):
            lines.insert(rng.randint(0, len(lines)), rng.choice(texts))

    return inserted


LINES: dict[str, Callable[[random.Random, list[str], str], None]] = {
    "ragged": _ragged,
    "empty lines": _insert("", "", " ", "\t"),
    "comments": _insert("# a comment", "--", "sep=;"),
    "a line of separators": lambda rng, lines, sep: lines.append(sep * 5),
    "an open quote": _insert('"', 'a"b', '0.5,"yes'),
    "the header again": lambda rng, lines, sep: lines.append(lines[0]),
    "no header": lambda rng, lines, sep: lines.pop(0) and None,
    "trailing separators": lambda rng, lines, sep: lines.__setitem__(
        slice(None), [line + sep for line in lines]
    ),
}


def _damaged(rng: random.Random, content: bytes) -> bytes:
    """Return content with some bytes changed, gone, or more of them."""
    data = bytearray(content)
    for _ in range(rng.choice([1, 1, 3, 30])):
        at = rng.randrange(len(data) + 1)
        how = rng.randrange(4)
        if how == 0 and at < len(data):
            data[at] = rng.randrange(256)
        elif how == 1:
            data[at:at] = rng.choice([b"\0", b"\xff", b'"', b"\r", b"\n", b"\xed\xa0\x80", b"\x1a"])
        elif how == 2:
            del data[at : at + rng.randint(1, 9)]
        else:
            data[at:at] = data[at : at + rng.randint(1, 50)]
    return bytes(data)


BYTES: dict[str, Callable[[random.Random, bytes], bytes]] = {
    "damaged": _damaged,
    "cut off": lambda rng, data: data[: rng.randrange(len(data) + 1)],
    "twice": lambda rng, data: data + data,
    "zeros at the end": lambda rng, data: data + bytes(rng.choice([1, 100, 10_000])),
    "gzipped": lambda rng, data: gzip.compress(data, mtime=0),
    "gzipped twice": lambda rng, data: gzip.compress(gzip.compress(data, mtime=0), mtime=0),
    "gzipped and cut off": lambda rng, data: gzip.compress(data, mtime=0)[: -rng.randint(1, 20)],
}


def _field(value: Any, sep: str, quoting: str) -> str:
    text = str(value)
    if quoting == "none":
        return text
    needs = any(mark in text for mark in (sep, '"', "\n", "\r"))
    return '"' + text.replace('"', '""') + '"' if quoting == "all" or needs else text


def _csv(rng: random.Random, columns: Columns) -> tuple[bytes, list[str]]:
    odd = []
    for _ in range(rng.choice([0, 1, 1, 2])):
        at, what = rng.randrange(len(columns)), rng.choice(list(VALUES))
        name, values = columns[at]
        columns[at] = (name, VALUES[what](rng, values))
        odd.append(f"{name} is {what}")
    for what in _some(rng, SHAPES, 1):
        SHAPES[what](rng, columns)
        odd.append(what)
    sep = rng.choice([*",,,,,;;\t\t|:", ", "])
    quoting = rng.choice(["minimal", "minimal", "minimal", "minimal", "all", "all", "none"])
    end = rng.choice(["\n", "\n", "\r\n", "\r", "mixed"])
    rows = [[name for name, _ in columns], *zip(*(values for _, values in columns))]
    lines = [sep.join(_field(v, sep, quoting) for v in row) for row in rows]
    for what in _some(rng, LINES, rng.random() < 0.4):
        LINES[what](rng, lines, sep)
        odd.append(what)
    ends = [rng.choice(["\n", "\r\n", "\r"]) if end == "mixed" else end for _ in lines]
    text = "".join(map(str.__add__, lines, ends))
    text = text.rstrip() if rng.random() < 0.1 else text
    codec = rng.choice(CODECS) if rng.random() < 0.1 else "utf-8"
    content = text.encode(codec, "replace")
    odd.append(f"CSV by {sep!r}, quotes {quoting}, ends {end!r}, {codec}")
    return _with_odd_bytes(rng, content, odd)


def _with_odd_bytes(rng: random.Random, content: bytes, odd: list[str]) -> tuple[bytes, list[str]]:
    if rng.random() < 0.15:
        what = rng.choice(list(BYTES))
        content = BYTES[what](rng, content)
        odd.append(what)
    return content, odd


# Parquet: types that a CSV has not, and metadata


def _decimals(digits: int, scale: int) -> Callable[[random.Random, int], pa.Array]:
    kind = pa.decimal256(digits, scale) if digits > 38 else pa.decimal128(digits, scale)

    def made(rng: random.Random, n: int) -> pa.Array:
        top = 10 ** rng.choice([1, min(digits, 3), digits]) - 1
        values = [Decimal(rng.randint(0, top)).scaleb(-scale) for _ in range(n)]
        return pa.array(values, kind)

    return made


def _of(kind: pa.DataType, *values: Any) -> Callable[[random.Random, int], pa.Array]:
    return lambda rng, n: pa.array([rng.choice(values) for _ in range(n)], kind)


def _text_in_views() -> pa.DataType:
    """Return `string_view`, or text of another kind where this pyarrow can't write it."""
    try:
        pq.ParquetWriter(io.BytesIO(), pa.schema({"text": pa.string_view()})).close()
    except pa.ArrowNotImplementedError:
        return pa.large_string()
    return pa.string_view()


WHEN = datetime(2020, 2, 29, 12, 30)
TYPES: dict[str, Callable[[random.Random, int], pa.Array]] = {
    "decimal(4, 3)": _decimals(4, 3),
    "decimal(38, 10)": _decimals(38, 10),
    "decimal(38, 0)": _decimals(38, 0),
    "decimal256": _decimals(60, 4),
    "int8": _of(pa.int8(), -128, 0, 1, 127),
    "uint64": _of(pa.uint64(), 0, 1, 2**64 - 1),
    "int64": _of(pa.int64(), -(2**63), 0, 1, 2**63 - 1),
    "float16": lambda rng, n: pa.array([rng.random() for _ in range(n)], pa.float32()).cast(
        pa.float16()
    ),
    "float32": _of(pa.float32(), 0.1, 0.9, float("nan"), float("inf")),
    "float64": _of(pa.float64(), 0.0, 1.0, 1e308, -1e308, float("-inf")),
    "bool": _of(pa.bool_(), True, False),
    "null": lambda rng, n: pa.nulls(n),
    "string": _of(pa.string(), *TEXTS),
    "large_string": _of(pa.large_string(), "f", "m", "\0"),
    "string_view": _of(_text_in_views(), "f", "m"),
    "binary": _of(pa.binary(), b"f", b"\xff", b""),
    "fixed binary": _of(pa.binary(3), b"abc", b"\xff\0\xff"),
    "date32": _of(pa.date32(), date(1, 1, 1), date(2020, 2, 29), date(9999, 12, 31)),
    "date64": _of(pa.date64(), date(1970, 1, 1), date(2020, 2, 29)),
    "time": _of(pa.time64("us"), time(0, 0), time(23, 59, 59, 999999)),
    "timestamp": _of(pa.timestamp("us"), WHEN, datetime(1, 1, 1), datetime(9999, 12, 31)),
    "timestamp with a zone": _of(pa.timestamp("ns", "Europe/Brussels"), WHEN),
    "duration": _of(pa.duration("s"), timedelta(0), timedelta(days=-5)),
    "list of numbers": _of(pa.list_(pa.float64()), [1.0], [], [0.5, 2.0]),
    "list of text": _of(pa.list_(pa.string()), ["a"], ["b", None]),
    "struct": _of(pa.struct({"a": pa.int64(), "b": pa.string()}), {"a": 1, "b": "x"}),
    "map": _of(pa.map_(pa.string(), pa.int64()), [("a", 1)], []),
    "dictionary": lambda rng, n: _of(pa.string(), "f", "m", "")(rng, n).dictionary_encode(),
    "dictionary of integers": lambda rng, n: _of(pa.int64(), 0, 1)(rng, n).dictionary_encode(),
    "text of booleans": _of(pa.string(), "True", "False"),
    "text of numbers": _of(pa.string(), "0.5", "0.25"),
}  # fmt: skip


def _with_gaps(rng: random.Random, column: pa.Array) -> pa.Array:
    share = rng.choice([0.1, 0.5, 1.0])
    keep = [rng.random() >= share for _ in range(len(column))]
    return column.take(pa.array([i if k else None for i, k in enumerate(keep)], pa.int64()))


METADATA = {
    "pandas metadata of nonsense": {b"pandas": b"{"},
    "pandas metadata of an index that is not there": {
        b"pandas": b'{"index_columns": ["nobody"], "columns": [], "column_indexes": []}'
    },
    "pandas metadata of an index": {
        b"pandas": b'{"index_columns": ["sex"], "columns": [{"name": "sex", "field_name": "sex", '
        b'"pandas_type": "unicode", "numpy_type": "object", "metadata": null}], '
        b'"column_indexes": [{"name": null, "field_name": null, "pandas_type": "unicode", '
        b'"numpy_type": "object", "metadata": {"encoding": "UTF-8"}}]}'
    },
}


def _parquet(rng: random.Random, columns: Columns) -> tuple[bytes, list[str]]:
    odd = []
    for what in _some(rng, SHAPES, 1):
        SHAPES[what](rng, columns)
        odd.append(what)
    names = [name for name, _ in columns]
    arrays = []
    for name, values in columns:
        try:
            array = pa.array(values)
        except (pa.ArrowException, OverflowError):
            array = pa.array(list(map(str, values)))
        if rng.random() < 0.15:
            what = rng.choice(list(TYPES))
            array = TYPES[what](rng, len(values))
            odd.append(f"{name} is {what}")
        if rng.random() < 0.1 and array.type != pa.string_view():
            array = _with_gaps(rng, array)
            odd.append(f"{name} has gaps")
        arrays.append(array)
    table = pa.Table.from_arrays(arrays, names)
    if rng.random() < 0.1:
        what = rng.choice(list(METADATA))
        table = table.replace_schema_metadata(METADATA[what])
        odd.append(what)
    out = io.BytesIO()
    how = {
        "compression": rng.choice(["snappy", "zstd", "gzip", "none"]),
        "row_group_size": rng.choice([1, 7, 1000]),
        "use_dictionary": rng.random() < 0.5,
        "data_page_version": rng.choice(["1.0", "2.0"]),
        "version": "2.6",
    }
    pq.write_table(table, out, **how)
    odd.append(f"Parquet, {how['compression']}")
    return _with_odd_bytes(rng, out.getvalue(), odd)
