"""What docs/limits.md says of where we lose, computed again from the committed runs."""

from __future__ import annotations

import pandas as pd
import pytest
from page_scripts import (
    BENCHMARKS,
    DOCS,
    block,
    cells,
    crossing,
    interval,
    page,
    says,
    script,
    short,
    span,
)


def test_exponentiated_gradient_is_ahead_in_places():
    # By hand: at each of its mean gaps, its mean accuracy less ours between our own two points.
    runs = pd.read_csv(BENCHMARKS / "tables.csv")
    own = runs[(runs["table"] == "adult_all/sex") & (runs["base"] == "logistic")]
    own = own[own["notion"] == "demographic_parity"].fillna({"setting": 1.0})
    means = own.groupby(["method", "setting"])[["gap", "accuracy"]].mean()
    ours = means.loc[["plain", "free"]].sort_values("gap")
    behind = []
    for _, (gap, accuracy) in means.loc["reduction"].iterrows():
        low, high = (ours.iloc[(ours["gap"] > gap).argmax() + k] for k in (-1, 0))
        if gap < ours["gap"].iloc[0]:  # drawn out beyond our lowest gap
            low, high = ours.iloc[0], ours.iloc[1]
        slope = (high["accuracy"] - low["accuracy"]) / (high["gap"] - low["gap"])
        behind.append(accuracy - low["accuracy"] - slope * (gap - low["gap"]))
    says("limits", f"it is up to {short(max(behind))} ahead, {short(sum(behind) / 4)} on average")
    title, cell = next(r for r in cells(page("benchmarks"), "adult leads") if "Exp" in r[0])[:2]
    lead, reach = (float(x) for x in cell.split(" (")[0].split(" ± "))
    assert title == "ExponentiatedGradient"
    assert lead == pytest.approx(-sum(behind) / 4, abs=1e-4)
    assert -lead < reach  # within the interval


def test_with_another_preparation_it_is_ahead_by_less():
    # The figures themselves are computed again in test_decisions.py.
    row = next(r for r in cells(page("decisions"), "leads") if r[0] == "Adult, sex, logistic")
    lead, reach = (float(x) for x in row[1].split(" (")[0].split(" ± "))
    assert -lead < reach
    reached = "ahead over the two limits that our curve reaches"
    says("limits", f"With another preparation of Adult it is {short(-lead)} ahead, within the "
         f"interval, and .0006 ± .0005 {reached}.")  # fmt: skip
    for name in ("index", "../README"):
        says(name, f"is .0006 ± .0005 of accuracy {reached}")


def test_trained_again_ours_is_level_with_exponentiated_gradient():
    says("limits", "trained again (`retrain=True`) ours is level with it.")
    rows = {row[0]: row[1] for row in cells(page("benchmarks"), "adult leads")}
    lead, reach = rows["ExponentiatedGradient, ours trained again"].split(" (")[0].split(" ± ")
    assert abs(float(lead)) <= float(reach)
    assert abs(float(lead)) + float(reach) <= 0.002
    says("decisions", "At the two of its three limits whose gaps lie within our curve it is .0006 "
         "± .0005 ahead")  # fmt: skip


def test_many_small_groups():
    runs = pd.read_csv(DOCS / "decisions.csv")
    runs = runs[(runs["table"] == "acs_income/race") & (runs["notion"] == "demographic_parity")]
    means = runs.pivot_table(index=["base", "setting"], columns="method", values="accuracy")
    rivals = means[["attribute", "thresholds", "error_parity"]].dropna()
    margin, plain = (
        rivals.sub(means[ours].loc[rivals.index], axis=0).to_numpy().ravel().tolist()
        for ours in ("margin", "plain")
    )
    says("limits", f"`FairDecisions` is {span(margin, 3)} of accuracy behind rules that use the "
         f"attribute, and without a margin {span(plain, 3)}.")  # fmt: skip


def test_equalized_odds_near_zero():
    runs = pd.read_csv(BENCHMARKS / "tables.csv")
    runs = runs[(runs["table"] == "adult_all/sex") & (runs["notion"] == "equalized_odds")]
    means = runs.groupby(["method", "setting", "base"])["gap"].mean()
    lowest = means.groupby(["method", "base"]).min()

    def words(method: str, limit: float) -> tuple[str, str]:
        return tuple(short(means[method, limit, base], 3) for base in ("logistic", "boosted"))

    ours = [short(lowest["attribute", base], 3) for base in ("logistic", "boosted")]
    other, optimizer = words("error_parity", 0.01), words("thresholds", 0.0)
    says(
        "limits",
        f"comes to no smaller gap than {ours[0]} (logistic regression) and {ours[1]} (XGBoost). "
        f"With a limit of .01 error-parity comes to {other[0]} and {other[1]}, and "
        f"ThresholdOptimizer, which has none, to {optimizer[0]} and {optimizer[1]}.",
    )
    several, blind = words("mixed_attribute", 0.01), words("mixed", 0.01)
    says(
        "limits",
        f"With several rules (`randomize=True`) ours comes to {several[0]} and {several[1]}.",
    )
    one = words("plain", 0.01)
    says("limits", f"with a limit of .01 the gap is {one[0]} and {one[1]}, and with several rules "
         f"{blind[0]} and {blind[1]}.")  # fmt: skip


