"""A scikit-learn classifier that is trained to be fair and good.

The objective is (1 - alpha) cross-entropy + alpha penalty, a mean over people, where the penalty is
balanced so that alpha means the same for every dataset (docs/training.md).
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, Self, cast

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import nn

from otfair._io.arrays import Array
from otfair._io.saved import SaveMixin, check_shapes, check_width, require
from otfair.geometry import Geometry
from otfair.losses import BarycenterLoss, FairnessLoss, NormLoss, OTFLoss, cloud
from otfair.metrics import ViolationOf
from otfair.models._binary import BinaryClassifier, all_or_nothing
from otfair.models._lbfgs import WINDOW, Minimum
from otfair.models._search import weakest_alpha
from otfair.models._training import RESIDUAL, Stage, Training, module_logits
from otfair.models._validation import (
    check_settings,
    chosen_columns,
    detached,
    read_people,
    read_training_data,
    split_people,
)
from otfair.notions import STORED_NOTIONS, Notion, People, as_notion

SETTLED = 1e-3  # relative decrease over ten epochs below which Adam has converged
ASIDE = 0.05  # how far a warm start is taken back towards the free model, off the kink it is on


class OTFClassifier(SaveMixin, BinaryClassifier, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Binary classifier with a fairness penalty; predicting never needs the sensitive features.

    Parameters
    ----------
    notion : a `Notion` or its name.
    alpha : weight of fairness, from 0 (none) to 1 (nothing else); 1/2 about halves the violation
        of a logistic regression in dataset mode.
    epsilon : smoothing of the OTF cost.
    regularizer : "otf", "norm" or "barycenter", or a loss of this library made for `notion`.
    max_violation : overrides `alpha`: the weakest regularisation whose violation on the training
        data (or on `validation_fraction` of it) is at most this.
    validation_fraction : share of the people kept out of training to judge `max_violation`.
    balance : "auto" (docs/training.md says how), or the penalty's factor.
    solver : "lbfgs" (everybody at once) or "adam" (mini-batches); a `module` is trained by Adam.
    module : a torch module, or a function of the number of features that makes one. By default a
        logistic regression.
    mode : "dataset", where score may go to any training person, or "batch", where it stays in the
        mini-batch, as in the paper (Adam only): no distances beforehand, but some in every step.
    init : a trained linear classifier (with `coef_` and `intercept_`) to go on from. With alpha = 1
        this is post-processing: it moves towards fairness and forgets the labels. A trained
        `module` is gone on from as it is.
    standardize : bring features to mean 0 and variance 1 first.
    cost_features : names, positions or a mask of the columns by which people are alike; all by
        default. The name of a column from before `TableEncoder` stands for all that came of it.
    geometry : who is like whom among the training people, in place of that.
    max_iter, tol : iterations of a search by L-BFGS, and the relative decrease over ten of them
        that ends it. The norm takes five searches, each from where the last ended.
    epochs, batch_size, learning_rate : of Adam.
    random_state : seed of batches, and of the validation share.
    verbose : show progress.

    Attributes
    ----------
    classes_ : (2,) labels, the positive one last.
    coef_, intercept_ : of the logistic regression, (1, p) and (1,).
    module_ : the trained module, if one was given.
    alpha_ : the weight of fairness that was used.
    balance_ : the penalty's factor, 1 where there is none.
    violation_ : on the training (or validation) people; 0 without sensitive features.
    n_iter_, converged_ : iterations of all searches (or epochs), and whether the decrease became
        small in the last.
    history_ : one dict an iteration or epoch: alpha, loss, penalty, violation; after a search for
        `max_violation` those of all strengths, the chosen one last.

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
        "_mean", "_spread", "alpha_", "balance_", "violation_", "n_iter_", "converged_", "history_",
    )  # fmt: skip
    _stored_types: ClassVar = STORED_NOTIONS

    def __init__(
        self,
        notion: Notion | str = "demographic_parity",
        alpha: float = 0.5,
        epsilon: float = 1e-3,
        regularizer: str | FairnessLoss = "otf",
        *,
        max_violation: float | None = None,
        validation_fraction: float = 0.0,
        balance: str | float = "auto",
        solver: str = "lbfgs",
        module: nn.Module | Callable[[int], nn.Module] | None = None,
        mode: str = "dataset",
        init: Any = None,
        standardize: bool = True,
        cost_features: Any = None,
        geometry: Geometry | None = None,
        max_iter: int = 500,
        tol: float = 1e-6,
        epochs: int = 100,
        batch_size: int = 1000,
        learning_rate: float = 1e-3,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.notion = notion
        self.alpha = alpha
        self.epsilon = epsilon
        self.regularizer = regularizer
        self.max_violation = max_violation
        self.validation_fraction = validation_fraction
        self.balance = balance
        self.solver = solver
        self.module = module
        self.mode = mode
        self.init = init
        self.standardize = standardize
        self.cost_features = cost_features
        self.geometry = geometry
        self.max_iter = max_iter
        self.tol = tol
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.random_state = random_state
        self.verbose = verbose

    @staticmethod
    def _check_fitted(state: Any) -> None:
        width = check_width(state)
        check_shapes(state, classes_=(2,), _mean=(width,), _spread=(width,))
        if hasattr(state, "module_"):
            require(isinstance(state.module_, dict), "module_ holds no weights")
        else:
            check_shapes(state, coef_=(1, width), intercept_=(1,))

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
        X : (n, p) numeric features.
        y : (n,) two classes.
        sensitive_features : one or many columns, needed unless `alpha` is 0.
        sample_weight : (n,), one by default.
        """
        check_settings(self)
        with all_or_nothing(self):
            stage = self._begin(X, y, sensitive_features, sample_weight)
            model: Minimum | nn.Module = stage.line
            self.alpha_ = float(self.alpha)
            if self.max_violation is not None:
                self.alpha_, model = weakest_alpha(
                    lambda alpha, near: self._train(stage, alpha, near),
                    stage.violation,
                    self._train(stage, 0.0, model) if self._by_adam else model,
                    self.max_violation,
                    verbose=self.verbose,
                )
            elif self._by_adam or self.alpha or self.init is not None:
                model = self._train(stage, self.alpha, model)
            self._keep(model, stage)
        return self

    def fit_path(
        self,
        X: Array,
        y: Array,
        sensitive_features: Array,
        alphas: Iterable[float],
        sample_weight: Array = None,
    ) -> Iterator[OTFClassifier]:
        """Yield one fitted classifier a strength, each trained from where the last one ended.

        Distances are computed once, so that this is much quicker than as many calls of `fit`. Adam
        starts anew at each strength.
        """
        first: OTFClassifier | None = None
        for alpha in alphas:
            fitted = clone(self).set_params(alpha=alpha, max_violation=None, init=self.init)
            check_settings(fitted)
            if first is None:
                stage = fitted._begin(X, y, sensitive_features, sample_weight, penalize=True)
                first, model = fitted, cast("Minimum | nn.Module", stage.line)
                free = stage.training.history
            else:
                fitted.__dict__ |= {**first.__dict__, "alpha": alpha}
            stage.training.history = []
            if fitted._by_adam or alpha or self.init is not None:
                model = fitted._train(stage, alpha, model)
            else:
                model, stage.training.history = stage.line, list(free)
            fitted.alpha_ = float(alpha)
            fitted._keep(model, stage)
            yield fitted

    def decision_function(self, X: Array) -> np.ndarray:
        """Return the logits of the positive class, (n,)."""
        check_is_fitted(self)
        X = validate_data(self, detached(X), dtype=np.float64, reset=False)
        if hasattr(self, "module_"):
            return module_logits(self.module_, self._scaled(X))
        return np.asarray(X @ self.coef_[0] + self.intercept_[0])

    def cost_matrix_of(self, X: Array) -> np.ndarray:
        """Return the scaled features by which people of X are alike, (n, q)."""
        check_is_fitted(self)
        X = validate_data(self, detached(X), dtype=np.float64, reset=False)
        return self._alike(self._scaled(X))

    @property
    def _by_adam(self) -> bool:
        return self.solver == "adam" or self.module is not None

    def _begin(
        self,
        X: Array,
        y: Array,
        sensitive_features: Array,
        sample_weight: Array,
        penalize: bool = False,
    ) -> Stage:
        """Read the data, make the penalty, and train without it."""
        X, labels, weight = read_training_data(self, X, y, sample_weight)
        kept, judged = split_people(self, labels)
        penalize = penalize or bool(self.alpha) or self.max_violation is not None
        weighted = None if sample_weight is None else weight
        people = read_people(self.notion, sensitive_features, labels, weighted, penalize)
        self._learn_scale(X[kept], weight[kept])
        Z = self._scaled(X)
        share = weight[kept] / weight[kept].mean()
        training = Training(Z[kept], labels[kept], share, verbose=self.verbose)
        judge = None
        if people is not None:
            judge, training.violation_of = (ViolationOf(people.take(p)) for p in (judged, kept))
            if penalize:
                training.loss = self._loss(training, people.take(kept))
        if self.init is None:
            line = training.descend(0.0, max_iter=self.max_iter, tol=self.tol)
        else:
            line = Minimum(self._given(), np.nan, 0, 0, True)
        self.balance_ = self._balance(training, line)
        if self._by_adam:
            training.history = []
        seed = check_random_state(self.random_state).randint(2**31 - 1) if self._by_adam else 0
        return Stage(training, line, Z[judged], judge, int(seed))

    def _train(self, stage: Stage, alpha: float, start: Minimum | nn.Module) -> Minimum | nn.Module:
        if self._by_adam:
            return self._train_module(stage, alpha)
        assert isinstance(start, Minimum)
        settings: dict[str, Any] = {"max_iter": self.max_iter, "tol": self.tol}
        history, before = stage.training.history, len(stage.training.history)
        beside = start.x + ASIDE * (stage.line.x - start.x)
        found = stage.training.descend(alpha, beside, **settings)
        many_kinks = stage.training.loss is not None and bool(stage.training.loss.widths)
        if start is stage.line or not (many_kinks or found.stuck or found.iterations <= WINDOW):
            return found
        # A warm start may be on a kink, surely if it ended at once; a cold one may lead lower.
        warm = len(history)
        cold = stage.training.descend(alpha, stage.line.x, **settings)
        if cold.value < found.value:
            del history[before:warm]
            return cold
        del history[warm:]
        return found

    def _learn_scale(self, X: np.ndarray, weight: np.ndarray) -> None:
        self._mean, self._spread = np.zeros(X.shape[1]), np.ones(X.shape[1])
        if self.standardize:
            share = weight / weight.sum()
            self._mean = share @ X
            spread = np.sqrt(share @ (X - self._mean) ** 2)
            constant = spread <= 1e-12 * np.abs(X).max(0, initial=0.0)
            self._spread = np.where(constant, 1.0, spread)

    def _scaled(self, X: np.ndarray) -> np.ndarray:
        return np.asarray((X - self._mean) / self._spread)

    def _alike(self, Z: np.ndarray) -> np.ndarray:
        """Return those of scaled features that are `cost_features`, (n, q)."""
        if self.cost_features is None:
            return Z
        names, own = getattr(self, "feature_names_in_", ()), range(self.n_features_in_)
        return Z[:, chosen_columns(self.cost_features, names, [[j] for j in own])]

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

    def _loss(self, training: Training, people: People) -> FairnessLoss:
        if isinstance(self.regularizer, FairnessLoss):
            loss = copy.deepcopy(self.regularizer)
            if loss.notion != as_notion(self.notion):
                raise ValueError(
                    f"`regularizer` was made for {loss.notion!r}, but `notion` is {self.notion!r}; "
                    "pass the same to both."
                )
        elif self.regularizer == "otf":
            loss = OTFLoss(self.notion, self.epsilon, tol=RESIDUAL)
        else:
            loss = {"norm": NormLoss, "barycenter": BarycenterLoss}[self.regularizer](self.notion)
        if not isinstance(loss, OTFLoss):
            return loss.fit_people(people)
        if loss.solver != "newton" and not self._by_adam:
            loss.warm_start = False  # or else the objective would change from call to call
        features = self._alike(training.X)
        if self.mode == "batch":
            training.batches = (features, people)
            return loss
        alike = cloud(features, people.weight, loss.cost, loss.scale)
        return loss.fit_people(people, alike if self.geometry is None else self.geometry)

    def _balance(self, training: Training, free: Minimum) -> float:
        if training.loss is None:
            return 1.0
        if self.balance == "auto":
            return training.balance(free, max_iter=self.max_iter, tol=self.tol)
        training.loss.balance.fill_(float(self.balance))
        return float(self.balance)

    def _train_module(self, stage: Stage, alpha: float) -> nn.Module:
        width = stage.training.X.shape[1]
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(stage.seed)
            if isinstance(self.module, nn.Module):
                module = copy.deepcopy(self.module)
            else:
                module = nn.Linear(width, 1) if self.module is None else self.module(width)
            if self.module is None and self.init is not None:
                given = torch.from_numpy(stage.line.x).to(torch.float32)
                module.load_state_dict({"weight": given[None, :-1], "bias": given[-1:]})
            stage.training.adam(
                module,
                alpha,
                epochs=self.epochs,
                batch_size=self.batch_size,
                learning_rate=self.learning_rate,
                seed=stage.seed,
            )
        return module

    def _keep(self, model: Minimum | nn.Module, stage: Stage) -> None:
        """Set the fitted attributes."""
        self.violation_ = stage.violation(model)
        # What was tried for `max_violation` comes first, what was chosen last.
        self.history_ = sorted(stage.training.history, key=lambda h: h["alpha"] == self.alpha_)
        for name in ("module_", "coef_", "intercept_"):  # of an earlier fit
            if hasattr(self, name):
                delattr(self, name)
        if isinstance(model, nn.Module):
            settled = stage.training.settled(self.alpha_, SETTLED)
            self.n_iter_, self.converged_ = self.epochs, settled
            if self.module is not None:
                self.module_ = model
                return
            theta, bias = (p.detach().double().numpy().reshape(-1) for p in model.parameters())
            bias = bias[0]
        else:
            self.n_iter_, self.converged_ = max(1, model.iterations), model.converged
            theta, bias = model.x[:-1], model.x[-1]
            if not model.converged:
                warnings.warn(
                    f"training stopped after {self.max_iter} iterations before the objective "
                    "settled; raise `max_iter` or `tol`.",
                    ConvergenceWarning,
                    stacklevel=3,
                )
        self.coef_ = (theta / self._spread)[None]
        self.intercept_ = np.array([float(bias) - theta @ (self._mean / self._spread)])
