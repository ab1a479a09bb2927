"""Training apart from the classifier: what its history says."""

from __future__ import annotations

import numpy as np
from torch import nn

from otfair.models._training import Network


def test_a_strength_has_settled_by_its_own_epochs():
    falling, flat = np.linspace(1.0, 0.1, 20), np.full(20, 0.1)
    told = {
        alpha: Network(nn.Identity(), [{"loss": float(loss)} for loss in losses]).converged
        for alpha, losses in ((0.9, flat), (0.95, falling), (0.5, flat[:10]), (0.6, flat[:10]))
    }
    assert told == {0.9: True, 0.95: False, 0.5: False, 0.6: False}  # ten epochs never tell
