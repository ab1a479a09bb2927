"""What is said where a limit on unfairness is not met."""

from __future__ import annotations

import math


class LimitWarning(UserWarning):
    """A limit that is not met, or can't be promised for new people."""


def people_needed(value: float, upper: float, limit: float, n: int) -> int | None:
    """Return how many people would have to judge for a violation to be within a limit.

    The margin between violation and bound falls with the root of their number. None where the
    violation itself is above the limit, or has no bound, so that no number would do.
    """
    if not value < limit or not math.isfinite(upper):
        return None
    return math.ceil(n * ((upper - value) / (limit - value)) ** 2)
