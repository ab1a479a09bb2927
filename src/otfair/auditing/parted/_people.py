"""People on workers who are alike, where it happens, how scores lie, and the few who are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from otfair.auditing._curves import curve_of
from otfair.auditing._features import Features
from otfair.auditing._groups import Comparison
from otfair.auditing._neighbours import AMONG, LOOKING, find_alike
from otfair.auditing._reading import AuditData
from otfair.auditing._regions import BINS, LEAST_PEOPLE, ranked, regions_of, shares_of
from otfair.auditing._results import Alike, Curve, Finding, Pairs, Region
from otfair.auditing.parted._costs import PartedPairs
from otfair.auditing.parted._features import PartedFeatures
from otfair.auditing.parted._part import Bins, find_bins, join_values
from otfair.auditing.parted._reading import PartedAuditData
from otfair.auditing.parted._rows import at_rows, reduced, shuffled, together
from otfair.distributed import Parts
from otfair.geometry import PointCloud
from otfair.metrics import Crowd

MISSING = "(missing)"


@dataclass(frozen=True, kw_only=True)
class KeptPeople(AuditData):
    """The few people of an audit on Dask who are shown, of the pairs between whom most moves."""

    facts: tuple[float, bool]  # median score of all people, and whether scores are decisions

    @property
    def median_score(self) -> float:
        return self.facts[0]

    @property
    def are_decisions(self) -> bool:
        return self.facts[1]


class PartedNeighbourhood:
    """People and those among whom their neighbours are: samples, on one worker."""

    def __init__(
        self, data: PartedAuditData, features: PartedFeatures, scale: float, seed: int
    ) -> None:
        self._data = data
        self._looking, self._among = (
            shuffled(data.parts, [seed, 1], most) for most in (LOOKING, AMONG)
        )
        here, there = (at_rows(features.points, rows) for rows in (self._looking, self._among))
        self._geometry = data.parts.client.submit(_cloud, here, there, scale or 1.0, pure=False)

    def of(self, comparison: Comparison, counts: Parts) -> Alike | None:
        """Compare neighbours of different groups; None where there are none, or no groups."""
        if comparison.numbers is not None:
            return None
        crowd = self._data.compared(comparison).map(_crowd, self._data.parts)
        task = partial(_alike, comparison.groups.values)
        given = (
            self._geometry, at_rows(crowd, self._looking), at_rows(crowd, self._among),
            at_rows(counts.map(np.transpose), self._looking),
        )  # fmt: skip
        found: Alike | None = counts.client.submit(task, *given, pure=False).result()
        return found


def find_regions(
    data: PartedAuditData, features: PartedFeatures | None, pairs: Pairs | None,
    verbose: bool = False,
) -> tuple[Region, ...]:  # fmt: skip
    """Rank values of columns by how much more they give or receive than their share of score."""
    if features is None or not isinstance(pairs, PartedPairs) or not len(pairs):
        return ()
    if "codes" not in features.cache:
        features.cache["codes"] = _coded(data, features)
    codes, names = features.cache["codes"]
    sizes = [len(values) for values in names.values()]
    sums = data.parts.sum(_by_value, codes, pairs.moved, sizes)
    found, least = [], min(LEAST_PEOPLE, len(data) // 4)
    for (name, values), of in zip(names.items(), sums):
        count, people, scored, given, given2, received, received2 = of
        gives, receives = shares_of(given, given2), shares_of(received, received2)
        shares = (people / people.sum(), scored / scored.sum())
        found += regions_of(name, values, count >= least, *shares, gives, receives)
    return ranked(found)


def curves(data: PartedAuditData, comparison: Comparison) -> tuple[Curve, ...]:
    """Return the curves of each group; a worker has the scores, weights and labels of a group."""
    client, groups, out = data.parts.client, comparison.groups, []
    for code in np.unique(groups.codes).tolist():
        own = data.compared(comparison).map(_members, data.parts, code)
        task = partial(_curve, groups.name, str(groups.values[code]), data.labels is not None)
        out.append(client.submit(task, together(own), pure=False))
    return tuple(client.gather(out))


def keep_people(
    data: PartedAuditData, features: PartedFeatures | None, findings: Sequence[Finding]
) -> tuple[tuple[Finding, ...], KeptPeople, Features | None]:
    """Bring the few people who are shown; pairs then number these."""
    pairs = [f.cost.pairs for f in findings if f.cost.pairs is not None]
    sides = [side for one in pairs for side in (one.giver, one.receiver)]
    few = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *sides]))
    own: dict[str, Any] = {f.name: getattr(data, f.name) for f in fields(AuditData)}
    shown = at_rows(data.parts.map(_shown), few).result()
    scores, weight, rows, labels = shown
    given = None
    if features is not None and len(few):
        given = at_rows(data.parts.map(_features), few).result()
    own |= {
        "scores": scores, "weight": weight, "rows": rows, "features": given,
        "labels": None if data.labels is None else labels, "columns": (), "controls": (),
    }  # fmt: skip
    people = KeptPeople(**own, facts=data.score_facts)
    told = tuple(_numbered(finding, few) for finding in findings)
    return told, people, None if features is None else features.of(few)


def _numbered(finding: Finding, few: np.ndarray) -> Finding:
    pairs = finding.cost.pairs
    if pairs is None:
        return finding
    own: dict[str, Any] = {f.name: getattr(pairs, f.name) for f in fields(Pairs)}
    own |= {side: np.searchsorted(few, own[side]) for side in ("giver", "receiver")}
    return replace(finding, cost=replace(finding.cost, pairs=Pairs(**own)))


def _coded(data: PartedAuditData, features: PartedFeatures) -> tuple[Parts, dict[str, list[str]]]:
    """Return which value of each column people have, (columns, n), and what values are called."""
    client, rows = data.parts.client, features.rows
    columns = [str(name) for name in features.table.columns]
    asked = []
    for name, number in zip(columns, features.numbers):
        if number:
            values = reduced(rows.map(_values, name, data.parts), join_values)
            asked.append(client.submit(_number_bins, values, pure=False))
        else:
            asked.append(reduced(rows.map(_texts, name), _more_texts))
    found = dict(zip(columns, client.gather(asked)))
    names: dict[str, list[str]] = {}
    for name, gaps in zip(columns, (name in features.missing for name in columns)):
        known = found[name]
        names[name] = list(known.names if isinstance(known, Bins) else known)
        names[name] += [MISSING] if gaps else []
    return rows.map(_codes, found), names


# What workers do.


def _cloud(here: np.ndarray, there: np.ndarray, scale: float) -> PointCloud:
    return PointCloud(here, there, scale=scale)


def _crowd(comparison: Comparison, data: AuditData) -> tuple[np.ndarray, ...]:
    return data.scores, comparison.groups.codes, comparison.strata.codes, data.weight


def _alike(
    names: np.ndarray, geometry: PointCloud, rows: tuple[np.ndarray, ...],
    columns: tuple[np.ndarray, ...], counts: np.ndarray,
) -> Alike | None:  # fmt: skip
    return find_alike(geometry, Crowd(*rows), Crowd(*columns), counts.T, names)


def _members(comparison: Comparison, data: AuditData, code: int) -> tuple[np.ndarray, ...]:
    own = comparison.groups.codes == code
    labels = np.zeros(len(own)) if data.labels is None else data.labels
    return data.scores[own], data.weight[own], labels[own]


def _curve(attribute: str, group: str, labelled: bool, people: tuple[np.ndarray, ...]) -> Curve:
    h, w, y = people
    return curve_of(attribute, group, h, w, y if labelled else None)


def _shown(data: AuditData) -> tuple[np.ndarray, ...]:
    labels = np.zeros(len(data.scores)) if data.labels is None else data.labels
    return data.scores, data.weight, data.rows, labels


def _features(data: AuditData) -> pd.DataFrame:
    assert data.features is not None
    return data.features


def _values(table: pd.DataFrame, name: str, data: AuditData) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct numbers of a column, and their weight."""
    numbers = table[name].to_numpy(np.float64, na_value=np.nan)
    known = ~np.isnan(numbers)
    found, codes = np.unique(numbers[known], return_inverse=True)
    return found, np.bincount(codes, data.weight[known], len(found))


