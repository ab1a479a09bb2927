"""Groups of one attribute under one notion, and how unequally the scores treat them.

Maths: docs/audit.md. Everything is a function of sums over (group, stratum) cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
import scipy.sparse as sp
import torch

from otfair.auditing._binning import quantile_codes, range_names
from otfair.auditing._reading import Audited
from otfair.auditing._resampling import by_cell, estimate, resample
from otfair.auditing._results import Estimate, Group, Violation
from otfair.notions import (
    Attribute,
    ConditionalParity,
    DemographicParity,
    EqualizedOdds,
    GroupNotion,
    Notion,
    People,
    Strata,
    as_notion,
    cross,
    number_types,
    read_group,
    type_people,
)
from otfair.tables import Column

BINS = 16  # of a continuous attribute, for transport, where its values are too many
ENTRIES = 4_000_000  # distances of people to types; a continuous attribute may have as many values
QUARTERS = 4  # of a continuous attribute, for tables and pictures
FEW = 30  # people: fewer are too few to say
MOST_TYPES = 400  # of people; more would be too few people each, and too many to show
ROUNDING = 1e-24  # of the largest square: a smaller spread is that of equal numbers
WIDE = 0.2  # interval of a rate: a wider one says too little


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One attribute under one notion: who is compared with whom."""

    notion: type[GroupNotion]
    attribute: str
    groups: Attribute  # as shown: the groups, or quarters of a continuous attribute
    numbers: np.ndarray | None  # (n,) of a continuous attribute
    bins: int | None  # that its values are moved between; None where they are not too many
    strata: Strata
    people: People  # typed for transport
    fine: np.ndarray  # (n,) types, or parts of them that other notions share
    fine_key: tuple[str, ...]  # equal where `fine` is


def read_notions(notions: object, labelled: bool) -> list[GroupNotion]:
    """Return the notions that are to be audited; by default those that labels allow."""
    if notions is None:
        notions = [DemographicParity()] + [EqualizedOdds()] * labelled
    given = [notions] if isinstance(notions, (str, Notion)) else list(notions)  # type: ignore[call-overload]
    out: list[GroupNotion] = []
    for notion in (part for one in given for part in as_notion(one).parts):
        if not isinstance(notion, GroupNotion):
            raise ValueError(
                f"an audit compares groups, which {type(notion).__name__} does not: pass notions "
                "by name, and use `exact_otf` for one of your own."
            )
        if notion.encoded:
            raise ValueError(
                f"an audit reads columns of zeros and ones as groups anyhow, and can't leave the "
                f"zeros out: pass {type(notion).__name__} without `encoded`, and name columns of "
                "other numbers in `continuous`."
            )
        out.append(notion)
    return out


def _conditioned(notions: Sequence[GroupNotion], controls: tuple[Column, ...]) -> list[GroupNotion]:
    """Let conditional parity be within the controls, which ask for it even if nobody else does."""
    names = [str(column.name) for column in controls]
    free = [one for one in notions if isinstance(one, ConditionalParity) and not one.control]
    if free and not names:
        raise ValueError(
            "conditional parity compares people within the values of some columns, and there are "
            "none: pass them as `control_features`. To compare within labels, ask for "
            "'equalized_odds'."
        )
    plain = [one for one in notions if type(one) is DemographicParity] or [DemographicParity()]
    within = free or ([ConditionalParity(**asdict(one)) for one in plain] if names else [])
    out = [
        *(one for one in notions if one not in free),
        *(replace(one, control=names) for one in within),
    ]
    if not out:
        raise ValueError("`notions` is empty; pass at least one, such as 'demographic_parity'.")
    return out


def compare(audited: Audited, notions: Sequence[GroupNotion]) -> list[Compared]:
    """Return one comparison for each attribute that a notion speaks of, by attribute.

    Those that share distances are side by side, and none is there twice.
    """
    found: dict[tuple[object, ...], Compared] = {}
    for notion in _conditioned(notions, audited.controls):
        for c in _compare_by(audited, notion):
            found.setdefault((c.notion, c.attribute, *c.strata.names), c)
    order = [str(column.name) for column in audited.columns]
    order += [c.attribute for c in found.values()]  # crossed ones come last
    keys = [c.fine_key for c in found.values()]
    return sorted(found.values(), key=lambda c: (order.index(c.attribute), keys.index(c.fine_key)))


