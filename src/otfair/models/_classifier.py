"""A scikit-learn classifier that is trained to be fair and good.

The objective is (1 - alpha) (cross-entropy + ridge) + alpha penalty, means over people, where the
penalty is balanced so that alpha means the same for every dataset (docs/training.md).
"""

from __future__ import annotations

import copy
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils.validation import validate_data
from torch import nn

from otfair._io.arrays import Array
from otfair._io.checks import check_classes, check_shapes, check_width, require
from otfair._io.settings import as_real
from otfair.distributed import is_dask
from otfair.geometry import Cost, CostFunction, Geometry, Scale
from otfair.losses import FairnessLoss, OTFLoss, as_loss
from otfair.metrics import ViolationOf, criterion_of
from otfair.models._balance import Balance
from otfair.models._base import STORED_TYPES, Data, FairClassifier, Stage, check_outcome
from otfair.models._lbfgs import WINDOW
from otfair.models._parted_data import PartedData, read_parted
from otfair.models._parted_training import PartedTraining
from otfair.models._training import RESIDUAL, Line, Network, Training
from otfair.models._trust import doubt_losses, doubt_spread, warn_of
from otfair.models._validation import (
    check_settings,
    chosen_columns,
    chosen_weigh,
    detached,
    read_people,
    read_training_data,
    set_balance,
)
from otfair.notions import Notion, Weigh, as_notion

DRAWING = threading.RLock()
ROWS = 4096  # of the people, whose squares are summed at once
STEP_BACK = 0.05  # of the way to the free model: a warm start is taken off the kink it is on


@dataclass(frozen=True, kw_only=True)
class _Stage(Stage):
    training: Training
    line: Line  # the logistic regression without penalty, or `init`
    seed: int  # of whatever is random, the same at every strength


