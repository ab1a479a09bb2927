"""Which defaults serve small, wide and large tables: the evidence behind them.

`python benchmarks/defaults.py line` tries values of the ridge `C` of `OTFClassifier`, `... trees`
settings of `OTFBoostingClassifier`; `--rows 1000,5000` are the sizes of the training samples (0 is
all but the test people), `--seeds 5` how many of each. Prints test log-loss and AUC, means over
seeds: the tables of docs/training.md and docs/boosting.md. ACSIncome is read from
ACSIncome.validation.parquet in the folder of the datasets, where it is there.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

import otfair

SENSITIVE = {
    "adult": "sex", "bank": "age_binned", "dutch": "sex", "diabetes": "gender", "wide": "gender",
    "acs": "SEX",
}  # fmt: skip
TEST = 20_000  # people at most
PENALTIES = (None, 100.0, 10.0, 1.0, 0.1, 0.01, 0.001)
TREES: dict[str, dict[str, Any]] = {
    "XGBoost's own": {"learning_rate": 0.3, "max_depth": 6, "reg_lambda": 1},
    "XGBoost, ours": {},
    "LightGBM's own": {"booster": "lightgbm", "reg_lambda": 0},
    "LightGBM, ours": {"booster": "lightgbm"},
    "scikit-learn": {"booster": "sklearn"},
}


def load(name: str) -> tuple[pd.DataFrame, np.ndarray, pd.Series[Any]]:
    """Return features, labels and one sensitive column; "wide" is Diabetes with its diagnoses."""
    if name == "acs":
        folder = Path(os.environ["OTFAIR_DATA_HOME"])
        table = pd.read_parquet(folder / "ACSIncome.validation.parquet")
        codes = ["COW", "MAR", "RELP", "OCCP", "POBP"]
        table[codes] = table[codes].astype("Int64").astype(str).astype("category")
        y = table["PINCP"].to_numpy(dtype=int)
        return table.drop(columns=["PINCP", "SEX", "RAC1P"]), y, table["SEX"].astype(str)
    options = {"diagnoses": True} if name == "wide" else {}
    data = otfair.load_dataset("diabetes" if name == "wide" else name, **options)
    return data.X, np.asarray(data.y), data.sensitive_features[SENSITIVE[name]]


def line(C: float | None, alpha: float, seed: int) -> Any:
    """Return a linear model of encoded features."""
    return make_pipeline(otfair.TableEncoder(), otfair.OTFClassifier(alpha=alpha, C=C))


def trees(settings: dict[str, Any], alpha: float, seed: int) -> Any:
    """Return boosted trees, ours or scikit-learn's."""
    settings = dict(settings)
    if settings.get("booster") == "sklearn":
        return HistGradientBoostingClassifier(random_state=seed, categorical_features="from_dtype")
    return otfair.OTFBoostingClassifier(alpha=alpha, random_state=seed, n_jobs=1, **settings)


def scores(model: Any, X: pd.DataFrame, y: np.ndarray, s: pd.Series[Any]) -> Callable[..., Any]:
    """Train, and return a function from features to scores."""
    if isinstance(model, HistGradientBoostingClassifier):
        text = X.select_dtypes(exclude="number").columns
        few = {c: list(X[c].value_counts().index[:250]) for c in text}  # 255 are its most

        def read(Z: pd.DataFrame) -> pd.DataFrame:
            return Z.assign(**{c: pd.Categorical(Z[c].astype(object), v) for c, v in few.items()})

        model.fit(read(X), y)
        return lambda Z: model.predict_proba(read(Z))[:, 1]
    given = "otfclassifier__" if hasattr(model, "steps") else ""
    model.fit(X, y, **{f"{given}sensitive_features": s})
    return lambda Z: model.predict_proba(Z)[:, 1]


def compare(make: Any, settings: dict[str, Any], options: argparse.Namespace) -> None:
    """Print a row for each table, size and strength: log-loss and AUC of each setting."""
    heads = " | ".join(settings)
    print(f"| table | rows | alpha | base rate | {heads} |")
    print("|---|---|---|---|" + "---|" * len(settings))
    for name in options.tables.split(","):
        X, y, s = load(name)
        for rows in map(int, options.rows.split(",")):
            for alpha in map(float, options.alphas.split(",")):
                found: dict[str, list[tuple[float, ...]]] = {k: [] for k in settings}
                rates = []
                for seed in range(options.seeds):
                    fit, test = train_test_split(
                        np.arange(len(y)), random_state=seed, stratify=y,
                        test_size=min(TEST, len(y) // 5) if rows == 0 else None,
                        train_size=rows or None,
                    )  # fmt: skip
                    test = test[:TEST]
                    rates.append(log_loss(y[test], np.full(len(test), y[fit].mean())))
                    parts = [(X.iloc[r], y[r], s.iloc[r]) for r in (fit, test)]
                    for key, given in settings.items():
                        began = time.perf_counter()
                        score = scores(make(given, alpha, seed), *parts[0])
                        spent = time.perf_counter() - began
                        h, own = score(parts[1][0]), score(parts[0][0])
                        found[key].append(
                            (
                                log_loss(y[test], np.clip(h, 1e-12, 1 - 1e-12)),
                                roc_auc_score(y[test], h),
                                roc_auc_score(y[fit], own),
                                otfair.pdp_violation(h, parts[1][2]),
                                spent,
                            )
                        )
                cells = []
                for values in found.values():
                    loss, auc, own, unfair, spent = np.mean(values, 0)
                    more = f" [{own:.3f}, {unfair:.3f}, {spent:.1f} s]" if options.more else ""
                    cells.append(f"{loss:.4f} {auc:.4f}{more}")
                rate = f"{np.mean(rates):.4f}"
                row = " | ".join(cells)
                print(f"| {name} | {len(fit)} | {alpha:g} | {rate} | {row} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["line", "trees"])
    parser.add_argument("--tables", default=",".join(SENSITIVE))
    parser.add_argument("--rows", default="1000,5000")
    parser.add_argument("--alphas", default="0,0.5")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--more", action="store_true", help="training AUC, test PDP, seconds")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.what == "line":
        compare(line, {f"C={C}": C for C in PENALTIES}, options)
    else:
        compare(trees, TREES, options)


if __name__ == "__main__":
    main()
