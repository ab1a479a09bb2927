"""The weakest strength of fairness that people kept out of training find enough.

What they find need not fall with the strength, so each strength that was tried is judged by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from otfair._io.progress import track
from otfair.models._judging import Judgement, as_record

ALPHAS = (0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999)  # tried first
REFINEMENTS = 4  # at most, between the weakest that is enough and the next weaker
CLOSE = 0.95  # share of the limit from which on a bound is near enough


@dataclass(frozen=True)
class Found:
    """The strength that was chosen, its models, one for each split, and all that were tried."""

    alpha: float
    models: Sequence[Any]
    judgement: Judgement
    tried: list[dict[str, float]]


def weakest_alpha(
    train: Callable[[float, Sequence[Any]], Sequence[Any]],
    judge: Callable[[Sequence[Any]], Judgement],
    free: Sequence[Any],
    verbose: bool = False,
) -> Found:
    """Return the weakest strength found that meets the limit; the nearest to it where none does.

    `train` makes models of a strength from those of a nearby one; `free` are those without any.
    A violation of NaN, of a model that went wrong, is never fair enough.
    """
    tried = {0.0: (free, judge(free))}

    def met(alpha: float) -> bool:
        if alpha not in tried:
            nearest = max(a for a in tried if a < alpha)
            models = train(alpha, tried[nearest][0])
            tried[alpha] = (models, judge(models))
        return tried[alpha][1].met

    alpha = 0.0
    if not met(0.0):
        alpha = _on_grid(met, tried[0.0][1], verbose)
    if alpha and met(alpha):
        for _ in range(REFINEMENTS):
            weaker = max(a for a in tried if a < alpha)
            low, high = tried[alpha][1], tried[weaker][1]
            assert low.limit is not None
            if low.bound >= CLOSE * low.limit:
                break
            # On the line between the two, a little below the limit, and never next to an end.
            aim = 0.5 * (1 + CLOSE) * low.limit
            share = (aim - low.bound) / max(high.bound - low.bound, 1e-12)
            share = share if np.isfinite(high.bound) else 0.5
            between = alpha - float(np.clip(share, 0.1, 0.9)) * (alpha - weaker)
            alpha = between if met(between) else alpha
    elif not met(alpha):
        alpha = min(tried, key=lambda a: _excess(tried[a][1]))
    models, judgement = tried[alpha]
    return Found(alpha, models, judgement, [as_record(a, tried[a][1]) for a in sorted(tried)])


def _on_grid(met: Callable[[float], bool], free: Judgement, verbose: bool) -> float:
    """Return the weakest of the grid that meets the limit, begun where it is likely to be."""
    assert free.limit is not None
    # Alpha is nearly the share of the violation that goes; the margin stays.
    left = (free.limit - (free.bound - free.violation)) / max(free.violation, 1e-12)
    begin = int(np.searchsorted(ALPHAS, 1 - left)) if np.isfinite(left) else 0
    begin = max(0, min(begin, len(ALPHAS) - 1) - 1)
    for k in track(range(begin, len(ALPHAS)), "max_violation", verbose=verbose):
        if met(ALPHAS[k]):
            while k > 0 and k <= begin and met(ALPHAS[k - 1]):
                k -= 1
            return ALPHAS[k]
    return next((a for a in reversed(ALPHAS[:begin]) if met(a)), ALPHAS[-1])


def _excess(judgement: Judgement) -> tuple[bool, float, float]:
    """Return by what strengths are ordered where none meets the limit."""
    return np.isnan(judgement.violation), judgement.bound, judgement.violation
