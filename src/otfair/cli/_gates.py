"""Gates of an audit: limits as they are written, and the notions that they are held against."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, NamedTuple

from otfair.cli._names import NOTIONS
from otfair.cli._options import TOO_UNFAIR, UsageError, unit

if TYPE_CHECKING:
    from otfair.auditing import Limit

WORDS = {  # what a criterion may be called
    "violation": "violation",
    "correlation": "violation",
    "difference": "difference",
    "ratio": "ratio",
}
DEFAULT = "demographic_parity"  # what is judged where nobody asks for a notion
CONDITIONAL = "conditional_parity"  # what --control asks for


class Gate(NamedTuple):
    """A limit of one notion, or of those that are asked for ("")."""

    notion: str
    criterion: str
    bound: float


def gate(text: str) -> Gate:
    """Read [NOTION:][CRITERION=]V, such as 0.05, ratio=0.8 or equalized_odds:difference=0.1."""
    notion, colon, rest = text.rpartition(":")
    criterion, equals, bound = rest.rpartition("=")
    if colon and notion.strip() not in NOTIONS:
        raise argparse.ArgumentTypeError(
            f"{text!r} names the notion {notion.strip()!r}; notions are {', '.join(NOTIONS)}"
        )
    if equals and criterion.strip() not in WORDS:
        raise argparse.ArgumentTypeError(
            f"{text!r} names the criterion {criterion.strip()!r}; criteria are {', '.join(WORDS)}"
        )
    try:
        value = unit(bound)
    except (ValueError, argparse.ArgumentTypeError):
        raise argparse.ArgumentTypeError(
            f"must end with a number from 0 to 1, such as 0.05, difference=0.1 or "
            f"equalized_odds:ratio=0.8; received {text!r}"
        ) from None
    return Gate(notion.strip(), WORDS[criterion.strip() or "violation"], value)


def add_gates(parser: argparse.ArgumentParser) -> None:
    """Add the limits that decide the exit code."""
    add = parser.add_argument_group(
        "gates",
        f"Each exits with {TOO_UNFAIR} where a limit is exceeded by more than chance explains, in\n"
        "groups of --min-group people or more. It judges the notions that --notion and --control\n"
        "ask for; without --notion, demographic parity alone, though others are audited.",
    ).add_argument
    add("--fail-above", type=gate, action="append", default=[], metavar="[NOTION:][CRITERION=]V",
        help="CRITERION is violation (the default; or correlation), difference or ratio of "
        "decisions, which fails below V; NOTION is audited if need be: 0.05, ratio=0.8, "
        "equalized_odds:difference=0.1; repeat for several")  # fmt: skip
    add("--max-violation", type=unit, metavar="V", help="the same as --fail-above V")
    add("--max-difference", type=unit, metavar="D", help="largest difference between the rates "
        "of positive decisions in two groups: --fail-above difference=D")  # fmt: skip
    add("--min-ratio", type=unit, metavar="R",
        help="smallest ratio of two groups' rates: --fail-above ratio=R")  # fmt: skip


def _gates(options: argparse.Namespace) -> list[Gate]:
    """Return the gates that were set, in whatever words."""
    plain = {
        "violation": options.max_violation,
        "difference": options.max_difference,
        "ratio": options.min_ratio,
    }
    given = [Gate("", criterion, bound) for criterion, bound in plain.items() if bound is not None]
    return list(dict.fromkeys([*given, *options.fail_above]))


def audited_notions(options: argparse.Namespace) -> list[str] | None:
    """Return the names of the notions to audit, those that gates name too; None for the default."""
    named = [gate.notion for gate in _gates(options) if gate.notion]
    if not options.notion and not named:
        return None
    default = [DEFAULT] + ["equalized_odds"] * (options.label is not None)
    return list(dict.fromkeys([*(options.notion or default), *named]))


def limits(options: argparse.Namespace) -> list[Limit]:
    """Return the limits to hold findings against: each gate for the notions that it judges."""
    from otfair.auditing import Limit

    asked = _judged(options)
    given = [
        Limit(notion=notion, criterion=gate.criterion, bound=gate.bound)
        for gate in _gates(options)
        for notion in ([gate.notion] if gate.notion else asked)
    ]
    return list(dict.fromkeys(given))


def _judged(options: argparse.Namespace) -> list[str]:
    """Return the notions that a gate judges which names none."""
    asked = list(dict.fromkeys(options.notion or [DEFAULT]))
    return asked + [CONDITIONAL] * (bool(options.control) and CONDITIONAL not in asked)


def gate_notes(options: argparse.Namespace) -> list[str]:
    """Say which notions a gate judges, where nobody named one and others are audited too."""
    free = [gate for gate in _gates(options) if not gate.notion]
    if not free or options.notion or options.label is None:
        return []
    judged = " and ".join(_judged(options))
    said = f"limits are held against {judged} alone, as no --notion is named; "
    return [said + "--notion equalized_odds, or --fail-above equalized_odds:V, judges that"]


def check_needs(options: argparse.Namespace) -> None:
    """Raise where a notion is asked for without what it needs."""
    from otfair.notions import NOTIONS as KINDS  # not sooner: what it imports takes time

    by_name: dict[str, Any] = {kind.name: kind for kind in KINDS}
    asked = [(name, f"--notion {name}") for name in sorted(options.notion or ())]
    asked += [(g.notion, f"--fail-above {g.notion}") for g in options.fail_above if g.notion]
    for name, said in asked:
        if by_name[name].needs_control and not options.control:
            raise UsageError(f"{said} needs --control: the columns to compare within")
        if by_name[name].reads_labels and options.label is None:
            raise UsageError(f"{said} needs --label: the column of outcomes")
