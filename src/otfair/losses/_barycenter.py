"""The Wasserstein penalty on the real line, which the paper compares with."""

from __future__ import annotations

import torch
from torch import Tensor

from otfair._io.settings import check_smoothing, check_whole
from otfair.losses._base import Diagnostics, FairnessLoss, Sample
from otfair.losses._ranks import ProcessGroup
from otfair.notions import Constraints, DemographicParity, Notion, People


class BarycenterLoss(FairnessLoss):
    """Wasserstein distances on the line between each group's scores and those of all, summed.

    Demographic parity over one categorical attribute only. The monotone coupling is held fixed
    while differentiating (Jiang et al., Wasserstein Fair Classification).

    Parameters
    ----------
    notion : Notion or str, default="demographic_parity"
        Demographic parity, by name or with its settings.
    p : {1, 2}, default=1
        The p-th power of the Wasserstein-p distance is summed over groups.
    target : {"pooled", "barycenter"}, default="pooled"
        What each group is compared with: the scores of all people, or the barycenter of the groups,
        each with its share of the people.
    smoothing : float, default=0.0
        Width w of a pseudo-Huber function, sqrt(x^2 + w^2) - w, in place of the absolute value, for
        p = 1.
    pred_as_logit : bool, default=True
        Whether predictions are logits or else probabilities.
    process_group : ProcessGroup or bool, default=None
        Whose batches are one: those of a group of torch.distributed, or with True of its default
        group, as for `OTFLoss`.
    """

    name, title = "barycenter", "Barycenter"

    def __init__(
        self,
        notion: Notion | str = "demographic_parity",
        p: int = 1,
        *,
        target: str = "pooled",
        smoothing: float = 0.0,
        pred_as_logit: bool = True,
        process_group: ProcessGroup | bool | None = None,
    ) -> None:
        super().__init__(notion, pred_as_logit=pred_as_logit, process_group=process_group)
        if not isinstance(self.notion, DemographicParity):
            raise ValueError(
                f"BarycenterLoss compares the scores of groups, so it serves demographic parity "
                f"only; received {self.notion!r}. Use OTFLoss or NormLoss for other notions."
            )
        self.p, self.smoothing = check_whole("p", p, 1, 2), check_smoothing(smoothing)
        if target not in ("pooled", "barycenter"):
            raise ValueError(f'`target` must be "pooled" or "barycenter"; received {target!r}.')
        if self.smoothing and self.p == 2:
            raise ValueError(
                f"`smoothing` must be a width for p = 1 only (p = 2 is smooth by itself); received "
                f"{smoothing!r} with p = 2."
            )
        self.target = target

    def _check_people(self, people: People) -> None:
        """Refuse people whose groups overlap, or whose attribute is continuous."""
        S = people.design
        if not bool(((S == 0) | (S == 1)).all()) or not bool((S.sum(0) <= 1).all()):
            raise ValueError(
                "BarycenterLoss takes one categorical attribute: one-hot columns, or one column of "
                "categories. Use OTFLoss or NormLoss for several or continuous attributes, or "
                "cross categories into one attribute."
            )

    def _penalty(self, scores: Tensor, constraints: Constraints, sample: Sample) -> Tensor:
        on = scores.device
        types, weight = constraints.types.to(on), constraints.sample_weight.to(on)
        present = weight > 0
        members = [(types == k) & present for k in torch.unique(types[present]).tolist()]
        value = torch.zeros_like(scores).dot(scores)  # so that one group has a gradient: zero
        if len(members) > 1 and self.p == 1 and self.target == "pooled" and not self.smoothing:
            value = value + _area(scores, weight, members)
        elif len(members) > 1:
            pooled = _Sample(scores, weight)
            groups = [_Sample(scores[member], weight[member]) for member in members]
            for group in groups:
                value = value + self._distance(group, groups, pooled)
        self.last = Diagnostics(value=float(value.detach()), dropped=constraints.dropped)
        return value

    def _distance(self, group: _Sample, groups: list[_Sample], pooled: _Sample) -> Tensor:
        against = [pooled] if self.target == "pooled" else groups
        # Between two breakpoints of the distribution functions each quantile is one person's score.
        ends = torch.cat([sample.levels for sample in [group, *against]]).sort().values
        ends = ends[torch.diff(ends, prepend=ends.new_zeros(1)) > 1e-12]
        mass = torch.diff(ends, prepend=ends.new_zeros(1))
        middle = ends - mass / 2
        here = group.quantiles(middle)
        if self.target == "pooled":
            there = pooled.quantiles(middle)
        else:
            share = torch.stack([g.total for g in groups]) / pooled.total
            curves = torch.stack([g.quantiles(middle) for g in groups])  # (g, t)
            there = _center(curves, share, self.p)
        gap = here - there
        if self.p == 2:
            return mass @ gap.square()
        if self.smoothing:
            return mass @ ((gap.square() + self.smoothing**2).sqrt() - self.smoothing)
        return mass @ gap.abs()


def _area(scores: Tensor, weight: Tensor, members: list[Tensor]) -> Tensor:
    """Sum W1 of each group to all people: the areas between distribution functions, in one sort.

    People of equal scores are one place on the line, and share its slope by their weights.
    """
    counted = torch.stack(members).any(0)
    scores, weight = scores[counted], weight[counted]
    places, at = torch.unique(scores.detach(), return_inverse=True)
    mass = torch.zeros_like(places).index_add(0, at, weight)
    moves = torch.zeros_like(places).index_add(0, at, weight * (scores - scores.detach()))
    pooled = mass.cumsum(0) / mass.sum()
    apart = torch.zeros_like(places)
    for member in members:
        own = member[counted]
        share = torch.zeros_like(places).index_add(0, at[own], weight[own])
        apart += (share.cumsum(0) / share.sum() - pooled).abs()
    value: Tensor = apart[:-1] @ (places + moves / mass).diff()
    return value


class _Sample:
    """Scores in order, and where their distribution function is after each of them."""

    def __init__(self, scores: Tensor, weight: Tensor) -> None:
        self.scores, order = scores.sort()
        self.total = weight.sum()
        self.levels = weight[order].cumsum(0) / self.total

    def quantiles(self, levels: Tensor) -> Tensor:
        place = torch.searchsorted(self.levels, levels).clamp_max(len(self.scores) - 1)
        return self.scores[place]


def _center(curves: Tensor, share: Tensor, p: int) -> Tensor:
    """Quantiles of the barycenter: the groups' mean for p = 2, their weighted median for p = 1."""
    if p == 2:
        return share @ curves
    order = curves.argsort(0)
    reached = share[order].cumsum(0) >= 0.5 - 1e-12
    median = reached.to(torch.int8).argmax(0, keepdim=True)
    return curves.gather(0, order.gather(0, median)).squeeze(0)
