"""Rows of predictive parity are label less rate within a group, whatever table people bring."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

import otfair
from otfair import PredictiveParity
from otfair.notions import Memory

SEX = np.array(["F", "F", "F", "M", "M", "M", "M"])
LABELS = np.array([1, 0, 0, 1, 1, 0, 0])
SCORES = np.array([0.6, 0.3, 0.1, 0.9, 0.5, 0.4, 0.2])


def precision(scores, inside, labels, weight=1.0):
    mass = np.where(inside, weight * scores, 0.0)
    return float(mass @ labels / mass.sum())


def people_of(seed: int):
    rng = np.random.default_rng(seed)
    n = 80
    sex, race = rng.choice(["F", "M"], n), rng.choice(["x", "y", "z"], n)
    labels = (rng.random(n) < np.where(sex == "F", 0.3, 0.6)).astype(int)
    return {"sex": sex, "race": race}, labels, rng.random(n) * 0.98 + 0.01, rng


@pytest.mark.parametrize("rate", [0.3, 0.6])
def test_a_row_is_the_groups_mean_of_label_less_rate_times_score(rate):
    c = PredictiveParity(rate=rate).constraints({"sex": SEX}, LABELS)
    assert c.names == ("sex=F", "sex=M")
    assert c.rates == {"sex": rate}
    assert c.free is None
    for row, group in zip(c.matrix @ SCORES, "FM"):
        inside = group == SEX
        expected = ((LABELS - rate) * SCORES)[inside].mean() * len(SEX)
        assert row == pytest.approx(expected)


def test_scores_of_that_precision_are_fair():
    rate, fair = 0.55, SCORES.copy()
    for group in "FM":
        inside = group == SEX
        held, others = SCORES[inside & (LABELS == 1)].sum(), SCORES[inside & (LABELS == 0)].sum()
        fair[inside & (LABELS == 1)] *= rate / held
        fair[inside & (LABELS == 0)] *= (1 - rate) / others
    c = PredictiveParity(rate=rate).constraints({"sex": SEX}, LABELS)
    np.testing.assert_allclose(c.matrix @ fair, 0.0, atol=1e-12)
    free = PredictiveParity().constraints({"sex": SEX}, LABELS).at(fair)
    assert free.rates["sex"] == pytest.approx(rate)
    np.testing.assert_allclose(free.matrix @ fair, 0.0, atol=1e-12)


def test_without_a_rate_it_is_that_of_the_scores():
    c = PredictiveParity().constraints({"sex": SEX}, LABELS)
    rate = SCORES @ LABELS / SCORES.sum()
    assert c.at(SCORES).rates == {"sex": pytest.approx(rate)}
    given = PredictiveParity(rate=rate).constraints({"sex": SEX}, LABELS)
    np.testing.assert_allclose(c.at(SCORES).matrix, given.matrix)
    assert given.at(SCORES) is given  # which has nothing to be told
    assert c.rates == {}  # as nobody told them yet


def test_weights_are_copies():
    table, labels, scores, rng = people_of(0)
    weight = rng.integers(1, 4, len(labels))
    copies = np.repeat(np.arange(len(labels)), weight)
    weighted = PredictiveParity().constraints(table, labels, weight).at(scores)
    copied = PredictiveParity().constraints(
        {name: column[copies] for name, column in table.items()}, labels[copies]
    )
    copied = copied.at(scores[copies])
    assert weighted.rates == pytest.approx(copied.rates)
    np.testing.assert_allclose(weighted.matrix[:, copies], copied.matrix)


def test_attributes_that_cover_the_same_people_share_a_rate():
    table, labels, scores, _ = people_of(1)
    c = PredictiveParity().constraints(table, labels)
    assert len(c.free.member) == 1
    assert c.at(scores).rates["sex"] == c.at(scores).rates["race"]


@pytest.mark.parametrize("label", [0, 1])
def test_a_group_of_one_label_is_not_compared(label):
    # Its precision is 0 or 1, whatever its scores; the others' rate is their own.
    table, labels, scores, _ = people_of(2)
    labels[table["race"] == "z"] = label
    c = PredictiveParity().constraints(table, labels)
    assert c.dropped == ("race=z",)
    found, others = c.at(scores), table["race"] != "z"
    assert found.rates["race"] == pytest.approx(precision(scores, others, labels))
    assert found.rates["sex"] == pytest.approx(precision(scores, others | True, labels))
    t = otfair.exact_otf(scores, otfair.PointCloud(scores[:, None]), c)
    for name, values in table.items():
        for value in np.unique(values[others]):
            inside = (values == value) & (others | (name == "sex"))
            rate = t.problem.constraints.rates[name]
            assert precision(t.fair_scores, inside, labels) == pytest.approx(rate, abs=1e-6)


def test_one_comparable_group_leaves_nothing_to_compare(caplog):
    labels = np.where(SEX == "F", 0, LABELS)
    c = PredictiveParity().constraints({"sex": SEX}, labels)
    assert c.names == ()
    assert set(c.dropped) == {"sex=F", "sex=M"}
    assert "no constraint is left" in caplog.text
    assert PredictiveParity(rate=0.4).constraints({"sex": SEX}, labels).names == ("sex=M",)


def test_one_hot_columns_are_the_groups_of_a_table():
    table, labels, scores, _ = people_of(3)
    hot = pd.concat([pd.get_dummies(table[name]) for name in ("sex", "race")], axis=1)
    encoded = PredictiveParity(encoded=True).constraints(hot.to_numpy(float), labels)
    plain = PredictiveParity().constraints(table, labels)
    ours, theirs = encoded.at(scores), plain.at(scores)
    np.testing.assert_allclose(ours.matrix @ scores, theirs.matrix @ scores)
    assert [*ours.rates.values()] == pytest.approx([*theirs.rates.values()])


def test_a_single_one_hot_column_is_compared_with_those_outside_it():
    table, labels, scores, _ = people_of(4)
    one = (table["sex"] == "F").astype(float)[:, None]
    c = PredictiveParity(encoded=True).constraints(one, labels)
    assert len(c) == 2
    assert c.names[0].startswith("not ")
    plain = PredictiveParity().constraints({"sex": table["sex"]}, labels)
    np.testing.assert_allclose(
        np.sort(c.at(scores).matrix @ scores), np.sort(plain.at(scores).matrix @ scores)
    )


def test_crossed_groups_are_compared():
    table, labels, _, _ = people_of(5)
    c = PredictiveParity(intersectional=True).constraints(table, labels)
    assert "sex=F & race=x" in c.names
    assert len(c.names) == 6


def test_batches_lack_groups_and_labels():
    table, labels, scores, _ = people_of(6)
    people = PredictiveParity().people(table, labels)
    rows = np.flatnonzero((table["sex"] == "F") & ((table["race"] != "z") | (labels == 0)))
    c = people.constraints(rows=rows)
    assert {"sex=F", "sex=M", "race=z"} == set(c.dropped)
    # Nobody holds score in check that goes to men, or to positives of the race that has none here.
    shut = {name for name, mass in zip(c.type_names, c.column_mass) if mass == 0}
    assert {n for n in c.type_names if "sex=M" in n or ("race=z" in n and "y=1" in n)} == shut
    assert np.isfinite(c.at(scores[rows]).matrix).all()

    memory = Memory()
    first = {name: column[:40] for name, column in table.items()}
    names = memory.people(PredictiveParity(), first, labels[:40]).names
    one = {name: column[rows] for name, column in table.items()}
    assert memory.people(PredictiveParity(), one, labels[rows]).names == names


def test_it_stacks_with_other_notions():
    table, labels, scores, _ = people_of(7)
    c = (PredictiveParity() & "demographic_parity").constraints(table, labels)
    assert len(c) == 10
    assert len(c.at(scores).rates) == 2
    other = otfair.DemographicParity().constraints(table).matrix
    np.testing.assert_allclose(c.at(scores).matrix[5:], other)
    # With unequal base rates it can't be had together with equalized odds.
    for notion in (PredictiveParity(rate=0.5), PredictiveParity()):
        both = (notion & "equalized_odds").constraints({"sex": SEX}, LABELS)
        with pytest.raises(ValueError, match="no non-negative scores satisfy"):
            otfair.smooth_otf(SCORES, otfair.PointCloud(SCORES[:, None]), both)


def test_a_rate_is_kept_to_the_last_digit_and_through_a_file(tmp_path):
    assert PredictiveParity(rate=0.6).constraints({"sex": SEX}, LABELS).rates == {"sex": 0.6}
    X = np.random.default_rng(0).normal(size=(7, 2))
    clf = otfair.OTFClassifier(PredictiveParity(rate=0.6, columns="sex"), alpha=0.0)
    clf.fit(X, LABELS, sensitive_features={"sex": SEX}).save(tmp_path / "model")
    again = otfair.load_model(tmp_path / "model")
    assert again.notion == clf.notion
    assert again.notion.rate == 0.6
    assert str(again.judgement_) == str(clf.judgement_)


def test_tensors_in_tensors_out():
    hot = torch.eye(2, dtype=torch.float64)[(SEX == "M").astype(int)]
    c = PredictiveParity(encoded=True).constraints(hot, torch.as_tensor(LABELS))
    assert isinstance(c.at(torch.as_tensor(SCORES)).matrix, torch.Tensor)


@pytest.mark.parametrize("rate", [0, 1, -0.1, 2.0, float("nan"), True, "0.5"])
def test_a_rate_must_be_a_share_of_both_labels(rate):
    with pytest.raises(ValueError, match=r"`rate` must lie in \(0, 1\)"):
        PredictiveParity(rate=rate)


def test_what_it_refuses():
    with pytest.raises(ValueError, match="is about outcomes: pass `labels`"):
        PredictiveParity().constraints({"sex": SEX})
    table = {"sex": SEX, "age": np.linspace(20.5, 60.5, 7)}
    with pytest.raises(ValueError, match=r"'age' holds numbers\. Bin it"):
        PredictiveParity().constraints(table, LABELS)
    assert len(PredictiveParity(columns="sex").constraints(table, LABELS)) == 2
    with pytest.raises(ValueError, match="only one group"):
        PredictiveParity().constraints({"sex": ["F"] * 7}, LABELS)
