"""Who judges a target where people are on Dask's workers: the folds and the bounds of one machine.

Folds and bounds look at the type, the label, the weight and the score of each person. One worker
puts these few numbers together and judges as one machine does; features stay where they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from scipy.special import expit

from otfair.distributed import Parts
from otfair.models._judging import Judgement, Jury
from otfair.notions import PartedPeople, People

SETTINGS = (  # that say who judges, and by what
    "max_violation", "criterion", "confidence", "new_people", "cv", "validation_fraction",
    "random_state",
)  # fmt: skip
Typed = tuple[np.ndarray, np.ndarray]  # types as typed first, and weights, of people


class PartedJury:
    """People on workers, kept out of training, who judge lines that were trained on the others."""

    def __init__(self, estimator: Any, people: PartedPeople, rows: Parts) -> None:
        client, self._rows = rows.client, rows
        settings = SimpleNamespace(**{name: getattr(estimator, name) for name in SETTINGS})
        labels = client.submit(_all_labels, list(rows.map(_labels).futures), pure=False)
        typed = client.submit(_all_of, list(people.parts.futures), pure=False)
        of = (settings, people.local(), people.first_types)
        self._jury = client.submit(_seated, *of, typed, labels, pure=False)  # on one worker
        count = client.submit(_count, self._jury, pure=False).result()
        #: Of each part of the people, whom to train on and who judges, as one flag per person.
        self.splits = [(self._flags(k, 0), self._flags(k, 1)) for k in range(count)]

    def _flags(self, split: int, side: int) -> Parts:
        client, ends = self._rows.client, pairwise(self._rows.starts)
        made = [client.submit(_flagged, self._jury, split, side, *own, pure=False) for own in ends]
        return Parts(client, made, self._rows.sizes)

    def __call__(self, models: Sequence[Any]) -> Judgement:
        """Judge the lines of one strength, one per split."""
        pairs = zip(models, self.splits, strict=True)
        scored = [self._rows.map(_scored, judged, line.weights) for line, (_, judged) in pairs]
        each = [list(parts.futures) for parts in scored]
        found: Judgement = self._rows.client.submit(
            _judgement, self._jury, each, pure=False
        ).result()
        return found


# What workers do.


def _seated(
    settings: SimpleNamespace, some: People, merge: torch.Tensor, typed: Typed, labels: np.ndarray
) -> Jury:
    types, weight = (torch.as_tensor(part) for part in typed)
    return Jury(settings, replace(some, types=merge[types], weight=weight), labels)


def _count(jury: Jury) -> int:
    return len(jury.splits)


def _flagged(jury: Jury, split: int, side: int, start: int, stop: int) -> np.ndarray:
    rows = jury.splits[split][side]
    out = np.zeros(stop - start, dtype=bool)
    out[rows[(rows >= start) & (rows < stop)] - start] = True
    return out


def _scored(rows: tuple[np.ndarray, ...], judged: np.ndarray, theta: np.ndarray) -> np.ndarray:
    return np.asarray(expit(rows[0][judged] @ theta[:-1] + theta[-1]))


def _judgement(jury: Jury, each: list[list[np.ndarray]]) -> Judgement:
    scores = []
    for parts, (_, judged) in zip(each, jury.splits):
        order = np.argsort(judged, kind="stable")  # scores come in the order of the rows
        h = np.empty(len(judged))
        h[order] = np.concatenate(parts)
        scores.append(h)
    return jury.judge(np.concatenate(scores))


def _labels(rows: tuple[np.ndarray, ...]) -> np.ndarray:
    return rows[1].astype(np.int64)


def _all_labels(parts: list[np.ndarray]) -> np.ndarray:
    return np.concatenate(parts)


def _all_of(parts: list[Typed]) -> Typed:
    types, weights = zip(*parts)
    return np.concatenate(types), np.concatenate(weights)
