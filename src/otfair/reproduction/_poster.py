"""One figure for a poster: where OTF is ahead of the norm penalty, where level, where behind."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from otfair.reproduction._claims import compare, curve
from otfair.reproduction._frames import BOTH, PANEL_OF, TITLES, select, title
from otfair.reproduction._styles import LINES, STYLES

POSTER = "AUC of OTF against that of Norm, at half the violation of the unfair model"
SHARE = 0.5
CURVES = ("norm", "otf", "otf_attributes")  # of the left half


def draw_poster(frame: pd.DataFrame) -> Figure:
    """Draw a trade-off, and the differences to Norm at half the violation on all datasets."""
    figure = Figure(figsize=(11, 5.4), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1, 1.25])
    _trade_off(left, frame)
    _differences(right, frame)
    return figure


def _trade_off(axes: Axes, frame: pd.DataFrame) -> None:
    """Draw test AUC against the larger share that is left, on Adult for equalized odds."""
    panel, x = PANEL_OF["adult", BOTH], f"test_peo_{BOTH}"
    for method in CURVES:
        own = curve(frame, panel, "peo", method)
        if method not in set(own["method"]):
            continue
        means = own.groupby("alpha")[[x, "test_auc"]].mean().sort_values(x)
        label, colour, marker = STYLES[method]
        axes.plot(
            means[x], means["test_auc"], LINES[method] + marker, color=colour, label=label, ms=5
        )
    axes.set(
        xlabel=f"{TITLES[BOTH]} that is left", ylabel="AUC (test)",
        title="Adult, equalized odds by sex and race", xlim=(0, 1.03),
    )  # fmt: skip
    axes.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    axes.annotate(
        "better", (0.05, 0.95), (0.2, 0.8), xycoords="axes fraction",
        arrowprops={"arrowstyle": "->", "color": "#8a94a0"}, color="#8a94a0",
    )  # fmt: skip
    axes.legend(frameon=False, loc="lower right")
    axes.spines[["top", "right"]].set_visible(False)


def _differences(axes: Axes, frame: pd.DataFrame) -> None:
    """Draw intervals of the difference to Norm, a row for each dataset, attribute and notion."""
    rows: list[str] = []
    for method, shift in (("otf", -0.15), ("otf_attributes", 0.15)):
        label, colour, marker = STYLES[method]
        table = compare(frame, "full", "test", method, ("norm",))
        table = select(table, share=SHARE)
        at, means, reaches = [], [], []
        for row in table.to_dict("records"):
            found = row["difference"]
            name = f"{title(PANEL_OF[row['dataset'], row['attribute']])}: {row['notion'].upper()}"
            if found.splits:
                rows += [name] if name not in rows else []
                at.append(rows.index(name) + shift)
                means.append(found.mean)
                reaches.append(np.nan_to_num(found.high - found.mean))
        axes.errorbar(
            means, at, xerr=reaches, fmt=marker, color=colour, label=label, ms=5, capsize=2, lw=1.2
        )
    axes.axvline(0, color="#8a94a0", lw=1)
    axes.set_yticks(range(len(rows)), rows, fontsize=8)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set(
        xlabel="AUC less that of Norm (95 % interval)", title="At half the violation, test people"
    )
    axes.legend(frameon=False, loc="lower left")
    axes.spines[["top", "right"]].set_visible(False)
