"""What every cost is: where it places people, and what it charges between two blocks of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

BLOCK_ENTRIES = 2**20  # of the cost matrix held at once: 8 MiB


@dataclass(frozen=True)
class Points:
    """Where distinct people are placed, and the same relative to their centre."""

    places: Tensor  # (q, p)
    centred: Tensor  # (q, p); products of centred numbers cancel less
    norms: Tensor  # (q,) squared norms of `centred`

    @classmethod
    def at(cls, places: Tensor) -> Points:
        """Centre the places, or say that their squares can't be computed."""
        centred = places - places.mean(0)
        norms = centred.square().sum(1)
        if centred.any() and not 1e-280 < float(norms.max()) < torch.inf:
            raise ValueError(
                "the squares of the features overflow or vanish; rescale them, or standardise."
            )
        return cls(places, centred, norms)


class Cost(ABC):
    """What it costs to move a unit of score from one person to another, by their features.

    A new cost needs `between`, and a `name` if it is to be asked for by name.

    Attributes
    ----------
    name : str
        What `PointCloud(cost=...)` calls it.
    order : int or None
        The cost is an increasing function of the distance between places by the norm of this
        order, which speeds up the search for the largest cost; None where it is not.
    """

    name: ClassVar[str] = ""
    order: ClassVar[int | None] = None

    def place(self, points: Tensor, people: Tensor) -> Tensor:
        """Return where distinct people are placed, by their features.

        Parameters
        ----------
        points : Tensor of shape (q, p)
            Features of the distinct people.
        people : Tensor of shape (n, p)
            Features of everybody, with repetitions, for costs that depend on all of them.

        Returns
        -------
        Tensor of shape (q, r)
            The places; by default the features themselves.
        """
        return points

    @abstractmethod
    def between(self, X: Tensor, Y: Tensor) -> Tensor:
        """Return the cost from each of some places to each of some others.

        Parameters
        ----------
        X : Tensor of shape (a, r)
            Places of the people whose score moves.
        Y : Tensor of shape (b, r)
            Places of the people who receive it.

        Returns
        -------
        Tensor of shape (a, b)
            Costs, not negative.
        """

    def of_distance(self, distance: float) -> float:
        """Return the cost of a distance by the norm of order `order`.

        Parameters
        ----------
        distance : float
            Distance between two places.

        Returns
        -------
        float
            The cost; by default the distance itself.
        """
        return distance

    def blocks(
        self, points: Points, rows: Tensor, columns: Tensor, factor: float
    ) -> Callable[[int, int], Tensor]:
        """Prepare blocks of costs between chosen points.

        Parameters
        ----------
        points : Points
            The distinct people.
        rows : Tensor of shape (r,)
            Points whose score moves, ascending.
        columns : Tensor of shape (u,)
            Points that receive score.
        factor : float
            What the costs are multiplied by.

        Returns
        -------
        callable
            Function of a start and a stop among `rows` that returns a new tensor (u, stop - start).
        """
        X, Y = points.places[rows], points.places[columns]
        return lambda start, stop: self.between(X[start:stop], Y).T * factor
