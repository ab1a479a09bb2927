"""What each limit costs: rules for many limits, judged by those who tuned them or by others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from otfair.decisions._limits import Family
from otfair.decisions._report import accuracy, measured
from otfair.decisions._smooth import Sample
from otfair.decisions._tuning import Rule, tune

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LIMITS = 12  # by default


@dataclass(frozen=True)
class Judges:
    """People who judge a rule: what it does to them, and their labels."""

    sample: Sample
    labels: np.ndarray  # (n,), 0 or 1
    threshold: float
    free: np.ndarray | None = None  # decisions without a limit, (n,), where gains do not make them

    def cost(self, rule: Rule | None, families: Sequence[Family]) -> dict[str, float]:
        """Return accuracy, difference, ratio and rate under a rule, or without one."""
        if rule is not None:
            outcome = rule.outcome(self.sample)
        elif self.free is not None:
            outcome = self.free
        else:
            outcome = self.sample.outcome(np.zeros(self.sample.observed.shape[1]))
        right = accuracy(self.sample, outcome, self.labels, self.threshold)
        return {"accuracy": right, **measured(self.sample, families, outcome)}


def is_by_ratio(families: Sequence[Family]) -> bool:
    """Whether limits are ratios only."""
    return all(family.difference is None for family in families)


def path_of(
    tuning: Judges, families: Sequence[Family], limits: Sequence[float] | None, judges: Judges
) -> pd.DataFrame:
    """Return a row for each limit, from loose to tight by default.

    `attrs["no limit"]` is the accuracy of the classifier's own decisions, by the same judges.
    """
    if all(family.floor is not None for family in families):
        raise ValueError("a path is of `max_difference` or `min_ratio`; neither is set.")
    by_ratio = is_by_ratio(families)
    d = tuning.sample.observed.shape[1]
    if limits is None:
        before = tuning.cost(None, families)
        ends = (before["ratio"], 1.0) if by_ratio else (before["difference"], 0.0)
        limits = np.linspace(*ends, LIMITS).tolist()
    asked = np.atleast_1d(np.asarray(limits, dtype=np.float64))
    if asked.ndim != 1 or not len(asked) or not ((asked >= 0) & (asked <= 1)).all():
        raise ValueError(f"`limits` must lie in [0, 1]; received {limits!r}.")
    changed = "ratio" if by_ratio else "difference"
    rules: dict[float, Rule] = {}
    last: Rule | None = None
    for limit in sorted(asked.tolist(), reverse=by_ratio):  # from tight to loose
        own = [f if f.floor is not None else replace(f, **{changed: limit}) for f in families]
        rule = tune(tuning.sample, own, np.zeros(d))
        # What meets a tighter limit meets this one.
        last = last if last is not None and last.met and last.value > rule.value else rule
        rules[limit] = last
    found = [
        {"limit": x, **judges.cost(rules[x], families), "met": rules[x].met} for x in asked.tolist()
    ]
    path = pd.DataFrame(found)
    path.attrs["no limit"] = judges.cost(None, families)["accuracy"]
    return path


def draw_path(path: pd.DataFrame, by_ratio: bool, before: float, axes: Axes | None) -> Axes:
    """Draw accuracy against the limit, with that of no limit."""
    if axes is None:
        import matplotlib.pyplot as plt  # only here: it chooses how figures are shown

        axes = plt.figure(figsize=(6, 4), layout="constrained").subplots()
    axes.plot(path["limit"], path["accuracy"], "o-", ms=4, lw=1.5)
    axes.axhline(before, color="grey", lw=0.8, ls="--")
    axes.annotate("no limit", (path["limit"].min(), before), (2, 3),
                  textcoords="offset points", fontsize=8, color="grey")  # fmt: skip
    what = "smallest ratio" if by_ratio else "largest difference"
    axes.set(xlabel=f"limit: {what} of rates", ylabel="accuracy (people not trained on)")
    axes.spines[["top", "right"]].set_visible(False)
    return axes
