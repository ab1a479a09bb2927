"""`otfair reproduce`: the paper's experiments on the real data.

Train every method at every strength on every split, keep each result as it is made
(runs.sqlite), draw the figures, and write a page that says which claims of the
paper hold (results.md). What is there is not made again, so that the command goes
on where it was stopped.

  otfair reproduce dutch --splits 2 -o results
  otfair reproduce all --protocol full --splits 10 --jobs 2 -o results
  otfair reproduce adult --protocol paper --splits 2 --take other/runs.sqlite
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from otfair.cli._options import Outcome
from otfair.reproduction import COLUMNS, Store, plan, reproduce, write_figures, write_page


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what `otfair reproduce` takes."""
    add = parser.add_argument
    add("target", choices=[*COLUMNS, "postprocess", "epsilon", "attributes", "all"])
    add("--protocol", choices=["full", "paper"], default="full",
        help="full: all people at once, converged; paper: mini-batches (default full)")  # fmt: skip
    add("--splits", type=int, default=10, metavar="N",
        help="default 10; of postprocess, seeds, at most 5")  # fmt: skip
    add("--jobs", type=int, default=2, metavar="N", help="processes (default 2)")
    add("--take", type=Path, action="append", default=[], metavar="FILE",
        help="results made before, a store or a CSV; repeat for several")  # fmt: skip
    add("-o", "--output", type=Path, default=Path("results"), metavar="DIR", help="folder of the "
        "store, its CSV, the figures and the page (default results)")  # fmt: skip


def run(options: argparse.Namespace) -> Outcome:
    """Make what is missing, then draw."""
    for name in ("splits", "jobs"):
        if getattr(options, name) < 1:
            raise ValueError(f"--{name} must be at least 1; received {getattr(options, name)}.")
    if missing := [path for path in options.take if not path.is_file()]:
        raise ValueError(f"--take names {missing[0]}, which is not a file.")
    began = time.perf_counter()
    runs = plan(options.target, options.protocol, options.splits)
    store = options.output / "runs.sqlite"
    page = options.output / "results.md"
    with Store(store) as results:
        before = len(results.done()), page.is_file()
    made, failed = reproduce(runs, store, jobs=options.jobs, take=options.take, verbose=True)
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
