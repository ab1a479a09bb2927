"""Every number of the page on performance comes from the runs that are committed."""

from __future__ import annotations

import pytest
from page_scripts import says, script
from pages import filled


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
    cold, bound = batch["otfair, cold"], batch["product and exp alone"]
    says("performance", "in less than three times what one product of matrices")
    assert cold < 3 * bound
    says("performance", "the next step of a training loop in a twentieth of that")
    assert batch["otfair, from the last solution"] == pytest.approx(cold / 20, rel=0.3)
    says("performance", "about six times the step of a small network, and less than a fiftieth")
    ours = step["otfair, OTFLoss after fit"]
    assert ours / step["a network of 100 units"] == pytest.approx(6, abs=0.5)
    assert ours < step["product and exp alone"] / 50
    says("performance", "General solvers of optimal transport take tens to thousands of times")
    assert 10 < batch["geomloss, Sinkhorn"] / cold < batch["POT, sinkhorn_log"] / cold < 10_000
    says("performance", "The published ascent takes about as long as we do")
    assert batch["published ascent"] == pytest.approx(cold, rel=0.2)
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
    lost = fits["auc"]["otfair, Norm"] - fits["auc"]["otfair, OTF"]
    says("performance", f"OTF's AUC is {lost:.4f} below that of Norm".replace("0.", "."))
    assert fits["violation"]["otfair, OTF"] < fits["violation"]["otfair, Norm"]
