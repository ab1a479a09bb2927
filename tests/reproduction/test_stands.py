"""Where OTF stands: words that follow from the runs, of the default method and all its rivals."""

from __future__ import annotations

import pytest

from otfair.reproduction import Result, plan, to_frame
from otfair.reproduction._claims import mean_difference
from otfair.reproduction._standings import default_method, headline, standings, tally, word
from otfair.reproduction._stands import reading, stands, verdict

ATTRIBUTES = {"adult": ("sex", "race"), "dutch": ("sex",)}
LEAD = {  # of each method over Norm
    "adult": {"norm2": 0.01, "correlation": -0.01, "otf": -0.02, "otf_attributes": 0.004},
    "dutch": {"otf": 0.0004},
}


def results(lead: dict[str, dict[str, float]] = LEAD, splits: int = 4) -> list[Result]:
    runs = [
        *plan("adult", "full", splits), *plan("dutch", "full", splits),
        *plan("attributes", "full", splits), *plan("others", "full", 3),
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
        ([-0.1, 0.0, 0.1], "undecided"),  # the interval reaches zero, and far beyond
        ([0.0003, 0.0004, 0.0005], "level"),  # surely above zero, and below the margin
        ([-0.0002, 0.0, 0.0002], "level"),
        ([0.0005, 0.0008, 0.0011], "undecided"),  # perhaps above the margin
        ([-0.001, 0.001, 0.004], "undecided"),
    ],
)
def test_a_difference_is_named(gaps, expected):
    assert word(mean_difference(gaps)) == expected


def test_words_are_counted_from_the_best_on():
    gaps = ([-0.1, -0.11, -0.1], [-0.1, 0.0, 0.1], [0.0, 0.0001, 0.0], [-0.1, -0.12, -0.1])
    assert tally([mean_difference(g) for g in gaps]) == "level in 1, undecided in 1 and behind in 2"
    assert tally([mean_difference(gaps[0])]) == "behind in 1"
    assert tally([]) == ""


def test_the_default_is_one_cost_for_each_of_several_attributes():
    assert (default_method("adult"), default_method("dutch")) == ("otf_attributes", "otf")
    table = standings(to_frame(results()))
    adult = table[(table["dataset"] == "adult") & (table["against"] == "norm")]
    assert all(d.mean == pytest.approx(0.004) for d in adult["difference"])


def test_norm_and_the_strongest_penalty_are_named_with_their_splits():
    odds, parity, race, sex, rest = stands(to_frame(results()))
    norm = "**ahead** of Norm, +0.0040 [+0.0040, +0.0040] (4 splits; holds by Holm)"
    squared = "**behind** Norm p = 2, -0.0060 [-0.0060, -0.0060] (3 splits; holds by Holm)"
    assert odds.endswith(f": {norm}; {squared}.")
    assert parity.endswith(f": {norm}; {squared}.")
    assert race.count(squared) == 2  # the strongest alone, for each notion
    assert race.endswith("as in the paper: -0.0300 and -0.0300.")
    assert "Barycenter" in sex
    assert sex.count(f"{norm}; {squared}") == 2  # for both notions
    assert rest.startswith("Dutch, one attribute each, ")
    assert "**level** in " in rest
    assert "undecided" not in rest
    # Where Norm is the strongest, it stands alone.
    alone = stands(to_frame(results({**LEAD, "adult": {"otf_attributes": -0.002, "norm2": -0.01}})))
    assert alone[0].endswith(
        ": **behind** Norm, -0.0020 [-0.0020, -0.0020] (4 splits; holds by Holm)."
    )


def test_fewer_than_three_splits_are_not_named():
    fewer = [r for r in results() if r.run.method != "norm2" or r.run.split < 2]
    assert "p = 2" not in " ".join(stands(to_frame(fewer)))


def test_what_is_not_reached_is_said():
    kept = [r for r in results() if r.run.dataset != "dutch" or r.run.notion != "peo"]
    *_, rest = stands(to_frame(kept))
    assert rest.endswith("Too few splits come so low to compare: Dutch, sex, equalized odds.")


