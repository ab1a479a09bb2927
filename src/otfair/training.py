"""Fit models to (1 - alpha) cross-entropy + alpha penalty: L-BFGS for lines, Adam for modules."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from scipy.special import expit
from torch import Tensor, nn
from tqdm.auto import tqdm

from otfair.lbfgs import Minimum, minimize
from otfair.metrics import ViolationOf
from otfair.penalty import FairnessLoss


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
    history: list[dict[str, float]] = field(default_factory=list)

    def logits(self, theta: np.ndarray) -> np.ndarray:
        """Return the linear model's logits, (n,)."""
        return np.asarray(self.X @ theta[:-1] + theta[-1])

    def violation(self, theta: np.ndarray) -> float:
        """Violation of the linear model's scores on these people."""
        return 0.0 if self.violation_of is None else self.violation_of(expit(self.logits(theta)))

    def balance(self, theta: np.ndarray) -> float:
        """Balance the penalty at an unconstrained model; returns the factor."""
        if self.loss is None:
            return 1.0
        return self.loss.balance_(torch.from_numpy(self.logits(theta)), self.y)

    def descend(
        self, alpha: float, start: np.ndarray | None = None, *, max_iter: int, tol: float
    ) -> Minimum:
        """Train the linear model on everybody at once, from `start` (zero by default)."""
        n, parts = len(self.y), {"penalty": 0.0}

        def objective(theta: np.ndarray) -> tuple[float, np.ndarray]:
            z = self.logits(theta)
            value = float(self.weight @ (np.logaddexp(0.0, z) - self.y * z)) / n
            slope = self.weight * (expit(z) - self.y) / n
            if alpha and self.loss is not None:
                logits = torch.from_numpy(z).requires_grad_()
                penalty = self.loss(logits)
                (pull,) = torch.autograd.grad(penalty, logits)
                parts["penalty"] = float(penalty.detach())
                value = (1 - alpha) * value + alpha * parts["penalty"]
                slope = (1 - alpha) * slope + alpha * pull.numpy()
            return value, np.append(slope @ self.X, slope.sum())

        def record(theta: np.ndarray, value: float) -> None:
            violation = self.violation(theta)
            self.history.append({"alpha": alpha, "loss": value, **parts, "violation": violation})

        theta = np.zeros(self.X.shape[1] + 1) if start is None else start
        settings: dict[str, Any] = {"max_iter": max_iter, "tol": tol, "callback": record}
        if not alpha or self.loss is None or not self.loss.widths:
            return minimize(objective, theta, **settings)
        iterations = evaluations = 0
        for width in self.loss.widths:
            self.loss.smoothing = width
            found = minimize(objective, theta, **settings)
            theta, iterations = found.x, iterations + found.iterations
            evaluations += found.evaluations
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
        verbose: bool,
    ) -> None:
        """Train any module on mini-batches, whose score may go to everybody."""
        dtype = next((p.dtype for p in module.parameters()), torch.float32)
        X = torch.as_tensor(self.X, dtype=dtype)
        y, weight = (torch.as_tensor(v, dtype=torch.float64) for v in (self.y, self.weight))
        optimizer = torch.optim.Adam(module.parameters(), lr=learning_rate)
        generator = torch.Generator().manual_seed(seed)
        module.train()
        for _ in tqdm(range(epochs), desc="epochs", disable=not verbose):
            total, penalties = 0.0, 0.0
            for rows in torch.split(torch.randperm(len(X), generator=generator), batch_size):
                logits = _one_logit(module(X[rows]))
                entropy = nn.functional.binary_cross_entropy_with_logits(
                    logits.double(), y[rows], weight[rows]
                )
                penalty = torch.zeros((), dtype=torch.float64)
                if alpha and self.loss is not None:
                    penalty = self.loss(logits, index=rows).double()
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


@dataclass(frozen=True)
class Stage:
    """What training at any strength starts from."""

    training: Training
    line: Minimum  # the logistic regression without penalty
    judged: np.ndarray  # (m, p) scaled features of the people by whom violations are judged
    judge: ViolationOf | None

    def violation(self, model: Minimum | nn.Module) -> float:
        """Violation of a model by the people who judge."""
        return 0.0 if self.judge is None else self.judge(expit(_logits(model, self.judged)))


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
