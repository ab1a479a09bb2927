"""The four costs: exact, smooth, relaxed and adjusted transport of scores to fairness.

Maths: docs/derivation.md, sections 1, 6, 7 and 8.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from functools import wraps
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
import torch

from otfair._io.arrays import Array, to_vector
from otfair._io.settings import check_epsilon, check_flag
from otfair._io.threads import few_threads
from otfair.geometry import Geometry
from otfair.notions import Constraints, PartedConstraints
from otfair.transport._bounded import BoundedProblem, solve_bounded
from otfair.transport._coordinate import Coordinate
from otfair.transport._exact import solve_exact
from otfair.transport._exact_bounded import solve_exact_bounded
from otfair.transport._newton import Newton
from otfair.transport._parted import PartedProblem
from otfair.transport._parted_exact import PartedPairs
from otfair.transport._problem import TransportProblem
from otfair.transport._rates import at_own_rates, cheapest, rate_price
from otfair.transport._results import AdjustedTransport, Transport
from otfair.transport._semidual import Reference
from otfair.transport._status import TransportError

Method: TypeAlias = Newton | Coordinate
Solver: TypeAlias = Method | str
Init: TypeAlias = Transport | Array | None
Function = TypeVar("Function", bound=Callable[..., Any])


def _threaded(cost: Function) -> Function:
    """Let a cost take as many threads as pay for its people."""

    @wraps(cost)
    def run(scores: Array, geometry: Geometry, *args: Any, **settings: Any) -> Any:
        with few_threads(geometry.shape[0] if isinstance(geometry, Geometry) else 0):
            return cost(scores, geometry, *args, **settings)

    return cast(Function, run)


@_threaded
def exact_otf(
    scores: Array,
    geometry: Geometry,
    constraints: Constraints,
    *,
    slack: Array = 0.0,
    bounded: bool = False,
    throw: bool = True,
) -> Transport:
    """Cheapest transport of the scores to fair ones, without smoothing: a linear program.

    Solved by HiGHS; past 20 000 pairs of a person and a type, on pairs generated from the annealed
    semi-dual until the duality gap certifies the optimum. `plan(sparse=True)` is a transport
    between real people.

    Parameters
    ----------
    scores, geometry, constraints : array of shape (n,), Geometry and Constraints
        As for `smooth_otf`.
    slack : float or array of shape (d,), default=0.0
        Violation allowed, in all or in each row of G.
    bounded : bool, default=False
        Whether nobody may receive more than a score of one, so that fair scores are scores.
    throw : bool, default=True
        Raise `TransportError` on failure; otherwise return it in `status`.

    Returns
    -------
    Transport
        The solution, and what follows from it.

    Examples
    --------
    Two people of different groups, a distance 1 apart: half the gap must travel.

    >>> import otfair
    >>> fair = otfair.DemographicParity().constraints(["a", "b"])
    >>> t = otfair.exact_otf([0.9, 0.5], otfair.CostMatrix([[0, 1], [1, 0]]), fair)
    >>> round(t.value, 6), t.fair_scores.round(6)
    (0.2, array([0.7, 0.7]))
    """
    problem = _stated(scores, geometry, constraints, 0.0, bounded)

    def solve(constraints: Constraints) -> Transport:
        stated = problem.with_constraints(constraints, scores)
        return _solve_exact(stated, stated.read_slack(slack), bounded)

    if constraints.free is not None:
        return _checked(cheapest(solve, constraints, scores), throw)
    return _checked(_solve_exact(problem, problem.read_slack(slack), bounded), throw)


@_threaded
def smooth_otf(
    scores: Array,
    geometry: Geometry,
    constraints: Constraints,
    epsilon: float = 1e-3,
    slack: Array = 0.0,
    solver: Solver = "newton",
    init: Init = None,
    throw: bool = True,
    bounded: bool = False,
    **options: Any,
) -> Transport:
    """Transport the scores to fair ones, smoothed by entropy.

    Parameters
    ----------
    scores : array of shape (n,)
        In (0, 1].
    geometry : Geometry
        Who is like whom: `PointCloud` or `CostMatrix`.
    constraints : Constraints
        Of a notion on these people, or `Constraints.from_matrix`.
    epsilon : float, default=1e-3
        Smoothing, in units of the scaled cost.
    slack : float or array of shape (d,), default=0.0
        Violation allowed, in all or in each row of G.
    solver : {"newton", "coordinate"}, Newton or Coordinate, default="newton"
        "coordinate" is the published scheme.
    init : Transport or array of shape (d,), default=None
        Where to start: a solution of a nearby problem, or its constraint duals.
    throw : bool, default=True
        Raise `TransportError` on failure; otherwise return it in `status`.
    bounded : bool, default=False
        Whether nobody may receive more than a score of one, so that fair scores are scores.
    **options : float or int
        Settings of the solver, such as ``tol=1e-10`` or ``max_sweeps=1``.

    Returns
    -------
    Transport
        The solution, and what follows from it.

    Examples
    --------
    >>> import otfair
    >>> fair = otfair.DemographicParity().constraints(["a", "a", "b", "b"])
    >>> people = otfair.PointCloud([[0.0], [1.0], [0.1], [0.9]])
    >>> t = otfair.smooth_otf([0.9, 0.6, 0.5, 0.2], people, fair, epsilon=1e-3)
    >>> t.converged, t.fair_scores.round(3)
    (True, array([0.66, 0.44, 0.74, 0.36]))
    """
    problem = _smooth_problem(scores, geometry, constraints, epsilon, bounded, init)
    method = _solver(solver, options, bounded)
    return _solve(problem, problem.read_slack(slack), method, init, throw)


@_threaded
def relaxed_otf(
    scores: Array,
    geometry: Geometry,
    constraints: Constraints,
    epsilon: float = 1e-3,
    slack: Array = 0.0,
    solver: Solver = "newton",
    init: Init = None,
    throw: bool = True,
    bounded: bool = False,
    **options: Any,
) -> Transport:
    """Transport the scores to any that are no more unfair than they are now, smoothed by entropy.

    This is what smoothing alone costs: `smooth_otf` with the slack ``|G h - b|`` (or `slack`,
    where that is larger).

    Parameters
    ----------
    scores, geometry, constraints : array of shape (n,), Geometry and Constraints
        As for `smooth_otf`.
    epsilon : float, default=1e-3
        Smoothing, in units of the scaled cost.
    slack : float or array of shape (d,), default=0.0
        Violation allowed, in all or in each row of G.
    solver : {"newton", "coordinate"}, Newton or Coordinate, default="newton"
        As for `smooth_otf`.
    init : Transport or array of shape (d,), default=None
        Where to start.
    throw : bool, default=True
        Raise `TransportError` on failure; otherwise return it in `status`.
    bounded : bool, default=False
        As for `smooth_otf`.
    **options : float or int
        Settings of the solver.

    Returns
    -------
    Transport
        The solution, and what follows from it.
    """
    problem = _smooth_problem(scores, geometry, constraints, epsilon, bounded, init)
    relaxed = np.maximum(problem.read_slack(slack), np.abs(problem.violation))
    return _solve(problem, relaxed, _solver(solver, options, bounded), init, throw)


@_threaded
def adjusted_otf(
    scores: Array,
    geometry: Geometry,
    constraints: Constraints,
    epsilon: float = 1e-3,
    slack: Array = 0.0,
    solver: Solver = "newton",
    init: AdjustedTransport | tuple[Init, Init] | None = None,
    throw: bool = True,
    bounded: bool = False,
    **options: Any,
) -> AdjustedTransport:
    """Smooth minus relaxed cost: zero for fair scores, differentiable, the regulariser of OTF.

    Parameters
    ----------
    scores, geometry, constraints : array of shape (n,), Geometry and Constraints
        As for `smooth_otf`.
    epsilon : float, default=1e-3
        Smoothing, in units of the scaled cost.
    slack : float or array of shape (d,), default=0.0
        Violation allowed, in all or in each row of G.
    solver : {"newton", "coordinate"}, Newton or Coordinate, default="newton"
        As for `smooth_otf`.
    init : AdjustedTransport or tuple of two, default=None
        An earlier result, or where the smooth and the relaxed problem start.
    throw : bool, default=True
        Raise `TransportError` on failure; otherwise return it in `status`.
    bounded : bool, default=False
        As for `smooth_otf`.
    **options : float or int
        Settings of the solver.

    Returns
    -------
    AdjustedTransport
        The cost, its gradient, and the two solutions.

    Examples
    --------
    >>> import otfair
    >>> fair = otfair.DemographicParity().constraints(["a", "a", "b", "b"])
    >>> people = otfair.PointCloud([[0.0], [1.0], [0.1], [0.9]])
    >>> a = otfair.adjusted_otf([0.9, 0.6, 0.5, 0.2], people, fair)
    >>> round(a.value, 4), a.gradient.round(3)
    (0.0391, array([ 0.049,  0.049, -0.049, -0.049]))
    >>> abs(otfair.adjusted_otf([0.5, 0.5, 0.5, 0.5], people, fair).value) < 1e-12
    True
    """
    if isinstance(init, AdjustedTransport):
        init = (init.smooth, init.relaxed)
    elif init is not None and (not isinstance(init, (tuple, list)) or len(init) != 2):
        raise ValueError(
            "`init` must be an earlier result of `adjusted_otf`, or a pair: the duals of the "
            f"smooth and of the relaxed problem; received {type(init).__name__}."
        )
    first, second = init or (None, None)
    # With bounds, the relaxed problem is the finer one, in which both can go on.
    finest = second if isinstance(second, Transport) else first
    problem = _smooth_problem(scores, geometry, constraints, epsilon, bounded, finest)
    method = _solver(solver, options, bounded)
    allowed, unfairness = problem.read_slack(slack), np.abs(problem.violation)
    above = unfairness > np.maximum(allowed, 1e-12 * problem.size[: len(allowed)])
    smooth = _solve(problem, allowed, method, first, throw)
    # Scores that are fair already make the two problems one: start where the first one ended.
    released = isinstance(method, Coordinate) and method.released  # which has no warm start
    near = second if above.any() or released else smooth
    relaxed = _solve(smooth.problem, np.maximum(allowed, unfairness), method, near, throw)
    if released:
        return _as_released(smooth, relaxed)

    finer = relaxed.problem
    mu, nu = finer.extended(smooth.mu), relaxed.mu
    shift = (mu - nu) @ finer.vectors / finer.epsilon  # (K,)
    difference, moved = finer.price_change(smooth.point, relaxed.point, shift)
    d = len(allowed)
    linear = finer.target @ (mu - nu) - allowed @ np.abs(mu[:d]) + finer.slack @ np.abs(nu)
    price = np.where(above, np.abs(nu[:d]) * np.sign(problem.violation), 0.0) @ problem.all_vectors
    price = price + rate_price(constraints.free, smooth, relaxed, above)
    gradient = problem.like(problem.slope(difference, price))
    return AdjustedTransport(smooth, relaxed, moved + float(linear), gradient)


def _as_released(smooth: Transport, relaxed: Transport) -> AdjustedTransport:
    """Return the loss of the released code, whose duals are constants: the slack has no part."""
    problem, difference = smooth.problem, smooth.prices - relaxed.prices  # (n,)
    moved = torch.as_tensor(difference, device=problem.weight.device)
    value = float(problem.mass @ difference)
    return AdjustedTransport(smooth, relaxed, value, problem.like(problem.weight * moved))


def _smooth_problem(
    scores: Array,
    geometry: Geometry,
    constraints: Constraints,
    epsilon: float,
    bounded: bool,
    init: Any,
) -> TransportProblem:
    """State the problem, or change the scores of an earlier one of the same people."""
    epsilon = check_epsilon(epsilon, " Without smoothing, use `exact_otf`.")
    if isinstance(init, Transport):
        p = init.problem
        same = p.geometry is geometry and p.constraints is constraints and p.epsilon == epsilon
        if same and isinstance(p, BoundedProblem) == bounded:
            return p.with_scores(scores)
    problem = _stated(scores, geometry, constraints, epsilon, bounded)
    return BoundedProblem.of(problem) if bounded else problem


def _stated(
    scores: Array, geometry: Geometry, constraints: Constraints, epsilon: float, bounded: bool
) -> TransportProblem:
    """State the problem of people on this machine, or on Dask's workers."""
    if not isinstance(constraints, PartedConstraints):
        own = at_own_rates(scores, constraints)
        return TransportProblem(scores, geometry, own, epsilon)
    if bounded:
        raise TypeError(
            "bounds of one for each person are for one machine; leave `bounded` False on Dask."
        )
    return PartedProblem(scores, geometry, constraints, epsilon)