def test_promises_on_small_tables():
    # The count is computed again in test_decisions.py.
    says("decisions", "71 of 84 together, 85 %")
    says("limits", "On Law, COMPAS and a part of ACSIncome 71 of 84 promises about rates were kept")


def behind(mine: str, other: str, notion: str, *attributes: str, share: float = 0.5) -> str:
    """Return by how much a penalty is behind another on Adult, where a share is left, in words.

    Of several attributes, it is the larger share that counts.
    """
    runs = pd.read_csv(DOCS / "results.csv", low_memory=False)
    chosen = (runs["experiment"] == "curves") & (runs["protocol"] == "full")
    runs = runs[chosen & (runs["dataset"] == "adult")].sort_values("alpha")
    names = [f"test_{notion}_{attribute}" for attribute in attributes]
    found = {}
    for split, free in runs[runs["method"] == "unfair"].groupby("split"):
        for method in (mine, other):
            own = (runs["method"] == method) & (runs["notion"] == notion)
            path = pd.concat([free, runs[own & (runs["split"] == split)]])
            shares = (path[names] / free[names].iloc[0]).max(axis=1).to_numpy()
            found[method, split] = crossing(shares, path["test_auc"].to_numpy(), share)
    auc = pd.Series(found).unstack(0).dropna()
    mean, reach = interval(auc[other] - auc[mine], 1 / 4)
    assert mean > reach
    return f"{short(mean)} [{short(mean - reach)}, {short(mean + reach)}]"


def test_penalties_that_are_ahead_of_otf_on_adult():
    # By hand, for those of which the page speaks; which they are follows from the runs.
    losses = block(page("limits"), "losses")
    parity, odds = (behind("otf", "norm", notion, "race") for notion in ("pdp", "peo"))
    assert f"by race by {parity} for demographic parity and {odds} for equalized odds." in losses
    ours = "otf_attributes"
    parity, odds = (behind(ours, "norm", notion, "race") for notion in ("pdp", "peo"))
    assert f"Adult by race (demographic parity) OTF is behind Norm by {parity}" in losses
    assert f"Adult by race (equalized odds) OTF is behind Norm by {odds}" in losses
    square = behind(ours, "norm2", "pdp", "sex", "race")
    assert f"together (demographic parity) OTF is behind Norm p = 2 by {square}" in losses
    tenth = behind(ours, "norm", "pdp", "race", share=0.1)
    assert f"with a tenth left it is behind Norm by {tenth} on Adult by race" in losses
    short_of_it = block(page("limits"), "worst")
    assert f"0{parity.split()[0]} of AUC with half left" in short_of_it
    assert f"0{tenth.split()[0]} of AUC with a tenth left" in short_of_it


def test_one_attribute_alone():
    runs = pd.read_csv(BENCHMARKS / "neighbours.csv").sort_values("alpha")
    runs = runs[(runs["dataset"] == "adult") & (runs["notion"] == "PDP")]
    assert runs["split"].nunique() == 3
    found = {
        key: crossing(x := path["violation"].to_numpy(), path["auc"].to_numpy(), x[0] / 2)
        for key, path in runs.groupby(["penalty", "split"])
    }
    mean = pd.Series(found).groupby(level=0).mean()
    says("limits", f"OTF is behind Norm: {short(mean['otf'])} against {short(mean['norm'])} over "
         "three splits")  # fmt: skip
    fits = pd.read_csv(BENCHMARKS / "peers.csv").query("section == 'fit'").set_index("method")
    otf, norm = (short(fits["auc"][f"otfair, {name}"]) for name in ("OTF", "Norm"))
    says("limits", f"and {otf} against {norm} on one split of more people")


def test_training_with_otf_first_does_not_pay():
    benchmarks = script("benchmarks")
    runs = benchmarks.data.decisions()
    panels = [(benchmarks.ADULT, *panel) for panel in benchmarks.PANELS]
    panels += [(benchmarks.ACS, "boosted", notion) for notion in benchmarks.NOTIONS]
    for panel in panels:
        lead = benchmarks.data.lead(benchmarks.of(runs, *panel), "on_top", "plain")
        assert "ahead" not in lead.word
    says("limits", "Training with OTF first does not pay")


def test_norm_penalties_take_less_time():
    taken = pd.read_csv(BENCHMARKS / "peers.csv").set_index(["section", "method"])["seconds"]
    assert taken["step", "fairret, Norm"] < taken["step", "otfair, OTFLoss after fit"]
    assert taken["batch", "fairret, Norm"] < taken["batch", "otfair, cold"]
    again = taken["batch", "otfair, from the last solution"]
    assert again == pytest.approx(taken["batch", "fairret, Norm"], rel=0.25)
    says("limits", "later steps of OTF take about as long as fairret's Norm")
    says("coming_from", "the first step of a training loop takes less time; later ones take about")
    times = taken["fit", "otfair, OTF"] / taken["fit", "fairret, Norm"]
    assert times == pytest.approx(7, abs=0.5)
    says("limits", "whose whole fit by Adam takes a seventh of the time")
