"""The Wasserstein penalty against SciPy, quantile integrals and brute force."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import wasserstein_distance
from torch.nn.functional import one_hot

import otfair


def make_groups(sizes=(7, 5, 11), seed=0):
    """Generic scores of groups, in an order that mixes them, with their one-hot columns."""
    rng = np.random.default_rng(seed)
    group = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    scores = rng.beta(2 + group, 3)
    return torch.tensor(scores), one_hot(torch.tensor(group), len(sizes)).double()


def parts(scores, S):
    return [scores[S[:, k] == 1].numpy() for k in range(S.shape[1])]


def penalty(scores, S, **settings) -> float:
    loss = otfair.BarycenterLoss(pred_as_logit=False, **settings)
    value = loss(scores, None, S).item()
    assert loss.last.value == pytest.approx(value)
    assert loss.last.dropped == ()
    return value


def quantile_curves(samples, grid=20_000):
    """Each sample's quantile function at the middles of a fine grid, (g, grid)."""
    levels = (np.arange(grid) + 0.5) / grid
    return np.stack(
        [np.sort(s)[np.minimum((levels * len(s)).astype(int), len(s) - 1)] for s in samples]
    )


SIZES = [(7, 5, 11), (1, 1), (10, 10), (1, 30), (2, 3, 4, 5, 6)]


@pytest.mark.parametrize("sizes", SIZES)
def test_w1_to_everybody_is_scipy_s(sizes):
    scores, S = make_groups(sizes)
    expected = sum(wasserstein_distance(part, scores.numpy()) for part in parts(scores, S))
    assert penalty(scores, S) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("sizes", SIZES)
def test_w2_is_the_integral_of_squared_quantile_gaps(sizes):
    scores, S = make_groups(sizes)
    *curves, pooled = quantile_curves([*parts(scores, S), scores.numpy()])
    expected = sum(np.mean((curve - pooled) ** 2) for curve in curves)
    assert penalty(scores, S, p=2) == pytest.approx(expected, rel=2e-2)
    # The barycenter's quantiles are the groups' means, by their shares.
    center = np.average(curves, axis=0, weights=sizes)
    expected = sum(np.mean((curve - center) ** 2) for curve in curves)
    assert penalty(scores, S, p=2, target="barycenter") == pytest.approx(expected, rel=2e-2)


def test_w2_by_hand():
    # Quantiles 0.1 | 0.5 of one group, 0.3 of the other; pooled 0.1 | 0.3 | 0.5 by thirds.
    scores = torch.tensor([0.1, 0.5, 0.3], dtype=torch.float64)
    S = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    first = (0.2**2 + 0.2**2) / 6  # from 1/3 to 1/2 and from 1/2 to 2/3
    second = (0.2**2 + 0.2**2) / 3
    assert penalty(scores, S, p=2) == pytest.approx(first + second, rel=1e-12)
    assert penalty(scores, S, p=1) == pytest.approx((0.2 + 0.2) / 6 + (0.2 + 0.2) / 3, rel=1e-12)


@pytest.mark.parametrize("sizes", SIZES)
def test_w1_barycenter_minimises_the_weighted_sum_of_distances(sizes):
    scores, S = make_groups(sizes)
    samples = parts(scores, S)
    curves = quantile_curves(samples, 2000)
    share = np.array(sizes) / sum(sizes)
    # At each level the best value is one of the groups'; take the lowest of the best.
    ordered = np.sort(curves, axis=0)
    spent = np.einsum("g,gct->ct", share, np.abs(curves[:, None] - ordered[None]))
    best = (spent <= spent.min(0) + 1e-12).argmax(0)
    center = ordered[best, np.arange(curves.shape[1])]
    expected = np.abs(curves - center).mean(1).sum()
    assert penalty(scores, S, target="barycenter") == pytest.approx(expected, rel=2e-2)


def test_w1_between_two_groups_is_shared_out_by_the_barycenter():
    # Wherever the barycenter lies between two groups, the distances to it add up to theirs.
    scores, S = make_groups((6, 9))
    expected = wasserstein_distance(*parts(scores, S))
    assert penalty(scores, S, target="barycenter") == pytest.approx(expected, rel=1e-12)


def test_smoothing_is_a_pseudo_huber_that_tends_to_the_absolute_value():
    scores, S = make_groups()
    *curves, pooled = quantile_curves([*parts(scores, S), scores.numpy()])
    expected = sum(np.mean(np.hypot(curve - pooled, 0.1) - 0.1) for curve in curves)
    assert penalty(scores, S, smoothing=0.1) == pytest.approx(expected, rel=2e-2)
    assert penalty(scores, S, smoothing=1e-9) == pytest.approx(penalty(scores, S), abs=1e-8)
    # Wide, it is the squared distance over twice the width.
    wide, squared = penalty(scores, S, smoothing=100.0), penalty(scores, S, p=2)
    assert wide == pytest.approx(squared / 200, rel=1e-4)


@pytest.mark.parametrize("target", ["pooled", "barycenter"])
@pytest.mark.parametrize(("p", "smoothing"), [(1, 0.0), (1, 0.1), (2, 0.0)])
def test_the_gradient_holds_the_coupling(target, p, smoothing):
    scores, S = make_groups()
    loss = otfair.BarycenterLoss(p=p, target=target, smoothing=smoothing)
    logits = torch.logit(scores).requires_grad_()
    assert torch.autograd.gradcheck(lambda z: loss(z, None, S), logits)


