"""Boosted trees that are trained to be fair and good, in the manner of scikit-learn.

Maths: docs/boosting.md. Trees see the raw features; who is like whom is told by an encoded copy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, _check_y, check_is_fitted

from otfair._io.arrays import Array, same_length
from otfair._io.saved import SaveMixin, check_shapes, require
from otfair.geometry import Geometry
from otfair.losses import cloud
from otfair.metrics import ViolationOf
from otfair.models._binary import BinaryClassifier, all_or_nothing
from otfair.models._boosters import (
    BOOSTERS,
    Ensemble,
    TreeData,
    check_params,
    from_text,
    learning_rate,
    to_text,
    train,
)
from otfair.models._objective import OTFObjective
from otfair.models._search import weakest_alpha
from otfair.models._validation import (
    check_ranges,
    encoded_columns,
    read_people,
    split_people,
    two_classes,
)
from otfair.notions import STORED_NOTIONS, Notion
from otfair.tables import TableEncoder, is_category, tree_matrix


@dataclass(frozen=True)
class _Stage:
    """What training at any strength starts from."""

    data: TreeData
    objective: OTFObjective | None
    judged: np.ndarray  # (m, p) people by whom violations are judged
    judge: ViolationOf | None
    seed: int | None  # of the booster, alike at every strength

    def violation(self, model: Ensemble) -> float:
        if self.judge is None:
            return 0.0
        return self.judge(expit(model.margins(self.judged, self.data.categories)))


@dataclass(frozen=True)
class _Trained:
    """A model, and how it was trained."""

    alpha: float
    model: Ensemble
    history: list[float]  # the penalty of each round


class OTFBoostingClassifier(SaveMixin, BinaryClassifier, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Boosted trees with a fairness penalty; predicting never needs the sensitive features.

    Tables of numbers and categories go in as they are, missing values included: the trees see the
    raw columns, and the cost compares people by a copy that `TableEncoder` has encoded. With
    ``alpha=0`` this is the stock booster.

    Parameters
    ----------
    booster : "xgboost" or "lightgbm", installed by the extra of that name.
    notion : a `Notion` or its name.
    alpha : weight of fairness, from 0 (none) to 1 (nothing else); 1/2 about halves the violation.
    epsilon : smoothing of the OTF cost.
    regularizer : "otf", "norm" or "barycenter".
    max_violation : overrides `alpha`: the weakest regularisation whose violation on the training
        data (or on `validation_fraction` of it) is at most this.
    validation_fraction : share of the people kept out of training to judge `max_violation`.
    balance : "auto" (docs/boosting.md says how), or the penalty's factor.
    n_estimators : rounds of boosting.
    cost_features : names, positions or a mask of the columns by which people are alike; all by
        default.
    geometry : who is like whom among the training people, in place of that.
    n_jobs : threads of the booster; all by default.
    random_state : seed of the booster, and of the validation share.
    verbose : show progress.
    **booster_params : any other parameter of the booster, such as ``max_depth`` or ``subsample``.

    Attributes
    ----------
    classes_ : (2,) labels, the positive one last.
    feature_importances_ : each column's share of the gain of all splits, (p,).
    booster_ : the trained ``Booster`` of XGBoost or LightGBM. LightGBM's does not know the margin
        at which it started, ``offset_``, which is added to what it predicts.
    alpha_ : the weight of fairness that was used.
    balance_ : the penalty's factor, 1 where there is none.
    violation_ : on the training (or validation) people; 0 without sensitive features.
    history_ : the penalty, a mean over people, of each round.

    Examples
    --------
    >>> import otfair
    >>> data = otfair.load_dataset("synthetic", n=600)
    >>> sex = data.sensitive_features["sex"]
    >>> clf = otfair.OTFBoostingClassifier(max_violation=0.05, n_estimators=30, n_jobs=1)
    >>> clf = clf.fit(data.X, data.y, sensitive_features=sex)
    >>> bool(otfair.pdp_violation(clf.predict_proba(data.X)[:, 1], sex) <= 0.05)
    True
    """

    _fitted = (
        "n_features_in_", "feature_names_in_", "classes_", "columns_", "model_text_", "offset_",
        "alpha_", "balance_", "violation_", "n_iter_", "converged_", "history_",
    )  # fmt: skip
    _stored_types: ClassVar = {**STORED_NOTIONS, **TableEncoder._stored_types}
    _takes_more = True

    _more: dict[str, Any] = {}  # noqa: RUF012  (replaced, never changed)
    model_text_: str

    def __init__(
        self,
        booster: str = "xgboost",
        notion: Notion | str = "demographic_parity",
        alpha: float = 0.5,
        epsilon: float = 1e-3,
        regularizer: str = "otf",
        *,
        max_violation: float | None = None,
        validation_fraction: float = 0.0,
        balance: str | float = "auto",
        n_estimators: int = 100,
        cost_features: Any = None,
        geometry: Geometry | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
        **booster_params: Any,
    ) -> None:
        self.booster = booster
        self.notion = notion
        self.alpha = alpha
        self.epsilon = epsilon
        self.regularizer = regularizer
        self.max_violation = max_violation
        self.validation_fraction = validation_fraction
        self.balance = balance
        self.n_estimators = n_estimators
        self.cost_features = cost_features
        self.geometry = geometry
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        if booster_params:
            self._more = booster_params

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings, those of the booster among them."""
        return {**super().get_params(deep), **self._more}

    def set_params(self, **params: Any) -> Self:
        """Change settings; those that are not named above are the booster's."""
        own = set(self._get_param_names())
        super().set_params(**{k: v for k, v in params.items() if k in own})
        more = {k: v for k, v in params.items() if k not in own}
        if more:
            self._more = {**self._more, **more}
        return self

    @staticmethod
    def _check_fitted(state: Any) -> None:
        TableEncoder._check_fitted(state)
        check_shapes(state, classes_=(2,))
        require(isinstance(state.model_text_, str), "model_text_ is no text")
        require(isinstance(state.offset_, float), f"offset_ is {state.offset_!r}")

    def fit(
        self,
        X: Array,
        y: Array,
        sensitive_features: Array = None,
        sample_weight: Array = None,
    ) -> Self:
        """Train.

        Parameters
        ----------
        X : (n, p) features: a table with numbers and categories, or an array.
        y : (n,) two classes.
        sensitive_features : one or many columns, needed unless `alpha` is 0.
        sample_weight : (n,), one by default; a weight w is w copies.
        """
        self._check_settings()
        needed = bool(self.alpha) or self.max_violation is not None
        with all_or_nothing(self):
            stage = self._begin(X, y, sensitive_features, sample_weight, needed)
            if self.max_violation is None:
                return self._keep(self._train(stage, self.alpha), stage)
            _, trained = weakest_alpha(
                lambda alpha, _: self._train(stage, alpha),
                lambda trained: stage.violation(trained.model),
                self._train(stage, 0.0),
                self.max_violation,
                remedy="Allow more of it, add rounds (`n_estimators`), or add features.",
                verbose=self.verbose,
            )
            return self._keep(trained, stage)

    def fit_path(
        self,
        X: Array,
        y: Array,
        sensitive_features: Array,
        alphas: Iterable[float],
        sample_weight: Array = None,
    ) -> Iterator[OTFBoostingClassifier]:
        """Yield one fitted classifier a strength; distances are computed once."""
        stage: _Stage | None = None
        for alpha in alphas:
            fitted = clone(self).set_params(alpha=alpha, max_violation=None)
            fitted._check_settings()
            if stage is None:
                first = fitted
                stage = fitted._begin(X, y, sensitive_features, sample_weight, True)
            else:
                fitted.__dict__ |= {**first.__dict__, "alpha": alpha}
            yield fitted._keep(fitted._train(stage, alpha), stage)

    def decision_function(self, X: Array) -> np.ndarray:
        """Return the logits of the positive class, (n,)."""
        check_is_fitted(self)
        rows = tree_matrix(self, X, self.columns_)
        return Ensemble(self.booster_, self.offset_).margins(rows, is_category(self.columns_))

    @property
    def booster_(self) -> Any:
        """The trained booster, made from its text where it was loaded."""
        check_is_fitted(self)
        if "_booster" not in vars(self):
            self._booster = from_text(self.model_text_)
        return self._booster

    @property
    def feature_importances_(self) -> np.ndarray:
        """Each column's share of the gain of all splits, (p,)."""
        return Ensemble(self.booster_, self.offset_).importances(self.n_features_in_)

    def cost_matrix_of(self, X: Array) -> np.ndarray:
        """Return the encoded features by which people of X are alike, (n, q)."""
        check_is_fitted(self)
        encoder = TableEncoder()
        encoder.columns_, encoder.n_features_in_ = self.columns_, self.n_features_in_
        if hasattr(self, "feature_names_in_"):
            encoder.feature_names_in_ = self.feature_names_in_
        return self._alike(encoder.transform(X))

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {k: v for k, v in state.items() if k != "_booster"}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def _check_settings(self) -> None:
        if self.booster not in BOOSTERS:
            raise ValueError(
                f"unknown booster {self.booster!r}; pass one of {', '.join(BOOSTERS)}."
            )
        check_ranges(
            self, ("alpha", "epsilon", "max_violation", "validation_fraction", "n_estimators")
        )
        check_params(self._more, self._get_param_names())
        self._objective()

    def _objective(self) -> OTFObjective:
        objective = OTFObjective(
            self.notion,
            self.alpha,
            self.epsilon,
            regularizer=self.regularizer,
            balance=self.balance,
        )
        objective.approach = min(objective.approach, 1 / learning_rate(self.booster, self._more))
        return objective

    def _begin(
        self, X: Array, y: Array, sensitive_features: Array, sample_weight: Array, needed: bool
    ) -> _Stage:
        """Read the data, and compute distances where a penalty is needed."""
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
        encoder = TableEncoder().fit(X, sample_weight=weight)
        encoded = encoder.transform(X)
        self.columns_, self.n_features_in_ = encoder.columns_, encoder.n_features_in_
        if hasattr(encoder, "feature_names_in_"):
            self.feature_names_in_ = encoder.feature_names_in_
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        raw, labels = tree_matrix(self, X, self.columns_), self._read_labels(y, len(encoded))
        kept, judged = split_people(self, labels)
        people = read_people(self.notion, sensitive_features, labels, weight, needed)
        data = TreeData(
            raw[kept],
            labels[kept],
            None if weight is None else weight[kept],
            is_category(self.columns_),
            [column.name for column in self.columns_],
        )
        objective, self.balance_ = None, 1.0
        if needed and people is not None:
            alike = self._alike(encoded[kept])
            trained, geometry = people.take(kept), self.geometry
            if geometry is None:
                geometry = cloud(alike, trained.weight, "euclidean", "max")
            objective = self._objective().fit_people(trained, labels[kept], geometry)
            if self.balance == "auto":
                objective.balance_by(encoded[kept])
            self.balance_ = objective.balance_
        judge = None if people is None else ViolationOf(people.take(judged))
        seed = self.random_state
        if seed is not None and not isinstance(seed, Integral):
            seed = check_random_state(seed).randint(2**31 - 1)
        return _Stage(data, objective, raw[judged], judge, None if seed is None else int(seed))

    def _read_labels(self, y: Array, n: int) -> np.ndarray:
        """Return the labels as 0 and 1, (n,); sets `classes_`."""
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y "
                "is None."
            )
        y = _check_y(y, estimator=self)
        check_classification_targets(y)
        same_length("y", len(y), n, "X")
        return two_classes(self, y)

    def _alike(self, encoded: np.ndarray) -> np.ndarray:
        """Return those of encoded features that are `cost_features`, (n, q)."""
        if self.cost_features is None:
            return encoded
        return encoded[:, encoded_columns(self.cost_features, self.columns_)]

    def _train(self, stage: _Stage, alpha: float) -> _Trained:
        params = dict(self._more)
        if self.n_jobs is not None:
            params["n_jobs"] = self.n_jobs
        if stage.seed is not None:
            params["random_state"] = stage.seed
        objective = stage.objective if alpha else None
        if objective is not None:
            objective.reset().alpha = alpha
        model = train(self.booster, stage.data, self.n_estimators, params, objective)
        return _Trained(float(alpha), model, [] if objective is None else objective.history_)

    def _keep(self, trained: _Trained, stage: _Stage) -> Self:
        """Set the fitted attributes."""
        model, self.alpha_, self.history_ = trained.model, trained.alpha, trained.history
        self._booster, self.offset_ = model.booster, model.offset
        self.model_text_ = to_text(model.booster)
        self.violation_, self.n_iter_ = stage.violation(model), self.n_estimators
        return self
