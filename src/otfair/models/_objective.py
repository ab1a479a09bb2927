"""OTF as an objective of stock gradient boosters: XGBoost, LightGBM and their scikit-learn classes.

Maths: docs/boosting.md. A round costs one evaluation of the penalty's gradient, O(people x types);
the second-order term is the cross-entropy's own, and the penalty's force is held back in its place.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from otfair._io.arrays import Array, check_weight
from otfair.geometry import Cost, CostFunction, Geometry, PointCloud, Scale
from otfair.losses import OTFLoss, cloud, loss_class
from otfair.metrics import ViolationOf
from otfair.models._boosted_people import Population, read_call, same_people
from otfair.models._training import Training
from otfair.notions import Notion, People, as_notion
from otfair.tables import binary_labels

APPROACH = 3.0  # of the penalty that a full step may undo, as linearised; a round takes a share
MEMORY = 0.3  # of that force which stays for the rounds to come
FADE = 0.9  # of the longest force allowed, which is allowed still in the next round
RESIDUAL = 1e-5  # of the penalty's solver: a round is far from exact anyway
LOWEST = 1e-16  # second-order term of a person, as in XGBoost
METRICS = ("objective", "violation", "penalty", "auc")
_UNSET: Any = object()


class OTFObjective:
    """Cross-entropy plus the OTF penalty, as the objective of a stock booster.

    After `fit` it is a function that gives the first- and second-order terms of

        cross-entropy + alpha / (1 - alpha) * balance * penalty

    to whoever calls it: ``xgboost.train(params, data, obj=objective)``,
    ``XGBClassifier(objective=objective)``, ``lightgbm.train({"objective": objective}, data)`` or
    ``LGBMClassifier(objective=objective)``. The booster's rows must be the people of `fit`, in
    their order. It remembers the force of past rounds, and forgets it where all scores are equal,
    which is how training begins; call `reset` before training from other scores, and train one
    booster at a time. LightGBM copies the objects among its parameters: pass
    ``lambda margins, rows: objective(margins, rows)`` to see `history_` afterwards.

    Boosters with an objective of one's own do not know where to start. For predictions as without
    it, pass ``base_score=objective.base_score`` to XGBoost with
    ``{"objective": "binary:logistic"}``; to LightGBM pass ``init_score=objective.init_score`` with
    the data, and add ``objective.init_score[0]`` to what it predicts.

    Parameters
    ----------
    notion : a `Notion` or its name.
    alpha : weight of fairness, from 0 (none) to 1 (nothing else).
    epsilon : smoothing of the OTF cost.
    regularizer : "otf", "norm" or "barycenter".
    balance : the penalty's factor. "auto" is that of the logistic regression on `fit`'s features,
        with which alpha = 1/2 halves the violation (docs/training.md).
    cost, scale : as for `PointCloud`.

    Attributes
    ----------
    balance_ : the penalty's factor.
    base_score, init_score : where boosting starts: share of positives, and its logit, (n,).
    approach : of the penalty that a full step may undo, 3 by default; at learning rates above 1/3
        take 1 over the rate (docs/boosting.md).
    history_ : the penalty, a mean over people, of each round.

    Examples
    --------
    >>> import otfair, xgboost
    >>> data = otfair.load_dataset("synthetic", n=500)
    >>> X, sex = otfair.TableEncoder().fit_transform(data.X), data.sensitive_features["sex"]
    >>> objective = otfair.OTFObjective("demographic_parity", alpha=0.9).fit(X, sex, data.y)
    >>> params = {"objective": "binary:logistic", "base_score": objective.base_score, "nthread": 1}
    >>> rows = xgboost.DMatrix(X, data.y)
    >>> free = xgboost.train(params, rows, 20).predict(rows)
    >>> fair = xgboost.train(params, rows, 20, obj=objective).predict(rows)
    >>> bool(otfair.pdp_violation(fair, sex) < 0.3 * otfair.pdp_violation(free, sex))
    True
    """

    def __init__(
        self,
        notion: Notion | str = "demographic_parity",
        alpha: float = 0.5,
        epsilon: float = 1e-3,
        *,
        regularizer: str = "otf",
        balance: str | float = "auto",
        cost: str | CostFunction | Cost = "euclidean",
        scale: Scale = "max",
    ) -> None:
        loss_class(regularizer)
        if not _positive(epsilon):
            raise ValueError(f"`epsilon` must be positive and finite; received {epsilon!r}.")
        if balance != "auto" and not _positive(balance):
            raise ValueError(
                f'`balance` must be "auto" or a positive number; received {balance!r}.'
            )
        self.alpha = alpha
        self.notion, self.epsilon = as_notion(notion), epsilon
        self.regularizer, self.balance = regularizer, balance
        self.cost, self.scale = cost, scale
        self.approach = APPROACH
        self._populations: list[Population] = []
        self.reset()

    @property
    def alpha(self) -> float:
        """Weight of fairness, from 0 (none) to 1 (nothing else)."""
        return self._alpha

    @alpha.setter
    def alpha(self, value: float) -> None:
        if value != 0 and not (_positive(value) and float(value) <= 1):
            raise ValueError(f"`alpha` must lie in [0, 1]; received {value!r}.")
        self._alpha = float(value)

    def fit(
        self,
        X: Array,
        sensitive_features: Array,
        labels: Array,
        sample_weight: Array = None,
        *,
        geometry: Geometry | None = None,
    ) -> Self:
        """Take the training people, and compute their soft distances, once.

        Parameters
        ----------
        X : (n, p) numeric features by which people are alike, such as `TableEncoder` gives.
        sensitive_features : one or many columns.
        labels : (n,) zeros and ones.
        sample_weight : (n,); a weight w is w copies. Boosters must not apply it once more: they
            leave the terms of an objective of one's own as they are.
        geometry : who is like whom, in place of X.
        """
        if X is None and (geometry is None or self.balance == "auto"):
            raise ValueError(
                '`X` is missing. It says who is like whom, and `balance="auto"` trains a logistic '
                "regression on it; with a `geometry`, pass a number for `balance`."
            )
        people = self.notion.people(sensitive_features, labels, sample_weight)
        y = binary_labels(labels, len(people.types), "OTFObjective")
        if geometry is None and loss_class(self.regularizer).needs_features:
            geometry = cloud(X, people.weight, self.cost, self.scale)
        self.fit_people(people, y, geometry)
        if self.balance == "auto":
            self.balance_by(np.asarray(X, dtype=np.float64))
        return self

    def fit_people(self, people: People, labels: np.ndarray, geometry: Geometry | None) -> Self:
        """Take training people whom a notion has typed already; "auto" is then a balance of 1."""
        self._populations = [self._population(people, labels, geometry)]
        self.balance_ = 1.0 if self.balance == "auto" else float(self.balance)
        return self.reset()

    def balance_by(self, X: np.ndarray) -> float:
        """Set the balance to that of the logistic regression on features X, (n, p); returns it."""
        p = self._train
        people = Training(X, p.labels, p.weight / p.weight.mean(), p.loss, p.violation)
        free = people.descend(0.0, max_iter=100, tol=1e-5)
        self.balance_ = people.balance(free, max_iter=50, tol=1e-5)
        p.loss.balance.fill_(1.0)
        return self.balance_

    def watch(
        self, X: Array, sensitive_features: Array, labels: Array, sample_weight: Array = None
    ) -> Self:
        """Take people of another dataset, such as a validation set, for `metric` to speak of.

        Costs among them are in units of the training people's. Boosters tell datasets by labels
        alone, so no two may have the same.
        """
        train = self._train
        people = self.notion.people(sensitive_features, labels, sample_weight)
        y = binary_labels(labels, len(people.types), "OTFObjective")
        if any(np.array_equal(p.labels, y) for p in self._populations):
            raise ValueError(
                "these people have the labels of others that are watched, or trained on, in the "
                "same order, and boosters tell datasets by nothing else; watch other people."
            )
        alike = None
        if isinstance(train.loss, OTFLoss) and train.loss._geometry is not None:
            alike = PointCloud(X, cost=self.cost, scale=train.loss._geometry.scale_)
        self._populations.append(self._population(people, y, alike))
        return self

    def reset(self) -> Self:
        """Forget the force of past rounds, as before training anew."""
        self.history_: list[float] = []
        self._force: np.ndarray | None = None
        self._most = 0.0
        for p in self._populations:
            if isinstance(p.loss, OTFLoss):
                p.loss.forget()  # so that training again takes the same way
        return self

    def metric(self, name: str) -> BoosterMetric:
        """Return an evaluation metric, for training people and those of `watch`.

        Parameters
        ----------
        name : "objective" (what is minimised, a mean over people), "violation", "penalty" (the OTF
            cost a person, or another regularizer) or "auc".
        """
        return BoosterMetric(self, name)

    def __call__(
        self, first: Any, second: Any, sample_weight: Any = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the first- and second-order terms, (n,) each, by any booster's convention.

        Parameters
        ----------
        first, second : margins and the booster's dataset, or labels and margins.
        sample_weight : not used but checked: the weights are those of `fit`.
        """
        labels, margins, given = read_call(first, second, sample_weight)
        p = self._train
        same_people(p, labels, margins, given)
        h = expit(margins)
        second_order = np.maximum(h * (1 - h), LOWEST) * p.weight
        own = 1.0 if self.alpha < 1 else 0.0  # of the cross-entropy
        first_order = own * p.weight * (h - p.labels)
        if self.alpha:
            force = self._next_force(p, h, second_order)
            first_order = first_order + second_order * force
        return first_order, second_order

    @property
    def base_score(self) -> float:
        """Share of positives among the training people: where XGBoost starts."""
        p = self._train
        share = float(p.weight @ p.labels / p.weight.sum())
        if not 0 < share < 1:
            raise ValueError(
                f"boosting has no score to start from: everybody who has weight has the label "
                f"{share:.0f}. Pass people of both labels, with `sample_weight` above 0."
            )
        return share

    @property
    def init_score(self) -> np.ndarray:
        """Its logit, once a person, (n,): where LightGBM starts."""
        share = self.base_score
        return np.full(len(self._train.labels), np.log(share) - np.log1p(-share))

    @property
    def strength(self) -> float:
        """Factor of the penalty where that of the cross-entropy is 1; infinite at alpha = 1."""
        if self.alpha == 1:
            return np.inf
        return float(self.alpha / (1 - self.alpha) * self.balance_)

    def _next_force(self, p: Population, h: np.ndarray, curvature: np.ndarray) -> np.ndarray:
        """Return what the penalty adds to each copy's slope, in units of its curvature, (n,)."""
        equal = np.ptp(h) <= 1e-12
        if equal or self._force is None:
            self.reset()
            self._force = np.zeros(len(h))
        value, slope = p.penalty(h)
        assert slope is not None
        self.history_.append(value / float(p.weight.sum()))
        size = float(curvature @ slope**2)
        if equal or not size > 0:  # fair: nothing pulls
            return self._force
        push = self.approach * max(value, 0.0) / size * slope
        # The slope vanishes where scores pass through fairness: what holds them there must not.
        self._most = max(self.strength * np.sqrt(size), FADE * self._most)
        force = _at_most(self._force + push, curvature, self._most)
        self._force = _at_most(self._force + MEMORY * push, curvature, self._most)
        return force

    @property
    def _train(self) -> Population:
        if not self._populations:
            raise ValueError("the objective has no people yet; call `fit` first.")
        return self._populations[0]

    def _population(
        self, people: People, labels: np.ndarray, geometry: Geometry | None
    ) -> Population:
        kind = loss_class(self.regularizer)
        loss = kind.from_settings(self.notion, epsilon=self.epsilon, tol=RESIDUAL)
        loss.fit_people(people, geometry)
        weight = check_weight(people.weight, len(labels)).cpu().numpy()
        return Population(labels, weight, loss, ViolationOf(people))


