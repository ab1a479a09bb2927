"""The paper's figures, drawn from results alone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse
from scipy.stats import gaussian_kde

from otfair._io.files import write_bytes
from otfair._io.rendering import drawn
from otfair.reproduction._captions import of_curves, of_poster, of_postprocess, of_violins
from otfair.reproduction._claims import INTERVAL, mean_variance
from otfair.reproduction._frames import (
    BOTH,
    PANELS,
    PROTOCOLS,
    Panel,
    panel_runs,
    select,
    shown,
    title,
    to_frame,
)
from otfair.reproduction._plan import COLUMNS, VIOLIN_EPSILONS
from otfair.reproduction._poster import draw_poster
from otfair.reproduction._store import Result
from otfair.reproduction._styles import LINES, STYLES
from otfair.reproduction._train import POSTPROCESS_EPOCHS, QUANTILES

VIOLINS = {
    "epsilon": ("full", "otf", PROTOCOLS["full"]),
    "epsilon_paper": ("paper", "otf", f"{PROTOCOLS['paper']}, converged duals"),
    "epsilon_published": ("paper", "coordinate", "published method"),
}
REST = "_rest"  # at the end of the name of a figure that a page folds
FOLDS = {"": ("adult",), REST: tuple(name for name in COLUMNS if name != "adult")}
WIDE = 0.15  # of a panel, from which on ellipses would hide its curves
GROUPS = {"Female": "#e69f00", "Male": "#0072b2"}


def draw_curves(
    frame: pd.DataFrame,
    protocol: str,
    part: str,
    common: bool = False,
    datasets: Collection[str] = tuple(COLUMNS),
) -> Figure:
    """Draw the AUC that is lost against the violation that is left, as means over splits.

    Both are in terms of the unfair model of the same splits. The methods of a panel have the same
    splits: those that have most of them, or in `common` all methods, on the splits they share.
    """
    frame = select(frame, experiment="curves", protocol=protocol)
    panels = panels_of(frame, datasets, common)
    figure = Figure(figsize=(9.4, 3.1 * len(panels) + 1.4), layout="constrained")
    grid = figure.subplots(len(panels), 2, squeeze=False)
    for axes, (panel, notion) in zip(grid.flat, product(panels, ("pdp", "peo"))):
        runs = same_splits(panel_runs(frame, panel), notion, common)
        _draw_panel(axes, runs, notion, panel[1], part)
        axes.set_title(f"{title(panel, brief=True)}: {notion.upper()}", fontsize=12)
    shown_in = [axes.get_legend_handles_labels() for axes in grid.flat]
    handles = {text: handle for pair in shown_in for handle, text in zip(*pair)}
    figure.legend(
        list(handles.values()), list(handles), loc="outside lower center", ncols=3, frameon=False,
        fontsize=11,
    )  # fmt: skip
    figure.supylabel(f"AUC ({part}) less the unfair model's on the same splits", fontsize=11)
    which = "all methods, on the splits that all of them have" if common else "means over splits"
    figure.suptitle(
        f"What fairness costs: {part} people, {PROTOCOLS[protocol]}, {which}\n"
        "PDP: violation of demographic parity. PEO: violation of equalized odds.\n"
        "Up and to the left is better.",
        fontsize=12,
    )
    return figure


def panels_of(frame: pd.DataFrame, datasets: Collection[str], common: bool) -> list[Panel]:
    """Return the panels that datasets have: all, or those in which methods' splits differ."""
    found = [p for p in PANELS if p[0] in datasets and len(panel_runs(frame, p))]
    return [p for p in found if unequal(panel_runs(frame, p))] if common else found


def _splits(runs: pd.DataFrame, notion: str) -> dict[str, frozenset[int]]:
    """Return the splits of each method that a panel has."""
    found = {m: frozenset(shown(runs, m, notion)["split"]) for m in STYLES}
    return {method: splits for method, splits in found.items() if splits}


def unequal(runs: pd.DataFrame) -> bool:
    """Whether some methods of a panel have fewer splits than others."""
    return any(len(set(_splits(runs, notion).values())) > 1 for notion in ("pdp", "peo"))


