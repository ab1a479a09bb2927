"""The classifier, trained again for the decisions that limits leave worth making.

Maths: docs/decisions.md, section "Training again at the prices". At prices mu a decision for person
i is worth a_i = y_i - t - mu' v_i, their label and rows as observed. The classifier learns the sign
of a_i, weighted by its size. With q(x) its chance of a positive sign, E[a | x] = (2 q - 1) E|a|, so
the gain of a decision, E[y | x] - t, is that and the prices of the expected rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import _routing_enabled
from sklearn.utils.validation import has_fit_parameter

from otfair.decisions._margin import Promise
from otfair.decisions._path import Judges


def worth(labels: np.ndarray, rows: np.ndarray, prices: np.ndarray, threshold: float) -> np.ndarray:
    """Return what a decision for each person is worth, (n,): by labels (n,) and rows (n, d)."""
    return np.asarray(labels - threshold - rows @ prices)


def gains(
    chances: np.ndarray,
    scores: np.ndarray,
    expected: np.ndarray,
    prices: np.ndarray,
    threshold: float,
) -> np.ndarray:
    """Return what decisions gain, (n,), by the chances q that they are worth making."""
    price = expected @ prices
    size = scores * np.abs(1 - threshold - price) + (1 - scores) * np.abs(threshold + price)
    return np.asarray((2 * chances - 1) * size + price)


def weighed(
    estimator: Any, routed: Callable[[np.ndarray], dict[str, Any]], weight: np.ndarray
) -> dict[str, Any]:
    """Return what `fit` is given besides X and y, with these weights; raises if it takes none.

    `routed` returns what `fit` is given with weights, as far as it is known to take them.
    """
    params = routed(weight)
    if "sample_weight" in params:
        return params
    if _routing_enabled():
        raise ValueError(
            "`retrain=True` weighs people, and the estimator does not ask for weights; call "
            "`set_fit_request(sample_weight=True)` on it, or on the last step of a pipeline."
        )
    return {**params, _weight_name(estimator): weight}


def _weight_name(estimator: Any) -> str:
    """Return the name by which `fit` of a pipeline, or of its last step, takes weights."""
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        return f"{name}__{_weight_name(last)}"
    if has_fit_parameter(estimator, "sample_weight"):
        return "sample_weight"
    raise ValueError(
        f"`retrain=True` weighs people, and `fit` of {type(estimator).__name__} takes no "
        "`sample_weight`; pass `retrain=False`, or another classifier."
    )


def is_worse(new: Judges, tried: Promise, old: Judges, promise: Promise) -> bool:
    """Whether a rule of the classifier that was trained again is to be left for the one before.

    It is where it meets limits, or can promise them, less well; or where its decisions are worth
    less to the people who tuned both.
    """
    if (tried.rule.met, tried.kept.sum()) < (promise.rule.met, promise.kept.sum()):
        return True
    if tried.rule.met > promise.rule.met:
        return False
    moved = tried.rule.outcome(new.sample) - promise.rule.outcome(old.sample)
    return float(old.sample.weight @ ((old.labels - old.threshold) * moved)) < 0
