"""What an audit finds, against the library's own costs and metrics, closed forms and re-solving."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from reports import plain_audit
from scipy.spatial.distance import pdist
from sklearn.metrics import roc_auc_score

import otfair
from otfair.auditing.costs._solving import TOLL

N = 400
approx = pytest.approx


@pytest.fixture(scope="module")
def data():
    return otfair.load_dataset("synthetic", n=N)


@pytest.fixture(scope="module")
def found():
    return plain_audit(N, n_bootstrap=50)


def between(X) -> otfair.PointCloud:
    """Distances in units of the median between two people."""
    points = otfair.TableEncoder().fit_transform(X)
    return otfair.PointCloud(points, scale=np.median(pdist(points)))


def finding(found, notion: str, attribute: str):
    return next(f for f in found.findings if (f.notion, f.attribute) == (notion, attribute))


def test_there_is_a_finding_for_each_notion_and_attribute(found):
    assert [(f.attribute, f.notion) for f in found.findings] == [
        (attribute, notion)
        for attribute in ("sex", "origin", "age")
        for notion in ("demographic_parity", "equalized_odds")
    ]
    assert found.worst == max(v.value.value for v in found.violations)
    assert repr(found) == f"Audit(6 findings, 400 people, worst={found.worst:.4g})"


@pytest.mark.parametrize("attribute", ["sex", "origin", "age"])
def test_violations_are_those_of_the_metrics(found, data, attribute):
    h, s = data.truth.scores, data.sensitive_features[attribute]
    pdp = finding(found, "demographic_parity", attribute).violation.value
    peo = finding(found, "equalized_odds", attribute).violation.value
    assert pdp.value == approx(otfair.pdp_violation(h, s))
    assert peo.value == approx(otfair.peo_violation(h, s, data.y))
    assert pdp.low < pdp.value < pdp.high


@pytest.mark.parametrize("attribute", ["sex", "origin"])
def test_differences_of_rates_are_those_of_the_metrics(attribute):
    many = otfair.load_dataset("synthetic", n=5000)  # so that no group is too small to say
    h, s = many.truth.scores, many.sensitive_features[attribute]
    found = otfair.audit(h, sensitive_features=s, labels=many.y, n_bootstrap=20)
    of = lambda notion: finding(found, notion, attribute).violation.rate_difference.value
    assert of("demographic_parity") == approx(otfair.demographic_parity_difference(h, s))
    assert of("equalized_odds") == approx(otfair.equalized_odds_difference(h, s, many.y))


def test_groups_have_the_means_and_rates_of_their_people(found, data):
    h = pd.Series(data.truth.scores)
    by = h.groupby(data.sensitive_features["origin"].to_numpy())
    for group in finding(found, "demographic_parity", "origin").violation.groups:
        own = by.get_group(group.group.removeprefix("origin="))
        assert group.people == len(own)
        assert group.mean_score.value == approx(own.mean())
        assert group.rate.value == approx((own > 0.5).mean())


@pytest.mark.parametrize("notion", ["demographic_parity", "equalized_odds"])
@pytest.mark.parametrize("attribute", ["sex", "origin", "age"])
def test_costs_are_those_of_the_library(found, data, notion, attribute):
    h, s = np.asarray(data.truth.scores), data.sensitive_features[attribute]
    geometry = between(data.X)
    constraints = otfair.as_notion(notion).constraints(s, data.y)
    free = otfair.audit(
        h, data.X, sensitive_features=s, labels=data.y, notions=notion, bounded=False, n_bootstrap=0
    )
    for audited, bounded in ((found, True), (free, False)):
        exact = otfair.exact_otf(h, geometry, constraints, bounded=bounded)
        smooth = otfair.adjusted_otf(h, geometry, constraints, epsilon=1e-3, bounded=bounded)
        cost = finding(audited, notion, attribute).cost
        assert cost.bounded is bounded
        assert cost.exact.value == approx(exact.value / h.sum())
        assert cost.smooth == approx(smooth.value / h.sum(), rel=1e-6)
        assert cost.gap < TOLL
        moved = exact.flows.mass.sum() - np.trace(exact.flows.mass)
        assert cost.moved >= (1 - 1e-6) * moved / h.sum()
        assert cost.moved * cost.distance == approx(cost.exact.value)
        assert cost.piled <= 1 + 1e-9 or not bounded


def test_pairs_sum_to_flows_and_flows_to_the_cost(found):
    for f in found.findings:
        pairs, names = f.cost.pairs, f.cost.types
        for flow in f.cost.flows:
            there = (pairs.giver_type == names.index(flow.giver)) & (
                pairs.receiver_type == names.index(flow.receiver)
            )
            assert pairs.mass[there].sum() == approx(flow.mass)
            assert pairs.mass[there] @ pairs.distance[there] == approx(flow.mass * flow.distance)
        assert sum(flow.mass for flow in f.cost.flows) == approx(f.cost.moved)
        assert sum(x.mass * x.distance for x in f.cost.flows) == approx(f.cost.exact.value)
        assert (np.diff(pairs.mass) <= 0).all()


def test_pairs_are_real_people_at_their_distance(found, data):
    geometry = between(data.X)
    C = geometry.cost_matrix().numpy()
    sex = data.sensitive_features["sex"].to_numpy()
    pairs = finding(found, "demographic_parity", "sex").cost.pairs
    assert C[pairs.giver, pairs.receiver] == approx(pairs.distance)
    assert (sex[pairs.giver] != sex[pairs.receiver]).all()


def test_without_distances_the_gap_between_two_groups_must_move(found, data):
    # Of two groups with masses m and shares p, the richer one must give p2 m1 - p1 m2.
    h, women = data.truth.scores, (data.sensitive_features["sex"] == "Female").to_numpy()
    share, mass = women.mean(), h[women].sum() / h.sum()
    least = finding(found, "demographic_parity", "sex").cost.least_moved
    assert least.value == approx(abs(share - mass))
    assert least.low < least.value < least.high


def test_every_interval_holds_its_figure(found):
    table = found.summary()
    for name in ("violation", "mean_difference", "rate_difference", "rate_ratio", "otf_cost"):
        assert (table[f"{name}_low"] <= table[name]).all()
        assert (table[name] <= table[f"{name}_high"]).all()


def test_fair_scores_cost_nothing(data):
    h = np.tile([0.2, 0.8], N // 2)
    s = np.repeat(["a", "b"], N // 2)
    a = otfair.audit(h, data.X, sensitive_features=s, n_bootstrap=20)
    cost = a.findings[0].cost
    assert (a.worst, cost.moved, cost.exact.value) == approx((0, 0, 0), abs=1e-9)
    assert a.findings[0].violation.chance > 0
    assert a.findings[0].violation.value.low == approx(0, abs=1e-9)
    assert "no score must move" in a.to_html()


@pytest.mark.slow
def test_a_weight_counts_as_copies(data):
    X = data.X.iloc[:120].copy()
    X.iloc[::7, X.columns.get_loc("income")] = np.nan
    X["income"] += 50 * X["income"].std() * (np.arange(120) < 20)  # seldom, but heavy
    h, s = np.asarray(data.truth.scores)[:120], data.sensitive_features.iloc[:120][["sex", "age"]]
    weight = np.where(np.arange(120) < 20, 7, np.random.default_rng(1).integers(1, 4, 120))
    copies = np.repeat(np.arange(120), weight)
    options = {"n_bootstrap": 0, "min_people": 1}  # rows, not weights, tell who is too few
    one, many = (
        otfair.audit(
            h[some],
            X.iloc[some].reset_index(drop=True),
            sensitive_features=s.iloc[some].reset_index(drop=True),
            labels=data.y[some],
            sample_weight=w,
            **options,
        )
        for some, w in ((np.arange(120), weight), (copies, None))
    )
    everybody = np.arange(len(copies))
    assert many.features.encode(everybody) == approx(one.features.encode(copies), abs=1e-9)
    assert len(one.findings) == 4
    for a, b in zip(one.findings, many.findings):
        assert a.violation.value.value == approx(b.violation.value.value)
        assert a.violation.rate_ratio.value == approx(b.violation.rate_ratio.value)
        assert a.cost.least_moved.value == approx(b.cost.least_moved.value)
        assert a.cost.exact.value == approx(b.cost.exact.value, abs=1e-8)
        assert a.cost.smooth == approx(b.cost.smooth, abs=1e-8)
        assert a.cost.moved == approx(b.cost.moved, abs=1e-5)


def test_without_features_distances_are_ignored(data):
    a = otfair.audit(data.truth.scores, sensitive_features=data.sensitive_features["sex"])
    cost = a.findings[0].cost
    assert cost.exact is None
    assert cost.pairs is None
    assert np.isnan(a.summary()["otf_cost"][0])
    assert "at least" in a.to_html()
    with pytest.raises(ValueError, match="pass `X`"):
        a.counterparts()


def test_every_notion_can_be_asked_for(data):
    s = data.sensitive_features[["sex", "origin"]]
    a = otfair.audit(
        data.truth.scores,
        data.X,
        sensitive_features=s,
        labels=data.y,
        notions=[
            "equal_opportunity",
            otfair.PredictiveEquality(),
            otfair.ConditionalParity(control="origin"),
        ],
        n_bootstrap=10,
    )
    assert {f.notion for f in a.findings} == {
        "equal_opportunity",
        "predictive_equality",
        "conditional_parity",
    }
    for f in a.findings:
        notion = f.notion if f.notion != "conditional_parity" else None
        if notion:
            fair = otfair.as_notion(notion).constraints(s[f.attribute], data.y)
            assert len(f.violation.groups) == len(fair.names)
    within = finding(a, "conditional_parity", "sex").violation
    assert {g.stratum for g in within.groups} == {
        "origin=Local",
        "origin=Regional",
        "origin=Abroad",
    }
    assert "Conditional parity by sex" in a.to_html()


def test_notions_that_compare_no_groups_are_refused(data):
    s = data.sensitive_features["sex"]
    own = otfair.LinearNotion(lambda s, y: np.ones((1, len(s))))
    with pytest.raises(ValueError, match="LinearNotion does not"):
        otfair.audit(data.truth.scores, sensitive_features=s, notions=[own])
    with pytest.raises(ValueError, match="compares people of equal label"):
        otfair.audit(data.truth.scores, sensitive_features=s, notions="equalized_odds")
    with pytest.raises(ValueError, match="compares people with label = not 1, and there"):
        otfair.audit(
            data.truth.scores, sensitive_features=s, labels=[1] * N, notions="predictive_equality"
        )
    with pytest.raises(ValueError, match="`notions` is empty"):
        otfair.audit(data.truth.scores, sensitive_features=s, notions=[])


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"threshold": 2}, "`threshold`"),
        ({"epsilon": 0}, "`epsilon`"),
        ({"n_bootstrap": -1}, "`n_bootstrap`"),
        ({"receivers": 0}, "`receivers`"),
        ({"random_state": -1}, "`random_state` .* must be a whole number from 0 on.* such as 0"),
        ({"random_state": None}, "`random_state`"),
    ],
)
def test_settings_out_of_range_are_named(setting, message):
    with pytest.raises(ValueError, match=message):
        otfair.audit([0.1, 0.2], sensitive_features=["a", "b"], **setting)


def test_settings_may_be_numbers_of_numpy(data):
    settings = {
        "threshold": np.quantile(data.truth.scores, 0.5), "epsilon": np.float32(1e-3),
        "n_bootstrap": np.int64(3), "random_state": np.int64(7),
    }  # fmt: skip
    a = otfair.audit(data.truth.scores, sensitive_features=data.y, **settings)
    for name, value in settings.items():
        assert a.record.settings[name] == value
    assert f"threshold = {float(settings['threshold'])}" in a.to_html()
    assert f"rate above {settings['threshold']:.6g} (square)" in a.to_html()
    assert json.loads(a.to_json())["record"]["settings"]["random_state"] == 7


def test_small_groups_are_told(data):
    rare = np.array(["common"] * (N - 8) + ["rare"] * 8)
    a = otfair.audit(data.truth.scores, sensitive_features={"kind": rare})
    small = {g.group: g.small for g in a.findings[0].violation.groups}
    assert small == {"kind=common": False, "kind=rare": True}
    assert a.summary()["small_groups"][0] == "kind=rare"
    assert "Too few people to say: rare (8)" in a.to_html()


def test_a_group_of_one_is_audited_and_called_small():
    h = np.linspace(0.1, 0.9, 40)
    s = ["a"] * 39 + ["b"]
    X = np.arange(80.0).reshape(40, 2) % 7
    group = otfair.audit(h, X, sensitive_features=s).findings[0].violation.groups[1]
    assert (group.people, group.small, group.mean_score.value) == (1, True, 0.9)


def test_decisions_and_scores_at_the_ends_are_fine(data):
    s = data.sensitive_features["sex"]
    decided = np.asarray(data.truth.scores) > 0.5
    a = otfair.audit(decided, data.X, sensitive_features=s, n_bootstrap=10)
    difference = otfair.demographic_parity_difference(decided, s)
    assert a.findings[0].violation.rate_difference.value == approx(difference)
    assert a.findings[0].violation.mean_difference.value == approx(difference)
    assert a.findings[0].cost.exact.value > 0


def test_moved_score_is_found_where_it_was_put():
    # Only in one town do people of the other group live nearby, so all that moves, moves there.
    rng = np.random.default_rng(0)
    town, group = rng.choice(["here", "there"], 600), rng.choice(["a", "b"], 600)
    h = 0.4 + 0.1 * rng.random(600) + 0.1 * (group == "a")
    street = rng.normal(size=600) + np.where(town == "here", 0, np.where(group == "a", 9, -9))
    a = otfair.audit(h, pd.DataFrame({"town": town, "street": street}), sensitive_features=group)
    first = a.findings[0].regions[0]
    assert (first.column, first.value) == ("town", "here")
    assert first.given.value > 0.95
    assert first.excess > 0.2
    for column in ("town", "street"):
        some = [r for r in a.findings[0].regions if r.column == column]
        for of in (lambda r: r.people, lambda r: r.score, lambda r: r.given.value):
            assert sum(map(of, some)) == approx(1)


def test_summary_is_a_table_of_figures(found):
    table = found.summary()
    assert len(table) == len(found.findings)
    assert table["violation"].max() == found.worst
    assert {"rate_ratio", "otf_cost", "otf_smooth", "least_moved_low"} < set(table.columns)


def test_counterparts_are_features_side_by_side(found, data):
    table = found.counterparts("equalized_odds", "sex", top=5)
    assert len(table) == 5
    first = table.iloc[0]
    assert first["giver: income"] == data.X["income"].iloc[first["giver"]]
    assert first["receiver_score"] == data.truth.scores[first["receiver"]]
    with pytest.raises(ValueError, match="no finding"):
        found.counterparts("equalized_odds", "height")


def test_json_holds_everything_in_plain_numbers(found, tmp_path):
    path = tmp_path / "audit.json"
    text = found.to_json(path)
    assert path.read_text("utf-8") == text
    plain = json.loads(text)
    assert plain["worst"] == found.worst
    first = plain["findings"][0]
    assert first["violation"]["value"]["low"] == found.violations[0].value.low
    assert len(first["cost"]["pairs"]) <= 40
    assert plain["record"]["checksum"] == found.record.checksum


def test_json_without_resamples_has_no_intervals(data):
    a = otfair.audit(data.truth.scores, sensitive_features=data.y, n_bootstrap=0)
    value = json.loads(a.to_json())["findings"][0]["violation"]["value"]
    assert value["low"] is None
    assert value["value"] > 0


def test_the_same_seed_gives_the_same_audit(data):
    one, two = (
        otfair.audit(data.truth.scores, data.X, sensitive_features=data.y, n_bootstrap=10)
        for _ in range(2)
    )
    pd.testing.assert_frame_equal(one.summary(), two.summary())


def test_curves_are_of_every_group(found, data):
    women = next(c for c in found.curves if c.group == "sex=Female")
    inside = (data.sensitive_features["sex"] == "Female").to_numpy()
    h, y = np.asarray(data.truth.scores)[inside], data.y[inside]
    assert women.people == inside.sum()
    assert sum(women.density) == approx(1)
    assert women.auc.value == approx(roc_auc_score(y, h))


def test_progress_is_shown_when_asked_for(data, capsys, monkeypatch):
    monkeypatch.setattr("otfair._io.progress._watched", lambda: True)
    options = {"sensitive_features": data.y, "n_bootstrap": 0}
    otfair.audit(data.truth.scores, **options)
    assert capsys.readouterr().err == ""
    otfair.audit(data.truth.scores, verbose=True, **options)
    assert "audit" in capsys.readouterr().err


def test_what_moves_is_told_of_the_cheapest_plan_and_of_any(found):
    page = found.to_html()
    assert "To be fair in the cheapest way, " in page
    assert "must move at least; the cheapest way may move more, less far" in page


def test_the_report_says_that_costs_fall_with_the_size_of_a_table(found, data):
    part = otfair.audit(
        data.truth.scores[: N // 4],
        data.X[: N // 4],
        sensitive_features=data.sensitive_features["sex"][: N // 4],
        n_bootstrap=0,
    )
    assert part.findings[0].cost.distance > 1.2 * found.findings[0].cost.distance
    assert "compare costs of tables of about the same size" in part.to_html()
    assert "holds fixed who may receive" in part.to_html()


def test_indexes_that_differ_are_an_error(data):
    h, sex = pd.Series(data.truth.scores), data.sensitive_features["sex"].reset_index(drop=True)
    names = [f"p{k}" for k in range(N)]
    shuffled = h.sample(frac=1, random_state=0)
    with pytest.raises(ValueError, match="the same labels in another order than that of `scores`"):
        otfair.audit(shuffled, sensitive_features=sex, n_bootstrap=0)
    with pytest.raises(ValueError, match=r"index of `labels` has other labels .* `\.to_numpy\(\)`"):
        otfair.audit(
            h.set_axis(names),
            sensitive_features={"sex": sex},
            labels=pd.Series(data.y, index=[*names[::-1][:-1], "q"]),
            n_bootstrap=0,
        )
    # Arrays have no index, and a default one says nothing.
    one = otfair.audit(h.to_numpy(), sensitive_features=sex.set_axis(names), n_bootstrap=0)
    two = otfair.audit(h, sensitive_features=sex.set_axis(names), n_bootstrap=0)
    assert one.worst == two.worst
