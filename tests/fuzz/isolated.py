"""Try cases in processes that may crash, hang, print or eat memory, and tell which did.

`python -m tests.fuzz.isolated <module> <kind> <first> <stop>` calls ``attempt(kind, seed)`` of the
module for each seed, and writes what came of each as JSON. Cases share a process that was forked,
so that thousands take a minute; after a crash the next process goes on with the next case.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

SECONDS = 30  # without an answer, it hangs
MEMORY = 2 << 30  # bytes that a process may ask for on top of what it has


def outcomes(module: str, kind: str, first: int, stop: int) -> dict[int, str]:
    """Return what came of each case, by its seed; runs in a process of its own."""
    root = Path(__file__).parents[2]
    path = os.pathsep.join([str(root / "src"), str(root), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.isolated", module, kind, str(first), str(stop)],
        env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": path, "PYTHONWARNINGS": "ignore"},
        cwd=root,
        capture_output=True,
        text=True,
        errors="replace",  # native code prints what it likes
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return {int(seed): text for seed, text in json.loads(done.stdout).items()}


def _in_processes(attempt, seeds: list[int]) -> dict[int, str]:
    found: dict[int, str] = {}
    while left := [seed for seed in seeds if seed not in found]:
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            os.close(reader)
            _answer(attempt, left, writer)
        os.close(writer)
        read, hangs = _read(reader, found)
        if hangs:
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if hangs or status:
            ended = "hangs" if hangs else f"crash: {os.waitstatus_to_exitcode(status)}"
            found[left[read]] = ended
    return found


def _read(reader: int, found: dict[int, str]) -> tuple[int, bool]:
    """Read answers until there are no more; return how many, and whether it took too long."""
    count, text = 0, b""
    with os.fdopen(reader, "rb", buffering=0) as pipe:
        while True:
            ready, _, _ = select.select([pipe], [], [], SECONDS)
            if not ready:
                return count, True
            if not (some := pipe.read(65536)):
                return count, False
            *lines, text = (text + some).split(b"\n")
            for line in lines:
                seed, answer = json.loads(line)
                found[seed] = answer
                count += 1


def _answer(attempt, seeds: list[int], writer: int) -> None:
    """Try cases one after the other; never returns."""
    size = int(Path("/proc/self/statm").read_text().split()[0]) if _has_statm() else None
    if size is not None:
        limit = size * os.sysconf("SC_PAGE_SIZE") + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    libc = ctypes.CDLL(None)
    with tempfile.TemporaryFile() as printed:
        os.dup2(printed.fileno(), 1)
        for seed in seeds:
            before = os.fstat(1).st_size
            try:
                answer = attempt(seed)
            except BaseException as error:
                answer = f"{type(error).__name__}: {error}"
            sys.stdout.flush()
            libc.fflush(None)
            if os.fstat(1).st_size != before:
                answer = f"prints: {os.pread(1, 300, before)!r}"
            os.write(writer, json.dumps([seed, answer[:600]]).encode() + b"\n")
    os._exit(0)


def _has_statm() -> bool:
    return Path("/proc/self/statm").is_file()


if __name__ == "__main__":
    module, kind, first, stop = sys.argv[1:]
    tried = importlib.import_module(module)
    tried.prepare(kind)
    seeds = list(range(int(first), int(stop)))
    found = _in_processes(lambda seed: tried.attempt(kind, seed), seeds)
    json.dump(found, sys.stdout)
