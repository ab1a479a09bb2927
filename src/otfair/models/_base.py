"""What the classifiers share: `fit` at one strength or by outcome, paths, classes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from otfair._io.arrays import Array
from otfair._io.checks import check_attributes, check_fields, require
from otfair._io.saved import SaveMixin
from otfair.distributed import is_dask, map_rows
from otfair.geometry import Cost, CostFunction, Geometry, Scale
from otfair.losses import OTFLoss, cloud
from otfair.models._balance import Balance
from otfair.models._judging import Judgement, Jury, by_training, warn_not_met
from otfair.models._receivers import Receiving, receiving, with_receivers
from otfair.models._search import weakest_alpha
from otfair.notions import STORED_NOTIONS, Notion, PartedPeople, People, as_notion, known_sensitive
from otfair.tables import same_people

Model: TypeAlias = Any  # trained at one strength; has `logits(X)`, (n,)
Judge: TypeAlias = Callable[[Sequence[Model]], Judgement]  # of models, one per split
STORED_TYPES: dict[str, type] = {**STORED_NOTIONS, "Judgement": Judgement}


@dataclass(frozen=True, kw_only=True)
class Data:
    """People, as classifiers have read them; the same at every strength and in every fold."""

    seen: np.ndarray  # (n, p) features as models see them
    encoded: np.ndarray  # (n, q) features as the cost sees them
    labels: np.ndarray  # (n,) zeros and ones
    weight: np.ndarray | None  # (n,)
    people: People | None  # typed by the notion; none without sensitive features
    geometry: Geometry | None  # who is like whom among them; none where nothing asks
    seed: int | None  # of whatever is random, the same at every strength and in every fold

    def judged(self, criterion: str, model: Model) -> Judgement:
        """Judge the scores that a model gives to these people."""
        return by_training(criterion, self.people, np.asarray(expit(model.logits(self.seen))))

    def jury(self, estimator: Any) -> tuple[Sequence[tuple[Any, Any]], Judge]:
        """Return whom to train on and who judges, pair by pair, and how models are judged."""
        assert self.people is not None  # a penalty needs them
        jury = Jury(estimator, self.people, self.labels)
        return jury.splits, lambda models: jury(models, self.seen)

    def receiving(self, model: Model, epsilon: float, seed: list[int]) -> Receiving:
        """Return who receives score, and what a sample does to the penalty of a model's scores."""
        assert self.geometry is not None
        assert self.people is not None
        scores = np.asarray(expit(model.logits(self.seen)))
        return receiving(self.geometry, self.people, scores, epsilon, seed)

    def take(self, rows: Any) -> Data:
        """Return some of the people, such as those of a split."""
        seen = self.seen[rows]
        return replace(
            self,
            seen=seen,
            encoded=seen if self.encoded is self.seen else self.encoded[rows],
            labels=self.labels[rows],
            weight=None if self.weight is None else self.weight[rows],
            people=None if self.people is None else self.people.take(rows),
            geometry=None if self.geometry is None else self.geometry.take(rows),
        )


@dataclass(frozen=True, kw_only=True)
class Stage:
    """What training on some people begins with at any strength: all that is done before."""

    start: Model | None  # a model without penalty; none if each strength begins anew
    balance: Balance  # of the penalty, or of each part of it


