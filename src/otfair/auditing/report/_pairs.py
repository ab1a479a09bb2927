"""Pairs of people between whom most score moves, side by side for readers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from otfair.auditing._results import SHOWN_PAIRS, Finding
from otfair.auditing._statistics import number_text
from otfair.auditing.report._words import brief, short
from otfair.tables import Why, is_number

if TYPE_CHECKING:
    from otfair.auditing._audit import Audit

SHOWN_FEATURES = 30  # of a pair, those that differ first
ALIKE_WITHIN = 0.25  # standard deviations: numbers closer than this are called alike


@dataclass(frozen=True)
class Pair:
    """One giver and one receiver, side by side."""

    giver: str
    receiver: str
    giver_row: str
    receiver_row: str
    giver_score: float
    receiver_score: float
    mass: float
    distance: float
    features: list[tuple[str, str, str, bool]]  # name, giver's, receiver's, whether they differ
    hidden: int  # features not shown
    unlike: int  # of these, how many differ

    @property
    def differs(self) -> str:
        """The features that differ, in words."""
        names = [name for name, _, _, differs in self.features if differs]
        names += [f"{self.unlike} more features"] * (self.unlike > 0)
        little = f"nothing by more than {ALIKE_WITHIN} standard deviations"
        return ", ".join(names) or (little if self.distance else "nothing")


def pairs(audit: Audit, finding: Finding) -> list[Pair]:
    """Return the pairs between whom most score moves, with their features."""
    found, features = finding.cost.pairs, audit.features
    if found is None or features is None:
        return []
    table, h, types = features.table, audit.people.scores, finding.cost.types
    spreads = {
        name: float(np.nanstd(column.to_numpy(np.float64, na_value=np.nan)))
        for name, column in table.items()
        if is_number(column)
    }
    out = []
    for k in range(min(len(found), SHOWN_PAIRS)):
        i, j = int(found.giver[k]), int(found.receiver[k])
        compared = [
            (str(name), *_values(column.iloc[i], column.iloc[j], spreads.get(name)))
            for name, column in table.items()
        ]
        compared.sort(key=lambda row: not row[3])
        pair = Pair(
            giver=short(finding, types[found.giver_type[k]]),
            receiver=short(finding, types[found.receiver_type[k]]),
            giver_row=_row(audit, i),
            receiver_row=_row(audit, j),
            giver_score=float(h[i]),
            receiver_score=float(h[j]),
            mass=float(found.mass[k]),
            distance=float(found.distance[k]),
            features=compared[:SHOWN_FEATURES],
            hidden=len(compared[SHOWN_FEATURES:]),
            unlike=sum(row[3] for row in compared[SHOWN_FEATURES:]),
        )
        out.append(pair)
    return out


def _row(audit: Audit, person: int) -> str:
    """Say where a person is in the user's table, and what columns that name people call them."""
    row, given, places = int(audit.people.rows[person]), audit.people.features, audit.places
    said = [f"row {row}" if places is None else f"{places.what} {places.numbers[row]}"]
    for name, why in audit.record.columns_left_out.items():
        if why.why is Why.IDENTIFIER and given is not None:
            said.append(f"{name} {given[name].iloc[person]}")
    return brief(", ".join(said))


def _values(a: Any, b: Any, spread: float | None) -> tuple[str, str, bool]:
    """Return two values as text, and whether they differ; numbers have a standard deviation."""
    gaps = bool(pd.isna(a)), bool(pd.isna(b))
    if any(gaps) or spread is None:
        texts = ["missing" if gap else str(v) for v, gap in zip((a, b), gaps)]
        return brief(texts[0]), brief(texts[1]), texts[0] != texts[1]
    return number_text(a), number_text(b), abs(float(a) - float(b)) > ALIKE_WITHIN * spread
