"""The whole trade-off between fairness and predictive power, as a table and a picture."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from joblib import Parallel, delayed
from matplotlib.axes import Axes
from sklearn.base import clone
from sklearn.model_selection import train_test_split

from otfair.arrays import Array, to_columns
from otfair.attributes import looks_categorical, read_group
from otfair.classifier import OTFClassifier
from otfair.encoder import TableEncoder
from otfair.geometry import PointCloud
from otfair.metrics import ViolationOf
from otfair.notions import DemographicParity, EqualizedOdds, Notion, as_notion
from otfair.otf import adjusted_otf

ALPHAS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
METRICS = (
    "auc",
    "log_loss",
    "accuracy",
    "pdp",
    "peo",
    "dp_difference",
    "eo_difference",
    "otf_cost",
)
INTERVAL = (2.5, 97.5)  # percentiles of the bootstrap


def tradeoff_curve(
    X: Array,
    y: Array,
    *,
    sensitive_features: Array,
    notion: Notion | str = "demographic_parity",
    regularizer: str = "otf",
    alphas: Iterable[float] | None = None,
    estimator: OTFClassifier | None = None,
    test_size: float = 0.2,
    random_state: int = 0,
    n_jobs: int = 1,
    n_bootstrap: int = 100,
) -> pd.DataFrame:
    """Train at many strengths, each from where the last ended, and judge on both parts of a split.

    Parameters
    ----------
    X : features; a table is encoded by `TableEncoder`, fitted on the training part.
    y : (n,) two classes.
    sensitive_features : one or many columns.
    notion, regularizer : as for `OTFClassifier`.
    alphas : strengths; 0 to 0.9 in steps of 0.1 by default.
    estimator : an `OTFClassifier` with settings of your own; its alpha is not used.
    test_size, random_state : of the split, which is stratified by label.
    n_jobs : processes to judge the models with.
    n_bootstrap : resamples of people for the intervals.

    Returns
    -------
    DataFrame
        One row a strength. For ``train`` and ``test`` and each of AUC, log-loss, accuracy, PDP,
        PEO, the differences of decisions at 0.5 (largest over categorical columns) and the
        adjusted OTF cost a person: the value, and the ends of its 95 % interval in ``_low`` and
        ``_high``. The interval of the OTF cost holds the duals fixed.

    Examples
    --------
    >>> import otfair
    >>> data = otfair.load_dataset("synthetic", n=600)
    >>> curve = otfair.tradeoff_curve(
    ...     data.X, data.y, sensitive_features=data.sensitive_features[["sex"]],
    ...     alphas=[0, 0.5], n_bootstrap=20,
    ... )
    >>> bool(curve["train_pdp"][1] < curve["train_pdp"][0])
    True
    """
    fit, test = train_test_split(
        np.arange(len(y)), test_size=test_size, random_state=random_state, stratify=y
    )
    labels = np.unique(y, return_inverse=True)[1]
    if hasattr(X, "columns"):
        encoder = TableEncoder().fit(_take(X, fit))
        parts = [np.asarray(encoder.transform(_take(X, rows))) for rows in (fit, test)]
    else:
        parts = [np.asarray(X, dtype=np.float64)[rows] for rows in (fit, test)]
    if estimator is None:
        estimator = OTFClassifier(notion, regularizer=regularizer)
    strengths = list(ALPHAS if alphas is None else alphas)
    models = list(
        clone(estimator).fit_path(parts[0], labels[fit], _take(sensitive_features, fit), strengths)
    )
    judges = {
        name: _Judge(Z, labels[rows], _take(sensitive_features, rows), estimator, n_bootstrap)
        for name, Z, rows in (("train", parts[0], fit), ("test", parts[1], test))
    }
    rows = Parallel(n_jobs=n_jobs)(delayed(_row)(model, judges) for model in models)
    return pd.DataFrame([{"alpha": a, **row} for a, row in zip(strengths, rows)])


def plot_tradeoff(
    curves: dict[str, pd.DataFrame], axes: Axes, *, violation: str = "pdp", part: str = "test"
) -> Axes:
    """Draw AUC against a violation, one line a curve, with its intervals.

    Parameters
    ----------
    curves : what to call each curve, and the curve, from `tradeoff_curve`.
    axes : where to draw.
    violation : a column without its part, such as "pdp" or "peo".
    part : "train" or "test".
    """
    for name, curve in curves.items():
        x, auc = curve[f"{part}_{violation}"], curve[f"{part}_auc"]
        errors = [[v - curve[f"{v.name}_low"], curve[f"{v.name}_high"] - v] for v in (x, auc)]
        axes.errorbar(
            x, auc, np.clip(errors[1], 0, None), np.clip(errors[0], 0, None), "o-", ms=4, lw=1.5,
            elinewidth=0.7, alpha=0.9, label=name,
        )  # fmt: skip
    axes.set(xlabel=f"violation ({violation.upper()}, {part}; less is fairer)", ylabel="AUC")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    return axes


class _Judge:
    """The people of one part of the split, ready to judge models with bootstrap intervals."""

    def __init__(
        self, X: np.ndarray, y: np.ndarray, sensitive: Array, estimator: OTFClassifier, count: int
    ) -> None:
        self.X, self.y, self.epsilon = X, y, estimator.epsilon
        self.geometry = PointCloud(X)
        self.constraints = as_notion(estimator.notion).constraints(sensitive, y)
        self.people = [n.people(sensitive, y) for n in (DemographicParity(), EqualizedOdds())]
        columns = to_columns(sensitive, "sensitive_features")
        self.groups = [read_group(c).codes for c in columns if looks_categorical(c)]
        rng, n = np.random.default_rng(0), len(y)
        resampled = [np.bincount(rng.integers(n, size=n), minlength=n) for _ in range(count)]
        self.weights = [np.ones(n), *(w.astype(np.float64) for w in resampled)]

    def __call__(self, model: OTFClassifier) -> dict[str, float]:
        h = model.predict_proba(self.X)[:, 1]
        a = adjusted_otf(np.clip(h, 1e-12, 1.0), self.geometry, self.constraints, self.epsilon)
        share = a.gradient * h  # the cost is homogeneous in the scores, so these sum to it
        judged = np.array([self._metrics(h, share, w) for w in self.weights])  # (1 + B, metrics)
        low, high = np.percentile(judged[1:] if len(judged) > 1 else judged, INTERVAL, axis=0)
        out: dict[str, float] = {}
        for j, name in enumerate(METRICS):
            out |= {name: judged[0, j], f"{name}_low": low[j], f"{name}_high": high[j]}
        return out

    def _metrics(self, h: np.ndarray, share: np.ndarray, w: np.ndarray) -> list[float]:
        y, decided, safe = self.y, h > 0.5, np.clip(h, 1e-15, 1 - 1e-15)
        weight = torch.as_tensor(w)
        pdp, peo = (ViolationOf(replace(p, weight=weight))(h) for p in self.people)
        total = w.sum()
        return [
            _auc(h, y, w),
            float(-(w @ np.where(y == 1, np.log(safe), np.log1p(-safe))) / total),
            float(w @ (decided == y) / total),
            pdp,
            peo,
            self._difference(decided, w),
            max(self._difference(decided, w * (y == label)) for label in (0, 1)),
            float(w @ share / total),
        ]

    def _difference(self, decided: np.ndarray, w: np.ndarray) -> float:
        """Largest difference of positive decisions between groups of one column."""
        largest = 0.0
        for codes in self.groups:
            size = np.bincount(codes, w)
            rate = np.bincount(codes, w * decided)[size > 0] / size[size > 0]
            largest = max(largest, float(np.ptp(rate)) if len(rate) else 0.0)
        return largest


def _row(
    model: OTFClassifier, judges: dict[str, Callable[[Any], dict[str, float]]]
) -> dict[str, float]:
    return {
        f"{part}_{name}": value
        for part, judge in judges.items()
        for name, value in judge(model).items()
    }


def _auc(h: np.ndarray, y: np.ndarray, w: np.ndarray) -> float:
    """Weighted area under the ROC curve; ties count half."""
    _, place = np.unique(h, return_inverse=True)
    positive, negative = (np.bincount(place, w * (y == label)) for label in (1, 0))
    below = np.cumsum(negative) - negative / 2
    return float(positive @ below / (positive.sum() * negative.sum()))


def _take(table: Array, rows: np.ndarray) -> Array:
    """Return some rows of a table or array of any kind."""
    if hasattr(table, "iloc"):
        return table.iloc[rows]
    if isinstance(table, dict):
        return {name: np.asarray(column)[rows] for name, column in table.items()}
    return table[rows.tolist()] if hasattr(table, "schema") else np.asarray(table)[rows]
