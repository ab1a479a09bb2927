"""What docs/decisions.md says of its runs, computed again without the page's own code."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from page_scripts import BENCHMARKS, DOCS, block, cells, interval, page, says, short, span

import otfair

TITLES = {
    "Adult, sex": "adult/sex", "Adult, race": "adult/race", "Bank, age_binned": "bank/age_binned",
    "Dutch, sex": "dutch/sex", "Diabetes, gender": "diabetes/gender",
    "ACSIncome, sex": "acs_income/sex", "ACSIncome, race": "acs_income/race",
}  # fmt: skip
METHODS = {
    "no limit": "free", "FairDecisions": "margin", "FairDecisions, no margin": "plain",
    "ExponentiatedGradient": "reduction", "FairDecisions, no margin*": "attribute",
    "ThresholdOptimizer*": "thresholds", "ThresholdOptimizer*, gap of 0": "thresholds",
    "error-parity*": "error_parity",
}  # fmt: skip


PEERS = ("reduction", "otf", "thresholds", "error_parity")
PARITY, ODDS = "demographic_parity", "equalized_odds"


@pytest.fixture(scope="module")
def decisions():
    runs = pd.read_csv(DOCS / "decisions.csv")
    return runs[runs["table"].isin(TITLES.values())]


@pytest.fixture(scope="module")
def rates(decisions):
    return decisions[decisions["notion"] == PARITY]


def ratio_of(table: str) -> float:
    """Return how many people test for each who trains."""
    return 150 / 120 if "acs" in table else 3 / 7


@pytest.mark.parametrize("base", ["logistic", "boosted"])
@pytest.mark.parametrize(("place", "notion"), [("{}", PARITY), ("{} odds", ODDS)])
def test_every_method_at_every_limit(decisions, base, place, notion):
    runs = decisions[(decisions["base"] == base) & (decisions["notion"] == notion)]
    seen = 0
    for title, method, *row in cells(page("decisions"), place.format(base)):
        ratio = ratio_of(TITLES[title])
        own = runs[(runs["table"] == TITLES[title]) & (runs["method"] == METHODS[method])]
        for limit, cell in zip((0.05, 0.02, 0.01), row):
            if not cell:
                continue
            one = method == "no limit" or "gap of 0" in method
            some = own if one else own[own["setting"] == limit]
            wanted = [*interval(some["accuracy"], ratio), *interval(some["gap_large"], ratio)]
            found = [float(x) for x in re.split(" ± | at ", cell)]
            assert found == pytest.approx(wanted, abs=5.1e-5)
            seen += 1
    assert seen >= 50


def promised(runs: pd.DataFrame) -> pd.DataFrame:
    """Return runs that promise something, and whether they kept it among test people."""
    own = runs[(runs["method"] == "margin") & (runs["confidence"] >= 0.9)]
    own = own[(own["promised"] == own["groups"]) | (own["promised"] > 1)]
    among = own["gap"].where(own["promised"] == own["groups"], own["gap_promised"])
    return own.assign(kept=among <= own["setting"])


def test_promises(decisions):
    own = promised(decisions[decisions["setting"].isin([0.05, 0.02, 0.01])])
    kept, count = own["kept"].sum(), len(own)
    says(
        "decisions", f"{kept} of {count} promises were kept", f"{kept} of {count} promises held",
        f"{0.9 * count:.0f} would be 90 %",
    )  # fmt: skip
    missed = own[~own["kept"]].groupby(["notion", "table", "setting"]).size().to_dict()
    assert missed == {
        (PARITY, "dutch/sex", 0.02): 2, (PARITY, "dutch/sex", 0.05): 1,
        (ODDS, "adult/race", 0.02): 3, (ODDS, "dutch/sex", 0.02): 2, (ODDS, "adult/sex", 0.05): 1,
    }  # fmt: skip
    says("decisions", "misses are on Dutch alone (17 of 20 within at .05 and .02)")
    says("decisions", "misses are at .02 on Adult by race (7 of 10) and Dutch (8 of 10), and one "
         "at .05 on Adult by sex")  # fmt: skip
    other = pd.read_csv(BENCHMARKS / "tables.csv")
    other = promised(other[(other["table"] == "adult_all/sex") & (other["notion"] == PARITY)])
    says("decisions", f"{other['kept'].sum()} of {len(other)} promises about rates held")


def test_splits_that_miss_are_unlucky_for_every_method_without_a_margin(rates):
    own = rates[rates["table"] == "dutch/sex"]
    missed = promised(own)
    missed = set(missed[~missed["kept"]]["seed"])
    assert (len(missed), own["seed"].nunique()) == (2, 5)
    others = own[own["method"].isin(["plain", "attribute", "reduction", *PEERS[2:]])]
    for _, part in others.groupby(["base", "method", "setting"]):
        assert set(part.nlargest(2, "gap")["seed"]) == missed
    says("decisions", "in two of its five splits. Every method without a margin has its two "
         "largest test gaps in these splits, at every limit")  # fmt: skip


def test_where_nothing_or_not_everything_is_promised(decisions, rates):
    own = rates[rates["method"] == "margin"]
    none = own.groupby(["setting", "table"])["confidence"].max() < 0.9
    sure = own.groupby(["setting", "table"])["confidence"].min() >= 0.9
    assert (none != sure).all()
    assert set(TITLES.values()) - set(none[0.01][none[0.01]].index) == {
        "acs_income/sex", "diabetes/gender",
    }  # fmt: skip
    says("decisions", "on all tables but ACSIncome by sex and Diabetes")
    assert list(none[0.02][none[0.02]].index) == ["adult/race"]
    says("decisions", "So is .02 on Adult by race.")
    free = rates[(rates["method"] == "free") & (rates["table"] == "diabetes/gender")]
    (balanced,) = {short(x, 2) for x in free.groupby("base")["balanced"].mean()}
    says("decisions", f"(balanced accuracy {balanced})")
    odds = decisions[(decisions["notion"] == ODDS) & (decisions["setting"] == 0.02)]
    odds = odds[odds["method"] == "margin"]
    part = odds[odds["table"].isin(["adult/sex", "adult/race", "dutch/sex"])]
    assert (set(part["promised"]), set(part["groups"])) == ({2}, {4})
    gaps = odds[odds["table"] == "adult/sex"].groupby("base")["gap"].mean()
    says("decisions", "the promise on Adult and Dutch is for two of the four rates; the mean gap "
         f"of all four on Adult by sex is {short(gaps['logistic'], 3)} (logistic regression) and "
         f"{short(gaps['boosted'], 3)} (XGBoost)")  # fmt: skip


def test_limits_on_odds_that_the_attribute_does_not_meet(decisions):
    own = decisions[(decisions["notion"] == ODDS) & (decisions["method"] == "attribute")]
    own = own[own["setting"] == 0.02]
    unmet = own[own["met"].astype(str).isin(["0.0", "False"])]
    wanted = own[own["table"].isin(["adult/sex", "dutch/sex"])]
    assert unmet.index.equals(wanted.index)
    says("decisions", f"in all {len(unmet)} runs of the comparison below with a limit of .02 on "
         "Adult by sex and on Dutch")  # fmt: skip


def test_coverage(decisions):
    own, total = decisions[decisions["method"] == "margin"], {}
    *rows, last = cells(page("decisions"), "coverage")
    for title, *row in rows:
        notion = ODDS if title.endswith("equalized odds") else PARITY
        table = TITLES[title.removesuffix(", equalized odds")]
        one = own[(own["table"] == table) & (own["notion"] == notion)]
        for limit, cell in zip((0.05, 0.02, 0.01), row):
            part = one[one["setting"] == limit]
            if not len(part):
                assert cell == "-"
                continue
            said = promised(part)
            if len(said):
                assert len(said) == len(part)
                whole = (said["promised"] == said["groups"]).all()
                assert cell == f"{said['kept'].sum()} of {len(said)}" + ("" if whole else "†")
                total.setdefault(limit, []).extend(said["kept"])
            else:
                assert cell == f"{(part['gap'] <= limit).sum()} of {len(part)} (none)"
    assert len(rows) == len(own.groupby(["table", "notion"]))
    assert last[1:] == [f"**{sum(total[x])} of {len(total[x])}**" for x in (0.05, 0.02, 0.01)]


def test_seconds(decisions):
    medians = decisions.groupby(["table", "method"])["seconds"].median()
    names = ("margin", "plain", "reduction", "otf", "attribute", "thresholds", "error_parity")
    for title, *row in cells(page("decisions"), "seconds"):
        for method, cell in zip(names, row):
            wanted = medians.get((TITLES[title], method), np.nan)
            assert cell == ("-" if np.isnan(wanted) else f"{wanted:.1f}")


def test_a_million_people():
    runs = pd.read_csv(DOCS / "decisions.csv")
    own = runs[runs["table"] == "loans/origin"]
    assert own.groupby("method")["setting"].apply(list).to_dict() == {
        "margin": [0.02, 0.05], "plain": [0.02, 0.05],
    }  # fmt: skip
    assert set(own["groups"]) == {3}
    took = own["train"]
    says("decisions", f"with three groups, took {took.min():.0f} to {took.max():.0f} s: one run "
         "for each of two limits, with a margin and without")  # fmt: skip


def test_what_a_margin_costs_and_the_attribute_saves(decisions, rates):
    wide = rates.pivot_table(
        index=["table", "base", "setting"], columns="method", values="accuracy"
    )
    costs = (wide["plain"] - wide["margin"]).dropna()
    costs = costs.drop(index=["acs_income/race", "bank/age_binned", "diabetes/gender"], level=0)
    says("decisions", f"{span(costs, 3)} for limits on rates on Adult, Dutch and ACSIncome by sex")
    plain = decisions[decisions["method"] == "plain"]
    above = (plain["gap_large"] > plain["setting"]).sum()
    says("decisions", f"above the limit in {above} of {len(plain)} runs")
    starred = wide[["attribute", "thresholds", "error_parity"]].sub(wide["plain"], axis=0).dropna()
    says(
        "decisions", f"without it in {(starred > 0).to_numpy().sum()} of {starred.size} comparisons"
    )
    adult, dutch = (span(starred.loc[t, "attribute"], 3) for t in ("adult/sex", "dutch/sex"))
    says("decisions", f"loses {adult} of accuracy more on Adult by sex, and {dutch} more on Dutch")


def at_equal_gaps(rates: pd.DataFrame, table: str, base: str, ours: str, peer: str) -> pd.DataFrame:
    """Return our leads by the peer's setting and seed, along the pieces of our mean curve."""
    own = rates[(rates["table"] == table) & (rates["base"] == base)]
    own = own.fillna({"setting": 1.0})
    theirs = own[own["method"] == peer]
    own = own[own["seed"].isin(theirs["seed"])]
    mine = own[own["method"].isin([ours, "free"])]
    line = mine.groupby("setting")[["gap_large", "accuracy"]].mean().sort_values("gap_large")
    found = {}
    for setting, other in theirs.groupby("setting"):
        other, gap = other.set_index("seed"), other["gap_large"].mean()
        for low, high in pairwise(line.index):
            ends = line.loc[[low, high]]
            if ends["gap_large"].iloc[0] <= gap <= ends["gap_large"].iloc[1]:
                slope = np.diff(ends["accuracy"]) / np.diff(ends["gap_large"])
                near = mine[mine["setting"] == (ends["gap_large"] - gap).abs().idxmin()]
                near = near.set_index("seed")
                moved = near["accuracy"] + slope[0] * (other["gap_large"] - near["gap_large"])
                found[setting] = moved - other["accuracy"]
                break
    return pd.DataFrame(found).T


