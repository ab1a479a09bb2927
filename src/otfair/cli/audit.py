"""`otfair audit`: how unfair the scores of a table are, to whom, and who would give to whom.

Audit the scores of any model: violations with intervals, the cost of fairness, who
would give score to whom and how alike they are. Writes one HTML page that opens without
a network (or JSON, if the name ends so), and prints a summary.

  otfair audit scores.csv --score p --label y --sensitive sex -o report.html
  otfair audit scores.csv --score p --sensitive age:continuous --fail-above 0.05
  otfair audit scores.csv --score p --sensitive sex --control area --weight w
  otfair audit out.csv --score decision --label y --sensitive sex --max-difference 0.05
  otfair audit scores.csv --score p --sensitive sex,race --table ll144 -o ll144.html
"""

from __future__ import annotations

import argparse
import contextlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from otfair._io.arrays import ArgumentError
from otfair.auditing import NO_DISTANCES, Audit, Limit, Places, audit, status_sentence
from otfair.cli import _law
from otfair.cli._columns import (
    continuous_names,
    kind_names,
    named_columns,
    read_reference,
    read_scores,
    read_sensitive,
    read_weight,
    require_columns,
    say_kinds,
    split_names,
)
from otfair.cli._names import read_names
from otfair.cli._options import (
    Outcome,
    UsageError,
    add_notion,
    add_people,
    add_reading,
    add_within,
    count,
    unit,
    whole,
)
from otfair.cli._output import output_file, text_table
from otfair.cli._task import described, load, read_label, refuse_numbers, remarks
from otfair.notions import NOTIONS
from otfair.tables import Table, TableError, positive_value

