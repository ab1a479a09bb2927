"""Random changes of JSON, of lines and of characters, such as a file may have suffered."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

HOSTILE: list[Any] = [
    None, True, False, 0, 1, -1, 2, 7, 255, 65536, 99_999_999, 2**31 - 1, 2**31, -(2**31),
    2**32 - 1, 2**63, 10**30, 0.5, -1.5, 1e-300, 1e38, 1e39, 1e300, -1e308,
    float("nan"), float("inf"), -float("inf"),
    "", "0", "-1", "x", "os.system", "\x1b[31m", "é" * 50, "9" * 400, "nan", "1e400", "\ud800",
    [], {}, [[]], ["x", 1], [0] * 3000, {"x": 1}, {"$tuple": 3}, {"$range": [0, 10**12]},
    {"$float": "nan"}, {"$float": "x" * 100}, {"$array": "absent"}, {"$text": [10**9, ["a"]]},
    {"$objects": [1, [2]]}, {"$NotStored": {}},
]  # fmt: skip
TOKENS = [str(v) for v in HOSTILE if isinstance(v, int | float | str)] + ["-0", "1e5", "0x10"]


def places(content: Any, place=()):
    yield place
    if isinstance(content, dict | list):
        for key in list(content) if isinstance(content, dict) else range(len(content)):
            yield from places(content[key], (*place, key))


def get(content: Any, place: tuple) -> Any:
    for key in place:
        content = content[key]
    return content


def _near(value: Any, rng: np.random.Generator) -> Any:
    """Return something hostile of the kind that was there, or anything."""
    if rng.random() < 0.4:
        if type(value) is int:
            return value + int(rng.choice([-1, 1, 2, 5, -7, 1000, 2**31, 2**62]))
        if type(value) is float:
            return float(rng.choice([-value, value * 1e40, value * 1e300, -1e308, 1e-45]))
        if isinstance(value, str) and value:
            cut = int(rng.integers(len(value)))
            return str(
                rng.choice([value[:cut], value * 2, value + "\n", "-" + value, value.upper()])
            )
    return copy.deepcopy(HOSTILE[int(rng.integers(len(HOSTILE)))])


def change(content: Any, rng: np.random.Generator) -> Any:
    """Change JSON at a random place, in a random way."""
    everywhere = list(places(content))
    place = everywhere[int(rng.integers(len(everywhere)))]
    if not place:
        return content
    holder, key, way = get(content, place[:-1]), place[-1], rng.random()
    if way < 0.45:
        holder[key] = _near(holder[key], rng)
    elif way < 0.6:
        del holder[key]
    elif way < 0.7:
        other = everywhere[int(rng.integers(1, len(everywhere)))]
        if not isinstance(get(content, other), dict | list) or other[: len(place)] != place:
            holder[key] = copy.deepcopy(get(content, other))
    elif way < 0.8:
        keys = list(holder) if isinstance(holder, dict) else range(len(holder))
        other = keys[int(rng.integers(len(keys)))]
        holder[key], holder[other] = holder[other], holder[key]
    elif way < 0.9:
        if isinstance(holder, list):
            holder[key:key] = [copy.deepcopy(holder[key])] * int(rng.choice([1, 2, 500]))
        else:
            holder[f"{key}{rng.choice(['_', ' ', '2'])}"] = holder.pop(key)
    elif way < 0.95:
        for _ in range(int(rng.choice([1, 50, 300]))):
            holder[key] = [holder[key]] if rng.random() < 0.5 else {"x": holder[key]}
    else:
        part = holder[key]
        if isinstance(part, list):
            rng.shuffle(part)
        elif isinstance(part, dict):
            part.clear()
    return content


def change_lines(text: str, rng: np.random.Generator) -> str:
    """Change the lines of LightGBM's format, most often those of a tree."""
    if rng.random() < 0.1:
        return change_characters(text, rng)
    lines = text.split("\n")
    some = [i for i, line in enumerate(lines) if line and (rng.random() < 0.05 or line[:1] != "[")]
    if not some:
        return text + "x"
    at, way = some[int(rng.integers(len(some)))], rng.random()
    if way < 0.6:
        name, equals, rest = lines[at].partition("=")
        tokens = rest.split(" ")
        k, kind = int(rng.integers(len(tokens))), rng.random()
        if kind < 0.6:
            tokens[k] = str(rng.choice(TOKENS))
        elif kind < 0.7:
            del tokens[k]
        elif kind < 0.8:
            tokens[k:k] = [tokens[k]] * int(rng.choice([1, 2, 3000]))
        elif kind < 0.9:
            rng.shuffle(tokens)
        else:
            tokens[k] = str(int(rng.integers(-9, 9)))
        lines[at] = name + equals + " ".join(tokens)
    elif way < 0.7:
        del lines[at]
    elif way < 0.8:
        lines[at:at] = [lines[at]] * int(rng.choice([1, 300]))
    elif way < 0.9:
        other = some[int(rng.integers(len(some)))]
        lines[at], lines[other] = lines[other], lines[at]
    else:
        del lines[at : at + int(rng.integers(1, 40))]
    return "\n".join(lines)


def change_characters(text: str, rng: np.random.Generator) -> str:
    at, width = int(rng.integers(len(text) + 1)), int(rng.choice([1, 3, 50, 1000]))
    part = text[at : at + width]
    new = ["", part * 2, part[::-1], "\x00", "-", "9", " ", "\n", "{" * 2000, "[" * 100_000]
    return text[:at] + new[int(rng.integers(len(new)))] + text[at + width :]
