"""`otfair predict`: scores and decisions of a saved model for the people of a table.

Score people with a model of `otfair fit`. The table needs the columns of the features
only, never the sensitive ones; others are ignored. One row per person comes out, in the
order of the table. Reading a model runs no code from it.

  otfair predict model new.csv > scores.csv
  otfair predict model new.parquet --keep id --threshold 0.3 -o scores.parquet
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from otfair.cli._columns import named_columns, require_columns
from otfair.cli._options import Outcome, add_reading, unit
from otfair.cli._output import output_file
from otfair.cli._task import load
from otfair.cli.fit import MODEL, RECORD
from otfair.saving import load_model
from otfair.tables import Table, TableError, is_number, plain_text

PARQUET = (".parquet", ".pq")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what `otfair predict` takes."""
    add = parser.add_argument
    add("model", metavar="MODEL", type=Path, help="folder or file of the model")
    add_reading(parser)
    add("--threshold", type=unit, metavar="T",
        help="add a column of decisions, positive above this score")  # fmt: skip
    add("--keep", action="append", default=[], metavar="A,B", help="columns to copy to the output")
    add("-o", "--output", type=Path, metavar="FILE", help="CSV, or Parquet if the name ends so; "
        ".gz compresses (default: standard output)")  # fmt: skip


def run(options: argparse.Namespace) -> Outcome:
    """Read model and table, predict, write."""
    model, record = read_model(options.model)
    table, _ = load(options)
    X = features_of(table, model, record)
    kept = named_columns(table, options.keep, "--keep")
    if taken := [c for c in kept if c in ("score", "decision")]:
        raise TableError(
            f"--keep {taken[0]} would stand beside the column of that name; rename it."
        )
    scores = model.predict_proba(X)[:, 1]
    out = table.frame[kept].assign(score=scores)
    summary: dict[str, Any] = {"people": len(out), "mean_score": float(scores.mean())}
    said = f"{len(out)} people"
    if options.threshold is not None:
        label = record.get("label", {"negative": 0, "positive": 1})
        decided = (scores > options.threshold).astype(int)
        out["decision"] = np.array([label["negative"], label["positive"]], dtype=object)[decided]
        summary |= {"threshold": options.threshold, "positive": label["positive"]}
        summary["positive_decisions"] = int(decided.sum())
        said += f", {decided.sum()} of them {label['positive']!r} at {options.threshold:g}"
    if options.output is None:
        columns = {str(c): out[c].tolist() for c in out}
        text = out.to_csv(index=False, lineterminator="\n")
        return Outcome(text.removesuffix("\n"), {**summary, **columns})
    with output_file(options.output, options.table) as part:
        write_table(out, part)
    return Outcome(f"{said}: {options.output}", {**summary, "file": str(options.output)})


def read_model(path: Path) -> tuple[Any, dict[str, Any]]:
    """Return a model, and the record that `fit` wrote next to it, where there is one."""
    file = path / MODEL if path.is_dir() else path
    if not file.is_file():
        what = f"no {MODEL} in {path}" if path.is_dir() else f"no model at {path}"
        raise TableError(f"there is {what}. Pass the folder that `otfair fit -o` wrote.")
    stored = file.with_name(RECORD)
    record: dict[str, Any] = {}
    if file.name == MODEL and stored.is_file():
        try:
            record = json.loads(stored.read_text(encoding="utf-8"))
            label = record["label"]
            sound = isinstance(record["features"], dict) and {"positive", "negative"} <= set(label)
        except (ValueError, KeyError, TypeError):
            sound = False
        if not sound:
            raise TableError(
                f"{stored} is damaged, or was not written by `otfair fit`. Restore it, or remove "
                "it to have decisions as 0 and 1."
            )
    model = load_model(file)
    if not hasattr(model, "predict_proba"):
        raise TableError(f"{file} holds a {type(model).__name__}, which can't predict.")
    return model, record


def features_of(table: Table, model: Any, record: dict[str, Any]) -> pd.DataFrame:
    """Return the columns that the model needs, of the types it was trained on."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        raise TableError("the model was trained without names of columns; use it from Python.")
    X = table.frame[require_columns(table, list(names), "the model")].copy()
    for name, kind in record.get("features", {}).items():
        if name in X:
            X[name] = _as_trained(X[name], kind, table)
    for learnt in getattr(model[0] if hasattr(model, "steps") else model, "columns_", ()):
        values = set(map(plain_text, X[learnt.name].dropna().unique()))
        if learnt.levels and values and values.isdisjoint(learnt.levels):
            warnings.warn(
                f"no value of column {learnt.name!r} was there in training, where it held "
                f"{', '.join(map(repr, learnt.levels[:3]))}, ...; is it the same column?",
                stacklevel=2,
            )
    return X


def _as_trained(column: pd.Series[Any], kind: str, table: Table) -> Any:
    if kind != "number" or is_number(column):
        return column
    if column.isna().all():
        return column.astype(object).astype(np.float64)
    value, place, _ = table.no_number(str(column.name))
    raise TableError(
        f"column {column.name!r} of {table.source} held numbers in training, and now text: "
        f"{value!r} in {place}, for one. Write it as a number, or leave it empty where it is not "
        "known."
    )


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """Write CSV, gzipped or not, or Parquet, as the suffix says."""
    if path.suffix not in PARQUET:
        frame.to_csv(path, index=False, compression="gzip" if path.suffix == ".gz" else None)
        return
    try:
        frame.to_parquet(path, index=False, engine="pyarrow")
    except ImportError:
        raise TableError(
            "Parquet needs pyarrow. Install it with `pip install 'otfair[parquet]'`, or write CSV."
        ) from None