def _solve_exact(problem: TransportProblem, slack: np.ndarray, bounded: bool) -> Transport:
    check_flag("bounded", bounded)
    if bounded:
        return solve_exact_bounded(problem, slack)
    pairs_of = PartedPairs if isinstance(problem, PartedProblem) else None
    return solve_exact(problem.with_slack(slack), pairs_of)


def _solve(
    problem: TransportProblem, slack: np.ndarray, solver: Method, init: Init, throw: bool
) -> Transport:
    problem, reference, start = problem.with_slack(slack), None, None
    if isinstance(init, Transport):
        if not isinstance(init.point, Reference) and init.problem.distances is problem.distances:
            reference = init.point.reference
        start = problem.continued(init.problem, init.mu)
        init = init.constraint_duals
    if start is None and init is not None:
        duals = to_vector(init, "init", len(slack), "constraint").cpu().numpy()
        start = problem.extended(duals * problem.unit[: len(slack)])
    with np.errstate(all="ignore"):  # where numbers overflow, the status tells
        if isinstance(problem, BoundedProblem):
            assert isinstance(solver, Newton)
            problem, solved = solve_bounded(problem, solver, start, reference)
        elif isinstance(problem, PartedProblem) and not isinstance(solver, Newton):
            raise TypeError('coordinate ascent is for one machine; leave `solver="newton"`.')
        else:
            solved = solver.solve(problem, start, reference)
        mu, point, status, residual, iterations = solved
        prices, value = problem.price(point)
        linear = float(problem.target @ mu - problem.slack @ np.abs(mu))
        value += linear
        primal_value = value - linear + float(mu @ (problem.vectors @ point.f))
    transport = Transport(
        problem=problem,
        mu=mu,
        prices=prices,
        point=point,
        value=value,
        primal_value=primal_value,
        residual=residual,
        status=status,
        iterations=iterations,
    )
    return _checked(transport, throw)


def _solver(solver: Solver, options: dict[str, Any], bounded: bool) -> Method:
    check_flag("bounded", bounded)
    known: dict[Any, Method] = {"newton": Newton(), "coordinate": Coordinate()}
    method = solver if isinstance(solver, (Newton, Coordinate)) else known.get(solver)
    if method is None:
        raise ValueError(
            f"unknown solver {solver!r}; pass one of {', '.join(known)}, a `Newton(...)` or a "
            "`Coordinate(...)`."
        )
    if bounded and not isinstance(method, Newton):
        raise ValueError(
            "the published coordinate ascent knows no bounds; pass `bounded=False`, or leave "
            '`solver="newton"`.'
        )
    names = [field.name for field in fields(method)]
    if unknown := set(options) - set(names):
        raise TypeError(f"solver {solver!r} has no options {sorted(unknown)}; it has {names}.")
    return replace(method, **options)


def _checked(transport: Transport, throw: bool) -> Transport:
    if throw and transport.status.failed:
        raise TransportError(f"{transport.status} (residual {transport.residual:.2e})")
    return transport
