"""How unfair the scores are to the groups of one attribute, by one notion, with intervals.

Maths: docs/audit.md. Everything is a function of sums over (group, stratum) cells.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from otfair.auditing._groups import Comparison
from otfair.auditing._reading import AuditData
from otfair.auditing._results import Group, Violation
from otfair.metrics import Estimate, by_cell, estimate

MIN_PEOPLE = 30  # of a group; fewer are too few to say
MAX_WIDTH = 0.2  # of the interval of a rate; a wider one says too little
ROUNDING = 1e-24  # of the largest square: a smaller spread is that of equal numbers


def measure_violation(
    data: AuditData,
    comparison: Comparison,
    threshold: float,
    counts: np.ndarray,
    min_people: int = MIN_PEOPLE,
    favourable: int | None = None,
) -> Violation:
    """Return correlations, differences and ratios; `counts` (R, n) are those of resamples."""
    labelled = data.labels is not None and not comparison.notion.within_labels  # else all alike
    names, stratum_names = [str(v) for v in comparison.groups.values], comparison.strata.names
    G, S = len(names), len(stratum_names)
    largest_score, unit = data.largest(comparison, _largest_numbers)
    *sums_of, sizes, squares = data.total(comparison, _counted, unit)
    centres = _centres(*sums_of)  # centred numbers cancel less
    sums = data.resampled(comparison, counts, _sums, centres, unit, threshold, labelled)
    q, s, centre = 4 + labelled, comparison.numbers, centres[0]
    cut = q * S * G
    W, first, second, *others = np.moveaxis(sums[:, :cut].reshape(len(sums), q, S, G), 1, 0)
    positive, labels = others[0], others[1:]
    with np.errstate(invalid="ignore", divide="ignore"):
        mean, rate = centre[:, None] + first / W, positive / W
        base = labels[0] / W if labels else None
        count = W[0] ** 2 / squares.reshape(S, G)
        rng = np.random.default_rng(0)
        mean, rate = (with_doubt(values, count, rng) for values in (mean, rate))
        base = None if base is None else with_doubt(base, count, rng)
        least = ROUNDING * float(largest_score) ** 2
        if s is None:
            rows = _group_correlations(W, first, second, least)  # (R, S, G)
        else:
            moments = np.moveaxis(sums[:, cut:].reshape(len(sums), 3, S), 1, 0)
            rows = _correlations(W, first, second, moments, least)[..., None]  # (R, S, 1)
        largest = np.abs(rows).max((1, 2))
        off = np.abs(rows[1:] - rows[0]).max((1, 2))
    tied = np.abs(rows[0]) >= (1 - 1e-9) * largest[0]  # as two groups are, but for rounding
    worst = np.unravel_index(int(np.where(tied, rows[0], np.inf).argmin()), rows[0].shape)
    sizes = sizes.reshape(S, G)
    within = f", {stratum_names[worst[0]]}" if stratum_names[worst[0]] else ""

    def group(stratum: int, g: int) -> Group:
        rate_of = estimate(rate[:, stratum, g], 0.0, 1.0)
        return Group(
            group=names[g],
            stratum=stratum_names[stratum],
            people=int(sizes[stratum, g]),
            mean_score=estimate(mean[:, stratum, g], 0.0, 1.0),
            rate=rate_of,
            base_rate=None if base is None else estimate(base[:, stratum, g], 0.0, 1.0),
            small=is_small(int(sizes[stratum, g]), rate_of, min_people),
        )

    groups = {(stratum, g): group(stratum, g) for stratum, g in np.argwhere(sizes).tolist()}
    large = np.zeros((S, G), dtype=bool)
    for cell, one in groups.items():
        large[cell] = not one.small
    large = comparable(large, sizes > 0)
    judged = np.where(large, rows, 0.0) if s is None else rows
    mean_difference, mean_ratio, _ = spread(mean, large)
    rate_difference, _, rate_chance = spread(rate, large)
    rate_ratio = spread(1 - rate if favourable == 0 else rate, large)[1]
    return Violation(
        value=estimate(largest, 0.0, 1.0),
        worst=(comparison.attribute if s is not None else names[worst[1]]) + within,
        chance=float(np.percentile(off, 95)) if len(off) else float("nan"),
        mean_difference=mean_difference,
        mean_ratio=mean_ratio,
        rate_difference=rate_difference,
        rate_ratio=rate_ratio,
        rate_chance=rate_chance,
        groups=tuple(groups.values()),
        among_large=estimate(np.abs(judged).max((1, 2)), 0.0, 1.0),
    )


def correlation_rows(data: AuditData, comparison: Comparison, counts: np.ndarray) -> np.ndarray:
    """Return the correlation of scores with each group, or with a number, (R, S, G or 1)."""
    s, G, S = comparison.numbers, len(comparison.groups.values), len(comparison.strata.names)
    largest_score, unit = data.largest(comparison, _largest_numbers)
    centres = _centres(*data.total(comparison, _counted, unit)[:-2])
    sums = data.resampled(comparison, counts, _sums, centres, unit)
    cut = 3 * S * G
    W, first, second = np.moveaxis(sums[:, :cut].reshape(len(sums), 3, S, G), 1, 0)
    least = ROUNDING * float(largest_score) ** 2
    with np.errstate(invalid="ignore", divide="ignore"):
        if s is None:
            return _group_correlations(W, first, second, least)
        moments = np.moveaxis(sums[:, cut:].reshape(len(sums), 3, S), 1, 0)
        return _correlations(W, first, second, moments, least)[..., None]


def is_small(people: int, rate: Estimate, min_people: int = MIN_PEOPLE) -> bool:
    """Whether a group has too few people to say, by their number and the interval of its rate."""
    unknown = rate.value != rate.value
    return people < min_people or unknown or rate.high - rate.low > MAX_WIDTH


def comparable(large: np.ndarray, present: np.ndarray) -> np.ndarray:
    """Return the groups that are compared, (S, G): large ones, or all where no two are large."""
    enough = large.sum(-1) > 1
    return large & enough[:, None] if enough.any() else present


def _largest_numbers(data: AuditData, comparison: Comparison) -> np.ndarray:
    """Return how large scores are, and numbers of a continuous attribute, (2,)."""
    s = comparison.numbers
    return np.array([np.abs(data.scores).max(), 0.0 if s is None else np.abs(s).max()])


def _counted(data: AuditData, comparison: Comparison, unit: float) -> tuple[np.ndarray, ...]:
    """Sum weights, scores and numbers by stratum; count people and squares of weights by cell."""
    w, strata, s = data.weight, comparison.strata.codes, comparison.numbers
    inside, S, cells, count = strata >= 0, len(comparison.strata.names), *_cells(comparison)
    numbers = np.zeros(len(w)) if s is None else s / unit
    by_stratum = (
        np.bincount(strata[inside], (w * x)[inside], S) for x in (1, data.scores, numbers)
    )
    by_cell = (np.bincount(cells[inside], x[inside], count) for x in (np.ones(len(w)), w**2))
    return *by_stratum, *by_cell


def _cells(comparison: Comparison) -> tuple[np.ndarray, int]:
    """Return the cell (stratum, group) of each person, -1 for none, and how many there are."""
    strata, G = comparison.strata.codes, len(comparison.groups.values)
    cells = np.where(strata >= 0, strata * G + comparison.groups.codes, -1)
    return cells, G * len(comparison.strata.names)


def _centres(size: np.ndarray, *totals: np.ndarray) -> list[np.ndarray]:
    """Return the means of each stratum, (S,) each."""
    return [total / np.where(size > 0, size, 1.0) for total in totals]


def _sums(
    data: AuditData,
    comparison: Comparison,
    centres: list[np.ndarray],
    unit: float,
    threshold: float | None = None,
    labelled: bool = False,
) -> sp.csr_array:
    """Return the matrix whose products are sums over cells, and over strata of a number."""
    h, w, s, strata = data.scores, data.weight, comparison.numbers, comparison.strata.codes
    z = h - centres[0][strata]
    columns = [w, w * z, w * z**2]
    columns += [] if threshold is None else [w * (h > threshold)]
    columns += [w * data.labels] if labelled and data.labels is not None else []
    A = by_cell(*_cells(comparison), *columns)
    if s is None:
        return A
    s = s / unit - centres[1][strata]
    own = by_cell(strata, len(comparison.strata.names), w * s, w * s**2, w * s * z)
    return sp.csr_array(sp.vstack([A, own]))


def with_doubt(values: np.ndarray, count: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw shares that no resample changes, (R, S, G), from what else they could have been."""
    # Forty decisions out of forty are no proof of certainty, nor is a single score. With a uniform
    # prior, shares of (S, G) `count` people have a beta distribution, which agrees with Wilson.
    again = np.where(np.isnan(values), values[0], values)
    out = values.copy()
    same = np.ptp(again, axis=0) <= 1e-12 * np.abs(values[0])
    for cell in zip(*np.nonzero(same & (count > 0))):
        share, n = np.clip(values[0][cell], 0.0, 1.0), count[cell]
        out[1:, *cell] = rng.beta(n * share + 1, n * (1 - share) + 1, len(values) - 1)
    return out


