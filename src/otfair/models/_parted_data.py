"""Training data on Dask's workers: read, scaled and typed by sums over their partitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from otfair._io.arrays import Array, check_weight
from otfair.distributed import Parts, read_parts
from otfair.geometry import Drawn, PartedCloud
from otfair.losses import FairnessLoss, OTFLoss
from otfair.models._base import Data, Judge
from otfair.models._judging import Judgement, by_training
from otfair.models._parted_judging import PartedJury
from otfair.models._parted_receivers import draw_receivers, receiving, some_drawn
from otfair.models._receivers import COMPARISONS, Receiving
from otfair.notions import PartedPeople, as_notion, tally, type_parts
from otfair.tables import two_classes


@dataclass(frozen=True, kw_only=True)
class PartedData(Data):
    """People on workers, as a classifier has read them; see `Data`."""

    rows: Parts  # of features as models see them (n, p), labels and weights (n,)
    total: float  # of all weights

    def judged(self, criterion: str, model: Any) -> Judgement:
        """Judge the scores that a line gives to these people."""
        people = self.people
        if not isinstance(people, PartedPeople):
            found = by_training(criterion, None, np.zeros(1))
        else:
            h = scores_of(self.rows, people, model.weights)
            found = by_training(criterion, people.local(), h)
        return replace(found, n=len(self.rows))

    def receiving(self, model: Any, epsilon: float, seed: list[int]) -> Receiving:
        """Return who receives score, and what a sample does to the penalty of a line."""
        assert isinstance(self.geometry, PartedCloud)
        assert isinstance(self.people, PartedPeople)
        scores = self.rows.map(_scored, model.weights)
        return receiving(self.geometry, self.people, scores, epsilon, seed)

    def jury(self, estimator: Any) -> tuple[Sequence[tuple[Any, Any]], Judge]:
        """Return whom to train on and who judges, on workers, and how lines are judged."""
        assert isinstance(self.people, PartedPeople)  # a penalty needs them
        jury = PartedJury(estimator, self.people, self.rows)
        return jury.splits, jury

    def take(self, rows: Any) -> Data:
        """Return some of the people, by how often each is taken: others stay, without weight."""
        people, geometry = self.people, self.geometry
        assert isinstance(people, PartedPeople)
        kept = self.rows.map(_only, rows)
        people = people.weighed(people.parts.map(_only, rows))
        if isinstance(geometry, PartedCloud):
            drawn = geometry.drawn
            geometry = geometry.with_drawn(drawn and some_drawn(drawn, people))
        return replace(
            self, rows=kept, total=float(kept.sum(_weight_of)), geometry=geometry,
            people=people,
        )  # fmt: skip


def read_parted(
    estimator: Any,
    X: Array,
    y: Array,
    sensitive_features: Array,
    sample_weight: Array,
    penalize: bool,
) -> PartedData:
    """Read the data of a linear classifier from Dask collections; sets what it learns of them."""
    _refuse_settings(estimator)
    if sensitive_features is None and penalize:
        raise ValueError(
            "`sensitive_features` are missing; pass `fit(X, y, sensitive_features=...)`, or set "
            "`alpha=0` for a model without fairness."
        )
    given = {"X": X, "y": y, "sensitive_features": sensitive_features}
    raw = read_parts(given | {"sample_weight": sample_weight})
    head, classes = raw.gather(_head)[0], raw.gather(_classes)
    validate_data(estimator, head, dtype=np.float64)  # names and number of features
    estimator.classes_, _ = two_classes(np.concatenate(classes))
    rows = raw.map(_numbers, estimator.classes_)
    total, sums, low, high = rows.reduce(_wider, _sums)
    mean = sums / total
    spread = np.sqrt(rows.sum(_squares, mean) / total)
    estimator._set_scale(mean, spread, low, high)
    rows = rows.map(_scaled, estimator._mean, estimator._spread)
    people = geometry = None
    if sensitive_features is not None:
        people = type_parts(as_notion(estimator.notion), raw.map(_tallied, rows), gaps=True)
    if penalize and people is not None:
        columns = estimator._cost_columns() if estimator.cost_features is not None else None
        loss = estimator._loss()
        seed = estimator.random_state if isinstance(estimator.random_state, Integral) else 0
        drawn = draw_receivers(people, estimator.receivers, [int(seed)])
        chosen = rows.map(_chosen, columns)
        geometry = cloud_of(chosen, people, loss.cost, loss.scale, drawn)
    nothing = np.empty((0, len(mean)))
    return PartedData(
        seen=nothing, encoded=nothing, labels=nothing[:, 0], weight=None, people=people,
        geometry=geometry, seed=None, rows=rows, total=float(total),
    )  # fmt: skip


def cloud_of(
    chosen: Parts, people: PartedPeople, cost: Any, scale: Any, drawn: Drawn | None = None
) -> PartedCloud:
    """Return who is like whom, at the scale of those who have weight, and who receives score.

    Of so many people that all pairs would take too long, it is that between all and the receivers.
    """
    index = None
    if drawn is not None and len(chosen) ** 2 > COMPARISONS:
        index = drawn.index
    return _scaled_cloud(chosen, people, cost, scale, index).with_drawn(drawn)


def _scaled_cloud(
    chosen: Parts, people: PartedPeople, cost: Any, scale: Any, index: np.ndarray | None
) -> PartedCloud:
    there = None
    if index is not None:
        there = (chosen.each(_rows_at, chosen.split(index)).joined(np.concatenate), len(index))
    named: Any = scale
    if not isinstance(scale, str) or not people.parts.sum(_without_weight):
        return PartedCloud(chosen, there, cost, scale)
    cloud = PartedCloud(chosen, there, cost, None)
    every = range(len(chosen)) if index is None else index
    giving = cloud.people.map(_counted, people.parts)
    giving = Parts(giving.client, giving.futures, giving.gather(len))
    getting = cloud.people.each(_counted_at, chosen.split(np.asarray(every)), people.parts)
    return cloud.scaled_by(named, giving, getting.joined(np.concatenate))


def scores_of(rows: Parts, people: PartedPeople, theta: np.ndarray) -> np.ndarray:
    """Return scores of representatives, (2 K,), that a line gives to people."""
    count = len(people.first_types)
    first = rows.sum(_moments, people.parts, theta, np.zeros(count), 1)
    mass = people.first_mass
    centre = first / np.where(mass > 0, mass, 1.0)
    second = rows.sum(_moments, people.parts, theta, centre, 2)
    return people.scores(np.stack([first, second]))


def _refuse_settings(estimator: Any) -> None:
    loss = estimator.regularizer
    if estimator._by_adam:
        raise TypeError("modules and Adam are for one machine; on Dask L-BFGS trains a line.")
    if not isinstance(loss, OTFLoss if isinstance(loss, FairnessLoss) else str) or (
        isinstance(loss, str) and loss != OTFLoss.name
    ):
        raise TypeError(f"on Dask the penalty is OTF; received the regularizer {loss!r:.60}.")
    if estimator.bounded or getattr(loss, "bounded", False):
        raise TypeError("`bounded` is for one machine; leave it False on Dask.")
    if estimator.geometry is not None:
        raise TypeError("`geometry` is of people on one machine; leave it out on Dask.")


def _only(rows: tuple[np.ndarray, ...], times: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return what is told of people, whose weights come last: as if each were there so often."""
    *told, weight = rows
    return *told, weight * times


