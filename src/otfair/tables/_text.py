"""Values and names as text for people to read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def shown(text: str) -> str:
    """Return text for a terminal, where line ends and control characters are spelled out."""
    return text if text.isprintable() else repr(text)


def plain_text(value: Any) -> str:
    """Return a value as text; a whole number has no point, whatever type a gap made of it."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def listed(values: Sequence[Any]) -> str:
    """Return the first five values for a message."""
    return ", ".join(map(repr, values[:5])) + (", ..." if len(values) > 5 else "")
