"""What the commands have in common: options, what they return, and errors of usage."""

from __future__ import annotations

import argparse
import errno
import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from otfair._io.memory import read_size
from otfair.cli._inputs import InputFile, InputTable
from otfair.cli._names import BOOSTERS, DATASETS, NOTIONS, WITH_CONTROL

T = TypeVar("T")
TOO_UNFAIR = 3  # exit code: more unfair than an audit's limit allows
NOT_MET = 4  # exit code: what was asked for is not met
REPORTS = (".html", ".htm", ".pdf", ".json")  # what an audit is written as
OF_DECISIONS = (  # options that mean nothing without a limit, and their defaults
    ("threshold", None), ("cost_false_positive", None), ("cost_false_negative", None),
    ("ties", "together"), ("use_sensitive", False), ("randomize", False),
    ("retrain", False),
)  # fmt: skip
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # the disk is full, or what one may have of it


class UsageError(Exception):
    """Options that do not go together; the parser of the command reports it."""


@dataclass(frozen=True)
class Outcome:
    """What a command has to say: text for people, data for `--json`, and the exit code."""

    text: str
    data: dict[str, Any] = field(default_factory=dict)
    code: int = 0
    is_table: bool = False  # the text is for programs, which get it as it is


def add_reading(parser: argparse.ArgumentParser, datasets: bool = True) -> None:
    """Add the table and how it is read."""
    what = "CSV or Parquet file, plain or gzipped, or - for standard input"
    if datasets:
        what += f"; or a dataset: {', '.join(DATASETS)}"
    kind = InputTable if datasets else InputFile
    parser.add_argument("table", type=kind, metavar="TABLE", help=what)
    parser.add_argument("--max-memory", type=memory, metavar="SIZE", help="what the table may take "
                        "in memory, such as 500MB or 4GB, also once it is unpacked (default: half "
                        "of what there is)")  # fmt: skip
    add = parser.add_argument_group("reading CSV").add_argument
    add("--separator", type=separator, metavar="CHAR", help="by default found; `tab` is one")
    add("--encoding", help="by default UTF-8")
    add("--decimal", choices=[".", ","], default=".", help="how numbers are written (default .)")
    if datasets:
        add("--data-home", type=Path, metavar="DIR", help="folder of the datasets' files")


def add_people(parser: argparse.ArgumentParser) -> Any:
    """Add who people are: label, sensitive columns, features; return what adds more of the kind."""
    add = parser.add_argument_group("columns").add_argument
    add("--label", metavar="COLUMN", help="what is predicted; two values")
    add("--positive", metavar="VALUE", help="the positive label; by default 1, yes, true or the "
        "last in order (it is said which)")  # fmt: skip
    add("--sensitive", metavar="COLUMN[:KIND]", action="append", required=True,
        help="several as A,B or one by one; KIND is continuous or categorical, where the default "
        "is not meant (text and up to 10 whole numbers are groups)")  # fmt: skip
    add("--features", metavar="A,B", action="append",
        help="by default all other columns; may be repeated")  # fmt: skip
    add("--drop", metavar="A,B", action="append", default=[], help="not features")
    return add


def add_training(parser: argparse.ArgumentParser, within: bool = False) -> None:
    """Add what training takes: a table, its columns, notion, split and model.

    `within` adds weights and columns within which people are compared.
    """
    add_reading(parser)
    column = add_people(parser)
    if within:
        add_within(column)
    training = parser.add_argument_group("training")
    add_notion(training, control=within)
    add = training.add_argument
    add_split(add)
    add("--weigh", choices=["people", "attributes", "groups"], help="one penalty for all, or one "
        "for each sensitive column, or for each group, so that small ones are heard (default: for "
        "each column where there are several)")  # fmt: skip
    add("--receivers", type=whole, metavar="N", help="how many training people may receive score; "
        "of fewer than all, what sampling does to the penalty is told (default: all, where that "
        "takes at most 1e10 comparisons of two people)")  # fmt: skip
    add("--bounded", action="store_true", help="measure unfairness by fair scores that stay within "
        "0 and 1 (only for the OTF cost; training takes several times as long)")  # fmt: skip
    add("--model", choices=["logistic", *BOOSTERS], default="logistic",
        help="boosted trees need the extra of that name (default logistic)")  # fmt: skip
    add("--params", type=params, action="append", default=[], metavar="KEY=VALUE", help="a setting "
        "of the model, such as C=0.01 or max_depth=3; repeat for several, or pass one JSON object "
        "(of OTFClassifier, or of OTFBoostingClassifier and its booster)")  # fmt: skip


