"""Semi-dual solver: damped proximal Newton on one variable a constraint, annealed if need be.

Maths: docs/derivation.md, section 9. Letters follow the paper.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

import numpy as np

from otfair.problem import Point, SemiDual, TransportProblem
from otfair.status import Status

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Duals:
    """What a solver returns: the constraint duals and how good they are."""

    mu: np.ndarray  # (d,)
    point: Point  # the semi-dual at mu
    status: Status
    residual: float
    iterations: int


@dataclass(frozen=True, kw_only=True)
class Newton:
    """Settings of the Newton solver.

    Parameters
    ----------
    tol : relative residual at which it stops.
    max_evaluations : of the semi-dual, over all stages.
    """

    tol: float = 1e-8
    max_evaluations: int = 2000

    def solve(self, problem: TransportProblem, init: np.ndarray | None = None) -> Duals:
        """Maximise the semi-dual from `init` (zero by default)."""
        unit = np.abs(problem.vectors).max(1, initial=0.0)
        unit = np.where(unit > 0, unit, 1.0)
        scaled = replace(
            problem,
            vectors=problem.vectors / unit[:, None],
            target=problem.target / unit,
            slack=problem.slack / unit,
            row_total=problem.row_total / unit,
            row_size=problem.row_size / unit,
        )
        mu = np.zeros(len(unit)) if init is None else init * unit
        mu, point, status, residual, used = self._anneal(scaled, mu)
        return Duals(mu / unit, point, status, residual, used)

    def _anneal(
        self, problem: TransportProblem, mu: np.ndarray
    ) -> tuple[np.ndarray, Point, Status, float, int]:
        semi = SemiDual(problem)
        mu, point, residual, used = _ascend(semi, mu, self.tol, min(DIRECT, self.max_evaluations))
        best = (residual, mu, point)
        if residual > self.tol and used < self.max_evaluations:
            D = problem.distances
            tau = max(float(D.max() - D.min()), problem.epsilon)
            logger.debug("residual %.2e after %d evaluations; annealing", residual, used)
            mu = np.zeros_like(mu)
            while used < self.max_evaluations:
                last = tau <= problem.epsilon
                stage = semi if last else SemiDual(problem, tau)
                budget = self.max_evaluations - used
                tol = self.tol if last else COARSE
                mu, point, residual, count = _ascend(stage, mu, tol, budget if last else min(100, budget))
                used += count
                if last:
                    best = min(best, (residual, mu, point), key=lambda b: b[0])
                    break
                tau = max(tau / 4, problem.epsilon)
        residual, mu, point = best
        status = Status.CONVERGED
        if residual > self.tol:
            status = Status.EVALUATION_LIMIT if used >= self.max_evaluations else Status.STALLED
        return mu, point, status, residual, used


DIRECT = 100  # evaluations before annealing
COARSE = 1e-2  # residual that ends a stage of annealing


def _ascend(
    semi: SemiDual, mu: np.ndarray, tol: float, budget: int
) -> tuple[np.ndarray, Point, float, int]:
    """Levenberg-Marquardt ascent; returns mu, the point there, its residual, evaluations used."""
    problem, tau = semi.problem, semi.tau
    gamma = problem.slack
    rounding = 1e-9 * problem.total * (tau + float(problem.distances.abs().max()))
    delta, used = 1e-9, 1
    point = semi.at(mu)
    residual = problem.residual(point.f, mu)
    while residual > tol and used < budget and delta < 1e12:
        r, H = semi.gradient(point), semi.curvature(point)
        while used < budget and delta < 1e12:
            B = H + delta * (problem.total / tau) * np.eye(len(mu))
            x = proximal_step(B, r + B @ mu, gamma, mu)
            step = x - mu
            new = semi.at(x)
            used += 1
            loss = float(gamma @ (np.abs(x) - np.abs(mu)))
            model = float(r @ step - 0.5 * step @ H @ step) - loss
            gain = new.value - point.value - loss
            if abs(model) < rounding:
                gain = 0.5 * float((r + semi.gradient(new)) @ step) - loss
            new_residual = problem.residual(new.f, x)
            ratio = gain / model if model > 0 else -1.0
            if ratio > 1e-3 or new_residual < 0.5 * residual:
                delta = max(delta / 10, 1e-14) if ratio > 0.25 else delta * 2
                mu, point, residual = x, new, new_residual
                break
            delta *= 8
    return mu, point, residual, used


def proximal_step(B: np.ndarray, q: np.ndarray, gamma: np.ndarray, start: np.ndarray) -> np.ndarray:
    """argmin_x 1/2 x'Bx - q'x + gamma'|x| by feature-sign search from `start`; B is definite."""
    free = gamma <= 0
    if free.all():
        return np.linalg.solve(B, q)
    x = start.copy()
    sign = np.sign(x)
    active = free | (x != 0)
    for _ in range(4 * len(x) + 20):
        if active.any():
            a = np.flatnonzero(active)
            y = x.copy()
            y[a] = np.linalg.solve(B[np.ix_(a, a)], (q - gamma * sign)[a])
            crossing = np.flatnonzero(~free & (y * sign < 0))
            x = _best_on_segment(B, q, gamma, x, y, crossing)
            active &= free | (x != 0)
            sign = np.where(active, np.sign(x), 0.0)
            if len(crossing):  # solve again with the new signs
                continue
        slope = B @ x - q
        excess = np.where(active, 0.0, np.abs(slope) - gamma)
        c = int(excess.argmax())
        if excess[c] <= 1e-12 * (gamma[c] + np.abs(q[c])):
            break
        active[c], sign[c] = True, -np.sign(slope[c])
    return x


def _best_on_segment(
    B: np.ndarray,
    q: np.ndarray,
    gamma: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    crossing: np.ndarray,
) -> np.ndarray:
    """Best of y and of the points on the way from x where a `crossing` coordinate is zero."""
    candidates = [y]
    for c in crossing:
        point = x + x[c] / (x[c] - y[c]) * (y - x)
        point[c] = 0.0
        candidates.append(point)
    return min(candidates, key=lambda z: float(0.5 * z @ B @ z - q @ z + gamma @ np.abs(z)))
