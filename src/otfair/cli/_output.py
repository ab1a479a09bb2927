"""Output that is there as a whole or not at all, and never in somebody else's place."""

from __future__ import annotations

import contextlib
import json
import math
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from otfair._io.files import replacing, unfinished_path
from otfair._io.rendering import to_json
from otfair.tables import TableError, shown

PARQUET = (".parquet", ".pq")


@contextlib.contextmanager
def output_folder(target: Path, names: tuple[str, ...], force: bool) -> Iterator[Path]:
    """Yield a new folder whose files go to `target` at the end, if nothing goes wrong.

    `names` are those of the files that a command may write. The first is its record, by which the
    folder of an earlier run is known; files of other names stay as they are.
    """
    target = target.expanduser()
    _check(target, names, force)
    stage = unfinished_path(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        stage.mkdir()
    except OSError as error:
        raise _unwritable(target, error) from None
    try:
        yield stage
        try:
            _publish(stage, target, names)
        except OSError as error:
            raise _unwritable(target, error) from None
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _check(target: Path, names: tuple[str, ...], force: bool) -> None:
    record = names[0]
    if target.is_dir():
        if folders := [target / name for name in names if (target / name).is_dir()]:
            raise TableError(f"{folders[0]} is a folder; choose another one with -o.")
        if any(target.iterdir()) and not _is_record(target / record) and not force:
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


def _publish(stage: Path, target: Path, names: tuple[str, ...]) -> None:
    if not target.exists():
        stage.rename(target)
        return
    staged = {file.name for file in stage.iterdir()}
    assert staged <= set(names), staged
    kept = unfinished_path(target)
    kept.mkdir()
    moves = [(target / name, kept / name) for name in names if (target / name).exists()]
    # The record comes last: without it nothing reads the folder.
    moves += [(stage / name, target / name) for name in reversed(names) if name in staged]
    try:
        with contextlib.ExitStack() as undo:
            for source, destination in moves:
                source.replace(destination)
                undo.callback(destination.replace, source)
            undo.pop_all()
    except BaseException as error:
        with contextlib.suppress(OSError):
            kept.rmdir()
        if kept.exists():
            raise OSError(f"{error}; what was there before is in {kept}") from None
        raise
    shutil.rmtree(kept, ignore_errors=True)


@contextlib.contextmanager
def output_file(target: Path, *inputs: str) -> Iterator[Path]:
    """Yield the path of a new file that replaces `target` at the end, if nothing goes wrong."""
    target = target.expanduser()
    for given in inputs:
        if target.exists() and Path(given).exists() and target.samefile(given):
            raise TableError(f"{target} is the table that is read; choose another file with -o.")
    if target.is_dir():
        raise TableError(f"{target} is a folder; name a file in it with -o.")
    with contextlib.ExitStack() as stack:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            part = stack.enter_context(replacing(target))
        except OSError as error:
            raise _unwritable(target, error) from None
        yield part


def _unwritable(target: Path, error: OSError) -> TableError:
    return TableError(f"can't write to {target} ({error.strerror or error}). Choose another -o.")


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """Write CSV, gzipped or not, or Parquet, as the suffix says."""
    if path.suffix not in PARQUET:
        frame.to_csv(path, index=False, compression="gzip" if path.suffix == ".gz" else None)
        return
    try:
        frame.to_parquet(path, index=False, engine="pyarrow")
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
