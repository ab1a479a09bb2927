"""L-BFGS for objectives with kinks: weak Wolfe line search, stopped by relative decrease.

Lewis and Overton's variant: the line search brackets by doubling and bisection, which needs no
smoothness. Near a kink the gradient does not become small (docs/derivation.md, section 8), so the
rule that stops looks at the decrease of the objective over several iterations.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

MEMORY = 20
SUFFICIENT, FLATTER = 1e-4, 0.9  # weak Wolfe: enough decrease, and a slope that rose enough
WINDOW = 10  # iterations over which the decrease is judged
RESTARTS = (1e-1, 1e-2, 1e-3)  # how far from a kink to start again, relative to the point
Objective: TypeAlias = Callable[[np.ndarray], tuple[float, np.ndarray]]  # its value and gradient
Callback: TypeAlias = Callable[[np.ndarray, float], None]


@dataclass(frozen=True)
class Minimum:
    """Where the search ended."""

    x: np.ndarray
    value: float
    iterations: int
    evaluations: int
    converged: bool  # by the rule, or because no step gets lower any more
    stuck: bool = False  # no step got lower: on a kink


def minimize(
    objective: Objective,
    start: np.ndarray,
    *,
    max_iter: int = 500,
    tol: float = 1e-7,
    callback: Callback | None = None,
) -> Minimum:
    """Minimise a function that returns its value and gradient.

    Stops when the objective fell by less than `tol` of its size over ten iterations, or after
    `max_iter` iterations. Where no step along the direction and none along the gradient lowers it,
    the point is on a kink, not yet a minimum: the search starts again near it, and ends
    when that leads no lower.
    """
    found = _search(objective, start, max_iter, tol, callback)
    if not np.isfinite(found.value):
        raise ValueError(
            f"the loss is {found.value} where training starts. Scale the features, for example "
            "with `TableEncoder`, or start from smaller parameters."
        )
    rng = np.random.default_rng(0)
    for size in RESTARTS:
        if not found.stuck or found.iterations >= max_iter:
            break
        shift = size * max(float(np.linalg.norm(found.x)), 1e-3) / np.sqrt(len(start))
        near = found.x + shift * rng.normal(size=len(start))
        again = _search(objective, near, max_iter - found.iterations, tol, callback)
        found = replace(
            again if again.value < found.value else found,
            iterations=found.iterations + again.iterations,
            evaluations=found.evaluations + again.evaluations,
            stuck=again.stuck,
        )
    return found


def _search(
    objective: Objective, start: np.ndarray, max_iter: int, tol: float, callback: Callback | None
) -> Minimum:
    x, pairs, used = start, deque[tuple[np.ndarray, np.ndarray]](maxlen=MEMORY), 1
    f, g = objective(x)
    values = deque([f], maxlen=WINDOW + 1)
    for iteration in range(max_iter):
        if not g.any():
            return Minimum(x, f, iteration, used, True)
        step = None
        for direction in (_direction(g, pairs), -g / max(1.0, float(np.abs(g).sum()))):
            if direction @ g < 0:
                step, count = _line_search(objective, x, f, g, direction)
                used += count
            if step is not None:
                break
            pairs.clear()
        if step is None:
            return Minimum(x, f, iteration, used, True, stuck=True)
        t, f_new, g_new = step
        s, y = t * direction, g_new - g
        if s @ y > 1e-12 * np.linalg.norm(s) * np.linalg.norm(y):
            pairs.append((s, y))
        x, f, g = x + s, f_new, g_new
        values.append(f)
        if callback is not None:
            callback(x, f)
        if len(values) > WINDOW and values[0] - f <= tol * max(abs(f), 1e-12):
            return Minimum(x, f, iteration + 1, used, True)
    return Minimum(x, f, max_iter, used, False)


def _direction(g: np.ndarray, pairs: deque[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Two-loop recursion: minus the inverse Hessian's estimate times the gradient."""
    if not pairs:
        return -g / max(1.0, float(np.abs(g).sum()))
    q, shares = g.copy(), []
    for s, y in reversed(pairs):
        shares.append((s @ q) / (s @ y))
        q -= shares[-1] * y
    s, y = pairs[-1]
    q *= (s @ y) / (y @ y)
    for (s, y), share in zip(pairs, reversed(shares)):
        q += (share - (y @ q) / (s @ y)) * s
    return -q


def _line_search(
    objective: Objective, x: np.ndarray, f: float, g: np.ndarray, direction: np.ndarray
) -> tuple[tuple[float, float, np.ndarray] | None, int]:
    """Return a step that meets weak Wolfe, or at least lowers the objective; else None."""
    low, high, t, slope = 0.0, np.inf, 1.0, float(direction @ g)
    best: tuple[float, float, np.ndarray] | None = None
    count = 0
    while count < 30:
        count += 1
        f_new, g_new = objective(x + t * direction)
        if not f_new <= f + SUFFICIENT * t * slope:  # also when it is NaN
            high = t
        else:
            best = (t, f_new, g_new)
            if direction @ g_new >= FLATTER * slope:
                break
            low = t
        t = 2 * low if high == np.inf else 0.5 * (low + high)
    return best, count
