"""Semi-dual solver: damped proximal Newton on one variable per constraint, annealed if need be.

Maths: docs/derivation.md, section 9. Letters follow the paper.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg.lapack import dposv

from otfair._io.settings import check_real, check_whole
from otfair.transport._problem import TransportProblem
from otfair.transport._semidual import Point, Reference, SemiDual, Solved, semi_dual_of
from otfair.transport._status import Status

logger = logging.getLogger(__name__)

DIRECT = 100  # evaluations before annealing
COARSE = 1e-2  # residual that ends a stage of annealing
FIRST_DAMPING, LEAST_DAMPING, MOST_DAMPING = 1e-10, 1e-14, 1e12
GROW, SHRINK, CURB = 8.0, 10.0, 3.0
AGAIN = 10.0  # times the last step's gain may be missed by the next one with the same curvature
EXCHANGES = 25  # of whole sets, before a proximal step is searched for one entry at a time


@dataclass(frozen=True, kw_only=True)
class Newton:
    """Settings of the Newton solver.

    Parameters
    ----------
    tol : float, default=1e-8
        Relative residual at which it stops.
    max_evaluations : int, default=2000
        Evaluations of the semi-dual, over all stages.
    """

    tol: float = 1e-8
    max_evaluations: int = 2000

    def __post_init__(self) -> None:
        check_real("tol", self.tol, 0)
        check_whole("max_evaluations", self.max_evaluations, 0)

    def solve(
        self,
        problem: TransportProblem,
        init: np.ndarray | None = None,
        reference: Reference | None = None,
    ) -> Solved:
        """Maximise the semi-dual.

        Parameters
        ----------
        problem : TransportProblem
            What is solved.
        init : array of shape (d,), default=None
            Duals to start from; zero by default.
        reference : Reference, default=None
            Shares at a solution of a nearby problem with the same distances.

        Returns
        -------
        tuple
            Duals, the point there, status, residual and number of evaluations.
        """
        semi, limit = semi_dual_of(problem, reference=reference), self.max_evaluations
        mu = np.zeros(len(problem.target)) if init is None else init
        mu, point, residual, used = ascend(semi, mu, self.tol, min(DIRECT, limit))
        if residual > self.tol and used < limit:
            logger.debug("residual %.2e after %d evaluations; annealing", residual, used)
            start, count = anneal(problem, problem.epsilon, limit - used)
            retry = ascend(semi, start, self.tol, limit - used - count)
            used += count + retry[3]
            if retry[2] < residual:
                mu, point, residual, _ = retry
        status = Status.EVALUATION_LIMIT if used >= limit else Status.STALLED
        if residual <= self.tol:  # which NaN is not
            status = Status.CONVERGED
        return mu, point, status, residual, used


def anneal(problem: TransportProblem, end: float, budget: int) -> tuple[np.ndarray, int]:
    """Follow the optimum from a large smoothing down to `end`; returns mu and evaluations used."""
    mu, used = np.zeros(len(problem.target)), 0
    tau = problem.distance_range
    while tau > end and used < budget:
        mu, _, _, count = ascend(semi_dual_of(problem, tau), mu, COARSE, min(DIRECT, budget - used))
        used, tau = used + count, tau / 4
    return mu, used


def ascend(
    semi: SemiDual, mu: np.ndarray, tol: float, budget: int
) -> tuple[np.ndarray, Point, float, int]:
    """Levenberg-Marquardt ascent; returns mu, the point there, its residual, evaluations used."""
    problem, gamma = semi.problem, semi.problem.slack
    unit = problem.total / semi.tau
    processes = problem.processes  # which must not part, by rounding or by their start
    mu = processes.first(mu)
    point = semi.at(mu)
    rounding = 1e-9 * semi.tau * semi.size_of(point)
    (residual,) = processes.decide(problem.residual(point.f, mu))
    best = residual
    delta, growth, used = FIRST_DAMPING, GROW, 1
    H = point.reference.curvature  # that of a solution nearby is good for a first step
    if processes.max(float(H is None)):  # also where another process knows none
        H = None
    stale = False
    while residual > tol and used < budget and delta < MOST_DAMPING:
        if H is None or stale:
            H, stale = semi.curvature(point), False
        B, r = H.copy(), point.r
        np.einsum("ii->i", B)[:] += delta * unit
        x = proximal_step(B, r + B @ mu, gamma, problem.top, mu)
        x = processes.first(_shortened(x, mu, problem.top, semi.tau))
        step, new = x - mu, semi.at(x)
        used += 1
        loss = float(gamma @ (np.abs(x) - np.abs(mu)))
        bend = float(step @ H @ step)
        model = float(r @ step) - 0.5 * bend - loss
        gain = new.value - point.value - loss
        if abs(model) < rounding:  # differences of L drown; integrate its gradient instead
            gain = 0.5 * float((r + new.r) @ step) - loss
        ratio = gain / model if model > 0 else -1.0
        # Less damping than the curvature along the step would not shorten it.
        curb = CURB * bend / (unit * float(step @ step)) if model > rounding else 0.0
        new_residual, ratio, curb = processes.decide(problem.residual(new.f, x), ratio, curb)
        if ratio > 1e-3 or new_residual < 0.5 * best:
            delta = max(delta / SHRINK, LEAST_DAMPING) if ratio > 0.25 else 2 * delta
            # The same curvature will do where as good a step, or nearly, ends the search.
            stale = AGAIN * new_residual**2 > tol * residual
            mu, point, residual, growth = x, new, new_residual, GROW
            best = min(best, residual)
        else:
            delta, growth = delta * growth, growth * GROW
            delta = max(delta, curb)
    reference = replace(point.reference, curvature=H)
    return mu, replace(point, reference=reference), residual, used


def proximal_step(
    B: np.ndarray, q: np.ndarray, gamma: np.ndarray, top: np.ndarray, start: np.ndarray
) -> np.ndarray:
    """argmin_{x <= top} 1/2 x'Bx - q'x + gamma'|x| from `start`; B is definite, top 0 or infinite.

    Whole sets of entries join and leave those that are not zero, which takes a few solves but need
    not end; where it does not, feature-sign search moves one at a time.
    """
    free = (gamma <= 0) & (top > 0)
    if free.all():
        return _solve(B, q)
    sign = np.where(free, 0.0, np.sign(start))
    for _ in range(EXCHANGES):
        x = _solve_signs(B, q, gamma, sign, free)
        slope, excess = _pull(B, q, gamma, top, x)
        wrong = x * sign < 0
        join = ~free & (sign == 0) & (excess > 0)
        if not (wrong.any() or join.any()):
            return x
        sign = np.where(join, -np.sign(slope), np.where(wrong, 0.0, sign))
    return _feature_sign(B, q, gamma, top, np.where(free, start, np.minimum(start, top)))


def _shortened(x: np.ndarray, mu: np.ndarray, top: np.ndarray, tau: float) -> np.ndarray:
    """Return a step's end with bounds' duals less far from zero where they leave it, by (14.4).

    What a full place passes on to others grows exponentially with its dual, of which the curvature
    knows the beginning only.
    """
    far = ((top <= 0) & (mu == 0) & (x < -tau)).nonzero()[0]
    if len(far):
        x = x.copy()
        x[far] = -tau * np.log1p(-x[far] / tau)
    return x


def _feature_sign(
    B: np.ndarray, q: np.ndarray, gamma: np.ndarray, top: np.ndarray, x: np.ndarray
) -> np.ndarray:
    """Solve for the proximal step from x, by steps that lower the objective each."""
    free, sign = (gamma <= 0) & (top > 0), np.sign(x)
    for _ in range(4 * len(x) + 20):
        if free.any() or sign.any():
            y = _solve_signs(B, q, gamma, sign, free)
            crossing = (~free & (y * sign < 0)).nonzero()[0]
            if len(crossing):  # the best of y and of where a coordinate is zero on the way there
                stops = [x + x[k] / (x[k] - y[k]) * (y - x) for k in crossing]
                for k, stop in zip(crossing, stops):
                    stop[k] = 0.0
                stops = [np.minimum(stop, top) for stop in stops]  # but for rounding
                good = [z for z in (y, *stops) if (z <= top).all()]
                y = min(good, key=lambda z: float(z @ (0.5 * B @ z - q) + gamma @ np.abs(z)))
            x, sign = y, np.sign(y)
            if len(crossing):  # solve again with the new signs
                continue
        slope, excess = _pull(B, q, gamma, top, x)
        excess = np.where(free | (sign != 0), 0.0, excess)
        c = int(excess.argmax())
        if excess[c] <= 0:
            break
        sign[c] = -np.sign(slope[c])
    return x


def _solve_signs(
    B: np.ndarray, q: np.ndarray, gamma: np.ndarray, sign: np.ndarray, free: np.ndarray
) -> np.ndarray:
    """Minimise with the signs given, and zero where an entry is neither free nor has a sign."""
    a = (free | (sign != 0)).nonzero()[0]
    x = np.zeros_like(q)
    if len(a):
        x[a] = _solve(B[a[:, None], a], (q - gamma * sign)[a])
    return x


def _pull(
    B: np.ndarray, q: np.ndarray, gamma: np.ndarray, top: np.ndarray, x: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the slopes at x, and by how much, beyond rounding, each would move an entry at zero.

    One that has a top is moved downwards only.
    """
    slope = B @ x - q
    rounding = 1e-12 * (gamma + np.abs(q)) + 1e-15 * (np.abs(B) @ np.abs(x))
    return slope, np.where(top > 0, np.abs(slope), slope) - gamma - rounding


def _solve(B: np.ndarray, q: np.ndarray) -> np.ndarray:
    """B^-1 q for a definite B, or the least-squares solution where rounding makes it indefinite."""
    x: np.ndarray
    _, x, failed = dposv(B, q)
    return np.linalg.lstsq(B, q, rcond=None)[0] if failed else x
