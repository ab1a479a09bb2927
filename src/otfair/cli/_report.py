"""The report on a fitted model: one HTML page that makes no request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from otfair._io.rendering import inline_svg, templates
from otfair.cli._models import METRICS, chosen_violation
from otfair.tradeoff import UNFAIRNESS, part_labels, plot_tradeoff

INK, MARKED = "#1f2933", "#c2410c"


def write_report(
    path: Path, record: dict[str, Any], curve: pd.DataFrame | None, audits: dict[str, str]
) -> None:
    """Write the page of what `model.json` holds, a trade-off curve and links to audits, if any."""
    violation = chosen_violation(record["notion"])
    picture = None
    if curve is not None:
        named = {"one model for each α": curve}
        picture = inline_svg(draw(named, violation, record["metrics"]["after"]["test"]))
    text = (
        templates("otfair.cli")
        .get_template("fit.html")
        .render(
            record=record,
            metrics=METRICS,
            curve=picture,
            audits=audits,
            notion=" and ".join(name.replace("_", " ") for name in record["notion"]),
            violation_name=UNFAIRNESS[violation],
            limit=against_limit(record),
        )
    )
    path.write_text(text, encoding="utf-8")


def against_limit(record: dict[str, Any]) -> str:
    """Say how the violation on people kept out compares with the one asked for, if one was."""
    limit, share = record["max_violation"], record["validation_fraction"]
    if limit is None:
        return ""
    chosen = f"{100 * share:g} % of the training people, not trained on" if share else ""
    test = record["metrics"]["after"]["test"]["violation"]
    said = (
        f"Asked for: a violation of at most {limit:g} on {chosen or 'the training people'}, where "
        f"it is {record['violation']:.3f}. On people kept out it is {test:.3f}"
    )
    if test <= limit:
        return f"{said}."
    hint = "" if share else "; --validation-fraction 0.2 would choose by people not trained on"
    return (
        f"{said}, above what was asked for: what holds for some people need not for others{hint}."
    )


def draw(
    curves: dict[str, pd.DataFrame], violation: str, chosen: dict[str, float] | None = None
) -> Figure:
    """Draw trade-off curves, and the chosen model on them."""
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = plot_tradeoff(curves, figure.subplots(), violation=violation)
    if chosen is not None:
        axes.plot(
            chosen[violation], chosen["auc"], "*", ms=15, color=MARKED, mec="white",
            label="this model", zorder=4,
        )  # fmt: skip
        axes.legend(frameon=False, loc="lower right")
        part_labels(axes)
    axes.tick_params(colors=INK)
    return figure
