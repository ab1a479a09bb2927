"""People whom a booster trains on or predicts, and what boosters say of them in a call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from otfair._io.arrays import same_length
from otfair.losses import FairnessLoss
from otfair.metrics import ViolationOf


@dataclass(frozen=True)
class Population:
    """People whom a booster predicts: labels, weights, and what the penalty knows of them."""

    labels: np.ndarray  # (n,) zeros and ones
    weight: np.ndarray  # (n,)
    loss: FairnessLoss
    violation: ViolationOf

    def penalty(self, scores: np.ndarray, slope: bool = True) -> tuple[float, np.ndarray | None]:
        """Return the penalty, a sum over people, and its slope in each copy's score, (n,)."""
        h = torch.from_numpy(scores).requires_grad_(slope)
        value = self.loss(h, pred_as_logit=False)
        total = float(self.weight.sum())
        if not slope:
            return total * float(value), None
        (pull,) = torch.autograd.grad(value, h)
        unit = np.where(self.weight > 0, self.weight, 1.0)
        return total * float(value.detach()), total * pull.numpy() / unit


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
