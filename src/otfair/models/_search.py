"""The weakest regularisation that is fair enough: from weak to strong, then by bisection."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import TypeVar

from otfair._io.progress import track

ALPHAS = (0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999)
BISECTIONS = 5
Model = TypeVar("Model")


def weakest_alpha(
    train: Callable[[float, Model], Model],
    violation: Callable[[Model], float],
    start: Model,
    limit: float,
    *,
    remedy: str = "Allow more of it, or add features.",
    verbose: bool = False,
) -> tuple[float, Model]:
    """Return the weakest strength whose model violates fairness by at most `limit`, and the model.

    `train` makes the model of a strength from that of a nearby one; `start` is the one without
    regularisation. A violation of NaN, of a model that went wrong, is never fair enough. Where no
    strength is, a warning gives the remedy, and the fairest model tried is returned.
    """
    tried = [(violation(start), 0.0, start)]
    # From weak to strong: people held out need not judge the strongest the fairest.
    for alpha in track(ALPHAS, "max_violation", verbose=verbose):
        if tried[-1][0] <= limit:
            break
        model = train(alpha, tried[-1][2])
        tried.append((violation(model), alpha, model))
    if not tried[-1][0] <= limit:
        lowest, alpha, model = min(tried, key=lambda found: (math.isnan(found[0]), found[0]))
        warnings.warn(
            f"no alpha up to {ALPHAS[-1]} meets max_violation={limit}: the lowest violation is "
            f"{lowest:.3g}, at alpha={alpha:g}. {remedy}",
            stacklevel=3,  # where `fit` was called
        )
        return alpha, model
    met, weak = tried[-1], tried[-2] if len(tried) > 1 else tried[-1]
    for _ in range(BISECTIONS if met is not weak else 0):
        alpha = 0.5 * (weak[1] + met[1])
        model = train(alpha, weak[2])
        found = (violation(model), alpha, model)
        met, weak = (found, weak) if found[0] <= limit else (met, found)
    return met[1], met[2]
