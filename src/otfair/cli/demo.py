"""`otfair demo`: fairer loan models, what they cost, and who would give score to whom."""

from __future__ import annotations

import argparse
import re
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.spatial.distance import pdist
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from otfair._io.files import write_bytes
from otfair._io.progress import track
from otfair._io.rendering import drawn, inline_svg, templates
from otfair.auditing import audit
from otfair.cli._options import Outcome
from otfair.datasets import load_dataset
from otfair.geometry import PointCloud
from otfair.losses import NormLoss, OTFLoss
from otfair.metrics import ENDS, ViolationOf, draw_rows, peo_violation
from otfair.models import OTFClassifier
from otfair.notions import DemographicParity
from otfair.tables import TableEncoder, TableError
from otfair.transport import Transport, adjusted_otf, exact_otf, smooth_otf

N_PEOPLE = 12_000  # half of them judge: with fewer, chance decides who is fairer
RESAMPLES = 100
SAMPLE = 2000  # people, by whom the typical distance is found
EPSILON = 1e-3
SENSITIVE = ["sex", "origin"]
ALPHAS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.45, 0.5, 0.55, 0.6, 0.7, 0.8)
METHODS = {loss.name: loss.title for loss in (NormLoss, OTFLoss)}
INK, FADED = "#1f2933", "#8a94a0"
COLOURS = {"unconstrained": INK, "Norm": "#d9822b", "OTF": "#3b6fb6"}


@dataclass(frozen=True)
class Row:
    """One model of the comparison, judged on people it was not trained on."""

    method: str
    alpha: float
    auc: float
    pdp: float
    peo: float
    gap: float  # largest difference of mean scores between two groups of a column
    cost: float  # adjusted OTF cost per person
    scores: np.ndarray


class Judge:
    """The people by whom models are judged."""

    def __init__(self, X: np.ndarray, y: np.ndarray, sensitive: pd.DataFrame) -> None:
        self.X, self.y, self.sensitive, self.geometry = X, y, sensitive, PointCloud(X)
        self.people = DemographicParity().people(sensitive)
        self.constraints = self.people.constraints()

    def typical(self) -> float:
        """Median distance of two people, in the units of costs, from a sample of them."""
        return float(np.median(pdist(self.X[:SAMPLE]))) / self.geometry.scale_

    def row(self, method: str, model: OTFClassifier) -> Row:
        """Judge a model."""
        scores = model.predict_proba(self.X)[:, 1]
        return Row(
            method=method,
            alpha=model.alpha_,
            auc=float(roc_auc_score(self.y, scores)),
            pdp=ViolationOf(self.people)(scores),
            peo=peo_violation(scores, self.sensitive, self.y),
            gap=float(self.group_means(scores).groupby(level=0).agg(np.ptp).max()),
            cost=adjusted_otf(scores, self.geometry, self.constraints, EPSILON).value / len(self.y),
            scores=scores,
        )

    def resampled(self, rows: list[Row], chosen: np.ndarray) -> list[Row]:
        """Judge models again, their AUC and PDP, by these people."""
        y, pdp = self.y[chosen], ViolationOf(self.people.take(chosen))
        scores = [row.scores[chosen] for row in rows]
        return [replace(r, auc=roc_auc_score(y, h), pdp=pdp(h)) for r, h in zip(rows, scores)]

    def group_means(self, scores: np.ndarray) -> pd.Series[float]:
        """Mean score of each group, by column and group."""
        column = pd.Series(scores, self.sensitive.index)
        return pd.concat({c: column.groupby(self.sensitive[c]).mean() for c in SENSITIVE})


def run(options: argparse.Namespace) -> Outcome:
    """Run the demonstration."""
    try:
        text = _demonstrate(options.output)
    except OSError as error:
        problem = f"cannot write to {options.output}: {error}. Choose another --output."
        raise TableError(problem) from None
    files = {name: str(options.output / name) for name in ("curve.png", "demo.html", "audit.html")}
    return Outcome(text, {"text": text, "files": files})


