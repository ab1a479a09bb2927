"""Fit models to (1 - alpha) cross-entropy + alpha penalty: L-BFGS for lines, Adam for modules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from scipy.special import expit
from torch import Tensor, nn

from otfair._io.progress import track
from otfair.losses import FairnessLoss
from otfair.metrics import ViolationOf
from otfair.models._lbfgs import Minimum, minimize
from otfair.notions import People

HALVINGS, NEAR = 8, 0.03  # trainings at most to find the balance, and how nearly to halve
RESIDUAL = 1e-10  # of the penalty's solver: beside fairness, more would hide what is left of it
BALANCE_BATCH = 2000  # people by whom it is found in batch mode


@dataclass
class Training:
    """People to train on, the penalty (fitted to them), and what happened.

    The weights of a linear model are held as one vector, its intercept last.
    """

    X: np.ndarray  # (n, p)
    y: np.ndarray  # (n,) zeros and ones
    weight: np.ndarray  # (n,), with mean 1
    loss: FairnessLoss | None = None
    violation_of: ViolationOf | None = None
    verbose: bool = False
    batches: tuple[np.ndarray, People] | None = None  # (n, q) cost features and people: batch mode
    history: list[dict[str, float]] = field(default_factory=list)
    penalty: float = 0.0  # at the last evaluation

    def logits(self, theta: np.ndarray) -> np.ndarray:
        """Return the linear model's logits, (n,)."""
        return np.asarray(self.X @ theta[:-1] + theta[-1])

    def violation(self, theta: np.ndarray) -> float:
        """Violation of the linear model's scores on these people."""
        return 0.0 if self.violation_of is None else self.violation_of(expit(self.logits(theta)))

    def balance(self, free: Minimum, *, max_iter: int, tol: float) -> float:
        """Give the penalty the factor with which alpha = 1/2 halves the violation; returns it.

        `free` is the model without penalty. Where its violation is zero, or can't be halved, the
        factor makes the two terms pull equally hard on the logits of that model; so it does in
        batch mode, on those of some people.
        """
        if self.loss is None:
            return 1.0
        logits = torch.from_numpy(self.logits(free.x))
        if self.batches is not None:
            rows = np.random.default_rng(0).permutation(len(self.y))[:BALANCE_BATCH]
            features, people = self.batches
            batch = (features[rows], people.take(rows))
            return self.loss.balance_(logits[rows], self.y[rows], *batch)
        alike = self.loss.balance_(logits, self.y)
        before, kept = self.violation(free.x), len(self.history)
        if not before > 1e-9:
            return alike
        weak, strong, guess = -np.inf, np.inf, np.log(alike)
        for _ in range(HALVINGS):
            self.loss.balance.fill_(np.exp(guess))
            # From the free model: a warm start would stay on the kink where the last one ended.
            found = self.descend(0.5, free.x, max_iter=min(max_iter, 100), tol=10 * tol)
            left = self.violation(found.x) / before
            if abs(left - 0.5) <= NEAR:
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
        del self.history[kept:]
        return float(self.loss.balance)

    def objective(self, alpha: float) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
        """Return the function of the linear model's weights that `descend` minimises."""
        n = len(self.y)

        def objective(theta: np.ndarray) -> tuple[float, np.ndarray]:
            z = self.logits(theta)
            value = float(self.weight @ (np.logaddexp(0.0, z) - self.y * z)) / n
            slope = self.weight * (expit(z) - self.y) / n
            self.penalty = 0.0
            if alpha and self.loss is not None:
                logits = torch.from_numpy(z).requires_grad_()
                penalty = self.loss(logits)
                (pull,) = torch.autograd.grad(penalty, logits)
                self.penalty = float(penalty.detach())
                value = (1 - alpha) * value + alpha * self.penalty
                slope = (1 - alpha) * slope + alpha * pull.numpy()
            return value, np.append(slope @ self.X, slope.sum())

        return objective

    def descend(
        self, alpha: float, start: np.ndarray | None = None, *, max_iter: int, tol: float
    ) -> Minimum:
        """Train the linear model on everybody at once, from `start` (zero by default)."""
        objective = self.objective(alpha)

        def record(theta: np.ndarray, value: float) -> None:
            violation = self.violation(theta)
            self.history.append(
                {"alpha": alpha, "loss": value, "penalty": self.penalty, "violation": violation}
            )
            bar.update()
            bar.set_postfix(loss=f"{value:.5f}", violation=f"{violation:.4f}")

        theta = np.zeros(self.X.shape[1] + 1) if start is None else start
        settings: dict[str, Any] = {"max_iter": max_iter, "tol": tol, "callback": record}
        with track(desc=f"alpha {alpha:g}", verbose=self.verbose) as bar:
            if not alpha or self.loss is None or not self.loss.widths or self.loss.smoothing:
                found = minimize(objective, theta, **settings)
                if self.history and self.history[-1]["loss"] != found.value:
                    objective(found.x)  # the last that was tried is not the one that is kept
                    record(found.x, found.value)
                return found
            iterations = evaluations = 0
            for width in self.loss.widths:
                self.loss.smoothing = width
                found = minimize(objective, theta, **settings)
                theta, iterations = found.x, iterations + found.iterations
                evaluations += found.evaluations
            self.loss.smoothing = 0.0
        return replace(found, iterations=iterations, evaluations=evaluations)

    def adam(
        self,
        module: nn.Module,
        alpha: float,
        *,
        epochs: int,
        batch_size: int,
        learning_rate: float,
        seed: int,
    ) -> None:
        """Train any module on mini-batches, whose score may go to everybody, or in the batch."""
        dtype = next((p.dtype for p in module.parameters()), torch.float32)
        X = torch.as_tensor(self.X, dtype=dtype)
        y, weight = (torch.as_tensor(v, dtype=torch.float64) for v in (self.y, self.weight))
        optimizer = torch.optim.Adam(module.parameters(), lr=learning_rate)
        generator = torch.Generator().manual_seed(seed)
        module.train()
        for epoch in track(range(1, epochs + 1), "epochs", verbose=self.verbose):
            total, penalties = 0.0, 0.0
            for rows in _batches(torch.randperm(len(X), generator=generator), batch_size):
                if not bool(weight[rows].any()):
                    continue  # nobody counts
                logits = _one_logit(module(X[rows]))
                _refuse_diverged(logits, f"in epoch {epoch}", learning_rate)
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
                value = (1 - alpha) * entropy + alpha * penalty
                optimizer.zero_grad()
                value.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
                share = len(rows) / len(X)
                total += share * float(value.detach())
                penalties += share * float(penalty.detach())
            violation = 0.0
            if self.violation_of is not None:
                violation = self.violation_of(expit(module_logits(module, self.X)))
            self.history.append(
                {"alpha": alpha, "loss": total, "penalty": penalties, "violation": violation}
            )
        trained = torch.from_numpy(module_logits(module, self.X))
        _refuse_diverged(trained, "after the last epoch", learning_rate)

    def settled(self, alpha: float, tol: float) -> bool:
        """Whether the loss at one strength fell by less than `tol` of its size over ten epochs."""
        losses = [record["loss"] for record in self.history if record["alpha"] == alpha]
        if len(losses) < 20:
            return False
        before, last = np.mean(losses[-20:-10]), np.mean(losses[-10:])
        return bool(before - last <= tol * abs(last))


