"""How the groups of one attribute are decided: rates of decisions and of errors, with intervals.

Maths: docs/audit.md. Everything is a function of sums over groups.
"""

from __future__ import annotations

import numpy as np

from otfair.auditing._groups import Comparison
from otfair.auditing._reading import AuditData
from otfair.auditing._results import RATES, Decisions, Gap, GroupDecisions
from otfair.auditing._violations import is_small, with_doubt
from otfair.metrics import Estimate, by_cell, estimate, resample
from otfair.notions import Attribute

HUNDREDTHS = np.arange(101) / 100  # at which people are counted


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
    names, codes = [str(v) for v in groups.values], groups.codes
    rates, told_by, mean = _rates(data, groups, threshold, counts)
    figures = {name: [estimate(r, 0.0, 1.0) for r in values.T] for name, values in rates.items()}
    sizes = np.bincount(codes, minlength=len(names))
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
    thresholds = np.unique([*HUNDREDTHS, threshold])
    above, weight = _counted(data.scores, data.weight, groups, thresholds)
    labelled = data.weight * (0 if data.labels is None else data.labels)
    positive_above, positive = _counted(data.scores, labelled, groups, thresholds)
    square = np.bincount(codes, data.weight**2, len(names))

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


def _rates(
    data: AuditData, groups: Attribute, threshold: float, counts: np.ndarray
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], np.ndarray]:
    """Return each rate, (R, G), how many people tell it, (G,), and mean scores, (R, G)."""
    h, w, codes, G = data.scores, data.weight, groups.codes, len(groups.values)
    yes, y = (h > threshold).astype(np.float64), np.zeros(len(h))
    y = y if data.labels is None else data.labels.astype(np.float64)
    columns = [w, w * yes, w * y, w * y * yes, w * h]
    sums = resample(by_cell(codes, G, *columns), counts).reshape(-1, len(columns), G)
    W, D, Y, both, scored = np.moveaxis(sums, 1, 0)
    every = np.ones(len(h))
    parts = {  # of each rate: part, whole, and who the whole is
        "selection_rate": (D, W, every),
        "true_positive_rate": (both, Y, y),
        "false_positive_rate": (D - both, W - Y, 1 - y),
        "false_negative_rate": (Y - both, Y, y),
        "precision": (both, D, yes),
        "false_discovery_rate": (D - both, D, yes),
        "false_omission_rate": (Y - both, W - D, 1 - yes),
        "accuracy": (W - D - Y + 2 * both, W, every),
        "base_rate": (Y, W, every),
    }
    shown = RATES if data.labels is not None else ["selection_rate"]
    rng = np.random.default_rng(0)
    told_by, rates = {}, {}
    with np.errstate(invalid="ignore", divide="ignore"):
        for name in shown:
            part, whole, who = parts[name]
            told_by[name] = np.bincount(codes, who, G)
            count = np.nan_to_num(whole[0] ** 2 / np.bincount(codes, who * w**2, G))
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


def _counted(
    scores: np.ndarray, weight: np.ndarray, groups: Attribute, thresholds: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the weight of each group's people above each threshold, (G, t), and of all, (G,)."""
    # How many of the thresholds a score is above: it counts at these, and at none beyond.
    passed = np.searchsorted(thresholds, scores, side="left")
    t, G = len(thresholds), len(groups.values)
    cells = np.bincount(groups.codes * (t + 1) + passed, weight, G * (t + 1)).reshape(G, t + 1)
    above = cells[:, ::-1].cumsum(1)[:, ::-1]
    return above[:, 1:], above[:, 0]
