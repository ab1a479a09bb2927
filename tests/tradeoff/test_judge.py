"""Judging a model: the weighted AUC, and what is sent to processes."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import otfair
from otfair.tradeoff import Judge, _auc


@pytest.fixture(scope="module")
def data():
    return otfair.load_dataset("synthetic", n=900)


def test_the_weighted_auc_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    h, y, w = rng.integers(0, 20, 300) / 20, rng.integers(0, 2, 300), rng.integers(0, 4, 300)
    ranks = np.unique(h, return_inverse=True)[1]
    assert _auc(ranks, y, w) == pytest.approx(roc_auc_score(y, h, sample_weight=w), abs=1e-12)


def test_a_judge_can_be_sent_to_a_process_with_its_distances(data):
    X, sex = otfair.TableEncoder().fit_transform(data.X), data.sensitive_features["sex"]
    model = otfair.OTFClassifier().fit(X[:200], data.y[:200], sex[:200])
    judge = Judge(X[:200], data.y[:200], sex[:200], model, 3)
    sent = pickle.loads(pickle.dumps(judge))
    sent.weights.flags.writeable = False  # as large arrays are there
    assert sent(model) == judge(model)
    assert sent.geometry._cached_soft is not None
