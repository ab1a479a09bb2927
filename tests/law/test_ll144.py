"""Local Law 144: examples computed by hand, to the last digit shown."""

from __future__ import annotations

import datetime
import io

import numpy as np
import pandas as pd
import pytest

import otfair

RATES = ["category", "people", "selected", "rate", "impact_ratio"]


def people(*rows: tuple[str, str, int, int]) -> dict[str, list]:
    """Make people: of each sex and race so many, of whom some are selected."""
    sex, race, decisions = [], [], []
    for a, b, n, s in rows:
        sex += [a] * n
        race += [b] * n
        decisions += [1] * s + [0] * (n - s)
    return {"outcome": decisions, "sex": sex, "race": race}


def rows(found: otfair.LawTable, table: str) -> pd.DataFrame:
    return found.tables[table].set_index("category")


def test_the_example_of_the_rule():
    # The rule's own example of scores: 50 of 92 men and 34 of 76 women are above the median.
    scores = np.r_[np.arange(100, 150), np.arange(0, 42), np.arange(150, 184), np.arange(42, 84)]
    sex = ["Male"] * 92 + ["Female"] * 76
    found = otfair.ll144(scores, sex=sex, race=["x"] * 168)
    assert found.record.median == (83 + 100) / 2
    table = rows(found, "sex")
    assert [f"{100 * rate:.1f}" for rate in table["rate"][:2]] == ["44.7", "54.3"]
    assert [f"{ratio:.2f}" for ratio in table["impact_ratio"][:2]] == ["0.82", "1.00"]


def test_decisions_by_sex_race_and_both():
    found = otfair.ll144(
        **people(("F", "A", 20, 8), ("F", "B", 30, 9), ("M", "A", 10, 6), ("M", "B", 40, 20))
    )
    assert list(found.tables) == ["sex", "race/ethnicity", "sex by race/ethnicity"]
    sex, race, both = (rows(found, name) for name in found.tables)
    assert sex["rate"].to_list()[:2] == [17 / 50, 26 / 50]
    assert sex["impact_ratio"].to_list()[:2] == [17 / 26, 1.0]
    assert race["rate"].to_list()[:2] == [14 / 30, 29 / 70]
    assert race["impact_ratio"].to_list()[:2] == [1.0, pytest.approx(87 / 98)]
    assert both["impact_ratio"].to_list()[:4] == pytest.approx([2 / 3, 0.5, 1.0, 5 / 6])
    assert both.index[0] == "F, A"
    assert both["status"].to_list() == ["", "", "reference", "", "unknown"]
    assert sex.loc["(unknown)", "people"] == 0


def test_unknown_people_are_counted_in_each_table_and_in_no_ratio():
    given = people(("F", "A", 4, 1), ("M", "A", 4, 2), ("", "A", 3, 3), ("F", "Unknown", 2, 1))
    given["sex"][-1] = None  # unknown in both
    found = otfair.ll144(**given)
    assert [part.unknown for part in found.parts] == [4, 2, 5]
    assert rows(found, "sex").loc["F", "people"] == 5
    assert rows(found, "sex by race/ethnicity").loc["F, A", "people"] == 4
    assert rows(found, "sex").loc["(unknown)", ["people", "selected"]].to_list() == [4, 3]
    said = " ".join(found.parts[0].notes)
    assert "(empty) (4)" in said


@pytest.mark.parametrize(
    "word",
    ["", "  ", "unknown", " UNKNOWN ", "Decline to answer", "Unknown/Invalid", None, np.nan, pd.NA],
)
def test_words_that_mean_unknown(word):
    sex = pd.Series(["f", "m", "f", word], dtype=object)
    found = otfair.ll144([1, 1, 0, 1], sex=sex, race=list("abab"))
    assert rows(found, "sex").index.to_list() == ["f", "m", "(unknown)"]
    assert rows(found, "sex").loc["(unknown)", "people"] == 1


def test_words_of_ones_own():
    found = otfair.ll144([1, 0, 1], sex=["f", "unknown", "zz"], race=list("aba"), unknown=["ZZ"])
    assert rows(found, "sex").index.to_list() == ["f", "unknown", "(unknown)"]


def test_blanks_around_a_name_do_not_make_another_category():
    found = otfair.ll144([1, 0, 1], sex=["f", " f ", "m"], race=list("aba"))
    assert rows(found, "sex").loc["f", "people"] == 2


