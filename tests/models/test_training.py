"""Training apart from the classifier: what its history says."""

from __future__ import annotations

import re

import numpy as np
from torch import nn

from otfair import OTFClassifier, load_dataset
from otfair._io import progress
from otfair.models._lbfgs import minimize
from otfair.models._training import Network


def test_a_strength_has_settled_by_its_own_epochs():
    falling, flat = np.linspace(1.0, 0.1, 20), np.full(20, 0.1)
    told = {
        alpha: Network(nn.Identity(), [{"loss": float(loss)} for loss in losses]).converged
        for alpha, losses in ((0.9, flat), (0.95, falling), (0.5, flat[:10]), (0.6, flat[:10]))
    }
    assert told == {0.9: True, 0.95: False, 0.5: False, 0.6: False}  # ten epochs never tell


def test_progress_counts_all_that_a_step_tries(monkeypatch, capsys):
    # A step of many people is long, and what is said of it must not stand still.
    tried = []

    def counted(*given, **settings):
        tried.append(minimize(*given, **settings))
        return tried[-1]

    monkeypatch.setattr("otfair.models._training.minimize", counted)
    monkeypatch.setattr(progress, "EVERY", 0.0)
    data = load_dataset("synthetic", n=200)
    model = OTFClassifier("demographic_parity", alpha=0.5, verbose=True)
    X, sex = data.X[["income", "late_payments"]], data.sensitive_features["sex"]
    model.fit(X, data.y, sensitive_features=sex)
    *_, last = re.findall(r"alpha 0.5: (\d+) in", capsys.readouterr().err)
    assert int(last) == tried[-1].evaluations > tried[-1].iterations
