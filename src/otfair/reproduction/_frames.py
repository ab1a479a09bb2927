"""Results as a table, and which of its rows a panel of the figures shows."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, ParamSpec
from weakref import ref

import numpy as np
import pandas as pd

from otfair.reproduction._plan import COLUMNS
from otfair.reproduction._store import Result

# Two attributes together: the larger of the shares that are left of the unfair model's violations,
# and the larger of the violations themselves.
TOGETHER = ("sex", "race")
BOTH, LARGER = "sex+race", "larger"
# Dataset, attribute by which violations are judged, columns that penalties were trained on.
Panel = tuple[str, str, tuple[str, ...]]
PANELS: tuple[Panel, ...] = tuple(
    (dataset, attribute, columns)
    for dataset, runs in COLUMNS.items()
    for columns in runs
    for attribute in (*columns, *((BOTH, LARGER) if columns == TOGETHER else ()))
)
PANEL_OF = {panel[:2]: panel for panel in PANELS}
WORDS = {"age_binned": "age group"}  # for attributes whose columns are not called by a word
TITLES = {BOTH: "larger share of sex and race", LARGER: "larger violation of sex and race", **WORDS}
BRIEF = {BOTH: "larger share", LARGER: "larger violation", **WORDS}  # in figures


PROTOCOLS = {"full": "full protocol", "paper": "paper's protocol"}


@dataclass(frozen=True)
class Setup:
    """A way in which OTF was trained, by which the claims are judged."""

    name: str
    title: str
    protocol: str
    method: str


SETUPS = (
    Setup("published", "published method", "paper", "coordinate"),
    Setup("paper", f"{PROTOCOLS['paper']}, converged duals", "paper", "otf"),
    Setup("full", PROTOCOLS["full"], "full", "otf"),
)


P = ParamSpec("P")


def remembered(
    function: Callable[Concatenate[pd.DataFrame, P], pd.DataFrame],
) -> Callable[Concatenate[pd.DataFrame, P], pd.DataFrame]:
    """Compute the tables that are made of a frame of runs once, until another frame comes."""
    of: Callable[[], pd.DataFrame | None] = lambda: None
    tables: dict[Hashable, pd.DataFrame] = {}

    @wraps(function)
    def table(frame: pd.DataFrame, /, *args: P.args, **kwargs: P.kwargs) -> pd.DataFrame:
        nonlocal of
        if of() is not frame:
            of = ref(frame)
            tables.clear()
        key = args, tuple(kwargs.items())
        if key not in tables:
            tables[key] = function(frame, *args, **kwargs)
        return tables[key].copy()

    return table


def select(frame: pd.DataFrame, **wanted: Any) -> pd.DataFrame:
    """Return the rows whose columns have the wanted values."""
    each = [(frame[name] == value).to_numpy(dtype=bool) for name, value in wanted.items()]
    return frame[np.logical_and.reduce(each)] if each else frame  # one copy for all of them


def to_frame(results: Iterable[Result]) -> pd.DataFrame:
    """Return one row per run that succeeded: its configuration and its metrics.

    Curves are drawn and judged against the unfair model of their split. Where that is missing, as
    in a store that is not whole, they are left out.
    """
    rows = [{**vars(r.run), **r.metrics, "seconds": r.seconds} for r in results if not r.error]
    frame = pd.DataFrame(rows)
    keys = ["dataset", "protocol", "split"]
    free = select(frame, method="unfair", experiment="curves")
    judged = pd.MultiIndex.from_frame(frame[keys]).isin(pd.MultiIndex.from_frame(free[keys]))
    frame = frame[judged | (frame["experiment"] != "curves")].reset_index(drop=True)
    for name in [f"{part}_{notion}" for part in ("train", "test") for notion in ("pdp", "peo")]:
        each = [f"{name}_{attribute}" for attribute in TOGETHER]
        if set(each) <= set(frame):
            unfair = frame[keys].merge(free[[*keys, *each]], on=keys, how="left")[each]
            shares = frame[each].to_numpy(float) / unfair.to_numpy(float)
            frame[f"{name}_{BOTH}"] = shares.max(axis=1)
            frame[f"{name}_{LARGER}"] = frame[each].to_numpy(float).max(axis=1)
    return frame


def panel_runs(frame: pd.DataFrame, panel: Panel) -> pd.DataFrame:
    """Return the runs that a panel shows: of its columns, the barycenter's, the unfair model's."""
    dataset, attribute, columns = panel
    if f"test_pdp_{attribute}" not in frame:
        return frame[:0]
    frame = select(frame, dataset=dataset)
    frame = frame[frame[f"test_pdp_{attribute}"].notna()]
    own = frame["columns"].map(lambda c: c == columns)
    # The barycenter is trained on one column, and judged by every one; on the same splits.
    others = frame["method"].isin(["unfair", "barycenter"])
    if own.any():
        others &= frame["split"].isin(frame[own]["split"])
    return frame[own | others]


def shown(runs: pd.DataFrame, method: str, notion: str) -> pd.DataFrame:
    """Return a method's runs that count under a notion: those that optimised it, if they do."""
    own = runs[(runs["method"] == method) & (runs["sweeps"] != 1)]
    return select(own, notion=notion) if method not in ("unfair", "barycenter") else own


def title(panel: Panel, brief: bool = False) -> str:
    """Name a panel."""
    attribute = (BRIEF if brief else TITLES).get(panel[1], panel[1])
    return f"{panel[0].capitalize()}, {attribute}"


def trained(columns: Iterable[str]) -> str:
    """Name the attributes that a model was trained for."""
    return " and ".join(WORDS.get(column, column) for column in columns)
