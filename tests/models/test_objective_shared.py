"""An objective whose people several processes share, against one that has them all."""

import numpy as np
import pytest
import torch
from shared_people import in_threads

import otfair
from otfair.losses import Share
from otfair.models._booster_metric import BoosterMetric
from otfair.notions import known_people

N = 150
# Who holds whom: uneven shares in any order, and an empty one.
FIRST = np.random.default_rng(0).permutation(N)[:50]
SHARES = [FIRST, np.setdiff1d(np.arange(N), FIRST), np.arange(0)]


@pytest.mark.parametrize("regularizer", ["otf", "norm", "correlation"])
def test_terms_and_metric_are_those_of_all_people(regularizer):
    data = otfair.load_dataset("synthetic", n=N)
    X = otfair.TableEncoder().fit_transform(data.X)
    notion, y = otfair.as_notion("equalized_odds"), np.asarray(data.y).astype(float)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, N)
    people = known_people(notion, data.sensitive_features[["sex"]], y, weight)
    rng = np.random.default_rng(2)
    rounds = [np.zeros(N), rng.normal(size=N), 0.9 * rng.normal(size=N)]

    def made(share=None):
        objective = otfair.OTFObjective(notion, 0.8, 1e-2, regularizer=regularizer, balance=20.0)
        return objective.fit_people(people, y, otfair.PointCloud(X), weight, share)

    def played(objective, mine):
        terms = [objective(y[mine], margins[mine]) for margins in rounds]
        metric = BoosterMetric(objective, "objective").of(objective._train, rounds[1][mine])
        return terms, objective.history_, metric

    terms, history, metric = played(made(), np.arange(N))
    shared = in_threads(
        3,
        lambda processes: played(
            made(Share(torch.as_tensor(SHARES[processes.rank]), processes)), SHARES[processes.rank]
        ),
    )
    for mine, (own_terms, own_history, own_metric) in zip(SHARES, shared):
        for (first, second), (own_first, own_second) in zip(terms, own_terms):
            np.testing.assert_allclose(own_first, first[mine], rtol=1e-8, atol=1e-10)
            np.testing.assert_allclose(own_second, second[mine], rtol=1e-12)
        assert own_history == pytest.approx(history, rel=1e-9, abs=1e-14)
        assert own_metric == pytest.approx(metric, rel=1e-9)