TOO_UNFAIR = 3
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
    "moves; distance: how far, as a share of\nthe typical distance between two people"
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what `otfair audit` takes."""
    add_reading(parser, datasets=False)
    column = add_people(parser)
    column("--score", required=True, metavar="COLUMN",
           help="scores, from 0 to 1; or decisions, 0 or 1, or written as the "
           "label is")  # fmt: skip
    add_within(column)
    add_notion(parser, control=True)
    add = parser.add_argument
    add("--threshold", type=unit, default=0.5, metavar="T",
        help="decisions are positive above this score (default 0.5)")  # fmt: skip
    add("--skip-unscored", action="store_true",
        help="leave rows without a score out, and count them")  # fmt: skip
    add("--favourable", type=int, choices=[0, 1], help="whether a positive decision is good for "
        "people (1), such as a loan, or bad (0), such as being held for a risk (default: by the "
        "names of label or score, where they tell)")  # fmt: skip
    add("--reference", action="append", default=[], metavar="[COLUMN=]GROUP", help="group that "
        "others are compared with, such as Male or sex=Male (default: the most favoured one that "
        "is large enough)")  # fmt: skip
    add("--cross", action="append", default=[], metavar="A,B",
        help="audit these sensitive columns crossed, too")  # fmt: skip
    add("--names", type=Path, metavar="FILE", help="words for codes: JSON such as "
        '{"sex": {"1": "men"}}, or a table of column, code, name')  # fmt: skip
    add("--min-group", type=whole, default=30, metavar="N",
        help="groups of fewer people are too small to say (default 30)")  # fmt: skip
    fails = f"exit with {TOO_UNFAIR} if, by more than chance explains,"
    add("--max-violation", "--fail-above", type=unit, metavar="V",
        help=f"{fails} a violation is above this")  # fmt: skip
    add("--max-difference", type=unit, metavar="D", help=f"{fails} the rates of positive decisions "
        "in two groups differ by more, for a notion that is audited")  # fmt: skip
    add("--min-ratio", type=unit, metavar="R",
        help=f"{fails} the ratio of two groups' rates is below this")  # fmt: skip
    add("--bootstrap", type=count, default=200, metavar="N",
        help="resamples of people for intervals (default 200)")  # fmt: skip
    add("--receivers", type=whole, metavar="N", help="how many people may receive score; of fewer "
        "than all, what sampling adds is estimated (default: all of up to 50 000, of a million "
        "2048)")  # fmt: skip
    add("--bounded", action=argparse.BooleanOptionalAction, default=None,
        help="whether plans leave nobody with a score above one (default: up to 3000 "
        "people)")  # fmt: skip
    add("--seed", type=int, default=0, help="of what is sampled (default 0)")
    add("--title", metavar="TEXT", help="of the report (default: the score and the table)")
    _law.add_options(parser)
    add("-o", "--output", type=Path, metavar="FILE",
        help="the page; without it, the summary alone")  # fmt: skip


def run(options: argparse.Namespace) -> Outcome:
    """Read, audit, write."""
    if options.law is not None:
        return _law.run(options)
    asked = [notion for notion in NOTIONS if notion.name in (options.notion or ())]
    for notion in sorted(asked, key=lambda notion: notion.name):
        if notion.needs_control and not options.control:
            raise UsageError(
                f"--notion {notion.name} needs --control: the columns to compare within"
            )
        if notion.reads_labels and options.label is None:
            raise UsageError(f"--notion {notion.name} needs --label: the column of outcomes")
    table, _ = load(options)
    sensitive = read_sensitive(table, options.sensitive)
    refuse_numbers(options.notion or (), sensitive)
    single = {option: getattr(options, option) for option in ("score", "label", "weight")}
    taken = [
        *(require_columns(table, [c], f"--{o}")[0] for o, c in single.items() if c is not None),
        *sensitive.columns,
    ]
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
    labels, outcome, notes = _labels(table.frame, options)
    kept = [c for c in features if c not in dropped]
    notes += [] if kept else [NO_DISTANCES]
    writing: Any = contextlib.nullcontext()
    if options.output is not None:  # what can't be written is said before the work is done
        writing = output_file(options.output, options.table)
    with writing as part:
        found = _audited(
            options,
            read_scores(table, options.score, options.skip_unscored, labels, outcome),
            table.frame[kept] if kept else None,
            sensitive_features=sensitive,
            labels=labels,
            positive_label=outcome,
            notions=list(dict.fromkeys(options.notion)) if options.notion else None,
            threshold=options.threshold,
            skip_unscored=options.skip_unscored,
            sample_weight=read_weight(table, options.weight),
            control_features=table.frame[control] if control else None,
            continuous=continuous_names(sensitive),
            keep=kept if options.features is not None else (),
            n_bootstrap=options.bootstrap,
            random_state=options.seed,
            receivers=options.receivers,
            bounded=options.bounded,
            favourable=options.favourable,
            reference=read_reference(options.reference, sensitive.columns),
            cross=[split_names([text], sensitive.columns) for text in options.cross],
            names=None if options.names is None else read_names(options.names),
            min_people=options.min_group,
            limits=_limits(options),
            verbose=True,
        )
        title = options.title or f"{options.score} of {Path(table.source).name}"
        numbers = dict.fromkeys([*kept, options.score, options.weight, *sensitive.columns])
        found = described(found, table, title, remarks(table, numbers))
        found = replace(found, places=_places(table))
        if part is not None:
            text = found.to_json() if part.suffix == ".json" else found.to_html()
            part.write_bytes(text.encode())
    return _outcome(found, table.source, sensitive, notes, options)


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


def _limits(options: argparse.Namespace) -> list[Limit]:
    """Return the limits that were set."""
    given = {
        "violation": options.max_violation,
        "difference": options.max_difference,
        "ratio": options.min_ratio,
    }
    return [Limit(criterion=c, bound=bound) for c, bound in given.items() if bound is not None]


def _places(table: Table) -> Places:
    """Say where the rows of a table are, as messages do."""
    if table.lines is not None:
        meaning = "Lines are those of the file, in which the names of the columns come first."
        return Places(what="line", numbers=table.lines, meaning=meaning)
    rows = np.arange(1, len(table.frame) + 1)
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
    said += [f"sensitive: {say_kinds(sensitive)}", *(f"note: {note}" for note in notes)]
    shown = [column for column in SHOWN if column != "interval" or options.bootstrap]
    said += ["", text_table(summary[shown].rename(columns=SHOWN)), MEANING]
    if found.statuses:
        said += ["", *map(status_sentence, found.statuses)]
    if options.output is not None:
        said += ["", f"report: {options.output}"]
    data = json.loads(found.to_json())
    data |= {"kinds": kind_names(sensitive)}
    data |= {"source": source, "worst": worst, "failed": failed}
    return Outcome("\n".join(said), data, TOO_UNFAIR if failed else 0)


def _labels(
    frame: pd.DataFrame, options: argparse.Namespace
) -> tuple[pd.Series[Any] | None, str | None, list[str]]:
    """Return labels of two names, which one is positive, and what was decided about them."""
    if options.label is None:
        return None, None, []
    column = frame[options.label]
    known = column.notna().to_numpy()
    if not known.any():
        raise TableError(f"--label {options.label}: the column is empty.")
    y, label, notes = read_label(column[known], options.positive)
    labels = pd.Series([None] * len(frame), name=options.label, dtype=object)
    labels[known] = np.where(y == 1, label.positive, label.negative)
    guessed = options.positive is None and positive_value([label.negative, label.positive]) is None
    first, *others = notes if guessed else [f"{label.positive!r} is positive", *notes]
    return labels, label.positive, [f"label {label.name!r}: {first}", *others]
