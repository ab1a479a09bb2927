"""Tables of law of `otfair audit --table`: which columns they are made of, and what is written."""

from __future__ import annotations

import argparse
import contextlib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

import pandas as pd

from otfair._io.arrays import ArgumentError
from otfair._io.pdf import find_browser, to_pdf
from otfair.auditing import guess_favourable
from otfair.cli._columns import read_reference, require_columns, split_names
from otfair.cli._options import Outcome, UsageError
from otfair.cli._output import output_file, text_table
from otfair.cli._task import load
from otfair.cli._words import read_names
from otfair.law import LawTable, described, four_fifths, ll144
from otfair.tables import Table, TableError, plain_text, shown

ROLES = {  # words in the name of a column that tell what it holds
    "sex": {"sex", "gender", "sexe", "sexo", "geschlecht"},
    "race": {"race", "races", "ethnicity", "ethnic", "ethnicities", "raceethnicity", "racial"},
}
SHOWN = {  # columns that are printed, and what to call them
    "category": "category", "people": "people", "selected": "selected", "rate": "rate",
    "impact_ratio": "ratio", "lowest": "lowest", "highest": "highest", "at_shares": "shared out",
    "standard_deviations": "deviations", "p_fisher": "p (Fisher)", "short_of_reference": "short",
    "short_of_four_fifths": "short of 4/5", "status": "remark",
}  # fmt: skip
ONLY_UNKNOWN = ("lowest", "highest", "at_shares")
MEANING = (
    "ratio: impact ratio; lowest, highest: over all ways to assign people of unknown category; "
    "shared out: with them shared\nout as people of known category are"
)
WIDTH = 110  # of a paragraph
SHORT = "short: how many more would have to be selected for the reference's rate, or for 4/5 of it"


def run(options: argparse.Namespace) -> Outcome:
    """Read the people, make the tables, write them."""
    table, _ = load(options)
    wanted = _roles(table, options.sensitive) if options.law == "ll144" else {}
    columns = list(wanted.values()) or _names(table, options.sensitive)
    used = [*columns, *require_columns(table, [options.score], "--score")]
    if options.group is not None:
        used += require_columns(table, [options.group], "--group")
    if twice := [name for name in used if used.count(name) > 1]:
        raise TableError(f"{twice[0]!r} can't be two of --score, --sensitive and --group.")
    writing: Any = contextlib.nullcontext()
    if options.output is not None:  # what can't be written is said before the work is done
        if options.output.suffix.lower() == ".pdf":
            find_browser()
        writing = output_file(options.output, options.table)
    with writing as part:
        found = _made(options, table, wanted, columns)
        title = options.title or f"{options.score} of {Path(table.source).name}"
        file = {"file": table.source} | ({"SHA-256": table.sha256} if table.sha256 else {})
        found = described(found, title, file)
        if part is not None:
            kind = part.suffix.lower()
            text = {".csv": found.to_csv, ".json": found.to_json}.get(kind, found.to_html)()
            plain = text.encode(errors="backslashreplace")
            part.write_bytes(to_pdf(text) if kind == ".pdf" else plain)
    return Outcome(_said(found, table, wanted, options), json.loads(found.to_json()))


def _names(table: Table, given: Sequence[str]) -> list[str]:
    return require_columns(table, split_names(given, table.columns), "--sensitive")


def _roles(table: Table, given: Sequence[str]) -> dict[str, str]:
    """Return the columns of sex and race: as "sex=COLUMN" says, or as their names tell."""
    named: dict[str, str] = {}
    for name in split_names(given, table.columns):
        role, _, column = name.partition("=")
        if name not in table.columns and role in ROLES and column:
            roles = [role]
        else:
            column, words = name, set(re.split(r"[^a-z]+", name.casefold()))
            roles = [role for role, known in ROLES.items() if words & known]
        require_columns(table, [column], "--sensitive")
        if len(roles) != 1 or roles[0] in named:
            raise UsageError(_unclear(given))
        named[roles[0]] = column
    if set(named) != set(ROLES):
        raise UsageError(_unclear(given))
    return {role: named[role] for role in ROLES}


def _unclear(given: Sequence[str]) -> str:
    return (
        "--table ll144 needs one column of sex and one of race/ethnicity, told by their names or "
        f"written as --sensitive sex=COLUMN,race=COLUMN; received --sensitive {','.join(given)}"
    )


