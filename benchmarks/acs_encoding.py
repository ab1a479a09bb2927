"""How to encode ACSIncome's occupations and places of birth: test accuracy by how many codes stay.

Run `python benchmarks/acs_encoding.py`, with the data in OTFAIR_DATA_HOME; two minutes on one core.
Rows go to acs_encoding.csv, and those that are there are not made again.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from rows import Rows
from sklearn.linear_model import LogisticRegression
from xgboost import XGBClassifier

import otfair
from otfair.datasets import _acs_income

RUNS = Path(__file__).with_suffix(".csv")
SHARES = (1.0, 0.005, 0.002, 0.001, 0.0)  # of people who have a code, below which it is merged
TRAIN, TEST, SEED = 60_000, 100_000, 0
WIDEST = 400  # columns that logistic regression is tried with
TREES = {"n_estimators": 300, "learning_rate": 0.1, "max_depth": 6, "n_jobs": 1}


def accuracy(model: object, train: tuple, test: tuple) -> float:
    """Share of test people whom a model, trained on the others, is right about."""
    return float((model.fit(*train).predict(test[0]) == test[1]).mean())


def ordered(X: pd.DataFrame) -> np.ndarray:
    """Categories by their place in the order of codes, as boosted trees of ours see them."""
    coded = {c: X[c].cat.codes if X[c].dtype == "category" else X[c] for c in X}
    return pd.DataFrame(coded).to_numpy(np.float64)


def main() -> None:
    """Add one row for each share."""
    runs = Rows(RUNS, ["share"])
    for share in SHARES:
        if (share,) in runs:
            continue
        _acs_income.LEAST_SHARE = share
        rng = np.random.default_rng(SEED)
        parts = []
        for part, count in (("train", TRAIN), ("test", TEST)):
            data = otfair.load_dataset("acs_income", part=part)
            rows = rng.permutation(len(data.y))[:count]
            parts.append((data.X.iloc[rows], data.y[rows]))
        encoder = otfair.TableEncoder().fit(parts[0][0])
        width = len(encoder.get_feature_names_out())
        onehot = [(encoder.transform(X), y) for X, y in parts]
        line = np.nan
        if width < WIDEST:
            line = accuracy(LogisticRegression(max_iter=300), *onehot)
        trees = accuracy(XGBClassifier(**TREES), *onehot)
        codes = accuracy(XGBClassifier(**TREES), *((ordered(X), y) for X, y in parts))
        row = {"share": share, "columns": width, "logistic": line, "onehot": trees}
        runs.add({**row, "in_order": codes, "train": TRAIN, "test": TEST, "seed": SEED})
        print(f"{share:<6g} {width:4d} columns  {line:.4f}  {trees:.4f}  {codes:.4f}", flush=True)


if __name__ == "__main__":
    main()
