"""Fairness penalties for any PyTorch loop: the OTF cost, and the norm of the violations.

Maths: docs/derivation.md, sections 5, 7 and 8. A penalty is the mean over people; the solver works
in float64 whatever the model's type, and its gradient comes from the envelope theorem.
"""

from __future__ import annotations

from dataclasses import dataclass, is_dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from otfair.arrays import Array
from otfair.constraints import Constraints, People
from otfair.geometry import CostFunction, Geometry, PointCloud, Scale
from otfair.notions import LinearNotion, Notion, as_notion
from otfair.otf import Solver, adjusted_otf

LOWEST_SCORE = 1e-12


@dataclass(frozen=True)
class Diagnostics:
    """How the last call went.

    Attributes
    ----------
    value : the penalty before its balance.
    residual, iterations : of the worse, and of both, of the two problems; 0 for other penalties.
    converged : whether the solver reached its tolerance.
    dropped : constraints that the batch could not speak of.
    """

    value: float
    residual: float = 0.0
    iterations: int = 0
    converged: bool = True
    dropped: tuple[str, ...] = ()


class FairnessLoss(nn.Module):
    """What the penalties have in common; use `OTFLoss`, `NormLoss` or `BarycenterLoss`.

    Attributes
    ----------
    last : `Diagnostics` of the last call.
    balance : factor of the penalty, 1 until `balance_` sets it.
    """

    balance: Tensor

    def __init__(self, notion: Notion | str, *, pred_as_logit: bool = True) -> None:
        super().__init__()
        self.notion = as_notion(notion)
        self.pred_as_logit = pred_as_logit
        self.last: Diagnostics | None = None
        self.register_buffer("balance", torch.ones((), dtype=torch.float64))
        self._people: People | None = None

    def fit(
        self, X: Array, sensitive: Array, labels: Array = None, sample_weight: Array = None
    ) -> FairnessLoss:
        """Take a whole dataset; later calls name the batch's rows of it by `index`.

        Parameters
        ----------
        X : (n, p) features by which people are alike; not used by penalties without a cost.
        sensitive : a table of sensitive columns, or a float matrix with one-hot columns.
        labels : (n,) zeros and ones, where the notion conditions on them.
        sample_weight : (n,), one by default.
        """
        self._people = self._typed(sensitive, labels, sample_weight)
        return self

    def forward(
        self,
        pred: Tensor,
        features: Array = None,
        sensitive: Array = None,
        labels: Array = None,
        *,
        index: Array = None,
    ) -> Tensor:
        """Return the penalty of a batch, a scalar that can be differentiated.

        Parameters
        ----------
        pred : (n,) or (n, 1) logits, or probabilities with `pred_as_logit=False`.
        features, sensitive, labels : the batch's people, who receive score themselves; `sensitive`
            (n, d) is a float matrix with one-hot columns for categories.
        index : (n,) the batch's rows of the dataset given to `fit`; all of them by default.
        """
        scores = self._scores(pred)
        if sensitive is not None:
            people, rows = self._typed(sensitive, labels, None), None
        elif self._people is not None:
            people, rows = self._people, index
        else:
            raise ValueError(
                "the people of the batch are missing: pass `features`, `sensitive` (and `labels`), "
                "or call `fit` once and pass `index`."
            )
        constraints = people.constraints(rows=rows)
        if len(constraints.types) != len(scores):
            raise ValueError(
                f"`pred` has {len(scores)} entries but the batch has {len(constraints.types)} "
                "people; pass one prediction a person."
            )
        return (self.balance * self._penalty(scores, constraints, features, index)).to(pred.dtype)

    @torch.enable_grad()
    def balance_(self, pred: Tensor, labels: Array, *people: Array, index: Array = None) -> float:
        """Scale the penalty so that it pulls on the logits as hard as the cross-entropy does.

        The factor is the ratio of the two root-mean-square derivatives with respect to the logits,
        taken best at a model that was trained without penalty. Then (1 - alpha) cross-entropy +
        alpha penalty means the same for any dataset, notion and penalty.

        Parameters
        ----------
        pred : predictions of that model.
        labels : (n,) zeros and ones.
        *people : `features` and `sensitive`, as for a call in batch mode.
        index : as for a call in dataset mode.
        """
        self.balance.fill_(1.0)
        raw = pred.detach().double().reshape(-1)
        logits = (raw if self.pred_as_logit else torch.logit(raw)).requires_grad_()
        y = torch.as_tensor(labels, dtype=torch.float64, device=logits.device)
        arguments = (*people, labels) if people else ()
        given = logits if self.pred_as_logit else torch.sigmoid(logits)
        (pull,) = torch.autograd.grad(self(given, *arguments, index=index), logits)
        entropy = (torch.sigmoid(logits.detach()) - y) / len(y)
        ratio = float(entropy.norm() / pull.norm()) if bool(pull.norm() > 0) else 1.0
        self.balance.fill_(ratio)
        return ratio

    def _typed(self, sensitive: Array, labels: Array, sample_weight: Array) -> People:
        """Type people; a float matrix is read as one-hot columns."""
        notion = self.notion
        if isinstance(sensitive, Tensor) and sensitive.is_floating_point():
            notion = _encoded(notion)
        return notion.people(sensitive, labels, sample_weight).to_tensors()

    def _scores(self, pred: Tensor) -> Tensor:
        if pred.ndim > 2 or (pred.ndim == 2 and pred.shape[1] != 1):
            raise ValueError(
                f"`pred` must have shape (n,) or (n, 1); received {tuple(pred.shape)}. Pass one "
                "logit a person: that of the positive class."
            )
        with torch.autocast(pred.device.type, enabled=False):
            scores = pred.reshape(-1).double()
            scores = torch.sigmoid(scores) if self.pred_as_logit else scores
        return scores.clamp_min(LOWEST_SCORE)

    def _penalty(
        self, scores: Tensor, constraints: Constraints, features: Array, index: Array
    ) -> Tensor:
        raise NotImplementedError


