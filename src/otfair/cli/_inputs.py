"""Files that options name, which are looked for before anything takes time."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import ClassVar

from otfair._io.inputs import is_there, say_missing
from otfair.cli._names import DATASETS


class InputFile(str):
    """The name of a file that a command reads, looked for before anything takes time."""

    may_be_folder: ClassVar[bool] = False

    def check(self, may_be_folder: bool = False) -> None:
        """Raise where no file is there; "-" is standard input."""
        if self != "-" and not is_there(Path(self)):
            raise FileNotFoundError(self.missing())
        if Path(self).is_dir() and not (may_be_folder or self.may_be_folder):
            raise IsADirectoryError(f"{self} is a folder; name a file in it.")

    def missing(self) -> str:
        """Say that nothing is there."""
        return say_missing(Path(self))


class InputTable(InputFile):
    """The name of a file with a table, or of a dataset."""

    @property
    def is_dataset(self) -> bool:
        """Whether a dataset is meant; a file of that name comes first."""
        return self in DATASETS and not Path(self).is_file()

    def check(self, may_be_folder: bool = False) -> None:
        """Raise where there is neither."""
        if not self.is_dataset:
            super().check(may_be_folder)

    def missing(self) -> str:
        """Say that nothing is there, and what datasets there are."""
        known = "" if Path(self).suffix else f" The datasets are: {', '.join(DATASETS)}."
        return super().missing() + known


class InputModel(InputFile):
    """The name of a folder or file with a model."""

    may_be_folder = True

    def missing(self) -> str:
        """Say that nothing is there."""
        return say_no_model(f"no model at {self}")


def say_no_model(what: str) -> str:
    """Say what is not there, and what to pass in its place."""
    return f"there is {what}. Pass the folder that `otfair fit -o` or `otfair decide -o` wrote."


def check_inputs(options: argparse.Namespace) -> None:
    """Raise where a file that is to be read is not there."""
    on_workers = getattr(options, "dask", None) is not None
    for name, given in vars(options).items():
        for one in given if isinstance(given, list) else [given]:
            if isinstance(one, InputFile):
                one.check(may_be_folder=name == "table" and on_workers)
