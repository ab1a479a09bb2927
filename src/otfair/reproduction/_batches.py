"""Distances of mini-batches, measured once for all runs that see the same batches.

Runs of one split draw the same batches, whatever their strength and notion, and most of a step is
the distances between the people of its batch. They are kept without the features they were measured
by; those to the types of one notion are merged into those of another that tells fewer apart.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from otfair._io.arrays import Array
from otfair.geometry import Geometry
from otfair.losses import OTFLoss
from otfair.notions import Part, People

MOST_KEPT = 2**31  # bytes of distances; batches past it are measured each time


class Known(dict[bytes, Geometry]):
    """Batches by what they are made of; copies of a loss share them."""

    def __init__(self) -> None:
        super().__init__()
        self.of_features: dict[bytes, Measured] = {}  # of each the one with most types
        self.n_bytes = 0

    def keep(self, key: bytes, features: bytes, measured: Measured) -> None:
        """Keep what was measured of a batch, if there is room."""
        if self.n_bytes + measured.n_bytes > MOST_KEPT:
            return
        self[key], self.n_bytes = measured, self.n_bytes + measured.n_bytes
        most = self.of_features.get(features)
        if most is None or most.n_bytes < measured.n_bytes:
            self.of_features[features] = measured

    def merged(self, features: bytes, people: People) -> Geometry | None:
        """Return distances to the types of some people from those to finer types, if known."""
        finer = self.of_features.get(features)
        if finer is None:
            return None
        assert finer._cached_soft is not None
        columns = finer._cached_soft.columns
        union = torch.zeros(columns.n_types, dtype=torch.long)
        union[columns.person_types] = people.types
        if not torch.equal(union[columns.person_types], people.types):
            return None  # a type of theirs belongs to several of these
        return finer.merged(union, len(people.type_names))

    def __deepcopy__(self, _memo: dict[int, Any]) -> Self:
        return self


class Measured(Geometry):
    """People between whom soft distances were measured, and nothing else is known."""

    def __init__(self, measured: Geometry) -> None:
        soft = measured._cached_soft
        assert soft is not None
        super().__init__(measured.row_points, measured.row_index, measured.column_index, None)
        self.scale_ = measured.scale_
        self._cached_soft = replace(soft, geometry=self)
        self.n_bytes = soft.by_type.nbytes

    def _blocks(self, columns: Tensor, factor: float) -> Callable[[int, int], Tensor]:
        raise AssertionError("distances are kept for one smoothing and one set of types")


class KnownBatches(OTFLoss):
    """The OTF cost in batch mode, with distances from `known` where a batch was seen before."""

    def __init__(self, *args: Any, known: Known, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.known, self._features, self._key = known, b"", b""

    def _geometry_of(self, X: Array, people: People) -> Geometry:
        made_of = hashlib.sha1(usedforsecurity=False)
        for part in (X, people.weight):
            made_of.update(np.ascontiguousarray(part).data)
        self._features = made_of.digest()
        made_of.update(np.ascontiguousarray(people.types).data)
        self._key = made_of.digest()
        seen = self.known.get(self._key)
        if seen is None:
            seen = self.known.merged(self._features, people)
        return super()._geometry_of(X, people) if seen is None else seen

    def _views(
        self,
        people: People,
        geometry: Geometry | None,
        parts: Sequence[Part],
        mine: Tensor | None = None,
    ) -> Sequence[Geometry | None]:
        views = super()._views(people, geometry, parts, mine)
        if self._key not in self.known:
            assert geometry is not None
            self.known.keep(self._key, self._features, Measured(geometry))
        return views
