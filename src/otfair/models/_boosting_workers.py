"""What each Dask worker does where boosted trees are trained: who is who, and the objective there.

Maths: docs/scaling.md, "Boosted trees". Each worker knows all people as receivers; what the penalty
sums over people is summed over workers, in every round.
"""

from __future__ import annotations

import copy
import importlib
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import torch
from scipy.special import expit

from otfair._io.processes import Processes
from otfair.geometry import Geometry
from otfair.losses import Share
from otfair.models._balance import Balance
from otfair.models._base import Data
from otfair.models._booster_metric import BoosterMetric
from otfair.models._judging import Judgement, by_training
from otfair.models._objective import OTFObjective
from otfair.models._trust import Losses, compare_losses
from otfair.models._validation import split_off
from otfair.models.boosters import XGBoost
from otfair.models.boosters._xgboost import start_of
from otfair.notions import People

if TYPE_CHECKING:
    from otfair.models._boosting_classifier import OTFBoostingClassifier

PART, ROW = "label_lower_bound", "label_upper_bound"  # where a row's numbers travel with it


@dataclass(frozen=True)
class Everybody:
    """All people, as one worker has read them; it stays on workers."""

    model: OTFBoostingClassifier  # which knows its columns and classes, and no more
    data: Data
    sizes: list[int]  # of the partitions
    kept: np.ndarray  # (m,) rows to train on, ascending
    out: np.ndarray  # (o,) rows that say when to stop, ascending
    balance: Balance
    missing: int  # people without a sensitive value

    @property
    def starts(self) -> np.ndarray:
        """The first row of each partition."""
        return np.array([0, *accumulate(self.sizes)])

    def local(self, part: int, rows: np.ndarray) -> np.ndarray:
        """Return those of some rows that are in a partition, as numbers within it."""
        start, stop = self.starts[part : part + 2]
        return np.asarray(rows[(rows >= start) & (rows < stop)] - start)


@dataclass(frozen=True)
class Receivers:
    """What the penalty knows of some people; every worker has it of all of them."""

    rows: np.ndarray  # (m,) which of everybody they are, ascending
    people: People
    labels: np.ndarray
    weight: np.ndarray | None
    geometry: Geometry | None
    encoded: np.ndarray | None  # (m, q) in place of a geometry, in the units of another


@dataclass(frozen=True)
class Brief:
    """What a client learns of everybody."""

    model: OTFBoostingClassifier
    balance: Balance
    missing: int
    seed: int | None
    kept: list[int]  # people to train on, of each partition
    out: list[int]
    start: dict[str, float]  # of XGBoost, where it would find none


class Workers(Processes):
    """The workers that train one booster."""

    def __init__(self) -> None:
        self._collective = importlib.import_module("xgboost.collective")
        self.size, self.rank = self._collective.get_world_size(), self._collective.get_rank()

    def sum(self, values: np.ndarray) -> np.ndarray:
        own = np.ascontiguousarray(values, dtype=np.float64)
        out = self._collective.allreduce(own, self._collective.Op.SUM)
        return np.asarray(out).reshape(own.shape)

    def max(self, value: float) -> float:
        return float(self._collective.allreduce(np.array([value]), self._collective.Op.MAX)[0])


