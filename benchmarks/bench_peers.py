"""Time otfair beside what others offer, in one run: `make bench-peers`.

Rows go to benchmarks/peers.csv section by section, so that a run that was stopped goes on; `--anew`
begins again. Then the tables and figures of docs/performance.md are made from them.
"""

from __future__ import annotations

import argparse
import datetime
import platform
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

from rows import HERE, Rows

RUNS = HERE / "peers.csv"
PACKAGES = ("otfair", "torch", "numpy", "numba", "scikit-learn", "fairret", "fairlearn", "pot")
PACKAGES += ("geomloss",)


def machine() -> str:
    """Say on what it was run, and when."""
    cpu = next(
        line.split(":")[1].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    )
    names = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    import torch

    return (
        f"{datetime.date.today()}, {cpu}, {torch.get_num_threads()} threads, "
        f"Python {platform.python_version()}, {names}"
    )


def sections() -> dict[str, Callable[[], Iterator]]:
    """Return what there is to run, in its order."""
    from peers import batches, fits, passes

    return {
        "startup": fits.startup, "batch": batches.batch, "step": batches.step,
        "pass": passes.whole, "growth": passes.growth, "fit": fits.fit,
    }  # fmt: skip


def main() -> None:
    """Run what is not in the file yet, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--anew", action="store_true", help="begin again")
    parser.add_argument("--only", help="one section")
    options = parser.parse_args()
    if options.anew:
        RUNS.unlink(missing_ok=True)
    done = Rows(RUNS, ["section"])
    for name, rows in sections().items():
        if (name,) in done or options.only not in (None, name):
            continue
        found = []
        for row in rows():
            print(f"{row.section:8} {row.people:>6} {row.method:40} {row.seconds:10.4f} {row.note}")
            sys.stdout.flush()
            found.append({**asdict(row), "run": machine()})
        done.add(*found)


if __name__ == "__main__":
    main()
