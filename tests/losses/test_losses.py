"""The penalties in PyTorch: values and gradients against the core, batches, types, training."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import textwrap
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, one_hot

import otfair

EPSILON = 1e-2
PENALTIES = [otfair.OTFLoss, otfair.NormLoss, otfair.CorrelationLoss, otfair.BarycenterLoss]
NOTIONS = ["demographic_parity", "equalized_odds", "equal_opportunity", "predictive_equality"]


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


def make_batch(n: int = 40, seed: int = 0, groups: int = 3) -> Batch:
    """People in groups that differ in their features, and unfair generic logits."""
    rng = torch.Generator().manual_seed(seed)
    group = torch.randint(0, groups, (n,), generator=rng)
    X = torch.randn(n, 3, generator=rng, dtype=torch.float64) + 0.5 * group[:, None]
    logits = X @ torch.tensor([1.0, -0.5, 0.2], dtype=torch.float64)
    logits += 0.7 * (group == 0) + 0.3 * torch.randn(n, generator=rng, dtype=torch.float64)
    y = torch.bernoulli(torch.sigmoid(logits), generator=rng).double()
    return Batch(logits, X, one_hot(group, groups).double(), y)


def constraints_of(notion: str, S: Tensor, y: Tensor) -> otfair.Constraints:
    """The rows of these people, read from one column of codes: not the way the losses read them."""
    return otfair.as_notion(notion).constraints(S.argmax(1), y.long())


def value_and_gradient(loss, logits: Tensor, *people, **keywords) -> tuple[float, Tensor]:
    leaf = logits.detach().clone().requires_grad_()
    value = loss(leaf, *people, **keywords)
    value.backward()
    return value.item(), leaf.grad


# Values and gradients


@pytest.mark.parametrize("notion", NOTIONS)
def test_otf_is_the_adjusted_cost_a_person_and_so_is_its_gradient(notion):
    b = make_batch()
    a = otfair.adjusted_otf(
        b.scores, otfair.PointCloud(b.X), constraints_of(notion, b.S, b.y), EPSILON
    )
    value, gradient = value_and_gradient(otfair.OTFLoss(notion, EPSILON), b.logits, *b.people)
    assert value == pytest.approx(a.value / 40, rel=1e-7)
    expected = b.scores * (1 - b.scores) * a.gradient / 40
    torch.testing.assert_close(gradient, expected, rtol=1e-4, atol=1e-9)


@pytest.mark.parametrize("notion", NOTIONS)
def test_otf_passes_gradcheck_in_both_modes(notion):
    b = make_batch(n=24)
    logits = b.logits.clone().requires_grad_()
    loss = otfair.OTFLoss(notion, EPSILON, tol=1e-11)
    assert torch.autograd.gradcheck(lambda z: loss(z, *b.people), logits, atol=1e-7)
    loss.fit(*b.people)
    rows = torch.arange(0, 24, 2)
    assert torch.autograd.gradcheck(lambda z: loss(z[rows], index=rows), logits, atol=1e-7)


@pytest.mark.parametrize("notion", ["demographic_parity", "equalized_odds"])
@pytest.mark.parametrize("p", [1, 2])
def test_norm_passes_gradcheck_in_both_modes(notion, p):
    b = make_batch(n=24)
    logits = b.logits.clone().requires_grad_()
    loss = otfair.NormLoss(notion, p)
    assert torch.autograd.gradcheck(lambda z: loss(z, *b.people), logits)
    loss.fit(*b.people)
    rows = torch.arange(0, 24, 2)
    assert torch.autograd.gradcheck(lambda z: loss(z[rows], index=rows), logits)


def test_norm_is_the_formula():
    # One-hot columns, parity: (mean score of the group) - (mean score of all), for each group.
    b = make_batch(100)
    h, S, y = b.scores.numpy(), b.S.numpy(), b.y.numpy()
    gaps = [h[S[:, k] == 1].mean() - h.mean() for k in range(3)]
    people = (None, b.S, b.y)
    assert float(otfair.NormLoss()(b.logits, *people)) == pytest.approx(np.abs(gaps).sum())
    assert float(otfair.NormLoss(p=2)(b.logits, *people)) == pytest.approx(np.linalg.norm(gaps))
    # Within a label the same, among its people only.
    odds = [
        h[(S[:, k] == 1) & (y == label)].mean() - h[y == label].mean()
        for label in (0, 1)
        for k in range(3)
    ]
    got = float(otfair.NormLoss("equalized_odds")(b.logits, *people))
    assert got == pytest.approx(np.abs(odds).sum())
    rows = constraints_of("equalized_odds", b.S, b.y).matrix.numpy()
    assert got == pytest.approx(np.abs(rows @ h).sum() / len(h))


def test_norm_of_a_continuous_attribute_is_its_covariance_with_the_score():
    b = make_batch()
    age, h = b.X[:, 0].numpy(), b.scores.numpy()
    expected = abs(np.cov(h, age, bias=True)[0, 1]) / age.std()
    got = float(otfair.NormLoss()(b.logits, None, b.X[:, :1]))
    assert got == pytest.approx(expected)


def test_the_user_may_allow_slack():
    b = make_batch()
    c = constraints_of("demographic_parity", b.S, b.y)
    a = otfair.adjusted_otf(b.scores, otfair.PointCloud(b.X), c, EPSILON, slack=1.0)
    value, gradient = value_and_gradient(
        otfair.OTFLoss("demographic_parity", EPSILON, slack=1.0), b.logits, *b.people
    )
    assert 0 < value == pytest.approx(a.value / 40, rel=1e-7)
    expected = b.scores * (1 - b.scores) * a.gradient / 40
    torch.testing.assert_close(gradient, expected, rtol=1e-4, atol=1e-9)
    # What is allowed already costs nothing.
    loss = otfair.OTFLoss("demographic_parity", EPSILON, slack=40.0)
    assert abs(float(loss(b.logits, *b.people))) < 1e-12


def test_cost_and_scale_reach_the_geometry():
    b = make_batch()
    c = constraints_of("demographic_parity", b.S, b.y)
    geometry = otfair.PointCloud(b.X, cost="cityblock", scale="mean")
    a = otfair.adjusted_otf(b.scores, geometry, c, EPSILON)
    loss = otfair.OTFLoss("demographic_parity", EPSILON, cost="cityblock", scale="mean")
    assert float(loss(b.logits, *b.people)) == pytest.approx(a.value / 40, rel=1e-7)
    loss.fit(None, b.S, geometry=geometry)
    assert float(loss(b.logits)) == pytest.approx(a.value / 40, rel=1e-7)


@pytest.mark.parametrize("solver", ["coordinate", otfair.Coordinate(max_sweeps=1)])
def test_one_sweep_of_the_published_scheme(solver):
    b = make_batch()
    options = {"max_sweeps": 1} if isinstance(solver, str) else {}
    loss = otfair.OTFLoss("demographic_parity", EPSILON, solver=solver, **options)
    cold = otfair.OTFLoss("demographic_parity", EPSILON, solver=solver, warm_start=False, **options)
    c = constraints_of("demographic_parity", b.S, b.y)
    a = otfair.adjusted_otf(
        b.scores, otfair.PointCloud(b.X), c, EPSILON, solver=otfair.Coordinate(max_sweeps=1)
    )
    value, gradient = value_and_gradient(loss, b.logits, *b.people)
    assert value == pytest.approx(a.value / 40, rel=1e-9)
    expected = b.scores * (1 - b.scores) * a.gradient / 40
    torch.testing.assert_close(gradient, expected)
    assert not loss.last.converged
    assert loss.last.iterations == 2
    assert loss.last.residual > 1e-3
    # Sweeps add up from call to call, unless each is to start afresh.
    assert float(loss(b.logits, *b.people)) != pytest.approx(value, rel=1e-3)
    for _ in range(2):
        assert float(cold(b.logits, *b.people)) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("make", PENALTIES)
def test_constants_are_free_in_every_mode(make):
    b = make_batch(60)
    notions = ["demographic_parity"] if make is otfair.BarycenterLoss else NOTIONS
    for notion in notions:
        loss = make(notion)
        constant = torch.full((60,), 0.3, dtype=torch.float64)
        value, gradient = value_and_gradient(loss, constant, *b.people)
        assert abs(value) < 1e-12
        assert gradient.abs().max() < 1e-7
        loss.fit(*b.people)
        for rows in (None, torch.arange(20), torch.arange(5, 60, 3)):
            some = constant if rows is None else constant[rows]
            assert abs(float(loss(some, index=rows))) < 1e-12


# Dataset mode


@pytest.mark.parametrize("make", PENALTIES)
def test_the_whole_dataset_as_a_batch_is_batch_mode(make):
    b = make_batch()
    loss = make()
    value, gradient = value_and_gradient(loss, b.logits, *b.people)
    loss.fit(*b.people)
    for index in (None, torch.arange(40), list(range(40)), np.ones(40, dtype=bool)):
        again, slope = value_and_gradient(loss, b.logits, index=index)
        assert again == pytest.approx(value, rel=1e-6)
        torch.testing.assert_close(slope, gradient, rtol=1e-3, atol=1e-8)
    order = torch.randperm(40, generator=torch.Generator().manual_seed(0))
    assert float(loss(b.logits[order], index=order)) == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize("notion", NOTIONS)
def test_a_batch_of_a_dataset_moves_to_everybody(notion):
    b = make_batch(60)
    rows = torch.tensor([3, 50, 7, 8, 21, 30, 3, 44, 45, 46, 59, 0, 12, 13, 14, 33])
    loss = otfair.OTFLoss(notion, EPSILON).fit(*b.people)
    value, gradient = value_and_gradient(loss, b.logits[rows], index=rows)
    people = otfair.as_notion(notion).people(b.S.argmax(1), b.y.long())
    scale = otfair.PointCloud(b.X).scale_
    a = otfair.adjusted_otf(
        b.scores[rows],
        otfair.PointCloud(b.X[rows], b.X, scale=scale),
        people.constraints(rows=rows),
        EPSILON,
    )
    assert value == pytest.approx(a.value / len(rows), rel=1e-6)
    h = b.scores[rows]
    torch.testing.assert_close(gradient, h * (1 - h) * a.gradient / len(rows), rtol=1e-3, atol=1e-8)


def test_a_dataset_step_computes_no_distances(monkeypatch):
    b = make_batch(60)
    loss = otfair.OTFLoss(epsilon=EPSILON).fit(*b.people)
    monkeypatch.setattr(otfair.PointCloud, "_blocks", None)  # would fail if called
    assert float(loss(b.logits[:30], index=range(30))) > 0


def test_after_a_fit_a_batch_of_others_can_still_be_judged():
    b, other = make_batch(60), make_batch(30, seed=1)
    loss = otfair.OTFLoss(epsilon=EPSILON)
    value = float(loss(other.logits, *other.people))
    loss.fit(*b.people)
    assert float(loss(other.logits, *other.people)) == pytest.approx(value, rel=1e-6)
    assert float(loss(b.logits)) > 0


@pytest.mark.parametrize("make", PENALTIES)
def test_a_weight_is_so_many_copies(make):
    b = make_batch(30)
    weight = torch.randint(0, 4, (30,), generator=torch.Generator().manual_seed(1))
    copies = torch.repeat_interleave(torch.arange(30), weight)
    weighted = make().fit(*b.people, sample_weight=weight.double())
    copied = make().fit(*b[copies].people)
    value, gradient = value_and_gradient(weighted, b.logits)
    again, slopes = value_and_gradient(copied, b.logits[copies])
    assert value == pytest.approx(again, rel=1e-6)
    summed = torch.zeros(30, dtype=torch.float64).index_add(0, copies, slopes)
    torch.testing.assert_close(gradient, summed, rtol=1e-3, atol=1e-8)
    if make is otfair.BarycenterLoss:
        return  # the monotone coupling tells tied copies apart
    # So is a weight in the balance: a mean over copies, of derivatives a copy.
    ratio = weighted.balance_(b.logits, b.y)
    assert ratio == pytest.approx(copied.balance_(b.logits[copies], b.y[copies]), rel=1e-4)


@pytest.mark.parametrize("make", PENALTIES[:3])
def test_a_weight_is_so_many_copies_in_the_balance_of_a_batch(make):
    b = make_batch(30)
    weight = torch.randint(1, 5, (30,), generator=torch.Generator().manual_seed(1))
    copies = torch.repeat_interleave(torch.arange(30), weight)
    parity, group = otfair.DemographicParity(), b.S.argmax(1)
    typed, copied = parity.people(group, None, weight), parity.people(group[copies])
    loss = make(parity)
    ratio = loss.balance_(b.logits, b.y, b.X, typed)
    expected = loss.balance_(b.logits[copies], b.y[copies], b.X[copies], copied)
    assert ratio == pytest.approx(expected, rel=1e-4)
    # Weights of a dataset, which this batch is not of, do not count.
    loss.fit(*b.people, sample_weight=weight.double())
    assert loss.balance_(b.logits, b.y, b.X, typed) == pytest.approx(expected, rel=1e-4)
    plain = make(parity).balance_(b.logits, b.y, b.X, b.S)
    assert loss.balance_(b.logits, b.y, b.X, b.S) == pytest.approx(plain, rel=1e-4)


# Batches that miss groups


@pytest.mark.parametrize("make", PENALTIES)
def test_a_batch_without_a_group_drops_its_constraint(make):
    b = make_batch(60)
    rows = torch.nonzero(b.S[:, 1] == 0).squeeze(1)
    for fitted in (False, True):
        loss = make()
        arguments = {"index": rows} if fitted else {}
        people = () if fitted else b[rows].people
        if fitted:
            loss.fit(*b.people)
        value, gradient = value_and_gradient(loss, b.logits[rows], *people, **arguments)
        assert 0 < value < 1
        assert gradient.isfinite().all()
        assert loss.last.dropped == ("group1",)


@pytest.mark.parametrize("make", PENALTIES)
def test_a_batch_of_one_group_is_fair(make):
    b = make_batch(60)
    rows = torch.nonzero(b.S[:, 1] == 1).squeeze(1)
    loss = make()
    for _ in range(2):
        value, gradient = value_and_gradient(loss, b.logits[rows], *b[rows].people)
        assert value == 0
        assert torch.equal(gradient, torch.zeros_like(gradient))
        assert set(loss.last.dropped) == {"group0", "group1", "group2"}
    loss.fit(*b.people)
    for some in (rows, rows[:1]):
        value, gradient = value_and_gradient(loss, b.logits[some], index=some)
        assert value == 0
        assert torch.equal(gradient, torch.zeros_like(gradient))


@pytest.mark.parametrize("make", PENALTIES[:3])
def test_a_batch_without_a_label_keeps_the_other_label(make):
    b = make_batch(60)
    ones = b[b.y == 1]
    loss = make("equalized_odds")
    value, gradient = value_and_gradient(loss, ones.logits, *ones.people)
    assert value == pytest.approx(
        float(make("equal_opportunity")(ones.logits, *ones.people)), rel=1e-6
    )
    assert gradient.isfinite().all()
    assert loss.last.dropped == tuple(f"group{k} | y=0" for k in range(3))


@pytest.mark.parametrize("make", PENALTIES)
def test_extreme_logits_have_finite_values_and_gradients(make):
    b = make_batch()
    logits = torch.where(b.logits > 0, 1e4, -1e4)
    value, gradient = value_and_gradient(make(), logits, *b.people)
    assert 0 < value < 10
    assert gradient.isfinite().all()


# Warm starts


def test_warm_starts_are_quicker_and_change_nothing():
    b = make_batch(80)
    warm, cold = (otfair.OTFLoss(epsilon=1e-3, warm_start=flag) for flag in (True, False))
    saved = 0
    for step in range(6):
        logits = b.logits * (1 - 0.01 * step)
        values = [float(loss(logits, *b.people)) for loss in (warm, cold)]
        assert values[0] == pytest.approx(values[1], rel=1e-6)
        if step:
            saved += cold.last.iterations - warm.last.iterations
            assert warm.last.iterations < cold.last.iterations
    assert saved > 10
    # At the same logits there is nothing left to do: one evaluation a problem.
    warm(logits, *b.people)
    assert warm.last.iterations == 2


def test_duals_survive_batches_that_lack_a_group():
    b = make_batch(80)
    loss = otfair.OTFLoss(epsilon=1e-3).fit(*b.people)
    everyone = torch.arange(80)
    loss(b.logits, index=everyone)
    lacking = torch.nonzero(b.S[:, 2] == 0).squeeze(1)
    loss(b.logits[lacking], index=lacking)
    assert loss.last.dropped == ("group2",)
    loss(b.logits, index=everyone)
    warm = loss.last.iterations
    cold = otfair.OTFLoss(epsilon=1e-3).fit(*b.people)
    cold(b.logits, index=everyone)
    assert warm < cold.last.iterations
    assert loss.last.dropped == ()
    assert loss.last.value == pytest.approx(cold.last.value, rel=1e-6)


def test_diagnostics_tell_how_it_went():
    b = make_batch()
    loss = otfair.OTFLoss(epsilon=EPSILON)
    assert loss.last is None
    value = float(loss(b.logits, *b.people))
    assert loss.last.value == pytest.approx(value)
    assert loss.last.converged
    assert 0 <= loss.last.residual <= 1e-8
    assert loss.last.iterations > 2
    assert loss.last.dropped == ()


def test_a_solver_that_fails_raises_unless_told_not_to():
    b = make_batch()
    with pytest.raises(otfair.TransportError, match="max_evaluations"):
        otfair.OTFLoss(epsilon=1e-3, max_evaluations=2)(b.logits, *b.people)
    loss = otfair.OTFLoss(epsilon=1e-3, max_evaluations=2, throw=False)
    value, gradient = value_and_gradient(loss, b.logits, *b.people)
    assert np.isfinite(value)
    assert gradient.isfinite().all()
    assert not loss.last.converged


# Types, shapes, devices


@pytest.mark.parametrize("make", PENALTIES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_logits_of_any_precision_are_read_in_float64(make, dtype):
    b = make_batch()
    logits = b.logits.to(dtype)
    value, gradient = value_and_gradient(make(), logits.double(), *b.people)
    leaf = logits.clone().requires_grad_()
    low = make()(leaf, *b.people)
    low.backward()
    # The penalty itself is never rounded to half precision; the gradient is the logits'.
    assert low.dtype is torch.float32
    assert leaf.grad.dtype is dtype
    assert low.item() == pytest.approx(value, rel=1e-6)
    torch.testing.assert_close(leaf.grad.double(), gradient, rtol=1e-2, atol=1e-6)


@pytest.mark.parametrize("make", PENALTIES)
def test_autocast_changes_the_model_and_not_the_penalty(make):
    b = make_batch()
    torch.manual_seed(0)
    model, loss = torch.nn.Linear(3, 1), make()
    X, S, y = (v.float() for v in b.people)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = model(X)
        assert logits.dtype is torch.bfloat16
        penalty = loss(logits, X, S, y)
        total = binary_cross_entropy_with_logits(logits.squeeze(1).float(), y) + penalty
    total.backward()
    assert model.weight.grad.isfinite().all()
    assert penalty.item() == pytest.approx(
        float(make()(logits.detach().double(), b.X.float(), S, y)), rel=1e-6
    )


@pytest.mark.parametrize("make", PENALTIES)
def test_columns_of_one_are_vectors(make):
    b = make_batch()
    value, gradient = value_and_gradient(make(), b.logits, *b.people)
    again, column = value_and_gradient(make(), b.logits[:, None], b.X, b.S, b.y[:, None])
    assert again == value
    assert column.shape == (40, 1)
    assert torch.equal(column.squeeze(1), gradient)


@pytest.mark.parametrize("make", PENALTIES)
def test_probabilities_are_scores(make):
    b = make_batch()
    value, slope = value_and_gradient(make(), b.logits, *b.people)
    loss = make(pred_as_logit=False)
    got, gradient = value_and_gradient(loss, b.scores, *b.people)
    assert got == pytest.approx(value, rel=1e-9)
    torch.testing.assert_close(gradient * b.scores * (1 - b.scores), slope, rtol=1e-4, atol=1e-9)
    # For one call, as in fairret.
    assert float(make()(b.scores, *b.people, pred_as_logit=False)) == pytest.approx(value, rel=1e-9)
    # A score of zero is as near to it as makes no difference.
    assert np.isfinite(float(loss(b.scores.round(), *b.people)))
    with pytest.raises(ValueError, match=r"must lie in \[0, 1\].*Leave `pred_as_logit` True"):
        loss(b.logits.clamp(max=1.0), *b.people)


def test_groups_may_come_as_one_hot_arrays_of_any_library_or_as_a_table():
    b = make_batch()
    value = float(otfair.OTFLoss(epsilon=EPSILON)(b.logits, *b.people))
    norm = float(otfair.NormLoss()(b.logits, *b.people))
    codes = b.S.argmax(1)
    for S in (b.S.float(), b.S.bool(), b.S.numpy(), b.S.numpy() == 1, b.S.bfloat16()):
        assert float(otfair.OTFLoss(epsilon=EPSILON)(b.logits, b.X, S)) == pytest.approx(value)
        assert float(otfair.NormLoss()(b.logits, None, S)) == pytest.approx(norm)
    for S in (codes, codes.numpy(), {"sex": codes.numpy().astype(str)}):
        loss = otfair.OTFLoss(epsilon=EPSILON)
        assert float(loss(b.logits, b.X.numpy(), S)) == pytest.approx(value, rel=1e-6)
        assert float(otfair.NormLoss()(b.logits, None, S)) == pytest.approx(norm)


def test_stacked_notions_and_mixed_attributes_read_one_hot_columns_too():
    b = make_batch(60)
    S = torch.cat([b.S, (b.X[:, :1] > 0).double(), b.X[:, 1:2]], 1)
    table = {"a": b.S.argmax(1).numpy(), "b": S[:, 3].int().numpy(), "c": S[:, 4].numpy()}
    stacked = otfair.DemographicParity() & otfair.EqualizedOdds()
    for notion in (otfair.DemographicParity(), stacked):
        loss = otfair.OTFLoss(notion, 0.05)
        value = float(loss(b.logits, b.X, S, b.y))
        c = notion.constraints(table, b.y.long())
        a = otfair.adjusted_otf(b.scores.numpy(), otfair.PointCloud(b.X), c, 0.05)
        assert value == pytest.approx(a.value / 60, rel=1e-6)


def test_a_user_s_own_reading_of_columns_is_kept():
    b = make_batch()
    codes = b.S.argmax(1, keepdim=True).double()  # floats that are groups
    notion = otfair.DemographicParity(categorical=[0])
    expected = float(otfair.NormLoss()(b.logits, None, b.S))
    assert float(otfair.NormLoss(notion)(b.logits, None, codes)) == pytest.approx(expected)
    crossed = otfair.OTFLoss(otfair.DemographicParity(intersectional=True))
    with pytest.raises(ValueError, match="one-hot columns cannot be crossed"):
        crossed(b.logits, *b.people)


def test_a_linear_notion_sees_what_the_user_passed():
    b = make_batch()
    notion = otfair.LinearNotion(lambda S, y: (S / S.mean(0) - 1).T)
    value = float(otfair.NormLoss(notion)(b.logits, None, b.S))
    assert value == pytest.approx(float(otfair.NormLoss()(b.logits, None, b.S)))
    target = otfair.LinearNotion(
        lambda S, y: S.T[:1] - S.T[1:2], target=[0.5], names=["first = second + 0.5"]
    )
    gap = float(b.scores @ (b.S[:, 0] - b.S[:, 1])) - 0.5
    assert float(otfair.NormLoss(target)(b.logits, None, b.S)) == pytest.approx(abs(gap) / 40)


def test_conditional_parity_takes_strata_for_labels():
    b = make_batch(80)
    strata = (b.X[:, 2] > 0).long()
    loss = otfair.OTFLoss("conditional_parity", EPSILON)
    value = float(loss(b.logits, b.X, b.S, strata))
    odds = otfair.OTFLoss("equalized_odds", EPSILON)
    assert value == pytest.approx(float(odds(b.logits, b.X, b.S, strata)), rel=1e-6)
    # The balance needs both the labels and the strata.
    ratio = loss.balance_(b.logits, b.y, b.X, b.S, strata)
    assert ratio == pytest.approx(
        otfair.OTFLoss("conditional_parity", EPSILON).fit(b.X, b.S, strata).balance_(b.logits, b.y),
        rel=1e-4,
    )


# Balance


def rms(values: Tensor) -> float:
    return float(values.square().mean().sqrt())


@pytest.mark.parametrize("make", PENALTIES)
def test_balance_evens_out_the_pulls_on_the_logits(make):
    b = make_batch()
    loss = make()
    loss.balance.fill_(7.0)  # of an earlier model: no part of the ratio
    ratio = loss.balance_(b.logits, b.y, b.X, b.S)
    leaf = b.logits.clone().requires_grad_()
    (entropy,) = torch.autograd.grad(binary_cross_entropy_with_logits(leaf, b.y), leaf)
    value, pull = value_and_gradient(loss, b.logits, *b.people)
    assert rms(pull) == pytest.approx(rms(entropy), rel=1e-4)
    assert value == pytest.approx(ratio * loss.last.value, rel=1e-6)
    # However the people and predictions are given.
    loss.fit(*b.people)
    again = [
        loss.balance_(b.logits, b.y),
        loss.balance_(b.logits[:, None], b.y[:, None]),
        loss.balance_(b.logits.clone().requires_grad_(), b.y.bool().numpy(), index=range(40)),
        make(pred_as_logit=False).balance_(b.scores, b.y, b.X, b.S),
    ]
    with torch.no_grad():
        again.append(loss.balance_(b.logits, b.y))
    assert again == pytest.approx([ratio] * 5, rel=1e-4)


def test_fair_scores_leave_the_balance_at_one():
    b = make_batch()
    assert otfair.NormLoss().balance_(torch.zeros(40), b.y, b.X, b.S[:, :0].new_ones(40, 1)) == 1


def test_balance_refuses_what_does_not_fit():
    b = make_batch()
    loss = otfair.OTFLoss()
    loss.balance.fill_(3.0)
    with pytest.raises(ValueError, match="`pred` has 40 entries and `labels` 39"):
        loss.balance_(b.logits, b.y[:39], b.X, b.S)
    with pytest.raises(ValueError, match="then `features` and `sensitive`"):
        loss.balance_(b.logits, b.y, b.X)
    assert float(loss.balance) == 3  # untouched by calls that failed


def test_the_state_holds_the_balance_and_casts_leave_it_alone():
    b = make_batch()
    loss = otfair.OTFLoss(epsilon=EPSILON)
    loss.balance_(b.logits, b.y, b.X, b.S)
    loss.balance.fill_(120652.125 + 1e-9)  # not a float32, and past the largest float16
    other = otfair.OTFLoss(epsilon=EPSILON)
    other.load_state_dict(loss.state_dict())
    value = float(loss(b.logits, *b.people))
    assert float(other(b.logits, *b.people)) == pytest.approx(value, rel=1e-6)
    exact = loss.balance.clone()
    for move in (
        lambda m: m.half(),
        lambda m: m.float(),
        lambda m: m.double(),
        lambda m: m.to(torch.bfloat16),
        lambda m: m.to("cpu"),
        lambda m: torch.nn.ModuleDict({"fair": m}).half()["fair"],
    ):
        assert torch.equal(move(loss).balance, exact)
        assert float(loss(b.logits, *b.people)) == pytest.approx(value, rel=1e-6)
    assert list(loss.parameters()) == []


def test_a_fitted_loss_can_be_copied_pickled_and_used_without_gradients():
    b = make_batch()
    loss = otfair.OTFLoss(epsilon=EPSILON).fit(*b.people)
    value = float(loss(b.logits))
    for twin in (copy.deepcopy(loss), pickle.loads(pickle.dumps(loss))):
        assert float(twin(b.logits)) == pytest.approx(value, rel=1e-6)
    with torch.no_grad():
        assert not loss(b.logits.clone().requires_grad_()).requires_grad
    with torch.inference_mode():
        assert float(loss(b.logits.clone())) == pytest.approx(value, rel=1e-6)


# Wrong calls


def test_wrong_calls_say_what_is_wrong():
    b = make_batch()
    loss = otfair.OTFLoss()
    with pytest.raises(ValueError, match="the people of the batch are missing"):
        loss(b.logits)
    with pytest.raises(ValueError, match="the people of the batch are missing"):
        loss(b.logits, b.X, None, b.y)
    with pytest.raises(ValueError, match="`features` are missing"):
        loss(b.logits, None, b.S)
    with pytest.raises(ValueError, match=r"shape \(n,\) or \(n, 1\); received \(40, 2\)"):
        loss(torch.zeros(40, 2), *b.people)
    with pytest.raises(TypeError, match="`pred` must be a tensor"):
        loss(b.logits.numpy(), *b.people)
    with pytest.raises(ValueError, match="`pred` has 39 entries but the batch has 40"):
        loss(b.logits[:39], *b.people)
    with pytest.raises(ValueError, match="same people"):
        loss(b.logits, b.X[:39], b.S)
    with pytest.raises(ValueError, match="EqualizedOdds compares people of equal label"):
        otfair.OTFLoss("equalized_odds")(b.logits, b.X, b.S)
    with pytest.raises(ValueError, match="unknown notion"):
        otfair.OTFLoss("equality")
    with pytest.raises(ValueError, match="`p` must be at least 1, a whole number up to 2"):
        otfair.NormLoss(p=3)
    with pytest.raises(ValueError, match="must be finite"):
        loss(b.logits * torch.nan, *b.people)


def test_wrong_calls_after_a_fit_say_what_is_wrong():
    b = make_batch()
    loss = otfair.OTFLoss().fit(*b.people)
    with pytest.raises(ValueError, match="two ways to say who"):
        loss(b.logits, *b.people, index=range(40))
    # The features of a batch must not meet the people of the dataset, nor the other way round.
    with pytest.raises(ValueError, match="came without `sensitive`"):
        loss(b.logits, b.X)
    with pytest.raises(ValueError, match="`features` are missing"):
        loss(b.logits, None, b.S)
    with pytest.raises(ValueError, match="`pred` has 3 entries but the batch has 4"):
        loss(b.logits[:3], index=[0, 1, 2, 3])
    for index in ([0, 40], [-41], [0.5], [[0, 1]], [], [True, False]):
        with pytest.raises(ValueError, match="`index` must name rows of the 40 people"):
            loss(b.logits[:2], index=index)
    with pytest.raises(ValueError, match="OTF needs features"):
        loss.fit(None, b.S)
    with pytest.raises(ValueError, match=r"`sensitive` has 40 people, but .* 39 who give"):
        loss.fit(b.X[:39], b.S)
    assert float(loss(b.logits)) > 0  # a fit that failed leaves the last one standing


# Training


def trained_violation(loss, fitted: bool) -> float:
    """Violation left by a linear model, trained without a penalty and then with one."""
    rng = torch.Generator().manual_seed(0)
    group = torch.arange(200) % 2
    S = one_hot(group, 2).float()
    X = torch.randn(200, 3, generator=rng) + group[:, None] * torch.tensor([2.0, 0.0, 0.0])
    y = torch.bernoulli(torch.sigmoid(X.sum(1)), generator=rng)
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    if fitted:
        loss.fit(X, S, y)
    for step in range(40):
        if step == 20 and loss is not None:
            loss.balance_(model(X), y, *(() if fitted else (X, S)))
        for rows in torch.randperm(200, generator=rng).split(100):
            logits = model(X[rows])
            total = binary_cross_entropy_with_logits(logits.squeeze(1), y[rows])
            if loss is not None and step >= 20:
                people = () if fitted else (X[rows], S[rows], y[rows])
                total = 0.2 * total + 0.8 * loss(logits, *people, index=rows if fitted else None)
            optimizer.zero_grad()
            total.backward()
            optimizer.step()
    scores = torch.sigmoid(model(X)).detach().squeeze(1)
    return otfair.pdp_violation(scores.numpy(), group.numpy())


@pytest.fixture(scope="module")
def free_violation() -> float:
    return trained_violation(None, fitted=False)


@pytest.mark.parametrize("make", PENALTIES)
@pytest.mark.parametrize("fitted", [False, True])
def test_training_with_a_penalty_is_fairer(make, fitted, free_violation):
    assert free_violation > 0.3
    assert trained_violation(make(), fitted) < 0.4 * free_violation


WORKER = """
    import sys
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel
    import otfair

    rank, meeting, answers = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method="file://" + meeting, rank=rank, world_size=2)
    torch.manual_seed(0)
    X = torch.randn(80, 3)
    group = torch.arange(80) // 2 % 2
    S = torch.nn.functional.one_hot(group, 2).float()
    y = (X[:, 0] + group + 0.5 * torch.randn(80) > 0.5).float()
    shard = torch.arange(rank, 80, 2)
    torch.manual_seed(rank)  # DDP starts both from the weights of rank 0
    model = DistributedDataParallel(torch.nn.Linear(3, 1))
    batch, dataset = (otfair.OTFLoss("demographic_parity", 1e-2) for _ in range(2))
    dataset.fit(X, S, y)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    penalties = []
    for _ in range(5):
        logits = model(X[shard])
        penalty = batch(logits, X[shard], S[shard], y[shard]) + dataset(logits, index=shard)
        entropy = torch.nn.functional.binary_cross_entropy_with_logits(logits[:, 0], y[shard])
        optimizer.zero_grad()
        (entropy + 10 * penalty).backward()
        optimizer.step()
        penalties.append(penalty.item())
    weights = torch.cat([p.detach().reshape(-1) for p in model.parameters()])
    torch.save({"weights": weights, "penalties": penalties}, answers)
    dist.barrier()
    dist.destroy_process_group()
