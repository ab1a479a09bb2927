"""Who judges a target where people are on Dask's workers: the folds and the bounds of one machine.

Folds and bounds look at the type, the label, the weight and the score of each person. One worker
puts these few numbers together and judges as one machine does; features stay where they are.
"""

from __future__ import annotations

import copy
import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import getitem
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from scipy.special import expit
from sklearn.utils import check_random_state

from otfair.distributed import Parts
from otfair.models._judging import Judgement, Jury
from otfair.models._parted_receivers import Typed, all_typed
from otfair.notions import PartedPeople, People

SETTINGS = (  # that say who judges, and by what
    "max_violation", "criterion", "confidence", "new_people", "cv", "validation_fraction",
    "random_state",
)  # fmt: skip


class PartedJury:
    """People on workers, kept out of training, who judge lines that were trained on the others."""

    def __init__(self, estimator: Any, people: PartedPeople, rows: Parts) -> None:
        client, self._rows = rows.client, rows
        labels = client.submit(_all_labels, list(rows.map(_labels).futures), pure=False)
        typed = client.submit(all_typed, list(people.parts.futures), pure=False)
        of = (_settled(estimator), people.local(), people.first_types)
        self._seats = client.submit(_seated, *of, typed, labels, pure=False)  # on one worker
        count, state = client.submit(_told, self._seats, pure=False).result()
        if isinstance(estimator.random_state, np.random.RandomState):
            estimator.random_state.set_state(state)  # as if it had been drawn from here
        #: Of each split, how often each person trains, and whether they judge.
        self.splits = [(self._of(_trained, k), self._of(_judging, k)) for k in range(count)]

    def _of(self, told: Callable[..., Any], split: int) -> Parts:
        """Return something of each person in parts; only that leaves the worker who has seats."""
        client, starts = self._rows.client, self._rows.starts
        whole = client.submit(told, self._seats, split, starts, pure=False)
        made = [client.submit(getitem, whole, k, pure=False) for k in range(len(starts) - 1)]
        return Parts(client, made, self._rows.sizes)

    def __call__(self, models: Sequence[Any]) -> Judgement:
        """Judge the lines of one strength, one per split."""
        pairs = zip(models, self.splits, strict=True)
        scored = [self._rows.map(_scored, judged, line.weights) for line, (_, judged) in pairs]
        each = [list(parts.futures) for parts in scored]
        found: Judgement = self._rows.client.submit(
            _judgement, self._seats, each, pure=False
        ).result()
        return found


def _settled(estimator: Any) -> SimpleNamespace:
    """Return the settings, of which nothing is left to chance.

    A worker that is lost takes its splits with it, and another must draw the same ones.
    """
    settings = SimpleNamespace(**{name: getattr(estimator, name) for name in SETTINGS})
    if settings.random_state is None and settings.validation_fraction:
        settings.random_state = _seed()
    if hasattr(settings.cv, "split"):
        settings.cv = copy.deepcopy(settings.cv)
        if getattr(settings.cv, "random_state", 0) is None:
            settings.cv.random_state = _seed()
    elif not isinstance(settings.cv, numbers.Integral):
        settings.cv = [tuple(np.asarray(side) for side in pair) for pair in settings.cv]
    return settings


def _seed() -> int:
    return int(check_random_state(None).randint(2**31 - 1))


# What workers do.


@dataclass(frozen=True)
class Seats:
    """Who judges on one worker, with a few bytes of each person."""

    jury: Jury  # without its splits
    trained: list[np.ndarray]  # of each split, how often each person trains, (n,)
    judged: list[np.ndarray]  # of each split, who judges, in the order of the jury
    state: Any  # of the generator that they were drawn from


def _seated(
    settings: SimpleNamespace, some: People, merge: torch.Tensor, typed: Typed, labels: np.ndarray
) -> Seats:
    types, weight = (torch.as_tensor(part) for part in typed)
    jury, n = Jury(settings, replace(some, types=merge[types], weight=weight), labels), len(labels)
    pairs, jury.splits = jury.splits, []
    trained = [np.bincount(kept % n, minlength=n) for kept, _ in pairs]
    small = [count.astype(np.min_scalar_type(int(count.max()))) for count in trained]
    rng = settings.random_state
    state = rng.get_state() if isinstance(rng, np.random.RandomState) else None
    return Seats(jury, small, [judged % n for _, judged in pairs], state)


def _told(seats: Seats) -> tuple[int, Any]:
    return len(seats.judged), seats.state


def _trained(seats: Seats, split: int, starts: list[int]) -> list[np.ndarray]:
    return np.split(seats.trained[split], starts[1:-1])


def _judging(seats: Seats, split: int, starts: list[int]) -> list[np.ndarray]:
    out = np.zeros(starts[-1], dtype=bool)
    out[seats.judged[split]] = True
    return np.split(out, starts[1:-1])


def _scored(rows: tuple[np.ndarray, ...], judged: np.ndarray, theta: np.ndarray) -> np.ndarray:
    return np.asarray(expit(rows[0][judged] @ theta[:-1] + theta[-1]))


def _judgement(seats: Seats, each: list[list[np.ndarray]]) -> Judgement:
    scores = []
    for parts, judged in zip(each, seats.judged):
        # Scores come once for each person, in the order of the rows.
        scores.append(np.concatenate(parts)[np.unique(judged, return_inverse=True)[1]])
    return replace(seats.jury.judge(np.concatenate(scores)), folds=len(each))


def _labels(rows: tuple[np.ndarray, ...]) -> np.ndarray:
    return rows[1].astype(np.int64)


def _all_labels(parts: list[np.ndarray]) -> np.ndarray:
    return np.concatenate(parts)
