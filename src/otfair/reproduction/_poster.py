"""One figure for a poster: where OTF is ahead of the norm penalty, where level, where behind."""

from __future__ import annotations

from textwrap import wrap

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from otfair.reproduction._claims import INTERVAL, Difference, compare, curve
from otfair.reproduction._frames import BOTH, LARGER, PANEL_OF, select
from otfair.reproduction._styles import LINES, STYLES
from otfair.reproduction._verdicts import MARGIN

POSTER = (
    "Left: AUC on test people of Adult against the share of unfairness that is left, by sex or by "
    "race, whichever is larger. Middle and right: AUC of OTF minus that of the norm penalty where "
    "half is left (dotted in the left panel), with 95 % intervals, by dataset and attribute; "
    f"level: zero is in the interval, or the difference is below {MARGIN:g}"
)
SHARE = 0.5
NAMES = {
    "norm": "norm penalty",
    "otf": "OTF, one cost for all attributes",
    "otf_attributes": "OTF, one cost for each attribute",
}
NOTIONS = {
    "pdp": "Demographic parity:\nequal mean scores",
    "peo": "Equalized odds: equal mean\nscores for each outcome",
}
# Rows of the differences, from above. By the larger violation of the two Adult is as by sex.
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
    """Draw a trade-off, and the differences to Norm at half the violation on all datasets."""
    table = pd.concat(
        compare(frame, "full", "test", method, ("norm",)).assign(method=method)
        for method in ("otf", "otf_attributes")
    )
    table = select(table, share=SHARE)
    table = table[table["difference"].map(lambda d: d.splits > 0) & (table["attribute"] != LARGER)]
    figure = Figure(figsize=(12, 5.2), layout="constrained")
    left, *right = figure.subplots(1, 3, width_ratios=[1.25, 1, 1])
    right[1].sharex(right[0])
    right[1].sharey(right[0])
    _trade_off(left, frame)
    for axes, notion in zip(right, NOTIONS):
        _differences(axes, select(table, notion=notion))
        axes.set_title(NOTIONS[notion], fontsize=10)
    right[1].tick_params(labelleft=False)
    figure.suptitle(message(table), fontsize=12, fontweight="bold")
    return figure


def message(table: pd.DataFrame) -> str:
    """Say what the differences come to, in a sentence."""
    adult = table["dataset"] == "adult"
    attribute, method = table["attribute"].where(adult), table["method"]
    said = {
        "by sex on Adult": attribute == "sex",
        "by race": attribute == "race",
        "by both with one cost for each": (attribute == BOTH) & (method == "otf_attributes"),
        "by both with one cost for all": (attribute == BOTH) & (method == "otf"),
        "on the other datasets": ~adult,
    }
    found = {where: _verdict(table[own]) for where, own in said.items()}
    words = [f"{verdict} {where}" for where, verdict in found.items() if verdict]
    text = "AUC of OTF against that of the norm penalty, where half of the unfairness is left"
    return "\n".join([text, *wrap("; ".join(words), 116)])


def _verdict(table: pd.DataFrame) -> str:
    """Name the verdicts of the differences that have an interval."""
    found = {word(d) for d in table["difference"] if d.splits >= INTERVAL}
    return " or ".join(w for w in ("better", "level", "worse") if w in found)


def word(found: Difference) -> str:
    """Say whether an interval leaves out zero, by at least the margin in the mean."""
    if abs(found.mean) < MARGIN:
        return "level"
    return "better" if found.above(0) else "worse" if found.below(0) else "level"


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
    axes.set_title("Adult, equalized odds by sex and race:\nthe whole trade-off", fontsize=10)
    axes.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    axes.annotate(
        "better", (0.04, 0.96), (0.16, 0.8), xycoords="axes fraction",
        arrowprops={"arrowstyle": "->", "color": GREY}, color=GREY,
    )  # fmt: skip
    axes.legend(frameon=False, loc="lower right", fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)


def _differences(axes: Axes, table: pd.DataFrame) -> None:
    """Draw intervals of the difference to Norm, a row for each dataset and attribute."""
    rows = list(ROWS)
    for method, shift in (("otf", -0.13), ("otf_attributes", 0.13)):
        own = select(table, method=method)
        at = [rows.index(key) for key in zip(own["dataset"], own["attribute"])]
        found: list[Difference] = own["difference"].tolist()
        _, colour, marker = STYLES[method]
        axes.errorbar(
            [d.mean for d in found], np.add(at, shift), fmt=marker, color=colour, ms=5, capsize=2,
            xerr=[np.nan_to_num(d.high - d.mean) for d in found], lw=1.2,
        )  # fmt: skip
        for d, height in zip(found, at):
            if d.splits < INTERVAL:
                text = f"in {d.splits} split{'s' * (d.splits > 1)}"
                axes.annotate(text, (d.mean, height + shift), (-6, 0), textcoords="offset points",
                              ha="right", va="center", fontsize=7)  # fmt: skip
    axes.axvline(0, color=GREY, lw=1)
    axes.set_yticks(range(len(rows)), ROWS.values(), fontsize=9)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlabel("AUC minus that of the norm penalty\nat half of the unfairness")
    axes.tick_params(axis="x", labelsize=9)
    axes.locator_params(axis="x", nbins=5)
    axes.spines[["top", "right"]].set_visible(False)
