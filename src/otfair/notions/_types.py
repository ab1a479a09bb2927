"""People by type: from groups and strata to rows of a notion, and the rows of two notions as one.

Maths: docs/derivation.md, section 5.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from otfair.notions._attributes import Attribute, Strata, number_types
from otfair.notions._constraints import People


def type_people(
    strata: Strata, attributes: list[Attribute], weight: Tensor, as_tensor: bool = False
) -> People:
    """Lay out one row per stratum and group (or continuous attribute), one column per type."""
    types, first = number_types(strata.codes, attributes)
    levels = strata.codes[first]  # (K,)
    rows: list[tuple[str, str, tuple[str, str], str, np.ndarray, np.ndarray]] = []
    for level, stratum in enumerate(strata.names):
        given, inside = f" | {stratum}" if stratum else "", levels == level
        for a in attributes:
            codes, key = a.codes[first], (a.name, stratum)  # (K,)
            if a.is_group:  # being outside of an encoded group has no name, and no row
                named = [(c, name) for c, name in enumerate(a.values) if name]
                rows += [
                    (f"{name}{given}", name, key, "group", codes == c, inside) for c, name in named
                ]
            else:
                values = a.values[codes]
                rows.append((f"{a.name}{given}", a.name, key, "continuous", values, inside))
    called = [np.array(a.value_names(), dtype=object)[a.codes[first]] for a in attributes]
    parts = [
        [*person, strata.names[level]] if level >= 0 else [strata.outside]
        for level, person in zip(levels, zip(*called))
    ]
    names, groups, compared, kinds, design, insides = zip(*rows)
    return People(
        design=torch.as_tensor(np.array(design, dtype=np.float64)),
        strata=torch.as_tensor(np.array(insides)),
        kinds=kinds,
        target=torch.zeros(len(names), dtype=torch.float64),
        names=names,
        compared=compared,
        groups=groups,
        type_names=tuple(", ".join(filter(None, some)) for some in parts),
        types=torch.as_tensor(types),
        weight=weight.cpu(),
        as_tensor=as_tensor,
    )


def stack_people(a: People, b: People) -> People:
    """Type people by both notions at once and stack the rows of the two."""
    if len(a.types) != len(b.types):
        raise ValueError(
            f"the two notions speak of {len(a.types)} and {len(b.types)} people. Let the function "
            "of a `LinearNotion` return one column per person."
        )
    both = torch.stack([a.types, b.types.to(a.types.device)])
    (i, j), types = torch.unique(both, dim=1, return_inverse=True)
    pairs = zip(i.tolist(), j.tolist())
    return replace(
        a,
        design=torch.cat([a.design[:, i], b.design[:, j]]),
        strata=torch.cat([a.strata[:, i], b.strata[:, j]]),
        kinds=a.kinds + b.kinds,
        target=torch.cat([a.target, b.target]),
        rates=_stacked_rates(a, b),
        names=a.names + b.names,
        compared=a.compared + b.compared,
        groups=a.groups + b.groups,
        type_names=tuple(_merged_name(a.type_names[k], b.type_names[l]) for k, l in pairs),
        types=types,
        as_tensor=a.as_tensor or b.as_tensor,
    )


def _stacked_rates(a: People, b: People) -> Tensor | None:
    if a.rates is None and b.rates is None:
        return None
    none = (torch.full_like(p.target, torch.nan) if p.rates is None else p.rates for p in (a, b))
    return torch.cat([*none])


def _merged_name(a: str, b: str) -> str:
    parts = a.split(", ")
    return ", ".join(parts + [p for p in b.split(", ") if p not in parts])
