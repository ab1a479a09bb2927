"""Factors of attributes or groups with which the same share is left of the violation of each.

Maths: docs/derivation.md, section 15; docs/training.md says how well it does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

HALVINGS, HALF_WITHIN = 8, 0.03  # trainings at most to find the balance, and how nearly to halve
PART_HALVINGS, EVENINGS = 12, 4  # where parts have factors, and to even these out at a strength
LEAST, LONGEST = 0.05, 1.5  # share of a violation that is told from 0 (or 1), and a factor's step
TOLD = 0.1  # of the largest violation: a part with less has no share, which would be chance
Balance: TypeAlias = float | dict[str, float]  # of the penalty, or of each part of it


def even_out(
    shares_at: Callable[[dict[str, float]], dict[str, float]],
    start: dict[str, float],
    aim: float | None = None,
) -> dict[str, float]:
    """Return factors with which the same share is left of the violation of each part.

    `shares_at` trains with factors and tells which share of each part's violation is left; `start`
    are factors to begin with. The share is to be `aim`, or else whatever comes of factors whose
    product is that of the first. If parts did not meet, 1 / (1 + factor) would be left, and the
    logit of that falls by one where the logarithm of the factor grows by one. This slope is the
    first guess of Broyden's method, which learns the rest from where it has been. Some parts may be
    fair by what the others do alone; the best that was tried is returned.
    """
    names, trainings = list(start), EVENINGS if aim is None else PART_HALVINGS
    at = best = np.log([start[name] for name in names])
    slope = -np.eye(len(names))  # of logits of shares by logarithms of factors
    least, left = np.inf, np.zeros(len(names))
    for _ in range(trainings):
        found = shares_at(dict(zip(names, np.exp(at).tolist())))
        # A part that is nearly fair without a penalty has no share: it moves with the others.
        mean = float(np.mean(list(found.values())))
        shares = np.clip([found.get(name, mean) for name in names], LEAST, 1 - LEAST)
        logits = np.log(shares / (1 - shares))
        middle = 0.5 * float(shares.max() + shares.min()) if aim is None else aim
        logits -= logits.mean() if aim is None else np.log(aim / (1 - aim))
        if np.isfinite(least):
            step = at - best
            slope += np.outer(logits - left - slope @ step, step) / float(step @ step)
        if (miss := float(np.abs(shares - middle).max())) < least:
            best, least, left = at, miss, logits
        if least <= HALF_WITHIN:
            break
        damped = slope.T @ slope + 1e-2 * np.eye(len(names))
        step = -np.linalg.solve(damped, slope.T @ left)
        step -= step.mean() if aim is None else 0.0
        if not step.any():  # no other factors would be better, by all that is known
            break
        at = best + step * min(1.0, LONGEST / max(float(np.abs(step).max()), 1e-12))
    return dict(zip(names, np.exp(best).tolist()))
