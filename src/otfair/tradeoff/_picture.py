"""The trade-off curve as a picture."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.text import Annotation

UNFAIRNESS = {  # what may be drawn, and what to call it
    "violation": "violation of the notion",
    "pdp": "PDP violation",
    "peo": "PEO violation",
    "dp_difference": "difference in positive decisions",
    "eo_difference": "difference in true or false positive rates",
    "otf_cost": "OTF cost per person",
}
STRENGTH = "α = "  # what labels of a picture begin with
OFFSET, LABEL_SIZE = (5.0, -10.0), (36, 10)  # from a point to its label, and its size, in points


def plot_tradeoff(
    curves: pd.DataFrame | Mapping[str, pd.DataFrame],
    axes: Axes | None = None,
    *,
    violation: str = "pdp",
    part: str = "test",
) -> Axes:
    """Draw AUC against unfairness, one line for each curve, with 95 % intervals.

    Parameters
    ----------
    curves : pandas.DataFrame or mapping of str to pandas.DataFrame
        A curve of `tradeoff_curve`, or what to call each of several, and the curve.
    axes : matplotlib.axes.Axes, default=None
        Where to draw; a new figure of pyplot by default.
    violation : str, default="pdp"
        What is unfair: "violation" (of the notion trained for), "pdp", "peo", "dp_difference",
        "eo_difference" or "otf_cost".
    part : {"train", "test"}, default="test"
        The part of the split.

    Returns
    -------
    matplotlib.axes.Axes
        The axes that were drawn on.

    Examples
    --------
    >>> import otfair
    >>> from matplotlib.figure import Figure
    >>> data = otfair.load_dataset("synthetic", n=300)
    >>> curve = otfair.tradeoff_curve(
    ...     data.X, data.y, sensitive_features=data.sensitive_features["sex"], alphas=[0, 0.5],
    ... )
    >>> axes = otfair.plot_tradeoff({"OTF": curve}, Figure().subplots())
    >>> axes.get_xlabel()
    'PDP violation (test; less is fairer)'
    """
    if violation not in UNFAIRNESS or part not in ("train", "test"):
        raise ValueError(
            f"`violation` must be one of {', '.join(UNFAIRNESS)} and `part` train or test; "
            f"received {violation!r} and {part!r}."
        )
    if axes is None:
        import matplotlib.pyplot as plt  # only here: it chooses how figures are shown

        axes = plt.figure(figsize=(6, 4), layout="constrained").subplots()
    named = {"": curves} if isinstance(curves, pd.DataFrame) else curves
    for name, curve in named.items():
        x, auc = curve[f"{part}_{violation}"], curve[f"{part}_auc"]
        (line,) = axes.plot(x, auc, "o-", ms=4, lw=1.5, label=name)
        ends = [[v - curve[f"{v.name}_low"], curve[f"{v.name}_high"] - v] for v in (auc, x)]
        yerr, xerr = np.clip(ends, 0, None)
        axes.errorbar(x, auc, yerr, xerr, "none", ecolor=line.get_color(), alpha=0.3, lw=0.8)
        alphas = curve["alpha"].to_numpy()
        for k in {int(alphas.argmin()), int(alphas.argmax())}:
            axes.annotate(
                f"{STRENGTH}{alphas[k]:g}", (x.iloc[k], auc.iloc[k]), OFFSET, fontsize=8,
                textcoords="offset points", color=line.get_color(),
            )  # fmt: skip
    axes.set(xlabel=f"{UNFAIRNESS[violation]} ({part}; less is fairer)", ylabel=f"AUC ({part})")
    axes.spines[["top", "right"]].set_visible(False)
    if any(named):
        axes.legend(frameon=False, loc="lower right")
    part_labels(axes)
    return axes


def part_labels(axes: Axes) -> None:
    """Move labels of points that coincide below each other, once everything is drawn."""
    axes.autoscale_view()  # limits would else be known at drawing only
    placed: list[tuple[float, float]] = []
    for text in axes.texts:
        if not isinstance(text, Annotation) or not text.get_text().startswith(STRENGTH):
            continue  # not ours
        x, y = axes.transData.transform(text.xy) * 72 / axes.figure.dpi
        (right, down), (width, height) = OFFSET, LABEL_SIZE
        while met := [b for a, b in placed if abs(x - a) < width and abs(y + down - b) < height]:
            down = min(met) - 1.1 * height - y
        text.set_position((right, down))
        placed.append((x, y + down))
