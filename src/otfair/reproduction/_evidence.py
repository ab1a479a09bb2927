"""What claims are judged by: comparisons at matched violations, what counts, and words for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np
import pandas as pd

from otfair.reproduction._claims import Difference, compare, counting, signed
from otfair.reproduction._frames import BOTH, LARGER, SETUPS, Setup, select

MARGIN = 0.001  # of AUC, within which methods are level
HOLDS, MOSTLY, MIXED = "holds", "mostly holds", "mixed"
NOT_SHOWN, REVERSED = "not shown", "reversed"  # nothing as claimed; the second: surely the opposite
UNKNOWN, TOO_FEW_RUNS = "not run", "too few runs"  # the second: no comparison that counts
ENOUGH = 0.8  # of the comparisons, with which a claim mostly holds if none says the opposite
# Columns of the figures.
BY_ATTRIBUTE, LOWEST, HIGHEST = "by attribute", "lowest difference", "highest difference"


@dataclass(frozen=True)
class Verdict:
    """Whether a claim holds, in how many comparisons, and the figures that say so."""

    word: str
    about: str = ""  # what was compared, in a sentence
    figures: Mapping[str, str] = field(default_factory=dict)  # by the head of their column
    count: str = ""

    @property
    def judged(self) -> bool:
        """Whether there was something to count."""
        return bool(self.count)


NOT_RUN, TOO_FEW = Verdict(UNKNOWN), Verdict(TOO_FEW_RUNS)


@dataclass(frozen=True)
class Evidence:
    """All runs, the comparisons at matched violations by setup and part, and what counts."""

    frame: pd.DataFrame
    tables: dict[tuple[str, str], pd.DataFrame]
    margin: float = MARGIN

    @classmethod
    def of(cls, frame: pd.DataFrame) -> Evidence:
        """Compare the methods wherever there are runs."""
        return cls(
            frame,
            {
                (setup.name, part): compare(frame, setup.protocol, part, setup.method)
                for setup, part in product(SETUPS, ("test", "train"))
            },
        )

    def rows(self, setup: Setup, part: str, **wanted: str) -> pd.DataFrame:
        """Return comparisons of a part with the given dataset, notion, against or attribute."""
        return select(self.tables[setup.name, part], **wanted)

    def both_sets(self, setup: Setup, **wanted: str) -> pd.DataFrame:
        """Return comparisons on test and training people, which say which they are."""
        found = []
        for part in ("test", "train"):
            rows = self.rows(setup, part, **wanted)
            found.append(rows.assign(part=part, where=rows["where"] + f", {part} set"))
        return pd.concat(found)


def apart(rows: pd.DataFrame) -> pd.DataFrame:
    """Leave out attributes taken together, which would be counted twice."""
    return rows[~rows["attribute"].isin([BOTH, LARGER])]


def judge(
    rows: pd.DataFrame,
    good: Callable[[Difference], bool],
    about: str,
    bad: Callable[[Difference], bool],
) -> Verdict:
    """Count the comparisons that are as claimed, by attribute, and name the extremes."""
    if not any(d.splits or d.coarse for d in rows["difference"]):
        return NOT_RUN
    rows = rows[counting(rows)]
    if rows.empty:
        return TOO_FEW
    right, wrong = ([each(d) for d in rows["difference"]] for each in (good, bad))
    parts = []
    for panel, own in rows.assign(right=right, wrong=wrong).groupby("panel", sort=False):
        against = own["wrong"].sum()
        said = f" ({against} reversed)" if against else ""
        parts.append(f"{panel} {of(own['right'].tolist())}{said}")
    figures = {BY_ATTRIBUTE: "; ".join(parts), **extremes(rows)}
    return counted(right, about, figures, sum(wrong))


def better(rows: pd.DataFrame, margin: float) -> Verdict:
    """Judge whether OTF is above Norm by more than a margin."""
    more = f" by more than {margin:g}" if margin else ""
    about = (
        f"A comparison is as claimed if OTF's AUC is surely above Norm's{more}, with as much "
        "violation left."
    )
    return judge(rows, lambda d: d.above(margin), about, lambda d: d.below(-margin))


def most(
    found: Verdict, more: pd.DataFrame, less: pd.DataFrame, by: list[str], where: str, than: str
) -> Verdict:
    """Add whether the gain is largest where the claim says, over what both places have."""
    if not found.judged:
        return found
    means = [
        rows.assign(mean=[d.mean for d in rows["difference"]]).groupby(by)["mean"].mean()
        for rows in (each[counting(each)] for each in (more, less))
    ]
    pairs = pd.concat(means, axis=1, join="inner")
    column = f"mean {where}, and {than}"
    if pairs.empty:
        return replace(found, figures={**found.figures, column: "nothing is compared in both"})
    high, low = pairs.mean()
    word = MOSTLY if found.word == HOLDS and high <= low else found.word
    panels = dict.fromkeys(key if isinstance(key, str) else key[0] for key in pairs.index)
    means_said = f"{signed(high)}, and {signed(low)} ({'; '.join(panels)})"
    return replace(found, word=word, figures={**found.figures, column: means_said})


def extremes(rows: pd.DataFrame) -> dict[str, str]:
    """Name the lowest and the highest difference."""
    found = [row for row in rows.to_dict("records") if row["difference"].splits]
    if not found:
        return {}
    ends = (extreme(found, key=lambda row: row["difference"].mean) for extreme in (min, max))
    return {
        name: f"{row['difference']}: {row['where']}, {row['share']:g} left"
        for name, row in zip((LOWEST, HIGHEST), ends)
    }


def counted(
    good: list[bool], about: str, figures: Mapping[str, str], reversed_: int = 0
) -> Verdict:
    """Judge by how many things are as a claim says, and how many the opposite."""
    none = REVERSED if reversed_ else NOT_SHOWN
    word = HOLDS if all(good) else MIXED if any(good) else none
    if word == MIXED and np.mean(good) >= ENOUGH and not reversed_:
        word = MOSTLY
    return Verdict(word, about, figures, of(good))


def of(good: list[bool]) -> str:
    """Say how many of all are as claimed."""
    return f"{sum(good)} of {len(good)}"