def test_equal_scores_share_their_slope():
    scores, S = make_groups()
    loss = otfair.BarycenterLoss(pred_as_logit=False)
    apart = scores.clone().requires_grad_()
    (slope,) = torch.autograd.grad(loss(apart, None, S), apart)
    twice = scores.repeat(2).requires_grad_()
    (shared,) = torch.autograd.grad(loss(twice, None, S.repeat(2, 1)), twice)
    assert shared == pytest.approx(slope.repeat(2) / 2, abs=1e-12)
    # Rounded scores tie across groups: the places move as they would one by one.
    tied = (scores * 10).round() / 10
    step = 1e-4 * (tied == tied.median()).double()
    tied.requires_grad_()
    (slope,) = torch.autograd.grad(loss(tied, None, S), tied)
    with torch.no_grad():
        rise = (loss(tied + step, None, S) - loss(tied - step, None, S)) / 2e-4
    assert float(slope @ step) / 1e-4 == pytest.approx(float(rise), abs=1e-9)
    assert float(slope.abs().max()) < 1 / 5  # the most that one of the smallest group can do


@pytest.mark.parametrize("target", ["pooled", "barycenter"])
@pytest.mark.parametrize("p", [1, 2])
def test_what_the_distance_does_not_see(target, p):
    scores, S = make_groups()
    value = penalty(scores, S, p=p, target=target)
    rng = torch.Generator().manual_seed(0)
    order = torch.randperm(len(scores), generator=rng)
    assert penalty(scores[order], S[order], p=p, target=target) == pytest.approx(value)
    assert penalty(scores, S[:, [2, 0, 1]], p=p, target=target) == pytest.approx(value)
    twice = penalty(scores.repeat(2), S.repeat(2, 1), p=p, target=target)
    assert twice == pytest.approx(value)
    shifted = penalty(scores / 2 + 0.3, S, p=p, target=target)
    assert shifted == pytest.approx(value / 2**p)
    # Equal distributions are fair, whoever has which score.
    assert penalty(scores.repeat(3), one_hot(torch.arange(69) // 23).double(), p=p) < 1e-15


def test_one_group_may_do_without_a_column_and_codes_will_do():
    scores, S = make_groups()
    value = penalty(scores, S)
    for groups in (S[:, :2], S.bool(), S.numpy(), S.argmax(1), {"g": S.argmax(1).numpy()}):
        assert penalty(scores, groups) == pytest.approx(value)
    two = make_groups((4, 9))
    assert penalty(two[0], two[1][:, 0]) == pytest.approx(penalty(*two))


def test_a_batch_compares_the_groups_it_has():
    scores, S = make_groups()
    loss = otfair.BarycenterLoss(pred_as_logit=False)
    some = S[:, 1] == 0
    value = loss(scores[some], None, S[some]).item()
    assert value == pytest.approx(penalty(scores[some], S[some][:, [0, 2]]))
    assert loss.last.dropped == ("group1",)
    loss.fit(None, S)
    rows = torch.nonzero(some).squeeze(1)
    assert loss(scores[some], index=rows).item() == pytest.approx(value)
    assert loss(scores, index=None).item() == pytest.approx(penalty(scores, S))


@pytest.mark.parametrize("target", ["pooled", "barycenter"])
@pytest.mark.parametrize("p", [1, 2])
def test_weights_are_copies_and_those_without_do_not_count(target, p):
    scores, S = make_groups()
    weight = torch.randint(0, 4, (23,), generator=torch.Generator().manual_seed(2))
    copies = torch.repeat_interleave(torch.arange(23), weight)
    loss = otfair.BarycenterLoss(p=p, target=target, pred_as_logit=False)
    loss.fit(None, S, sample_weight=weight)
    expected = penalty(scores[copies], S[copies], p=p, target=target)
    assert loss(scores).item() == pytest.approx(expected)
    alone = (S[:, 0] == 1).double()  # the other groups without weight: nothing to compare
    loss.fit(None, S, sample_weight=alone)
    assert loss(scores).item() == 0


@pytest.mark.parametrize("notion", ["equalized_odds", "equal_opportunity", "conditional_parity"])
def test_other_notions_are_refused(notion):
    with pytest.raises(ValueError, match="serves demographic parity only"):
        otfair.BarycenterLoss(notion)
    with pytest.raises(ValueError, match="serves demographic parity only"):
        otfair.BarycenterLoss(otfair.DemographicParity() & otfair.as_notion(notion))


def test_two_attributes_or_a_continuous_one_are_refused():
    scores, S = make_groups()
    other = one_hot((scores > 0.5).long()).double()
    loss = otfair.BarycenterLoss()
    two_columns = {"a": S.argmax(1).numpy(), "b": other.argmax(1).numpy()}
    for sensitive in (torch.cat([S, other], 1), two_columns, scores[:, None], scores.numpy()):
        with pytest.raises(ValueError, match="one categorical attribute"):
            loss(scores, None, sensitive)
        with pytest.raises(ValueError, match="one categorical attribute"):
            loss.fit(None, sensitive)
    # Crossed, two attributes are one.
    crossed = otfair.BarycenterLoss(
        otfair.DemographicParity(intersectional=True), pred_as_logit=False
    )
    cells = one_hot(2 * S.argmax(1) + other.argmax(1)).double()
    cells = cells[:, cells.sum(0) > 0]
    assert crossed(scores, None, two_columns).item() == pytest.approx(penalty(scores, cells))


def test_settings_that_mean_nothing_are_refused():
    for p in (3, 1.5, "1", True):
        with pytest.raises(ValueError, match="`p` must be at least 1, a whole number up to 2"):
            otfair.BarycenterLoss(p=p)
    with pytest.raises(ValueError, match='`target` must be "pooled" or "barycenter"'):
        otfair.BarycenterLoss(target="median")
    for settings in ({"smoothing": -0.1}, {"smoothing": 0.1, "p": 2}, {"smoothing": np.nan}):
        with pytest.raises(ValueError, match="`smoothing` must be a width"):
            otfair.BarycenterLoss(**settings)
