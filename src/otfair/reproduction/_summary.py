"""What the results come to, in ten short lines at the top of their page: numbers from the runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pandas as pd

from otfair.reproduction._claims import Difference, compare, holm
from otfair.reproduction._evidence import (
    HOLDS,
    MIXED,
    MOSTLY,
    NOT_SHOWN,
    REVERSED,
    TOO_FEW_RUNS,
    UNKNOWN,
    Evidence,
    Verdict,
)
from otfair.reproduction._frames import BOTH, LARGER, SETUPS, select
from otfair.reproduction._places import listed, percent, places
from otfair.reproduction._plan import COLUMNS
from otfair.reproduction._standings import (
    AHEAD,
    BEHIND,
    LEFT,
    LEVEL,
    SHARE,
    halved,
    raised,
    standings,
    tally,
)

# What is said of one claim and of several, by verdict.
SAID = {
    HOLDS: ("holds", "hold"), MOSTLY: ("mostly holds", "mostly hold"),
    MIXED: ("is mixed", "are mixed"), NOT_SHOWN: ("is not shown", "are not shown"),
    REVERSED: ("is reversed", "are reversed"),
    TOO_FEW_RUNS: ("has too few runs", "have too few runs"),
    UNKNOWN: ("was not run", "were not run"),
}  # fmt: skip
DUALS_AT = (SHARE, 0.25)  # the second where strengths are too far apart at one half
SEX_OVER_RACE = 77  # how many times as much the unfair model's cost on Adult is by sex as by race


def summary(frame: pd.DataFrame, claims: Mapping[str, Mapping[str, Verdict]]) -> list[str]:
    """Return the lines that the runs allow."""
    return [*_claims(claims), *_penalties(frame), *_duals(frame)]


def _claims(claims: Mapping[str, Mapping[str, Verdict]]) -> Iterator[str]:
    """Count the verdicts of each setup, and name the claims that hold and that are reversed."""
    for setup in SETUPS:
        found = [v[setup.name].word for v in claims.values() if setup.name in v]
        counts = {word: found.count(word) for word in SAID if word in found}
        if not found or counts.keys() <= {UNKNOWN}:
            continue
        said = listed([f"{count} {SAID[word][count > 1]}" for word, count in counts.items()])
        if setup is SETUPS[0]:
            yield f"Of {len(found)} claims of the paper, judged by its published method, {said}."
            for word in (HOLDS, REVERSED):
                own = [
                    text for text, verdicts in claims.items() if verdicts[setup.name].word == word
                ]
                if len(own) == 1:
                    yield f"The one that {SAID[word][0]}: {own[0]}"
        else:
            yield f"Judged by the {setup.title}, {said}."


def _penalties(frame: pd.DataFrame) -> Iterator[str]:
    """Say where OTF as by default is better than Norm, where worse than a penalty, where level."""
    table = standings(frame)
    if table.empty:
        return
    ahead, behind = select(table, word=AHEAD, against="norm"), select(table, word=BEHIND)
    if len(ahead):
        gains = sorted(f"{d.mean:.4f}" for d in ahead["difference"])
        ends = " to ".join(dict.fromkeys((gains[0], gains[-1])))
        where = f"{places(ahead)}: by {ends} of AUC"
        yield f"With its defaults OTF predicts **better** than Norm on {where}."
    else:
        yield "With its defaults OTF nowhere surely predicts better than Norm."
    if len(behind):
        most = max(-d.mean for d in behind["difference"])
        yield (
            f"It predicts **worse** than at least one simpler penalty on {places(behind)}: by up "
            f"to {most:.4f} of AUC."
        )
    else:
        yield "It surely predicts worse than no simpler penalty."
    level = [n.capitalize() for n in COLUMNS if n in set(select(table, word=LEVEL)["dataset"])]
    if level:
        rows = table[table["dataset"].isin([name.lower() for name in level])]
        counts = tally(rows["difference"].tolist())
        yield f"On {listed(level)} it is {counts} of {len(rows)} comparisons."
    missed = [
        name.split() for name, paid in halved(frame).items() if not (paid.splits or paid.coarse)
    ]
    if missed:
        where = places(pd.DataFrame(missed, columns=["dataset", "attribute", "notion"]))
        more = [
            f" With alpha 0.5 new people have *more* of it "
            f"{'there' if (place := places(own)) == where else f'on {place}'}: "
            f"{percent(own['left'].iloc[0])}, with Norm {percent(own['norm'].iloc[0])}."
            for _, own in raised(frame).groupby(level=0)
        ]
        yield f"It does not halve the unfairness of most splits on {where}.{''.join(more)}"


def multiplicity(evidence: Evidence) -> str:
    """Say how many intervals leave out zero, and how many if all of them are to be right.

    Where one attribute decides for both, rows of a table are the same, and are counted once.
    """
    keys = ["dataset", "notion", "against", "share", "difference"]
    found: list[Difference] = [
        d
        for table in evidence.tables.values()
        for d in table[keys].drop_duplicates()["difference"]
        if d.counts
    ]
    if not found:
        return ""
    sure, together = sum(d.above(0) or d.below(0) for d in found), sum(holm(found))
    return (
        f"Of {len(found)} intervals {sure} leave out zero, where about {len(found) / 20:.0f} would "
        f"by chance; by Holm's method, under which all are right together with 95 %, {together}. "
        "Rows that are the same are counted once."
    )


def bound(frame: pd.DataFrame) -> str:
    """Compare OTF with Norm and with the largest correlation, by the larger violation on Adult."""
    one, each = (
        select(compare(frame, "full", "test", mine, ("norm", "correlation")), share=SHARE)
        for mine in ("otf", "otf_attributes")
    )
    said = []
    for text, table in (("one cost for all", one), ("one cost for each attribute", each)):
        against = [_found(table, LARGER, "peo", other) for other in ("norm", "correlation")]
        if all(against):
            said.append(
                f"OTF ({text}) minus Norm is {against[0]}, and minus the largest correlation "
                f"{against[1]}."
            )
    return " ".join(["For PEO, where half of the larger violation is left:", *said]) if said else ""


def _duals(frame: pd.DataFrame) -> Iterator[str]:
    """Say what converging the duals of the published method wins or loses on Adult."""
    table = compare(frame, "paper", "test", "otf", ("coordinate",))
    said, losing = [], []
    for notion in ("PDP", "PEO"):
        for share in DUALS_AT:
            own = select(table, dataset="adult", attribute=BOTH, notion=notion.lower(), share=share)
            if len(own) and own["difference"].iloc[0].splits:
                found: Difference = own["difference"].iloc[0]
                verb = "**loses**" if found.below(0) else "wins" if found.above(0) else "undecided"
                verb = verb if found.counts else "too few splits to tell"
                losing.append(found.mean < 0)
                said.append(f"for {notion} with {LEFT[share]} left, {verb}, {found.mean:+.4f}")
                break
    if said:
        why = " ([why](#what-the-paper-could-not-see))" * any(losing)
        yield (
            "Solving each batch of the published method to its optimum (converged duals) on Adult: "
            f"{'; '.join(said)}{why}."
        )


def _found(table: pd.DataFrame, attribute: str, notion: str, against: str) -> str:
    """Return a difference on Adult in words, or nothing if a curve does not come down to it."""
    rows = select(table, dataset="adult", attribute=attribute, notion=notion, against=against)
    found: Difference | None = rows["difference"].iloc[0] if len(rows) else None
    if found is None or not found.splits:
        return ""
    return f"{found} ({found.splits} split{'s' * (found.splits > 1)})"
