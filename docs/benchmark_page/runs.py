"""What docs/benchmarks.md is made of: the committed runs, means, intervals and comparisons."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from pages import BENCHMARKS, mean_and_reach, number, shown

PARITY, ODDS = "demographic_parity", "equalized_odds"
NOTIONS = {PARITY: "demographic parity", ODDS: "equalized odds"}
ADULT, ACS = "adult_all/sex", "acs_part/sex"
SMALL = {"compas/race": "COMPAS", "law/race": "Law", "german/sex": "German"}
BASES = {"logistic": "logistic regression", "boosted": "XGBoost"}
PANELS = [(base, notion) for notion in NOTIONS for base in BASES]
PEERS = ("linear_post", "oxonfair", "reduction", "thresholds", "error_parity")
NEAR = 0.005  # below the lowest gap of a curve, up to which it is extended
SLIGHT = 5e-4  # by which a mean accuracy may be lower, and not be called below
EQUAL = 0.002  # of accuracy or AUC: an interval within it, on both sides of zero, says level


@dataclass(frozen=True)
class Method:
    """What a row of the tables is, and how it is drawn."""

    title: str
    ours: bool
    attribute: bool  # needed of the people it decides about
    rule: str  # "yes" if the same person always gets the same answer
    colour: str
    mark: str

    @property
    def by_chance(self) -> bool:
        """Whether one person may get different answers at different times."""
        return self.rule.startswith("no")


FIXED = "yes, by a number from the features"
METHODS = {
    "plain": Method("FairDecisions, no margin", True, False, "yes", "#0072b2", "o-"),
    "margin": Method("FairDecisions", True, False, "yes", "#56b4e9", "o:"),
    "even": Method("FairDecisions, an even chance", True, False, "yes", "#8c510a", "H-"),
    "mixed": Method("FairDecisions, several rules", True, False, FIXED, "#7b3fa0", "p-"),
    "again": Method("FairDecisions, trained again", True, False, "yes", "#333333", "h-"),
    "on_top": Method("FairDecisions on OTF", True, False, "yes", "#004466", "s-"),
    "otf": Method("OTF alone, threshold of 1/2", True, False, "yes", "#cc79a7", "^-"),
    "linear_post": Method("LinearPost", False, False, "but for noise", "#d55e00", "D-"),
    "oxonfair": Method("OxonFair, inferred groups", False, False, "yes", "#e69f00", "v-"),
    "reduction": Method("ExponentiatedGradient", False, False, "no, by chance", "#009e73", "P-"),
    "attribute": Method("FairDecisions*, no margin", True, True, "yes", "#0072b2", "o--"),
    "mixed_attribute": Method("FairDecisions*, several rules", True, True, FIXED, "#7b3fa0", "p--"),
    "thresholds": Method("ThresholdOptimizer*", False, True, "no, by chance", "#777777", "x--"),
    "error_parity": Method("error-parity*", False, True, "no, by chance", "#aaaaaa", "+--"),
}
BLIND = [name for name, method in METHODS.items() if not method.attribute]
# What one rule of ours may become against peers that decide by chance, and how it is called.
SEVERAL = {
    "plain": {"mixed": "with several rules", "again": "trained again"},
    "attribute": {"mixed_attribute": "with several rules"},
}
EVEN, EVEN_CALLED = "even", "with an even chance"


def most_of(part: pd.DataFrame, ours: str) -> str:
    """Return the last of what a rule of ours may become that was run, or the rule itself."""
    return next((m for m in reversed(SEVERAL.get(ours, {})) if ran(part, m)), ours)


def variants(part: pd.DataFrame, ours: str, peer: str) -> dict[str, str]:
    """Return what else of ours a peer is compared with, if it was run, and how it is called."""
    found = {EVEN: EVEN_CALLED} if ours == "plain" else {}
    if METHODS[peer].by_chance:
        found |= SEVERAL.get(ours, {})
    return {m: called for m, called in found.items() if ran(part, m)}


def ours_against(peer: str, ours: str = "plain") -> str:
    """Return which of ours a peer is compared with: it uses the attribute if the peer does."""
    return "attribute" if METHODS[peer].attribute else ours


def ran(part: pd.DataFrame, *methods: str) -> bool:
    """Tell whether these methods are all among the runs."""
    return set(methods) <= set(part["method"])


def decisions() -> pd.DataFrame:
    """Return the runs of decisions, with what belongs together under one name."""
    return pd.read_csv(BENCHMARKS / "tables.csv")


def networks(all_people: bool = False) -> pd.DataFrame:
    """Return the runs of networks on few people, of the seeds that are whole, or on all."""
    runs = pd.read_csv(BENCHMARKS / "networks.csv")
    runs = runs[(runs["people"] == runs["people"].max()) == all_people]
    counts = runs.groupby("seed")["seed"].transform("size")
    return runs[counts == counts.max()]


def chance() -> pd.DataFrame:
    """Return what gaps a rule without any shows among test people."""
    return pd.read_csv(BENCHMARKS / "chance.csv")


def published() -> pd.DataFrame:
    """Return what others have published."""
    return pd.read_csv(BENCHMARKS / "published.csv")


def linear_post_published(base: str, notion: str) -> pd.DataFrame:
    """Return what LinearPost's authors published for Adult, without what their own beats."""
    known = published()
    own = known[(known["table"] == "adult") & (known["base"] == base)]
    return unbeaten(own[(own["notion"] == notion) & (own["method"] == "LinearPost")])


