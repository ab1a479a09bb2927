"""The norm of the constraints' violations, which the paper compares with.

Maths: docs/derivation.md, section 8.
"""

from __future__ import annotations

import torch
from torch import Tensor

from otfair._io.settings import check_smoothing, check_whole
from otfair.losses._base import Diagnostics, FairnessLoss, Sample
from otfair.losses._ranks import ProcessGroup
from otfair.notions import Constraints, Notion, Weigh


class NormLoss(FairnessLoss):
    """The norm of the constraints' violations: the p-norm of G h / n.

    Parameters
    ----------
    notion : Notion or str, default="demographic_parity"
        A notion, or its name.
    p : {1, 2}, default=1
        1 as in the paper, or 2.
    smoothing : float, default=0.0
        Width within which the norm's kink at zero is rounded off.
    weigh : {"people", "attributes", "groups"}, default="people"
        One norm for all, or the sum of those of each attribute or group times `factors`, as for
        `OTFLoss`.
    pred_as_logit : bool, default=True
        Whether predictions are logits or else probabilities.
    process_group : ProcessGroup or bool, default=None
        Whose batches are one: those of a group of torch.distributed, or with True of its default
        group, as for `OTFLoss`.
    """

    name, title = "norm", "Norm"
    weighs = True
    widths = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)

    def __init__(
        self,
        notion: Notion | str = "demographic_parity",
        p: int = 1,
        *,
        smoothing: float = 0.0,
        weigh: Weigh = "people",
        pred_as_logit: bool = True,
        process_group: ProcessGroup | bool | None = None,
    ) -> None:
        super().__init__(
            notion, weigh=weigh, pred_as_logit=pred_as_logit, process_group=process_group
        )
        self.p = check_whole("p", p, 1, 2)
        self.smoothing = check_smoothing(smoothing)

    def _penalty(self, scores: Tensor, constraints: Constraints, sample: Sample) -> Tensor:
        on = scores.device
        V, w = constraints.vectors.to(on), constraints.sample_weight.to(on)
        by_type = scores.new_zeros(V.shape[1]).index_add(0, constraints.types.to(on), w * scores)
        if constraints.free is not None:  # rates of the scores, which move with them
            V = constraints.free.vectors(constraints.free.of(by_type))
        violation = V @ by_type - constraints.target.to(on)
        # Fair scores are at the kink, whose slope is taken as 0; rounding must not choose a side.
        fair = violation.abs() <= 1e-12 * (V.abs() @ by_type)
        violation = violation.masked_fill(fair, 0.0) / w.sum()
        value: Tensor
        if not self.smoothing:
            value = torch.linalg.vector_norm(violation, self.p)
        else:
            squares = violation.square() if self.p == 1 else violation.square().sum()[None]
            value = ((squares + self.smoothing**2).sqrt() - self.smoothing).sum()
        self.last = Diagnostics(value=float(value.detach()), dropped=constraints.dropped)
        return value
