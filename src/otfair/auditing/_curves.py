"""How the scores of each group lie, rank people, and keep their promise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import expit, logit
from sklearn.metrics import roc_curve

from otfair.auditing._reading import AuditData
from otfair.auditing._results import Curve
from otfair.auditing._statistics import effective_count, quantile_codes, share_of
from otfair.metrics import Estimate
from otfair.notions import Attribute

DENSITY = 40  # intervals of the score
POINTS = 200  # of a ROC curve at most
TENTHS = 10  # of the people, for calibration
LEAST = 10  # people in a point of calibration; of fewer people there is none


def curves(data: AuditData, groups: Attribute) -> tuple[Curve, ...]:
    """Return the curves of each group of an attribute."""
    out = []
    for code, name in enumerate(groups.values):
        inside = groups.codes == code
        y = None if data.labels is None else data.labels[inside]
        if inside.any():
            h, w = data.scores[inside], data.weight[inside]
            out.append(curve_of(groups.name, str(name), h, w, y))
    return tuple(out)


def curve_of(
    attribute: str, group: str, h: np.ndarray, w: np.ndarray, y: np.ndarray | None
) -> Curve:
    """Return the curves of a group, from the scores, weights and labels of its people."""
    density = np.histogram(h, DENSITY, (0.0, 1.0), weights=w)[0] / w.sum()
    curve = Curve(attribute=attribute, group=group, people=len(h), density=tuple(density.tolist()))
    if y is None:
        return curve
    curve = replace(curve, calibration=calibration(h, y, w))
    if 0 < y.sum() < len(y):
        curve = replace(curve, roc=roc(h, y, w), auc=auc(h, y, w))
    return curve


def roc(h: np.ndarray, y: np.ndarray, w: np.ndarray) -> tuple[tuple[float, float], ...]:
    """Return (false, true positive rate) at thresholds from high to low."""
    false, true, _ = roc_curve(y, h, sample_weight=w, drop_intermediate=False)
    if len(false) > POINTS:  # evenly along the curve
        along = np.searchsorted(false + true, np.linspace(0, 2, POINTS))
        kept = np.unique(along.clip(0, len(false) - 1))
        false, true = false[kept], true[kept]
    return tuple(zip(false.tolist(), true.tolist()))


def auc(h: np.ndarray, y: np.ndarray, w: np.ndarray) -> Estimate:
    """Return the area under the ROC curve, with DeLong's interval of its logit."""
    distinct, code = np.unique(h, return_inverse=True)
    below = {}
    for label in (0, 1):
        mass = np.bincount(code, w * (y == label), len(distinct))
        below[label] = (mass.cumsum() - mass / 2) / mass.sum()  # ties count half
    positive, negative = y == 1, y == 0
    wins, losses = below[0][code[positive]], below[1][code[negative]]
    area = float(np.average(wins, weights=w[positive]))
    if min(positive.sum(), negative.sum()) < 2:  # one person tells no spread
        return Estimate(area, float("nan"), float("nan"))
    spread = _error(wins, w[positive]) + _error(losses, w[negative])
    if spread < 1e-24:  # as in a perfect ranking: a share of the rarer label's people
        return share_of(area, min(effective_count(w[positive]), effective_count(w[negative])))
    half = 1.96 * np.sqrt(spread) / (area * (1 - area))  # of the logit, which has no ends
    return Estimate(area, *(float(expit(logit(area) + side * half)) for side in (-1, 1)))


def _error(values: np.ndarray, w: np.ndarray) -> float:
    """Square of the standard error of a weighted mean."""
    mean, count = np.average(values, weights=w), effective_count(w)
    return float((w**2 @ (values - mean) ** 2) / w.sum() ** 2 * count / (count - 1))


def calibration(
    h: np.ndarray, y: np.ndarray, w: np.ndarray
) -> tuple[tuple[float, Estimate, int], ...]:
    """Return (mean score, share of positive labels, people) in up to ten parts, by score."""
    if len(h) < LEAST:
        return ()
    codes = quantile_codes(h, min(TENTHS, len(h) // LEAST), w)
    codes = _merged(np.bincount(codes))[codes]
    out = []
    for k in np.unique(codes):
        some = codes == k
        share = share_of(float(np.average(y[some], weights=w[some])), effective_count(w[some]))
        out.append((float(np.average(h[some], weights=w[some])), share, int(some.sum())))
    return tuple(out)


def _merged(counts: np.ndarray) -> np.ndarray:
    """Return which part each bin becomes, for parts to have people enough; ties make small bins."""
    parts, k, seen = [], 0, 0
    for count in counts:
        parts.append(k)
        seen += int(count)
        if seen >= LEAST:
            k, seen = k + 1, 0
    return np.minimum(parts, max(k - 1, 0))
