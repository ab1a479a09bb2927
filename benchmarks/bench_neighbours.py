"""At equal violation, who treats people alike who are alike? Runs of OTF, Norm and Correlation.

Models are trained on some people of a table and judged by others: violation, AUC and the gap in
score between neighbours of different groups (`neighbour_gap`). Strengths about the middle are
trained; docs/metrics.py reads figures off where half of the unfair model's violation is left. Rows
are kept in a CSV as they are made; what is there is not made again.

  python benchmarks/bench_neighbours.py --splits 3 -o benchmarks/neighbours.csv
  python docs/metrics.py
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from rows import Rows
from sklearn.metrics import roc_auc_score

import otfair
from otfair.metrics import violation

TABLES = {"adult": "sex", "bank": "age_binned", "dutch": "sex", "diabetes": "gender"}
NOTIONS = {"PDP": "demographic_parity", "PEO": "equalized_odds"}
PENALTIES = ("otf", "norm", "correlation")
ALPHAS = (0.0, 0.3, 0.45, 0.5, 0.55, 0.7, 0.85)
KEY = ["dataset", "notion", "split", "penalty"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--people", type=int, default=6000, help="in training, and in the test")
    parser.add_argument("-o", "--output", type=Path, default=Path("benchmarks/neighbours.csv"))
    options = parser.parse_args()
    done = Rows(options.output, KEY)
    for split in range(options.splits):
        for name in TABLES:
            missing = [
                (notion, penalty)
                for notion in NOTIONS
                for penalty in PENALTIES
                if (name, notion, split, penalty) not in done
            ]
            if not missing:
                continue
            parts = split_table(name, split, options.people)
            for notion, penalty in missing:
                key = dict(zip(KEY, (name, notion, split, penalty)))
                done.add(*(key | row for row in measure(*parts, notion, penalty)))
                print(*key.values(), flush=True)


def split_table(name: str, split: int, people: int):
    """Return features, labels and groups of training people, then of test people."""
    data = otfair.load_dataset(name)
    order = np.random.default_rng(split).permutation(len(data.y))
    fit, test = order[:people], order[people : 2 * people]
    encoder = otfair.TableEncoder().fit(data.X.iloc[fit])
    groups = data.sensitive_features[TABLES[name]]
    return [
        (encoder.transform(data.X.iloc[rows]), np.asarray(data.y)[rows], groups.iloc[rows])
        for rows in (fit, test)
    ]


def measure(fit, test, notion: str, penalty: str) -> list[dict[str, float]]:
    """Train at each strength; return what the test people find."""
    clf = otfair.OTFClassifier(NOTIONS[notion], regularizer=penalty, random_state=0)
    X, y, groups = test
    geometry, labels = otfair.PointCloud(X), y if notion == "PEO" else None
    out = []
    for model in clf.fit_path(*fit, ALPHAS):
        h = model.predict_proba(X)[:, 1]
        row = {
            "alpha": model.alpha,
            "violation": violation(h, groups, NOTIONS[notion], y),
            "auc": roc_auc_score(y, h),
            "gap": otfair.neighbour_gap(h, geometry, groups, labels=labels),
            "spread": float(h.std()),
        }
        out.append({k: round(float(v), 5) for k, v in row.items()})
    return out


if __name__ == "__main__":
    main()
