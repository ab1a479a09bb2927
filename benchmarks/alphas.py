"""What alpha leaves of the unconstrained training violation, on the four real datasets.

Run with `python benchmarks/alphas.py [regularizer]`: logistic regression on one 80 % split (seed
0), both notions; the table of docs/training.md.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from sklearn.model_selection import train_test_split

import otfair

COLUMNS = {
    "adult": ["sex", "race"],
    "bank": ["age_binned"],
    "dutch": ["sex"],
    "diabetes": ["gender"],
}
ALPHAS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99)
NOTIONS = {"PDP": "demographic_parity", "PEO": "equalized_odds"}


def main() -> None:
    regularizer = sys.argv[1] if len(sys.argv) > 1 else "otf"
    print("| dataset | balance | " + " | ".join(map(str, ALPHAS[1:])) + " | s |")
    for name, columns in COLUMNS.items():
        data = otfair.load_dataset(name)
        fit, _ = train_test_split(
            np.arange(len(data.y)), test_size=0.2, random_state=0, stratify=data.y
        )
        X = np.asarray(otfair.TableEncoder().fit_transform(data.X.iloc[fit]), dtype=float)
        sensitive = data.sensitive_features[columns].iloc[fit]
        for short, notion in NOTIONS.items():
            began = time.perf_counter()
            clf = otfair.OTFClassifier(notion, regularizer=regularizer, weigh="people", C=None)
            models = list(clf.fit_path(X, data.y[fit], sensitive, ALPHAS))
            left = [m.violation_ / models[0].violation_ for m in models[1:]]
            spent = time.perf_counter() - began
            shares = " | ".join(f"{v:.2f}" for v in left)
            print(
                f"| {name} {short} | {models[0].balance_:.3g} | {shares} | {spent:.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