def _compare_by(audited: Audited, notion: GroupNotion) -> list[Compared]:
    columns, labels = list(audited.columns), audited.labels
    if isinstance(notion, ConditionalParity):
        columns += audited.controls
    strata, kept = notion.split(columns, labels, len(audited))
    kept = [column for column in kept if column not in audited.controls]
    if notion.within_labels:  # by what the labels are called
        words = {f"y={k}": words for k, words in enumerate(audited.outcomes)}
        outside = words.get(strata.outside, strata.outside)
        strata = Strata(strata.codes, [words[name] for name in strata.names], outside)
    if not (strata.codes >= 0).any():
        raise ValueError(
            f"{notion.name} compares people with {' or '.join(strata.names)}, and there "
            "are none. Check the labels, or ask for another notion."
        )
    numbers = [column for column in kept if column.values.dtype.kind == "f"]
    groups = [read_group(column) for column in kept if column.values.dtype.kind != "f"]
    groups = cross(groups) if notion.intersectional else groups
    every: list[Column | Attribute] = [*groups, *numbers]
    return [_compare(audited, notion, strata, one) for one in every]


def _compare(
    audited: Audited, notion: GroupNotion, strata: Strata, column: Column | Attribute
) -> Compared:
    numbers = None if isinstance(column, Attribute) else column.values
    bins, most = None, MOST_TYPES
    by_label = audited.labels is not None and not isinstance(notion, ConditionalParity)
    if isinstance(column, Attribute):
        moved = groups = column
    else:
        most = max(most, ENTRIES // len(audited))
        room = max(BINS, ENTRIES // len(audited) // (2 if by_label else len(strata.names)))
        moved, groups = bin_numbers(column.values, str(column.name), room, audited.weight)
        bins = len(moved.values) if len(np.unique(column.values)) > room else None
    types, first = number_types(strata.codes, [moved])
    if len(first) > most:
        raise ValueError(
            f"{notion.name} by {column.name!r} would compare {len(first)} kinds of people "
            f"({len(np.unique(strata.codes))} values of what it is conditioned on), more than "
            f"{most}. Condition on fewer columns, cross fewer, or merge rare values."
        )
    fine, key = types, (str(column.name), *strata.names)
    if by_label:
        fine, key = moved.codes * 2 + audited.labels, (str(column.name), "label")
        fine = np.unique(fine, return_inverse=True)[1]
    people = type_people(strata, [moved], torch.as_tensor(audited.weight))
    return Compared(
        notion=type(notion),
        attribute=str(column.name),
        groups=groups,
        numbers=numbers,
        bins=bins,
        strata=strata,
        people=people,
        fine=fine,
        fine_key=key,
    )


def bin_numbers(
    values: np.ndarray, name: str, room: int, weight: np.ndarray
) -> tuple[Attribute, Attribute]:
    """Return a continuous attribute in at most `room` bins, by their means, and in quarters."""
    fine, coarse = (quantile_codes(values, count, weight) for count in (room, QUARTERS))
    means = np.bincount(fine, weight * values) / np.bincount(fine, weight)
    names = [f"{name} {one}" for one in range_names(values, coarse)]
    return (
        Attribute(fine, means, name, is_group=False),
        Attribute(coarse, np.array(names, dtype=object), name, is_group=True),
    )


def judge(audited: Audited, compared: Compared, threshold: float, counts: np.ndarray) -> Violation:
    """Measure how unfair the scores are, with intervals."""
    h, w = audited.scores, audited.weight
    y = None if compared.notion.within_labels else audited.labels  # all alike within a label
    names = [str(v) for v in compared.groups.values]
    G, S = len(names), len(compared.strata.names)
    inside = compared.strata.codes >= 0
    cells = np.where(inside, compared.strata.codes * G + compared.groups.codes, -1)
    strata = np.where(inside, compared.strata.codes, -1)
    centre, z = _centred(h, w, strata, S)  # centred numbers cancel less
    columns = [w, w * z, w * z**2, w * (h > threshold)] + ([] if y is None else [w * y])
    A = by_cell(cells, S * G, *columns)
    s = compared.numbers
    if s is not None:
        _, s = _centred(s / np.abs(s).max(), w, strata, S)
        A = sp.csr_array(sp.vstack([A, by_cell(strata, S, w * s, w * s**2, w * s * z)]))
    sums = resample(A, counts)  # (R, q S G [+ 3 S])
    cut = len(columns) * S * G
    W, first, second, positive, *labelled = np.moveaxis(
        sums[:, :cut].reshape(len(sums), len(columns), S, G), 1, 0
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        mean, rate = centre[:, None] + first / W, positive / W
        base = labelled[0] / W if labelled else None
        count = W[0] ** 2 / np.bincount(cells[inside], w[inside] ** 2, S * G).reshape(S, G)
        rng = np.random.default_rng(0)
        mean, rate = (_unsure(values, count, rng) for values in (mean, rate))
        base = None if base is None else _unsure(base, count, rng)
        least = ROUNDING * float(np.abs(h).max()) ** 2
        if s is None:
            rows = _group_correlations(W, first, second, least)  # (R, S, G)
        else:
            moments = np.moveaxis(sums[:, cut:].reshape(len(sums), 3, S), 1, 0)
            rows = _correlations(W, first, second, moments, least)[..., None]  # (R, S, 1)
        largest = np.abs(rows).max((1, 2))
        off = np.abs(rows[1:] - rows[0]).max((1, 2))
    tied = np.abs(rows[0]) >= (1 - 1e-9) * largest[0]  # as two groups are, but for rounding
    worst = np.unravel_index(int(np.where(tied, rows[0], np.inf).argmin()), rows[0].shape)
    sizes = np.bincount(cells[inside], minlength=S * G).reshape(S, G)
    stratum_names = compared.strata.names
    given = f", {stratum_names[worst[0]]}" if stratum_names[worst[0]] else ""
    return Violation(
        value=estimate(largest, 0.0, 1.0),
        worst=(compared.attribute if s is not None else names[worst[1]]) + given,
        chance=float(np.percentile(off, 95)) if len(off) else float("nan"),
        mean_difference=_spread(mean),
        mean_ratio=_ratio(mean),
        rate_difference=_spread(rate),
        rate_ratio=_ratio(rate),
        groups=tuple(
            _group(names[g], stratum_names[s_], int(sizes[s_, g]), mean, rate, base, s_, g)
            for s_ in range(S)
            for g in range(G)
            if sizes[s_, g]
        ),
    )


def _centred(
    x: np.ndarray, w: np.ndarray, strata: np.ndarray, S: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean of each stratum, (S,), and numbers less that of their own, (n,)."""
    inside = strata >= 0
    size, total = (np.bincount(strata[inside], v[inside], S) for v in (w, w * x))
    mean = total / np.where(size > 0, size, 1.0)
    return mean, x - mean[strata]


def _group(
    name: str, stratum: str, count: int, mean: np.ndarray, rate: np.ndarray,
    base: np.ndarray | None, s: int, g: int,
) -> Group:  # fmt: skip
    decided = estimate(rate[:, s, g], 0.0, 1.0)
    return Group(
        group=name,
        stratum=stratum,
        people=count,
        mean_score=estimate(mean[:, s, g], 0.0, 1.0),
        rate=decided,
        base_rate=None if base is None else estimate(base[:, s, g], 0.0, 1.0),
        small=count < FEW or decided.high - decided.low > WIDE,
    )


def _unsure(values: np.ndarray, count: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw shares that no resample changes, (R, S, G), from what else they could have been.

    Forty decisions out of forty are no proof of certainty, nor is a single score. With a uniform
    prior, shares of (S, G) `count` people have a beta distribution, which agrees with Wilson.
    """
    again = np.where(np.isnan(values), values[0], values)
    out = values.copy()
    same = np.ptp(again, axis=0) <= 1e-12 * np.abs(values[0])
    for cell in zip(*np.nonzero(same & (count > 0))):
        share, n = np.clip(values[0][cell], 0.0, 1.0), count[cell]
        out[1:, *cell] = rng.beta(n * share + 1, n * (1 - share) + 1, len(values) - 1)
    return out


def _group_correlations(
    W: np.ndarray, first: np.ndarray, second: np.ndarray, least: float
) -> np.ndarray:
    """Pearson correlation of scores and each group within its stratum, (R, S, G)."""
    size = W.sum(-1, keepdims=True)
    centre = first.sum(-1, keepdims=True) / size
    spread = second.sum(-1, keepdims=True) / size - centre**2
    share = W / size
    rows = (first / W - centre) * np.sqrt(share / (1 - share) / spread)
    return np.where(np.isfinite(rows) & (spread > least), rows, 0.0)


def _correlations(
    W: np.ndarray, first: np.ndarray, second: np.ndarray, moments: np.ndarray, least: float
) -> np.ndarray:
    """Pearson correlation of scores and a continuous attribute within each stratum, (R, S)."""
    size, h, hh = (x.sum(-1) for x in (W, first, second))
    h, hh, s, ss, hs = (x / size for x in (h, hh, *moments))
    spread, own = hh - h**2, ss - s**2
    rows = (hs - h * s) / np.sqrt(spread * own)
    return np.where(np.isfinite(rows) & (spread > least) & (own > ROUNDING), rows, 0.0)


def _spread(values: np.ndarray) -> Estimate:
    """Largest difference between groups of a stratum, (R, S, G)."""
    high = np.where(np.isnan(values), -np.inf, values).max(-1)
    low = np.where(np.isnan(values), np.inf, values).min(-1)
    return estimate(np.where(high > low, high - low, 0.0).max(-1), 0.0, 1.0)


def _ratio(values: np.ndarray) -> Estimate:
    """Smallest ratio of two groups of a stratum, (R, S, G); 1 where all are 0."""
    high = np.where(np.isnan(values), -np.inf, values).max(-1)
    low = np.where(np.isnan(values), np.inf, values).min(-1)
    return estimate(np.where(high > 0, low / np.where(high > 0, high, 1.0), 1.0).min(-1), 0.0, 1.0)
