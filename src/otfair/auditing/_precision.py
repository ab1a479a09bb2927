"""How unequal the precision of the groups of one attribute is, with intervals.

Maths: docs/audit.md. Everything is a function of sums over groups.
"""

from __future__ import annotations

import numpy as np

from otfair.auditing._groups import Comparison
from otfair.auditing._reading import AuditData
from otfair.auditing._results import Group, Violation
from otfair.auditing._violations import MIN_PEOPLE, comparable, is_small, spread, with_doubt
from otfair.metrics import by_cell, estimate, resample


def measure_precision(
    data: AuditData,
    comparison: Comparison,
    threshold: float,
    counts: np.ndarray,
    min_people: int = MIN_PEOPLE,
) -> Violation:
    """Return differences of precision; `counts` (R, n) are those of resamples.

    Groups whose people all have one label are shown, and not compared.
    """
    h, w, decided = data.scores, data.weight, data.scores > threshold
    assert data.labels is not None
    y = data.labels.astype(np.float64)
    names, codes = [str(v) for v in comparison.groups.values], comparison.groups.codes
    G = len(names)
    columns = [w, w * h, w * y, w * h * y, w * decided, w * decided * y]
    sums = resample(by_cell(codes, G, *columns), counts)  # (R, 6 G)
    W, score, positive, held, chosen, right = np.moveaxis(
        sums.reshape(len(sums), len(columns), 1, G), 1, 0
    )  # (R, 1, G) each
    rng = np.random.default_rng(0)

    def shares(part: np.ndarray, whole: np.ndarray, square: np.ndarray) -> np.ndarray:
        """Return part / whole, with doubt where no resample changes it; `square` (n,) of whole."""
        with np.errstate(invalid="ignore", divide="ignore"):
            count = whole[0] ** 2 / np.bincount(codes, square, G)
            return with_doubt(part / whole, np.nan_to_num(count), rng)

    mean, base = shares(score, W, w**2), shares(positive, W, w**2)
    precision = shares(held, score, (w * h) ** 2)
    right_share = shares(right, chosen, w**2 * decided)
    compared = (positive[0, 0] > 0) & (positive[0, 0] < W[0, 0])  # who have both labels
    among, rate = precision[:, 0, compared], comparison.rate
    off = among[1:] - among[:1]
    if not compared.any() or (rate is None and compared.sum() < 2):
        value, chance = np.zeros(len(sums)), np.zeros(len(off))
    elif rate is None:
        value, chance = np.ptp(among, axis=1), np.ptp(off, axis=1)
    else:
        value, chance = np.abs(among - rate).max(1), np.abs(off).max(1)
    whole = held[0].sum() / score[0].sum() if rate is None else rate
    far = np.where(compared, np.abs(precision[0, 0] - whole), -1.0)
    sizes = np.bincount(codes, minlength=G)

    def group(g: int) -> Group:
        rate_of = estimate(right_share[:, 0, g], 0.0, 1.0)
        return Group(
            group=names[g],
            stratum="",
            people=int(sizes[g]),
            mean_score=estimate(mean[:, 0, g], 0.0, 1.0),
            rate=rate_of,
            base_rate=estimate(base[:, 0, g], 0.0, 1.0),
            precision=estimate(precision[:, 0, g], 0.0, 1.0),
            small=is_small(int(sizes[g]), rate_of, min_people),
        )

    groups = {g: group(g) for g in np.flatnonzero(sizes).tolist()}
    large = np.array([[g in groups and not groups[g].small for g in range(G)]])
    precision_difference, precision_ratio, _ = spread(
        precision, comparable(large & compared, compared[None])
    )
    rate_difference, rate_ratio, rate_chance = spread(
        right_share, comparable(large, sizes[None] > 0)
    )
    return Violation(
        value=estimate(value, 0.0, 1.0),
        worst=names[int(far.argmax())],
        chance=float(np.nanpercentile(chance, 95)) if len(chance) else float("nan"),
        mean_difference=precision_difference,
        mean_ratio=precision_ratio,
        rate_difference=rate_difference,
        rate_ratio=rate_ratio,
        rate_chance=rate_chance,
        groups=tuple(groups.values()),
    )
