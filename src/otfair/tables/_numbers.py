"""Columns of text as numbers where every value is one, and what keeps a column from being so."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "?")  # not "None", which names a value
# What is missing in a column of numbers, whatever its case.
GAPS = {"-", "--", ".", "n.a.", "n/a", "#n/a", "na", "nan", "none", "null", "unknown", "missing"}
CODES = 10  # numbers: of so few, each may name a group, and "unknown" another one
MOST = 0.9  # of the values
LOOKED_AT = 1000  # distinct values that are no numbers, to see how they are written
LARGEST_WHOLE = 2**53  # beyond it, floats skip integers
WHOLE = re.compile(r"[+-]?(?:0|[1-9][0-9]*)")
CODE = re.compile(r"0[0-9]+")
NUMBER = re.compile(
    r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?|[+-]?inf(?:inity)?", re.I
)
COMMAS = "have a decimal comma; pass `--decimal ,` to have numbers"
POINTS = "have a decimal point; leave `--decimal ,` out to have numbers"
WRITTEN = {  # with "." for decimals
    r"[+-]?[0-9][0-9.,]* ?%": "are percentages; remove the % to have numbers",
    r"[+-]?[1-9][0-9]{0,2}(?:[,' ][0-9]{3})+(?:\.[0-9]+)?": (
        "have separators of thousands; remove these to have numbers"
    ),
    r"[+-]?[0-9]*,[0-9]+": COMMAS,
    r"-?[$€£¥] ?-?[0-9][0-9.,' ]*|-?[0-9][0-9.,' ]* ?[$€£¥]": (
        "are amounts of money; remove signs and separators of thousands to have numbers"
    ),
}


def typed(
    codes: np.ndarray, distinct: Sequence[str], decimal: str, lines: np.ndarray
) -> tuple[pd.Series[Any], str]:
    """Turn text into numbers if every value is one, else into categories; say what nearly is.

    `codes`, (n,), says which of the distinct texts each row has, and `lines`, (n,), where it is.
    """
    texts = [text.strip() for text in distinct]
    # With a decimal comma a point separates thousands, as a comma does otherwise.
    swap = str.maketrans({",": ".", ".": ","})
    written = texts if decimal == "." else [text.translate(swap) for text in texts]
    plain = {text: number for text, number in zip(texts, written) if text not in MISSING}
    odd = {text: number for text, number in plain.items() if not NUMBER.fullmatch(number)}
    remark = ""
    if odd:
        rows = np.array([text in odd for text in texts])[codes]
        example = _first(rows, codes, texts, lines)
        known = np.array([text in plain for text in texts])[codes]
        if len(plain) - len(odd) > CODES and all(text.casefold() in GAPS for text in odd):
            remark = f"{rows.sum()} of {len(codes)} values count as missing, such as {example}"
            plain = {text: number for text, number in plain.items() if text not in odd}
            odd = {}
        else:
            remark = _oddity([*odd.values()], example, known.sum(), rows.sum(), decimal)
    if plain and not odd:
        whole = all(WHOLE.fullmatch(text) for text in plain.values())
        if not whole or all(abs(float(text)) < LARGEST_WHOLE for text in plain.values()):
            numbers = np.array([float(plain.get(text, "nan")) for text in texts])
            values = numbers[codes]
            if np.isinf(numbers).any():
                remark = "; ".join(filter(None, [remark, _huge(numbers, codes, texts, lines)]))
            exact = whole and not np.isnan(values).any()
            return pd.Series(values.astype(np.int64) if exact else values), remark
    names = sorted(plain)
    place = {text: code for code, text in enumerate(names)}
    moved = np.array([place.get(text, -1) for text in texts], dtype=np.int64)[codes]
    kept = pd.Categorical.from_codes(moved, pd.Index(names, dtype=object))
    return pd.Series(kept), remark


def percentages(text: str) -> str:
    """Say what to do with scores such as "74.8%", or nothing."""
    looks = text.strip().endswith("%")
    return "They look like percentages: remove the % and divide them by 100." * looks


def _first(rows: np.ndarray, codes: np.ndarray, texts: list[str], lines: np.ndarray) -> str:
    """Return the value of the first of these rows, and where it is."""
    row = int(rows.argmax())
    return f"{texts[codes[row]]!r} (line {lines[row]})"


def _huge(numbers: np.ndarray, codes: np.ndarray, texts: list[str], lines: np.ndarray) -> str:
    """Say which values are infinite though they are not written "inf", if any are."""
    rows = (np.isinf(numbers) & ["n" not in text.casefold() for text in texts])[codes]
    if not rows.any():
        return ""
    example = _first(rows, codes, texts, lines)
    return (
        f"{rows.sum()} of {len(rows)} values are too large and count as infinite, such as {example}"
    )


def _oddity(odd: list[str], example: str, known: int, rows: int, decimal: str) -> str:
    """Say what keeps a column from being numbers, and what to do; nothing if it is far from it."""
    some = odd[:LOOKED_AT]
    for pattern, what in WRITTEN.items():
        if sum(bool(re.fullmatch(pattern, text)) for text in some) >= MOST * len(some):
            what = POINTS if what is COMMAS and decimal == "," else what
            return f"values such as {example} {what}"
    if known - rows < MOST * known or all(CODE.fullmatch(text) for text in odd):
        return ""
    others = f" and {rows - 1} others are not" if rows > 1 else " is not"
    return (
        f"{known - rows} of {known} values are numbers, {example}{others}, so that it is read as "
        "text; mend these, or leave them empty where they are not known"
    )
