"""Where comparisons are, in words: datasets, attributes and notions."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from otfair.reproduction._frames import BOTH, PANELS, TOGETHER, select, title

NOTIONS = {"pdp": "demographic parity", "peo": "equalized odds"}


def places(rows: pd.DataFrame) -> str:
    """Name where comparisons are: datasets, by what attributes, for which notions."""
    out, last = [], ""
    for panel in PANELS:
        dataset, attribute, _ = panel
        own = select(rows, dataset=dataset, attribute=attribute)
        notions = [name for key, name in NOTIONS.items() if key in set(own["notion"])]
        if notions:
            which = "both notions" if notions == [*NOTIONS.values()] else notions[0]
            name = f"{dataset.capitalize()} " * (dataset != last)
            out.append(f"{name}by {judged_by(attribute)} ({which})")
            last = dataset
    return listed(out)


def judged_by(attribute: str) -> str:
    """Name what violations are judged by."""
    if attribute == BOTH:
        return " and ".join(TOGETHER) + " together"
    return title(("", attribute, ())).removeprefix(", ")


def listed(names: Sequence[str]) -> str:
    """Join names: one, two and three."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)


def percent(share: float) -> str:
    """Return a share in percent."""
    return f"{100 * share:.0f} %"
