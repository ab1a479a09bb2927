"""How the groups of one attribute are decided: rates of decisions and of errors, with intervals.

Maths: docs/audit.md. Everything is a function of sums over groups.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from otfair.auditing._groups import Comparison
from otfair.auditing._reading import AuditData
from otfair.auditing._results import RATES, Decisions, Gap, GroupDecisions
from otfair.auditing._violations import is_small, with_doubt
from otfair.metrics import Estimate, by_cell, estimate

HUNDREDTHS = np.arange(101) / 100  # at which people are counted
EVERYBODY, LABELLED, UNLABELLED, DECIDED, REFUSED = range(5)  # whom a rate is taken of


def measure_decisions(
    data: AuditData,
    comparison: Comparison,
    threshold: float,
    counts: np.ndarray,
    *,
    favourable: int | None,
    reference: str | None,
    min_people: int,
) -> Decisions:
    """Return the rates of each group; `counts` (R, n) are those of resamples."""
    groups = comparison.groups
    names = [str(v) for v in groups.values]
    rates, told_by, mean = rates_of(data, comparison, threshold, counts)
    figures = {name: [estimate(r, 0.0, 1.0) for r in values.T] for name, values in rates.items()}
    thresholds = np.unique([*HUNDREDTHS, threshold])
    sizes, square, cells, labelled = data.total(comparison, _counted, thresholds)
    present = np.flatnonzero(sizes).tolist()
    small = {g: is_small(int(sizes[g]), figures["selection_rate"][g], min_people) for g in present}
    good = rates["selection_rate"] if favourable != 0 else 1 - rates["selection_rate"]
    large = [g for g in present if not small[g]]
    if len(large) < 2:  # a gap that chance does not explain is told all the same
        many = [g for g in present if sizes[g] >= min_people]
        wide = _gap(names, good, many)
        large = large if wide is None or wide.by_chance is not False else many
    if reference is None:
        against = max(large or present, key=lambda g: (good[0, g], sizes[g]))
    else:
        against = names.index(reference)
    above, weight = _above(cells)
    positive_above, positive = _above(labelled)

    def group(g: int) -> GroupDecisions:
        own = {name: values[g] for name, values in figures.items()}
        unsure = [r for r in own if is_small(int(told_by[r][g]), own[r], min_people)]
        return GroupDecisions(
            group=names[g],
            people=int(sizes[g]),
            small=g not in large,
            rates=own,
            difference={r: estimate(v[:, g] - v[:, against]) for r, v in rates.items()},
            ratio={r: _ratio(v[:, g], v[:, against]) for r, v in rates.items()},
            unsure=tuple(unsure),
            weight=float(weight[g]),
            worth=float(weight[g] ** 2 / square[g]),
            above=tuple(above[g].tolist()),
            positive_above=() if data.labels is None else tuple(positive_above[g].tolist()),
            positive=float(positive[g]),
        )

    error_gap = None
    if data.labels is not None and favourable is not None:
        wrong = "false_negative_rate" if favourable else "false_positive_rate"
        sure = [
            g for g in large if not is_small(int(told_by[wrong][g]), figures[wrong][g], min_people)
        ]
        error_gap = _gap(names, rates[wrong], sure, lower_is_better=True)

    return Decisions(
        attribute=comparison.attribute,
        reference=names[against],
        groups=tuple(group(g) for g in present),
        thresholds=tuple(thresholds.tolist()),
        gap=_gap(names, good, large),
        score_gap=_gap(names, mean, large, lower_is_better=favourable == 0),
        error_gap=error_gap,
    )


def rates_of(
    data: AuditData, comparison: Comparison, threshold: float, counts: np.ndarray
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], np.ndarray]:
    """Return each rate, (R, G), how many people tell it, (G,), and mean scores, (R, G)."""
    G = len(comparison.groups.values)
    sums = data.resampled(comparison, counts, _sums, threshold).reshape(-1, 5, G)
    W, D, Y, both, scored = np.moveaxis(sums, 1, 0)
    people = data.total(comparison, _told_by, threshold)  # (2, 5, G)
    parts = {  # of each rate: part, whole, and who the whole is
        "selection_rate": (D, W, EVERYBODY),
        "true_positive_rate": (both, Y, LABELLED),
        "false_positive_rate": (D - both, W - Y, UNLABELLED),
        "false_negative_rate": (Y - both, Y, LABELLED),
        "precision": (both, D, DECIDED),
        "false_discovery_rate": (D - both, D, DECIDED),
        "false_omission_rate": (Y - both, W - D, REFUSED),
        "accuracy": (W - D - Y + 2 * both, W, EVERYBODY),
        "base_rate": (Y, W, EVERYBODY),
    }
    shown = RATES if data.labels is not None else ["selection_rate"]
    rng = np.random.default_rng(0)
    told_by, rates = {}, {}
    with np.errstate(invalid="ignore", divide="ignore"):
        for name in shown:
            part, whole, who = parts[name]
            told_by[name], square = people[:, who]
            count = np.nan_to_num(whole[0] ** 2 / square)
            share = np.where(whole > 1e-12 * W[0], part.clip(0) / whole, np.nan)
            rates[name] = with_doubt(share[:, None], count[None], rng)[:, 0]
        mean = scored / W
    return rates, told_by, mean


def _ratio(values: np.ndarray, others: np.ndarray) -> Estimate:
    """Return the ratio of two rates, (R,); 1 where both are 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.where((values == 0) & (others == 0), 1.0, values / others)
    return estimate(ratio, 0.0)


