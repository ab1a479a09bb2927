"""Rates of decisions and errors by group, who fares worst, and limits, against oracles."""

from __future__ import annotations

import fairlearn.metrics as fl
import numpy as np
import pandas as pd
import pytest
from sklearn import metrics as sk

import otfair
from otfair.auditing import RATES, Decisions, Limit
from otfair.auditing._decisions import measure_decisions
from otfair.auditing._favourable import guess_favourable
from otfair.auditing._groups import compare
from otfair.auditing._reading import read
from otfair.metrics import draw_counts

approx = pytest.approx
ORACLES = {
    "selection_rate": fl.selection_rate,
    "true_positive_rate": fl.true_positive_rate,
    "false_positive_rate": fl.false_positive_rate,
    "false_negative_rate": fl.false_negative_rate,
    "precision": lambda y, d, **o: sk.precision_score(y, d, zero_division=np.nan, **o),
    "false_discovery_rate": lambda y, d, **o: (
        1 - sk.precision_score(y, d, zero_division=np.nan, **o)
    ),
    "false_omission_rate": lambda y, d, **o: (
        1 - sk.precision_score(y, d, pos_label=0, zero_division=np.nan, **o)
    ),
    "accuracy": sk.accuracy_score,
    "base_rate": lambda y, d, **o: fl.selection_rate(y, y, **o),
}


def crowd(n: int, seed: int = 0) -> pd.DataFrame:
    """Return people of three groups, one of which is small, whose scores differ."""
    rng = np.random.default_rng(seed)
    group = rng.choice(["a", "b", "c"], n, p=[0.5, 0.47, 0.03])
    y = rng.random(n) < np.select([group == "a", group == "b"], [0.6, 0.4], 0.1)
    h = np.clip(0.3 * y + rng.normal(0.35, 0.15, n) + 0.1 * (group == "a"), 0.01, 0.99)
    return pd.DataFrame({"g": group, "y": y.astype(int), "h": h, "w": rng.integers(1, 5, n)})


@pytest.mark.parametrize("threshold", [0.5, 0.37])
@pytest.mark.parametrize("weighted", [False, True])
def test_rates_are_those_of_fairlearn(threshold, weighted):
    t = crowd(700)
    w = t.w if weighted else None
    found = otfair.audit(
        t.h, sensitive_features=t[["g"]], labels=t.y, threshold=threshold, sample_weight=w,
        n_bootstrap=20, reference="b",
    ).decisions[0]  # fmt: skip
    options = {} if w is None else {"sample_params": {n: {"sample_weight": w} for n in ORACLES}}
    frame = fl.MetricFrame(
        metrics=ORACLES, y_true=t.y, y_pred=(t.h > threshold).astype(int), sensitive_features=t.g,
        **options,
    )  # fmt: skip
    assert ORACLES.keys() == RATES.keys()
    assert found.reference == "g=b"
    for one in found.groups:
        name = one.group.removeprefix("g=")
        for rate in RATES:
            want, other = frame.by_group.loc[name, rate], frame.by_group.loc["b", rate]
            assert one.rates[rate].value == approx(want, abs=1e-12, nan_ok=True)
            assert one.difference[rate].value == approx(want - other, abs=1e-12, nan_ok=True)
            if other:
                assert one.ratio[rate].value == approx(want / other, nan_ok=True)


def test_weights_are_copies_and_counts_above_thresholds_are_right():
    t = crowd(300)
    copies = t.loc[t.index.repeat(t.w)]
    options = {"n_bootstrap": 0, "notions": "demographic_parity"}
    one = otfair.audit(t.h, sensitive_features=t.g, labels=t.y, sample_weight=t.w, **options)
    two = otfair.audit(copies.h, sensitive_features=copies.g, labels=copies.y, **options)
    for a, b in zip(one.decisions[0].groups, two.decisions[0].groups):
        assert {r: e.value for r, e in a.rates.items()} == approx(
            {r: e.value for r, e in b.rates.items()}, nan_ok=True
        )
        own = copies[copies.g == a.group.removeprefix("group=").removeprefix("g=")]
        assert (a.weight, a.positive) == (b.weight, b.positive) == (len(own), own.y.sum())
        own_weights = t.w[t.g == own.g.iloc[0]]
        assert a.worth == approx(own_weights.sum() ** 2 / (own_weights**2).sum())
        assert b.worth == b.people
        for k, at in enumerate(one.decisions[0].thresholds):
            assert a.above[k] == b.above[k] == (own.h > at).sum()
            assert a.positive_above[k] == (own.y * (own.h > at)).sum()


