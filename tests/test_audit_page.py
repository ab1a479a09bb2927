"""The report: one page that needs no other, escapes what it is given, and works in a browser."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import otfair
from otfair.auditing._report import sentence

HOSTILE = '<script>document.title="hurt"</script><img src=x onerror=alert(1)>"\'&{{ 7*7 }}'
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture(scope="module")
def found():
    data = otfair.load_dataset("synthetic", n=300)
    return otfair.audit(
        data.truth.scores,
        data.X,
        sensitive_features=data.sensitive_features,
        labels=data.y,
        n_bootstrap=20,
    )


@pytest.fixture(scope="module")
def hostile():
    """An audit of a table that is hostile wherever a table can be."""
    rng = np.random.default_rng(0)
    n = 120
    X = pd.DataFrame(
        {
            HOSTILE: rng.normal(size=n),
            f"kind {HOSTILE}": rng.choice([HOSTILE, "</style><b>plain"], n),
            f"{HOSTILE} id": np.arange(n),
            "gaps": np.where(rng.random(n) < 0.5, None, "</svg>" + HOSTILE),
        }
    )
    groups = pd.DataFrame({HOSTILE: rng.choice([HOSTILE, "--><script>alert(2)</script>"], n)})
    return otfair.audit(
        rng.random(n), X, sensitive_features=groups, labels=rng.integers(2, size=n), n_bootstrap=10
    )


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
        assert not [tag for tag, _ in tags if tag in ("img", "b") and "plain" in tag]
        assert "<img" not in text
        assert "--><script" not in text
        assert "{{ 7*7 }}" in text  # text, and no template


def test_the_page_holds_every_part(found):
    page = found.to_html()
    for part in (
        "In short", "Violation", "of all score must move", "Who would give to whom",
        "Where it happens", "Counterparts", "ROC", "Calibration", "What was done",
        "What such an audit can't tell",
        found.record.checksum, "duality gap", "If distances are ignored", "Smooth, adjusted cost",
    ):  # fmt: skip
        assert part.replace("'", "&#39;") in page or part in page, part
    assert page.count("<article") == len(found.findings)
    assert page.count('role="img"') == 3 * 3 + 2 * 6  # curves by attribute; groups and flows
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


def test_a_sentence_says_what_the_cost_means(found):
    cost = replace(found.findings[0].cost, moved=0.0731, distance=0.411)
    assert sentence(cost) == (
        "To be fair, 7.3 % of all score must move, over 0.41 of the typical distance between two "
        "people."
    )
    assert "over less than 0.01 of the typical" in sentence(replace(cost, distance=1e-4))
    assert "less than 0.1 % of all score" in sentence(replace(cost, moved=1e-4))
    assert sentence(replace(cost, moved=0.0)).startswith("The scores are fair")


def test_a_cell_says_what_was_found(found):
    cell = found._repr_html_()
    assert cell.count("<tr>") == 1 + len(found.findings)
    assert "of all score must move" in cell


def browse(path, tmp_path, *options: str) -> subprocess.CompletedProcess[str]:
    if CHROMIUM is None:
        pytest.skip("no Chromium to show the page in (Debian: apt-get install chromium)")
    return subprocess.run(
        [
            CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--no-first-run", "--disable-background-networking", "--disable-component-update",
            f"--user-data-dir={tmp_path / 'profile'}", "--enable-logging=stderr",
            "--virtual-time-budget=3000", *options, path.as_uri(),
        ],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip


def test_a_browser_shows_it_without_errors(found, tmp_path):
    path = tmp_path / "report.html"
    found.to_html(path)
    seen = browse(path, tmp_path, "--dump-dom")
    assert 'class="js"' in seen.stdout  # our script ran under its policy
    assert seen.stdout.count("<button") > 10
    assert "CONSOLE" not in seen.stderr


def test_a_hostile_table_does_nothing_in_a_browser(hostile, tmp_path):
    path = tmp_path / "report.html"
    page = hostile.to_html()
    policy = re.search(r"<meta http-equiv.*?>", page).group()
    for text in (page, page.replace(policy, "")):  # escaped, even without the policy
        path.write_text(text, "utf-8")
        seen = browse(path, tmp_path, "--dump-dom")
        assert "<title>Fairness audit</title>" in seen.stdout
        assert "CONSOLE" not in seen.stderr
        assert "<img" not in seen.stdout


def test_tables_sort_and_search_in_a_browser_and_nothing_is_asked_for(found, tmp_path):
    page = found.to_html()
    page = page.replace(re.search(r"<meta http-equiv.*?>", page).group(), "")
    probe = """
    const table = document.getElementById("f1_1p");
    const rows = () => [...table.tBodies[0].rows];
    const column = (k) => rows().map((row) => Number.parseFloat(row.cells[k].textContent));
    const head = table.tHead.rows[0].cells[4];
    const out = {};
    head.querySelector("button").click();
    out.down = column(4);
    out.sorted = head.getAttribute("aria-sort");
    head.querySelector("button").click();
    out.up = column(4);
    const input = document.querySelector("input[data-table=f1_1p]");
    input.value = rows()[3].cells[1].textContent.match(/row \\d+,/)[0];
    input.dispatchEvent(new Event("input"));
    out.left = rows().filter((row) => !row.hidden).length;
    out.said = input.closest("p").querySelector("output").textContent;
    out.requests = performance.getEntriesByType("resource").map((entry) => entry.name);
    document.body.dataset.out = JSON.stringify(out);
    """
    path = tmp_path / "report.html"
    path.write_text(page.replace("</body>", f"<script>{probe}</script></body>"), "utf-8")
    seen = browse(path, tmp_path, "--dump-dom")
    found_there = re.search(r'data-out="([^"]*)"', seen.stdout).group(1)
    out = json.loads(found_there.replace("&quot;", '"'))
    assert out["requests"] == []
    assert out["sorted"] == "descending"
    assert out["down"] == sorted(out["down"], reverse=True)
    assert out["up"] == sorted(out["up"])
    assert 1 <= out["left"] < 40
    assert out["said"] == f"{out['left']} of {len(out['up'])}"
