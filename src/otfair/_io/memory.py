"""How much memory there is, and amounts of it as people write them."""

from __future__ import annotations

import os
import re
from pathlib import Path

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
# Where Linux says what a container may take; the first is that of cgroup v2.
LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
NOT_KNOWN = 8 << 30  # what is assumed where the system does not tell


def machine_memory() -> int:
    """Return the bytes of memory that this process may take: the machine's, or its container's."""
    found = [*_physical(), *_container(), *process_limit()]
    return min(found, default=NOT_KNOWN)


def _physical() -> list[int]:
    try:
        return [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    except (AttributeError, OSError, ValueError):  # such as on Windows
        return []


def _container() -> list[int]:
    found = []
    for path in LIMITS:
        try:
            found.append(int(Path(path).read_text(encoding="ascii")))
        except (OSError, ValueError):  # no such file, or "max"
            continue
    return found


def process_limit() -> list[int]:
    """Return the bytes that this process may address, as `ulimit -v` sets them, if limited."""
    try:
        import resource
    except ImportError:  # Windows
        return []
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return [] if limit == resource.RLIM_INFINITY else [limit]


def read_size(text: str) -> int:
    """Read an amount of memory, such as "500M", "4GB" or "4.5 GiB"; units are powers of 1024."""
    found = re.fullmatch(r"\s*([0-9]+\.?[0-9]*)\s*([KMGT]?)(?:i?B)?\s*", text, re.I)
    amount = float(found[1]) * UNITS[found[2].upper()] if found else 0.0
    size = int(amount) if amount < 2**63 else 0
    if size <= 0:
        raise ValueError(f"must be an amount of memory, such as 500MB or 4GB; received {text!r}")
    return size


def say_size(size: float) -> str:
    """Return an amount of memory as text, such as "4.5 GB"."""
    unit = max((u for u, n in UNITS.items() if n <= max(size, 1)), key=UNITS.__getitem__)
    return f"{size / UNITS[unit]:.3g} {unit}B" if unit else f"{size:.0f} bytes"