class WorkerObjective:
    """The objective of the rows that a worker has: it learns whose they are from the rows."""

    def __init__(self, objective: OTFObjective, starts: np.ndarray, published: list[str]) -> None:
        self._objective, self._starts = objective, starts
        self._published = published  # names of `Receivers`, of those trained on and kept out
        self._of: list[np.ndarray] = []  # rows of everybody that are here, of both

    def __call__(self, margins: np.ndarray, rows: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the terms of this worker's rows."""
        mine = self._numbers(rows)
        if not self._of:
            people = self._receivers(0)
            self._of.append(mine)
            share = self._share(people, mine)
            given = (people.people, people.labels, people.geometry, people.weight, share)
            self._objective.fit_people(*given)
        if not np.array_equal(mine, self._of[0]):
            raise RuntimeError("the rows of a worker changed while it trained on them.")
        return self._objective(margins, rows)

    def metric(self, margins: np.ndarray, rows: Any) -> tuple[str, float]:
        """Return what is minimised, among the people who are watched."""
        if len(self._of) == 1:
            people, mine = self._receivers(1), self._numbers(rows)
            self._of.append(mine)
            share = self._share(people, mine)
            given = (people.people, people.labels, people.encoded, people.weight, share)
            self._objective.watch_people(*given)
        metric = BoosterMetric(self._objective, "objective")
        p = self._objective._populations[1]
        return "objective", metric.of(p, np.asarray(margins, dtype=np.float64).reshape(-1))

    @property
    def told(self) -> dict[str, Any]:
        """What the client is to know: the penalty of each round, and its balance."""
        return {"history": self._objective.history_, "balance": self._objective.balance_}

    def _receivers(self, which: int) -> Receivers:
        client = importlib.import_module("distributed").get_client()
        found: Receivers = client.get_dataset(self._published[which]).result()
        return found

    @staticmethod
    def _share(people: Receivers, mine: np.ndarray) -> Share:
        """Return which of some people these rows are."""
        return Share(_places(people.rows, mine), Workers())

    def _numbers(self, rows: Any) -> np.ndarray:
        """Return which of everybody's rows these are, in their order."""
        part, row = (rows.get_float_info(name).astype(np.int64) for name in (PART, ROW))
        return np.asarray(self._starts[part] + row)


def _places(rows: np.ndarray, mine: np.ndarray) -> torch.Tensor:
    """Return where some rows are among others, which hold them all."""
    places = np.searchsorted(rows, mine)
    if len(mine) and not np.array_equal(rows[np.minimum(places, len(rows) - 1)], mine):
        raise RuntimeError("a worker has rows that are not among the people it trains on.")
    return torch.as_tensor(places)


def read(model: OTFBoostingClassifier, parts: list[dict[str, Any]]) -> Everybody:
    """Read all people as on one machine: columns, labels, groups, who is like whom, balance."""
    names = ("X", "y", "sensitive_features", "sample_weight")
    X, y, sensitive, weight = (_joined([part.get(name) for part in parts]) for name in names)
    sizes = [len(part["X"]) for part in parts]
    model, penalize = copy.copy(model), bool(model.alpha)
    data = model._prepare(X, y, sensitive, weight, penalize)
    kept, out = np.arange(len(data.labels)), np.arange(0)
    if model.early_stopping_rounds is not None:
        kept, out = split_off(model, "stopping_fraction", kept, data.labels)
    balance: Balance = 1.0
    if penalize and data.people is not None:
        balance = model.balance  # type: ignore[assignment]
        if isinstance(balance, str):
            own, objective = data.take(kept), model._objective()
            assert own.people is not None
            objective.fit_people(own.people, own.labels, own.geometry, own.weight)
            balance = objective.balance_by(own.encoded)
    missing = model._count_missing(sensitive, data.people)
    return Everybody(model, data, sizes, kept, out, balance, missing)


def _joined(parts: list[Any]) -> Any:
    if parts[0] is None:
        return None
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    return pd.concat(parts, ignore_index=True)


def brief(everybody: Everybody) -> Brief:
    model, data, parts = everybody.model, everybody.data, range(len(everybody.sizes))
    kept, out = (
        [len(everybody.local(k, r)) for k in parts] for r in (everybody.kept, everybody.out)
    )
    start = start_of(model._rows(data.take(everybody.kept)))
    return Brief(model, everybody.balance, everybody.missing, data.seed, kept, out, start)


def rows_of(everybody: Everybody, part: int) -> dict[str, Any]:
    """Return labels and weights of a partition, and its number and who is trained on."""
    start, stop = everybody.starts[part : part + 2]
    data = everybody.data
    weight = np.ones(stop - start) if data.weight is None else data.weight[start:stop]
    rows = {
        "kept": everybody.local(part, everybody.kept),
        "out": everybody.local(part, everybody.out),
    }
    return {"part": part, "label": data.labels[start:stop], "weight": weight, **rows}


def tree_part(
    model: OTFBoostingClassifier, part: dict[str, Any], known: dict[str, Any]
) -> dict[str, Any]:
    """Return a partition as trees see it, each row with its number."""
    label, seen = known["label"], model._seen(part["X"])
    number = {PART: np.full(len(label), float(known["part"])), ROW: np.arange(float(len(label)))}
    both = {which: known[which] for which in ("kept", "out")}
    return {"data": seen, "label": label, "weight": known["weight"], **number, **both}


def chosen_rows(tree: dict[str, Any], which: str, name: str) -> np.ndarray:
    return np.asarray(tree[name][tree[which]], dtype=np.float64)


def receivers(everybody: Everybody, which: str) -> Receivers | None:
    """Return what every worker has to know of the people trained on, or kept out."""
    rows, data = getattr(everybody, which), everybody.data
    if data.people is None or not len(rows):
        return None
    weight = None if data.weight is None else data.weight[rows]
    common = (rows, data.people.take(rows), data.labels[rows], weight)
    if which == "out":
        return Receivers(*common, None, everybody.model._chosen(data.encoded[rows]))
    geometry = None if data.geometry is None else data.geometry.take(rows)
    return Receivers(*common, geometry, None)


def judge(everybody: Everybody, text: str, offset: float) -> tuple[Judgement, Losses | None]:
    """Judge the trees by the people they were trained on, and by those kept out, if any were."""
    logits = XGBoost.from_text(text, offset).logits(everybody.data.seen)
    data, out, model = everybody.data, everybody.out, everybody.model
    judgement = by_training(model.criterion, data.people, np.asarray(expit(logits)))
    if not len(out):
        return judgement, None
    weight = np.ones(len(out)) if data.weight is None else data.weight[out]
    return judgement, compare_losses(logits[out], data.labels[out], weight)
