"""One penalty for each attribute or group: sums of single ones, their factors, and one pass."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn
from torch.nn.functional import one_hot

import otfair
from otfair.geometry import SoftDistances

EPSILON = 1e-2
NOTIONS = ["demographic_parity", "equalized_odds", "equal_opportunity"]
FACTORS = {"sex": 2.0, "origin": 0.5, "age": 3.0}


class Crowd:
    """People with three attributes, of whom scores, features and labels know something."""

    def __init__(self, n: int = 60, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        sex, origin = rng.integers(0, 2, n), rng.integers(0, 3, n)
        age = rng.integers(2, 6, n) * 10.0
        self.S = pd.DataFrame(
            {"sex": np.array(["F", "M"])[sex], "origin": np.array(["a", "b", "c"])[origin]}
        )
        self.S["age"] = age + 0.5
        self.X = rng.normal(size=(n, 3)) + np.column_stack([sex, origin, age / 20])
        logits = self.X @ [0.6, 0.4, -0.5] + 0.3 * rng.normal(size=n)
        self.y = (rng.random(n) < 0.5).astype(int)
        self.logits = torch.tensor(logits, requires_grad=True)

    def reading(self, name: str) -> otfair.Notion:
        kinds = {
            "demographic_parity": otfair.DemographicParity,
            "equalized_odds": otfair.EqualizedOdds,
            "equal_opportunity": otfair.EqualOpportunity,
        }
        return kinds[name](continuous="age")

    def alone(self, notion: str, attribute: str, rows=None) -> tuple[float, np.ndarray]:
        """The mean cost of one attribute from scratch, and its slope by the logits."""
        h = torch.sigmoid(self.logits).detach().numpy()
        kinds = {"continuous": ["age"]} if attribute == "age" else {}
        people = type(self.reading(notion))(**kinds).people(self.S[[attribute]], self.y)
        geometry, c = otfair.PointCloud(self.X), people.constraints(rows=rows)
        if rows is not None:
            geometry, h = geometry.rows(rows), h[rows]
        a = otfair.adjusted_otf(h, geometry, c, EPSILON)
        return a.value / len(h), a.gradient / len(h) * h * (1 - h)


@pytest.fixture
def crowd() -> Crowd:
    return Crowd()


def value_and_slope(loss, crowd: Crowd, *people, rows=None) -> tuple[float, np.ndarray]:
    logits = crowd.logits if rows is None else crowd.logits[rows]
    value = loss(logits, *people, index=rows)
    (slope,) = torch.autograd.grad(value, crowd.logits)
    return value.item(), slope.numpy() if rows is None else slope.numpy()[rows]


def weighed(notion, **settings) -> otfair.OTFLoss:
    loss = otfair.OTFLoss(notion, EPSILON, weigh="attributes", tol=1e-11, **settings)
    loss.factors = FACTORS
    return loss


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("mode", ["batch", "dataset", "rows"])
def test_it_is_the_sum_of_single_costs_made_from_scratch(notion, mode, crowd):
    loss, rows = weighed(crowd.reading(notion)), None
    if mode == "batch":
        found = value_and_slope(loss, crowd, crowd.X, crowd.S, crowd.y)
    else:
        rows = np.arange(5, 45) if mode == "rows" else None
        found = value_and_slope(loss.fit(crowd.X, crowd.S, crowd.y), crowd, rows=rows)
    alone = {name: crowd.alone(notion, name, rows) for name in FACTORS}
    expected = sum(FACTORS[name] * value for name, (value, _) in alone.items())
    assert found[0] == pytest.approx(expected, rel=1e-6)
    slope = sum(FACTORS[name] * slope for name, (_, slope) in alone.items())
    np.testing.assert_allclose(found[1], slope, atol=1e-6 * np.abs(slope).max())
    for name, (value, _) in alone.items():
        assert loss.last.parts[name] == pytest.approx(value, rel=1e-6)
    assert loss.last.value == pytest.approx(expected, rel=1e-6)
    assert loss.last.converged


def test_groups_are_compared_with_all_others(crowd):
    loss = otfair.OTFLoss(epsilon=EPSILON, weigh="groups", tol=1e-11)
    found, slope = value_and_slope(loss, crowd, crowd.X, crowd.S[["origin"]])
    expected, slopes = 0.0, np.zeros(len(crowd.y))
    h = torch.sigmoid(crowd.logits).detach().numpy()
    for group in "abc":
        c = otfair.DemographicParity().constraints(crowd.S["origin"] == group)
        a = otfair.adjusted_otf(h, otfair.PointCloud(crowd.X), c, EPSILON)
        expected, slopes = expected + a.value / len(h), slopes + a.gradient / len(h) * h * (1 - h)
        assert loss.last.parts[f"origin={group}"] == pytest.approx(a.value / len(h), rel=1e-6)
    assert found == pytest.approx(expected, rel=1e-6)
    np.testing.assert_allclose(slope, slopes, atol=1e-6 * np.abs(slopes).max())


@pytest.mark.parametrize("make", [otfair.OTFLoss, otfair.NormLoss])
@pytest.mark.parametrize("weigh", ["attributes", "groups"])
def test_two_groups_of_one_attribute_are_as_without_weighing(make, weigh, crowd):
    plain, own = make("equalized_odds"), make("equalized_odds", weigh=weigh)
    sex = crowd.S[["sex"]]
    for people in ((crowd.X, sex, crowd.y), ()):
        found = [value_and_slope(loss, crowd, *people) for loss in (plain, own)]
        assert found[0][0] == found[1][0]
        np.testing.assert_array_equal(found[0][1], found[1][1])
        assert own.last.parts == {}
        for loss in (plain, own):
            loss.fit(crowd.X, sex, crowd.y)


@pytest.mark.parametrize("notion", NOTIONS)
def test_it_passes_gradcheck_in_both_modes(notion):
    crowd = Crowd(24)
    loss = weighed(crowd.reading(notion))
    people = (crowd.X, crowd.S, crowd.y)
    assert torch.autograd.gradcheck(lambda z: loss(z, *people), crowd.logits, atol=1e-7)
    loss.fit(*people)
    rows = np.arange(4, 22)
    assert torch.autograd.gradcheck(lambda z: loss(z[rows], index=rows), crowd.logits, atol=1e-7)


def test_a_norm_is_the_sum_of_those_of_attributes(crowd):
    loss = otfair.NormLoss(p=2, weigh="attributes")
    loss.factors = {"sex": 2.0}
    S, h = crowd.S[["sex", "origin"]], torch.sigmoid(crowd.logits).detach().numpy()
    expected = {
        name: np.linalg.norm(otfair.DemographicParity().constraints(S[[name]]).matrix @ h) / len(h)
        for name in S
    }
    assert loss(crowd.logits, None, S).item() == pytest.approx(
        2 * expected["sex"] + expected["origin"]
    )


def test_a_weight_is_so_many_copies(crowd):
    weight = np.arange(len(crowd.y)) % 3
    copies = np.repeat(np.arange(len(crowd.y)), weight)
    S = crowd.S.iloc[copies].reset_index(drop=True)
    logits = crowd.logits.detach()
    # The scale is that of the people who have weight, in both.
    one = weighed(crowd.reading("equalized_odds")).fit(crowd.X, crowd.S, crowd.y, weight)
    many = weighed(crowd.reading("equalized_odds")).fit(crowd.X[copies], S, crowd.y[copies])
    assert one(logits).item() == pytest.approx(many(logits[copies]).item(), rel=1e-7)
    one.balance_(logits, crowd.y)
    many.balance_(logits[copies], crowd.y[copies])
    assert one.balances == pytest.approx(many.balances, rel=1e-5)


def test_distances_take_one_pass(crowd, monkeypatch):
    passes = []
    real = SoftDistances.of.__func__

    def counted(cls, *given):
        passes.append(given)
        return real(cls, *given)

    monkeypatch.setattr(SoftDistances, "of", classmethod(counted))
    loss = weighed(crowd.reading("equalized_odds"))
    loss(crowd.logits, crowd.X, crowd.S, crowd.y)
    assert len(passes) == 1
    loss.fit(crowd.X, crowd.S, crowd.y)
    assert len(passes) == 2
    loss(crowd.logits)
    loss(crowd.logits[:20], index=np.arange(20))
    assert len(passes) == 2


def test_an_attribute_that_a_batch_lacks_leaves_the_others(crowd):
    loss = weighed(crowd.reading("demographic_parity"))
    rows = np.flatnonzero(crowd.S["sex"] == "F")
    batch = (crowd.X[rows], crowd.S.iloc[rows].reset_index(drop=True), crowd.y[rows])
    found = loss(crowd.logits[rows], *batch)
    assert loss.last.parts["sex"] == 0
    assert loss.last.parts["origin"] > 0
    assert loss.last.dropped == ("sex=F",)
    loss.fit(crowd.X, crowd.S, crowd.y)
    value, slope = value_and_slope(loss, crowd, rows=rows)
    _, alone = crowd.alone("demographic_parity", "origin", rows)
    _, age = crowd.alone("demographic_parity", "age", rows)
    np.testing.assert_allclose(slope, 0.5 * alone + 3 * age, atol=1e-6 * np.abs(age).max())
    assert found.item() > 0
    assert value > 0


def rms(loss, crowd, name: str) -> float:
    loss.factors = {n: float(n == name) for n in FACTORS}
    return float(torch.autograd.grad(loss(crowd.logits), crowd.logits)[0].norm())


def test_balance_makes_attributes_pull_alike_and_together_as_the_entropy(crowd):
    loss = otfair.OTFLoss(crowd.reading("demographic_parity"), EPSILON, weigh="attributes")
    loss.fit(crowd.X, crowd.S, crowd.y)
    loss.balance_(crowd.logits, crowd.y)
    (pull,) = torch.autograd.grad(loss(crowd.logits), crowd.logits)
    entropy = (torch.sigmoid(crowd.logits.detach()) - torch.tensor(crowd.y)) / len(crowd.y)
    assert float(pull.norm()) == pytest.approx(float(entropy.norm()), rel=1e-6)
    factors = dict(loss.factors)
    assert np.prod(list(factors.values())) == pytest.approx(1)
    assert loss.balances == pytest.approx({n: float(loss.balance) * f for n, f in factors.items()})
    pulls = [factors[name] * rms(loss, crowd, name) for name in factors]
    np.testing.assert_allclose(pulls, pulls[0], rtol=1e-5)


def test_fair_scores_leave_all_factors_at_one(crowd):
    loss = otfair.OTFLoss(crowd.reading("demographic_parity"), EPSILON, weigh="attributes")
    loss.fit(crowd.X, crowd.S, crowd.y)
    assert loss.balance_(torch.zeros(len(crowd.y)), crowd.y) == 1
    assert loss.balances == {"sex": 1, "origin": 1, "age": 1}


def test_the_state_holds_factors_by_name(crowd):
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fairness = otfair.OTFLoss(weigh="attributes")

    model, other = Model(), Model()
    model.fairness.factors = {"sex": 2.0, "first.name": 3.0}
    state = model.state_dict()
    assert {k: float(v) for k, v in state.items()} == {
        "fairness.balance": 1.0, "fairness.factors.sex": 2.0, "fairness.factors.first.name": 3.0
    }  # fmt: skip
    other.load_state_dict(state)
    assert dict(other.fairness.factors) == {"sex": 2.0, "first.name": 3.0}
    assert list(otfair.OTFLoss().state_dict()) == ["balance"]
    other.load_state_dict({"fairness.balance": torch.tensor(2.0)})  # of one without factors
    assert dict(other.fairness.factors) == {}
    half = model.half().fairness
    assert dict(half.factors) == {"sex": 2.0, "first.name": 3.0}


def test_columns_of_a_one_hot_matrix_are_one_attribute_each(crowd):
    S = one_hot(torch.tensor(pd.factorize(crowd.S["origin"])[0])).double()
    loss = otfair.OTFLoss(weigh="attributes", epsilon=EPSILON)
    loss(crowd.logits, crowd.X, S)
    assert len(loss.last.parts) == 3


def test_wrong_factors_and_settings_are_refused(crowd):
    with pytest.raises(ValueError, match=r"unknown weigh 'rows'; pass \"people\""):
        otfair.OTFLoss(weigh="rows")
    with pytest.raises(ValueError, match="received None"):
        otfair.NormLoss(weigh=None)
    loss = otfair.OTFLoss(weigh="attributes").fit(crowd.X, crowd.S[["sex", "origin"]])
    with pytest.raises(ValueError, match="`factors` names 'race', but what is weighed is sex, or"):
        loss.factors = {"race": 1.0}
    with pytest.raises(ValueError, match="a factor must be finite and not negative; sex: "):
        loss.factors = {"sex": -1.0}
    with pytest.raises(TypeError):
        loss.factors["sex"] = 2.0
    early = otfair.OTFLoss(weigh="attributes")
    early.factors = {"race": 1.0}
    with pytest.raises(ValueError, match="`factors` names 'race'"):
        early.fit(crowd.X, crowd.S)
    with pytest.raises(ValueError, match="`sensitive` has 60 people, but the features"):
        otfair.OTFLoss(weigh="attributes")(crowd.logits, crowd.X[:10], crowd.S)