def _group_correlations(
    W: np.ndarray, first: np.ndarray, second: np.ndarray, least: float
) -> np.ndarray:
    """Pearson correlation of scores and each group within its stratum, (R, S, G)."""
    size = W.sum(-1, keepdims=True)
    centre = first.sum(-1, keepdims=True) / size
    spread = second.sum(-1, keepdims=True) / size - centre**2
    share = W / size
    rows = (first / W - centre) * np.sqrt(share / (1 - share) / spread)
    return np.where(np.isfinite(rows) & (spread > least), rows, 0.0)


def _correlations(
    W: np.ndarray, first: np.ndarray, second: np.ndarray, moments: np.ndarray, least: float
) -> np.ndarray:
    """Pearson correlation of scores and a continuous attribute within each stratum, (R, S)."""
    size, h, hh = (x.sum(-1) for x in (W, first, second))
    h, hh, s, ss, hs = (x / size for x in (h, hh, *moments))
    spread, own = hh - h**2, ss - s**2
    rows = (hs - h * s) / np.sqrt(spread * own)
    return np.where(np.isfinite(rows) & (spread > least) & (own > ROUNDING), rows, 0.0)


def spread(values: np.ndarray, compared: np.ndarray) -> tuple[Estimate, Estimate, float]:
    """Largest difference and smallest ratio within a stratum, of figures (R, S, G).

    Some groups are compared, (S, G). The ratio is 1 where all are 0. The last number is how far
    differences are off by chance, at most, in 95 % of resamples.
    """
    values = np.where(compared, values, np.nan)[:, compared.any(1)]
    high, low = np.fmax.reduce(values, -1), np.fmin.reduce(values, -1)  # NaN where all are
    difference = np.where(high > low, high - low, 0.0).max(-1)
    ratio = np.where(high > 0, low / np.where(high > 0, high, 1.0), 1.0).min(-1)
    off = values[1:] - values[0]
    furthest = (np.fmax.reduce(off, -1) - np.fmin.reduce(off, -1)).max(-1, initial=0.0)
    chance = float(np.nanpercentile(furthest, 95)) if np.isfinite(furthest).any() else np.nan
    return estimate(difference, 0.0, 1.0), estimate(ratio, 0.0, 1.0), chance
