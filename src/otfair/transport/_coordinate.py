"""The published coordinate ascent, kept for fidelity and comparison.

Maths: docs/derivation.md, section 12. A sweep updates lambda in closed form, then each constraint's
dual by a univariate problem. Working on types of columns gives the iterates of the n x n scheme.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from otfair._io.settings import check_real, check_whole
from otfair.transport._problem import TransportProblem
from otfair.transport._semidual import Reference, SemiDual, Solved
from otfair.transport._status import Status

MAX_EXPONENT = 600.0
RELEASED_TOP = -1e-3  # in the released code, the bound of phi and psi, where searches start


@dataclass(frozen=True, kw_only=True)
class Coordinate:
    """Settings of the coordinate ascent; the defaults are those of the released code.

    A sweep updates lambda, then mu. By default results are those of the last mu, so that lambda is
    updated once more. The released code returns lambda as it was before the last update of mu, and
    by `released` so does this.

    Parameters
    ----------
    max_sweeps : int, default=100
        Sweeps over all duals.
    tol : float, default=1e-3
        Stop, from the second sweep on, when epsilon times the mean change of lambda is below.
    univariate_tol : float, default=1e-3
        Largest derivative left in a univariate problem. It is that of the row of G divided by the
        number of people, scaled as this library scales the rows of groups, however it was given: so
        that people outside the group have minus one over the share of people it speaks of.
    residual_tol : float, default=1e-8
        Relative residual that counts as converged.
    released : bool, default=False
        Return what the released code does. `score_duals`, `value`, `fair_scores` and `plan()` are
        of lambda before the last update of mu; `constraint_duals`, `residual` and `status` are of
        the last mu. The adjusted cost is ``sum h (lambda - kappa)``, with kappa the lambda of the
        relaxed problem, and its gradient ``lambda - kappa``, both without the terms of the slack.
        After one sweep they are zero. Univariate problems are searched by SciPy's `minimize` with
        `univariate_tol`, which leaves the duals of the relaxed problem near zero.

    Examples
    --------
    >>> import otfair
    >>> fair = otfair.DemographicParity().constraints(["a", "a", "b", "b"])
    >>> people = otfair.PointCloud([[0.0], [1.0], [0.1], [0.9]])
    >>> problem = ([0.9, 0.6, 0.5, 0.2], people, fair, 0.01)
    >>> for sweeps in (1, 2):
    ...     a = otfair.adjusted_otf(*problem, solver=otfair.Coordinate(max_sweeps=sweeps))
    ...     as_released = otfair.Coordinate(max_sweeps=sweeps, released=True)
    ...     b = otfair.adjusted_otf(*problem, solver=as_released)
    ...     print(round(a.value, 4), round(b.value, 4))
    0.003 0.0
    0.0061 0.003
    """

    max_sweeps: int = 100
    tol: float = 1e-3
    univariate_tol: float = 1e-3
    residual_tol: float = 1e-8
    released: bool = False

    def __post_init__(self) -> None:
        for name in ("tol", "univariate_tol", "residual_tol"):
            check_real(name, getattr(self, name), 0)
        check_whole("max_sweeps", self.max_sweeps, 0)

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
            Duals, the point of the score duals, status, residual and number of sweeps.
        """
        semi, size = SemiDual(problem, reference=reference), _sizes(problem)
        rows = problem.vectors / size[:, None]  # G (d, K), and its duals from here on
        target, slack = problem.target / size, problem.slack / size
        mu = np.zeros(len(target)) if init is None else init * size
        # The relaxed problem's dual is phi - psi, searched up to `top`; elsewhere phi is free.
        bounded = bool(slack.any())
        top = (RELEASED_TOP if self.released else 0.0) if bounded else np.inf
        phi = np.minimum(mu, 0.0) if bounded else mu.copy()
        psi = phi - mu
        status, sweeps, change = Status.SWEEP_LIMIT, 0, np.inf
        previous = point = semi.at(mu / size)  # holds lambda for this mu, and the mass by type
        while sweeps < self.max_sweeps and status is not Status.SETTLED:
            mass = self._pass(problem.epsilon, rows, slack + target, phi, point.f, top)
            if bounded:
                self._pass(problem.epsilon, -rows, slack - target, psi, mass, top)
            mu = phi - psi
            sweeps += 1
            if problem.epsilon * change < self.tol:  # never in the first sweep
                status = Status.SETTLED
            previous, point = point, semi.at(mu / size)
            change = problem.epsilon * float(abs(point.lse - previous.lse).mean())
        residual = problem.residual(point.f, mu / size)
        if not residual > self.residual_tol:
            status = Status.STALLED if np.isnan(residual) else Status.CONVERGED
        return mu / size, previous if self.released else point, status, residual, sweeps

    def _pass(
        self,
        eps: float,
        rows: np.ndarray,
        slopes: np.ndarray,
        dual: np.ndarray,
        mass: np.ndarray,
        top: float,
    ) -> np.ndarray:
        """Update each entry of `dual` in turn, in place; returns the mass by type, (K,)."""
        search = _search_as_released if self.released else _univariate
        for c, (g, slope) in enumerate(zip(rows, slopes)):
            step = search(mass, g, eps, float(slope), float(dual[c]), top, self.univariate_tol)
            dual[c] += step
            mass = mass * _growth(g * step / eps)
        return mass


def _sizes(problem: TransportProblem) -> np.ndarray:
    """By what the problem's rows are divided, (d,), to be scaled as `univariate_tol` says."""
    V, mass = problem.vectors, problem.column_mass
    spoken_of = V != 0
    share = spoken_of @ (mass / mass.sum())
    outside = np.abs(np.where(spoken_of, V, np.inf).min(1, initial=np.inf))
    size = float(problem.weight.sum()) * share * outside
    return np.where(share > 0, size, 1.0)  # a row of zeros is as it should be


def _growth(exponents: np.ndarray) -> np.ndarray:
    return np.asarray(np.exp(np.clip(exponents, -MAX_EXPONENT, MAX_EXPONENT)))


def _univariate(
    mass: np.ndarray, g: np.ndarray, eps: float, slope: float, now: float, top: float, tol: float
) -> float:
    """argmax_s slope s - eps sum_k mass_k exp(g_k s / eps) over s <= top - now, by Newton."""

    def derivatives(s: float) -> tuple[float, float]:
        e = mass * _growth(g * s / eps)
        return slope - float(e @ g), float(e @ (g * g)) / eps

    top -= now
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


def _search_as_released(
    mass: np.ndarray, g: np.ndarray, eps: float, slope: float, now: float, top: float, tol: float
) -> float:
    """Search for the same maximum as the released code does, not from where the dual is now."""

    def descent(x: np.ndarray) -> tuple[float, np.ndarray]:
        s = float(x[0]) - now
        e = mass * _growth(g * s / eps)
        return eps * float(e.sum()) - slope * float(x[0]), np.array([float(e @ g) - slope])

    bounded = np.isfinite(top)
    start, bounds = (top, [(None, top)]) if bounded else (0.0, None)
    slope_at_start = float(descent(np.array([start]))[1][0])
    if abs(slope_at_start) <= tol or (bounded and slope_at_start < 0):
        return start - now  # where SciPy's search would end, too: most do, and calls of it are dear
    return float(minimize(descent, [start], jac=True, bounds=bounds, tol=tol).x[0]) - now
