"""The figures show what the results say."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from otfair.reproduction._captions import of_curves, of_poster
from otfair.reproduction._claims import compare
from otfair.reproduction._figures import (
    STYLES,
    _collapses,
    _draw_errors,
    _ellipse,
    _relative,
    draw_curves,
    draw_postprocess,
    drawings,
    write_figures,
)
from otfair.reproduction._frames import to_frame
from otfair.reproduction._plan import Run, plan
from otfair.reproduction._poster import draw_poster
from otfair.reproduction._standings import OF, standings
from otfair.reproduction._store import Result

pytestmark = pytest.mark.slow

ATTRIBUTES = {
    "adult": ("sex", "race"),
    "bank": ("age", "age_binned"),
    "dutch": ("sex",),
    "diabetes": ("gender",),
}


LEADS = {"norm2": 0.01, "correlation": 0.0005, "barycenter": -0.02}  # over Norm and OTF


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


def straight(lead: dict[str, float]) -> pd.DataFrame:
    """Curves that are lines, steep on Dutch and flat on Bank, with leads of some methods."""
    made, rng = [], np.random.default_rng(0)
    for run in plan("all", "full", 3):
        if run.experiment == "curves":
            cost = {"dutch": 0.1, "bank": 0.002}.get(run.dataset, 0.04)
            auc = 0.9 - cost * run.alpha + lead.get(run.method, 0.0) * (1 + 0.1 * rng.normal())
            metrics = {"train_auc": auc, "test_auc": auc}
            for part, notion in product(("train", "test"), ("pdp", "peo")):
                for column in ATTRIBUTES[run.dataset]:
                    metrics[f"{part}_{notion}_{column}"] = 0.3 * (1 - run.alpha)
            made.append(Result(run, metrics, 1.0, {}, ""))
    return to_frame(made)


def lines_of(axes, method):
    return [line for line in axes.lines if line.get_label() == STYLES[method][0]]


def test_a_point_is_the_mean_over_splits_under_the_notion_that_was_optimised(results):
    frame = to_frame(results)
    figure = draw_curves(frame, "full", "test")
    axes = {a.get_title(): a for a in figure.axes}
    assert len([t for t in axes if t]) == 16
    otf = frame[(frame["method"] == "otf") & (frame["dataset"] == "adult")]
    otf = otf[(otf["notion"] == "peo") & (otf["experiment"] == "curves")]
    otf = otf[otf["protocol"] == "full"]
    free = frame[(frame["method"] == "unfair") & (frame["dataset"] == "adult")]
    free = free[free["protocol"] == "full"][["test_peo_race", "test_auc"]].mean()
    means = otf.groupby("alpha")[["test_peo_race", "test_auc"]].mean()
    share, gain = means["test_peo_race"] / free.iloc[0], means["test_auc"] - free.iloc[1]
    (line,) = lines_of(axes["Adult, race: PEO"], "otf")
    path = np.column_stack(line.get_data())
    np.testing.assert_allclose(path[0], [1, 0])  # the unfair model
    np.testing.assert_allclose(path[1:], np.column_stack([share, gain]))
    # The barycenter, trained by sex for demographic parity, is shown on race and on age too.
    for title in ("Adult, race: PDP", "Bank, age: PDP", "Bank, age: PEO"):
        assert STYLES["barycenter"][0] in axes[title].get_legend_handles_labels()[1]


@pytest.mark.parametrize(("part", "more"), [("test", 1 / 4), ("train", 4)])
def test_the_ellipse_is_one_sigma_of_the_means_estimator(part, more):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=50), 3 * rng.normal(size=50)
    ellipse = _ellipse(x, y, "k", part)
    spread = sorted([ellipse.width / 2, ellipse.height / 2])
    enlarged = np.sqrt(1 / 50 + more)  # for splits that overlap, as in the intervals
    np.testing.assert_allclose(spread, [x.std() * enlarged, y.std() * enlarged], rtol=0.1)
    np.testing.assert_allclose(ellipse.center, [x.mean(), y.mean()])


def test_bands_and_violins_are_drawn_for_every_run(results):
    frame = to_frame(results)
    adjusted, costs, violation = draw_postprocess(frame).axes
    own = frame[(frame["experiment"] == "postprocess") & (frame["protocol"] == "paper")]
    series = own[own["method"] == "otf"]["pdp"]
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
    names = {
        f"curves_{protocol}_{part}{end}"
        for protocol in ("full", "paper")
        for part in ("test", "train")
        for end in ("", "_rest")  # Adult apart, so that its panels are large
    }
    names |= {"poster", "postprocess", "epsilon", "epsilon_paper", "epsilon_published"}
    names |= {"curves_full_common_rest"}  # Norm with p = 2 has three splits of four but on Adult
    assert {p.name for p in tmp_path.iterdir()} == {
        f"{n}.{s}" for n in names for s in ("pdf", "png")
    }
    assert sorted(written) == sorted(tmp_path.iterdir())


def test_methods_of_a_panel_have_the_same_splits(results):
    frame = to_frame([r for r in results if r.run.method != "otf" or r.run.split == 0])
    name = "Diabetes, gender: PDP"
    axes = {a.get_title(): a for a in draw_curves(frame, "full", "test").axes}[name]
    assert "3 splits" in axes.get_xlabel()  # Norm with p = 2 has three of four, which is most
    assert lines_of(axes, "norm2")
    assert not lines_of(axes, "otf")  # it has one split of four
    (line,) = lines_of(axes, "norm")
    own = frame[(frame["dataset"] == "diabetes") & (frame["protocol"] == "full")]
    own = own[own["split"] == 0].set_index("alpha")
    axes = {a.get_title(): a for a in draw_curves(frame, "full", "test", common=True).axes}[name]
    assert "split 0 alone" in axes.get_xlabel()
    (free,) = own[own["method"] == "unfair"]["test_auc"]
    for method in ("norm", "otf"):
        (line,) = lines_of(axes, method)
        aucs = own[(own["method"] == method) & (own["notion"] == "pdp")]["test_auc"]
        np.testing.assert_allclose(line.get_ydata()[1:], aucs.sort_index() - free)


def test_a_strength_that_some_splits_lack_is_not_drawn(results):
    name, method = "Diabetes, gender: PDP", "norm"
    alone = [r for r in results if r.run.split == 0 or r.run.method != method or r.run.alpha != 0.5]
    points = []
    for each in (results, alone):
        drawn = draw_curves(to_frame(each), "full", "test").axes
        (line,) = lines_of({a.get_title(): a for a in drawn}[name], method)
        points.append(len(line.get_xdata()))
    assert points[1] == points[0] - 1


def test_a_split_whose_unfair_model_is_almost_fair_does_not_decide_the_share():
    own = pd.DataFrame({"split": [0, 1, 2], "alpha": 0.5, "x": [0.1, 0.2, 0.1], "y": 0.8})
    free = pd.DataFrame({"x": [0.4, 0.4, 1e-6], "y": 0.9}, index=[0, 1, 2])
    found = _relative(own, free, "x", "y")
    assert found["share"].mean() == pytest.approx(0.4 / 0.8, rel=1e-5)
    np.testing.assert_allclose(found["gain"], -0.1)
    # A method that is the unfair model has all of its violation left, without any spread.
    same = _relative(free.reset_index(names="split").assign(alpha=0.0), free, "x", "y")
    np.testing.assert_allclose(same["share"], 1)


def test_no_errors_below_three_splits(results):
    for protocol, some in (("full", True), ("paper", False)):
        axes = draw_curves(to_frame(results), protocol, "test").axes
        assert any(a.patches or a.containers for a in axes) == some


@pytest.mark.parametrize(("part", "more"), [("test", 1 / 4), ("train", 4)])
@pytest.mark.parametrize(("noise", "wide"), [(1e-4, False), (0.3, True)])
def test_ellipses_that_would_hide_the_curves_become_a_cross_for_each_method(
    noise, wide, part, more
):
    rng, points = np.random.default_rng(0), {}
    for method in ("unfair", "norm", "otf"):
        alpha = np.repeat([0.2, 0.5, 0.8], 5) * (method != "unfair")
        share = 1 - alpha + noise * rng.normal(size=15)
        points[method] = pd.DataFrame({"alpha": alpha, "share": share, "gain": -0.1 * alpha})
    axes = Figure().subplots()
    axes.set(xlim=(0, 1), ylim=(-0.1, 0))
    _draw_errors(axes, points, part)
    assert (len(axes.patches), len(axes.containers)) == ((0, 2) if wide else (6, 0))
    if wide:
        own = points["otf"][points["otf"]["alpha"] == 0.5]["share"]
        (bar,) = axes.containers[1].lines[2][0].get_segments()
        np.testing.assert_allclose(np.ptp(bar[:, 0]) / 2, own.std() * np.sqrt(1 / 5 + more))


def test_a_model_that_collapses_does_not_decide_the_axis():
    assert _collapses(pd.Series([-0.001, -0.01, -0.05]))
    assert not _collapses(pd.Series([-0.001, -0.01, -0.015]))
    assert not _collapses(pd.Series([0.001, 0.002, 0.003]))
    assert not _collapses(pd.Series([-0.05]))


def test_the_poster_shows_the_intervals_of_the_comparison():
    frame = straight(LEADS)
    figure = draw_poster(frame)
    left, *right = figure.axes[0], *figure.axes[2:]
    for axes, notion in zip(right, ("pdp", "peo"), strict=True):
        expected = []
        for mine in ("otf", "otf_attributes"):  # by default, the second where there are two
            table = compare(frame, "full", "test", mine, ("norm",))
            table = table[(table["share"] == 0.5) & (table["attribute"] != "larger")]
            own = table[(table["dataset"] == "adult") == (mine == "otf_attributes")]
            expected += [d.mean for d in own[own["notion"] == notion]["difference"] if d.counts]
        assert len(expected) == 7
        drawn = axes.containers[0].lines[0].get_xdata()
        np.testing.assert_allclose(sorted(np.asarray(drawn, dtype=float)), sorted(expected))
    labels = left.get_legend_handles_labels()[1]
    assert len(labels) == 4
    assert labels[-1] == "unfair model"
    markers = [style[2] for name, style in STYLES.items() if name in ("norm", "norm2", "otf")]
    assert len(set(markers)) == 3


def test_texts_of_the_poster_are_within_it_and_apart():
    figure = draw_poster(straight(LEADS))
    figure.set_dpi(100)
    figure.draw_without_rendering()
    title = figure._suptitle.get_window_extent()
    assert 0.05 * figure.bbox.width < title.x0
    assert title.x1 < 0.95 * figure.bbox.width
    boxes = [axes.title.get_window_extent() for axes in figure.axes]
    assert all(box.x0 > 0 and box.x1 < figure.bbox.width for box in boxes)
    for left, right in (boxes[:2], boxes[2:]):
        assert left.x1 < right.x0
    assert all(box.y1 < above.y0 for box in boxes[2:] for above in boxes[:2])
    assert max(box.y1 for box in boxes) < title.y0


def test_the_posters_words_are_those_of_its_intervals():
    frame = straight(LEADS)
    figure, table = draw_poster(frame), standings(frame)
    assert {"ahead", "level", "behind"} <= set(table["word"])
    total = {name: (table["word"] == name).sum() for name in OF}
    for name, count in total.items():
        assert (f"{name} in {count}" in figure.get_suptitle()) == bool(count)
    for axes, notion in zip(figure.axes[2:], ("pdp", "peo"), strict=True):
        said = axes.get_title().splitlines()[-1].split(", ")
        own = table[table["notion"] == notion]["word"].tolist()
        assert said == [f"{name} {own.count(name)}" for name in OF if name in own]
        drawn = sum(len(c.lines[0].get_xdata()) for c in axes.containers)
        assert drawn == len(own)  # what is counted is what is drawn
    for axes, notion in zip(figure.axes[:2], ("pdp", "peo"), strict=True):
        rows = table[(table["dataset"] == "adult") & (table["notion"] == notion)]
        rows = rows[(rows["attribute"] == "sex+race") & (rows["against"] == "norm")]
        (found,), (word,) = rows["difference"], rows["word"]
        assert axes.get_title().endswith(f"{OF[word]} Norm at one half ({found.mean:+.4f})")


def test_captions_say_what_is_seen(results):
    found = {name: caption for name, (caption, _) in drawings(to_frame(results)).items()}
    frame = to_frame(results)
    post = frame[(frame["experiment"] == "postprocess") & (frame["protocol"] == "paper")]
    post = post[post["method"] == "otf"]
    pdp = np.array(post["pdp"].tolist()).mean(0)
    assert f"PDP goes from {pdp[24]:.3f} to {pdp[-1]:.3f}" in found["postprocess"]
    assert "entropy, so they may be slightly negative" in found["postprocess"]
    runs = frame[(frame["experiment"] == "epsilon") & (frame["protocol"] == "full")]
    runs = runs[(runs["split"] == 0) & (runs["alpha"] == 0.9) & (runs["epsilon"] == 10)].iloc[0]
    apart = abs(np.median(runs["quantiles_Male"]) - np.median(runs["quantiles_Female"]))
    assert f"{apart:.2f} apart with epsilon 10: full protocol" in found["epsilon"]
    assert found["poster"] == of_poster()
    assert draw_poster(to_frame(results)).get_suptitle().startswith("Too few splits")
    # One split has no mean to speak of.
    assert found["curves_paper_test"].startswith("On the whole AUC falls")
    assert len(set(found.values())) == len(found)


def test_adult_is_drawn_apart_from_the_other_datasets():
    found = drawings(straight({}))
    titles = {}
    for name in ("curves_full_test", "curves_full_test_rest"):
        titles[name] = [axes.get_title() for axes in found[name][1]().axes]
    adult, rest = titles.values()
    assert len(adult) == len(rest) == 8
    assert all(title.startswith("Adult, ") for title in adult)
    assert not any(title.startswith("Adult, ") for title in rest)
    assert "(Adult, " in found["curves_full_test"][0]
    assert "(Adult, " not in found["curves_full_test_rest"][0]


def test_the_caption_of_curves_has_the_least_and_the_largest_cost():
    caption = of_curves(straight({}), "full", "train")
    said = "by -0.0010 (Bank, age group, PDP) to -0.0500 (Dutch, sex, PDP): Adult, Bank"
    assert said in caption
