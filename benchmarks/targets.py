"""Does `max_violation` hold on people not seen in training? One row per run, as CSV.

Models are trained on n people of a table (or on 80 % of it) and judged by all the others, who stand
for the population, and by a sample of a third as many new people as there were in training.

  python benchmarks/targets.py adult:sex dutch:sex bank:age_binned -n 1000 5000 0 > targets.csv
  python docs/training.py                        (the table of what is in benchmarks/)
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

import otfair
from otfair.metrics import violation


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="+", metavar="DATASET:COLUMN,...")
    parser.add_argument("-n", nargs="+", type=int, default=[1000, 5000, 0], help="0: 80 percent")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=0.05)
    parser.add_argument("--models", nargs="+", default=["logistic", "xgboost"])
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="more settings")
    options = parser.parse_args()
    settings = dict(pair.split("=") for pair in options.set)
    numbers = {k: v if k == "criterion" else float(v) for k, v in settings.items()}
    settings = {k: int(v) if k == "cv" else v for k, v in numbers.items()}
    header = True
    for table in options.tables:
        name, _, columns = table.partition(":")
        data = otfair.load_dataset(name)
        sensitive = data.sensitive_features[columns.split(",")]
        for n in options.n:
            for seed in range(options.seeds):
                order = np.random.default_rng(seed).permutation(len(data.y))
                fit, rest = np.split(order, [n or len(order) * 4 // 5])
                for model in options.models:
                    row = {"table": table, "n": n or len(fit), "seed": seed, "model": model}
                    row |= run(model, data, sensitive, fit, rest, options.limit, settings)
                    pd.DataFrame([row]).to_csv(sys.stdout, header=header, index=False)
                    sys.stdout.flush()
                    header = False


def run(model, data, sensitive, fit, rest, limit, settings) -> dict[str, object]:
    """Train one model, and judge it."""
    X, y = data.X, np.asarray(data.y)
    start = time.perf_counter()
    settings = {"max_violation": limit, "random_state": 0, **settings}
    if model == "logistic":
        encoder = otfair.TableEncoder().fit(X.iloc[fit])
        see, clf = encoder.transform, otfair.OTFClassifier(**settings)
    else:
        see, clf = (lambda table: table), otfair.OTFBoostingClassifier(model, n_jobs=1, **settings)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        clf.fit(see(X.iloc[fit]), y[fit], sensitive_features=sensitive.iloc[fit])
    spent = time.perf_counter() - start
    h = clf.predict_proba(see(X.iloc[rest]))[:, 1]
    new = slice(0, min(len(fit) // 3, len(rest)))
    found = {
        "alpha": clf.alpha_,
        "judged": clf.violation_,
        "bound": getattr(clf, "violation_bound_", np.nan),
        "said": any("max_violation" in str(w.message) for w in said),
        "others": violation(h, sensitive.iloc[rest]),
        "sample": violation(h[new], sensitive.iloc[rest[new]]),
        "auc": roc_auc_score(y[rest], h),
        "seconds": spent,
    }
    return {k: round(float(v), 4) for k, v in found.items()}


if __name__ == "__main__":
    main()
