"""What the results say: methods compared on the same splits, at matched violations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from otfair.reproduction._frames import PANELS, Panel, panel_runs, select, shown, title

SHARES = (0.75, 0.5, 0.25, 0.1)  # of the unfair model's violation
INTERVAL = 3  # splits from which on a difference has an interval, and counts in a verdict
# Between two strengths AUC is read off a line, and where the strengths are further apart than this
# share of the unfair violation, no difference is given. On Adult AUC falls about as .04 times the
# square of the share that is removed: a line over a third misses it by up to .04 / 9 / 4 = .001,
# the margin of the verdicts, and one over the three quarters of the published method's first step
# by .006, more than most differences.
WIDEST_STEP = 1 / 3
# People of a split who are tested on, over those trained on. Splits overlap, so their spread is too
# small for that of the mean: it is enlarged by this (Nadeau and Bengio, 2003).
TEST_OVER_TRAIN = 0.25
COMPARED = [
    "dataset", "attribute", "notion", "against", "share", "difference",
    "ran", "panel", "where",  # splits in all, and what the panel and the comparison are called
]  # fmt: skip
COLLAPSED = 0.1  # of AUC below the unfair model, from which on a model is no answer


@dataclass(frozen=True)
class Difference:
    """How much higher one method's AUC is than another's."""

    mean: float  # over splits
    low: float  # its 95 % interval (corrected resampled t), NaN below three splits
    high: float
    splits: int  # in which both curves reach the violation
    p: float = np.nan  # of no difference, by the same test
    coarse: bool = False  # whether the strengths are too far apart there to compare

    @property
    def counts(self) -> bool:
        """Whether there are splits enough for an interval."""
        return self.splits >= INTERVAL

    def above(self, bound: float) -> bool:
        """Whether the interval is above a bound; without one it is not."""
        return self.low > bound

    def below(self, bound: float) -> bool:
        """Whether the interval is below a bound; without one it is not."""
        return self.high < bound

    def __str__(self) -> str:
        if self.coarse:
            return "-"
        if not self.splits:
            return "not reached"
        numbers = (self.mean, self.low, self.high)
        mean, low, high = (f"{v:+.4f}".replace("-0.0000", "+0.0000") for v in numbers)
        return f"{mean} [{low}, {high}]" if self.counts else mean


def mean_variance(splits: int) -> float:
    """Return the variance of a mean over splits that overlap, for a variance of one of each."""
    return 1 / splits + TEST_OVER_TRAIN


def mean_difference(gaps: Sequence[float]) -> Difference:
    """Return the mean of differences over splits, with its interval."""
    n = len(gaps)
    if not n:
        return Difference(np.nan, np.nan, np.nan, 0)
    mean, reach, p = float(np.mean(gaps)), np.nan, np.nan
    if n >= INTERVAL:
        sigma = float(np.std(gaps, ddof=1) * np.sqrt(mean_variance(n)))
        reach = float(stats.t.ppf(0.975, n - 1)) * sigma
        p = float(2 * stats.t.sf(abs(mean) / sigma, n - 1)) if sigma > 0 else float(mean == 0)
    return Difference(mean, mean - reach, mean + reach, n, p)


def holm(differences: Sequence[Difference], level: float = 0.05) -> int:
    """Count the differences that are not zero, so that all of them are right with 95 %."""
    values = sorted(d.p for d in differences if not np.isnan(d.p))
    kept = 0
    for k, p in enumerate(values):
        if p > level / (len(values) - k):
            break
        kept += 1
    return kept


def curve(
    frame: pd.DataFrame, panel: Panel, notion: str, method: str, *, protocol: str = "full"
) -> pd.DataFrame:
    """Return a method's runs in a panel, the unfair model's among them, by split and strength."""
    return _curve(panel_runs(_curves(frame, protocol), panel), notion, method)


def _curves(frame: pd.DataFrame, protocol: str) -> pd.DataFrame:
    """Return what a comparison needs of a protocol's runs; fewer columns are copied faster."""
    settings = ["dataset", "columns", "notion", "method", "alpha", "split", "sweeps"]
    measured = [name for name in frame if str(name).startswith(("test_", "train_"))]
    return select(frame, experiment="curves", protocol=protocol)[[*settings, *measured]]


def _curve(runs: pd.DataFrame, notion: str, method: str) -> pd.DataFrame:
    kept = pd.concat([shown(runs, each, notion) for each in ("unfair", method)])
    free = select(kept, method="unfair").set_index("split")["test_auc"]
    lost = kept["split"].map(free) - kept["test_auc"]
    return kept[~(lost > COLLAPSED)].sort_values(["split", "alpha"])


def difference(
    first: pd.DataFrame, second: pd.DataFrame, x: str, y: str, share: float
) -> Difference:
    """Compare two curves where x is a share of what it is for each one's unfair model.

    The curves are interpolated linearly, split by split; a split in which they do not both come
    down to that violation is left out. Where the strengths about it are further apart than
    `WIDEST_STEP` in the median split, there is no difference.
    """
    gaps, steps = [], []
    for split in select(first, method="unfair")["split"]:
        (one, near), (other, far) = (_crossing(c, split, x, y, share) for c in (first, second))
        if not np.isnan(one - other):
            gaps.append(one - other)
            steps.append(max(near, far))
    if gaps and np.median(steps) > WIDEST_STEP:
        return Difference(np.nan, np.nan, np.nan, 0, coarse=True)
    return mean_difference(gaps)


def _crossing(curve: pd.DataFrame, split: int, x: str, y: str, share: float) -> tuple[float, float]:
    """Return y where a split's curve first comes down to a share, and how wide the step is.

    Both the share and the step are of the violation of the unfair model, which is the first.
    """
    own = curve["split"].to_numpy() == split
    v, values = curve[x].to_numpy()[own], curve[y].to_numpy()[own]
    v = v / v[:1]
    for k in range(len(v) - 1):
        if v[k] >= share > v[k + 1]:
            step = v[k] - v[k + 1]
            t = (v[k] - share) / step
            return float((1 - t) * values[k] + t * values[k + 1]), float(step)
    return float("nan"), float("nan")


def compare(
    frame: pd.DataFrame,
    protocol: str,
    part: str,
    mine: str = "otf",
    others: tuple[str, ...] = ("norm", "barycenter"),
) -> pd.DataFrame:
    """Compare a method with others, OTF with the baselines, in every panel, notion and share."""
    frame, rows = _curves(frame, protocol), []
    for panel in PANELS:
        runs = panel_runs(frame, panel)
        known = [other for other in others if {mine, other} <= {*runs["method"]}]
        for notion in ("pdp", "peo") if known else ():
            x, y = f"{part}_{notion}_{panel[1]}", f"{part}_auc"
            own = _curve(runs, notion, mine)
            for other in known:
                theirs = _curve(runs, notion, other)
                mutual = (select(c, method=m)["split"] for c, m in ((own, mine), (theirs, other)))
                ran = len(set.intersection(*map(set, mutual)))
                where = f"{title(panel)}, {notion.upper()}, against {other.capitalize()}"
                for share in SHARES if ran else ():
                    found = difference(own, theirs, x, y, share)
                    rows.append((*panel[:2], notion, other, share, found, ran, title(panel), where))
    return pd.DataFrame(rows, columns=COMPARED)
