"""What an audit found, as plain values."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from otfair.metrics import Estimate
from otfair.notions import GroupNotion
from otfair.tables import Reason

SHOWN_PAIRS = 40  # of people, by default and in the report


@dataclass(frozen=True, kw_only=True)
class Group:
    """One group of an attribute, among the people a notion compares.

    Attributes
    ----------
    group : str
        What the group is called.
    stratum : str
        The people it is compared within; "" for all.
    people : int
        How many they are.
    mean_score : Estimate
        Mean of their scores.
    rate : Estimate
        Share of scores above the threshold.
    base_rate : Estimate or None
        Share of positive labels; None without labels, or where they make the strata.
    small : bool
        Whether there are too few of them to say.
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
    value : Estimate
        Largest correlation of scores and a group (the paper's PDP or PEO).
    worst : str
        The group, or the attribute, that it is the correlation with; of two groups, which are
        equally far off, the one whose scores are lower.
    chance : float
        How far it may be off by chance: 95 % of resamples differ by less, in every group.
    mean_difference, mean_ratio : Estimate
        Between the highest and the lowest mean score of a group.
    rate_difference, rate_ratio : Estimate
        The same for rates at the threshold.
    groups : tuple of Group
        The figures of each group.
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
    """Score that goes from one type of people to another.

    Attributes
    ----------
    giver, receiver : str
        Names of the types.
    mass : float
        As a share of all score.
    distance : float
        Mean distance, in units of the typical one between two people.
    """

    giver: str
    receiver: str
    mass: float
    distance: float

    @property
    def within(self) -> bool:
        """Whether it stays in a quarter, as shown, of a continuous attribute."""
        return self.giver == self.receiver


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """Who gives to whom in the cheapest plan, those who keep their score left out.

    Attributes
    ----------
    giver, receiver : ndarray of shape (p,)
        People, numbered as in the arrays that were audited.
    mass : ndarray of shape (p,)
        As a share of all score, the largest first.
    distance : ndarray of shape (p,)
        In units of the typical distance between two people.
    giver_type, receiver_type : ndarray of shape (p,)
        Numbers of types, as in `Cost.types`.
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
    between two people. All but `least_moved` are None without features.

    Attributes
    ----------
    least_moved : Estimate
        Share of all score that must move if distances are ignored: the cost where any two people
        are at distance 1.
    exact : Estimate or None
        The least cost. Its interval is the bootstrap's, and wider by that of sampling where a
        sample was used.
    plan : float or None
        Cost of the plan of `flows` and `pairs`: as much, or more where a sample was used.
    gap : float or None
        By how much that plan may be dearer than the optimum, from the dual; 0 is certified.
    smooth : float or None
        The adjusted, smoothed cost (the regulariser of training).
    smoothed : int or None
        How many people it is computed of: all, or a sample.
    moved : float or None
        Share of all score that the plan moves.
    distance : float or None
        How far it moves on average, in units of the typical distance between two people; where a
        sample was used, how far it would with all people as receivers.
    destinations : int or None
        How many people could receive score: all, or a sample.
    sampling : tuple of float or None
        Where a sample was used, between what costs the one with all people lies (95 %).
    bins : int or None
        Of a continuous attribute with too many values, how many bins the plan moves score between;
        None where each value is its own.
    left : float or None
        The largest correlation with such an attribute that is left after the plan.
    piled : float or None
        The most score that one person would hold after it.
    types : tuple of str
        Names of the types of people that flows are between.
    flows : tuple of Flow
        Score between types, the largest first.
    pairs : Pairs or None
        Score between people.
    failure : str
        What a solver did not find, and why; "" where nothing failed.
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
    column, value : str
        Which people.
    people, score : float
        Their share of people and of score.
    given, received : Estimate
        Their share of the score that moves.
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
    """Everything about one notion and one attribute.

    Attributes
    ----------
    notion : str
        Name of the notion.
    facts : type of Notion
        Its class, which knows its title and meaning.
    attribute : str
        Name of the attribute.
    violation : Violation
        How unfair the scores are.
    cost : Cost
        What it takes to make them fair.
    regions : tuple of Region
        Whose score moves, the clearest first.
    """

    notion: str
    facts: type[GroupNotion] = field(repr=False)
    attribute: str
    violation: Violation
    cost: Cost
    regions: tuple[Region, ...]


@dataclass(frozen=True, kw_only=True)
class Curve:
    """How the scores of one group are distributed, rank people, and are calibrated.

    Attributes
    ----------
    attribute, group : str
        Whose scores.
    people : int
        How many people.
    density : tuple of float
        Share of people in each of as many equal intervals from 0 to 1.
    roc : tuple of (float, float)
        False and true positive rate, at no more than 200 thresholds.
    auc : Estimate or None
        Area under the ROC curve; None without labels, or where one of them is missing.
    calibration : tuple of (float, Estimate, int)
        Mean score, share of positive labels, and people, in tenths of people or, where they are
        few, in fewer parts.
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
    """What was done, so that it can be done again.

    Attributes
    ----------
    title : str
        Title of the report; "" if none was given.
    score, weight : str
        What the columns of scores and weights are called; "" without weights.
    rows_received, rows_used : int
        How many rows there were, and how many were audited.
    dropped : dict
        Why rows were left out, and how many; one row may lack several things.
    outcome : str
        What the positive label is, such as "paid = yes"; "" without labels.
    columns_used : tuple of str
        Columns that distances were taken from.
    columns_left_out : dict
        Other columns, and why they were not used.
    notes : tuple of str
        What readers should know about columns and costs.
    missing : dict
        Missing values of each column used.
    settings, versions : dict
        Arguments of `audit`, and versions of libraries.
    checksum : str
        SHA-256 of the data as it was read.
    made : str
        Date and time.
    seconds : float
        How long it took.
    source : dict
        What a command read, such as the SHA-256 of a file.
    """

    title: str
    score: str
    weight: str
    rows_received: int
    rows_used: int
    dropped: dict[str, int]
    outcome: str
    columns_used: tuple[str, ...]
    columns_left_out: dict[str, Reason]
    notes: tuple[str, ...]
    missing: dict[str, int]
    settings: dict[str, object]
    versions: dict[str, str]
    checksum: str
    made: str
    seconds: float
    source: dict[str, str] = field(default_factory=dict)