def _weight_of(rows: tuple[np.ndarray, ...]) -> float:
    return float(rows[-1].sum())


def _head(rows: dict[str, Any]) -> Any:
    return rows["X"][:1]


def _classes(rows: dict[str, Any]) -> np.ndarray:
    return np.unique(np.asarray(rows["y"]))


def _numbers(rows: dict[str, Any], classes: np.ndarray) -> tuple[np.ndarray, ...]:
    X = check_array(rows["X"], dtype=np.float64, order="C")
    weight = rows.get("sample_weight")
    w = np.ones(len(X))
    if weight is not None:
        w = check_weight(np.append(np.asarray(weight), 1.0), len(X) + 1).numpy()[:-1]
    labels = np.searchsorted(classes, np.asarray(rows["y"]).reshape(-1))
    return X, labels.astype(np.float64), w


def _sums(rows: tuple[np.ndarray, ...]) -> tuple[Any, ...]:
    X, _, weight = rows
    return weight.sum(), weight @ X, X.min(0), X.max(0)


def _wider(a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
    return a[0] + b[0], a[1] + b[1], np.minimum(a[2], b[2]), np.maximum(a[3], b[3])


def _squares(rows: tuple[np.ndarray, ...], mean: np.ndarray) -> np.ndarray:
    X, _, weight = rows
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(weight @ (X - mean) ** 2)


def _scaled(
    rows: tuple[np.ndarray, ...], mean: np.ndarray, spread: np.ndarray
) -> tuple[np.ndarray, ...]:
    X, labels, weight = rows
    return (X - mean) / spread, labels, weight


def _tallied(raw: dict[str, Any], rows: tuple[np.ndarray, ...]) -> tuple[Any, ...]:
    _, labels, weight = rows
    own, codes = tally(raw["sensitive_features"], labels.astype(np.int64), weight)
    return own, codes, weight


def _chosen(rows: tuple[np.ndarray, ...], columns: list[int] | None) -> np.ndarray:
    return rows[0] if columns is None else np.ascontiguousarray(rows[0][:, columns])


def _counted(X: np.ndarray, typed: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    return np.asarray(X[typed[1] > 0])


def _counted_at(
    X: np.ndarray, index: np.ndarray, typed: tuple[np.ndarray, np.ndarray]
) -> np.ndarray:
    return np.asarray(X[index[typed[1][index] > 0]])


def _without_weight(typed: tuple[np.ndarray, np.ndarray]) -> int:
    return int((typed[1] <= 0).sum())


def _rows_at(X: np.ndarray, index: np.ndarray) -> np.ndarray:
    return np.asarray(X[index])


def _scored(rows: tuple[np.ndarray, ...], theta: np.ndarray) -> np.ndarray:
    return np.asarray(expit(rows[0] @ theta[:-1] + theta[-1]))


def _moments(
    rows: tuple[np.ndarray, ...],
    typed: tuple[np.ndarray, np.ndarray],
    theta: np.ndarray,
    centre: np.ndarray,
    power: int,
) -> np.ndarray:
    """Sum weights times a power of scores, as far from a centre, by first type, (K,)."""
    types, weight = typed
    h = expit(rows[0] @ theta[:-1] + theta[-1])
    return np.bincount(types, weight * (h - centre[types]) ** power, len(centre))
