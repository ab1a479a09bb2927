"""Write the table of neighbours in docs/metrics.md from the runs that are committed."""

from __future__ import annotations

import pandas as pd
from pages import BENCHMARKS, DOCS, fill, number, table, where_it_falls

PAGE = DOCS / "metrics.md"
TABLES = {
    "adult": "Adult, sex", "bank": "Bank, age in bins", "dutch": "Dutch, sex",
    "diabetes": "Diabetes, gender",
}  # fmt: skip
NOTIONS = ("PDP", "PEO")
PENALTIES = {"otf": "OTF: gap, AUC, spread", "norm": "Norm", "correlation": "Correlation"}
KEY = ["dataset", "notion", "split", "penalty"]


def at_half(path: pd.DataFrame) -> dict[str, float]:
    """Return the figures of one penalty where half of the violation is left; NaN if it never is."""
    path = path.sort_values("alpha")
    half = 0.5 * path["violation"].iloc[0]
    return {"unfair gap": float(path["gap"].iloc[0])} | {
        name: where_it_falls(path["violation"], path[name], half)
        for name in ("gap", "auc", "spread")
    }


def halved(runs: pd.DataFrame) -> pd.DataFrame:
    """Return figures at half the violation, of splits in which all penalties come down to it."""
    found = pd.DataFrame(
        [dict(zip(KEY, key)) | at_half(path) for key, path in runs.groupby(KEY, sort=False)]
    )
    reached = found.groupby(KEY[:3])["gap"].transform(lambda gaps: gaps.notna().all())
    return found[reached]


def neighbours(runs: pd.DataFrame) -> str:
    """Return gap, AUC and spread of scores of each penalty; the one lowest gap is bold."""
    found, rows = halved(runs), []
    most = runs["split"].nunique()
    for name, title in TABLES.items():
        for notion in NOTIONS:
            part = found[(found["dataset"] == name) & (found["notion"] == notion)]
            if not len(part):
                continue
            splits = part["split"].nunique()
            means = part.groupby("penalty")[["unfair gap", "gap", "auc", "spread"]].mean()
            gaps = {p: number(means["gap"][p], 3) for p in PENALTIES}
            low = min(gaps.values())
            alone = list(gaps.values()).count(low) == 1
            cells = [f"**{gap}**" if alone and gap == low else gap for gap in gaps.values()]
            rows.append(
                [title + (f" ({splits} splits)" if splits < most else ""), notion,
                 number(means["unfair gap"].iloc[0], 3)]
                + [f"{gap}, {number(means['auc'][p])}, {number(means['spread'][p], 3)}"
                   for p, gap in zip(PENALTIES, cells)]
            )  # fmt: skip
    return table(["dataset, attribute", "notion", "unfair gap", *PENALTIES.values()], rows)


def parts() -> dict[str, str]:
    """Return what stands between the marks of the page."""
    return {"neighbours": neighbours(pd.read_csv(BENCHMARKS / "neighbours.csv"))}


if __name__ == "__main__":
    fill(PAGE, parts())
