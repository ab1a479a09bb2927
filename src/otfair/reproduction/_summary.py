"""What the results come to, in ten lines at the top of their page: every number from the runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pandas as pd

from otfair.reproduction._claims import Difference, compare, holm
from otfair.reproduction._frames import BOTH, LARGER, SETUPS, select
from otfair.reproduction._standings import SHARE
from otfair.reproduction._stands import stands
from otfair.reproduction._verdicts import (
    HOLDS,
    MIXED,
    MOSTLY,
    NOT_SHOWN,
    REVERSED,
    Evidence,
    Verdict,
)

WORDS = (HOLDS, MOSTLY, MIXED, NOT_SHOWN, REVERSED)
LEFT = {
    SHARE: "half",
    0.25: "a quarter",
}  # the second where strengths are too far apart at one half
SEX_OVER_RACE = 77  # how many times as much the unfair model's cost on Adult is by sex as by race


def summary(frame: pd.DataFrame, claims: Mapping[str, Mapping[str, Verdict]]) -> list[str]:
    """Return the lines that the runs allow."""
    return [*_verdicts(claims), *stands(frame), *_lines(frame)]


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


def _verdicts(claims: Mapping[str, Mapping[str, Verdict]]) -> Iterator[str]:
    for setup in SETUPS:
        found = [v[setup.name].word for v in claims.values() if setup.name in v]
        said = [f"{word} {found.count(word)}" for word in WORDS if word in found]
        judged = sum(word in WORDS for word in found)
        if said:
            claims_ = f"{judged} claim{'s' * (judged > 1)}"
            yield f"{setup.title[0].upper()}{setup.title[1:]}, {claims_} judged: {', '.join(said)}."


def _lines(frame: pd.DataFrame) -> Iterator[str]:
    one, each = (
        select(compare(frame, "full", "test", mine, ("norm", "correlation")), share=SHARE)
        for mine in ("otf", "otf_attributes")
    )
    said = []
    for text, table in (("one cost for all", one), ("one for each attribute", each)):
        against = [_found(table, LARGER, "peo", other) for other in ("norm", "correlation")]
        if all(against):
            said.append(f"{text} {against[0]} against Norm, {against[1]} against that bound")
    if said:
        yield (
            "By the larger violation of sex and race, measured and not as a share, the largest "
            "correlation is a bound, as it minimises just this. For PEO "
            f"{'; '.join(said)}."
        )
    yield from _duals(frame)


def _duals(frame: pd.DataFrame) -> Iterator[str]:
    """Say what converging the duals of the published method wins or loses on Adult."""
    table = compare(frame, "paper", "test", "otf", ("coordinate",))
    said, losing = [], []
    for notion in ("PDP", "PEO"):
        for share, left in LEFT.items():
            own = select(table, dataset="adult", attribute=BOTH, notion=notion.lower(), share=share)
            if len(own) and own["difference"].iloc[0].splits:
                found: Difference = own["difference"].iloc[0]
                verb = "**loses**" if found.below(0) else "wins" if found.above(0) else "undecided"
                verb = verb if found.counts else "too few splits to tell"
                losing.append(found.mean < 0)
                splits = f"{found.splits} split{'s' * (found.splits > 1)}"
                said.append(f"for {notion} with {left} left, {verb}, {found} ({splits})")
                break
    if said:
        why = (
            f" The reason for a loss: the cost by sex is {SEX_OVER_RACE} times that by race, so at "
            "the optimum sex is lowered first ([more](#what-the-paper-could-not-see))."
        )
        yield (
            "Converging the duals of the published method on Adult, judged by the larger share of "
            f"sex and race: {'; '.join(said)}.{why * any(losing)}"
        )


def _found(table: pd.DataFrame, attribute: str, notion: str, against: str) -> str:
    """Return a difference on Adult in words, or nothing if a curve does not come down to it."""
    rows = select(table, dataset="adult", attribute=attribute, notion=notion, against=against)
    found: Difference | None = rows["difference"].iloc[0] if len(rows) else None
    if found is None or not found.splits:
        return ""
    return f"{found} ({found.splits} split{'s' * (found.splits > 1)})"
