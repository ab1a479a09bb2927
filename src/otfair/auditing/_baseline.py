"""The figures of an audit that another one is compared with, from its JSON.

The file may come from anybody: what is read of it is checked, and nothing else is used.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from otfair._io.checks import brief, is_number, read_json, require
from otfair.metrics import Estimate

FORMAT = 1  # of the JSON that this version writes and reads
MOST_BYTES = 100_000_000
MOST_LETTERS = 10_000  # of a name
AGAIN = "Audit the earlier table with this version again, with -o FILE.json, and pass that file."
GAP, SCORE_GAP, VIOLATION, MEAN = "decision gap", "score gap", "violation", "mean score"
# The complement of another rate changes whenever that does, and by as much.
COMPLEMENTS = ("false_negative_rate", "false_discovery_rate")
SETTINGS = {  # that change what figures mean, and what to call them
    "threshold": "the threshold",
    "min_people": "the smallest group",
    "control": "the controls",
    "score": "the column of scores",
    "outcome": "the positive outcome",
    "favourable": "the favourable decision",
    "weight": "the column of weights",
    "columns_used": "the set of columns that people are compared by",
}


@dataclass(frozen=True)
class Key:
    """What a figure is of."""

    attribute: str
    group: str  # "" for a figure of all groups
    figure: str  # such as "selection_rate" or "violation"
    notion: str = ""  # of a violation


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What is compared of an audit."""

    figures: dict[Key, Estimate]  # of groups that are large enough, where people tell them
    unsure: frozenset[Key]  # figures of too few people
    groups: dict[str, tuple[str, ...]]  # of each attribute
    settings: dict[str, Any]
    resampled: bool  # whether there are intervals
    checksum: str
    title: str
    made: str


def read_baseline(source: Any) -> Figures:
    """Read the JSON of an audit, from a file or as text parsed; raise where it is none."""
    if not isinstance(source, str | Path):
        return _checked(source, "the baseline")
    path = Path(source)
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise ValueError(f"baseline {path}: it can't be read ({error.strerror}).") from error
    if len(content) > MOST_BYTES:
        raise ValueError(f"baseline {path}: it has more than {MOST_BYTES} bytes. {AGAIN}")
    try:
        data = read_json(content.decode())
    except (ValueError, RecursionError) as error:
        what = brief(str(error)) if isinstance(error, ValueError) else "lists in lists in lists"
        raise ValueError(
            f"baseline {path}: it is no JSON of an audit ({what}). `otfair audit ... -o FILE.json` "
            "writes one."
        ) from error
    return _checked(data, f"baseline {path}")


def _checked(data: Any, what: str) -> Figures:
    if not isinstance(data, dict) or not {"findings", "record"} <= data.keys():
        raise ValueError(
            f"{what}: it is no JSON of an audit. `otfair audit ... -o FILE.json` writes one."
        )
    if "format" not in data or "decisions" not in data:
        raise ValueError(f"{what}: it was written by an earlier version of otfair. {AGAIN}")
    if data["format"] != FORMAT:
        raise ValueError(
            f"{what}: it is of format {brief(data['format'])}, and this version reads {FORMAT}. "
            f"{AGAIN}"
        )
    try:
        return _figures(data)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        said = f"it lacks {error}" if isinstance(error, KeyError) else brief(str(error))
        raise ValueError(f"{what}: it is not as an audit writes it: {said}. {AGAIN}") from error


def _figures(data: dict[str, Any]) -> Figures:
    found: dict[Key, Estimate] = {}
    unsure: set[Key] = set()
    groups: dict[str, tuple[str, ...]] = {}
    for one in _dicts(data["decisions"], "decisions"):
        attribute = _text(one["attribute"])
        require(attribute not in groups, f"it has {brief(attribute)} twice")
        groups[attribute] = tuple(_text(g["group"]) for g in _dicts(one["groups"], "groups"))
        for name, gap in ((GAP, one["gap"]), (SCORE_GAP, one["score_gap"])):
            if gap is not None:
                _put(found, Key(attribute, "", name), gap["difference"])
        for group in one["groups"]:
            small, few = bool(group["small"]), list(group["unsure"])
            for rate, value in group["rates"].items():
                key = Key(attribute, _text(group["group"]), _text(rate))
                if rate not in COMPLEMENTS:
                    _put(found, key, value)
                    unsure |= {key} if small or rate in few else set()
    for finding in _dicts(data["findings"], "findings"):
        attribute, notion = _text(finding["attribute"]), _text(finding["notion"])
        violation = finding["violation"]
        _put(found, Key(attribute, "", VIOLATION, notion), violation["value"])
        for group in _dicts(violation["groups"], "groups"):
            if group["stratum"] == "":
                key = Key(attribute, _text(group["group"]), MEAN)
                _put(found, key, group["mean_score"])
                unsure |= {key} if group["small"] else set()
    known = {key: e for key, e in found.items() if e.value == e.value}
    record = data["record"]
    settings = {**record["settings"], **record}
    return Figures(
        figures=known,
        unsure=frozenset(unsure & known.keys()),
        groups=groups,
        settings={name: _plain(settings[name]) for name in SETTINGS},
        resampled=any(e.low == e.low for e in known.values()),
        checksum=_text(record["checksum"]),
        title=_text(record["title"]),
        made=_text(record["made"]),
    )


def _dicts(value: Any, what: str) -> Iterator[dict[str, Any]]:
    sound = isinstance(value, list) and all(isinstance(one, dict) for one in value)
    require(sound, f"{what} is {brief(value)}")
    yield from value


def _text(value: Any) -> str:
    require(isinstance(value, str) and len(value) <= MOST_LETTERS, f"a name is {brief(value)}")
    return str(value)


def _plain(value: Any) -> Any:
    """Return a setting: a number, text, nothing, or a list of texts."""
    if isinstance(value, list):
        return sorted(map(_text, value))
    require(value is None or isinstance(value, str) or is_number(value), f"it has {brief(value)}")
    return value


def _put(found: dict[Key, Estimate], key: Key, value: Any) -> None:
    """Add a figure with its interval: numbers, or none where it is not known."""
    require(isinstance(value, dict), f"{key.figure} is {brief(value)}")
    given = [value[name] for name in ("value", "low", "high")]
    require(all(x is None or is_number(x) for x in given), f"{key.figure} is {brief(value)}")
    number, low, high = (math.nan if x is None else float(x) for x in given)
    require(not any(map(math.isinf, (number, low, high))), f"{key.figure} is infinite")
    require((low == low) == (high == high), f"{key.figure} has half an interval")
    require(not (low > number or number > high), f"{key.figure} lies outside of its interval")
    found[key] = Estimate(number, low, high)
