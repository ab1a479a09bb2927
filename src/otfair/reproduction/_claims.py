"""What the results say: methods compared on the same splits, at matched violations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from otfair.reproduction._frames import (
    PANELS,
    Panel,
    panel_runs,
    remembered,
    select,
    shown,
    title,
)

SHARES = (0.75, 0.5, 0.25, 0.1)  # of the unfair model's violation
INTERVAL = 3  # splits from which on a difference has an interval, and counts in a verdict
# Between two strengths AUC is read off a line, and where the strengths are further apart than this
# share of the unfair violation, no difference is given. On Adult AUC falls about as .04 times the
# square of the share that is removed: a line over a third misses it by up to .04 / 9 / 4 = .001,
# the margin of the verdicts, and one over the three quarters of the published method's first step
# by .006, more than most differences.
WIDEST_STEP = 1 / 3
# Splits share people, so their spread is too small for that of the mean: it is enlarged by
# r / (1 - r), where r is the share of people that two splits have in common (Nadeau and Bengio,
# 2003). Two test sets share a fifth of their people, and two training sets four fifths.
SHARED = {"test": 0.2, "train": 0.8}
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
        mean, low, high = map(signed, (self.mean, self.low, self.high))
        return f"{mean} [{low}, {high}]" if self.counts else mean


def signed(value: float) -> str:
    """Return a number with its sign, where there is one to four digits."""
    return f"{value:+.4f}".replace("-0.0000", "+0.0000")


def mean_variance(splits: int, part: str) -> float:
    """Return the variance of a mean over splits that overlap, for a variance of one of each.

    Splits overlap more in their training people than in their test people.
    """
    return 1 / splits + SHARED[part] / (1 - SHARED[part])


def mean_difference(gaps: Sequence[float], part: str = "test") -> Difference:
    """Return the mean of differences over splits, with its interval for people of a part."""
    n = len(gaps)
    if not n:
        return Difference(np.nan, np.nan, np.nan, 0)
    mean, reach, p = float(np.mean(gaps)), np.nan, np.nan
    if n >= INTERVAL:
        sigma = float(np.std(gaps, ddof=1) * np.sqrt(mean_variance(n, part)))
        reach = float(stats.t.ppf(0.975, n - 1)) * sigma
        p = float(2 * stats.t.sf(abs(mean) / sigma, n - 1)) if sigma > 0 else float(mean == 0)
    return Difference(mean, mean - reach, mean + reach, n, p)


def holm(differences: Sequence[Difference], level: float = 0.05) -> list[bool]:
    """Return which differences are not zero, so that all of them are right with 95 %."""
    tested = sorted((d.p, k) for k, d in enumerate(differences) if not np.isnan(d.p))
    kept = [False] * len(differences)
    for k, (p, place) in enumerate(tested):
        if p > level / (len(tested) - k):
            break
        kept[place] = True
    return kept


def counting(rows: pd.DataFrame) -> np.ndarray:
    """Return which comparisons have an interval and more than half of the splits."""
    kept = [d.counts and d.splits > r / 2 for d, r in zip(rows["difference"], rows["ran"])]
    return np.array(kept, dtype=bool)


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
    first: pd.DataFrame, second: pd.DataFrame, part: str, violation: str, share: float
) -> Difference:
    """Compare the AUC of two curves where a share is left of the violation of each's unfair model.

    `part` is "test" or "train", and `violation` a notion and an attribute, such as "pdp_sex".

    The curves are interpolated linearly, split by split; a split in which they do not both come
    down to that violation is left out. Where the strengths about it are further apart than
    `WIDEST_STEP` in the median split, there is no difference.
    """
    x, y = f"{part}_{violation}", f"{part}_auc"
    gaps, steps = [], []
    splits = select(first, method="unfair")["split"].tolist()
    # Without splits, as of a dataset that was not run, there may be no such columns.
    names = ("split", x, y) if splits else ()
    arrays = [[c[name].to_numpy() for name in names] for c in (first, second)]
    for split in splits:
        (one, near), (other, far) = (
            _crossing(v[own == split], values[own == split], share) for own, v, values in arrays
        )
        if not np.isnan(one - other):
            gaps.append(one - other)
            steps.append(max(near, far))
    if gaps and np.median(steps) > WIDEST_STEP:
        return Difference(np.nan, np.nan, np.nan, 0, coarse=True)
    return mean_difference(gaps, part)


def price(own: pd.DataFrame, part: str, violation: str, share: float) -> Difference:
    """Compare a curve with its own unfair model where a share of the violation is left."""
    free = select(own, method="unfair").set_index("split")[f"{part}_auc"]
    flat = own.assign(**{f"{part}_auc": own["split"].map(free)})
    return difference(own, flat, part, violation, share)


def _crossing(v: np.ndarray, values: np.ndarray, share: float) -> tuple[float, float]:
    """Return a value where a split's curve first comes down to a share, and how wide the step is.

    Both the share and the step are of the violation of the unfair model, which is the first.
    """
    v = v / v[:1]
    for k in range(len(v) - 1):
        if v[k] >= share > v[k + 1]:
            step = v[k] - v[k + 1]
            t = (v[k] - share) / step
            return float((1 - t) * values[k] + t * values[k + 1]), float(step)
    return float("nan"), float("nan")


@remembered
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
            own = _curve(runs, notion, mine)
            for other in known:
                theirs = _curve(runs, notion, other)
                mutual = (select(c, method=m)["split"] for c, m in ((own, mine), (theirs, other)))
                ran = len(set.intersection(*map(set, mutual)))
                where = f"{title(panel)}, {notion.upper()}, against {other.capitalize()}"
                for share in SHARES if ran else ():
                    found = difference(own, theirs, part, f"{notion}_{panel[1]}", share)
                    rows.append((*panel[:2], notion, other, share, found, ran, title(panel), where))
    return pd.DataFrame(rows, columns=COMPARED)
