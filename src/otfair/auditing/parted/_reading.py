"""From Dask collections to people who can be audited: what one machine reads, in parts.

Maths: docs/scaling.md. The client holds the distinct combinations of groups, controls and label in
place of people; workers know which of them each person has.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import torch

from otfair._io.arrays import Array
from otfair.auditing._groups import Comparison
from otfair.auditing._reading import (
    QUARTERS,
    AuditData,
    Binned,
    Given,
    Range,
    check_range,
    range_of,
    read_given,
    read_sensitive,
    refuse_lists,
    refuse_nobody,
    refuse_unscored,
)
from otfair.auditing._statistics import quantile_codes, range_names
from otfair.auditing.parted._rows import reduced, together
from otfair.distributed import Parts, read_parts
from otfair.metrics import resample
from otfair.notions import Attribute, Strata
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


@dataclass(frozen=True, kw_only=True)
class PartedAuditData(AuditData):
    """People on workers; see `AuditData`.

    Its own arrays are of combinations of groups, controls and label, (c,) each, with the weight of
    all who have them.
    """

    parts: Parts  # of `AuditData`, of each part's people, whose columns are numbers only
    place: Parts  # of each person, which combination they have
    values: dict[str, Any] = field(default_factory=dict)  # futures of values of numbers, weights
    local: dict[int, Parts] = field(default_factory=dict)  # comparisons by part, as they are made
    tables: dict[Any, Any] = field(default_factory=dict)  # of bins, as they are made
    score_facts: tuple[float, bool] = (np.nan, False)

    def __len__(self) -> int:
        return len(self.parts)

    @property
    def median_score(self) -> float:
        return self.score_facts[0]

    @property
    def are_decisions(self) -> bool:
        return self.score_facts[1]

    def compared(self, comparison: Comparison) -> Parts:
        """Return a comparison with the codes of each part's own people."""
        if id(comparison) not in self.local:
            assert isinstance(comparison.table, PartedAuditData)
            whose, alone = comparison.table, replace(comparison, table=None)
            self.local[id(comparison)] = whose.place.map(_own, alone, self.parts)
        return self.local[id(comparison)]

    def total(self, comparison: Any, function: Callable[..., Any], *given: Any) -> Any:
        return self.parts.sum(_applied, self.compared(comparison), function, *given)

    def largest(self, comparison: Any, function: Callable[..., np.ndarray]) -> np.ndarray:
        given = (self.compared(comparison), function)
        return np.asarray(self.parts.reduce(np.maximum, _applied, *given))

    def resampled(
        self, comparison: Any, counts: Any, function: Callable[..., Any], *given: Any
    ) -> np.ndarray:
        local = self.compared(comparison)
        return np.asarray(self.parts.sum(_resampled, local, counts, function, *given))

    def binned(self, name: str, room: int) -> tuple[AuditData, Binned]:
        if (name, room) not in self.tables:
            self.tables[name, room] = self._binned(name, room)
        found: tuple[AuditData, Binned] = self.tables[name, room]
        return found

    def _binned(self, name: str, room: int) -> tuple[AuditData, Binned]:
        client = self.parts.client
        fine, coarse = client.gather(
            [client.submit(find_bins, self.values[name], count) for count in (room, QUARTERS)]
        )
        within = self._within  # what bins are crossed with
        keys = self.parts.map(_binned_keys, self.place, within, name, (fine, coarse))
        found, weight, place = tally(keys, self.parts)
        first = np.unique(within, return_index=True)[1][found[2]]  # a combination of each
        names = [f"{name} {one}" for one in coarse.names]
        table = replace(
            self,
            scores=np.zeros(len(weight)),
            labels=None if self.labels is None else self.labels[first],
            weight=weight,
            columns=tuple(Column(str(c.name), np.zeros(len(weight))) for c in self.columns),
            controls=tuple(replace(c, values=c.values[first]) for c in self.controls),
            place=place,
        )
        moved = Attribute(found[0], fine.means, name, is_group=False)
        groups = Attribute(found[1], np.array(names, dtype=object), name, is_group=True)
        return table, Binned(moved, groups, fine.means[found[0]], fine.distinct)

    @cached_property
    def _within(self) -> np.ndarray:
        """Which combination of label and controls each combination has, (c,)."""
        keys = [np.unique(c.values, return_inverse=True)[1] for c in self.controls]
        keys += [] if self.labels is None else [self.labels]
        code = np.zeros(len(self.weight), dtype=np.int64)
        for key in keys:
            code = np.unique(code * (int(key.max()) + 1) + key, return_inverse=True)[1]
        return np.asarray(code)


