"""A CSV of measurements that grows row by row: what is in it is not measured again.

The file is replaced in one step, so that a run that is stopped loses nothing and goes on where it
was. Rows name the last commit that changed the library, and the day.
"""

from __future__ import annotations

import datetime
import subprocess
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

HERE = Path(__file__).parent


@cache
def stamp() -> dict[str, str]:
    """Return the last commit that changed the library, and the day."""
    asked = ["git", "log", "-1", "--format=%h", "--", "../src"]
    commit = subprocess.run(asked, cwd=HERE, capture_output=True, text=True).stdout.strip()
    return {"commit": commit or "unknown", "date": str(datetime.date.today())}


class Rows:
    """The rows of a file, told apart by the columns of a key; one key may have several rows."""

    def __init__(self, path: Path, key: Iterable[str]) -> None:
        self.path, self.key = path, list(key)
        self.rows: list[dict[str, Any]] = []
        if path.exists():
            self.rows = pd.read_csv(path).to_dict("records")
        self._known = {tuple(row[k] for k in self.key) for row in self.rows}

    def __contains__(self, key: tuple[Any, ...]) -> bool:
        return key in self._known

    def add(self, *rows: Mapping[str, Any]) -> None:
        """Add rows, of one key or of several, and replace the file."""
        for row in rows:
            self.rows.append({**row, **stamp()})
            self._known.add(tuple(row[k] for k in self.key))
        self.path.parent.mkdir(parents=True, exist_ok=True)
        part = self.path.with_suffix(".part")
        frame = pd.DataFrame(self.rows).sort_values(self.key, kind="stable")
        frame.to_csv(part, index=False, float_format="%.6g")
        part.replace(self.path)
