"""Metrics that a booster evaluates while it trains with an `OTFObjective`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from otfair.models._boosted_people import read_call

if TYPE_CHECKING:
    from otfair.models._objective import OTFObjective

METRICS = ("objective", "violation", "penalty", "auc")
_UNSET: Any = object()


class BoosterMetric:
    """A metric of an `OTFObjective`, called by boosters to evaluate and to stop early.

    Parameters
    ----------
    objective : OTFObjective
        The objective, whose people of `fit` and `watch` are judged.
    name : {"objective", "violation", "penalty", "auc"}
        What to measure, as for `OTFObjective.metric`.
    """

    def __init__(self, objective: OTFObjective, name: str) -> None:
        if name not in METRICS:
            raise ValueError(f"unknown metric {name!r}; pass one of {', '.join(METRICS)}.")
        self.objective, self.name = objective, name
        self.__name__ = name  # by which XGBoost's classifier calls it

    def __call__(
        self, first: Any, second: Any, weight: Any = _UNSET, sample_weight: Any = None
    ) -> Any:
        """Return the metric in the form that the booster who calls expects.

        What comes in are margins and the booster's dataset, or labels and margins. The weights are
        not used, as those of `fit` and `watch` count; but LightGBM's classifier passes them by
        position, which tells it from XGBoost's.
        """
        labels, margins, _ = read_call(first, second, None)
        value, best_is_high = self.value(labels, margins), self.name == "auc"
        if hasattr(second, "num_col"):  # a DMatrix
            return self.name, value
        if hasattr(second, "get_label") or weight is not _UNSET:
            return self.name, value, best_is_high
        return value

    def value(self, labels: np.ndarray, margins: np.ndarray) -> float:
        """Return the metric of the people who have these labels.

        Parameters
        ----------
        labels : ndarray of shape (n_samples,)
            Labels of `fit` or `watch`, which tell whom the margins are of.
        margins : ndarray of shape (n_samples,)
            Logits of the positive class.

        Returns
        -------
        float
            The metric.
        """
        known = [self.objective._train, *self.objective._populations[1:]]
        found = [p for p in known if np.array_equal(p.labels, labels)]
        if not found:
            raise ValueError(
                f"the {len(labels)} people evaluated are not those of `fit`; name them first by "
                "`objective.watch(X, sensitive_features, labels)`, in the same order."
            )
        p, h = found[0], expit(margins)
        if self.name == "violation":
            return p.violation(h)
        if self.name == "auc":
            return float(roc_auc_score(p.labels, margins, sample_weight=p.weight))
        penalty = p.penalty(h, slope=False)[0] / float(p.weight.sum())
        if self.name == "penalty":
            return penalty
        alpha, balance = self.objective.alpha, self.objective.balance_
        each = np.logaddexp(0.0, margins) - p.labels * margins
        entropy = float(p.weight @ each / p.weight.sum())
        return (1 - alpha) * entropy + alpha * balance * penalty
