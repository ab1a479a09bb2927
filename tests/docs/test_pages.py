"""Pages of measurements: every place is filled from committed runs, and none is left open."""

from __future__ import annotations

import re

import numpy as np
import pytest
from page_scripts import DOCS, script
from pages import filled, mean_and_reach, number, shown, standard_error

NAMES = ("boosting", "decisions", "metrics", "training")
ELSEWHERE = {"boosting": set(script("benchmarks").SHARED)}  # places that another script fills
OPEN = re.compile(r"\b(?:TODO|TBD|FIXME|XXX)\b|no runs yet|: begin -->")


@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_what_the_runs_say(name):
    page, parts = script(name).PAGE.read_text("utf-8"), script(name).parts()
    assert filled(page, parts, name) == page
    places = set(re.findall(r"<!-- ([\w ]+) -->", page)) - {"end"}
    assert places - ELSEWHERE.get(name, set()) == set(parts)


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.stem)
def test_no_page_has_a_word_in_place_of_a_number(page):
    assert OPEN.findall(page.read_text("utf-8")) == []


def test_a_place_is_filled_and_the_rest_is_kept():
    page = "before\n<!-- a -->\nold\n<!-- end -->\nbetween\n<!-- b -->\n<!-- end -->\n"
    found = filled(page, {"a": "x\ny", "b": "z"}, "page.md")
    assert found == page.replace("old", "x\ny").replace("b -->\n", "b -->\nz\n")


@pytest.mark.parametrize("page", ["none", "<!-- a -->\n<!-- end -->\n<!-- a -->\n<!-- end -->\n"])
def test_a_place_that_is_missing_or_there_twice_is_named(page):
    with pytest.raises(ValueError, match=r"page\.md must have one place for 'a'"):
        filled(page, {"a": "x"}, "page.md")


def test_numbers_below_one_have_no_zero():
    assert [number(0.12345), number(-0.5, 2, sign=True), number(1.5, 1)] == [".1235", "-.50", "1.5"]
    assert number(-1e-9, 4, sign=True) == "+.0000"


@pytest.mark.parametrize("tested", [3 / 7, 0.25, 1.25])
def test_intervals_allow_for_splits_that_share_people(tested):
    # t of two degrees of freedom at 97.5 %, and a standard deviation of 1.
    mean, reach = mean_and_reach([1.0, 2.0, 3.0], tested)
    assert mean == 2
    assert standard_error([1.0, 2.0, 3.0], tested) == pytest.approx(np.sqrt(1 / 3 + tested))
    assert reach == pytest.approx(4.302653 * np.sqrt(1 / 3 + tested))


def test_one_split_has_no_interval():
    assert np.isnan(standard_error([0.5]))
    assert shown([0.5]) == ".5000"