def add_split(add: Any) -> None:
    """Add who is kept out to judge."""
    add("--test-size", type=share, default=0.2, metavar="P", help="kept out to judge (default 0.2)")
    add("--seed", type=count, default=0, help="of the split (default 0)")


def add_limits(parser: argparse.ArgumentParser) -> None:
    """Add what fair decisions take: limits, and how decisions are made."""
    add = parser.add_argument_group("fair decisions").add_argument
    add("--max-difference", type=limit, action="append", default=[], metavar="[COLUMN=]D",
        help="decide so that the rates of two groups differ by at most this; for all sensitive "
        "columns, or as sex=0.05 for one; may be repeated")  # fmt: skip
    add("--min-ratio", type=limit, action="append", default=[], metavar="[COLUMN=]R",
        help="smallest ratio of two groups' rates, such as 0.8; likewise")  # fmt: skip
    add("--threshold", type=share, metavar="T",
        help="the score above which a decision is worth making (default 0.5)")  # fmt: skip
    add("--cost-false-positive", type=positive, metavar="C",
        help="cost of a positive decision that is wrong; with the other cost, it sets the "
        "threshold")  # fmt: skip
    add("--cost-false-negative", type=positive, metavar="C", help="of a negative one")
    add("--ties", choices=["together", "random"], default="together", help="people with equal "
        "scores and features have one decision (default), or are told apart by chance that is "
        "always the same for a person")  # fmt: skip
    add("--use-sensitive", action="store_true", help="the rule may use the sensitive columns: one "
        "threshold for each group; then predicting needs them")  # fmt: skip
    add("--randomize", action="store_true", help="people may be spread over several rules by a "
        "number made from their features, always the same for a person: for narrow limits on "
        "equalized odds")  # fmt: skip


def add_within(column: Any) -> None:
    """Add weights of people, and the columns within which they are compared."""
    column("--weight", metavar="COLUMN", help="how many people each row stands for")
    column("--control", metavar="A,B", action="append", default=[],
           help="compare people within the values of these, too (conditional parity)")  # fmt: skip


def add_notion(group: Any, control: bool = False) -> None:
    """Add the fairness notions; with `control`, those within the values of columns, too."""
    names = [name for name in NOTIONS if control or name not in WITH_CONTROL]
    group.add_argument("--notion", choices=names, action="append", metavar="NOTION",
                       help=f"{', '.join(names)}; repeat to ask for several")  # fmt: skip


def add_folder(parser: argparse.ArgumentParser, holds: str) -> None:
    """Add the folder that a command writes."""
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR",
                        help=f"folder of {holds}")  # fmt: skip
    parser.add_argument("--force", action="store_true",
                        help="write into a folder that holds other files, too")  # fmt: skip


# Options that do not go together


def check_report(options: argparse.Namespace) -> None:
    """Raise where a report is to be a table."""
    if options.output is not None and options.output.suffix.lower() == ".csv":
        raise UsageError(
            f"-o {options.output}: a report is .html, .pdf or .json; .csv is for --table of "
            "`otfair audit` alone"
        )


def check_label(options: argparse.Namespace, required: bool = False) -> None:
    """Raise where `--label` is missing: asked for, or needed by `--positive`."""
    if options.label is not None or getattr(options.table, "is_dataset", False):
        return
    if options.positive is not None:
        raise UsageError("--positive is a value of --label, which is missing; name its column, too")
    if required:
        raise UsageError("--label is missing: name the column that is to be predicted")


def wants_decisions(options: argparse.Namespace) -> bool:
    """Whether limits on decisions are asked for; other options for them need one."""
    if options.max_difference or options.min_ratio:
        return True
    for name, default in OF_DECISIONS:
        if getattr(options, name) != default:
            option = name.replace("_", "-")
            raise UsageError(f"--{option} is for --max-difference or --min-ratio; add one of them")
    return False


