"""`otfair data`: which datasets there are, where their files lie, and whether they are sound.

The datasets that other commands take in place of a file. `list` says what there is,
`where` where the files of one lie, `download` fetches what is missing, and `verify`
compares its files with their known sha256.

  otfair data
  otfair data download adult
  otfair data verify adult --data-home data
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd

from otfair.cli._options import Outcome
from otfair.cli._output import text_table
from otfair.datasets import (
    SOURCES,
    download_dataset,
    locate_dataset,
    resolve_home,
    source_of,
    verify_dataset,
)
from otfair.tables import TableError


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what `otfair data` takes."""
    add = parser.add_argument
    add("action", nargs="?", choices=["list", "where", "download", "verify"], default="list")
    add("name", nargs="?", metavar="NAME", help="one of the list")
    add("--data-home", type=Path, metavar="DIR",
        help="folder of the files (default: $OTFAIR_DATA_HOME, or the user's cache)")  # fmt: skip


def run(options: argparse.Namespace) -> Outcome:
    """List, or look after one dataset."""
    if options.action == "list":
        return _list(options.data_home)
    name, home = options.name, options.data_home
    if name is None:
        raise TableError(
            f"otfair data {options.action} needs a name; received none. Choose one of: "
            f"{', '.join(SOURCES)}."
        )
    wanted = [file.name for file in source_of(name).files]
    if not wanted:
        said = f"{name} has no file: it is made when it is asked for."
        return Outcome(said, {"name": name, "files": {}})
    find = {"where": locate_dataset, "download": download_dataset, "verify": verify_dataset}
    paths = find[options.action](name, home)
    if missing := [file for file in wanted if file not in paths]:
        raise TableError(
            f"{', '.join(missing)} of {name} is not in {resolve_home(home)}. Fetch it with `otfair "
            f"data download {name}`, or point --data-home or OTFAIR_DATA_HOME to its folder."
        )
    files = {file: str(path) for file, path in paths.items()}
    sound = "" if options.action == "where" else ": sound"
    said = "\n".join(f"{path}{sound}" for path in files.values())
    return Outcome(said, {"name": name, "files": files})


def _list(data_home: Path | None) -> Outcome:
    rows = []
    for source in SOURCES.values():
        here = len(locate_dataset(source.name, data_home)) == len(source.files)
        rows.append(
            {
                "name": source.name,
                "rows": source.rows or "any",
                "sensitive": ", ".join(source.sensitive),
                "label": source.label,
                "files": "none needed" if not source.files else "here" if here else "no",
            }
        )
    home = str(resolve_home(data_home))
    text = f"{text_table(pd.DataFrame(rows))}\n\nfiles are looked for in {home}"
    return Outcome(text, {"data_home": home, "datasets": rows})
