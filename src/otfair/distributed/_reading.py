"""Dask collections in and out: from their partitions to parts on workers, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from otfair.distributed._parts import Parts

Collection: TypeAlias = Any  # a Dask array, series or data frame


@dataclass(frozen=True)
class Entry:
    """One entry of parts that are dicts, which stands for a collection."""

    parts: Parts
    name: str
    is_table: bool = False  # whether it has columns with names

    def read(self) -> Parts:
        """Return the parts of this entry."""
        return self.parts.map(_entry, self.name)


def is_dask(*values: Any) -> bool:
    """Whether any of a user's arguments is a Dask collection; Dask is not imported to tell."""
    if any(isinstance(value, Entry) for value in values):
        return True
    roots = {type(value).__module__.partition(".")[0] for value in values}
    return bool(roots & {"dask", "dask_expr"})


def is_parted(value: Any) -> bool:
    """Whether rows are on workers: a Dask collection, or parts."""
    return isinstance(value, Parts) or is_dask(value)


def read_parts(given: Mapping[str, Collection]) -> Parts:
    """Return rows of several collections as parts: each a dict of one's own rows by name.

    Parameters
    ----------
    given : mapping of str to Dask collection or None
        Arguments, by what errors call them. Those that are None stay so.

    Returns
    -------
    Parts
        The partitions, kept in the memory of workers (or on their disks).
    """
    collections = {name: value for name, value in given.items() if value is not None}
    for name, value in collections.items():
        if not is_dask(value):
            raise TypeError(
                f"`{name}` is no Dask collection while others are; received "
                f"{type(value).__name__}. Pass all of them from Dask, or none."
            )
    if all(isinstance(value, Entry) for value in collections.values()):
        parts: list[Parts] = [value.read() for value in collections.values()]
        return parts[0].map(_named, list(collections), *parts[1:])
    client = _client()
    first, *others = collections
    leading = _by_rows(collections[first])
    columns = {first: _delayed(leading)}
    for name in others:
        value = _by_rows(collections[name])
        if _chunks(value) != _chunks(leading) and None not in (_chunks(value), _chunks(leading)):
            value = value.rechunk({0: _chunks(leading)})
        columns[name] = _delayed(value)
    blocks = {name: np.ravel(delayed).tolist() for name, delayed in columns.items()}
    for name in others:
        if len(blocks[name]) != len(blocks[first]):
            raise ValueError(
                f"`{name}` has {len(blocks[name])} partitions and `{first}` {len(blocks[first])}; "
                "make both from one collection, or `repartition` or `rechunk` them alike."
            )
    names, one = list(blocks), blocks[first]
    rows = [client.compute([blocks[name][k] for name in names]) for k in range(len(one))]
    futures = client.map(_together, rows, [names] * len(one), pure=False, key="rows")
    sizes = client.gather(client.map(_size, futures, pure=False, key="size"))
    kept = [k for k, size in enumerate(sizes) if size]
    if not kept:
        raise ValueError(f"`{first}` is empty; pass at least one person.")
    return Parts(client, [futures[k] for k in kept], [sizes[k] for k in kept])


def to_dask(parts: Parts, width: int | None = None, dtype: Any = np.float64) -> Collection:
    """Return arrays of rows in parts, (n,) or (n, width), as a Dask array."""
    from dask import array, delayed

    da: Any = array
    tail = () if width is None else (width,)
    blocks = [
        da.from_delayed(delayed(np.asarray)(future), (size, *tail), dtype=dtype)
        for future, size in zip(parts.futures, parts.sizes)
    ]
    return da.concatenate(blocks)


def map_rows(
    function: Callable[[Any], np.ndarray],
    X: Collection,
    width: int | None = None,
    dtype: Any = np.float64,
) -> Collection:
    """Return, lazily, what a function makes of the rows of a collection: a Dask array."""
    if isinstance(X, Entry):
        return Entry(X.parts.map(_applied, X.name, function), X.name)
    from dask import array, delayed

    da: Any = array
    tail = () if width is None else (width,)
    blocks, sizes = np.ravel(_delayed(_by_rows(X))).tolist(), _chunks(_by_rows(X))
    later = delayed(function)
    pieces = [
        da.from_delayed(later(block), (size, *tail), dtype=dtype)
        for block, size in zip(blocks, sizes or [np.nan] * len(blocks))
    ]
    return da.concatenate(pieces, allow_unknown_chunksizes=True)


def _client() -> Any:
    try:
        import distributed
    except ImportError:
        raise ImportError(
            "rows of Dask collections stay on workers, which takes `distributed`: install "
            "`otfair[dask]`."
        ) from None
    module: Any = distributed
    try:
        return module.default_client()
    except ValueError:
        raise ValueError(
            "no Dask cluster is connected; make a client first: "
            "`from distributed import Client; client = Client()` for this machine, or "
            "`Client(address)` for a scheduler."
        ) from None


def _by_rows(value: Collection) -> Collection:
    """Return a collection whose partitions are of rows, with all columns each."""
    if hasattr(value, "rechunk") and value.ndim == 2 and value.numblocks[1] > 1:
        return value.rechunk({1: -1})
    return value


def _delayed(value: Collection) -> Any:
    """Return the partitions; Dask's optimiser would join small files for some columns only."""
    if hasattr(value, "rechunk"):
        return value.to_delayed()
    return value.to_delayed(optimize_graph=False)


def _chunks(value: Collection) -> tuple[int, ...] | None:
    """Return the numbers of rows of an array's partitions; None where nobody knows them yet."""
    chunks = getattr(value, "chunks", None)
    if chunks is None or any(np.isnan(size) for size in chunks[0]):
        return None
    return tuple(chunks[0])


def _entry(rows: dict[str, Any], name: str) -> Any:
    return rows[name]


def _named(first: Any, names: list[str], *others: Any) -> dict[str, Any]:
    return dict(zip(names, (first, *others)))


def _applied(rows: dict[str, Any], name: str, function: Callable[[Any], Any]) -> dict[str, Any]:
    return {name: function(rows[name])}


def _together(columns: list[Any], names: list[str]) -> dict[str, Any]:
    """Join one partition of each collection."""
    sizes = {name: len(column) for name, column in zip(names, columns)}
    if len(set(sizes.values())) > 1:
        raise ValueError(
            f"Dask collections must have their rows in the same partitions; one has {sizes} rows. "
            "Make them from one collection, or `repartition` or `rechunk` them alike."
        )
    return dict(zip(names, columns))


def _size(rows: dict[str, Any]) -> int:
    return len(next(iter(rows.values())))
