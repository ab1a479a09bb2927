"""The four costs: exact, smooth, relaxed and adjusted transport of scores to fairness.

Maths: docs/derivation.md, sections 1, 6, 7 and 8.
"""

from __future__ import annotations

import warnings
from dataclasses import fields, replace
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from otfair.arrays import Array, is_tensor, like_input, to_tensor
from otfair.constraints import Constraints, check_existence
from otfair.coordinate import Coordinate
from otfair.distances import NearestDistances, SoftDistances
from otfair.exact import solve_exact
from otfair.geometry import Geometry
from otfair.newton import Newton
from otfair.problem import TransportProblem
from otfair.status import TransportError
from otfair.transport import AdjustedTransport, Transport

Solver: TypeAlias = Newton | Coordinate | str
Init: TypeAlias = Transport | AdjustedTransport | Array | None


def exact_otf(
    scores: Array,
    geometry: Geometry,
    constraints: Constraints,
    slack: Array = 0.0,
    throw: bool = True,
) -> Transport:
    """Cheapest transport of the scores to fair ones, without smoothing: a linear program.

    Solved by HiGHS; past 20 000 pairs of a person and a type, on pairs generated from the annealed
    semi-dual until the duality gap certifies the optimum. `plan(sparse=True)` is a transport between
    real people.

    Parameters
    ----------
    scores : (n,) in (0, 1].
    geometry : `PointCloud` or `CostMatrix`.
    constraints : from a notion, or `Constraints.from_matrix`.
    slack : violation allowed, a number or one a row of G.
    throw : raise `TransportError` on failure; otherwise return it in `status`.

    Examples
    --------
    Two people of different groups, a distance 1 apart: half the gap must travel.

    >>> import otfair
    >>> fair = otfair.DemographicParity().constraints(["a", "b"])
    >>> t = otfair.exact_otf([0.9, 0.5], otfair.CostMatrix([[0, 1], [1, 0]]), fair)
    >>> round(t.value, 6), t.fair_scores.round(6)
    (0.2, array([0.7, 0.7]))
    """
    setup = _Setup(scores, geometry, constraints, None)
    problem = setup.problem(setup.slack(slack))
    solution = solve_exact(problem)
    transport = Transport(
        problem=problem,
        constraints=constraints,
        geometry=geometry,
        spread=setup.spread,
        open_types=setup.open_types,
        share=solution.share,
        value=solution.dual_value,
        primal_value=solution.primal_value,
        duals=(_lowest_price(problem, solution.mu), solution.mu),
        status=solution.status,
        residual=solution.residual,
        iterations=solution.rounds,
        as_tensor=setup.as_tensor,
    )
    return _checked(transport, throw)


def smooth_otf(
    scores: Array,
    geometry: Geometry,
    constraints: Constraints,
    epsilon: float = 1e-3,
    slack: Array = 0.0,
    solver: Solver = "newton",
    init: Init = None,
    throw: bool = True,
    **options: Any,
) -> Transport:
    """Transport the scores to fair ones, smoothed by entropy.

    Parameters
    ----------
    scores : (n,) in (0, 1].
    geometry : `PointCloud` or `CostMatrix`.
    constraints : from a notion, or `Constraints.from_matrix`.
    epsilon : smoothing, in units of the scaled cost.
    slack : violation allowed, a number or one a row of G.
    solver : "newton", "coordinate" (the published scheme), or a `Newton` or `Coordinate`.
    init : where to start: a solution of a nearby problem, or its constraint duals (d,).
    throw : raise `TransportError` on failure; otherwise return it in `status`.
    **options : settings of the solver, such as ``tol=1e-10`` or ``max_sweeps=1``.

    Examples
    --------
    >>> import otfair
    >>> fair = otfair.DemographicParity().constraints(["a", "a", "b", "b"])
    >>> people = otfair.PointCloud([[0.0], [1.0], [0.1], [0.9]])
    >>> t = otfair.smooth_otf([0.9, 0.6, 0.5, 0.2], people, fair, epsilon=1e-3)
    >>> t.converged, t.fair_scores.round(3)
    (True, array([0.525, 0.575, 0.875, 0.225]))
    """
    setup = _Setup(scores, geometry, constraints, epsilon)
    return _smooth(setup, setup.slack(slack), _solver(solver, options), _duals(init), throw)


def relaxed_otf(
    scores: Array,
    geometry: Geometry,
    constraints: Constraints,
    epsilon: float = 1e-3,
    slack: Array = 0.0,
    solver: Solver = "newton",
    init: Init = None,
    throw: bool = True,
    **options: Any,
) -> Transport:
    """Transport the scores to any that are no more unfair than they are now, smoothed by entropy.

    This is what smoothing alone costs: `smooth_otf` with the slack |G h - b| (or `slack`, where
    that is larger). The parameters are those of `smooth_otf`.
    """
    setup = _Setup(scores, geometry, constraints, epsilon)
    relaxed = np.maximum(setup.slack(slack), np.abs(setup.violation))
    return _smooth(setup, relaxed, _solver(solver, options), _duals(init), throw)


