"""What the results say: methods compared on the same splits, at matched violations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from otfair.experiments._figures import PANELS, panel_runs

SHARES = (0.75, 0.5, 0.25, 0.1)  # of the unfair model's violation


@dataclass(frozen=True)
class Difference:
    """How much higher one method's AUC is than another's.

    Attributes
    ----------
    mean, low, high : over splits, and its 95 % interval (Student's t; NaN for one split).
    splits : in which both curves reach the violation.
    """

    mean: float
    low: float
    high: float
    splits: int


def paired(
    frame: pd.DataFrame,
    panel: tuple[str, str, tuple[str, ...]],
    notion: str,
    *,
    protocol: str = "full",
    part: str = "test",
    share: float = 0.5,
    methods: tuple[str, str] = ("otf", "norm"),
) -> Difference:
    """Compare the AUC of two methods where their violation is a share of the unfair model's.

    Both curves, from the unfair model on, are interpolated linearly, split by split; a split whose
    curves do not both reach the violation is left out.
    """
    frame = frame[(frame["experiment"] == "curves") & (frame["protocol"] == protocol)]
    runs = panel_runs(frame, panel)
    x, y = f"{part}_{notion}_{panel[1]}", f"{part}_auc"
    gaps = []
    for _, own in runs.groupby("split"):
        free = own[own["method"] == "unfair"]
        if free.empty:
            continue
        target = share * float(free[x].iloc[0])
        found = [_at(own, free, method, notion, x, y, target) for method in methods]
        if not np.isnan(found).any():
            gaps.append(found[0] - found[1])
    if not gaps:
        return Difference(np.nan, np.nan, np.nan, 0)
    mean, n = float(np.mean(gaps)), len(gaps)
    reach = np.nan
    if n > 1:
        reach = float(stats.t.ppf(0.975, n - 1) * np.std(gaps, ddof=1) / np.sqrt(n))
    return Difference(mean, mean - reach, mean + reach, n)


def _at(
    own: pd.DataFrame, free: pd.DataFrame, method: str, notion: str, x: str, y: str, target: float
) -> float:
    """AUC of a method's curve at a violation: where it first falls to it."""
    curve = own[own["method"] == method]
    if method in ("otf", "norm", "coordinate"):
        curve = curve[curve["notion"] == notion]
    curve = pd.concat([free, curve[curve["sweeps"] != 1]]).sort_values("alpha")
    v, auc = curve[x].to_numpy(), curve[y].to_numpy()
    for k in range(len(v) - 1):
        if v[k] >= target > v[k + 1]:
            t = (v[k] - target) / (v[k] - v[k + 1])
            return float((1 - t) * auc[k] + t * auc[k + 1])
    return float("nan")


def compare(frame: pd.DataFrame, protocol: str, part: str) -> pd.DataFrame:
    """Compare OTF with the norm and the barycenter in every panel, notion and share."""
    rows = []
    for panel in PANELS:
        for notion in ("pdp", "peo"):
            for other in ("norm", "barycenter"):
                for share in SHARES:
                    found = paired(
                        frame, panel, notion, protocol=protocol, part=part, share=share,
                        methods=("otf", other),
                    )  # fmt: skip
                    if found.splits:
                        rows.append(
                            {
                                "dataset": panel[0],
                                "attribute": panel[1],
                                "notion": notion,
                                "against": other,
                                "share": share,
                                **vars(found),
                            }
                        )
    return pd.DataFrame(rows)
