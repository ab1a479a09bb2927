"""OTF as by default against every rival at one half, and the word for each difference."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from otfair.reproduction._claims import Difference, compare, counting, holm
from otfair.reproduction._frames import LARGER, TOGETHER, select
from otfair.reproduction._plan import COLUMNS
from otfair.reproduction._verdicts import MARGIN

SHARE = 0.5  # of the unfair model's violation, at which methods are compared
AHEAD, LEVEL, UNDECIDED, BEHIND = "ahead", "level", "undecided", "behind"
OF = {
    AHEAD: "**ahead** of", LEVEL: "**level** with", UNDECIDED: "**undecided** against",
    BEHIND: "**behind**",
}  # fmt: skip
RIVALS = {
    "norm": "Norm", "norm2": "Norm p = 2", "correlation": "the largest correlation",
    "barycenter": "Barycenter",
}  # fmt: skip
PENALTIES = ("norm", "norm2", "correlation")  # that take every notion and attribute


def default_method(dataset: str) -> str:
    """Return what OTF is by default for the attributes of a dataset."""
    return "otf_attributes" if COLUMNS[dataset][0] == TOGETHER else "otf"


def word(found: Difference) -> str:
    """Say which is better, if that is sure; or that it is sure that they are near each other."""
    if abs(found.mean) >= MARGIN and (found.above(0) or found.below(0)):
        return AHEAD if found.mean > 0 else BEHIND
    near = found.above(-MARGIN) and found.below(MARGIN)
    return LEVEL if near else UNDECIDED


def tally(found: Sequence[Difference]) -> str:
    """Count the words of differences, the best first."""
    said = [word(d) for d in found]
    counts = [f"{name} in {said.count(name)}" for name in OF if name in said]
    return " and ".join([", ".join(counts[:-1]), counts[-1]] if counts[1:] else counts)


def headline(table: pd.DataFrame) -> str:
    """Say in a line what the comparisons come to."""
    if table.empty:
        return "Too few splits to compare OTF with simpler penalties"
    counts = tally(table["difference"].tolist())
    return (
        "OTF against simpler penalties where half of the unfairness is left: "
        f"{counts} of {len(table)} comparisons"
    )


def standings(frame: pd.DataFrame, method: str | None = None) -> pd.DataFrame:
    """Return the comparisons that count, of a method or of the default one, with every rival.

    "holm" says which of them are not zero if all of them are to be right. Barycenter knows
    one attribute and demographic parity, and is a rival there.
    """
    tables = {
        mine: select(compare(frame, "full", "test", mine, tuple(RIVALS)), share=SHARE)
        for mine in ({method} if method else {*map(default_method, COLUMNS)})
    }
    table = pd.concat(
        own if method else own[own["dataset"].map(default_method) == mine]
        for mine, own in sorted(tables.items())
    )
    first = {name: columns[0][0] for name, columns in COLUMNS.items()}
    known = (table["attribute"] == table["dataset"].map(first)) & (table["notion"] == "pdp")
    # By the larger violation of the two, Adult is as by sex.
    table = table[(known | table["against"].isin(PENALTIES)) & (table["attribute"] != LARGER)]
    table = table[counting(table)].reset_index(drop=True)
    return table.assign(
        word=[word(d) for d in table["difference"]], holm=holm(table["difference"].tolist())
    )


def strongest(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the comparison with Norm and, if it is another, with the strongest penalty."""
    rows = rows[rows["against"].isin(PENALTIES)]
    order = rows["difference"].map(lambda d: d.mean).argsort()
    rows = pd.concat([select(rows, against="norm"), rows.iloc[order[:1]]])
    return rows.drop_duplicates("against")
