"""Penalties on predictive parity: exact gradients, per unit of score, in batches and datasets."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import otfair
from otfair import NormLoss, OTFLoss, PredictiveParity


def batch_of(seed: int, n: int = 40):
    rng = np.random.default_rng(seed)
    sex, race = rng.integers(0, 2, n), rng.integers(0, 3, n)
    y = rng.integers(0, 2, n)
    table = {"sex": sex.astype(str), "race": race.astype(str)}
    hot = torch.tensor(np.concatenate([np.eye(2)[sex], np.eye(3)[race]], 1))
    logits = torch.tensor(rng.normal(size=n), requires_grad=True)
    return logits, rng.normal(size=(n, 2)), table, hot, y


LOSSES = {
    "otf": lambda notion: OTFLoss(notion, 0.05, tol=1e-11, warm_start=False),
    "norm": NormLoss,
    "norm 2": lambda notion: NormLoss(notion, 2),
}


@pytest.mark.slow
@pytest.mark.parametrize("make", LOSSES.values(), ids=LOSSES)
@pytest.mark.parametrize("rate", [None, 0.4])
def test_gradients_are_those_of_differences(make, rate):
    logits, X, table, _, y = batch_of(0)
    loss = make(PredictiveParity(rate=rate))
    assert torch.autograd.gradcheck(lambda z: loss(z, X, table, y), logits, atol=1e-6)


@pytest.mark.parametrize("make", LOSSES.values(), ids=LOSSES)
def test_one_hot_and_table_agree(make):
    logits, X, table, hot, y = batch_of(1)
    found = [make("predictive_parity")(logits, X, s, y).item() for s in (table, hot)]
    assert found[0] == pytest.approx(found[1])


@pytest.mark.parametrize("make", LOSSES.values(), ids=LOSSES)
def test_a_penalty_is_per_unit_of_score(make):
    # Or else it would fall by lowering everybody's score, which leaves precision as it is.
    logits, X, table, _, y = batch_of(2)
    scores, loss = torch.sigmoid(logits.detach()), make("predictive_parity")
    whole, half = (loss(s, X, table, y, pred_as_logit=False).item() for s in (scores, scores / 2))
    assert whole == pytest.approx(half) == pytest.approx(loss.last.value)
    assert whole > 0


def test_otf_is_the_adjusted_cost_per_unit_of_score():
    logits, X, table, _, y = batch_of(3)
    h = torch.sigmoid(logits.detach()).numpy()
    c = PredictiveParity().constraints(table, y)
    a = otfair.adjusted_otf(h, otfair.PointCloud(X), c, 0.05)
    assert LOSSES["otf"]("predictive_parity")(logits, X, table, y).item() == pytest.approx(
        a.value / h.sum()
    )


def test_dataset_mode_is_batch_mode_for_all_and_takes_batches_that_lack_groups():
    logits, X, table, hot, y = batch_of(4)
    batch = LOSSES["otf"]("predictive_parity")(logits, X, hot, y)
    loss = LOSSES["otf"]("predictive_parity").fit(X, hot, y)
    assert loss(logits).item() == pytest.approx(batch.item())
    some = np.flatnonzero((table["race"] != "2") | (y == 0))[:15]
    loss(logits[some], index=some).backward()
    assert loss.last.converged
    assert any("group4" in name for name in loss.last.dropped)
    assert torch.isfinite(logits.grad).all()
    one = np.flatnonzero((table["sex"] == "1") & (table["race"] == "0"))
    assert loss(logits[one], index=one).item() == pytest.approx(0.0, abs=1e-9)


@pytest.mark.slow
def test_small_batches_of_a_loop_never_fail():
    rng = np.random.default_rng(5)
    loss = OTFLoss("predictive_parity", 1e-2)
    for _ in range(60):
        logits, X, _, hot, y = batch_of(int(rng.integers(10**6)), n=int(rng.integers(2, 14)))
        value = loss(logits, X, hot, y)
        value.backward()
        assert loss.last.converged
        assert torch.isfinite(logits.grad).all()
        assert value.item() > -1e-9


def test_the_barycenter_is_of_mean_scores():
    with pytest.raises(ValueError, match="serves demographic parity only"):
        otfair.BarycenterLoss("predictive_parity")
