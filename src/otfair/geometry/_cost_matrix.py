"""A cost matrix that is given."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from otfair._io.arrays import Array, to_tensor
from otfair.geometry._geometry import Geometry, Scale


class CostMatrix(Geometry):
    """A cost matrix that is given.

    Parameters
    ----------
    C : array of shape (n, m)
        Not negative; C[i, j] is the cost of moving a unit of score from i to j.
    scale : {"max", "mean", "median"}, float or None, default=None
        Divide costs by this statistic of all entries, by a number, or by nothing (None).

    Examples
    --------
    >>> from otfair import CostMatrix
    >>> CostMatrix([[0, 2], [2, 0]], scale="max").cost_matrix()
    tensor([[0., 1.],
            [1., 0.]], dtype=torch.float64)
    """

    def __init__(self, C: Array, scale: Scale = None):
        matrix = to_tensor(C, "C", ndim=2)
        if min(matrix.shape) == 0:
            raise ValueError(f"`C` is empty: shape {tuple(matrix.shape)}.")
        if bool((matrix < 0).any()):
            raise ValueError(
                f"costs must not be negative; the smallest entry of `C` is "
                f"{float(matrix.min()):.3g}. Shift or square the costs."
            )
        self._transposed = matrix.T.clone(memory_format=torch.contiguous_format)
        rows, columns = (torch.arange(size, device=matrix.device) for size in matrix.shape)
        super().__init__(rows, rows, columns, scale)

    def _blocks(self, columns: Tensor, factor: float) -> Callable[[int, int], Tensor]:
        C = self._transposed
        return lambda i, j: C[columns[:, None], self.row_points[i:j]].mul_(factor)
