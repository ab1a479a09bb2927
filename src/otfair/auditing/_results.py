"""What an audit found, as plain values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from otfair.metrics import Estimate
from otfair.notions import GroupNotion
from otfair.tables import Reason

SHOWN_PAIRS = 40  # of people, by default and in the report
#: Rates of decisions, and what they are called. All but the first need labels.
RATES = {
    "selection_rate": "selection rate",
    "true_positive_rate": "true positive rate",
    "false_positive_rate": "false positive rate",
    "false_negative_rate": "false negative rate",
    "precision": "precision",
    "false_discovery_rate": "false discovery rate",
    "false_omission_rate": "false omission rate",
    "accuracy": "accuracy",
    "base_rate": "base rate",
}
TWINS = 1e-9  # distance up to which two people are alike
FREE = 0.05  # mean distance of the score that must move, below which fairness looks free


@dataclass(frozen=True, kw_only=True)
class Group:
    """One group of an attribute, among the people a notion compares."""

    group: str  #: What it is called.
    stratum: str  #: The people it is compared within; "" for all.
    people: int  #: How many they are.
    mean_score: Estimate  #: Mean of their scores.
    rate: Estimate  #: Share of scores above the threshold.
    #: Share of positive labels; None without labels, or where they make the strata.
    base_rate: Estimate | None
    small: bool  #: Whether there are too few of them to say.
    #: Share of their score that positive labels hold; for predictive parity only, whose `rate` is
    #: the share of positive labels among scores above the threshold.
    precision: Estimate | None = None

    @property
    def figure(self) -> Estimate:
        """What the notion compares of the group: precision, or the mean score."""
        return self.mean_score if self.precision is None else self.precision

    @property
    def whole(self) -> str:
        """What the group is called, with the people it is compared within."""
        return self.group + (f", {self.stratum}" if self.stratum else "")


@dataclass(frozen=True, kw_only=True)
class Violation:
    """How unfair the scores are to the groups of one attribute, by one notion."""

    #: Largest correlation of scores and a group (the paper's PDP or PEO); for predictive parity
    #: the largest difference of precision, between groups or from the rate that was asked for.
    value: Estimate
    #: The group, or the attribute, that it is the correlation with; of two groups, which are
    #: equally far off, the one whose scores are lower. For predictive parity the group whose
    #: precision is furthest from that of all, or from the rate.
    worst: str
    #: How far it may be off by chance: 95 % of resamples differ by less, in every group.
    chance: float
    #: Between the highest and the lowest mean score of a group, or precision. Groups too small to
    #: say are left out of differences and ratios, where two others can be compared.
    mean_difference: Estimate
    mean_ratio: Estimate  #: Of these two.
    rate_difference: Estimate  #: The same for rates at the threshold.
    #: Of these rates; where positive decisions are unfavourable, of the shares of negative ones.
    rate_ratio: Estimate
    #: How far `rate_difference` may be off by chance, as `chance` says it of `value`.
    rate_chance: float
    groups: tuple[Group, ...]  #: The figures of each group.
    #: The same as `value`, groups too small to say left out as they are of differences: what limits
    #: are held against.
    among_large: Estimate

    @property
    def too_few(self) -> bool:
        """Whether no two groups that are compared are large enough to say."""
        large = Counter(group.stratum for group in self.groups if not group.small)
        return max(large.values(), default=0) < 2


@dataclass(frozen=True, kw_only=True)
class GroupDecisions:
    """How the people of one group are decided at the threshold, by the rates of `RATES`.

    A rate is missing where nobody is there to tell it, and without labels most are.
    """

    group: str  #: What it is called.
    people: int  #: How many they are.
    small: bool  #: Whether there are too few of them to say.
    rates: dict[str, Estimate]  #: The rates.
    difference: dict[str, Estimate]  #: From those of the reference group.
    ratio: dict[str, Estimate]  #: To those of the reference group.
    unsure: tuple[str, ...]  #: Rates of which too few people tell.
    weight: float  #: Weight of all people; as many as there are without weights.
    #: How many people of equal weight tell as much: (sum w)^2 / sum w^2.
    worth: float
    above: tuple[float, ...]  #: Weight of people with a score above each threshold.
    #: The same of people with a positive label; empty without labels.
    positive_above: tuple[float, ...]
    positive: float  #: Weight of all people with a positive label; 0 without labels.


@dataclass(frozen=True, kw_only=True)
class Gap:
    """The groups that fare worst and best, of those large enough to speak of.

    Where it is not known which outcome is favourable, they are those with the lowest and the
    highest figure.
    """

    worst: str  #: The group that fares worst.
    best: str  #: The group that fares best.
    #: Its share of favourable decisions, its mean score, or its share of wrong decisions.
    worst_figure: Estimate
    best_figure: Estimate  #: The same of the other.
    difference: Estimate  #: Between the two; positive.
    ratio: Estimate  #: Of the lower figure to the higher.
    #: How far differences between groups are off by chance, at most, in 95 % of resamples.
    chance: float

    @property
    def by_chance(self) -> bool | None:
        """Whether chance explains the difference; None where that was not measured."""
        return None if self.chance != self.chance else self.difference.value <= self.chance


@dataclass(frozen=True, kw_only=True)
class Decisions:
    """How the groups of one attribute are decided, whatever the notion."""

    attribute: str  #: Name of the attribute.
    reference: str  #: The group that others are compared with.
    groups: tuple[GroupDecisions, ...]  #: The figures of each group.
    #: Those of `GroupDecisions.above`: every hundredth, and the audit's own.
    thresholds: tuple[float, ...]
    gap: Gap | None  #: Of decisions; None where fewer than two groups are large enough.
    score_gap: Gap | None  #: Of mean scores.
    #: Of wrongly unfavourable decisions: false negatives where positive decisions are favourable,
    #: false positives where they are not. None where that is not known, or without labels.
    error_gap: Gap | None


@dataclass(frozen=True, kw_only=True)
class Status:
    """How a figure stands to a limit that was set."""

    criterion: str  #: "violation", "difference" or "ratio", the latter two of decisions.
    limit: float  #: The largest that is allowed; of a ratio, the smallest.
    notion: str  #: Name of the notion.
    attribute: str  #: Name of the attribute.
    figure: Estimate  #: What was found.
    beyond: bool  #: Whether the figure is beyond the limit.
    #: Whether it is so by more than chance explains. Without resamples, chance explains nothing.
    sure: bool
    #: Whether it is a difference or ratio of groups that are too small to say.
    too_few: bool = False


@dataclass(frozen=True, kw_only=True)
class Flow:
    """Score that goes from one type of people to another."""

    giver: str  #: Name of the type that gives.
    receiver: str  #: Name of the type that receives.
    mass: float  #: As a share of all score.
    distance: float  #: Mean distance, in units of the typical one between two people.

    @property
    def within(self) -> bool:
        """Whether it stays in a quarter, as shown, of a continuous attribute."""
        return self.giver == self.receiver


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """Who gives to whom in the cheapest plan, those who keep their score left out.

    Arrays of shape (p,). People are numbered as in the arrays that were audited, types as in
    `Cost.types`.
    """

    giver: np.ndarray = field(repr=False)  #: People who give.
    receiver: np.ndarray = field(repr=False)  #: People who receive.
    mass: np.ndarray = field(repr=False)  #: As a share of all score, the largest first.
    distance: np.ndarray = field(repr=False)  #: In units of the typical one between two people.
    giver_type: np.ndarray = field(repr=False)  #: Types of those who give.
    receiver_type: np.ndarray = field(repr=False)  #: Types of those who receive.
    #: Of an audit on Dask, which keeps the first pairs: how many there are, how many of these are
    #: twins, and how much moves between twins. None where all pairs are here.
    totals: tuple[int, int, float] | None = None

    def __len__(self) -> int:
        return len(self.mass) if self.totals is None else self.totals[0]

    @property
    def n_twins(self) -> int:
        """How many pairs are alike in every column that distances see."""
        return int(self.twins.sum()) if self.totals is None else self.totals[1]

    @property
    def twin_mass(self) -> float:
        """How much moves between them, as a share of all score."""
        return float(self.mass[self.twins].sum()) if self.totals is None else self.totals[2]

    @property
    def twins(self) -> np.ndarray:
        """Which pairs are alike in every column that distances see."""
        return np.asarray(self.distance <= TWINS)


@dataclass(frozen=True, kw_only=True)
class BoundedCost:
    """The least cost if nobody may end with a score above one, of some people who stand for all.

    On average it is no less than that of all people: among fewer, near ones are rarer.
    """

    value: float  #: The cost, in the units of `Cost`.
    unbounded: float  #: That of the same people without the bound.
    moved: float  #: Share of all score that the plan with the bound moves.
    people: int  #: How many they are.


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What it takes to make the scores fair.

    Costs are shares of what it would cost to move *all* score over the typical (median) distance
    between two people. All but `least_moved` are None without features.
    """

    #: Share of all score that must move if distances are ignored: the cost where any two people
    #: are at distance 1.
    least_moved: Estimate
    #: For predictive parity, the precision that all groups have after the plan: the rate that was
    #: asked for, or else the one that is cheapest to reach.
    rate: float | None = None
    #: The least cost. Its interval is the bootstrap's, and wider by that of sampling where a
    #: sample was used.
    exact: Estimate | None = None
    #: Cost of the plan of `flows` and `pairs`: as much, or more where a sample was used.
    plan: float | None = None
    #: By how much that plan may be dearer than the optimum, from the dual; 0 is certified.
    gap: float | None = None
    smooth: float | None = None  #: The adjusted, smoothed cost (the regulariser of training).
    smoothed: int | None = None  #: How many people it is computed of: all, or a sample.
    moved: float | None = None  #: Share of all score that the plan moves.
    #: How far it moves on average, in units of the typical distance between two people; where a
    #: sample was used, how far it would with all people as receivers.
    distance: float | None = None
    destinations: int | None = None  #: How many people could receive score: all, or a sample.
    #: Where a sample was used, between what costs the one with all people lies (95 %).
    sampling: tuple[float, float] | None = None
    #: Of a continuous attribute with too many values, how many bins the plan moves score between;
    #: None where each value is its own.
    bins: int | None = None
    #: The largest correlation with such an attribute that is left after the plan.
    left: float | None = None
    piled: float | None = None  #: The most score that one person would hold after it.
    #: Whether nobody may hold more than a score of one, so that the plan is a proposal.
    bounded: bool = False
    #: Where fairness looks free without that bound, and it was not asked for: the cost with it.
    with_bound: BoundedCost | None = None
    types: tuple[str, ...] = ()  #: Names of the types of people that flows are between.
    flows: tuple[Flow, ...] = ()  #: Score between types, the largest first.
    pairs: Pairs | None = None  #: Score between people.
    failure: str = ""  #: What a solver did not find, and why; "" where nothing failed.

    @property
    def looks_free(self) -> bool:
        """Whether unfair scores cost next to nothing, as receivers may end above a score of one."""
        if self.bounded or self.exact is None or self.piled is None or self.piled <= 1:
            return False
        return self.exact.value < FREE * self.least_moved.value

    @property
    def to_twins(self) -> float:
        """Share of the score that moves which goes to people who are alike in every column."""
        if self.pairs is None or not self.moved:
            return 0.0
        return self.pairs.twin_mass / self.moved


