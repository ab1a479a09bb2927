"""Pages of comparisons and changes in a browser: quiet, and as wide as the screen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from browser import Browser
from reports import HOSTILE, hostile_audit, plain_audit

import otfair

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    bad, plain = hostile_audit(), plain_audit()
    named = otfair.compare_audits({HOSTILE: bad, f"other {HOSTILE}": bad})
    named.to_html(folder / "hostile.html")
    otfair.compare_audits({"old": plain, "new": plain}).to_html(folder / "plain.html")
    other = replace(bad, record=replace(bad.record, title=HOSTILE, score=HOSTILE))
    replace(bad, changed=bad.changes(other)).to_html(folder / "changes.html")
    return {path.stem: path for path in folder.iterdir()}


@pytest.mark.parametrize("width", [390, 1000])
@pytest.mark.parametrize("name", ["hostile", "plain", "changes"])
def test_a_page_is_quiet_and_fits(browser, pages, name, width):
    browser.open(pages[name], width)
    assert browser.complaints == []
    assert browser.requests == []
    assert browser.run("document.documentElement.scrollWidth") == width
    assert browser.run("document.querySelectorAll('script').length") == 1
    assert browser.run("document.images.length") == 0
    assert browser.run("document.title") != "hurt"


def test_figures_are_sorted_by_the_keyboard(browser, pages):
    browser.open(pages["plain"])
    column = (
        "[...document.querySelectorAll('#figures tbody tr')].map(r => +r.cells[2].dataset.value)"
    )
    before = browser.run(column)
    browser.page.focus("#figures th:nth-child(3) button")
    browser.page.keyboard.press("Enter")
    after = browser.run(column)
    assert after == sorted(before, reverse=True) != before