def test_half_of_the_splits_or_fewer_are_not_named():
    # Three of six splits of Norm come down to one half, which would be enough for an interval.
    made = []
    for r in results(splits=6):
        metrics = dict(r.metrics)
        if r.run.method == "norm" and r.run.split >= 3 and r.run.dataset == "dutch":
            metrics |= {k: 0.2 + 0.1 * (1 - r.run.alpha) for k in metrics if "pdp" in k}
        made.append(Result(r.run, metrics, 1.0, {}, ""))
    table = standings(to_frame(made))
    own = table[(table["dataset"] == "dutch") & (table["against"] == "norm")]
    assert set(own["notion"]) == {"peo"}


def test_only_what_holds_by_holm_is_marked():
    # On Adult OTF is surely ahead of Norm if asked alone, p between .01 and .05, and not among all.
    made = []
    for r in results():
        metrics = dict(r.metrics)
        if r.run.method == "norm" and r.run.dataset == "adult":
            metrics["test_auc"] += 0.0011 * (-1) ** r.run.split * (r.run.alpha > 0)
        made.append(Result(r.run, metrics, 1.0, {}, ""))
    frame = to_frame(made)
    table = standings(frame)
    own = table[(table["dataset"] == "adult") & (table["against"] == "norm")]
    assert {0.01 < d.p < 0.05 for d in own["difference"]} == {True}
    assert not own["holm"].any()
    lines = " ".join(stands(frame))
    assert "**ahead** of Norm, +0.0040 [+0.0011, +0.0069] (4 splits)" in lines
    assert "**behind** Norm p = 2, -0.0060 [-0.0060, -0.0060] (3 splits; holds by Holm)" in lines
    sure = sum(d.low > 0 or d.high < 0 for d in table["difference"])
    said = f"{sure} of them leave out zero, and {table['holm'].sum()} by Holm's method."
    assert reading(frame).endswith(said)
    assert f"if all {len(table)} intervals" in reading(frame)


def test_barycenter_is_a_rival_where_it_was_made_for():
    table = standings(to_frame(results()))
    own = table[table["against"] == "barycenter"]
    assert {*zip(own["dataset"], own["attribute"], own["notion"])} == {
        ("adult", "sex", "pdp"),
        ("dutch", "sex", "pdp"),
    }


def test_the_verdict_says_where_it_is_better_and_where_worse():
    better, worse, counts = verdict(to_frame(results())).split(". ")
    where = "Adult by sex (both notions), by race (both notions) and by sex and race together"
    assert f"OTF predicts **better** than Norm, the usual penalty, on {where}" in better
    assert better.endswith("(both notions): by 0.0040 of AUC")
    assert f"**worse** than at least one simpler penalty on {where} (both notions)" in worse
    assert worse.endswith("by 0.0060 of AUC at most")
    table = standings(to_frame(results()))
    assert f"Of all {len(table)} comparisons it is ahead in " in counts
    assert counts.endswith("; the level ones are on Dutch.")


def test_the_verdict_follows_the_runs():
    lead = {**LEAD, "adult": {"otf_attributes": -0.002, "norm2": -0.01, "correlation": -0.01}}
    better, worse, _ = verdict(to_frame(results(lead))).split(". ")
    assert better.endswith("OTF nowhere surely predicts better than Norm, the usual penalty")
    assert worse.endswith("by 0.0020 of AUC at most")
    ahead = {"adult": {"otf_attributes": 0.004}, "dutch": {}}
    _, worse, _ = verdict(to_frame(results(ahead))).split(". ")
    assert worse == "It surely predicts worse than none"
    assert verdict(to_frame(results()[:1])) == ""


def test_the_posters_title_says_the_same():
    frame = to_frame(results())
    said = verdict(frame).split("comparisons it is ")[1].split(";")[0]
    assert f"{said} of {len(standings(frame))} comparisons" in headline(standings(frame))
