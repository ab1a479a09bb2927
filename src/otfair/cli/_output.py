"""Output that is there as a whole or not at all, and never in somebody else's place."""

from __future__ import annotations

import contextlib
import gzip
import json
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from otfair._io.files import replacing
from otfair._io.folders import OVERHEAD, is_ours, publishing
from otfair._io.rendering import csv_text, to_json
from otfair.cli._options import NO_ROOM
from otfair.tables import TableError, shown

PARQUET = (".parquet", ".pq")


@contextlib.contextmanager
def output_folder(target: Path, names: tuple[str, ...], force: bool) -> Iterator[Path]:
    """Yield a new folder whose files go to `target` at the end, if nothing goes wrong.

    `names` are those of the files that a command may write. The first is its record, by which the
    folder of an earlier run is known; files of other names stay as they are.
    """
    target = target.expanduser()
    with _writing(target):
        _check(target, names, force)
        with publishing(target, names) as folder:
            yield folder
            assert {file.name for file in folder.iterdir()} <= set(names)


def _check(target: Path, names: tuple[str, ...], force: bool) -> None:
    record = names[0]
    if target.is_dir():
        if folders := [target / name for name in names if (target / name).is_dir()]:
            raise TableError(f"{folders[0]} is a folder; choose another one with -o.")
        lost = {file.name for file in target.iterdir() if is_ours(file) and not file.exists()}
        others = {file.name for file in target.iterdir()} - OVERHEAD - lost
        if others and not _is_record(target / record) and not force:
            raise TableError(
                f"{target} holds other files, and no {record} of an earlier run. Choose another "
                "folder with -o, or pass --force to write into it."
            )
    elif target.exists():
        raise TableError(f"{target} is a file; choose a folder with -o.")


def _is_record(path: Path) -> bool:
    try:
        return "otfair" in json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError):
        return False


@contextlib.contextmanager
def output_file(target: Path, *inputs: str) -> Iterator[Path]:
    """Yield the path of a new file that replaces `target` at the end, if nothing goes wrong."""
    target = target.expanduser()
    for given in inputs:
        if target.exists() and Path(given).exists() and target.samefile(given):
            raise TableError(f"{target} is the table that is read; choose another file with -o.")
    if target.is_dir():
        raise TableError(f"{target} is a folder; name a file in it with -o.")
    with _writing(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        with replacing(target) as part:
            yield part


@contextlib.contextmanager
def _writing(target: Path) -> Iterator[None]:
    """Say of what can't be written that it is the output, and what to do about it."""
    try:
        yield
    except OSError as error:
        ours, place = (Path(os.path.realpath(path)) for path in (target, str(error.filename)))
        if error.errno is None or not (ours.is_relative_to(place) or place.is_relative_to(ours)):
            raise  # of what is read
        remedy = "Make room there, or choose" if error.errno in NO_ROOM else "Choose"
        raise TableError(
            f"can't write to {target} ({error.strerror}). {remedy} another -o."
        ) from error


def is_parquet(path: Path) -> bool:
    """Whether a table is written there as Parquet, and not as CSV."""
    return path.suffix in PARQUET


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """Write CSV, gzipped or not, or Parquet, as the suffix says."""
    if not is_parquet(path):
        packed = gzip.open if path.suffix == ".gz" else open
        with packed(path, "wt", encoding="utf-8", newline="") as file:
            file.write(csv_text(frame))
        return
    try:
        # As bytes: pyarrow itself opens no name that is not UTF-8, and old pandas has it do so.
        path.write_bytes(frame.to_parquet(index=False, engine="pyarrow"))
    except ImportError:
        raise TableError(
            "Parquet needs pyarrow. Install it with `pip install pyarrow`, or write CSV."
        ) from None


def write_json(path: Path, data: dict[str, Any]) -> None:
    """Write a JSON file for people to read."""
    path.write_text(to_json(data, indent=2) + "\n", encoding="utf-8")


def text_table(frame: pd.DataFrame) -> str:
    """Lay out a table for a terminal: text to the left, numbers with four digits to the right."""
    cells = {str(c): [str(c), *map(_cell, frame[c])] for c in frame}
    numeric = {str(c): pd.api.types.is_numeric_dtype(frame[c]) for c in frame}
    for name, column in cells.items():
        width, side = max(map(len, column)), ">" if numeric[name] else "<"
        cells[name] = [f"{text:{side}{width}}" for text in column]
    rows = ["  ".join(row).rstrip() for row in zip(*cells.values())]
    return "\n".join([rows[0], "-" * max(map(len, rows)), *rows[1:]])


def _cell(value: Any) -> str:
    if isinstance(value, float):
        if math.isnan(value):
            return "-"
        return f"{value:.4f}" if value == 0 or 1e-3 <= abs(value) < 1e4 else f"{value:.2e}"
    return shown(str(value))
