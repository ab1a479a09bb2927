"""What fairness costs if nobody may end with a score above one: of all people, and of a sample.

    python benchmarks/bench_bounded.py            # rows go to benchmarks/bounded.csv; half a minute

Scores are those of a logistic regression trained on 6000 other people. Of 1500 people the cost is
found without and with the bound. Of 6000 the audit's own sample gives both, also where the cost
does not look free.
"""

from __future__ import annotations

import numpy as np
from rows import HERE, Rows
from sklearn.linear_model import LogisticRegression

import otfair
from otfair.auditing import _results

RUNS = HERE / "bounded.csv"
PARITY, ODDS = "demographic_parity", "equalized_odds"
SMALL = [("adult", "sex", PARITY), ("dutch", "sex", PARITY), ("synthetic", "sex", PARITY)]
LARGE = [
    ("dutch", "sex", PARITY), ("adult", "race", ODDS), ("adult", "race", PARITY),
    ("bank", "age_binned", ODDS), ("synthetic", "sex", PARITY), ("adult", "sex", ODDS),
]  # fmt: skip
TRAIN, SEED = 6000, 0


def cost(
    dataset: str, column: str, notion: str, people: int, bounded: bool | None
) -> otfair.auditing.Cost:
    """Return what an audit of some people finds."""
    size = {"n": 12_000} if dataset == "synthetic" else {}
    data = otfair.load_dataset(dataset, **size)
    rows = np.random.default_rng(SEED).permutation(len(data.y))
    train, some = rows[:TRAIN], rows[TRAIN : TRAIN + people]
    encoder = otfair.TableEncoder().fit(data.X.iloc[train])
    model = LogisticRegression(max_iter=1000)
    model.fit(encoder.transform(data.X.iloc[train]), data.y[train])
    scores = model.predict_proba(encoder.transform(data.X.iloc[some]))[:, 1]
    found = otfair.audit(
        scores, data.X.iloc[some].reset_index(drop=True),
        sensitive_features=data.sensitive_features.iloc[some][column].reset_index(drop=True),
        labels=data.y[some], notions=[notion], bounded=bounded, random_state=SEED,
    )  # fmt: skip
    (finding,) = found.findings
    return finding.cost


def main() -> None:
    """Add a row for each case that is not there yet."""
    runs = Rows(RUNS, ["people", "dataset", "attribute", "notion", "kind"])
    for case in SMALL:
        for kind, bounded in (("unbounded", False), ("bounded", True)):
            if (1500, *case, kind) in runs:
                continue
            found = cost(*case, 1500, bounded)
            row = dict(zip(("dataset", "attribute", "notion"), case), people=1500, kind=kind)
            row |= {"cost": found.exact.value, "low": found.exact.low, "high": found.exact.high}
            runs.add({**row, "piled": found.piled})
            print(runs.rows[-1], flush=True)
    _results.FREE = np.inf  # so that the sample is always asked
    for case in LARGE:
        if (6000, *case, "sample") in runs:
            continue
        found = cost(*case, 6000, None)
        few = found.with_bound
        row = dict(zip(("dataset", "attribute", "notion"), case), people=6000, kind="sample")
        row |= {"cost": found.exact.value, "least_moved": found.least_moved.value}
        row |= {"sample": few.people, "sample_unbounded": few.unbounded}
        runs.add({**row, "sample_bounded": few.value, "piled": found.piled})
        print(runs.rows[-1], flush=True)


if __name__ == "__main__":
    main()
