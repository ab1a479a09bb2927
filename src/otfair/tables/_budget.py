"""What a table may take in memory, and the error for one that can't be read."""

from __future__ import annotations

from dataclasses import dataclass

from otfair._io.memory import machine_memory, say_size

SHARE = 0.5  # of the memory there is, where no budget is given


class TableError(ValueError):
    """A table that can't be read, or lacks what was asked of it; the message says what to do."""


@dataclass(frozen=True)
class Budget:
    """Memory that a table may take while it is read and as it is held."""

    source: str  # what to call the table
    size: int  # bytes

    def check(self, needed: float, what: str = "takes") -> None:
        """Raise where a table needs more bytes than it may take."""
        if needed > self.size:
            raise TableError(
                f"{self.source} {what} at least {say_size(needed)}, more than the "
                f"{say_size(self.size)} of memory that a table may take. Pass fewer rows or "
                "columns, or allow more with --max-memory."
            )


def budget_for(source: str, max_memory: int | None = None) -> Budget:
    """Return the budget of a table: what is allowed, or half of the memory there is."""
    return Budget(source, int(SHARE * machine_memory()) if max_memory is None else max_memory)
