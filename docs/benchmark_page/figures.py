"""The figures of docs/benchmarks.md: accuracy or AUC against a gap, with standard errors."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pages import standard_error

from . import networks as nets
from . import runs as data
from .runs import METHODS

NETWORKS = {
    "none, shrunk": ("#999999", "."), "fairret, Norm": ("#009e73", "P"),
    "fairret, KL projection": ("#d55e00", "D"), "OTF": ("#0072b2", "o"),
    "OTF, by group": ("#56b4e9", "s"), "Norm": ("#cc79a7", "^"),
}  # fmt: skip


def points(part: pd.DataFrame, method: str) -> pd.DataFrame:
    """Return means and standard errors of gap and accuracy, by setting; gaps rise."""
    rows = []
    for _, own in part[part["method"] == method].groupby("setting"):
        errors = own[["gap", "accuracy"]].apply(standard_error).fillna(0.0)
        rows.append((own["gap"].mean(), own["accuracy"].mean(), *errors))
    frame = pd.DataFrame(rows, columns=["gap", "accuracy", "gap_error", "error"])
    return frame.sort_values(["gap", "accuracy"])


def panel(axis: Axes, part: pd.DataFrame, names: list[str], bars: tuple[str, ...]) -> None:
    """Draw methods, without a limit as a star; bars of those named, so that lines stay visible."""
    for name in names:
        method, found = METHODS[name], points(part, name)
        if not len(found):
            continue
        faint = {"mfc": "white"} if method.attribute else {}
        look = {"color": method.colour, "ms": 5.5, "zorder": 3 if method.ours else 2, **faint}
        width = 1.7 if method.ours else 1.1
        line = data.unbeaten(found)
        axis.plot(line["gap"], line["accuracy"], method.mark, lw=width, label=method.title, **look)
        beaten = found.drop(line.index)
        axis.plot(beaten["gap"], beaten["accuracy"], method.mark[0], alpha=0.4, **look)
        if name in bars:
            axis.errorbar(
                found["gap"], found["accuracy"], found["error"], found["gap_error"], "none",
                ecolor=method.colour, elinewidth=0.7, alpha=0.55, zorder=1,
            )  # fmt: skip
    free = part[part["method"] == "free"]
    axis.plot(
        free["gap"].mean(), free["accuracy"].mean(), "*", color="k", ms=11, label="no limit",
        zorder=4,
    )  # fmt: skip
    axis.spines[["top", "right"]].set_visible(False)
    axis.set_xlim(left=0)
    axis.grid(alpha=0.25)
    axis.tick_params(labelsize=8)


def legend(figure: Figure, axes: np.ndarray, columns: int) -> None:
    """Put one legend of all panels below them."""
    handles: dict[str, object] = {}
    for axis in axes:
        handles |= dict(zip(*reversed(axis.get_legend_handles_labels())))
    figure.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=columns,
        frameon=False, fontsize=8.5,
    )  # fmt: skip


def adult(panels: dict[str, tuple[pd.DataFrame, str, str]]) -> Figure:
    """Draw Adult: methods that do not need the attribute, and what was published."""
    figure = Figure(figsize=(9.5, 7.4), layout="constrained")
    axes = figure.subplots(2, 2).ravel()
    known = data.published()
    for axis, (title, (part, base, notion)) in zip(axes, panels.items()):
        panel(axis, part, data.BLIND, ("plain", "linear_post"))
        own = known[(known["table"] == "adult") & (known["base"] == base)]
        own = own[(own["notion"] == notion) & (own["method"] == "LinearPost")]
        axis.plot(
            own["gap"], own["accuracy"], "D", color="#d55e00", mfc="none", ms=4, alpha=0.7,
            label="LinearPost, as published",
        )  # fmt: skip
        axis.autoscale(axis="x")
        axis.set_xlim(left=0)
        axis.set_title(title, fontsize=10)
    for axis in axes[::2]:
        axis.set_ylabel("test accuracy")
    for axis in axes[2:]:
        axis.set_xlabel("test gap of rates, men and women")
    legend(figure, axes, 4)
    return figure


def posts(panels: dict[str, pd.DataFrame]) -> Figure:
    """Draw one booster on ACSIncome, and everything that can be done with it."""
    figure = Figure(figsize=(9.5, 4.9), layout="constrained")
    axes = figure.subplots(1, 2)
    names = [n for n in METHODS if n != "margin"]
    for axis, (title, part) in zip(axes, panels.items()):
        panel(axis, part, names, ("plain", "otf"))
        axis.set_title(title, fontsize=10)
        axis.set_xlabel("test gap of rates, men and women")
    axes[0].set_ylabel("test accuracy")
    legend(figure, axes, 4)
    return figure


def small(panels: dict[str, pd.DataFrame]) -> Figure:
    """Draw the small tables: their intervals are the point."""
    figure = Figure(figsize=(9.5, 4.2), layout="constrained")
    axes = figure.subplots(1, 3)
    names = ["plain", "otf", "linear_post", "oxonfair", "reduction", "attribute", "thresholds"]
    for axis, (title, part) in zip(axes, panels.items()):
        panel(axis, part, names, ("plain", "linear_post"))
        axis.set_title(title, fontsize=10)
        axis.set_xlabel("test gap of rates")
    axes[0].set_ylabel("test accuracy")
    legend(figure, axes, 4)
    return figure


def networks(runs: pd.DataFrame) -> Figure:
    """Draw networks: AUC against ABCFair's violation, and against the correlation."""
    ran = nets.ran(runs)
    figure = Figure(figsize=(1 + 3 * len(ran), 6.6), layout="constrained")
    axes = figure.subplots(2, len(ran), sharey="row", squeeze=False)
    measures = {"violation_test": "ABCFair's violation", "correlation_test": "correlation"}
    for row, (column, called) in zip(axes, measures.items()):
        for axis, groups in zip(row, ran):
            free = nets.means(runs, groups, "none")
            for method, (colour, mark) in NETWORKS.items():
                if not nets.have(runs, groups, method):
                    continue
                line = nets.kept(runs, groups, method, column.partition("_")[0])
                line = line.sort_values(column)
                axis.plot(
                    line[column], line["auc_test"], f"{mark}-", color=colour, ms=5, lw=1.3,
                    label=nets.TITLES.get(method, method).strip("`"),
                )  # fmt: skip
                rest = nets.means(runs, groups, method)
                rest = rest[~rest.index.isin(line.index)]
                axis.plot(rest[column], rest["auc_test"], mark, color=colour, ms=5, alpha=0.4)
            axis.plot(free[column], free["auc_test"], "*", color="k", ms=11, label="no penalty",
                      zorder=4)  # fmt: skip
            axis.set_title(groups if column == "violation_test" else "", fontsize=10)
            axis.set_xlabel(called)
            axis.spines[["top", "right"]].set_visible(False)
            axis.grid(alpha=0.25)
            axis.set_xlim(left=0)
            axis.tick_params(labelsize=8)
        row[0].set_ylabel("test AUC")
        lows = [nets.means(runs, g, "none")["auc_test"].iloc[0] for g in ran]
        row[0].set_ylim(min(lows) - 0.06, max(lows) + 0.006)
    legend(figure, axes.ravel(), 4 if len(ran) == 3 else 3)
    return figure
