"""Where OTF loses, in words: what the first pages and the page of limits say of it."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import pandas as pd

from otfair.reproduction._claims import Difference
from otfair.reproduction._frames import TOGETHER, select
from otfair.reproduction._places import NOTIONS, listed, percent, places
from otfair.reproduction._standings import (
    BEHIND,
    LEFT,
    RIVALS,
    largest_losses,
    raised,
    standings,
    tally,
)


def worst(frame: pd.DataFrame) -> str:
    """Say where OTF loses most: with half of the unfairness left, and with less."""
    half, less = largest_losses(frame)
    if half.empty and less.empty:
        return "**It surely loses** nowhere."
    said, named = [], ""
    for rows in (half, less):
        for row in rows.to_dict("records"):
            where = f"against {RIVALS[row['against']]} on {places(rows)}"
            lost = f"{-row['difference'].mean:.4f} of AUC with {LEFT[row['share']]} left"
            said.append(lost if where == named else f"{where}: {lost}")
            named = where
    return f"**It loses most** {', and '.join(said)}."


def _behind(row: Mapping[Hashable, Any]) -> str:
    return f"behind {RIVALS[row['against']]}"


def losses(frame: pd.DataFrame) -> list[str]:
    """Return a line for each place where OTF is surely behind, with intervals, and for the rest."""
    return [*_lines(frame), *_rest(standings(frame)), *_more(frame)]


def _lines(frame: pd.DataFrame) -> Iterator[str]:
    behind, (_, less) = select(standings(frame), word=BEHIND), largest_losses(frame)
    keys = ["dataset", "attribute", "notion"]
    for _, own in behind.groupby(keys, sort=False):
        said = [f"{_behind(row)} by {_short(row['difference'])}" for row in own.to_dict("records")]
        yield f"On {places(own)} OTF is {listed(said)}."
    for row in less.to_dict("records"):
        yield (
            f"With less left it loses more: with {LEFT[row['share']]} left it is {_behind(row)} by "
            f"{_short(row['difference'])} on {places(less)}."
        )
    paper = select(standings(frame, "otf"), dataset="adult", against="norm", word=BEHIND)
    for attribute in TOGETHER:
        own = select(paper, attribute=attribute)
        said = [
            f"{_short(row['difference'])} for {NOTIONS[row['notion']]}"
            for row in own.to_dict("records")
        ]
        if said:
            yield (
                "With one cost for all attributes, as in the paper, it is behind Norm on Adult by "
                f"{attribute} by {listed(said)}."
            )


def _rest(table: pd.DataFrame) -> Iterator[str]:
    """Say of datasets on which OTF is nowhere behind how often it is level."""
    rows = table[~table["dataset"].isin(select(table, word=BEHIND)["dataset"])]
    if len(rows):
        names = listed([str(name).capitalize() for name in dict.fromkeys(rows["dataset"])])
        counts = tally(rows["difference"].tolist())
        yield f"On {names} OTF is {counts} of {len(rows)} comparisons with simpler penalties."


def _more(frame: pd.DataFrame) -> Iterator[str]:
    """Say where OTF leaves new people with more of the violation than no penalty does."""
    for _, own in raised(frame).groupby(level=0):
        row = own.iloc[0]
        yield (
            f"On {places(own)} it makes things **worse** for new people: with alpha 0.5 they have "
            f"{percent(row['left'])} of the violation without a penalty, and more of it in "
            f"{row['above']} of {row['splits']} splits. Norm leaves {percent(row['norm'])}. "
            f"Among training people OTF leaves {percent(row['trained'])}."
        )


def _short(found: Difference) -> str:
    """Return a loss with its interval, without zeros before the point."""
    mean, low, high = (
        f"{-x:.4f}".replace("0.", ".", 1) for x in (found.mean, found.high, found.low)
    )
    return f"{mean} [{low}, {high}]"
