"""How unequal the precision of the groups of one attribute is, with intervals.

Maths: docs/audit.md. Everything is a function of sums over groups.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from otfair.auditing._groups import Comparison
from otfair.auditing._reading import AuditData
from otfair.auditing._results import Group, Violation
from otfair.auditing._violations import MIN_PEOPLE, comparable, is_small, spread, with_doubt
from otfair.metrics import by_cell, estimate


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
    assert data.labels is not None
    names = [str(v) for v in comparison.groups.values]
    G = len(names)
    sums = data.resampled(comparison, counts, _sums, threshold)  # (R, 6 G)
    W, score, positive, held, chosen, right = np.moveaxis(
        sums.reshape(len(sums), 6, 1, G), 1, 0
    )  # (R, 1, G) each
    sizes, *squares = data.total(comparison, _counted, threshold)
    rng = np.random.default_rng(0)

    def shares(part: np.ndarray, whole: np.ndarray, square: np.ndarray) -> np.ndarray:
        """Return part / whole, with doubt where no resample changes it; `square` (G,) of whole."""
        with np.errstate(invalid="ignore", divide="ignore"):
            count = whole[0] ** 2 / square
            return with_doubt(part / whole, np.nan_to_num(count), rng)

    mean, base = shares(score, W, squares[0]), shares(positive, W, squares[0])
    precision = shares(held, score, squares[1])
    right_share = shares(right, chosen, squares[2])
    compared = (positive[0, 0] > 0) & (positive[0, 0] < W[0, 0])  # who have both labels
    among, rate = precision[:, 0, compared], comparison.rate
    off = among[1:] - among[:1]
    value = _furthest(among, rate)
    chance = _furthest(off, None if rate is None else 0.0)
    whole = held[0].sum() / score[0].sum() if rate is None else rate
    far = np.where(compared, np.abs(precision[0, 0] - whole), -1.0)

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
    enough = comparable(large & compared, compared[None])
    precision_difference, precision_ratio, _ = spread(precision, enough)
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
        among_large=estimate(_furthest(precision[:, 0, enough[0]], rate), 0.0, 1.0),
    )


def _sums(data: AuditData, comparison: Comparison, threshold: float) -> sp.csr_array:
    """Return the matrix whose products are sums over groups: six of each."""
    h, w, decided = data.scores, data.weight, data.scores > threshold
    assert data.labels is not None
    y = data.labels.astype(np.float64)
    columns = [w, w * h, w * y, w * h * y, w * decided, w * decided * y]
    return by_cell(comparison.groups.codes, len(comparison.groups.values), *columns)


def _counted(data: AuditData, comparison: Comparison, threshold: float) -> tuple[np.ndarray, ...]:
    """Count the people of each group, and sum squares of what their shares are taken of."""
    h, w, codes = data.scores, data.weight, comparison.groups.codes
    squares = (w**2, (w * h) ** 2, w**2 * (h > threshold))
    G = len(comparison.groups.values)
    return tuple(np.bincount(codes, x, G) for x in (np.ones(len(w)), *squares))


def _furthest(precision: np.ndarray, rate: float | None) -> np.ndarray:
    """Return how far the precisions of groups, (R, G), are apart, or from a rate; 0 of none."""
    if precision.shape[1] < (2 if rate is None else 1):
        return np.zeros(len(precision))
    return np.asarray(
        np.ptp(precision, axis=1) if rate is None else np.abs(precision - rate).max(1)
    )
