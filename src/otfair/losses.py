"""Fairness penalties for any PyTorch loop: the OTF cost, and the norm of the violations.

Maths: docs/derivation.md, sections 5, 7 and 8. A penalty is the mean over people; the solver works
in float64 whatever the model's type, and its gradient comes from the envelope theorem.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from otfair.arrays import Array, to_tensor
from otfair.constraints import Constraints, People
from otfair.geometry import CostFunction, Geometry, PointCloud, Scale
from otfair.notions import Notion, _GroupNotion, _Stack, as_notion
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
    _needs_features = False

    def __init__(self, notion: Notion | str, *, pred_as_logit: bool = True) -> None:
        super().__init__()
        self.notion = as_notion(notion)
        self.pred_as_logit = pred_as_logit
        self.last: Diagnostics | None = None
        self.register_buffer("balance", torch.ones((), dtype=torch.float64))
        self._people: People | None = None

    def fit(
        self, X: Array, sensitive: Array, labels: Array = None, sample_weight: Array = None
    ) -> Self:
        """Take a whole dataset; later calls name the batch's rows of it by `index`.

        Parameters
        ----------
        X : (n, p) features by which people are alike; not used by penalties without a cost.
        sensitive : a table of sensitive columns, or a float matrix with one-hot columns.
        labels : (n,) zeros and ones, where the notion conditions on them.
        sample_weight : (n,), one by default.
        """
        return self.fit_people(self._typed(sensitive, labels, sample_weight))

    def fit_people(self, people: People) -> Self:
        """Take a dataset whose people a notion has typed already."""
        self._people = people.to_tensors()
        return self

    def forward(
        self,
        pred: Tensor,
        features: Array = None,
        sensitive: Array = None,
        labels: Array = None,
        *,
        index: Array = None,
        pred_as_logit: bool | None = None,
    ) -> Tensor:
        """Return the penalty of a batch, a scalar that can be differentiated.

        Parameters
        ----------
        pred : (n,) or (n, 1) logits, or probabilities with `pred_as_logit=False`.
        features, sensitive, labels : the batch's people, who receive score themselves; `sensitive`
            (n, d) is a float matrix with one-hot columns for categories, or a table.
        index : (n,) the batch's rows of the dataset given to `fit`; all of them by default.
        pred_as_logit : for this call, if not as the loss was made.
        """
        value = self._value(pred, features, sensitive, labels, index, pred_as_logit)
        # A penalty in half precision would be rounded, or overflow, where its sum need not.
        return (self.balance * value).to(torch.promote_types(pred.dtype, torch.float32))

    @torch.enable_grad()
    def balance_(self, pred: Tensor, labels: Array, *people: Array, index: Array = None) -> float:
        """Scale the penalty so that it pulls on the logits as hard as the cross-entropy does.

        The factor is the ratio of the two root-mean-square derivatives with respect to the logits,
        taken best at a model that was trained without penalty. Then (1 - alpha) cross-entropy +
        alpha penalty means the same for any dataset, notion and penalty. It is 1 where the penalty
        does not pull at all. With sample weights, a person of weight w counts as w copies.

        Parameters
        ----------
        pred : predictions of that model.
        labels : (n,) zeros and ones.
        *people : `features` and `sensitive`, as for a call in batch mode; then the strata, where
            they are not the labels.
        index : as for a call in dataset mode.
        """
        if len(people) not in (0, 2, 3):
            raise ValueError(
                "`balance_` takes `pred`, `labels`, then `features` and `sensitive`, or `index`; "
                f"received {len(people)} more arguments after `labels`."
            )
        _check_shape(pred)
        raw = pred.detach().double().reshape(-1)
        logits = (raw if self.pred_as_logit else torch.logit(raw)).requires_grad_()
        y = to_tensor(labels, "labels", device=logits.device).reshape(-1)
        if y.shape != logits.shape:
            raise ValueError(
                f"`pred` has {len(logits)} entries and `labels` {len(y)}; pass one a person."
            )
        given = logits if self.pred_as_logit else torch.sigmoid(logits)
        features, sensitive, strata = (*people, labels)[:3] if people else (None, None, None)
        value = self._value(given, features, sensitive, strata, index, None)
        (pull,) = torch.autograd.grad(value, logits)
        w = torch.ones_like(raw)
        if self._people is not None and not people:
            w = self._people.weight.to(raw.device)
            w = w if index is None else w[_rows(index, len(w)).to(raw.device)]
        # Of a copy: the cross-entropy's derivative is (h - y) / sum w, the penalty's pull / w.
        entropy = (torch.sigmoid(logits.detach()) - y) / w.sum() * w.sqrt()
        pull = torch.where(w > 0, pull / w.sqrt(), 0.0)
        ratio = float(entropy.norm() / pull.norm()) if bool(pull.norm() > 0) else 1.0
        self.balance.fill_(ratio)
        return ratio

    def _value(
        self,
        pred: Tensor,
        features: Array,
        sensitive: Array,
        labels: Array,
        index: Array,
        pred_as_logit: bool | None,
    ) -> Tensor:
        """Return the penalty before its balance, in float64."""
        _check_shape(pred)
        with torch.autocast(pred.device.type, enabled=False):
            as_logit = self.pred_as_logit if pred_as_logit is None else pred_as_logit
            scores = _scores(pred, as_logit)
            people, rows = self._batch(features, sensitive, labels, index)
            constraints = people.constraints(rows=rows)
            if len(constraints.types) != len(scores):
                raise ValueError(
                    f"`pred` has {len(scores)} entries but the batch has {len(constraints.types)} "
                    "people; pass one prediction a person."
                )
            return self._penalty(scores, constraints, features, rows)

    def _batch(
        self, features: Array, sensitive: Array, labels: Array, index: Array
    ) -> tuple[People, Tensor | None]:
        """Return the people of the batch, or everybody and the batch's rows."""
        if sensitive is not None:
            if index is not None:
                raise ValueError(
                    "`sensitive` and `index` are two ways to say who the batch is; pass one: the "
                    "batch's own columns, or rows of the dataset given to `fit`."
                )
            if features is None and self._needs_features:
                raise ValueError("`features` are missing; OTF needs them to tell who is like whom.")
            return self._typed(sensitive, labels, None), None
        if self._people is None:
            raise ValueError(
                "the people of the batch are missing: pass `features`, `sensitive` (and `labels`), "
                "or call `fit` once and pass `index`."
            )
        if features is not None or labels is not None:
            raise ValueError(
                "`features` or `labels` came without `sensitive`. After `fit` pass `index` only; "
                "for people of another dataset pass `sensitive` too."
            )
        return self._people, None if index is None else _rows(index, len(self._people.types))

    def _typed(self, sensitive: Array, labels: Array, sample_weight: Array) -> People:
        """Type people; a matrix of floats or booleans is read as one-hot columns."""
        notion = _encoded(self.notion) if _is_encoded(sensitive) else self.notion
        return notion.people(sensitive, labels, sample_weight).to_tensors()

    def _apply(self, fn: Any, recurse: bool = True) -> FairnessLoss:
        """Move with the model, but let no cast of it round the balance, or overflow it."""
        exact = self.balance
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        self.balance = exact.to(self.balance.device)
        return self

    def _penalty(
        self, scores: Tensor, constraints: Constraints, features: Array, rows: Tensor | None
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
    warm_start : start each call at the constraint duals of the last one. It changes how long a
        solver takes, and with a sweep limit also where it stops.
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

    _needs_features = True

    def __init__(
        self,
        notion: Notion | str = "demographic_parity",
        epsilon: float = 1e-3,
        *,
        cost: str | CostFunction = "euclidean",
        scale: Scale = "max",
        slack: float = 0.0,
        solver: Solver = "newton",
        warm_start: bool = True,
        pred_as_logit: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(notion, pred_as_logit=pred_as_logit)
        self.epsilon, self.cost, self.scale = epsilon, cost, scale
        self.slack, self.solver, self.options = slack, solver, options
        self.warm_start = warm_start
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
    ) -> Self:
        """Take a whole dataset and compute its soft distances, once.

        The parameters are those of every penalty; `geometry` says who is like whom in place of X.
        """
        people = self._typed(sensitive, labels, sample_weight)
        if geometry is None and X is not None:
            geometry = PointCloud(X, cost=self.cost, scale=self.scale)
        return self.fit_people(people, geometry)

    def fit_people(self, people: People, geometry: Geometry | None = None) -> Self:
        """Take a dataset whose people a notion has typed already, and who is like whom in it."""
        if geometry is None:
            raise ValueError("OTF needs features of these people, or a `geometry` of them.")
        n = len(people.types)
        if geometry.shape != (n, n):
            raise ValueError(
                f"`sensitive` has {n} people, but the features or the geometry have "
                f"{geometry.shape[0]} who give score and {geometry.shape[1]} who receive it; pass "
                "the same people, in the same order."
            )
        c = people.constraints()
        geometry.soft_distances(c.column_types, self.epsilon, c.column_weight, len(c.type_names))
        self._geometry, self._duals = geometry, {}
        return super().fit_people(people)

    def _penalty(
        self, scores: Tensor, constraints: Constraints, features: Array, rows: Tensor | None
    ) -> Tensor:
        geometry = self._geometry
        if features is not None:
            geometry = PointCloud(features, cost=self.cost, scale=self.scale)
        elif geometry is not None and rows is not None:
            geometry = geometry.rows(rows)
        assert geometry is not None  # or else the people would be missing too
        known = [self._duals.get(name, (0.0, 0.0)) for name in constraints.names]
        warm = np.array(known).T if known and self._duals and self.warm_start else None
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
        self, scores: Tensor, constraints: Constraints, features: Array, rows: Tensor | None
    ) -> Tensor:
        on = scores.device
        V, w = constraints.vectors.to(on), constraints.sample_weight.to(on)
        by_type = scores.new_zeros(V.shape[1]).index_add(0, constraints.types.to(on), w * scores)
        violation = V @ by_type - constraints.target.to(on)
        # Fair scores are at the kink, whose slope is taken as 0; rounding must not choose a side.
        fair = violation.abs() <= 1e-12 * (V.abs() @ by_type)
        violation = violation.masked_fill(fair, 0.0) / w.sum()
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


