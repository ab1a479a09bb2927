"""Parquet to a pandas table, within a budget: text that is stored once is held once."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any

import pandas as pd

from otfair.tables._budget import Budget, TableError, budget_for
from otfair.tables._csv import refuse_twins
from otfair.tables._kinds import type_name

NAMELESS = re.compile(r"__index_level_\d+__")  # what pandas calls an index without a name
PLAIN, OBJECT = 16, 200  # bytes that a value takes as a number, and as an object of Python
MOST_ROWS = 1 << 16  # that are read at once


def read_parquet(data: bytes, name: str, max_memory: int | None = None) -> pd.DataFrame:
    """Read the content of a Parquet file, which messages call `name`.

    Text becomes categories in order, and decimals become numbers.
    """
    try:
        import pyarrow as pa
    except ImportError:
        raise TableError(
            f"{name} is a Parquet file, and pyarrow, which reads these, is not installed. Install "
            "it with `pip install pyarrow`, or pass CSV."
        ) from None
    try:
        frame, text = _read(data, budget_for(name, max_memory))
    except TableError:
        raise
    except MemoryError:
        raise TableError(f"there is not enough memory to read {name}. Pass fewer rows.") from None
    except (pa.ArrowException, OSError, ValueError, TypeError, LookupError) as error:
        first = str(error).partition("\n")[0]
        raise TableError(f"{name} is a damaged Parquet file ({first}). Copy it again.") from None
    return pd.DataFrame({c: _ordered(part, c in text) for c, part in frame.items()})


def _read(data: bytes, budget: Budget) -> tuple[pd.DataFrame, set[str]]:
    """Return the table as pandas has it, and which columns were text."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    about = pq.ParquetFile(io.BytesIO(data))
    schema = about.schema_arrow
    refuse_twins(schema.names, budget.source)
    needed, longest = _estimate(about)
    budget.check(len(data) + needed)
    # Of text, each distinct one and a number per row are held: a row may take a few bits of the
    # file for a text of a megabyte. Other values of any length are read some rows at a time.
    text = [field.name for field in schema if _is_text(field.type)]
    file = pq.ParquetFile(io.BytesIO(data), read_dictionary=text)
    rows = max(1, min(MOST_ROWS, budget.size // max(longest, 1)))

    def batches() -> Iterator[Any]:
        held = len(data)
        for batch in file.iter_batches(batch_size=rows):
            held += batch.nbytes
            budget.check(held, "unpacks to")
            yield batch

    stored = file.read() if longest == 0 else pa.Table.from_batches(batches(), file.schema_arrow)
    # What pandas noted of its types is left aside: a file of any program is read alike.
    frame = _to_pandas(_without_decimals(stored).replace_schema_metadata(None))
    return _with_index(frame, schema), set(text)


def _to_pandas(table: Any) -> pd.DataFrame:
    """Return a table for pandas; integers and truth values with gaps stay what they are.

    By default they would become floats, in which long identifiers are no longer told apart.
    """
    import pyarrow as pa

    sizes = (8, 16, 32, 64)
    kept: dict[Any, Any] = {pa.bool_(): pd.BooleanDtype()}
    kept |= {getattr(pa, f"int{s}")(): getattr(pd, f"Int{s}Dtype")() for s in sizes}
    kept |= {getattr(pa, f"uint{s}")(): getattr(pd, f"UInt{s}Dtype")() for s in sizes}
    frame: pd.DataFrame = table.to_pandas()
    for c, column in zip(table.column_names, table.columns):
        if column.null_count and column.type in kept:
            frame[c] = table.select([c]).to_pandas(types_mapper=kept.get)[c]
    return frame


def _with_index(frame: pd.DataFrame, schema: Any) -> pd.DataFrame:
    """Return a table whose index, if pandas stored one, is its first columns, or gone if nameless.

    An index that counts rows is not stored, but noted.
    """
    try:
        levels = schema.pandas_metadata["index_columns"]
        known = [c for c in levels if isinstance(c, str) and c in frame]
        counted = [c for c in levels if isinstance(c, dict) and c.get("name") not in (None, *frame)]
        rows = {str(c["name"]): range(c["start"], c["stop"], c["step"]) for c in counted}
        first = {c: pd.Series(values) for c, values in rows.items() if len(values) == len(frame)}
    except (KeyError, TypeError, ValueError, OverflowError):  # none, or of another program
        return frame
    first |= {c: frame[c] for c in known if not NAMELESS.fullmatch(c)}
    return pd.DataFrame({**first, **frame.drop(columns=known)})


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _estimate(file: Any) -> tuple[int, int]:
    """Return the bytes that a file says it takes, and of the longest part that may take more.

    Text counts as a number for each row; values of any length that are no text may be stored once
    and come many times.
    """
    needed, longest = 0, 0
    leaves = [file.schema.column(j) for j in range(len(file.schema))]
    plain = {f.name for f in file.schema_arrow if _is_text(f.type) or _is_plain(f.type)}
    for group in map(file.metadata.row_group, range(file.metadata.num_row_groups)):
        for j, leaf in enumerate(leaves):
            part = group.column(j)
            rows, values = group.num_rows, max(part.num_values, group.num_rows)
            needed += part.total_uncompressed_size + values * (PLAIN + max(leaf.length, 0))
            if leaf.path in plain:
                continue
            is_long = leaf.physical_type == "BYTE_ARRAY"
            needed += OBJECT * (values if is_long else rows)  # a list of numbers is one object
            longest = max(longest, part.total_uncompressed_size * is_long)
    return needed, longest


def _is_plain(kind: Any) -> bool:
    """Whether pandas holds values of an Arrow type in an array of numbers."""
    import pyarrow as pa

    known = pa.types
    if known.is_dictionary(kind):
        return _is_text(kind.value_type)
    timed = known.is_timestamp(kind) or known.is_duration(kind)
    number = known.is_integer(kind) or known.is_floating(kind) or known.is_decimal(kind)
    return bool(timed or number or known.is_boolean(kind))


def _without_decimals(table: Any) -> Any:
    """Return a table whose decimals are integers or floats; longer integers are text, as in CSV."""
    import pyarrow as pa

    for j, column in enumerate(table.columns):
        if pa.types.is_decimal(column.type):
            try:
                whole = column.type.scale <= 0
                column = column.cast(pa.int64() if whole else pa.float64())
            except pa.ArrowInvalid:
                column = column.cast(pa.string())
            table = table.set_column(j, table.column_names[j], column)
    return table


def _ordered(column: pd.Series[Any], is_text: bool) -> pd.Series[Any]:
    """Return a column, whose text is categories in order; those of a file keep their own."""
    if is_text and isinstance(column.dtype, pd.CategoricalDtype):
        used = column.cat.remove_unused_categories()
        return used.cat.reorder_categories(sorted(used.cat.categories))
    return column.astype("category") if type_name(column) == "string" else column
