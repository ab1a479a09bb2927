"""The Mahalanobis distance, by the covariance of all people."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from otfair.geometry.costs._euclidean import Euclidean


class Mahalanobis(Euclidean):
    """Euclidean distance between features that are made uncorrelated, with variance one."""

    name = "mahalanobis"

    def place(self, points: Tensor, people: Tensor) -> Tensor:
        """Whiten features by the covariance of all people; directions without any are left out."""
        centre = people.mean(0)
        _, sizes, axes = torch.linalg.svd(people - centre, full_matrices=False)
        kept = sizes > sizes[0] * max(people.shape) * torch.finfo(torch.float64).eps
        stretch = axes[kept].T * math.sqrt(len(people) - 1) / sizes[kept]
        return torch.matmul(points - centre, stretch)
