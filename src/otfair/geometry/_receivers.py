"""A sample of people who receive score for all, next to each person's own place.

Maths: docs/derivation.md, section 17. Sums over a type are estimated by those of its people who
were drawn, who stand for the others; the part of the person themselves is known.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

LARGEST = 700.0  # exponents, beyond which numbers overflow


@dataclass(frozen=True)
class Receivers:
    """Which people receive score, where rows and columns are the same people."""

    drawn: Tensor  # (m,) bool, of the columns
    person: Tensor  # (n,) which of the columns each row is

    def rows(self, chosen: Tensor) -> Receivers:
        """Choose some rows."""
        return replace(self, person=self.person[chosen])

    def take(self, chosen: Tensor) -> Receivers:
        """Choose some people."""
        return Receivers(self.drawn[chosen], torch.arange(len(chosen), device=chosen.device))

    def weigh(self, types: Tensor, weight: Tensor, n_types: int) -> Tensor:
        """Let those who were drawn have the weight of their types; types without any keep all."""
        zero = weight.new_zeros(n_types)
        every = zero.index_add(0, types, weight)
        some = zero.index_add(0, types, weight * self.drawn)
        factor = torch.where(some > 0, every / some, 0.0)[types]
        return torch.where(some[types] > 0, weight * factor * self.drawn, weight)

    def with_own(
        self, by_type: Tensor, types: Tensor, weight: Tensor, drawn: Tensor, epsilon: float
    ) -> Tensor:
        """Return soft distances (K, n) to which each person adds themselves, once.

        `weight` and `drawn` (m,) are weights without and with the sample.
        """
        own, row = types[self.person], torch.arange(by_type.shape[1], device=types.device)
        w, in_sum = weight[self.person], drawn[self.person]
        sums = torch.exp((by_type[own, row] / -epsilon).clamp_max_(LARGEST))
        sums = torch.maximum(sums - in_sum + w, w)  # no less than themselves, for all rounding
        out = by_type.clone()
        out[own, row] = torch.where(w > 0, -epsilon * sums.log(), by_type[own, row])
        return out
