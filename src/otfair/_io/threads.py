"""How many threads work may take."""

from __future__ import annotations

import math
import os
from pathlib import Path

QUOTAS = "/sys/fs/cgroup/cpu.max"  # where Linux says what a container may take: "200000 100000"
OLD_QUOTAS = ("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "/sys/fs/cgroup/cpu/cpu.cfs_period_us")


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
