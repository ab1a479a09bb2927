"""The Wasserstein penalty on the real line, which the paper compares with.

After Jiang et al., Wasserstein Fair Classification: each group's scores against those of all.
"""

from __future__ import annotations

import torch
from torch import Tensor

from otfair.arrays import Array
from otfair.constraints import Constraints, People
from otfair.losses import Diagnostics, FairnessLoss
from otfair.notions import DemographicParity, Notion


class BarycenterLoss(FairnessLoss):
    """Wasserstein distances on the line between each group's scores and those of all, summed.

    Demographic parity over one categorical attribute only. The monotone coupling is held fixed
    while differentiating (Jiang et al., Wasserstein Fair Classification).

    Parameters
    ----------
    p : 1 or 2; the p-th power of the Wasserstein-p distance is summed over groups.
    target : "pooled", the scores of everybody, or "barycenter", that of the groups.
    smoothing : width of a pseudo-Huber function in place of the absolute value, for p = 1.
    weight : a factor.
    pred_as_logit : whether predictions are logits or else probabilities.
    """

    def __init__(
        self,
        notion: Notion | str = "demographic_parity",
        p: int = 1,
        *,
        target: str = "pooled",
        smoothing: float = 0.0,
        weight: float = 1.0,
        pred_as_logit: bool = True,
    ) -> None:
        super().__init__(notion, pred_as_logit=pred_as_logit)
        if not isinstance(self.notion, DemographicParity):
            raise ValueError(
                f"BarycenterLoss compares the scores of groups, so it serves demographic parity "
                f"only; received {self.notion!r}. Use OTFLoss or NormLoss for other notions."
            )
        if p not in (1, 2) or target not in ("pooled", "barycenter"):
            raise ValueError(
                f'`p` must be 1 or 2 and `target` "pooled" or "barycenter"; received {p!r} and '
                f"{target!r}."
            )
        self.p, self.target, self.smoothing, self.weight = p, target, smoothing, weight

    def _typed(self, sensitive: Array, labels: Array, sample_weight: Array) -> People:
        people = super()._typed(sensitive, labels, sample_weight)
        S = people.table.design
        inside = bool(((S == 0) | (S == 1)).all()) and bool((S.sum(0) <= 1).all())
        if not inside or sample_weight is not None:
            raise ValueError(
                "BarycenterLoss takes one categorical attribute (its groups must not overlap) and "
                "no sample weights. Use OTFLoss or NormLoss for several or continuous attributes."
            )
        return people

    def _penalty(
        self, scores: Tensor, constraints: Constraints, features: Array, index: Array
    ) -> Tensor:
        types = constraints.types.to(scores.device)
        groups = [scores[types == k] for k in torch.unique(types).tolist()]
        value = scores.new_zeros(())
        if len(groups) > 1:
            for group in groups:
                value = value + self._distance(group, groups, scores)
        self.last = Diagnostics(value=float(value.detach()), dropped=constraints.dropped)
        return self.weight * value

    def _distance(self, group: Tensor, groups: list[Tensor], scores: Tensor) -> Tensor:
        against = [scores] if self.target == "pooled" else groups
        # Between two breakpoints of the distribution functions each quantile is one person's score.
        ends = torch.unique(torch.cat([_levels(values) for values in [group, *against]]))
        ends = ends[torch.diff(ends, prepend=ends.new_zeros(1)) > 1e-12]
        mass = torch.diff(ends, prepend=ends.new_zeros(1))
        middle = ends - mass / 2
        here = _quantiles(group, middle)
        if self.target == "pooled":
            there = _quantiles(scores, middle)
        else:
            share = torch.tensor([len(g) / len(scores) for g in groups], dtype=scores.dtype)
            curves = torch.stack([_quantiles(g, middle) for g in groups])  # (g, t)
            there = _center(curves, share.to(scores.device), self.p)
        gap = here - there
        if self.p == 2:
            return mass @ gap.square()
        if self.smoothing:
            return mass @ ((gap.square() + self.smoothing**2).sqrt() - self.smoothing)
        return mass @ gap.abs()


def _levels(values: Tensor) -> Tensor:
    """Where the distribution function of some scores is after each of them."""
    return torch.arange(1, len(values) + 1, dtype=values.dtype, device=values.device) / len(values)


def _quantiles(values: Tensor, levels: Tensor) -> Tensor:
    place = torch.searchsorted(_levels(values), levels).clamp_max(len(values) - 1)
    return values.sort().values[place]


def _center(curves: Tensor, share: Tensor, p: int) -> Tensor:
    """Quantiles of the barycenter: the groups' mean for p = 2, their weighted median for p = 1."""
    if p == 2:
        return share @ curves
    order = curves.argsort(0)
    reached = share[order].cumsum(0) >= 0.5 - 1e-12
    median = reached.to(torch.int8).argmax(0, keepdim=True)
    return curves.gather(0, order.gather(0, median)).squeeze(0)
