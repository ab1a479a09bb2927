"""Write the tables of trees in docs/boosting.md, and their figure, from the committed runs.

The tables of decisions on that page are made by docs/benchmarks.py.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from benchmark_page.figures import legend
from matplotlib.figure import Figure
from pages import BENCHMARKS, DOCS, fill, number, shown, standard_error, table

PAGE, FIGURE = DOCS / "boosting.md", DOCS / "_static" / "boosting.png"
TABLES, NOTIONS = {"adult": "Adult", "bank": "Bank"}, {"pdp": "PDP", "peo": "PEO"}
FREE, OTF, NORM, LOGISTIC = METHODS = (
    "XGBoost", "XGBoost, OTF", "XGBoost, Norm", "logistic, OTF",
)  # fmt: skip
GROUPS = {"adult": "sex and race", "bank": "age group"}
WORDS = {"pdp": "demographic parity", "peo": "equalized odds"}
LOOKS = {OTF: ("o-", "#0072b2"), NORM: ("^-", "#cc79a7"), LOGISTIC: ("s--", "#56b4e9")}
TARGETS = (0.05, 0.03, 0.01)
SETTINGS = (
    "XGBoost's own", "XGBoost, ours", "LightGBM's own", "LightGBM, ours", "scikit-learn",
)  # fmt: skip
DEFAULTS = {
    "adult": "Adult", "bank": "Bank", "dutch": "Dutch", "diabetes": "Diabetes", "acs": "ACSIncome",
}  # fmt: skip
TESTED = 0.2 / 0.8  # test people for each who trains
FEWEST = 3  # splits of which an interval is given


def read() -> pd.DataFrame:
    """Return the runs of the splits that all methods finished."""
    runs = pd.read_csv(BENCHMARKS / "boosting.csv")
    methods = runs.groupby(["dataset", "notion", "seed"])["method"].transform("nunique")
    return runs[methods == len(METHODS)]


def of(runs: pd.DataFrame, name: str, notion: str) -> pd.DataFrame:
    """Return the runs of a table and a notion."""
    return runs[(runs["dataset"] == name) & (runs["notion"] == notion)]


def curve(part: pd.DataFrame, method: str) -> pd.DataFrame:
    """Return means over splits by strength; boosted curves begin with the free booster."""
    names = [method, FREE] if method in (OTF, NORM) else [method]
    some = part[part["method"].isin(names)]
    return some.groupby("setting")[["auc", "pdp", "peo"]].mean()


def at_most(line: pd.DataFrame, notion: str, target: float) -> float:
    """Return the best AUC at a violation of at most the target, between the points of a curve."""
    v, auc = line[notion].to_numpy(), line["auc"].to_numpy()
    found = list(auc[v <= target])
    for k in range(len(v) - 1):
        if (v[k] - target) * (v[k + 1] - target) < 0:
            t = (v[k] - target) / (v[k] - v[k + 1])
            found.append((1 - t) * auc[k] + t * auc[k + 1])
    return max(found, default=np.nan)


def best(runs: pd.DataFrame) -> str:
    """Return the best AUC of each method at violations that some method reaches."""
    rows = []
    for name, title in TABLES.items():
        for notion, called in NOTIONS.items():
            part = of(runs, name, notion)
            free = curve(part, FREE).iloc[0]
            first = [f"{title}, {called}", f"{number(free['auc'])} at {number(free[notion], 3)}"]
            for target in TARGETS:
                found = [at_most(curve(part, m), notion, target) for m in METHODS[1:]]
                if np.isnan(found).all():
                    continue
                cells = ["-" if np.isnan(x) else number(x) for x in found]
                rows.append([first[0], number(target, 2), first[1], *cells])
                first = ["", ""]
    return table(["", "at most", "unconstrained", "OTF", "Norm", "logistic, OTF"], rows)


def ahead(part: pd.DataFrame, peer: str, notion: str, target: float) -> list[float]:
    """Return OTF's AUC less a peer's, of each split in which both curves come so low."""
    found = []
    for _, split in part.groupby("seed"):
        own, other = (at_most(curve(split, m), notion, target) for m in (OTF, peer))
        found += [] if np.isnan(own - other) else [own - other]
    return found


def leads(runs: pd.DataFrame) -> str:
    """Return OTF's leads in AUC, split by split, with 95 % intervals."""
    rows, most = [], runs["seed"].nunique()
    for name, title in TABLES.items():
        for notion, called in NOTIONS.items():
            cells = []
            for peer in (NORM, LOGISTIC):
                for target in TARGETS:
                    values = ahead(of(runs, name, notion), peer, notion, target)
                    some = f" ({len(values)})" if len(values) < most else ""
                    text = shown(values, sign=True, tested=TESTED) if len(values) >= FEWEST else "-"
                    cells.append(text if text == "-" else text + some)
            rows.append([f"{title}, {called}", *cells])
    head = [f"minus {peer}, at {number(x, 2)}" for peer in ("Norm", "logistic") for x in TARGETS]
    return table(["", *head], rows)


