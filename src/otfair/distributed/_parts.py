"""Rows in parts, each the result of a task on a Dask worker: mapped there, and summed.

A client says what is done with each part, sends what is the same for all of them, and receives
sums. A part stays where it was made. It is a result of Dask's, so that one that is lost with its
worker is made again from what it was made from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

FAN_IN = 16  # parts whose sums are added by one task, before the client adds the rest


class Parts:
    """Something of each row, or of each part of the rows, in parts on workers.

    Parameters
    ----------
    client : distributed.Client
        Who hands out tasks.
    futures : sequence of distributed.Future
        The parts, in the order of the rows.
    sizes : sequence of int
        How many rows each has.
    """

    def __init__(self, client: Any, futures: Sequence[Any], sizes: Sequence[int]) -> None:
        self.client, self.futures, self.sizes = client, tuple(futures), tuple(sizes)
        self._joined: dict[Callable[..., Any], Any] = {}

    def __len__(self) -> int:
        """Return how many rows there are."""
        return sum(self.sizes)

    @property
    def starts(self) -> list[int]:
        """The number of the first row of each part, and that of all rows at the end."""
        return [0, *accumulate(self.sizes)]

    def map(self, function: Callable[..., Any], *arguments: Any) -> Parts:
        """Do something with each part, where it is; the results stay there.

        Parameters
        ----------
        function : callable
            Takes a part of these, then of the arguments that are in parts too, and the other
            arguments as they are.
        *arguments : object
            Parts of the same rows, a future, or something small that each task is sent.

        Returns
        -------
        Parts
            The results. They are made while the caller goes on.
        """
        return Parts(self.client, self._tasks(function, arguments), self.sizes)

    def each(self, function: Callable[..., Any], values: Iterable[Any], *arguments: Any) -> Parts:
        """Do as `map` does, with one more argument, after the part, that differs between parts."""
        return self.map(function, Each(values), *arguments)

    def gather(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Return what a function makes of each part, in their order; it should be small."""
        return list(self.client.gather(self._tasks(function, arguments)))

    def reduce(
        self, combine: Callable[[Any, Any], Any], function: Callable[..., Any], *arguments: Any
    ) -> Any:
        """Combine what a function makes of each part, two at a time and in their order.

        Many parts are combined by workers first, so that the client receives few of them.
        """
        found = self._tasks(function, arguments)
        while len(found) > FAN_IN:
            groups = [found[k : k + FAN_IN] for k in range(0, len(found), FAN_IN)]
            found = self.client.map(
                _combined, [combine] * len(groups), groups, pure=False, key="combine"
            )
        return _combined(combine, self.client.gather(found))

    def sum(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Sum what a function makes of each part: numbers, arrays, or tuples of them."""
        return self.reduce(add, function, *arguments)

    def joined(self, function: Callable[[list[Any]], Any]) -> Any:
        """Return a future of what a function makes of the list of all parts, once, on a worker."""
        if function not in self._joined:
            self._joined[function] = self.client.submit(function, list(self.futures), pure=False)
        return self._joined[function]

    def split(self, index: np.ndarray) -> list[np.ndarray]:
        """Return for each part which of its own rows are among some of all rows, (b,) ascending."""
        edges = np.searchsorted(index, self.starts)
        return [index[a:b] - start for start, (a, b) in zip(self.starts, pairwise(edges.tolist()))]

    def _tasks(self, function: Callable[..., Any], arguments: Sequence[Any]) -> list[Any]:
        count = len(self.futures)
        lists: list[Sequence[Any]] = []
        for argument in arguments:
            if isinstance(argument, Parts):
                if argument.sizes != self.sizes:
                    raise ValueError(
                        "Dask collections must have their rows in the same partitions; received "
                        f"partitions of {_few(self.sizes)} and of {_few(argument.sizes)} rows. "
                        "Make them from one collection, or `repartition` or `rechunk` them alike."
                    )
                lists.append(argument.futures)
            else:
                each = isinstance(argument, Each)
                lists.append(argument.values if each else [argument] * count)
        name = getattr(function, "__name__", "task").strip("_<>")
        tasks: list[Any] = self.client.map(function, self.futures, *lists, pure=False, key=name)
        return tasks


class Each:
    """Values of which each part is given its own."""

    def __init__(self, values: Iterable[Any]) -> None:
        self.values = list(values)


def add(a: Any, b: Any) -> Any:
    """Add numbers or arrays, or tuples of them one by one."""
    return tuple(map(add, a, b)) if isinstance(a, tuple) else a + b


def _combined(combine: Callable[[Any, Any], Any], found: Sequence[Any]) -> Any:
    out = found[0]
    for one in found[1:]:
        out = combine(out, one)
    return out


def _few(sizes: Sequence[int]) -> str:
    return ", ".join(map(str, sizes[:5])) + ", ..." * (len(sizes) > 5)
