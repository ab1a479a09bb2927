"""`otfair predict`: scores and decisions of a saved model for the people of a table."""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from otfair._io.folders import read_together
from otfair.cli._columns import named_columns, read_sensitive, require_columns
from otfair.cli._inputs import say_no_model
from otfair.cli._options import Outcome, UsageError
from otfair.cli._output import csv_text, is_parquet, output_file, write_table
from otfair.cli._task import load
from otfair.cli.fit import MODEL, RECORD
from otfair.decisions import FairDecisions
from otfair.saving import load_model
from otfair.tables import Table, TableError, is_number, plain_text, without_formulas


def run(options: argparse.Namespace) -> Outcome:
    """Read model and table, predict, write."""
    model, record = read_model(Path(options.model))
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
    decided, how = _decide(options, table, model, record, X, scores)
    if decided is not None:
        label = record.get("label", {"negative": 0, "positive": 1})
        out["decision"] = np.array([label["negative"], label["positive"]], dtype=object)[decided]
        summary |= {"threshold": options.threshold, "positive": label["positive"]}
        summary["positive_decisions"] = int(decided.sum())
        said += f", {decided.sum()} of them {label['positive']!r} {how}"
    if options.output is None:
        if not options.json:
            out = _harmless(out, options)
        columns = {str(c): out[c].tolist() for c in out}
        text = csv_text(out).removesuffix("\n")
        return Outcome(text, {**summary, **columns}, is_table=True)
    with output_file(options.output, options.table) as part:
        write_table(out if is_parquet(part) else _harmless(out, options), part)
    return Outcome(f"{said}: {options.output}", {**summary, "file": str(options.output)})


def _harmless(out: pd.DataFrame, options: argparse.Namespace) -> pd.DataFrame:
    """Return what goes to CSV, where text from a table runs nothing in a spreadsheet."""
    if options.keep_formulas:
        return out
    out, changed = without_formulas(out)
    if changed:
        warnings.warn(
            f"{changed} names or values look like formulas to a spreadsheet and have an apostrophe "
            "before them; --keep-formulas writes them as they are, and Parquet always does",
            stacklevel=2,
        )
    return out


def _decide(
    options: argparse.Namespace,
    table: Table,
    model: Any,
    record: dict[str, Any],
    X: pd.DataFrame,
    scores: np.ndarray,
) -> tuple[np.ndarray | None, str]:
    """Return decisions, (n,) 0 or 1, if there are any, and by what they are made."""
    threshold = options.threshold
    if not isinstance(model, FairDecisions):
        above = None if threshold is None else (scores > threshold).astype(int)
        return above, "" if threshold is None else f"at {threshold:g}"
    if threshold is not None:
        raise UsageError(
            f"--threshold: {options.model} decides by a rule of its own; leave the option out, or "
            "tune another rule with `otfair decide --threshold`"
        )
    sensitive = None
    if model.use_sensitive:
        if "sensitive" not in record:
            raise TableError(
                f"{options.model} decides by sensitive columns, which {RECORD} beside it names. "
                "Pass the folder that `otfair fit -o` or `otfair decide -o` wrote."
            )
        sensitive = read_sensitive(table, _as_kinds(record))
    return (model.predict(X, sensitive) == model.classes_[1]).astype(int), "by its rule"


def _as_kinds(record: dict[str, Any]) -> list[str]:
    """Return the sensitive columns of a record, with what they were taken for."""
    kinds = {"number": "continuous", "groups": "categorical"}
    return [f"{name}:{kinds[kind]}" for name, kind in record["kinds"].items()]


def read_model(path: Path) -> tuple[Any, dict[str, Any]]:
    """Return a model, and the record that `fit` wrote next to it, where there is one."""
    folder, name = (path, MODEL) if path.is_dir() else (path.parent, path.name)
    try:
        return read_together(folder, (name, RECORD), _read_model)
    except FileNotFoundError:
        what = f"no {MODEL} in {path}" if path.is_dir() else f"no model at {path}"
        if (folder / name).is_symlink():
            raise TableError(
                f"{folder / name} is a link to {(folder / name).readlink()}, which is not there. "
                "Copy the whole folder that `otfair fit -o` wrote, or its files with `cp -L`."
            ) from None
        raise TableError(say_no_model(what)) from None


def _read_model(file: Path, stored: Path) -> tuple[Any, dict[str, Any]]:
    if not file.is_file():
        raise FileNotFoundError(file)
    record: dict[str, Any] = {}
    if file.name == MODEL and stored.is_file():
        try:
            record = json.loads(stored.read_text(encoding="utf-8"))
            sound = _is_sound(record)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
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


def _is_sound(record: Any) -> bool:
    """Whether what is used of a record is of the kinds that `fit` writes."""
    label, kinds = record["label"], record.get("kinds", {})
    plain = all(isinstance(label[n], str | int | float) for n in ("negative", "positive"))
    features = all(isinstance(kind, str) for kind in record["features"].values())
    return plain and features and set(kinds.values()) <= {"number", "groups"}


def features_of(table: Table, model: Any, record: dict[str, Any]) -> pd.DataFrame:
    """Return the columns that the model needs, of the types it was trained on."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        raise TableError("the model was trained without names of columns; use it from Python.")
    X = table.frame[require_columns(table, list(names), "the model")].copy()
    for name, kind in record.get("features", {}).items():
        if name in X:
            X[name] = _as_trained(X[name], kind, table)
    classifier = model.estimator_ if isinstance(model, FairDecisions) else model
    encoder = classifier[0] if hasattr(classifier, "steps") else classifier
    if not hasattr(encoder, "columns_"):
        encoder = getattr(model, "encoder_", None)  # of the model of groups
    for learnt in getattr(encoder, "columns_", ()):
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