def _made(
    options: argparse.Namespace, table: Table, wanted: dict[str, str], columns: list[str]
) -> LawTable:
    """Make the tables, and speak of options where Python speaks of arguments."""
    favourable: object = 1 if options.favourable is None else options.favourable
    if options.positive is not None:
        favourable = options.positive
    elif options.favourable is None and guess_favourable("", options.score) == 0:
        raise UsageError(
            f"--score {options.score}: by its name it is bad for people, and a table of law counts "
            "who is selected; say --favourable 0 if so, or --favourable 1 if it is good"
        )
    frame = _worded(table.frame, {} if options.names is None else read_names(Path(options.names)))
    outcome, groups = frame[options.score], None
    if options.group is not None:
        groups = frame[options.group]
    settings: dict[str, Any] = {
        "favourable": favourable, "skip_unscored": options.skip_unscored, "source": options.source,
        "explanation": options.explanation, "date": options.audit_date,
    }  # fmt: skip
    try:
        if options.law == "four-fifths":
            threshold = None if options.threshold == 0.5 else options.threshold
            settings |= {"threshold": threshold}
            settings |= {"reference": read_reference(options.reference, columns)}
            return four_fifths(outcome, group=frame[columns], **settings)
        settings |= {"exclude_below": options.exclude_below, "reason": options.reason}
        people: dict[str, Any] = {role: frame[column] for role, column in wanted.items()}
        return ll144(outcome, **people, groups=groups, **settings)
    except ArgumentError as error:
        raise TableError(_option(error, options, wanted)) from error


def _worded(frame: pd.DataFrame, names: dict[str, dict[str, str]]) -> pd.DataFrame:
    """Return a table with words for codes."""
    worded: dict[str, Any] = {}
    for name in map(str, frame):
        if words := names.get(name):
            codes = frame[name].astype(object)
            worded[name] = [v if v != v else words.get(plain_text(v), v) for v in codes]
    return frame.assign(**worded)


def _option(error: ArgumentError, options: argparse.Namespace, wanted: dict[str, str]) -> str:
    names = {
        "outcome": f"--score {options.score}", "decisions": f"--score {options.score}",
        "group": "--sensitive", "groups": f"--group {options.group}", "date": "--audit-date",
        "favourable": "--positive" if options.positive is not None else "--favourable",
        "threshold": "--threshold", "reference": "--reference", "reason": "--reason",
        "exclude_below": "--exclude-below",
    } | {role: f"--sensitive {column}" for role, column in wanted.items()}  # fmt: skip
    problem = error.problem.replace("`skip_unscored=True`", "`--skip-unscored`")
    problem = re.sub(r"`favourable=(.*)`", r"`--positive \1`", problem)
    return f"{names.get(error.argument, error.argument)} {problem}"


def _said(
    found: LawTable, table: Table, wanted: dict[str, str], options: argparse.Namespace
) -> str:
    """Return the tables for a terminal."""
    record = found.record
    said = [
        found.rule.title,
        fill(found.rule.about, WIDTH),
        "",
        f"{table.source}: {record.people:,} people",
    ]
    said += [f"{role}: column {shown(column)}" for role, column in wanted.items()]
    said += [record.outcome]
    said += [f"note: {n:,} people are left out: {why}" for why, n in record.left_out.items()]
    said += [f"note: {note}" for note in record.notes]
    if record.reason:
        said += [f"excluded categories: {record.reason}"]
    for part in found.parts:
        columns = [c for c in SHOWN if c in part.frame]
        if not part.unknown:
            columns = [c for c in columns if c not in ONLY_UNKNOWN]
        rows = part.frame if part.unknown else part.frame.iloc[:-1]
        said += ["", shown(part.name), text_table(_tidy(rows[columns]))]
        said += [f"note: {note}" for note in part.notes]
    said += ["", MEANING]
    if options.law == "four-fifths":
        said += [SHORT]
    if options.output is not None:
        said += ["", f"table: {options.output}"]
    return "\n".join(said)


def _tidy(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table with whole numbers where people are counted."""
    counts = [c for c in frame if str(c).startswith("short_")]
    whole: dict[str, Any] = {
        str(c): ["-" if n != n else f"{n:.0f}" for n in frame[c]] for c in counts
    }
    return frame.assign(**whole).rename(columns=SHOWN)
