"""The classifier, trained again for the decisions that limits leave worth making.

Maths: docs/decisions.md, section "Training the classifier a second time". At prices mu a decision
for person i is worth a_i = y_i - t - mu' v_i, their label and rows as observed. The classifier
learns the sign of a_i, weighted by its size. With q(x) its chance of a positive sign,
E[a | x] = (2 q - 1) E|a|, so the gain of a decision, E[y | x] - t, is that and the prices of the
expected rows. E|a| is taken as if everybody had the rows that are expected of them: at the prices
themselves it does not matter.
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
from otfair.decisions._people import Folds


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


def weights(value: np.ndarray, given: np.ndarray) -> np.ndarray:
    """Return the weights of people, (n,): by the size of what a decision is worth, and their own.

    They add up to what the own ones do, so that penalties of a classifier count as much as before.
    """
    raw = given * np.abs(value)
    return np.asarray(raw * (given.sum() / max(raw.sum(), 1e-300)))


def has_signs(value: np.ndarray, weight: np.ndarray, folds: Folds) -> bool:
    """Whether decisions of both signs are left to learn from in every fold."""
    counted = weight > 0
    parts = [value[train][counted[train]] > 0 for train, _ in folds]
    return all(part.any() and not part.all() for part in parts)


def weighed(
    estimator: Any, routed: Callable[[np.ndarray], dict[str, Any]], weight: np.ndarray
) -> dict[str, Any]:
    """Return what `fit` is given besides X and y, with these weights; raises if it takes none.

    `routed` returns what `fit` is given with weights, as far as it is known to take them.
    """
    if not _routing_enabled():
        if (name := weight_name(estimator)) is None:
            raise ValueError(
                f"`retrain=True` weighs people, and `fit` of {type(estimator).__name__} has no "
                "parameter `sample_weight`, or that of a pipeline's last step; pass "
                "`retrain=False`, or another classifier. One that hands weights on, such as "
                "GridSearchCV, takes them where scikit-learn's metadata routing is on."
            )
        return {**routed(weight), name: weight}
    last = estimator
    while isinstance(last, Pipeline):
        last = last.steps[-1][1]
    routing = last.get_metadata_routing() if hasattr(last, "get_metadata_routing") else None
    asked = getattr(routing, "fit", None)  # of one that routes to others there is none
    if asked is not None and asked.requests.get("sample_weight") in (None, False):
        raise ValueError(
            f"`retrain=True` weighs people, and {type(last).__name__} does not ask for weights; "
            "call `set_fit_request(sample_weight=True)` on it, and with True or False on the other "
            "steps of a pipeline that could take them."
        )
    return routed(weight)


def weight_name(estimator: Any) -> str | None:
    """Return the name by which `fit` takes weights, of a pipeline for its last step, or nothing."""
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        inner = weight_name(last)
        return None if inner is None else f"{name}__{inner}"
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None


def helps(new: Judges, tried: Promise, old: Judges, promise: Promise) -> bool:
    """Whether a rule of the classifier that was trained again is to replace the one before.

    Limits come first: one that misses them, or misses them by more, or can promise less, is no
    help. Then its decisions must be worth more to the people who tuned both, by their labels.
    """
    if (one := _standing(tried)) != (two := _standing(promise)):
        return one > two
    moved = tried.rule.outcome(new.sample) - promise.rule.outcome(old.sample)
    return float(old.sample.weight @ ((old.labels - old.threshold) * moved)) > 0


def _standing(promise: Promise) -> tuple[float, float, float]:
    """Return what limits are missed by, how many rows are promised, and how surely if none is."""
    missed = 0.0 if promise.rule.met else promise.rule.excess
    kept = int(promise.kept.sum())
    sure = 1.0 if kept or np.isnan(promise.confidence) else promise.confidence
    return -missed, kept, sure