def adjusted_otf(
    scores: Array,
    geometry: Geometry,
    constraints: Constraints,
    epsilon: float = 1e-3,
    slack: Array = 0.0,
    solver: Solver = "newton",
    init: AdjustedTransport | None = None,
    throw: bool = True,
    **options: Any,
) -> AdjustedTransport:
    """Smooth minus relaxed cost: zero for fair scores, differentiable, the regulariser of OTF.

    The parameters are those of `smooth_otf`; `init` is an earlier result.

    Examples
    --------
    >>> import otfair
    >>> fair = otfair.DemographicParity().constraints(["a", "a", "b", "b"])
    >>> people = otfair.PointCloud([[0.0], [1.0], [0.1], [0.9]])
    >>> a = otfair.adjusted_otf([0.9, 0.6, 0.5, 0.2], people, fair)
    >>> round(a.value, 4), a.gradient.round(3)
    (0.0374, array([ 0.049,  0.05 , -0.05 , -0.049]))
    >>> abs(otfair.adjusted_otf([0.5, 0.5, 0.5, 0.5], people, fair).value) < 1e-12
    True
    """
    setup = _Setup(scores, geometry, constraints, epsilon)
    method = _solver(solver, options)
    allowed = setup.slack(slack)
    unfairness = np.abs(setup.violation)
    above = unfairness > np.maximum(allowed, 1e-12 * setup.row_size)
    smooth = _smooth(setup, allowed, method, _duals(init and init.smooth), throw)
    # Scores that are fair already make the two problems one: start where the first one ended.
    near = _duals(init and init.relaxed) if init or above.any() else _duals(smooth)
    relaxed = _smooth(setup, np.maximum(allowed, unfairness), method, near, throw)

    mu, nu = smooth.duals[1], relaxed.duals[1]
    difference = _price_difference(smooth, relaxed)
    value = (
        float(setup.mass @ difference)
        + float(smooth.problem.target @ (mu - nu))
        - float(smooth.problem.slack @ np.abs(mu) - relaxed.problem.slack @ np.abs(nu))
    )
    price = np.where(above, np.abs(nu) * np.sign(setup.violation), 0.0) @ setup.vectors  # (K,)
    slope = torch.as_tensor(price, device=difference.device)[setup.row_types]
    gradient = setup.weight * (difference + slope)
    return AdjustedTransport(
        smooth=smooth,
        relaxed=relaxed,
        value=value,
        gradient=like_input(gradient, setup.as_tensor),
    )


class _Setup:
    """What the problems of one call have in common: everything but the slack."""

    def __init__(
        self, scores: Array, geometry: Geometry, constraints: Constraints, epsilon: float | None
    ):
        self.as_tensor = is_tensor(scores)
        self.geometry, self.constraints = geometry, constraints
        self.epsilon = 0.0 if epsilon is None else float(epsilon)
        device = geometry.device
        self.scores = h = _check_scores(scores, geometry, constraints)
        on = lambda values: torch.as_tensor(values, device=device)
        self.weight, self.row_types = on(constraints.sample_weight), on(constraints.types)
        self.mass = self.weight * h
        K = len(constraints.type_names)
        column_mass = on(constraints.column_mass)
        self.open_types = torch.nonzero(column_mass > 0).squeeze(1)
        columns = (on(constraints.column_types), on(constraints.column_weight), K)
        self.spread: SoftDistances | NearestDistances
        if epsilon is None:
            self.spread = geometry.nearest_distances(*columns)
        else:
            self.spread = geometry.soft_distances(columns[0], self.epsilon, *columns[1:])
        D = self.spread.values.T
        self.distances = (D if len(self.open_types) == K else D[self.open_types]).T
        self.column_mass = column_mass[self.open_types].cpu().numpy()
        vectors = on(constraints.vectors).cpu().numpy()  # (d, K)
        self.unit = np.abs(vectors).max(1, initial=0.0)
        self.unit = np.where(self.unit > 0, self.unit, 1.0)
        self.vectors = vectors / self.unit[:, None]
        self.target = on(constraints.target).cpu().numpy() / self.unit
        by_type = torch.zeros(K, dtype=h.dtype, device=device)
        by_type = by_type.index_add_(0, self.row_types, self.mass).cpu().numpy()
        self.row_size = np.abs(self.vectors) @ by_type
        self.violation = self.vectors @ by_type - self.target  # G h - b
        self.total = float(by_type.sum())

    def slack(self, slack: Array) -> np.ndarray:
        """Read the user's slack, one number or one a row, for the scaled rows."""
        d = len(self.target)
        out = to_tensor(slack, "slack").cpu().numpy()
        if out.shape not in ((), (d,)):
            raise ValueError(
                f"`slack` must be a number or one a constraint, {d}; received shape {out.shape}."
            )
        if (out < 0).any():
            raise ValueError(f"`slack` must not be negative; the smallest is {out.min():.3g}.")
        return out / self.unit

    def problem(self, slack: np.ndarray) -> TransportProblem:
        """State the problem, with the slack of the scaled rows."""
        problem = TransportProblem(
            scores=self.scores,
            mass=self.mass,
            distances=self.distances,
            vectors=self.vectors[:, self.open_types.cpu().numpy()],
            target=self.target,
            slack=slack,
            unit=self.unit,
            row_size=self.row_size,
            column_mass=self.column_mass,
            total=self.total,
            epsilon=self.epsilon,
        )
        if not self.constraints.always_feasible and not check_existence(
            self.constraints, problem.total, slack * self.unit
        ):
            warnings.warn(
                "the only fair scores leave some types of people with none, so the smooth optimum "
                "is not attained; allow a little `slack` to move away from that edge.",
                stacklevel=4,
            )
        return problem


