"""Text from tables and file names, such that a terminal or a log shows it and never obeys it."""

from __future__ import annotations

import re
from typing import IO, Any

# Controls of ASCII and after it, ends of lines and paragraphs, what turns the direction of writing,
# and halves of characters, which stand for bytes of file names that are no UTF-8.
OBEYED = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
CURSOR = re.compile(r"(\r|\n|\x1b\[A)+")  # all that moves progress bars


def visible(text: str, keep: str = "") -> str:
    r"""Spell out what a terminal would obey, `keep` apart.

    Examples
    --------
    >>> print(visible("age\x1b[2J"))
    age\x1b[2J
    """
    return OBEYED.sub(lambda found: found[0] if found[0] in keep else _spelled(found[0]), text)


def visible_json(text: str) -> str:
    r"""Spell out in JSON what a terminal would obey; it means the same.

    Examples
    --------
    >>> print(visible_json('"a\x9b"'))
    "a\u009b"
    """
    return OBEYED.sub(
        lambda found: found[0] if found[0] == "\n" else f"\\u{ord(found[0]):04x}", text
    )


def _spelled(character: str) -> str:
    byte = ord(character) - 0xDC00  # by which Python stands for a byte that is no text
    return f"\\x{byte:02x}" if 0x80 <= byte <= 0xFF else repr(character)[1:-1]


class VisibleStream:
    """A stream of text that spells out what a terminal would obey, but for lines and bars."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write text, spelled out; a bar begins with a carriage return."""
        if not CURSOR.fullmatch(text):
            begin = text[: text.startswith("\r")]
            text = begin + visible(text[len(begin) :], "\n\t")
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
