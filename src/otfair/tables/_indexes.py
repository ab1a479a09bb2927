"""Rows are joined by their position; indexes of pandas that say otherwise are an error."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from otfair._io.arrays import Array


def same_people(given: Mapping[str, Array]) -> None:
    """Raise where two arguments have indexes of their own that are not the same.

    A default index, 0 to n - 1, says nothing, unless it holds the other's labels in another order.
    """
    found = [(name, index) for name, values in given.items() for index in _indexes(values)]
    for j, (name, index) in enumerate(found):
        for earlier, other in found[:j]:
            if len(index) != len(other) or index.equals(other):
                continue  # lengths are compared elsewhere
            shuffled = bool(index.isin(other).all() and other.isin(index).all())
            if shuffled or not (_is_default(index) or _is_default(other)):
                order = "the same labels in another order" if shuffled else "other labels"
                raise ValueError(
                    f"the index of `{name}` has {order} than that of `{earlier}`, yet rows are "
                    f"joined by position. Align them, as with `.loc[{earlier}.index]`, or pass "
                    "`.to_numpy()` if their order is right."
                )


def _indexes(values: Array) -> list[pd.Index]:
    if isinstance(values, Mapping):
        return [index for column in values.values() for index in _indexes(column)]
    return [values.index] if isinstance(values, (pd.Series, pd.DataFrame)) else []


def _is_default(index: pd.Index) -> bool:
    return index.equals(pd.RangeIndex(len(index)))
