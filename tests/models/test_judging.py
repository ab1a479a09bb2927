"""Who judges a target, and what they say."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import logit

import otfair
from otfair.models._judging import Jury, by_training, split_people, warn_not_met
from otfair.notions import as_notion, known_people


@pytest.fixture
def crowd():
    rng = np.random.default_rng(2)
    n = 307
    groups, y = rng.choice(["a", "b", "c"], n, p=[0.05, 0.35, 0.6]), rng.integers(0, 2, n)
    return as_notion("demographic_parity").people(groups), y, groups


def settings(**more):
    plain = {"cv": 5, "validation_fraction": 0.0, "random_state": None, "max_violation": 0.1}
    judging = {"confidence": 0.9, "criterion": "correlation", "new_people": 1 / 3}
    return SimpleNamespace(**plain | judging | more)


@pytest.mark.parametrize("seed", [None, 3])
def test_each_person_judges_once_and_each_fold_has_its_share_of_every_group(crowd, seed):
    people, y, groups = crowd
    splits, how = split_people(settings(random_state=seed), people, y)
    assert how == "cross-fitted"
    np.testing.assert_array_equal(np.sort(np.concatenate([j for _, j in splits])), range(len(y)))
    for kept, judged in splits:
        assert not set(kept) & set(judged)
        assert len(kept) + len(judged) == len(y)
        for group in "abc":
            for label in (0, 1):
                cell = (groups == group) & (y == label)
                assert abs(cell[judged].sum() - cell.sum() / 5) < 1


def test_folds_are_the_same_without_a_seed_and_others_with_one(crowd):
    people, y, _ = crowd

    def first(seed):
        return split_people(settings(random_state=seed), people, y)[0][0][1].tolist()

    assert first(None) == first(None)
    assert first(1) == first(1)
    assert first(1) != first(2)


def test_a_share_judges_where_one_is_given(crowd):
    people, y, _ = crowd
    own = settings(validation_fraction=0.3, random_state=0)
    ((kept, judged),), how = split_people(own, people, y)
    assert how == "validation"
    assert len(judged) == pytest.approx(0.3 * len(y), abs=1)
    assert y[judged].mean() == pytest.approx(y.mean(), abs=0.01)
    assert sorted([*kept, *judged]) == list(range(len(y)))


def test_few_people_of_a_label_make_fewer_folds_and_one_makes_none(crowd):
    people, y, _ = crowd
    few = np.zeros_like(y)
    few[:3] = 1
    splits, _ = split_people(settings(), people, few)
    assert len(splits) == 3
    assert all(few[kept].sum() == 2 for kept, _ in splits)
    few[1:] = 0
    with pytest.raises(ValueError, match="one label has 1 of the people only"):
        split_people(settings(), people, few)


def test_people_are_scored_by_the_model_that_was_not_trained_on_them(crowd):
    people, y, groups = crowd
    h = np.linspace(0.1, 0.9, len(y))
    jury = Jury(settings(), people, y)
    asked = []

    class Model:
        def logits(self, X):
            asked.append(X[:, 0].astype(int))
            return logit(h[asked[-1]])

    found = jury([Model() for _ in jury.splits], np.arange(len(y))[:, None])
    for rows, (_, judged) in zip(asked, jury.splits, strict=True):
        np.testing.assert_array_equal(rows, judged)
    assert found.violation == pytest.approx(otfair.pdp_violation(h, groups), abs=1e-12)
    assert found.bound > found.violation
    assert (found.people, found.n, found.folds) == ("cross-fitted", len(y), 5)


def test_a_judgement_names_criterion_and_people(crowd):
    people, y, _ = crowd
    model = SimpleNamespace(logits=lambda X: X[:, 0])
    X = np.linspace(-1, 1, len(y))[:, None]
    jury = Jury(settings(), people, y)
    said = str(jury([model] * 5, X))
    assert said.startswith("largest correlation of score and group: 0.")
    assert "by 307 people, each kept out of training in one of 5 folds; among 102 new pe" in said
    assert said.endswith("with 90 % confidence")
    more = str(Jury(settings(new_people=np.inf), people, y)([model] * 5, X))
    assert "folds; in the population at most 0." in more
    assert "; among 50 new people at most" in str(
        Jury(settings(new_people=50), people, y)([model] * 5, X)
    )
    own = settings(criterion="difference", validation_fraction=0.2, random_state=0)
    said = str(Jury(own, people, y)([model], X))
    assert said.startswith("largest difference between two groups' mean scores: 0.")
    assert "by 62 people kept out of training;" in said
    told = by_training("correlation", people, np.linspace(0, 1, len(y)))
    assert str(told).endswith("by the 307 people it was trained on")
    assert told.bound == np.inf
    assert told.met
    assert by_training("difference", None, np.zeros(3)).violation == 0


def test_people_who_lack_a_sensitive_value_do_not_judge(crowd):
    _, y, groups = crowd
    gaps = np.where(np.arange(len(y)) % 4 == 0, None, groups)
    model = SimpleNamespace(logits=lambda X: X[:, 0])
    X = np.linspace(-1, 1, len(y))[:, None]
    found = Jury(settings(), known_people(as_notion("demographic_parity"), gaps), y)([model] * 5, X)
    assert found.n == np.sum(np.arange(len(y)) % 4 > 0)


def test_a_limit_that_is_not_met_is_said_with_what_would_help(crowd):
    people, y, _ = crowd
    own = settings(criterion="difference")
    fair = SimpleNamespace(logits=lambda X: X[:, 0])
    jury = Jury(own, people, y)
    found = jury([fair] * 5, np.random.default_rng(0).normal(size=(len(y), 1)))
    assert found.violation < 0.1 < found.bound
    assert found.needed > len(y)
    with pytest.warns(otfair.LimitWarning, match="no alpha meets max_violation=0.1") as said:
        warn_not_met(found, 0.5, "Do something.", stacklevel=1)
    text = str(said[0].message)
    assert f"About {found.needed:,} people would do, where 307 judged. Do something." in text
    assert "group=a" in found.decided_by  # the smallest
    assert f"it hangs on {found.decided_by}. About" in text
    assert said[0].filename == __file__
