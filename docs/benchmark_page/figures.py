"""The figures of docs/benchmarks.md: accuracy or AUC against a gap, with 95 % intervals."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pages import mean_and_reach

from . import networks as nets
from . import runs as data
from .runs import ACS, ADULT, BASES, METHODS, NOTIONS, PANELS, PARITY, SMALL, of

NETWORKS = {
    "none, shrunk": ("#999999", "."), "fairret, Norm": ("#009e73", "P"),
    "fairret, KL projection": ("#d55e00", "D"), "OTF": ("#0072b2", "o"),
    "OTF, by group": ("#56b4e9", "s"), "Norm": ("#cc79a7", "^"),
}  # fmt: skip

BARS = ("OTF", nets.PEER)  # the networks that are compared have bars, where there are some seeds


def points(part: pd.DataFrame, method: str) -> pd.DataFrame:
    """Return means and half widths of intervals of gap and accuracy, by setting; gaps rise."""
    rows = []
    for _, own in part[part["method"] == method].groupby("setting"):
        (gap, wide), (accuracy, high) = (mean_and_reach(own[c]) for c in ("gap", "accuracy"))
        rows.append((gap, accuracy, wide, high))
    frame = pd.DataFrame(rows, columns=["gap", "accuracy", "wide", "high"]).fillna(0.0)
    return frame.sort_values(["gap", "accuracy"])


def look(name: str) -> dict[str, object]:
    """Return colour, size and order of a method's marks; those with the attribute are hollow."""
    method = METHODS[name]
    hollow = {"mfc": "white"} if method.attribute else {}
    return {"color": method.colour, "ms": 5.5, "zorder": 3 if method.ours else 2, **hollow}


def panel(axis: Axes, part: pd.DataFrame, names: list[str], bars: tuple[str, ...]) -> None:
    """Draw methods, without a limit as a star; bars of those named, so that lines stay visible.

    Bars are of points on a line, not of those that another of the method beats.
    """
    for name in names:
        method, found = METHODS[name], points(part, name)
        if not len(found):
            continue
        width = 1.7 if method.ours else 1.1
        line = data.unbeaten(found)
        axis.plot(
            line["gap"], line["accuracy"], method.mark, lw=width, label=method.title,
            clip_on=False, **look(name),
        )  # fmt: skip
        beaten = found.drop(line.index)
        axis.plot(beaten["gap"], beaten["accuracy"], method.mark[0], alpha=0.4, **look(name))
        if name in bars:
            axis.errorbar(
                line["gap"], line["accuracy"], line["high"], line["wide"], "none",
                ecolor=method.colour, elinewidth=0.7, alpha=0.45, zorder=1,
            )  # fmt: skip
    free = part[part["method"] == "free"]
    axis.plot(
        free["gap"].mean(), free["accuracy"].mean(), "*", color="k", ms=11, label="no limit",
        zorder=4,
    )  # fmt: skip
    tidy(axis)


def tidy(axis: Axes) -> None:
    """Leave out what no reader needs."""
    axis.spines[["top", "right"]].set_visible(False)
    axis.set_xlim(left=0)
    axis.grid(alpha=0.25)
    axis.tick_params(labelsize=8)


def differences(axis: Axes, part: pd.DataFrame, names: list[str]) -> None:
    """Draw accuracy at equal gap less that of one rule of ours, with intervals over splits.

    Methods stand side by side, so that their bars can be told apart.
    """
    there = [name for name in names if name != "plain" and data.ran(part, name)]
    ours = data.curve(part, "plain")["gap"]
    axis.axhline(0, color=METHODS["plain"].colour, lw=1.7, label=METHODS["plain"].title)
    for k, name in enumerate(there):
        found = data.lead(part, "plain", name)
        if not len(found.table):
            continue
        means, reaches = np.array([mean_and_reach(-row) for row in found.table.to_numpy()]).T
        order = np.argsort(found.gaps.to_numpy())
        aside = (k - (len(there) - 1) / 2) * 0.0016
        method = METHODS[name]
        axis.errorbar(
            found.gaps.to_numpy()[order] + aside, means[order], reaches[order],
            fmt=method.mark[0], elinewidth=1.0, label=method.title, **look(name),
        )  # fmt: skip
    tidy(axis)
    axis.set_xlim(0, ours.max())


