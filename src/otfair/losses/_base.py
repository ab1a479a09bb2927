"""What fairness penalties have in common: reading a batch, its scores, its people, its balance.

Maths: docs/derivation.md, section 5. Each penalty has a file of its own, which holds all facts
about it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self
from zlib import crc32

import numpy as np
import torch
from torch import Tensor

from otfair._io.arrays import Array, to_index, to_tensor
from otfair._io.threads import few_threads
from otfair.geometry import Geometry
from otfair.losses._factors import Factors
from otfair.losses._ranks import Call, ProcessGroup, Share, check_group, join, ranks_of
from otfair.notions import (
    Constraints,
    Memory,
    Notion,
    Part,
    People,
    Weigh,
    as_encoded,
    as_notion,
    check_weigh,
    known_people,
    parts_of,
)
from otfair.tables import same_people

LOWEST_SCORE = 1e-12
ROUNDING = 1e-12  # of a pull, next to that of the cross-entropy


@dataclass(frozen=True)
class Diagnostics:
    """How the last call went."""

    value: float  #: The penalty before its balance.
    residual: float = 0.0  #: Of the worse of the two problems of OTF; 0 for other penalties.
    iterations: int = 0  #: Of both problems; 0 for other penalties.
    converged: bool = True  #: Whether the solver reached its tolerance.
    dropped: tuple[str, ...] = ()  #: Constraints that the batch could not speak of.
    #: The penalty of each attribute or group by itself, where they are weighed.
    parts: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Sample:
    """The people of a call as one part of the rows sees them."""

    name: str  # of the part; "" for all rows
    constraints: Constraints
    geometry: Geometry | None  # who is like whom, where the penalty needs it


class FairnessLoss(Factors, ABC):
    """What the penalties have in common; use a subclass, such as `OTFLoss`."""

    name: ClassVar[str]  # as a `regularizer`, and on the command line
    title: ClassVar[str]  # for readers
    # By which people are alike; such a penalty takes the settings of transport, too.
    needs_features: ClassVar[bool] = False
    weighs: ClassVar[bool] = False  # whether it can be summed over attributes or groups
    last: Diagnostics | None = None  #: How the last call went.
    # Values of `smoothing` to train through, where a kink would stop the search (Training.descend).
    widths: tuple[float, ...] = ()
    smoothing: float

    def __init__(
        self,
        notion: Notion | str,
        *,
        weigh: Weigh = "people",
        pred_as_logit: bool = True,
        process_group: ProcessGroup | bool | None = None,
    ) -> None:
        super().__init__()
        if weigh is None:
            raise ValueError('`weigh` must be "people", "attributes" or "groups"; received None.')
        check_weigh(weigh)
        self.notion, self.weigh = as_notion(notion), weigh
        self.pred_as_logit, self.process_group = pred_as_logit, check_group(process_group)
        self._people: People | None = None
        self._whole: tuple[Sample, ...] = ()  # all people of the dataset, by part
        self._memory = Memory()
        self._share: Share | None = None
        self._mark: tuple[Any, ...] | None = None  # by which ranks see that they know one dataset

    def fit(
        self,
        X: Array,
        sensitive: Array,
        labels: Array = None,
        sample_weight: Array = None,
        *,
        geometry: Geometry | None = None,
    ) -> Self:
        """Take a whole dataset; later calls name the batch's rows of it by `index`.

        Parameters
        ----------
        X : array-like of shape (n, p) or None
            Features by which people are alike; not used by penalties without a cost.
        sensitive, labels : array-like or table
            As for a call. A dataset in which no two groups can be compared is refused. People who
            lack a sensitive value have no part in the penalty.
        sample_weight : array-like of shape (n,), optional
            One by default.
        geometry : Geometry, optional
            Who is like whom, in place of X.

        Returns
        -------
        FairnessLoss
            The loss itself, which has computed soft distances if it needs them.
        """
        given = {"labels": labels, "sample_weight": sample_weight}
        same_people({"X": X, "sensitive": sensitive, **given})
        people = self._typed(sensitive, labels, sample_weight)
        if geometry is None and X is not None:
            geometry = self._geometry_of(X, people)
        return self.fit_people(people, geometry)

    def fit_people(
        self, people: People, geometry: Geometry | None = None, share: Share | None = None
    ) -> Self:
        """Take a dataset whose people a notion has typed already.

        Parameters
        ----------
        people, geometry : People, Geometry or None
            The people, by `Notion.people`, and who is like whom, where the penalty needs it.
        share : Share, optional
            Whose scores later calls are of, where several processes share these people.

        Returns
        -------
        FairnessLoss
            The loss itself.
        """
        self._check_people(people)
        typed = people.to_tensors()
        parts = parts_of(typed, self.weigh)
        self._check_factors(self._factors, parts)
        here = share if self._splits else None
        alike = self._views(typed, geometry, parts, None if here is None else here.rows)
        self._share = share
        self._people, self._parts, self._memory = typed, parts, Memory()
        self._mark = None if self.process_group is None else _mark(typed)
        rows = [part.people.constraints() for part in parts]
        if here is not None:
            rows = [constraints.share(here.rows, here.processes) for constraints in rows]
        self._whole = tuple(
            Sample(part.name, constraints, view)
            for part, constraints, view in zip(parts, rows, alike)
        )
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
        pred : Tensor of shape (n,) or (n, 1)
            Logits, or probabilities with `pred_as_logit=False`.
        features : array-like of shape (n, p), optional
            By which the batch's people, who receive score themselves, are alike.
        sensitive : array-like or table, optional
            A matrix (n, d) with one-hot columns for categories, or a table with one column per
            attribute. Integers are one-hot where they are zeros and ones in several columns and all
            rows have the same sum. In a column that is not one-hot, at most ten whole numbers, of
            any type, are codes of groups, and other numbers are continuous. A group, label or value
            that the batch lacks is no error: its constraints are dropped, and named in
            `last.dropped`. A column shows new groups at any time, and its whole numbers are
            continuous once more than ten of them were seen.
        labels : array-like of shape (n,), optional
            Zeros and ones, where the notion conditions on them.
        index : array-like of shape (n,), optional
            The batch's rows of the dataset given to `fit`; all of them by default. With a
            `process_group` it must be given: the rows of this rank's batch.
        pred_as_logit : bool, optional
            For this call, if not as the loss was made.

        Returns
        -------
        Tensor
            The penalty, a mean over people (for predictive parity, per unit of score), times its
            balance.
        """
        value = self._value(pred, features, sensitive, labels, index, pred_as_logit)
        # A penalty in half precision would be rounded, or overflow, where its sum need not.
        return (self.balance * value).to(torch.promote_types(pred.dtype, torch.float32))

    if TYPE_CHECKING:
        __call__ = forward  # whose type is anything, by PyTorch

    @torch.enable_grad()
    def balance_(self, pred: Tensor, labels: Array, *people: Array, index: Array = None) -> float:
        """Scale the penalty so that it pulls on the logits as hard as the cross-entropy does.

        The factor is the ratio of the two root-mean-square derivatives with respect to the logits,
        taken best at a model that was trained without penalty. Then (1 - alpha) cross-entropy +
        alpha penalty means the same for any dataset, notion and penalty. It is 1 where the penalty
        does not pull at all. With sample weights, a person of weight w counts as w copies.
        With a `process_group` it is that of the people of all ranks, who must all call it.

        Parameters
        ----------
        pred : Tensor of shape (n,) or (n, 1)
            Predictions of that model.
        labels : array-like of shape (n,)
            Zeros and ones.
        *people : array-like or table
            `features` and `sensitive`, as for a call in batch mode; then the strata, where they are
            not the labels.
        index : array-like of shape (n,), optional
            As for a call in dataset mode.

        Returns
        -------
        float
            The factor.
        """
        if len(people) not in (0, 2, 3):
            raise ValueError(
                "`balance_` takes `pred`, `labels`, then `features` and `sensitive`, or `index`; "
                f"received {len(people)} more arguments after `labels`."
            )
        ranks, read = ranks_of(self.process_group), []

        def prepare() -> None:
            _check_shape(pred)
            raw = pred.detach().double().reshape(-1)
            y = to_tensor(labels, "labels", device=raw.device).reshape(-1)
            if y.shape != raw.shape:
                raise ValueError(
                    f"`pred` has {len(raw)} entries and `labels` {len(y)}; pass one per person."
                )
            read.append((raw, y))

        ranks.together(prepare)
        ((raw, y),) = read
        logits = (raw if self.pred_as_logit else torch.logit(raw)).requires_grad_()
        given = logits if self.pred_as_logit else torch.sigmoid(logits)
        features, sensitive, strata = (*people, labels)[:3] if people else (None, None, None)
        values = self._values(given, features, sensitive, strata, index, None)
        w = torch.ones_like(raw)
        known = sensitive if people else self._people
        if isinstance(known, People) and len(raw):
            w = known.weight.to(raw.device)
            w = w if index is None else w[_rows(index, len(w)).to(raw.device)]
        # Of a copy: the cross-entropy's derivative is (h - y) / sum w, the penalty's pull / w.
        total = ranks.total(float(w.sum()))
        each = (torch.sigmoid(logits.detach()) - y) / total * w.sqrt()
        entropy = math.sqrt(ranks.total(float(each.norm()) ** 2))
        pulls = {}
        for name, value in values.items():
            (pull,) = torch.autograd.grad(value, logits, retain_graph=True)
            pulls[name] = torch.where(w > 0, pull / w.sqrt() / ranks.size, 0.0)
        M = torch.stack([*pulls.values()])
        products = ranks.sum((M @ M.T).cpu().numpy())  # over the people of all ranks
        return self.balance_pulls(list(pulls), entropy, products)

    def balance_pulls(self, names: Sequence[str], entropy: float, products: np.ndarray) -> float:
        """Scale the penalty, as `balance_` does, by how hard it is known to pull.

        Parameters
        ----------
        names : sequence of str
            Of the parts of the penalty.
        entropy : float
            Length of the cross-entropy's pull on the logits.
        products : ndarray of shape (q, q)
            Products of the pulls of the parts.

        Returns
        -------
        float
            The factor.
        """
        norms = np.sqrt(np.diag(products))
        told = norms > ROUNDING * entropy  # fair scores pull by rounding
        if len(names) > 1:
            self._factors = _alike(dict(zip(names, (norms * told).tolist())))
        factors = told * np.array([self._factors.get(name, 1.0) for name in names])
        size = math.sqrt(max(float(factors @ products @ factors), 0.0))
        ratio = entropy / size if size > 0 else 1.0
        self.balance.fill_(ratio)
        return ratio

    @property
    def samples(self) -> tuple[Sample, ...]:
        """The people of the dataset, as each part of the rows sees them."""
        return self._whole

    def _value(self, *call: Any) -> Tensor:
        """Return the penalty before its balance, in float64; takes what `_values` takes."""
        values = self._values(*call)
        if list(values) == [""]:
            return values[""]
        total: Tensor = sum(self._factors.get(name, 1.0) * value for name, value in values.items())  # type: ignore[assignment]
        self.last = replace(self.last, value=float(total.detach()))  # type: ignore[type-var]
        return total

    def _values(
        self,
        pred: Tensor,
        features: Array,
        sensitive: Array,
        labels: Array,
        index: Array,
        pred_as_logit: bool | None,
    ) -> dict[str, Tensor]:
        """Return the penalty of each part, before any factor; that of all rows is called ""."""
        as_logit = self.pred_as_logit if pred_as_logit is None else pred_as_logit
        device, size = ("cpu", 0) if not isinstance(pred, Tensor) else (pred.device.type, len(pred))
        with few_threads(size), torch.autocast(device, enabled=False):
            call = self._call(pred, as_logit, features, sensitive, labels, index)
            if not len(call.whole) and self._share is None:  # no rank has anybody
                self.last = Diagnostics(value=0.0)
                return {"": 0.0 * call.scores.sum()}
            people, rows = self._batch(call.features, call.sensitive, call.labels, call.index)
            weight = people.weight if rows is None else people.weight[rows.to(people.weight.device)]
            if not bool(weight.any()):  # the sensitive values of everybody are missing
                self.last = Diagnostics(value=0.0, dropped=people.names)
                return {"": 0.0 * call.scores.sum()}
            known = self._share is not None and call.sensitive is None and call.index is None
            n = len(self._share.rows) if known and self._splits else len(weight)  # type: ignore[union-attr]
            if n != len(call.whole):
                raise ValueError(
                    f"`pred` has {len(call.whole)} entries but the batch has {n} people; pass one "
                    "prediction per person."
                )
            values, last = {}, []
            for sample in self._samples(people, rows, call):
                value = self._penalty(call.scores, sample.constraints, sample)
                if sample.constraints.about_precision:
                    value = self._per_score(value, call.scores, sample.constraints)
                values[sample.name] = value
                assert self.last is not None  # every penalty says how it went
                last.append(self.last)
            self.last = last[0] if list(values) == [""] else _joined(list(values), last)
            return values

    def _call(self, pred: Tensor, as_logit: bool, *who: Array) -> Call:
        """Return the scores, and who they are of: with a process group, the people of all ranks."""

        def read() -> tuple[Tensor, dict[str, Array]]:
            _check_shape(pred)
            scores = _scores(pred, as_logit)
            given = dict(zip(("features", "sensitive", "labels", "index"), who))
            if self.process_group is not None and len(scores):
                given["index"] = self._own_rows(given["sensitive"], given["index"])
            return scores, given

        if self.process_group is None:
            own, given = read()
            if self._share is None or self._splits:
                return Call(own, **given, whole=own.detach())
            assert self._people is not None
            return self._share.call(own, len(self._people.types)).gathered()
        call = join(ranks_of(self.process_group), read, self._mark)
        return call.shared() if self._splits else call.gathered()

    def _own_rows(self, sensitive: Array, index: Array) -> Array:
        """Return the rows of the dataset that are this rank's part of the batch, if it has any."""
        if isinstance(sensitive, People):
            raise TypeError("with a `process_group`, `sensitive` must be columns of people.")
        if index is None and sensitive is None:
            raise ValueError(
                "`index` is missing. Several processes share the batch: pass the rows of this "
                "rank's part of it."
            )
        fitted = index is not None and self._people is not None
        return _rows(index, len(self._people.types)) if fitted else index  # type: ignore[union-attr]

    @property
    def _splits(self) -> bool:
        """Whether ranks sum what each makes of its people, or else each takes the scores of all."""
        return False

    def _samples(self, people: People, rows: Tensor | None, call: Call) -> Sequence[Sample]:
        """Return the people of a call, as each part of the rows sees them."""
        mine = call.mine

        def constrained(part: Part) -> Constraints:
            constraints = self._constrain(part.people, rows, call.whole)
            return constraints if mine is None else constraints.share(mine, call.processes)

        if people is not self._people:
            parts = parts_of(people, self.weigh)
            geometry = None if call.features is None else self._geometry_of(call.features, people)
            alike = self._views(people, geometry, parts, mine)
            return [Sample(part.name, constrained(part), view) for part, view in zip(parts, alike)]
        if rows is None:
            return self._whole
        here = rows if mine is None else rows[mine]
        return [
            Sample(
                part.name,
                constrained(part),
                None if whole.geometry is None else whole.geometry.share(here),
            )
            for part, whole in zip(self._parts, self._whole)
        ]

    def _views(
        self,
        people: People,
        geometry: Geometry | None,
        parts: Sequence[Part],
        mine: Tensor | None = None,
    ) -> Sequence[Geometry | None]:
        """Return who is like whom for each part, where the penalty needs it.

        `mine`, (b,), are the people whose scores are here; all by default.
        """
        return [None] * len(parts)

    def _constrain(self, people: People, rows: Tensor | None, scores: Tensor) -> Constraints:
        """Return the constraints of a batch."""
        return people.constraints(rows=rows)

    def _per_score(self, value: Tensor, scores: Tensor, constraints: Constraints) -> Tensor:
        """Return a penalty per unit of score, where it is per person.

        Precision stays as it is where all scores are halved, so that a penalty on it must, too: or
        else it would fall by lowering everybody's score.
        """
        w, processes = constraints.sample_weight.to(scores.device), constraints.processes
        own = w @ scores
        total = own + (processes.total(float(own.detach())) - own.detach())
        value = value * processes.total(float(w.sum())) / total
        assert self.last is not None
        self.last = replace(self.last, value=float(value.detach()))
        return value

    def _batch(
        self, features: Array, sensitive: Array, labels: Array, index: Array
    ) -> tuple[People, Tensor | None]:
        """Return the people of the batch, or those of the dataset and the batch's rows."""
        if sensitive is not None:
            if index is not None:
                raise ValueError(
                    "`sensitive` and `index` are two ways to say who the batch is; pass one: the "
                    "batch's own columns, or rows of the dataset given to `fit`."
                )
            if features is None and self.needs_features:
                raise ValueError(
                    f"`features` are missing; {self.title} needs them to tell who is like whom."
                )
            typed = isinstance(sensitive, People)
            people = sensitive if typed else self._memory.people(self.notion, sensitive, labels)
            self._check_people(people)
            return people.to_tensors(), None
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
        """Type the people of a dataset, which must have something to compare."""
        notion = as_encoded(self.notion, sensitive)
        people = known_people(notion, sensitive, labels, sample_weight, "sensitive").to_tensors()
        names, counts = people.names, torch.bincount(people.types).double()
        if names and not people.vectors(counts)[1].any():
            raise ValueError(
                f"no group can be compared with another in {', '.join(names[:5])}"
                f"{', ...' * (len(names) > 5)}, so that all scores would be fair. Pass people of "
                "several groups, with the labels that the notion speaks of."
            )
        return people

    def _geometry_of(self, X: Array, people: People) -> Geometry | None:
        """Return who is like whom by their features, where the penalty needs it."""
        return None

    def _check_people(self, people: People) -> None:
        """Raise where the penalty can't speak of these people."""

    @abstractmethod
    def _penalty(self, scores: Tensor, constraints: Constraints, sample: Sample) -> Tensor:
        """Return the penalty of scores, a mean over people, before any factor; sets `last`."""


