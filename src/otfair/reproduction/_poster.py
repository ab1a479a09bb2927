"""One figure for a poster: where OTF is ahead of other penalties, where level, where behind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from otfair.reproduction._claims import Difference, curve
from otfair.reproduction._frames import BOTH, PANEL_OF, select
from otfair.reproduction._standings import (
    OF,
    PENALTIES,
    SHARE,
    headline,
    standings,
    tally,
)
from otfair.reproduction._styles import LINES, STYLES

NAMES = {
    "norm": "Norm",
    "otf": "OTF, one cost for all attributes",
    "otf_attributes": "OTF, one cost for each (default)",
}
NOTIONS = {
    "pdp": "Demographic parity:\nequal mean scores",
    "peo": "Equalized odds: equal\nmean scores by outcome",
}
# Rows of the differences, from above.
ROWS = {
    ("adult", "sex"): "Adult, by sex",
    ("adult", "race"): "Adult, by race",
    ("adult", BOTH): "Adult, sex or race,\nlarger share left",
    ("bank", "age_binned"): "Bank, by age group",
    ("bank", "age"): "Bank, by age",
    ("dutch", "sex"): "Dutch, by sex",
    ("diabetes", "gender"): "Diabetes, by gender",
}
GREY = "#8a94a0"


def draw_poster(frame: pd.DataFrame) -> Figure:
    """Draw a trade-off, and the differences at half the violation on all datasets."""
    table = standings(frame)
    figure = Figure(figsize=(9.4, 10.4), layout="constrained")
    halves: Any = figure.subfigures(2, 1, height_ratios=[1, 1.25])
    above, below = halves
    left = above.subplots(1, 2, sharex=True, sharey=True)
    right = below.subplots(1, 2, sharex=True, sharey=True)
    for axes, notion in zip(left, NOTIONS):
        _trade_off(axes, frame, notion)
        axes.set_title(message(table, notion), fontsize=12)
    left[0].set_ylabel("AUC on test people", fontsize=11)
    left[0].legend(frameon=False, loc="lower right", fontsize=10)
    above.supxlabel(
        "unfairness left, of the unfair model's (by sex or by race, whichever is larger)",
        fontsize=11,
    )
    for axes, notion in zip(right, NOTIONS):
        own = select(table, notion=notion)
        _differences(axes, own)
        counts = tally(own["difference"].tolist()).replace(" in ", " ").replace(" and ", ", ")
        axes.set_title(f"{NOTIONS[notion]}\n{counts}", fontsize=12)
    handles, labels = right[0].get_legend_handles_labels()
    below.legend(
        handles, labels, title="OTF minus", frameon=False, fontsize=11, title_fontsize=11,
        loc="outside lower center", ncols=4,
    )  # fmt: skip
    figure.suptitle(headline(table).replace(": ", ":\n"), fontsize=14, fontweight="bold")
    return figure


def message(table: pd.DataFrame, notion: str) -> str:
    """Say how OTF compares with Norm on Adult by both attributes, if that is known."""
    rows = select(table, dataset="adult", attribute=BOTH, notion=notion, against="norm")
    what = f"Adult, {NOTIONS[notion].split(':')[0].lower()}, by sex and race"
    if rows.empty:
        return f"{what}:\nthe whole trade-off"
    found: Difference = rows["difference"].iloc[0]
    said = OF[rows["word"].iloc[0]]
    return f"{what}:\n{said} Norm at one half ({found.mean:+.4f})"


def _trade_off(axes: Axes, frame: pd.DataFrame, notion: str) -> None:
    """Draw test AUC against the larger share that is left, on Adult."""
    panel, x = PANEL_OF["adult", BOTH], f"test_{notion}_{BOTH}"
    for method, label in NAMES.items():
        own = curve(frame, panel, notion, method)
        if method not in set(own["method"]):
            continue
        means = own.groupby("alpha")[[x, "test_auc"]].mean()
        _, colour, marker = STYLES[method]
        axes.plot(
            means[x], means["test_auc"], LINES[method] + marker, color=colour, label=label, ms=5
        )
    free = select(curve(frame, panel, notion, "norm"), method="unfair")["test_auc"].mean()
    axes.plot(1, free, "*", color="k", ms=12, zorder=3, ls="", label="unfair model")
    axes.axvline(SHARE, color=GREY, lw=1, ls=":")
    axes.set_xlim(0, 1.04)
    axes.tick_params(labelsize=11)
    axes.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    axes.annotate(
        "better", (0.04, 0.96), (0.16, 0.8), xycoords="axes fraction",
        arrowprops={"arrowstyle": "->", "color": GREY}, color=GREY, fontsize=11,
    )  # fmt: skip
    axes.spines[["top", "right"]].set_visible(False)


def _differences(axes: Axes, table: pd.DataFrame) -> None:
    """Draw intervals of the differences, a row for each dataset and attribute."""
    rows = list(ROWS)
    for shift, method in zip((-0.24, -0.08, 0.08, 0.24), (*PENALTIES, "barycenter")):
        own = select(table, against=method)
        at = [rows.index(key) for key in zip(own["dataset"], own["attribute"])]
        found: list[Difference] = own["difference"].tolist()
        label, colour, marker = STYLES[method]
        axes.errorbar(
            [d.mean for d in found], np.add(at, shift), fmt=marker, color=colour, ms=6.5,
            xerr=[d.high - d.mean for d in found], lw=1.4, capsize=2.5, label=label,
        )  # fmt: skip
    axes.axvline(0, color=GREY, lw=1)
    for row in range(1, len(rows)):
        axes.axhline(row - 0.5, color=GREY, lw=0.4, alpha=0.5)
    axes.set_yticks(range(len(rows)), ROWS.values(), fontsize=11)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlabel(
        "AUC of OTF minus that of the other\nwith half of the unfairness left", fontsize=11
    )
    axes.tick_params(axis="x", labelsize=11)
    axes.locator_params(axis="x", nbins=5)
    axes.spines[["top", "right"]].set_visible(False)
