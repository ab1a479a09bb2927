"""What an audit has to say of an earlier one: options, lines, and the exit code."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from otfair.cli._inputs import InputFile
from otfair.cli._options import TOO_UNFAIR, Outcome, UsageError

if TYPE_CHECKING:
    from otfair.auditing import Audit, Figures

SHOWN = 20  # lines in a terminal


def add_baseline(parser: argparse.ArgumentParser) -> None:
    """Add the earlier audit, and the gate on what got worse."""
    add = parser.add_argument_group("over time").add_argument
    add("--baseline", type=InputFile, metavar="FILE", help="JSON of an earlier audit of other "
        "people (`-o old.json`): say what changed beyond chance")  # fmt: skip
    add("--fail-on-change", action="store_true", help=f"exit with {TOO_UNFAIR} if, by more than "
        "chance explains, a violation or a gap between groups is larger than in the "
        "baseline")  # fmt: skip


def check_baseline(options: argparse.Namespace) -> None:
    """Raise where there is nothing to hold a change against."""
    if options.fail_on_change and options.baseline is None:
        raise UsageError("--fail-on-change needs --baseline: the JSON of an earlier audit")


def read_earlier(options: argparse.Namespace) -> Figures | None:
    """Read the earlier audit before the work is done."""
    if options.baseline is None:
        return None
    from otfair.auditing import read_baseline

    return read_baseline(Path(options.baseline))


def with_changes(outcome: Outcome, found: Audit, options: argparse.Namespace) -> Outcome:
    """Return what an audit says with what changed, where it was compared."""
    if found.changed is None:
        return outcome
    if options.fail_on_change and not found.changed.judged:
        from otfair.tables import TableError

        raise TableError(
            "--fail-on-change has nothing to judge: no violation or gap is in both this audit and "
            f"--baseline {options.baseline}. Audit the same --sensitive columns and notions, in "
            "groups that are large enough to say."
        )
    lines = found.changed.sentences()
    more = [f"and {len(lines) - SHOWN} lines more, in the page and the JSON"]
    said = ["", "what changed:", *lines[:SHOWN], *(more if len(lines) > SHOWN else [])]
    failed = options.fail_on_change and bool(found.changed.worse)
    if failed:
        said.append("fails, as --fail-on-change asks: unfairness grew beyond chance")
    return replace(
        outcome,
        text="\n".join([outcome.text, *said]),
        data=outcome.data | {"failed": bool(outcome.data["failed"] or failed)},
        code=TOO_UNFAIR if failed else outcome.code,
    )