def as_loss(
    name: str, notion: Notion | str, weigh: Weigh = "people", **transport: Any
) -> FairnessLoss:
    """Make the penalty of that name, with the settings of transport if it uses them."""
    kind = loss_class(name)
    given: dict[str, Any] = transport if kind.needs_features else {}
    if kind.weighs:
        given = given | {"weigh": weigh}
    elif weigh != "people":
        raise ValueError(f'{kind.title} is one penalty for all; leave `weigh="people"`.')
    return kind(notion, **given)


def loss_class(name: str) -> type[FairnessLoss]:
    """Return the penalty of that name."""
    from otfair.losses import LOSSES  # the door, which knows them all

    for kind in LOSSES:
        if kind.name == name:
            return kind
    known = ", ".join(kind.name for kind in LOSSES)
    raise ValueError(f"unknown regularizer {name!r}; pass one of {known}.")


def _alike(pulls: dict[str, float]) -> dict[str, float]:
    """Return factors with which parts pull equally hard, of which the geometric mean is 1."""
    logs = {name: -math.log(pull) for name, pull in pulls.items() if pull > 0}
    mean = sum(logs.values()) / max(1, len(logs))
    return {name: math.exp(logs.get(name, mean) - mean) for name in pulls}


def _joined(names: Sequence[str], last: Sequence[Diagnostics]) -> Diagnostics:
    """Return how a call went of which each part has its own diagnostics."""
    return Diagnostics(
        value=sum(each.value for each in last),
        residual=max(each.residual for each in last),
        iterations=sum(each.iterations for each in last),
        converged=all(each.converged for each in last),
        dropped=tuple(name for each in last for name in each.dropped),
        parts={name: each.value for name, each in zip(names, last)},
    )


def _check_shape(pred: Tensor) -> None:
    if not isinstance(pred, Tensor):
        raise TypeError(
            f"`pred` must be a tensor, the model's output; received {type(pred).__name__}."
        )
    if pred.ndim > 2 or (pred.ndim == 2 and pred.shape[1] != 1):
        raise ValueError(
            f"`pred` must have shape (n,) or (n, 1); received {tuple(pred.shape)}. Pass one "
            "logit per person: that of the positive class."
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


def _mark(people: People) -> tuple[Any, ...]:
    """Return what differs where two datasets do, in what a penalty reads of them."""
    sums = (crc32(part.cpu().numpy().tobytes()) for part in (people.types, people.weight))
    return len(people.types), people.names, people.type_names, *sums


def _rows(index: Array, n: int) -> Tensor:
    return to_index(index, n, "index", task="name rows of the {n} people given to `fit`")
