"""The picture of a trade-off: lines, labels that do not cover each other."""

from __future__ import annotations

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import otfair
from otfair.cli._models import draw
from otfair.tradeoff import OFFSET, plot_tradeoff


@pytest.fixture(scope="module")
def curve():
    data = otfair.load_dataset("synthetic", n=300)
    return otfair.tradeoff_curve(
        data.X,
        data.y,
        sensitive_features=data.sensitive_features[["sex", "origin"]],
        notion="equalized_odds",
        alphas=[0, 0.3, 0.9],
        n_bootstrap=10,
    )


@pytest.mark.slow
def test_the_picture_has_a_line_a_curve_and_says_where_it_starts_and_ends(curve):
    axes = Figure().subplots()
    plot_tradeoff({"OTF": curve, "again": curve}, axes, violation="peo")
    assert [t.get_text() for t in axes.get_legend().get_texts()] == ["OTF", "again"]
    named = "correlation of score and group, given the label"
    assert axes.get_xlabel() == f"{named} (test; less is fairer)"
    assert sorted(t.get_text() for t in axes.texts) == ["α = 0", "α = 0", "α = 0.9", "α = 0.9"]
    np.testing.assert_array_equal(axes.get_lines()[0].get_xdata(), curve["test_peo"])
    np.testing.assert_array_equal(axes.get_lines()[0].get_ydata(), curve["test_auc"])


def parted(axes) -> bool:
    """Whether no two texts of a picture cover each other once it is drawn."""
    axes.figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in axes.texts]
    return not any(a.overlaps(b) for k, a in enumerate(boxes) for b in boxes[:k])


def ends(x: float, auc: float) -> pd.DataFrame:
    """A curve from one common point to another, with intervals."""
    columns = {"test_pdp": np.array([0.35, x]), "test_auc": np.array([0.85, auc])}
    low, high = ({f"{n}_{e}": v + d for n, v in columns.items()} for e, d in ENDS.items())
    return pd.DataFrame({"alpha": [0.0, 0.9], **columns, **low, **high})


ENDS = {"low": -0.01, "high": 0.01}
CURVES = {"OTF": ends(0.1, 0.8), "Norm": ends(0.101, 0.8005), "Barycenter": ends(0.15, 0.79)}


@pytest.mark.parametrize("dpi", [72, 100, 200])
def test_labels_of_points_that_coincide_do_not_cover_each_other(dpi):
    axes = Figure(figsize=(6, 4), dpi=dpi, layout="constrained").subplots()
    for name, curve in CURVES.items():  # one by one as all at once
        plot_tradeoff({name: curve}, axes)
    assert parted(axes)
    places = [text.get_position() for text in axes.texts]
    # A label that nothing is in the way of stays beside its point, and the others are near.
    assert places.count(OFFSET) == 3
    assert min(down for _, down in places) > -40
    whole = plot_tradeoff(CURVES, Figure(figsize=(6, 4), dpi=dpi, layout="constrained").subplots())
    assert [text.get_position() for text in whole.texts] == places


def test_labels_heed_what_is_drawn_besides(monkeypatch):
    # The chosen model, far away, draws the points of both strengths together.
    figure = draw({"OTF": ends(0.3, 0.84)}, "pdp", {"pdp": 2.0, "auc": 0.2})
    assert parted(figure.axes[0])
    monkeypatch.setattr("otfair.cli._models.part_labels", lambda axes: None)
    assert not parted(draw({"OTF": ends(0.3, 0.84)}, "pdp", {"pdp": 2.0, "auc": 0.2}).axes[0])


def test_texts_of_others_stay_where_they_are(curve):
    axes = Figure().subplots()
    axes.text(0.1, 0.8, "mine")
    axes.annotate("mine, too", (0.1, 0.8), (3, 4), textcoords="offset points")
    plot_tradeoff(curve, axes)
    assert [text.get_position() for text in axes.texts[:2]] == [(0.1, 0.8), (3, 4)]


def test_one_curve_is_drawn_in_a_figure_of_its_own(curve):
    with matplotlib.rc_context({"backend": "agg"}):
        axes = plot_tradeoff(curve, violation="otf_cost", part="train")
        assert axes.get_legend() is None
        assert axes.get_ylabel() == "AUC (train)"
        plt.close(axes.figure)
    with pytest.raises(ValueError, match="must be one of violation, pdp, peo"):
        plot_tradeoff(curve, violation="gap")