class BoosterMetric:
    """A metric of `OTFObjective.metric`, called by boosters to evaluate and to stop early."""

    def __init__(self, objective: OTFObjective, name: str) -> None:
        if name not in METRICS:
            raise ValueError(f"unknown metric {name!r}; pass one of {', '.join(METRICS)}.")
        self.objective, self.name = objective, name
        self.__name__ = name  # by which XGBoost's classifier calls it

    def __call__(
        self, first: Any, second: Any, weight: Any = _UNSET, sample_weight: Any = None
    ) -> Any:
        """Return the metric in the form that the booster who calls expects.

        Parameters
        ----------
        first, second : margins and the booster's dataset, or labels and margins.
        weight, sample_weight : not used: the weights are those of `fit` and `watch`. LightGBM's
            classifier passes both by position, which tells it from XGBoost's.
        """
        labels, margins, _ = read_call(first, second, None)
        value, best_is_high = self.value(labels, margins), self.name == "auc"
        if hasattr(second, "num_col"):  # a DMatrix
            return self.name, value
        if hasattr(second, "get_label") or weight is not _UNSET:
            return self.name, value, best_is_high
        return value

    def value(self, labels: np.ndarray, margins: np.ndarray) -> float:
        """Return the metric of the people who have these labels."""
        known = [self.objective._train, *self.objective._populations[1:]]
        found = [p for p in known if np.array_equal(p.labels, labels)]
        if not found:
            raise ValueError(
                f"the {len(labels)} people evaluated are not those of `fit`; name them first by "
                "`objective.watch(X, sensitive_features, labels)`, in the same order."
            )
        p, h = found[0], expit(margins)
        if self.name == "violation":
            return p.violation(h)
        if self.name == "auc":
            return float(roc_auc_score(p.labels, margins, sample_weight=p.weight))
        penalty = p.penalty(h, slope=False)[0] / float(p.weight.sum())
        if self.name == "penalty":
            return penalty
        alpha, balance = self.objective.alpha, self.objective.balance_
        each = np.logaddexp(0.0, margins) - p.labels * margins
        entropy = float(p.weight @ each / p.weight.sum())
        return (1 - alpha) * entropy + alpha * balance * penalty


def _positive(value: Any) -> bool:
    return isinstance(value, Real) and 0 < float(value) < np.inf


def _at_most(force: np.ndarray, curvature: np.ndarray, most: float) -> np.ndarray:
    """Shorten a force to a length, measured by the curvature."""
    length = float(np.sqrt(curvature @ force**2))
    return force * (most / length) if length > most else force
