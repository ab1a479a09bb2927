"""How good and how fair a model is on one part of a split, with bootstrap intervals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from otfair._io.arrays import Array
from otfair.geometry import PointCloud
from otfair.losses import OTFLoss
from otfair.metrics import DifferenceOf, ViolationOf, draw_counts, estimate, read_groups
from otfair.models import FairClassifier
from otfair.notions import DemographicParity, EqualizedOdds, as_notion
from otfair.transport import adjusted_otf

METRICS = (
    "auc",
    "log_loss",
    "accuracy",
    "violation",
    "pdp",
    "peo",
    "dp_difference",
    "eo_difference",
    "otf_cost",
)


class Judge:
    """The people of one part of the split, ready to judge models with bootstrap intervals."""

    def __init__(
        self, X: Array, y: np.ndarray, sensitive: Array, model: FairClassifier[Any], count: int
    ) -> None:
        self.X, self.y = X, y
        loss = model.regularizer
        if not isinstance(loss, OTFLoss):
            loss = OTFLoss(model.notion, model.epsilon, cost=model.cost, scale=model.scale)
        self.geometry = PointCloud(model.cost_features_of(X), cost=loss.cost, scale=loss.scale)
        self.epsilon = loss.epsilon
        self.constraints = c = as_notion(model.notion).constraints(sensitive, y)
        # Now, so that processes need not compute them again.
        self.geometry.soft_distances(
            c.column_types, self.epsilon, c.column_weight, len(c.type_names)
        )
        notions = (as_notion(model.notion), DemographicParity(), EqualizedOdds())
        self.people = [n.people(sensitive, y) for n in notions]
        groups = [group.codes for group in read_groups(sensitive)[0]]
        self.differences = [DifferenceOf(groups), DifferenceOf(groups, y)] if groups else []
        counts = draw_counts(len(y), count, seed=0)
        self.weights = np.vstack([np.ones(len(y)), counts])  # (1 + B, n)

    def __call__(self, model: FairClassifier[Any]) -> dict[str, float]:
        h, W = model.predict_proba(self.X)[:, 1], self.weights
        a = adjusted_otf(np.clip(h, 1e-12, 1.0), self.geometry, self.constraints, self.epsilon)
        safe = np.clip(h, 1e-15, 1 - 1e-15)
        each = [
            -np.where(self.y == 1, np.log(safe), np.log1p(-safe)),
            (h > 0.5) == self.y,
            a.gradient * h,  # the cost is homogeneous in the scores, so these sum to it
        ]
        means = W @ np.transpose(each) / W.sum(1)[:, None]  # (1 + B, 3)
        ranks = np.unique(h, return_inverse=True)[1]
        others = np.array([self._by_group(h, ranks, w) for w in W])  # (1 + B, 6)
        found = dict(zip(("log_loss", "accuracy", "otf_cost"), means.T))
        found["otf_cost"] = np.maximum(found["otf_cost"], 0.0)  # as every true one is
        names = ("auc", "violation", "pdp", "peo", "dp_difference", "eo_difference")
        found |= dict(zip(names, others.T))
        out: dict[str, float] = {}
        for name in METRICS:
            values = found[name] if len(W) > 1 else np.repeat(found[name], 2)  # no width
            e = estimate(values)
            out |= {name: e.value, f"{name}_low": e.low, f"{name}_high": e.high}
        return out

    def _by_group(self, h: np.ndarray, ranks: np.ndarray, w: np.ndarray) -> list[float]:
        weight, decided = torch.tensor(w), h > 0.5  # a copy: processes may only read w
        violations = [ViolationOf(replace(p, weight=weight))(h) for p in self.people]
        differences = [of(decided, w) for of in self.differences] or [np.nan, np.nan]
        return [_auc(ranks, self.y, w), *violations, *differences]


def judge_all(judges: dict[str, Judge], model: FairClassifier[Any]) -> dict[str, float]:
    """Judge a model on each part of the split."""
    return {
        f"{part}_{name}": value
        for part, judge in judges.items()
        for name, value in judge(model).items()
    }


def _auc(ranks: np.ndarray, y: np.ndarray, w: np.ndarray) -> float:
    """Weighted area under the ROC curve, from the ranks of the scores; ties count half."""
    positive, negative = (np.bincount(ranks, w * (y == label)) for label in (1, 0))
    pairs = positive.sum() * negative.sum()
    below = np.cumsum(negative) - negative / 2
    return float(positive @ below / pairs) if pairs else np.nan
