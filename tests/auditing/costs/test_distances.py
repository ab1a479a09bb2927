"""Distances between people."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import pdist

import otfair
from otfair.auditing.costs import _distances
from otfair.auditing.costs._distances import median_distance
from otfair.geometry import _boxes

approx = pytest.approx


def test_nobody_is_a_typical_distance_from_themselves():
    points = np.random.default_rng(0).normal(size=(20, 3))
    assert median_distance(points, np.ones(20)) == approx(np.median(pdist(points)))
    assert median_distance(np.ones((5, 2)), np.ones(5)) == 1


def audited(**settings) -> list[dict]:
    """Audit made-up loans, and return the findings as plain values."""
    data = otfair.load_dataset("synthetic", n=500)
    found = otfair.audit(
        data.truth.scores, data.X, sensitive_features=data.sensitive_features["sex"],
        labels=data.y, bounded=False, n_bootstrap=10, **settings,
    )  # fmt: skip
    return json.loads(found.to_json())["findings"]


def flat(value: object) -> list[float]:
    """Return all numbers in some plain values, in their order."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [number for item in value for number in flat(item)]
    return [float(value)] if isinstance(value, int | float) else []


@pytest.mark.parametrize("receivers", [None, 150])
def test_people_who_are_encoded_block_by_block_are_as_far_away(monkeypatch, receivers):
    at_once = audited(receivers=receivers)
    monkeypatch.setattr(_distances, "MOST_PLACES", 0)
    monkeypatch.setattr(_distances, "BLOCK", 200)
    in_blocks = audited(receivers=receivers)
    assert flat(in_blocks) == approx(flat(at_once), rel=1e-6, abs=1e-9, nan_ok=True)


def test_all_may_receive_where_boxes_leave_few_pairs(monkeypatch):
    pytest.importorskip("numba", reason="distances by boxes need Numba")
    rng, n = np.random.default_rng(0), 2000
    X, sensitive = rng.normal(size=(n, 2)), pd.DataFrame({"sex": rng.integers(2, size=n)})
    sensitive["town"] = rng.integers(50, size=n).astype(str)
    scores = np.clip(0.5 + 0.2 * X[:, 0] + 0.1 * sensitive["sex"], 0.05, 0.95)
    settings = {"sensitive_features": sensitive, "bounded": False, "n_bootstrap": 0}
    whole = otfair.audit(scores, X, **settings)
    monkeypatch.setattr(_boxes, "LEAST_PAIRS", 0)
    monkeypatch.setattr(_distances, "PAIRS", 400 * n)  # not all pairs, but those that boxes leave
    found = otfair.audit(scores, X, **settings)
    sex, town = (f.cost for f in found.findings)
    assert sex.destinations == n
    assert town.destinations < n  # it has many types, and each person meets boxes of all
    assert found.record.settings["receivers"] == 512
    exact = whole.findings[0].cost
    assert sex.exact.value == approx(exact.exact.value, rel=1e-9)
    assert sex.smooth == approx(exact.smooth, rel=1e-3)
    assert sex.moved == approx(exact.moved, rel=1e-9)


@pytest.mark.parametrize("far", [0.0, 1e9])
def test_tables_of_people_who_lie_oddly(monkeypatch, far):
    # Two places, with people of both groups at each, and maybe one person far away.
    monkeypatch.setattr(_boxes, "LEAST_PAIRS", 0)
    monkeypatch.setattr(_boxes, "PAYS", 0.0)
    X = np.arange(400.0)[:, None] % 2
    X[0] += far
    scores = np.linspace(0.1, 0.9, 400)
    found = otfair.audit(scores, X, sensitive_features=np.arange(400) // 200, bounded=False)
    assert found.findings[0].cost.exact.value == approx(0.0, abs=1e-9)