@dataclass(frozen=True, kw_only=True)
class Region:
    """People with one value of a column: what they give and receive, against what they have."""

    column: str  #: The column.
    value: str  #: Its value.
    people: float  #: Their share of people.
    score: float  #: Their share of score.
    given: Estimate  #: Their share of the score that moves, as givers.
    received: Estimate  #: The same, as receivers.

    @property
    def excess(self) -> float:
        """By how much they surely give or receive more than their share of score (95 %)."""
        return max(self.given.low, self.received.low) - self.score


@dataclass(frozen=True, kw_only=True)
class AlikeGroup:
    """How a group is scored beside people who are alike but of another group."""

    group: str  #: What it is called.
    people: int  #: How many of it were compared with neighbours.
    gap: Estimate  #: Mean absolute difference of their scores and their neighbours'.
    more: Estimate  #: Mean difference: positive where theirs are higher.
    distance: float  #: Mean distance of a neighbour, in units of the typical one.


@dataclass(frozen=True, kw_only=True)
class Alike:
    """How differently people are scored who are alike but of different groups.

    Each is compared with the nearest people of another group, among those whom the notion compares.
    """

    gap: Estimate  #: Mean absolute difference of scores, over all people compared.
    people: int  #: How many were compared: all who have such neighbours, or a sample.
    among: int  #: Among how many neighbours were looked for: all, or a sample.
    neighbours: int  #: How many neighbours each was compared with, or fewer if there are fewer.
    groups: tuple[AlikeGroup, ...]  #: The figures of each group.


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Everything about one notion and one attribute."""

    notion: str  #: Name of the notion.
    facts: type[GroupNotion] = field(repr=False)  #: Its class, with its title and meaning.
    attribute: str  #: Name of the attribute.
    violation: Violation  #: How unfair the scores are.
    cost: Cost  #: What it takes to make them fair.
    regions: tuple[Region, ...]  #: Whose score moves, the clearest first.
    #: How people are scored who are alike; None for a continuous attribute, or without features.
    alike: Alike | None = None


@dataclass(frozen=True, kw_only=True)
class Curve:
    """How the scores of one group are distributed, rank people, and are calibrated."""

    attribute: str  #: Name of the attribute.
    group: str  #: Name of the group.
    people: int  #: How many people.
    density: tuple[float, ...]  #: Share of people in as many equal intervals from 0 to 1.
    #: False and true positive rate, at no more than 200 thresholds.
    roc: tuple[tuple[float, float], ...] = ()
    #: Area under the ROC curve; None without labels, or where one of them is missing.
    auc: Estimate | None = None
    #: Mean score, share of positive labels, and people, in tenths of people or, where they are
    #: few, in fewer parts.
    calibration: tuple[tuple[float, Estimate, int], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Places:
    """Where rows are in a file."""

    what: str  # "line" or "row"
    numbers: Sequence[int] | np.ndarray = field(repr=False)  # (n,)
    meaning: str  # how they are counted


@dataclass(frozen=True, kw_only=True)
class Record:
    """What was done, so that it can be done again."""

    title: str  #: Title of the report; "" if none was given.
    score: str  #: What the column of scores is called.
    weight: str  #: What the column of weights is called; "" without weights.
    rows_received: int  #: How many rows there were.
    rows_used: int  #: How many rows were audited.
    dropped: dict[str, int]  #: Why rows were left out, and how many; one may lack several things.
    outcome: str  #: What the positive label is, such as "paid = yes"; "" without labels.
    #: Which outcome is good for people, 0 or 1; None where it was not said and names don't tell.
    favourable: int | None
    columns_used: tuple[str, ...]  #: Columns that distances were taken from.
    columns_left_out: dict[str, Reason]  #: Other columns, and why they were not used.
    notes: tuple[str, ...]  #: What readers should know about columns and costs.
    missing: dict[str, int]  #: Missing values of each column used.
    settings: dict[str, object]  #: Arguments of `audit`.
    versions: dict[str, str]  #: Versions of libraries.
    checksum: str  #: SHA-256 of the data as it was read.
    made: str  #: Date and time.
    seconds: float  #: How long it took.
    #: What a command read, such as the SHA-256 of a file.
    source: dict[str, str] = field(default_factory=dict)
