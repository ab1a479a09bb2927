"""The report in a real browser: it renders, sorts, searches, and asks for nothing."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from browser import Browser, find_chromium
from reports import HOSTILE, hostile_audit, plain_audit
from scipy.stats import binomtest
from tables_for_commands import loans, write
from tables_for_commands import otfair as command

import otfair
from otfair._io.pdf import to_pdf

SCRIPT = Path(__file__).parents[3] / "scripts" / "chromium.sh"
PAIRS = "#f1_1p"  # counterparts of the first finding
ROWS = f"[...document.querySelector('{PAIRS}').tBodies[0].rows]"
FOCUS = "document.activeElement"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("reports")


@pytest.fixture(scope="module")
def browser():
    with Browser() as browser:  # without Chromium this fails; it never skips
        yield browser


@pytest.fixture(scope="module")
def report(folder):
    plain_audit().to_html(folder / "report.html")
    return folder / "report.html"


def silent(browser: Browser) -> bool:
    browser.settle()
    return browser.complaints == [] and browser.requests == []


def test_complaints_and_requests_are_noticed(browser, tmp_path):
    page = tmp_path / "bad.html"
    page.write_text(
        "<img src='http://127.0.0.1:1/x.png'><button onclick='alert(1)'>a</button>"
        "<script>console.error('oh'); throw new Error('no')</script>"
    )
    browser.open(page)
    assert browser.requests == ["http://127.0.0.1:1/x.png"]
    assert "console.error: oh" in browser.complaints
    assert [c for c in browser.complaints if c.startswith("exception: Error: no")]
    browser.page.click("button")
    browser.settle()
    assert browser.complaints[-1] == "alert: 1"


def test_a_report_renders_without_errors_or_requests(browser, report):
    browser.open(report)
    assert browser.run("document.title") == "Fairness audit"
    assert browser.run("document.documentElement.className") == "js"  # our script ran
    sizes = browser.run(
        "[...document.querySelectorAll('main section, main article, main > section svg[role]')]"
        ".map(e => e.getBoundingClientRect()).filter(b => b.width < 50 || b.height < 20).length"
    )
    assert sizes == 0  # everything is there to be seen
    assert browser.run("document.querySelectorAll('svg[role=img]').length") == 4 * 3 + 2 * 6
    assert silent(browser)


def column(browser: Browser, k: int) -> list[float]:
    return browser.run(f"{ROWS}.map(r => +(r.cells[{k}].dataset.value ?? r.cells[{k}].innerText))")


def test_a_table_is_sorted_by_clicks(browser, report):
    browser.open(report)
    before = column(browser, 4)
    button = f"{PAIRS} thead th:nth-child(5) button"
    browser.page.click(button)
    assert column(browser, 4) == sorted(before, reverse=True) != before
    sort = f"document.querySelector('{PAIRS} thead th:nth-child(5)').ariaSort"
    assert browser.run(sort) == "descending"
    browser.page.click(button)
    assert column(browser, 4) == sorted(before)
    assert browser.run(sort) == "ascending"
    browser.page.click(f"{PAIRS} thead th:nth-child(1) button")
    assert column(browser, 0) == [*range(len(before), 0, -1)]
    assert browser.run(sort) is None
    assert silent(browser)


def test_text_is_sorted_as_text(browser, report):
    browser.open(report)
    browser.page.click("#short thead th:nth-child(2) button")
    words = browser.run("[...document.querySelectorAll('#short tbody td.t')].map(c => c.innerText)")
    assert words == sorted(words, reverse=True)
    assert len(set(words)) == 2


def test_ranges_are_sorted_by_their_numbers(browser, report):
    browser.open(report)
    browser.page.click("#f1_1w thead th:nth-child(2) button")
    browser.page.click("#f1_1w thead th:nth-child(2) button")
    cells = "[...document.querySelectorAll('#f1_1w tbody td.v')].map(c => c.innerText)"
    starts = [
        float(text.split(" to ")[0].replace(",", ""))
        for text in browser.run(cells)
        if " to " in text
    ]
    assert len({len(str(int(start))) for start in starts}) > 1  # else text would do, too
    assert starts == sorted(starts)


def test_a_table_is_searched_by_typing(browser, report):
    browser.open(report)
    total = browser.run(f"{ROWS}.length")
    word = browser.run(f"{ROWS}[3].cells[1].innerText.match(/row \\d+,/)[0]")
    browser.page.click(f"input[data-table={PAIRS[1:]}]")
    browser.page.keyboard.type(word.upper())
    seen = browser.run(f"{ROWS}.filter(r => r.checkVisibility()).map(r => r.innerText)")
    assert 1 <= len(seen) < total
    assert all(word in text for text in seen)
    said = f"document.querySelector('input[data-table={PAIRS[1:]}]').closest('p').innerText"
    assert f"{len(seen)} of {total}" in browser.run(said)
    browser.page.keyboard.type(" nobody is called so")
    assert browser.run(f"{ROWS}.filter(r => r.checkVisibility()).length") == 0
    assert silent(browser)


def tab_to(browser: Browser, condition: str) -> None:
    for _ in range(400):
        browser.page.keyboard.press("Tab")
        if browser.run(condition):
            return
    raise AssertionError(f"the keyboard does not reach {condition}")


def test_everything_works_from_the_keyboard(browser, report):
    browser.open(report)
    browser.page.keyboard.press("Tab")
    assert browser.run(f"{FOCUS}.innerText") == "Skip to the findings"
    assert browser.run(f"{FOCUS}.getBoundingClientRect().left") >= 0  # seen while it has the focus
    browser.page.keyboard.press("Enter")
    assert browser.run("location.hash") == "#short"
    tab_to(browser, f"{FOCUS}.matches('#short thead th:nth-child(3) button')")
    assert browser.run(f"getComputedStyle({FOCUS}).outlineStyle") == "solid"
    browser.page.keyboard.press("Enter")
    assert browser.run(f"{FOCUS}.closest('th').ariaSort") == "descending"
    tab_to(browser, f"{FOCUS}.matches('summary')")
    opened = browser.run(f"{FOCUS}.parentElement.open")
    browser.page.keyboard.press("Space")
    assert browser.run(f"{FOCUS}.parentElement.open") is not opened
    browser.page.keyboard.press("Space")
    tab_to(browser, f"{FOCUS}.matches('input[type=search]')")
    browser.page.keyboard.type("zzz")
    assert browser.run(f"{FOCUS}.closest('p').innerText").endswith("0 of 20")
    assert silent(browser)


@pytest.mark.parametrize("width", [390, 320, 1000])
def test_a_page_is_as_wide_as_its_screen(browser, report, width):
    browser.open(report, width=width, height=844)
    browser.run("document.querySelectorAll('details').forEach(d => { d.open = true })")
    assert browser.run("innerWidth") == width
    assert browser.run("document.documentElement.scrollWidth") == width
    assert silent(browser)


def test_long_names_do_not_widen_a_phone(browser, tmp_path):
    path = tmp_path / "report.html"
    hostile_audit().to_html(path)
    browser.open(path, width=390, height=844)
    browser.run("document.querySelectorAll('details').forEach(d => { d.open = true })")
    assert browser.run("document.documentElement.scrollWidth") == 390


def test_the_report_on_a_model_asks_for_nothing(browser, tmp_path):
    frame = loans(150).rename(columns={"area": HOSTILE})
    table = write(frame, tmp_path / "t.csv")
    said = command(
        "fit", table, "--label", "granted", "--sensitive", "sex", "--alpha", 0.5, "--alphas",
        "0,0.5", "--no-audit", "-o", tmp_path / "model",
    )  # fmt: skip
    assert said.code == 0, said.err
    for width in (390, 1000):
        browser.open(tmp_path / "model" / "report.html", width=width, height=800)
        assert browser.run("document.documentElement.scrollWidth") == width
        assert browser.run("document.querySelectorAll('svg').length") == 1
        assert silent(browser)


CONTRAST = """(() => {
  const light = (colour) => {
    const parts = colour.match(/[\\d.]+/g).slice(0, 3).map((v) => v / 255)
      .map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  };
  const paper = light(getComputedStyle(document.body).backgroundColor);
  return ["p", ".note", "nav a", ".warn", "th button", ".ci", ".who",
    ".answer .note", ".control label"]
    .map((s) => document.querySelector(s)).filter((e) => e)
    .map((e) => light(getComputedStyle(e).color))
    .map((ink) => (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05));
})()"""


def test_text_stands_out_in_light_and_dark(browser, report):
    papers = []
    for scheme in ("light", "dark"):
        browser.open(report, color_scheme=scheme)
        contrasts = browser.run(CONTRAST)
        assert len(contrasts) >= 6
        assert min(contrasts) >= 4.5  # what WCAG asks of text
        papers.append(browser.run("getComputedStyle(document.body).backgroundColor"))
    assert papers[0] == "rgb(255, 255, 255)" != papers[1]


def test_on_paper_sections_are_open_and_controls_are_gone(browser, report):
    browser.open(report)
    closed = "[...document.querySelectorAll('details.section')].filter(d => !d.open).length"
    assert browser.run(closed) > 0
    document = browser.page.pdf(format="A4")
    assert document.startswith(b"%PDF")
    assert browser.run(closed) == 0
    browser.page.emulate_media(media="print")
    for gone in ("nav", ".search", ".skip"):
        assert browser.run(f"document.querySelector('{gone}').checkVisibility()") is False
    assert silent(browser)


@pytest.mark.slow
def test_on_paper_two_pages_of_summary_come_first_and_few_follow(browser, report):
    paper = to_pdf(report.read_text("utf-8"))
    assert len(re.findall(rb"/Type\s*/Page\b", paper)) <= 24  # three attributes by two notions
    browser.open(report, width=720, height=960)  # a sheet of Letter, less its margins
    browser.page.emulate_media(media="print")
    end = browser.run("document.querySelector('#short').getBoundingClientRect().bottom")
    assert end < 2 * 960
    breaks = "getComputedStyle(document.querySelector('#a1 h2')).breakBefore"
    assert browser.run(breaks) == "page"
    # Pairs that are open fit the page, and no more of them are printed than it says.
    widths = "[...document.querySelectorAll('.pairs')].map(t => t.scrollWidth - innerWidth)"
    assert max(browser.run(widths)) <= 0
    assert browser.run(f"{ROWS}.filter(r => r.checkVisibility()).length") == 6


@pytest.mark.slow
def test_tables_that_go_on_to_the_right_say_so(browser, report):
    hint = "e => getComputedStyle(e, '::before').content.includes('More columns to the right')"
    tables = "[...document.querySelectorAll('.wide')].filter(e => e.checkVisibility())"
    wider = f"{tables}.filter(e => e.scrollWidth > e.clientWidth + 1)"
    browser.open(report, width=390)
    assert browser.run(f"{wider}.length") > 0
    assert browser.run(f"{wider}.every({hint})")
    assert browser.run(f"{tables}.filter({hint}).length === {wider}.length")
    # And the last column can be reached, by the keyboard as well.
    browser.run(f"{wider}[0].focus()")
    browser.page.keyboard.press("End")
    for _ in range(40):
        browser.page.keyboard.press("ArrowRight")
    browser.settle()
    left = f"(e => e.scrollWidth - e.clientWidth - e.scrollLeft)({wider}[0])"
    assert browser.run(left) < 2
    browser.open(report, width=1200)
    assert browser.run(f"{tables}.filter({hint}).length === {wider}.length")
    assert silent(browser)


@pytest.mark.parametrize("policy", [True, False])
def test_a_hostile_table_injects_nothing(browser, tmp_path, policy):
    path = tmp_path / "report.html"
    page = hostile_audit().to_html()
    if not policy:  # escaped, even where nothing else would help
        page = page.replace(re.search(r"<meta http-equiv.*?>", page).group(), "")
    path.write_text(page, "utf-8")
    browser.open(path)
    browser.run("document.querySelectorAll('details').forEach(d => { d.open = true })")
    browser.page.click(f"{PAIRS} thead th:nth-child(3) button")  # what scripts touch stays text
    browser.page.click(f"input[data-table={PAIRS[1:]}]")
    browser.page.keyboard.type("<img")
    assert silent(browser)
    assert browser.run("document.title") == "Fairness audit"
    assert browser.run("document.scripts.length") == 1
    assert (
        browser.run("document.querySelectorAll('img, iframe, object, link[href^=http]').length")
        == 0
    )
    assert browser.run(
        "[...document.querySelectorAll('*')].flatMap(e => e.getAttributeNames())"
        ".filter(name => name.startsWith('on')).length"
    ) == 0  # fmt: skip
    assert HOSTILE in browser.run("document.querySelector('h2[id]').textContent")


def test_a_cell_of_a_notebook_injects_nothing(browser, tmp_path):
    path = tmp_path / "cell.html"
    path.write_text(f"<title>cell</title>{hostile_audit()._repr_html_()}", "utf-8")
    browser.open(path)
    assert silent(browser)
    assert browser.run("document.title") == "cell"
    assert browser.run("document.querySelectorAll('script, img').length") == 0


def test_without_chromium_the_script_is_named(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(RuntimeError, match=r"scripts/chromium\.sh"):
        find_chromium()


@pytest.mark.parametrize(
    ("there", "user", "calls", "code"),
    [
        (("chromium",), 1000, [], 0),  # costs nothing
        (("apt-get",), 0, ["apt-get update", "apt-get install"], 0),
        (("apt-get", "sudo"), 1000, ["sudo apt-get update", "sudo apt-get install"], 0),
        (("apt-get",), 1000, [], 1),
        ((), 0, [], 1),
    ],
)
def test_the_script_installs_chromium_where_there_is_none(tmp_path, there, user, calls, code):
    stubs = {
        "id": f"echo {user}",
        "chromium": "",
        # Whatever is installed is a Chromium.
        "apt-get": 'echo "apt-get $*" >>"$LOG"; /bin/cp "$BIN/id" "$BIN/chromium"',
        "sudo": 'echo "sudo $*" >>"$LOG"; /bin/cp "$BIN/id" "$BIN/chromium"',
    }
    for name in ("id", *there):
        (tmp_path / name).write_text(f"#!/bin/sh\n{stubs[name]}\n")
        (tmp_path / name).chmod(0o755)
    log = tmp_path / "log"
    run = subprocess.run(
        ["/bin/sh", SCRIPT], capture_output=True, text=True, check=False,
        env={"PATH": str(tmp_path), "LOG": str(log), "BIN": str(tmp_path)} | _locale(),
    )  # fmt: skip
    assert run.returncode == code
    assert run.stderr.count("\n") == code  # one line, if it fails
    done = log.read_text().splitlines() if log.exists() else []
    assert len(done) == len(calls)
    for line, call in zip(done, calls):
        assert line.startswith(call)
    assert all("--no-install-recommends chromium" in line for line in done if "install" in line)


def _locale() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if k in ("LANG", "LC_ALL")}


# The slider of decisions.


def decided(n: int = 600) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    group = rng.choice(["a", "b", "few"], n, p=[0.5, 0.47, 0.03])
    y = rng.random(n) < np.where(group == "a", 0.6, 0.4)
    h = np.clip(0.3 * y + rng.normal(0.35, 0.15, n) + 0.1 * (group == "a"), 0.01, 0.99)
    w = rng.integers(1, 4, n)
    return pd.DataFrame({"g": group, "y": y.astype(int), "p": h, "w": w})


def audit_at(threshold: float, **options: object) -> otfair.Audit:
    t = decided()
    return otfair.audit(
        t["p"], sensitive_features=t[["g"]], labels=t["y"], sample_weight=t["w"],
        threshold=threshold, n_bootstrap=20, **options,
    )  # fmt: skip


def shown_rates(browser: Browser, figure: str) -> dict[str, list[str]]:
    """Return what a table of decisions shows, by group, without intervals."""
    rows = browser.run(
        f"[...document.querySelectorAll('table[data-figure={figure}] tbody tr')].map(r => "
        "[...r.cells].map(c => c.innerText.split('\\n')[0].trim()))"
    )
    return {row[0]: row[2:] for row in rows}


def expected_rates(audit: otfair.Audit, figure: str, form: str) -> dict[str, list[str]]:
    (one,) = audit.decisions
    return {
        g.group.replace("=", " = "): [
            "–" if e.value != e.value else f"{e.value:{form}}" for e in getattr(g, figure).values()
        ]
        for g in one.groups
        if figure == "rates" or g.group != one.reference
    }


@pytest.mark.parametrize("own", [0.5, 0.512])
def test_a_slider_shows_what_an_audit_at_its_threshold_finds(browser, tmp_path, own):
    # From the keyboard alone; the reference group stays that of the page.
    audit_at(own, reference="b").to_html(tmp_path / "r.html")
    browser.open(tmp_path / "r.html")
    browser.run("document.querySelectorAll('details').forEach(d => { d.open = true })")
    first = shown_rates(browser, "rate")
    tab_to(browser, f"{FOCUS}.matches('.control input[type=range]')")
    assert browser.run(f"{FOCUS}.labels[0].innerText.trim()") == "Threshold"
    mark = "document.querySelector('.decisions svg .mark').getBoundingClientRect().left"
    before = browser.run(mark)
    for _ in range(10):
        browser.page.keyboard.press("ArrowLeft")
    at = 0.4 if own == 0.5 else 0.42
    assert browser.run("document.querySelector('.control output').innerText") == f"{at}"
    assert browser.run(f"{FOCUS}.ariaValueText") == f"{at}"
    assert browser.run(mark) < before
    there = audit_at(at, reference="b")
    for figure, name, form in (
        ("rate", "rates", ".3f"), ("difference", "difference", "+.3f"), ("ratio", "ratio", ".2f"),
    ):  # fmt: skip
        seen = shown_rates(browser, figure)
        want = expected_rates(there, name, form)
        assert {g: [v.rstrip("?") for v in row] for g, row in seen.items()} == want
    assert all(value.endswith("?") for value in shown_rates(browser, "rate")["g = few"])
    said = browser.run("document.querySelector('.decisions [aria-live]').innerText")
    assert said == (
        f"At the threshold {at}, with Wilson's 95 % intervals; the audit's own threshold is {own}."
    )
    browser.page.keyboard.press("Tab")
    assert browser.run(f"{FOCUS}.innerText") == f"back to {own}"
    browser.page.keyboard.press("Enter")
    assert shown_rates(browser, "rate") == first
    assert silent(browser)


def test_intervals_of_the_slider_are_those_of_wilson(browser, tmp_path):
    t = decided()
    found = otfair.audit(t["p"], sensitive_features=t[["g"]], labels=t["y"], n_bootstrap=20)
    found.to_html(tmp_path / "r.html")
    browser.open(tmp_path / "r.html")
    browser.page.locator(".control input").fill("35")
    cells = browser.run(
        "[...document.querySelectorAll('table[data-figure=rate] tbody tr')].map(r => "
        "[...r.cells].slice(2, 5).map(c => c.querySelector('.ci').innerText))"
    )
    for group, row in zip(("a", "b", "few"), cells):
        own = t[t.g == group]
        for who, text in zip((own, own[own.y == 1], own[own.y == 0]), row):
            test = binomtest(int((who.p > 0.35).sum()), len(who))
            ends = test.proportion_ci(method="wilson")
            assert text == f"{ends.low:.3f}–{ends.high:.3f}"


def test_a_chosen_rate_is_drawn(browser, tmp_path):
    audit_at(0.5).to_html(tmp_path / "r.html")
    browser.open(tmp_path / "r.html")
    paths = "[...document.querySelectorAll('.decisions path[data-group]')]"
    curves = f"{paths}.map(p => p.getAttribute('d'))"
    first = browser.run(curves)
    assert len(first) == 2  # the third group is too small
    choose = ".decisions .control select"
    browser.page.select_option(choose, label="precision")
    drawn = browser.run(curves)
    label = "document.querySelector('.decisions svg text[transform]').textContent"
    assert browser.run(label) == "precision"
    precision = {g.group: g.rates["precision"].value for g in audit_at(0.5).decisions[0].groups}
    for path, group in zip(drawn, ("g=a", "g=b")):
        points = dict(point.split(" ") for point in re.split("[ML]", path)[1:])
        assert float(points["210.0"]) == pytest.approx(310 - 300 * precision[group], abs=0.051)
    browser.page.select_option(choose, label="selection rate")
    assert browser.run(curves) == first  # as the page came
    assert silent(browser)


def test_without_scripts_there_are_tables_and_no_controls(browser, tmp_path):
    found = audit_at(0.5)
    found.to_html(tmp_path / "r.html")
    browser.open(tmp_path / "r.html", java_script_enabled=False)
    table = browser.page.locator("table[data-figure=rate]")
    assert table.is_visible()
    assert table.locator("tbody tr").count() == 3
    rate = found.decisions[0].groups[0].rates["selection_rate"].value
    assert f"{rate:.3f}" in table.inner_text()
    assert browser.page.locator(".decisions svg[role=img]").is_visible()
    for gone in ("input[type=range]", "select", "button"):
        assert not browser.page.locator(f".decisions {gone}").first.is_visible()


def test_the_first_screen_answers(browser, report):
    # Without scrolling, on a desktop and on a phone: who is worse off, and whether by chance.
    for width, height in ((1280, 800), (390, 844)):
        browser.open(report, width=width, height=height)
        seen = browser.run(
            "[...document.querySelector('.answer').children].slice(0, 3)"
            ".map(e => e.getBoundingClientRect().bottom <= innerHeight)"
        )
        assert seen == [True, True, True]
