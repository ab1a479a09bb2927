"""What a terminal would obey is spelled out, and means the same to programs."""

from __future__ import annotations

import io
import json

import pytest

from otfair._io.rendering import to_json
from otfair._io.visible import VisibleStream, visible, visible_json

OBEYED = ["\x1b[2J", "\x07", "\x9b31m", "\x7f", "\r", "\u202e", "\u2066", "\u2028", "\udcff"]


@pytest.mark.parametrize("text", OBEYED, ids=ascii)
def test_what_is_obeyed_is_spelled_out(text):
    said = visible(f"a{text}b")
    assert said.isprintable()
    assert said.isascii()
    assert said[1] == "\\"
    spelled = visible_json(json.dumps(text, ensure_ascii=False))
    assert spelled.isprintable()
    assert json.loads(spelled) == text
    assert json.loads(to_json({text: text}, indent=2)) == {text: text}


def test_other_text_stays():
    text = "Größe, 性別, जाति\n\u200cنیم\t👩🏽\u200d🎓\xa0x"
    assert visible(text, "\n\t") == text
    assert visible("a\udcff") == "a\\xff"  # a byte of a file name


def test_bars_move_on_a_stream_that_text_can_not_move():
    heard = io.StringIO()
    stream = VisibleStream(heard)
    for text in ("\rfit: \r\x1b[A", "\n", "\x1b[A\x1b[A", "\r"):
        stream.write(text)
    assert heard.getvalue() == "\rfit: \\r\\x1b[A\n\x1b[A\x1b[A\r"
    assert stream.isatty() is False
