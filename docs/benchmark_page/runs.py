"""What docs/benchmarks.md is made of: the committed runs, means, intervals and comparisons."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from pages import BENCHMARKS, mean_and_reach, number, shown

PARITY, ODDS = "demographic_parity", "equalized_odds"
NOTIONS = {PARITY: "demographic parity", ODDS: "equalized odds"}
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


def networks(all_people: bool = False) -> pd.DataFrame:
    """Return the runs of networks on few people, of the seeds that are whole, or on all."""
    runs = pd.read_csv(BENCHMARKS / "networks.csv")
    runs = runs[(runs["people"] == runs["people"].max()) == all_people]
    counts = runs.groupby("seed")["seed"].transform("size")
    return runs[counts == counts.max()]


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
    return float(np.interp(gap, x, y)) if x[0] <= gap <= x[-1] + NEAR else np.nan


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
        return verdict(self.values)


def verdict(values: np.ndarray) -> str:
    """Say of differences by split whether ours is ahead or behind, where the interval tells."""
    if not len(values):
        return "nowhere at the same gap"
    mean, reach = mean_and_reach(values)
    if np.isnan(reach):
        return f"{number(mean, 4, sign=True)} on one split"
    if abs(mean) <= reach:
        return "level"
    return f"{number(abs(mean))} {'ahead' if mean > 0 else 'behind'}"


def together(words: dict[str, str]) -> str:
    """Say what was told of each place, places of one answer together."""
    places: dict[str, list[str]] = {}
    for place, word in words.items():
        places.setdefault(word, []).append(place)
    if len(places) == 1:
        return next(iter(places)) + " everywhere"
    return "; ".join(f"{word} ({', '.join(own)})" for word, own in places.items())


def unbeaten(means: pd.DataFrame) -> pd.DataFrame:
    """Return a method's points that no other of its own beats by gap and accuracy; gaps rise."""
    means = means.sort_values(["gap", "accuracy"], ascending=[True, False])
    return means[means["accuracy"] > means["accuracy"].cummax().shift(fill_value=-1.0)]


def lead(part: pd.DataFrame, ours: str, peer: str) -> Lead:
    """Compare at equal gaps, seed by seed, with a peer's settings that none of its own beats.

    Accuracies are those of one split; that ours is at a slightly other gap is made up for by the
    slope of our mean curve.
    """
    part = part[part["seed"].isin(seeds(part, ours) & seeds(part, peer) & seeds(part, "free"))]
    mean = curve(part, ours)
    mine = _with_free(part, ours)
    mine = mine.assign(setting=mine["setting"].fillna(np.inf))
    x, y = mean["gap"].to_numpy(), mean["accuracy"].to_numpy()
    found, missed = [], 0
    theirs = part[part["method"] == peer]
    kept = unbeaten(theirs.groupby("setting")[["gap", "accuracy"]].mean()).index
    for _, other in theirs[theirs["setting"].isin(kept)].groupby("setting"):
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
