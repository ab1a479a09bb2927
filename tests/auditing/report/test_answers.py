"""The sentences that readers see first, in every case."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import otfair
from otfair.auditing import answers, favourable_sentence


def people(*rates: float, each: int = 1000, **columns: object) -> pd.DataFrame:
    """Return groups a, b, ... of so many people, of whom these shares have a score of 0.8."""
    group = np.repeat(list("abcdefghijkl")[: len(rates)], each)
    high = np.concatenate([np.arange(each) < round(rate * each) for rate in rates])
    return pd.DataFrame({"g": group, "p": np.where(high, 0.8, 0.2), **columns})


def audited(t: pd.DataFrame, **options: object) -> otfair.Audit:
    settings = {"n_bootstrap": 50, "labels": t.get("y")} | options
    return otfair.audit(t["p"], sensitive_features=t[["g"]], **settings)


def said(t: pd.DataFrame, **options: object) -> tuple[str, ...]:
    (answer,) = answers(audited(t, **options))
    return answer.title, *answer.sentences


def test_who_is_worse_off_by_how_much_and_whether_by_chance():
    title, gap, chance = said(people(0.078, 0.26), favourable=1)
    assert title == "g = a is worse off than g = b"
    assert gap == (
        "Of 1000 people with g = a, 182 fewer get the favourable decision (p above 0.5) than of "
        "1000 with g = b: 78 against 260."
    )
    assert chance.startswith("This is more than chance explains: between groups of these sizes, ")
    assert "Ratio of favourable decisions: 0.30 (0." in chance


def test_where_a_positive_decision_is_bad_more_of_it_is_worse():
    title, gap, _ = said(people(0.58, 0.33, 0.4), favourable=0)
    assert title == "g = a is worst off, g = b best off"
    assert gap == (
        "Of 1000 people with g = a, 250 more get the unfavourable decision (p above 0.5) than of "
        "1000 with g = b: 580 against 330."
    )


def test_where_it_is_not_known_words_are_neutral_and_the_reader_is_asked():
    t = people(0.1, 0.3)
    title, gap, chance = said(t)
    assert title == "g = a is lowest, g = b highest"
    assert gap == (
        "Of 1000 people with g = a, 200 fewer have p above 0.5 than of 1000 with g = b: "
        "100 against 300."
    )
    assert " Ratio: 0.33 (" in chance
    asked = favourable_sentence(audited(t))
    assert asked.startswith(
        "Say with --favourable 1 or 0 (in Python, favourable=) whether having p above 0.5 is good"
    )


def test_labels_name_the_outcome_and_names_tell_what_is_favourable():
    rng = np.random.default_rng(0)
    t = people(0.6, 0.3, y=rng.choice([0, 1], 2000)).rename(columns={"y": "recid"})
    found = otfair.audit(t["p"], sensitive_features=t[["g"]], labels=t["recid"], n_bootstrap=50)
    assert favourable_sentence(found) == (
        "The favourable decision is: not predicted recid = 1, as names suggest; --favourable "
        "(in Python, favourable=) overrules it."
    )
    (answer,) = answers(found)
    assert "300 more get the unfavourable decision (predicted recid = 1)" in answer.gap
    wrong = t[t.recid == 0].groupby("g")["p"].agg(lambda p: (p > 0.5).mean())
    (error,) = answer.others
    assert error == (
        f"Wrong decisions: of 1000 people with g = a and recid = 0, {1000 * wrong.a:.0f} get the "
        f"unfavourable decision, against {1000 * wrong.b:.0f} with g = b; more than chance "
        "explains."
    )
    own = otfair.audit(t["p"], sensitive_features=t[["g"]], labels=t["recid"], favourable=1)
    assert favourable_sentence(own) == "The favourable decision is: predicted recid = 1."
    (answer,) = answers(own)
    missed = t[t.recid == 1].groupby("g")["p"].agg(lambda p: (p <= 0.5).mean())
    assert f"with g = b and recid = 1, {1000 * missed.b:.0f} get the un" in answer.others[0]


def test_decisions_are_called_by_their_column():
    t = people(0.1, 0.3).assign(p=lambda t: (t.p > 0.5).astype(int)).rename(columns={"p": "hired"})
    found = otfair.audit(t["hired"], sensitive_features=t[["g"]], n_bootstrap=20)
    assert favourable_sentence(found).startswith("The favourable decision is: hired = 1, as names")
    assert "get the favourable decision (hired = 1) than" in answers(found)[0].gap
    none = otfair.audit(t["hired"], sensitive_features=t[["g"]], threshold=1.0, n_bootstrap=20)
    assert "nobody has hired above 1, so" in answers(none)[0].gap  # though some have hired = 1


def test_chance_may_explain_it():
    title, gap, chance = said(people(0.30, 0.302, 0.31), favourable=1)
    assert title == "g: chance may explain the difference between groups"
    assert gap.endswith("300 against 310.")
    assert chance.startswith("Chance may explain it: between groups of these sizes, gaps of up to ")
    assert ": \N{MINUS SIGN}" in chance  # the gap may be the other way round
    equal = said(people(0.3, 0.3), favourable=1)
    assert equal[1] == (
        "Of 1000 people with g = a, as many get the favourable decision (p above 0.5) as of 1000 "
        "with g = b: 300."
    )


def test_without_resamples_chance_is_not_judged():
    title, _, chance = said(people(0.1, 0.3), favourable=1, n_bootstrap=0)
    assert title == "g = a is worse off than g = b"
    assert chance == (
        "Whether chance explains it was not measured, without resamples. Ratio of favourable "
        "decisions: 0.33."
    )


def test_rare_decisions_are_told_of_more_people():
    t = people(0.0005, 0.002, each=20_000)
    assert said(t, favourable=1, n_bootstrap=10)[1].endswith("of 10000 with g = b: 5 against 20.")
    t = people(0.9990, 0.9970, each=20_000)  # here it is those who are spared
    assert "Of 1000 people with g = a, 2 more" in said(t, favourable=0, n_bootstrap=10)[1]


def test_small_groups_are_named_apart_and_never_in_the_headline():
    t = people(0.1, 0.3)
    few = pd.DataFrame({"g": ["two"] * 2 + ["ten"] * 10, "p": 0.8})
    title, gap, chance, small = said(pd.concat([t, few], ignore_index=True), favourable=1)
    assert small == "Too few people to say: g = ten (10), g = two (2)."
    assert not [text for text in (title, gap, chance) if "two" in text or "ten" in text]
    assert title == "g = a is worse off than g = b"  # of the two that count
    many = pd.DataFrame({"g": [f"town {k}" for k in range(9)] * 3, "p": 0.8})
    *_, small = said(pd.concat([t, many], ignore_index=True), favourable=1)
    assert small.endswith(", g = town 5 (3), and 3 more groups.")


def test_one_group_alone_is_compared_with_nobody():
    t = pd.concat([people(0.3), pd.DataFrame({"g": "two", "p": [0.8, 0.2]})], ignore_index=True)
    title, gap, few = said(t, favourable=1)
    assert title == "g: too few people to compare groups"
    assert gap == (
        "Only g = a is large enough to speak of, which takes 30 people and an interval of the rate "
        "no wider than 0.2."
    )
    assert few == "Too few people to say: g = two (2)."
    assert said(t[990:])[1].startswith("No group is large enough to speak of")


@pytest.mark.parametrize(("threshold", "who"), [(0.9, "nobody"), (0.1, "everybody")])
@pytest.mark.parametrize(("favourable", "off"), [(1, "a is worst off"), (None, "a is lowest")])
def test_where_all_are_decided_alike_scores_are_compared(threshold, who, favourable, off):
    title, gap, chance, advice = said(people(0.1, 0.3), threshold=threshold, favourable=favourable)
    assert title == f"g: all are decided alike at this threshold; by mean score g = {off}"
    assert gap == (
        f"At the threshold {threshold} {who} has p above {threshold}, so mean scores are compared: "
        "0.260 with g = a, 0.380 with g = b."
    )
    assert chance.startswith("Their difference is 0.120 (0.")
    assert chance.endswith("; more than chance explains.")
    assert advice.startswith("To compare decisions, pass another --threshold")
    equal = said(people(0.2, 0.2), threshold=threshold, favourable=favourable)
    assert equal[0].endswith("; chance may explain mean scores")


def test_high_scores_are_worst_where_they_are_bad():
    title, gap, *_ = said(people(0.1, 0.3), threshold=0.9, favourable=0)
    assert title.endswith("; by mean score g = b is worst off")
    assert gap.endswith("0.380 with g = b, 0.260 with g = a.")


def test_crossed_groups_carry_their_columns():
    t = people(0.1, 0.5).assign(sex=lambda t: np.where(np.arange(len(t)) % 2, 1, 2))
    found = otfair.audit(
        t["p"], sensitive_features=t[["sex", "g"]], cross=[("sex", "g")], favourable=1,
        names={"sex": {"1": "man"}}, n_bootstrap=20,
    )  # fmt: skip
    assert [answer.attribute for answer in answers(found)] == ["sex", "g", "sex & g"]
    assert "sex = 2" in answers(found)[0].gap
    assert "sex = man" in answers(found)[0].gap
    assert "& g = a is worst off, sex = " in answers(found)[2].title


def test_errors_are_told_only_where_enough_people_tell_them():
    t = people(0.1, 0.3, y=np.repeat([1, 0, 1, 0], [10, 990, 500, 500]))
    found = audited(t, favourable=1)
    assert found.decisions[0].error_gap is None  # ten people of a have a positive label
    assert found.decisions[0].gap is not None
    assert not [text for text in answers(found)[0].sentences if text.startswith("Wrong")]
    assert audited(t, favourable=0).decisions[0].error_gap is not None
    assert audited(t).decisions[0].error_gap is None


def test_a_gap_beyond_chance_is_told_though_rates_are_rough():
    """Of 60 each 45 and 12: Fisher's exact test has p < 1e-8."""
    t = pd.DataFrame({"g": ["a"] * 60 + ["b"] * 60, "p": [1] * 45 + [0] * 15 + [1] * 12 + [0] * 48})
    title, gap, chance = said(t, favourable=1)
    assert title == "g = b is worse off than g = a"
    assert gap.endswith("550 fewer get the favourable decision (p = 1) than of 1000 with g = a: "
                        "200 against 750.")  # fmt: skip
    assert chance.startswith("This is more than chance explains")
    few = said(t, favourable=1, min_people=61)
    assert few[0] == "g: too few people to compare groups"
    alike = t.assign(p=[1] * 30 + [0] * 30 + [1] * 27 + [0] * 33)
    assert said(alike, favourable=1)[0] == "g: too few people to compare groups"


def test_no_difference_and_a_difference_of_one():
    t = pd.DataFrame({"g": ["a"] * 1000 + ["b"] * 1000, "p": [1, 0, 0, 0] * 500})
    title, gap, chance = said(t, favourable=1)
    assert title == "g: no difference between groups"
    assert gap.startswith("Of 1000 people with g = a, as many get the favourable")
    assert chance.startswith("This does not prove that there is none: between groups of these")
    t.loc[0, "p"] = 0
    for favourable, words in ((1, "1 fewer gets the fav"), (0, "1 more gets the unfav"),
                              (None, "1 fewer has p = 1 than")):  # fmt: skip
        assert words in said(t, favourable=favourable)[1]