@pytest.fixture(scope="module")
def leads(rates):
    """Means, half widths and numbers of settings at which ours can be compared."""
    found = {}
    for table in TITLES.values():
        for base in ("logistic", "boosted"):
            for peer in PEERS:
                ours = "plain" if peer in PEERS[:2] else "attribute"
                own = at_equal_gaps(rates, table, base, ours, peer)
                if len(own):
                    found[table, base, peer] = (*interval(own.mean(), ratio_of(table)), len(own))
    return found


def test_every_lead_at_equal_gaps(rates, leads):
    ran = set(rates.groupby(["table", "base", "method"]).groups)
    rows = cells(page("decisions"), "leads")
    for title, *row in rows:
        name, base = title.rsplit(", ", 1)
        for peer, cell in zip(PEERS, row):
            key = TITLES[name], base, peer
            if key in leads:
                mean, reach, count = leads[key]
                found = re.fullmatch(r"([+-]\.\d{4}) ± (\.\d{4}) \((\d)\)", cell)
                assert found is not None, cell
                assert float(found[1]) == pytest.approx(mean, abs=5.1e-5)
                assert float(found[2]) == pytest.approx(reach, abs=5.1e-5)
                assert int(found[3]) == count
            else:
                assert cell == ("out of reach" if key in ran else "-")
    assert len(rows) == 2 * len(TITLES)


