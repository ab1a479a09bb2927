"""Every number of the page on performance comes from the runs that are committed."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def performance():
    spec = importlib.util.spec_from_file_location("performance", ROOT / "docs" / "performance.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_the_runs_say(performance):
    page = performance.PAGE.read_text("utf-8")
    assert performance.filled(page, performance.read()) == page


def test_all_of_it_is_one_run(performance):
    runs = performance.read()
    assert runs["run"].nunique() == 1
    assert set(runs["section"]) == {"startup", "batch", "step", "pass", "growth", "fit"}
    assert performance.FIGURE.exists()
