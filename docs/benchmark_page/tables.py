"""The tables of decisions of docs/benchmarks.md: results, leads, costs, and what was published."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from pages import number, shown, table

from . import runs as data
from .runs import ADULT, BASES, METHODS, NOTIONS, ODDS, PANELS, Lead, of

Panels = dict[str, pd.DataFrame]
PUBLISHED = ("plain", "margin", "on_top")  # ours, at the gaps that LinearPost's authors published


def pair(found: pd.DataFrame) -> str:
    """Return accuracy and gap, with intervals."""
    return f"{shown(found['accuracy'])} at {shown(found['gap'], 3)}" if len(found) else "-"


def results(part: pd.DataFrame) -> str:
    """Return accuracy at test gap of every method, at each limit; OTF has strengths instead."""
    limits = sorted(set(part[part["method"] == "margin"]["setting"]), reverse=True)
    free = pair(part[part["method"] == "free"])
    rows = [["no limit", free, *[""] * (len(limits) - 1)]]
    for name, method in METHODS.items():
        found = part[part["method"] == name]
        if not len(found):
            continue
        if name == "otf":
            strengths = sorted(set(found["setting"]))[-len(limits) :]
            cells = [
                f"alpha {number(s, 2)}: {pair(found[found['setting'] == s])}" for s in strengths
            ]
        elif set(found["setting"]) == {0.0}:
            cells = [f"gap of 0 only: {pair(found)}", *[""] * (len(limits) - 1)]
        else:
            cells = [pair(found[found["setting"] == x]) for x in limits]
        count = len(data.seeds(part, name))
        most = len(data.seeds(part, "free"))
        rows.append(
            [method.title + (f" ({count} of {most} splits)" if count < most else ""), *cells]
        )
    return table(["", *[f"limit {number(x, 2)}" for x in limits]], rows)


def compared(
    panels: Panels, ours: str, peers: Sequence[str]
) -> Iterator[tuple[str, list[Lead | None]]]:
    """Yield peers and our leads over them, a panel each; nothing where one of the two did not run.

    Ours uses the attribute where the peer does. Peers are compared with one rule that just keeps
    its limits, and with what else was run: an even chance, and against those that decide by chance
    several rules, and a classifier that was trained again.
    """
    for peer in peers:
        own = data.ours_against(peer, ours)
        yield METHODS[peer].title, _leads(panels, own, peer)
        others: dict[str, str] = {}
        for part in panels.values():
            others |= data.variants(part, own, peer)
        for other, called in others.items():
            yield f"{METHODS[peer].title}, ours {called}", _leads(panels, other, peer)


def _leads(panels: Panels, own: str, peer: str) -> list[Lead | None]:
    return [
        data.lead(part, own, peer) if data.ran(part, own, peer) else None
        for part in panels.values()
    ]


def leads(panels: Panels, ours: str, peers: Sequence[str]) -> str:
    """Return our accuracy less that of peers, at the gaps that the peers have."""
    rows = [
        [title, *["-" if lead is None else lead.text for lead in found]]
        for title, found in compared(panels, ours, peers)
    ]
    return table(["minus that of", *panels], rows)


def costs(panels: Panels) -> str:
    """Return what methods take: the attribute, chance, seconds of training and of predicting."""
    rows = []
    for name, title, attribute, rule in (
        ("free", "no limit", False, "yes"),
        *((k, m.title, m.attribute, m.rule) for k, m in METHODS.items()),
    ):
        found = [part[part["method"] == name] for part in panels.values()]
        if not any(len(own) for own in found):
            continue
        cells = [
            " + ".join(duration(own[c].mean()) for c in ("train", "predict")) if len(own) else "-"
            for own in found
        ]
        rows.append([title, "**yes**" if attribute else "no", rule, *cells])
    return table(["", "attribute needed to predict", "deterministic", *panels], rows)


def kept(panels: Panels) -> str:
    """Return in how many runs the test gap is within the limit that was asked for."""
    limits = {
        (notion, x): None for notion, part in panels.items()
        for x in sorted(set(part[part["method"] == "margin"]["setting"]), reverse=True)
    }  # fmt: skip
    rows = []
    for name, method in METHODS.items():
        cells = []
        for notion, limit in limits:
            part = panels[notion]
            own = part[(part["method"] == name) & (part["setting"] == limit)]
            within = (own["gap"] <= limit).sum()
            cells.append(f"{within}/{len(own)}" if len(own) and name != "otf" else "-")
        rows += [[method.title, *cells]] if set(cells) != {"-"} else []
    head = [f"{notion}, {number(limit, 2)}" for notion, limit in limits]
    return table(["within the limit", *head], rows)


def duration(seconds: float) -> str:
    """Return a time in the unit that suits it."""
    return f"{1e3 * seconds:.2g} ms" if seconds < 0.1 else f"{seconds:.2g} s"


def within(gap: float, line: pd.DataFrame) -> str:
    """Return the accuracy of a curve within a gap; if it never has so large a one, say its gap."""
    last = line.iloc[-1]
    if gap > last["gap"]:
        return f"{number(last['accuracy'])}, gap {number(last['gap'], 3)}"
    found = data.at(gap, line)
    return "-" if np.isnan(found) else number(found)


def quoted(runs: pd.DataFrame) -> str:
    """Return ours within the gaps that LinearPost's authors published."""
    rows = []
    for base, notion in PANELS:
        part = of(runs, ADULT, base, notion)
        lines = [data.curve(part, m) for m in PUBLISHED]
        name = f"{BASES[base]}, {NOTIONS[notion]}"
        for row in data.linear_post_published(base, notion).itertuples():
            cells = [within(row.gap, line) for line in lines]
            rows.append([name, number(row.gap, 3), number(row.accuracy), *cells])
            name = ""
    head = ["", "gap, as published", "LinearPost, as published"]
    return table([*head, *[METHODS[m].title for m in PUBLISHED]], rows)


def lowest(runs: pd.DataFrame) -> str:
    """Return the lowest gap of equalized odds of each method, and of what was published.

    Limits are those that all methods have.
    """
    known = data.published()
    known = known[(known["table"] == "adult") & (known["notion"] == ODDS)]
    rows = []
    for name, method in METHODS.items():
        means = {}
        for base in BASES:
            part = of(runs, ADULT, base, ODDS)
            settings = part.groupby("method")["setting"].agg(set)
            part = part[~part["setting"].isin(settings["plain"] - settings["margin"])]
            means[base] = part[part["method"] == name].groupby("setting")[["gap", "accuracy"]]
        cells = [_lowest(found.mean()) for found in means.values()]
        rows += [[method.title, *cells]] if any(cell != "-" for cell in cells) else []
    for name in dict.fromkeys(known["method"]):
        own = known[known["method"] == name]
        cells = [_lowest(own[own["base"] == base]) for base in BASES]
        rows.append([f"{name}, as published", *cells])
    return table(["smallest gap", *BASES.values()], rows)


def _lowest(means: pd.DataFrame) -> str:
    if not len(means):
        return "-"
    best = means.loc[means["gap"].idxmin()]
    return f"{number(best['gap'], 3)} at an accuracy of {number(best['accuracy'])}"
