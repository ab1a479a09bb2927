"""Sentences and figures of the report."""

from __future__ import annotations

from dataclasses import replace

import pytest
from reports import plain_audit

from otfair.auditing import Estimate, Group
from otfair.auditing.report._words import called, decimal, figure_range, sentence, short, verdict


@pytest.fixture(scope="module")
def found():
    return plain_audit()


def test_a_sentence_says_what_the_cost_means(found):
    cost = replace(found.findings[0].cost, moved=0.0731, distance=0.411)
    assert sentence(cost) == (
        "To be fair in the cheapest way, 7.3 % of all score must move, over 0.41 of the typical "
        "distance between two people."
    )
    assert "over less than 0.01 of the typical" in sentence(replace(cost, distance=1e-4))
    assert "less than 0.1 % of all score" in sentence(replace(cost, moved=1e-4))
    assert sentence(replace(cost, moved=0.0)).startswith("The scores are fair")


def test_the_ends_of_mean_scores_are_those_of_the_widest_stratum(found):
    f = found.findings[0]

    def group(name, stratum, mean, small=False):
        score = Estimate(mean, mean, mean)
        return Group(
            group=name, stratum=stratum, people=50, mean_score=score, rate=score, base_rate=None,
            small=small,
        )  # fmt: skip

    def said(*groups):
        return figure_range(replace(f, violation=replace(f.violation, groups=groups)))

    assert said(group("sex=F", "", 0.25), group("sex=M", "", 0.5)) == (
        "Mean scores go from 0.250 (sex = F) to 0.500 (sex = M)."
    )
    narrow = group("sex=F", "y=0", 0.2), group("sex=M", "y=0", 0.3)
    assert said(*narrow, group("sex=F", "y=1", 0.25), group("sex=M", "y=1", 0.5)) == (
        "Mean scores of people with y=1 go from 0.250 (sex = F) to 0.500 (sex = M)."
    )
    # Groups that are too small to say make no headline, neither ends of a range nor strata.
    few = group("sex=F", "y=1", 0.25, small=True), group("sex=M", "y=1", 0.5)
    assert said(*narrow, *few, group("sex=X", "y=0", 0.9, small=True)) == (
        "Mean scores of people with y=0 go from 0.200 (sex = F) to 0.300 (sex = M)."
    )
    assert said(*few) == ""


def test_a_verdict_weighs_a_violation_against_chance(found):
    v = replace(found.violations[0], value=Estimate(0.2, 0.1, 0.3), chance=0.1)
    assert verdict(v) == "more than chance explains (0.100)"
    assert verdict(replace(v, chance=0.25)) == "no more than chance explains (0.250)"
    assert "not measured" in verdict(replace(v, chance=float("nan")))


def test_a_verdict_on_a_small_group_says_so(found):
    v = found.violations[0]
    groups = tuple(replace(g, small=g.group == v.worst) for g in v.groups)
    small = replace(v, value=Estimate(0.2, 0.1, 0.3), chance=0.1, groups=groups)
    assert verdict(small) == (
        f"more than chance explains (0.100), but {v.worst} has too few people to say"
    )
    others = tuple(replace(g, small=g.group != v.worst) for g in v.groups)
    assert verdict(replace(small, groups=others)) == "more than chance explains (0.100)"
    odds = next(f.violation for f in found.findings if f.notion == "equalized_odds")
    within = tuple(replace(g, small=True) for g in odds.groups)
    said = verdict(replace(odds, value=Estimate(0.2, 0.1, 0.3), chance=0.1, groups=within))
    assert said.endswith(f", but {odds.worst} has too few people to say")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (6.94e-5, "< 0.0001"),
        (1.234e-4, "0.000123"),
        (-6e-5, "< 0.0001"),
        (6e-9, "0"),
        (0.0, "0"),
        (0.01234, "0.0123"),
        (1.5, "1.5"),
    ],
)
def test_costs_are_written_without_powers_of_ten(value, text):
    assert decimal(value) == text


@pytest.mark.parametrize(
    ("attribute", "group", "want"),
    [
        ("sex", "sex=Female", "sex = Female"),
        ("sex", "sex=2", "sex = 2"),
        ("a=b", "a=b=c", "a=b = c"),
        ("sex & race", "sex=F & race=Black", "sex = F & race = Black"),
        ("sex & race", "sex=F & M & race=x=y & z", "sex = F & M & race = x=y & z"),
        ("R & D", "R & D=yes", "R & D = yes"),
        ("age", "age 20 to 30", "age 20 to 30"),
    ],
)
def test_names_of_groups_carry_their_column(found, attribute, group, want):
    assert called(attribute, group) == want


def test_a_code_is_not_shortened_to_a_number(found):
    finding = replace(found.findings[0], attribute="sex")
    assert short(finding, "sex=Female") == "Female"
    assert short(finding, "sex=2") == "sex = 2"
