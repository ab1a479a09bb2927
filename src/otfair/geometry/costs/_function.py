"""A cost that is the user's own function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import torch
from torch import Tensor

from otfair.geometry.costs._cost import Cost

CostFunction: TypeAlias = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class FunctionCost(Cost):
    """What a function says of two blocks of people."""

    threaded: ClassVar[bool] = False  # which was not asked of it
    function: CostFunction  # of their features, (a, p) and (b, p), to (a, b)

    def between(self, X: Tensor, Y: Tensor) -> Tensor:
        """Call the function, and check what it returns."""
        block = torch.as_tensor(self.function(X, Y), dtype=torch.float64, device=X.device).detach()
        if block.shape != (len(X), len(Y)):
            raise ValueError(
                "`cost` must return one row per person of its first argument and one column per "
                f"person of its second, {(len(X), len(Y))}; it returned {tuple(block.shape)}."
            )
        if not bool(torch.isfinite(block).all()) or bool((block < 0).any()):
            raise ValueError("`cost` returned negative, NaN or infinite costs; they must be >= 0.")
        return block
