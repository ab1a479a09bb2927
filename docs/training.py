"""Write the tables of docs/training.md from the runs that are committed."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
from pages import BENCHMARKS, DOCS, fill, number, table

PAGE = DOCS / "training.md"
SHARES = (0.75, 0.5, 0.25, 0.1)  # of the violation of the unfair model
NOTIONS = {"pdp": "PDP", "peo": "PEO"}
ATTRIBUTES = {
    "adult:sex,race": "Adult, sex and race",
    "acs_income:sex,race": "ACSIncome, sex and race",
    "bank:age_binned,marital": "Bank, age and marital status",
    "dutch:sex,country_birth": "Dutch, sex and country of birth",
    "diabetes:gender,race": "Diabetes, gender and race",
    "synthetic:sex,origin": "Synthetic, sex and origin",
}
BY_ATTRIBUTE = {
    "norm": "Norm, p = 1", "people": "OTF, one for all", "attributes": "OTF, one for each",
}  # fmt: skip
GROUPS = {
    "acs_income:race": "ACSIncome, race (9)", "diabetes:race": "Diabetes, race (5)",
    "synthetic:origin": "Synthetic, origin (3)",
}  # fmt: skip
BY_GROUP = {"people": "OTF, one for all", "groups": "OTF, one for each group"}
LIMIT = 0.05  # that models were asked to keep
MODELS = {"logistic": "logistic", "xgboost": "XGBoost"}
SIZES = {1000: "1000", 5000: "5000", 0: "whole"}


def at(path: pd.DataFrame, share: float) -> float:
    """Return the training AUC at a share, between the two neighbours along a path of strengths."""
    path = path.sort_values("alpha")
    for (left, one), (right, two) in pairwise(zip(path["share"], path["train_auc"])):
        if left >= share > right:
            t = (left - share) / (left - right)
            return float((1 - t) * one + t * two)
    return np.nan


def cell(paths: pd.DataFrame) -> str:
    """Return the AUC at each share, means over splits."""
    splits = [path for _, path in paths.groupby("split")]
    return "/".join(number(np.mean([at(path, share) for path in splits])) for share in SHARES)


def at_shares(runs: pd.DataFrame, tables: dict[str, str], methods: dict[str, str]) -> str:
    """Return the AUC of methods at equal shares, by table and notion."""
    rows = []
    for name, title in tables.items():
        for notion, called in NOTIONS.items():
            part = runs[(runs["table"] == name) & (runs["notion"] == notion)]
            cells = [cell(part[part["method"] == method]) for method in methods]
            rows.append([title if notion == "pdp" else "", called, *cells])
    return table(["", "notion", *methods.values()], rows)


def targets(runs: pd.DataFrame) -> str:
    """Return how often a limit was kept among other people: before, and with people kept out."""
    runs = runs.assign(size=runs["n"].where(runs["n"].isin([*SIZES]), 0))
    key = ["table", "n", "seed", "model"]
    old, new = (
        runs[runs["judges"] == who].set_index(key) for who in ("training people", "people kept out")
    )
    old = old.loc[new.index]  # not all whole tables were run again
    rows = []
    for size, called in SIZES.items():
        for model, title in MODELS.items():
            was, now = (
                x[(x["size"] == size) & (x.index.isin([model], "model"))] for x in (old, new)
            )
            sure, missed = now["said"] == 0, now["others"] > LIMIT
            rows.append(
                [called if model == "logistic" else "", title, f"{len(now)}",
                 f"{(was['others'] > LIMIT).sum()}", number(was["others"].max(), 3),
                 number(was["auc"].mean(), 3), f"{sure.sum()}", f"{missed.sum()}",
                 f"**{(missed & sure).sum()}**",
                 number(now["others"][sure].max(), 3) if sure.any() else "-",
                 number(now["auc"].mean(), 3)]
            )  # fmt: skip
    return table(
        ["people", "model", "runs", "before: missed, all unsaid", "worst", "AUC", "now: promised",
         "missed", "unsaid", "worst of the promised", "AUC"], rows,
    )  # fmt: skip


def parts() -> dict[str, str]:
    """Return what stands between the marks of the page."""
    shares = pd.read_csv(BENCHMARKS / "attributes.csv")
    return {
        "attributes": at_shares(shares, ATTRIBUTES, BY_ATTRIBUTE),
        "groups": at_shares(shares, GROUPS, BY_GROUP),
        "targets": targets(pd.read_csv(BENCHMARKS / "targets.csv")),
    }


if __name__ == "__main__":
    fill(PAGE, parts())