def _number_bins(table: tuple[np.ndarray, np.ndarray]) -> Bins:
    return find_bins(table, BINS)


def _texts(table: pd.DataFrame, name: str) -> list[str]:
    """Return the values of a column, in the order in which they come up."""
    return [str(value) for value in pd.factorize(table[name])[1]]


def _more_texts(a: list[str], b: list[str]) -> list[str]:
    return list(dict.fromkeys([*a, *b]))


def _codes(table: pd.DataFrame, found: dict[str, Any]) -> list[np.ndarray]:
    out = []
    for name, known in found.items():
        column = table[name]
        gaps = column.isna().to_numpy()
        if isinstance(known, Bins):
            codes = known.codes(column.to_numpy(np.float64, na_value=np.nan))
            count = len(known.names)
        else:
            own, values = pd.factorize(column)
            place = {text: k for k, text in enumerate(known)}
            codes = np.array([*(place[str(value)] for value in values), -1])[own]
            count = len(known)
        out.append(np.where(gaps, count, codes))
    return out


def _by_value(
    data: AuditData, codes: list[np.ndarray], moved: tuple[np.ndarray, np.ndarray],
    sizes: list[int],
) -> tuple[np.ndarray, ...]:  # fmt: skip
    """Sum people, weights, score and what is given and received by value of each column."""
    given, received = moved
    sums = [
        np.ones(len(data.weight)), data.weight, data.weight * data.scores, given, given**2,
        received, received**2,
    ]  # fmt: skip
    return tuple(
        np.array([np.bincount(own, x, size) for x in sums]) for own, size in zip(codes, sizes)
    )