def measured(h: np.ndarray, group: np.ndarray, seed: int) -> Decisions:
    """Return the decisions of an audit, without the rest of it."""
    data = read(h, None, group, None, None, continuous=(), categorical=(), positive_label=None)
    (comparison,) = compare(data, [otfair.DemographicParity()])
    counts = draw_counts(len(h), 100, seed)
    options = {"favourable": 1, "reference": None, "min_people": 30}
    return measure_decisions(data, comparison, 0.5, counts, **options)


@pytest.mark.slow
def test_intervals_of_rates_hold_the_truth():
    # 400 tables: how often a 95 % interval holds the rate that people were drawn with.
    rng, held = np.random.default_rng(0), 0
    for seed in range(400):
        h = np.where(rng.random(300) < 0.3, 0.9, 0.1)
        found = measured(h, np.repeat(["a", "b"], 150), seed)
        rate = found.groups[0].rates["selection_rate"]
        held += rate.low <= 0.3 <= rate.high
    assert 0.90 <= held / 400 <= 0.985


def test_small_groups_make_no_headline_and_no_difference():
    t = crowd(600, seed=1)
    t.loc[t.g == "c", "h"] = 0.01  # nobody of the small group is decided positively
    assert 0 < (t.g == "c").sum() < 30
    found = otfair.audit(t.h, sensitive_features=t.g, favourable=1)
    gap, violation = found.decisions[0].gap, found.violations[0]
    rates = (t.h > 0.5).groupby(t.g).mean()
    assert {gap.worst[-1], gap.best[-1]} == {"a", "b"}
    assert gap.difference.value == approx(abs(rates.a - rates.b))
    assert violation.rate_difference.value == approx(abs(rates.a - rates.b))
    assert violation.rate_ratio.value == approx(min(rates.a, rates.b) / max(rates.a, rates.b))
    every = otfair.audit(t.h, sensitive_features=t.g, min_people=5)
    assert every.record.settings["min_people"] == 5
    few = otfair.audit(t.h[:20], sensitive_features=t.g[:20])
    assert few.decisions[0].gap is None
    assert (
        few.violations[0].rate_difference.value
        == approx(  # as nothing else can be compared
            np.ptp((t.h[:20] > 0.5).groupby(t.g[:20]).mean())
        )
    )


def test_who_fares_worst_depends_on_what_is_favourable():
    t = crowd(2000)
    t = t[t.g != "c"]
    rates = (t.h > 0.5).groupby(t.g).mean()
    good, bad, unknown = (
        otfair.audit(t.h, sensitive_features=t.g, favourable=f).decisions[0].gap
        for f in (1, 0, None)
    )
    assert (good.worst[-1], good.best[-1]) == ("b", "a") == (unknown.worst[-1], unknown.best[-1])
    assert (bad.worst[-1], bad.best[-1]) == ("a", "b")
    assert bad.worst_figure.value == approx(1 - rates.a)
    assert bad.ratio.value == approx((1 - rates.a) / (1 - rates.b))
    assert good.difference.value == approx(bad.difference.value)
    assert not good.by_chance
    assert (
        otfair.audit(t.h, sensitive_features=t.g, n_bootstrap=0).decisions[0].gap.by_chance is None
    )


@pytest.mark.slow
def test_chance_explains_what_chance_makes():
    # Groups that are alike: the difference is more than chance explains in about 5 % of tables.
    rng, beyond = np.random.default_rng(0), 0
    for seed in range(300):
        found = measured(rng.random(600), rng.integers(4, size=600).astype(str), seed)
        beyond += not found.gap.by_chance
    assert beyond / 300 < 0.12


@pytest.mark.parametrize(
    ("outcome", "score", "want"),
    [
        ("two_year_recid = 1", "decile", 0),
        ("loan_approved = yes", "p", 1),
        ("default = yes", "p", 0),
        ("default = no", "p", 1),
        ("class = bad", "p", 0),
        ("class = good", "p", 1),
        ("loan = yes", "p", 1),
        ("loan_default = 1", "p", 0),
        ("credit_risk = 1", "p", 0),
        ("hired = True", "p", 1),
        ("not_hired = 1", "p", 0),
        ("y = 1", "risk_score", None),
        ("", "risk_score", 0),
        ("", "pApproved", 1),
        ("", "p", None),
        ("approved_or_rejected = 1", "p", None),
        ("income = >50K", "p", None),
    ],
)
def test_names_tell_what_is_favourable(outcome, score, want):
    assert guess_favourable(outcome, score) == want