def of(runs: pd.DataFrame, table: str, base: str, notion: str) -> pd.DataFrame:
    """Return the runs of a panel; of each method the seeds of which it has all settings."""
    chosen = (runs["table"] == table) & (runs["base"] == base) & (runs["notion"] == notion)
    part = runs[chosen]
    counts = part.groupby(["method", "seed"])["seed"].transform("size")
    return part[counts == counts.groupby(part["method"]).transform("max")]


def seeds(part: pd.DataFrame, method: str) -> set[int]:
    """Return the seeds of a method."""
    return set(part[part["method"] == method]["seed"])


def points(part: pd.DataFrame, method: str) -> pd.DataFrame:
    """Return mean gaps and accuracies of a method's settings, and without a limit."""
    found = _with_free(part, method)
    return found.groupby("setting")[["gap", "accuracy"]].mean()


def unbeaten(means: pd.DataFrame) -> pd.DataFrame:
    """Return a method's points that no other of its own beats by gap and accuracy; gaps rise."""
    means = means.sort_values(["gap", "accuracy"], ascending=[True, False])
    return means[means["accuracy"] > means["accuracy"].cummax().shift(fill_value=-1.0)]


def limited(part: pd.DataFrame, method: str) -> pd.DataFrame:
    """Return mean gaps and accuracies of a method's own settings."""
    return part[part["method"] == method].groupby("setting")[["gap", "accuracy"]].mean()


def curve(part: pd.DataFrame, method: str) -> pd.DataFrame:
    """Return the points of a method that none of its own beats: gaps rise, and accuracies do."""
    return unbeaten(points(part, method))


def _with_free(part: pd.DataFrame, method: str) -> pd.DataFrame:
    # Another model is trained for "on_top": without a limit, its decisions are not the free ones.
    found = part[part["method"].isin([method] if method == "on_top" else [method, "free"])]
    return found.assign(setting=found["setting"].fillna(np.inf))


def at(gap: float, line: pd.DataFrame) -> float:
    """Return the accuracy of a curve within a gap, or nothing where it does not come so low."""
    x, y = line["gap"].to_numpy(), line["accuracy"].to_numpy()
    return float(np.interp(gap, x, y)) if gap >= x[0] else np.nan


def slope(gap: float, line: pd.DataFrame) -> float:
    """Return the slope of a curve at a gap; beyond its last point it is level."""
    x, y = line["gap"].to_numpy(), line["accuracy"].to_numpy()
    if len(x) < 2 or gap > x[-1]:
        return 0.0
    k = max(int(np.searchsorted(x, gap)) - 1, 0)
    return float((y[k + 1] - y[k]) / (x[k + 1] - x[k]))


