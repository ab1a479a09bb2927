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
from pathlib import Path

from otfair.cli._inputs import InputFile
from otfair.cli._names import EXPERIMENTS
from otfair.cli._options import whole


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what `otfair reproduce` takes."""
    add = parser.add_argument
    add(
        "target",
        choices=[
            *EXPERIMENTS,
            "postprocess",
            "epsilon",
            "attributes",
            "others",
            "published",
            "all",
        ],
    )
    add("--protocol", choices=["full", "paper"], default="full",
        help="full: all people at once, converged; paper: mini-batches (default full)")  # fmt: skip
    add("--splits", type=whole, default=10, metavar="N",
        help="default 10; of postprocess, seeds, at most 5")  # fmt: skip
    add("--jobs", type=whole, default=2, metavar="N", help="processes (default 2)")
    add("--dask", metavar="ADDRESS", help="make the runs on the workers of this Dask scheduler, "
        "who need the data, or with `local` on worker processes of this machine")  # fmt: skip
    add("--take", type=InputFile, action="append", default=[], metavar="FILE",
        help="results made before, a store or a CSV; repeat for several")  # fmt: skip
    add("-o", "--output", type=Path, default=Path("results"), metavar="DIR", help="folder of the "
        "store, its CSV, the figures and the page (default results)")  # fmt: skip
