"""The bounded cost next to one that looks free."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tables_for_commands import otfair as command
from tables_for_commands import write

import otfair


@pytest.fixture
def twins(monkeypatch):
    """People who have twins of the other group, and scores that differ by group."""
    monkeypatch.setattr("otfair.auditing._pipeline.BOUNDED_PEOPLE", 10)  # as if they were many
    rng = np.random.default_rng(0)
    n = 240
    group = np.where(rng.random(n) < 0.3, "a", "b")
    # Few of a are where b is, so that they can't take all that must move and stay scores.
    away = (group == "a") & (np.arange(n) % 8 > 0)
    place = rng.integers(4, size=n) + np.where(away, 6, 0)
    h = np.where(group == "a", 0.35, 0.55) + 0.1 * rng.random(n)
    return h, pd.DataFrame({"place": place}), pd.Series(group, name="group")


def test_where_fairness_looks_free_the_bounded_cost_is_there_too(twins):
    h, X, group = twins
    cost = otfair.audit(h, X, sensitive_features=group, n_bootstrap=0).findings[0].cost
    assert not cost.bounded
    assert cost.exact.value == pytest.approx(0, abs=1e-9)
    assert cost.least_moved.value > 0.03
    assert cost.looks_free
    assert cost.to_twins == pytest.approx(1)
    # All people are few enough to be the sample, so that it is the audit with bounds.
    bounded = otfair.audit(h, X, sensitive_features=group, n_bootstrap=0, bounded=True)
    other = bounded.findings[0].cost
    assert cost.with_bound.people == len(h)
    assert cost.with_bound.value > 0.02
    assert cost.with_bound.value == pytest.approx(other.exact.value, abs=1e-9)
    assert cost.with_bound.unbounded == pytest.approx(cost.exact.value, abs=1e-9)
    assert cost.with_bound.moved == pytest.approx(other.moved, abs=1e-9)


def test_it_is_not_computed_where_it_was_not_wanted_or_is_not_needed(twins):
    h, X, group = twins
    asked = otfair.audit(h, X, sensitive_features=group, n_bootstrap=0, bounded=False)
    assert asked.findings[0].cost.looks_free
    assert asked.findings[0].cost.with_bound is None
    X["place"] += np.where(group == "a", 8, 0)
    found = otfair.audit(h, X, sensitive_features=group, n_bootstrap=0)
    assert not found.findings[0].cost.looks_free
    assert found.findings[0].cost.with_bound is None
    assert np.isnan(found.summary()["otf_bounded"][0])


def test_the_sample_stands_for_all(twins, monkeypatch):
    h, _, group = twins
    monkeypatch.setattr("otfair.auditing.costs._bounding.SAMPLE", 80)
    X = pd.DataFrame({"place": np.random.default_rng(1).normal(size=len(h))})  # no twins
    given = {"sensitive_features": group, "n_bootstrap": 0}
    costs = [otfair.audit(h, X, **given, random_state=k).findings[0].cost for k in range(6)]
    assert all(cost.looks_free and 70 <= cost.with_bound.people <= 90 for cost in costs)
    # On average a sample costs no less than all people.
    every = otfair.audit(h, X, **given, bounded=True).findings[0].cost.exact.value
    assert costs[0].exact.value <= every < np.mean([cost.with_bound.value for cost in costs])
    assert all(cost.with_bound.unbounded <= cost.with_bound.value for cost in costs)


def test_page_terminal_and_json_say_so(twins, tmp_path):
    h, X, group = twins
    table = write(X.assign(group=group, p=h), tmp_path / "t.csv")
    said = command(
        "audit", table, "--score", "p", "--sensitive", "group", "--bootstrap", 0,
        "-o", tmp_path / "r.html",
    )  # fmt: skip
    assert said.code == 0, said.err
    why = "demographic_parity, group: A cost this low does not mean that the scores are nearly fair"
    assert why in said.out
    page = (tmp_path / "r.html").read_text("utf-8")
    assert "A cost this low does not mean" in page
    assert "<dt>Bounded OTF cost</dt>" in page
    found = command("audit", table, "--score", "p", "--sensitive", "group", "--json").data
    assert found["findings"][0]["cost"]["with_bound"]["people"] == len(h)