@dataclass(frozen=True)
class Lead:
    """Our accuracy less a peer's, at the gaps that the peer has."""

    table: pd.DataFrame  # by the peer's settings that our curve comes to, and by seed
    gaps: pd.Series  # of the peer at these settings, mean over seeds
    missed: int  # settings of the peer whose gaps are lower than any of ours

    @property
    def values(self) -> np.ndarray:
        """Of each seed, mean over the peer's settings."""
        return self.table.mean(axis=0).to_numpy() if len(self.table) else np.array([])

    @property
    def settings(self) -> np.ndarray:
        """Of each setting of the peer, mean over seeds."""
        return self.table.mean(axis=1).to_numpy()

    @property
    def not_below(self) -> int:
        """At how many settings of the peer our mean is not below by more than a little."""
        return int((self.settings > -SLIGHT).sum())

    @property
    def text(self) -> str:
        """Mean and interval, and at how many settings ours is not below."""
        if not len(self.table):
            return "-"
        rest = f", {self.missed} lower" if self.missed else ""
        counts = f"({self.not_below} of {len(self.table)}{rest})"
        return f"{shown(self.values, 4, sign=True)} {counts}"

    @property
    def word(self) -> str:
        """Say whether ours is ahead or behind, where the interval tells; one split does not."""
        return verdict(self.values)


def verdict(values: np.ndarray) -> str:
    """Say of differences by split what their 95 % interval tells.

    Ahead or behind where it leaves out zero, level where all of it is within `EQUAL` of zero, and
    else undecided.
    """
    if not len(values):
        return "nowhere at the same gap"
    mean, reach = mean_and_reach(values)
    if np.isnan(reach):
        return f"{number(mean, 4, sign=True)} on one split"
    if abs(mean) > reach:
        return f"{number(abs(mean))} {'ahead' if mean > 0 else 'behind'}"
    return "level" if abs(mean) + reach <= EQUAL else "undecided"


def together(words: dict[str, str]) -> str:
    """Say what was told of each place, places of one answer together; the most are "elsewhere"."""
    places: dict[str, list[str]] = {}
    for place, word in words.items():
        places.setdefault(word, []).append(place)
    most = max(places, key=lambda word: len(places[word]))
    if len(places) == 1:
        return f"{most} everywhere"
    others = [f"{word} ({', '.join(own)})" for word, own in places.items() if word != most]
    last = "elsewhere" if len(places[most]) > 1 else f"({places[most][0]})"
    return ", ".join([*others, f"{most} {last}"])


def lead(part: pd.DataFrame, ours: str, peer: str) -> Lead:
    """Compare at equal gaps, seed by seed; settings that a method's own beats are left out of both.

    Accuracies are those of one split; that ours is at a slightly other gap is made up for by the
    slope of our mean curve. A peer's gap may be as large as any of ours, also of a setting that is
    left out: there our last point stands, which has a smaller gap and no lower accuracy.
    """
    methods = [ours, peer, "free"]
    columns = ["method", "seed", "setting", "gap", "accuracy"]  # of many, which take time
    part = part.loc[part["method"].isin(methods), columns]
    part = part[part["seed"].isin(set.intersection(*(seeds(part, m) for m in methods)))]
    largest = points(part, ours)["gap"].max()
    line, mine = curve(part, ours), _with_free(part, ours)
    theirs = part[part["method"] == peer]
    kept = unbeaten(limited(part, peer))["gap"].sort_index()
    missed = int((kept < line["gap"].iloc[0] - NEAR).sum())
    kept = kept[kept.between(line["gap"].iloc[0] - NEAR, largest + NEAR)]
    found = {}
    for setting, gap in kept.items():
        near = (line["gap"] - gap).abs().idxmin()
        own = mine[mine["setting"] == near].set_index("seed")
        other = theirs[theirs["setting"] == setting].set_index("seed")
        away = slope(gap, line) * (own["gap"] - other["gap"])
        found[setting] = own["accuracy"] - other["accuracy"] - away
    return Lead(pd.DataFrame(found).T, kept, missed)