def _demonstrate(output: Path) -> str:
    """Train, compare, explain, write the files; returns what there is to say about it."""
    started = time.perf_counter()
    output.mkdir(parents=True, exist_ok=True)
    curve, page, report = (output.resolve() / f for f in ("curve.png", "demo.html", "audit.html"))
    data, numbers = load_dataset("synthetic", n=N_PEOPLE), np.arange(N_PEOPLE)
    fit, test = train_test_split(numbers, test_size=0.5, random_state=0, stratify=data.y)
    X = np.asarray(TableEncoder().fit(data.X.iloc[fit]).transform(data.X), dtype=np.float64)
    sensitive = data.sensitive_features[SENSITIVE]
    judge = Judge(X[test], data.y[test], sensitive.iloc[test])

    rows: list[Row] = []
    with track(None, "training", 2 * len(ALPHAS), verbose=True, leave=False) as bar:
        for regularizer, method in METHODS.items():
            model = OTFClassifier(epsilon=EPSILON, regularizer=regularizer)
            for m in model.fit_path(X[fit], data.y[fit], sensitive.iloc[fit], ALPHAS):
                if m.alpha_ or not rows:  # both paths begin without penalty
                    rows.append(judge.row(method if m.alpha_ else "unconstrained", m))
                bar.update()
    exact = exact_otf(rows[0].scores, judge.geometry, judge.constraints)
    comparison = _comparison(rows, judge)
    write_bytes(curve, drawn(_curve(rows), "png", dpi=200))
    write_bytes(page, _page(rows, judge, exact, comparison).encode())
    audit(
        rows[0].scores,
        data.X.iloc[test],
        sensitive_features=judge.sensitive,
        labels=judge.y,
        favourable=1,  # a loan that is granted
        title="made-up loans, scores without a penalty",
        verbose=True,
    ).to_html(report)
    return (
        f"{_table(rows)}\n\n{comparison}\n{_explanation(exact, judge.typical())}\n\n"
        f"curve:  {curve}\nstory:  {page}\n"
        f"report: {report} (an audit of the unconstrained scores, by sex and by origin alone)\n"
        f"({time.perf_counter() - started:.0f} s)"
    )


def _table(rows: list[Row]) -> str:
    head = "method        alpha     AUC     PDP     PEO     gap  OTF cost"
    lines = [
        f"{r.method:<13} {r.alpha:5.2f} {r.auc:7.4f} {r.pdp:7.4f} {r.peo:7.4f} {r.gap:7.4f} "
        f"{r.cost:9.2e}"
        for r in rows
    ]
    note = "On people kept out of training. PDP and PEO: violations of parity and equalized odds."
    return "\n".join([head, "-" * len(head), *lines, note])


def _comparison(rows: list[Row], judge: Judge) -> str:
    """Say whose AUC is higher where the violation is half that of the unconstrained model."""
    (norm, otf), n = _at_half(rows), len(judge.y)
    draws = draw_rows(n, RESAMPLES, seed=0)
    ahead = [np.diff(_at_half(judge.resampled(rows, chosen))) for chosen in draws]
    low, high = np.percentile(ahead, ENDS)
    return (
        f"At half the unconstrained violation (PDP {rows[0].pdp / 2:.3f}), the AUC is {otf:.4f} "
        f"with OTF and {norm:.4f} with Norm, a difference of {otf - norm:+.4f} ({low:+.4f} to "
        f"{high:+.4f} in 95 % of resamples of the people who judge); without a penalty it is "
        f"{rows[0].auc:.4f}."
    )


def _at_half(rows: list[Row]) -> list[float]:
    """Read the AUC off the curve of each method at half the violation of the first model."""
    curves = [sorted((r.pdp, r.auc) for r in _path(rows, m)) for m in METHODS.values()]
    return [float(np.interp(rows[0].pdp / 2, *np.transpose(curve))) for curve in curves]


