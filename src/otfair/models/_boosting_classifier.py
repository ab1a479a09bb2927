"""Boosted trees that are trained to be fair and good, in the manner of scikit-learn.

Maths: docs/boosting.md. Trees see the raw features; the cost compares people by an encoded copy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from numbers import Integral
from operator import attrgetter
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_y, check_is_fitted

from otfair._io.arrays import Array, same_length
from otfair._io.checks import LARGEST_LOGIT, check_classes, check_number, one_line, require
from otfair._io.settings import LARGEST_COUNT, check_whole
from otfair.distributed import is_dask
from otfair.geometry import Cost, CostFunction, Geometry, Scale
from otfair.losses import loss_class
from otfair.models._balance import Balance
from otfair.models._base import STORED_TYPES, Data, FairClassifier, Stage, check_outcome
from otfair.models._boosting_dask import fit_on_dask
from otfair.models._objective import OTFObjective
from otfair.models._trust import Losses, compare_losses, doubt_losses, warn_of
from otfair.models._validation import (
    check_common,
    encoded_columns,
    read_people,
    read_weight,
    split_off,
)
from otfair.models.boosters import BOOSTERS, Booster, Stopping, TreeData, booster_of
from otfair.notions import Notion
from otfair.tables import TableEncoder, tree_matrix, two_classes


@dataclass(frozen=True)
class _Trees:
    """A booster trained at one strength."""

    booster: Booster
    history: list[float]  # the penalty of each round

    def logits(self, X: np.ndarray) -> np.ndarray:
        return self.booster.logits(X)


@dataclass(frozen=True, kw_only=True)
class _Stage(Stage):
    data: TreeData
    watched: TreeData | None  # by whom it is stopped
    objective: OTFObjective | None
    seed: int | None  # of the booster, the same at every strength


class OTFBoostingClassifier(FairClassifier):
    """Boosted trees with a fairness penalty; predicting never needs the sensitive features.

    Tables of numbers and categories go in as they are, missing values included: the trees see the
    raw columns, and the cost compares people by a copy that `TableEncoder` has encoded. With
    ``alpha=0`` this is the stock booster with these parameters.

    Parameters
    ----------
    booster : {"xgboost", "lightgbm"}, default="xgboost"
        The library that grows the trees, installed by the extra of that name.
    notion : Notion or str, default="demographic_parity"
        The fairness notion, or its name.
    alpha : float, default=0.5
        Weight of fairness, from 0 (none) to 1 (nothing else); 1/2 about halves the violation.
    epsilon : float, default=1e-3
        Smoothing of the OTF cost.
    regularizer : str, default="otf"
        The penalty's name, as for `OTFClassifier`.
    bounded : bool, default=False
        Whether no person may receive more than a score of one in the transport of OTF, as for
        `OTFLoss`.
    weigh : {"people", "attributes", "groups"}, default=None
        As for `OTFClassifier`.
    max_violation : float or dict, default=None
        As for `OTFClassifier`.
    criterion : {"correlation", "difference"}, default="correlation"
        As for `OTFClassifier`.
    confidence : float, default=0.9
        As for `OTFClassifier`.
    new_people : float or int, default=1/3
        As for `OTFClassifier`.
    cv : int or splitter, default=5
        As for `OTFClassifier`.
    validation_fraction : float, default=0.0
        As for `OTFClassifier`.
    balance : "auto", float or dict, default="auto"
        The penalty's factor; docs/boosting.md says how it is found.
    n_estimators : int, default=100
        Rounds of boosting, at most.
    early_stopping_rounds : int, default=None
        Stops where the objective, penalty included, was no better for so many rounds among people
        kept out of training, and leaves out the trees after the best round; None is without.
    stopping_fraction : float, default=0.1
        Share of the rows kept out for that; they do not judge `max_violation`.
    cost_features : str, int, or list of str, int or bool, default=None
        Columns by which people are alike, as for `OTFClassifier`.
    cost : str, callable or Cost, default="euclidean"
        What it costs to move score between two people, as for `PointCloud`.
    scale : {"max", "mean", "median"}, float or None, default="max"
        What costs are divided by, as for `PointCloud`.
    geometry : Geometry, default=None
        Who is like whom among the training people, in place of these three.
    receivers : int, default=None
        As for `OTFClassifier`.
    n_jobs : int, default=None
        Threads of the booster; all by default.
    random_state : int, RandomState or None, default=None
        Seed of the booster, of folds and of the validation share; folds are the same without
        one.
    verbose : bool, default=False
        Whether to show progress.
    **booster_params : dict
        Any other parameter of the booster, such as ``max_depth`` or ``subsample``. Those not given
        are the booster's own defaults, but for some that suit small tables, too:
        ``learning_rate=0.1``, ``reg_lambda=10`` and, for XGBoost, ``max_depth=5``.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Labels, the positive one last.
    encoder_ : TableEncoder
        What encodes tables for the cost.
    feature_importances_ : ndarray of shape (n_features,)
        Each column's share of the gain of all splits.
    booster_ : xgboost.Booster or lightgbm.Booster
        The trained booster. LightGBM's does not know the margin at which it started, ``offset_``,
        which is added to what it predicts; of a loaded model it has no ``params``.
    alpha_, violation_, violation_bound_ : float
        As for `OTFClassifier`.
    balance_ : float or dict
        As for `OTFClassifier`.
    judgement_ : Judgement
        As for `OTFClassifier`.
    search_ : list of dict
        As for `OTFClassifier`.
    n_missing_sensitive_ : int
        As for `OTFClassifier`.
    receivers_ : dict or None
        As for `OTFClassifier`.
    history_ : list of float
        The penalty of each round, a mean over people.

    Examples
    --------
    >>> import otfair
    >>> data = otfair.load_dataset("synthetic", n=1500)
    >>> sex, settings = data.sensitive_features["sex"], {"n_estimators": 30, "n_jobs": 1}
    >>> clf = otfair.OTFBoostingClassifier(max_violation=0.15, random_state=0, **settings)
    >>> clf = clf.fit(data.X, data.y, sensitive_features=sex)
    >>> clf.violation_ < clf.violation_bound_ <= 0.15
    True
    """

    _fitted = (
        "n_features_in_", "feature_names_in_", "classes_", "columns_", "model_text_", "offset_",
        "alpha_", "balance_", "violation_", "violation_bound_", "judgement_", "search_", "n_iter_",
        "converged_", "history_", "n_missing_sensitive_",
        "receivers_",
    )  # fmt: skip
    _stored_types: ClassVar = {**STORED_TYPES, **TableEncoder._stored_types}
    _takes_more = True
    _learnt = ("classes_", "encoder_")
    _remedy = "Allow more of it, add rounds (`n_estimators`), or add features."
    _more: dict[str, Any] = {}  # noqa: RUF012  (replaced, never changed)
    model_text_: str
    encoder_: TableEncoder

    def __init__(
        self,
        booster: str = "xgboost",
        notion: Notion | str = "demographic_parity",
        alpha: float = 0.5,
        epsilon: float = 1e-3,
        regularizer: str = "otf",
        *,
        bounded: bool = False,
        weigh: str | None = None,
        max_violation: float | Mapping[str, float] | None = None,
        criterion: str = "correlation",
        confidence: float = 0.9,
        new_people: float = 1 / 3,
        cv: Any = 5,
        validation_fraction: float = 0.0,
        balance: str | float | Mapping[str, float] = "auto",
        n_estimators: int = 100,
        early_stopping_rounds: int | None = None,
        stopping_fraction: float = 0.1,
        cost_features: Any = None,
        cost: str | CostFunction | Cost = "euclidean",
        scale: Scale = "max",
        geometry: Geometry | None = None,
        receivers: int | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
        **booster_params: Any,
    ) -> None:
        self.booster, self.n_estimators = booster, n_estimators
        self.early_stopping_rounds = early_stopping_rounds
        self.stopping_fraction = stopping_fraction
        self.notion, self.alpha, self.epsilon = notion, alpha, epsilon
        self.regularizer, self.weigh, self.balance = regularizer, weigh, balance
        self.bounded = bounded
        self.max_violation, self.criterion, self.confidence = max_violation, criterion, confidence
        self.new_people, self.cv, self.validation_fraction = new_people, cv, validation_fraction
        self.cost_features, self.cost, self.scale = cost_features, cost, scale
        self.geometry, self.receivers, self.n_jobs = geometry, receivers, n_jobs
        self.random_state, self.verbose = random_state, verbose
        if booster_params:
            self._more = booster_params

    def fit(
        self,
        X: Array,
        y: Array,
        sensitive_features: Array = None,
        sample_weight: Array = None,
    ) -> Self:
        """Train the classifier; on Dask collections by `xgboost.dask` on their workers.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Features: numbers, text, categories and missing values.
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
        given = {"X": X, "y": y, "sensitive_features": sensitive_features}
        given["sample_weight"] = sample_weight
        if not is_dask(*given.values()):
            return super().fit(X, y, sensitive_features, sample_weight)
        self._check_settings()
        found = fit_on_dask(self, given)
        self.encoder_, self.classes_ = found.model.encoder_, found.model.classes_
        self.balance_, self.n_missing_sensitive_ = found.balance, found.missing
        self.receivers_ = None  # which is told of one machine's people
        self._judge(float(self.alpha), found.judgement)
        self._keep(_Trees(found.booster, found.history), [])
        self._warn_of(found.losses)
        return self

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {**super().get_params(deep), **self._more}

    def set_params(self, **params: Any) -> Self:
        own = set(self._get_param_names())
        super().set_params(**{k: v for k, v in params.items() if k in own})
        if more := {k: v for k, v in params.items() if k not in own}:  # the booster's
            self._more = {**self._more, **more}
        return self

    @property
    def booster_(self) -> Any:
        """The trained booster, made from its text where it was loaded."""
        return self._trained().model

    @property
    def feature_importances_(self) -> np.ndarray:
        """Each column's share of the gain of all splits, (p,); zero without splits."""
        gains = self._trained().gains(self.n_features_in_)
        return gains / (gains.sum() or 1.0)

    columns_ = property(attrgetter("encoder_.columns_"), doc="What is known of each column.")
    n_features_in_ = property(attrgetter("encoder_.n_features_in_"), doc="Columns seen by `fit`.")
    feature_names_in_ = property(attrgetter("encoder_.feature_names_in_"), doc="Names, if any.")

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {k: v for k, v in state.items() if k != "_ensemble"}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        takes = tags.input_tags
        takes.allow_nan = takes.categorical = takes.string = True
        return tags

    def _set_fitted(self, state: dict[str, Any]) -> None:
        learnt = set(TableEncoder._fitted)
        self.encoder_ = TableEncoder()
        self.encoder_._set_fitted({n: v for n, v in state.items() if n in learnt})
        super()._set_fitted({n: v for n, v in state.items() if n not in learnt})

    @staticmethod
    def _check_fitted(state: Any) -> None:
        TableEncoder._check_fitted(state)
        check_classes(state)
        require(isinstance(state.model_text_, str), "model_text_ is no text")
        levels = [None if c.levels is None else len(c.levels) for c in state.columns_]
        # The booster's own code sees this text, and no other.
        state.model_text_ = booster_of(state.model_text_).rewritten(state.model_text_, levels)
        check_number(state, "offset_", -LARGEST_LOGIT, LARGEST_LOGIT)
        check_outcome(state)

    @staticmethod
    def _check_people(X: Array, y: Array, sensitive_features: Array, sample_weight: Array) -> None:
        if is_dask(X, y, sensitive_features, sample_weight):
            raise TypeError(
                "a path of boosted trees does not take Dask collections; call `fit` with one "
                "`alpha` at a time, or pass what fits one machine, such as `X.compute()`."
            )
        FairClassifier._check_people(X, y, sensitive_features, sample_weight)

    def _check_settings(self) -> None:
        if self.booster not in BOOSTERS:
            raise ValueError(
                f"unknown booster {self.booster!r}; pass one of {', '.join(BOOSTERS)}."
            )
        check_common(self)
        if self.n_jobs is not None:
            check_whole("n_jobs", self.n_jobs, -LARGEST_COUNT)
        if self._more:
            self._check_more()
        self._objective()

    def _check_more(self) -> None:
        """Raise where a parameter for the booster is ours to set, or none of its own."""
        refused = {name: why for b in BOOSTERS.values() for name, why in b.refused.items()}
        own = self._get_param_names()
        known = BOOSTERS[self.booster].known()
        for name in self._more:
            if name in refused:
                raise ValueError(f"`{name}` can't be set here: {refused[name]}.")
            close = get_close_matches(name, own, 1, 0.8)
            if not close and known and name not in known:
                close = get_close_matches(name, [*own, *sorted(known)], 1) or [""]
            if close:
                meant = f"did you mean `{close[0]}`?" if close[0] else "see its documentation."
                raise ValueError(
                    f"unknown setting `{name}`: neither {type(self).__name__} nor {self.booster} "
                    f"has it; {meant}"
                )

    def _objective(self) -> OTFObjective:
        how: dict[str, Any] = {"regularizer": self.regularizer, "bounded": self.bounded}
        how |= {"weigh": self.weigh, "balance": self.balance}
        objective = OTFObjective(self.notion, self.alpha, self.epsilon, **how)
        rate = BOOSTERS[self.booster].learning_rate(self._more)
        objective.approach = min(objective.approach, 1 / rate)
        return objective

    def _prepare(
        self, X: Array, y: Array, sensitive_features: Array, sample_weight: Array, penalize: bool
    ) -> Data:
        """Read the data, and measure who is like whom where there is a penalty."""
        weight = None if sample_weight is None else read_weight(sample_weight, X)
        self.encoder_ = TableEncoder().fit(X, sample_weight=weight)
        encoded = self.encoder_.transform(X)
        raw = tree_matrix(self, X, self.columns_)
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y "
                "is None."
            )
        y = _check_y(y, estimator=self)
        check_classification_targets(y)
        same_length("y", len(y), len(encoded), "X")
        self.classes_, labels = two_classes(y)
        people = read_people(self.notion, sensitive_features, labels, weight, penalize)
        geometry, seed = None, self.random_state
        if penalize and people is not None and loss_class(self.regularizer).needs_features:
            geometry = self._geometry(encoded, people, self.cost, self.scale, self.epsilon)
        if seed is not None:
            whole = isinstance(seed, Integral)
            seed = int(seed) if whole else check_random_state(seed).randint(2**31 - 1)
        return Data(
            seen=raw, encoded=encoded, labels=labels, weight=weight, people=people,
            geometry=geometry, seed=seed,
        )  # fmt: skip

    def _begin(self, data: Data, penalize: bool) -> _Stage:
        """Hand the data to the booster, and make the objective where there is a penalty."""
        watched = None
        if self.early_stopping_rounds is not None:
            everyone = np.arange(len(data.labels))
            kept, out = split_off(self, "stopping_fraction", everyone, data.labels)
            data, watched = data.take(kept), data.take(out)
        balance: Balance = 1.0
        objective = None
        if penalize and data.people is not None:
            objective = self._objective()
            objective.fit_people(data.people, data.labels, data.geometry, data.weight)
            if watched is not None:
                assert watched.people is not None
                alike = self._chosen(watched.encoded)
                objective.watch_people(watched.people, watched.labels, alike, watched.weight)
            if self.balance == "auto":
                objective.balance_by(data.encoded)
            balance = objective.balance_
        return _Stage(
            start=None,
            balance=balance,
            data=self._rows(data),
            watched=None if watched is None else self._rows(watched),
            objective=objective,
            seed=data.seed,
        )

    def _rows(self, data: Data) -> TreeData:
        """Return people as a booster takes them."""
        names = [column.name for column in self.columns_]
        categories = np.array([column.levels is not None for column in self.columns_])
        return TreeData(data.seen, data.labels, data.weight, categories, names)

    def _rows_like(self, fitted: OTFBoostingClassifier) -> TreeData:
        """Return nobody, with the columns that a fitted copy of this classifier knows."""
        names = [column.name for column in fitted.columns_]
        categories = np.array([column.levels is not None for column in fitted.columns_])
        return TreeData(np.zeros((0, len(names))), np.zeros(0), None, categories, names)

    def _booster_params(self, seed: int | None) -> dict[str, Any]:
        """Return the user's parameters of the booster, but for our defaults."""
        own = {"n_jobs": self.n_jobs, "random_state": seed}
        return {**self._more, **{k: v for k, v in own.items() if v is not None}}

    def _train(self, stage: _Stage, alpha: float, start: _Trees | None) -> _Trees:
        params = self._booster_params(stage.seed)
        objective = stage.objective if alpha else None
        if objective is not None:
            objective.reset().alpha = alpha
        kind, stopping = BOOSTERS[self.booster], None
        if stage.watched is not None and self.early_stopping_rounds is not None:
            metric = None if objective is None else objective.metric("objective")
            stopping = Stopping(stage.watched, self.early_stopping_rounds, metric)
        params = kind.with_defaults(params)
        booster = kind.train(stage.data, self.n_estimators, params, objective, stopping)
        return _Trees(booster, [] if objective is None else objective.history_)

    def _keep(self, chosen: _Trees, tried: Sequence[_Trees]) -> None:
        self._ensemble, self.history_ = chosen.booster, chosen.history
        self.model_text_, self.offset_ = chosen.booster.to_text(), chosen.booster.offset
        self.n_iter_ = chosen.booster.rounds

    def _doubt(self, stage: _Stage, chosen: _Trees) -> None:
        """Warn where trees are worse than the base rate among people kept out, if some were."""
        out = stage.watched
        if out is not None and self.alpha_ < 1:
            weight = np.ones(len(out.labels)) if out.weight is None else out.weight
            self._warn_of(compare_losses(chosen.logits(out.X), out.labels, weight), 4)

    def _warn_of(self, losses: Losses | None, stacklevel: int = 3) -> None:
        """Warn where people kept out of training find trees worse than the base rate."""
        if losses is not None and self.alpha_ < 1:
            remedy = "Use fewer features, shallower trees, or ask for less fairness."
            worse = doubt_losses(losses, "the people kept out to stop training", remedy)
            warn_of(worse, stacklevel=stacklevel)  # where `fit` was called

    def _trained(self) -> Booster:
        """Return the trained booster; of a loaded model its text tells which one it is."""
        check_is_fitted(self)
        if "_ensemble" not in vars(self):
            kind = booster_of(self.model_text_)
            try:
                self._ensemble = kind.from_text(self.model_text_, self.offset_)
            except ImportError:
                raise
            except Exception as error:  # whatever it makes of a text of another version
                raise ValueError(
                    f"the version of {kind.name} that is installed can't read this model "
                    f"({one_line(str(error))}). Install the one that trained it, or train it again."
                ) from error
        return self._ensemble

    def _seen(self, X: Array) -> np.ndarray:
        """Return a table as trees see it."""
        return tree_matrix(self, X, self.columns_)

    def _logits(self, X: Array) -> np.ndarray:
        return self._trained().logits(self._seen(X))

    def _encoded(self, X: Array) -> np.ndarray:
        return np.asarray(self.encoder_.transform(X))

    def _cost_columns(self) -> list[int]:
        return encoded_columns(self.cost_features, self.columns_)
