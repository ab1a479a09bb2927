"""At equal violation, who treats people alike who are alike? A table of OTF, Norm and Correlation.

Models are trained on some people of a table and judged by others: violation, AUC and the gap in
score between neighbours of different groups (`neighbour_gap`). Strengths about the middle are
trained, and figures are read off where half of the unfair model's violation is left, by linear
interpolation. Rows are kept in a CSV as they are made; what is there is not made again.

  python benchmarks/bench_neighbours.py --splits 3 -o benchmarks/neighbours.csv
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
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
    rows = pd.read_csv(options.output) if options.output.is_file() else pd.DataFrame(columns=KEY)
    done = set(rows[KEY].itertuples(index=False, name=None))
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
                found = pd.DataFrame([key | row for row in measure(*parts, notion, penalty)])
                found.to_csv(
                    options.output, mode="a", index=False, header=not options.output.is_file()
                )
                print(*key.values(), flush=True)
    print(table(pd.read_csv(options.output)).to_string(index=False))


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


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return gap, AUC and spread of scores at half of the unfair model's violation.

    Means are over the splits in which all penalties come down to it, so that they can be compared.
    """
    found = pd.DataFrame(
        [dict(zip(KEY, key)) | at_half(path) for key, path in rows.groupby(KEY, sort=False)]
    )
    split = ["dataset", "notion", "split"]
    reached = found.groupby(split)["gap"].transform(lambda gaps: gaps.notna().all())
    means = found[reached].groupby(["dataset", "notion", "penalty"], sort=False)
    out = means[["unfair gap", "gap", "auc", "spread"]].mean().round(4)
    return out.assign(splits=means.size()).reset_index()


def at_half(path: pd.DataFrame) -> dict[str, float]:
    """Return the figures of one penalty where half of the violation is left; NaN if it never is."""
    path = path.sort_values("alpha")
    x, names = path["violation"].to_numpy(), ("gap", "auc", "spread")
    row = {"unfair gap": float(path["gap"].iloc[0])}
    below = np.flatnonzero(x <= 0.5 * x[0])
    if not len(below):
        return row | dict.fromkeys(names, np.nan)
    j = int(below[0])
    t = (x[j - 1] - 0.5 * x[0]) / (x[j - 1] - x[j])
    ends = path.iloc[[j - 1, j]]
    return row | {
        name: float((1 - t) * ends[name].iloc[0] + t * ends[name].iloc[1]) for name in names
    }


if __name__ == "__main__":
    main()
