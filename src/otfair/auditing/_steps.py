"""The steps of an audit that depend on where people are: on this machine, or on Dask's workers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Steps:
    """What an audit does with people, in its order; each takes what the one before returned."""

    read: Callable[..., Any]
    choose_columns: Callable[..., Any]
    read_features: Callable[..., Any]
    distances: Callable[..., Any]
    neighbourhood: Callable[..., Any]
    draw_counts: Callable[..., Any]
    cost_of_fairness: Callable[..., Any]
    add_bound: Callable[..., Any]
    find_regions: Callable[..., Any]
    curves: Callable[..., Any]
    #: Findings, people and features as an audit keeps them.
    keep_people: Callable[..., Any]
    libraries: tuple[str, ...] = ()  # whose versions are recorded, too
