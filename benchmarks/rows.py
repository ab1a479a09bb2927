"""A CSV of measurements that grows row by row: what is in it is not measured again.

The file is replaced in one step, so that a run that is stopped loses nothing and goes on where it
was. Rows name the last commit that changed the library, and the day.
"""

from __future__ import annotations

import datetime
import fcntl
import subprocess
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

HERE = Path(__file__).parent


@cache
def stamp() -> dict[str, str]:
    """Return the last commit that changed the library, with a + if files differ, and the day."""

    def git(*command: str) -> str:
        asked = ["git", *command, "--", "../src"]
        return subprocess.run(asked, cwd=HERE, capture_output=True, text=True).stdout.strip()

    commit = git("log", "-1", "--format=%h") + ("+" if git("status", "--porcelain") else "")
    return {"commit": commit or "unknown", "date": str(datetime.date.today())}


class Rows:
    """The rows of a file, told apart by the columns of a key; one key may have several rows.

    Several processes may add to one file: who writes takes what others have written first.
    """

    def __init__(self, path: Path, key: Iterable[str]) -> None:
        self.path, self.key = path, list(key)
        self._known = {tuple(row[k] for k in self.key) for row in self._read()}

    def __contains__(self, key: tuple[Any, ...]) -> bool:
        return key in self._known

    def add(self, *rows: Mapping[str, Any]) -> None:
        """Add rows, of one key or of several, and replace the file."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            every = [*self._read(), *({**row, **stamp()} for row in rows)]
            frame = pd.DataFrame(every).sort_values(self.key, kind="stable")
            part = self.path.with_suffix(".part")
            frame.to_csv(part, index=False, float_format="%.6g")
            part.replace(self.path)
        self._known |= {tuple(row[k] for k in self.key) for row in rows}

    def _read(self) -> list[dict[str, Any]]:
        return pd.read_csv(self.path).to_dict("records") if self.path.exists() else []
