"""The largest correlation as a penalty: the violation itself, and its gradient."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import Tensor

import otfair
from otfair import CorrelationLoss
from otfair.metrics import violation

NAMES = ["demographic_parity", "equalized_odds", "equal_opportunity", "predictive_equality"]


@dataclass(frozen=True)
class Batch:
    logits: Tensor
    X: Tensor
    S: Tensor  # (n, 3) one-hot
    y: Tensor

    def __getitem__(self, rows) -> Batch:
        return Batch(self.logits[rows], self.X[rows], self.S[rows], self.y[rows])

    @property
    def people(self):
        return self.X, self.S, self.y

    @property
    def scores(self) -> Tensor:
        return torch.sigmoid(self.logits)


def make_batch(n: int = 40, seed: int = 0) -> Batch:
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 3, n)
    X = rng.normal(size=(n, 3)) + 0.5 * group[:, None]
    logits = torch.tensor(X @ [1.0, -0.5, 0.2] + 0.7 * (group == 0))
    y = torch.tensor(rng.random(n) < 0.5).double()
    return Batch(logits, torch.tensor(X), torch.tensor(np.eye(3)[group]), y)


def value_and_gradient(loss, logits: Tensor, *people) -> tuple[float, Tensor]:
    leaf = logits.detach().clone().requires_grad_()
    value = loss(leaf, *people)
    value.backward()
    return value.item(), leaf.grad


def table_of(b):
    age = np.round(b.X[:, 0].numpy(), 1)  # some people are at the mean of all, or of their label
    age[:3] = age.mean()
    return {"group": b.S.argmax(1).numpy(), "age": age}


@pytest.mark.parametrize("seed", range(5))
def test_it_is_the_violation_that_is_reported(seed):
    b = make_batch(60, seed)
    S, y, h = table_of(b), b.y.numpy().astype(int), b.scores.numpy()
    w = np.random.default_rng(seed).integers(0, 4, 60).astype(float)
    for weight in (None, w):
        found = [
            float(CorrelationLoss(name).fit(None, S, y, weight)(b.logits)) for name in NAMES[:2]
        ]
        assert found[0] == pytest.approx(otfair.pdp_violation(h, S, weight), abs=1e-12)
        assert found[1] == pytest.approx(otfair.peo_violation(h, S, y, weight), abs=1e-12)
    notions = [*NAMES, otfair.DemographicParity() & "equalized_odds"]
    for notion in notions:
        value = float(CorrelationLoss(notion)(b.logits, None, S, y))
        assert value == pytest.approx(violation(h, S, notion, y), abs=1e-12)
    control = {**S, "job": (b.X[:, 2] > 0).numpy()}
    notion = otfair.ConditionalParity(control="job")
    value = float(CorrelationLoss(notion)(b.logits, None, control))
    assert value == pytest.approx(violation(h, control, notion), abs=1e-12)


def test_by_hand():
    b = make_batch()
    by_group = [abs(np.corrcoef(b.scores, column)[0, 1]) for column in b.S.T]
    assert float(CorrelationLoss()(b.logits, None, b.S)) == pytest.approx(max(by_group))
    within = []
    for label in (0, 1):
        some = b[b.y == label]
        within += [abs(np.corrcoef(some.scores, column)[0, 1]) for column in some.S.T]
    loss = CorrelationLoss("equalized_odds")
    assert float(loss(b.logits, None, b.S, b.y)) == pytest.approx(max(within))


@pytest.mark.parametrize("smoothing", [0.0, 1e-2, 0.3])
@pytest.mark.parametrize("name", NAMES[:2])
def test_its_gradient_is_that_of_differences(name, smoothing):
    b = make_batch(25)
    loss = CorrelationLoss(name, smoothing=smoothing).fit(None, table_of(b), b.y)
    logits = b.logits.clone().requires_grad_()
    assert torch.autograd.gradcheck(loss, (logits,), atol=1e-7)
    rows = torch.arange(0, 25, 2)
    assert torch.autograd.gradcheck(lambda z: loss(z, index=rows), (logits[rows],), atol=1e-7)


def test_its_smooth_form_is_zero_for_fair_scores_and_otherwise_just_below():
    b = make_batch()
    exact = float(CorrelationLoss("equalized_odds")(b.logits, *b.people))
    for width in (1e-1, 1e-2, 1e-4):
        smooth = CorrelationLoss("equalized_odds", smoothing=width)
        value = float(smooth(b.logits, *b.people))
        assert exact - width * np.log(2 * 6) - 1e-12 <= value <= exact
        assert float(smooth(torch.full((40,), 0.3), *b.people)) == pytest.approx(0, abs=1e-15)


def test_weights_are_copies():
    b = make_batch(30)
    weight = np.arange(30) % 3 + 1
    copies = np.repeat(np.arange(30), weight)
    for name in NAMES:
        some = value_and_gradient(CorrelationLoss(name).fit(None, b.S, b.y, weight), b.logits)
        many = value_and_gradient(
            CorrelationLoss(name).fit(None, *b[copies].people[1:]), b[copies].logits
        )
        assert some[0] == pytest.approx(many[0], abs=1e-12)
        summed = torch.zeros(30, dtype=torch.float64).index_add(0, torch.tensor(copies), many[1])
        torch.testing.assert_close(some[1], summed)


def test_moving_and_scaling_scores_changes_nothing():
    b = make_batch()
    loss = CorrelationLoss("equalized_odds", pred_as_logit=False)
    value = float(loss(b.scores, *b.people))
    assert float(loss(0.3 * b.scores + 0.1, *b.people)) == pytest.approx(value, rel=1e-12)
    assert float(loss(1e-9 * b.scores + 0.5, *b.people)) == pytest.approx(value, rel=1e-5)


@pytest.mark.parametrize("smoothing", [0.0, 1e-2])
def test_scores_without_variance_are_fair_and_nothing_pulls_on_them(smoothing):
    b = make_batch()
    constant, gradient = value_and_gradient(
        CorrelationLoss("equalized_odds", smoothing=smoothing), torch.full((40,), 0.1), *b.people
    )
    assert constant == pytest.approx(0, abs=1e-15)
    assert not gradient.any()
    # So are those of a label, while the others are not; and groups of equal means are.
    half = torch.where(b.y == 1, b.logits, torch.tensor(-0.7, dtype=torch.float64))
    loss = CorrelationLoss("equalized_odds", smoothing=smoothing)
    value, gradient = value_and_gradient(loss, half, *b.people)
    assert value > 0
    assert torch.isfinite(gradient).all()
    assert not gradient[b.y == 0].any()
    fair = torch.tensor([1.0, -1.0, 1.0, -1.0])
    value, gradient = value_and_gradient(
        CorrelationLoss(smoothing=smoothing), fair, None, torch.eye(2)[[0, 0, 1, 1]]
    )
    assert value == pytest.approx(0, abs=1e-15)
    assert not gradient.any()


def test_a_batch_with_nobody_to_compare_has_no_penalty():
    b = make_batch()
    one_group = b[b.S[:, 0] == 1]
    loss = CorrelationLoss()
    value, gradient = value_and_gradient(loss, one_group.logits, *one_group.people)
    assert value == 0
    assert not gradient.any()
    assert len(loss.last.dropped) == 3


def test_rows_of_your_own_must_call_constant_scores_fair():
    b = make_batch()
    centred = otfair.LinearNotion(lambda S, y: (S / S.mean(0) - 1).T)
    expected = float(CorrelationLoss()(b.logits, None, b.S))
    for S in (b.S, b.S.float()):
        assert float(CorrelationLoss(centred)(b.logits, None, S)) == pytest.approx(expected)
    h = b.scores - b.scores.mean()
    rows = (b.S / b.S.mean(0) - 1).T
    over = (rows @ h / 40).abs() / (h.square().mean().sqrt() * rows.square().mean(1).sqrt())
    assert float(over.max()) == pytest.approx(expected)

    sums = otfair.LinearNotion(lambda S, y: S.T, names=["a", "b", "c"])
    target = otfair.LinearNotion(lambda S, y: (S / S.mean(0) - 1).T, target=[0, 1, 0])
    for notion, name in ((sums, "'a'"), (target, "'row 1'")):
        with pytest.raises(ValueError, match=f"constant scores are fair.*{name}.*Use NormLoss"):
            CorrelationLoss(notion)(b.logits, None, b.S)
        with pytest.raises(ValueError, match="constant scores are fair"):
            CorrelationLoss(notion).fit(None, b.S)


def test_a_row_of_your_own_that_does_not_vary_has_no_correlation():
    b = make_batch()
    notion = otfair.LinearNotion(lambda S, y: np.zeros((1, 40)))
    value, gradient = value_and_gradient(CorrelationLoss(notion), b.logits, None, b.S)
    assert value == 0
    assert not gradient.any()


@pytest.mark.parametrize("smoothing", [-1e-3, np.nan, np.inf])
def test_a_width_must_be_one(smoothing):
    with pytest.raises(ValueError, match="`smoothing` must be a width"):
        CorrelationLoss(smoothing=smoothing)