def test_what_is_told_apart_are_the_intervals_without_zero(leads):
    clear = {key: mean for key, (mean, reach, _) in leads.items() if abs(mean) > reach}
    said = block(page("decisions"), "told apart")
    assert said.startswith(
        f"{len(clear)} of {len(leads)} intervals do not reach zero; "
        f"by chance alone {0.05 * len(leads):.1f} would not."
    )
    ahead, behind = said.split("; behind ")
    for part, sign in ((ahead, 1), (behind, -1)):
        wanted = sorted(short(abs(mean)) for mean in clear.values() if sign * mean > 0)
        assert sorted(re.findall(r"by (\.\d+)", part)) == wanted
    assert set(clear) == {
        ("adult/sex", "logistic", "reduction"), ("adult/sex", "logistic", "otf"),
        ("adult/sex", "boosted", "otf"), ("dutch/sex", "logistic", "thresholds"),
    }  # fmt: skip
    says("decisions", "with the attribute is level on Adult, Bank and ACSIncome: intervals reach")
    says("decisions", "**OTF on scores alone** is not told apart from ours on Dutch, and on Adult "
         "by race. On Adult by sex it is behind on average.")  # fmt: skip


def test_sentences_about_peers(rates, leads):
    dutch = {
        key: own for key, own in leads.items() if key[0] == "dutch/sex" and key[2] in PEERS[2:]
    }
    clear = sum(abs(mean) > reach for mean, reach, _ in dutch.values())
    says("decisions", f"On Dutch the means are {span([-own[0] for own in dutch.values()])} behind, "
         f"and {clear} of {len(dutch)} intervals is clear of zero")  # fmt: skip
    mean, reach, _ = leads["adult/sex", "logistic", "reduction"]
    assert reach < -mean
    says("decisions", f"**ExponentiatedGradient** is {short(-mean)} ahead on Adult by sex, with "
         "an interval that excludes zero. By race, and on Dutch, the two are not told "
         "apart.")  # fmt: skip
    own = rates[(rates["table"] == "dutch/sex") & (rates["base"] == "logistic")]
    own = own[own["method"].isin(["reduction", "plain"])]
    means = own.groupby(["method", "setting"])["gap_large"].mean()
    assert (means > means.index.get_level_values("setting")).all()
    says("decisions", "On Dutch its mean test gap is above every limit, and so is ours")