def test_the_median_is_that_of_all_people_the_unknown_included():
    # Without the two unknown people the median would be 2.5.
    scores, sex = [1, 2, 3, 4, 10, 11], ["f", "f", "m", "m", None, None]
    found = otfair.ll144(scores, sex=sex, race=list("ababab"))
    assert found.record.median == 3.5
    assert rows(found, "sex")["selected"].to_list() == [0, 1, 2]


def test_people_at_the_median_are_not_above_it_and_that_is_said():
    found = otfair.ll144([1, 2, 5, 5, 5, 5], sex=list("fmfmfm"), race=list("ababab"))
    table = rows(found, "sex")
    assert table["rate"].to_list()[:2] == [0.0, 0.0]
    assert table["impact_ratio"].isna().all()
    assert "4 people have a score equal to the median" in found.record.notes[0]
    assert "Every rate is 0" in " ".join(found.parts[0].notes)


def test_low_scores_may_be_the_favourable_ones():
    scores, sex = [1, 2, 3, 4], list("ffmm")
    found = otfair.ll144(scores, sex=sex, race=list("abab"), favourable=0)
    assert rows(found, "sex")["rate"].to_list()[:2] == [1.0, 0.0]
    assert "below 2.5" in found.record.outcome
    assert "low scores are favourable" in found.record.outcome


def test_small_categories_may_be_excluded_with_a_reason():
    given = people(("F", "A", 60, 30), ("M", "A", 59, 20), ("X", "A", 1, 1))
    found = otfair.ll144(**given, exclude_below=0.02, reason="one person")
    table = rows(found, "sex")
    # Excluded: count and rate are there, the ratio is not, and it is not the reference.
    assert table.loc["X", ["people", "rate", "status"]].to_list() == [1, 1.0, "excluded"]
    assert np.isnan(table.loc["X", "impact_ratio"])
    assert table.loc["F", ["impact_ratio", "status"]].to_list() == [1.0, "reference"]
    assert found.record.reason == "one person"
    assert rows(otfair.ll144(**given), "sex").loc["F", "impact_ratio"] == 0.5


def test_a_category_of_exactly_two_percent_stays():
    given = people(("F", "A", 49, 20), ("M", "A", 50, 20), ("X", "A", 1, 1))
    given = {name: [*values, *values] for name, values in given.items()}
    table = rows(otfair.ll144(**given, exclude_below=0.01, reason="few"), "sex")
    assert table.loc["X", "status"] == "reference"


def test_excluding_needs_a_reason_and_two_percent_at_most():
    given = people(("F", "A", 60, 30), ("M", "A", 59, 20))
    with pytest.raises(ValueError, match=r"`reason` is empty; the rule asks why"):
        otfair.ll144(**given, exclude_below=0.02, reason=" ")
    with pytest.raises(ValueError, match=r"`exclude_below` must lie in \[0, 0.02\]; received 0.05"):
        otfair.ll144(**given, exclude_below=0.05, reason="few")


def test_all_is_repeated_for_each_group_that_people_are_sorted_into():
    given = people(("F", "A", 4, 1), ("M", "A", 4, 2))
    groups = ["coach", "coach", "coach", "driver", "coach", "driver", "driver", None]
    found = otfair.ll144(**given, groups=groups)
    assert len(found.tables) == 9
    coach, driver = rows(found, "coach: sex"), rows(found, "driver: sex")
    # Selected are those who are sorted into the group, of all of the category.
    assert coach["selected"].to_list()[:2] == [3, 1]
    assert driver["rate"].to_list()[:2] == [1 / 4, 2 / 4]
    assert driver["impact_ratio"].to_list()[:2] == [0.5, 1.0]
    assert "1 people were sorted into no group" in found.record.notes[0]
    alone = otfair.ll144(sex=given["sex"], race=given["race"], groups=groups)
    assert list(alone.tables) == list(found.tables)[3:]


def test_one_category_only():
    found = otfair.ll144([1, 0], sex=["f", "f"], race=["a", "b"])
    assert rows(found, "sex").loc["f", "impact_ratio"] == 1.0
    assert "one category only" in found.parts[0].notes[0]


def test_nobody_known_in_both():
    found = otfair.ll144([1, 0], sex=["f", None], race=[None, "b"])
    both = found.tables["sex by race/ethnicity"]
    assert both["category"].to_list() == ["(unknown)"]
    assert both["people"].to_list() == [2]
    assert "Nobody is known in all of these" in " ".join(found.parts[2].notes)
    assert "fit no category that was seen" in " ".join(found.parts[2].notes)


