"""What docs/benchmarks.md is made of: the committed runs, means, intervals and comparisons."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
PARITY, ODDS = "demographic_parity", "equalized_odds"
NOTIONS = {PARITY: "demographic parity", ODDS: "equalized odds"}
TESTED = 0.3 / 0.7  # test people for each who trains
NEAR = 0.005  # below the lowest gap of a curve, up to which it is drawn out
LEVEL = 5e-4  # accuracies that are nearer are called level


@dataclass(frozen=True)
class Method:
    """What a row of the tables is, and how it is drawn."""

    title: str
    ours: bool
    attribute: bool  # needed of the people it decides about
    rule: str  # "yes" if the same person always gets the same answer
    colour: str
    mark: str


METHODS = {
    "plain": Method("FairDecisions, no margin", True, False, "yes", "#0072b2", "o-"),
    "margin": Method("FairDecisions", True, False, "yes", "#56b4e9", "o:"),
    "on_top": Method("FairDecisions on OTF", True, False, "yes", "#004466", "s-"),
    "otf": Method("OTF alone, threshold of 1/2", True, False, "yes", "#cc79a7", "^-"),
    "linear_post": Method("LinearPost", False, False, "but for noise", "#d55e00", "D-"),
    "oxonfair": Method("OxonFair, inferred groups", False, False, "yes", "#e69f00", "v-"),
    "reduction": Method("ExponentiatedGradient", False, False, "no, by chance", "#009e73", "P-"),
    "attribute": Method("FairDecisions*, no margin", True, True, "yes", "#0072b2", "o--"),
    "thresholds": Method("ThresholdOptimizer*", False, True, "no, by chance", "#777777", "x--"),
    "error_parity": Method("error-parity*", False, True, "no, by chance", "#aaaaaa", "+--"),
}
BLIND = [name for name, method in METHODS.items() if not method.attribute]


def decisions() -> pd.DataFrame:
    """Return the runs of decisions, with what belongs together under one name."""
    return pd.read_csv(BENCHMARKS / "tables.csv")


def networks() -> pd.DataFrame:
    """Return the runs of networks."""
    return pd.read_csv(BENCHMARKS / "networks.csv")


def published() -> pd.DataFrame:
    """Return what others have published."""
    return pd.read_csv(BENCHMARKS / "published.csv")


def of(runs: pd.DataFrame, table: str, base: str, notion: str) -> pd.DataFrame:
    """Return the runs of a panel; of each method the seeds of which it has all settings."""
    chosen = (runs["table"] == table) & (runs["base"] == base) & (runs["notion"] == notion)
    part = runs[chosen]
    counts = part.groupby(["method", "seed"])["seed"].transform("size")
    return part[counts == counts.groupby(part["method"]).transform("max")]


def seeds(part: pd.DataFrame, method: str) -> set[int]:
    """Return the seeds of a method."""
    return set(part[part["method"] == method]["seed"])


def mean_and_reach(values: pd.Series | np.ndarray) -> tuple[float, float]:
    """Return the mean, and the half width of its 95 % interval.

    Test parts of random splits share people, and so do training parts: the variance is that of
    Nadeau and Bengio (2003), which adds the ratio of people who test and who train to 1 / n.
    """
    x = np.asarray(values, dtype=float)
    if len(x) < 2:
        return float(x.mean()), np.nan
    spread = x.std(ddof=1) * np.sqrt(1 / len(x) + TESTED)
    return float(x.mean()), float(stats.t.ppf(0.975, len(x) - 1) * spread)


def shown(values: pd.Series | np.ndarray, digits: int = 4, sign: bool = False) -> str:
    """Return a mean with its interval, without zeros before the point."""
    mean, reach = mean_and_reach(values)
    text = number(mean, digits, sign)
    return text if np.isnan(reach) else f"{text} ± {number(reach, digits)}"


def number(value: float, digits: int = 4, sign: bool = False) -> str:
    """Return a number below one as .1234, with a sign if asked for."""
    text = f"{value:+.{digits}f}" if sign else f"{value:.{digits}f}"
    return text.replace("0.", ".", 1) if abs(value) < 1 else text


def curve(part: pd.DataFrame, method: str) -> pd.DataFrame:
    """Return mean gaps, rising, and accuracies of a method's settings, and without a limit."""
    found = _with_free(part, method)
    mean = found.groupby(found["setting"].fillna(np.inf))[["gap", "accuracy"]].mean()
    return mean.sort_values("gap")


