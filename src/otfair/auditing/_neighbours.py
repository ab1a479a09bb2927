"""How differently people are scored who are alike but of different groups.

Maths: docs/metrics.md. Of large tables, some people are compared with some others.
"""

from __future__ import annotations

import numpy as np

from otfair.auditing._features import Features
from otfair.auditing._groups import Comparison
from otfair.auditing._reading import AuditData
from otfair.auditing._results import Alike, AlikeGroup
from otfair.geometry import PointCloud
from otfair.metrics import Crowd, by_cell, estimate, find_gaps, resample

NEIGHBOURS = 5
LOOKING = 3_000  # people at most who are compared with their neighbours
AMONG = 30_000  # people at most among whom neighbours are looked for


class Neighbourhood:
    """People and those among whom their neighbours are; costs are in units of `scale`."""

    def __init__(self, data: AuditData, features: Features, scale: float, seed: int) -> None:
        order = np.random.default_rng([seed, 1]).permutation(len(data))
        self._data = data
        self._looking, self._among = (np.sort(order[:most]) for most in (LOOKING, AMONG))
        here, there = features.encode(self._looking), features.encode(self._among)
        self._geometry = PointCloud(here, there, scale=scale or 1.0)

    def of(self, comparison: Comparison, counts: np.ndarray) -> Alike | None:
        """Compare neighbours of different groups; None where there are none, or no groups."""
        if comparison.numbers is not None:
            return None
        data = self._data
        everybody = Crowd(
            data.scores, comparison.groups.codes, comparison.strata.codes, data.weight
        )
        rows, columns = everybody.take(self._looking), everybody.take(self._among)
        # Resampled people look among the same others.
        counts = counts[:, self._looking]
        return find_alike(self._geometry, rows, columns, counts, comparison.groups.values)


def find_alike(
    geometry: PointCloud, rows: Crowd, columns: Crowd, counts: np.ndarray, names: np.ndarray
) -> Alike | None:
    """Compare people with their neighbours of other groups; None where nobody has any."""
    gaps = find_gaps(geometry, rows, columns, NEIGHBOURS)
    found = np.isfinite(gaps.absolute)
    if not found.any():
        return None
    cells = np.where(found, rows.groups, -1)
    absolute, signed, distance = (
        np.where(found, rows.weight * x, 0.0) for x in (gaps.absolute, gaps.signed, gaps.distance)
    )
    parts = by_cell(cells, len(names), rows.weight, absolute, signed, distance)
    sums = resample(parts, counts).reshape(-1, 4, len(names))
    with np.errstate(invalid="ignore"):  # a group that is not in a resample says nothing
        means = sums[:, 1:] / sums[:, :1]  # (resamples, 3, groups)
        total = sums[:, 1].sum(1) / sums[:, 0].sum(1)
    people = np.bincount(cells[found], minlength=len(names))
    groups = [
        AlikeGroup(
            group=str(names[g]),
            people=int(people[g]),
            gap=estimate(means[:, 0, g], 0.0, 1.0),
            more=estimate(means[:, 1, g], -1.0, 1.0),
            distance=float(means[0, 2, g]),
        )
        for g in np.flatnonzero(people)
    ]
    return Alike(
        gap=estimate(total, 0.0, 1.0),
        people=int(found.sum()),
        among=len(columns.scores),
        neighbours=NEIGHBOURS,
        groups=tuple(groups),
    )
