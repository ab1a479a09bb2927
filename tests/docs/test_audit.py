"""Figures of docs/audit.md, computed again from the committed runs."""

from __future__ import annotations

import pandas as pd
import pytest
from page_scripts import BENCHMARKS, cells, page, says, short
from scipy.stats import beta

from otfair.auditing import _results

TITLES = {"age_binned": "age in two"}


@pytest.fixture(scope="module")
def bounded():
    return pd.read_csv(BENCHMARKS / "bounded.csv")


def title(name: str) -> str:
    return name if name == "synthetic" else name.capitalize()


def test_costs_with_and_without_the_bound(bounded):
    runs = bounded[bounded["people"] == 1500].set_index(["dataset", "kind"])
    assert set(runs["notion"]) == {"demographic_parity"}
    rows = cells(page("audit"), "bounded")
    assert {row[0] for row in rows} == {title(name) for name, _ in runs.index}
    for name, *row in rows:
        free, held = (runs.loc[(name.lower(), kind)] for kind in ("unbounded", "bounded"))
        for cell, own in zip(row, (free, held)):
            assert cell == f"{short(own.cost)} ({short(own.low)} to {short(own.high)})"
        assert row[2] == f"{free.piled:.1f}"
        assert held.piled == pytest.approx(1)
        assert held.cost > free.cost
    most = runs.loc[("adult", "unbounded")].piled
    says("audit", f"In a plan for 1500 people of Adult, one person would end with {most:.1f}")
    (day,) = bounded["date"].unique()
    says("audit", f"`python benchmarks/bench_bounded.py`, {day}, seed 0")


def test_costs_of_the_sample(bounded):
    runs = bounded[bounded["people"] == 6000].set_index(["dataset", "attribute", "notion"])
    rows = cells(page("audit"), "sample")
    assert len(rows) == len(runs)
    looks_free = []
    for name, *row in rows:
        (own,) = (
            run for (dataset, column, notion), run in runs.iterrows()
            if name == f"{title(dataset)}, {TITLES.get(column, column)}, {notion.replace('_', ' ')}"
        )  # fmt: skip
        share = own.cost / own.least_moved
        assert row[:2] == [short(share, 3), short(own.sample_unbounded)]
        assert row[2] == short(own.sample_bounded)
        assert own.cost <= own.sample_unbounded <= own.sample_bounded
        looks_free.append(share < _results.FREE and own.piled > 1)
    says("audit", f"the cost is below {_results.FREE} of the least that must move")
    says("audit", "(the last three do not look free)")
    assert looks_free == [True] * 3 + [False] * 3


def test_large_tables():
    runs = pd.read_csv(BENCHMARKS / "scale.csv")
    audits = runs[runs["work"] == "audit"]
    assert (audits["receivers"] == audits["people"]).all()
    most = audits.groupby("table")["people"].max()
    assert most["synthetic"] == 1_000_000
    says("audit", f"All of a million made-up loans receive, and all of {most['acs_income']} people")
    own = audits[(audits["table"] == "synthetic") & (audits["people"] == 1_000_000)].iloc[0]
    says("audit", "An audit of a million made-up people by sex takes "
         f"{own.cpu_seconds:.0f} s of one core and {own.peak_gb:.1f} GB")  # fmt: skip


def test_all_of_forty():
    says("audit", f"40 out of 40 give {beta.ppf(0.025, 41, 1):.3f} to 1")
