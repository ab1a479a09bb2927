"""The page of a table of law: escaped, whole, and readable wherever it is opened."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from browser import Browser
from reports import HOSTILE

import otfair


def hostile() -> otfair.LawTable:
    rng = np.random.default_rng(0)
    n = 200
    sex = rng.choice([HOSTILE, "</table><script>alert(2)</script>", ""], n)
    race = rng.choice(["</style><b>", "plain\x1b[2J", "unknown"], n)
    return otfair.ll144(
        rng.random(n), sex=sex, race=race, groups=rng.choice([HOSTILE, "b"], n), source=HOSTILE,
        explanation=HOSTILE, reason=HOSTILE, exclude_below=0.02, title=HOSTILE,
    )  # fmt: skip


def plain() -> otfair.LawTable:
    rng = np.random.default_rng(1)
    n = 600
    sex, race = rng.choice(["women", "men"], n), rng.choice(list("ABC"), n).astype(object)
    race[:40] = None
    return otfair.ll144(rng.random(n), sex=sex, race=race, source="made up")


def test_hostile_names_are_escaped():
    found = hostile()
    for text in (found.to_html(), found._repr_html_()):
        assert "<script" not in text
        assert "<img" not in text
        assert "<b>plain" not in text
        assert "\x1b" not in text
        assert "49" not in text or "7*7" in text
    assert json.loads(found.to_json())["record"]["source"] == HOSTILE


def test_figures_on_the_page_are_those_of_the_table():
    found = plain()
    text, table = found.to_html(), found.tables["race/ethnicity"]
    for _, row in table.iloc[:-1].iterrows():
        assert f"{row['lowest']:.3f} to {row['highest']:.3f}" in text
        assert f"<span>{row['impact_ratio']:.3f}</span>" in text
        assert f"{100 * row['rate']:.1f} %" in text
    assert "40 people are of unknown category" in text
    assert "Nobody is of unknown category" in text  # by sex
    assert "no legal advice" in text
    assert "made up" in text


def test_the_page_is_written_whole(tmp_path):
    path = tmp_path / "law.html"
    text = plain().to_html(path)
    assert path.read_text("utf-8") == text
    assert not re.search(r"(?:src|href)=\"(?!data:)", text)


@pytest.mark.slow
def test_pages_ask_for_nothing_and_fit(tmp_path):
    rng = np.random.default_rng(2)
    groups = rng.choice(["a", "b", "a group of a rather long name", None], 400)
    four = otfair.four_fifths(rng.integers(2, size=400), group={"group": groups})
    pages = {"hostile": hostile(), "plain": plain(), "four": four}
    with Browser() as browser:
        for name, found in pages.items():
            path = tmp_path / f"{name}.html"
            found.to_html(path)
            for width, scheme in ((1200, "light"), (390, "dark")):
                browser.open(path, width=width, color_scheme=scheme)
                assert browser.complaints == []
                assert browser.requests == []
                assert browser.run("document.title") != "hurt"
                wide = browser.run("document.documentElement.scrollWidth")
                assert wide <= width, (name, width, wide)