"""


@pytest.mark.slow
@pytest.mark.skipif(
    not torch.distributed.is_available() or not torch.distributed.is_gloo_available(),
    reason="this build of torch has no gloo",
)
def test_two_processes_train_one_model(tmp_path):
    # They meet at a file, so no port is needed; a process that hangs fails the test.
    answers = [tmp_path / f"answer{rank}" for rank in range(2)]
    command = [sys.executable, "-c", textwrap.dedent(WORKER)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    workers = [
        subprocess.Popen(
            [*command, str(rank), str(tmp_path / "meeting"), str(answers[rank])],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
        )
        for rank in range(2)
    ]
    try:
        for worker in workers:
            said, _ = worker.communicate(timeout=120)
            assert worker.returncode == 0, said.decode(errors="replace")
    finally:
        for worker in workers:
            worker.kill()
            worker.communicate()
    first, second = (torch.load(path, weights_only=True) for path in answers)
    assert torch.equal(first["weights"], second["weights"])
    assert first["weights"].isfinite().all()
    assert first["penalties"] != second["penalties"]  # each saw its own people
    for answer in (first, second):
        assert np.isfinite(answer["penalties"]).all()
        assert answer["penalties"][0] > 0


@pytest.mark.parametrize("p", [1, 2])
def test_a_smoothed_norm_is_the_norm_up_to_its_width(p):
    rng = np.random.default_rng(0)
    logits = torch.tensor(rng.normal(size=60), requires_grad=True)
    sensitive = torch.tensor(np.eye(3)[rng.integers(0, 3, 60)])
    exact = otfair.NormLoss("demographic_parity", p)(logits, None, sensitive)
    smooth = otfair.NormLoss("demographic_parity", p, smoothing=1e-3)(logits, None, sensitive)
    assert 0 <= float((exact - smooth).detach()) <= 3e-3
    assert torch.autograd.gradcheck(
        lambda z: otfair.NormLoss("demographic_parity", p, smoothing=1e-2)(z, None, sensitive),
        logits,
    )


def test_a_tolerance_beyond_rounding_is_an_aim():
    rng = np.random.default_rng(0)
    X, groups = torch.tensor(rng.normal(size=(30, 2))), rng.choice(["a", "b"], 30)
    logits = torch.tensor(rng.normal(size=30))
    fine, usual = (otfair.OTFLoss(epsilon=1e-2, **tol) for tol in ({"tol": 1e-30}, {}))
    assert float(fine(logits, X, groups)) == pytest.approx(float(usual(logits, X, groups)))
    assert fine.last.converged
    with pytest.raises(otfair.TransportError):
        otfair.OTFLoss(epsilon=1e-2, max_evaluations=2)(logits, X, groups)
