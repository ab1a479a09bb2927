"""How often each group is decided positively, for any notion: rates, and how far apart they are.

Maths: docs/metrics.md. A notion's groups are compared within its strata; of a number, the rate is
the slope of decisions per standard deviation; for predictive parity, it is how often positive
decisions are right.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from otfair._io.arrays import Array
from otfair.notions import Notion, as_notion, known_people

NORMAL = float(ndtri(0.975))


@dataclass(frozen=True)
class Rate:
    """The rate of one group in one stratum, or the slope of a number."""

    name: str  # such as "sex=Female | y=1"
    attribute: str
    stratum: str
    kind: str  # "group" or "continuous"
    people: int
    rate: float
    low: float = np.nan  # of its 95 % interval
    high: float = np.nan


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
    """Return the share of positive decisions, (n,) bool or 0 and 1, of each group of a notion.

    For predictive parity it is that of positives among those who are decided positively.
    """
    people = known_people(as_notion(notion), sensitive_features, labels, sample_weight)
    design, strata = (part.cpu().numpy() for part in (people.design, people.strata))
    types, weight = people.types.cpu().numpy(), people.weight.cpu().numpy()
    decided = np.asarray(decisions, dtype=np.float64)
    kinds = range(design.shape[1])
    mass, positive, count, square, chosen, chosen_square = (
        np.bincount(types, w, len(kinds))
        for w in (
            weight, weight * decided, weight > 0, weight**2,
            (weight > 0) * decided, weight**2 * decided,
        )
    )  # fmt: skip
    found = []
    for c, (name, kind) in enumerate(zip(people.names, people.kinds)):
        value, inside = design[c], strata[c].astype(np.float64)
        if kind == "group":
            inside = inside * (value > 0)
        if kind == "precision":  # of those decided positively, who are positive
            total = positive @ inside
            if not total > 0:
                continue
            rate = positive @ (inside * value) / total
            low, high = _wilson(rate, total**2 / (chosen_square @ inside))
            facts = (name, *people.compared[c], "group", int(chosen @ inside))
            found.append(Rate(*facts, float(rate), float(low), float(high)))
            continue
        total = mass @ inside
        if kind == "fixed" or not total > 0:
            continue
        rate = positive @ inside / total
        people_there = total**2 / (square @ inside)  # of equal weight
        low, high = _wilson(rate, people_there)
        if kind == "continuous":
            mean = mass @ (inside * value) / total
            scale = np.sqrt(mass @ (inside * (value - mean) ** 2) / total)
            if not scale > 0:
                continue
            z = (value - mean) / scale
            spread = positive @ (inside * z**2) / total  # of z decided, and its mean
            rate = positive @ (inside * z) / total
            reach = NORMAL * np.sqrt(max(spread - rate**2, 0.0) / people_there)
            low, high = rate - reach, rate + reach
        attribute, stratum = people.compared[c]
        size = int(count @ inside)
        ends = float(low), float(high)
        found.append(Rate(name, attribute, stratum, kind, size, float(rate), *ends))
    return found


def _wilson(rate: float, people: float) -> tuple[float, float]:
    """Return Wilson's interval of a rate."""
    square = NORMAL**2
    centre = (rate + square / (2 * people)) / (1 + square / people)
    reach = np.sqrt(rate * (1 - rate) / people + square / (4 * people**2))
    reach *= NORMAL / (1 + square / people)
    return max(centre - reach, 0.0), min(centre + reach, 1.0)


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