def same_splits(runs: pd.DataFrame, notion: str, common: bool = False) -> pd.DataFrame:
    """Return the runs of methods on the splits they share: of all, or of those that have most.

    A method that has half of the splits or fewer would cut short the others' curves. A strength
    that was not run on all of the splits is left out: its mean would be of other people.
    """
    splits = _splits(runs, notion)
    most = 0 if common else max(map(len, splits.values())) / 2
    kept = {method: own for method, own in splits.items() if len(own) > most}
    shared = frozenset.intersection(*kept.values())
    runs = runs[runs["split"].isin(shared) & runs["method"].isin(list(kept))]
    strength = [runs[name] for name in ("method", "notion", "alpha", "sweeps")]
    return runs[runs["split"].groupby(strength).transform("nunique") == len(shared)]


def _relative(own: pd.DataFrame, free: pd.DataFrame, x: str, y: str) -> pd.DataFrame:
    """Return by run the share left and the AUC gained, whose means and covariances are right.

    The share is the ratio of mean violations; a split's part in it is linearised, as a ratio of
    its own is no number to average where the unfair model is almost fair.
    """
    start = own["split"].map(free[x])
    means = own.assign(start=start).groupby("alpha")[[x, "start"]].transform("mean")
    ratio = means[x] / means["start"]
    share = ratio + (own[x] - ratio * start) / means["start"]
    return pd.DataFrame(
        {"alpha": own["alpha"], "share": share, "gain": own[y] - own["split"].map(free[y])}
    )


def _draw_panel(axes: Axes, runs: pd.DataFrame, notion: str, attribute: str, part: str) -> None:
    x, y = f"{part}_{notion}_{attribute}", f"{part}_auc"
    free = select(runs, method="unfair").set_index("split")
    heights, widths = [0.0], [1.0]  # without the barycenter's, some of which know nothing any more
    points: dict[str, pd.DataFrame] = {}
    for method, (label, colour, marker) in STYLES.items():
        own = shown(runs, method, notion)
        if own.empty:
            continue
        points[method] = own = _relative(own, free, x, y)
        means = own.groupby("alpha")[["share", "gain"]].mean()
        if method != "barycenter":
            kept = means[: -1 if _collapses(means["gain"]) else None]
            heights += kept["gain"].tolist()
            widths += kept["share"].tolist()
        path = np.vstack([(1.0, 0.0), means])  # begins at the unfair model, as in comparisons
        axes.plot(
            *path.T, LINES.get(method, "") + marker, color=colour, ms=5, lw=1.4, label=label,
            zorder=3 if method == "unfair" else 2, markevery=slice(1, None),
        )  # fmt: skip
    splits = f"{len(free)} splits" if len(free) > 1 else f"split {free.index[0]} alone"
    whole = "" if attribute == BOTH else f" (100%: {free[x].mean():.3f})"
    unfair = f"{splits}; unfair model: AUC {free[y].mean():.3f}"
    axes.set_xlabel(f"share of {notion.upper()} that is left{whole}\n{unfair}", fontsize=11)
    reach = max(np.ptp(heights), 1e-3)
    axes.set_ylim(min(heights) - 0.15 * reach, max(heights) + 0.15 * reach)
    axes.set_xlim(0, 1.08 * max(widths))
    if len(free) >= INTERVAL:
        _draw_errors(axes, points, part)
    axes.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    axes.locator_params(nbins=5)
    axes.tick_params(labelsize=11)
    axes.spines[["top", "right"]].set_visible(False)


def _collapses(gains: pd.Series[float]) -> bool:
    """Whether the strongest model loses more than twice what the next one does."""
    return len(gains) > 1 and bool(gains.iloc[-1] < min(2 * gains.iloc[-2], 0))


