"""Methods of the tables, besides those of bench_decisions.py, which are taken from there.

LinearPost is its authors' own file, postprocess.py of github.com/rxian/fair-classification, found
on the path of Python; where it is not, its rows are left out. So are those of packages that are not
installed.
"""

from __future__ import annotations

from typing import Any

import bench_decisions as decisions
import numpy as np
import pandas as pd
from bench_decisions import Base, Runs, Split, fair, once, predicting
from sklearn.base import BaseEstimator, ClassifierMixin

import otfair

ON_TOP = 0.5  # alpha of the models that fair decisions are put on
CRITERIA = {"demographic_parity": "sp", "equalized_odds": "eo"}
NEEDS = {"error_parity": "error_parity", "linear_post": "postprocess", "oxonfair": "oxonfair"}
PEOPLE: dict[str, pd.Series] = {}  # the sensitive attribute of the split at hand


class Fair(ClassifierMixin, BaseEstimator):
    """A model trained with OTF, which finds the sensitive attribute by the rows' names."""

    def __init__(self, base: str, notion: str, alpha: float) -> None:
        self.base, self.notion, self.alpha = base, notion, alpha

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> Fair:
        """Train."""
        self.classes_ = np.unique(y)
        S = PEOPLE["S"].loc[X.index].to_numpy()
        if self.base == "logistic":
            self.encoder_ = otfair.TableEncoder().fit(X)
            model: Any = otfair.OTFClassifier(self.notion, self.alpha, standardize=False)
        else:
            self.encoder_ = None
            model = otfair.OTFBoostingClassifier(
                "xgboost", self.notion, self.alpha, learning_rate=0.1, n_jobs=1, **decisions.SIZE
            )
        self.model_ = model.fit(self._features(X), y, sensitive_features=S)
        return self

    def _features(self, X: pd.DataFrame) -> Any:
        return X if self.encoder_ is None else self.encoder_.transform(X)

    def predict_proba(self, X: pd.DataFrame) -> np.ndarray:
        """Return the scores of the two classes."""
        return np.asarray(self.model_.predict_proba(self._features(X)))


def on_top(split: Split, base: str, notion: str, limits: list[float]) -> Runs:
    """Fair decisions, without a margin, on scores that were trained to be fair."""
    name = f"{base} with OTF, {notion}"
    PEOPLE["S"] = pd.Series(split.S, index=split.X.index)
    decisions.BASES[name] = lambda: Fair(base, notion, ON_TOP)
    yield from fair(confidence=None)(split, name, notion, limits)


def joint(split: Split, base: str) -> tuple[np.ndarray, np.ndarray, int]:
    """Return chances of group and label together, of training people by folds, and of test."""
    X, X_test = split.matrices(base)
    groups, code = np.unique(split.S, return_inverse=True)
    both = code * 2 + split.y

    def model() -> Any:
        return decisions.logistic() if base == "logistic" else decisions.booster()

    def own() -> np.ndarray:
        found = np.empty((len(both), 2 * len(groups)))
        for train, test in split.folds():
            found[test] = model().fit(X[train], both[train]).predict_proba(X[test])
        return found

    final = once(("joint", base), lambda: model().fit(X, both))
    tuning = once(("joint, folds", base), own)
    with predicting():
        new = once(("joint, test", base), lambda: final.predict_proba(X_test))
    return tuning, np.asarray(new, dtype=np.float64), len(groups)


def linear_post(split: Split, base: str, notion: str, limits: list[float]) -> Runs:
    """LinearPost by its authors' code, attribute-blind, with the chances that it asks for."""
    import cvxpy
    from postprocess import PostProcessor  # not among our dependencies

    for limit in limits:
        own, new, groups = joint(split, base)
        model = PostProcessor(
            2, groups, pred_ay_fn=lambda x: x, criterion=CRITERIA[notion], alpha=limit,
            seed=split.seed,
        )  # fmt: skip
        model.fit(own, solver=cvxpy.HIGHS)
        with predicting():
            decided = model.predict(new).astype(float)
        yield limit, decided, {}


def group_chances(split: Split) -> tuple[np.ndarray, np.ndarray]:
    """Return chances of groups by logistic regression, of training people by folds, and of test."""
    X, X_test = split.matrices("logistic")

    def own() -> np.ndarray:
        found = np.empty((len(split.S), len(np.unique(split.S))))
        for train, test in split.folds():
            found[test] = decisions.logistic().fit(X[train], split.S[train]).predict_proba(X[test])
        return found

    final = once("chances", lambda: decisions.logistic().fit(X, split.S))
    tuning = once("chances, folds", own)
    with predicting():
        new = once("chances, test", lambda: final.predict_proba(X_test))
    return tuning, new


def oxonfair(split: Split, base: str, notion: str, limits: list[float]) -> Runs:
    """OxonFair with groups that it infers, so attribute-blind at prediction."""
    from oxonfair import FairPredictor
    from oxonfair.utils import group_metrics

    wanted = {
        "demographic_parity": group_metrics.demographic_parity,
        "equalized_odds": group_metrics.equalized_odds_max,
    }
    for limit in limits:
        own, new = split.tuning(base)
        groups, groups_test = group_chances(split)
        people = {
            "data": np.column_stack([1 - own, own, groups]), "target": split.y, "groups": split.S
        }  # fmt: skip
        model = FairPredictor(
            lambda x: x[:, :2], people, inferred_groups=lambda x: x[:, 2:]
        )  # fmt: skip
        model.fit(group_metrics.accuracy, wanted[notion], limit)
        with predicting():
            decided = model.predict(np.column_stack([1 - new, new, groups_test]))
        yield limit, np.asarray(decided, dtype=float), {}


METHODS = {"on_top": on_top, "linear_post": linear_post, "oxonfair": oxonfair}
__all__ = ["METHODS", "NEEDS", "Base"]
