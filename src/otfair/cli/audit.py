"""`otfair audit`: how unfair the scores of a table are, to whom, and who would give to whom."""

from __future__ import annotations

import argparse
import contextlib
import json
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import Any

import pandas as pd

from otfair._io.arrays import ArgumentError
from otfair._io.pdf import find_browser, to_pdf
from otfair.auditing import NO_DISTANCES, Audit, Places, audit, why_free
from otfair.cli import _law
from otfair.cli._answers import decision_tables, first_lines
from otfair.cli._changes import read_earlier, with_changes
from otfair.cli._columns import (
    continuous_names,
    kind_names,
    named_columns,
    read_reference,
    say_kinds,
    split_names,
)
from otfair.cli._dask import connected
from otfair.cli._dask_audit import read_on_workers
from otfair.cli._gates import audited_notions, check_needs, gate_notes, limits
from otfair.cli._options import TOO_UNFAIR, Outcome
from otfair.cli._output import output_file, text_table
from otfair.cli._people import read_people
from otfair.cli._task import described, refuse_numbers, remarks
from otfair.cli._words import read_names, say_unused
from otfair.tables import Table, TableError

SHOWN = {  # columns of the summary that are printed, and what to call them
    "notion": "notion",
    "attribute": "attribute",
    "violation": "violation",
    "interval": "95 % interval",
    "rate_difference": "decisions",
    "moved": "moved",
    "distance": "distance",
}
MEANING = (
    "decisions: largest difference between groups in positive decisions (for predictive_parity, "
    "in how often these\nare right); moved: share of all score that the cheapest way to be fair "
    "moves; distance: how different those are\nwho give and receive, where 1 is two people picked "
    "at random"
)


def run(options: argparse.Namespace) -> Outcome:
    """Read, audit, write."""
    if options.law is not None:
        return _law.run(options)
    check_needs(options)
    with contextlib.nullcontext() if options.dask is None else connected(options.dask):
        return _run(options)


def _run(options: argparse.Namespace) -> Outcome:
    notions, earlier = audited_notions(options), read_earlier(options)
    given = read_people(options) if options.dask is None else read_on_workers(options)
    table, sensitive, notes = given.table, given.sensitive, given.notes
    refuse_numbers(notions or (), sensitive)
    taken = [c for c in (options.score, options.label, options.weight) if c is not None]
    taken += list(map(str, sensitive.columns))
    control = named_columns(table, options.control, "--control")
    if twice := {name for name in taken if (taken + control).count(name) > 1}:
        raise TableError(
            f"{min(twice)!r} can't be two of --score, --label, --weight, --sensitive and --control."
        )
    if options.features is None:
        features = [c for c in table.columns if c not in taken or c in sensitive]  # it says why not
    else:
        features = named_columns(table, options.features, "--features")
    dropped = named_columns(table, options.drop, "--drop")
    kept = [c for c in features if c not in dropped]
    notes += [] if kept else [NO_DISTANCES]
    names = {} if options.names is None else read_names(Path(options.names))
    notes += say_unused(names, given.known(names))
    notes += gate_notes(options)
    crossed = [split_names([text], sensitive.columns) for text in options.cross]
    writing: Any = contextlib.nullcontext()
    if options.output is not None:  # what can't be written is said before the work is done
        if options.output.suffix.lower() == ".pdf":
            find_browser()
        writing = output_file(options.output, options.table)
    with writing as part, _card_file(options) as card:
        found = _audited(
            options,
            given.scores(),
            given.rows[kept] if kept else None,
            sensitive_features=given.sensitive_features,
            labels=given.labels,
            positive_label=given.outcome,
            notions=notions,
            threshold=options.threshold,
            skip_unscored=options.skip_unscored,
            sample_weight=given.weight(),
            control_features=given.rows[control] if control else None,
            continuous=continuous_names(sensitive),
            categorical=given.categorical,
            keep=kept if options.features is not None else (),
            n_bootstrap=options.bootstrap,
            random_state=options.seed,
            receivers=options.receivers,
            bounded=options.bounded,
            favourable=options.favourable,
            reference=read_reference(options.reference, sensitive.columns, crossed),
            cross=crossed,
            names=names,
            min_people=options.min_group,
            limits=limits(options),
            verbose=True,
        )
        title = options.title or f"{options.score} of {Path(table.source).name}"
        numbers = dict.fromkeys([*kept, options.score, options.weight, *sensitive.columns])
        found = described(found, table, title, remarks(table, numbers))
        found = replace(found, places=_places(table, found.record.rows_received))
        if earlier is not None:
            found = replace(found, changed=found.changes(earlier))
        if part is not None:
            kind = part.suffix.lower()
            text = found.to_json() if kind == ".json" else found.to_html()
            part.write_bytes(to_pdf(text) if kind == ".pdf" else text.encode())
        if card is not None:
            command = " ".join(map(quote, ["otfair", *options.arguments]))
            card.write_bytes(found.to_card(command=command).encode())
    said = _outcome(found, table.source, sensitive, notes, options)
    return with_changes(said, found, options)


