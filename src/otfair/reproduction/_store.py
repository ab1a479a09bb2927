"""Where results are kept: one SQLite row per run, merged from other stores and from CSV.

A row is written when its run is done (in the full protocol, when the strengths that are trained one
from another are), in one transaction, so that a killed process loses only what it was at. A run
whose row is there is never made again.
"""

from __future__ import annotations

import contextlib
import csv
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import Any, Self, get_type_hints

from otfair._io.files import replacing
from otfair.reproduction._plan import Run

FIELDS = ("run", "metrics", "seconds", "versions", "finished", "error")
TABLE = """
CREATE TABLE IF NOT EXISTS runs (
    key TEXT PRIMARY KEY, run TEXT NOT NULL, metrics TEXT NOT NULL, seconds REAL NOT NULL,
    versions TEXT NOT NULL, finished TEXT NOT NULL, error TEXT NOT NULL
)
"""
ADD = f"""
INSERT INTO runs VALUES (?, {", ".join("?" * len(FIELDS))}) ON CONFLICT (key) DO UPDATE
SET {", ".join(f"{name}=excluded.{name}" for name in FIELDS)} WHERE runs.error != ''
"""
READ = f"SELECT key, {', '.join(FIELDS)} FROM runs ORDER BY key"
# Columns of the CSV: the settings, and how the text of each is read; then the rest about a run.
SETTINGS: dict[str, Callable[[str], object]] = get_type_hints(Run) | {
    "columns": lambda text: tuple(text.split("+")) if text else ()
}
ABOUT = ("seconds", "finished", "versions")


@dataclass(frozen=True)
class Result:
    """What came of a run."""

    run: Run
    metrics: dict[str, Any]  # by name: numbers, or lists of them
    seconds: float
    versions: dict[str, str]  # of Python and the libraries
    finished: str  # date and time, UTC
    error: str = ""  # what went wrong


class Store:
    """Results in one SQLite file; a context manager."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with contextlib.ExitStack() as stack:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                self._db = stack.enter_context(
                    contextlib.closing(sqlite3.connect(path, timeout=60))
                )
                self._db.execute("PRAGMA journal_mode=WAL")
                with self._db:
                    self._db.execute(TABLE)
            except (sqlite3.Error, OSError) as error:
                raise ValueError(
                    f"{path} can't be used as a store of runs ({error}). Choose another folder, or "
                    "move the file away and pass its CSV, if there is one, to `--take`."
                ) from None
            stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    def add(self, results: Iterable[Result]) -> None:
        """Keep results, all or none; one that succeeded replaces one that failed."""
        rows = [_row(result) for result in results]
        try:
            with self._db:
                self._db.executemany(ADD, rows)
        except sqlite3.Error as error:
            raise OSError(
                f"{self.path} can't be written to ({error}). What it holds is safe; make room "
                "there, or take it to another folder with `--take`."
            ) from None

    def done(self) -> set[str]:
        """Keys of the runs that succeeded."""
        return {key for (key,) in self._db.execute("SELECT key FROM runs WHERE error = ''")}

    def __iter__(self) -> Iterator[Result]:
        return (_result(*row) for row in self._db.execute(READ))

    def merge(self, other: Path) -> int:
        """Take what another store or CSV has and this one lacks; returns how many runs."""
        before = self.done()
        try:
            results = read_csv(other) if other.suffix == ".csv" else read_store(other)
        except (sqlite3.Error, KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"{other} holds no results that can be read ({error}); pass a store (runs.sqlite) "
                "or its CSV, as `otfair reproduce` writes them."
            ) from None
        self.add(results)
        return len(self.done() - before)

    def write_csv(self, path: Path) -> None:
        """Write every run that succeeded, a column for each setting and metric."""
        results = sorted((r for r in self if not r.error), key=lambda r: astuple(r.run))
        metrics = sorted({name for r in results for name in r.metrics})
        with replacing(path) as part, part.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, [*SETTINGS, *ABOUT, *metrics], lineterminator="\n")
            writer.writeheader()
            writer.writerows(_flat(result) for result in results)


def read_store(path: Path) -> list[Result]:
    """Read a store without changing it."""
    with contextlib.closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as db:
        return [_result(*row) for row in db.execute(READ)]


def read_csv(path: Path) -> list[Result]:
    """Read what `write_csv` wrote."""
    before = csv.field_size_limit(10**8)  # of the process, and left as it was
    try:
        with path.open(newline="", encoding="utf-8") as file:
            return [_unflat(row) for row in csv.DictReader(file)]
    finally:
        csv.field_size_limit(before)


def _flat(result: Result) -> dict[str, Any]:
    row = asdict(result.run) | {"columns": "+".join(result.run.columns)}
    row |= {"seconds": round(result.seconds, 3), "finished": result.finished}
    row["versions"] = " ".join(f"{name}={v}" for name, v in result.versions.items())
    # Metrics are JSON: numbers, true and false, lists.
    return row | {name: json.dumps(value) for name, value in result.metrics.items()}


def _unflat(row: dict[str, str]) -> Result:
    settings: dict[str, Any] = {name: kind(row.pop(name)) for name, kind in SETTINGS.items()}
    seconds, finished, versions = (row.pop(name) for name in ABOUT)
    metrics = {name: json.loads(text) for name, text in row.items() if text}
    pairs = (pair.partition("=") for pair in versions.split())
    about = float(seconds), {k: v for k, _, v in pairs}, finished
    return Result(Run(**settings), metrics, *about)


def _row(result: Result) -> tuple[Any, ...]:
    parts = (asdict(result.run), result.metrics, result.versions)
    run, metrics, versions = (json.dumps(part, sort_keys=True) for part in parts)
    seconds = round(result.seconds, 3)
    return result.run.key, run, metrics, seconds, versions, result.finished, result.error


def _result(
    key: str, run: str, metrics: str, seconds: float, versions: str, finished: str, error: str
) -> Result:
    settings = json.loads(run)
    made = Run(**settings | {"columns": tuple(settings["columns"])})
    if made.key != key:
        raise ValueError(
            f"the store has a run under {key} whose configuration is {made}; the file was "
            "changed by hand, or comes from another version. Start with a new store."
        )
    return Result(made, json.loads(metrics), seconds, json.loads(versions), finished, error)
