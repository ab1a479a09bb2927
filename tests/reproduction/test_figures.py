"""The figures show what the results say."""

from __future__ import annotations

import numpy as np
import pytest

from otfair.reproduction._claims import compare
from otfair.reproduction._figures import (
    STYLES,
    _ellipse,
    draw_curves,
    draw_postprocess,
    drawings,
    write_figures,
)
from otfair.reproduction._frames import to_frame
from otfair.reproduction._plan import Run, plan
from otfair.reproduction._poster import draw_poster
from otfair.reproduction._store import Result

pytestmark = pytest.mark.slow

ATTRIBUTES = {
    "adult": ("sex", "race"),
    "bank": ("age", "age_binned"),
    "dutch": ("sex",),
    "diabetes": ("gender",),
}


def invent(run: Run, rng: np.random.Generator) -> Result:
    metrics: dict[str, object] = {}
    if run.experiment == "postprocess":
        length = 50 if run.protocol == "paper" else 2
        for name in ("smooth", "relaxed", "adjusted", "pdp", "auc"):
            metrics[name] = rng.uniform(0.1, 1, length).tolist()
    elif run.experiment == "epsilon":
        for group in ("Female", "Male"):
            metrics[f"quantiles_{group}"] = np.sort(rng.uniform(size=99)).tolist()
    else:
        for part in ("train", "test"):
            metrics[f"{part}_auc"] = rng.uniform(0.8, 0.9)
            for column in ATTRIBUTES[run.dataset]:
                metrics |= {f"{part}_{n}_{column}": rng.uniform() for n in ("pdp", "peo")}
    return Result(run, metrics, 1.0, {}, "")


@pytest.fixture(scope="module")
def results():
    rng = np.random.default_rng(0)
    return [invent(run, rng) for p, n in (("full", 4), ("paper", 1)) for run in plan("all", p, n)]


def test_a_point_is_the_mean_over_splits_under_the_notion_that_was_optimised(results):
    frame = to_frame(results)
    figure = draw_curves(frame, "full", "test")
    axes = {a.get_title(): a for a in figure.axes}
    assert len([t for t in axes if t]) == 16
    otf = frame[(frame["method"] == "otf") & (frame["dataset"] == "adult")]
    otf = otf[(otf["notion"] == "peo") & (otf["experiment"] == "curves")]
    otf = otf[otf["protocol"] == "full"]
    expected = otf.groupby("alpha")[["test_peo_race", "test_auc"]].mean().to_numpy()
    lines = [
        line for line in axes["Adult, race: PEO"].lines if line.get_color() == STYLES["otf"][1]
    ]
    path, points = (np.column_stack(line.get_data()) for line in lines)
    np.testing.assert_allclose(points, expected)
    np.testing.assert_allclose(path[1:], expected)  # which begins at the unfair model
    # The barycenter, trained by sex for demographic parity, is shown on race and on age too.
    for title in ("Adult, race: PDP", "Bank, age: PDP", "Bank, age: PEO"):
        assert STYLES["barycenter"][0] in axes[title].get_legend_handles_labels()[1]


def test_the_ellipse_is_one_sigma_of_the_means_estimator():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=50), 3 * rng.normal(size=50)
    ellipse = _ellipse(x, y, "k")
    spread = sorted([ellipse.width / 2, ellipse.height / 2])
    np.testing.assert_allclose(spread, [x.std() / 50**0.5, y.std() / 50**0.5], rtol=0.1)
    np.testing.assert_allclose(ellipse.center, [x.mean(), y.mean()])


def test_bands_and_violins_are_drawn_for_every_run(results):
    frame = to_frame(results)
    adjusted, costs, violation = draw_postprocess(frame).axes
    series = frame[(frame["experiment"] == "postprocess") & (frame["protocol"] == "paper")]["pdp"]
    np.testing.assert_allclose(violation.lines[0].get_ydata(), np.mean(series.tolist(), axis=0))
    assert len(adjusted.collections) == 1
    assert adjusted.get_yscale() == "log"
    assert len(costs.collections) == 2
    cells = {"epsilon": 45, "epsilon_paper": 25, "epsilon_published": 25}
    grids = {k: draw for k, (_, draw) in drawings(frame).items() if k.startswith("epsilon")}
    assert list(grids) == list(cells)
    for name, draw in grids.items():
        axes = draw().axes
        assert len(axes) == cells[name]
        assert all(len(a.collections) == 2 and len(a.lines) == 6 for a in axes)


def test_files_are_written_for_what_there_is(results, tmp_path):
    written = write_figures(results, tmp_path)
    names = {f"curves_{p}_{part}" for p in ("full", "paper") for part in ("test", "train")}
    names |= {"poster", "postprocess", "epsilon", "epsilon_paper", "epsilon_published"}
    assert {p.name for p in tmp_path.iterdir()} == {
        f"{n}.{s}" for n in names for s in ("pdf", "png")
    }
    assert sorted(written) == sorted(tmp_path.iterdir())


def test_bank_is_drawn_against_the_unfair_model_of_its_split(results):
    frame = to_frame(results)
    axes = {a.get_title(): a for a in draw_curves(frame, "full", "test").axes}["Bank, age: PDP"]
    bank = frame[(frame["dataset"] == "bank") & (frame["protocol"] == "full")]
    free = bank[bank["method"] == "unfair"].set_index("split")["test_auc"]
    norm = bank[(bank["method"] == "norm") & (bank["notion"] == "pdp")]
    norm = norm[[c == ("age",) for c in norm["columns"]]]
    gaps = norm["test_auc"] - norm["split"].map(free)
    lines = [line for line in axes.lines if line.get_color() == STYLES["norm"][1]]
    np.testing.assert_allclose(lines[-1].get_ydata(), gaps.groupby(norm["alpha"]).mean())


def test_no_ellipse_below_three_splits(results):
    for protocol, some in (("full", True), ("paper", False)):
        axes = draw_curves(to_frame(results), protocol, "test").axes
        assert any(a.patches for a in axes) == some


def test_the_poster_shows_the_intervals_of_the_comparison(results):
    frame = to_frame(results)
    left, right = draw_poster(frame).axes
    table = compare(frame, "full", "test", "otf", ("norm",))
    rows = [d for d, share in zip(table["difference"], table["share"]) if share == 0.5 and d.splits]
    drawn = right.containers[0].lines[0].get_xdata()
    np.testing.assert_allclose(np.asarray(drawn, dtype=float), [d.mean for d in rows])
    assert len(left.lines) == 3