class OTFClassifier(FairClassifier):
    """Binary classifier with a fairness penalty; predicting never needs the sensitive features.

    Parameters
    ----------
    notion : Notion or str, default="demographic_parity"
        The fairness notion, or its name.
    alpha : float, default=0.5
        Weight of fairness, from 0 (none) to 1 (nothing else); 1/2 about halves the violation of a
        logistic regression in dataset mode.
    epsilon : float, default=1e-3
        Smoothing of the OTF cost.
    regularizer : {"otf", "norm", "correlation", "barycenter"} or FairnessLoss, default="otf"
        The penalty: its name, or a loss of this library made for `notion`.
    bounded : bool, default=False
        Whether no person may receive more than a score of one in the transport of OTF, as for
        `OTFLoss`.
    weigh : {"people", "attributes", "groups"}, default=None
        One penalty for all sensitive columns; or the sum of one for each attribute, or for each
        group against the others, with factors found by `balance`, so that small and near groups are
        heard. By default "attributes" for OTF and several attributes, else "people".
    max_violation : float or dict, default=None
        Overrides `alpha`: the weakest regularisation with which the violation stays below this
        among new people, as people kept out of training judge; docs/training.md says what is
        promised. Where none does, a `LimitWarning` says by how much. A dict has a limit for each
        attribute that it names, such as ``{"sex": 0.05, "race": 0.1}``; all are to be met at once.
    criterion : {"correlation", "difference"}, default="correlation"
        What a violation is: the largest correlation of score and group (the paper's), or the
        largest difference between two groups' mean scores, which sees small groups.
    confidence : float, default=0.9
        With which `max_violation` is to hold among new people; 0 is without a margin.
    new_people : float or int, default=1/3
        How many new people: a share of those who judge, or, above 1, a number. Infinity speaks of
        the population.
    cv : int or splitter, default=5
        Folds by which `max_violation` is judged: each person by a model trained on the others. The
        model that is kept is trained on all.
    validation_fraction : float, default=0.0
        Share of the rows that judge `max_violation` in place of folds: quicker, and less sure. They
        are not trained on.
    C : float or None, default=0.1
        Inverse of the ridge's strength, as for scikit-learn's `LogisticRegression`: next to the
        mean loss of n people, ``1 / (C n)`` times half the squared length of the weights, as they
        are for standardised features, the intercept apart. Smaller is stronger; None or infinity
        is without. A `module` is trained without it.
    balance : "auto", float or dict, default="auto"
        The penalty's factor, or one for each attribute or group that is weighed; docs/training.md
        says how it is found.
    solver : {"lbfgs", "adam"}, default="lbfgs"
        On all rows at once, or on mini-batches; a `module` is trained by Adam.
    module : torch.nn.Module or callable, default=None
        A torch module, or a function of the number of features that makes one. By default a
        logistic regression.
    mode : {"dataset", "batch"}, default="dataset"
        Whether score may go to any training person, or stays in the mini-batch, as in the paper
        (Adam only): no distances beforehand, but some in every step.
    init : estimator, default=None
        A trained linear classifier (with `coef_` and `intercept_`) to go on from. With alpha = 1
        this is post-processing: it moves towards fairness and forgets the labels. A trained
        `module` is gone on from as it is.
    standardize : bool, default=True
        Whether to bring features to mean 0 and variance 1 first.
    cost_features : str, int, or list of str, int or bool, default=None
        Names, positions or a mask of the columns by which people are alike; all by default. The
        name of a column from before `TableEncoder` stands for all that came of it.
    cost : str, callable or Cost, default="euclidean"
        What it costs to move score between two people, as for `PointCloud`.
    scale : {"max", "mean", "median"}, float or None, default="max"
        What costs are divided by, as for `PointCloud`. An `OTFLoss` as `regularizer` has its own.
    geometry : Geometry, default=None
        Who is like whom among the training people, in place of these three.
    receivers : int, default=None
        How many of the training people may receive score, next to each person themselves. Fewer
        than all are a sample, drawn by type, and `receivers_` says what that does. By default all
        where that takes at most 1e10 comparisons of two people, and else the largest power of two
        below 1e10 / n: docs/training.md.
    max_iter, tol : int and float, default=500, 1e-6
        Iterations of a search by L-BFGS, and the relative decrease over ten of them that ends it.
        The norm takes five searches, each from where the last ended.
    epochs, batch_size, learning_rate : int, int and float, default=100, 1000, 1e-3
        Of Adam; a batch is of that many rows.
    random_state : int, RandomState or None, default=None
        Seed of batches, of folds and of the validation share; folds are the same without one.
    verbose : bool, default=False
        Whether to show progress.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Labels, the positive one last.
    coef_, intercept_ : ndarray of shape (1, n_features) and (1,)
        Weights of the logistic regression.
    module_ : torch.nn.Module
        The trained module, if one was given.
    alpha_ : float
        The weight of fairness that was used.
    balance_ : float or dict
        The penalty's factor, 1 where there is none; where attributes or groups are weighed, that of
        each.
    violation_, violation_bound_ : float
        The violation as people kept out of training judge it, and what it stays below among new
        people. With an `alpha` of your own the training people judge, and the bound is infinite;
        the violation is 0 without sensitive features. Where attributes have limits of their own,
        each counts by the largest limit over its own, and `judgement_.violations` has them apart.
    judgement_ : Judgement
        Both, with the criterion, who judged, and whether `max_violation` is met; its text says so.
    search_ : list of dict
        The strengths that were tried for `max_violation`, and how each was judged.
    n_missing_sensitive_ : int
        People who lacked a sensitive value: they were learnt from, without a part in fairness.
    receivers_ : dict or None
        How many `people` may receive score `of` how many and, where they are a sample, the `ratio`
        of the penalty to that with all as receivers, with the ends of its 95 % interval, `low` and
        `high`. None without a penalty that moves score.
    n_iter_ : int
        Iterations of all searches, or epochs.
    converged_ : bool
        Whether the decrease became small in the last search.
    history_ : list of dict
        One for each iteration or epoch: alpha, loss, penalty, and violation on the training
        people (their correlation); after a search by `validation_fraction` those of all strengths,
        the chosen one last.

    Examples
    --------
    >>> import otfair
    >>> data = otfair.load_dataset("synthetic", n=800)
    >>> X, sex = otfair.TableEncoder().fit_transform(data.X), data.sensitive_features[["sex"]]
    >>> unfair = otfair.OTFClassifier(alpha=0).fit(X, data.y, sensitive_features=sex)
    >>> fair = otfair.OTFClassifier(alpha=0.7).fit(X, data.y, sensitive_features=sex)
    >>> bool(fair.violation_ < 0.3 * unfair.violation_)
    True
    """

    _fitted = (
        "n_features_in_", "feature_names_in_", "classes_", "coef_", "intercept_", "module_",
        "_mean", "_spread", "alpha_", "balance_", "violation_", "violation_bound_", "judgement_",
        "search_", "n_iter_", "converged_", "history_", "n_missing_sensitive_",
        "receivers_",
    )  # fmt: skip
    _stored_types: ClassVar = STORED_TYPES
    _learnt = ("classes_", "n_features_in_", "feature_names_in_", "_mean", "_spread")
    _shared = ("geometry", "init")  # a clone of `init` would not be trained

    def __init__(
        self,
        notion: Notion | str = "demographic_parity",
        alpha: float = 0.5,
        epsilon: float = 1e-3,
        regularizer: str | FairnessLoss = "otf",
        *,
        bounded: bool = False,
        weigh: str | None = None,
        max_violation: float | Mapping[str, float] | None = None,
        criterion: str = "correlation",
        confidence: float = 0.9,
        new_people: float = 1 / 3,
        cv: Any = 5,
        validation_fraction: float = 0.0,
        C: float | None = 0.1,
        balance: str | float | Mapping[str, float] = "auto",
        solver: str = "lbfgs",
        module: nn.Module | Callable[[int], nn.Module] | None = None,
        mode: str = "dataset",
        init: Any = None,
        standardize: bool = True,
        cost_features: Any = None,
        cost: str | CostFunction | Cost = "euclidean",
        scale: Scale = "max",
        geometry: Geometry | None = None,
        receivers: int | None = None,
        max_iter: int = 500,
        tol: float = 1e-6,
        epochs: int = 100,
        batch_size: int = 1000,
        learning_rate: float = 1e-3,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.notion, self.alpha, self.epsilon = notion, alpha, epsilon
        self.regularizer, self.weigh, self.balance, self.C = regularizer, weigh, balance, C
        self.bounded = bounded
        self.max_violation, self.criterion, self.confidence = max_violation, criterion, confidence
        self.new_people, self.cv, self.validation_fraction = new_people, cv, validation_fraction
        self.solver, self.module, self.mode, self.init = solver, module, mode, init
        self.standardize, self.cost_features = standardize, cost_features
        self.cost, self.scale, self.geometry = cost, scale, geometry
        self.receivers = receivers
        self.max_iter, self.tol = max_iter, tol
        self.epochs, self.batch_size, self.learning_rate = epochs, batch_size, learning_rate
        self.random_state, self.verbose = random_state, verbose

    @property
    def _by_adam(self) -> bool:
        return self.solver == "adam" or self.module is not None

    @staticmethod
    def _check_fitted(state: Any) -> None:
        width = check_width(state)
        check_classes(state)
        check_outcome(state)
        check_shapes(state, _mean=(width,), _spread=(width,))
        require(bool((state._spread > 0).all()), "a feature is divided by nothing")
        if hasattr(state, "module_"):
            require(isinstance(state.module_, dict), "module_ holds no weights")
        else:
            check_shapes(state, coef_=(1, width), intercept_=(1,))

    _check_settings = check_settings

    def _prepare(
        self, X: Array, y: Array, sensitive_features: Array, sample_weight: Array, penalize: bool
    ) -> Data:
        """Read and scale the data, and measure who is like whom."""
        if is_dask(X):
            return read_parted(self, X, y, sensitive_features, sample_weight, penalize)
        X, labels, weight = read_training_data(self, X, y, sample_weight)
        weighted = None if sample_weight is None else weight
        people = read_people(self.notion, sensitive_features, labels, weighted, penalize)
        self._learn_scale(X, weight)
        Z, geometry, seed = self._scaled(X), None, None
        if penalize and people is not None and self.mode == "dataset":
            loss = self._loss()
            if isinstance(loss, OTFLoss):
                geometry = self._geometry(Z, people, loss.cost, loss.scale, loss.epsilon)
        if self._by_adam:
            seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        return Data(
            seen=Z, encoded=Z, labels=labels, weight=weight, people=people, geometry=geometry,
            seed=seed,
        )  # fmt: skip

    def _begin(self, data: Data, penalize: bool) -> _Stage:
        """Make the penalty, and train without it."""
        training = self._training(data)
        if data.people is not None:
            training.violation_of = criterion_of(ViolationOf.name, data.people)
            if penalize:
                training.loss = self._fitted_loss(training, data)
        if self.init is None:
            line = training.descend(0.0, max_iter=self.max_iter, tol=self.tol)
        else:
            line = Line(self._given())
        if training.loss is None or isinstance(self.balance, str):
            balance: Balance = training.balance(line, max_iter=self.max_iter, tol=self.tol)
        else:
            assert data.people is not None  # as there is a penalty
            balance = set_balance(training.loss, self.balance, data.people)
        start = None if self._by_adam else line
        seed = data.seed or 0
        return _Stage(start=start, balance=balance, training=training, line=line, seed=seed)

    def _training(self, data: Data) -> Training:
        inverse = 1 / (as_real(self.C) or np.inf)
        if isinstance(data, PartedData):
            return PartedTraining.of(data, inverse, self.verbose)
        assert data.weight is not None
        share, ridge = data.weight / data.weight.mean(), inverse / data.weight.sum()
        return Training(data.seen, data.labels, share, verbose=self.verbose, ridge=ridge)

    def _train(self, stage: _Stage, alpha: float, start: Line | Network | None) -> Line | Network:
        if not isinstance(start, Line):
            return self._train_module(stage, alpha)
        if not alpha and self.init is None:
            return stage.line
        if not isinstance(stage.balance, dict) or not alpha or self.balance != "auto":
            return self._descend(stage, alpha, start)
        return stage.training.even(
            stage.line, lambda: self._descend(stage, alpha, start), stage.balance, None
        )

    def _descend(self, stage: _Stage, alpha: float, start: Line) -> Line:
        free = stage.line
        settings: dict[str, Any] = {"max_iter": self.max_iter, "tol": self.tol}
        begin = start.weights + STEP_BACK * (free.weights - start.weights)
        warm = stage.training.descend(alpha, begin, **settings)
        many_kinks = stage.training.loss is not None and bool(stage.training.loss.widths)
        if start is free or not (many_kinks or warm.stuck or warm.iterations <= WINDOW):
            return warm
        # A warm start may be on a kink, surely if it ended at once; a cold one may lead lower.
        cold = stage.training.descend(alpha, free.weights, **settings)
        return cold if cold.value < warm.value else warm

    def _train_module(self, stage: _Stage, alpha: float) -> Network:
        width = stage.training.X.shape[1]
        # Modules draw from the generator of the whole process: one thread at a time.
        with DRAWING, torch.random.fork_rng(devices=[]):
            torch.manual_seed(stage.seed)
            if isinstance(self.module, nn.Module):
                module = copy.deepcopy(self.module)
            else:
                module = nn.Linear(width, 1) if self.module is None else self.module(width)
            if self.module is None and self.init is not None:
                given = torch.from_numpy(stage.line.weights).to(torch.float32)
                module.load_state_dict({"weight": given[None, :-1], "bias": given[-1:]})
            loop = {"epochs": self.epochs, "batch_size": self.batch_size, "seed": stage.seed}
            line = next(module.parameters()) if self.module is None else None  # its weights
            return stage.training.adam(module, alpha, rate=self.learning_rate, line=line, **loop)

    def _keep(self, chosen: Line | Network, tried: Sequence[Line | Network]) -> None:
        others = [record for model in tried if model is not chosen for record in model.history]
        self.history_ = [*others, *chosen.history]
        self.n_iter_, self.converged_ = max(1, chosen.iterations), chosen.converged
        if isinstance(chosen, Line) and chosen.balance is not None:
            self.balance_ = chosen.balance
        for name in ("module_", "coef_", "intercept_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        if isinstance(chosen, Line):
            weights = chosen.weights
            if not chosen.converged:
                warnings.warn(
                    f"training stopped after {self.max_iter} iterations before the objective "
                    "settled; raise `max_iter` or `tol`.",
                    ConvergenceWarning,
                    stacklevel=3,  # where `fit` was called
                )
        elif self.module is not None:
            self.module_ = chosen.module
            return
        else:
            weights = np.concatenate(
                [p.detach().double().numpy().reshape(-1) for p in chosen.module.parameters()]
            )
        self.coef_ = (weights[:-1] / self._spread)[None]
        self.intercept_ = np.array([weights[-1] - weights[:-1] @ (self._mean / self._spread)])

    def _doubt(self, stage: _Stage, chosen: Line | Network) -> None:
        """Warn where a line is worse than the base rate, or its scores are all alike."""
        if not isinstance(chosen, Line) or self.alpha_ == 1:  # which forgets the labels
            return
        t, alike, worse = stage.training, "", ""
        if self.alpha_ and self.init is None:
            alike = doubt_spread(t.some_scores(chosen), t.some_scores(stage.line), self.alpha_)
        if (losses := t.left_out(chosen)) is not None:
            smaller = (
                "Set `C`, such as 0.1" if self.C is None else f"Set `C` below {as_real(self.C):g}"
            )
            remedy = f"{smaller}, use fewer features, or ask for less fairness."
            worse = doubt_losses(losses, "the training people, each left out in turn,", remedy)
        warn_of(alike, worse, stacklevel=3)  # where `fit` was called

    def _logits(self, X: Array) -> np.ndarray:
        X = self._read(X)
        if hasattr(self, "module_"):
            return Network(self.module_).logits(self._scaled(X))
        return np.asarray(X @ self.coef_[0] + self.intercept_[0])

    def _read(self, X: Array) -> np.ndarray:
        return np.asarray(validate_data(self, detached(X), dtype=np.float64, reset=False))

    def _encoded(self, X: Array) -> np.ndarray:
        return self._scaled(self._read(X))

    def _cost_columns(self) -> list[int]:
        names, own = getattr(self, "feature_names_in_", ()), range(self.n_features_in_)
        return chosen_columns(self.cost_features, names, [[j] for j in own])

    def _learn_scale(self, X: np.ndarray, weight: np.ndarray) -> None:
        share = weight / weight.sum()
        mean = share @ X
        with np.errstate(over="ignore", under="ignore"):  # some at a time: no copy of all
            squares = (share[b] @ (X[b] - mean) ** 2 for b in gen_batches(len(X), ROWS))
            spread = np.sqrt(sum(squares))
        self._set_scale(mean, spread, X.min(0), X.max(0))

    def _set_scale(
        self, mean: np.ndarray, spread: np.ndarray, low: np.ndarray, high: np.ndarray
    ) -> None:
        """Take means, standard deviations and ends of features, (p,) each, to scale them by."""
        self._mean, self._spread = np.zeros(len(mean)), np.ones(len(mean))
        if self.standardize:
            lost = ~np.isfinite(spread) | ((spread == 0) & (high > low) & (high - low < 1e-150))
            if lost.any():
                j = int(lost.argmax())
                raise ValueError(
                    f"the squares of the features overflow or vanish, as in column {j} with values "
                    f"from {low[j]:.3g} to {high[j]:.3g}; rescale them."
                )
            constant = spread <= 1e-12 * np.maximum(np.abs(low), np.abs(high))
            self._mean, self._spread = mean, np.where(constant, 1.0, spread)

    def _scaled(self, X: np.ndarray) -> np.ndarray:
        scaled = np.asarray(X - self._mean)
        scaled /= self._spread
        return scaled

    def _given(self) -> np.ndarray:
        """Weights of the classifier `init` for scaled features, its intercept last."""
        coef, bias = (np.asarray(getattr(self.init, f"{n}_", ())) for n in ("coef", "intercept"))
        if coef.size != self.n_features_in_ or bias.size != 1:
            raise ValueError(
                f"`init` must be a trained linear classifier with {self.n_features_in_} weights in "
                f"`coef_` and one `intercept_`; received {self.init!r}. Networks go in `module`; "
                "for grid searches wrap `init` in FrozenEstimator, as clones forget a fit."
            )
        coef = coef.reshape(-1)
        return np.append(coef * self._spread, float(bias.reshape(-1)[0]) + coef @ self._mean)

    def _loss(self, weigh: Weigh = "people") -> FairnessLoss:
        """Return the penalty, which knows nobody yet."""
        if not isinstance(self.regularizer, FairnessLoss):
            how: dict[str, Any] = {"cost": self.cost, "scale": self.scale, "tol": RESIDUAL}
            how |= {"epsilon": self.epsilon, "bounded": self.bounded}
            return as_loss(self.regularizer, self.notion, weigh, **how)
        loss = copy.deepcopy(self.regularizer)
        if loss.notion != as_notion(self.notion):
            raise ValueError(
                f"`regularizer` was made for {loss.notion!r}, but `notion` is {self.notion!r}; "
                "pass the same to both."
            )
        return loss

    def _fitted_loss(self, training: Training, data: Data) -> FairnessLoss:
        """Return the penalty, fitted to the people of a training."""
        people = data.people
        assert people is not None
        loss = self._loss(chosen_weigh(self.weigh, self.regularizer, people))
        if not isinstance(loss, OTFLoss):
            return loss.fit_people(people)
        if loss.solver != "newton" and not self._by_adam:
            loss.warm_start = False  # or else the objective would change from call to call
        if self.mode == "batch":
            training.batches = (self._chosen(training.X), people)
            return loss
        return loss.fit_people(people, data.geometry)
