"""What workers do with a part of the people of an audit: read it, count it, compare it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import torch

from otfair.auditing._groups import Comparison
from otfair.auditing._reading import (
    QUARTERS,
    AuditData,
    Given,
    range_of,
    read_given,
    read_sensitive,
    refuse_lists,
)
from otfair.auditing._statistics import quantile_codes, range_names
from otfair.metrics import resample
from otfair.notions import Strata
from otfair.tables import (
    MAX_CODES,
    MAX_GROUPS,
    Column,
    Columns,
    is_number,
    named,
    one_below,
    outcomes,
    plain_text,
    read_labels,
    to_columns,
)


@dataclass(frozen=True)
class Bins:
    """Where the bins of a column of numbers begin, and what they are called."""

    first: np.ndarray  # (b,) the least value of each
    means: np.ndarray  # (b,)
    names: list[str]
    distinct: int  # how many values there are

    def codes(self, values: np.ndarray) -> np.ndarray:
        """Return the bin of each value."""
        return np.asarray(np.searchsorted(self.first, values, side="right") - 1)


@dataclass(frozen=True)
class Read:
    """How columns are read, as all people tell it."""

    groups: dict[str, tuple[str, ...] | None]  # sensitive columns; None for a number
    labels: dict[str, int] | None  # by what they are called
    outcomes: tuple[str, str]
    controls: dict[str, tuple[tuple[str, ...], Bins | None]]
    warnings: tuple[str, ...]


def read_part(rows: dict[str, Any], names: Any) -> Given:
    columns = ("scores", "X", "sensitive_features", "labels", "sample_weight", "control_features")
    given: dict[str, Any] = {name: rows.get(name) for name in columns}
    return read_given(**given, names=names)


def summarize(given: Given) -> dict[str, Any]:
    lacking = given.lacking
    kept = ~np.any([*lacking.values()], axis=0)
    unscored = lacking["no score"]
    return {
        "lacking": {why: int(who.sum()) for why, who in lacking.items()},
        "kept": int(kept.sum()),
        "unscored": int(unscored.argmax()) if unscored.any() else None,
        "range": range_of(given.scores[kept]) if kept.any() else None,
        "checksum": given.checksum,
        "score": given.score,
        "weighted": given.weighted,
    }


def keep_known(given: Given, start: int) -> tuple[Given, np.ndarray]:
    """Return the people who lack nothing, and the numbers of their rows."""
    rows = np.flatnonzero(~np.any([*given.lacking.values()], axis=0))
    kept: dict[str, Any] = {name: getattr(given, name)[rows] for name in ("scores", "weight")}
    for name in ("labels", "sensitive", "control", "features"):
        table = getattr(given, name)
        kept[name] = None if table is None else table.iloc[rows].reset_index(drop=True)
    return replace(given, **kept), rows + start


def distinct_values(kept: tuple[Given, np.ndarray]) -> dict[str, Any]:
    """Return the distinct values of columns, with the weight of those who have them."""
    given, _ = kept
    refuse_lists(given.sensitive)
    columns = {("sensitive", name): given.sensitive[name] for name in given.sensitive}
    columns |= {("control", name): given.control[name] for name in given.control}
    if given.labels is not None:
        columns["label", given.labels.name] = given.labels
    out: dict[Any, Any] = {}
    for key, column in columns.items():
        codes, _ = pd.factorize(column)
        _, first = np.unique(codes, return_index=True)
        weight = np.bincount(codes, given.weight, len(first))
        out[key] = (column.iloc[np.sort(first)], weight[codes[np.sort(first)]], len(column))
    return out


def read_columns(
    distinct: Sequence[dict[Any, Any]], continuous: Columns, categorical: Columns, positive: object
) -> Read:
    """Tell what columns are from their distinct values, as from the values of all people."""
    joined = {key: _below([part[key] for part in distinct]) for key in distinct[0]}
    labels, said = None, ("", "")
    sensitive, controls = [], {}
    for (kind, name), (column, weight, count) in joined.items():
        if kind == "label":
            two = read_labels(column, positive)
            texts = column.astype(object).map(plain_text)
            labels, said = dict(zip(texts, two.tolist())), outcomes(column, two)
        elif kind == "control":
            controls[name] = _control(column, weight)
        else:
            if count > len(column):  # values come again
                column = pd.concat([column, column.iloc[:1]], ignore_index=True)
            sensitive += to_columns(column.to_frame(name), "sensitive_features")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = read_sensitive(named(sensitive), continuous, categorical)
    groups = {str(c.name): c.categories for c in found}
    return Read(groups, labels, said, controls, tuple(str(one.message) for one in caught))


def _below(parts: Sequence[tuple[Any, np.ndarray, int]]) -> tuple[Any, np.ndarray, int]:
    """Put distinct values of parts below each other, each once."""
    whole = one_below([column for column, _, _ in parts])
    codes, _ = pd.factorize(whole)
    _, first = np.unique(codes, return_index=True)
    first = np.sort(first)
    weight = np.bincount(codes, np.concatenate([own for _, own, _ in parts]))
    return whole.iloc[first].reset_index(drop=True), weight[codes[first]], sum(p[2] for p in parts)


def _control(column: pd.Series[Any], weight: np.ndarray) -> tuple[tuple[str, ...], Bins | None]:
    """Return the texts of a control, in their order; numbers of many values become quarters."""
    if is_number(column) and column.nunique() > MAX_CODES:
        bins = find_bins((column.to_numpy(np.float64), weight), QUARTERS)
        return tuple(bins.names), bins
    found = np.unique(column.astype(object).map(plain_text).to_numpy(str)).tolist()
    if len(found) > MAX_GROUPS:
        raise ValueError(
            f"control {str(column.name)!r} has {len(found)} values, more than {MAX_GROUPS}. Merge "
            "rare ones."
        )
    return tuple(found), None


def find_bins(table: tuple[np.ndarray, np.ndarray], count: int) -> Bins:
    """Bin distinct values with weights into at most `count` bins."""
    values, weight = table
    codes = quantile_codes(values, count, weight)
    first = np.full(int(codes.max()) + 1, np.inf)
    np.minimum.at(first, codes, values)
    means = np.bincount(codes, weight * values) / np.bincount(codes, weight)
    return Bins(first, means, range_names(values, codes), len(np.unique(values)))


def _text_codes(column: Column, texts: tuple[str, ...]) -> np.ndarray:
    found, codes = np.unique(column.values, return_inverse=True)
    lookup = {text: code for code, text in enumerate(texts)}
    return np.array([lookup[plain_text(value)] for value in found.tolist()])[codes]


def part_people(kept: tuple[Given, np.ndarray], read: Read) -> AuditData:
    """Return the people of a part."""
    given, rows = kept
    columns = named(to_columns(given.sensitive, "sensitive_features"))
    numbers = [
        Column(str(c.name), c.values.astype(np.float64))
        for c in columns
        if read.groups[str(c.name)] is None
    ]
    return AuditData(
        scores=given.scores,
        labels=_labels(given, read),
        weight=given.weight,
        columns=tuple(numbers),
        controls=(),
        features=given.features,
        rows=rows,
        received=len(rows),
        dropped={},
        checksum="",
        outcomes=read.outcomes,
        score=given.score,
        weighted=given.weighted,
    )


def _labels(given: Given, read: Read) -> np.ndarray | None:
    if given.labels is None or read.labels is None:
        return None
    return given.labels.astype(object).map(plain_text).map(read.labels).to_numpy(np.int64)


def part_keys(kept: tuple[Given, np.ndarray], read: Read) -> np.ndarray:
    """Return what people are compared by, (q, n) codes: groups, controls, label."""
    given, _ = kept
    columns = named(to_columns(given.sensitive, "sensitive_features"))
    rows = [
        _text_codes(c, texts) for c in columns if (texts := read.groups[str(c.name)]) is not None
    ]
    for name, (texts, bins) in read.controls.items():
        column = given.control[name]
        if bins is not None:
            rows.append(bins.codes(column.to_numpy(np.float64)))
        else:
            plain = column.astype(object).map(plain_text).to_numpy(str)
            rows.append(_text_codes(Column(name, plain), texts))
    labels = _labels(given, read)
    rows += [] if labels is None else [labels]
    rows = rows or [np.zeros(len(given.scores), dtype=np.int64)]
    return np.stack(rows)


def binned_keys(
    data: AuditData, place: np.ndarray, within: np.ndarray, name: str, bins: tuple[Bins, Bins]
) -> np.ndarray:
    (values,) = (column.values for column in data.columns if column.name == name)
    return np.stack([*(one.codes(values) for one in bins), within[place]])


def count_keys(keys: np.ndarray, data: AuditData) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the distinct columns of keys, their weight, and which of them each person has."""
    code = np.zeros(keys.shape[1], dtype=np.int64)
    for row in keys:
        code = np.unique(code * (int(row.max()) + 1) + row, return_inverse=True)[1]
    _, first, code = np.unique(code, return_index=True, return_inverse=True)
    return keys[:, first], np.bincount(code, data.weight, len(first)), code


