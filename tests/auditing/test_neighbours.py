"""People who are alike, in an audit: the figures of the metric, and what is left out or drawn."""

from __future__ import annotations

import json

import numpy as np
import pytest
from reports import HOSTILE, hostile_audit, plain_audit

import otfair
from otfair.auditing import _neighbours

N = 400
approx = pytest.approx


@pytest.fixture(scope="module")
def data():
    return otfair.load_dataset("synthetic", n=N)


@pytest.fixture(scope="module")
def found():
    return plain_audit(N, n_bootstrap=50)


def of(found, notion: str, attribute: str):
    return next(f.alike for f in found.findings if (f.notion, f.attribute) == (notion, attribute))


@pytest.mark.parametrize("attribute", ["sex", "origin"])
@pytest.mark.parametrize("notion", ["demographic_parity", "equalized_odds"])
def test_the_figures_are_those_of_the_metric(found, data, notion, attribute):
    labels = data.y if notion == "equalized_odds" else None
    given = (data.truth.scores, data.X, data.sensitive_features[attribute])
    alike, table = (
        of(found, notion, attribute),
        otfair.neighbour_gap_by_group(*given, labels=labels),
    )
    assert alike.gap.value == approx(otfair.neighbour_gap(*given, labels=labels), abs=1e-9)
    assert (alike.people, alike.among, alike.neighbours) == (N, N, 5)
    assert [g.group for g in alike.groups] == table["group"].tolist()
    assert [g.people for g in alike.groups] == table["weight"].tolist()
    for name in ("gap", "more"):
        values = [getattr(g, name).value for g in alike.groups]
        np.testing.assert_allclose(values, table[name], atol=1e-9)
    # Distances are in units of the typical one, as everywhere in an audit.
    ratio = [g.distance for g in alike.groups] / table["distance"]
    np.testing.assert_allclose(ratio, ratio[0])
    assert ratio[0] > 1


def test_intervals_hold_their_figures(found):
    for finding in found.findings:
        for g in () if finding.alike is None else (finding.alike, *finding.alike.groups):
            for e in (g.gap, getattr(g, "more", g.gap)):
                assert e.low < e.value < e.high


def test_numbers_and_audits_without_features_have_none(found, data):
    assert of(found, "demographic_parity", "age") is None
    sex = data.sensitive_features["sex"]
    bare = otfair.audit(data.truth.scores, sensitive_features=sex, n_bootstrap=5)
    assert bare.findings[0].alike is None
    assert np.isnan(bare.summary()["neighbour_gap"][0])
    assert "People who are alike" not in bare.to_html()


def test_weights_are_copies(data):
    weight = np.random.default_rng(0).integers(1, 4, N)
    copies = np.repeat(np.arange(N), weight)
    sex = data.sensitive_features["sex"]
    once = otfair.audit(
        data.truth.scores, data.X, sensitive_features=sex, sample_weight=weight, n_bootstrap=0
    )
    many = otfair.audit(
        data.truth.scores[copies], data.X.iloc[copies].reset_index(drop=True),
        sensitive_features=sex.iloc[copies].reset_index(drop=True), n_bootstrap=0,
    )  # fmt: skip
    a, b = once.findings[0].alike, many.findings[0].alike
    assert a.gap.value == approx(b.gap.value, abs=1e-9)
    assert [g.more.value for g in a.groups] == approx([g.more.value for g in b.groups], abs=1e-9)


def test_conditions_decide_who_is_compared(data):
    job = np.arange(N) % 3
    found = otfair.audit(
        data.truth.scores, data.X, sensitive_features=data.sensitive_features["sex"],
        control_features={"job": job}, n_bootstrap=0,
    )  # fmt: skip
    alike = of(found, "conditional_parity", "sex")
    plain = of(found, "demographic_parity", "sex")
    assert plain.gap.value != alike.gap.value
    assert min(g.distance for g in alike.groups) > min(g.distance for g in plain.groups)


def test_of_large_tables_some_people_are_drawn(data, monkeypatch):
    monkeypatch.setattr(_neighbours, "LOOKING", 150)
    monkeypatch.setattr(_neighbours, "AMONG", 250)
    sex = data.sensitive_features["sex"]
    found = otfair.audit(data.truth.scores, data.X, sensitive_features=sex, n_bootstrap=100)
    alike = found.findings[0].alike
    assert (alike.people, alike.among) == (150, 250)
    assert sum(g.people for g in alike.groups) == 150
    assert alike.gap.low < otfair.neighbour_gap(data.truth.scores, data.X, sex) < alike.gap.high
    assert "150 were drawn and compared with 250 others" in found.to_html()


def test_people_alone_in_their_label_are_not_compared():
    rng = np.random.default_rng(0)
    n = 90
    groups = np.array(["a", "b", "c"])[np.arange(n) % 3]
    labels = np.where(groups == "c", 1, 0)
    found = otfair.audit(
        rng.random(n), rng.normal(size=(n, 2)), sensitive_features=groups, labels=labels,
        notions=["equal_opportunity", "predictive_equality"], n_bootstrap=0,
    )  # fmt: skip
    by_notion = {f.notion: f.alike for f in found.findings}
    assert by_notion["equal_opportunity"] is None  # all of them are c
    assert [g.people for g in by_notion["predictive_equality"].groups] == [30, 30]
    assert "60 of the people were compared" in found.to_html()


def test_summary_and_json_have_it(found):
    table = found.summary()
    first = table.iloc[0]
    assert first["neighbour_gap_low"] < first["neighbour_gap"] < first["neighbour_gap_high"]
    plain = json.loads(found.to_json())["findings"]
    assert plain[0]["alike"]["gap"]["value"] == first["neighbour_gap"]
    assert plain[0]["alike"]["groups"][0]["group"] == "sex=Female"
    assert plain[-1]["alike"] is None


def test_the_report_shows_it_with_names_escaped(found):
    page = found.to_html()
    assert page.count("<h4>People who are alike</h4>") == 4
    gap = of(found, "demographic_parity", "sex").gap
    assert f"of another group by {gap.value:.3f} ({gap.low:.3f} to {gap.high:.3f})" in page
    hostile = hostile_audit().to_html()
    assert "<h4>People who are alike</h4>" in hostile
    assert HOSTILE not in hostile
    assert "<script>alert(2)" not in hostile