def _check_shape(pred: Tensor) -> None:
    if not isinstance(pred, Tensor):
        raise TypeError(
            f"`pred` must be a tensor, the model's output; received {type(pred).__name__}."
        )
    if pred.ndim > 2 or (pred.ndim == 2 and pred.shape[1] != 1):
        raise ValueError(
            f"`pred` must have shape (n,) or (n, 1); received {tuple(pred.shape)}. Pass one "
            "logit a person: that of the positive class."
        )


def _scores(pred: Tensor, as_logit: bool) -> Tensor:
    """Return the scores, (n,), in float64 and positive."""
    scores = pred.reshape(-1).double()
    if as_logit:
        scores = torch.sigmoid(scores)
    elif bool(((scores < 0) | (scores > 1)).any()):
        raise ValueError(
            f"`pred` must lie in [0, 1] as `pred_as_logit` is False; it ranges from "
            f"{float(scores.detach().min()):.3g} to {float(scores.detach().max()):.3g}. Leave "
            "`pred_as_logit` True for logits."
        )
    return scores.clamp_min(LOWEST_SCORE)


def _rows(index: Array, n: int) -> Tensor:
    """Return the rows that a user's index names, as integers."""
    rows = torch.as_tensor(index if isinstance(index, Tensor) else np.asarray(index))
    if rows.dtype is torch.bool and rows.shape == (n,):
        rows = torch.nonzero(rows).squeeze(1)
    bad = rows.ndim != 1 or rows.is_floating_point() or rows.dtype is torch.bool or not len(rows)
    if bad or int(rows.min()) < -n or int(rows.max()) >= n:
        raise ValueError(
            f"`index` must name rows of the {n} people given to `fit`, by integers (b,) below {n}; "
            f"received {rows.dtype} of shape {tuple(rows.shape)}."
        )
    return rows.long()


def _is_encoded(sensitive: Array) -> bool:
    if isinstance(sensitive, Tensor):
        return sensitive.is_floating_point() or sensitive.dtype is torch.bool
    return isinstance(sensitive, np.ndarray) and sensitive.dtype.kind in "fb"


def _encoded(notion: Notion) -> Notion:
    """Return the notion that reads zeros and ones as groups."""
    if isinstance(notion, _Stack):
        return _Stack(_encoded(notion.first), _encoded(notion.second))
    if not isinstance(notion, _GroupNotion) or notion.categorical:
        return notion  # the user says what the columns are
    if notion.intersectional:
        raise ValueError(
            "one-hot columns cannot be crossed, as they do not tell which of them make an "
            "attribute. Cross the attributes first, or pass a table with one column an attribute."
        )
    return replace(notion, encoded=True)