def _smooth(
    setup: _Setup,
    slack: np.ndarray,
    solver: Newton | Coordinate,
    init: np.ndarray | None,
    throw: bool,
) -> Transport:
    problem = setup.problem(slack)
    if init is not None and init.shape != problem.target.shape:
        raise ValueError(
            f"`init` must hold one dual a constraint, {len(problem.target)}; received shape "
            f"{init.shape}. Groups may differ between the two samples: start from None."
        )
    found = solver.solve(problem, None if init is None else init * setup.unit)
    eps, mu = problem.epsilon, found.mu
    lam = eps * (problem.scores.log() - found.point.lse)
    linear = float(problem.target @ mu - slack @ np.abs(mu))
    value = float(problem.mass @ (lam - eps)) + linear
    transport = Transport(
        problem=problem,
        constraints=setup.constraints,
        geometry=setup.geometry,
        spread=setup.spread,
        open_types=setup.open_types,
        share=found.point.share,
        value=value,
        primal_value=value + float(mu @ (problem.vectors @ found.point.f)) - linear,
        duals=(lam, mu),
        status=found.status,
        residual=found.residual,
        iterations=found.iterations,
        as_tensor=setup.as_tensor,
    )
    return _checked(transport, throw)


def _price_difference(smooth: Transport, relaxed: Transport) -> Tensor:
    """lambda of the smooth problem minus that of the relaxed one, (n,); the eps log h cancels.

    Where the duals are close, from LSE(mu) - LSE(nu) = log sum_k p_k(nu) exp(g_k'(mu - nu) / eps),
    which has no cancellation.
    """
    problem = smooth.problem
    shift = (smooth.duals[1] - relaxed.duals[1]) @ problem.vectors / problem.epsilon  # (K,)
    if np.abs(shift).max(initial=0.0) > 1:
        return smooth.duals[0] - relaxed.duals[0]
    change = torch.as_tensor(np.expm1(shift), device=relaxed.share.device)
    return -problem.epsilon * torch.log1p(change @ relaxed.share)


def _check_scores(scores: Array, geometry: Geometry, constraints: Constraints) -> Tensor:
    h = to_tensor(scores, "scores", device=geometry.device)
    if h.ndim == 2 and h.shape[1] == 1:
        h = h.squeeze(1)
    n, m = geometry.shape
    people, receivers = len(constraints.types), len(constraints.column_types)
    if h.shape != (n,) or people != n or receivers != m:
        raise ValueError(
            f"`scores`, `geometry` and `constraints` must speak of the same people; received "
            f"scores of shape {tuple(h.shape)}, a geometry of {n} rows and {m} columns, and "
            f"constraints on {people} people and {receivers} receivers."
        )
    outside = (h <= 0) | (h > 1)
    if bool(outside.any()):
        raise ValueError(
            f"`scores` must lie in (0, 1]; {int(outside.sum())} of {n} do not: they range from "
            f"{float(h.min()):.3g} to {float(h.max()):.3g}. Pass probabilities: for logits, apply "
            "`torch.sigmoid` first; where a score of 0 is meant, clip at a small positive number."
        )
    return h


def _solver(solver: Solver, options: dict[str, Any]) -> Newton | Coordinate:
    if not isinstance(solver, str):
        return replace(solver, **options)
    known: dict[str, type[Newton] | type[Coordinate]] = {"newton": Newton, "coordinate": Coordinate}
    if solver not in known:
        raise ValueError(f"unknown solver {solver!r}; pass one of {', '.join(known)}.")
    names = [field.name for field in fields(known[solver])]
    if unknown := set(options) - set(names):
        raise TypeError(f"solver {solver!r} has no options {sorted(unknown)}; it has {names}.")
    return known[solver](**options)


def _duals(init: Init) -> np.ndarray | None:
    if init is None:
        return None
    if isinstance(init, AdjustedTransport):
        init = init.smooth
    duals = init.constraint_duals if isinstance(init, Transport) else init
    return to_tensor(duals, "init").cpu().numpy()


def _lowest_price(problem: TransportProblem, mu: np.ndarray) -> Tensor:
    price = torch.as_tensor(mu @ problem.vectors, device=problem.distances.device)
    return (problem.distances - price).min(1).values


def _checked(transport: Transport, throw: bool) -> Transport:
    if throw and transport.status.failed:
        raise TransportError(f"{transport.status} (residual {transport.residual:.2e})")
    return transport
