"""The command line: options in, an exit code out; the work is done by one file per command."""

from __future__ import annotations

import argparse
import contextlib
import io
import logging
import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr
from importlib import import_module
from pathlib import Path
from typing import Any

from otfair import __version__
from otfair._io.memory import process_limit, say_size
from otfair._io.visible import VisibleStream, visible
from otfair.cli._inputs import check_inputs
from otfair.cli._options import NO_ROOM, Outcome, UsageError

SUMMARIES = {  # of the commands, in the order of the help
    "demo": "train, compare and explain on made-up loan applications",
    "fit": "train a fair classifier on a table",
    "predict": "score the people of a table with a saved model, and decide",
    "decide": "make fair decisions from the scores of any model",
    "curve": "draw fairness against predictive power",
    "audit": "tell how unfair the scores of a table are, and to whom",
    "compare": "compare models: gaps, and who gains and who loses",
    "data": "list, find, download and verify the datasets, or write a sample",
    "reproduce": "run the paper's experiments on the real data",
}
EXIT_CODES = (
    "exit codes: 0 done, 1 bad input, 2 wrong usage, 3 more unfair than an audit's limit allows, "
    "4 a limit that was asked for is not met, 130 interrupted, 143 terminated"
)
BAD_INPUT, INTERRUPTED, BROKEN_PIPE = 1, 130, 141
REDIRECT = "Redirect it to a file, or name one with -o where a command has it."
NO_MEMORY = "Use fewer rows or columns, or give the process more."
# Bytes that a process must be allowed to address: with less, the import of PyTorch may end it.
LEAST_MEMORY = 800 << 20
# What the library raises for what a user passed, or lacks.
EXPECTED = (ValueError, TypeError, OSError, ImportError)


class LostOutputError(ValueError):
    """Standard output can't be written to, so that what was asked for is lost."""


class Ended(KeyboardInterrupt):
    """A signal asked the program to end, as schedulers and containers do."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    with contextlib.ExitStack() as stack:
        quiet = stack.enter_context(Path(os.devnull).open("w", encoding="utf-8"))
        stack.enter_context(redirect_stderr(VisibleStream(sys.stderr or quiet)))
        stack.enter_context(_heeding_signals())
        try:  # at any time, so that the imports of commands are within, too
            return _main(sys.argv[1:] if arguments is None else arguments)
        except Ended as ended:
            _complain("terminated")
            return 128 + int(ended.args[0])
        except KeyboardInterrupt:
            _complain("interrupted")
            return INTERRUPTED
        except BrokenPipeError:
            return BROKEN_PIPE  # whoever read the output had enough
        except LostOutputError as error:
            _complain(f"error: {error}")
            return BAD_INPUT


@contextlib.contextmanager
def _heeding_signals() -> Iterator[None]:
    """Have signals that ask for the end undo what is unfinished, as Ctrl-C does."""

    def end(number: int, _: object) -> None:
        signal.signal(number, signal.SIG_IGN)  # another one must not disturb the cleaning up
        raise Ended(number)

    heeded = []
    if threading.current_thread() is threading.main_thread():  # others may not
        named = (getattr(signal, name, None) for name in ("SIGTERM", "SIGHUP"))
        heeded = [n for n in named if n is not None and signal.getsignal(n) == signal.SIG_DFL]
    for number in heeded:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in heeded:
            signal.signal(number, signal.SIG_DFL)


def _main(arguments: Sequence[str]) -> int:
    if sys.stdout is None:
        raise LostOutputError(f"standard output is closed. {REDIRECT}")
    try:
        options = _parser(arguments).parse_args(arguments)
        options.arguments = list(arguments)
    except SystemExit:
        _flush()  # the help
        raise
    except Exception as error:  # of the imports, for want of memory or of a library
        if "--debug" in arguments:
            traceback.print_exc()
        _complain(f"error: {_said(error)}")
        return BAD_INPUT
    heard = logging.StreamHandler()
    heard.setFormatter(_OneLine("otfair: warning: %(message)s"))
    logger = logging.getLogger("otfair")
    logger.addHandler(heard)
    try:
        return _run(options)
    except (Exception, KeyboardInterrupt) as error:
        if isinstance(error, BrokenPipeError | LostOutputError):
            raise
        if options.debug:
            traceback.print_exc()
        if isinstance(error, KeyboardInterrupt):
            raise
        if isinstance(error, UsageError):
            options.parser.error(_one_line(str(error)))
        _complain(f"error: {_said(error)}")
        return BAD_INPUT
    finally:
        logger.removeHandler(heard)


def _run(options: argparse.Namespace) -> int:
    from otfair._io import progress  # not sooner: what it imports takes time

    with progress.session(silent=options.quiet), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what other libraries say to programmers
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = lambda message, *_, **__: _complain(f"warning: {message}")
        options.check(options)
        check_inputs(options)
        _refuse_little_memory()
        command = import_module(f"otfair.cli.{options.command}")  # not sooner, as it takes seconds
        outcome: Outcome = command.run(options)
    watched = sys.stdout.isatty()
    if isinstance(sys.stdout, io.TextIOWrapper) and not watched:
        sys.stdout.reconfigure(encoding="utf-8")  # of a file or pipe, wherever this runs
    from otfair._io.rendering import to_json  # with all that it imports, which the work needed

    if options.json:
        text = to_json(outcome.data)
    elif outcome.is_table and not watched:
        text = outcome.text  # for programs, as it is
    else:
        text = visible(outcome.text, "\n\t")
    _flush(text + "\n")
    return outcome.code


def _flush(text: str = "") -> None:
    """Write to standard output all there is; what can't be written must not be lost silently."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        # Nothing more may be flushed to it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            raise
        raise LostOutputError(
            f"standard output can't be written to ({error.strerror}). {REDIRECT}"
        ) from error


def _complain(text: str) -> None:
    """Write one line to standard error, if anybody is there."""
    with contextlib.suppress(OSError):
        print(f"otfair: {_one_line(text)}", file=sys.stderr)


class _OneLine(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return _one_line(super().format(record))


def _one_line(text: str) -> str:
    return visible(" ".join(text.splitlines()))


def _parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser; of the commands, those that are named have their options."""
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
            _add_command(commands, name, import_module(f"otfair.cli.options.{name}"))
        else:
            commands.add_parser(name, help=summary)
    return parser


def _refuse_little_memory() -> None:
    """Raise where the process may not take what the imports of a command take."""
    for limit in process_limit():
        if limit < LEAST_MEMORY:
            raise ValueError(
                f"the process may take only {say_size(limit)} of memory, and PyTorch takes "
                f"{say_size(LEAST_MEMORY)} to start with. Allow more, such as by `ulimit -v`."
            )


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
    check = getattr(module, "check", lambda _: None)  # most options go together
    parser.set_defaults(check=check, parser=parser)


def _said(error: BaseException) -> str:
    if _lacks_memory(error):
        return f"there is not enough memory ({str(error) or type(error).__name__}). {NO_MEMORY}"
    if isinstance(error, OSError) and error.errno in NO_ROOM:
        return f"{error}. Make room there, or write elsewhere with -o."
    if isinstance(error, EXPECTED):
        return str(error) or type(error).__name__
    return f"{type(error).__name__}: {error}. This was not foreseen; --debug shows where it arose."


def _lacks_memory(error: BaseException) -> bool:
    """Whether memory is what lacks; libraries in C++ say so in errors of other kinds."""
    words = ("allocate memory", "bad_alloc", "bad allocation", "failed to map segment")
    return isinstance(error, MemoryError) or any(word in str(error).casefold() for word in words)
