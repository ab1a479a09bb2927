"""New York City, Local Law 144: rates and impact ratios by sex, race/ethnicity, and both.

6 RCNY 5-300 to 5-304. A rate is the share of a category that is selected, or whose score is above
the median of all people assessed, or that is sorted into a group.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from otfair import __version__
from otfair._io.arrays import ArgumentError, Array, same_length
from otfair._io.settings import check_flag, check_real
from otfair.law._counts import UNKNOWN_WORDS, Categories, Counts, count, read_categories
from otfair.law._reading import Outcome, read_date, read_outcome
from otfair.law._rules import LL144
from otfair.law._table import (
    EXCLUDED,
    LEAST_SHARE,
    REFERENCE,
    LawRecord,
    LawTable,
    Part,
    most_selected,
    part_notes,
    rates_table,
)
from otfair.tables import checksum, same_people, to_series


def ll144(
    outcome: Array = None,
    *,
    sex: Array,
    race: Array,
    groups: Array = None,
    favourable: object = 1,
    exclude_below: float | None = None,
    reason: str = "",
    unknown: Iterable[str] = UNKNOWN_WORDS,
    skip_unscored: bool = False,
    source: str = "",
    explanation: str = "",
    date: object = None,
    title: str = "",
) -> LawTable:
    """Make the tables that New York City asks of a bias audit (Local Law 144, 6 RCNY 5-301).

    For decisions the rate of a category is the share of it that is selected; for scores, the share
    whose score is above the median of all people assessed, those of unknown category included. Its
    impact ratio is its rate over that of the category whose rate is highest. There is a table for
    sex, one for race/ethnicity, and one for both crossed.

    People of unknown category have a row of their own and no part in the ratios. ``lowest`` and
    ``highest`` are the ends of a ratio over all ways to assign them to the categories that were
    seen, and ``at_shares`` is the ratio where they are shared out as people of known category are.

    Parameters
    ----------
    outcome : array-like of shape (n,), default=None
        What the tool gave to each person: decisions of two values, or scores, which are numbers of
        any range. May be left out where there are `groups`.
    sex, race : array-like of shape (n,)
        Categories; of a missing one the person is unknown.
    groups : array-like of shape (n,), default=None
        The group that the tool sorted each person into, such as a leadership style. All tables are
        repeated for each group; there, selected are the people who are sorted into it.
    favourable : object, default=1
        The favourable decision: 1 or 0, or the text of one. For scores 1 if high ones are
        favourable, or 0 if low ones are: then the rate is the share below the median.
    exclude_below : float, default=None
        Categories of a smaller share of the people of known category get no ratio, and others are
        not compared with them; up to 0.02, as the rule has it. Their people and rate are shown.
    reason : str, default=""
        Why they are excluded; needed then.
    unknown : iterable of str, default=UNKNOWN_WORDS
        Words that mean an unknown category, such as "prefer not to say", in whatever case.
    skip_unscored : bool, default=False
        Whether people without an outcome are left out, and counted; else they are an error.
    source, explanation : str, default=""
        Where the data come from, and why these; a published summary has to say so.
    date : str or date, default=None
        Day of the audit; today by default.
    title : str, default=""
        Of the page.

    Returns
    -------
    LawTable
        The tables ``"sex"``, ``"race/ethnicity"`` and ``"sex by race/ethnicity"``.

    Examples
    --------
    >>> import otfair
    >>> found = otfair.ll144(
    ...     [1, 1, 1, 0, 1, 0, 0, 1, 1, 0],
    ...     sex=["m", "m", "m", "m", "f", "f", "f", "f", "", ""],
    ...     race=["A", "B", "A", "B", "A", "B", "A", "B", "A", "B"],
    ... )
    >>> columns = ["category", "people", "selected", "rate", "impact_ratio", "lowest", "highest"]
    >>> print(found.tables["sex"][columns].round(3).to_string(index=False))
     category  people  selected  rate  impact_ratio  lowest  highest
            f       4         2  0.50         0.667     0.5      1.0
            m       4         3  0.75         1.000     1.0      1.0
    (unknown)       2         1  0.50           NaN     NaN      NaN
    """
    check_flag("skip_unscored", skip_unscored)
    limit = _exclusion(exclude_below, reason)
    given = {"outcome": outcome, "sex": sex, "race": race, "groups": groups}
    same_people({name: values for name, values in given.items() if values is not None})
    if outcome is None and groups is None:
        raise ArgumentError("outcome", "is missing; pass scores, decisions, or `groups`.")
    columns = {"sex": to_series(sex, "sex", "sex"), "race": to_series(race, "race", "race")}
    n = len(columns["sex"])
    told = None if outcome is None else read_outcome(outcome, "outcome", favourable, skip_unscored)
    sorted_into = None if groups is None else to_series(groups, "groups", "groups")
    for name, length in (("race", len(columns["race"])),
                         ("outcome", n if told is None else len(told.known)),
                         ("groups", n if sorted_into is None else len(sorted_into))):  # fmt: skip
        same_length(name, length, n, of="sex")
    kept = np.ones(n, dtype=bool) if told is None else told.known
    words = list(unknown)
    attributes = [
        _renamed(read_categories(columns["sex"][kept], "sex", words), "sex"),
        _renamed(read_categories(columns["race"][kept], "race", words), "race/ethnicity"),
    ]
    parts: list[Part] = []
    notes: list[str] = []
    median = None
    if told is not None:
        median = float(np.median(told.values)) if told.is_score else None
        selected = told.values == 1 if median is None else told.above(median)
        if median is not None:
            notes += _ties(told, median)
        parts += _tables(attributes, selected, limit, "")
    if sorted_into is not None:
        into = read_categories(sorted_into[kept].reset_index(drop=True), "groups", words)
        for g, group in enumerate(into.names):
            parts += _tables(attributes, into.codes == g, limit, group)
        if into.unknown:
            none = sum(into.unknown.values())
            notes.append(f"{none:,} people were sorted into no group; they count as not selected.")
    left = int((~kept).sum())
    frames = {name: column.to_frame() for name, column in columns.items()}
    if told is not None:
        frames["outcome"] = told.column.to_frame()
    if sorted_into is not None:
        frames["groups"] = sorted_into.to_frame()
    return LawTable(
        rule=LL144,
        parts=tuple(parts),
        record=LawRecord(
            title=title,
            outcome=_meaning(told, median, sorted_into is not None),
            people=int(kept.sum()),
            left_out={"no outcome": left} if left else {},
            date=read_date(date),
            source=source,
            explanation=explanation,
            median=median,
            reason=reason if limit else "",
            notes=tuple(notes),
            checksum=checksum(dict(frames)),
            version=__version__,
            file={},
        ),
    )


def _exclusion(share: float | None, reason: str) -> float:
    if share is None:
        return 0.0
    hint = " The rule lets smaller categories than 2 % be excluded, and no others."
    limit = check_real("exclude_below", share, 0.0, LEAST_SHARE, hint=hint)
    if limit and not reason.strip():
        raise ArgumentError(
            "reason", "is empty; the rule asks why categories are excluded. Say it in a sentence."
        )
    return limit


def _renamed(attribute: Categories, name: str) -> Categories:
    return replace(attribute, name=name)


def _tables(
    attributes: Sequence[Categories], selected: np.ndarray, limit: float, group: str
) -> list[Part]:
    """Return the three tables: each attribute, and both crossed."""
    crossings = [attributes[:1], attributes[1:], attributes]
    return [_part(some, count(some, selected), limit, group) for some in crossings]


def _part(attributes: Sequence[Categories], counts: Counts, limit: float, group: str) -> Part:
    included = [k for k in range(len(counts)) if counts.shares[k] >= limit]
    status = {k: EXCLUDED for k in range(len(counts)) if k not in included}
    if (best := most_selected(counts, included)) is not None:
        status[best] = REFERENCE
    name = " by ".join(counts.names)
    return Part(
        name=f"{group}: {name}" if group else name,
        group=group,
        unknown=counts.unknown_people,
        frame=rates_table(counts, included, included, status),
        notes=tuple(part_notes(counts, attributes)),
    )


def _ties(told: Outcome, median: float) -> list[str]:
    """Say how many people have the very median, who are not above it."""
    tied, above = int((told.values == median).sum()), int(told.above(median).sum())
    side = "below" if told.low_is_good else "above"
    if tied <= 1:
        return []
    share = 100 * above / len(told.values)
    note = (
        f"{tied:,} people have a score equal to the median, and are not {side} it: {share:.1f} % "
        f"of all people are {side} it, and not half of them."
    )
    return [note]


def _meaning(told: Outcome | None, median: float | None, sorted_into: bool) -> str:
    """Say what a rate is the share of."""
    parts = []
    if told is not None and median is not None:
        side = "below" if told.low_is_good else "above"
        low = "; low scores are favourable" if told.low_is_good else ""
        parts.append(
            f"Scoring rate: the share whose score ({told.name}) is {side} {median:.6g}, the median "
            f"of all people assessed{low}."
        )
    elif told is not None:
        parts.append(f"Selection rate: the share with {told.name} = {told.favourable}.")
    if sorted_into:
        parts.append("For each group: the share that is sorted into it.")
    return " ".join(parts)
