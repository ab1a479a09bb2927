"""Time and memory against the number of people: the pass, training, audits and curves.

    python benchmarks/bench_scale.py                        (make bench-scale: all of it, hours)
    python benchmarks/bench_scale.py --people 10000 30000 100000 --work pass audit
    python benchmarks/bench_scale.py --draw                 (table and plot of what is there)

Each measurement is a process of its own, which makes the table, does one kind of work by sex with
all people as receivers (but for the audit and the curve, which choose themselves), and says how
many seconds of wall and processor time that work took and what memory the process took at its peak,
the table included. A measurement is a row of the CSV, and one that is there is not done again. A
size is left out where the last one predicts more than LONGEST seconds, at the growth of SQUARE.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
from rows import HERE, Rows
from tqdm import tqdm

import otfair

RUNS, PLOT = HERE / "scale.csv", HERE.parent / "docs" / "_static" / "scale.png"
PEOPLE = (10_000, 30_000, 100_000, 300_000, 665_800, 1_000_000)
MOST = {"acs_income": 665_800, "synthetic": 1_000_000}
WORK = ("pass", "nearest", "logistic", "xgboost", "audit", "curve")
CALLED = {
    "pass": "soft distances between all people", "nearest": "nearest people of each group",
    "logistic": "fit of a logistic regression", "xgboost": "fit of XGBoost", "audit": "audit",
    "curve": "trade-off curve of three strengths",
}  # fmt: skip
LONGEST = 1200.0  # predicted seconds, above which a size is left out
SQUARE = 1.5  # growth by which that is predicted
FROM = 30_000  # people, from which growth is fitted
KEY = ["table", "work", "people"]
TITLES = {"acs_income": "ACSIncome (247 columns)", "synthetic": "made-up loans (24 columns)"}


def read(table: str, people: int) -> tuple[pd.DataFrame, pd.Series, np.ndarray]:
    """Return features, sex and labels of some people, drawn by a seed."""
    if table == "synthetic":
        data = otfair.load_dataset(table, n=people)
        return data.X, data.sensitive_features["sex"], np.asarray(data.y)
    parts = [otfair.load_dataset(table, part=part) for part in ("train", "test")]
    some = np.random.default_rng(0).permutation(sum(len(p.y) for p in parts))[:people]
    X = pd.concat([p.X for p in parts], ignore_index=True).iloc[some].reset_index(drop=True)
    sex = pd.concat([p.sensitive_features["sex"] for p in parts], ignore_index=True).iloc[some]
    return X, sex.reset_index(drop=True), np.concatenate([p.y for p in parts])[some]


def measure(table: str, work: str, people: int) -> dict[str, object]:
    """Do one kind of work in this process, and tell what it took."""
    X, sex, y = read(table, people)
    more: dict[str, object] = {}
    encoded = None
    if work in ("pass", "nearest", "logistic"):
        encoded = np.asarray(otfair.TableEncoder().fit_transform(X))
    _compile()
    wall, cpu = time.perf_counter(), time.process_time()
    if work in ("pass", "nearest"):
        types = np.unique(sex.astype(str), return_inverse=True)[1]
        cloud = otfair.PointCloud(encoded)
        if work == "pass":
            cloud.soft_distances(types, 1e-3)
        else:
            cloud.nearest_distances(types)
    elif work in ("logistic", "xgboost"):
        line = work == "logistic"
        kind = otfair.OTFClassifier if line else otfair.OTFBoostingClassifier
        model = kind(alpha=0.5, receivers=people).fit(encoded if line else X, y, sex)
        more = {"violation": model.violation_, "receivers": model.receivers_["people"]}
    elif work == "audit":
        scores = pd.Series(y).groupby([X.iloc[:, 0].round(), sex], observed=True).transform("mean")
        found = otfair.audit(scores.clip(0.01, 0.99), X, sensitive_features=sex, labels=y)
        more = {"receivers": found.record.settings["receivers"]}
    else:
        curve = otfair.tradeoff_curve(X, y, sensitive_features=sex, alphas=[0, 0.5, 0.9])
        more = {"receivers": curve.attrs["receivers"]["people"]}
    return {
        "seconds": round(time.perf_counter() - wall, 2),
        "cpu_seconds": round(time.process_time() - cpu, 2),
        "peak_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 3),
        **more,
    }


def _compile() -> None:
    """Let Numba compile what it compiles once on a machine, or read that from its cache."""
    from otfair.geometry._boxes import Boxes, Metric

    places = np.random.default_rng(0).normal(size=(100, 2))
    metric = Metric(places=places, root=True, squares=True, factor=1.0)
    boxes = Boxes(metric, np.arange(100), np.zeros(100, dtype=np.int64), np.ones(100), 1)
    boxes.soft(np.arange(100), 1.0)
    boxes.nearest(np.arange(100))


def run(tables: list[str], works: list[str], sizes: list[int], path: Path) -> None:
    """Do what is not in the CSV yet, from the smallest to the largest."""
    todo = [(n, t, w) for n in sorted(sizes) for t in tables for w in works if n <= MOST[t]]
    done = Rows(path, KEY)
    for n, table, work in tqdm(todo):
        if (table, work, n) in done:
            continue
        if predicted(path, table, work, n) > LONGEST:
            tqdm.write(f"left out, as it would take long: {work} of {n} people of {table}")
            continue
        command = [sys.executable, __file__, "--one", table, work, str(n)]
        made = subprocess.run(command, capture_output=True, text=True, check=False)
        if made.returncode:
            tqdm.write(f"{work} of {n} people of {table} failed:\n{made.stderr[-2000:]}")
            continue
        row = {"table": table, "work": work, "people": n, **json.loads(made.stdout)}
        row |= {"cores": os.cpu_count(), "python": platform.python_version()}
        done.add(row | {"threads": os.environ.get("OMP_NUM_THREADS")})


def predicted(path: Path, table: str, work: str, people: int) -> float:
    """Return the seconds that the next smaller size makes one expect; 0 without one."""
    if not path.exists():
        return 0.0
    runs = pd.read_csv(path)
    same = (runs["table"] == table) & (runs["work"] == work) & (runs["people"] < people)
    smaller = runs[same].sort_values("people")
    if smaller.empty:
        return 0.0
    last = smaller.iloc[-1]
    return float(last["seconds"] * (people / last["people"]) ** SQUARE)


def growth(runs: pd.DataFrame, column: str) -> float:
    """Return the exponent with which a figure grows with the number of people."""
    large = runs[runs["people"] >= FROM]
    if large["people"].nunique() < 2:
        return np.nan
    return float(np.polyfit(np.log(large["people"]), np.log(large[column]), 1)[0])


def show(path: Path, plot: Path) -> None:
    """Print the table, and draw time and memory against the number of people."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator

    runs = pd.read_csv(path).sort_values(KEY)
    columns = ["seconds", "cpu_seconds", "peak_gb", "receivers"]
    print(runs[[*KEY, *(c for c in columns if c in runs)]].to_string(index=False))
    tables = [t for t in TITLES if t in set(runs["table"])]
    figure = Figure(figsize=(9.5, 6.6), layout="constrained")
    axes = figure.subplots(2, len(tables), sharex=True, sharey="row", squeeze=False)
    for k, table in enumerate(tables):
        for work in WORK:
            some = runs[(runs["table"] == table) & (runs["work"] == work)]
            if some.empty:
                continue
            power = growth(some, "cpu_seconds")
            print(f"{table}, {work}: processor time grows as n^{power:.2f}")
            style = {"ms": 4, "lw": 1.4, "label": CALLED[work], "color": f"C{WORK.index(work)}"}
            for row, column in enumerate(("cpu_seconds", "peak_gb")):
                axes[row, k].loglog(some["people"], some[column], "o-", **style)
        axes[0, k].set_title(TITLES[table], fontsize=10)
        axes[1, k].set_xlabel("people")
    axes[0, 0].set_ylabel("seconds of one core")
    axes[1, 0].set_ylabel("peak memory, GB")
    for ax in axes.flat:
        ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        ax.yaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_minor_formatter("")
        ax.grid(True, which="major", alpha=0.25)
        ax.spines[["top", "right"]].set_visible(False)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    plot.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(plot, dpi=130)
    print(f"drawn: {plot}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--people", type=int, nargs="+", default=list(PEOPLE))
    parser.add_argument("--work", nargs="+", choices=WORK, default=list(WORK))
    parser.add_argument("--tables", nargs="+", choices=list(MOST), default=list(MOST))
    parser.add_argument("--draw", action="store_true", help="measure nothing")
    parser.add_argument("-o", "--output", type=Path, default=RUNS, help="the CSV")
    parser.add_argument("--plot", type=Path, default=PLOT)
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        table, work, people = options.one
        print(json.dumps(measure(table, work, int(people))))
        return
    if not options.draw:
        run(options.tables, options.work, options.people, options.output)
    show(options.output, options.plot)


if __name__ == "__main__":
    main()
