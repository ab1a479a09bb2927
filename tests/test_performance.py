"""Every number of the page on performance comes from the runs that are committed."""

from __future__ import annotations

import pandas as pd
import pytest
from page_scripts import BENCHMARKS, cells, page, says, script, short
from pages import filled

from otfair.geometry import _boxes


@pytest.fixture(scope="module")
def performance():
    return script("performance")


def test_the_page_is_what_the_runs_say(performance):
    page, runs = performance.PAGE.read_text("utf-8"), performance.read()
    assert filled(page, performance.parts(runs), "performance.md") == page


def test_all_of_it_is_one_run(performance):
    runs = performance.read()
    assert runs["run"].nunique() == 1
    assert set(runs["section"]) == {"startup", "batch", "step", "pass", "growth", "fit"}
    assert performance.FIGURE.exists()


def test_the_readme_says_the_same(performance):
    text = performance.README.read_text("utf-8")
    assert filled(text, performance.speed(performance.read()), "README.md") == text


def test_the_first_lines_are_true_of_the_runs(performance):
    # By hand: each sentence of the page's list, and the inequality it states.
    times = performance.read().set_index(["section", "method"])["seconds"]
    batch, step, passes = (times[name] for name in ("batch", "step", "pass"))
    cold, again = batch["otfair, cold"], batch["otfair, from the last solution"]
    says("performance", f"In a training step on 1000 people, OTF takes {1e3 * cold:.2g} ms the "
         f"first time, and {1e3 * again:.2g} ms after that.")  # fmt: skip
    ours, small = step["otfair, OTFLoss after fit"], step["a network of 100 units"]
    says("performance", f"OTF takes {1e3 * ours:.2g} ms in a step on 1000 of them. The step of a "
         f"small network takes {1e3 * small:.2g} ms by itself.")  # fmt: skip
    assert passes["otfair, soft distances by boxes"] == pytest.approx(1, abs=0.05)
    says("performance", "The distances between all 45 222 people of Adult take 1 s.")
    line, norm = times["fit", "otfair, OTF"], times["fit", "fairret, Norm"]
    says("performance", f"A logistic regression on 30 000 people takes {line:.2g} s with OTF. "
         f"fairret's Norm takes {norm:.2g} s.")  # fmt: skip
    large = pd.read_csv(BENCHMARKS / "scale.csv").set_index(["table", "work", "people"])
    taken = large["cpu_seconds"]["synthetic", "logistic", 1_000_000]
    says("performance", f"on a million people takes {taken:.2g} s of one core")
    says("performance", "They take less time than the first step of OTF")
    assert max(batch["fairret, Norm"], batch["otfair, Norm"]) < cold
    says("performance", "takes about as long as ours, and stops far from")
    assert batch["published ascent"] == pytest.approx(cold, rel=0.2)
    notes = performance.read().set_index(["section", "method"])["note"]
    assert float(notes["batch", "published ascent"].removeprefix("residual ")) > 0.1
    brute, tree = (
        passes[f"scikit-learn, nearest people, {k}"] for k in ("brute force", "ball tree")
    )
    assert passes["otfair, nearest people by boxes"] < brute < tree
    fits = performance.read()
    fits = fits[fits["section"] == "fit"].set_index("method")
    says("performance", "fairret's Norm by Adam takes a seventh of the time of our fit with OTF")
    assert fits["seconds"]["otfair, OTF"] / fits["seconds"]["fairret, Norm"] == pytest.approx(
        7, abs=0.5
    )
    otf, norm = (short(fits["auc"][f"otfair, {name}"]) for name in ("OTF", "Norm"))
    says("performance", f"OTF's AUC is {otf} and that of Norm {norm}")
    assert fits["violation"]["otfair, OTF"] < fits["violation"]["otfair, Norm"]


def test_what_has_no_scores_has_no_auc():
    rows = {row[0]: row for row in cells(page("performance"), "fit")}
    _, _, auc, violation, note = rows.pop("fairlearn, ExponentiatedGradient")
    assert (auc, violation) == ("-", "-")
    assert note.startswith("mixes yes/no classifiers, no scores")
    assert all(row[2] != "-" for row in rows.values())


def test_of_two_times_of_a_general_solver_the_shorter_one_counts(performance):
    runs = performance.read()
    runs = runs[runs["people"] == 1000].set_index(["section", "method"])["seconds"]
    rows = {row[0]: row[1:] for row in cells(page("performance"), "batch")}
    found = []
    for name in ("geomloss, Sinkhorn", "POT, sinkhorn_log"):
        short, long = sorted([runs["batch", name], runs["growth", name]])
        time, times, note = rows[name]
        assert time == f"{short:.3g} s"
        assert f"; {long:.3g} s when timed again" in note
        found.append(short / runs["batch", "otfair, cold"])
        assert float(times.replace(" ", "")) == pytest.approx(found[-1], rel=0.03)
    says("performance", "General solvers of optimal transport take twenty to a thousand times")
    assert found == pytest.approx([20, 1000], rel=0.15)
    # Ours has its shorter time too.
    assert runs["batch", "otfair, cold"] < runs["growth", "otfair"]
    assert runs["batch", "product and exp alone"] < runs["growth", "products and exp alone"]


def test_growth_has_a_power_where_there_are_three_sizes(performance):
    runs = performance.read()
    runs = runs[runs["section"] == "growth"]
    sizes = runs.groupby("method")["people"].agg(["size", "max"])
    for name, people, _, power in cells(page("performance"), "growth"):
        assert int(people) == sizes["max"][name]
        assert (power == "-") == (sizes["size"][name] < 3)
    says("performance", "POT and geomloss hold all pairs, and were run up to 2000 people")
    assert set(sizes["max"][["POT, sinkhorn_log", "geomloss, Sinkhorn"]]) == {2000}
    ours = runs[runs["method"] == "otfair"].set_index("people")["seconds"]
    assert ours[16_000] < ours[8000]  # all pairs of one, boxes of the other
    says("performance", "At 16 000 it falls, because boxes take over")


def test_what_is_said_of_large_tables():
    runs = pd.read_csv(BENCHMARKS / "scale.csv")
    (day,) = runs["date"].unique()
    says("performance", f"Made with `make bench-scale`: {day}, 1 thread")
    assert set(runs["threads"]) == {1}
    seconds = runs.pivot(index="people", columns=["work", "table"], values="cpu_seconds")
    says("performance", "a pass, nearest people and an audit take longer for 10 000 people than")
    for work in ("pass", "nearest", "audit"):
        assert (seconds.loc[10_000, work] > seconds.loc[30_000, work]).all()
    assert round(_boxes.LEAST_PAIRS**0.5, -2) == 11_600
    says("performance", "Up to 11 600 people all pairs are compared")
    powers = [float(row[-1]) for row in cells(page("performance"), "scale")]
    says("performance", f"between {min(powers)} and {max(powers)}, where 1 is in proportion")
    assert runs["peak_gb"].max() < 6
    says("performance", "Memory stays below 6 GB")
