"""Where OTF stands against other penalties: the lines of the first pages, read in a minute.

AUC on test people of the full protocol, where half of the unfair model's violation is left. OTF is
as by default: one cost for each attribute where there are several. Words follow from the runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import pandas as pd

from otfair.reproduction._claims import Difference
from otfair.reproduction._frames import BOTH, PANELS, TOGETHER, select, title
from otfair.reproduction._plan import COLUMNS
from otfair.reproduction._standings import (
    AHEAD,
    BEHIND,
    LEVEL,
    OF,
    RIVALS,
    standings,
    strongest,
    tally,
)
from otfair.reproduction._verdicts import MARGIN

NOTIONS = {"pdp": "demographic parity", "peo": "equalized odds"}
HALF = f"With half of the unfairness left ({' or '.join(NOTIONS.values())})"
HOLM = "holds by Holm"


def stands(frame: pd.DataFrame) -> list[str]:
    """Say where OTF is ahead, level, undecided and behind, as far as the runs allow."""
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
    said = []
    for notion, name in NOTIONS.items():
        sex = select(ours, attribute="sex", notion=notion)
        rows = pd.concat([select(sex, against="barycenter"), strongest(sex)])
        if len(rows):
            said.append(f"for {name} {_said(rows)}")
    if said:
        yield f"Adult, judged by sex alone: {'; '.join(said)}."


def _rest(ours: pd.DataFrame) -> Iterator[str]:
    rows = ours[ours["dataset"] != "adult"]
    if len(rows):
        found: list[Difference] = rows["difference"].tolist()
        means, splits = [d.mean for d in found], [d.splits for d in found]
        names = [name.capitalize() for name in COLUMNS if name in set(rows["dataset"])]
        compared = f"{len(rows)} comparisons of {min(splits)} to {max(splits)} splits"
        parts = tally(found).split(" in ", 1)
        yield (
            f"{', '.join(names)}, one attribute each, {compared}: **{parts[0]}** in {parts[1]}; "
            f"{min(means):+.4f} to {max(means):+.4f}.{_missing(rows)}"
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


def _said(rows: pd.DataFrame) -> str:
    """Return differences in words: against what, over how many splits, and whether by Holm."""
    said = []
    for row in rows.to_dict("records"):
        found: Difference = row["difference"]
        sure = f"; {HOLM}" * (row["holm"] and row["word"] in (AHEAD, BEHIND))
        said.append(
            f"{OF[row['word']]} {RIVALS[row['against']]}, {found} ({found.splits} splits{sure})"
        )
    return "; ".join(said)


def verdict(frame: pd.DataFrame) -> str:
    """Say in three sentences where OTF predicts better, where worse, and how often it is near."""
    table = standings(frame)
    if table.empty:
        return ""
    better = select(table, word=AHEAD, against="norm")
    worse, said = select(table, word=BEHIND), []
    if len(better):
        gains = [d.mean for d in better["difference"]]
        said.append(
            f"{HALF}, OTF predicts **better** than Norm, the usual penalty, on {places(better)}: "
            f"by {_span(gains)} of AUC."
        )
    else:
        said.append(f"{HALF}, OTF nowhere surely predicts better than Norm, the usual penalty.")
    if len(worse):
        losses = [-d.mean for d in worse["difference"]]
        said.append(
            f"It predicts **worse** than at least one simpler penalty on {places(worse)}: by "
            f"{max(losses):.4f} of AUC at most."
        )
    else:
        said.append("It surely predicts worse than none.")
    level = [n.capitalize() for n in COLUMNS if n in set(select(table, word=LEVEL)["dataset"])]
    where = f"; the level ones are on {_listed(level)}" if level else ""
    counts = tally(table["difference"].tolist())
    return " ".join([*said, f"Of all {len(table)} comparisons it is {counts}{where}."])


def places(rows: pd.DataFrame) -> str:
    """Name where comparisons are: datasets, by what attributes, for which notions."""
    out, last = [], ""
    for dataset, attribute, _ in PANELS:
        own = select(rows, dataset=dataset, attribute=attribute)
        notions = [name for key, name in NOTIONS.items() if key in set(own["notion"])]
        if notions:
            by = " and ".join(TOGETHER) + " together" if attribute == BOTH else attribute
            which = "both notions" if notions == [*NOTIONS.values()] else notions[0]
            name = f"{dataset.capitalize()} " * (dataset != last)
            out.append(f"{name}by {by} ({which})")
            last = dataset
    return _listed(out)


def reading(frame: pd.DataFrame) -> str:
    """Explain the words of the lines, or nothing where there are none."""
    table = standings(frame)
    if table.empty:
        return ""
    sure = sum(d.above(0) or d.below(0) for d in table["difference"])
    return (
        "In figures: test AUC of OTF with its defaults less that of others, where half of the "
        "unfairness is left, with 95 % intervals. *Ahead* or *behind*: the interval leaves out "
        f"zero, and the difference is {MARGIN:g} or more. *Level*: the whole interval is within "
        f"{MARGIN:g} of zero. All else is *undecided*. *Larger share*: of the violations by "
        "sex and by race, each divided by the unfair model's, the larger one counts. "
        f"*Holds by Holm*: the lead or loss stays if all {len(table)} intervals of this kind are "
        f"to be right together with 95 %; {sure} of them leave out zero, and "
        f"{table['holm'].sum()} by Holm's method."
    )


def _span(values: Sequence[float]) -> str:
    ends = dict.fromkeys(f"{v:.4f}" for v in (min(values), max(values)))
    return " to ".join(ends)


def _listed(names: Sequence[str]) -> str:
    """Join names: one, two and three."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)