class FairClassifier(SaveMixin, ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """A binary classifier that is trained with a fairness penalty.

    A classifier of its own says how data are read (`_prepare`), what is done with some of the
    people before any strength (`_begin`), how a model is trained at one (`_train`), and what is
    kept of it (`_keep`).
    """

    notion: Notion | str
    alpha: float
    epsilon: float
    regularizer: Any  # its name; some classifiers also take a loss
    max_violation: float | Mapping[str, float] | None
    weigh: str | None
    criterion: str
    confidence: float
    new_people: float
    cv: Any  # folds, or splits of one's own
    validation_fraction: float
    cost_features: Any
    cost: str | CostFunction | Cost
    scale: Scale
    geometry: Geometry | None
    receivers: int | None
    bounded: bool
    random_state: Any
    verbose: bool
    classes_: np.ndarray  # (2,)
    alpha_: float
    balance_: Balance
    violation_: float
    violation_bound_: float
    judgement_: Judgement
    search_: list[dict[str, float]]
    n_missing_sensitive_: int
    receivers_: Receiving | None
    # What `_prepare` sets: the same at every strength, so that a path learns it once.
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
            data = self._prepare(X, y, sensitive_features, sample_weight, penalize)
            if self.max_violation is None:
                stage, model, tried = self._fit_alpha(data, penalize)
            else:
                stage, model, tried = self._fit_limit(data)
            self.balance_ = stage.balance
            self.n_missing_sensitive_ = self._count_missing(sensitive_features, data.people)
            self._tell_receivers(data, model)
            self._keep(model, tried)
            if not self.judgement_.met:
                warn_not_met(self.judgement_, self.alpha_, self._remedy, stacklevel=2)
            self._doubt(stage, model)
        except BaseException:
            self.__dict__ = before  # all or nothing
            raise
        return self

    def _fit_alpha(self, data: Data, penalize: bool) -> tuple[Any, Model, list[Model]]:
        """Train at the strength that was given; return its stage, the model and all of them."""
        stage = self._begin(data, penalize)
        model = self._train(stage, float(self.alpha), stage.start)
        self._judge(float(self.alpha), data.judged(self.criterion, model))
        return stage, model, [model] if stage.start is None else [stage.start, model]

    def _fit_limit(self, data: Data) -> tuple[Any, Model, list[Model]]:
        """Train at the weakest strength for which people kept out of training find it enough."""
        splits, judge = data.jury(self)
        parts = [data.take(kept) for kept, _ in splits]
        # Each part finds its own balance: costs between fewer people are others, and alpha is to
        # mean the same in all parts and among all people.
        stages = [self._begin(part, True) for part in parts]
        free = [stage.start for stage in stages]
        tried: list[Model] = [model for model in free if model is not None]

        def train(alpha: float, starts: Sequence[Model | None]) -> list[Model]:
            models = [self._train(s, alpha, m) for s, m in zip(stages, starts, strict=True)]
            tried.extend(models)
            return models

        if None in free:
            free = train(0.0, free)
        found = weakest_alpha(train, judge, free, self.verbose)
        self._judge(found.alpha, found.judgement, found.tried)
        if len(parts) == 1:  # a share judged, and what it judged is kept
            return stages[0], found.models[0], tried
        stage = self._begin(data, True)  # all judged, and all train
        model = stage.start
        if found.alpha or model is None:
            model = self._train(stage, found.alpha, model)
        return stage, model, []  # the others are of some of the people

    def _judge(
        self, alpha: float, judgement: Judgement, tried: list[dict[str, float]] | None = None
    ) -> None:
        """Set what is known of the strength and of what came of it."""
        self.alpha_, self.judgement_ = alpha, judgement
        self.violation_, self.violation_bound_ = judgement.violation, judgement.bound
        self.search_ = tried or []

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
        shared = {name: getattr(self, name) for name in self._shared}
        for alpha in alphas:
            fitted = clone(self).set_params(alpha=alpha, max_violation=None, **shared)
            fitted._check_settings()
            if stage is None:
                first = fitted
                data = fitted._prepare(X, y, sensitive_features, sample_weight, True)
                missing = self._count_missing(sensitive_features, data.people)
                stage = fitted._begin(data, True)
                model = stage.start
            else:
                vars(fitted).update({n: v for n, v in vars(first).items() if n in self._learnt})
            model = fitted._train(stage, float(alpha), model)
            fitted._judge(float(alpha), data.judged(fitted.criterion, model))
            fitted.balance_ = stage.balance
            fitted.n_missing_sensitive_ = missing
            fitted._tell_receivers(data, model)
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
        if is_dask(X):
            return map_rows(self.decision_function, X)  # type: ignore[no-any-return]
        logits = self._logits(X)
        if none := int(np.isnan(logits).sum()):
            raise ValueError(
                f"the model has no score for {none} of {len(logits)} rows: its numbers, or those "
                "of the rows, are too large. Scale the features, and train it again."
            )
        return logits

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
        if is_dask(X):
            return map_rows(self.predict_proba, X, 2)  # type: ignore[no-any-return]
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
        if is_dask(X):
            return map_rows(self.predict, X, dtype=self.classes_.dtype)  # type: ignore[no-any-return]
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

    def _count_missing(self, sensitive_features: Array, people: People | None) -> int:
        """Return how many people lack a sensitive value."""
        if sensitive_features is None:
            return 0
        if isinstance(people, PartedPeople):
            return people.n_missing
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
    def _prepare(
        self, X: Array, y: Array, sensitive_features: Array, sample_weight: Array, penalize: bool
    ) -> Data:
        """Read the data; sets what is `_learnt`."""

    @abstractmethod
    def _begin(self, data: Data, penalize: bool) -> Any:
        """Return what is the same at every strength for some people, a `Stage`."""

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
        self,
        encoded: np.ndarray,
        people: People,
        cost: str | CostFunction | Cost,
        scale: Scale,
        epsilon: float,
    ) -> Geometry:
        """Return who is like whom among people, and who of them may receive score."""
        geometry = self.geometry
        if geometry is None:
            chosen = self._chosen(encoded)  # which nobody changes
            geometry = cloud(chosen, people.weight, cost, scale, copy=False)
            geometry.verbose = self.verbose
        if self.bounded or getattr(
            self.regularizer, "bounded", False
        ):  # whose bounds are those of all people
            return geometry
        seed = self.random_state if isinstance(self.random_state, Integral) else 0
        return with_receivers(geometry, people, epsilon, self.receivers, [int(seed)])

    def _tell_receivers(self, data: Data, model: Model) -> None:
        """Set who may receive score, and what a sample of them does to the penalty."""
        self.receivers_ = None
        if data.geometry is not None and data.people is not None:
            loss = self.regularizer
            epsilon = loss.epsilon if isinstance(loss, OTFLoss) else self.epsilon
            self.receivers_ = data.receiving(model, epsilon, [1])


def check_outcome(state: Any) -> None:
    """Raise unless what a file says about training is of the kinds that it is of."""
    check_attributes(
        state, alpha_="float", violation_="float", violation_bound_="float", n_iter_="int",
        converged_="bool", n_missing_sensitive_="int", balance_="plain", search_="plain",
        history_="plain", receivers_="plain",
    )  # fmt: skip
    if hasattr(state, "judgement_"):
        require(isinstance(state.judgement_, Judgement), "judgement_ is no Judgement")
        check_fields(state.judgement_)