def _path(rows: list[Row], method: str) -> list[Row]:
    return [rows[0], *(row for row in rows if row.method == method)]


def _explanation(exact: Transport, typical: float) -> str:
    mass = exact.flows.mass
    moved = mass.sum() - np.trace(mass)
    return (
        "To make the unconstrained scores fair to sex and origin at once in the cheapest way, "
        f"{100 * moved / mass.sum():.1f} % of all score must move to other people, on average to "
        f"somebody {100 * exact.transport_cost / moved / typical:.0f} % as different as two people "
        "picked at random."
    )


def _page(rows: list[Row], judge: Judge, exact: Transport, comparison: str) -> str:
    free = rows[0]
    chosen = next((r for r in rows if r.method == "OTF" and r.pdp <= free.pdp / 2), rows[-1])
    problem = (free.scores, judge.geometry, judge.constraints, EPSILON)
    flows, typical = exact.flows, judge.typical()
    names = [re.sub(r"\w+=", "", name) for name in flows.type_names]  # "Male, Local"
    moves = [
        (names[i], names[j], flows.mass[i, j], flows.distance[i, j] / typical)
        for i, j in np.argwhere(~np.eye(len(names), dtype=bool))
    ]
    page = templates("otfair.cli").get_template("demo.html")
    return page.render(
        rows=rows,
        chosen=chosen,
        comparison=comparison,
        explanation=_explanation(exact, typical),
        curve=inline_svg(_curve(rows)),
        means=inline_svg(_means(judge, free, chosen)),
        moves=sorted(moves, key=lambda move: -move[2])[:6],
        newton=smooth_otf(*problem),
        published=smooth_otf(*problem, solver="coordinate"),
        n_fit=N_PEOPLE - len(judge.y),
        n_test=len(judge.y),
    )


def _curve(rows: list[Row]) -> Figure:
    figure, axes = _figure(4.8, 3.6)
    free = rows[0]
    for method, marker in zip(METHODS.values(), "so"):
        line = np.transpose([(r.pdp, r.auc) for r in _path(rows, method)])
        axes.plot(*line, color=COLOURS[method], marker=marker, ms=4.5, lw=1.6, label=method)
    axes.plot(free.pdp, free.auc, "D", color=INK, ms=7, label=free.method, zorder=3)
    axes.axvline(free.pdp / 2, color=FADED, lw=0.8, ls=":", zorder=0)
    axes.annotate(
        "half the violation", (free.pdp / 2, 0.02), (4, 0), color=FADED, fontsize=8,
        xycoords=("data", "axes fraction"), textcoords="offset points",
    )  # fmt: skip
    axes.set(xlabel="violation of demographic parity (left is fairer)", ylabel="AUC (up is better)")
    axes.set(xlim=(0, None), xticks=np.arange(0, free.pdp + 0.01, 0.05))
    axes.legend(frameon=False, fontsize=9, loc="upper left")
    return figure


def _means(judge: Judge, free: Row, chosen: Row) -> Figure:
    figure, axes = _figure(4.8, 2.4)
    means = [judge.group_means(row.scores) for row in (free, chosen)]
    groups = [str(name) for _, name in means[0].index]
    height = range(len(groups), 0, -1)
    axes.hlines(height, means[0].to_numpy(), means[1].to_numpy(), color=FADED, lw=1.2, zorder=0)
    for row, mean in zip((free, chosen), means):
        name = f"{row.method}, α = {row.alpha:g}" if row.alpha else row.method
        axes.plot(mean, height, "o", color=COLOURS[row.method], ms=7, label=name)
    axes.set_yticks(height, groups)
    axes.set(xlabel="mean score", ylim=(0.5, len(groups) + 0.5))
    figure.legend(frameon=False, fontsize=9, loc="outside upper right", ncols=2)
    return figure


def _figure(width: float, height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=9, colors=INK)
    return figure, axes