def test_sentences_about_otf_on_scores_alone(rates):
    own = at_equal_gaps(rates, "adult/sex", "logistic", "plain", "otf")
    for alpha in (0.7, 0.9):
        mean, reach = interval(own.loc[alpha], 3 / 7)
        assert abs(mean) < reach
    says("decisions", "it is level there at alphas of .7 and .9, and "
         f"{span(own.loc[0.97:].mean(axis=1))} behind from .97 on")  # fmt: skip
    part = rates[(rates["table"] == "adult/sex") & (rates["method"] == "otf")]
    gaps = part[part["base"] == "logistic"].groupby("setting")["gap_large"].mean()
    assert gaps.idxmin() == 0.97
    assert gaps.loc[0.97:].is_monotonic_increasing
    says("decisions", f"The gap of its decisions is {short(gaps[0.97], 3)} at .97 and grows again "
         f"to {short(gaps[0.999], 3)} at .999")  # fmt: skip
    assert part.groupby("base")["seed"].nunique().to_dict() == {"boosted": 4, "logistic": 5}
    boosted = rates[(rates["method"] == "otf") & (rates["base"] == "boosted")]
    assert set(boosted["table"]) == {"adult/sex"}
    says("decisions", "on Adult by sex and four seeds only")


def test_a_margin_is_a_stricter_limit(rates):
    seen = 0
    for table in ("adult/sex", "adult/race", "dutch/sex", "acs_income/sex"):
        for base in ("logistic", "boosted"):
            own = at_equal_gaps(rates, table, base, "plain", "margin").mean(axis=1)
            assert own.abs().max() < 0.001
            seen += len(own)
    assert seen >= 8
    says("decisions", "at equal gaps its mean accuracy is within .001 of that without a margin")


