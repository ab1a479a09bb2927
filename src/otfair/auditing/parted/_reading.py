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

from otfair._io.arrays import Array
from otfair.auditing._groups import Comparison
from otfair.auditing._reading import (
    QUARTERS,
    AuditData,
    Binned,
    Range,
    check_range,
    refuse_nobody,
    refuse_unscored,
)
from otfair.auditing.parted._part import (
    Read,
    applied,
    apply_resampled,
    are_decisions,
    binned_keys,
    but_places,
    count_keys,
    distinct_values,
    find_bins,
    join_values,
    keep_known,
    looked_up,
    own_comparison,
    part_keys,
    part_people,
    read_columns,
    read_part,
    scores_of,
    summarize,
    value_table,
)
from otfair.auditing.parted._rows import reduced, together
from otfair.distributed import Parts, read_parts
from otfair.notions import Attribute
from otfair.tables import (
    Column,
    Columns,
)


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
            self.local[id(comparison)] = whose.place.map(own_comparison, alone, self.parts)
        return self.local[id(comparison)]

    def total(self, comparison: Any, function: Callable[..., Any], *given: Any) -> Any:
        return self.parts.sum(applied, self.compared(comparison), function, *given)

    def largest(self, comparison: Any, function: Callable[..., np.ndarray]) -> np.ndarray:
        given = (self.compared(comparison), function)
        return np.asarray(self.parts.reduce(np.maximum, applied, *given))

    def resampled(
        self, comparison: Any, counts: Any, function: Callable[..., Any], *given: Any
    ) -> np.ndarray:
        local = self.compared(comparison)
        return np.asarray(self.parts.sum(apply_resampled, local, counts, function, *given))

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
        keys = self.parts.map(binned_keys, self.place, within, name, (fine, coarse))
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
    given = raw.map(read_part, names)
    summaries = given.gather(summarize)
    n, dropped, first = len(raw), _added([s["lacking"] for s in summaries]), 0
    for start, one in zip(raw.starts, summaries):
        if one["unscored"] is not None:
            first = start + one["unscored"]
            break
    if not skip_unscored:
        refuse_unscored(dropped.get("no score", 0), n, first)
    refuse_nobody(sum(one["kept"] for one in summaries), n, dropped)
    kept = given.each(keep_known, raw.starts[:-1])
    some = [k for k, one in enumerate(summaries) if one["kept"]]
    sizes = [summaries[k]["kept"] for k in some]
    kept = Parts(raw.client, [kept.futures[k] for k in some], sizes)
    check_range(_widest([summaries[k]["range"] for k in some]))
    distinct = kept.map(distinct_values)
    read: Read = raw.client.submit(
        read_columns, list(distinct.futures), continuous, categorical, positive_label, pure=False
    ).result()
    for text in read.warnings:
        warnings.warn(text, stacklevel=4)
    parts = kept.map(part_people, read)
    found, weight, place = tally(kept.map(part_keys, read), parts)
    sensitive, controls, label = _columns(read, found)
    numbers = [name for name, groups in read.groups.items() if groups is None]
    values = {name: reduced(parts.map(value_table, name), join_values) for name in numbers}
    told = summaries[0]
    middle = parts.client.submit(np.median, together(parts.map(scores_of)), pure=False).result()
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
        score_facts=(float(middle), all(parts.gather(are_decisions))),
    )


def tally(keys: Parts, people: Parts) -> tuple[np.ndarray, np.ndarray, Parts]:
    """Return the distinct columns of keys (q, n) of all parts, (q, c), their weight, and places.

    A place is which of them each person has.
    """
    counted = keys.map(count_keys, people)
    own = counted.gather(but_places)
    found, inverse = np.unique(
        np.concatenate([rows for rows, _ in own], 1), axis=1, return_inverse=True
    )
    inverse = inverse.reshape(-1)
    weight = np.bincount(inverse, np.concatenate([w for _, w in own]), found.shape[1])
    ends = np.cumsum([len(w) for _, w in own])[:-1]
    return found, weight, counted.each(looked_up, np.split(inverse, ends))


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
