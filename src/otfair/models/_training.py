"""Fit models to (1 - alpha) (cross-entropy + ridge) + alpha penalty: L-BFGS and Adam.

L-BFGS trains lines, Adam modules; the ridge is on the weights of lines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
import torch
from scipy.special import expit
from torch import Tensor, nn

from otfair._io.progress import track
from otfair._io.threads import few_threads
from otfair.losses import FairnessLoss
from otfair.metrics import Criterion, ViolationOf, criterion_of
from otfair.models._balance import HALF_WITHIN, HALVINGS, TOLD, Balance, even_out
from otfair.models._lbfgs import Objective, minimize
from otfair.models._trust import Losses, compare_losses, left_out_logits
from otfair.notions import People

RESIDUAL = 1e-10  # of the penalty's solver: near fairness, more would hide the violation left
BALANCE_BATCH = 2000  # people by whom it is found in batch mode
SETTLED = 1e-3  # relative decrease over ten epochs below which Adam has converged
Record: TypeAlias = dict[str, float]  # of an iteration or epoch: alpha, loss, penalty, violation


@dataclass(frozen=True)
class Line:
    """A trained linear model."""

    weights: np.ndarray  # (p + 1,), the intercept last
    history: list[Record] = field(default_factory=list)
    value: float = np.nan  # of the objective
    iterations: int = 0
    converged: bool = True
    stuck: bool = False  # on a kink
    balance: Balance | None = None  # of the penalty's parts, where the model has its own

    def logits(self, X: np.ndarray) -> np.ndarray:
        """Return the logits of the positive class, (n,)."""
        return np.asarray(X @ self.weights[:-1] + self.weights[-1])


@dataclass(frozen=True)
class Network:
    """A trained module."""

    module: nn.Module
    history: list[Record] = field(default_factory=list)  # one for each epoch

    def logits(self, X: np.ndarray) -> np.ndarray:
        """Return the logits of the positive class, (n,), computed without gradients."""
        module, was_training = self.module, self.module.training
        module.eval()
        with torch.no_grad():
            parts = torch.split(torch.as_tensor(X, dtype=_dtype(module)), 65536)
            logits = torch.cat([_one_logit(module(part)) for part in parts])
        module.train(was_training)
        return logits.double().numpy()

    @property
    def iterations(self) -> int:
        """Epochs of training."""
        return len(self.history)

    @property
    def converged(self) -> bool:
        """Whether the loss fell by less than a thousandth of its size over ten epochs."""
        losses = [record["loss"] for record in self.history]
        if len(losses) < 20:
            return False
        before, last = np.mean(losses[-20:-10]), np.mean(losses[-10:])
        return bool(before - last <= SETTLED * abs(last))


@dataclass
class Training:
    """People to train on, and the penalty, fitted to them."""

    X: np.ndarray  # (n, p)
    y: np.ndarray  # (n,) zeros and ones
    weight: np.ndarray  # (n,), with mean 1
    loss: FairnessLoss | None = None
    violation_of: Criterion | None = None
    verbose: bool = False
    batches: tuple[np.ndarray, People] | None = None  # (n, q) cost features and people: batch mode
    ridge: float = 0.0  # times half the squared length of a line's weights, its intercept apart
    penalty: float = 0.0  # at the last evaluation

    @property
    def width(self) -> int:
        """How many features there are."""
        return int(self.X.shape[1])

    def scores(self, model: Line | Network) -> np.ndarray:
        """Return the scores that a model gives to these people, (n,)."""
        return np.asarray(expit(model.logits(self.X)))

    def some_scores(self, model: Line | Network) -> np.ndarray:
        """Return scores of people by whom it is told how far apart scores lie."""
        return self.scores(model)

    def left_out(self, line: Line) -> Losses | None:
        """Return the loss of a line where each person is left out in turn, if it is soon told."""
        logits = left_out_logits(self.X, self.y, self.weight, line.weights, self.ridge)
        return None if logits is None else compare_losses(logits, self.y, self.weight)

    def pull_alike(self, free: Line) -> float:
        """Let the penalty pull as hard as the cross-entropy at a model; returns its factor."""
        assert self.loss is not None
        return self.loss.balance_(torch.from_numpy(free.logits(self.X)), self.y)

    def violation(self, model: Line | Network) -> float:
        """Violation of a model's scores on these people; 0 without sensitive features."""
        return 0.0 if self.violation_of is None else self.violation_of(self.scores(model))

    def balance(self, free: Line, *, max_iter: int, tol: float) -> Balance:
        """Give the penalty the factor with which alpha = 1/2 halves the violation; returns it.

        `free` is the model without penalty. Where its violation is zero, or can't be halved, the
        factor makes the two terms pull equally hard on the logits of that model; so it does in
        batch mode, on those of some people.
        """
        if self.loss is None:
            return 1.0
        if self.batches is not None:
            logits = torch.from_numpy(free.logits(self.X))
            rows = np.random.default_rng(0).permutation(len(self.y))[:BALANCE_BATCH]
            features, people = self.batches
            batch = (features[rows], people.take(rows))
            self.loss.balance_(logits[rows], self.y[rows], *batch)
            return self.loss.balances
        alike = self.pull_alike(free)
        settings: dict[str, Any] = {"max_iter": min(max_iter, 100), "tol": 10 * tol}
        if isinstance(start := self.loss.balances, dict):
            self.even(free, lambda: self.descend(0.5, free.weights, **settings), start, 0.5)
            return self.loss.balances
        before = self.violation(free)
        if not before > 1e-9:
            return alike
        weak, strong, guess = -np.inf, np.inf, np.log(alike)
        for _ in range(HALVINGS):
            self.loss.balance.fill_(np.exp(guess))
            # From the free model: a warm start would stay on the kink where the last one ended.
            found = self.descend(0.5, free.weights, **settings)
            left = self.violation(found) / before
            if abs(left - 0.5) <= HALF_WITHIN:
                break
            if left > 0.95 and weak > -np.inf:  # 19 times the factor did nothing
                self.loss.balance.fill_(alike)
                break
            weak, strong = (guess, strong) if left > 0.5 else (weak, guess)
            if np.isfinite(weak) and np.isfinite(strong):
                guess = 0.5 * (weak + strong)
            else:  # the violation left is about 1 / (1 + factor): a step along that curve
                guess += float(np.log(np.clip(left, 0.05, 0.95) / np.clip(1 - left, 0.05, 0.95)))
        else:
            bracketed = np.isfinite(weak) and np.isfinite(strong)
            self.loss.balance.fill_(np.exp(guess) if bracketed else alike)
        return float(self.loss.balance)

    def even(
        self, free: Line, train: Callable[[], Line], start: dict[str, float], aim: float | None
    ) -> Line:
        """Train with factors such that the same share of each part's violation is left.

        `train` trains by the penalty as it is; `free` is the model without. The penalty keeps the
        factors of the model that is returned.
        """
        loss, h = self.loss, self.scores(free)
        assert loss is not None
        violations = {p.name: criterion_of(ViolationOf.name, p.people) for p in loss.parts}
        before = {name: of(h) for name, of in violations.items()}
        least = max(1e-9, TOLD * max(before.values()))
        before = {name: size for name, size in before.items() if size > least}
        trained: list[Line] = []

        def shares_at(factors: dict[str, float]) -> dict[str, float]:
            loss.balances = factors
            trained.append(replace(train(), balance=factors))
            h = self.scores(trained[-1])
            return {name: violations[name](h) / size for name, size in before.items()}

        if not before:
            return replace(train(), balance=start)
        loss.balances = best = even_out(shares_at, start, aim)
        return next(line for line in trained if line.balance == best)

    def objective(self, alpha: float) -> Objective:
        """Return the function of the linear model's weights that `descend` minimises."""
        n = len(self.y)

        def objective(theta: np.ndarray) -> tuple[float, np.ndarray]:
            z = Line(theta).logits(self.X)
            value = float(self.weight @ (np.logaddexp(0.0, z) - self.y * z)) / n
            value += 0.5 * self.ridge * float(theta[:-1] @ theta[:-1])
            slope = self.weight * (expit(z) - self.y) / n
            pull_back = np.append(self.ridge * theta[:-1], 0.0)
            self.penalty = 0.0
            if alpha and self.loss is not None:
                logits = torch.from_numpy(z).requires_grad_()
                penalty = self.loss(logits)
                (pull,) = torch.autograd.grad(penalty, logits)
                self.penalty = float(penalty.detach())
                value = (1 - alpha) * value + alpha * self.penalty
                slope = (1 - alpha) * slope + alpha * pull.numpy()
                pull_back *= 1 - alpha
            return value, np.append(slope @ self.X, slope.sum()) + pull_back

        return objective

    def descend(
        self, alpha: float, start: np.ndarray | None = None, *, max_iter: int, tol: float
    ) -> Line:
        """Train the linear model on all people at once, from `start` (zero by default)."""
        objective = self.objective(alpha)
        history: list[Record] = []

        def record(theta: np.ndarray, value: float) -> None:
            violation = self.violation(Line(theta))
            history.append(
                {"alpha": alpha, "loss": value, "penalty": self.penalty, "violation": violation}
            )
            bar.set_postfix(loss=f"{value:.5f}", violation=f"{violation:.4f}")

        def tried(theta: np.ndarray) -> tuple[float, np.ndarray]:
            bar.update()  # one step may try many, each of them long for many people
            return objective(theta)

        theta = np.zeros(self.width + 1) if start is None else start
        settings: dict[str, Any] = {"max_iter": max_iter, "tol": tol, "callback": record}
        bar_of = track(desc=f"alpha {alpha:g}", verbose=self.verbose, leave=False)
        with few_threads(len(self.y)), bar_of as bar:
            if not alpha or self.loss is None or not self.loss.widths or self.loss.smoothing:
                found = minimize(tried, theta, **settings)
                iterations = found.iterations
                if not history or history[-1]["loss"] != found.value:
                    objective(found.x)  # the last that was tried is not the one that is kept
                    record(found.x, found.value)
            else:
                iterations = 0
                for width in self.loss.widths:
                    self.loss.smoothing = width
                    found = minimize(tried, theta, **settings)
                    theta, iterations = found.x, iterations + found.iterations
                self.loss.smoothing = 0.0
        return Line(found.x, history, found.value, iterations, found.converged, found.stuck)

    def adam(
        self,
        module: nn.Module,
        alpha: float,
        epochs: int,
        batch_size: int,
        rate: float,
        seed: int,
        line: Tensor | None = None,
    ) -> Network:
        """Train a module on mini-batches, whose score may go to all people, or in the batch.

        The ridge is on `line`, where the module is one.
        """
        X = torch.as_tensor(self.X, dtype=_dtype(module))
        y, weight = (torch.as_tensor(v, dtype=torch.float64) for v in (self.y, self.weight))
        optimizer = torch.optim.Adam(module.parameters(), lr=rate)
        generator = torch.Generator().manual_seed(seed)
        trained = Network(module)
        module.train()
        for epoch in track(range(1, epochs + 1), "epochs", verbose=self.verbose):
            total, penalties = 0.0, 0.0
            for rows in _batches(torch.randperm(len(X), generator=generator), batch_size):
                if not bool(weight[rows].any()):
                    continue  # nobody counts
                logits = _one_logit(module(X[rows]))
                _refuse_diverged(logits, f"in epoch {epoch}", rate)
                entropy = nn.functional.binary_cross_entropy_with_logits(
                    logits.double(), y[rows], weight[rows]
                )
                penalty = torch.zeros((), dtype=torch.float64)
                if alpha and self.loss is not None:
                    if self.batches is None:
                        penalty = self.loss(logits, index=rows).double()
                    else:
                        features, people = self.batches
                        penalty = self.loss(logits, features[rows], people.take(rows)).double()
                if line is not None:
                    entropy = entropy + 0.5 * self.ridge * line.double().square().sum()
                value = (1 - alpha) * entropy + alpha * penalty
                optimizer.zero_grad()
                value.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
                share = len(rows) / len(X)
                total += share * float(value.detach())
                penalties += share * float(penalty.detach())
            violation = self.violation(trained)
            trained.history.append(
                {"alpha": alpha, "loss": total, "penalty": penalties, "violation": violation}
            )
        last = torch.from_numpy(trained.logits(self.X))
        _refuse_diverged(last, "after the last epoch", rate)
        return trained


def _batches(order: Tensor, size: int) -> list[Tensor]:
    """Cut an order into batches; one person left over joins the batch before."""
    batches = list(torch.split(order, size))
    if len(batches) > 1 and len(batches[-1]) == 1:
        batches[-2:] = [torch.cat(batches[-2:])]
    return batches


def _refuse_diverged(logits: Tensor, when: str, rate: float) -> None:
    if wrong := int((~torch.isfinite(logits)).sum()):
        raise ValueError(
            f"training diverged: {when}, {wrong} of {len(logits)} logits are NaN or infinite. "
            f"Lower `learning_rate`, which is {rate:g}, or a `balance` of your own; where that "
            "does not help, see that `module` gives finite logits before training."
        )


def _dtype(module: nn.Module) -> torch.dtype:
    return next((p.dtype for p in module.parameters()), torch.float32)


def _one_logit(output: Tensor) -> Tensor:
    if output.ndim > 2 or (output.ndim == 2 and output.shape[1] != 1):
        raise ValueError(
            "`module` must give one logit per person, (n,) or (n, 1); it gave "
            f"{tuple(output.shape)}."
        )
    return output.reshape(-1)