def threshold_of(options: argparse.Namespace) -> float:
    """Return the score above which a decision is worth making."""
    costs = options.cost_false_positive, options.cost_false_negative
    if costs == (None, None):
        return 0.5 if options.threshold is None else float(options.threshold)
    if None in costs:
        raise UsageError("--cost-false-positive and --cost-false-negative go together")
    if options.threshold is not None:
        raise UsageError("the costs of errors set the threshold; leave --threshold out")
    return float(costs[0] / (costs[0] + costs[1]))


# Values. What is wrong with one is said in words: of a plain ValueError argparse would say the name
# of the function.


def number(text: str) -> float:
    """Read a finite number."""
    wrong = f"must be a number; received {text!r}"
    return _require(_parsed(float, text, wrong), math.isfinite, wrong)


def positive(text: str) -> float:
    """Read a positive number."""
    return _require(number(text), lambda x: x > 0, f"must be positive; received {text}")


def count(text: str) -> int:
    """Read a whole number, zero or more."""
    return _require(_integer(text), lambda n: n >= 0, f"must not be negative; received {text}")


def whole(text: str) -> int:
    """Read a whole number, one or more."""
    return _require(_integer(text), lambda n: n >= 1, f"must be at least 1; received {text}")


def zero_or_one(text: str) -> int:
    """Read 0 or 1."""
    return int(
        _require(text.strip(), lambda s: s in ("0", "1"), f"must be 0 or 1; received {text}")
    )


def unit(text: str) -> float:
    """Read a number from 0 to 1."""
    wrong = f"must lie between 0 and 1; received {text}"
    return _require(number(text), lambda x: 0 <= x <= 1, wrong)


def share(text: str) -> float:
    """Read a number between 0 and 1, ends apart."""
    wrong = f"must lie between 0 and 1, ends apart; received {text}"
    return _require(unit(text), lambda x: 0 < x < 1, wrong)


def units(text: str) -> list[float]:
    """Read numbers from 0 to 1 with commas between them."""
    parts = [part for part in text.split(",") if part.strip()]
    _require(parts, bool, f"must be numbers from 0 to 1, as in 0,0.5,0.9; received {text!r}")
    return [unit(part) for part in parts]


def limit(text: str) -> tuple[str, float]:
    """Read a limit for all sensitive columns, "0.05", or for one, "sex=0.05"; no name for all."""
    name, _, value = text.rpartition("=")
    return name.strip(), unit(value)


def report_file(text: str) -> Path:
    """Read the name of a file that an audit is written to."""
    kinds = f"{', '.join(REPORTS[:-1])} or {REPORTS[-1]}"
    wrong = f"must end in {kinds}, or .csv with --table; received {text!r}"
    return _require(Path(text), lambda path: path.suffix.lower() in (*REPORTS, ".csv"), wrong)


def memory(text: str) -> int:
    """Read an amount of memory in bytes, such as 4GB."""
    try:
        return read_size(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def params(text: str) -> dict[str, Any]:
    """Read settings: KEY=VALUE, where a value that is no JSON is text, or a JSON object."""
    if text.lstrip().startswith("{"):
        try:
            return dict(json.loads(text))
        except ValueError as error:
            raise argparse.ArgumentTypeError(f"must be JSON; received {text!r} ({error})") from None
    name, found, value = text.partition("=")
    if not found or not name.strip():
        raise argparse.ArgumentTypeError(f"must be KEY=VALUE or a JSON object; received {text!r}")
    try:
        return {name.strip(): json.loads(value)}
    except ValueError:
        return {name.strip(): {"True": True, "False": False, "None": None}.get(value, value)}


def separator(text: str) -> str:
    """Read one character, or the word for it."""
    words = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "bar": "|", "space": " "}
    wrong = f"must be one character or `tab`; received {text!r}"
    return _require(words.get(text, text), lambda s: len(s) == 1 and s not in '"\r\n', wrong)


def _integer(text: str) -> int:
    return _parsed(int, text, f"must be a whole number; received {text!r}")


def _parsed(kind: Callable[[str], T], text: str, wrong: str) -> T:
    try:
        return kind(text)
    except ValueError:
        raise argparse.ArgumentTypeError(wrong) from None


def _require(value: T, sound: Callable[[T], bool], wrong: str) -> T:
    if not sound(value):
        raise argparse.ArgumentTypeError(wrong)
    return value
