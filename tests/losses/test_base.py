"""Penalties in a loop over mini-batches of tables, which may lack groups, labels and variance."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits, one_hot
from torch.utils.data import DataLoader, TensorDataset

import otfair
from otfair import ConditionalParity, DemographicParity, EqualizedOdds

LOSSES = [otfair.OTFLoss, otfair.NormLoss, otfair.CorrelationLoss, otfair.BarycenterLoss]
LOGITS = torch.tensor([1.0, -0.5, 0.3, 2.0, -1.0, 0.1], dtype=torch.float64)
X = torch.tensor([[0.0], [0.3], [0.5], [1.1], [1.3], [2.0]])
ONE_GROUP = [
    {"sex": ["F"] * 6},
    np.array(["F"] * 6),
    pd.DataFrame({"sex": ["F"] * 6}),
    pd.DataFrame({"sex": pd.Categorical(["F"] * 6, ["F", "M"])}),
    pl.DataFrame({"sex": ["F"] * 6}),
    torch.ones(6, dtype=torch.long),
    one_hot(torch.ones(6, dtype=torch.long), 3),
    one_hot(torch.ones(6, dtype=torch.long), 3).float(),
]


def value_and_gradient(loss, *arguments) -> tuple[float, torch.Tensor]:
    leaf = LOGITS.clone().requires_grad_()
    value = loss(leaf, *arguments)
    value.backward()
    return value.item(), leaf.grad


# A batch may have one group


@pytest.mark.parametrize("make", LOSSES)
@pytest.mark.parametrize("sensitive", ONE_GROUP, ids=lambda s: type(s).__name__)
def test_a_batch_of_one_group_is_free_and_a_dataset_of_one_is_refused(make, sensitive):
    loss = make()
    value, gradient = value_and_gradient(loss, X, sensitive)
    assert value == 0
    assert torch.equal(gradient, torch.zeros_like(gradient))
    assert loss.last.dropped
    assert loss.last.converged
    assert loss.balance_(LOGITS, (LOGITS > 0).long(), X, sensitive) == 1  # nothing pulls
    with pytest.raises(ValueError, match=r"only one group here|no group can be compared"):
        loss.fit(X, sensitive)


@pytest.mark.parametrize("make", LOSSES[:2])
@pytest.mark.parametrize(
    "notion",
    [
        EqualizedOdds(),
        DemographicParity() & EqualizedOdds(),
        DemographicParity(intersectional=True),
        ConditionalParity(control="job"),
    ],
    ids=str,
)
def test_nothing_to_compare_is_free_under_every_notion(make, notion):
    table = {"sex": ["F"] * 6, "race": [1] * 6, "age": [0.5] * 6, "job": ["cook"] * 6}
    for label in (0, 1):
        loss = make(notion)
        value, gradient = value_and_gradient(loss, X, table, torch.full((6,), label))
        assert value == 0
        assert torch.equal(gradient, torch.zeros_like(gradient))
        assert any("sex=F" in name for name in loss.last.dropped)
        assert any("age" in name for name in loss.last.dropped)


@pytest.mark.parametrize("make", LOSSES[:2])
def test_a_column_without_variance_is_dropped_and_the_others_count(make):
    sex = ["F", "M", "F", "M", "F", "M"]
    loss, alone = make(), make()
    value, gradient = value_and_gradient(loss, X, {"sex": sex, "race": ["w"] * 6, "age": [2.5] * 6})
    expected, slope = value_and_gradient(alone, X, {"sex": sex})
    assert value == pytest.approx(expected) != 0
    torch.testing.assert_close(gradient, slope)
    assert set(loss.last.dropped) == {"race=w", "age"}


@pytest.mark.parametrize("make", LOSSES[:2])
@pytest.mark.parametrize("label", [0, 1])
def test_labels_of_one_kind_leave_the_constraints_of_that_label(make, label):
    table, labels = {"sex": ["F", "M", "F", "M", "F", "M"]}, torch.full((6,), label)
    loss = make("equalized_odds")
    value, gradient = value_and_gradient(loss, X, table, labels)
    expected, slope = value_and_gradient(make("demographic_parity"), X, table)
    assert value == pytest.approx(expected, rel=1e-6)
    torch.testing.assert_close(gradient, slope, rtol=1e-4, atol=1e-9)
    assert set(loss.last.dropped) == {f"sex={sex} | y={1 - label}" for sex in "FM"}
    with pytest.raises(ValueError, match=r"no group can be compared with another in sex=F \| y="):
        make(["equal_opportunity", "predictive_equality"][label]).fit(X, table, labels)


def test_duals_are_found_again_after_a_batch_of_one_group():
    sex = np.array(["F", "M", "F", "M", "F", "M"])
    women = sex == "F"
    loss, cold = otfair.OTFLoss(), otfair.OTFLoss()
    cold(LOGITS, X, {"sex": sex})
    loss(LOGITS, X, {"sex": sex})
    loss(LOGITS[women], X[women], {"sex": sex[women]})
    assert set(loss.last.dropped) == {"sex=F", "sex=M"}
    loss(LOGITS, X, {"sex": sex})
    assert loss.last.iterations == 2 < cold.last.iterations  # nothing left to do
    assert loss.last.value == pytest.approx(cold.last.value, rel=1e-6)


def test_a_new_dataset_is_read_afresh():
    loss = otfair.NormLoss()
    loss(LOGITS, None, {"sex": ["F", "M"] * 3})
    loss.fit(None, {"sex": ["x", "y"] * 3})
    loss(LOGITS, None, {"sex": ["x"] * 6})
    assert loss.last.dropped == ("sex=x",)


# Integers


@pytest.mark.parametrize("make", LOSSES)
def test_integer_and_float_one_hot_columns_cost_the_same(make):
    S = one_hot(torch.tensor([0, 1, 2, 0, 1, 2]))
    expected, slope = value_and_gradient(make(), X, S.float())
    assert expected > 0
    for integers in (S, S.int(), S.to(torch.uint8), S.numpy()):
        value, gradient = value_and_gradient(make(), X, integers)
        assert value == expected
        assert torch.equal(gradient, slope)
        assert make().fit(X, integers)(LOGITS).item() == pytest.approx(expected, rel=1e-6)


def test_what_the_ways_to_give_a_binary_attribute_cost():
    codes = torch.tensor([0, 1, 1, 0, 1, 1])
    scores = torch.sigmoid(LOGITS)
    gap = float((scores[codes == 1].mean() - scores[codes == 0].mean()).abs())
    ways = [codes, codes[:, None], one_hot(codes), one_hot(codes).float(), codes.double()]
    # The rows of the two groups are multiples of each other: OTF does not see how many there are.
    otf = [otfair.OTFLoss()(LOGITS, X, S).item() for S in ways]
    assert otf == pytest.approx([otf[0]] * 5, rel=1e-6)
    # The norm adds one up a row. Both groups: shares 1/3 and 2/3 of the gap. The ones only: 1/3.
    norm = [otfair.NormLoss()(LOGITS, None, S).item() for S in ways]
    assert norm == pytest.approx([gap] * 4 + [gap / 3])


def test_two_binary_attributes_as_codes_cost_otf_what_their_one_hot_columns_do():
    codes = torch.tensor([[0, 1], [1, 1], [1, 0], [0, 0], [1, 1], [1, 0]])
    blocks = torch.cat([one_hot(codes[:, 0]), one_hot(codes[:, 1])], 1)
    otf = [otfair.OTFLoss()(LOGITS, X, S).item() for S in (codes, blocks, codes.float())]
    assert otf == pytest.approx([otf[0]] * 3, rel=1e-6)
    norm = [otfair.NormLoss()(LOGITS, None, S).item() for S in (codes, blocks)]
    assert norm[0] == pytest.approx(norm[1])


# A loop, as a user writes it

LOOP_NOTIONS = {
    "demographic_parity": "demographic_parity",
    "equalized_odds": "equalized_odds",
    "equal_opportunity": "equal_opportunity",
    "predictive_equality": "predictive_equality",
    "conditional_parity": ConditionalParity(control="job"),
    "crossed": EqualizedOdds(intersectional=True),
    "stacked": DemographicParity() & EqualizedOdds(),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "notion"),
    [(make, name) for make in LOSSES[:2] for name in LOOP_NOTIONS]
    + [(otfair.BarycenterLoss, "demographic_parity")],
)
def test_a_loop_over_small_batches_of_an_imbalanced_table_trains(make, notion):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "sex": np.where(rng.random(240) < 0.03, "F", "M"),
            "race": rng.choice(list("wbax"), 240, p=[0.9, 0.07, 0.02, 0.01]),
            "age": rng.integers(18, 70, 240),
            "job": rng.choice(["clerk", "cook"], 240),
        }
    )
    if make is otfair.BarycenterLoss:
        table = table[["sex"]]
    features = torch.tensor(rng.normal(size=(240, 3)), dtype=torch.float32)
    y = torch.tensor(rng.random(240) < 0.06).float()
    torch.manual_seed(0)
    data = TensorDataset(features, y, torch.arange(240))
    model, loss = torch.nn.Linear(3, 1), make(LOOP_NOTIONS[notion])
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    lacking = 0
    for size in (32, 32, 7):
        for X, labels, rows in DataLoader(data, batch_size=size, shuffle=True):
            logits = model(X)
            penalty = loss(logits, X, table.iloc[rows.numpy()], labels)
            total = binary_cross_entropy_with_logits(logits.squeeze(1), labels) + penalty
            optimizer.zero_grad()
            total.backward()
            optimizer.step()
            assert penalty.isfinite()
            assert loss.last.converged
            lacking += bool(loss.last.dropped)
        assert all(p.isfinite().all() for p in model.parameters())
    assert lacking > 5


# People who lack a sensitive value


@pytest.mark.parametrize("notion", ["demographic_parity", "equalized_odds"])
@pytest.mark.parametrize("kind", LOSSES)
def test_people_without_a_sensitive_value_have_no_part_in_the_penalty(kind, notion):
    if kind is otfair.BarycenterLoss and notion != "demographic_parity":
        return
    rng = np.random.default_rng(0)
    n = 80
    X, y = rng.normal(size=(n, 3)), rng.integers(0, 2, n)
    codes = rng.integers(1, 4, n)
    race = pd.Series(codes * 1.0).mask(rng.random(n) < 0.2)
    known = race.notna().to_numpy(copy=True)
    logits = torch.from_numpy(rng.normal(size=n))

    def slope(loss, z, **more):
        z = z.clone().requires_grad_()
        value = loss(z, **more)
        return float(value.detach()), torch.autograd.grad(value, z)[0]

    loss = kind(notion).fit(X, race, y)
    alone = kind(notion).fit(X[known], codes[known].astype(str), y[known])
    value, gradient = slope(loss, logits)
    expected, others = slope(alone, logits[known])
    assert value == pytest.approx(expected, rel=1e-9)
    assert not gradient[~known].any()
    np.testing.assert_allclose(gradient[known], others, rtol=1e-6, atol=1e-12)
    # A batch of which nothing is known has no penalty; one with some has that of these.
    value, gradient = slope(loss, logits[~known], index=np.flatnonzero(~known))
    assert (value, bool(gradient.any())) == (0.0, False)
    some = np.arange(0, n, 2)
    own = np.searchsorted(np.flatnonzero(known), some[known[some]])
    value, _ = slope(loss, logits[some], index=some)
    assert value == pytest.approx(slope(alone, logits[known][own], index=own)[0], rel=1e-6)


def test_rows_of_another_order_are_refused_by_their_indexes():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(6, 2)), index=list("abcdef"))
    sex = pd.Series(["f", "m"] * 3, index=X.index)
    with pytest.raises(ValueError, match="`sensitive` has the same labels in another order"):
        otfair.OTFLoss("demographic_parity").fit(X, sex[::-1])
    with pytest.raises(ValueError, match="`labels` has other labels"):
        otfair.NormLoss("equalized_odds").fit(None, sex, pd.Series([0, 1] * 3, index=range(4, 10)))
