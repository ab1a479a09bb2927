"""Whom a booster asks about while it trains with an `OTFObjective`, and the metrics it asks for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from otfair._io.arrays import same_length
from otfair._io.processes import ALONE, Processes
from otfair.losses import FairnessLoss
from otfair.metrics import Criterion

if TYPE_CHECKING:
    from otfair.models._objective import OTFObjective

METRICS = ("objective", "violation", "penalty", "auc")
_UNSET: Any = object()


@dataclass(frozen=True)
class Population:
    """People whom a booster trains on or predicts, and what the penalty knows of them."""

    labels: np.ndarray  # (n,) zeros and ones
    weight: np.ndarray  # (n,) in the cross-entropy
    loss: FairnessLoss
    violation: Criterion
    processes: Processes = ALONE  # who hold other people of these, if some do
    total: float = field(init=False)  # weight of all people

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", self.processes.total(float(self.weight.sum())))

    def penalty(self, scores: np.ndarray, slope: bool = True) -> tuple[float, np.ndarray | None]:
        """Return the penalty, a sum over people, and its slope in each copy's score, (n,)."""
        h = torch.from_numpy(scores).requires_grad_(slope)
        value = self.loss(h, pred_as_logit=False)
        if not slope:
            return self.total * float(value), None
        (pull,) = torch.autograd.grad(value, h)
        unit = np.where(self.weight > 0, self.weight, 1.0)
        return self.total * float(value.detach()), self.total * pull.numpy() / unit


def read_call(
    first: Any, second: Any, sample_weight: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return labels, margins and weights of a call by any of the four conventions."""
    if hasattr(second, "get_label"):
        labels, margins, sample_weight = second.get_label(), first, second.get_weight()
    else:
        labels, margins = first, second
    given = None if sample_weight is None or not len(sample_weight) else np.asarray(sample_weight)
    return np.asarray(labels), np.asarray(margins, dtype=np.float64).reshape(-1), given


def same_people(
    p: Population, labels: np.ndarray, margins: np.ndarray, given: np.ndarray | None
) -> None:
    """Raise unless a booster trains on the people of `fit`, with their weights or without any."""
    same_length("the booster's dataset", len(margins), len(p.labels), "fit")
    if not np.array_equal(labels, p.labels):
        raise ValueError(
            "the booster's labels differ from those given to `fit`; pass the same people, in the "
            "same order, with labels 0 and 1."
        )
    if given is not None and not np.allclose(given, p.weight, rtol=1e-5):
        raise ValueError(
            "the booster's weights differ from those of `fit`; pass `sample_weight` to "
            "`objective.fit`, which applies it once."
        )


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
        labels, margins : ndarray of shape (n_samples,)
            Labels of `fit` or `watch`, which tell whom the margins are of, and these logits.

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
        return self.of(found[0], margins)

    def of(self, p: Population, margins: np.ndarray) -> float:
        """Return the metric of some people.

        Parameters
        ----------
        p : Population
            Who they are.
        margins : ndarray of shape (n_samples,)
            Their logits.

        Returns
        -------
        float
            The metric.
        """
        h = expit(margins)
        if self.name == "violation":
            return p.violation(h)
        if self.name == "auc":
            return float(roc_auc_score(p.labels, margins, sample_weight=p.weight))
        penalty = p.penalty(h, slope=False)[0] / p.total
        if self.name == "penalty":
            return penalty
        alpha, balance = self.objective.alpha, self.objective._balance
        each = np.logaddexp(0.0, margins) - p.labels * margins
        entropy = p.processes.total(float(p.weight @ each)) / p.total
        return (1 - alpha) * entropy + alpha * balance * penalty
