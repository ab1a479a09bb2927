"""What is known about a dataset before it is loaded, and how a table of it is read."""

from __future__ import annotations

import io
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import resources
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
    """A choice that is left open: the option's name, our default, its values, and the reason."""

    option: str
    default: bool | str
    reason: str
    values: Sequence[bool | str] = (True, False)


@dataclass(frozen=True, kw_only=True)
class Source:
    """A dataset: facts about it, its raw files, and the recipe that makes a table of them.

    Each has a file of its own, and a card with the facts; `SOURCES` in `_load.py` lists them.
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
    experiments: tuple[tuple[str, ...], ...] = ()  # sensitive columns of separate runs

    @classmethod
    def from_card(cls, name: str, recipe: Callable[..., Parts]) -> Source:
        """Take the facts from the dataset's card, `cards/<name>.toml`."""
        path = resources.files("otfair.datasets") / "cards" / f"{name}.toml"
        card = tomllib.loads(path.read_text(encoding="utf-8"))
        card["sensitive"] = tuple(card["sensitive"])
        card["experiments"] = tuple(map(tuple, card.get("experiments", ())))
        card["files"] = tuple(DataFile(**file) for file in card["files"])
        card["choices"] = tuple(Choice(**choice) for choice in card.get("choices", ()))
        return cls(name=name, recipe=recipe, **card)

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

    def resolve(self, options: dict[str, Any]) -> dict[str, bool | str]:
        """Return every option with the value given for it, or its default."""
        choices = {choice.option: choice for choice in self.choices}
        for option, value in options.items():
            if option not in choices:
                known = ", ".join(f"`{known}`" for known in choices) or "none"
                raise TypeError(
                    f"Dataset {self.name!r} has no option `{option}`. Its options are: {known}."
                )
            values = choices[option].values
            if not any(type(value) is type(known) and value == known for known in values):
                wanted = " or ".join(map(repr, values))
                raise TypeError(f"`{option}` must be {wanted}; received {value!r}.")
        return {name: options.get(name, choice.default) for name, choice in choices.items()}

    def describe(self, values: dict[str, bool | str]) -> str:
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
    codes = {c: table[c].astype("category").cat.rename_categories(str) for c in columns}
    return table.assign(**codes)


def to_parts(X: pd.DataFrame, y: pd.Series[bool], sensitive: pd.DataFrame) -> Parts:
    """Text as categories, rows numbered from 0, labels as 0 and 1."""
    return _text_as_category(X), y.to_numpy().astype(np.int64), _text_as_category(sensitive)


def _text_as_category(table: pd.DataFrame) -> pd.DataFrame:
    text = table.select_dtypes(exclude=["number", "bool", "category"])
    return table.astype(dict.fromkeys(text, "category")).reset_index(drop=True)
