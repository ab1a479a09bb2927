"""`otfair compare`: two or more models, their gaps, and who gains and who loses."""

from __future__ import annotations

import argparse
import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from otfair._io.arrays import ArgumentError
from otfair._io.pdf import find_browser, to_pdf
from otfair._io.visible import visible
from otfair.auditing import Audit, Comparison, audit, compare_audits, comparison_sentences
from otfair.cli._columns import (
    continuous_names,
    read_scores,
    read_sensitive,
    read_weight,
    require_columns,
    say_kinds,
    split_names,
)
from otfair.cli._options import Outcome, UsageError
from otfair.cli._output import output_file, text_table
from otfair.cli._people import read_labels_of
from otfair.cli._task import load
from otfair.cli._words import read_names
from otfair.tables import Table, TableError, shown


def run(options: argparse.Namespace) -> Outcome:
    """Read, audit each, compare, write."""
    tables = [_load(options, name) for name in (options.table, *options.others)]
    if options.id is not None:
        tables, notes = _matched(tables, options.id)
    else:
        notes = []
    models = _models(tables, options.score)
    writing: Any = contextlib.nullcontext()
    if options.output is not None:  # what can't be written is said before the work is done
        if options.output.suffix.lower() == ".pdf":
            find_browser()
        writing = output_file(options.output, options.table, *options.others)
    with writing as part:
        audits = {name: _audited(table, score, options) for name, table, score in models}
        try:
            found = compare_audits(audits, paired=True if options.id else None)
        except ArgumentError as error:
            raise TableError(
                f"--id {options.id}: {error.problem.removeprefix('is True, but ')}"
            ) from None
        if part is not None:
            kind = part.suffix.lower()
            text = found.to_json() if kind == ".json" else found.to_html()
            part.write_bytes(to_pdf(text) if kind == ".pdf" else text.encode())
    sensitive = read_sensitive(tables[0], options.sensitive)
    return _outcome(found, audits, [f"sensitive: {say_kinds(sensitive)}", *notes], options)


def _load(options: argparse.Namespace, name: str) -> Table:
    return load(argparse.Namespace(**vars(options) | {"table": name}))[0]


def _models(tables: list[Table], given: str) -> list[tuple[str, Table, str]]:
    """Return the name, table and column of each model."""
    known = dict.fromkeys(column for table in tables for column in table.columns)
    scores = split_names([given], known)
    if len(tables) == 1:
        if len(scores) < 2:
            raise UsageError(
                "one table needs two or more columns of scores, such as --score old,new; or name a "
                "second table"
            )
        require_columns(tables[0], scores, "--score")
        return [(score, tables[0], score) for score in scores]
    if len(scores) == 1:
        scores *= len(tables)
    if len(scores) != len(tables):
        raise UsageError(
            f"--score names {len(scores)} columns for {len(tables)} tables; name one for all, or "
            "one for each"
        )
    for table, score in zip(tables, scores):
        require_columns(table, [score], "--score")
    stems = [Path(table.source).stem for table in tables]
    names = stems if len(set(stems)) == len(stems) else [table.source for table in tables]
    return [*zip([*_apart(names)], tables, scores)]


def _apart(names: list[str]) -> Iterator[str]:
    """Yield names of which none comes twice."""
    for k, name in enumerate(names):
        yield f"{name} ({names[:k].count(name) + 1})" if name in names[:k] else name


def _matched(tables: list[Table], key: str) -> tuple[list[Table], list[str]]:
    """Return tables with the same people in the same order, and how many were left out."""
    for table in tables:
        require_columns(table, [key], "--id")
        column = table.frame[key]
        if column.isna().any():
            raise TableError(
                f"--id {key}: {int(column.isna().sum())} rows of {table.source} have none."
            )
        if column.duplicated().any():
            raise TableError(
                f"--id {key}: {shown(str(column[column.duplicated()].iloc[0]))!r} is in more than "
                f"one row of {table.source}; it must tell people apart."
            )
    keys = [pd.Index(table.frame[key].astype(str)) for table in tables]
    common = keys[0]
    for other in keys[1:]:
        common = common[common.isin(other)]
    if not len(common):
        raise TableError(f"--id {key}: nobody is in all of the tables.")
    matched, notes = [], []
    for table, own in zip(tables, keys):
        frame = table.frame.iloc[own.get_indexer(common)].reset_index(drop=True)
        matched.append(Table(frame, source=table.source, format=table.format))
        if lost := len(own) - len(common):
            notes.append(
                f"note: {lost} of {len(own)} people of {table.source} are not in all tables"
            )
    return matched, notes


def _audited(table: Table, score: str, options: argparse.Namespace) -> Audit:
    """Audit the scores of one model, without distances."""
    single = {"label": options.label, "weight": options.weight}
    for option, column in single.items():
        if column is not None:
            require_columns(table, [column], f"--{option}")
    sensitive = read_sensitive(table, options.sensitive)
    labels, outcome, _ = read_labels_of(table.frame, options)
    try:
        return audit(
            read_scores(table, score, options.skip_unscored, labels, outcome),
            sensitive_features=sensitive,
            labels=labels,
            positive_label=outcome,
            threshold=options.threshold,
            skip_unscored=options.skip_unscored,
            sample_weight=read_weight(table, options.weight),
            continuous=continuous_names(sensitive),
            n_bootstrap=options.bootstrap,
            random_state=options.seed,
            favourable=options.favourable,
            names=None if options.names is None else read_names(Path(options.names)),
            min_people=options.min_group,
            title=score,
        )
    except ArgumentError as error:
        words = {"scores": f"--score {score}:", "labels": f"--label {options.label}:"}
        option = words.get(error.argument, f"`{error.argument}`")
        raise TableError(f"{table.source}: {option} {error.problem}") from error


def _outcome(
    found: Comparison, audits: dict[str, Audit], notes: list[str], options: argparse.Namespace
) -> Outcome:
    names = [shown(name) for name in found.models]
    notes = [*notes, *_left_out(audits)]
    said = [f"{' and '.join(names)}: {' and '.join(f'{n:,}' for n in found.people)} people", *notes]
    rows = []
    for f in found.figures:
        row = {"of": f.group or f.attribute or "all", "figure": f.figure.replace("_", " ")}
        row |= {name: f"{e.value:.3f}" for name, e in zip(names, f.values)}
        for name, d, beyond in zip(names[1:], f.differences, f.beyond):
            ends = "" if d.low != d.low else f" ({d.low:+.3f} to {d.high:+.3f})"
            row[f"{name} - {names[0]}"] = f"{d.value:+.3f}{ends}{' *' * beyond}"
        rows.append(row)
    said += ["", text_table(pd.DataFrame(rows)), "* beyond chance (5 %, Holm's correction)", ""]
    said += map(visible, comparison_sentences(found))
    if options.output is not None:
        said += ["", f"report: {options.output}"]
    data = json.loads(found.to_json()) | {"sentences": comparison_sentences(found)}
    data["worst"] = {name: one.worst for name, one in audits.items()}
    return Outcome("\n".join(said), data)


def _left_out(audits: dict[str, Audit]) -> list[str]:
    """Say of each model whose rows have no part in it."""
    return [
        f"note: {n} {'row is' if n == 1 else 'rows are'} left out of {shown(name)}: {why}"
        for name, one in audits.items()
        for why, n in one.record.dropped.items()
    ]