def draw(runs: pd.DataFrame) -> Figure:
    """Draw AUC against violation with standard errors, a panel for each table and notion."""
    figure = Figure(figsize=(9.5, 7.4), layout="constrained")
    axes = figure.subplots(2, 2)
    for row, (name, title) in zip(axes, TABLES.items()):
        for axis, (notion, called) in zip(row, NOTIONS.items()):
            part = of(runs, name, notion)
            for method, (mark, colour) in LOOKS.items():
                line = curve(part, method)
                axis.plot(line[notion], line["auc"], mark, color=colour, ms=5.5, label=method)
                own = part[part["method"] == method].groupby("setting")
                bars = own[["auc", notion]].agg(lambda x: standard_error(x, TESTED))
                means = line.loc[bars.index]
                axis.errorbar(
                    means[notion], means["auc"], bars["auc"], bars[notion], "none", ecolor=colour,
                    elinewidth=0.7, alpha=0.4, zorder=1,
                )  # fmt: skip
            free = curve(part, FREE)
            axis.plot(
                free[notion], free["auc"], "*", color="k", ms=11, label=f"{FREE}, no penalty",
                zorder=4,
            )  # fmt: skip
            axis.set_title(f"{title} by {GROUPS[name]}: {WORDS[notion]}", fontsize=10)
            axis.set_xlabel(f"largest correlation of score and group ({called}, test)")
            axis.set_xlim(left=0)
            axis.spines[["top", "right"]].set_visible(False)
            axis.grid(alpha=0.25)
            axis.tick_params(labelsize=8)
        row[0].set_ylabel("test AUC")
    legend(figure, axes.ravel(), 4)
    return figure


def defaults(runs: pd.DataFrame) -> str:
    """Return test log-loss and AUC of settings, with the training AUC in brackets."""
    runs, rows = runs[(runs["alpha"] == 0) & runs["setting"].isin(SETTINGS)], []
    for name, title in DEFAULTS.items():
        part = runs[runs["table"] == name]
        for people, own in part.groupby("rows"):
            means = own.groupby("setting")[["loss", "auc", "train_auc"]].mean()
            found = ([number(means.loc[s, c], 3) for c in means] for s in SETTINGS)
            cells = [f"{loss} {auc} ({train})" for loss, auc, train in found]
            rows.append([title if people == part["rows"].min() else "", f"{people}", *cells])
    return table(["", "people", *SETTINGS], rows)


def alphas(runs: pd.DataFrame) -> str:
    """Return what strengths leave of the violation of trees, and what that costs."""
    own = runs[runs["model"] == "xgboost"].set_index("alpha")
    left = own["train_violation"] / own["train_violation"][0.0]
    rows = [
        ["share left", *(number(x, 3) for x in left)],
        ["training AUC", *(number(x) for x in own["train_auc"])],
        ["test violation", *(number(x, 3) for x in own["test_violation"])],
        ["test AUC", *(number(x) for x in own["test_auc"])],
    ]
    return table(["alpha", *(f"{alpha:g}" for alpha in own.index)], rows)


def rounds(runs: pd.DataFrame) -> str:
    """Return how many stock rounds a round with the objective takes."""
    kinds = {"categories": "the table as it is", "codes": "categories as whole numbers"}
    rows = []
    for kind, title in kinds.items():
        own = runs[runs["kind"] == kind]
        times = (own["otf_ms"] / own["stock_ms"]).groupby(own["notion"]).agg(["min", "max"])
        low, high = own["stock_ms"].min(), own["stock_ms"].max()
        cells = [
            f"{times.loc[n, 'min']:.1f} to {times.loc[n, 'max']:.1f}"
            for n in ("demographic_parity", "equalized_odds")
        ]
        rows.append([title, f"{low:.1f} to {high:.1f} ms", *cells])
    return table(["trees see", "stock round", "OTF for PDP, times", "for PEO, times"], rows)


def parts() -> dict[str, str]:
    """Return what stands between the marks of the page."""
    runs = read()
    return {
        "best": best(runs), "leads": leads(runs),
        "defaults": defaults(pd.read_csv(BENCHMARKS / "defaults.csv")),
        "alphas": alphas(pd.read_csv(BENCHMARKS / "alphas.csv")),
        "rounds": rounds(pd.read_csv(BENCHMARKS / "rounds.csv")),
    }  # fmt: skip


def main() -> None:
    """Fill the page, and draw the figure."""
    fill(PAGE, parts())
    draw(read()).savefig(FIGURE, dpi=90)


if __name__ == "__main__":
    main()