def _audited(options: argparse.Namespace, *given: Any, **settings: Any) -> Audit:
    """Audit, and speak of options where Python speaks of arguments."""
    names = {
        "scores": f"--score {options.score}:",
        "labels": f"--label {options.label}:",
        "sample_weight": "--weight",
        "sensitive_features": "--sensitive",
        "reference": "--reference",
        "cross": "--cross",
    }
    try:
        return audit(*given, **settings)
    except ArgumentError as error:
        option = names.get(error.argument, f"`{error.argument}`")
        raise TableError(f"{option} {error.problem}") from error


def _card_file(options: argparse.Namespace) -> Any:
    """Return what yields the file of the model card, if one is named."""
    if options.card is None:
        return contextlib.nullcontext()
    return output_file(options.card, options.table)


def _places(table: Table, n: int) -> Places:
    """Say where the rows of a table are, as messages do."""
    if table.lines is not None:
        meaning = "Lines are those of the file, in which the names of the columns come first."
        return Places(what="line", numbers=table.lines, meaning=meaning)
    rows = range(1, n + 1)
    return Places(what="row", numbers=rows, meaning="Rows are those of the table, counted from 1.")


def _outcome(
    found: Audit,
    source: str,
    sensitive: pd.DataFrame,
    notes: list[str],
    options: argparse.Namespace,
) -> Outcome:
    worst, summary = float(found.worst), found.summary()
    ends = zip(summary["violation_low"], summary["violation_high"])
    summary["interval"] = [f"{low:.3f} to {high:.3f}" for low, high in ends]
    failed = any(status.sure for status in found.statuses)
    record = found.record
    rows = {why: "row is" if n == 1 else "rows are" for why, n in record.dropped.items()}
    lost = [f"{n} {rows[why]} left out: {why}" for why, n in record.dropped.items()]
    unused = [f"column {c!r} is no feature: {why}" for c, why in record.columns_left_out.items()]
    if any(why.is_guess for why in record.columns_left_out.values()):
        unused.append("a column that only looks so is used if --features names it")
    notes = [*notes, *lost, *unused, *record.notes]
    said = [f"{source}: {record.rows_used} people, largest violation {worst:.4f}"]
    said += [*first_lines(found), *decision_tables(found), ""]
    said += [f"sensitive: {say_kinds(sensitive)}", *(f"note: {note}" for note in notes)]
    shown = [column for column in SHOWN if column != "interval" or options.bootstrap]
    said += ["", text_table(summary[shown].rename(columns=SHOWN)), MEANING]
    said += _free(found)
    if options.output is not None:
        said += ["", f"report: {options.output}"]
    data = json.loads(found.to_json())
    data |= {"kinds": kind_names(sensitive)}
    data |= {"source": source, "worst": worst, "failed": failed}
    return Outcome("\n".join(said), data, TOO_UNFAIR if failed else 0)


def _free(found: Audit) -> list[str]:
    """Say why fairness looks free, in full of one finding, and of which others it does."""
    reasons = {f"{f.notion}, {f.attribute}": why_free(f.cost) for f in found.findings}
    (name, why), *others = [(name, why) for name, why in reasons.items() if why] or [("", "")]
    said = [f"{name}: {why}"] if why else []
    if others:
        said += [f"Likewise, as the report says: {'; '.join(name for name, _ in others)}."]
    return said
