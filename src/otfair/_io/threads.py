"""How many threads work may take, and work shared among them.

Threads that wait for each other at every step, as PyTorch's do, take long where other processes are
busy: all wait for the one that does not run. Here each works alone on a piece, and takes the next.
"""

from __future__ import annotations

import math
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TypeVar

import torch

QUOTAS = "/sys/fs/cgroup/cpu.max"  # where Linux says what a container may take: "200000 100000"
OLD_QUOTAS = ("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "/sys/fs/cgroup/cpu/cpu.cfs_period_us")
AHEAD = 2  # pieces of work that wait for each thread
FEW = 2**16  # people, up to whom steps are so short that a second thread is no gain

Piece = TypeVar("Piece")
Result = TypeVar("Result")


_outside = threading.local()  # `number`: of threads that PyTorch may take outside of `one_thread`


@contextmanager
def one_thread() -> Iterator[None]:
    """Let PyTorch work in the calling thread alone, and then as before; also a decorator."""
    before, outside = torch.get_num_threads(), getattr(_outside, "number", None)
    _outside.number = outside or before
    torch.set_num_threads(1)
    try:
        yield
    finally:
        _outside.number = outside
        torch.set_num_threads(before)


def few_threads(people: int) -> AbstractContextManager[None]:
    """Let PyTorch work in the calling thread alone, unless people are many."""
    return one_thread() if people <= FEW else nullcontext()


def shared(work: Callable[[Piece], Result], pieces: Iterable[Piece]) -> Iterator[Result]:
    """Yield the results of work on pieces, in their order, in as many threads as may run.

    Whatever their number, the results are the same.
    """
    allowed = getattr(_outside, "number", None) or torch.get_num_threads()
    threads, rest = min(usable_cpus(), allowed), iter(pieces)
    first = list(islice(rest, 2))
    if threads == 1 or len(first) < 2:
        for piece in (*first, *rest):
            with one_thread():
                result = work(piece)
            yield result
        return
    pool, waiting = _pool(threads), deque[Future[Result]]()
    try:
        for piece in (*first, *rest):
            waiting.append(pool.submit(work, piece))
            if len(waiting) > AHEAD * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:  # an interrupt waits for the pieces at hand alone
        wait([left for left in waiting if not left.cancel()])


@lru_cache(maxsize=1)
def _pool(threads: int) -> ThreadPoolExecutor:
    """Return threads in each of which PyTorch works alone, as does what they share in turn."""
    begun, before = threading.Barrier(threads), torch.get_num_threads()

    def begin() -> None:
        _outside.number = 1
        torch.get_num_threads()  # the first call in a thread sets what other threads have
        torch.set_num_threads(1)
        begun.wait()

    pool = ThreadPoolExecutor(threads, "otfair", begin)
    for done in [pool.submit(int) for _ in range(threads)]:
        done.result()
    torch.set_num_threads(before)  # of which threads that begin later know
    return pool


if hasattr(os, "register_at_fork"):  # threads do not live on in a process that was forked
    os.register_at_fork(after_in_child=_pool.cache_clear)


def usable_cpus() -> int:
    """Return how many processors this process may keep busy: those it is given, or its quota."""
    try:
        found = len(os.sched_getaffinity(0))
    except AttributeError:  # such as on macOS
        found = os.cpu_count() or 1
    return max(1, min([found, *_quota()]))


def _quota() -> list[int]:
    try:
        used, period = Path(QUOTAS).read_text(encoding="ascii").split()
    except (OSError, ValueError):
        try:
            used, period = (Path(path).read_text(encoding="ascii") for path in OLD_QUOTAS)
        except OSError:
            return []
    try:
        return [math.ceil(int(used) / int(period))] if int(used) > 0 else []
    except (ValueError, ZeroDivisionError):  # "max", which is none
        return []