def legend(figure: Figure, axes: np.ndarray, columns: int) -> None:
    """Put one legend of all panels below them."""
    handles: dict[str, object] = {}
    for axis in axes:
        handles |= dict(zip(*reversed(axis.get_legend_handles_labels())))
    figure.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=columns,
        frameon=False, fontsize=8.5,
    )  # fmt: skip


def adult(runs: pd.DataFrame) -> Figure:
    """Draw Adult without the attribute; for parity, whose curves are alike, as differences."""
    figure = Figure(figsize=(9.5, 9), layout="constrained")
    figure.get_layout_engine().set(hspace=0.08)
    axes = figure.subplots(2, 2).ravel()
    alike = ("margin", "mixed", "on_top")  # for parity nearly the same as others of ours
    for axis, (base, notion) in zip(axes, PANELS):
        part, known = of(runs, ADULT, base, notion), data.linear_post_published(base, notion)
        height = known["accuracy"].to_numpy()
        if notion == PARITY:
            differences(axis, part, [name for name in data.BLIND if name not in alike])
            line = data.curve(part, "plain")
            height = height - [data.at(gap, line) for gap in known["gap"]]
        else:
            panel(axis, part, data.BLIND, ("plain",))
        axis.plot(
            known["gap"], height, "D", color="#d55e00", mfc="none", ms=4, alpha=0.7,
            label="LinearPost, as published",
        )  # fmt: skip
        axis.set_title(f"{BASES[base]}, {NOTIONS[notion]}", fontsize=10)
        axis.set_xlabel("test gap of rates, men and women")
    for axis in axes[:2]:
        axis.set_xlim(0, 0.115)
    axes[0].set_ylabel("test accuracy, less that of FairDecisions")
    axes[2].set_ylabel("test accuracy")
    legend(figure, axes[::-1], 4)
    return figure


def posts(runs: pd.DataFrame) -> Figure:
    """Draw one booster on ACSIncome, and everything that can be done with it."""
    figure = Figure(figsize=(9.5, 4.9), layout="constrained")
    axes = figure.subplots(1, 2)
    names = [n for n in METHODS if n not in ("margin", "again")]
    for axis, notion in zip(axes, NOTIONS):
        panel(axis, of(runs, ACS, "boosted", notion), names, ("plain",))
        axis.set_title(NOTIONS[notion], fontsize=10)
        axis.set_xlabel("test gap of rates, men and women")
    axes[0].set_ylabel("test accuracy")
    legend(figure, axes, 4)
    return figure


def small(runs: pd.DataFrame) -> Figure:
    """Draw the small tables: their intervals are the point."""
    figure = Figure(figsize=(9.5, 7.2), layout="constrained")
    axes = figure.subplots(len(BASES), len(SMALL))
    names = ["plain", "otf", "linear_post", "oxonfair", "reduction", "attribute", "thresholds"]
    for row, base in zip(axes, BASES):
        for axis, (name, title) in zip(row, SMALL.items()):
            panel(axis, of(runs, name, base, PARITY), names, ("plain", "linear_post"))
            axis.set_title(f"{title}, {BASES[base]}", fontsize=10)
        row[0].set_ylabel("test accuracy")
    for axis in axes[-1]:
        axis.set_xlabel("test gap of rates")
    legend(figure, axes.ravel(), 4)
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
                if method in BARS:
                    found = nets.reaches(runs, groups, method)
                    found = found.reindex(line.index, fill_value=0.0)
                    axis.errorbar(
                        line[column], line["auc_test"], found["auc_test"], found[column], "none",
                        ecolor=colour, elinewidth=0.8, alpha=0.5, zorder=1,
                    )  # fmt: skip
            axis.plot(free[column], free["auc_test"], "*", color="k", ms=11, label="no penalty",
                      zorder=4)  # fmt: skip
            axis.set_title(groups if column == "violation_test" else "", fontsize=10)
            axis.set_xlabel(called)
            axis.spines[["top", "right"]].set_visible(False)
            axis.grid(alpha=0.25)
            axis.set_xlim(0, 1.08 * free[column].iloc[0])
            axis.tick_params(labelsize=8)
        row[0].set_ylabel("test AUC")
        lows = [nets.means(runs, g, "none")["auc_test"].iloc[0] for g in ran]
        row[0].set_ylim(min(lows) - 0.06, max(lows) + 0.006)
    legend(figure, axes.ravel(), 4 if len(ran) == 3 else 3)
    return figure