def test_nine_groups(rates):
    own = rates[rates["table"] == "acs_income/race"]
    kept = own[own["method"] == "margin"].groupby("setting")["promised"].unique()
    assert {limit: list(counts) for limit, counts in kept.items()} == {
        0.01: [0], 0.02: [2], 0.05: [5], 0.1: [6],
    }  # fmt: skip
    says("decisions", "five groups at a limit of .05, for two at .02, and for none at .01")
    own = own[own["base"] == "boosted"].fillna({"setting": 1.0})
    by = own.groupby(["method", "setting"])
    means = by[["accuracy", "gap_large", "ratio_large"]].mean()
    counts = by["seed"].nunique()
    assert counts[counts != 5].to_dict() == {("margin", 0.1): 3}

    def told(method: str, setting: float) -> list[str]:
        return [short(x, d) for x, d in zip(means.loc[(method, setting)], (4, 3, 2))]

    says(
        "decisions",
        "has an accuracy of {} at a gap of {} and a smallest ratio of {}.".format(
            *told("margin", 0.05)
        ),
        "Without a limit these are {}, {} and {}.".format(*told("free", 1.0)),
        "At a limit of .1 they are {}, {} and {} (three seeds)".format(*told("margin", 0.1)),
        "ThresholdOptimizer has {} at a gap of {}".format(*told("thresholds", 0.02)),
        "costs more ({} at {})".format(*told("plain", 0.05)),
        "is ruinous ({})".format(*told("plain", 0.02)),
    )


def test_small_groups_and_their_errors(data_home):
    data = otfair.load_dataset("adult", data_home=data_home)
    women = data.sensitive_features["sex"].astype(str) == "Female"
    people = 0.7 * (women.to_numpy() & (np.asarray(data.y) == 1)).sum()
    error = (0.25 / people) ** 0.5 * (1 + 3) ** 0.5  # the formula of the page, a third as many
    says("decisions", f"about {round(people, -1):.0f} women earn more than 50000 dollars. If their "
         "true positive rate is near one half, its error in a test part of a third as many is "
         f"{short(error, 2)}.")  # fmt: skip
    says("decisions", f"error of a rate of .3 is {short((0.3 * 0.7 / 50) ** 0.5, 3)}")
    data = otfair.load_dataset("acs_income", part="train", data_home=data_home)
    smallest = data.sensitive_features["race"].value_counts(normalize=True).min()
    says("decisions", f"The smallest has some {round(smallest * 120_000, -1):.0f} people of 120000")
