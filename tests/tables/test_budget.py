"""Files that unpack to far more than their size: read within a budget, or refused."""

from __future__ import annotations

import gzip
import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from otfair._io import memory
from otfair._io.memory import machine_memory, read_size, say_size
from otfair.tables._read import TableError, read_table

MB = 1 << 20


def stored(column: pa.Array, **options) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table({"a": column}), out, **options)
    return out.getvalue()


BOMBS = {  # each of far more than 30 MB
    "numbers": lambda: stored(pa.nulls(4_000_000, pa.int8()).fill_null(0)),
    "lists": lambda: stored(pa.ListArray.from_arrays(range(51), pa.array(["z" * MB] * 50))),
    "binary": lambda: stored(pa.array([b"z" * MB] * 50)),
    "fixed width": lambda: stored(pa.array([bytes(MB)] * 50, pa.binary(MB))),
    "gzipped CSV": lambda: gzip.compress(b"a,b\n" + b"1,2\n" * 8_000_000, 1),
    "many fields": lambda: gzip.compress(b"a,b,c,d\n" + b"1,2,3,4\n" * 600_000, 1),
    "empty lines": lambda: gzip.compress(b"a,b\n1,2\n" + b"\n" * 32_000_000, 1),
    "gzipped Parquet": lambda: gzip.compress(stored(pa.array(bytes(MB) for _ in range(40))), 1),
    "plain CSV": lambda: b"a,b\n" + b"1,2\n" * 8_000_000,
}


@pytest.mark.parametrize("kind", BOMBS)
def test_what_takes_more_than_the_budget_is_refused(tmp_path, kind):
    (tmp_path / "bomb").write_bytes(BOMBS[kind]())
    with pytest.raises(TableError, match=r"than the 30 MB of memory .* --max-memory") as error:
        read_table(tmp_path / "bomb", max_memory=30 * MB)
    assert "\n" not in str(error.value)


def test_a_stream_that_never_ends_is_refused():
    with pytest.raises(TableError, match="--max-memory"):
        read_table("/dev/zero", max_memory=MB)


def test_text_that_is_stored_once_is_held_once(tmp_path):
    # Two texts of 100 KB for each of 200 000 people: 20 GB, were each to have a copy.
    codes = pa.nulls(200_000, pa.int32()).fill_null(0).to_numpy(zero_copy_only=False).copy()
    codes[7] = 1
    column = pa.DictionaryArray.from_arrays(codes, ["z" * 100_000, "a" * 100_000])
    (tmp_path / "t").write_bytes(stored(column, store_schema=False))
    frame = read_table(tmp_path / "t", max_memory=30 * MB).frame
    assert [text[0] for text in frame["a"].cat.categories] == ["a", "z"]
    assert frame["a"].cat.codes.tolist()[5:9] == [1, 1, 0, 1]


def test_a_table_within_its_budget_is_read(tmp_path):
    (tmp_path / "t").write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 100_000))
    assert read_table(tmp_path / "t", max_memory=30 * MB).frame.shape == (100_000, 2)


def test_amounts_of_memory():
    assert [read_size(t) for t in ("512", "1K", "1.5 MB", "4GiB", "2g")] == [
        512, 1024, 3 * MB // 2, 4 << 30, 2 << 30,
    ]  # fmt: skip
    for text in ("", "GB", "-1", "0", "4 apples", "nan", "1e9", "9" * 400):
        with pytest.raises(ValueError, match="amount of memory"):
            read_size(text)
    assert [say_size(n) for n in (0, 1000, 1536, 4 << 30)] == [
        "0 bytes", "1000 bytes", "1.5 KB", "4 GB",
    ]  # fmt: skip


def test_the_memory_of_a_container_counts(tmp_path, monkeypatch):
    there = machine_memory()
    assert there > 64 * MB
    (tmp_path / "max").write_text("max\n")
    (tmp_path / "limit").write_text(f"{64 * MB}\n")
    monkeypatch.setattr(memory, "LIMITS", (tmp_path / "max", tmp_path / "none"))
    assert machine_memory() >= there
    monkeypatch.setattr(memory, "LIMITS", (tmp_path / "max", tmp_path / "limit"))
    assert machine_memory() == 64 * MB
