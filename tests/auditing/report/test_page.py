"""The report: one page that needs no other, escapes what it is given, and says what is true."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from markupsafe import escape
from reports import hostile_audit, plain_audit

import otfair
from otfair.auditing import Limit, answers, favourable_sentence


@pytest.fixture(scope="module")
def found():
    return plain_audit()


@pytest.fixture(scope="module")
def hostile():
    return hostile_audit()


class Tags(HTMLParser):
    """Every tag of a page with its attributes, and the text of scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, text):
        if self.tags and self.tags[-1][0] == "script" and text.strip():
            self.scripts.append(text)


def test_the_page_asks_for_nothing_else(found):
    page = found.to_html()
    assert not re.search(r"https?://|//[a-z]+\.|@import|url\(", page)
    for tag, attributes in Tags(page).tags:
        assert tag not in ("img", "iframe", "object", "embed", "base", "form", "video", "audio")
        assert "src" not in attributes
        link = attributes.get("href") or "#"
        assert link.startswith("#") or link == "data:,"


def test_only_our_script_may_run(found, hostile):
    for audit in (found, hostile):
        page = audit.to_html()
        tags = Tags(page)
        policy = next(a["content"] for t, a in tags.tags if "http-equiv" in a)
        assert "default-src 'none'" in policy
        (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy


def test_whatever_comes_from_the_table_is_escaped(hostile):
    for text in (hostile.to_html(), hostile._repr_html_()):
        assert "&lt;script&gt;" in text
        tags = Tags(text).tags
        assert not [a for _, attributes in tags for a in attributes if a.startswith("on")]
        assert "<b>plain" not in text
        assert "<img" not in text
        assert "--><script" not in text
        assert "{{ 7*7 }}" in text  # text, and no template


def test_the_page_holds_every_part(found):
    page = found.to_html()
    for part in (
        "In short", "Decisions", "Violation", "of all score must move to", "Who would give to whom",
        "Where it happens", "Counterparts", "ROC", "Calibration", "What was done",
        "What such an audit can't tell",
        found.record.checksum, "duality gap", "If distances are ignored", "Smooth, adjusted cost",
    ):  # fmt: skip
        assert part.replace("'", "&#39;") in page or part in page, part
    assert page.count("<article") == len(found.findings)
    assert page.count('role="img"') == 4 * 3 + 2 * 6  # curves by attribute; groups and flows
    assert len(page) < 8 * 2**20


def test_every_id_is_there_once_and_every_link_leads_somewhere(found):
    tags = Tags(found.to_html()).tags
    ids = [a["id"] for _, a in tags if "id" in a]
    assert len(ids) == len(set(ids))
    links = [a["href"] for t, a in tags if t == "a"]
    assert {link.removeprefix("#") for link in links} <= set(ids)
    assert {a["data-table"] for t, a in tags if "data-table" in a} <= set(ids)


def test_a_report_replaces_its_file_whole_or_not_at_all(found, tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    assert found.to_html(path) == path.read_text("utf-8")
    before = path.read_text("utf-8")
    monkeypatch.setattr("pathlib.Path.replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        found.to_html(path)
    assert path.read_text("utf-8") == before
    assert list(tmp_path.iterdir()) == [path]


def test_long_texts_do_not_swell_the_page():
    rng = np.random.default_rng(0)
    texts = [f"{kind} {'long ' * 4000}" for kind in "abc"]
    X = pd.DataFrame({"essay": rng.choice(texts, 200), "x": rng.normal(size=200)})
    s = rng.choice(["f", "m"], 200)
    page = otfair.audit(rng.random(200), X, sensitive_features=s, n_bootstrap=5).to_html()
    assert "a long" in page
    assert len(page) < 200_000


def test_of_many_groups_the_largest_are_drawn_and_all_are_listed():
    rng = np.random.default_rng(0)
    town = np.array([f"town {k}" for k in range(45)])[np.minimum(rng.integers(60, size=2000), 44)]
    page = otfair.audit(rng.random(2000), sensitive_features=town, n_bootstrap=5).to_html()
    assert page.count('<circle class="mean"') == 40
    assert "of the 40 largest groups" in page
    assert "37 smaller groups are not drawn" in page
    assert "town 44 (" in page  # the largest
    assert page.count('<th class="t" scope="row">town ') == 45


def test_the_page_says_which_audit_it_is():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"p": rng.random(60), "kids": np.arange(60) % 3, "w": 1 + np.arange(60.0)})
    frame.loc[0, "p"] = np.nan
    found = otfair.audit(
        frame["p"], sensitive_features=frame[["kids"]], sample_weight=frame["w"], n_bootstrap=0,
        continuous=["kids"], skip_unscored=True, title="<b>Loans</b> of May",
    )  # fmt: skip
    page = found.to_html()
    assert "<title>Fairness audit: &lt;b&gt;Loans&lt;/b&gt; of May</title>" in page
    assert "<h1>Fairness audit: &lt;b&gt;Loans&lt;/b&gt; of May</h1>" in page
    for part in ("<dt>Scores</dt><dd>p</dd>", "<dt>Weights</dt><dd>w</dd>"):
        assert part in page
    assert "skip_unscored = True" in page
    assert "continuous = kids" in page
    plain = otfair.audit(rng.random(60), sensitive_features=["a", "b"] * 30, n_bootstrap=0)
    assert "<h1>Fairness audit</h1>" in plain.to_html()
    assert "<dt>Weights</dt><dd>none" in plain.to_html()


def test_outcomes_are_called_as_in_the_table(found):
    page = found.to_html()
    assert not re.search(r"\by=[01]", page)
    name = found.record.outcome.removesuffix(" = 1")
    for label in (0, 1):
        assert f", {name} = {label}</th>" in page
    assert ">true or false positive rate</th>" in page
    assert f"is the true positive rate where {found.record.outcome}, and the false" in page
    parity = next(f for f in found.findings if f.notion == "demographic_parity")
    assert {g.stratum for g in parity.violation.groups} == {""}


def test_small_groups_are_missing_from_calibration_and_named():
    rng = np.random.default_rng(0)
    group = np.repeat(["large", "few", "fewest"], [90, 25, 8])
    n = len(group)
    a = otfair.audit(
        rng.random(n), sensitive_features=group, labels=rng.integers(2, size=n), n_bootstrap=0
    )
    few, fewest, large = (len(curve.calibration) for curve in a.curves)
    assert (few, fewest) == (2, 0)
    assert 8 <= large <= 9
    page = a.to_html()
    assert "Not drawn, as they are fewer than 10: fewest." in page
    assert page.count('r="3"/>') == few + large


def test_a_page_that_can_not_be_written_is_named(found, tmp_path):
    path = tmp_path / "nowhere" / "r.html"
    for write in (found.to_html, found.to_json):
        with pytest.raises(FileNotFoundError) as error:
            write(path)
        assert error.value.filename == str(path)


def test_a_cell_says_what_was_found(found):
    cell = found._repr_html_()
    assert cell.count("<tr>") == 1 + len(found.findings)
    assert "of all score must move to" in cell
    for answer in answers(found):  # and says first what the page says first
        for text in (answer.title, *answer.sentences, favourable_sentence(found)):
            assert escape(text) in cell
            assert escape(text) in found.to_html()


def test_limits_are_told_by_words_and_none_is_invented(found):
    assert "No limits were set" in found.to_html()
    rng = np.random.default_rng(0)
    group = np.repeat(["a", "b"], 300)
    h = np.clip(rng.random(600) + 0.2 * (group == "a"), 0, 1)
    limits = [Limit(criterion="difference", bound=b) for b in (0.01, 0.99)]
    limits += [Limit(criterion="ratio", bound=0.99)]
    page = otfair.audit(h, sensitive_features=group, limits=limits, notions="demographic_parity")
    page = page.to_html()
    assert "No limits were set" not in page
    kinds = re.findall(r'<li class="(\w+)">group, demographic_parity: (.*?)</li>', page)
    assert [kind for kind, _ in kinds] == ["beyond", "beyond", "within"]
    assert ["above the limit" in text for _, text in kinds] == [True, False, False]
    assert "within the limit, 0.99" in kinds[2][1]


def test_decisions_are_listed_with_their_differences_and_ratios():
    rng = np.random.default_rng(0)
    group = np.repeat(["a", "b", "few"], [400, 400, 12])
    y = rng.integers(2, size=812)
    h = np.clip(0.6 * rng.random(812) + 0.2 * y + 0.2 * (group == "a"), 0, 1)
    found = otfair.audit(h, sensitive_features=pd.DataFrame({"g": group}), labels=y, n_bootstrap=50)
    page, (one,) = found.to_html(), found.decisions
    assert one.reference == "g=a"
    assert "Differences and ratios to g = a" in page
    for g in one.groups:
        for rate, e in g.rates.items():
            unsure = "?" * (rate in g.unsure)
            assert unsure == "?" or g.people > 30
            if e.value == e.value:
                assert f"<td>{e.value:.3f}{unsure} <span" in page
                if g.group != one.reference:
                    assert f"<td>{g.difference[rate].value:+.3f}{unsure} <span" in page
                    assert f"<td>{g.ratio[rate].value:.2f}{unsure} <span" in page
    assert page.count('data-group="0"') == 1 + 1  # the reference: its rates and its curve
    assert page.count('data-group="2"') == 3  # a small group: no curve
    assert "1 smaller group is not drawn" in page


def test_decisions_without_scores_have_no_slider():
    rng = np.random.default_rng(0)
    group = rng.choice(["a", "b"], 200)
    page = otfair.audit(
        rng.integers(2, size=200), sensitive_features=group, n_bootstrap=0
    ).to_html()
    assert "data-counts" not in page.replace("[data-counts]", "")
    assert 'type="range"' not in page
    assert page.count('<table class="sortable rates"') == 3


def test_two_people_are_marked_in_the_summary():
    # Their ratio was a figure like any other.
    h = np.r_[np.tile([0.2, 0.8], 100), 0.1, 0.1]
    limits = [Limit(criterion="difference", bound=0.9), Limit(criterion="violation", bound=0.9)]
    page = otfair.audit(h, sensitive_features=["a"] * 200 + ["b"] * 2, limits=limits).to_html()
    assert "<td>0.00? <span" in page
    # Nor do they keep a limit.
    assert "difference of decisions 0.500: too few people to hold it against the limit, 0.9" in page
    assert re.findall(r'<li class="(\w+)">group, demographic', page) == ["unsure", "within"]
    assert "fewer than two groups are large enough to say" in page