class OTFLoss(FairnessLoss):
    """The adjusted OTF cost, a person: zero for fair scores.

    In *batch mode*, ``loss(logits, features, sensitive, labels)``, people of the batch are the
    destinations, as in the paper. In *dataset mode*, after ``loss.fit(X, sensitive, labels)``, they
    are the whole dataset, and a step ``loss(logits, index=rows)`` costs no distances.

    Parameters
    ----------
    notion : a `Notion` or its name.
    epsilon : smoothing, in units of the scaled cost.
    cost, scale : as for `PointCloud`.
    slack : violation of each constraint that costs nothing.
    solver : "newton" or "coordinate"; more keywords are its settings, such as ``max_sweeps=1``.
    pred_as_logit : whether predictions are logits or else probabilities.

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

    def __init__(
        self,
        notion: Notion | str = "demographic_parity",
        epsilon: float = 1e-3,
        *,
        cost: str | CostFunction = "euclidean",
        scale: Scale = "max",
        slack: float = 0.0,
        solver: Solver = "newton",
        pred_as_logit: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(notion, pred_as_logit=pred_as_logit)
        self.epsilon, self.cost, self.scale = epsilon, cost, scale
        self.slack, self.solver, self.options = slack, solver, options
        self._geometry: Geometry | None = None
        self._duals: dict[str, tuple[float, float]] = {}

    def fit(
        self,
        X: Array,
        sensitive: Array,
        labels: Array = None,
        sample_weight: Array = None,
        *,
        geometry: Geometry | None = None,
    ) -> OTFLoss:
        """Take a whole dataset and compute its soft distances, once.

        The parameters are those of every penalty; `geometry` says who is like whom in place of X.
        """
        super().fit(X, sensitive, labels, sample_weight)
        whole = PointCloud(X, cost=self.cost, scale=self.scale) if geometry is None else geometry
        assert self._people is not None
        c = self._people.constraints()
        whole.soft_distances(c.column_types, self.epsilon, c.column_weight, len(c.type_names))
        self._geometry, self._duals = whole, {}
        return self

    def _penalty(
        self, scores: Tensor, constraints: Constraints, features: Array, index: Array
    ) -> Tensor:
        if features is not None:
            geometry: Geometry = PointCloud(features, cost=self.cost, scale=self.scale)
        elif self._geometry is not None:
            geometry = self._geometry if index is None else self._geometry.rows(index)
        else:
            raise ValueError("`features` are missing; OTF needs them to tell who is like whom.")
        known = [self._duals.get(name, (0.0, 0.0)) for name in constraints.names]
        warm = np.array(known).T if known and self._duals else None
        a = adjusted_otf(
            scores.detach().to(geometry.device),
            geometry,
            constraints,
            self.epsilon,
            self.slack,
            self.solver,
            None if warm is None else (warm[0], warm[1]),
            **self.options,
        )
        pairs = zip(a.smooth.constraint_duals.tolist(), a.relaxed.constraint_duals.tolist())
        self._duals |= dict(zip(constraints.names, pairs))
        total = float(torch.as_tensor(constraints.sample_weight).sum())
        self.last = Diagnostics(
            value=a.value / total,
            residual=a.residual,
            iterations=a.smooth.iterations + a.relaxed.iterations,
            converged=a.converged,
            dropped=constraints.dropped,
        )
        gradient = a.gradient.to(scores.device) / total
        value: Tensor = _Envelope.apply(scores, a.value / total, gradient)  # type: ignore[no-untyped-call]
        return value


class NormLoss(FairnessLoss):
    """The norm of the constraints' violations: the p-norm of G h / n.

    Parameters
    ----------
    notion : a `Notion` or its name.
    p : 1 as in the paper, or 2.
    pred_as_logit : whether predictions are logits or else probabilities.
    """

    def __init__(
        self, notion: Notion | str = "demographic_parity", p: int = 1, *, pred_as_logit: bool = True
    ) -> None:
        super().__init__(notion, pred_as_logit=pred_as_logit)
        if p not in (1, 2):
            raise ValueError(f"`p` must be 1 or 2; received {p!r}.")
        self.p = p

    def _penalty(
        self, scores: Tensor, constraints: Constraints, features: Array, index: Array
    ) -> Tensor:
        on = scores.device
        V, w = constraints.vectors.to(on), constraints.sample_weight.to(on)
        by_type = scores.new_zeros(V.shape[1]).index_add(0, constraints.types.to(on), w * scores)
        violation = (V @ by_type - constraints.target.to(on)) / w.sum()
        value: Tensor = torch.linalg.vector_norm(violation, self.p)
        self.last = Diagnostics(value=float(value.detach()), dropped=constraints.dropped)
        return value


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


def _encoded(notion: Notion) -> Notion:
    """Return the notion that reads zeros and ones as groups."""
    if isinstance(notion, LinearNotion) or not is_dataclass(notion):
        return notion
    parts = {"first", "second"} & set(vars(notion))
    if parts:  # a stack
        return replace(notion, **{part: _encoded(getattr(notion, part)) for part in parts})
    return replace(notion, encoded=True)
