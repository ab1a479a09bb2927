"""Tables in Markdown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Table:
    """A heading and rows, as Markdown."""

    head: list[str]
    rows: list[list[Any]]

    def __str__(self) -> str:
        lines = [self.head, ["---"] * len(self.head), *self.rows]
        return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)

    def __bool__(self) -> bool:
        return bool(self.rows)
