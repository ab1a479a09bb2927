"""The demonstration: a fairer loan model, what it costs, and who would give score to whom."""

from __future__ import annotations

import time
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import numpy as np
from jinja2 import Environment, PackageLoader
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from tqdm.auto import tqdm

from otfair.classifier import OTFClassifier
from otfair.datasets import load_dataset
from otfair.encoder import TableEncoder
from otfair.geometry import PointCloud
from otfair.metrics import pdp_violation, peo_violation
from otfair.notions import DemographicParity
from otfair.otf import adjusted_otf, exact_otf, smooth_otf
from otfair.transport import Transport

EPSILON = 1e-3
ALPHAS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
CHOSEN = 0.6
INK, FADED, COLOURS = "#1f2933", "#8a94a0", ("#3b6fb6", "#d9822b")


@dataclass(frozen=True)
class Row:
    """One model of the comparison, judged on people it was not trained on."""

    alpha: float
    auc: float
    pdp: float
    peo: float
    gap: float  # mean score of men minus that of women
    cost: float  # adjusted OTF cost a person
    scores: np.ndarray


def run(output: Path) -> str:
    """Train, compare, explain, write the report; returns what there is to say about it."""
    started = time.perf_counter()
    data = load_dataset("synthetic")
    rows = np.arange(len(data.y))
    fit, test = train_test_split(rows, test_size=0.3, random_state=0, stratify=data.y)
    X = np.asarray(TableEncoder().fit(data.X.iloc[fit]).transform(data.X), dtype=np.float64)
    sensitive = data.sensitive_features[["sex"]]
    geometry = PointCloud(X[test])
    constraints = DemographicParity().constraints(sensitive.iloc[test])
    women = (sensitive["sex"] == "Female").to_numpy()[test]

    models = []
    for alpha in tqdm(ALPHAS, desc="training", unit="model", leave=False):
        model = OTFClassifier("demographic_parity", alpha, EPSILON)
        model.fit(X[fit], data.y[fit], sensitive_features=sensitive.iloc[fit])
        scores = model.predict_proba(X[test])[:, 1]
        models.append(
            Row(
                alpha=alpha,
                auc=float(roc_auc_score(data.y[test], scores)),
                pdp=pdp_violation(scores, sensitive.iloc[test]),
                peo=peo_violation(scores, sensitive.iloc[test], data.y[test]),
                gap=float(scores[~women].mean() - scores[women].mean()),
                cost=adjusted_otf(scores, geometry, constraints, EPSILON).value / len(test),
                scores=scores,
            )
        )
    before = models[0]
    exact = exact_otf(before.scores, geometry, constraints)
    newton = smooth_otf(before.scores, geometry, constraints, EPSILON)
    published = smooth_otf(before.scores, geometry, constraints, EPSILON, solver="coordinate")
    table = _table(models)
    path = output / "demo.html"
    _write(path, _page(models, women, exact, newton, published, len(fit), len(test)))
    return (
        f"{table}\n\n{_sentence(exact)}\n"
        f"report: {path.resolve()}  ({time.perf_counter() - started:.1f} s)"
    )


def _table(models: list[Row]) -> str:
    head = f"{'alpha':>6} {'AUC':>7} {'PDP':>7} {'PEO':>7} {'gap':>7} {'OTF cost':>10}"
    lines = [
        f"{m.alpha:6.2f} {m.auc:7.4f} {m.pdp:7.4f} {m.peo:7.4f} {m.gap:7.4f} {m.cost:10.2e}"
        for m in models
    ]
    return "\n".join([head, "-" * len(head), *lines])


def _sentence(exact: Transport) -> str:
    moved = exact.flows.mass.sum() - np.trace(exact.flows.mass)
    share = moved / exact.flows.mass.sum()
    return (
        f"To make the unconstrained scores fair, {100 * share:.1f} % of all score must move, over "
        f"{exact.transport_cost / moved:.2f} of the largest distance between two people."
    )


def _page(
    models: list[Row],
    women: np.ndarray,
    exact: Transport,
    newton: Transport,
    published: Transport,
    n_fit: int,
    n_test: int,
) -> str:
    after = next(m for m in models if m.alpha == CHOSEN)
    environment = Environment(loader=PackageLoader("otfair"), autoescape=True)
    flows = exact.flows
    return environment.get_template("demo.html").render(
        models=models,
        chosen=CHOSEN,
        sentence=_sentence(exact),
        curve=_svg(_curve(models)),
        scores=_svg(_distributions(models[0].scores, after.scores, women)),
        types=flows.type_names,
        mass=flows.mass.tolist(),
        distance=flows.distance.tolist(),
        newton=newton,
        published=published,
        n_fit=n_fit,
        n_test=n_test,
    )


def _curve(models: list[Row]) -> Figure:
    figure, axes = _figure(5.4, 3.4)
    axes.plot([m.pdp for m in models], [m.auc for m in models], "-o", color=COLOURS[0], ms=5)
    for m in models:
        axes.annotate(
            f"α = {m.alpha:g}", (m.pdp, m.auc), (6, -11), textcoords="offset points", color=FADED,
            fontsize=8,
        )  # fmt: skip
    axes.set(xlabel="violation of demographic parity (less is fairer)", ylabel="AUC")
    axes.margins(0.12)
    return figure


def _distributions(before: np.ndarray, after: np.ndarray, women: np.ndarray) -> Figure:
    figure = Figure(figsize=(7.2, 2.9), layout="constrained")
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    bins = np.linspace(0, 1, 31)
    for axes, scores, title in zip(panels, (before, after), ("unconstrained", f"α = {CHOSEN:g}")):
        for group, name, colour in ((women, "women", COLOURS[1]), (~women, "men", COLOURS[0])):
            axes.hist(scores[group], bins, density=True, alpha=0.55, color=colour, label=name)
            axes.axvline(scores[group].mean(), color=colour, lw=2)
        _plain(axes, title)
        axes.set(xlabel="score")
    panels[0].set(ylabel="density")
    panels[0].legend(frameon=False, fontsize=8)
    return figure


def _figure(width: float, height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots()
    _plain(axes)
    return figure, axes


def _plain(axes: Axes, title: str = "") -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8, colors=INK)
    axes.set_title(title, fontsize=10, color=INK)
    axes.xaxis.label.set_fontsize(9)
    axes.yaxis.label.set_fontsize(9)


def _svg(figure: Figure) -> Markup:
    text = StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    drawing = text.getvalue()
    return Markup(drawing[drawing.index("<svg") :])


def _write(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
