"""The published coordinate ascent, kept for fidelity and comparison.

Maths: docs/derivation.md, section 12. A sweep updates lambda in closed form, then each constraint's
dual by a univariate problem. Working on types of columns gives the iterates of the n x n scheme.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from otfair.transport._problem import TransportProblem
from otfair.transport._semidual import Reference, SemiDual, Solved
from otfair.transport._status import Status

MAX_EXPONENT = 600.0


@dataclass(frozen=True, kw_only=True)
class Coordinate:
    """Settings of the coordinate ascent; the defaults are those of the released code.

    Parameters
    ----------
    max_sweeps : int, default=100
        Sweeps over all duals.
    tol : float, default=1e-3
        Stop, from the second sweep on, when epsilon times the mean change of lambda is below.
    univariate_tol : float, default=1e-3
        Largest derivative left in a univariate problem, for rows of G divided by n.
    residual_tol : float, default=1e-8
        Relative residual that counts as converged.
    """

    max_sweeps: int = 100
    tol: float = 1e-3
    univariate_tol: float = 1e-3
    residual_tol: float = 1e-8

    def solve(
        self,
        problem: TransportProblem,
        init: np.ndarray | None = None,
        reference: Reference | None = None,
    ) -> Solved:
        """Sweep over the duals.

        Parameters
        ----------
        problem : TransportProblem
            What is solved.
        init : array of shape (d,), default=None
            Duals to start from; zero by default.
        reference : Reference, default=None
            As for `Newton.solve`.

        Returns
        -------
        tuple
            Duals, the point there, status, residual and number of sweeps.
        """
        semi = SemiDual(problem, reference=reference)
        mu = np.zeros(len(problem.target)) if init is None else init
        # The relaxed problem's dual is phi - psi, both at most zero; elsewhere phi is free.
        top = 0.0 if problem.slack.any() else np.inf
        phi = np.minimum(mu, top)
        psi = phi - mu
        status, sweeps, change = Status.SWEEP_LIMIT, 0, np.inf
        point = semi.at(mu)  # holds lambda for this mu, and the mass by type
        while sweeps < self.max_sweeps and status is not Status.SETTLED:
            mass = self._pass(problem, phi, point.f, +1.0, top)
            if top == 0:
                self._pass(problem, psi, mass, -1.0, top)
            mu = phi - psi
            sweeps += 1
            if problem.epsilon * change < self.tol:  # never in the first sweep
                status = Status.SETTLED
            previous, point = point, semi.at(mu)
            change = problem.epsilon * float(abs(point.lse - previous.lse).mean())
        residual = problem.residual(point.f, mu)
        if not residual > self.residual_tol:
            status = Status.STALLED if np.isnan(residual) else Status.CONVERGED
        return mu, point, status, residual, sweeps

    def _pass(
        self, problem: TransportProblem, dual: np.ndarray, mass: np.ndarray, sign: float, top: float
    ) -> np.ndarray:
        """Update each entry of `dual` in turn, in place; returns the mass by type, (K,)."""
        eps, tols = problem.epsilon, self.univariate_tol * len(problem.mass) / problem.unit
        for c, (g, tol) in enumerate(zip(sign * problem.vectors, tols)):
            slope = sign * problem.target[c] + problem.slack[c]
            step = _univariate(mass, g, eps, slope, top - dual[c], tol)
            dual[c] += step
            mass = mass * np.exp(np.clip(step * g / eps, -MAX_EXPONENT, MAX_EXPONENT))
        return mass


def _univariate(
    mass: np.ndarray, g: np.ndarray, eps: float, slope: float, top: float, tol: float
) -> float:
    """argmax_s slope s - eps sum_k mass_k exp(g_k s / eps) over s <= top, by safeguarded Newton."""

    def derivatives(s: float) -> tuple[float, float]:
        e = mass * np.exp(np.clip(g * s / eps, -MAX_EXPONENT, MAX_EXPONENT))
        return slope - float(e @ g), float(e @ (g * g)) / eps

    reach = MAX_EXPONENT * eps / max(float(np.abs(g).max(initial=0.0)), 1e-300)
    if top < reach and derivatives(top)[0] >= 0:
        return top
    low, high, s = -reach, min(top, reach), min(0.0, top)
    for _ in range(200):
        r, curvature = derivatives(s)
        if abs(r) <= tol:
            break
        low, high = (s, high) if r > 0 else (low, s)
        newton = s + r / curvature if curvature > 0 else np.inf
        s = newton if low < newton < high else 0.5 * (low + high)
    return s
