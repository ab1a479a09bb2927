"""Where OTF stands against other penalties: the sentences and tables of the first pages.

AUC on test people of the full protocol, where half of the unfair model's violation is left. OTF is
as by default: one cost for each attribute where there are several. Words follow from the runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import pandas as pd

from otfair.reproduction._claims import Difference
from otfair.reproduction._evidence import MARGIN
from otfair.reproduction._frames import BOTH, LARGER, PANELS, TOGETHER, select, title
from otfair.reproduction._losses import worst
from otfair.reproduction._places import NOTIONS, judged_by, places
from otfair.reproduction._plan import COLUMNS
from otfair.reproduction._standings import (
    AHEAD,
    BEHIND,
    OF,
    RIVALS,
    halved,
    raised,
    standings,
    tally,
    word,
)
from otfair.reproduction._tables import Table

Row = Mapping[str, Difference]  # differences by what OTF is compared with


def verdict(frame: pd.DataFrame) -> str:
    """Say in three sentences whether it works, how it compares, and where it loses most."""
    table = standings(frame)
    if table.empty:
        return ""
    means = [d.mean for d in table["difference"]]
    compared = (
        f"**Against simpler penalties** it is {tally(table['difference'].tolist())} of "
        f"{len(table)} comparisons, by {min(means):+.4f} to {max(means):+.4f} of AUC."
    )
    return f"{_works(frame)} {compared} {worst(frame)}"


def _works(frame: pd.DataFrame) -> str:
    """Say in how many cases OTF halves the unfairness, and what that costs at most."""
    paid = halved(frame)
    reached = [d for d in paid.values() if d.splits or d.coarse]
    costs = [-d.mean for d in reached if d.splits]
    tables = len({name.split()[0] for name in paid})
    worse = raised(frame)
    works = "It works" if 2 * len(reached) > len(paid) else "It seldom works"
    return (
        f"**{works}:** on {tables} real table{'s' * (tables > 1)} OTF, with its defaults, halves "
        f"the unfairness for new people in {len(reached)} of {len(paid)} cases"
        + (f", for at most {max(*costs, 0.0):.4f} of AUC." if costs else ".")
        + (f" On {places(worse)} new people have *more* of it." if len(worse) else "")
    )


def compact(frame: pd.DataFrame, more: Mapping[str, Row] | None = None) -> str:
    """Return all comparisons in one small table, those on Adult one by one.

    `more` has rows of other runs, which go below those on Adult.
    """
    table = standings(frame)
    if table.empty:
        return ""
    rows: dict[str, Row] = {}
    for notion, attribute in product(NOTIONS, (*TOGETHER, BOTH)):
        own = select(table, dataset="adult", notion=notion, attribute=attribute)
        if len(own):
            by = "both (the larger share left)" if attribute == BOTH else attribute
            label = f"Adult, {NOTIONS[notion]}, by {by}"
            rows[label] = dict(zip(own["against"], own["difference"]))
    cells = [
        [label, *(_cell(found.get(name)) for name in RIVALS)]
        for label, found in {**rows, **(more or {})}.items()
    ]
    rest = table[table["dataset"] != "adult"]
    if len(rest):
        names = _named(rest)
        counts = [tally(select(rest, against=name)["difference"].tolist()) for name in RIVALS]
        cells.append([f"{', '.join(names)}: all comparisons", *(text or "-" for text in counts)])
    return str(Table(["OTF against", *map(_capital, RIVALS.values())], cells))


def _cell(found: Difference | None) -> str:
    """Return a word and a difference, or a dash where there is none."""
    if found is None:
        return "-"
    said = word(found)
    bold = "**" * (said in (AHEAD, BEHIND))
    return f"{bold}{said}{bold} {found.mean:+.4f}"


def detailed(frame: pd.DataFrame) -> Table:
    """Return every comparison with its interval, its splits, and whether it holds by Holm."""
    table, rows = standings(frame), []
    for panel, notion in product(PANELS, NOTIONS):
        own = select(table, dataset=panel[0], attribute=panel[1], notion=notion)
        for row in own.to_dict("records"):
            found: Difference = row["difference"]
            sure = row["word"] in (AHEAD, BEHIND)
            said = f"{'**' * sure}{OF[row['word']]}{'**' * sure}"
            interval = str(found).replace(" ", "&nbsp;")  # on one line
            rows.append(
                [f"{panel[0].capitalize()}, {judged_by(panel[1])}", NOTIONS[notion],
                 f"{said} {RIVALS[row['against']]}", interval, found.splits,
                 "yes" * (sure and row["holm"])]
            )  # fmt: skip
    head = ["dataset, judged by", "notion", "OTF is", "by, in AUC", "splits", "holds by Holm"]
    return Table(head, rows)


def left_out(frame: pd.DataFrame) -> str:
    """Name attributes and notions for which no comparison counts, if there are any."""
    table = standings(frame)
    there = set(zip(table["dataset"], table["attribute"], table["notion"]))
    kept = [p for p in PANELS if p[0] in set(table["dataset"]) and p[1] != LARGER]
    names = [
        f"{title(panel, brief=True)}, {NOTIONS[notion]}"
        for panel, notion in product(kept, NOTIONS)
        if (*panel[:2], notion) not in there
    ]
    return f"Too few splits come so low to compare: {'; '.join(names)}." if names else ""


def reading(frame: pd.DataFrame) -> str:
    """Explain the words of the table, or nothing where there is none."""
    table = standings(frame)
    if table.empty:
        return ""
    sure = sum(d.above(0) or d.below(0) for d in table["difference"])
    return f"""\
- Each row: the test AUC of OTF minus another's, with half of the unfairness left. Intervals: 95 %.
- *Ahead* or *behind*: the interval leaves out zero, and the difference is {MARGIN:g} or more.
- *Level*: the whole interval is within {MARGIN:g} of zero. All else is *undecided*.
- *Sex and race together*: each violation is divided by the unfair model's. The larger share counts.
- *Holds by Holm*: it stays if all {len(table)} intervals are to be right together with 95 %.
  Of them {sure} leave out zero, and {table["holm"].sum()} do by Holm's method."""


def _named(rows: pd.DataFrame) -> list[str]:
    return [name.capitalize() for name in COLUMNS if name in set(rows["dataset"])]


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
