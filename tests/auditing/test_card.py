"""The model card: what it says, and hostile names that stay text."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import otfair
from otfair.auditing import Limit
from otfair.auditing._card import escaped

HOSTILE = [
    "a|b", "`x` ``` y", "<script>alert(1)</script>", "[click](http://evil.example)", "![i](x)",
    "two\nlines\r\n# heading", "**bold** _it_ ~~no~~", "http://evil.example", "www.evil.example",
    "me@evil.example", "back\\|slash\\", "- item", "1. item", "$x$", "&lt;b&gt;", "<http://a.b>",
    "+ x", "===", "\x1b[2J", "a\u202eb", "{{x}}", "^", "\\",
]  # fmt: skip


def audited(names: tuple[str, str] = ("a", "b"), attribute: str = "g", **options) -> otfair.Audit:
    rng = np.random.default_rng(0)
    group = np.array(names, dtype=object)[np.arange(400) % 2]
    h = np.clip(rng.normal(0.5, 0.2, 400) + 0.2 * (np.arange(400) % 2), 0, 1)
    y = rng.random(400) < h
    options = {"labels": y, "n_bootstrap": 20} | options
    return otfair.audit(h, sensitive_features=pd.DataFrame({attribute: group}), **options)


def test_it_says_what_was_found(tmp_path):
    limits = [Limit(criterion="ratio", bound=0.9, notion="demographic_parity")]
    found = audited(limits=limits, favourable=1, title="Model 7", random_state=3)
    text = found.to_card(tmp_path / "card.md", command="otfair audit t.csv --score p")
    assert (tmp_path / "card.md").read_text() == text
    assert text.startswith("# Fairness of Model 7\n")
    d = found.decisions[0]
    for group in d.groups:
        e = group.rates["selection_rate"]
        name = group.group.removeprefix("g=")
        assert f"| {name} | 200 | {e.value:.3f} ({e.low:.3f} to {e.high:.3f}) |" in text
    assert found.record.checksum in text
    assert "Rows: 400 received, 400 used" in text
    assert "Favourable to people: a positive decision" in text
    assert "- g, demographic\\_parity: ratio of decisions" in text
    assert "## What it can't tell" in text
    assert "```sh\notfair audit t.csv --score p\n```" in text
    assert "- Seed: 3" in text
    v = found.findings[1].violation.value
    assert f"| g | equalized odds | {v.value:.3f} ({v.low:.3f} to {v.high:.3f}) |" in text


def rendered(text: str) -> list:
    markdown = pytest.importorskip("markdown_it")
    parser = markdown.MarkdownIt("commonmark").enable(["table", "strikethrough"])
    return parser.parse(text)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_text(text):
    line = escaped(text)
    assert "\n" not in line
    assert "\r" not in line
    # As a paragraph, an item of a list, a heading and a cell.
    source = f"# x {line}\n\n- {line}\n\n| a | b |\n|---|---|\n| {line} | 1 |\n\nx {line} y\n"
    tokens = rendered(source)
    kinds = [t.type for t in tokens]
    assert kinds.count("bullet_list_open") == 1
    assert kinds.count("td_open") == 2
    assert {"html_block", "fence", "ordered_list_open", "code_block"}.isdisjoint(kinds)
    shown = otfair._io.visible.visible(text)
    cells = [t for t in tokens if t.type == "inline" and t.content not in ("a", "b", "1")]
    for cell, (before, after) in zip(cells, [("x ", ""), ("", ""), ("", ""), ("x ", " y")]):
        assert {c.type for c in cell.children} <= {"text", "text_special"}
        assert "".join(c.content for c in cell.children) == f"{before}{shown}{after}".strip()
    # Addresses, which some readers make links of.
    assert "://" not in line.replace(r"\://", "")
    assert "www." not in line
    assert "@" not in line


def test_hostile_names_in_a_card():
    found = audited(("<b>|x", "[y](http://z.example)\n# no"), attribute="a|`b`", title="<h1>|")
    text = found.to_card(command="otfair audit '```' x")
    tokens = rendered(text)
    kinds = [t.type for t in tokens]
    assert "html_block" not in kinds
    inline = {c.type for t in tokens if t.children for c in t.children}
    assert inline <= {"text", "text_special", "softbreak"}
    assert [t.tag for t in tokens if t.type == "heading_open"].count("h1") == 1
    columns = [
        len(line.replace(r"\|", "").split("|")) for line in text.splitlines() if "| " in line
    ]
    assert len(set(columns)) == 2  # two tables
    assert [t.content for t in tokens if t.type == "fence"] == ["otfair audit '```' x\n"]


def test_without_labels_or_intervals():
    text = audited(labels=None, n_bootstrap=0).to_card()
    assert "| group | people | selection rate |" in text
    assert "chance" in text  # was not measured
    assert "nan" not in text
