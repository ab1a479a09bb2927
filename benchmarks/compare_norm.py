"""The OTF curve against the Norm curve: same optimiser, same rule that stops, matched violations.

    python benchmarks/compare_norm.py adult:sex,race bank:age_binned table.csv:label:race,sex

Every table is split 80/20 by seed 0. Each method is trained along a path of strengths from the
model without penalty, and around each target violation (training data) the strength is refined
until two neighbours enclose the target closely; AUC is interpolated between them. Norm's optima are
checked by a second solver: sequential quadratic programming (SciPy's SLSQP) on the smooth form with
one bound variable a constraint, started at zero and at our optimum.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

import otfair

TARGETS = (0.15, 0.10, 0.06, 0.03)
STRENGTHS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999)
CLOSE = 0.004  # width of the two neighbours' violations around a target
NOTIONS = {"peo": "equalized_odds", "pdp": "demographic_parity"}


class Table:
    """A table, split and encoded."""

    def __init__(self, spec: str) -> None:
        *where, columns = spec.split(":")
        if len(where) == 1:
            data = otfair.load_dataset(where[0])
            X, y, S = data.X, np.asarray(data.y), data.sensitive_features[columns.split(",")]
        else:
            frame = pd.read_csv(where[0])
            S, y = frame[columns.split(",")], frame[where[1]].to_numpy().astype(int)
            X = frame.drop(columns=[where[1], *columns.split(",")])
        self.name = Path(where[0]).stem
        self.fit, self.test = train_test_split(
            np.arange(len(y)), test_size=0.2, random_state=0, stratify=y
        )
        encoder = otfair.TableEncoder().fit(X.iloc[self.fit])
        self.X, self.y, self.S = np.asarray(encoder.transform(X), dtype=float), y, S

    def judge(self, model: otfair.OTFClassifier) -> dict[str, float]:
        """AUC and violations on both parts."""
        out = {"alpha": model.alpha, "n_iter": model.n_iter_}
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


def at(curve: pd.DataFrame, notion: str, target: float) -> dict[str, float]:
    """Interpolate at a training violation, between the two neighbours along the path."""
    curve = curve.sort_values("alpha").reset_index(drop=True)
    v = curve[f"train_{notion}"].to_numpy()
    for k in range(len(v) - 1):
        if v[k] >= target > v[k + 1]:
            t = (v[k] - target) / (v[k] - v[k + 1])
            low, high = curve.iloc[k], curve.iloc[k + 1]
            return {
                "train_auc": (1 - t) * low["train_auc"] + t * high["train_auc"],
                "test_auc": (1 - t) * low["test_auc"] + t * high["test_auc"],
                "width": v[k] - v[k + 1],
                "alpha": (1 - t) * low["alpha"] + t * high["alpha"],
            }
    return {"train_auc": np.nan, "test_auc": np.nan, "width": np.nan, "alpha": np.nan}


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
    out = {"alpha": alpha, "ours": total(ours)}
    for name, start in (("from zero", np.zeros(p)), ("from ours", ours)):
        begin = np.append(start, np.abs(G @ expit(Z @ start)))
        r = minimize(
            objective, begin, jac=True, method="SLSQP",
            constraints={"type": "ineq", "fun": slack, "jac": slack_slope},
            options={"maxiter": 1000, "ftol": 1e-10},
        )  # fmt: skip
        h = expit(Z @ r.x[:p])
        out |= {
            name: total(r.x[:p]),
            f"{name}, AUC": roc_auc_score(y, h),
            f"{name}, violation": otfair.peo_violation(h, table.S.iloc[table.fit], y)
            if notion == "peo"
            else otfair.pdp_violation(h, table.S.iloc[table.fit]),
        }
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="+", help="name:sensitive or file.csv:label:sensitive")
    parser.add_argument("--notions", nargs="+", choices=NOTIONS, default=list(NOTIONS))
    parser.add_argument("-o", "--output", type=Path, help="CSV of all models")
    chosen = parser.parse_args()
    everything = []
    for spec in chosen.tables:
        table = Table(spec)
        for notion in chosen.notions:
            methods = {
                "OTF": "otf",
                "Norm p=1": "norm",
                "Norm p=2": otfair.NormLoss(NOTIONS[notion], p=2),
            }
            curves = {}
            for method, regularizer in methods.items():
                began = time.perf_counter()
                curve, models = path(table, notion, regularizer)
                curves[method] = curve
                everything.append(curve.assign(table=table.name, notion=notion, method=method))
                spent = time.perf_counter() - began
                print(f"{method}: {len(curve)} models, {spent:.0f} s", file=sys.stderr)
                if method == "Norm p=1":
                    checked = models
            free = curves["OTF"].iloc[0]
            print(
                f"\n{table.name}, {notion.upper()}: {len(table.fit)} x {table.X.shape[1]}, "
                f"unconstrained AUC {free['train_auc']:.4f} (test {free['test_auc']:.4f}) at "
                f"{free[f'train_{notion}']:.3f}"
            )
            print(f"{'violation':>9}  {'':9}{'AUC train':>10}{'test':>8}{'between':>9}{'alpha':>8}")
            for target in TARGETS:
                for method, curve in curves.items():
                    r = at(curve, notion, target)
                    print(
                        f"{target:9.2f}  {method:9}{r['train_auc']:10.4f}{r['test_auc']:8.4f}"
                        f"{r['width']:9.4f}{r['alpha']:8.4f}"
                    )
            near = [at(curves["Norm p=1"], notion, t)["alpha"] for t in TARGETS]
            for target, alpha in zip(TARGETS, near):
                if np.isfinite(alpha):
                    model = min(checked, key=lambda m: abs(m.alpha - alpha))
                    r = cross_check(table, notion, model)
                    print(
                        f"Norm's optimum near {target:.2f} (alpha {r['alpha']:.4f}): ours "
                        f"{r['ours']:.7f}, SLSQP from zero {r['from zero']:.7f} (AUC "
                        f"{r['from zero, AUC']:.4f} at {r['from zero, violation']:.4f}), from ours "
                        f"{r['from ours']:.7f} (AUC {r['from ours, AUC']:.4f} at "
                        f"{r['from ours, violation']:.4f})"
                    )
            sys.stdout.flush()
    if chosen.output:
        pd.concat(everything).to_csv(chosen.output, index=False)


if __name__ == "__main__":
    main()
