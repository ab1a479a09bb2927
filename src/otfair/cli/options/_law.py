"""Options of `otfair audit --table`: tables of law."""

from __future__ import annotations

import argparse

from otfair.cli._options import UsageError, unit

UNUSED = {  # options that mean nothing to a table of law
    "notion": "--notion", "control": "--control", "features": "--features", "drop": "--drop",
    "max_violation": "--max-violation", "max_difference": "--max-difference", "label": "--label",
    "min_ratio": "--min-ratio", "cross": "--cross", "fail_above": "--fail-above",
    "baseline": "--baseline", "fail_on_change": "--fail-on-change", "card": "--card",
}  # fmt: skip


def add_law(parser: argparse.ArgumentParser) -> None:
    """Add what tables of law take."""
    add = parser.add_argument_group(
        "tables of law (no verdict, and no legal advice)"
    ).add_argument  # fmt: skip
    add("--table", dest="law", choices=["ll144", "four-fifths"], help="write this in place of the "
        "report: the tables of New York City's Local Law 144 (--sensitive sex,race), or those of "
        "a rule of thumb of US employment law; -o names a .html, .pdf, .csv or .json "
        "file")  # fmt: skip
    add("--group", metavar="COLUMN", help="ll144: the groups that the tool sorts people into")
    add("--exclude-below", type=unit, metavar="SHARE", help="ll144: give no ratio to categories "
        "of a smaller share, up to 0.02; with --reason")  # fmt: skip
    add("--reason", metavar="TEXT", default="", help="why these are excluded")
    add("--source", metavar="TEXT", default="", help="where the data come from")
    add("--explanation", metavar="TEXT", default="", help="why these data")
    add("--audit-date", metavar="DATE", help="such as 2026-11-17 (default: today)")


def check_law(options: argparse.Namespace) -> None:
    """Raise where options mean nothing to a table of law."""
    given = [word for name, word in UNUSED.items() if _is_given(getattr(options, name))]
    if given:
        raise UsageError(f"--table {options.law} takes no {given[0]}; leave it out")
    if options.law == "ll144" and options.threshold != 0.5:
        raise UsageError(
            "--table ll144 takes no --threshold: its rule has the median of scores; leave it out"
        )
    if options.weight is not None:
        raise UsageError(
            f"--table {options.law} takes no --weight: it counts people, and tests and bounds over "
            "the unknown hold for whole people only; leave it out"
        )
    only = {"ll144": ("group", "exclude_below", "reason"), "four-fifths": ("reference",)}
    for law, names in only.items():
        for name in names:
            if options.law != law and getattr(options, name):
                option = f"--{name.replace('_', '-')}"
                raise UsageError(f"{option} goes with --table {law}, not with {options.law}")


def _is_given(value: object) -> bool:
    """Whether an option was set: a limit of 0 was, too."""
    return not (value is None or value is False or value == [])
