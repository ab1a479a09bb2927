"""How fast training is, as ratios to the Norm penalty in the same run.

Run with `make bench-training` on the Adult data (80 % of it, sex and race): one evaluation of the
L-BFGS objective, one mini-batch step in dataset mode (batch 1000, the linear model and Adam
included), and a curve of ten strengths with its distances and bootstrap intervals.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import torch
from bench_core import median_ms
from sklearn.model_selection import train_test_split

import otfair
from otfair.models._lbfgs import minimize
from otfair.models._training import RESIDUAL, Training

EPSILON, BATCH = 1e-3, 1000


def evaluations(
    training: Training, losses: dict[str, otfair.OTFLoss | otfair.NormLoss], path: list[np.ndarray]
) -> dict[str, Callable[[], None]]:
    """One evaluation of the objective and its gradient at the models of a path, in turn."""

    def call(loss: otfair.OTFLoss | otfair.NormLoss) -> Callable[[], None]:
        count = 0

        def evaluate() -> None:
            nonlocal count
            training.loss = loss
            training.objective(0.5)(path[count % len(path)])
            count += 1

        return evaluate

    return {name: call(loss) for name, loss in losses.items()}


def iterates(training: Training) -> list[np.ndarray]:
    """Models that L-BFGS visits at alpha = 0.5, from the unconstrained one."""
    free = training.descend(0.0, max_iter=500, tol=1e-6)
    training.balance(free, max_iter=500, tol=1e-6)
    visited: list[np.ndarray] = []
    objective = training.objective(0.5)

    def watched(theta: np.ndarray) -> tuple[float, np.ndarray]:
        visited.append(theta)
        return objective(theta)

    minimize(watched, free.weights, tol=1e-6)
    return visited


def steps(
    X: np.ndarray, y: np.ndarray, losses: dict[str, otfair.OTFLoss | otfair.NormLoss]
) -> dict[str, Callable[[], None]]:
    """One step of Adam on a mini-batch of the linear model."""
    features, labels = torch.as_tensor(X, dtype=torch.float32), torch.as_tensor(y).float()

    def call(loss: otfair.OTFLoss | otfair.NormLoss) -> Callable[[], None]:
        model = torch.nn.Linear(X.shape[1], 1)
        optimizer = torch.optim.Adam(model.parameters())
        generator = torch.Generator().manual_seed(0)

        def step() -> None:
            rows = torch.randperm(len(features), generator=generator)[:BATCH]
            logits = model(features[rows]).squeeze(1)
            entropy = torch.nn.functional.binary_cross_entropy_with_logits(logits, labels[rows])
            value = 0.5 * entropy + 0.5 * loss(logits, index=rows)
            optimizer.zero_grad()
            value.backward()
            optimizer.step()

        return step

    return {name: call(loss) for name, loss in losses.items()}


def main() -> None:
    data = otfair.load_dataset("adult")
    sensitive = data.sensitive_features[["sex", "race"]]
    fit, _ = train_test_split(np.arange(len(data.y)), test_size=0.2, random_state=0)
    X = np.asarray(otfair.TableEncoder().fit_transform(data.X.iloc[fit]), dtype=float)
    y, S = data.y[fit], sensitive.iloc[fit]
    for notion in ("demographic_parity", "equalized_odds"):
        losses = {
            "norm": otfair.NormLoss(notion).fit(X, S, y),
            "otf": otfair.OTFLoss(notion, EPSILON, tol=RESIDUAL).fit(X, S, y),
        }
        training = Training(X, y.astype(float), np.ones(len(y)), losses["otf"])
        path = iterates(training)
        calls = evaluations(training, losses, path)
        norm, otf = median_ms(calls["norm"], calls["otf"])
        print(
            f"{notion}: L-BFGS evaluation {otf:.1f} ms, Norm {norm:.1f} ms, ratio {otf / norm:.1f}"
        )
        calls = steps(X, y, losses)
        norm, otf = median_ms(calls["norm"], calls["otf"], repeats=101)
        print(f"{notion}: mini-batch step {otf:.2f} ms, Norm {norm:.2f} ms, ratio {otf / norm:.1f}")
    began = time.perf_counter()
    otfair.tradeoff_curve(
        data.X, data.y, sensitive_features=sensitive, notion="equalized_odds", random_state=0
    )
    spent = time.perf_counter() - began
    print(f"curve of ten strengths, distances and intervals included: {spent:.0f} s")


if __name__ == "__main__":
    main()
