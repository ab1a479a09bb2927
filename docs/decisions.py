"""Write the tables and figures of docs/decisions.md from the runs that are committed beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from benchmark_page import runs as comparison
from benchmark_page.runs import METHODS, ODDS, PARITY, Lead
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pages import (
    BENCHMARKS,
    DOCS,
    TESTED,
    fill,
    mean_and_reach,
    number,
    shown,
    standard_error,
    table,
)

PAGE, RUNS, OTHERS = DOCS / "decisions.md", DOCS / "decisions.csv", BENCHMARKS / "tables.csv"
TABLES = {
    "adult/sex": "Adult, sex",
    "adult/race": "Adult, race",
    "bank/age_binned": "Bank, age group",
    "dutch/sex": "Dutch, sex",
    "diabetes/gender": "Diabetes, gender",
    "acs_income/sex": "ACSIncome, sex",
    "acs_income/race": "ACSIncome, race",
}
OTHER_TABLES = {
    "adult_all/sex": "Adult, all 48842 people, sex",
    "acs_part/sex": "ACSIncome, 43000 people, sex",
    "law/race": "Law, race",
    "compas/race": "COMPAS, race",
    "german/sex": "German, sex",
}
SHOWN = ("margin", "plain", "reduction", "otf", "attribute", "thresholds", "error_parity")
LIMITS, MORE_LIMITS = (0.05, 0.02, 0.01), (0.1, 0.08, 0.05, 0.02, 0.01)
SEEDS = 5
LEVEL = 0.003  # of accuracy; methods that differ by less have no bars of their own in a figure
FAR = 1.5  # times the largest gap of the others, from which on that without a limit is written
BASES = ("logistic", "boosted")
PEERS = ("reduction", "otf", "thresholds", "error_parity")
ACS_TESTED = 150_000 / 120_000  # test people of ACSIncome for each who trains


def ratio_of(runs: pd.DataFrame) -> float:
    """Return how many people test for each who trains, in the runs of one table."""
    return ACS_TESTED if runs["table"].iloc[0].startswith("acs_income") else TESTED


def coverage(runs: pd.DataFrame, titles: dict[str, str], limits: tuple[float, ...]) -> str:
    """In how many runs the test gap is within the limit, where that is promised, and elsewhere."""
    rows = []
    total = {limit: [0, 0] for limit in limits}
    for name, part in _tables(runs[runs["method"] == "margin"], titles):
        sure = part["confidence"] >= 0.9
        whole = sure & (part["promised"] == part["groups"])
        some = sure & (part["promised"] > 1) & ~whole
        cells = []
        for limit in limits:
            here, found = part["setting"] == limit, []
            for mark, chosen, column in (
                ("", whole, "gap"), ("†", some, "gap_promised"), (" (none)", ~(whole | some), "gap")
            ):  # fmt: skip
                own = part[here & chosen]
                if not len(own):
                    continue
                within = int((own[column] <= limit).sum())
                found.append(f"{within} of {len(own)}{mark}")
                if chosen is whole or chosen is some:
                    total[limit][0] += within
                    total[limit][1] += len(own)
            cells.append(", ".join(found) or "-")
        rows.append([name, *cells])
    sums = ["**{} of {}**".format(*total[limit]) if total[limit][1] else "-" for limit in limits]
    rows.append(["**all that are promised**", *sums])
    return table(["limit", *[number(x, 2) for x in limits]], rows)


def results(runs: pd.DataFrame, base: str, notion: str) -> str:
    """Accuracy and test gap of each method, with 95 % intervals over seeds."""
    rows = []
    own = runs[(runs["base"] == base) & (runs["notion"] == notion)]
    asked = set(own[own["method"] == "plain"]["setting"])
    limits = [x for x in (*LIMITS, 0.0) if x in asked]
    for name, title in TABLES.items():
        part = own[own["table"] == name]
        if not (part["method"] != "free").any():
            continue
        alone = part[part["method"] == "free"]
        rows.append([title, "no limit", f"{_pair(alone)}", *[""] * (len(limits) - 1)])
        for method in SHOWN:
            found, called = part[part["method"] == method], METHODS[method].title
            if method == "otf" or not len(found):
                continue
            seeds = found["seed"].nunique()
            called += f" ({seeds})" if seeds < SEEDS else ""
            if method == "thresholds" and notion == ODDS:
                rows.append(["", f"{called}, gap of 0", _pair(found), *[""] * (len(limits) - 1)])
                continue
            rows.append(["", called, *[_pair(found[found["setting"] == x]) for x in limits]])
    if not rows:
        return "(no runs yet)"
    return table(["", "", *[f"limit {number(x, 2)}" for x in limits]], rows)


def compared(runs: pd.DataFrame) -> Iterator[tuple[str, str, Lead | None, float]]:
    """Yield tables, peers, our leads at their gaps, and how many people test for each who trains.

    Where the peer uses the attribute, ours does. The gap is that of large groups.
    """
    for base in BASES:
        for name, title in TABLES.items():
            part = _part(runs, base, PARITY, name)
            part = part.assign(gap=part["gap_large"])
            for peer in PEERS:
                ours = "attribute" if METHODS[peer].attribute else "plain"
                ran = bool((part["method"] == peer).any())
                found = comparison.lead(part, ours, peer) if ran else None
                yield f"{title}, {base}", peer, found, ratio_of(part)


def leads(runs: pd.DataFrame) -> str:
    """Our accuracy less a peer's, at the peer's test gap: along our mean curve, seed by seed."""
    rows: dict[str, list[str]] = {}
    for title, _, found, ratio in compared(runs):
        text = "-" if found is None else "out of reach"
        if found is not None and len(found.values):
            text = f"{shown(found.values, sign=True, tested=ratio)} ({len(found.settings)})"
        rows.setdefault(title, [title]).append(text)
    return table(["minus that of", *[METHODS[peer].title for peer in PEERS]], list(rows.values()))


def clear_leads(runs: pd.DataFrame) -> str:
    """Say where an interval of the leads does not reach zero."""
    said, count = {"ahead of": [], "behind": []}, 0
    for title, peer, found, ratio in compared(runs):
        if found is None or not len(found.values):
            continue
        count += 1
        mean, reach = mean_and_reach(found.values, ratio)
        if abs(mean) > reach:
            text = f"{METHODS[peer].title} by {number(abs(mean))} ({title})"
            said["ahead of" if mean > 0 else "behind"].append(text)
    sides = "; ".join(f"{side} {' and '.join(own)}" for side, own in said.items() if own)
    clear = sum(len(own) for own in said.values())
    chance = f"by chance alone {0.05 * count:.1f} would not"
    return f"{clear} of {count} intervals do not reach zero; {chance}. Ours is {sides}."


def retrained(runs: pd.DataFrame) -> str:
    """Accuracy with a second training less that without, at the same gaps, on each table."""
    rows = []
    for name, title in OTHER_TABLES.items():
        found = [comparison.of(runs, name, base, PARITY) for base in BASES]
        leads = [
            comparison.lead(part, "again", "plain").values if comparison.ran(part, "again") else []
            for part in found
        ]
        rows.append([title, *[shown(own, sign=True) if len(own) else "-" for own in leads]])
    return table(["trained again, minus once", *comparison.BASES.values()], rows)


def seconds(runs: pd.DataFrame) -> str:
    """Seconds besides the classifiers, by method."""
    own = runs[runs["method"].isin(SHOWN)]
    medians = own.groupby(["method", "table"])["seconds"].median()
    rows = [
        [METHODS[m].title, *[f"{medians[m, t]:.1f}" if (m, t) in medians else "-" for t in TABLES]]
        for m in SHOWN if m in set(own["method"])
    ]  # fmt: skip
    return table(["", *TABLES.values()], rows)


def draw(runs: pd.DataFrame, base: str, path: Path) -> None:
    """Accuracy against test gap, a panel for each table."""
    figure = Figure(figsize=(11, 5.6), layout="constrained")
    axes = figure.subplots(2, 4).ravel()
    for axis, (name, title) in zip(axes, TABLES.items()):
        _panel(axis, _part(runs, base, PARITY, name))
        axis.set_title(title, fontsize=10)
    for axis in axes[[0, 4]]:
        axis.set_ylabel("test accuracy")
    for axis in axes[3:7]:
        axis.set_xlabel("test gap of rates")
    handles = {}
    for axis in axes[:7]:
        handles |= dict(zip(*reversed(axis.get_legend_handles_labels())))
    axes[7].axis("off")
    axes[7].legend(
        handles.values(), handles.keys(), loc="center", frameon=False, fontsize=9,
        title="* uses the attribute", title_fontsize=8,
    )  # fmt: skip
    figure.savefig(path, dpi=100, metadata={"Software": None})


def _panel(axis: Axes, part: pd.DataFrame) -> None:
    values = ["gap_large", "accuracy"]
    means = part.groupby(["method", "setting"])[values].mean()
    errors = part.groupby(["method", "setting"])[values].agg(
        standard_error, tested=ratio_of(part)
    ).fillna(0.0)  # fmt: skip
    alone = part[part["method"] == "free"][values].mean()
    level = means["accuracy"].max() - means["accuracy"].min() < LEVEL
    for name in SHOWN:
        if name not in means.index:
            continue
        method, mean, error = METHODS[name], means.loc[name], errors.loc[name]
        look = {"color": method.colour, "ms": 5.5, "mfc": "white" if method.attribute else None}
        axis.plot(*mean[values].to_numpy().T, method.mark, label=method.title, lw=1.2, **look)
        if name in ("margin", "plain") and not level:
            axis.errorbar(
                mean["gap_large"], mean["accuracy"], error["accuracy"], error["gap_large"],
                "none", ecolor=method.colour, elinewidth=0.7,
            )  # fmt: skip
    axis.plot(*alone, "*", color="k", ms=9, label="no limit")
    axis.spines[["top", "right"]].set_visible(False)
    largest = means["gap_large"].max()
    if alone["gap_large"] > FAR * largest:  # its gap is written, so that the others have room
        gap, accuracy = (number(x, 3) for x in alone)
        axis.annotate(
            f"no limit: {accuracy} at {gap}", (0.99, 0.94), (0.7, 0.94), xycoords="axes fraction",
            fontsize=8, ha="right", va="center", arrowprops={"arrowstyle": "->"},
        )  # fmt: skip
    else:
        largest = max(largest, alone["gap_large"])
    axis.set_xlim(0, 1.06 * largest)
    if level:  # chance is larger than all differences: one cross says how large
        low, high = means["accuracy"].min(), means["accuracy"].max()
        typical, right = errors[values].median(), axis.get_xlim()[1]
        axis.set_ylim(low - 0.5 * (high - low) - 2 * typical["accuracy"], high + (high - low))
        at = 0.95 * right - typical["gap_large"], axis.get_ylim()[0] + 1.2 * typical["accuracy"]
        axis.errorbar(*at, typical["accuracy"], typical["gap_large"], "none", ecolor="0.5",
                      elinewidth=1)  # fmt: skip
        axis.annotate("standard errors", at, (-6, 6), textcoords="offset points", ha="right",
                      fontsize=8, color="0.4")  # fmt: skip
    for limit in LIMITS:
        axis.axvline(limit, color="0.85", lw=0.8, zorder=0)
    axis.tick_params(labelsize=8)


def _tables(runs: pd.DataFrame, titles: dict[str, str]) -> Iterator[tuple[str, pd.DataFrame]]:
    for notion, ending in ((PARITY, ""), (ODDS, ", equalized odds")):
        for name, title in titles.items():
            part = runs[(runs["notion"] == notion) & (runs["table"] == name)]
            if len(part):
                yield title + ending, part


def _part(runs: pd.DataFrame, base: str, notion: str, name: str) -> pd.DataFrame:
    return runs[(runs["base"] == base) & (runs["notion"] == notion) & (runs["table"] == name)]


def _pair(found: pd.DataFrame) -> str:
    if not len(found):
        return "-"
    ratio = ratio_of(found)
    return f"{shown(found['accuracy'], tested=ratio)} at {shown(found['gap_large'], tested=ratio)}"


def parts() -> dict[str, str]:
    """Return what stands between the marks of the page."""
    runs = pd.read_csv(RUNS)
    some = runs[runs["seed"] < SEEDS]  # more seeds tell more of coverage
    made = {
        "coverage": coverage(runs, TABLES, LIMITS),
        "coverage elsewhere": coverage(pd.read_csv(OTHERS), OTHER_TABLES, MORE_LIMITS),
        "retrained": retrained(comparison.decisions()),
        "leads": leads(some), "clear leads": clear_leads(some), "seconds": seconds(some),
    }  # fmt: skip
    for base in BASES:
        made[base] = results(some, base, PARITY)
        made[f"{base} odds"] = results(some, base, ODDS)
    return made


def main() -> None:
    """Fill the page, and draw the figures."""
    fill(PAGE, parts())
    runs = pd.read_csv(RUNS)
    for base in BASES:
        draw(runs[runs["seed"] < SEEDS], base, DOCS / "_static" / f"decisions_{base}.png")


if __name__ == "__main__":
    main()
