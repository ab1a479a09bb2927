"""Where OTF stands: words that follow from the runs, of the default method and all its rivals."""

from __future__ import annotations

import pytest

from otfair.reproduction import Result, plan, to_frame
from otfair.reproduction._claims import mean_difference
from otfair.reproduction._poster import message
from otfair.reproduction._stands import default_method, standings, stands, word, words

ATTRIBUTES = {"adult": ("sex", "race"), "dutch": ("sex",)}
LEAD = {  # of each method over Norm
    "adult": {"norm2": 0.01, "correlation": -0.01, "otf": -0.02, "otf_attributes": 0.004},
    "dutch": {"otf": 0.0004},
}


def results(lead: dict[str, dict[str, float]] = LEAD) -> list[Result]:
    runs = [
        *plan("adult", "full", 4), *plan("dutch", "full", 4), *plan("attributes", "full", 4),
        *plan("others", "full", 3),
    ]  # fmt: skip
    out = []
    for run in runs:
        if run.dataset not in ATTRIBUTES:
            continue
        left = 1 - run.alpha
        ahead = lead[run.dataset].get(run.method, 0.0) * (run.alpha > 0)
        metrics = {
            f"{part}_{notion}_{column}": 0.3 * left
            for part in ("train", "test")
            for notion in ("pdp", "peo")
            for column in ATTRIBUTES[run.dataset]
        }
        auc = 0.85 + 0.05 * left + ahead + 1e-5 * run.split
        out.append(Result(run, {**metrics, "train_auc": auc, "test_auc": auc}, 1.0, {}, ""))
    return out


@pytest.mark.parametrize(
    ("gaps", "expected"),
    [
        ([0.004, 0.005, 0.006], "ahead"),
        ([-0.004, -0.005, -0.006], "behind"),
        ([-0.1, 0.0, 0.1], "level"),
        ([0.0003, 0.0004, 0.0005], "level"),  # surely above zero, and below the margin
    ],
)
def test_a_difference_is_named(gaps, expected):
    assert word(mean_difference(gaps)) == expected


def test_all_that_differences_are_is_named_from_the_best_on():
    level, behind = mean_difference([-0.1, 0.0, 0.1]), mean_difference([-0.1, -0.11, -0.1])
    assert words([behind, level, behind]) == "level or behind"


def test_the_default_is_one_cost_for_each_of_several_attributes():
    assert (default_method("adult"), default_method("dutch")) == ("otf_attributes", "otf")
    table = standings(to_frame(results()))
    adult = table[(table["dataset"] == "adult") & (table["against"] == "norm")]
    assert all(d.mean == pytest.approx(0.004) for d in adult["difference"])


def test_norm_and_the_strongest_penalty_are_named_with_their_splits():
    odds, parity, race, sex, rest = stands(to_frame(results()))
    norm = "**ahead** of Norm, +0.0040 [+0.0040, +0.0040] (4 splits)"
    squared = "**behind** Norm p = 2, -0.0060 [-0.0060, -0.0060] (3 splits)"
    assert odds.endswith(f": {norm}; {squared}.")
    assert parity.endswith(f": {norm}; {squared}.")
    assert race.count(squared) == 2  # the strongest alone, for each notion
    assert race.endswith("as in the paper: -0.0300 and -0.0300.")
    assert "Barycenter" in sex
    assert f"; {norm}; {squared}." in sex
    assert "Dutch, one attribute each: **level**, " in rest
    # Where Norm is the strongest, it stands alone.
    alone = stands(to_frame(results({**LEAD, "adult": {"otf_attributes": -0.002, "norm2": -0.01}})))
    assert alone[0].endswith(": **behind** Norm, -0.0020 [-0.0020, -0.0020] (4 splits).")


def test_fewer_than_three_splits_are_not_named():
    fewer = [r for r in results() if r.run.method != "norm2" or r.run.split < 2]
    assert "p = 2" not in " ".join(stands(to_frame(fewer)))


def test_what_is_not_reached_is_said():
    kept = [r for r in results() if r.run.dataset != "dutch" or r.run.notion != "peo"]
    *_, rest = stands(to_frame(kept))
    assert rest.endswith("Too few splits come so low to compare: Dutch, sex, equalized odds.")


def test_the_posters_title_says_the_same():
    title = message(standings(to_frame(results())))
    said = ["equalized odds: ahead or behind.", "Demographic parity: ahead or behind."]
    said += ["By race alone: behind.", "Other datasets: level."]
    assert title == "OTF on Adult, " + "  ".join(said)
