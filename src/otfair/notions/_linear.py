"""Any linear notion: the user's own rows of G."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from otfair._io.arrays import Array
from otfair.notions._base import Notion
from otfair.notions._constraints import People, people_from_matrix


@dataclass(frozen=True)
class LinearNotion(Notion):
    """Any linear notion: `fn` gives the rows of G.

    Parameters
    ----------
    fn : callable
        Called as ``fn(sensitive_features, labels)`` with what the user passed, or with a third
        argument when a `sample_weight` is given; returns (d, n).
    target : array-like of shape (d,), optional
        What ``G @ scores`` must equal, zero by default.
    names : sequence of str, optional
        What to call the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from otfair import LinearNotion
    >>> equal_sums = LinearNotion(lambda s, y: np.where(s == "a", 1, -1)[None], names=["a = b"])
    >>> equal_sums.constraints(np.array(["a", "b", "b"])).matrix
    array([[ 1., -1., -1.]])
    """

    fn: Callable[..., Array]
    target: Array = None
    names: Sequence[str] | None = None

    def people(
        self, sensitive_features: Array, labels: Array = None, sample_weight: Array = None
    ) -> People:
        weight = () if sample_weight is None else (sample_weight,)
        G = self.fn(sensitive_features, labels, *weight)
        return people_from_matrix(G, self.target, self.names, sample_weight)
