"""Figures of docs/scaling.md, computed again from the committed runs, and its arithmetic."""

from __future__ import annotations

import re

import pandas as pd
import pytest
from page_scripts import BENCHMARKS, DOCS, cells, page, says


@pytest.fixture(scope="module")
def runs():
    return pd.read_csv(BENCHMARKS / "dask_messages.csv")


def size(count: float) -> str:
    """Return bytes in kB or MB, to two digits below ten and else whole."""
    value, unit = (count / 1e6, "MB") if count >= 1e5 else (count / 1e3, "kB")
    return f"{value:.2f} {unit}" if value < 0.5 else f"{value:.{int(value < 10)}f} {unit}"


def test_a_step(runs):
    rows = cells(page("scaling"), "steps")
    assert len(rows) == len(runs)
    for title, *row in rows:
        by = "dask" if "by Dask" in title else "messages"
        (own,) = (
            run for run in runs[runs["by"] == by].itertuples()
            if f" {run.workers} partitions" in title or f" {run.types} types" in title
        )  # fmt: skip
        assert row[3] == f"{own.milliseconds:.0f} ms"
        if by == "messages":
            assert f"{own.workers} connections" in title
            assert f"{own.rows} rows of G" in title
            sizes = (own.bytes_to_each, own.bytes_back, own.bytes_in_all)
            assert row[:3] == [size(count) for count in sizes]
    (day,) = runs["date"].unique()
    says("scaling", f"`python benchmarks/dask_messages.py`, {day}")
    most = runs[runs["by"] == "dask"].sort_values("workers").iloc[-1]
    each = most["milliseconds"] / most["workers"]
    says("scaling", f"the scheduler's time for each task, {each:.1f} ms here")


def test_arithmetic(runs):
    people, features, types, receivers, workers = 1_000_000, 20, 20, 50_000, 100
    each = 8 * people * features / 1e6
    assert types == features
    says("scaling", f"features {each:.0f} MB, distances {each:.0f} MB, shares at a reference "
         f"{each:.0f} MB, receivers {8 * receivers * features / 1e6:.0f} MB")  # fmt: skip
    says("scaling", f"{workers * 8 * receivers * features / 1e9:.1f} GB in all, from worker")
    assert people * receivers == 5e10
    says("scaling", "5e10 pairs for each worker")
    own = runs[(runs["by"] == "messages") & (runs["types"] == types)].iloc[0]
    says("scaling", f"{own['bytes_in_all'] / 1e6:.2f} MB moved")
    total = 900 * workers * own["bytes_back"] / 1e6
    says("scaling", f"at most 900 x {workers} x {own['bytes_back'] / 1e3:.1f} kB: {total:.0f} MB")


def test_it_is_installed_as_the_readme_says():
    # It is not in a package index: `pip install otfair` is what no page may tell a reader to do.
    wanted = "pip install -c constraints.txt '.["
    assert wanted in (DOCS.parent / "README.md").read_text("utf-8")
    says("scaling", wanted + "dask]'")
    told = re.compile(r"^\s*pip install [\"']?otfair", re.MULTILINE)
    assert [path.name for path in DOCS.glob("*.md") if told.search(path.read_text("utf-8"))] == []
