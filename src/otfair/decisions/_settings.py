"""The settings of `FairDecisions`: what they may be."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from otfair._io.settings import as_real, check_real, check_seed, check_whole, shown

LIMITS = ("max_difference", "min_ratio", "min_rate")
KNOWN = {"ties": ("together", "random"), "target": ("decisions", "scores")}


def threshold_of(estimator: Any) -> float:
    """Return the score above which a decision is worth its costs."""
    positive, negative = estimator.cost_false_positive, estimator.cost_false_negative
    if positive is None or negative is None:
        return float(estimator.threshold)
    return 1 / (1 + float(negative) / float(positive))


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
            if limit is not None:
                check_real(name, limit, 0, 1)
    if as_real(estimator.cv) is not None:
        check_whole("cv", estimator.cv, 2)
    costs = estimator.cost_false_positive, estimator.cost_false_negative
    if costs == (None, None):
        check_real("threshold", estimator.threshold, 0, 1, "()")
    elif not all(0 < (as_real(cost) or 0.0) < math.inf for cost in costs):
        raise ValueError(
            "`cost_false_positive` and `cost_false_negative` must be positive numbers, both or "
            f"neither of them; received {shown(costs[0])} and {shown(costs[1])}."
        )
    elif not 1e-15 < threshold_of(estimator) < 1 - 1e-15:
        raise ValueError(
            f"`cost_false_positive` {costs[0]:g} and `cost_false_negative` {costs[1]:g} are too "
            "far apart for a threshold between 0 and 1; pass a ratio between 1e-15 and 1e15."
        )
    if estimator.confidence is not None:
        check_real("confidence", estimator.confidence, 1e-9, 1 - 1e-9, hint=" Or pass None.")
    for name in ("randomize", "retrain"):
        if not isinstance(value := getattr(estimator, name), bool | np.bool_):
            raise ValueError(f"`{name}` must be True or False; received {value!r}.")
    if estimator.randomize and estimator.target == "scores":
        raise ValueError(
            '`randomize=True` spreads decisions over rules; with `target="scores"` there is one.'
        )
    if estimator.retrain:
        _check_retrain(estimator)
    check_real("new_people", estimator.new_people, 1e-100)
    check_seed(estimator.random_state)


def _check_retrain(estimator: Any) -> None:
    """Raise where a classifier that is trained again has no part in what is asked for."""
    if estimator.target == "scores":
        other, why = 'target="scores"', "scores have no decisions to be trained for"
    elif estimator.use_sensitive:
        other, why = "use_sensitive=True", "a rule that knows the group has exact prices"
    elif isinstance(estimator.cv, str) and estimator.cv == "prefit":
        other, why = 'cv="prefit"', "a classifier that is kept as it is can't be trained"
    else:
        return
    raise ValueError(f"`retrain=True` and `{other}` do not go together: {why}. Leave one out.")
