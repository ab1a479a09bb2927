"""The cosine cost: one minus the cosine of the angle between features."""

from __future__ import annotations

import torch
from torch import Tensor

from otfair.geometry.costs._squares import SquaresCost


class Cosine(SquaresCost):
    """One minus the cosine of the angle between people's features.

    It is half the squared distance between features of length one.
    """

    name = "cosine"
    multiple = 0.5

    def place(self, points: Tensor, people: Tensor) -> Tensor:
        """Scale each person's features to length one."""
        largest = points.abs().amax(1, keepdim=True)
        if bool((largest == 0).any()):
            raise ValueError(
                "the cosine cost is undefined for people whose features are all zero. Add a "
                "constant feature or use another cost."
            )
        return torch.nn.functional.normalize(points / largest, dim=1)