def test_limits_are_judged_beyond_chance():
    t = crowd(2000)
    t = t[t.g != "c"]
    rates = (t.h > 0.5).groupby(t.g).mean()
    apart, ratio = np.ptp(rates), rates.min() / rates.max()

    def statuses(criterion, bound, **options):
        return otfair.audit(
            t.h, sensitive_features=t.g, labels=t.y,
            limits=[Limit(criterion=criterion, bound=bound, notion="demographic_parity")], **options
        ).statuses  # fmt: skip

    (near,) = statuses("difference", apart - 1e-3)
    assert near.beyond
    assert not near.sure  # by so little chance explains it
    assert statuses("difference", apart - 1e-3, n_bootstrap=0)[0].sure  # which is not measured
    (far,) = statuses("difference", 0.01)
    assert far.sure
    assert far.figure.value == approx(apart)
    (within,) = statuses("difference", apart + 1e-3)
    assert not within.beyond
    assert [s.sure for s in statuses("ratio", ratio + 1e-3)] == [False]
    assert [s.sure for s in statuses("ratio", 1.0)] == [True]
    with pytest.raises(ValueError, match="has one for 'equalized_odds', which is not audited"):
        otfair.audit(
            t.h, sensitive_features=t.g, notions="demographic_parity",
            limits=[Limit(criterion="ratio", bound=0.8, notion="equalized_odds")],
        )  # fmt: skip
    with pytest.raises(ValueError, match="must be one of violation, difference, ratio"):
        Limit(criterion="auc", bound=0.1)


def test_crossed_columns_names_and_references():
    t = crowd(900)
    t["s"] = np.random.default_rng(0).choice([1, 2], len(t))
    found = otfair.audit(
        t.h, sensitive_features=t[["s", "g"]], cross=[("s", "g")],
        names={"s": {"1": "men", "2": "women"}}, reference={"s": "men", "g": "b"},
    )  # fmt: skip
    assert [d.attribute for d in found.decisions] == ["s", "g", "s & g"]
    assert [d.reference for d in found.decisions][:2] == ["s=men", "g=b"]
    assert {g.group for g in found.decisions[0].groups} == {"s=men", "s=women"}
    crossed = {g.group: g for g in found.decisions[2].groups}
    own = (t.s == 2) & (t.g == "a")
    assert crossed["s=women & g=a"].people == own.sum()
    assert crossed["s=women & g=a"].rates["selection_rate"].value == approx((t.h[own] > 0.5).mean())
    for wrong, message in (
        ({"cross": [("s",)]}, "must name two or more sensitive columns"),
        ({"cross": [("s", "h")]}, "'h', which is none"),
        ({"reference": "nobody"}, "is 'nobody', which is none of"),
        ({"reference": {"s": "3"}}, "is '3' for 's', which has the groups"),
        ({"favourable": 2}, "`favourable` must be 0 or 1"),
        ({"min_people": 0}, "`min_people`"),
    ):
        with pytest.raises(ValueError, match=message):
            otfair.audit(t.h, sensitive_features=t[["s", "g"]], **wrong)


def test_the_threshold_itself_is_among_those_people_are_counted_at():
    t = crowd(300)
    options = {"n_bootstrap": 0, "labels": t.y, "sensitive_features": t.g}
    for threshold, count in ((0.5, 101), (0.123, 102), (1.0, 101)):
        found = otfair.audit(t.h, threshold=threshold, **options).decisions[0]
        assert len(found.thresholds) == count
        k = found.thresholds.index(threshold)
        for g in found.groups:
            assert g.above[k] / g.weight == approx(g.rates["selection_rate"].value)


def test_whom_wrong_decisions_hit_most():
    t = crowd(3000)
    t = t[t.g != "c"]
    wrong = (t.h > 0.5) != t.y
    for favourable, label in ((1, 1), (0, 0)):
        rates = wrong[t.y == label].groupby(t.g).mean()
        gap = otfair.audit(
            t.h, sensitive_features=t.g, labels=t.y, favourable=favourable
        ).decisions[0].error_gap  # fmt: skip
        assert gap.worst[-1] == rates.idxmax()
        assert gap.worst_figure.value == approx(rates.max())
        assert gap.best_figure.value == approx(rates.min())
        assert gap.difference.value == approx(np.ptp(rates))
        assert gap.by_chance is False
