"""The settings of `FairDecisions`: what they may be."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import Any

LIMITS = ("max_difference", "min_ratio", "min_rate")
KNOWN = {"ties": ("together", "random"), "target": ("decisions", "scores")}


def threshold_of(estimator: Any) -> float:
    """Return the score above which a decision is worth its costs."""
    positive, negative = estimator.cost_false_positive, estimator.cost_false_negative
    if positive is None or negative is None:
        return float(estimator.threshold)
    return float(positive / (positive + negative))


def check_settings(estimator: Any) -> None:
    """Raise where a setting makes no sense."""
    for name, values in KNOWN.items():
        if (value := getattr(estimator, name)) not in values:
            raise ValueError(f"`{name}` must be one of {values}; received {value!r}.")
    if all(getattr(estimator, name) is None for name in LIMITS):
        raise ValueError("no limit is set; pass `max_difference=0.05`, `min_ratio=0.8`, or both.")
    for name in LIMITS:
        given = getattr(estimator, name)
        for limit in given.values() if isinstance(given, Mapping) else [given]:
            if limit is not None and not _within(limit, 0, 1):
                raise ValueError(f"`{name}` must lie in [0, 1]; received {limit!r}.")
    costs = estimator.cost_false_positive, estimator.cost_false_negative
    if costs != (None, None) and not all(_within(cost, 1e-300, 1e300) for cost in costs):
        raise ValueError(
            "`cost_false_positive` and `cost_false_negative` must be positive numbers, both or "
            f"neither of them; received {costs[0]!r} and {costs[1]!r}."
        )
    threshold, confidence = threshold_of(estimator), estimator.confidence
    if not 0 < threshold < 1:
        raise ValueError(f"`threshold` must lie between 0 and 1; received {threshold!r}.")
    if confidence is not None and not _within(confidence, 1e-9, 1 - 1e-9):
        raise ValueError(
            f"`confidence` must lie between 0 and 1, or be None; received {confidence!r}."
        )
    if not _within(estimator.new_people, 1e-300, float("inf")):
        raise ValueError(f"`new_people` must be positive; received {estimator.new_people!r}.")


def _within(value: Any, low: float, high: float) -> bool:
    return isinstance(value, numbers.Real) and low <= float(value) <= high
