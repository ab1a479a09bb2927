"""What the commands have in common: options, what they return, and errors of usage."""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

EXIT_CODES = (
    "exit codes: 0 done, 1 bad input, 2 wrong usage, 3 more unfair than --fail-above allows, "
    "130 interrupted"
)


SUMMARIES = {  # of the commands, in the order of the help
    "demo": "train, compare and explain on made-up loan applications",
    "fit": "train a fair classifier on a table",
    "predict": "score the people of a table with a saved model",
    "curve": "draw fairness against predictive power",
    "audit": "tell how unfair the scores of a table are, and to whom",
    "data": "list, find, download and verify the datasets",
    "reproduce": "run the paper's experiments on the real data",
}


class UsageError(Exception):
    """Options that do not go together; the parser of the command reports it."""


@dataclass(frozen=True)
class Outcome:
    """What a command has to say: text for people, data for `--json`, and the exit code."""

    text: str
    data: dict[str, Any] = field(default_factory=dict)
    code: int = 0


def add_command(
    commands: Commands, name: str, description: str, examples: list[str]
) -> argparse.ArgumentParser:
    """Add the parser of a command, with the options that all of them have."""
    parser = commands.add_parser(
        name,
        help=SUMMARIES[name],
        description=description,
        epilog="\n".join(["examples:", *(f"  {e}" for e in examples), "", EXIT_CODES]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object, nothing else")
    parser.add_argument("--quiet", action="store_true", help="no progress on standard error")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    return parser


def add_reading(parser: argparse.ArgumentParser, datasets: bool = True) -> None:
    """Add the table and how it is read."""
    what = "CSV or Parquet file, plain or gzipped, or - for standard input"
    if datasets:
        from otfair.datasets import list_datasets  # not sooner: what it imports takes time

        what += f"; or a dataset: {', '.join(list_datasets())}"
    parser.add_argument("table", metavar="TABLE", help=what)
    reading = parser.add_argument_group("reading CSV")
    reading.add_argument(
        "--separator", type=separator, metavar="CHAR", help="by default found; `tab` is one"
    )
    reading.add_argument("--encoding", help="by default UTF-8")
    reading.add_argument(
        "--decimal", choices=[".", ","], default=".", help="how numbers are written (default .)"
    )
    if datasets:
        reading.add_argument(
            "--data-home", type=Path, metavar="DIR", help="folder of the datasets' files"
        )


def add_people(parser: argparse.ArgumentParser) -> Any:
    """Add who people are: label, sensitive columns, features."""
    people = parser.add_argument_group("columns")
    people.add_argument("--label", metavar="COLUMN", help="what is predicted; two values")
    people.add_argument(
        "--positive", metavar="VALUE", help="the positive label; by default 1, yes, true or the "
        "last in order (it is said which)",
    )  # fmt: skip
    people.add_argument(
        "--sensitive", metavar="COLUMN[:KIND]", action="append", required=True,
        help="repeat for several; KIND is continuous or categorical, where the default is not "
        "meant (text and up to 10 whole numbers are groups)",
    )  # fmt: skip
    people.add_argument(
        "--features",
        metavar="A,B",
        action="append",
        help="by default all other columns; may be repeated",
    )
    people.add_argument("--drop", metavar="A,B", action="append", default=[], help="not features")
    return people


def add_training(parser: argparse.ArgumentParser) -> None:
    """Add notion, split and model."""
    from otfair.models.boosters import BOOSTERS  # not sooner: what it imports takes time

    training = parser.add_argument_group("training")
    add_notion(training)
    training.add_argument(
        "--test-size", type=share, default=0.2, metavar="P", help="kept out to judge (default 0.2)"
    )
    training.add_argument("--seed", type=int, default=0, help="of the split (default 0)")
    training.add_argument(
        "--model", choices=["logistic", *BOOSTERS], default="logistic",
        help="boosted trees need the extra of that name (default logistic)",
    )  # fmt: skip


def add_notion(group: Any, control: bool = False) -> None:
    """Add the fairness notions; with `control`, those within the values of columns, too."""
    from otfair.notions import NOTIONS  # not sooner: what it imports takes time

    names = [notion.name for notion in NOTIONS if control or not notion.needs_control]
    group.add_argument(
        "--notion", choices=names, action="append", metavar="NOTION",
        help=f"{', '.join(names)}; repeat to ask for several",
    )  # fmt: skip


def add_folder(parser: argparse.ArgumentParser, holds: str) -> None:
    """Add the folder that a command writes."""
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="DIR", help=f"folder of {holds}"
    )
    parser.add_argument(
        "--force", action="store_true", help="write into a folder that holds other files, too"
    )


def number(text: str) -> float:
    """Read a finite number."""
    value = float(text)
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"must be a finite number, not {text}")
    return value


def positive(text: str) -> float:
    """Read a positive number."""
    value = number(text)
    if value <= 0:
        raise argparse.ArgumentTypeError(f"must be positive; received {text}")
    return value


def count(text: str) -> int:
    """Read a whole number, zero or more."""
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"must not be negative; received {text}")
    return value


def unit(text: str) -> float:
    """Read a number from 0 to 1."""
    value = number(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"must lie between 0 and 1; received {text}")
    return value


def share(text: str) -> float:
    """Read a number between 0 and 1, ends apart."""
    value = unit(text)
    if value in (0, 1):
        raise argparse.ArgumentTypeError(f"must lie between 0 and 1, ends apart; received {text}")
    return value


def units(text: str) -> list[float]:
    """Read numbers from 0 to 1 with commas between them."""
    return [unit(part) for part in text.split(",") if part.strip()]


def separator(text: str) -> str:
    """Read one character, or the word for it."""
    words = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "bar": "|", "space": " "}
    found = words.get(text, text)
    if len(found) != 1 or found in '"\r\n':
        raise argparse.ArgumentTypeError(f"must be one character or `tab`; received {text!r}")
    return found
