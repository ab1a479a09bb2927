"""Every channel by which text of a table reaches a report, with hostile text in each.

A page is taken apart as a browser would: hostile text is there, as text, and no element, attribute
or script comes of it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections import Counter
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tables_for_commands import otfair, write

# What reaches the page of an audit from a table, its options and its file name.
CHANNELS = (
    "file", "title", "score", "label", "positive", "negative", "sensitive", "group",
    "other group", "number",
    "category", "value", "other value", "nearly a number", "odd value", "identifier", "person",
    "control",
    "stratum", "constant", "sensitive copy", "date", "word",
)  # fmt: skip
POLICY = re.compile(
    r"default-src 'none'; img-src data:; style-src 'unsafe-inline'(; script-src 'sha256-\S+')?"
)


def hostile(channel: str) -> str:
    """Return an element that is known by its channel, and what ends attributes and comments."""
    return f"<i id={CHANNELS.index(channel)} onclick=x>\"'&--></script>"


@dataclass
class Page(HTMLParser):
    """A page as its elements, attributes and texts."""

    tags: Counter[str] = field(default_factory=Counter)
    attributes: list[tuple[str, str, str]] = field(default_factory=list)  # tag, name, value
    texts: list[str] = field(default_factory=list)
    scripts: list[str] = field(default_factory=list)
    inside: str = ""

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag, attrs):
        self.inside = tag
        self.tags[tag] += 1
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_data(self, data):
        (self.scripts if self.inside == "script" else self.texts).append(data)

    def handle_comment(self, data):
        self.texts.append(data)

    def handle_endtag(self, tag):
        self.inside = ""


def taken_apart(path: Path) -> Page:
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    page.close()
    return page


def assert_nothing_is_injected(page: Page) -> None:
    values = [value for _, _, value in page.attributes]
    assert page.tags["i"] == page.tags["iframe"] == page.tags["object"] == page.tags["base"] == 0
    assert not [a for a in page.attributes if a[1].startswith("on")]
    assert not [v for v in values if re.match(r"\s*(javascript|vbscript):", v, re.I)]
    links = [v for _, name, v in page.attributes if name in ("href", "src", "action", "xlink:href")]
    assert all(link.startswith(("#", "data:,")) or re.fullmatch(r"[\w.]+", link) for link in links)
    metas = [value for tag, _, value in page.attributes if tag == "meta"]
    policies = [value for value in metas if value.startswith("default-src")]
    assert len(policies) == 1
    assert POLICY.fullmatch(policies[0])
    digests = [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in page.scripts]
    assert all(f"'sha256-{digest}'" in policies[0] for digest in digests)
    assert page.tags["script"] == len(page.scripts) <= 1


def table(folder: Path) -> Path:
    """Write a table that is hostile wherever a table can be."""
    rng, n = np.random.default_rng(0), 90
    group = rng.choice([hostile("group"), hostile("other group")], n)
    odd = [f"{x:.2f}" for x in rng.normal(size=n)]
    odd[3] = hostile("odd value")
    frame = pd.DataFrame(
        {
            hostile("score"): rng.random(n).round(3),
            hostile("label"): rng.choice([hostile("positive"), hostile("negative")], n),
            hostile("sensitive"): group,
            "code": rng.choice([1, 2], n),
            hostile("number"): rng.normal(size=n),
            hostile("category"): rng.choice([hostile("value"), hostile("other value")], n),
            hostile("nearly a number"): odd,
            "id": [f"{hostile('person')}{i}" for i in range(n)],
            hostile("identifier"): np.arange(n),
            hostile("control"): rng.choice([hostile("stratum"), "b"], n),
            hostile("constant"): 1,
            hostile("sensitive copy"): np.where(group == hostile("group"), "a", "b"),
            hostile("date"): "2020-01-0" + pd.Series(rng.integers(1, 9, n)).astype(str),
        }
    )
    return write(frame, folder / f"{hostile('file').replace('/', ':')}.csv")


def columns() -> list[str]:
    named = {"label": "label", "sensitive": "sensitive", "positive": "positive"}
    return [part for o, c in named.items() for part in (f"--{o}", hostile(c))]


def test_every_channel_of_an_audit_holds_text_only(tmp_path):
    names = tmp_path / "names.json"
    names.write_text(json.dumps({"code": {"1": hostile("word")}}))
    said = otfair(
        "audit", table(tmp_path), "--score", hostile("score"), *columns(), "--control",
        hostile("control"), "--sensitive", "code", "--names", names, "--max-difference", 0.9,
        "--favourable", 1, "--title", hostile("title"), "--bootstrap", 5, "-o", tmp_path / "a.html",
    )  # fmt: skip
    assert said.code == 0, said.err
    page = taken_apart(tmp_path / "a.html")
    assert_nothing_is_injected(page)
    seen = "\n".join(page.texts + [value for _, _, value in page.attributes])
    reached = {c for c in CHANNELS if f"<i id={CHANNELS.index(c)} onclick=x>" in seen}
    assert {*CHANNELS} - reached == set()  # or else nothing is said of a channel


@pytest.mark.slow
def test_reports_of_models_and_rules_hold_text_only(tmp_path):
    path, never = table(tmp_path), ["--no-curve"]
    said = otfair("fit", path, *columns(), "--alpha", 0.5, *never, "-o", tmp_path / "model")
    assert said.code == 0, said.err
    limits = ["--max-difference", 0.3]
    score = ["--score", hostile("score")]
    said = otfair("decide", path, *columns(), *score, *limits, "-o", tmp_path / "rule")
    assert said.code in (0, 4), said.err
    pages = [*tmp_path.glob("*/*.html")]
    assert len(pages) == 4
    for file in pages:
        page = taken_apart(file)
        assert_nothing_is_injected(page)
        assert "onclick=x>" in "".join(page.texts)
