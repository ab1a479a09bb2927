"""What an audit found, as plain values."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from otfair.notions import GroupNotion
from otfair.tables import Reason

SHOWN_PAIRS = 40  # of people, by default and in the report


@dataclass(frozen=True)
class Estimate:
    """A figure and its 95 % interval."""

    value: float
    low: float
    high: float


def number_text(value: float) -> str:
    """Return a number of a table as readers like it."""
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e15 else f"{value:.4g}"


@dataclass(frozen=True, kw_only=True)
class Group:
    """One group of an attribute, among the people a notion compares.

    Attributes
    ----------
    group, stratum : what the group is called, and the people it is compared within ("" for all).
    people : how many they are.
    mean_score, rate : mean score, and share of scores above the threshold.
    base_rate : share of positive labels; None without labels, or where they make the strata.
    small : whether there are too few of them to say.
    """

    group: str
    stratum: str
    people: int
    mean_score: Estimate
    rate: Estimate
    base_rate: Estimate | None
    small: bool

    @property
    def whole(self) -> str:
        """What the group is called, with the people it is compared within."""
        return self.group + (f", {self.stratum}" if self.stratum else "")


@dataclass(frozen=True, kw_only=True)
class Violation:
    """How unfair the scores are to the groups of one attribute, by one notion.

    Attributes
    ----------
    value : largest correlation of scores and a group (the paper's PDP or PEO).
    worst : the group, or the attribute, that it is the correlation with; of two groups, which are
        equally far off, the one whose scores are lower.
    chance : how far it may be off by chance: 95 % of resamples differ by less, in every group.
    mean_difference, mean_ratio : between the highest and the lowest mean score of a group.
    rate_difference, rate_ratio : the same for rates at the threshold.
    groups : the figures of each group.
    """

    value: Estimate
    worst: str
    chance: float
    mean_difference: Estimate
    mean_ratio: Estimate
    rate_difference: Estimate
    rate_ratio: Estimate
    groups: tuple[Group, ...]


@dataclass(frozen=True, kw_only=True)
class Flow:
    """Score that goes from one type of people to another, as a share of all score."""

    giver: str
    receiver: str
    mass: float
    distance: float  # of the typical distance between two people

    @property
    def within(self) -> bool:
        """Whether it stays in a quarter, as shown, of a continuous attribute."""
        return self.giver == self.receiver


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """Who gives to whom in the cheapest plan, those who keep their score left out.

    Attributes
    ----------
    giver, receiver : (p,) people, numbered as in the arrays that were audited.
    mass : (p,) as a share of all score, the largest first.
    distance : (p,) of the typical distance between two people.
    giver_type, receiver_type : (p,) numbers of types, as in `Cost.types`.
    """

    giver: np.ndarray = field(repr=False)
    receiver: np.ndarray = field(repr=False)
    mass: np.ndarray = field(repr=False)
    distance: np.ndarray = field(repr=False)
    giver_type: np.ndarray = field(repr=False)
    receiver_type: np.ndarray = field(repr=False)

    def __len__(self) -> int:
        return len(self.mass)


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What it takes to make the scores fair.

    Costs are shares of what it would cost to move *all* score over the typical (median) distance
    between two people.

    Attributes
    ----------
    least_moved : share of all score that must move if distances are ignored: the cost where any two
        people are at distance 1.
    exact : the least cost; None without features. Its interval is the bootstrap's, and wider by
        that of sampling where a sample was used.
    plan : what the plan of `flows` and `pairs` costs: as much, or more where a sample was used.
    gap : by how much that plan may be dearer than the optimum, from the dual; 0 is certified.
    smooth : the adjusted, smoothed cost (the regulariser of training).
    smoothed : how many people it is computed of: everybody, or a sample.
    moved : share of all score that the plan moves.
    distance : how far it moves on average, of the typical distance between two people; where a
        sample was used, how far it would with everybody as a receiver.
    destinations : how many people could receive score: everybody, or a sample.
    sampling : where a sample was used, between what costs the one with everybody lies (95 %).
    bins : of a continuous attribute with too many values, how many bins the plan moves score
        between; None where each value is its own.
    left : the largest correlation with such an attribute that is left after the plan.
    piled : the most score that one person would hold after it.
    types : names of the types of people that flows are between.
    flows : score between types, the largest first.
    pairs : score between people.
    failure : what a solver did not find, and why; "" where nothing failed.
    """

    least_moved: Estimate
    exact: Estimate | None = None
    plan: float | None = None
    gap: float | None = None
    smooth: float | None = None
    smoothed: int | None = None
    moved: float | None = None
    distance: float | None = None
    destinations: int | None = None
    sampling: tuple[float, float] | None = None
    bins: int | None = None
    left: float | None = None
    piled: float | None = None
    types: tuple[str, ...] = ()
    flows: tuple[Flow, ...] = ()
    pairs: Pairs | None = None
    failure: str = ""


@dataclass(frozen=True, kw_only=True)
class Region:
    """People with one value of a column: what they give and receive, against what they have.

    Attributes
    ----------
    column, value : which people.
    people, score : their share of people and of score.
    given, received : their share of the score that moves.
    """

    column: str
    value: str
    people: float
    score: float
    given: Estimate
    received: Estimate

    @property
    def excess(self) -> float:
        """By how much they surely give or receive more than their share of score (95 %)."""
        return max(self.given.low, self.received.low) - self.score


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Everything about one notion and one attribute."""

    notion: str
    facts: type[GroupNotion] = field(repr=False)  # what the notion is called, and means
    attribute: str
    violation: Violation
    cost: Cost
    regions: tuple[Region, ...]


@dataclass(frozen=True, kw_only=True)
class Curve:
    """How the scores of one group lie, rank and keep their promise.

    Attributes
    ----------
    attribute, group, people : whose scores.
    density : (b,) share of people in each of b equal intervals from 0 to 1.
    roc : (false positive rate, true positive rate) of at most 200 thresholds.
    auc : None without labels, or where one of them is missing.
    calibration : (mean score, share of positive labels, people) in tenths of people, or fewer parts
        where the people are few.
    """

    attribute: str
    group: str
    people: int
    density: tuple[float, ...]
    roc: tuple[tuple[float, float], ...] = ()
    auc: Estimate | None = None
    calibration: tuple[tuple[float, Estimate, int], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Places:
    """Where rows are in a file."""

    what: str  # "line" or "row"
    numbers: np.ndarray = field(repr=False)  # (n,)
    meaning: str  # how they are counted


@dataclass(frozen=True, kw_only=True)
class Record:
    """What was done, so that it can be done again."""

    title: str  # "" if none was given
    score: str  # what the column of scores is called
    weight: str  # what the column of weights is called; "" without weights
    rows_received: int
    rows_used: int
    dropped: dict[str, int]
    outcome: str  # what the positive label is, such as "paid = yes"; "" without labels
    columns_used: tuple[str, ...]
    columns_left_out: dict[str, Reason]
    notes: tuple[str, ...]
    missing: dict[str, int]
    settings: dict[str, object]
    versions: dict[str, str]
    checksum: str
    made: str
    seconds: float
    source: dict[str, str] = field(default_factory=dict)  # what a command read, such as its sha256
