r"""Does `max_violation` hold on people not seen in training? One row per run, as CSV.

Models are trained on n people of a table (or on 80 % of it) and judged by all the others, who stand
for the population, and by a sample of a third as many new people as there were in training, or as
`new_people` says.

    python benchmarks/targets.py adult:sex dutch:sex -n 2000 --seeds 40 --limit 0.12 \
        --models logistic -o benchmarks/promises.csv              # is it 90 %?
    python benchmarks/targets.py adult:sex -n 2000 --seeds 40 --limit 0.12 --models logistic \
        --set cv=2 -o benchmarks/promises.csv                     # with another setting
    python docs/training.py
"""

from __future__ import annotations

import argparse
import time
import warnings
from itertools import product
from pathlib import Path

import numpy as np
import torch
from rows import Rows
from sklearn.metrics import roc_auc_score

import otfair
from otfair.metrics import violation

KEY = ("table", "n", "seed", "model", "limit", "setting")
VALUES = {"criterion": str, "cv": int, "new_people": float, "validation_fraction": float}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="+", metavar="DATASET:COLUMN,...")
    parser.add_argument("-n", nargs="+", type=int, default=[1000, 5000, 0], help="0: 80 percent")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=0.05)
    parser.add_argument("--models", nargs="+", default=["logistic", "xgboost"])
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="more settings")
    parser.add_argument("-o", "--output", type=Path, required=True, help="CSV, added to")
    options = parser.parse_args()
    settings = {name: VALUES[name](value) for name, value in map(split_pair, options.set)}
    called = " ".join(options.set) or "default"
    done = Rows(options.output, KEY)
    torch.set_num_threads(1)
    for table in options.tables:
        name, _, columns = table.partition(":")
        data = otfair.load_dataset(name)
        sensitive = data.sensitive_features[columns.split(",")]
        for n, seed, model in product(options.n, range(options.seeds), options.models):
            order = np.random.default_rng(seed).permutation(len(data.y))
            fit, rest = np.split(order, [n or len(order) * 4 // 5])
            key = (table, len(fit), seed, model, options.limit, called)
            if key not in done:
                found = run(model, data, sensitive, fit, rest, options.limit, settings)
                done.add(dict(zip(KEY, key)) | found)
                print(*key, f"{found['sample']:.4f} {found['seconds']:.0f} s", flush=True)


def split_pair(text: str) -> tuple[str, str]:
    """Return name and value of name=value."""
    name, _, value = text.partition("=")
    return name, value


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
    new = slice(0, min(int(len(fit) * settings.get("new_people", 1 / 3)), len(rest)))
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