def read_people(
    *, scores: Array, X: Array, sensitive_features: Array, labels: Array, sample_weight: Array,
    control_features: Array, continuous: Columns, categorical: Columns, positive_label: object,
    skip_unscored: bool, names: Mapping[str, Mapping[str, str]] | None,
) -> PartedAuditData:  # fmt: skip
    """Read everything, and leave out people without score, label, group or weight."""
    collections = {
        "sensitive_features": sensitive_features, "scores": scores, "X": X, "labels": labels,
        "sample_weight": sample_weight, "control_features": control_features,
    }  # fmt: skip
    raw = read_parts(collections)
    given = raw.map(_given, names)
    summaries = given.gather(_summary)
    n, dropped, first = len(raw), _added([s["lacking"] for s in summaries]), 0
    for start, one in zip(raw.starts, summaries):
        if one["unscored"] is not None:
            first = start + one["unscored"]
            break
    if not skip_unscored:
        refuse_unscored(dropped.get("no score", 0), n, first)
    refuse_nobody(sum(one["kept"] for one in summaries), n, dropped)
    kept = given.each(_kept, raw.starts[:-1])
    some = [k for k, one in enumerate(summaries) if one["kept"]]
    sizes = [summaries[k]["kept"] for k in some]
    kept = Parts(raw.client, [kept.futures[k] for k in some], sizes)
    check_range(_widest([summaries[k]["range"] for k in some]))
    distinct = kept.map(_distinct)
    read: Read = raw.client.submit(
        _read, list(distinct.futures), continuous, categorical, positive_label, pure=False
    ).result()
    for text in read.warnings:
        warnings.warn(text, stacklevel=4)
    parts = kept.map(_people, read)
    found, weight, place = tally(kept.map(_keys, read), parts)
    sensitive, controls, label = _columns(read, found)
    numbers = [name for name, groups in read.groups.items() if groups is None]
    values = {name: reduced(parts.map(_value_table, name), join_values) for name in numbers}
    told = summaries[0]
    middle = parts.client.submit(np.median, together(parts.map(_scores)), pure=False).result()
    return PartedAuditData(
        scores=np.zeros(len(weight)),
        labels=label,
        weight=weight,
        columns=sensitive,
        controls=controls,
        features=None,
        rows=np.zeros(0, dtype=np.int64),
        received=n,
        dropped={why: count for why, count in dropped.items() if count},
        checksum=_checksum([one["checksum"] for one in summaries]),
        outcomes=read.outcomes,
        score=told["score"],
        weighted=told["weighted"],
        parts=parts,
        place=place,
        values=values,
        score_facts=(float(middle), all(parts.gather(_are_decisions))),
    )


def tally(keys: Parts, people: Parts) -> tuple[np.ndarray, np.ndarray, Parts]:
    """Return the distinct columns of keys (q, n) of all parts, (q, c), their weight, and places.

    A place is which of them each person has.
    """
    counted = keys.map(_counted, people)
    own = counted.gather(_but_places)
    found, inverse = np.unique(
        np.concatenate([rows for rows, _ in own], 1), axis=1, return_inverse=True
    )
    inverse = inverse.reshape(-1)
    weight = np.bincount(inverse, np.concatenate([w for _, w in own]), found.shape[1])
    ends = np.cumsum([len(w) for _, w in own])[:-1]
    return found, weight, counted.each(_looked_up, np.split(inverse, ends))


