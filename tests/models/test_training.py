"""Training apart from the classifier: what its history tells."""

from __future__ import annotations

import numpy as np

from otfair.models._training import Training


def test_a_strength_has_settled_by_its_own_epochs():
    training = Training(np.zeros((2, 1)), np.array([0, 1]), np.ones(2))
    falling, flat = np.linspace(1.0, 0.1, 20), np.full(20, 0.1)
    for alpha, losses in ((0.9, flat), (0.95, falling), (0.5, flat[:10]), (0.6, flat[:10])):
        training.history += [{"alpha": alpha, "loss": float(loss)} for loss in losses]
    told = {alpha: training.settled(alpha, 1e-3) for alpha in (0.9, 0.95, 0.5, 0.6)}
    assert told == {0.9: True, 0.95: False, 0.5: False, 0.6: False}  # ten epochs never tell
