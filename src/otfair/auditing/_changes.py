"""What changed between two audits of different people, and whether chance explains it.

Maths: docs/monitoring.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr

from otfair.auditing._baseline import GAP, SCORE_GAP, SETTINGS, VIOLATION, Figures, Key
from otfair.metrics import NORMAL, Estimate

LEVEL = 0.05  # of being wrong about any figure of a family, by chance
UNFAIRNESS = (GAP, SCORE_GAP, VIOLATION)  # figures of which more is worse


@dataclass(frozen=True, kw_only=True)
class Change:
    """One figure in both audits."""

    attribute: str  #: Name of the attribute.
    group: str  #: The group that it is a figure of; "" for one of all groups.
    #: "decision gap", "score gap" or "violation", which tell of unfairness; of a group,
    #: "mean score" or a rate of `RATES`.
    figure: str
    notion: str  #: That of a violation; else "".
    before: Estimate  #: In the baseline.
    after: Estimate  #: In the audit.
    difference: Estimate  #: After less before.
    p_value: float  #: Of no change, by chance, after Holm's correction.
    beyond: bool  #: Whether it changed by more than chance explains.

    @property
    def worse(self) -> bool:
        """Whether unfairness grew by more than chance explains."""
        return self.beyond and self.figure in UNFAIRNESS and self.difference.value > 0


@dataclass(frozen=True, kw_only=True)
class Changes:
    """What changed since an earlier audit."""

    since: str  #: Title and date of the baseline.
    changes: tuple[Change, ...]  #: All that was compared, what changed most surely first.
    settings: dict[str, tuple[object, object]]  #: Settings that differ, before and after.
    gone: tuple[str, ...]  #: Groups that only the baseline has.
    new: tuple[str, ...]  #: Groups that only the audit has.
    uncompared: int  #: Figures of groups too small to say, which were left out.
    same_data: bool  #: Whether both are of the same data, so that nothing is chance.

    @property
    def beyond(self) -> tuple[Change, ...]:
        """What changed by more than chance explains."""
        return tuple(change for change in self.changes if change.beyond)

    @property
    def judged(self) -> tuple[Change, ...]:
        """The figures of unfairness among those that were compared."""
        return tuple(change for change in self.changes if change.figure in UNFAIRNESS)

    @property
    def worse(self) -> tuple[Change, ...]:
        """The unfairness that grew by more than chance explains."""
        return tuple(change for change in self.changes if change.worse)

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each figure that was compared.

        Returns
        -------
        DataFrame
            Intervals are columns that end in ``_low`` and ``_high``.
        """
        columns = ["attribute", "group", "figure", "notion"]
        for name in ("before", "after", "difference"):
            columns += [name, f"{name}_low", f"{name}_high"]
        rows = [_row(change) for change in self.changes]
        return pd.DataFrame(rows, columns=[*columns, "p_value", "beyond", "worse"])

    def sentences(self) -> list[str]:
        """Say what changed, and what could not be compared.

        Returns
        -------
        list of str
            One sentence each.
        """
        return _sentences(self)


def compare_figures(before: Figures, after: Figures) -> Changes:
    """Compare all figures that both audits have."""
    for which, one in (("baseline", before), ("audit", after)):
        if not one.resampled:
            raise ValueError(
                f"the {which} has no intervals, so that what chance explains is not known. Make it "
                "again with resamples (`n_bootstrap`; on the command line, --bootstrap)."
            )
    differing = {
        name: (old, after.settings[name])
        for name, old in before.settings.items()
        if old != after.settings[name]
    }
    shared = [key for key in after.figures if key in before.figures]
    if "favourable" in differing:  # the gap is of other decisions
        shared = [key for key in shared if key.figure != GAP]
    sure = [key for key in shared if not {key} & (before.unsure | after.unsure)]
    compared = []
    for family in (True, False):
        own = [key for key in sure if (key.figure in UNFAIRNESS) == family]
        steps = [_change(key, before.figures[key], after.figures[key]) for key in own]
        for (key, difference, _), p in zip(steps, holm(np.array([p for *_, p in steps]))):
            change = Change(
                **vars(key),
                before=before.figures[key],
                after=after.figures[key],
                difference=difference,
                p_value=float(p),
                beyond=bool(p <= LEVEL),
            )
            compared.append(change)
    sides = [
        {group for groups in one.groups.values() for group in groups} for one in (before, after)
    ]
    return Changes(
        since=", ".join(part for part in (before.title, before.made) if part),
        changes=tuple(sorted(compared, key=lambda c: (c.figure not in UNFAIRNESS, c.p_value))),
        settings=differing,
        gone=tuple(sorted(sides[0] - sides[1])),
        new=tuple(sorted(sides[1] - sides[0])),
        uncompared=len(shared) - len(sure),
        same_data=before.checksum == after.checksum,
    )


