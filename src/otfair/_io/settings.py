"""Settings that are numbers: what they may be, and what is said where they are not."""

from __future__ import annotations

import math
import numbers
import reprlib
from typing import Any

import numpy as np

from otfair._io.arrays import ArgumentError

EPSILONS = (1e-30, 1e50)  # smoothing within which costs divided by it stay finite
LARGEST_COUNT = 2**31 - 1
MOST_RESAMPLES = 1_000_000
_SHORT = reprlib.Repr()
_SHORT.maxother = _SHORT.maxstring = 200


def as_real(value: Any) -> float | None:
    """Return a number as a float, infinite where it is too large; None for what is no number.

    Truth values, text, decimals and arrays are none: where a number is meant, they are mistakes.
    """
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return None
    try:
        return float(value)
    except OverflowError:  # a whole number or a fraction beyond floats
        return math.inf if value > 0 else -math.inf  # type: ignore[operator]


def check_real(
    name: str, value: Any, low: float = -math.inf, high: float = math.inf, ends: str = "[]",
    hint: str = "",
) -> float:  # fmt: skip
    """Return a setting as a float, or raise where it is no number in its range.

    `ends` are those of the interval: "(" and ")" leave an end out.
    """
    number = as_real(value)
    if number is not None:
        above = number >= low if ends[0] == "[" else number > low
        below = number <= high if ends[1] == "]" else number < high
        if above and below:
            return number
    rule = _range(low, high, ends)
    if 0 < low <= 1e-30 and not (number or 0.0) > 0:  # whatever the ends, which few get near
        rule = "be positive"
    raise ArgumentError(name, f"must {rule}; received {shown(value)}.{hint}")


def check_whole(name: str, value: Any, low: int, high: int = LARGEST_COUNT) -> int:
    """Return a setting as an int, or raise where it is no whole number in its range."""
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not whole or not low <= int(value) <= high:
        ends = f"at least {low}, a whole number up to {high}"
        raise ArgumentError(name, f"must be {ends}; received {shown(value)}.")
    return int(value)


def check_flag(name: str, value: Any) -> None:
    """Raise where a setting is neither True nor False."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"`{name}` must be True or False; received {shown(value)}.")


def check_epsilon(value: Any, hint: str = "") -> float:
    """Return the smoothing as a float, or raise where it is none."""
    return check_real("epsilon", value, *EPSILONS, hint=hint)


def check_scale(value: Any) -> float:
    """Return the unit of costs as a float, or raise where it is none."""
    return check_real("scale", value, 1e-100, 1e100)


def check_smoothing(value: Any, name: str = "smoothing") -> float:
    """Return how wide a kink is smoothed as a float: 0, or neither too narrow nor too wide."""
    number = as_real(value)
    if number != 0 and (number is None or not EPSILONS[0] <= number <= EPSILONS[1]):
        ends = "{:g} and {:g}".format(*EPSILONS)
        problem = f"must be a width, 0 or between {ends}; received {shown(value)}."
        raise ArgumentError(name, problem)
    return number


def check_seed(value: Any, name: str = "random_state") -> None:
    """Raise where a value can't seed scikit-learn's random numbers."""
    from sklearn.utils import check_random_state  # not sooner: what it imports takes time

    try:
        check_random_state(value)
    except (ValueError, TypeError, OverflowError):
        raise ArgumentError(
            name,
            f"must be None, a whole number from 0 to {2**32 - 1} or a `RandomState`; received "
            f"{shown(value)}.",
        ) from None


def shown(value: Any) -> str:
    """Return a value as it would be written, shortened where that is long."""
    if isinstance(value, int) and value.bit_length() > 128:  # which Python may refuse to write
        return f"a whole number of {value.bit_length()} bits"
    return _SHORT.repr(value)


def _range(low: float, high: float, ends: str) -> str:
    if high < math.inf:
        return f"lie in {ends[0]}{low:g}, {high:.16g}{ends[1]}"
    finite = " and finite" if ends[1] == ")" else ""
    if low == -math.inf:
        return "be a finite number"
    if low == 0 and ends[0] == "(":
        return f"be positive{finite}"
    return f"be {'at least' if ends[0] == '[' else 'above'} {low:g}{finite}"
