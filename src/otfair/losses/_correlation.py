"""The largest correlation of scores and group: the violation itself, as a penalty.

Maths: docs/derivation.md, section 8, and docs/metrics.md.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from otfair._io.settings import check_smoothing
from otfair.losses._base import Diagnostics, FairnessLoss, Sample
from otfair.losses._ranks import ProcessGroup
from otfair.notions import Constraints, Notion, People


class CorrelationLoss(FairnessLoss):
    """The largest absolute correlation of scores with a row of the notion: the violation itself.

    For demographic parity it is `pdp_violation`, for equalized odds `peo_violation`: correlations
    are with the columns of the sensitive features, within each label where the notion conditions on
    it. As it lowers what is measured and nothing else, it is the bound that other penalties on
    linear notions are compared with.

    Parameters
    ----------
    notion : Notion or str, default="demographic_parity"
        A notion, or its name. Rows of your own (`LinearNotion`) must be such that constant scores
        are fair, with a target of zero; then the correlation is the violation over the standard
        deviations of scores and row.
    smoothing : float, default=0.0
        Width w of a smooth maximum, ``w log(mean(cosh(r / w)))`` over the correlations r, which is
        at most ``w log(2 d)`` below the largest of d.
    pred_as_logit : bool, default=True
        Whether predictions are logits or else probabilities.
    process_group : ProcessGroup or bool, default=None
        Whose batches are one: those of a group of torch.distributed, or with True of its default
        group, as for `OTFLoss`.

    Examples
    --------
    >>> import torch, otfair
    >>> scores = torch.tensor([0.9, 0.7, 0.3, 0.1])
    >>> sensitive = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    >>> loss = otfair.CorrelationLoss("demographic_parity", pred_as_logit=False)
    >>> round(float(loss(scores, None, sensitive)), 6)
    0.948683
    >>> round(otfair.pdp_violation(scores, ["a", "a", "b", "b"]), 6)
    0.948683
    """

    name, title = "correlation", "Correlation"
    widths = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)

    def __init__(
        self,
        notion: Notion | str = "demographic_parity",
        *,
        smoothing: float = 0.0,
        pred_as_logit: bool = True,
        process_group: ProcessGroup | bool | None = None,
    ) -> None:
        super().__init__(notion, pred_as_logit=pred_as_logit, process_group=process_group)
        self.smoothing = check_smoothing(smoothing)

    def _check_people(self, people: People) -> None:
        """Refuse rows of a user's own that a correlation can't speak of."""
        if "precision" in people.kinds:
            raise ValueError(
                "CorrelationLoss compares mean scores, and predictive parity is about precision. "
                "Use NormLoss or OTFLoss."
            )
        own = torch.tensor([kind == "fixed" for kind in people.kinds]).to(people.design.device)
        sums, sizes = people.design @ people.mass, people.design.abs() @ people.mass
        bad = own.bool() & ((people.target != 0) | (sums.abs() > 1e-5 * sizes))
        if bool(bad.any()):
            row = people.names[int(bad.nonzero()[0])]
            raise ValueError(
                f"CorrelationLoss takes rows for which constant scores are fair, but the row "
                f"{row!r} of your own has a target, or entries that do not sum to zero. Use "
                "NormLoss or OTFLoss."
            )

    def _penalty(self, scores: Tensor, constraints: Constraints, sample: Sample) -> Tensor:
        r = _correlations(scores, constraints)
        value: Tensor
        if not len(r):
            value = torch.zeros_like(scores).dot(scores)
        elif not self.smoothing:
            value = r.abs().amax()
        else:
            both = torch.cat([r, -r])
            highest = torch.logsumexp(both / self.smoothing, 0)
            value = self.smoothing * (highest - math.log(len(both)))
        self.last = Diagnostics(value=float(value.detach()), dropped=constraints.dropped)
        return value


def _correlations(scores: Tensor, constraints: Constraints) -> Tensor:
    """Return the correlation of scores with each row, among those it speaks of, (d,).

    It is 0 where scores or the row do not vary, and where rounding alone is left.
    """
    on = scores.device
    V, w = constraints.vectors.to(on), constraints.sample_weight.to(on)
    strata, types = constraints.strata.to(on).to(V.dtype), constraints.types.to(on)
    highest = float(scores.detach().abs().amax())
    z = scores - (w @ scores.detach()) / w.sum()  # centred numbers cancel less
    zero = scores.new_zeros(V.shape[1])
    mass, first, second = (zero.index_add(0, types, w * power) for power in (1.0, z, z * z))
    size = (strata @ mass).clamp_min(torch.finfo(V.dtype).tiny)
    mean, row_mean = strata @ first / size, (V * strata) @ mass / size
    spread = strata @ second / size - mean.square()
    row_spread = (V.square() * strata) @ mass / size - row_mean.square()
    covariance = (V * strata) @ first / size - row_mean * mean
    # Fair scores are at the kink, whose slope is taken as 0; rounding must not choose a side.
    varies = (spread > 1e-24 * highest**2) & (row_spread > 1e-24 * V.square().amax(1))
    varies &= covariance.abs() > 1e-12 * highest * row_spread.clamp_min(0.0).sqrt()
    scale = torch.where(varies, spread * row_spread, 1.0).sqrt()
    return torch.where(varies, covariance / scale, 0.0)
