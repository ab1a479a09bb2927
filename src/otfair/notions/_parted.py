"""People on many machines, typed: who they are by type at the client, and each one's type there.

Maths: docs/scaling.md. The client holds two people of each type in place of all others, so that
whatever is computed by type is the same code as on one machine.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from otfair._io.arrays import Array, to_index, to_tensor, to_vector
from otfair.distributed import Parts, is_parted, read_parts, to_dask
from otfair.notions._base import Notion
from otfair.notions._constraints import Constraints, People
from otfair.notions._tally import Tally, join, represent, tally


@dataclass(frozen=True, kw_only=True, eq=False)
class PartedPeople(People):
    """People on workers, by type; see `People`.

    `types` and `weight` are of two representatives of each type, who stand for all its people:
    those that come first, then those of merged types. A person's type is that of either.
    """

    parts: Parts  #: Of each person, their type as typed first, and their weight, (n,) each.
    n_missing: int = 0  #: How many lack a sensitive value.
    columns: np.ndarray | None = None  #: Numbers of those who receive score; None for all.

    def constraints(self, rows: Array = None, columns: Array = None) -> Constraints:
        """Constrain all people; score may go to all of them, or to some.

        Parameters
        ----------
        rows : None
            Mini-batches are for one machine.
        columns : array-like, optional
            Numbers of the people who may receive score, ascending; those of `columns` by default.

        Returns
        -------
        Constraints
            The rows of G.
        """
        if rows is not None:
            raise TypeError("people on Dask are constrained as a whole; leave `rows` out.")
        columns = self.columns if columns is None else columns
        if columns is None:
            receivers = self.parts.joined(_all_of)
            m, base = len(self.parts), super().constraints()
        else:
            index = to_index(columns, len(self.parts), "columns").numpy()
            if (np.diff(index) <= 0).any() or index[0] < 0:
                raise ValueError("`columns` must be numbers of rows, ascending, each once.")
            some = self.parts.each(_some_of, self.parts.split(index))
            receivers, m = some.joined(_all_of), len(index)
            base = self._with_columns(some.sum(_mass_of, len(self.types) // 2))
        own = {f.name: getattr(base, f.name) for f in fields(Constraints)}
        return PartedConstraints(**own, people=self, receivers=receivers, n_receivers=m)

    def _with_columns(self, mass: np.ndarray) -> Constraints:
        """Constrain people, of whom some, of this weight by first type, receive score."""
        count = len(self.types)
        both = replace(
            self.local(),
            types=self.types.repeat(2),
            weight=torch.cat([self.weight, torch.as_tensor(mass / 2).repeat_interleave(2)]),
        )
        return both.constraints(np.arange(count), np.arange(count, 2 * count))

    @property
    def n_people(self) -> int:
        """How many people there are."""
        return len(self.parts)

    @property
    def first_mass(self) -> np.ndarray:
        """Weight of each type that people were typed by first, (K,)."""
        return 2 * self.weight[::2].numpy()

    def weighed(self, parts: Parts) -> PartedPeople:
        """Return the same people with other weights, of `parts` as those of this."""
        mass = parts.sum(_mass_of, len(self.first_types))
        weight = torch.as_tensor(mass / 2).repeat_interleave(2)
        return replace(self, parts=parts, weight=weight)

    def local(self) -> People:
        """Return the representatives, as people of this machine."""
        return People(**{f.name: getattr(self, f.name) for f in fields(People)})

    @property
    def first_types(self) -> Tensor:
        """For each type that people were typed by first, what it is of now."""
        return self.types[::2]

    def scores(self, sums: np.ndarray) -> np.ndarray:
        """Return scores of the representatives, (2 K,), from sums of scores by first type, (K,).

        With two rows, (2, K), the second are sums of squared distances from the type's mean.
        """
        mass = self.first_mass
        safe = np.where(mass > 0, mass, 1.0)
        rows = np.atleast_2d(sums) / safe
        wide = np.sqrt(np.maximum(rows[1], 0.0)) if len(rows) > 1 else 0.0 * rows[0]
        return np.asarray(np.stack([rows[0] + wide, rows[0] - wide], 1).reshape(-1))


@dataclass(frozen=True, kw_only=True, eq=False)
class PartedConstraints(Constraints):
    """Constraints on people on workers; see `Constraints`. What has one entry per person is lazy.

    `types` and `sample_weight` are of the representatives, of whom `PartedPeople` tells.
    """

    people: PartedPeople
    receivers: Any  #: Future of types as typed first, and weights, of those who receive score.
    n_receivers: int

    def at(self, scores: Array) -> Constraints:
        """Return the constraints at the rates of these scores, where they have rates to be told.

        Parameters
        ----------
        scores : Dask array of shape (n,), Parts, or array of shape (2 K,)
            Scores of all people, or of their representatives.

        Returns
        -------
        Constraints
            As for `Constraints.at`.
        """
        if self.free is not None and is_parted(scores):
            scores = read_scores(self.people, scores)[1]
        return super().at(scores)

    @property
    def n_people(self) -> int:
        """How many people's scores are moved."""
        return len(self.people.parts)

    @property
    def matrix(self) -> Array:
        """G, (d, n), as a Dask array."""
        vectors = torch.as_tensor(self.vectors)[:, self.people.first_types].numpy()
        parts = self.people.parts.map(_columns_of, vectors)
        return to_dask(parts, len(vectors)).T


