"""Values and names as text for people to read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any


def nearest(name: str, names: Iterable[str] | Mapping[str, str]) -> str:
    """Return ", did you mean 'x'?" for the nearest name, or what stands for it, or nothing."""
    called = names if isinstance(names, Mapping) else {n: n for n in names}
    folded = {n.casefold(): shown for n, shown in called.items()}
    close = get_close_matches(name.casefold(), folded, n=1, cutoff=0.6)
    return f", did you mean {folded[close[0]]!r}?" if close else ""


def shown(text: str) -> str:
    """Return text for a terminal, where line ends and control characters are spelled out."""
    return text if text.isprintable() else repr(text)


def plain_text(value: Any) -> str:
    """Return a value as text; a whole number has no point, whatever type a gap made of it."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def listed(values: Sequence[Any]) -> str:
    """Return the first five values for a message."""
    return ", ".join(map(repr, values[:5])) + (", ..." if len(values) > 5 else "")
