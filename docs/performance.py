"""Write the tables and figures of docs/performance.md from the runs that are committed."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from pages import BENCHMARKS, DOCS, fill, table

PAGE, RUNS = DOCS / "performance.md", BENCHMARKS / "peers.csv"
README = DOCS.parent / "README.md"
FIGURE = DOCS / "_static" / "performance_growth.png"
SCALE, FROM = BENCHMARKS / "scale.csv", 30_000  # people, from which growth is fitted
OURS = {"batch": "otfair, cold", "step": "otfair, OTFLoss after fit"}
WITHOUT_SCORES = {"fairlearn, ExponentiatedGradient"}
UNIT = re.compile(r"(?<=\d) (?=(?:ms|s|GB|\d{3})\b)")  # before it no line may break
COLOURS = {
    "otfair": "#0072b2", "products and exp alone": "#999999",
    "POT, sinkhorn_log": "#d55e00", "geomloss, Sinkhorn": "#009e73",
}  # fmt: skip


def duration(seconds: float) -> str:
    """Return a time in the unit that suits it."""
    if np.isnan(seconds):
        return ""
    if seconds < 0.1:
        return f"{1e3 * seconds:.3g} ms"
    return f"{seconds:.3g} s"


def ratio(value: float) -> str:
    """Return how many times as long, to two digits."""
    return f"{value:.2g}" if value < 100 else f"{value:,.0f}".replace(",", " ")


def rounded(seconds: float) -> str:
    """Return a time to two digits, as a sentence says it."""
    return duration(float(f"{seconds:.2g}"))


def short(runs: pd.DataFrame, large: pd.DataFrame) -> str:
    """Return in plain sentences how long the usual work takes."""
    time = runs.set_index(["section", "method"])["seconds"].map(rounded)
    million = large.set_index(["table", "work", "people"])["cpu_seconds"].map(rounded)
    first, later = time["batch", "otfair, cold"], time["batch", "otfair, from the last solution"]
    step, small = time["step", "otfair, OTFLoss after fit"], time["step", "a network of 100 units"]
    passed = time["pass", "otfair, soft distances by boxes"]
    line, norm = time["fit", "otfair, OTF"], time["fit", "fairret, Norm"]
    large_line = million["synthetic", "logistic", 1_000_000]
    return f"""\
- In a training step on 1000 people, OTF takes {first} the first time, and {later} after that.
- If score may move to any of 30 000 people, OTF takes {step} in a step on 1000 of them. The step \
of a small network takes {small} by itself.
- The distances between all 45 222 people of Adult take {passed}. They are computed once.
- A logistic regression on 30 000 people takes {line} with OTF. fairret's Norm takes {norm}.
- A logistic regression on a million people takes {large_line} of one core."""


def compared(runs: pd.DataFrame, section: str) -> str:
    """Return times, and how many times those of ours they are.

    Of a method that the section on growth has for as many people, the shorter time counts, and the
    longer one is noted.
    """
    some = runs[runs["section"] == section]
    base = some.set_index("method")["seconds"][OURS[section]]
    again = runs[runs["section"] == "growth"].set_index(["method", "people"])["seconds"]
    rows = []
    for r in some.itertuples():
        short, long = sorted([r.seconds, again.get((r.method, r.people), r.seconds)])
        note = r.note + (f"; {duration(long)} when timed again" if long > short else "")
        rows.append([r.method, duration(short), ratio(short / base), note])
    return table(["", "time", "times ours", ""], rows)


def passes(runs: pd.DataFrame) -> str:
    """Return the times of passes, soft and nearest, as ratios to boxes."""
    some = runs[runs["section"] == "pass"].set_index("method")["seconds"]
    rows = []
    for method, taken in some.items():
        kind = "nearest" if "nearest" in str(method) else "soft"
        base = next(t for m, t in some.items() if "boxes" in m and kind in m)
        rows.append([str(method), duration(taken), ratio(taken / base)])
    return table(["", "time", "times boxes"], rows)


def fits(runs: pd.DataFrame) -> str:
    """Return the times of fits, and what the models are worth at half the violation.

    What mixes yes/no classifiers has no scores: its AUC and violation are not those of the others.
    """
    rows = []
    for r in runs[runs["section"] == "fit"].itertuples():
        worth, note = [f"{r.auc:.4f}", f"{r.violation:.4f}"], r.note
        if np.isnan(r.auc):
            worth = ["", ""]
        elif r.method in WITHOUT_SCORES:
            worth, note = ["-", "-"], f"mixes yes/no classifiers, no scores; {note}"
        rows.append([r.method, duration(r.seconds), *worth, note])
    return table(["", "one fit", "test AUC", "test violation", ""], rows)


def starts(runs: pd.DataFrame) -> str:
    """Return the processor's time of imports and first answers."""
    some = runs[runs["section"] == "startup"]
    return table(["", "CPU"], [[f"`{r.method}`", duration(r.seconds)] for r in some.itertuples()])


