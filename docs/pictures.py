"""Draw the pictures of the first page and the README, on made-up loans.

    .venv/bin/python docs/pictures.py

One core, seed 0; about half a minute.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

import otfair

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(Path(__file__).parent))
from gallery_setup import FIGURE_STYLE  # noqa: E402

WOMEN, MEN = "#e69f00", "#0072b2"
STRENGTHS = [0, 0.2, 0.35, 0.5, 0.6, 0.7]


def draw_scores(axes: Axes) -> None:
    """Draw the true scores of women and men, and say how unfair they are."""
    data = otfair.load_dataset("synthetic", n=4000)
    sex, scores = data.sensitive_features["sex"].to_numpy(), data.truth.scores
    for name, group, colour in (("women", "Female", WOMEN), ("men", "Male", MEN)):
        own = scores[sex == group]
        axes.hist(own, bins=25, range=(0, 1), density=True, alpha=0.5, color=colour, label=name)
        axes.axvline(own.mean(), color=colour, lw=2)
    axes.set_title("1. How unfair?")
    axes.set_xlabel("score (lines: mean of each group)")
    axes.set_ylabel("density of people")
    axes.legend()


def draw_plan(axes: Axes) -> None:
    """Draw who gives score to whom among people with two features, as in the gallery."""
    random = np.random.default_rng(3)
    group = np.repeat(["men", "women"], [45, 30])
    X = random.normal(size=(75, 2)) + np.where(group[:, None] == "men", 0.5, -0.5)
    scores = 1 / (1 + np.exp(-X.sum(axis=1)))
    fair = otfair.DemographicParity().constraints(group)
    plan = otfair.exact_otf(scores, otfair.PointCloud(X), fair, bounded=True).plan(sparse=True)
    plan = plan.tocoo()
    for name, colour in (("men", MEN), ("women", WOMEN)):
        who = group == name
        axes.scatter(*X[who].T, s=110 * scores[who], color=colour, alpha=0.6, lw=0)
    for giver, receiver, amount in zip(plan.row, plan.col, plan.data):
        if giver != receiver:
            arrow = {"arrowstyle": "->", "lw": 0.8 + 2 * amount, "color": "0.2"}
            axes.annotate("", X[receiver], X[giver], arrowprops=arrow)
    axes.set_title("2. Who would give score to whom?")
    axes.set_xlabel("people who are alike lie side by side")
    axes.set_xticks([])
    axes.set_yticks([])


def draw_tradeoff(axes: Axes) -> None:
    """Draw AUC against unfairness on people who were not trained on, and what half of it costs."""
    data = otfair.load_dataset("synthetic", n=40_000)
    curve = otfair.tradeoff_curve(
        data.X,
        data.y,
        sensitive_features=data.sensitive_features["sex"],
        alphas=STRENGTHS,
        test_size=0.5,
    )
    otfair.plot_tradeoff(curve, axes)
    x, auc = curve["test_pdp"].to_numpy(), curve["test_auc"].to_numpy()
    axes.plot(x[0], auc[0], "*", color="k", ms=13, zorder=3)
    axes.annotate("unfair model", (x[0], auc[0]), (0, 10), textcoords="offset points", ha="right")
    half = x[0] / 2
    fair = float(np.interp(half, x[::-1], auc[::-1]))
    axes.plot([half, x[0]], [auc[0]] * 2, ":", color="0.4")
    arrow = {"arrowstyle": "->", "color": "0.2", "shrinkA": 0, "shrinkB": 3}
    axes.annotate("", (half, fair), (half, auc[0]), arrowprops=arrow)
    axes.annotate(
        f"half of the unfairness\ncosts {auc[0] - fair:.3f} of AUC", (half, fair), (16, -24),
        textcoords="offset points", va="top",
    )  # fmt: skip
    axes.set(xlabel="unfairness: correlation of score and sex", ylabel="AUC on new people")
    axes.set_xlim(left=0)


def save(figure: Figure, name: str) -> None:
    """Write a figure as a small PNG."""
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=150)
    few = Image.open(buffer).convert("P", palette=Image.Palette.ADAPTIVE, colors=128)
    path = Path(__file__).parent / "_static" / name
    few.save(path, optimize=True)
    print(path.relative_to(ROOT), f"{path.stat().st_size / 1024:.0f} KB")


def main() -> None:
    """Draw both pictures."""
    with mpl.rc_context({**mpl.rcParamsDefault, **FIGURE_STYLE, "font.size": 11}):
        figure = Figure(figsize=(12, 3.7), layout="constrained")
        panels = figure.subplots(1, 3)
        draw_scores(panels[0])
        draw_plan(panels[1])
        draw_tradeoff(panels[2])
        panels[2].set_title("3. What does fairness cost?")
        save(figure, "overview.png")
        figure = Figure(figsize=(7, 4.2), layout="constrained")
        axes = figure.subplots()
        draw_tradeoff(axes)
        axes.set_title("What fairness costs: OTF at six strengths α, with 95 % intervals")
        save(figure, "tradeoff.png")


if __name__ == "__main__":
    main()
