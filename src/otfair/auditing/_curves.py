"""How the scores of each group lie, rank people, and keep their promise."""

from __future__ import annotations

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
LEAST = 10  # people in a point of calibration


def curves(data: AuditData, groups: Attribute) -> tuple[Curve, ...]:
    """Return the curves of each group of an attribute."""
    out = []
    for code, name in enumerate(groups.values):
        inside = groups.codes == code
        h, w = data.scores[inside], data.weight[inside]
        if not len(h):
            continue
        y = None if data.labels is None else data.labels[inside]
        density, _ = np.histogram(h, DENSITY, (0.0, 1.0), weights=w)
        both = y is not None and 0 < y.sum() < len(y)
        out.append(
            Curve(
                attribute=groups.name,
                group=str(name),
                people=len(h),
                density=tuple((density / w.sum()).tolist()),
                roc=roc(h, y, w) if y is not None and both else (),
                auc=auc(h, y, w) if y is not None and both else None,
                calibration=() if y is None else calibration(h, y, w),
            )
        )
    return tuple(out)


def roc(h: np.ndarray, y: np.ndarray, w: np.ndarray) -> tuple[tuple[float, float], ...]:
    """Return (false, true positive rate) at thresholds from high to low."""
    false, true, _ = roc_curve(y, h, sample_weight=w, drop_intermediate=False)
    curve = np.stack([false, true], 1)  # (t, 2)
    if len(curve) > POINTS:  # evenly along the curve
        along = np.linspace(0, 2, POINTS)
        kept = np.unique(np.searchsorted(curve.sum(1), along).clip(0, len(curve) - 1))
        curve = curve[kept]
    return tuple((float(a), float(b)) for a, b in curve)


def auc(h: np.ndarray, y: np.ndarray, w: np.ndarray) -> Estimate:
    """Return the area under the ROC curve, with DeLong's interval of its logit.

    One person of a label tells no spread, and there is none. Where nobody differs, as in a perfect
    ranking, the interval is that of a share of the rarer label's people.
    """
    distinct, code = np.unique(h, return_inverse=True)
    below = {}
    for label in (0, 1):
        mass = np.bincount(code, w * (y == label), len(distinct))
        below[label] = (mass.cumsum() - mass / 2) / mass.sum()  # ties count half
    positive, negative = y == 1, y == 0
    wins, losses = below[0][code[positive]], below[1][code[negative]]
    area = float(np.average(wins, weights=w[positive]))
    if min(positive.sum(), negative.sum()) < 2:
        return Estimate(area, float("nan"), float("nan"))
    spread = _error(wins, w[positive]) + _error(losses, w[negative])
    if spread < 1e-24:
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
    """Return (mean score, share of positive labels, people) in tenths of people by score.

    Parts are fewer where they would have fewer than 10 people; there is none of fewer people.
    """
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
