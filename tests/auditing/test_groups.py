"""What an audit makes of the settings of notions; the oracle is the library's own violation."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import pdist

import otfair
from otfair import ConditionalParity, DemographicParity, EqualizedOdds
from otfair.auditing.costs import _distances
from otfair.metrics._violations import violation

approx = pytest.approx
N = 240
rng = np.random.default_rng(0)
A, B = rng.choice(["x", "y"], N), rng.choice(["u", "v"], N)
GROUPS = {"a": A, "b": B}
AGE = np.round(rng.gamma(2, 10, N))
LABELS = rng.integers(2, size=N)
H = np.where((A == "x") == (B == "u"), 0.8, 0.2) + 0.1 * rng.random(N)  # unfair where they cross
X = rng.normal(size=(N, 2))


def audit(sensitive=GROUPS, **options):
    return otfair.audit(H, sensitive_features=sensitive, labels=LABELS, n_bootstrap=5, **options)


def found(a) -> list[tuple[str, str]]:
    return [(f.notion, f.attribute) for f in a.findings]


@pytest.mark.parametrize("notion", [DemographicParity, EqualizedOdds])
def test_crossed_groups_are_audited_as_one_attribute(notion):
    crossed = notion(intersectional=True)
    a = audit(notions=crossed, X=X)
    assert [f.attribute for f in a.findings] == ["a & b"]
    assert a.worst == approx(violation(H, GROUPS, crossed, LABELS))
    assert a.worst > 2 * audit(notions=notion()).worst  # neither alone is as unfair
    assert {g.group for g in a.violations[0].groups} == {
        f"a={x} & b={u}" for x in "xy" for u in "uv"
    }
    points = a.features.encode(np.arange(N))
    cloud = otfair.PointCloud(points, scale=np.median(pdist(points)))
    fair = otfair.exact_otf(H, cloud, crossed.constraints(GROUPS, LABELS), bounded=True)
    assert a.findings[0].cost.exact.value == approx(fair.value / H.sum(), rel=1e-6)
    assert "by a &amp; b</h3>" in a.to_html()
    assert {c.group for c in a.curves} == {g.group for g in a.violations[0].groups}


@pytest.mark.parametrize("notion", [DemographicParity, EqualizedOdds, otfair.EqualOpportunity])
def test_a_notion_of_the_users_own_is_reported_like_the_one_it_extends(notion):
    class Own(notion):
        pass

    a, b = audit(notions=Own()), audit(notions=notion())
    assert found(a) == found(b)
    assert a.worst == b.worst
    assert notion.meaning in a.to_html()
    assert f"<td>{notion.title.capitalize()}</td>" in a._repr_html_()
    # One that says what it is called goes by that name, beside the other.
    Own.name, Own.title, Own.meaning = "own", "one of our own", "Nobody shall be wronged."
    c = audit({"a": A}, notions=[Own(), notion()])
    assert found(c) == [("own", "a"), (notion.name, "a")]
    page = c.to_html()
    assert "One of our own by a" in page
    assert "Nobody shall be wronged." in page
    assert '"own"' in c.to_json()


def test_a_crossing_that_nobody_is_in_is_no_group():
    sensitive = {"a": A, "b": np.where(A == "x", "u", B)}
    notion = DemographicParity(intersectional=True)
    a = audit(sensitive, notions=notion, X=X)
    assert len(a.violations[0].groups) == len(a.curves) == 3
    assert a.worst == approx(violation(H, sensitive, notion))


def test_numbers_are_not_crossed_and_nothing_is_told_twice():
    notions = [DemographicParity(), "demographic_parity", DemographicParity(intersectional=True)]
    a = audit(GROUPS | {"age": AGE}, notions=notions)
    assert [attribute for _, attribute in found(a)] == ["a", "b", "age", "a & b"]
    twice = audit(notions=["demographic_parity", "equalized_odds", "demographic_parity"])
    assert found(twice) == found(audit())


def test_a_notion_may_speak_of_some_columns():
    a = audit(notions=[DemographicParity(columns="b"), EqualizedOdds(columns=[0])])
    assert found(a) == [("equalized_odds", "a"), ("demographic_parity", "b")]
    for f, groups, labels in zip(a.findings, ({"a": A}, {"b": B}), (LABELS, None)):
        expected = violation(H, groups, f.notion, labels)
        assert f.violation.value.value == approx(expected)
    with pytest.raises(ValueError, match="`columns` names 'c'"):
        audit(notions=DemographicParity(columns="c"))


@pytest.mark.parametrize(
    ("codes", "setting"), [(AGE % 3, {"continuous": "k"}), (AGE % 30, {"categorical": ["k"]})]
)
def test_columns_are_read_as_the_notion_says(codes, setting):
    sensitive = pd.DataFrame({"k": codes.astype(int)})
    a = audit(sensitive, notions=DemographicParity(**setting))
    assert a.worst == approx(violation(H, sensitive, DemographicParity(**setting)))
    warned = pytest.warns(UserWarning, match="`categorical='k'`")
    with nullcontext() if "continuous" in setting else warned:
        assert a.worst != approx(audit(sensitive).violations[0].value.value)
    assert a.worst == audit(sensitive, notions="demographic_parity", **setting).worst


def test_controls_leave_a_notion_its_settings():
    within = {"town": rng.choice(["here", "there"], N)}
    a = audit(notions=ConditionalParity(intersectional=True), control_features=within)
    assert found(a) == [("conditional_parity", "a & b")]
    told = ConditionalParity(control="town", intersectional=True)
    assert a.worst == approx(violation(H, GROUPS | within, told))
    assert found(audit(notions="demographic_parity", control_features=within)) == [
        (notion, attribute)
        for attribute in "ab"
        for notion in ("demographic_parity", "conditional_parity")
    ]


def test_settings_that_can_not_be_kept_are_refused():
    with pytest.raises(ValueError, match="DemographicParity without `encoded`, and name"):
        audit({"a": A == "x"}, notions=DemographicParity(encoded=True))
    with pytest.raises(ValueError, match=r"\['age'\] are named as both .* Name them once"):
        audit({"age": AGE}, notions=DemographicParity(continuous="age"), categorical="age")


def test_distances_that_notions_share_are_measured_once(monkeypatch):
    measured = []
    one = _distances.Distances.to_types
    monkeypatch.setattr(
        _distances.Distances, "to_types", lambda *args: measured.append(1) or one(*args)
    )
    notions = ["demographic_parity", ConditionalParity(control="b"), "equalized_odds"]
    a = audit(X=X, notions=notions)
    assert found(a) == [
        ("demographic_parity", "a"),
        ("equalized_odds", "a"),
        ("conditional_parity", "a"),
        ("demographic_parity", "b"),
        ("equalized_odds", "b"),
    ]
    assert len(measured) == 3


def test_a_stack_is_audited_part_by_part():
    rng = np.random.default_rng(0)
    S = pd.DataFrame({"sex": rng.choice(["F", "M"], 200), "age": rng.normal(40, 9, 200)})
    h, y = rng.uniform(size=200), rng.integers(0, 2, 200)
    stack = otfair.EqualizedOdds(columns="sex") & otfair.DemographicParity(columns="age")
    found = otfair.audit(h, sensitive_features=S, labels=y, notions=stack).summary()
    assert list(zip(found["notion"], found["attribute"])) == [
        ("equalized_odds", "sex"),
        ("demographic_parity", "age"),
    ]


def test_intervals_of_costs_do_not_depend_on_the_order_of_groups():
    rng = np.random.default_rng(1)
    group, X = rng.choice(["a", "b", "c"], 300, p=[0.6, 0.3, 0.1]), rng.normal(size=(300, 2))
    h = np.clip(0.4 + 0.1 * (group == "a") + 0.05 * (group == "b") + 0.1 * X[:, 0], 0.01, 0.99)
    table, found = pd.DataFrame(X, columns=["u", "v"]), []
    for order in (["a", "b", "c"], ["c", "a", "b"], ["b", "c", "a"]):
        S = pd.Series(pd.Categorical(group, categories=order), name="group")
        one = otfair.audit(h, table, sensitive_features=S).findings[0].cost
        found.append((one.exact.low, one.exact.high))
    np.testing.assert_allclose(found[1:], [found[0]] * 2, rtol=1e-6)


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_of_two_groups_the_one_of_lower_scores_is_the_worst(names):
    rng = np.random.default_rng(3)
    low = rng.random(101) < 0.3
    scores = np.clip(rng.random(101) - 0.2 * low, 0.01, 0.99)
    found = otfair.audit(scores, sensitive_features=np.where(low, *names), n_bootstrap=5)
    assert found.findings[0].violation.worst == f"group={names[0]}"