def _columns(
    read: Read, found: np.ndarray
) -> tuple[tuple[Column, ...], tuple[Column, ...], np.ndarray | None]:
    """Return the columns of combinations, (q, c) codes: sensitive ones, controls, labels."""
    rows, count = iter(found), found.shape[1]
    sensitive = tuple(
        Column(name, np.zeros(count))
        if groups is None
        else Column(name, np.array(groups)[next(rows)], groups)
        for name, groups in read.groups.items()
    )
    controls = tuple(
        Column(name, np.array(texts)[next(rows)], texts)
        for name, (texts, _) in read.controls.items()
    )
    return sensitive, controls, None if read.labels is None else next(rows)


def _added(counts: Sequence[dict[str, int]]) -> dict[str, int]:
    return {why: sum(one[why] for one in counts) for why in counts[0]}


def _widest(ranges: Sequence[Range]) -> Range:
    out = ranges[0]
    for one in ranges[1:]:
        out = out.wider(one)
    return out


def _checksum(parts: Sequence[str]) -> str:
    """Return the SHA-256 of those of the partitions, in their order."""
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


# What workers do with a part.


def _given(rows: dict[str, Any], names: Any) -> Given:
    columns = ("scores", "X", "sensitive_features", "labels", "sample_weight", "control_features")
    given: dict[str, Any] = {name: rows.get(name) for name in columns}
    return read_given(**given, names=names)


def _summary(given: Given) -> dict[str, Any]:
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


def _kept(given: Given, start: int) -> tuple[Given, np.ndarray]:
    """Return the people who lack nothing, and the numbers of their rows."""
    rows = np.flatnonzero(~np.any([*given.lacking.values()], axis=0))
    kept: dict[str, Any] = {name: getattr(given, name)[rows] for name in ("scores", "weight")}
    for name in ("labels", "sensitive", "control", "features"):
        table = getattr(given, name)
        kept[name] = None if table is None else table.iloc[rows].reset_index(drop=True)
    return replace(given, **kept), rows + start


def _distinct(kept: tuple[Given, np.ndarray]) -> dict[str, Any]:
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


def _read(
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


def _people(kept: tuple[Given, np.ndarray], read: Read) -> AuditData:
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


def _keys(kept: tuple[Given, np.ndarray], read: Read) -> np.ndarray:
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


def _binned_keys(
    data: AuditData, place: np.ndarray, within: np.ndarray, name: str, bins: tuple[Bins, Bins]
) -> np.ndarray:
    (values,) = (column.values for column in data.columns if column.name == name)
    return np.stack([*(one.codes(values) for one in bins), within[place]])


def _counted(keys: np.ndarray, data: AuditData) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the distinct columns of keys, their weight, and which of them each person has."""
    code = np.zeros(keys.shape[1], dtype=np.int64)
    for row in keys:
        code = np.unique(code * (int(row.max()) + 1) + row, return_inverse=True)[1]
    _, first, code = np.unique(code, return_index=True, return_inverse=True)
    return keys[:, first], np.bincount(code, data.weight, len(first)), code


def _but_places(counted: tuple[np.ndarray, np.ndarray, np.ndarray]) -> tuple[Any, ...]:
    return counted[:2]


def _looked_up(counted: tuple[np.ndarray, ...], lookup: np.ndarray) -> np.ndarray:
    return np.asarray(lookup[counted[2]])


def _value_table(data: AuditData, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct values of a column of numbers, and their weight."""
    (values,) = (column.values for column in data.columns if column.name == name)
    found, codes = np.unique(values, return_inverse=True)
    return found, np.bincount(codes, data.weight)


def join_values(
    a: tuple[np.ndarray, np.ndarray], b: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    found, codes = np.unique(np.concatenate([a[0], b[0]]), return_inverse=True)
    return found, np.bincount(codes, np.concatenate([a[1], b[1]]))


def _scores(data: AuditData) -> np.ndarray:
    return data.scores


def _are_decisions(data: AuditData) -> bool:
    return data.are_decisions


def _own(place: np.ndarray, comparison: Comparison, data: AuditData) -> Comparison:
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


def _applied(
    data: AuditData, comparison: Comparison, function: Callable[..., Any], *given: Any
) -> Any:
    return function(data, comparison, *given)


def _resampled(
    data: AuditData, comparison: Comparison, counts: np.ndarray, function: Callable[..., Any],
    *given: Any,
) -> np.ndarray:  # fmt: skip
    return resample(function(data, comparison, *given), counts)
