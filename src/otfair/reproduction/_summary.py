"""What the results come to, in ten lines at the top of their page: every number from the runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pandas as pd

from otfair.reproduction._claims import Difference, compare, holm
from otfair.reproduction._frames import BOTH, LARGER, SETUPS, select
from otfair.reproduction._stands import SHARE, stands
from otfair.reproduction._verdicts import FAILS, HOLDS, MIXED, MOSTLY, Evidence, Verdict

WORDS = (HOLDS, MOSTLY, MIXED, FAILS)
LOW = 0.25  # a share that is not in the first step of the published method's strengths


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
    sure = sum(d.above(0) or d.below(0) for d in found)
    return (
        f"Of {len(found)} intervals {sure} leave out zero, where about {len(found) / 20:.0f} would "
        f"by chance; by Holm's method, under which all are right together with 95 %, {holm(found)}."
        " Rows that are the same are counted once."
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
    converged = select(compare(frame, "paper", "test", "otf", ("coordinate",)), share=LOW)
    duals = {n: _found(converged, BOTH, n.lower(), "coordinate") for n in ("PDP", "PEO")}
    if any(duals.values()):
        yield (
            "Converged duals on Adult in the paper's protocol, less the published ascent, by the "
            "larger share where a quarter is left: "
            f"{' and '.join(f'{found} for {n}' for n, found in duals.items() if found)}. "
            "They lower sex first."
        )


def _found(table: pd.DataFrame, attribute: str, notion: str, against: str) -> str:
    """Return a difference on Adult in words, or nothing if a curve does not come down to it."""
    rows = select(table, dataset="adult", attribute=attribute, notion=notion, against=against)
    found: Difference | None = rows["difference"].iloc[0] if len(rows) else None
    if found is None or not found.splits:
        return ""
    return f"{found} ({found.splits} split{'s' * (found.splits > 1)})"
