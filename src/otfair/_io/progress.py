"""Progress of long work on standard error: a bar where somebody watches, sparse lines in a log.

On the command line there is a sign of life as well while no step of the work ends.
"""

from __future__ import annotations

import sys
import threading
import time
import weakref
from collections.abc import Iterable, Iterator, Sized
from contextlib import contextmanager, suppress
from typing import Any, ClassVar

from tqdm import tqdm

EVERY = 30.0  # seconds from one line to the next
PULSE = 5.0  # seconds from one sign of life to the next, in which bars move and a line may be due
_bars: weakref.WeakSet[Any] = weakref.WeakSet()


def track(
    steps: Iterable[Any] | None = None,
    desc: str = "",
    total: int | None = None,
    *,
    verbose: bool,
    leave: bool = True,
    **units: Any,
) -> Any:
    """Return the steps, or a context to `update`, whose progress is shown if `verbose`.

    Without `steps`, `update` says how far it is. It is a bar in terminals and notebooks, and
    elsewhere a line every half a minute; `units` are the `unit` and `unit_scale` of tqdm.
    """
    verbose = verbose and not Lines.silent
    if verbose and not _watched():
        return Lines(steps, desc, total, **units)
    bar = tqdm(steps, desc, total, leave=leave, disable=not verbose, **units)
    _bars.add(bar)
    return bar


def _watched() -> bool:
    """Whether standard error is where bars can move: a terminal, or a notebook."""
    return sys.stderr.isatty() or type(sys.stderr).__module__.startswith("ipykernel")


class Lines:
    """What the library uses of a tqdm bar, as plain lines; short work has none.

    Work that comes in several parts counts as one: a line is due when there was none for a while.
    """

    since: ClassVar[float] = 0.0  # the last line, or the beginning; 0 for neither
    active: ClassVar[float] = 0.0  # when work was last heard of
    silent: ClassVar[bool] = False  # nobody wants to hear of any
    working: ClassVar[list[Lines]] = []  # what is under way, the innermost last

    def __init__(
        self,
        steps: Iterable[Any] | None = None,
        desc: str = "",
        total: int | None = None,
        **units: Any,
    ) -> None:
        self.steps: Iterable[Any] = () if steps is None else steps
        self.total = len(steps) if total is None and isinstance(steps, Sized) else total
        self.desc, self.units, self.postfix = desc, units, ""
        self.done, self.began = 0, time.monotonic()
        self.said: int | None = None  # steps that a line told of
        if self.began - Lines.active > EVERY:  # a session, and no part of what was done before
            Lines.since = 0.0
        Lines.active, Lines.since = self.began, Lines.since or self.began

    def __iter__(self) -> Iterator[Any]:
        with self:
            for step in self.steps:
                yield step
                self.update()

    def __enter__(self) -> Lines:
        Lines.working.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        Lines.working.remove(self)
        if self.said is not None and self.said < self.done:  # who saw a line wants to see the end
            self.say(ended=True)

    def update(self, steps: int = 1) -> None:
        """Go on, and say so if it is time to."""
        self.done += steps
        Lines.active = time.monotonic()
        if time.monotonic() - Lines.since >= EVERY:
            self.say()

    def set_postfix(self, **values: str) -> None:
        """Keep what the next line is to end with."""
        self.postfix = ", ".join(f"{name}={value}" for name, value in values.items())

    def set_postfix_str(self, text: str) -> None:
        """Keep what the next line is to end with."""
        self.postfix = text

    def say(self, ended: bool = False) -> None:
        """Write a line: how far it is."""
        now = time.monotonic()
        Lines.since, self.said = now, self.done
        known = self.total is not None
        of = " of {total_fmt}" * known
        left = ", about {remaining} left" * (known and not ended and 0 < self.done != self.total)
        line = tqdm.format_meter(
            self.done, self.total, now - self.began, prefix=self.desc, postfix=self.postfix,
            bar_format=f"otfair: {{desc}}: {{n_fmt}}{of} in {{elapsed}}{left}{{postfix}}\n",
            **self.units,
        )  # fmt: skip
        sys.stderr.write(line)
        sys.stderr.flush()


@contextmanager
def session(silent: bool) -> Iterator[None]:
    """Forget earlier work: the first line is due a while from now, or none is, if `silent`."""
    Lines.since, Lines.silent = time.monotonic(), silent
    ended = threading.Event()
    pulse = threading.Thread(target=_live, args=(ended, Lines.since), daemon=True)
    if not silent:
        pulse.start()
    try:
        yield
    finally:
        Lines.silent = False
        ended.set()
        if not silent:
            pulse.join()


def _live(ended: threading.Event, began: float) -> None:
    while not ended.wait(PULSE):
        with suppress(OSError, ValueError):  # nobody is there any more
            show_life(began)


def show_life(began: float) -> None:
    """Let bars tell the time, or write the line that is due."""
    moving = [bar for bar in list(_bars) if not bar.disable]
    for bar in moving:
        bar.refresh()
    if moving or time.monotonic() - Lines.since < EVERY:
        return
    if Lines.working:
        Lines.working[-1].say()
        return
    Lines.since = time.monotonic()
    spent = tqdm.format_interval(Lines.since - began)
    sys.stderr.write(f"otfair: at work for {spent}\n")
    sys.stderr.flush()
