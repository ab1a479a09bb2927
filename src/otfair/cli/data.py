"""`otfair data`: which datasets there are, where their files lie, and a table to try things on."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from otfair.cli._options import Outcome, UsageError
from otfair.cli._output import output_file, text_table, write_table
from otfair.datasets import (
    SOURCES,
    download_dataset,
    locate_dataset,
    make_synthetic,
    resolve_home,
    source_of,
    verify_dataset,
)
from otfair.tables import TableError

LEAST = 20  # rows of a sample


def run(options: argparse.Namespace) -> Outcome:
    """List, or look after one dataset."""
    if options.action == "list":
        return _list(options.data_home)
    name, home = options.name, options.data_home
    if name is None:
        known = f"Choose one of: {', '.join(SOURCES)}."
        wanted = "Name the file, such as loans.csv." if options.action == "sample" else known
        raise TableError(f"otfair data {options.action} needs a name; received none. {wanted}")
    if options.action == "sample":
        return _sample(Path(name), options.rows, options.seed)
    files_of = [file.name for file in source_of(name).files]
    if not files_of:
        said = f"{name} has no file: it is made when it is asked for."
        return Outcome(said, {"name": name, "files": {}})
    find = {"where": locate_dataset, "download": download_dataset, "verify": verify_dataset}
    paths = find[options.action](name, home)
    if missing := [file for file in files_of if file not in paths]:
        raise TableError(
            f"{', '.join(missing)} of {name} is not in {resolve_home(home)}. Fetch it with `otfair "
            f"data download {name}`, or point --data-home or OTFAIR_DATA_HOME to its folder."
        )
    files = {file: str(path) for file, path in paths.items()}
    sound = "" if options.action == "where" else ": sound"
    said = "\n".join(f"{path}{sound}" for path in files.values())
    return Outcome(said, {"name": name, "files": files})


def _sample(target: Path, rows: int, seed: int) -> Outcome:
    """Write made-up loans: features, sensitive columns, and whether the loan was granted."""
    if rows < LEAST:
        raise UsageError(f"--rows must be at least {LEAST}; received {rows}")
    data = make_synthetic(rows, seed=seed)
    label = pd.Series(np.where(data.y == 1, "yes", "no"), name="granted")
    frame = pd.concat([data.sensitive_features, data.X, label], axis=1)
    with output_file(target) as part:
        write_table(frame, part)
    columns = list(map(str, frame.columns))
    sensitive = ", ".join(map(str, data.sensitive_features.columns))
    said = f"{rows} people: {target} (label: granted; sensitive: {sensitive})"
    return Outcome(said, {"people": rows, "seed": seed, "columns": columns, "file": str(target)})


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
