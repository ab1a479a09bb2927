"""OTF as by default against every rival, and the word for each difference."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from otfair.reproduction._claims import (
    Difference,
    compare,
    counting,
    curve,
    holm,
    mean_difference,
    price,
)
from otfair.reproduction._evidence import MARGIN
from otfair.reproduction._frames import BOTH, LARGER, PANELS, TOGETHER, Panel, select
from otfair.reproduction._plan import COLUMNS

SHARE = 0.5  # of the unfair model's violation, at which methods are compared
LEFT = {0.75: "three quarters", SHARE: "half", 0.25: "a quarter", 0.1: "a tenth"}
AHEAD, LEVEL, UNDECIDED, BEHIND = "ahead", "level", "undecided", "behind"
OF = {
    AHEAD: "ahead of", LEVEL: "level with", UNDECIDED: "undecided against", BEHIND: "behind",
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


def against_rivals(frame: pd.DataFrame, method: str | None = None) -> pd.DataFrame:
    """Return the comparisons that count, of a method or of the default one, with every rival.

    Barycenter knows one attribute and demographic parity, and is a rival there.
    """
    tables = {
        mine: compare(frame, "full", "test", mine, tuple(RIVALS))
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
    return table.assign(word=[word(d) for d in table["difference"]])


def standings(frame: pd.DataFrame, method: str | None = None) -> pd.DataFrame:
    """Return the comparisons where half of the violation is left.

    "holm" says which of them are not zero if all of them are to be right.
    """
    table = select(against_rivals(frame, method), share=SHARE).reset_index(drop=True)
    return table.assign(holm=holm(table["difference"].tolist()))


def largest_losses(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return where OTF is furthest behind with half left, and with less if it loses more there."""
    table = lowest_first(select(against_rivals(frame), word=BEHIND))
    half, less = select(table, share=SHARE)[:1], table[table["share"] < SHARE][:1]
    means = [rows["difference"].map(lambda d: d.mean).min() for rows in (half, less)]
    more = half.empty or round(means[1], 4) < round(means[0], 4)
    return half, less if more else less[:0]


def lowest_first(rows: pd.DataFrame) -> pd.DataFrame:
    """Sort comparisons by their difference."""
    return rows.iloc[rows["difference"].map(lambda d: d.mean).argsort(kind="stable")]


def halved(frame: pd.DataFrame) -> dict[str, Difference]:
    """Return what half of the violation costs OTF in AUC, by attribute and notion.

    Where it comes so low in half of the splits or fewer, the difference has no splits.
    """
    found = {}
    for panel in PANELS:
        if panel[1] in (BOTH, LARGER):
            continue
        for notion in ("pdp", "peo"):
            method = default_method(panel[0])
            own = curve(frame, panel, notion, method)
            ran = select(own, method=method)["split"].nunique()
            paid = price(own, "test", f"{notion}_{panel[1]}", SHARE)
            if ran:
                kept = paid.splits > ran / 2
                found[f"{panel[0]} {panel[1]} {notion}"] = paid if kept else mean_difference([])
    return found


def raised(frame: pd.DataFrame) -> pd.DataFrame:
    """Return where new people have more of the violation with OTF, at the default strength.

    "left" is what OTF leaves of the unfair model's violation (of means over splits) and "trained"
    the same of training people, "norm" what Norm leaves; "above" counts splits that have more.
    """
    rows = []
    for panel in PANELS:
        dataset, attribute, _ = panel
        for notion in ("pdp", "peo") if attribute not in (BOTH, LARGER) else ():
            x = f"{notion}_{attribute}"
            left, apart = _left(frame, panel, notion, default_method(dataset), f"test_{x}")
            if left > 1:
                trained, _ = _left(frame, panel, notion, default_method(dataset), f"train_{x}")
                norm, _ = _left(frame, panel, notion, "norm", f"test_{x}")
                counts = int((apart > 1).sum()), len(apart)
                rows.append((dataset, attribute, notion, left, trained, norm, *counts))
    names = ["dataset", "attribute", "notion", "left", "trained", "norm", "above", "splits"]
    return pd.DataFrame(rows, columns=names)


def _left(
    frame: pd.DataFrame, panel: Panel, notion: str, method: str, x: str
) -> tuple[float, pd.Series]:
    """Return what a method at strength 1/2 leaves of a violation: in the mean, and by split."""
    own = curve(frame, panel, notion, method)
    if own.empty:  # there may be no such column either
        return float("nan"), pd.Series(dtype=float)
    found, free = (
        select(own, **wanted).set_index("split")[x]
        for wanted in ({"method": method, "alpha": SHARE}, {"method": "unfair"})
    )
    free = free.reindex(found.index)
    return float(found.mean() / free.mean()), found / free
