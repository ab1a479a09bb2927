"""What a strength leaves of the unconstrained training violation, of a line and of trees.

    python benchmarks/alphas.py                      # rows go to benchmarks/alphas.csv
    python docs/training.py && python docs/boosting.py

One 80 % split (seed 0) of the four real datasets, one cost for all attributes, no ridge. Trees are
XGBoost's, 200 rounds of depth 4, on Adult for demographic parity.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rows import HERE, Rows
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

import otfair
from otfair.metrics import violation

COLUMNS = {
    "adult": ["sex", "race"],
    "bank": ["age_binned"],
    "dutch": ["sex"],
    "diabetes": ["gender"],
}
ALPHAS = {
    "logistic": (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99),
    "xgboost": (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.97, 0.99, 0.999, 1 - 1e-6),
}
NOTIONS = {"pdp": "demographic_parity", "peo": "equalized_odds"}
BOOSTER: dict[str, Any] = {
    "n_estimators": 200, "max_depth": 4, "learning_rate": 0.1, "n_jobs": 1, "random_state": 0,
}  # fmt: skip


def path(name: str, notion: str, model: str) -> Iterator[dict[str, float]]:
    """Train at each strength, and judge by both parts of the split."""
    data = otfair.load_dataset(name)
    y, S = np.asarray(data.y), data.sensitive_features[COLUMNS[name]]
    rows = train_test_split(np.arange(len(y)), test_size=0.2, random_state=0, stratify=y)
    X: Any = data.X
    if model == "logistic":
        encoder = otfair.TableEncoder().fit(X.iloc[rows[0]])
        X = encoder.transform(X)
        clf: Any = otfair.OTFClassifier(NOTIONS[notion], weigh="people", C=None)
    else:
        clf = otfair.OTFBoostingClassifier(model, NOTIONS[notion], weigh="people", **BOOSTER)
    parts = [(X.iloc[r] if hasattr(X, "iloc") else X[r], y[r], S.iloc[r]) for r in rows]
    for fitted in clf.fit_path(parts[0][0], parts[0][1], parts[0][2], ALPHAS[model]):
        row = {"alpha": fitted.alpha_, "balance": fitted.balance_, "people": len(rows[0])}
        for part, (Z, labels, groups) in zip(("train", "test"), parts):
            h = fitted.predict_proba(Z)[:, 1]
            row[f"{part}_auc"] = roc_auc_score(labels, h)
            row[f"{part}_violation"] = violation(h, groups, NOTIONS[notion], labels)
        yield row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, default=HERE / "alphas.csv")
    key = ("dataset", "notion", "model")
    done = Rows(parser.parse_args().output, key)
    torch.set_num_threads(1)
    for own in (*product(COLUMNS, NOTIONS, ["logistic"]), ("adult", "pdp", "xgboost")):
        if own not in done:
            done.add(*(dict(zip(key, own)) | row for row in path(*own)))
            print(*own, flush=True)


if __name__ == "__main__":
    main()
