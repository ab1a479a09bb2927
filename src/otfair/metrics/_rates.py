"""How often each group is decided positively, for any notion: rates, and how far apart they are.

Maths: docs/metrics.md. A notion's groups are compared within its strata; of a number, the rate is
the slope of decisions per standard deviation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from otfair._io.arrays import Array
from otfair.notions import Notion, as_notion, known_people


@dataclass(frozen=True)
class Rate:
    """The rate of one group in one stratum, or the slope of a number."""

    name: str  # such as "sex=Female | y=1"
    attribute: str
    stratum: str
    kind: str  # "group" or "continuous"
    people: int
    rate: float


@dataclass(frozen=True)
class Spread:
    """How far apart the rates of one attribute are in one stratum."""

    name: str  # such as "sex | y=1"
    attribute: str
    difference: float  # largest between two groups; of a number, the size of the slope
    ratio: float  # smallest between two groups; NaN of a number


def group_rates(
    decisions: Array,
    sensitive_features: Array,
    notion: Notion | str = "demographic_parity",
    labels: Array = None,
    sample_weight: Array = None,
) -> list[Rate]:
    """Return the share of positive decisions, (n,) bool or 0 and 1, of each group of a notion."""
    people = known_people(as_notion(notion), sensitive_features, labels, sample_weight)
    design, strata = (part.cpu().numpy() for part in (people.design, people.strata))
    types, weight = people.types.cpu().numpy(), people.weight.cpu().numpy()
    decided = np.asarray(decisions, dtype=np.float64)
    kinds = range(design.shape[1])
    mass, positive, count = (
        np.bincount(types, w, len(kinds)) for w in (weight, weight * decided, weight > 0)
    )
    found = []
    for c, (name, kind) in enumerate(zip(people.names, people.kinds)):
        value, inside = design[c], strata[c].astype(np.float64)
        if kind == "group":
            inside = inside * (value > 0)
        total = mass @ inside
        if kind == "fixed" or not total > 0:
            continue
        rate = positive @ inside / total
        if kind == "continuous":
            mean = mass @ (inside * value) / total
            scale = np.sqrt(mass @ (inside * (value - mean) ** 2) / total)
            if not scale > 0:
                continue
            rate = positive @ (inside * (value - mean) / scale) / total
        attribute, stratum = people.compared[c]
        found.append(Rate(name, attribute, stratum, kind, int(count @ inside), float(rate)))
    return found


def spread_of(rates: list[Rate]) -> list[Spread]:
    """Return how far apart rates are, for each attribute in each stratum."""
    families: dict[tuple[str, str, str], list[float]] = {}
    for rate in rates:
        own = rate.name if rate.kind == "continuous" else ""
        families.setdefault((rate.attribute, rate.stratum, own), []).append(rate.rate)
    found = []
    for (attribute, stratum, own), values in families.items():
        name = f"{attribute} | {stratum}" if stratum else attribute
        if own:
            found.append(Spread(name, attribute, abs(values[0]), float("nan")))
        elif len(values) > 1:
            ratio = min(values) / max(values) if max(values) > 0 else 1.0
            found.append(Spread(name, attribute, max(values) - min(values), ratio))
    return found
