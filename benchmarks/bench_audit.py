"""How long `otfair audit` takes on a large table, with how much memory, and how sure it is.

    python benchmarks/bench_audit.py --rows 1000000

Made-up loans in a CSV file, audited by sex, origin and age, each by two notions, in a process of
its own, as a user would. `--groups 50` adds a column of that many groups.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

import otfair


def write_table(path: Path, rows: int, groups: int) -> list[str]:
    """Write people, features, labels and scores; return their sensitive columns."""
    data = otfair.load_dataset("synthetic", n=rows)
    table = pd.concat([data.X, data.sensitive_features], axis=1)
    table = table.assign(granted=data.y, p=data.truth.scores.round(6))
    sensitive = ["sex", "origin", "age:continuous"]
    if groups:
        town = np.random.default_rng(0).integers(groups, size=rows)
        table["town"] = [f"town {k}" for k in town]
        sensitive = ["town"]
    table.to_csv(path, index=False)
    return sensitive


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--groups", type=int, default=0)
    parser.add_argument("--receivers", type=int, help="people who may receive score")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        table, page = Path(folder) / "people.csv", Path(folder) / "report.html"
        sensitive = write_table(table, options.rows, options.groups)
        print(f"{options.rows} rows, {table.stat().st_size / 2**20:.0f} MB of CSV", flush=True)
        command = [
            sys.executable, "-m", "otfair", "audit", str(table), "--score", "p", "--label",
            "granted", "--json", "-o", str(page),
        ]  # fmt: skip
        if options.receivers:
            command += ["--receivers", str(options.receivers)]
        for name in sensitive:
            command += ["--sensitive", name]
        before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        wall = time.perf_counter() - started
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        if run.returncode:
            sys.exit(run.stderr)
        size = page.stat().st_size
    cpu = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    print(f"wall {wall:.0f} s, CPU {cpu:.0f} s, peak {used.ru_maxrss / 2**20:.2f} GB, ", end="")
    print(f"page {size / 2**20:.2f} MB")
    print(f"{'finding':36s} {'cost':>9s} {'95 % by people':>20s} {'by sampling':>20s}  receivers")
    for finding in json.loads(run.stdout)["findings"]:
        cost = finding["cost"]
        name = f"{finding['attribute']}, {finding['notion']}"
        if cost["exact"] is None:
            print(f"{name:36s} no cost")
            continue
        ends = [cost["exact"]["low"], cost["exact"]["high"]]
        by_people, by_sampling = (
            "-" if e is None else f"{e[0]:.5f} to {e[1]:.5f}" for e in (ends, cost["sampling"])
        )
        value, receivers = cost["exact"]["value"], cost["destinations"]
        print(f"{name:36s} {value:9.5f} {by_people:>20s} {by_sampling:>20s}  {receivers}")


if __name__ == "__main__":
    main()