def _draw_errors(axes: Axes, points: dict[str, pd.DataFrame], part: str) -> None:
    """Draw one sigma of the means: ellipses, or one cross for each method where they are wide."""
    sizes = np.diff([axes.get_xlim(), axes.get_ylim()], axis=1)[:, 0]
    drawn = {method: own for method, own in points.items() if method != "unfair"}
    ellipses = [
        _ellipse(group["share"].to_numpy(), group["gain"].to_numpy(), STYLES[method][1], part)
        for method, own in drawn.items()
        for _, group in own.groupby("alpha")
    ]
    spans = [e.get_extents().size / sizes for e in ellipses]
    if np.median(np.max(spans, axis=1)) < WIDE:
        for ellipse in ellipses:
            axes.add_patch(ellipse)
        return
    for method, own in drawn.items():
        means = own.groupby("alpha")["share"].mean()
        group = own[own["alpha"] == (means - 0.5).abs().idxmin()][["share", "gain"]]
        sigma = group.std() * np.sqrt(mean_variance(len(group), part))
        axes.errorbar(
            group["share"].mean(), group["gain"].mean(), xerr=sigma["share"], yerr=sigma["gain"],
            color=STYLES[method][1], lw=0.6,
        )  # fmt: skip


def _ellipse(x: np.ndarray, y: np.ndarray, colour: str, part: str) -> Ellipse:
    """One sigma of the estimator of the mean, for splits that overlap as in the intervals."""
    values, vectors = np.linalg.eigh(np.cov(x, y) * mean_variance(len(x), part))
    width, height = 2 * np.sqrt(np.maximum(values, 0))
    angle = float(np.degrees(np.arctan2(vectors[1, 0], vectors[0, 0])))
    return Ellipse(
        (float(x.mean()), float(y.mean())), width, height, angle=angle, edgecolor=colour,
        facecolor="none", alpha=0.4, lw=0.6,
    )  # fmt: skip


def draw_postprocess(frame: pd.DataFrame) -> Figure:
    """Draw the adjusted cost, what it is the difference of, and PDP by epoch.

    Each is a mean over seeds with its one-sigma band. The adjusted cost is positive, and has a
    logarithmic axis; the smooth and the relaxed cost are less an entropy, and may be negative.
    """
    runs = select(frame, experiment="postprocess", protocol="paper", method="otf")
    figure = Figure(figsize=(10, 3.8), layout="constrained")
    adjusted, costs, violation = figure.subplots(1, 3)
    epochs = np.arange(1, 2 * POSTPROCESS_EPOCHS + 1)
    series = {
        name: np.array(runs[name].tolist()) for name in ("smooth", "relaxed", "adjusted", "pdp")
    }
    adjusted.set_yscale("log")
    _band(adjusted, epochs, series["adjusted"], "#2f6db5", "adjusted")
    adjusted.set(xlabel="epoch", ylabel="adjusted cost per person")
    for name, colour in {"smooth": "#d9822b", "relaxed": "#7b5ea7"}.items():
        _band(costs, epochs, series[name], colour, name)
    costs.set(xlabel="epoch", ylabel="cost per person,\nless epsilon x entropy")
    costs.axhline(0, color="#8a94a0", lw=0.6)
    costs.legend(frameon=False)
    _band(violation, epochs, series["pdp"], "#2f6db5", "PDP violation")
    violation.set(xlabel="epoch", ylabel="PDP violation (train)", ylim=(0, None))
    violation.text(POSTPROCESS_EPOCHS + 1.5, 0.15, "OTF alone from here", fontsize=8)
    figure.suptitle(
        f"Adult by sex, {PROTOCOLS['paper']}: {POSTPROCESS_EPOCHS} epochs of cross-entropy, then "
        f"{POSTPROCESS_EPOCHS} of OTF alone; mean and one sigma of {len(runs)} seeds "
        "(costs: mean over batches)",
        fontsize=10,
    )
    for axes in (adjusted, costs, violation):
        axes.axvline(POSTPROCESS_EPOCHS + 0.5, color="#8a94a0", lw=1, ls="--")
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def _band(axes: Axes, x: np.ndarray, series: np.ndarray, colour: str, label: str) -> None:
    mean, sigma = series.mean(0), series.std(0, ddof=1 if len(series) > 1 else 0)
    axes.plot(x, mean, color=colour, lw=1.5, label=label)
    axes.fill_between(x, mean - sigma, mean + sigma, color=colour, alpha=0.2, lw=0)


