"""`otfair reproduce`: the paper's experiments on the real data."""

from __future__ import annotations

import argparse
import time
from contextlib import nullcontext
from pathlib import Path

from otfair.cli._dask import connected
from otfair.cli._options import Outcome
from otfair.reproduction import Store, plan, reproduce, write_figures, write_page


def run(options: argparse.Namespace) -> Outcome:
    """Make what is missing, then draw."""
    taken = [Path(name) for name in options.take]
    began = time.perf_counter()
    runs = plan(options.target, options.protocol, options.splits)
    store = options.output / "runs.sqlite"
    page = options.output / "results.md"
    with Store(store) as results:
        before = len(results.done()), page.is_file()
    with nullcontext() if options.dask is None else connected(options.dask):
        on_dask = options.dask is not None
        made, failed = reproduce(runs, store, jobs=options.jobs, take=taken, on_dask=on_dask)
    with Store(store) as results:
        results.write_csv(options.output / "runs.csv")
        kept = list(results)
    written = [store, options.output / "runs.csv"]
    if before == (sum(not r.error for r in kept), True):
        written.append(page)  # nothing is new since it was written
    elif any(not r.error for r in kept):
        written += [*write_figures(kept, options.output), page]
        write_page(kept, page)
    spent = time.perf_counter() - began
    there = len(runs) - made
    lines = [f"{len(runs)} runs: {there} were there, {made - failed} made in {spent:.0f} s"]
    if failed:
        keys = {run.key for run in runs}
        first = next(r.error for r in kept if r.error and r.run.key in keys)
        lines += [f"{failed} failed; they are tried again next time. The first:", first]
    lines += map(str, written)
    data = {
        "runs": len(runs),
        "made": made - failed,
        "failed": failed,
        "seconds": round(spent, 1),
        "store": str(store),
        "written": [str(path) for path in written],
    }
    return Outcome("\n".join(lines), data, 1 if failed else 0)
