"""What is run: one frozen configuration per run, and the list of them for each experiment."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from itertools import product

from otfair.datasets import SOURCES

EPSILON = 1e-3
# Strengths by protocol and method. In the full protocol the norm and the barycenter, which have
# kinks, fall steeply about the middle: some more there, so that their curves are not cut short.
_WIDE = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97, 0.99)
_DENSE = tuple(sorted((*_WIDE, 0.45, 0.55, 0.65)))
_MIDDLE = (0.2, 0.3, 0.4, 0.45, 0.5, 0.55, 0.6, 0.7)  # from three quarters left to nearly nothing
ALPHAS = {
    "full": {
        **dict.fromkeys(("otf", "otf_attributes"), _WIDE),
        **dict.fromkeys(("norm", "barycenter"), _DENSE),
        "norm2": _MIDDLE,
        # The largest one alone is lowered first, so the others fall later.
        "correlation": tuple(sorted((*_MIDDLE, 0.62, 0.65, 0.8, 0.9))),
    },
    "paper": {
        **dict.fromkeys(("otf", "otf_attributes", "norm", "coordinate"), (0.1, 0.3, 0.5, 0.7, 0.9)),
        # The paper's four, which are all strong in our units, and four below them.
        "barycenter": (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.05, 0.1, 0.2),
    },
}
# Strengths that the paper does not have, where its own leave steps too wide to read AUC between.
BETWEEN = {
    ("adult", "coordinate"): (0.01, 0.02, 0.05), ("adult", "norm"): (0.15, 0.2),
    ("adult", "otf"): (0.2,), ("dutch", "coordinate"): (0.2,), ("dutch", "norm"): (0.4,),
}  # fmt: skip
SWEEPS = {"coordinate": 100}  # at most, as in the released code
SINGLE_ALPHAS, SINGLE_SPLITS = (0.1, 0.5, 0.9), 3  # of the published ascent with one sweep
VIOLIN_EPSILONS, SMALL_EPSILONS = (1e-3, 1e-2, 1e-1, 1.0, 10.0), (1e-4,)
SOLVED = {"full": ("otf",), "paper": ("otf", "coordinate")}  # to the optimum, and as published
VIOLIN_ALPHAS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
NOTIONS = {"pdp": "demographic_parity", "peo": "equalized_odds"}
# What each dataset is trained on, in separate runs; the barycenter takes the first column only.
COLUMNS = {name: source.experiments for name, source in SOURCES.items() if source.experiments}
CONTINUOUS_SPLITS = 3  # of Bank by age, whose 150 types take long
# Penalties that the paper does not have, and their splits where there is one attribute only.
OTHERS, OTHER_SPLITS = ("norm2", "correlation"), 3


@dataclass(frozen=True)
class Run:
    """One model that is trained and judged."""

    experiment: str  # "curves", "postprocess" or "epsilon"
    dataset: str
    columns: tuple[str, ...]  # sensitive ones that the penalty sees
    notion: str  # "pdp" or "peo"; "" for the unfair model
    method: str  # "unfair", or a name of ALPHAS
    protocol: str  # "full" (L-BFGS, dataset mode, balanced) or "paper" (Adam, batch mode)
    alpha: float  # strength
    epsilon: float  # smoothing, 0 where the method has none
    split: int  # seed of the split into training and test people, and of all else
    sweeps: int = 0  # of the coordinate method

    @property
    def key(self) -> str:
        """Name of this configuration, the same on every machine."""
        text = json.dumps(asdict(self), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def path(self) -> Run:
        """What runs that are trained together, strength after strength, have in common."""
        return replace(self, alpha=0.0)


def strengths(dataset: str, method: str, protocol: str) -> tuple[float, ...]:
    """Return the strengths of a method, from weak to strong."""
    more = BETWEEN.get((dataset, method), ()) if protocol == "paper" else ()
    return tuple(sorted((*ALPHAS[protocol][method], *more)))


def curves(dataset: str, protocol: str, splits: int, ours: str = "otf") -> Iterator[Run]:
    """Every method at every strength, by split; OTF is solved as `ours` says."""
    for split in range(splits):
        base = Run("curves", dataset, (), "", "unfair", protocol, 0.0, 0.0, split)
        yield base
        first = COLUMNS[dataset][0]
        for alpha in ALPHAS[protocol]["barycenter"]:
            yield replace(base, columns=first[:1], notion="pdp", method="barycenter", alpha=alpha)
        for columns, notion in product(COLUMNS[dataset], NOTIONS):
            if columns == ("age",) and split >= CONTINUOUS_SPLITS:
                continue
            base = replace(base, columns=columns, notion=notion)
            for alpha in strengths(dataset, "norm", protocol):
                yield replace(base, method="norm", alpha=alpha)
            solved = replace(base, method=ours, epsilon=EPSILON, sweeps=SWEEPS.get(ours, 0))
            for alpha in strengths(dataset, ours, protocol):
                yield replace(solved, alpha=alpha)


def published(splits: int) -> Iterator[Run]:
    """Run the published ascent, and what the paper compares it with, on every dataset."""
    for dataset in COLUMNS:
        yield from curves(dataset, "paper", splits, "coordinate")


def single_sweep(splits: int) -> Iterator[Run]:
    """Run the published ascent on Adult with one sweep per batch."""
    for split, notion, alpha in product(range(min(splits, SINGLE_SPLITS)), NOTIONS, SINGLE_ALPHAS):
        yield Run(
            "curves", "adult", COLUMNS["adult"][0], notion, "coordinate", "paper", alpha, EPSILON,
            split, 1,
        )  # fmt: skip


def attributes(protocol: str, splits: int) -> Iterator[Run]:
    """Run OTF with one cost for each attribute, which the paper does not have."""
    for split, dataset in product(range(splits), COLUMNS):
        several = [columns for columns in COLUMNS[dataset] if len(columns) > 1]
        for columns, notion in product(several, NOTIONS):
            for alpha in ALPHAS[protocol]["otf_attributes"]:
                yield Run(
                    "curves", dataset, columns, notion, "otf_attributes", protocol, alpha, EPSILON,
                    split,
                )  # fmt: skip


def others(splits: int) -> Iterator[Run]:
    """Run penalties that the paper does not have, in the full protocol."""
    for split, dataset in product(range(splits), COLUMNS):
        for columns, notion, method in product(COLUMNS[dataset], NOTIONS, OTHERS):
            if columns == ("age",) or (len(columns) == 1 and split >= OTHER_SPLITS):
                continue
            for alpha in ALPHAS["full"][method]:
                yield Run(
                    "curves", dataset, columns, notion, method, "full", alpha, 0.0, split
                )  # fmt: skip


def postprocess(protocol: str, seeds: int = 5) -> Iterator[Run]:
    """Train without penalty, then with nothing else; Adult by sex. In batches, as published too."""
    for seed, method in product(range(seeds), SOLVED[protocol]):
        yield Run(
            "postprocess", "adult", ("sex",), "pdp", method, protocol, 1.0, EPSILON, seed,
            SWEEPS.get(method, 0),
        )  # fmt: skip


def epsilons(protocol: str, splits: int) -> Iterator[Run]:
    """Scores by smoothing and strength; Adult by sex. In batches, by the published ascent too."""
    alphas = {"full": VIOLIN_ALPHAS, "paper": ALPHAS["paper"]["otf"]}[protocol]
    grid = product(range(splits), SOLVED[protocol], (*SMALL_EPSILONS, *VIOLIN_EPSILONS), alphas)
    for split, method, epsilon, alpha in grid:
        yield Run(
            "epsilon", "adult", ("sex",), "pdp", method, protocol, alpha, epsilon, split,
            SWEEPS.get(method, 0),
        )  # fmt: skip


def plan(target: str, protocol: str, splits: int) -> list[Run]:
    """Every run of one of the command's targets."""
    if target == "postprocess":
        return list(postprocess(protocol, min(splits, 5)))
    if target == "epsilon":
        return list(epsilons(protocol, splits))
    if target == "attributes":
        return list(attributes(protocol, splits))
    if target == "others":
        return list(others(splits))
    if target == "published":
        return [*published(splits), *single_sweep(splits)]
    if target != "all" and target not in COLUMNS:
        known = ", ".join(
            [*COLUMNS, "postprocess", "epsilon", "attributes", "others", "published", "all"]
        )
        raise ValueError(f"unknown experiment {target!r}; pass one of {known}.")
    names = list(COLUMNS) if target == "all" else [target]
    runs = [run for name in names for run in curves(name, protocol, splits)]
    if protocol == "paper":
        solved = (run for run in published(splits) if run.method == "coordinate")
        runs += [run for run in solved if run.dataset in names]
        runs += single_sweep(splits) if "adult" in names else ()
    if target == "all":
        runs += [*postprocess(protocol, min(splits, 5)), *epsilons(protocol, splits)]
        runs += [*attributes(protocol, splits), *(others(splits) if protocol == "full" else ())]
    return runs
