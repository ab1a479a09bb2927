"""People counted by category: who has one, who has none, and which one that may be."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from otfair._io.arrays import ArgumentError
from otfair.tables import MAX_GROUPS, label_values, plain_text

#: Words that stand for a category that nobody knows, whatever their case.
UNKNOWN_WORDS = (
    "", "?", "-", "n/a", "unknown", "not known", "missing", "null", "nan", "unspecified",
    "not specified", "not stated", "not provided", "not reported", "not disclosed", "undisclosed",
    "not answered", "no answer", "no response", "did not answer", "refused", "declined",
    "decline to answer", "declined to answer", "decline to state", "declined to state",
    "decline to identify", "decline to self-identify", "choose not to disclose",
    "choose not to identify", "prefer not to say", "prefer not to answer",
    "prefer not to disclose", "i prefer not to answer", "i do not wish to answer",
    "i don't wish to answer", "invalid", "do not wish to answer",
)  # fmt: skip
SEVERAL = re.compile(r"\s*(?:[/,;]|\bor\b)\s*")  # what stands between words
EMPTY = "(empty)"  # how a missing value is called


@dataclass(frozen=True)
class Categories:
    """One attribute of the people: its categories that were seen, and who has which."""

    name: str
    names: tuple[str, ...]
    codes: np.ndarray  # (n,) which of `names`; -1 where nobody knows
    unknown: dict[str, int]  # what was taken for unknown, and of how many people


@dataclass(frozen=True)
class Unknown:
    """People who may be in any of some categories: how many, and how many are selected."""

    cells: tuple[int, ...]
    people: int
    selected: int


@dataclass(frozen=True)
class Counts:
    """People and selected people of each category, and those of unknown category.

    A category of several attributes is a cell, such as ("female", "white"). Cells are those of
    which somebody is known.
    """

    names: tuple[str, ...]  # of the attributes
    cells: tuple[tuple[str, ...], ...]
    people: np.ndarray  # (K,)
    selected: np.ndarray  # (K,)
    unknown: tuple[Unknown, ...]
    outside: int  # unknown people who fit none of the cells
    outside_selected: int

    def __len__(self) -> int:
        return len(self.cells)

    @property
    def unknown_people(self) -> int:
        """Number of people of unknown category."""
        return self.outside + sum(some.people for some in self.unknown)

    @property
    def unknown_selected(self) -> int:
        """How many of them are selected."""
        return self.outside_selected + sum(some.selected for some in self.unknown)

    @property
    def shares(self) -> np.ndarray:
        """Share of each category among people of known category, (K,)."""
        return self.people / max(int(self.people.sum()), 1)


def read_categories(
    column: pd.Series[Any], argument: str, unknown: Iterable[str] = UNKNOWN_WORDS
) -> Categories:
    """Read an attribute; blanks around a name don't count, and some words mean unknown."""
    words = {word.strip().casefold() for word in unknown}
    codes, found = pd.factorize(column.astype(object))  # few values, many people
    if any(pd.api.types.is_list_like(value) for value in found):
        raise ArgumentError(argument, "holds lists, where each person needs one category.")
    texts = [plain_text(value).strip() for value in found]
    known = [text for text in dict.fromkeys(texts) if not _is_unknown(text, words)]
    if not known:
        raise ArgumentError(
            argument,
            f"has no known category: all of {len(column)} people are unknown. Check that it is "
            "the right column.",
        )
    if len(known) > MAX_GROUPS:
        raise ArgumentError(
            argument,
            f"has {len(known)} categories, more than {MAX_GROUPS}, such as {known[0]!r}. Merge "
            "rare ones, or put numbers such as ages into bands.",
        )
    names = tuple(label_values(pd.Series(known)))
    place = {name: k for k, name in enumerate(names)}
    of_value = np.array([*(place.get(text, -1) for text in texts), -1])
    met = np.bincount(codes[codes >= 0], minlength=len(found))
    lost: dict[str, int] = {}
    for text, number in [(EMPTY, int((codes < 0).sum())), *zip(texts, met.tolist())]:
        if text not in place and number:
            lost[text or EMPTY] = lost.get(text or EMPTY, 0) + number
    return Categories(str(column.name), names, of_value[codes], lost)


def _is_unknown(text: str, words: set[str]) -> bool:
    """Whether a text is one of the words, or several of them, as in "Unknown/Invalid"."""
    folded = text.casefold()
    return folded in words or all(part in words for part in SEVERAL.split(folded))


def count(attributes: Sequence[Categories], selected: np.ndarray) -> Counts:
    """Count people by the categories of one attribute, or of several crossed.

    A person of whom some attributes are known may be in any cell seen that agrees with these.
    """
    sizes = [len(attribute.names) + 1 for attribute in attributes]
    mixed = np.zeros(len(selected), dtype=np.int64)
    for attribute, size in zip(attributes, sizes):
        mixed = mixed * size + attribute.codes % size  # unknown is the last
    total = np.bincount(mixed, minlength=int(np.prod(sizes))).reshape(sizes)
    chosen = np.bincount(mixed[selected], minlength=total.size).reshape(sizes)
    inner = tuple(slice(size - 1) for size in sizes)
    cells = [tuple(map(int, cell)) for cell in np.argwhere(total[inner] > 0)]
    unknown, outside, outside_selected = [], 0, 0
    for pattern in map(tuple, np.argwhere(total > 0)):
        known = [(k, int(code)) for k, code in enumerate(pattern) if code < sizes[k] - 1]
        if len(known) == len(sizes):
            continue
        fits = tuple(j for j, cell in enumerate(cells) if all(cell[k] == c for k, c in known))
        if fits:
            unknown.append(Unknown(fits, int(total[pattern]), int(chosen[pattern])))
        else:
            outside += int(total[pattern])
            outside_selected += int(chosen[pattern])
    return Counts(
        names=tuple(attribute.name for attribute in attributes),
        cells=tuple(tuple(a.names[c] for a, c in zip(attributes, cell)) for cell in cells),
        people=np.array([total[cell] for cell in cells], dtype=np.int64),
        selected=np.array([chosen[cell] for cell in cells], dtype=np.int64),
        unknown=tuple(unknown),
        outside=outside,
        outside_selected=outside_selected,
    )