def parted_people(
    notion: Notion, sensitive: Any, labels: Any = None, weight: Any = None
) -> PartedPeople:
    """Type the people of Dask collections, as `Notion.people` does on one machine."""
    given = {"sensitive_features": sensitive, "labels": labels, "sample_weight": weight}
    return type_parts(notion, read_parts(given).map(_tallied))


def type_parts(notion: Notion, tallied: Parts, gaps: bool = False) -> PartedPeople:
    """Type people of whom each part has a tally, each one's combination in it, and weights.

    With `gaps`, those who lack a sensitive value get no weight, and else are refused.
    """
    tallies: list[Tally] = tallied.gather(_first)
    whole = join(tallies)
    people = whole.people(notion, gaps)
    starts = np.cumsum([0, *(len(own.weight) for own in tallies)])
    types = [people.types[a:b].numpy() for a, b in pairwise(starts.tolist())]
    own = {f.name: getattr(represent(people), f.name) for f in fields(People)}
    missing = whole.missing(notion) if gaps else 0
    known = [people.weight[a:b].numpy() > 0 for a, b in pairwise(starts.tolist())]
    parts = tallied.each(_typed, zip(types, known))
    return PartedPeople(**own, parts=parts, n_missing=missing)


def read_scores(people: PartedPeople, scores: Array) -> tuple[Parts, np.ndarray, float]:
    """Return scores in parts, those of the representatives, (2 K,), and the sum of w h log h."""
    if not isinstance(scores, Parts):
        scores = read_parts({"scores": scores}).map(_score_column)
    count = len(people.first_types)
    bad, sums, entropy = scores.sum(_summed_scores, people.parts, count)
    if bad:
        ends = np.array(scores.gather(_ends_of))
        raise ValueError(
            f"`scores` must lie in (0, 1]; {bad} of {len(scores)} do not: they range from "
            f"{ends[:, 0].min():.3g} to {ends[:, 1].max():.3g}. Pass probabilities; where a score "
            "of 0 is meant, clip at a small positive number."
        )
    return scores, people.scores(sums), entropy


def _score_column(rows: dict[str, Any]) -> np.ndarray:
    h = to_tensor(rows["scores"], "scores")
    h = h.squeeze(1) if h.ndim == 2 and h.shape[1] == 1 else h
    return to_vector(h, "scores", len(rows["scores"])).numpy()


@np.errstate(all="ignore")
def _summed_scores(
    h: np.ndarray, typed: tuple[np.ndarray, np.ndarray], count: int
) -> tuple[int, np.ndarray, float]:
    types, weight = typed
    bad = int(((h <= 0) | (h > 1)).sum())
    return bad, np.bincount(types, weight * h, count), float((weight * h) @ np.log(h))


def _ends_of(h: np.ndarray) -> tuple[float, float]:
    return float(h.min()), float(h.max())


def _tallied(rows: dict[str, Any]) -> tuple[Tally, np.ndarray, np.ndarray]:
    weight = rows.get("sample_weight")
    own, codes = tally(rows["sensitive_features"], rows.get("labels"), weight)
    each = np.ones(len(codes)) if weight is None else np.asarray(weight, dtype=np.float64)
    return own, codes, each


def _first(of: tuple[Any, ...]) -> Any:
    return of[0]


def _typed(
    counted: tuple[Any, ...], typed: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Return each person's type and weight; those who lack a sensitive value have none."""
    (_, codes, weight, *_), (types, known) = counted, typed
    return types[codes], weight * known[codes]


def _all_of(parts: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    types, weights = zip(*parts)
    return np.concatenate(types), np.concatenate(weights)


def _some_of(
    typed: tuple[np.ndarray, np.ndarray], index: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    types, weight = typed
    return types[index], weight[index]


def _mass_of(typed: tuple[np.ndarray, np.ndarray], count: int) -> np.ndarray:
    types, weight = typed
    return np.bincount(types, weight, count)


def _columns_of(typed: tuple[np.ndarray, np.ndarray], vectors: np.ndarray) -> np.ndarray:
    return np.asarray(vectors[:, typed[0]].T)
