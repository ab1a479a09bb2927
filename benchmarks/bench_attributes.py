"""Is every attribute heard? AUC where the largest share of the attributes' violations is the same.

    python benchmarks/bench_attributes.py adult:sex,race synthetic:sex,origin -o attributes.csv
    python benchmarks/bench_attributes.py diabetes:race --methods people groups -o attributes.csv
    python benchmarks/bench_attributes.py adult:sex,race -n 10000 --methods "trees, people" ...
    python docs/training.py                        (the tables of what is in benchmarks/)

A *share* is what a model leaves of the violation that the unfair model has on the training people:
of each attribute, or with one attribute of each of its groups. Each method is trained along a path
of strengths, refined until two neighbours enclose each target closely, so that AUC can be
interpolated between them. Every table is split 80/20 by the seeds; a sensitive column that is a
feature is taken out of the features. A path is a few rows of the CSV, and one that is there is not
trained again.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rows import Rows
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from tqdm import tqdm

import otfair
from otfair.metrics import ViolationOf
from otfair.notions import People, parts_of

SHARES = (0.75, 0.5, 0.25, 0.1)
STRENGTHS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.97, 0.99)
STRONGER = (0.997, 0.999, 0.9997, 0.9999, 0.99997)  # until the last share is reached
CLOSE, MORE = 0.06, 3  # width of the neighbours' shares around a target, and strengths to get there
NOTIONS = {"pdp": "demographic_parity", "peo": "equalized_odds"}
METHODS = {
    "norm": {"regularizer": "norm", "weigh": "people"},
    "norm by attribute": {"regularizer": "norm", "weigh": "attributes"},
    "people": {"weigh": "people"},
    "attributes": {"weigh": "attributes"},
    "equal pull": {"weigh": "attributes"},
    "groups": {"weigh": "groups"},
    "trees, people": {"weigh": "people"},
    "trees, attributes": {"weigh": "attributes"},
}
KEY = ["table", "people", "split", "notion", "method"]


class Table:
    """A table, split and encoded."""

    def __init__(self, spec: str, split: int, most: int) -> None:
        name, columns = spec.split(":")
        data = otfair.load_dataset(name)
        y, everything = np.asarray(data.y), pd.concat([data.X, data.sensitive_features], axis=1)
        self.S = everything[columns.split(",")].reset_index(drop=True)
        X = data.X.drop(columns=[c for c in self.S if c in data.X])
        fit, self.test = train_test_split(
            np.arange(len(y)), test_size=0.2, random_state=split, stratify=y
        )
        self.fit = fit[:most]
        encoder = otfair.TableEncoder().fit(X.iloc[self.fit])
        self.X, self.y, self.raw = np.asarray(encoder.transform(X), dtype=float), y, X

    def people(self, notion: str, rows: np.ndarray) -> People:
        """Return some of the people, typed by a notion."""
        return otfair.as_notion(NOTIONS[notion]).people(self.S.iloc[rows], self.y[rows])


def violations(people: People, h: np.ndarray) -> dict[str, float]:
    """Return the violation of each attribute, or of each group of a single one."""
    parts = parts_of(people, "attributes")
    parts = parts if len(parts) > 1 else parts_of(people, "groups")
    return {part.name: ViolationOf(part.people)(h) for part in parts}


def path(table: Table, notion: str, method: str) -> Iterator[dict[str, object]]:
    """Train at strengths until each target is enclosed, and tell how each model does."""
    y, S = table.y[table.fit], table.S.iloc[table.fit]
    boosted = method.startswith("trees")

    def seen(rows: np.ndarray) -> Any:
        return table.raw.iloc[rows] if boosted else table.X[rows]

    X, clf = seen(table.fit), otfair.OTFClassifier(NOTIONS[notion], C=None, **METHODS[method])
    if boosted:
        clf = otfair.OTFBoostingClassifier(
            notion=NOTIONS[notion], n_jobs=1, random_state=0, **METHODS[method]
        )
    if method == "equal pull":
        free = otfair.OTFClassifier(alpha=0, C=None).fit(X, y)
        clf.set_params(balance=equal_pull(clf.notion, free, X, y, S))
    parts = {
        part: (table.people(notion, rows), seen(rows), table.y[rows])
        for part, rows in (("train", table.fit), ("test", table.test))
    }
    shares: dict[float, float] = {}

    def strengths() -> Iterator[float]:
        yield from STRENGTHS
        for alpha in STRONGER:
            if min(shares.values()) > min(SHARES):
                yield alpha
        for target, _ in product(SHARES, range(MORE)):
            found = sorted(shares.items())
            around = [(a, b) for a, b in pairwise(found) if a[1] >= target > b[1]]
            if around and around[0][0][1] - around[0][1][1] > CLOSE:
                (a, left), (b, right) = around[0]
                yield a + (b - a) * float(np.clip((left - target) / (left - right), 0.2, 0.8))

    before: dict[str, float] = {}
    began = time.perf_counter()
    for model in clf.fit_path(X, y, S, strengths()):
        row: dict[str, object] = {"alpha": model.alpha}
        for part, (people, Z, labels) in parts.items():
            h = model.predict_proba(Z)[:, 1]
            row[f"{part}_auc"] = roc_auc_score(labels, h)
            found = violations(people, h)
            row[f"{part}_violations"] = json.dumps({k: round(v, 5) for k, v in found.items()})
            if part == "train":
                before = before or found
                shares[model.alpha] = max(found[name] / before[name] for name in before)
                row["share"] = shares[model.alpha]
        row["balance"] = json.dumps(model.balance_)
        row["seconds"], began = time.perf_counter() - began, time.perf_counter()
        yield row


def equal_pull(notion: str, free: otfair.OTFClassifier, X, y, S) -> dict[str, float]:
    """Return factors with which attributes pull equally hard on the logits of the unfair model."""
    loss = otfair.OTFLoss(notion, weigh="attributes")
    loss.fit((X - X.mean(0)) / np.where(X.std(0) > 1e-12, X.std(0), 1.0), S, y)
    import torch

    loss.balance_(torch.as_tensor(free.decision_function(X)), y)
    return dict(loss.balances)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="+", metavar="DATASET:COLUMN,...")
    parser.add_argument("--notions", nargs="+", choices=NOTIONS, default=list(NOTIONS))
    compared = ["norm", "people", "attributes"]
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=compared)
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("-n", type=int, default=10**9, help="people to train on, at most")
    parser.add_argument("-o", "--output", type=Path, required=True, help="CSV, added to")
    chosen = parser.parse_args()
    done = Rows(chosen.output, KEY)
    jobs = list(product(chosen.tables, range(chosen.splits), chosen.notions, chosen.methods))
    table, last = None, None
    for spec, split, notion, method in (bar := tqdm(jobs, "paths")):
        bar.set_postfix_str(f"{spec} {notion} {method} {split}")
        if last != (spec, split):
            table, last = Table(spec, split, chosen.n), (spec, split)
        key = (spec, len(table.fit), split, notion, method)
        if key not in done:
            done.add(*(dict(zip(KEY, key)) | row for row in path(table, notion, method)))


if __name__ == "__main__":
    main()