def but_places(counted: tuple[np.ndarray, np.ndarray, np.ndarray]) -> tuple[Any, ...]:
    return counted[:2]


def looked_up(counted: tuple[np.ndarray, ...], lookup: np.ndarray) -> np.ndarray:
    return np.asarray(lookup[counted[2]])


def value_table(data: AuditData, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct values of a column of numbers, and their weight."""
    (values,) = (column.values for column in data.columns if column.name == name)
    found, codes = np.unique(values, return_inverse=True)
    return found, np.bincount(codes, data.weight)


def join_values(
    a: tuple[np.ndarray, np.ndarray], b: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    found, codes = np.unique(np.concatenate([a[0], b[0]]), return_inverse=True)
    return found, np.bincount(codes, np.concatenate([a[1], b[1]]))


def scores_of(data: AuditData) -> np.ndarray:
    return data.scores


def are_decisions(data: AuditData) -> bool:
    return data.are_decisions


def own_comparison(place: np.ndarray, comparison: Comparison, data: AuditData) -> Comparison:
    """Return a comparison with the codes of a part's own people."""
    c, numbers = comparison, comparison.numbers
    if numbers is not None:
        (numbers,) = (column.values for column in data.columns if column.name == c.attribute)
    return replace(
        c,
        groups=replace(c.groups, codes=c.groups.codes[place]),
        numbers=numbers,
        strata=Strata(c.strata.codes[place], c.strata.names, c.strata.outside),
        people=replace(
            c.people, types=c.people.types[torch.as_tensor(place)],
            weight=torch.as_tensor(data.weight),
        ),
        fine=c.fine[place],
    )  # fmt: skip


def applied(
    data: AuditData, comparison: Comparison, function: Callable[..., Any], *given: Any
) -> Any:
    return function(data, comparison, *given)


def apply_resampled(
    data: AuditData, comparison: Comparison, counts: np.ndarray, function: Callable[..., Any],
    *given: Any,
) -> np.ndarray:  # fmt: skip
    return resample(function(data, comparison, *given), counts)
