"""The command line: options in, an exit code out; the work is done by one file per command."""

from __future__ import annotations

import argparse
import io
import logging
import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from otfair import __version__
from otfair.cli._options import Outcome, UsageError

SUMMARIES = {  # of the commands, in the order of the help
    "demo": "train, compare and explain on made-up loan applications",
    "fit": "train a fair classifier on a table",
    "predict": "score the people of a table with a saved model, and decide",
    "decide": "make fair decisions from the scores of any model",
    "curve": "draw fairness against predictive power",
    "audit": "tell how unfair the scores of a table are, and to whom",
    "data": "list, find, download and verify the datasets, or write a sample",
    "reproduce": "run the paper's experiments on the real data",
}
EXIT_CODES = (
    "exit codes: 0 done, 1 bad input, 2 wrong usage, 3 more unfair than an audit's limit allows, "
    "4 a limit that was asked for is not met, 130 interrupted"
)
BAD_INPUT, INTERRUPTED, BROKEN_PIPE = 1, 130, 141
# What the library raises for what a user passed, or lacks.
EXPECTED = (ValueError, TypeError, OSError, ImportError)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    try:
        return _main(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:  # at any time, so that the imports of commands are within, too
        print("otfair: interrupted", file=sys.stderr)
        return INTERRUPTED


def _main(arguments: Sequence[str]) -> int:
    options = _parser(arguments).parse_args(arguments)
    heard = logging.StreamHandler()
    heard.setFormatter(logging.Formatter("otfair: warning: %(message)s"))
    logger = logging.getLogger("otfair")
    logger.addHandler(heard)
    try:
        return _run(options)
    except BrokenPipeError:
        # Whoever read the output had enough; nothing more may be flushed to it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except (Exception, KeyboardInterrupt) as error:
        if options.debug:
            traceback.print_exc()
        if isinstance(error, KeyboardInterrupt):
            raise
        if isinstance(error, UsageError):
            options.parser.error(str(error))
        print(f"otfair: error: {_said(error)}", file=sys.stderr)
        return BAD_INPUT
    finally:
        logger.removeHandler(heard)


def _run(options: argparse.Namespace) -> int:
    from otfair._io import progress  # not sooner: what it imports takes time

    with progress.session(silent=options.quiet), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what other libraries say to programmers
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = lambda message, *_, **__: print(
            f"otfair: warning: {message}", file=sys.stderr
        )
        outcome: Outcome = options.run(options)
    if isinstance(sys.stdout, io.TextIOWrapper) and not sys.stdout.isatty():
        sys.stdout.reconfigure(encoding="utf-8")  # of a file or pipe, wherever this runs
    from otfair._io.rendering import to_json  # with all that it imports, which the work needed

    print(to_json(outcome.data) if options.json else outcome.text, flush=True)
    return outcome.code


def _parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser; of the commands, those that are named are imported, which takes time."""
    parser = argparse.ArgumentParser(
        prog="otfair",
        description="Optimal transport of classifiers to fairness: measure unfairness, explain it, "
        "train it away.",
        epilog=f"otfair COMMAND --help shows its options and examples. {EXIT_CODES}",
    )
    parser.add_argument("--version", action="version", version=f"otfair {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, summary in SUMMARIES.items():
        if name in arguments:
            _add_command(commands, name, import_module(f"otfair.cli.{name}"))
        else:
            commands.add_parser(name, help=summary)
    return parser


def _add_command(commands: Any, name: str, module: Any) -> None:
    """Add a command: its docstring is what the help says, the last paragraph are examples."""
    _, *about, examples = (module.__doc__ or "\n\n").split("\n\n")  # none by -OO
    parser = commands.add_parser(
        name,
        help=SUMMARIES[name],
        description="\n\n".join(about),
        epilog=f"examples:\n{examples}\n{EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object, nothing else")
    parser.add_argument("--quiet", action="store_true", help="no progress on standard error")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    module.add_options(parser)
    parser.set_defaults(run=module.run, parser=parser)


def _said(error: BaseException) -> str:
    if isinstance(error, EXPECTED):
        return str(error) or type(error).__name__
    return f"{type(error).__name__}: {error}. This was not foreseen; --debug shows where it arose."
