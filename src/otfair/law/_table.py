"""The tables that a rule of law asks for, and what was done to make them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from otfair._io.files import write_named
from otfair._io.rendering import csv_text, to_json
from otfair.law._bounds import ratio_bounds, shared_rates
from otfair.law._counts import Categories, Counts
from otfair.tables import without_formulas

if TYPE_CHECKING:
    from otfair.law._rules import Rule

LEAST_SHARE = 0.02  # below it a category may be left out of comparisons
RATIOS = ("impact_ratio", "lowest", "highest", "at_shares")
REFERENCE, EXCLUDED, UNKNOWN = "reference", "excluded", "unknown"  # what `status` says


@dataclass(frozen=True, kw_only=True)
class Part:
    """One table: its name, its rows, and what readers should know about it."""

    name: str  #: Such as "sex"; with groups, "leader: sex".
    group: str  #: The group that people were sorted into; "" where there is none.
    unknown: int  #: People of unknown category, who are in no other row.
    frame: pd.DataFrame  #: One row for each category, the last for people of unknown category.
    notes: tuple[str, ...]  #: What readers should know.


@dataclass(frozen=True, kw_only=True)
class LawRecord:
    """What was done, so that it can be done again."""

    title: str  #: Title of the page; "" if none was given.
    outcome: str  #: What a rate counts, in words.
    people: int  #: How many people were assessed.
    left_out: dict[str, int]  #: Why people were left out, and how many.
    date: str  #: Day of the audit.
    source: str  #: Where the data come from.
    explanation: str  #: Why these data.
    median: float | None  #: Of the scores of all people assessed; None for decisions.
    reason: str  #: Why small categories are excluded; "" where none may be.
    notes: tuple[str, ...]  #: What readers should know about all tables.
    checksum: str  #: SHA-256 of the data as they were read.
    version: str  #: Of otfair.
    file: dict[str, str]  #: What a command read, such as the SHA-256 of a file.


@dataclass(frozen=True, kw_only=True, repr=False)
class LawTable:
    """Tables that a rule of law asks for, as data frames, CSV, JSON and a page."""

    rule: Rule  #: What the rule is called, says, and where it is written.
    parts: tuple[Part, ...]  #: The tables, in their order.
    record: LawRecord  #: People, data, date, checksum.

    def __repr__(self) -> str:
        return f"LawTable({self.rule.name}, {len(self.parts)} tables, {self.record.people} people)"

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """The tables by name, one row for each category."""
        return {part.name: part.frame.copy() for part in self.parts}

    def to_frame(self) -> pd.DataFrame:
        """Return all tables below each other, each row with the rule, the date and the source.

        Returns
        -------
        DataFrame
            The first columns are ``table`` and ``group``.
        """
        frames = []
        for part in self.parts:
            frame = part.frame.copy()
            frame.insert(0, "group", part.group)
            frame.insert(0, "table", part.name)
            frames.append(frame)
        about: dict[str, Any] = {
            "rule": self.rule.name,
            "audit_date": self.record.date,
            "data_source": self.record.source,
            "explanation": self.record.explanation,
            "people_assessed": self.record.people,
            "exclusion_reason": self.record.reason,
        }
        return pd.concat(frames, ignore_index=True).assign(**about)

    def to_csv(self, path: str | Path | None = None) -> str:
        """Return all tables as CSV, and write it to a file if one is named.

        Parameters
        ----------
        path : str or Path, default=None
            The file, replaced as a whole or not at all.

        Returns
        -------
        str
            The CSV. Text that a spreadsheet would run as a formula gets an apostrophe.
        """
        return write_named(path, csv_text(without_formulas(self.to_frame())[0]))

    def to_json(self, path: str | Path | None = None) -> str:
        """Return tables and record as JSON, and write it to a file if one is named.

        Parameters
        ----------
        path : str or Path, default=None
            The file, replaced as a whole or not at all.

        Returns
        -------
        str
            The JSON.
        """
        tables = [{f: getattr(part, f) for f in ("name", "group", "unknown", "frame", "notes")}
                  for part in self.parts]  # fmt: skip
        found = {"rule": asdict(self.rule), "tables": tables, "record": asdict(self.record)}
        return write_named(path, to_json(found, indent=1))

    def to_html(self, path: str | Path | None = None) -> str:
        """Return one page that needs nothing else, and write it to a file if one is named.

        Parameters
        ----------
        path : str or Path, default=None
            The file, replaced as a whole or not at all.

        Returns
        -------
        str
            The page.
        """
        from otfair.law._page import page  # not sooner: it needs this file

        return write_named(path, page(self))

    def _repr_html_(self) -> str:
        from otfair.law._page import cell

        return cell(self)


def described(table: LawTable, title: str, file: dict[str, str]) -> LawTable:
    """Return tables that know their title and what was read."""
    return replace(table, record=replace(table.record, title=title, file=file))


def rates_table(
    counts: Counts, reference: Sequence[int], shown: Collection[int], status: Mapping[int, str]
) -> pd.DataFrame:
    """Return rates, impact ratios and their bounds; the last row is people of unknown category.

    Ratios are to the highest rate of the categories in `reference`, for the categories `shown`.
    """
    shared = shared_rates(counts)
    best, top = most_selected(counts, reference), max((shared[k] for k in reference), default=0.0)
    rows = []
    for k, cell in enumerate(counts.cells):
        n, s = int(counts.people[k]), int(counts.selected[k])
        ratios = dict.fromkeys(RATIOS, np.nan)
        if k in shown:
            ratio = np.nan if best is None else _ratio(counts, k, best)
            ends = ratio_bounds(counts, k, reference) if counts.unknown else (ratio, ratio)
            at_shares = shared[k] / top if top > 0 else np.nan
            ratios = dict(zip(RATIOS, (ratio, *ends, at_shares)))
        about = {"category": ", ".join(cell), "people": n, "share": counts.shares[k]}
        rates = {"selected": s, "rate": s / n}
        rows.append(about | rates | ratios | {"status": status.get(k, "")})
    n, s = counts.unknown_people, counts.unknown_selected
    rows.append({"category": "(unknown)", "people": n, "share": np.nan, "selected": s,
                 "rate": s / n if n else np.nan, **dict.fromkeys(RATIOS, np.nan),
                 "status": UNKNOWN})  # fmt: skip
    return pd.DataFrame(rows)


def most_selected(counts: Counts, among: Sequence[int]) -> int | None:
    """Return the most selected category, the largest of equal ones; None where nobody is."""
    best = max(
        among, key=lambda k: (counts.selected[k] / counts.people[k], counts.people[k]), default=None
    )
    return best if best is not None and counts.selected[best] else None


def _ratio(counts: Counts, k: int, best: int) -> float:
    (s, n), (r, m) = ((int(counts.selected[j]), int(counts.people[j])) for j in (k, best))
    return s * m / (n * r)


def part_notes(counts: Counts, attributes: Sequence[Categories]) -> list[str]:
    """Say who is unknown in a table, and what can't be compared."""
    notes = []
    for attribute in attributes if counts.unknown_people else ():
        if attribute.unknown:
            words = ", ".join(f"{word} ({n:,})" for word, n in attribute.unknown.items())
            notes.append(f"Taken for unknown in {attribute.name}: {words}.")
    if counts.outside:
        notes.append(
            f"{counts.outside:,} of the unknown people fit no category that was seen; bounds and "
            "shares leave them out."
        )
    if len(counts) == 0:
        notes.append("Nobody is known in all of these, so that there is no category to compare.")
    if len(counts) == 1:
        notes.append("There is one category only, so that there is nothing to compare it with.")
    if len(counts) > 1 and not counts.selected.any():
        notes.append("Every rate is 0, so that there is no impact ratio.")
    return notes