def _gap(
    names: list[str], values: np.ndarray, large: list[int], lower_is_better: bool = False
) -> Gap | None:
    """Return who fares worst and best by a figure, (R, G), of the groups that are large enough."""
    if len(large) < 2:
        return None
    best, worst = (pick(large, key=lambda g: values[0, g]) for pick in (max, min))
    if best == worst:  # all the same
        worst, best = large[:2]
    low, high = values[:, worst], values[:, best]
    off = values[1:, large] - values[0, large]
    chance = float(np.nanpercentile(np.ptp(off, axis=1), 95)) if len(off) else float("nan")
    if lower_is_better:
        worst, best = best, worst
    return Gap(
        worst=names[worst],
        best=names[best],
        worst_figure=estimate(values[:, worst], 0.0, 1.0),
        best_figure=estimate(values[:, best], 0.0, 1.0),
        difference=estimate(high - low),
        ratio=_ratio(low, high),
        chance=chance,
    )


def _sums(data: AuditData, comparison: Comparison, threshold: float) -> sp.csr_array:
    """Return the matrix whose products are sums over groups: five of each."""
    h, w, y = data.scores, data.weight, _labels(data)
    yes = (h > threshold).astype(np.float64)
    columns = [w, w * yes, w * y, w * y * yes, w * h]
    return by_cell(comparison.groups.codes, len(comparison.groups.values), *columns)


def _told_by(data: AuditData, comparison: Comparison, threshold: float) -> np.ndarray:
    """Count those who tell a rate, and sum squares of their weights, by group, (2, 5, G)."""
    w, y, yes = data.weight, _labels(data), (data.scores > threshold).astype(np.float64)
    codes, G = comparison.groups.codes, len(comparison.groups.values)
    who = [np.ones(len(w)), y, 1 - y, yes, 1 - yes]  # in the order of their names
    return np.array([[np.bincount(codes, one * x, G) for one in who] for x in (1.0, w**2)])


def _labels(data: AuditData) -> np.ndarray:
    return np.zeros(len(data.scores)) if data.labels is None else data.labels.astype(np.float64)


def _counted(
    data: AuditData, comparison: Comparison, thresholds: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Count the people of each group, and how many thresholds they pass, (G, 1 + t), by weight.

    Returns people, squares of weights, and the counts of all and of those with a positive label.
    """
    # How many of the thresholds a score is above: it counts at these, and at none beyond.
    passed, w = np.searchsorted(thresholds, data.scores, side="left"), data.weight
    t, G, codes = len(thresholds), len(comparison.groups.values), comparison.groups.codes
    cells = codes * (t + 1) + passed
    people, squares = (np.bincount(codes, x, G) for x in (np.ones(len(w)), w**2))
    both = (np.bincount(cells, x, G * (t + 1)).reshape(G, t + 1) for x in (w, w * _labels(data)))
    return people, squares, *both


def _above(cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the weight of each group's people above each threshold, (G, t), and of all, (G,)."""
    above = cells[:, ::-1].cumsum(1)[:, ::-1]
    return above[:, 1:], above[:, 0]
