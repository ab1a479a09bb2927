"""Where OTF stands against other penalties: the lines of the first pages, read in a minute.

AUC on test people of the full protocol, where half of the unfair model's violation is left. OTF is
as by default: one cost for each attribute where there are several. Words follow from the runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
import pandas as pd

from otfair.reproduction._claims import Difference, compare
from otfair.reproduction._frames import BOTH, PANELS, TOGETHER, select, title
from otfair.reproduction._plan import COLUMNS
from otfair.reproduction._verdicts import MARGIN

SHARE = 0.5  # of the unfair model's violation, at which methods are compared
AHEAD, LEVEL, BEHIND = "ahead", "level", "behind"
OF = {AHEAD: "**ahead** of", LEVEL: "**level** with", BEHIND: "**behind**"}
RIVALS = {
    "norm": "Norm", "norm2": "Norm p = 2", "correlation": "the largest correlation",
    "barycenter": "Barycenter",
}  # fmt: skip
PENALTIES = ("norm", "norm2", "correlation")  # that take every notion and attribute
NOTIONS = {"pdp": "demographic parity", "peo": "equalized odds"}


def default_method(dataset: str) -> str:
    """Return what OTF is by default for the attributes of a dataset."""
    return "otf_attributes" if COLUMNS[dataset][0] == TOGETHER else "otf"


def word(found: Difference) -> str:
    """Say whether an interval leaves out zero, by at least the margin in the mean."""
    if abs(found.mean) < MARGIN or not (found.above(0) or found.below(0)):
        return LEVEL
    return AHEAD if found.mean > 0 else BEHIND


def words(found: Sequence[Difference]) -> str:
    """Name all that differences are, the best first."""
    said = {word(d) for d in found}
    return " or ".join(w for w in OF if w in said)


def standings(frame: pd.DataFrame, method: str | None = None) -> pd.DataFrame:
    """Return the comparisons that count, of a method or of the default one, with every rival."""
    tables = {
        mine: select(compare(frame, "full", "test", mine, tuple(RIVALS)), share=SHARE)
        for mine in ({method} if method else {*map(default_method, COLUMNS)})
    }
    table = pd.concat(
        own if method else own[own["dataset"].map(default_method) == mine]
        for mine, own in tables.items()
    )
    return table[np.array([d.counts for d in table["difference"]], dtype=bool)]


def stands(frame: pd.DataFrame) -> list[str]:
    """Say where OTF is ahead, level and behind, as far as the runs allow."""
    ours, one_cost = standings(frame), standings(frame, "otf")
    return [*_adult(select(ours, dataset="adult"), select(one_cost, dataset="adult")), *_rest(ours)]


def _adult(ours: pd.DataFrame, one_cost: pd.DataFrame) -> Iterator[str]:
    for notion in ("peo", "pdp"):
        rows = strongest(select(ours, attribute=BOTH, notion=notion))
        if len(rows):
            what = f"Adult, {NOTIONS[notion]}, by the larger share left of sex and race"
            yield f"{what}: {_said(rows)}."
    race, paper = (
        {n: strongest(select(table, attribute="race", notion=n))[-1:] for n in NOTIONS}
        for table in (ours, one_cost)
    )
    if all(map(len, race.values())):
        said = [f"for {NOTIONS[notion]} {_said(rows)}" for notion, rows in race.items()]
        more = [f"{d.mean:+.4f}" for rows in paper.values() for d in rows["difference"]]
        yield f"Adult, judged by race alone: {'; '.join(said)}." + (
            f" One cost for both attributes, as in the paper: {' and '.join(more)}." * bool(more)
        )
    sex = select(ours, attribute="sex", notion="pdp")
    rows = pd.concat([select(sex, against="barycenter"), strongest(sex)])
    if len(rows):
        yield f"Adult, judged by sex alone, {NOTIONS['pdp']}: {_said(rows)}."


def _rest(ours: pd.DataFrame) -> Iterator[str]:
    rows = ours[(ours["dataset"] != "adult") & ours["against"].isin(PENALTIES)]
    if len(rows):
        found: list[Difference] = rows["difference"].tolist()
        means, splits = [d.mean for d in found], [d.splits for d in found]
        names = [name.capitalize() for name in COLUMNS if name in set(rows["dataset"])]
        compared = f"{len(rows)} comparisons of {min(splits)} to {max(splits)} splits"
        yield (
            f"{', '.join(names)}, one attribute each: **{words(found)}**, {min(means):+.4f} to "
            f"{max(means):+.4f} in {compared}.{_missing(rows)}"
        )


def _missing(rows: pd.DataFrame) -> str:
    """Name attributes and notions for which no comparison counts."""
    there = set(zip(rows["dataset"], rows["attribute"], rows["notion"]))
    kept = [panel for panel in PANELS if panel[0] in set(rows["dataset"])]
    names = [
        f"{title(panel, brief=True)}, {NOTIONS[notion]}"
        for panel, notion in product(kept, NOTIONS)
        if (*panel[:2], notion) not in there
    ]
    return f" Too few splits come so low to compare: {'; '.join(names)}." if names else ""


def strongest(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the comparison with Norm and, if it is another, with the strongest penalty."""
    rows = rows[rows["against"].isin(PENALTIES)]
    order = rows["difference"].map(lambda d: d.mean).argsort()
    rows = pd.concat([select(rows, against="norm"), rows.iloc[order[:1]]])
    return rows.drop_duplicates("against")


def _said(rows: pd.DataFrame) -> str:
    """Return differences in words: against what, over how many splits."""
    return "; ".join(
        f"{OF[word(d)]} {RIVALS[against]}, {d} ({d.splits} splits)"
        for d, against in zip(rows["difference"], rows["against"])
    )
