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
DATASETS = {"adult": "Adult", "bank": "Bank", "dutch": "Dutch", "diabetes": "Diabetes"}
WORDS = {"pdp": "demographic parity", "peo": "equalized odds"}
RIDGES = {
    "C=None": "none", "C=10.0": "C = 10", "C=1.0": "C = 1", "C=0.1": "C = 0.1",
    "C=0.01": "C = 0.01", "C=0.001": "C = 0.001",
}  # fmt: skip
WIDE = {"acs": "ACSIncome, 529 occupations", "wide": "Diabetes with diagnoses"}
AGAINST = {
    "adult:sex,race": "Adult by sex and race", "bank:age": "Bank by age",
    "compas:race,sex": "COMPAS by race and sex", "law:race,Sex": "Law school by race and sex",
}  # fmt: skip
PENALTIES = {"otf": "OTF", "norm": "Norm, p = 1", "norm2": "Norm, p = 2"}
VIOLATIONS = (0.15, 0.10, 0.06, 0.03)
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


def alphas(runs: pd.DataFrame) -> str:
    """Return what strengths leave of the unconstrained training violation."""
    runs, rows = runs[runs["model"] == "logistic"], []
    strengths = sorted(set(runs["alpha"]) - {0.0})
    for name, title in DATASETS.items():
        for notion, called in WORDS.items():
            own = runs[(runs["dataset"] == name) & (runs["notion"] == notion)].set_index("alpha")
            left = own["train_violation"] / own["train_violation"][0.0]
            balance = float(f"{own['balance'].iloc[0]:.3g}")
            cells = [f"{left[alpha]:.2f}" for alpha in strengths]
            rows.append([f"{title}, {called}", *cells, f"{balance:.0f}"])
    return table(["alpha", *[f"{alpha:g}" for alpha in strengths], "balance"], rows)


def ridges(runs: pd.DataFrame) -> str:
    """Return test log-loss and AUC by ridge; the lowest loss of a row is bold."""
    runs, rows = runs[(runs["alpha"] == 0) & runs["setting"].isin([*RIDGES])], []
    for name, title in {**DATASETS, **WIDE}.items():
        part = runs[runs["table"] == name]
        for people, own in part.groupby("rows"):
            means = own.groupby("setting")[["loss", "auc"]].mean()
            low = number(means["loss"].min(), 3)
            cells = [
                f"**{loss}** {auc}" if loss == low else f"{loss} {auc}"
                for loss, auc in ((number(means.loc[c, x], 3) for x in ("loss", "auc"))
                                  for c in RIDGES)
            ]  # fmt: skip
            first = title if people == part["rows"].min() else ""
            rows.append([first, f"{people}", number(own["rate_loss"].mean(), 3), *cells])
    return table(["", "people", "base rate", *RIDGES.values()], rows)


def at_violation(path: pd.DataFrame, notion: str, target: float, column: str) -> float:
    """Return a column at a training violation, between the two neighbours along a path."""
    path = path.sort_values("alpha")
    v, values = path[f"train_{notion}"].to_numpy(), path[column].to_numpy()
    for k in range(len(v) - 1):
        if v[k] >= target > v[k + 1]:
            t = (v[k] - target) / (v[k] - v[k + 1])
            return float((1 - t) * values[k] + t * values[k + 1])
    return np.nan


def against_norm(runs: pd.DataFrame) -> str:
    """Return training and test AUC at equal training violations, means over splits."""
    rows = []
    for name, title in AGAINST.items():
        for notion in ("peo", "pdp"):
            part = runs[(runs["table"] == name) & (runs["notion"] == notion)]
            free = part[(part["alpha"] == 0) & (part["method"] == "otf")].mean(numeric_only=True)
            auc, unfair = number(free["train_auc"]), number(free[f"train_{notion}"], 3)
            first = f"{title}, {WORDS[notion]} (unconstrained {auc} at {unfair})"
            for target in VIOLATIONS:
                found = {
                    method: [
                        np.mean([at_violation(path, notion, target, f"{of}_auc")
                                 for _, path in part[part["method"] == method].groupby("split")])
                        for of in ("train", "test")
                    ]
                    for method in PENALTIES
                }  # fmt: skip
                if any(np.isnan(x) for pair in found.values() for x in pair):
                    continue  # not reached by all, in every split
                high = max(number(train) for train, _ in found.values())
                cells = []
                for pair in found.values():
                    train, test = map(number, pair)
                    cells.append(f"**{train}** ({test})" if train == high else f"{train} ({test})")
                rows.append([first, number(target, 2), *cells])
                first = ""
    return table(["", "violation", *PENALTIES.values()], rows)


def parts() -> dict[str, str]:
    """Return what stands between the marks of the page."""
    shares = pd.read_csv(BENCHMARKS / "attributes.csv")
    return {
        "alphas": alphas(pd.read_csv(BENCHMARKS / "alphas.csv")),
        "ridges": ridges(pd.read_csv(BENCHMARKS / "defaults.csv")),
        "against norm": against_norm(pd.read_csv(BENCHMARKS / "norm.csv")),
        "attributes": at_shares(shares, ATTRIBUTES, BY_ATTRIBUTE),
        "groups": at_shares(shares, GROUPS, BY_GROUP),
        "targets": targets(pd.read_csv(BENCHMARKS / "targets.csv")),
    }


if __name__ == "__main__":
    fill(PAGE, parts())
