"""Sentences and figures of the report."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from reports import plain_audit

from otfair.auditing import BoundedCost, Estimate, Group, why_free
from otfair.auditing.report._words import (
    called,
    decimal,
    exactly,
    figure_range,
    sentence,
    short,
    verdict,
)


@pytest.fixture(scope="module")
def found():
    return plain_audit()


def test_a_sentence_says_what_the_cost_means(found):
    cost = replace(found.findings[0].cost, moved=0.0731, distance=0.411)
    assert sentence(cost) == (
        "To be fair in the cheapest way, 7.3 % of all score must move to other people, on average "
        "to somebody 41 % as different as two people picked at random."
    )
    for distance, said in (
        (1e-4, "to somebody almost alike in the columns compared."),
        (1.01, "to somebody as different as two people picked at random."),
        (1.32, "to somebody 1.3 times as different as two people picked at random."),
        (0.0, "must move to twins: people who are alike in every column compared."),
    ):
        assert sentence(replace(cost, distance=distance)).endswith(said)
    drawn = replace(cost, sampling=(0.02, 0.04))
    assert "to somebody about 41 % as different" in sentence(drawn)
    assert "less than 0.1 % of all score" in sentence(replace(cost, moved=1e-4))
    assert sentence(replace(cost, moved=0.0)).startswith("The scores are fair")


def test_the_exact_figures_are_said_too(found):
    cost = replace(found.findings[0].cost, moved=0.0731, distance=0.411)
    cost = replace(cost, exact=Estimate(0.03004, 0.02, 0.04))
    assert exactly(cost) == (
        "In figures: 7.31 % of all score moves, over 0.411 of the typical (median) distance "
        "between two people, at an OTF cost of 0.03."
    )
    assert exactly(replace(cost, moved=0.0)) == ""
    assert exactly(replace(cost, exact=None)) == ""


def test_a_cost_that_looks_free_is_explained(found):
    cost = found.findings[0].cost
    assert why_free(cost) == ""  # bounded
    pairs = replace(cost.pairs, distance=np.where(np.arange(len(cost.pairs)) < 1, 0.1, 0.0))
    cost = replace(
        cost, bounded=False, exact=Estimate(1e-5, 0, 1), piled=25.04, pairs=pairs, distance=1e-3,
        moved=float(pairs.mass.sum()), least_moved=Estimate(0.0621, 0.05, 0.07),
    )  # fmt: skip
    share = 100 * (1 - pairs.mass[0] / cost.moved)
    said = why_free(cost)
    assert said.startswith(
        "A cost this low does not mean that the scores are nearly fair: at least 6.2 % of all "
        "score must move to other people. "
    )
    assert f"({share:.1f} % of what moves goes to twins, who are so in every column" in said
    assert "one person would end with 25.0. The bounded cost" in said
    assert "only as these may end with scores above one." in sentence(cost)
    cost = replace(
        cost, with_bound=BoundedCost(value=0.0123, unbounded=2e-5, moved=0.08, people=2000)
    )
    assert why_free(cost).endswith(
        "If nobody may end above one, the cost lies between < 0.0001 and about 0.0123. The latter "
        "is that of 2,000 people drawn to stand for all, fewer of whom are near each other; 8.0 % "
        "of their score moves, and without the bound they cost < 0.0001."
    )
    assert sentence(cost).endswith("above one; if they may not, it costs up to about 0.0123.")
    low = replace(cost, with_bound=replace(cost.with_bound, value=0.0))
    assert "It stays so low if nobody may end above one" in why_free(low)
    assert "above one" not in sentence(low)
    # Not where all costs little because little must move, or nobody ends above one.
    assert why_free(replace(cost, least_moved=Estimate(1e-4, 0, 1))) == ""
    assert why_free(replace(cost, piled=0.9)) == ""


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