@pytest.mark.parametrize(
    ("decisions", "favourable", "expected"),
    [
        (["yes", "no", "yes", "no"], 1, [1, 1]),
        (["yes", "no", "no", "no"], 0, [1, 2]),
        (["hired", "out", "hired", "hired"], "hired", [1, 2]),
        ([True, False, True, True], 1, [1, 2]),
        (pd.Series([1.0, 0.0, 0.0, 0.0]), 1, [1, 0]),
        ([0, 0, 0, 0], 1, [0, 0]),
        ([0, 0, 0, 0], 0, [2, 2]),
    ],
)
def test_decisions_in_many_forms(decisions, favourable, expected):
    found = otfair.ll144(decisions, sex=list("ffmm"), race=list("abab"), favourable=favourable)
    assert rows(found, "sex")["selected"].to_list()[:2] == expected


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"outcome": ["hired", "out"] * 2}, "Say which one is favourable with `favourable='out'`"),
        ({"outcome": ["a", "b"] * 2, "favourable": "c"}, "`favourable` is 'c', which no decision"),
        ({"outcome": ["a", "b", "c", "a"]}, "holds text of 3 value"),
        ({"outcome": [1, 2, 1, 2]}, "has two values, 1 and 2, and can't be told from decisions"),
        ({"outcome": [1, 2, 3, np.inf]}, "must be finite"),
        ({"outcome": [1, 2, 3, None]}, r"missing for 1 of 4 people, the first in row 3 .*skip_un"),
        ({"outcome": [None] * 4}, "nobody has a score or a decision"),
        ({"outcome": None}, "`outcome` is missing"),
        ({"outcome": [1, 0]}, "`outcome` has 2 entries but `sex` has 4 people"),
        ({"sex": [None, "", "unknown", "?"]}, "`sex` has no known category"),
        ({"race": np.arange(400.0)}, "has 400 entries"),
        ({"date": "yesterday"}, "must be a day such as 2026-11-17; received 'yesterday'"),
        ({"favourable": "x", "outcome": [1, 2, 3, 4]}, "must be 1 where high scores are favour"),
    ],
)
def test_errors_say_what_was_received_and_the_fix(change, message):
    given = {"outcome": [1, 0, 1, 0], "sex": list("ffmm"), "race": list("abab")} | change
    with pytest.raises(ValueError, match=message):
        otfair.ll144(**given)


def test_too_many_categories_are_refused():
    with pytest.raises(ValueError, match=r"`race` has 60 categories, more than 50"):
        otfair.ll144([0, 1] * 30, sex=["f", "m"] * 30, race=np.arange(60))


def test_people_without_an_outcome_are_left_out_if_asked_for():
    given = {"sex": list("ffmm"), "race": list("abab"), "skip_unscored": True}
    found = otfair.ll144([1, 0, 1, None], **given)
    assert found.record.people == 3
    assert found.record.left_out == {"no outcome": 1}


def test_the_record_holds_what_a_summary_has_to_say():
    found = otfair.ll144(
        [1, 0], sex=["f", "m"], race=["a", "b"], source="2025", explanation="all",
        date=datetime.date(2026, 3, 1),
    )  # fmt: skip
    record = found.record
    assert (record.source, record.explanation, record.date) == ("2025", "all", "2026-03-01")
    assert len(record.checksum) == 64
    other = otfair.ll144([1, 0], sex=["f", "m"], race=["a", "c"])
    assert other.record.checksum != record.checksum


def test_csv_has_every_table_and_runs_nothing(tmp_path):
    found = otfair.ll144([1, 0], sex=["=1+1", "m"], race=["a", "b"], source="x\ry")
    path = tmp_path / "ll144.csv"
    text = found.to_csv(path)
    assert path.read_bytes().decode() == text
    read = pd.read_csv(io.StringIO(text), lineterminator="\n")
    assert read["table"].unique().tolist() == list(found.tables)
    assert read["category"][0] == "'=1+1"
    assert read["people_assessed"].eq(2).all()


def test_bounds_are_in_the_tables():
    given = people(("F", "A", 4, 2), ("M", "A", 4, 3), ("", "A", 2, 1))
    table = rows(otfair.ll144(**given), "sex")
    assert table.loc["F", ["lowest", "highest"]].to_list() == [0.5, 1.0]
    # Shared out: half a selected and half another person each.
    assert table.loc["F", "at_shares"] == pytest.approx(2.5 / 3.5)
