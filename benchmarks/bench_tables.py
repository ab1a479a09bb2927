"""Our place in other people's tables: `make bench-tables`, which then writes docs/benchmarks.md.

    python benchmarks/bench_tables.py                          # all tables; what is done is skipped
    python benchmarks/bench_tables.py --tables adult --seeds 0 1

Decisions go to benchmarks/tables.csv, networks to benchmarks/networks.csv, one row as it ends; a
file is replaced in one step, so that a run that was stopped goes on. Seeds come first: every table
is whole after the first, and later seeds make it surer.
"""

from __future__ import annotations

import argparse
from argparse import Namespace
from importlib.util import find_spec
from pathlib import Path

import bench_decisions as decisions
import torch
from rows import HERE, Rows
from tables import methods, networks, people

RUNS, NETWORKS = HERE / "tables.csv", HERE / "networks.csv"
PARITY, ODDS = "demographic_parity", "equalized_odds"
BLIND = [
    "free", "margin", "plain", "again", "on_top", "otf", "linear_post", "oxonfair", "reduction",
]  # fmt: skip
AWARE = ["attribute", "thresholds", "error_parity"]
MIXED = ["mixed", "mixed_attribute"]  # several rules at once, which are for odds above all
FINER = ["plain", "even", "mixed", "again"]  # ours, whose curves peers are compared with
BOTH = ["logistic", "boosted"]
ALPHAS = (0.3, 0.5, 0.7, 0.9, 0.97, 0.99)  # of OTF, whose scores are decided at a half
# What is run of each table: its people, classifiers, limits by notion, methods and seeds.
TABLES = {
    "adult": Namespace(
        datasets=["adult_all/sex"], bases=BOTH, limits={PARITY: [0.1, 0.05, 0.02, 0.01]},
        methods=[*BLIND, *AWARE, *MIXED], seeds=range(5), finer={PARITY: [0.075, 0.035]},
    ),
    # Few women have a high income, so that gaps within labels are mostly chance: more splits.
    "odds": Namespace(
        datasets=["adult_all/sex"], bases=BOTH, limits={ODDS: [0.08, 0.05, 0.02, 0.01]},
        methods=["even", *BLIND, *AWARE, *MIXED], seeds=range(20),
        finer={ODDS: [0.065, 0.042, 0.035, 0.005]},
    ),
    "posts": Namespace(
        datasets=["acs_part/sex"], bases=["boosted"],
        limits={PARITY: [0.1, 0.05, 0.02, 0.01], ODDS: [0.05, 0.02, 0.01]},
        methods=[*BLIND, *AWARE], seeds=range(5),
    ),
    "small": Namespace(
        datasets=["compas/race", "law/race", "german/sex"], bases=BOTH,
        limits={PARITY: [0.1, 0.05, 0.02]}, methods=[*BLIND, *AWARE], seeds=range(10),
    ),
}  # fmt: skip


def can(method: str) -> bool:
    """Tell whether what a method needs is there, and say so if not."""
    name = methods.NEEDS.get(method)
    if name is None or find_spec(name) is not None:
        return True
    print(f"{method} is left out: there is no module {name!r} on the path of Python.")
    return False


def train_networks(setting: networks.Setting, seed: int) -> None:
    """Run what is not in the file of networks yet, for a seed."""
    done = Rows(NETWORKS, ["people", "seed", "groups", "method", "strength"])
    for row in networks.runs(setting, seed, lambda *own: own in done):
        done.add(row)
        print(
            f"{setting.people} people {seed} {row['groups']} {row['method']} {row['strength']}: "
            f"violation {row['violation_test']:.4f}, AUC {row['auc_test']:.4f}, "
            f"{row['train']:.0f} s",
            flush=True,
        )


def run(chosen: argparse.Namespace) -> None:
    decisions.LOADERS |= people.LOADERS
    decisions.METHODS |= methods.METHODS
    decisions.UNTUNED |= {"on_top", "linear_post"}
    decisions.SETTINGS["otf"] = ALPHAS
    able = {m for m in decisions.METHODS if can(m)}
    for seed in chosen.seeds:
        for name in chosen.tables:
            if name in networks.SETTINGS:
                setting = networks.SETTINGS[name]
                if seed in setting.seeds:
                    train_networks(setting, seed)
                continue
            table = TABLES[name]
            if seed not in table.seeds:
                continue
            for dataset in table.datasets:
                asked = Namespace(
                    datasets=[dataset], seeds=[seed], limits=table.limits, output=chosen.output,
                    notions=[n for n in table.limits if n in (chosen.notions or table.limits)],
                    bases=chosen.bases or table.bases,
                    methods=[m for m in chosen.methods or table.methods if m in able],
                )  # fmt: skip
                between = [m for m in asked.methods if m in FINER]
                try:
                    decisions.run(asked)
                    if hasattr(table, "finer"):
                        more = {"limits": table.finer, "methods": between}
                        decisions.run(Namespace(**(vars(asked) | more)))
                except FileNotFoundError as error:
                    print(error)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = [*TABLES, *networks.SETTINGS]
    parser.add_argument("--tables", nargs="+", choices=names, default=names)
    parser.add_argument("--seeds", nargs="+", type=int, default=list(range(20)))
    parser.add_argument("--methods", nargs="+")
    parser.add_argument("--bases", nargs="+", choices=BOTH)
    parser.add_argument("--notions", nargs="+", choices=[PARITY, ODDS])
    parser.add_argument("-o", "--output", type=Path, default=RUNS)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    run(chosen)


if __name__ == "__main__":
    main()
