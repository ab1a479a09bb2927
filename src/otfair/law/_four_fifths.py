"""Four fifths, a rule of thumb of US employment law: impact ratios, chance, and shortfalls.

29 CFR 1607.4 D. Each group is compared with one: the most selected of the groups that have at least
2 % of the people, or the one that the user names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
from scipy.stats import fisher_exact, norm

from otfair import __version__
from otfair._io.arrays import ArgumentError, Array, same_length
from otfair._io.settings import check_flag, check_real
from otfair.law._counts import UNKNOWN_WORDS, Categories, Counts, count, read_categories
from otfair.law._reading import Outcome, read_date, read_outcome
from otfair.law._rules import FOUR_FIFTHS
from otfair.law._table import (
    LEAST_SHARE,
    REFERENCE,
    LawRecord,
    LawTable,
    Part,
    most_selected,
    part_notes,
    rates_table,
)
from otfair.tables import checksum, listed, plain_text, same_people, to_frame

FEW = 5  # people expected in each of the four counts, below which the normal test says little
UNDER_SHARE, TOO_FEW = "under 2 %", "few people"  # what `status` says
SMALL = (
    "few people: with the rates of both groups equal, fewer than 5 would be expected among the "
    "selected or the others of one of them. Read Fisher's exact test, and make little of the ratio."
)
TESTS = {  # columns, and what they hold where nothing is compared
    "below_four_fifths": None, "standard_deviations": np.nan, "p_normal": np.nan,
    "p_fisher": np.nan, "short_of_reference": np.nan, "short_of_four_fifths": np.nan,
}  # fmt: skip


def four_fifths(
    decisions: Array,
    *,
    group: Array,
    favourable: object = 1,
    threshold: float | None = None,
    reference: object = None,
    unknown: Iterable[str] = UNKNOWN_WORDS,
    skip_unscored: bool = False,
    source: str = "",
    explanation: str = "",
    date: object = None,
    title: str = "",
) -> LawTable:
    r"""Compare selection rates by a rule of thumb of US employment law (29 CFR 1607.4 D).

    It means nothing elsewhere. The impact ratio of a group is its selection rate over that of the
    reference. The number of standard deviations is that of two proportions with their pooled rate
    p, :math:`(p_1 - p_0) / \sqrt{p (1 - p) (1 / n_1 + 1 / n_0)}`, negative where the group is
    selected less; ``p_normal`` is its two-sided p value, and ``p_fisher`` that of Fisher's exact
    test. Groups have ``short_of_reference`` if as many more of their people would have to be
    selected for their rate to be the reference's, and ``short_of_four_fifths`` for four fifths of
    it.

    Parameters
    ----------
    decisions : array-like of shape (n,)
        Decisions of two values; or scores, of which those above `threshold` are decisions of 1.
    group : array-like of shape (n,) or (n, columns)
        Groups; one table for each column. Who lacks one is unknown.
    favourable : object, default=1
        The favourable decision: 1 or 0, or the text of one.
    threshold : float, default=None
        The score above which a decision is 1; 0.5 by default, where scores lie in [0, 1].
    reference : object or mapping, default=None
        The group to compare with, or one by column; by default the most selected one of at least
        2 % of the people.
    unknown : iterable of str, default=UNKNOWN_WORDS
        Words that mean an unknown group, such as "prefer not to say", in whatever case.
    skip_unscored : bool, default=False
        Whether people without a decision are left out, and counted; else they are an error.
    source, explanation : str, default=""
        Where the data come from, and why these.
    date : str or date, default=None
        Day of the audit; today by default.
    title : str, default=""
        Of the page.

    Returns
    -------
    LawTable
        One table for each column of `group`, by its name. Bounds over the unknown are those of
        `ll144`.

    Examples
    --------
    >>> import otfair
    >>> hired = [1] * 48 + [0] * 32 + [1] * 12 + [0] * 28
    >>> sex = ["men"] * 80 + ["women"] * 40
    >>> table = otfair.four_fifths(hired, group={"sex": sex}).tables["sex"]
    >>> columns = ["category", "rate", "impact_ratio", "standard_deviations", "p_fisher"]
    >>> print(table[columns].round(3).head(2).to_string(index=False))
    category  rate  impact_ratio  standard_deviations  p_fisher
         men   0.6           1.0                  NaN       NaN
       women   0.3           0.5               -3.098     0.003
    >>> print(table[["category", "short_of_reference", "short_of_four_fifths"]].iloc[1].to_string())
    category                women
    short_of_reference       12.0
    short_of_four_fifths      8.0
    """
    check_flag("skip_unscored", skip_unscored)
    same_people({"decisions": decisions, "group": group})
    frame = to_frame(group, "group", "group").reset_index(drop=True)
    told = read_outcome(decisions, "decisions", _numbered(favourable), skip_unscored)
    same_length("decisions", len(told.known), len(frame), of="group")
    limit = _threshold(told, threshold)
    selected = (told.values > limit) ^ told.low_is_good
    words, kept = list(unknown), told.known
    columns = [read_categories(frame[name][kept], "group", words) for name in frame]
    wanted = _references(columns, reference)
    left = int((~kept).sum())
    return LawTable(
        rule=FOUR_FIFTHS,
        parts=tuple(_part(c, count([c], selected), wanted.get(c.name)) for c in columns),
        record=LawRecord(
            title=title,
            outcome=_meaning(told, limit),
            people=int(kept.sum()),
            left_out={"no decision": left} if left else {},
            date=read_date(date),
            source=source,
            explanation=explanation,
            median=None,
            reason="",
            notes=(),
            checksum=checksum({"decisions": told.column.to_frame(), "group": frame}),
            version=__version__,
            file={},
        ),
    )


def _numbered(favourable: object) -> object:
    return int(favourable) if favourable in ("0", "1") else favourable


def _references(columns: Sequence[Categories], reference: object) -> dict[str, str]:
    """Return the group that is named as a reference, by column."""
    if reference is None:
        return {}
    if isinstance(reference, Mapping):
        known = {c.name: c.names for c in columns}
        found = {str(name): plain_text(group).strip() for name, group in reference.items()}
        if wrong := [name for name, group in found.items() if group not in known.get(name, ())]:
            there = listed(known.get(wrong[0], ()) or list(known))
            raise ArgumentError(
                "reference",
                f"has {wrong[0]}={found[wrong[0]]}, which is no group; there are {there}.",
            )
        return found
    group = plain_text(reference).strip()
    found = {c.name: group for c in columns if group in c.names}
    if not found:
        names = [name for c in columns for name in c.names]
        raise ArgumentError(
            "reference", f"is {group!r}, which no group is; they are {listed(names)}."
        )
    return found


def _threshold(told: Outcome, threshold: float | None) -> float:
    limit = 0.5 if threshold is None else check_real("threshold", threshold)
    if not told.is_score:
        return 0.5
    if threshold is not None:
        return limit
    low, high = told.values.min(), told.values.max()
    if low < 0 or high > 1:
        raise ArgumentError(
            "threshold",
            f"is needed, as scores range from {low:.4g} to {high:.4g}: name the score above which "
            "people are selected, or pass scores in [0, 1].",
        )
    return limit


def _meaning(told: Outcome, limit: float) -> str:
    if not told.is_score:
        return f"Selection rate: the share with {told.name} = {told.favourable}."
    side = "at most" if told.low_is_good else "above"
    return f"Selection rate: the share whose score ({told.name}) is {side} {limit:.6g}."


def _part(column: Categories, counts: Counts, wanted: str | None) -> Part:
    every = range(len(counts))
    large = [k for k in every if counts.shares[k] >= LEAST_SHARE]
    among: Sequence[int] = large
    if wanted is not None:
        among = [k for k in every if counts.cells[k] == (wanted,)]
    best = most_selected(counts, among)
    status = {k: "; ".join(_remarks(counts, k, best)) for k in every}
    frame = rates_table(counts, among, every, status)
    tests = pd.DataFrame([*(_tests(counts, k, best) for k in every), TESTS])
    frame = pd.concat([frame.drop(columns="status"), tests, frame["status"]], axis=1)
    notes = part_notes(counts, [column])
    if best is None and wanted is not None and counts.selected.any():
        notes.append(f"Nobody of the reference, {wanted}, is selected: there is no impact ratio.")
    if len(large) < len(counts):
        notes.append(
            "under 2 %: of the people of known group here. The Uniform Guidelines ask for findings "
            "on groups of at least 2 % of the workforce. They are no reference unless named."
        )
    return Part(
        name=column.name,
        group="",
        unknown=counts.unknown_people,
        frame=frame,
        notes=tuple(
            [*notes, SMALL] if any(TOO_FEW in words for words in status.values()) else notes
        ),
    )


def _remarks(counts: Counts, k: int, best: int | None) -> list[str]:
    small = [UNDER_SHARE] * bool(counts.shares[k] < LEAST_SHARE)
    if k == best:
        return [REFERENCE, *small]
    return [*small, TOO_FEW] if best is not None and _expected(counts, k, best) < FEW else small


def _expected(counts: Counts, k: int, best: int) -> float:
    """Return the least of the four counts that equal rates would make likely."""
    people = np.array([counts.people[k], counts.people[best]], dtype=float)
    chosen = float(counts.selected[k] + counts.selected[best])
    return float(people.min() * min(chosen, people.sum() - chosen) / people.sum())


def _tests(counts: Counts, k: int, best: int | None) -> dict[str, object]:
    """Compare a group with the reference."""
    if best is None or k == best:
        return dict(TESTS)
    (n, s), (m, r) = ((int(counts.people[j]), int(counts.selected[j])) for j in (k, best))
    pooled = (s + r) / (n + m)
    spread = np.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m))
    z = (s / n - r / m) / spread if spread > 0 else np.nan
    return {
        "below_four_fifths": 5 * s * m < 4 * r * n,
        "standard_deviations": z,
        "p_normal": 2 * norm.sf(abs(z)),
        "p_fisher": float(fisher_exact([[s, n - s], [r, m - r]])[1]),
        "short_of_reference": max(-(-r * n // m) - s, 0),
        "short_of_four_fifths": max(-(-4 * r * n // (5 * m)) - s, 0),
    }
