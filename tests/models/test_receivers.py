"""Training with a sample of receivers: its error is as stated, and it is the same every time."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import otfair
from otfair import OTFBoostingClassifier, OTFClassifier
from otfair.geometry import _boxes
from otfair.losses import OTFLoss
from otfair.models import _receivers
from otfair.models._receivers import default_size, receiving, say_sample, with_receivers
from otfair.notions import DemographicParity

approx = pytest.approx
DATA = otfair.load_dataset("synthetic", n=1200)
X = otfair.TableEncoder().fit_transform(DATA.X)
SEX = DATA.sensitive_features["sex"]
PEOPLE = DemographicParity().people(SEX)
LINE = {"alpha": 0.5, "max_iter": 60}


def penalty(geometry: otfair.PointCloud, scores: np.ndarray) -> float:
    loss = OTFLoss().fit_people(PEOPLE, geometry)
    return float(loss(torch.as_tensor(scores), pred_as_logit=False))


@pytest.mark.parametrize("size", [100, 400])
def test_the_error_of_a_sample_is_within_what_is_stated(size):
    cloud, h = otfair.PointCloud(X), DATA.truth.scores
    whole, held, ratios = penalty(cloud, h), [], []
    for seed in range(12):
        some = with_receivers(cloud, PEOPLE, 1e-3, size, [seed])
        told = receiving(some, PEOPLE, h, 1e-3, [seed])
        assert told["people"] == approx(size, abs=2)
        true = penalty(some, h) / whole
        held.append(told["low"] <= true <= told["high"])
        ratios.append(true)
        assert told["ratio"] == approx(true, rel=0.1)
    assert np.mean(held) >= 0.75  # 95 %, and chance: 1200 people are all that there are
    assert np.mean(ratios) > 1  # fewer receivers are farther away


def test_more_receivers_are_nearer_to_all():
    cloud, h = otfair.PointCloud(X), DATA.truth.scores
    ratios = [
        penalty(with_receivers(cloud, PEOPLE, 1e-3, size, [0]), h) / penalty(cloud, h)
        for size in (60, 240, 960, 1200)
    ]
    assert ratios == sorted(ratios, reverse=True)
    assert ratios[-1] == 1


@pytest.mark.parametrize("kind", [OTFClassifier, OTFBoostingClassifier])
def test_a_model_trained_with_a_sample_is_as_fair(kind):
    settings = LINE if kind is OTFClassifier else {"alpha": 0.5, "n_estimators": 15, "n_jobs": 1}
    given = X if kind is OTFClassifier else DATA.X
    whole, some, again = (
        kind(receivers=r, random_state=0, **settings).fit(given, DATA.y, SEX)
        for r in (None, 300, 300)
    )
    assert whole.receivers_ == {"people": 1200, "of": 1200, "ratio": 1.0, "low": 1.0, "high": 1.0}
    assert some.receivers_["people"] == 300
    assert some.receivers_["low"] < some.receivers_["ratio"] < some.receivers_["high"]
    assert "300 of 1,200 training people" in say_sample(some.receivers_)[0]
    assert say_sample(whole.receivers_) == []
    # The balance takes a constant factor of the penalty away.
    assert some.violation_ == approx(whole.violation_, rel=0.25)
    np.testing.assert_array_equal(some.predict_proba(given), again.predict_proba(given))


def test_the_size_is_a_matter_of_comparisons(monkeypatch):
    assert default_size(10**6) == 8192
    assert default_size(10**12) == 512
    cloud = otfair.PointCloud(X)
    assert with_receivers(cloud, PEOPLE, 1e-3, None, [0]).n_receivers == 1200
    monkeypatch.setattr(_receivers, "COMPARISONS", 1200 * 700)
    assert with_receivers(cloud, PEOPLE, 1e-3, None, [0]).n_receivers == approx(512, abs=2)
    pytest.importorskip("numba", reason="distances by boxes need Numba")
    monkeypatch.setattr(_boxes, "LEAST_PAIRS", 0)
    monkeypatch.setattr(_boxes, "PAYS", 0.5)
    monkeypatch.setattr(_receivers, "COMPARISONS", 1200 * 1199)
    near = otfair.PointCloud(np.random.default_rng(0).normal(size=(1200, 1)))
    assert with_receivers(near, PEOPLE, 1e-3, None, [0]).n_receivers == 1200  # as boxes leave few


def test_paths_folds_and_stopping_keep_the_sample():
    path = OTFClassifier(receivers=200, **LINE).fit_path(X, DATA.y, SEX, [0.0, 0.5])
    assert [model.receivers_["people"] for model in path] == [200, 200]
    judged = OTFClassifier(receivers=200, max_violation=0.3, cv=2, max_iter=40)
    assert judged.fit(X, DATA.y, SEX).receivers_["people"] == 200
    trees = OTFBoostingClassifier(
        receivers=200, early_stopping_rounds=3, n_estimators=5, n_jobs=1, random_state=0
    )
    assert trees.fit(DATA.X, DATA.y, SEX).receivers_["of"] == 1200
    norm = OTFClassifier(regularizer="norm", receivers=200, **LINE).fit(X, DATA.y, SEX)
    assert norm.receivers_ is None


def test_people_without_a_sensitive_value_are_not_drawn():
    lacking = SEX.astype(object).where(np.arange(1200) % 4 > 0, None)
    found = OTFClassifier(receivers=200, **LINE).fit(X, DATA.y, lacking)
    assert found.receivers_["people"] == 200
    assert found.n_missing_sensitive_ == 300


def test_fair_scores_are_fair_by_a_sample():
    some = with_receivers(otfair.PointCloud(X), PEOPLE, 1e-3, 100, [0])
    told = receiving(some, PEOPLE, np.full(1200, 0.4), 1e-3, [0])
    assert told["ratio"] is None
    assert "are fair by them and by all" in say_sample(told)[0]


def test_a_saved_model_keeps_what_is_known_of_its_receivers(tmp_path):
    model = OTFClassifier(receivers=200, **LINE).fit(X, DATA.y, SEX)
    model.save(tmp_path / "model.safetensors")
    again = OTFClassifier.load(tmp_path / "model.safetensors")
    assert again.receivers_ == model.receivers_
    assert again.receivers == 200


@pytest.mark.parametrize("receivers", [0, 1.5, "all"])
def test_receivers_that_make_no_sense(receivers):
    with pytest.raises(ValueError, match="receivers"):
        OTFClassifier(receivers=receivers).fit(X, DATA.y, SEX)


@pytest.mark.parametrize("loss", ["otf", OTFLoss(bounded=True)])
def test_bounds_are_those_of_all_people(loss):
    clf = OTFClassifier(receivers=100, bounded=True, regularizer=loss)
    with pytest.raises(ValueError, match="leave one of the two out"):
        clf.fit(X, DATA.y, SEX)
