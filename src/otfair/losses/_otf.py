"""The OTF cost as a penalty for any PyTorch loop.

Maths: docs/derivation.md, sections 5, 7, 8 and 14. A penalty is the mean over people; the solver
works in float64 whatever the model's type, and its gradient comes from the envelope theorem.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from otfair._io.arrays import Array, to_tensor
from otfair.geometry import Cost, CostFunction, Geometry, PartedCloud, PointCloud, Scale
from otfair.losses._base import Diagnostics, FairnessLoss, Sample
from otfair.losses._ranks import ProcessGroup, Share
from otfair.notions import (
    Constraints,
    Notion,
    Part,
    PartedPeople,
    People,
    PredictiveParity,
    Weigh,
    possible_constraints,
)
from otfair.transport import AdjustedTransport, Newton, Solver, TransportError, adjusted_otf


class OTFLoss(FairnessLoss):
    """The adjusted OTF cost per person: zero for fair scores.

    In *batch mode*, ``loss(logits, features, sensitive, labels)``, people of the batch are the
    destinations, as in the paper. In *dataset mode*, after ``loss.fit(X, sensitive, labels)``, they
    are the whole dataset, and a step ``loss(logits, index=rows)`` costs no distances.

    Parameters
    ----------
    notion : Notion or str, default="demographic_parity"
        A notion, or its name.
    epsilon : float, default=1e-3
        Smoothing, in units of the scaled cost.
    cost : str, callable or Cost, default="euclidean"
        As for `PointCloud`.
    scale : {"max", "mean", "median"}, float or None, default="max"
        As for `PointCloud`.
    slack : float, default=0.0
        Violation of each constraint that costs nothing.
    bounded : bool, default=False
        Whether nobody may receive more than a score of one, as for `smooth_otf`. A step takes a few
        times as long, and for tens of thousands of people at once seconds.
    solver : {"newton", "coordinate"}, default="newton"
        How the dual is solved.
    warm_start : bool, default=True
        Start each call at the constraint duals of the last one. It changes how long a solver takes,
        and with a sweep limit also where it stops.
    weigh : {"people", "attributes", "groups"}, default="people"
        One cost for all sensitive columns, which hears small and near groups least; or the sum of
        one for each attribute, or for each group against the others, times `factors`, which
        `balance_` finds. All are found by one pass over the distances. A one-hot matrix does not
        tell which columns make an attribute, so that each is one.
    pred_as_logit : bool, default=True
        Whether predictions are logits or else probabilities.
    process_group : ProcessGroup or bool, default=None
        Whose batches are one: those of a group of torch.distributed, or with True of its default
        group, so that the penalty is that of the people of all ranks (docs/training.md, "On several
        processes"). None is this process alone.
    **options : float or int
        Settings of the solver, such as ``max_sweeps=1``. A `tol` below 1e-8 is an aim: where
        rounding stands in the way, 1e-8 will do.

    Examples
    --------
    >>> import torch, otfair
    >>> loss = otfair.OTFLoss("demographic_parity", epsilon=1e-2)
    >>> logits = torch.tensor([2.0, 1.0, -1.0, 0.0], requires_grad=True)
    >>> features = torch.tensor([[0.0], [1.0], [0.2], [0.8]])
    >>> sensitive = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    >>> penalty = loss(logits, features, sensitive)
    >>> penalty.backward()
    >>> logits.grad.sign()
    tensor([ 1.,  1., -1., -1.])
    >>> loss.last.converged
    True
    """

    name, title = "otf", "OTF"
    needs_features = True
    weighs = True

    def __init__(
        self,
        notion: Notion | str = "demographic_parity",
        epsilon: float = 1e-3,
        *,
        cost: str | CostFunction | Cost = "euclidean",
        scale: Scale = "max",
        slack: float = 0.0,
        bounded: bool = False,
        solver: Solver = "newton",
        warm_start: bool = True,
        weigh: Weigh = "people",
        pred_as_logit: bool = True,
        process_group: ProcessGroup | bool | None = None,
        **options: Any,
    ) -> None:
        super().__init__(
            notion, weigh=weigh, pred_as_logit=pred_as_logit, process_group=process_group
        )
        if bounded and any(isinstance(part, PredictiveParity) for part in self.notion.parts):
            raise ValueError(
                "predictive parity can't be trained for within bounds: at the precision that high "
                "scores have, no scores up to one may be fair. Leave `bounded` False."
            )
        self.epsilon, self.cost, self.scale = epsilon, cost, scale
        self.slack, self.solver, self.options = slack, solver, options
        self.warm_start, self.bounded = warm_start, bounded
        self._geometry: Geometry | None = None
        self.forget()

    def _geometry_of(self, X: Array, people: People) -> Geometry:
        return cloud(X, people.weight, self.cost, self.scale)

    def fit_people(
        self, people: People, geometry: Geometry | None = None, share: Share | None = None
    ) -> Self:
        if geometry is None:
            raise ValueError("OTF needs features of these people, or a `geometry` of them.")
        self._geometry = geometry
        self.forget()
        return super().fit_people(people, geometry, share)

    def _views(
        self,
        people: People,
        geometry: Geometry | None,
        parts: Sequence[Part],
        mine: Tensor | None = None,
    ) -> Sequence[Geometry | None]:
        """Measure distances to the finest types, once, and merge them into those of each part."""
        assert geometry is not None  # or else the features would be missing
        n = people.n_people
        finest = len(people.type_names)
        if isinstance(geometry, PartedCloud) and isinstance(people, PartedPeople):
            receivers = people.constraints().receivers  # type: ignore[attr-defined]
            geometry.distances_to(receivers, people.first_types.numpy(), finest, self.epsilon)
        elif geometry.shape != (n, n):
            raise ValueError(
                f"`sensitive` has {n} people, but the features or the geometry have "
                f"{geometry.shape[0]} who give score and {geometry.shape[1]} who receive it; pass "
                "the same people, in the same order."
            )
        else:
            geometry = geometry if mine is None else geometry.share(mine)
            geometry.soft_distances(people.types, self.epsilon, people.weight, finest)
        return [
            geometry if p.merge is None else geometry.merged(p.merge, len(p.people.type_names))
            for p in parts
        ]

    @property
    def _splits(self) -> bool:
        newton = self.solver == "newton" or isinstance(self.solver, Newton)
        return newton and not self.bounded

    def _constrain(self, people: People, rows: Tensor | None, scores: Tensor) -> Constraints:
        return possible_constraints(people, rows, scores)

    def forget(self) -> None:
        """Start the next call anew, not at the last solution."""
        self._duals: dict[str, tuple[float, float]] = {}
        self._solved: dict[str, AdjustedTransport] = {}  # for the whole dataset, by part

    def _penalty(self, scores: Tensor, constraints: Constraints, sample: Sample) -> Tensor:
        assert sample.geometry is not None
        a = self.adjusted(scores.detach().to(sample.geometry.device), sample)
        own = float(torch.as_tensor(constraints.sample_weight).sum())
        total = constraints.processes.total(own)
        gradient = a.gradient.to(scores.device) / total
        value: Tensor = _Envelope.apply(scores, a.value / total, gradient)  # type: ignore[no-untyped-call]
        return value

    def adjusted(self, scores: Array, sample: Sample) -> AdjustedTransport:
        """Return the adjusted cost of the people of a call, from where the last one ended.

        Parameters
        ----------
        scores : Tensor of shape (n,), or Parts
            Their scores, which may be on Dask's workers.
        sample : Sample
            The people, as one part of the rows sees them.

        Returns
        -------
        AdjustedTransport
            The cost, a sum over people; `last` says how it went.
        """
        geometry, constraints = sample.geometry, sample.constraints
        assert geometry is not None
        given = (scores, geometry, constraints, self.epsilon)
        start = self._start(sample) if self.warm_start else None
        try:
            a = adjusted_otf(*given, self.slack, self.solver, start, **self._settings())
        except TransportError:
            if self.solver != "newton" or self.options.get("tol", Newton.tol) >= Newton.tol:
                raise
            a = adjusted_otf(*given, self.slack, **(self._settings() | {"tol": Newton.tol}))
        if any(sample is whole for whole in self._whole):
            self._solved[sample.name] = a
        pairs = zip(a.smooth.constraint_duals.tolist(), a.relaxed.constraint_duals.tolist())
        self._duals |= dict(zip(constraints.names, pairs))
        own = float(torch.as_tensor(constraints.sample_weight).sum())
        total = constraints.processes.total(own)
        self.last = Diagnostics(
            value=a.value / total,
            residual=a.residual,
            iterations=a.smooth.iterations + a.relaxed.iterations,
            converged=a.converged,
            dropped=constraints.dropped,
        )
        return a

    def _settings(self) -> dict[str, Any]:
        return self.options | {"bounded": self.bounded}

    def _start(self, sample: Sample) -> AdjustedTransport | tuple[Array, Array] | None:
        """Return the last solution for the whole dataset, or the last duals of each constraint."""
        constraints = sample.constraints
        if sample.name in self._solved and any(sample is whole for whole in self._whole):
            return self._solved[sample.name]
        if not self._duals or not constraints.names:
            return None
        smooth, relaxed = zip(*(self._duals.get(name, (0.0, 0.0)) for name in constraints.names))
        return list(smooth), list(relaxed)


def cloud(
    X: Array,
    weight: Tensor,
    cost: str | CostFunction | Cost,
    scale: Scale,
    copy: bool = True,
) -> PointCloud:
    """Return a point cloud whose scale is that of the people who have weight, (n,)."""
    if isinstance(scale, str) and bool((weight == 0).any()):
        people = to_tensor(X, "X", ndim=2)
        counted = people[(weight > 0).to(people.device)]
        scale = PointCloud(counted, cost=cost, scale=scale).scale_
    return PointCloud(X, cost=cost, scale=scale, copy=copy)


class _Envelope(torch.autograd.Function):
    """A value whose gradient is known."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, value: float, gradient: Tensor) -> Tensor:
        ctx.save_for_backward(gradient)
        return scores.new_tensor(value)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, None, None]:
        (gradient,) = ctx.saved_tensors
        return upstream * gradient, None, None
