"""Whether what a file says of an estimator is sound: kinds, shapes, and numbers that are numbers.

Everything here raises a `ValueError`, which `as_written` turns into the error of a file that is
not what this library writes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import fields
from numbers import Integral, Real
from typing import Any, NoReturn

import numpy as np

LARGEST_COUNT = 2**63 - 1
MOST_PARTS = 300_000  # lists and objects of one JSON
TEXTS_PER_PART = 3  # more texts, names included, than the lists and objects that may be there
TEXTS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|$)', re.DOTALL)  # of JSON, in linear time
LARGEST_LOGIT = 1e30  # of leaves, and of what is added to logits; sums of such are still numbers


def require(sound: bool, otherwise: str) -> None:
    """Raise unless what a file says is sound."""
    if not sound:
        raise ValueError(otherwise)


def refuse_unknown(what: str, names: Any, known: Any) -> None:
    """Raise where a file sets what this version does not have."""
    require(isinstance(names, dict), f"its {what} have no names")
    if unknown := sorted(set(names) - set(known)):
        raise ValueError(f"it has the {what} {brief(unknown)}, which this version does not know")


def brief(value: Any) -> str:
    """Return a value as an error may show it, whatever a file says."""
    try:
        return one_line(repr(value), 100)
    except (RecursionError, ValueError):  # lists in lists in lists; numbers of too many digits
        return f"a {type(value).__name__}"


def one_line(text: str, most: int = 300) -> str:
    """Return a text that is short, without line ends and what else a terminal would obey."""
    plain = "".join(c if c.isprintable() else " " for c in text[:2000])
    line = " ".join(plain.split())
    return line if len(line) <= most else f"{line[:most]}..."


def is_number(value: Any) -> bool:
    """Whether it is a number, of any size; True and False are not."""
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def is_count(value: Any) -> bool:
    """Whether it is a whole number that other programs can hold, too."""
    whole = isinstance(value, Integral) and not isinstance(value, bool | np.bool_)
    return whole and -LARGEST_COUNT <= int(value) <= LARGEST_COUNT


def is_plain(value: Any) -> bool:
    """Whether it is None, text, a number or a truth value, or lists and dicts of these."""
    if isinstance(value, list | dict):
        return all(map(is_plain, value.values() if isinstance(value, dict) else value))
    return value is None or isinstance(value, bool | np.bool_ | str) or is_number(value)


# What an annotation of a field asks for.
KINDS: dict[str, Callable[[Any], bool]] = {
    "str": lambda value: isinstance(value, str),
    "bool": lambda value: isinstance(value, bool | np.bool_),
    "int": is_count,
    "float": is_number,
    "float | None": lambda value: value is None or is_number(value),
    "dict[str, float]": lambda value: (
        isinstance(value, dict)
        and all(isinstance(name, str) for name in value)
        and all(map(is_number, value.values()))
    ),
}


def check_fields(record: Any) -> None:
    """Raise where a field of a dataclass is not of the kind that its annotation says."""
    for field in fields(record):
        value, kind = getattr(record, field.name), KINDS.get(str(field.type))
        if kind is not None:  # others are checked by whoever knows them
            what = f"{type(record).__name__} has {field.name} {brief(value)}"
            require(kind(value), what)


def check_attributes(state: Any, **kinds: str) -> None:
    """Raise where an attribute that is there is not of its kind, "plain" for whatever is."""
    for name, kind in kinds.items():
        if hasattr(state, name):
            value = getattr(state, name)
            sound = is_plain(value) if kind == "plain" else KINDS[kind](value)
            require(sound, f"{name} is {brief(value)}")


def check_number(state: Any, name: str, low: float, high: float) -> None:
    """Raise unless this is a number within limits."""
    value: Any = getattr(state, name, None)
    require(is_number(value) and low <= float(value) <= high, f"{name} is {brief(value)}")


def check_shapes(state: Any, infinite: bool = False, **shapes: tuple[int, ...]) -> None:
    """Raise unless these are arrays of numbers of these shapes, none of them NaN."""
    for name, shape in shapes.items():
        value: Any = getattr(state, name, None)
        sound = isinstance(value, np.ndarray) and value.shape == shape
        require(sound, f"{name} is not an array of shape {shape}")
        require(value.dtype == np.float64, f"{name} is of {value.dtype}")
        bad = np.isnan(value) if infinite else ~np.isfinite(value)
        require(not bad.any(), f"{name} has {int(bad.sum())} values that are no numbers")


def check_classes(state: Any) -> None:
    """Raise unless there are two classes: texts, numbers or truth values that differ."""
    classes = getattr(state, "classes_", None)
    require(isinstance(classes, np.ndarray) and classes.shape == (2,), "classes_ is not an array")
    values = classes.tolist()  # type: ignore[union-attr]
    plain = not any(isinstance(value, list | dict) or value is None for value in values)
    require(plain and is_plain(values), f"classes_ are {brief(values)}")
    sound = values[0] != values[1] and all(value == value for value in values)
    require(sound, f"classes_ are {brief(values)}")


def check_width(state: Any) -> int:
    """Return the number of features, with as many names if there are any; raise otherwise."""
    width = getattr(state, "n_features_in_", None)
    require(type(width) is int and 0 < width <= LARGEST_COUNT, f"n_features_in_ is {brief(width)}")
    if hasattr(state, "feature_names_in_"):
        names = state.feature_names_in_
        sound = isinstance(names, np.ndarray) and names.shape == (width,)
        require(sound, f"feature_names_in_ is not an array of shape ({width},)")
        require(all(isinstance(n, str) for n in names), f"feature_names_in_ are {brief(names)}")
        require(len(set(names)) == len(names), "feature_names_in_ has a name twice")
    return int(width)  # type: ignore[arg-type]


def check_parts(text: str, most: int = MOST_PARTS) -> None:
    """Raise where JSON has more lists and objects than this, or many more texts.

    An empty list takes thirty times the memory of its text, a name of an object twenty times:
    without a limit, a file could make a program take far more than its own size.
    """
    if sum(map(text.count, "[{")) > most:  # within texts, too, which take no more
        parts = sum(map(TEXTS.sub("", text).count, "[{"))
        require(parts <= most, f"it holds {parts} lists and objects, and {most} are the most")
    most *= TEXTS_PER_PART
    if text.count('"') > 2 * most:  # those within texts, too
        texts = sum(1 for _ in TEXTS.finditer(text))
        require(texts <= most, f"it holds {texts} names and texts, and {most} are the most")


def read_json(text: str) -> Any:
    """Return JSON that is not too large; NaN and infinity are not JSON."""
    check_parts(text)
    return json.loads(text, parse_constant=_no_number)


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"it holds {name}, which is no number")
