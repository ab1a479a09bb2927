"""Classifiers that weigh attributes or groups, and limits for each attribute."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.base import clone

import otfair
from otfair import OTFBoostingClassifier, OTFClassifier, OTFObjective
from otfair.metrics import ViolationOf, criterion_of
from otfair.notions import parts_of


class Loans:
    """The synthetic loans, encoded, by sex and origin."""

    def __init__(self, n: int) -> None:
        data = otfair.load_dataset("synthetic", n=n)
        self.table, self.y = data.X, np.asarray(data.y)
        self.X = np.asarray(otfair.TableEncoder().fit_transform(data.X), dtype=float)
        self.S = data.sensitive_features[["sex", "origin"]]

    def violations(self, model, notion: str = "demographic_parity", X=None) -> dict[str, float]:
        people = otfair.as_notion(notion).people(self.S, self.y)
        h = model.predict_proba(self.X if X is None else X)[:, 1]
        return criterion_of("correlation", people).by_attribute(h)

    def shares(self, model, notion: str = "demographic_parity") -> dict[str, float]:
        free = self.violations(OTFClassifier(alpha=0).fit(self.X, self.y), notion)
        return {name: v / free[name] for name, v in self.violations(model, notion).items()}


@pytest.fixture(scope="module")
def loans() -> Loans:
    return Loans(800)


@pytest.fixture(scope="module")
def fitted(loans) -> OTFClassifier:
    return OTFClassifier(alpha=0.5).fit(loans.X, loans.y, sensitive_features=loans.S)


def test_several_attributes_are_weighed_unless_told_not_to(fitted, loans):
    assert set(fitted.balance_) == {"sex", "origin"}
    for settings, S in (
        ({}, loans.S[["sex"]]),
        ({"weigh": "people"}, loans.S),
        ({"regularizer": "norm"}, loans.S),
    ):
        assert isinstance(OTFClassifier(**settings).fit(loans.X, loans.y, S).balance_, float)
    assert OTFClassifier(alpha=0).fit(loans.X, loans.y, loans.S).balance_ == 1


@pytest.mark.slow
@pytest.mark.parametrize("notion", ["demographic_parity", "equalized_odds"])
def test_the_same_share_of_each_attribute_is_left(notion, loans):
    path = OTFClassifier(notion).fit_path(loans.X, loans.y, loans.S, [0.3, 0.5, 0.6])
    weak, half, strong = (list(loans.shares(model, notion).values()) for model in path)
    assert half == pytest.approx([0.5, 0.5], abs=0.04)
    for shares in (weak, strong):
        assert np.ptp(shares) < 0.1
    assert max(strong) < max(half) < max(weak) < 1
    plain = OTFClassifier(notion, alpha=0.5, weigh="people").fit(loans.X, loans.y, loans.S)
    assert np.ptp(list(loans.shares(plain, notion).values())) > 0.1  # which is why


@pytest.mark.slow
def test_no_group_is_left_behind_when_groups_are_weighed(loans):
    S = loans.S[["origin"]]
    people = otfair.EqualizedOdds().people(S, loans.y)
    parts = parts_of(people, "groups")

    def violations(model):
        h = model.predict_proba(loans.X)[:, 1]
        return np.array([ViolationOf(part.people)(h) for part in parts])

    free = violations(OTFClassifier(alpha=0).fit(loans.X, loans.y))
    model = OTFClassifier("equalized_odds", weigh="groups").fit(loans.X, loans.y, S)
    assert set(model.balance_) == {"origin=Local", "origin=Regional", "origin=Abroad"}
    told = free > 0.1 * free.max()
    assert (violations(model)[told] / free[told]).max() < 0.6


def test_factors_given_back_make_the_same_model(fitted, loans):
    again = OTFClassifier(alpha=0.5, balance=fitted.balance_).fit(loans.X, loans.y, loans.S)
    np.testing.assert_allclose(again.coef_, fitted.coef_, atol=2e-3)
    assert again.balance_ == pytest.approx(fitted.balance_)


def test_a_saved_model_tells_its_factors(fitted, tmp_path):
    path = tmp_path / "model.safetensors"
    fitted.save(path)
    again = OTFClassifier.load(path)
    assert again.balance_ == fitted.balance_
    assert again.judgement_ == fitted.judgement_


def test_a_loss_as_regularizer_has_a_weigh_of_its_own(fitted, loans):
    loss = otfair.OTFLoss(weigh="attributes", tol=1e-10)
    model = OTFClassifier(alpha=0.5, regularizer=loss).fit(loans.X, loans.y, loans.S)
    np.testing.assert_allclose(model.coef_, fitted.coef_, atol=1e-6)
    plain = OTFClassifier(regularizer=otfair.OTFLoss(tol=1e-10))
    assert isinstance(plain.fit(loans.X, loans.y, loans.S).balance_, float)
    with pytest.raises(ValueError, match="made with weigh='attributes', but `weigh` is 'groups'"):
        OTFClassifier(regularizer=loss, weigh="groups").fit(loans.X, loans.y, loans.S)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["dataset", "batch"])
def test_mini_batches_hear_both_attributes(mode, loans):
    settings = {"solver": "adam", "mode": mode, "epochs": 60, "batch_size": 200}
    settings |= {"learning_rate": 0.02, "random_state": 0}
    model = OTFClassifier(alpha=0.6, **settings).fit(loans.X, loans.y, loans.S)
    assert set(model.balance_) == {"sex", "origin"}
    assert max(loans.shares(model).values()) < 0.7


@pytest.mark.slow
def test_boosted_trees_hear_both_attributes(loans):
    settings = {"n_estimators": 40, "n_jobs": 1, "max_depth": 3}
    free = OTFBoostingClassifier(alpha=0, **settings).fit(loans.table, loans.y)
    model = OTFBoostingClassifier(alpha=0.9, weigh="attributes", **settings)
    model.fit(loans.table, loans.y, sensitive_features=loans.S)
    assert set(model.balance_) == {"sex", "origin"}
    before, after = (loans.violations(m, X=loans.table) for m in (free, model))
    assert all(after[name] < 0.7 * before[name] for name in before)


def test_the_penalty_of_an_objective_is_the_weighed_sum(loans):
    balance = {"sex": 10.0, "origin": 40.0}
    objective = OTFObjective(alpha=0.5, balance=balance).fit(loans.X, loans.S, loans.y)
    assert objective.balance_ == pytest.approx(balance)
    assert objective.strength == pytest.approx(20.0)  # the geometric mean
    margins = np.linspace(-2, 2, len(loans.y))
    rows = slice(0, 300)
    objective.watch(loans.X[rows], loans.S.iloc[rows], loans.y[rows])
    for some in (slice(None), rows):
        value, scale = 0.0, objective._train.loss._geometry.scale_
        for name, factor in balance.items():
            loss = otfair.OTFLoss(scale=scale).fit(loans.X[some], loans.S[[name]].iloc[some])
            value += factor / 20 * float(loss(torch.tensor(margins[some])))
        found = objective.metric("penalty").value(loans.y[some], margins[some])
        assert found == pytest.approx(value, rel=1e-3)
    alone = OTFObjective().fit(loans.X, loans.S["sex"], loans.y)
    assert isinstance(alone.balance_, float)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"weigh": "rows"}, "unknown weigh 'rows'"),
        ({"balance": {"sex": 1.0}}, "factors of sex, but what is weighed is sex, origin"),
        ({"balance": {"sex": 1.0, "age": 2.0}}, "factors of sex, age, but what is weighed is sex"),
        ({"balance": {"sex": 1.0, "origin": 0.0}}, "`balance` must be"),
        ({"balance": {}}, "`balance` must be"),
        ({"balance": {"sex": 1.0, "origin": 1.0}, "weigh": "people"}, "what is weighed is nothing"),
        ({"regularizer": "barycenter", "weigh": "groups"}, "is one penalty for all"),
        ({"max_violation": {}}, "`max_violation` has no limits"),
        ({"max_violation": {"sex": 2}}, r"`max_violation` must lie in \[0, 1\]; received 2"),
        ({"max_violation": {"race": 0.1}}, "names 'race'; the attributes are sex, origin"),
    ],
)
def test_wrong_settings_say_what_is_wrong(settings, message, loans):
    for kind in (OTFClassifier, OTFBoostingClassifier):
        with pytest.raises(ValueError, match=message):
            kind(**settings).fit(loans.X[:200], loans.y[:200], loans.S.iloc[:200])


@pytest.mark.slow
def test_limits_of_attributes_are_all_met(tmp_path):
    loans = Loans(2500)
    limits = {"sex": 0.12, "origin": 0.09}
    model = OTFClassifier(max_violation=limits).fit(loans.X, loans.y, loans.S)
    found = model.judgement_
    assert found.met
    assert found.limits == limits
    assert found.limit == 0.12
    assert all(found.violations[name] < limit for name, limit in limits.items())
    ratio = max(found.violations[name] / limit for name, limit in limits.items())
    assert found.violation == pytest.approx(0.12 * ratio)
    assert model.violation_bound_ <= 0.12
    assert "by sex (limit 0.12), 0." in str(found)
    assert "% of each limit" in str(found)
    weaker = [one for one in model.search_ if one["alpha"] < model.alpha_]
    assert all(one["bound"] > 0.12 for one in weaker)
    new = otfair.load_dataset("synthetic", n=6000)
    h = model.predict_proba(otfair.TableEncoder().fit(new.X.iloc[:2500]).transform(new.X))[2500:, 1]
    for name, limit in limits.items():
        assert otfair.pdp_violation(h, new.sensitive_features[name].iloc[2500:]) < limit
    path = tmp_path / "model.safetensors"
    model.save(path)
    again = OTFClassifier.load(path)
    assert again.judgement_ == found
    assert again.max_violation == limits
    assert clone(again).max_violation == limits


@pytest.mark.slow
def test_one_limit_for_each_attribute_is_one_for_all(loans):
    settings = {"weigh": "people", "confidence": 0.0, "cv": 2}
    one = OTFClassifier(max_violation=0.1, **settings).fit(loans.X, loans.y, loans.S)
    each = OTFClassifier(max_violation={"sex": 0.1, "origin": 0.1}, **settings)
    each.fit(loans.X, loans.y, loans.S)
    assert each.alpha_ == one.alpha_
    assert each.violation_ == one.violation_
    np.testing.assert_array_equal(each.coef_, one.coef_)


def test_an_attribute_without_a_limit_does_not_count(loans):
    settings = {"confidence": 0.0, "validation_fraction": 0.3, "random_state": 0}
    model = OTFClassifier(max_violation={"sex": 0.99}, **settings)
    model.fit(loans.X, loans.y, loans.S)
    assert model.alpha_ == 0
    assert set(model.judgement_.violations) == {"sex", "origin"}


@pytest.mark.slow
def test_limits_that_are_not_met_are_named(loans):
    model = OTFClassifier(max_violation={"sex": 0.01, "origin": 0.3}, validation_fraction=0.3)
    with pytest.warns(otfair.LimitWarning, match=r"max_violation=\{'sex': 0.01, 'origin': 0.3\}"):
        model.fit(loans.X, loans.y, loans.S)
    assert not model.judgement_.met
