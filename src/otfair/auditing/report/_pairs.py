"""Pairs of people between whom most score moves, side by side for readers."""

from __future__ import annotations

from collections.abc import Callable
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
        return ", ".join(names) or little


def pairs(audit: Audit, finding: Finding) -> list[Pair]:
    """Return the pairs between whom most score moves, with their features; twins are left out."""
    found, features = finding.cost.pairs, audit.features
    if found is None or features is None:
        return []
    h, types = audit.people.scores, finding.cost.types
    chosen = np.flatnonzero(~found.twins)[:SHOWN_PAIRS]
    people = [np.asarray(side[chosen], dtype=np.int64) for side in (found.giver, found.receiver)]
    compared = [
        _compared(str(c), column, features.spread_of, *people)
        for c, column in features.table.items()
    ]
    out = []
    for k, place in enumerate(chosen):
        i, j = (int(side[k]) for side in people)
        order = sorted(compared, key=lambda one: not one.differs[k])
        hidden = order[SHOWN_FEATURES:]
        pair = Pair(
            giver=short(finding, types[found.giver_type[place]]),
            receiver=short(finding, types[found.receiver_type[place]]),
            giver_row=_row(audit, i),
            receiver_row=_row(audit, j),
            giver_score=float(h[i]),
            receiver_score=float(h[j]),
            mass=float(found.mass[place]),
            distance=float(found.distance[place]),
            features=[one.row(k) for one in order[:SHOWN_FEATURES]],
            hidden=len(hidden),
            unlike=sum(one.differs[k] for one in hidden),
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


@dataclass(frozen=True)
class _Compared:
    """A column of two sides of pairs, and where they differ."""

    name: str
    givers: list[Any]
    receivers: list[Any]
    differs: list[bool]
    is_number: bool

    def row(self, k: int) -> tuple[str, str, str, bool]:
        """Return what readers see of a pair: the name, two values, and whether they differ."""
        giver, receiver = (_text(side[k], self.is_number) for side in (self.givers, self.receivers))
        return self.name, giver, receiver, self.differs[k]


def _compared(
    name: str, column: pd.Series[Any], spread_of: Callable[[str], float], giver: np.ndarray,
    receiver: np.ndarray,
) -> _Compared:  # fmt: skip
    """Compare givers and receivers in a column; numbers differ by standard deviations."""
    sides = [column.iloc[people] for people in (giver, receiver)]
    gaps = [side.isna().to_numpy(dtype=bool) for side in sides]
    number = is_number(column)
    if number:
        a, b = (side.to_numpy(np.float64, na_value=np.nan) for side in sides)
        differs = np.abs(a - b) > ALIKE_WITHIN * spread_of(name)
    else:
        a, b = (side.astype(object).map(str).to_numpy(dtype=object) for side in sides)
        differs = a != b
    either = gaps[0] | gaps[1]
    differs = np.where(either, gaps[0] != gaps[1], differs)
    return _Compared(name, sides[0].tolist(), sides[1].tolist(), differs.tolist(), number)


def _text(value: Any, number: bool) -> str:
    if pd.isna(value):
        return brief("missing")
    return number_text(value) if number else brief(str(value))
