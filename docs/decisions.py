"""Write the tables and figures of docs/decisions.md from the runs that are committed beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pages import DOCS, TESTED, fill, mean_and_reach, number, shown, standard_error, table

PAGE, RUNS = DOCS / "decisions.md", DOCS / "decisions.csv"
TABLES = {
    "adult/sex": "Adult, sex",
    "adult/race": "Adult, race",
    "bank/age_binned": "Bank, age_binned",
    "dutch/sex": "Dutch, sex",
    "diabetes/gender": "Diabetes, gender",
    "acs_income/sex": "ACSIncome, sex",
    "acs_income/race": "ACSIncome, race",
}
METHODS = {
    "margin": "FairDecisions",
    "plain": "FairDecisions, no margin",
    "reduction": "ExponentiatedGradient",
    "otf": "OTF, scores alone",
    "attribute": "FairDecisions, no margin*",
    "thresholds": "ThresholdOptimizer*",
    "error_parity": "error-parity*",
}
LIMITS = (0.05, 0.02, 0.01)
SEEDS = 5
BASES = ("logistic", "boosted")
PEERS = ("reduction", "otf", "thresholds", "error_parity")
PARITY, ODDS = "demographic_parity", "equalized_odds"
ACS_TESTED = 150_000 / 120_000  # test people of ACSIncome for each who trains


def ratio_of(runs: pd.DataFrame) -> float:
    """Return how many people test for each who trains, in the runs of one table."""
    return ACS_TESTED if runs["table"].iloc[0].startswith("acs_income") else TESTED


def coverage(runs: pd.DataFrame) -> str:
    """In how many runs the test gap is within the limit, where that is promised, and elsewhere."""
    rows = []
    kept = runs[runs["method"] == "margin"]
    total: dict[str, list[int]] = {}
    for name, part in _tables(kept):
        sure = part["confidence"] >= 0.9
        whole, some = sure & (part["promised"] == part["groups"]), sure & (part["promised"] > 1)
        cells = []
        for limit in LIMITS:
            here = part["setting"] == limit
            found = []
            for kind, chosen, column in (
                ("all", whole, "gap"), ("some", some & ~whole, "gap_promised"),
                ("none", ~sure, "gap"),
            ):  # fmt: skip
                own = part[here & chosen]
                if not len(own):
                    continue
                within = int((own[column] <= limit).sum())
                found.append(
                    f"{within} of {len(own)}" + {"some": "†", "none": " (none)"}.get(kind, "")
                )
                if kind != "none":
                    sums = total.setdefault(f"{limit}", [0, 0])
                    sums[0], sums[1] = sums[0] + within, sums[1] + len(own)
            cells.append(", ".join(found) or "-")
        rows.append([name, *cells])
    rows.append(
        ["**all that are promised**"]
        + [
            "**{} of {}**".format(*total[str(limit)]) if str(limit) in total else "-"
            for limit in LIMITS
        ]
    )
    return table(["limit", *[number(x, 2) for x in LIMITS]], rows)


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
        for method, called in METHODS.items():
            found = part[part["method"] == method]
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


def compared(runs: pd.DataFrame) -> Iterator[tuple[str, str, np.ndarray | None, float]]:
    """Yield tables, peers, our leads at their gaps, and how many people test for each who trains.

    Where the peer uses the attribute, ours does.
    """
    for base in BASES:
        for name, title in TABLES.items():
            part = _part(runs, base, PARITY, name)
            for peer in PEERS:
                ours = "attribute" if METHODS[peer].endswith("*") else "plain"
                yield f"{title}, {base}", peer, lead(part, ours, peer), ratio_of(part)


def leads(runs: pd.DataFrame) -> str:
    """Our accuracy less a peer's, at the peer's test gap: along our mean curve, seed by seed."""
    rows: dict[str, list[str]] = {}
    for title, _, found, ratio in compared(runs):
        text = "-" if found is None else "out of reach"
        if found is not None and len(found):
            text = f"{shown(found.mean(axis=0), sign=True, tested=ratio)} ({len(found)})"
        rows.setdefault(title, [title]).append(text)
    return table(["ahead of", *[METHODS[peer] for peer in PEERS]], list(rows.values()))


def told_apart(runs: pd.DataFrame) -> str:
    """Say where an interval of the leads does not reach zero."""
    said, count = {"ahead of": [], "behind": []}, 0
    for title, peer, found, ratio in compared(runs):
        if found is None or not len(found):
            continue
        count += 1
        mean, reach = mean_and_reach(found.mean(axis=0), ratio)
        if abs(mean) > reach:
            text = f"{METHODS[peer]} by {number(abs(mean))} ({title})"
            said["ahead of" if mean > 0 else "behind"].append(text)
    sides = "; ".join(f"{side} {' and '.join(own)}" for side, own in said.items() if own)
    clear = sum(len(own) for own in said.values())
    chance = f"by chance alone {0.05 * count:.1f} would not"
    return f"{clear} of {count} intervals do not reach zero; {chance}. Ours is {sides}."


def seconds(runs: pd.DataFrame) -> str:
    """Seconds besides the classifiers, by method."""
    own = runs[runs["method"].isin(METHODS)]
    names = [m for m in METHODS if (own["method"] == m).any()]
    rows = []
    for name, title in TABLES.items():
        part = own[own["table"] == name]
        medians = part.groupby("method")["seconds"].median()
        rows.append([title, *[f"{medians[m]:.1f}" if m in medians else "-" for m in names]])
    return table(["", *[METHODS[m] for m in names]], rows)


def draw(runs: pd.DataFrame, base: str, path: Path) -> None:
    """Accuracy against test gap, a panel for each table."""
    figure = Figure(figsize=(11, 5.6), layout="constrained")
    axes = figure.subplots(2, 4).ravel()
    own = runs[(runs["base"] == base) & (runs["notion"] == PARITY)]
    marks = dict(zip(METHODS, ("o-", "s--", "D-", "^-", "P--", "x-", "+-")))
    for axis, (name, title) in zip(axes, TABLES.items()):
        part = own[own["table"] == name]
        _panel(axis, part, marks)
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


def _panel(axis: Axes, part: pd.DataFrame, marks: dict[str, str]) -> None:
    for k, (method, called) in enumerate(METHODS.items()):
        found = part[part["method"] == method]
        if not len(found):
            continue
        by = found.groupby("setting")[["gap_large", "accuracy"]]
        mean, error = by.mean(), by.agg(standard_error, tested=ratio_of(part)).fillna(0.0)
        axis.errorbar(
            mean["gap_large"], mean["accuracy"], error["accuracy"], error["gap_large"],
            marks[method], color=f"C{k}", label=called, ms=5, lw=1.2, elinewidth=0.6,
        )  # fmt: skip
    alone = part[part["method"] == "free"]
    axis.plot(alone["gap_large"].mean(), alone["accuracy"].mean(), "*", color="k", ms=9,
              label="no limit")  # fmt: skip
    axis.spines[["top", "right"]].set_visible(False)
    low, high = axis.get_ylim()
    rest = max(0.012 - (high - low), 0.0) / 2  # so that chance does not look large
    axis.set_ylim(low - rest, high + rest)
    axis.set_xlim(0, max(0.06, axis.get_xlim()[1]))
    for limit in LIMITS:
        axis.axvline(limit, color="0.85", lw=0.8, zorder=0)
    axis.tick_params(labelsize=8)


def _tables(runs: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    for notion, ending in ((PARITY, ""), (ODDS, ", equalized odds")):
        for name, title in TABLES.items():
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


def lead(part: pd.DataFrame, ours: str, peer: str) -> np.ndarray | None:
    """Return leads by setting and split, at the gaps of a peer that lie within our curve.

    Accuracies are compared split by split; that ours is at a slightly other gap is made up for by
    the slope of the mean curve.
    """
    seeds = set(part[part["method"] == peer]["seed"]) & set(part[part["method"] == ours]["seed"])
    if len(seeds) < 2:
        return None
    part = part[part["seed"].isin(seeds)]
    part = part.assign(setting=part["setting"].where(part["method"] != "free", 1.0))
    mine = part[part["method"].isin([ours, "free"])]
    mean = mine.groupby("setting")[["gap_large", "accuracy"]].mean().sort_values("gap_large")
    x, y = mean["gap_large"].to_numpy(), mean["accuracy"].to_numpy()
    found = []
    for _, other in part[part["method"] == peer].groupby("setting"):
        gap = other["gap_large"].mean()
        if not x[0] <= gap <= x[-1]:
            continue
        k = int(np.clip(np.searchsorted(x, gap) - 1, 0, len(x) - 2))
        slope = (y[k + 1] - y[k]) / (x[k + 1] - x[k])
        near = mean.index[k if gap - x[k] < x[k + 1] - gap else k + 1]
        own = mine[mine["setting"] == near].set_index("seed")
        other = other.set_index("seed")
        away = own["gap_large"] - other["gap_large"]
        found.append((own["accuracy"] - other["accuracy"] - slope * away).sort_index().dropna())
    return np.array(found)


def parts() -> dict[str, str]:
    """Return what stands between the marks of the page."""
    runs = pd.read_csv(RUNS)
    some = runs[runs["seed"] < SEEDS]  # more seeds tell more of coverage
    made = {
        "coverage": coverage(runs), "leads": leads(some), "told apart": told_apart(some),
        "seconds": seconds(some),
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