def draw_violins(frame: pd.DataFrame) -> Figure:
    """Draw scores by sex for each smoothing and strength of one method, with dashed quartiles."""
    runs = {(row["epsilon"], row["alpha"]): row for row in frame.to_dict("records")}
    alphas = sorted({alpha for _, alpha in runs})
    rows, columns = len(VIOLIN_EPSILONS), len(alphas)
    figure = Figure(figsize=(max(1.25 * columns, 6), 1.5 * rows), layout="constrained")
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for axes, key in zip(grid.flat, product(VIOLIN_EPSILONS, alphas)):
        if key in runs:
            for side, (group, colour) in zip((-1, 1), GROUPS.items()):
                _violin(axes, runs[key][f"quantiles_{group}"], side, colour)
        axes.set(xlim=(-1.1, 1.1), ylim=(0, 1), xticks=[])
        axes.spines[["top", "right", "bottom"]].set_visible(False)
    for axes, alpha in zip(grid[0], alphas):
        axes.set_title(f"alpha {alpha:g}", fontsize=9)
    for axes, epsilon in zip(grid[:, 0], VIOLIN_EPSILONS):
        axes.set_ylabel(f"epsilon {epsilon:g}\nscore", fontsize=9)
    figure.suptitle(
        "Scores of women (left, orange) and men (right, blue) on Adult, split 0; dashes: quartiles",
        fontsize=10,
    )
    return figure


def _violin(axes: Axes, quantiles: list[float], side: int, colour: str) -> None:
    sample = np.asarray(quantiles)
    heights = np.linspace(0, 1, 201)
    if np.ptp(sample) < 1e-3:  # one value has no density
        width = (np.abs(heights - sample.mean()) < 0.01).astype(float)
    else:
        width = gaussian_kde(sample, 0.15)(heights)
    axes.fill_betweenx(heights, 0, side * width / max(width.max(), 1e-12), color=colour, alpha=0.6)
    for quarter in (0.25, 0.5, 0.75):
        at = float(np.interp(quarter, QUANTILES, sample))
        reach = float(np.interp(at, heights, width)) / max(width.max(), 1e-12)
        axes.plot([0, side * reach], [at, at], color="black", lw=0.9, ls="--")


Drawing = tuple[str, Callable[[], Figure]]  # the caption of a figure, and what draws it


def drawings(frame: pd.DataFrame) -> dict[str, Drawing]:
    """Return the figures that the results allow, by name."""
    found: dict[str, Drawing] = {}
    adult = select(frame, experiment="curves", protocol="full", dataset="adult", notion="peo")
    if {"otf", "norm"} <= set(adult["method"]):
        found["poster"] = of_poster(), partial(draw_poster, frame)
    kinds = {"test": ("test", False), "train": ("train", False), "common": ("test", True)}
    for protocol, (name, (part, common)) in product(PROTOCOLS, kinds.items()):
        own = select(frame, experiment="curves", protocol=protocol)
        for end, datasets in FOLDS.items():
            if panels_of(own, datasets, common):
                caption = of_curves(frame, protocol, part, common, datasets)
                draw = partial(draw_curves, frame, protocol, part, common, datasets)
                found[f"curves_{protocol}_{name}{end}"] = caption, draw
    if len(select(frame, experiment="postprocess", protocol="paper", method="otf")):
        found["postprocess"] = of_postprocess(frame), partial(draw_postprocess, frame)
    for name, (protocol, method, whose) in VIOLINS.items():
        runs = select(frame, experiment="epsilon", split=0, protocol=protocol, method=method)
        if len(runs):
            found[name] = of_violins(runs, whose), partial(draw_violins, runs)
    return found


def write_figures(results: Iterable[Result], folder: Path) -> list[Path]:
    """Draw what the results allow, as PDF and PNG; returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, (_, draw) in drawings(to_frame(results)).items():
        figure = draw()
        for suffix in ("pdf", "png"):
            written.append(folder / f"{name}.{suffix}")
            write_bytes(written[-1], drawn(figure, suffix))
    return written
