"""Unfairness as scikit-learn scores it: scorers that take the sensitive features by routing.

docs/metrics.md shows them in searches and cross-validation, and their metrics in fairlearn's
`MetricFrame`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias, cast

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import get_scorer
from sklearn.utils.metadata_routing import MetadataRequest

from otfair._io.arrays import Array, check_weight
from otfair._io.settings import check_real
from otfair.metrics._differences import (
    demographic_parity_difference,
    equalized_odds_difference,
    predictive_parity_difference,
    read_groups,
)
from otfair.metrics._violations import violation
from otfair.notions import (
    DemographicParity,
    EqualizedOdds,
    Notion,
    PredictiveParity,
    as_notion,
    named_kinds,
)
from otfair.tables import Columns, known_rows, named, same_people, take_rows, to_columns

Request: TypeAlias = bool | str | None  # as for scikit-learn's `set_score_request`
NOT_ROUTED = (
    "`sensitive_features` did not reach the scorer. Call "
    "`sklearn.set_config(enable_metadata_routing=True)` first and pass them on, as in "
    "`search.fit(X, y, sensitive_features=S)` or "
    '`cross_validate(..., params={"sensitive_features": S})`. They go by that name unless '
    "`set_score_request` gave the scorer another; a classifier that trains with them asks for them "
    "by `set_fit_request(sensitive_features=True)`."
)


@dataclass(frozen=True, repr=False)
class FairnessScorer:
    """A scikit-learn scorer; greater is better, so unfairness counts against it.

    The score is ``performance - price * max(0, metric - max_violation)``, where performance is 0 if
    there is none. Use `pdp_scorer`, `peo_scorer`, `predictive_parity_scorer`,
    `demographic_parity_difference_scorer`, `equalized_odds_difference_scorer` or
    `predictive_parity_difference_scorer`, which are minus these metrics, or `make_fair_scorer`.

    Call it as ``scorer(estimator, X, y, sensitive_features=S)``, or give it to `cross_validate`,
    `GridSearchCV` and their like: with metadata routing enabled it asks for `sensitive_features`.
    `TunedThresholdClassifierCV` takes it too, and then it scores the decisions at each threshold.

    Parameters
    ----------
    metric : callable
        What it measures, called as ``metric(y_true, y_pred, *, sensitive_features,
        sample_weight=None)`` with labels 0 and 1; `MetricFrame` of fairlearn takes it as it is.
        NaN where there is one group only. Differences leave columns of numbers out.
    response : {"predict_proba", "predict"}, default="predict_proba"
        What the metric is of: scores or decisions.
    performance : callable, optional
        A scorer of performance.
    max_violation, price : float, default=0.0, 1.0
        The violation that is free, and the performance that a unit above it costs.
    sensitive_features, sample_weight : bool or str or None, default=True, None
        What it asks for; change them by `set_score_request`.
    """

    metric: Callable[..., float]
    response: str = "predict_proba"
    performance: Callable[..., float] | None = None
    max_violation: float = 0.0
    price: float = 1.0
    sensitive_features: Request = True
    sample_weight: Request = None

    def __call__(
        self,
        estimator: Any,
        X: Array,
        y: Array,
        *,
        sensitive_features: Array = None,
        sample_weight: Array = None,
    ) -> float:
        """Score a fitted binary classifier, whose positive class is ``classes_[1]``."""
        if sensitive_features is None:
            raise ValueError(NOT_ROUTED)
        weight = {} if sample_weight is None else {"sample_weight": sample_weight}
        people = {"X": X, "y": y, "sensitive_features": sensitive_features}
        same_people({**people, "sample_weight": sample_weight})
        labels, scores = _predict(estimator, X, y, self.response)
        found = self.metric(labels, scores, sensitive_features=sensitive_features, **weight)
        good = 0.0 if self.performance is None else self.performance(estimator, X, y, **weight)
        return good - self._fine(found)

    def _fine(self, found: float) -> float:
        """Return what a violation costs; NaN stays NaN."""
        return self.price * float(np.maximum(0.0, found - self.max_violation))

    # `TunedThresholdClassifierCV` takes a scorer apart, as it scores decisions at each threshold;
    # these are the parts that it takes of scikit-learn's own scorers.

    _sign = 1
    _kwargs: ClassVar[dict[str, Any]] = {}

    def _score_func(
        self,
        y_true: Array,
        y_pred: Array,
        *,
        sensitive_features: Array = None,
        sample_weight: Array = None,
    ) -> float:
        """Score decisions, classes as labels are: the greater class is the positive one."""
        if sensitive_features is None:
            raise ValueError(NOT_ROUTED)
        weight = {} if sample_weight is None else {"sample_weight": sample_weight}
        good, scorer = 0.0, cast(Any, self.performance)
        if scorer is not None:
            if not hasattr(scorer, "_score_func"):
                raise TypeError(
                    f"a threshold can't be tuned by {scorer!r}, a function of an estimator and not "
                    "of decisions. Pass a metric as scikit-learn's `make_scorer` wraps it, or its "
                    'name, such as "balanced_accuracy".'
                )
            good = scorer._sign * scorer._score_func(y_true, y_pred, **scorer._kwargs, **weight)
        y_true, y_pred = np.asarray(y_true), np.asarray(y_pred)
        positive = np.unique(np.concatenate([y_true, y_pred]))[-1]
        labels, decided = (y_true == positive).astype(int), y_pred == positive
        found = self.metric(labels, decided, sensitive_features=sensitive_features, **weight)
        return good - self._fine(found)

    def set_score_request(self, **requests: Request) -> FairnessScorer:
        """Return a scorer that asks for other metadata, as scikit-learn's method of this name does.

        Parameters
        ----------
        **requests : bool, str or None
            `sensitive_features` and `sample_weight`: True (asked for), False (not asked for), None
            (an error if passed), or the name under which they are passed. What is not named stays
            as it is.

        Returns
        -------
        FairnessScorer
            The new scorer.
        """
        if unknown := set(requests) - {"sensitive_features", "sample_weight"}:
            raise TypeError(
                f"a fairness scorer can't ask for {sorted(unknown)}; it takes `sensitive_features` "
                "and `sample_weight`."
            )
        return replace(self, **requests)  # type: ignore[arg-type]

    def get_metadata_routing(self) -> MetadataRequest:
        """Tell scikit-learn what the scorer asks for.

        Returns
        -------
        MetadataRequest
            The sensitive features, and sample weights.
        """
        request = MetadataRequest(owner=self)
        for name in ("sensitive_features", "sample_weight"):
            request.score.add_request(param=name, alias=getattr(self, name))
        return request

    _get_metadata_request = get_metadata_routing  # by which scikit-learn before 1.9 asks

    def __repr__(self) -> str:
        shown = [self.metric.__name__]
        if self.performance is not None:
            shown.append(f"performance={self.performance!r}")
        shown += [f"max_violation={self.max_violation:g}"] * bool(self.max_violation)
        shown += [f"price={self.price:g}"] * (self.price != 1)
        return f"FairnessScorer({', '.join(shown)})"


@dataclass(frozen=True)
class _Metric:
    """A metric of unfairness with the arguments in the order of scikit-learn and fairlearn."""

    kind: str  # "violation", or "difference" of decisions
    notion: Notion

    def __call__(
        self,
        y_true: Array,
        y_pred: Array,
        *,
        sensitive_features: Array,
        sample_weight: Array = None,
    ) -> float:
        S, weight = sensitive_features, sample_weight
        same_people(
            {"y_true": y_true, "y_pred": y_pred, "sensitive_features": S, "sample_weight": weight}
        )
        if self.kind == "difference":
            S = _groups(S, named_kinds(self.notion))
        if _cannot_compare(self.notion, S, weight):
            return np.nan
        if self.kind == "violation":
            return violation(y_pred, S, self.notion, y_true, weight)
        if isinstance(self.notion, DemographicParity):
            return demographic_parity_difference(y_pred, S, sample_weight=weight)
        by_label = equalized_odds_difference
        if isinstance(self.notion, PredictiveParity):
            by_label = predictive_parity_difference
        return by_label(y_pred, S, y_true, sample_weight=weight)

    @property
    def __name__(self) -> str:
        return f"{type(self.notion).__name__} {self.kind}"


def make_fair_scorer(
    performance: str | Callable[..., float] | None = "roc_auc",
    notion: Notion | str | FairnessScorer = "demographic_parity",
    *,
    max_violation: float = 0.05,
    price: float = 10.0,
) -> FairnessScorer:
    """Make a scorer that chooses the best model among those that are fair enough.

    The score is ``performance - price * max(0, violation - max_violation)``. With a high price
    a violation above `max_violation` rules a model out; with ``max_violation=0`` fairness and
    performance are traded at that price.

    Parameters
    ----------
    performance : str, callable or None, default="roc_auc"
        A scikit-learn scorer or its name; None for fairness alone.
    notion : Notion, str or FairnessScorer, default="demographic_parity"
        A notion or its name, whose violation is measured as in `pdp_violation`; or another scorer
        of fairness, such as `demographic_parity_difference_scorer`.
    max_violation, price : float, default=0.05, 10.0
        The violation that is free, and the performance that a unit above it costs.

    Returns
    -------
    FairnessScorer
        The scorer.

    Examples
    --------
    >>> import otfair
    >>> from sklearn import config_context
    >>> from sklearn.model_selection import GridSearchCV
    >>> data = otfair.load_dataset("synthetic", n=500)
    >>> X, sex = otfair.TableEncoder().fit_transform(data.X), data.sensitive_features["sex"]
    >>> with config_context(enable_metadata_routing=True):
    ...     clf = otfair.OTFClassifier().set_fit_request(sensitive_features=True)
    ...     scorer = otfair.make_fair_scorer("roc_auc", "demographic_parity", max_violation=0.1)
    ...     search = GridSearchCV(clf, {"alpha": [0, 0.7]}, scoring=scorer, cv=2)
    ...     search = search.fit(X, data.y, sensitive_features=sex)
    >>> search.best_params_
    {'alpha': 0.7}
    """
    max_violation = check_real("max_violation", max_violation, 0, 1)
    price = check_real("price", price, 0, 1e300)
    if not isinstance(notion, FairnessScorer):
        notion = FairnessScorer(_Metric("violation", as_notion(notion)))
    good = None if performance is None else get_scorer(performance)
    return replace(notion, performance=good, max_violation=max_violation, price=price)


def _groups(sensitive_features: Array, kinds: dict[str, Columns]) -> Array:
    """Leave columns of numbers out, which training may need, unless there are no others."""
    groups, numbers, known = read_groups(sensitive_features, **kinds)
    if not groups or not numbers:
        return sensitive_features
    return {g.name: np.where(known, g.values[g.codes], None) for g in groups}


def _cannot_compare(notion: Notion, sensitive_features: Array, sample_weight: Array) -> bool:
    """Whether a column has one group only, as may be in a fold or a part; warns where it is so."""
    if not isinstance(notion, DemographicParity | EqualizedOdds | PredictiveParity):
        return False  # columns may be strata, or anything
    known = known_rows(sensitive_features, "sensitive_features")
    people = take_rows(sensitive_features, np.flatnonzero(known))
    columns = named(to_columns(people, "sensitive_features"))
    present = check_weight(sample_weight, len(known)).cpu().numpy()[known] > 0
    alone = [c for c in columns if len(np.unique(c.values[present])) < 2]
    if alone:
        warnings.warn(
            f"sensitive column {alone[0].name!r} is {alone[0].values[present][0]!s} for all of "
            f"these {int(present.sum())} people, so that unfairness is undefined (NaN). Stratify "
            "folds by it, merge rare groups, or leave it out.",
            UndefinedMetricWarning,
            stacklevel=3,
        )
    return bool(alone)


def _predict(estimator: Any, X: Array, y: Array, response: str) -> tuple[np.ndarray, np.ndarray]:
    """Return labels as 0 and 1, and scores or decisions."""
    classes, y = getattr(estimator, "classes_", None), np.asarray(y)
    if classes is None or len(classes) != 2 or not np.isin(y, classes).all():
        raise ValueError(
            "fairness is scored for a fitted classifier of two classes and labels of these; "
            f"received classes_ {None if classes is None else list(classes)} and labels "
            f"{np.unique(y)[:5].tolist()}."
        )
    if response == "predict":
        scores = np.asarray(estimator.predict(X)) == classes[1]
    elif hasattr(estimator, "predict_proba"):
        scores = np.asarray(estimator.predict_proba(X))[:, 1]
    else:
        raise ValueError(
            f"{type(estimator).__name__} has no `predict_proba`, and this scorer measures scores. "
            "Wrap it in `sklearn.calibration.CalibratedClassifierCV`, or measure its decisions: "
            "`demographic_parity_difference_scorer`, `equalized_odds_difference_scorer`."
        )
    return (y == classes[1]).astype(int), scores


pdp_scorer = FairnessScorer(_Metric("violation", DemographicParity()))
peo_scorer = FairnessScorer(_Metric("violation", EqualizedOdds()))
predictive_parity_scorer = FairnessScorer(_Metric("violation", PredictiveParity()))
demographic_parity_difference_scorer = FairnessScorer(
    _Metric("difference", DemographicParity()), "predict"
)
equalized_odds_difference_scorer = FairnessScorer(_Metric("difference", EqualizedOdds()), "predict")
predictive_parity_difference_scorer = FairnessScorer(
    _Metric("difference", PredictiveParity()), "predict"
)
