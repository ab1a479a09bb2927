"""What is known about a dataset before it is loaded, and how a table of it is read."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from otfair.datasets._dataset import Dataset
from otfair.datasets._files import DataFile, load_bytes

Parts = tuple[pd.DataFrame, NDArray[np.int64], pd.DataFrame]  # X, y, sensitive features


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A choice that the paper leaves open: the option's name, our default, and the reason."""

    option: str
    default: bool
    reason: str


@dataclass(frozen=True, kw_only=True)
class Source:
    """A dataset: facts about it, its raw files, and the recipe that makes a table of them.

    Each has a file of its own; `SOURCES` in `_load.py` lists them.
    """

    name: str
    label: str  # what a label of 1 means, in a few words
    sensitive: tuple[str, ...]  # columns
    recipe: Callable[..., Any]  # of the files' contents, with the choices as keywords
    rows: int | None = None  # None: as many as are asked for
    text: str = ""
    licence: str = ""
    citation: str = ""
    files: tuple[DataFile, ...] = ()
    choices: tuple[Choice, ...] = ()
    # Sensitive columns that the paper's experiments train on, in separate runs.
    experiments: tuple[tuple[str, ...], ...] = ()

    def load(self, home: Path, *, download: bool, options: dict[str, Any]) -> Dataset:
        """Read the files in `home`, fetched first where `download` allows it."""
        values = self.resolve(options)
        contents = [load_bytes(file, home, download=download) for file in self.files]
        X, y, sensitive = self.recipe(*contents, **values)
        assert len(X) == len(y) == len(sensitive) == self.rows, f"{self.name}: {len(X)} rows"
        return Dataset(
            name=self.name,
            X=X,
            y=y,
            sensitive_features=sensitive,
            description=self.describe(values),
            licence=self.licence,
            citation=self.citation,
        )

    def resolve(self, options: dict[str, Any]) -> dict[str, bool]:
        """Return every option with the value given for it, or its default."""
        defaults = {choice.option: choice.default for choice in self.choices}
        for option, value in options.items():
            if option not in defaults:
                known = ", ".join(f"`{known}`" for known in defaults) or "none"
                raise TypeError(
                    f"Dataset {self.name!r} has no option `{option}`. Its options are: {known}."
                )
            if not isinstance(value, bool):
                raise TypeError(f"`{option}` must be True or False; received {value!r}.")
        return defaults | options

    def describe(self, values: dict[str, bool]) -> str:
        """Text about the data, with the choices as they were made."""
        made = [
            f"{c.option}={values[c.option]} (default {c.default}). {c.reason}" for c in self.choices
        ]
        return "\n\n".join([self.text, *made])


def read_csv(content: bytes, **options: Any) -> pd.DataFrame:
    # Only `?` is missing: left to its defaults, pandas would also take the value `None` for a gap.
    table: pd.DataFrame = pd.read_csv(
        io.BytesIO(content),
        skipinitialspace=True,
        keep_default_na=False,
        na_values=["?"],
        low_memory=False,
        **options,
    )
    return table


def codes_as_categories(table: pd.DataFrame, columns: Any) -> pd.DataFrame:
    """Turn numeric codes into categories named by the code, in the order of the numbers."""
    as_category = {}
    for column in columns:
        codes, values = pd.factorize(table[column], sort=True)
        as_category[column] = pd.Categorical.from_codes(
            codes, pd.Index([str(value) for value in values])
        )
    return table.assign(**as_category)


def to_parts(X: pd.DataFrame, y: pd.Series[bool], sensitive: pd.DataFrame) -> Parts:
    """Text as categories, rows numbered from 0, labels as 0 and 1."""
    return (
        _text_as_category(X).reset_index(drop=True),
        y.to_numpy().astype(np.int64),
        _text_as_category(sensitive).reset_index(drop=True),
    )


def _text_as_category(table: pd.DataFrame) -> pd.DataFrame:
    text = [c for c in table if not isinstance(table[c].dtype, pd.CategoricalDtype)]
    text = [c for c in text if not pd.api.types.is_numeric_dtype(table[c])]
    return table.astype(dict.fromkeys(text, "category"))
