"""The city-block distance: the sum of absolute differences."""

from __future__ import annotations

import torch
from torch import Tensor

from otfair.geometry.costs._cost import Cost


class CityBlock(Cost):
    """Sum of the absolute differences of people's features."""

    name = "cityblock"
    order = 1

    def between(self, X: Tensor, Y: Tensor) -> Tensor:
        """Sum absolute differences, (a, b)."""
        return torch.cdist(Y, X, p=1).T  # laid out as blocks are read, columns first