@dataclass(frozen=True)
class Stage:
    """What training at any strength starts from."""

    training: Training
    line: Minimum  # the logistic regression without penalty
    judged: np.ndarray  # (m, p) scaled features of the people by whom violations are judged
    judge: ViolationOf | None
    seed: int  # of whatever is random, alike at every strength

    def violation(self, model: Minimum | nn.Module) -> float:
        """Violation of a model by the people who judge."""
        return 0.0 if self.judge is None else self.judge(expit(_logits(model, self.judged)))


def _batches(order: Tensor, size: int) -> list[Tensor]:
    """Cut an order into batches; one person left over joins the batch before."""
    batches = list(torch.split(order, size))
    if len(batches) > 1 and len(batches[-1]) == 1:
        batches[-2:] = [torch.cat(batches[-2:])]
    return batches


def _refuse_diverged(logits: Tensor, when: str, learning_rate: float) -> None:
    wrong = int((~torch.isfinite(logits)).sum())
    if wrong:
        raise ValueError(
            f"training diverged: {when}, {wrong} of {len(logits)} logits are NaN or infinite. "
            f"Lower `learning_rate`, which is {learning_rate:g}; where that does not help, see "
            "that `module` gives finite logits before training."
        )


def module_logits(module: nn.Module, X: np.ndarray) -> np.ndarray:
    """Return the logits of any module, (n,), computed without gradients."""
    dtype = next((p.dtype for p in module.parameters()), torch.float32)
    was_training = module.training
    module.eval()
    with torch.no_grad():
        parts = [_one_logit(module(p)) for p in torch.split(torch.as_tensor(X, dtype=dtype), 65536)]
    module.train(was_training)
    return torch.cat(parts).double().numpy()


def _one_logit(output: Tensor) -> Tensor:
    if output.ndim > 2 or (output.ndim == 2 and output.shape[1] != 1):
        raise ValueError(
            f"`module` must give one logit a person, (n,) or (n, 1); it gave {tuple(output.shape)}."
        )
    return output.reshape(-1)


def _logits(model: Minimum | nn.Module, Z: np.ndarray) -> np.ndarray:
    if isinstance(model, nn.Module):
        return module_logits(model, Z)
    return np.asarray(Z @ model.x[:-1] + model.x[-1])
