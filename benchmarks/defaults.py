"""Which defaults serve small, wide and large tables: the evidence behind them.

    python benchmarks/defaults.py line --rows 1000 5000          # values of `OTFClassifier(C=)`
    python benchmarks/defaults.py trees --rows 1000 5000         # of `OTFBoostingClassifier`
    python benchmarks/defaults.py trees --rows 0 --seeds 1       # all but the test people
    python docs/training.py && python docs/boosting.py           # the tables

Rows go to benchmarks/defaults.csv: log-loss and AUC of test people, and AUC of training people. The
features are those of ACSIncome.validation.parquet with its 529 occupations, where the folder of the
datasets has it.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from rows import HERE, Rows
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
PENALTIES = (None, 10.0, 1.0, 0.1, 0.01, 0.001)
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


def measure(model: Any, parts: list[tuple[Any, np.ndarray, Any]]) -> dict[str, float]:
    """Train on the first part, and judge by both."""
    began = time.process_time()
    score = scores(model, *parts[0])
    spent = time.process_time() - began
    (X, y, _), (Z, labels, _) = parts
    h = score(Z)
    return {
        "rate_loss": log_loss(labels, np.full(len(labels), y.mean())),
        "loss": log_loss(labels, np.clip(h, 1e-12, 1 - 1e-12)),
        "auc": roc_auc_score(labels, h), "train_auc": roc_auc_score(y, score(X)), "train": spent,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["line", "trees"])
    parser.add_argument("--tables", nargs="+", choices=SENSITIVE, default=list(SENSITIVE))
    parser.add_argument("--rows", nargs="+", type=int, default=[1000, 5000], help="0: all")
    parser.add_argument("--alphas", nargs="+", type=float, default=[0.0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("-o", "--output", type=Path, default=HERE / "defaults.csv")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    make: Any = line if options.what == "line" else trees
    settings: dict[str, Any] = {f"C={C}": C for C in PENALTIES} if make is line else TREES
    key = ("table", "rows", "alpha", "seed", "setting")
    done = Rows(options.output, key)
    for name in options.tables:
        X, y, s = load(name)
        for rows, alpha, seed in product(options.rows, options.alphas, range(options.seeds)):
            fit, test = train_test_split(
                np.arange(len(y)), random_state=seed, stratify=y, train_size=rows or None,
                test_size=None if rows else min(TEST, len(y) // 5),
            )  # fmt: skip
            parts = [(X.iloc[r], y[r], s.iloc[r]) for r in (fit, test[:TEST])]
            for setting, given in settings.items():
                if alpha and setting == "scikit-learn":
                    continue  # it has no penalty
                own = (name, len(fit), alpha, seed, setting)
                if own not in done:
                    found = measure(make(given, alpha, seed), parts)
                    done.add(dict(zip(key, own)) | found)
                    print(*own, f"{found['loss']:.4f} {found['auc']:.4f}", flush=True)


if __name__ == "__main__":
    main()