def exponents(runs: pd.DataFrame) -> str:
    """Return by what power of the number of people each method grows, by its last three sizes."""
    rows = []
    for method, some in runs[runs["section"] == "growth"].groupby("method", sort=False):
        last, largest, power = some.iloc[-3:], some.iloc[-1], "-"
        if len(last) == 3:
            power = f"{np.polyfit(np.log(last['people']), np.log(last['seconds']), 1)[0]:.2f}"
        rows.append([str(method), f"{largest.people}", duration(largest.seconds), power])
    return table(["", "people", "time", "power of n, last three sizes"], rows)


def scaled(runs: pd.DataFrame) -> str:
    """Return what the largest tables take, and by what power of the number of people it grows."""
    rows = []
    for (name, work), some in runs.sort_values("people").groupby(["table", "work"], sort=False):
        large, last = some[some["people"] >= FROM], some.iloc[-1]
        power = np.polyfit(np.log(large["people"]), np.log(large["cpu_seconds"]), 1)[0]
        taken = [f"{last.people}", duration(last.cpu_seconds), f"{last.peak_gb:.1f} GB"]
        rows.append([str(name), str(work), *taken, f"{power:.2f}"])
    head = ["table", "work", "people", "one core", "peak memory", "power of n from 30 000 on"]
    return table(head, sorted(rows))


def scale_run(runs: pd.DataFrame) -> str:
    """Return when and with what larger tables were measured."""
    (date,), (python,), (threads,) = (runs[c].unique() for c in ("date", "python", "threads"))
    return f"Made with `make bench-scale`: {date}, {threads} thread, Python {python}."


def draw(runs: pd.DataFrame) -> Figure:
    """Draw times against people, both by their logarithms."""
    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.add_subplot()
    for method, some in runs[runs["section"] == "growth"].groupby("method", sort=False):
        axes.loglog(some["people"], some["seconds"], "o-", color=COLOURS[str(method)])
        end = some.iloc[-1]
        early = end.people < runs[runs["section"] == "growth"]["people"].max()
        axes.annotate(
            str(method), (end.people, end.seconds), xytext=(6, 0) if early else (0, 9),
            textcoords="offset points", ha="left" if early else "right",
            va="center" if early else "bottom", color=COLOURS[str(method)],
        )  # fmt: skip
    ticks = [1000, 2000, 4000, 8000, 16_000, 32_000]
    axes.set_xticks(ticks, [f"{n:,}".replace(",", " ") for n in ticks])
    axes.minorticks_off()
    axes.set_xlabel("people")
    axes.set_ylabel("seconds, features to gradient")
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def parts(runs: pd.DataFrame) -> dict[str, str]:
    """Return what stands between the marks of the page."""
    large = pd.read_csv(SCALE)
    found = {
        "run": f"Made with `make bench-peers`: {runs['run'].iloc[0]}.",
        "short": short(runs, large),
        "batch": compared(runs, "batch"), "step": compared(runs, "step"),
        "pass": passes(runs), "growth": exponents(runs), "fit": fits(runs),
        "startup": starts(runs), "scale": scaled(large), "scale run": scale_run(large),
    }  # fmt: skip
    return {name: UNIT.sub("\u00a0", text) for name, text in found.items()}


def speed(runs: pd.DataFrame) -> dict[str, str]:
    """Return what stands in the README: the least that says how fast it is."""
    known = runs.set_index(["section", "method"])
    asked = {
        "from features to the gradient, 1000 people": ("batch", "otfair, cold"),
        "again, for other scores of the same people": ("batch", "otfair, from the last solution"),
        "one product of matrices and one `exp` of each pair, the bound of the first": (
            "batch", "product and exp alone"
        ),
        "the paper's ascent at its released settings, in this library": (
            "batch", "published ascent"
        ),
        "distances between all 45 222 people, once": ("pass", "otfair, soft distances by boxes"),
    }  # fmt: skip
    rows = [
        [what, duration(known["seconds"][key]), known["note"][key] if "residual" in
         known["note"][key] else ""] for what, key in asked.items()
    ]  # fmt: skip
    return {"speed": table(["", "time", ""], rows)}


def read() -> pd.DataFrame:
    """Return the rows, with empty notes as empty texts."""
    return pd.read_csv(RUNS, dtype={"note": str}).fillna({"note": ""})


def main() -> None:
    """Fill the page, and draw the figure."""
    runs = read()
    fill(PAGE, parts(runs))
    fill(README, speed(runs))
    draw(runs).savefig(FIGURE, dpi=150)


if __name__ == "__main__":
    main()
