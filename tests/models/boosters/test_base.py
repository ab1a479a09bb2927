"""Boosters behind one class: texts tell them apart, and a further one is a class and its entry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import otfair
from otfair import OTFBoostingClassifier
from otfair.models.boosters import BOOSTERS, Booster


@pytest.fixture(scope="module")
def data():
    return otfair.load_dataset("synthetic", n=200)


@pytest.mark.parametrize("name", BOOSTERS)
def test_a_text_is_read_by_the_booster_that_wrote_it_alone(data, name):
    clf = OTFBoostingClassifier(name, alpha=0, n_estimators=2, n_jobs=1).fit(data.X, data.y)
    assert [b for b, kind in BOOSTERS.items() if kind.reads(clf.model_text_)] == [name]
    again = BOOSTERS[name].from_text(clf.model_text_, clf.offset_)
    assert again.to_text() == clf.model_text_


@dataclass(frozen=True)
class Mean(Booster):
    """No trees at all: everyone has the logit at which boosting starts."""

    name = "mean"
    defaults: ClassVar = {"learning_rate": 1.0}
    aliases: ClassVar = {"learning_rate": ("step",)}
    refused: ClassVar = {"turns": "the rounds of boosting are `n_estimators`"}

    @classmethod
    def known(cls):
        return ["step"]

    @classmethod
    def train(cls, data, rounds, params, objective, stopping=None):
        share = np.average(data.labels, weights=data.weight)
        return cls(None, float(np.log(share / (1 - share))))

    @classmethod
    def reads(cls, text):
        return text == "mean"

    @classmethod
    def rewritten(cls, text, levels):
        return "mean"

    @classmethod
    def from_text(cls, text, offset):
        return cls(None, offset)

    def to_text(self):
        return "mean"

    def logits(self, X):
        return np.full(len(X), self.offset)

    @property
    def rounds(self):
        return 1

    def gains(self, count):
        return np.zeros(count)


def test_a_booster_is_one_class(data, monkeypatch, tmp_path):
    monkeypatch.setitem(BOOSTERS, "mean", Mean)
    clf = OTFBoostingClassifier("mean", balance=1.0)
    clf.fit(data.X, data.y, sensitive_features=data.sensitive_features["sex"])
    np.testing.assert_allclose(clf.predict_proba(data.X)[:, 1], np.mean(data.y))
    assert clf.feature_importances_.tolist() == [0.0] * data.X.shape[1]
    assert clf.violation_ == pytest.approx(0, abs=1e-12)
    clf.save(tmp_path / "model.safetensors")
    loaded = otfair.load_model(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(loaded.predict_proba(data.X), clf.predict_proba(data.X))
    with pytest.raises(ValueError, match="`turns` can't be set here: the rounds"):
        OTFBoostingClassifier("mean", turns=3).fit(data.X, data.y)


@pytest.mark.parametrize(
    ("booster", "wrong", "meant"),
    [
        ("lightgbm", "max_dept", "max_depth"),
        ("lightgbm", "min_child_sample", "min_child_samples"),
        ("xgboost", "max_dept", "max_depth"),
        ("xgboost", "num_leaves", "max_leaves"),
        ("xgboost", "subsampel", "subsample"),
    ],
)
def test_a_parameter_that_the_booster_does_not_know_is_refused(data, booster, wrong, meant):
    clf = OTFBoostingClassifier(booster, alpha=0, **{wrong: 3})
    with pytest.raises(ValueError, match=f"`{wrong}`.* {booster} has it; did you mean `{meant}`"):
        clf.fit(data.X, data.y)


@pytest.mark.parametrize("booster", BOOSTERS)
def test_parameters_are_known_by_all_their_names(data, booster):
    names = {"xgboost": "eta lambda gamma nthread max_bin eval_metric verbosity colsample_bytree"}
    names["lightgbm"] = "eta lambda_l2 num_threads bagging_fraction subsample verbose max_bin"
    assert set(names[booster].split()) <= set(BOOSTERS[booster].known())
    # Our defaults are among them, and give way to each of their names.
    kind = BOOSTERS[booster]
    assert kind.with_defaults({}) == kind.defaults
    for name in kind.defaults:
        for alias in (name, *kind.aliases.get(name, ())):
            assert alias in kind.known()
            others = {k: v for k, v in kind.defaults.items() if k != name}
            assert kind.with_defaults({alias: 7}) == {**others, alias: 7}


def test_a_text_that_no_booster_wrote_is_refused(data):
    clf = OTFBoostingClassifier(alpha=0, n_estimators=1, n_jobs=1).fit(data.X, data.y)
    del clf._ensemble
    clf.model_text_ = "nonsense"
    with pytest.raises(ValueError, match="the model is no text of xgboost or lightgbm"):
        clf.predict(data.X)