def _with_free(part: pd.DataFrame, method: str) -> pd.DataFrame:
    # Another model is trained for "on_top": without a limit, its decisions are not the free ones.
    return part[part["method"].isin([method] if method == "on_top" else [method, "free"])]


def at(gap: float, mean: pd.DataFrame) -> float:
    """Return the accuracy of a curve at a gap, or nothing where it does not come there."""
    x, y = mean["gap"].to_numpy(), mean["accuracy"].to_numpy()
    if gap > x[-1] + NEAR:
        return np.nan
    if gap >= x[0]:
        return float(np.interp(gap, x, y))
    if gap < x[0] - NEAR or len(x) < 2:
        return np.nan
    return float(y[0] + (gap - x[0]) * (y[1] - y[0]) / max(x[1] - x[0], 1e-9))


@dataclass(frozen=True)
class Lead:
    """Our accuracy less a peer's, at the gaps that the peer has."""

    values: np.ndarray  # of each seed, mean over the peer's settings
    settings: np.ndarray  # of each setting of the peer that our curve reaches, mean over seeds
    missed: int  # settings whose gaps are lower than any of ours

    @property
    def text(self) -> str:
        """Mean and interval, and at how many settings ours is not below."""
        if not len(self.settings):
            return "-"
        level = int((self.settings > -LEVEL).sum())
        rest = f", {self.missed} lower" if self.missed else ""
        return f"{shown(self.values, 4, sign=True)} ({level} of {len(self.settings)}{rest})"

    @property
    def seeds(self) -> int:
        """Number of seeds that both have."""
        return len(self.values)

    @property
    def word(self) -> str:
        """Say whether ours is ahead or behind, where the interval tells; one split does not."""
        mean, reach = mean_and_reach(self.values)
        if np.isnan(reach):
            return f"{number(mean, 4, sign=True)} on one split"
        if abs(mean) <= reach:
            return "not told apart"
        return f"{number(abs(mean))} {'ahead' if mean > 0 else 'behind'}"


def lead(part: pd.DataFrame, ours: str, peer: str) -> Lead:
    """Compare at equal gaps, seed by seed.

    Accuracies are those of one split; that ours is at a slightly other gap is made up for by the
    slope of our mean curve.
    """
    part = part[part["seed"].isin(seeds(part, ours) & seeds(part, peer) & seeds(part, "free"))]
    mean = curve(part, ours)
    mine = _with_free(part, ours)
    mine = mine.assign(setting=mine["setting"].fillna(np.inf))
    x, y = mean["gap"].to_numpy(), mean["accuracy"].to_numpy()
    found, missed = [], 0
    for _, other in part[part["method"] == peer].groupby("setting"):
        gap = other["gap"].mean()
        if gap < x[0] - NEAR or len(x) < 2:
            missed += 1
            continue
        if gap > x[-1] + NEAR:
            continue  # ours never differs so much
        k = int(np.clip(np.searchsorted(x, gap) - 1, 0, len(x) - 2))
        slope = 0.0 if gap > x[-1] else (y[k + 1] - y[k]) / max(x[k + 1] - x[k], 1e-9)
        near = mean.index[k if abs(gap - x[k]) < abs(x[k + 1] - gap) else k + 1]
        own = mine[mine["setting"] == near].set_index("seed")
        other = other.set_index("seed")
        away = own["gap"] - other["gap"]
        found.append((own["accuracy"] - other["accuracy"] - slope * away).sort_index().dropna())
    table = np.array(found)
    if not len(table):
        return Lead(np.array([]), np.array([]), missed)
    return Lead(table.mean(axis=0), table.mean(axis=1), missed)
