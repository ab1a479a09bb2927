"""The page of results is what the committed runs say, to the last digit."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from otfair.experiments import page, plan, read_csv

DOCS = Path(__file__).parent.parent / "docs"


@pytest.fixture(scope="module")
def runs():
    return read_csv(DOCS / "results.csv")


def test_every_number_on_the_page_comes_from_the_runs(runs):
    assert (DOCS / "results.md").read_text(encoding="utf-8") == page(runs, "_static/results")


def test_the_pictures_are_there(runs):
    pictures = re.findall(r"\]\((\S+\.png)\)", page(runs, "_static/results"))
    assert len(pictures) == 6
    assert all((DOCS / picture).stat().st_size > 10_000 for picture in pictures)


def test_nothing_of_the_full_protocol_is_left_to_run(runs):
    done = {result.run.key for result in runs}
    for dataset in ("adult", "bank", "dutch", "diabetes"):
        assert {run.key for run in plan(dataset, "full", 10)} <= done
        splits = 2 if dataset == "adult" else 1
        assert {run.key for run in plan(dataset, "paper", splits)} <= done
    assert {run.key for run in plan("postprocess", "paper", 5)} <= done
    assert {run.key for run in plan("epsilon", "full", 3)} <= done