def _change(key: Key, before: Estimate, after: Estimate) -> tuple[Key, Estimate, float]:
    """Return a difference with its interval, and how likely chance makes one as large."""
    up = (after.high - after.value, before.value - before.low)
    down = (after.value - after.low, before.high - before.value)
    if key.figure in UNFAIRNESS:  # a largest figure has a short end below, which says too little
        longer = (max(up[0], down[0]), max(up[1], down[1]))
        up = down = longer
    value = after.value - before.value
    reach = math.hypot(*(down if value > 0 else up))
    p = 1.0 if value == 0 or math.isnan(reach) else 0.0
    if p == 0.0 and reach > 0:
        p = float(2 * ndtr(-abs(value) / reach * NORMAL))
    return key, Estimate(value, value - math.hypot(*down), value + math.hypot(*up)), p


def holm(p: np.ndarray) -> np.ndarray:
    """Return p-values corrected by Holm's method, which keeps the chance of any error."""
    order = np.argsort(p)
    steps = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)).clip(max=1.0)
    out = np.empty(len(p))
    out[order] = steps
    return out


def _row(change: Change) -> dict[str, Any]:
    row: dict[str, Any] = {
        name: getattr(change, name) for name in ("attribute", "group", "figure", "notion")
    }
    for name in ("before", "after", "difference"):
        e = getattr(change, name)
        row |= {name: e.value, f"{name}_low": e.low, f"{name}_high": e.high}
    return row | {"p_value": change.p_value, "beyond": change.beyond, "worse": change.worse}


def _sentences(changes: Changes) -> list[str]:
    unfair, total = len(changes.judged), len(changes.changes)
    if not total:
        return [f"Nothing could be compared with {changes.since}.", *_differing(changes)]
    said = [
        f"{len(changes.beyond)} of {total} figures changed beyond chance since {changes.since}."
    ]
    said.append(
        "A change counts where chance makes one as large in less than 5 % of cases, by Holm's "
        f"correction for {unfair} figures of unfairness and for {total - unfair} of groups."
    )
    if not changes.worse:
        said.append("No unfairness grew beyond chance.")
    said += [change_sentence(change) for change in changes.beyond]
    return said + _differing(changes)


def _differing(changes: Changes) -> list[str]:
    """Say how two audits differ in what they are of."""
    said = []
    if changes.same_data:
        said.append("Both audits are of the same data: no difference between them is chance.")
    for name, (old, new) in changes.settings.items():
        said.append(
            f"Settings differ: {SETTINGS[name]} was {_setting(old)}, and is {_setting(new)}."
        )
    for groups, where in ((changes.gone, "the baseline"), (changes.new, "this audit")):
        if groups:
            said.append(f"Groups only in {where}: {', '.join(groups)}.")
    if changes.uncompared:
        one = changes.uncompared == 1
        said.append(
            f"{changes.uncompared} {'figure was' if one else 'figures were'} not compared: too few "
            f"people tell {'it' if one else 'them'} in one of the audits."
        )
    return said


def change_sentence(change: Change) -> str:
    """Say how one figure changed."""
    value = change.difference.value
    figure = (change.notion or change.figure).replace("_", " ")
    what = f"{change.group or change.attribute}, {figure}" + " violation" * bool(change.notion)
    moved = "rose" if value > 0 else "fell" if value < 0 else "stayed"
    ends = f"{change.difference.low:+.3f} to {change.difference.high:+.3f}"
    said = f"{what} {moved} from {change.before.value:.3f} to "
    said += f"{change.after.value:.3f} ({value:+.3f}, {ends})"
    return said + (": worse." if change.worse else ".")


def _setting(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return "not known" if value is None else repr(value) if value == "" else str(value)
