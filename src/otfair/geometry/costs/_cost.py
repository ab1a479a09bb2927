"""What every cost is: where it places people, and what it charges between two blocks of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, TypeVar

import torch
from torch import Tensor

Size = TypeVar("Size", float, Tensor)  # a distance or a cost, or several

BLOCK_ENTRIES = 2**20  # of the cost matrix held at once: 8 MiB
ROWS = 2**10  # of places at once
EPSILONS = 8 * 2.0**-52  # share of features that standardising and subtracting may take


@dataclass(frozen=True)
class Points:
    """Where distinct people are placed, and the same relative to their centre."""

    places: Tensor  # (q, p)
    centre: Tensor  # (p,)
    norms: Tensor  # (q,) squared norms relative to it
    _ties: dict[int, float] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def at(cls, places: Tensor) -> Points:
        """Centre the places, or say that their squares can't be computed."""
        centre = places.mean(0)
        norms = by_rows(places, lambda some: (some - centre).square().sum(1))
        largest = float(norms.max())
        if not 1e-280 < largest < torch.inf and (largest or (places != centre).any()):
            raise ValueError(
                "the squares of the features overflow or vanish; rescale them, or standardise."
            )
        return cls(places, centre, norms)

    def tie(self, order: int) -> float:
        """Return by how much two distances differ that are equal but for the features' rounding."""
        if order not in self._ties:
            largest = self.places.new_zeros(self.places.shape[1])
            for some in torch.split(self.places, ROWS):
                torch.maximum(largest, (some - self.centre).abs().amax(0), out=largest)
            self._ties[order] = EPSILONS * float(torch.linalg.vector_norm(largest, order))
        return self._ties[order]


def by_rows(places: Tensor, value: Callable[[Tensor], Tensor]) -> Tensor:
    """Return a value of each place, (q,), some of them at a time.

    Values are written where they stay: small results that outlive the large pieces that they were
    made of leave holes in memory, a gigabyte for half a million places.
    """
    out = places.new_empty(len(places))
    for start in range(0, len(places), ROWS):
        out[start : start + ROWS] = value(places[start : start + ROWS])
    return out


class Cost(ABC):
    """What it costs to move a unit of score from one person to another, by their features.

    A new cost needs `between`, and a `name` if it is to be asked for by name.
    """

    #: What `PointCloud(cost=...)` calls it.
    name: ClassVar[str] = ""
    #: The norm by which the cost increases with the distance between places, if it does by one:
    #: the largest cost is then found sooner.
    order: ClassVar[int | None] = None
    #: Whether blocks may be made in several threads at once.
    threaded: ClassVar[bool] = True

    def place(self, points: Tensor, people: Tensor) -> Tensor:
        """Place distinct people, (q, p), where their features are, or by those of all `people`."""
        return points

    @abstractmethod
    def between(self, X: Tensor, Y: Tensor) -> Tensor:
        """Return the cost from each of some places, (a, p), to each of some others, (b, p)."""

    @property
    def multiple_of_square(self) -> float | None:
        """What the square of a distance is multiplied by; None where the cost is a distance."""
        return None

    def of_distance(self, distance: Size) -> Size:
        """Return the cost of a distance by the norm of order `order`."""
        return distance

    def to_distance(self, cost: Tensor) -> Tensor:
        """Return the distances of some costs, where there is an `order`."""
        return cost

    def pairs(self, places: Tensor, rows: Tensor, columns: Tensor) -> Tensor | None:
        """Return the costs from single places to others, (a,), if blocks round more than that."""
        return None

    def blocks(
        self, points: Points, rows: Tensor, columns: Tensor, factor: float
    ) -> Callable[[int, int], Tensor]:
        """Return a function that gives new costs times `factor` from `rows`, start to stop, (u, b).

        `rows` (r,) and `columns` (u,) are numbers of points; `rows` ascends.
        """
        X, Y = points.places[rows], points.places[columns]
        return lambda start, stop: self.between(X[start:stop], Y).T * factor
