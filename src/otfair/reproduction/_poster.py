"""One figure for a poster: where OTF is ahead of other penalties, where level, where behind."""

from __future__ import annotations

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
    figure = Figure(figsize=(12, 5.4), layout="constrained")
    left, *right = figure.subplots(1, 3, width_ratios=[1.2, 1, 1])
    right[1].sharex(right[0])
    right[1].sharey(right[0])
    _trade_off(left, frame)
    left.set_title(message(table, "adult", BOTH, "peo"), fontsize=10)
    for axes, notion in zip(right, NOTIONS):
        own = select(table, notion=notion)
        _differences(axes, own)
        counts = tally(own["difference"].tolist()).replace(" in ", " ").replace(" and ", ", ")
        axes.set_title(f"{NOTIONS[notion]}\n{counts}", fontsize=10)
    right[1].tick_params(labelleft=False)
    handles, labels = right[0].get_legend_handles_labels()
    right[1].legend(handles, labels, title="OTF less", frameon=False, fontsize=8, loc="lower right")
    figure.suptitle(headline(table).replace(": ", ":\n"), fontsize=12, fontweight="bold")
    return figure


def message(table: pd.DataFrame, dataset: str, attribute: str, notion: str) -> str:
    """Say how OTF compares with Norm in one place, if that is known."""
    rows = select(table, dataset=dataset, attribute=attribute, notion=notion, against="norm")
    what = "Adult, equalized odds by sex and race"
    if rows.empty:
        return f"{what}:\nthe whole trade-off"
    found: Difference = rows["difference"].iloc[0]
    said = OF[rows["word"].iloc[0]]
    return f"{what}:\n{said} Norm at one half\n({found.mean:+.4f} of AUC, {found.splits} splits)"


def _trade_off(axes: Axes, frame: pd.DataFrame) -> None:
    """Draw test AUC against the larger share that is left, on Adult for equalized odds."""
    panel, x = PANEL_OF["adult", BOTH], f"test_peo_{BOTH}"
    for method, label in NAMES.items():
        own = curve(frame, panel, "peo", method)
        if method not in set(own["method"]):
            continue
        means = own.groupby("alpha")[[x, "test_auc"]].mean()
        _, colour, marker = STYLES[method]
        axes.plot(
            means[x], means["test_auc"], LINES[method] + marker, color=colour, label=label, ms=5
        )
    free = select(curve(frame, panel, "peo", "norm"), method="unfair")["test_auc"].mean()
    axes.plot(1, free, "*", color="k", ms=12, zorder=3)
    axes.annotate("unfair model", (1, free), (10, -62), textcoords="offset points", ha="right",
                  fontsize=9, arrowprops={"arrowstyle": "-", "lw": 0.6, "shrinkB": 6})  # fmt: skip
    axes.axvline(SHARE, color=GREY, lw=1, ls=":")
    axes.set(
        xlabel="unfairness left, of the unfair model's\n(by sex or by race, whichever is larger)",
        ylabel="AUC on test people", xlim=(0, 1.04),
    )  # fmt: skip
    axes.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    axes.annotate(
        "better", (0.04, 0.96), (0.16, 0.8), xycoords="axes fraction",
        arrowprops={"arrowstyle": "->", "color": GREY}, color=GREY,
    )  # fmt: skip
    axes.legend(frameon=False, loc="lower right", fontsize=9)
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
            [d.mean for d in found], np.add(at, shift), fmt=marker, color=colour, ms=5.5, capsize=2,
            xerr=[d.high - d.mean for d in found], lw=1.1, label=label,
        )  # fmt: skip
    axes.axvline(0, color=GREY, lw=1)
    axes.set_yticks(range(len(rows)), ROWS.values(), fontsize=9)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlabel("AUC of OTF minus that of the other\nat half of the unfairness")
    axes.tick_params(axis="x", labelsize=9)
    axes.locator_params(axis="x", nbins=5)
    axes.spines[["top", "right"]].set_visible(False)
