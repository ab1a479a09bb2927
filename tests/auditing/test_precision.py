"""Audits by predictive parity: precision by group, and the rate that is cheapest to reach."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import otfair
from otfair import PredictiveParity
from otfair.auditing.report._words import figure_range


@pytest.fixture(scope="module")
def loans():
    return otfair.load_dataset("synthetic", n=400)


@pytest.fixture(scope="module")
def found(loans):
    return otfair.audit(
        loans.truth.scores,
        loans.X,
        sensitive_features=loans.sensitive_features[["sex"]],
        labels=loans.y,
        notions=["demographic_parity", "predictive_parity"],
        n_bootstrap=30,
    )


def test_it_measures_precision(loans, found):
    h, sex, y = loans.truth.scores, loans.sensitive_features["sex"], loans.y
    violation = found.findings[1].violation
    assert violation.value.value == pytest.approx(otfair.predictive_parity_violation(h, sex, y))
    assert violation.mean_difference.value == pytest.approx(violation.value.value)
    assert violation.rate_difference.value == pytest.approx(
        otfair.predictive_parity_difference(h, sex, y)
    )
    for group in violation.groups:
        inside = (sex == group.group.removeprefix("sex=")).to_numpy()
        assert group.precision.value == pytest.approx((h * y)[inside].sum() / h[inside].sum())
        assert group.precision.low < group.precision.value < group.precision.high
        assert group.rate.value == pytest.approx(y[inside & (h > 0.5)].mean())
    assert violation.chance > 0
    assert found.findings[0].violation.groups[0].precision is None


def test_its_cost_is_the_least_over_rates(loans, found):
    cost = found.findings[1].cost
    by_rate = otfair.audit(
        loans.truth.scores,
        loans.X,
        sensitive_features=loans.sensitive_features[["sex"]],
        labels=loans.y,
        notions=[PredictiveParity(rate=cost.rate + step) for step in (-0.03, 0.0, 0.03)],
        n_bootstrap=0,
    )
    costs = [f.cost.exact.value for f in by_rate.findings]
    assert [f.cost.rate for f in by_rate.findings] == [
        cost.rate - 0.03,
        cost.rate,
        cost.rate + 0.03,
    ]
    assert cost.exact.value == pytest.approx(costs[1], abs=1e-9) == pytest.approx(min(costs))
    assert cost.exact.low < cost.exact.value < cost.exact.high
    assert cost.gap < 1e-6
    assert cost.least_moved.value <= cost.moved + 1e-9
    far = by_rate.findings[0].violation.value.value  # from a rate, not between groups
    assert far != found.findings[1].violation.value.value


def test_the_report_says_so(found):
    page = found.to_html()
    assert "Predictive parity by sex" in page
    assert "Precision of scores goes from" not in page  # of so few people
    finding = found.findings[1]
    enough = tuple(replace(group, small=False) for group in finding.violation.groups)
    said = figure_range(replace(finding, violation=replace(finding.violation, groups=enough)))
    assert said.startswith("Precision of scores goes from ")
    assert "Precision of all groups" in page
    assert "positive predictive value" in page
    assert "nan" not in page.lower().split("<main>")[1].split('<section id="done">')[0].replace(
        "finan", ""
    )


def test_a_group_without_positive_decisions_or_labels_is_shown(loans):
    S = loans.sensitive_features[["sex"]].copy().astype(str)
    S.iloc[:40] = "Other"
    scores, labels = loans.truth.scores.copy(), loans.y.copy()
    scores[:40], labels[:40] = 0.1, 0
    found = otfair.audit(
        scores, loans.X, sensitive_features=S, labels=labels, notions="predictive_parity",
        n_bootstrap=10,
    )  # fmt: skip
    (finding,) = found.findings
    other = next(g for g in finding.violation.groups if g.group == "sex=Other")
    assert other.precision.value == 0.0
    assert np.isnan(other.rate.value)
    assert other.small
    assert finding.violation.worst != "sex=Other"  # whose precision can be nothing else
    assert "sex=Other" in found.summary()["small_groups"][0]
    assert "nan" not in found.to_html().split("</main>")[0].split("<main>")[1].split("done")[0]


def test_what_it_needs(loans):
    given = {"scores": loans.truth.scores, "X": loans.X, "notions": "predictive_parity"}
    with pytest.raises(ValueError, match="is about outcomes"):
        otfair.audit(**given, sensitive_features=loans.sensitive_features[["sex"]])
    with pytest.raises(ValueError, match="'age' holds numbers"):
        otfair.audit(**given, sensitive_features=loans.sensitive_features[["age"]], labels=loans.y)
    crossed = otfair.audit(
        loans.truth.scores,
        sensitive_features=loans.sensitive_features[["sex", "origin"]],
        labels=loans.y,
        notions=PredictiveParity(intersectional=True),
        n_bootstrap=5,
    )
    assert crossed.findings[0].attribute == "sex & origin"
    assert crossed.findings[0].cost.exact is None
