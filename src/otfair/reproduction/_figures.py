"""The paper's figures, drawn from results alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
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
from otfair.reproduction._claims import INTERVAL
from otfair.reproduction._frames import BOTH, PANELS, panel_runs, select, shown, title, to_frame
from otfair.reproduction._plan import VIOLIN_EPSILONS
from otfair.reproduction._poster import POSTER, draw_poster
from otfair.reproduction._store import Result
from otfair.reproduction._styles import LINES, PAIRED, STYLES
from otfair.reproduction._train import POSTPROCESS_EPOCHS, QUANTILES

VIOLINS = {
    "epsilon": ("full", "otf", "full protocol"),
    "epsilon_paper": ("paper", "otf", "the paper's protocol"),
    "epsilon_published": ("paper", "coordinate", "the published method"),
}
GROUPS = {"Female": "#e69f00", "Male": "#0072b2"}


def draw_curves(frame: pd.DataFrame, protocol: str, part: str) -> Figure:
    """Draw AUC against violation: means over splits, with the ellipse of the mean's one sigma.

    Where splits differ more than methods, AUC is that above the split's own unfair model.
    """
    frame = select(frame, experiment="curves", protocol=protocol)
    panels = [p for p in PANELS if len(panel_runs(frame, p))]
    columns = min(4, len(panels))
    rows = -(-len(panels) // columns)  # of each notion
    figure = Figure(figsize=(2.9 * columns + 0.4, 5.0 * rows + 0.5), layout="constrained")
    grid = figure.subplots(2 * rows, columns, squeeze=False)
    for axes in grid.flat:
        axes.set_axis_off()
    for k, (notion, panel) in enumerate(product(("pdp", "peo"), panels)):
        row, column = divmod(k % len(panels), columns)
        axes = grid[row + rows * (k // len(panels)), column]
        axes.set_axis_on()
        runs, paired = panel_runs(frame, panel), panel[0] in PAIRED
        _draw_panel(axes, _paired(runs) if paired else runs, notion, panel[1], part)
        axes.set_title(f"{title(panel, brief=True)}: {notion.upper()}", fontsize=10)
        what = "share of the unfair model's" if panel[1] == BOTH else notion.upper()
        axes.set_xlabel(what, fontsize=9)
        if paired:
            axes.set_ylabel(f"AUC ({part}) less the unfair model's", fontsize=8)
        elif not column:
            axes.set_ylabel(f"AUC ({part})", fontsize=9)
    shown_in = [axes.get_legend_handles_labels() for axes in grid.flat]
    handles = {text: handle for pair in shown_in for handle, text in zip(*pair)}
    figure.legend(
        list(handles.values()), list(handles), loc="outside lower center", ncols=5, frameon=False
    )
    what = (
        f"AUC against violation, {part} set, {protocol} protocol; number of splits in each corner"
    )
    figure.suptitle(what, fontsize=10)
    return figure


def _paired(runs: pd.DataFrame) -> pd.DataFrame:
    """Subtract from each AUC that of the unfair model of its split."""
    aucs = ["train_auc", "test_auc"]
    free = select(runs, method="unfair").set_index("split")[aucs]
    return runs.assign(**{name: runs[name] - runs["split"].map(free[name]) for name in aucs})


def _draw_panel(axes: Axes, runs: pd.DataFrame, notion: str, attribute: str, part: str) -> None:
    x, y = f"{part}_{notion}_{attribute}", f"{part}_auc"
    heights: list[float] = []  # without the barycenter's, some of which know nothing any more
    for method, (label, colour, marker) in STYLES.items():
        own = shown(runs, method, notion)
        if own.empty:
            continue
        means = own.groupby("alpha")[[x, y]].mean()
        heights += [] if method == "barycenter" else means[y].tolist()
        path = means
        if method != "unfair":  # curves begin at the unfair model, as in comparisons
            path = pd.concat([shown(runs, "unfair", notion).groupby("alpha")[[x, y]].mean(), means])
        line = LINES.get(method, "")
        axes.plot(path[x], path[y], line, color=colour, lw=1.2, alpha=0.8)
        axes.plot(means[x], means[y], line + marker, color=colour, ms=4, lw=1.2, label=label)
        for _, group in own.groupby("alpha"):
            if len(group) >= INTERVAL:
                axes.add_patch(_ellipse(group[x].to_numpy(), group[y].to_numpy(), colour))
    counts = shown_splits(runs, notion)
    splits = f"{min(counts)} to {max(counts)}" if len(counts) > 1 else f"{max(counts)}"
    axes.text(0.98, 0.03, splits, transform=axes.transAxes, ha="right", fontsize=7)
    axes.margins(0.08)
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlim(left=0)
    axes.locator_params(axis="x", nbins=5)
    if heights:
        reach = max(np.ptp(heights), 1e-3)
        low, high = axes.get_ylim()
        axes.set_ylim(
            max(low, min(heights) - 0.5 * reach), min(high, max(heights) + max(0.15 * reach, 2e-3))
        )


def shown_splits(runs: pd.DataFrame, notion: str) -> set[int]:
    """Return in how many splits the methods of a panel were run."""
    counts = {shown(runs, method, notion)["split"].nunique() for method in STYLES}
    return counts - {0} or {0}


def _ellipse(x: np.ndarray, y: np.ndarray, colour: str) -> Ellipse:
    """One sigma of the estimator of the mean."""
    values, vectors = np.linalg.eigh(np.cov(x, y) / len(x))
    width, height = 2 * np.sqrt(np.maximum(values, 0))
    angle = float(np.degrees(np.arctan2(vectors[1, 0], vectors[0, 0])))
    return Ellipse(
        (float(x.mean()), float(y.mean())), width, height, angle=angle, edgecolor=colour,
        facecolor="none", alpha=0.5, lw=0.6,
    )  # fmt: skip


def draw_postprocess(frame: pd.DataFrame) -> Figure:
    """Draw the adjusted cost, what it is the difference of, and PDP by epoch.

    Each is a mean over seeds with its one-sigma band. The adjusted cost is positive, and has a
    logarithmic axis; the smooth and the relaxed cost hold an entropy, and may be negative.
    """
    runs = select(frame, experiment="postprocess", protocol="paper")
    figure = Figure(figsize=(11, 3.4), layout="constrained")
    adjusted, costs, violation = figure.subplots(1, 3)
    epochs = np.arange(1, 2 * POSTPROCESS_EPOCHS + 1)
    series = {
        name: np.array(runs[name].tolist()) for name in ("smooth", "relaxed", "adjusted", "pdp")
    }
    adjusted.set_yscale("log")
    _band(adjusted, epochs, series["adjusted"], "#2f6db5", "adjusted")
    adjusted.set(xlabel="epoch", ylabel="adjusted cost per person (mean over batches)")
    for name, colour in {"smooth": "#d9822b", "relaxed": "#7b5ea7"}.items():
        _band(costs, epochs, series[name], colour, name)
    costs.set(xlabel="epoch", ylabel="cost per person (mean over batches)")
    costs.legend(frameon=False)
    _band(violation, epochs, series["pdp"], "#2f6db5", "PDP violation")
    violation.set(xlabel="epoch", ylabel="PDP violation (train)", ylim=(0, None))
    violation.text(POSTPROCESS_EPOCHS + 1.5, 0.15, "penalty alone from here", fontsize=8)
    figure.suptitle(f"Post-processing: mean and one sigma of {len(runs)} seeds", fontsize=10)
    for axes in (adjusted, costs, violation):
        axes.axvline(POSTPROCESS_EPOCHS + 0.5, color="#8a94a0", lw=1, ls="--")
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def _band(axes: Axes, x: np.ndarray, series: np.ndarray, colour: str, label: str) -> None:
    mean, sigma = series.mean(0), series.std(0, ddof=1 if len(series) > 1 else 0)
    axes.plot(x, mean, color=colour, lw=1.5, label=label)
    low = mean - sigma
    if axes.get_yscale() == "log":  # the band of a mean that is smaller than its sigma ends there
        low = np.maximum(low, 0.1 * mean)
    axes.fill_between(x, low, mean + sigma, color=colour, alpha=0.2, lw=0)


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
    figure.suptitle("Scores of women (left, orange) and men (right, blue)", fontsize=10)
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
    if len(select(frame, experiment="curves", protocol="full", method="otf", notion="peo")):
        found["poster"] = POSTER, partial(draw_poster, frame)
    for protocol, whose in (("full", "Full protocol"), ("paper", "The paper's protocol")):
        own = select(frame, experiment="curves", protocol=protocol)
        if any(len(panel_runs(own, panel)) for panel in PANELS):
            for part in ("test", "train"):
                draw = partial(draw_curves, frame, protocol, part)
                found[f"curves_{protocol}_{part}"] = f"{whose}, {part} set", draw
    if len(select(frame, experiment="postprocess", protocol="paper")):
        caption = "Post-processing: nothing but cross-entropy, then nothing but OTF"
        found["postprocess"] = caption, partial(draw_postprocess, frame)
    for name, (protocol, method, whose) in VIOLINS.items():
        runs = select(frame, experiment="epsilon", split=0, protocol=protocol, method=method)
        if len(runs):
            caption = f"Scores by smoothing and strength, {whose}"
            found[name] = caption, partial(draw_violins, runs)
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
