"""What the classifiers share: `fit` at one strength or by outcome, paths, classes."""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeAlias, TypeVar

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from otfair._io.arrays import Array
from otfair._io.progress import track
from otfair._io.saved import SaveMixin
from otfair.geometry import Cost, CostFunction, Geometry, Scale
from otfair.losses import cloud
from otfair.metrics import ViolationOf
from otfair.notions import Notion, People, as_notion, known_sensitive
from otfair.tables import same_people

ALPHAS = (0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999)  # tried for `max_violation`
BISECTIONS = 5
Model: TypeAlias = Any  # trained at one strength; has `logits(X)`, (n,)
Tried = TypeVar("Tried")


@dataclass(frozen=True)
class Stage:
    """What training at any strength begins with: all that is done before."""

    judged: np.ndarray  # (m, p) the people by whom violations are judged, as models see them
    violation_of: ViolationOf | None  # for them; none without sensitive features
    start: Model | None  # a model without penalty; none if each strength begins anew

    def violation(self, model: Model) -> float:
        """Violation of a model by the people who judge."""
        if self.violation_of is None:
            return 0.0
        return self.violation_of(expit(model.logits(self.judged)))


class FairClassifier(SaveMixin, ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """A binary classifier that is trained with a fairness penalty.

    A classifier of its own says how data are read and what is done before any strength (`_begin`),
    how a model is trained at one strength (`_train`), and what is kept of it (`_keep`).
    """

    notion: Notion | str
    alpha: float
    epsilon: float
    regularizer: Any  # its name; some classifiers also take a loss
    max_violation: float | None
    cost_features: Any
    cost: str | CostFunction | Cost
    scale: Scale
    geometry: Geometry | None
    verbose: bool
    classes_: np.ndarray  # (2,)
    alpha_: float
    violation_: float
    n_missing_sensitive_: int
    # What `_begin` sets: the same at every strength, so that a path learns it once.
    _learnt: ClassVar[tuple[str, ...]]
    _shared: ClassVar[tuple[str, ...]] = ("geometry",)  # settings that a path does not copy
    _remedy: ClassVar[str] = "Allow more of it, or add features."

    def fit(
        self,
        X: Array,
        y: Array,
        sensitive_features: Array = None,
        sample_weight: Array = None,
    ) -> Self:
        """Train the classifier.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Features: numbers; for boosted trees also text, categories and missing values.
        y : array-like of shape (n_samples,)
            Labels of two classes.
        sensitive_features : array-like or data frame, default=None
            One or many sensitive columns; needed unless `alpha` is 0. People who lack a value are
            learnt from, and have no part in fairness.
        sample_weight : array-like of shape (n_samples,), default=None
            One for each row by default; a weight w stands for w copies.

        Returns
        -------
        object
            The fitted classifier itself.
        """
        self._check_settings()
        self._check_people(X, y, sensitive_features, sample_weight)
        before = dict(vars(self))
        try:
            penalize = bool(self.alpha) or self.max_violation is not None
            stage = self._begin(X, y, sensitive_features, sample_weight, penalize)
            tried = [] if stage.start is None else [stage.start]

            def train(alpha: float, start: Model | None) -> Model:
                tried.append(self._train(stage, float(alpha), start))
                return tried[-1]

            if self.max_violation is None:
                alpha, chosen = float(self.alpha), train(self.alpha, stage.start)
            else:
                free = train(0.0, None) if stage.start is None else stage.start
                alpha, chosen = weakest_alpha(
                    train, stage.violation, free, self.max_violation, self._remedy, self.verbose
                )
            self.alpha_, self.violation_ = alpha, stage.violation(chosen)
            self.n_missing_sensitive_ = self._count_missing(sensitive_features)
            self._keep(chosen, tried)
            self._doubt(stage, chosen)
        except BaseException:
            self.__dict__ = before  # all or nothing
            raise
        return self

    def fit_path(
        self,
        X: Array,
        y: Array,
        sensitive_features: Array,
        alphas: Iterable[float],
        sample_weight: Array = None,
    ) -> Iterator[Self]:
        """Yield one fitted classifier for each strength.

        Distances are computed once, so that this is much quicker than as many calls of `fit`.
        L-BFGS starts at each strength from where the last ended; Adam and trees start anew.

        Parameters
        ----------
        X, y, sensitive_features : array-like or data frame
            As for `fit`.
        alphas : iterable of float
            Strengths, from 0 to 1.
        sample_weight : array-like of shape (n_samples,), default=None
            As for `fit`.

        Yields
        ------
        object
            A fitted copy of this classifier, whose `alpha` is the strength.
        """
        stage = None
        self._check_people(X, y, sensitive_features, sample_weight)
        missing = self._count_missing(sensitive_features)
        shared = {name: getattr(self, name) for name in self._shared}
        for alpha in alphas:
            fitted = clone(self).set_params(alpha=alpha, max_violation=None, **shared)
            fitted._check_settings()
            if stage is None:
                first, stage = fitted, fitted._begin(X, y, sensitive_features, sample_weight, True)
                model = stage.start
            else:
                vars(fitted).update({n: v for n, v in vars(first).items() if n in self._learnt})
            model = fitted._train(stage, float(alpha), model)
            fitted.alpha_, fitted.violation_ = float(alpha), stage.violation(model)
            fitted.n_missing_sensitive_ = missing
            fitted._keep(model, [model])
            yield fitted

    def decision_function(self, X: Array) -> np.ndarray:
        """Return the logits of the positive class.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Features, as for `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
            One logit for each row.
        """
        check_is_fitted(self)
        return self._logits(X)

    def predict_proba(self, X: Array) -> np.ndarray:
        """Return the probabilities of the two classes.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Features, as for `fit`.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Probabilities in the order of `classes_`.
        """
        positive = expit(self.decision_function(X))
        return np.column_stack([1 - positive, positive])

    def predict(self, X: Array) -> np.ndarray:
        """Return the likelier class.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Features, as for `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
            One class for each row.
        """
        likely = (self.decision_function(X) > 0).astype(int)
        return np.asarray(self.classes_[likely])

    def cost_features_of(self, X: Array) -> np.ndarray:
        """Return the scaled features by which the cost compares people.

        The name `cost_matrix_of` is an alias, kept from before.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Features, as for `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_cost_features)
            Those of the features that are `cost_features`.
        """
        check_is_fitted(self)
        return self._chosen(self._encoded(X))

    cost_matrix_of = cost_features_of

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _count_missing(self, sensitive_features: Array) -> int:
        """Return how many people lack a sensitive value."""
        if sensitive_features is None:
            return 0
        known = known_sensitive(as_notion(self.notion), sensitive_features)
        return 0 if known is None else int((~known).sum())

    @staticmethod
    def _check_people(X: Array, y: Array, sensitive_features: Array, sample_weight: Array) -> None:
        """Raise where indexes of pandas say that rows of the arguments are not the same people."""
        given = {"sensitive_features": sensitive_features, "sample_weight": sample_weight}
        same_people({"X": X, "y": y, **given})

    @abstractmethod
    def _check_settings(self) -> None:
        """Raise where a setting makes no sense."""

    @abstractmethod
    def _begin(
        self, X: Array, y: Array, sensitive_features: Array, sample_weight: Array, penalize: bool
    ) -> Stage:
        """Read the data and do what is the same at every strength; sets what is `_learnt`."""

    @abstractmethod
    def _train(self, stage: Any, alpha: float, start: Model | None) -> Model:
        """Train a model at one strength, maybe from that of another."""

    @abstractmethod
    def _keep(self, chosen: Model, tried: Sequence[Model]) -> None:
        """Set the other fitted attributes; `tried` are all models that were trained."""

    @abstractmethod
    def _doubt(self, stage: Any, chosen: Model) -> None:
        """Warn where the chosen model's scores are not to be trusted."""

    @abstractmethod
    def _logits(self, X: Array) -> np.ndarray:
        """Return the logits of the positive class, (n,)."""

    @abstractmethod
    def _encoded(self, X: Array) -> np.ndarray:
        """Return all features as the cost sees them, (n, p)."""

    @abstractmethod
    def _cost_columns(self) -> list[int]:
        """Return which of the encoded features are `cost_features`."""

    def _chosen(self, encoded: np.ndarray) -> np.ndarray:
        """Return those of encoded features that are `cost_features`, (n, q)."""
        return encoded if self.cost_features is None else encoded[:, self._cost_columns()]

    def _geometry(
        self, encoded: np.ndarray, people: People, cost: str | CostFunction | Cost, scale: Scale
    ) -> Geometry:
        """Return who is like whom among people."""
        chosen = self._chosen(encoded)
        return cloud(chosen, people.weight, cost, scale) if self.geometry is None else self.geometry


def weakest_alpha(
    train: Callable[[float, Tried], Tried],
    violation: Callable[[Tried], float],
    start: Tried,
    limit: float,
    remedy: str = "",
    verbose: bool = False,
) -> tuple[float, Tried]:
    """Return the weakest strength whose model violates fairness by at most `limit`, and the model.

    `train` makes the model of a strength from that of a nearby one; `start` is the one without
    regularisation. A violation of NaN, of a model that went wrong, is never fair enough. Where no
    strength is, a warning gives the remedy, and the fairest model tried is returned.
    """
    tried = [(violation(start), 0.0, start)]
    # From weak to strong: people held out need not judge the strongest the fairest.
    for alpha in track(ALPHAS, "max_violation", verbose=verbose):
        if tried[-1][0] <= limit:
            break
        model = train(alpha, tried[-1][2])
        tried.append((violation(model), alpha, model))
    if not tried[-1][0] <= limit:
        lowest, alpha, model = min(tried, key=lambda found: (math.isnan(found[0]), found[0]))
        warnings.warn(
            f"no alpha up to {ALPHAS[-1]} meets max_violation={limit}: the lowest violation is "
            f"{lowest:.3g}, at alpha={alpha:g}. {remedy}",
            stacklevel=3,  # where `fit` was called
        )
        return alpha, model
    met, weak = tried[-1], tried[-2] if len(tried) > 1 else tried[-1]
    for _ in range(BISECTIONS if met is not weak else 0):
        alpha = 0.5 * (weak[1] + met[1])
        model = train(alpha, weak[2])
        found = (violation(model), alpha, model)
        met, weak = (found, weak) if found[0] <= limit else (met, found)
    return met[1], met[2]
