"""OTF as an objective of stock gradient boosters: XGBoost, LightGBM and their scikit-learn classes.

Maths: docs/boosting.md. A round costs one evaluation of the penalty's gradient, O(people x types);
the second-order term is the cross-entropy's own, and the penalty's force is held back in its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from scipy.special import expit

from otfair._io.arrays import Array, check_weight
from otfair._io.processes import ALONE, Processes
from otfair.geometry import Cost, CostFunction, Geometry, PointCloud, Scale
from otfair.losses import OTFLoss, Share, as_loss, cloud, loss_class
from otfair.metrics import ViolationOf, criterion_of
from otfair.models._balance import Balance
from otfair.models._booster_metric import BoosterMetric, Population, read_call, same_people
from otfair.models._training import Training
from otfair.models._validation import (
    check_balance,
    check_bounded,
    check_number,
    chosen_weigh,
    set_balance,
)
from otfair.notions import Notion, People, as_notion, check_weigh, known_people
from otfair.tables import binary_labels
from otfair.tables import same_people as same_rows

APPROACH = 3.0  # of the penalty that a full step may undo, as linearised; a round takes a share
MEMORY = 0.3  # of that force which stays for the rounds to come
FADE = 0.9  # of the longest force allowed, which is allowed still in the next round
RESIDUAL = 1e-5  # of the penalty's solver: a round is far from exact anyway
LOWEST = 1e-16  # second-order term of a row, as in XGBoost


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
    notion : Notion or str, default="demographic_parity"
        The fairness notion, or its name.
    alpha, epsilon : float, default=0.5, 1e-3
        Weight of fairness, and smoothing of the OTF cost.
    regularizer : str, default="otf"
        The penalty's name, as for `OTFClassifier`.
    bounded : bool, default=False
        Whether no person may receive more than a score of one in the transport of OTF, as for
        `OTFLoss`.
    weigh : {"people", "attributes", "groups"}, default=None
        What the penalty is summed over, as for `OTFClassifier`.
    balance : "auto", float or dict, default="auto"
        The penalty's factor, or one for each attribute or group that is weighed. "auto" is that of
        the logistic regression on `fit`'s features, with which alpha = 1/2 halves the violation
        (docs/training.md).
    cost : str, callable or Cost, default="euclidean"
        What it costs to move score between two people, as for `PointCloud`.
    scale : {"max", "mean", "median"}, float or None, default="max"
        What costs are divided by, as for `PointCloud`.

    Attributes
    ----------
    balance_ : float or dict
        The penalty's factor; where attributes or groups are weighed, that of each.
    approach : float
        How much of the penalty, as linearised, a full step may undo: 3, of which a round takes a
        share. At learning rates above 1/3 take 1 over the rate (docs/boosting.md).
    history_ : list of float
        The penalty of each round, a mean over people.

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
        bounded: bool = False,
        weigh: str | None = None,
        balance: str | float | Mapping[str, float] = "auto",
        cost: str | CostFunction | Cost = "euclidean",
        scale: Scale = "max",
    ) -> None:
        loss_class(regularizer)
        check_number("epsilon", epsilon)
        check_balance(balance)
        check_weigh(weigh)
        check_bounded(bounded, regularizer)
        self.alpha = alpha
        self.notion, self.epsilon = as_notion(notion), epsilon
        self.regularizer, self.weigh, self.balance = regularizer, weigh, balance
        self.cost, self.scale, self.bounded = cost, scale, bounded
        self.approach = APPROACH
        self._populations: list[Population] = []
        self.reset()

    @property
    def alpha(self) -> float:
        """Weight of fairness, from 0 (none) to 1 (nothing else)."""
        return self._alpha

    @alpha.setter
    def alpha(self, value: float) -> None:
        check_number("alpha", value)
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
        X : array-like of shape (n_samples, n_features)
            Numeric features by which people are alike, such as `TableEncoder` gives.
        sensitive_features, labels : array-like or data frame
            One or many sensitive columns; zeros and ones. People who lack a sensitive value are
            learnt from, and have no part in the penalty.
        sample_weight : array-like of shape (n_samples,), default=None
            A weight w stands for w copies. Boosters must not apply it once more: they leave the
            terms of an objective of one's own as they are.
        geometry : Geometry, default=None
            Who is like whom, in place of X.

        Returns
        -------
        OTFObjective
            The objective itself.
        """
        if X is None and (geometry is None or self.balance == "auto"):
            raise ValueError(
                '`X` is missing. It says who is like whom, and `balance="auto"` trains a logistic '
                "regression on it; with a `geometry`, pass a number for `balance`."
            )
        same_rows({"X": X, "sensitive_features": sensitive_features, "labels": labels})
        people = known_people(self.notion, sensitive_features, labels, sample_weight)
        y = binary_labels(labels, len(people.types), "OTFObjective")
        if geometry is None and loss_class(self.regularizer).needs_features:
            geometry = cloud(X, people.weight, self.cost, self.scale)
        self.fit_people(people, y, geometry, sample_weight)
        if self.balance == "auto":
            self.balance_by(np.asarray(X, dtype=np.float64))
        return self

    def fit_people(
        self,
        people: People,
        labels: np.ndarray,
        geometry: Geometry | None,
        sample_weight: Array = None,
        share: Share | None = None,
    ) -> Self:
        """Take training people whom a notion has typed already.

        Parameters
        ----------
        people, labels, geometry : People, ndarray of shape (n_samples,), Geometry or None
            The people, by `Notion.people`, and who is like whom, where the penalty needs it.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights in the cross-entropy; in the penalty, those of the people count.
        share : Share, default=None
            Who is in the booster's rows, where several processes share the people.

        Returns
        -------
        OTFObjective
            The objective itself, whose balance is 1 where it is "auto", until `balance_by`.
        """
        self._populations = [self._population(people, labels, geometry, sample_weight, share)]
        self._settle(1.0)
        if not isinstance(self.balance, str):
            self._settle(set_balance(self._train.loss, self.balance, people))
        return self.reset()

    def _settle(self, balance: Balance) -> None:
        """Tell the balance; the training people's penalty keeps its parts' factors only."""
        self.balance_, loss = balance, self._train.loss
        self._balance = balance if isinstance(balance, float) else float(loss.balance)
        loss.balance.fill_(1.0)
        for other in self._populations[1:]:
            other.loss.factors = loss.factors

    def balance_by(self, X: np.ndarray) -> Balance:
        """Set the balance to that of the logistic regression on these features.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            Numeric features of the training people.

        Returns
        -------
        float or dict
            The balance, or that of each part.
        """
        p = self._train
        people = Training(X, p.labels, p.weight / p.weight.mean(), p.loss, p.violation)
        free = people.descend(0.0, max_iter=100, tol=1e-5)
        self._settle(people.balance(free, max_iter=50, tol=1e-5))
        return self.balance_

    def watch(
        self, X: Array, sensitive_features: Array, labels: Array, sample_weight: Array = None
    ) -> Self:
        """Take people of another dataset, such as a validation set, for `metric` to judge by.

        Costs among them are in units of the training people's. Boosters tell datasets by labels
        alone, so no two may have the same.

        Parameters
        ----------
        X, sensitive_features, labels, sample_weight : array-like
            As for `fit`.

        Returns
        -------
        OTFObjective
            The objective itself.
        """
        same_rows({"X": X, "sensitive_features": sensitive_features, "labels": labels})
        people = known_people(self.notion, sensitive_features, labels, sample_weight)
        y = binary_labels(labels, len(people.types), "OTFObjective")
        return self.watch_people(people, y, X, sample_weight)

    def watch_people(
        self,
        people: People,
        labels: np.ndarray,
        X: Array,
        sample_weight: Array = None,
        share: Share | None = None,
    ) -> Self:
        """Take people whom a notion has typed already, for `metric` to judge by.

        Parameters
        ----------
        people, labels : People and ndarray of shape (n_samples,)
            The people, by `Notion.people`, and zeros and ones.
        X : array-like of shape (n_samples, n_features)
            Numeric features by which people are alike, as for `fit`.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights in the cross-entropy; in the penalty, those of the people count.
        share : Share, default=None
            Who is in the booster's rows, where several processes share the people.

        Returns
        -------
        OTFObjective
            The objective itself.
        """
        train, y = self._train, labels
        if share is None and any(np.array_equal(p.labels, y) for p in self._populations):
            raise ValueError(
                "these people have the labels of others that are watched, or trained on, in the "
                "same order, and boosters tell datasets by nothing else; watch other people."
            )
        alike = None
        if isinstance(train.loss, OTFLoss) and train.loss._geometry is not None:
            alike = PointCloud(X, cost=self.cost, scale=train.loss._geometry.scale_)
        self._populations.append(self._population(people, y, alike, sample_weight, share))
        self._populations[-1].loss.factors = train.loss.factors
        return self

    def reset(self) -> Self:
        """Forget the force of past rounds, as before training anew.

        Returns
        -------
        OTFObjective
            The objective itself.
        """
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
        name : {"objective", "violation", "penalty", "auc"}
            What is minimised, as a mean over people; the violation of the notion; the OTF cost per
            person, or another regularizer; the area under the ROC curve.

        Returns
        -------
        BoosterMetric
            The metric, to be passed to a booster.
        """
        return BoosterMetric(self, name)

    def __call__(
        self, first: Any, second: Any, sample_weight: Any = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the first- and second-order terms, (n,) each, by any booster's convention.

        What comes in are margins and the booster's dataset, or labels and margins. The weights are
        not used but checked, as those of `fit` count.
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
        """The logit of `base_score` for each row, (n,): where LightGBM starts."""
        share = self.base_score
        return np.full(len(self._train.labels), np.log(share) - np.log1p(-share))

    @property
    def strength(self) -> float:
        """Factor of the penalty where that of the cross-entropy is 1; infinite at alpha = 1."""
        if self.alpha == 1:
            return np.inf
        return float(self.alpha / (1 - self.alpha) * self._balance)

    def _next_force(self, p: Population, h: np.ndarray, curvature: np.ndarray) -> np.ndarray:
        """Return what the penalty adds to each copy's slope, in units of its curvature, (n,)."""
        processes = p.processes
        highest, lowest = float(h.max(initial=0.0)), float(h.min(initial=1.0))
        equal = processes.max(highest) + processes.max(-lowest) <= 1e-12
        if equal or self._force is None:
            self.reset()
            self._force = np.zeros(len(h))
        value, slope = p.penalty(h)
        assert slope is not None
        self.history_.append(value / p.total)
        size = processes.total(float(curvature @ slope**2))
        if equal or not size > 0:  # fair: nothing pulls
            return self._force
        push = self.approach * max(value, 0.0) / size * slope
        # The slope vanishes where scores pass through fairness: what holds them there must not.
        self._most = max(self.strength * np.sqrt(size), FADE * self._most)
        force = _at_most(self._force + push, curvature, self._most, processes)
        kept = self._force + MEMORY * push
        self._force = _at_most(kept, curvature, self._most, processes)
        return force

    @property
    def _train(self) -> Population:
        if not self._populations:
            raise ValueError("the objective has no people yet; call `fit` first.")
        return self._populations[0]

    def _population(
        self,
        people: People,
        labels: np.ndarray,
        geometry: Geometry | None,
        sample_weight: Array,
        share: Share | None = None,
    ) -> Population:
        weigh = chosen_weigh(self.weigh, self.regularizer, people)
        how: dict[str, Any] = {"epsilon": self.epsilon, "bounded": self.bounded, "tol": RESIDUAL}
        loss = as_loss(self.regularizer, self.notion, weigh, **how)
        loss.fit_people(people, geometry, share)
        weight = check_weight(sample_weight, len(people.types)).cpu().numpy()
        violation = criterion_of(ViolationOf.name, people)
        if share is None:
            return Population(labels, weight, loss, violation)
        rows = share.rows.numpy()
        return Population(labels[rows], weight[rows], loss, violation, share.processes)


def _at_most(
    force: np.ndarray, curvature: np.ndarray, most: float, processes: Processes = ALONE
) -> np.ndarray:
    """Shorten a force to a length, measured by the curvature."""
    length = float(np.sqrt(processes.total(float(curvature @ force**2))))
    return force * (most / length) if length > most else force
