"""Audits within the values of a control, and of weighted people."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import otfair
from otfair.auditing import _groups
from otfair.metrics._violations import violation

approx = pytest.approx


@pytest.fixture(scope="module")
def data():
    return otfair.load_dataset("synthetic", n=300)


def audit(data, **options):
    sex = data.sensitive_features["sex"]
    return otfair.audit(data.truth.scores, data.X, sensitive_features=sex, n_bootstrap=5, **options)


def last(found):
    """The figures of conditional parity."""
    (finding,) = [f for f in found.findings if f.notion == "conditional_parity"]
    return finding


def test_people_are_compared_within_the_values_of_a_control(data):
    found = audit(data, control_features=data.X["area"])
    assert [f.notion for f in found.findings] == ["demographic_parity", "conditional_parity"]
    violation = last(found).violation
    sex, area, h = data.sensitive_features["sex"], data.X["area"], np.asarray(data.truth.scores)
    inside = {a: otfair.pdp_violation(h[area == a], sex[area == a]) for a in area.unique()}
    assert violation.value.value == approx(max(inside.values()))
    assert violation.worst.endswith(f", area={max(inside, key=inside.get)}")
    assert {g.stratum for g in violation.groups} == {f"area={a}" for a in inside}
    assert sum(g.people for g in violation.groups) == 300
    assert found.record.settings["control"] == ["area"]


def test_a_control_is_the_notion_with_that_column(data):
    # The same as naming a column of the sensitive features in the notion itself.
    s = data.sensitive_features[["sex"]].assign(area=data.X["area"].astype(str))
    own = otfair.audit(
        data.truth.scores, data.X.drop(columns="area"), sensitive_features=s, n_bootstrap=5,
        notions=otfair.ConditionalParity(control="area"),
    )  # fmt: skip
    found = audit(data, control_features=data.X["area"], drop=["area"])
    one, two = last(found), last(own)
    assert one.cost.exact.value == approx(two.cost.exact.value)
    assert one.violation.value.value == approx(two.violation.value.value)


def test_a_control_inherits_the_settings_of_demographic_parity(data):
    people = data.sensitive_features[["sex"]].assign(young=data.sensitive_features["age"] < 40)
    found = otfair.audit(
        data.truth.scores,
        sensitive_features=people,
        control_features=data.X["area"],
        notions=[otfair.DemographicParity(intersectional=True)],
        n_bootstrap=5,
    )
    crossed = otfair.ConditionalParity(control="area", intersectional=True)
    table = people.assign(area=data.X["area"])
    assert last(found).attribute == "sex & young"
    assert last(found).violation.value.value == approx(
        violation(data.truth.scores, table, notion=crossed)
    )


def test_several_controls_are_crossed_and_numbers_are_quarters(data):
    within = data.X[["has_guarantor", "income"]]
    groups = last(audit(data, control_features=within)).violation.groups
    strata = {g.stratum for g in groups}
    assert len(strata) == 2 * 4
    assert all(s.startswith("has_guarantor=") and " & income=" in s for s in strata)
    quarters = pd.Series({g.stratum: 0 for g in groups}) + 0
    for g in groups:
        quarters[g.stratum] += g.people
    assert quarters.sum() == 300


def test_people_without_a_control_are_left_out(data):
    area = data.X["area"].astype(object).where(np.arange(300) >= 7, None)
    found = audit(data, control_features={"area": area})
    assert found.record.dropped == {"no value of 'area'": 7}


def test_two_conditions_have_distances_of_their_own(data):
    s = data.sensitive_features[["sex", "origin"]].assign(area=data.X["area"].astype(str))
    notions = [otfair.ConditionalParity(control=c) for c in (["origin"], ["area"])]

    def cost(*some):
        found = otfair.audit(
            data.truth.scores, data.X, sensitive_features=s, notions=some, n_bootstrap=0
        )
        return [f.cost.exact.value for f in found.findings if f.attribute == "sex"]

    assert cost(*notions) == approx([*cost(notions[0]), *cost(notions[1])])


def test_a_weight_counts_as_copies_in_bins_and_quarters(data, monkeypatch):
    monkeypatch.setattr(_groups, "MAX_ENTRIES", 1)  # 16 bins of age
    rng = np.random.default_rng(0)
    weight = rng.choice([1, 2, 9], 300)
    wealth, age = rng.lognormal(size=300), rng.gamma(2, 10, 300)
    h = np.clip(np.asarray(data.truth.scores) / 2 + 0.01 * age, 0, 1)
    one, many = (
        otfair.audit(
            h[some], {"wealth": wealth[some]}, sensitive_features={"age": age[some]},
            control_features={"income": data.X["income"].to_numpy()[some]}, sample_weight=w,
            n_bootstrap=0, keep=["wealth"],
        )
        for some, w in ((np.arange(300), weight), (np.repeat(np.arange(300), weight), None))
    )  # fmt: skip
    for a, b in zip(one.findings, many.findings):
        assert {g.whole for g in a.violation.groups} == {g.whole for g in b.violation.groups}
        assert a.violation.rate_difference.value == approx(b.violation.rate_difference.value)
        assert a.cost.bins == b.cost.bins == 16
        assert a.cost.exact.value == approx(b.cost.exact.value, abs=1e-8)
        assert {r.value for r in a.regions} == {r.value for r in b.regions}


def test_too_many_conditions_are_refused(data, monkeypatch):
    monkeypatch.setattr(_groups, "MAX_TYPES", 100)
    within = pd.DataFrame({"a": np.arange(300) % 40, "b": np.arange(300) % 37})
    with pytest.raises(ValueError, match=r"more than 100\. Condition on fewer columns"):
        audit(data, control_features=within.astype(str))
    monkeypatch.setattr(_groups, "MAX_ENTRIES", 120 * 300)  # a number may have more types
    age = np.random.default_rng(0).random(300)
    with pytest.raises(ValueError, match=r"'age' would compare .*, more than 120\."):
        otfair.audit(
            data.truth.scores,
            sensitive_features={"age": age},
            control_features=within[["a"]].astype(str),
        )


@pytest.mark.parametrize(
    ("control", "message"),
    [
        (lambda d: d.sensitive_features["sex"], "both sensitive and a control"),
        (lambda d: pd.Series([f"k{i}" for i in range(300)], name="k"), "more than 50"),
        (lambda d: d.X["area"][:5], "control_features"),
    ],
)
def test_controls_that_can_not_be(data, control, message):
    with pytest.raises(ValueError, match=message):
        audit(data, control_features=control(data))


@pytest.mark.parametrize("notion", ["conditional_parity", otfair.ConditionalParity()])
def test_conditional_parity_wants_to_know_on_what(data, notion):
    options = {"sensitive_features": data.sensitive_features["sex"], "n_bootstrap": 0}
    for labels in (data.y, None):
        with pytest.raises(ValueError, match="pass them as `control_features`"):
            otfair.audit(data.truth.scores, labels=labels, notions=[notion], **options)
