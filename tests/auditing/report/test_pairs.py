"""Pairs of people side by side in the report."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import otfair
from otfair.auditing.report._pairs import pairs


def test_people_who_differ_a_little_do_not_differ_in_nothing():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"near": rng.normal(size=300), "client_id": [f"<c{k}>" for k in range(300)]})
    group = np.repeat(["a", "b"], 150)
    h = 0.3 + 0.2 * (group == "a") + 0.2 * rng.random(300)
    a = otfair.audit(h, X, sensitive_features=group, n_bootstrap=0)
    first = pairs(a, a.findings[0])[0]
    assert 0 < first.distance < 0.25
    assert first.differs == "nothing by more than 0.25 standard deviations"
    giver = a.findings[0].cost.pairs.giver[0]  # named by what is no feature
    assert first.giver_row == f"row {giver}, client_id <c{giver}>"
    assert f"row {giver}, client_id &lt;c{giver}&gt;" in a.to_html()
    # Twins are counted, and not listed.
    near = X["near"].to_numpy().copy()
    near[150:160] = near[:10]
    twins = otfair.audit(h, {"near": near}, sensitive_features=group, n_bootstrap=0)
    every = twins.findings[0].cost.pairs
    listed = pairs(twins, twins.findings[0])
    assert 0 < every.twins.sum() < len(every)
    assert [p.mass for p in listed] == every.mass[~every.twins][:40].tolist()
    assert all(p.distance > 0 for p in listed)
    said = f"{every.twins.sum()} of {len(every)} pairs are twins: alike in every column compared."
    assert said in twins.to_html()


def test_where_all_are_twins_no_pair_is_listed():
    group, sort = np.repeat(["a", "b"], 60), np.tile(["x", "y", "z"], 40)
    h = 0.3 + 0.2 * (group == "a")
    a = otfair.audit(h, pd.DataFrame({"sort": sort}), sensitive_features=group, n_bootstrap=0)
    assert pairs(a, a.findings[0]) == []
    page = a.to_html()
    assert "They hold 100.0 % of the score that moves, and are not listed." in page
    assert "Counterparts:" not in page


@pytest.mark.parametrize(
    ("differ", "alike", "words", "said"),
    [
        (50, 0, ", 20 more features", "and 20 more features, of which 20 differ<"),
        (35, 5, ", 5 more features", "and 10 more features, of which 5 differ<"),
        (10, 30, ", x9", "and 10 more features that are alike<"),
    ],
)
def test_features_that_are_not_shown_are_not_called_alike(differ, alike, words, said):
    rng = np.random.default_rng(0)
    group = np.repeat(["a", "b"], 20)
    X = {f"x{k}": (group == "a") + rng.normal(0, 1e-3, 40) for k in range(differ)}
    X |= {f"one {k}": np.arange(40) == 39 for k in range(alike)}  # of one person only
    h = 0.3 + 0.2 * (group == "a") + 0.2 * rng.random(40)
    a = otfair.audit(h, X, sensitive_features=group, n_bootstrap=0)
    found = pairs(a, a.findings[0])
    assert found[0].differs.endswith(words)
    assert said in a.to_html()
