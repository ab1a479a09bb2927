"""A limit on the violation is judged on Dask by the same people, in the same way."""

import os
import signal

import dask.dataframe as dd
import numpy as np
import pytest
from partitions import FEATURES, people
from sklearn.model_selection import ShuffleSplit

import otfair
from otfair.models import _parted_judging, _parted_training, _search

pytestmark = [
    pytest.mark.filterwarnings("ignore:training stopped"),  # a few steps are enough
    pytest.mark.filterwarnings("ignore:no alpha meets"),
]


@pytest.fixture(autouse=True)
def few_strengths(monkeypatch):
    monkeypatch.setattr(_search, "ALPHAS", (0.7,))
    monkeypatch.setattr(_search, "REFINEMENTS", 0)


def fitted(side, sensitive=("sex",), weight=None, **settings):
    settings = {"balance": 5.0, "max_iter": 2, "cv": 2} | settings
    w = {} if weight is None else {"sample_weight": side[weight]}
    model = otfair.OTFClassifier(**settings)
    return model.fit(side[FEATURES], side["y"], sensitive_features=side[[*sensitive]], **w)


def assert_same(a, b):
    np.testing.assert_allclose(b.coef_, a.coef_, rtol=1e-8, atol=1e-9)
    assert b.alpha_ == pytest.approx(a.alpha_, rel=1e-8)
    assert len(b.search_) == len(a.search_) > 1
    for one, other in zip(a.search_, b.search_):
        assert other == pytest.approx(one, rel=1e-7)
    one, other = a.judgement_, b.judgement_
    for name in ("criterion", "people", "n", "folds", "limit", "limits", "decided_by", "met"):
        assert getattr(other, name) == getattr(one, name)
    assert other.bound == pytest.approx(one.bound, rel=1e-7)
    assert other.violations == pytest.approx(one.violations, rel=1e-7)


@pytest.mark.parametrize(
    "settings",
    [
        {
            "max_violation": {"sex": 0.05, "race": 0.3}, "sensitive": ("sex", "race"),
            "random_state": 3, "weight": "w", "criterion": "difference",
        },
        {"max_violation": 0.1, "validation_fraction": 0.4, "random_state": 1},
        {"max_violation": 0.1, "notion": "equalized_odds", "cv": ShuffleSplit(2, random_state=0)},
    ],
    ids=["limits of their own", "a share judges", "splits of one's own"],
)  # fmt: skip
def test_a_limit_is_met_by_the_model_of_one_machine(workers, settings):
    both = people(120, partitions=3)
    assert_same(fitted(both.here, **settings), fitted(both.there, **settings))


def test_people_who_lack_a_value_train_and_do_not_judge(workers):
    both = people(120, partitions=2)
    here = both.here.assign(sex=both.here["sex"].where(both.here.index % 7 > 0, None))
    there = dd.from_pandas(here, npartitions=2)
    a, b = (fitted(side, max_violation=0.1) for side in (here, there))
    assert a.n_missing_sensitive_ > 0
    assert a.judgement_.n == len(here) - a.n_missing_sensitive_
    assert_same(a, b)


def test_a_type_whose_receivers_are_kept_out_receives_as_on_one_machine(workers):
    # Of five receivers, those of a small group are all in one of the folds.
    both = people(120, partitions=2)
    here = both.here.assign(sex=np.where(np.arange(120) % 20 == 0, "other", both.here["sex"]))
    there = dd.from_pandas(here, npartitions=2)
    a, b = (fitted(side, max_violation=0.1, receivers=5, random_state=0) for side in (here, there))
    assert_same(a, b)


def test_splits_of_any_kind_are_those_of_one_machine(workers):
    # Repeated people, counted from the end, flags, and splits that can be read once.
    both, n = people(120, partitions=3), 120
    rng = np.random.default_rng(0)
    given = [
        (rng.integers(0, 80, 90), np.array([*range(80, 120), 80, 81])),
        (np.arange(-60, 0), np.arange(60) < 40),
    ]
    given[1] = (given[1][0], np.append(given[1][1], np.zeros(n - 60, dtype=bool)))
    a, b = (fitted(side, max_violation=0.1, cv=iter(given)) for side in (both.here, both.there))
    assert a.judgement_.n == 42 + 40
    assert_same(a, b)


def test_a_generator_of_random_numbers_is_drawn_from_alike(workers):
    both = people(120, partitions=2)
    found = []
    for side in (both.here, both.there):
        rng = np.random.RandomState(4)
        found.append([fitted(side, max_violation=0.1, random_state=rng) for _ in range(2)])
    for a, b in zip(*found):
        assert_same(a, b)
    assert found[0][0].violation_ != found[0][1].violation_


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings", [{"validation_fraction": 0.4}, {"cv": ShuffleSplit(2, test_size=0.3)}], ids=str
)
def test_a_worker_that_is_lost_takes_nobody_off_the_jury(own_workers, monkeypatch, settings):
    both, juries = people(120, partitions=3), []
    judge = _parted_judging.PartedJury.__call__

    def killing(jury, models):
        found = judge(jury, models)
        told = [[_told(side) for side in split] for split in jury.splits]
        juries.append(told)
        if len(juries) == 1:
            (holder, *_) = own_workers.who_has(jury._seats)[jury._seats.key]
            os.kill(own_workers.run(os.getpid)[holder], signal.SIGKILL)
        return found

    monkeypatch.setattr(_parted_judging.PartedJury, "__call__", killing)
    fitted(both.there, max_violation=0.01, **settings)
    assert len(juries) > 1
    for told in juries[1:]:
        assert told == juries[0]
    for kept, judged in juries[0]:
        assert not set(kept) & set(judged)  # nobody judges who trained


def _told(parts):
    return np.flatnonzero(np.concatenate(parts.gather(np.asarray))).tolist()


def test_what_can_not_be_judged_is_said_as_on_one_machine(workers):
    both = people(60, partitions=2)
    for settings, message in (
        ({"max_violation": {"colour": 0.1}}, "names 'colour'; the attributes are sex"),
        ({"max_violation": 0.1, "validation_fraction": 0.01}, "leaves too few on one side"),
    ):
        for side in (both.here, both.there):
            with pytest.raises(ValueError, match=message):
                fitted(side, **settings)


def test_nothing_of_each_person_reaches_the_client(workers, monkeypatch):
    both, received = people(120, partitions=3), []
    gather = type(workers).gather

    def counted(client, *given, **named):
        found = gather(client, *given, **named)
        received.append(max((np.size(x) for x in _arrays(found)), default=0))
        return found

    monkeypatch.setattr(type(workers), "gather", counted)
    monkeypatch.setattr(_parted_training, "SPACED", 10)  # a few people whose scores are looked at
    fitted(both.there, max_violation=0.1)
    assert received
    assert max(received) < 30


def _arrays(found):
    if isinstance(found, np.ndarray):
        yield found
    elif isinstance(found, list | tuple):
        for each in found:
            yield from _arrays(each)
