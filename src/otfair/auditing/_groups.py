"""Comparisons: the groups of one attribute under one notion, and the types score moves between."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
import torch

from otfair._io.arrays import ArgumentError
from otfair.auditing._reading import AuditData
from otfair.notions import (
    Attribute,
    ConditionalParity,
    DemographicParity,
    EqualizedOdds,
    GroupNotion,
    Notion,
    People,
    PredictiveParity,
    Strata,
    as_notion,
    cross,
    lay_out,
    number_types,
    read_group,
    split_columns,
)
from otfair.tables import Column, is_number

MIN_BINS = 16  # of a continuous attribute whose values are too many to move score between them
MAX_ENTRIES = 4_000_000  # distances of people to types of a continuous attribute
MAX_TYPES = 400  # of people; more would be too few people each, and too many to show


@dataclass(frozen=True, kw_only=True)
class Comparison:
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
    rate: float | None = None  # that precision must be, where the user says so
    #: Whose codes these are: the people, or combinations of what is compared that they have.
    table: AuditData | None = None


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
    out = [one for one in notions if one not in free]
    out += [replace(one, control=names) for one in within]
    if not out:
        raise ValueError("`notions` is empty; pass at least one, such as 'demographic_parity'.")
    return out


def compare(
    data: AuditData, notions: Sequence[GroupNotion], crossed: Sequence[tuple[str, ...]] = ()
) -> list[Comparison]:
    """Return one comparison for each attribute of each notion; those that share distances meet.

    Some columns are compared crossed too.
    """
    found: dict[tuple[object, ...], Comparison] = {}
    for columns in crossed:
        _check_crossed(data, columns)
    for notion in _conditioned(notions, data.controls):
        for c in _compare_by(data, notion, crossed):
            found.setdefault((c.notion, c.attribute, c.rate, *c.strata.names), c)
    order = [str(column.name) for column in data.columns]
    order += [c.attribute for c in found.values()]  # crossed ones come last
    keys = [c.fine_key for c in found.values()]
    return sorted(found.values(), key=lambda c: (order.index(c.attribute), keys.index(c.fine_key)))


def _check_crossed(data: AuditData, columns: tuple[str, ...]) -> None:
    """Raise where columns can't be crossed."""
    groups = [str(column.name) for column in data.columns if not is_number(column.values)]
    others = [name for name in columns if name not in groups]
    if others or len(set(columns)) < 2:
        what = f"{others[0]!r}, which is none" if others else f"{list(columns)}"
        raise ArgumentError(
            "cross",
            f"must name two or more sensitive columns of groups; received {what}. Columns of "
            f"groups are {groups}.",
        )


def read_reference(reference: object, comparisons: Iterable[Comparison]) -> dict[str, str]:
    """Return the group that others are compared with, by attribute, where one is named.

    It is named in full, "sex=Male", or by its value alone.
    """
    if reference is None:
        return {}
    every = {c.attribute: [str(v) for v in c.groups.values] for c in comparisons}
    given = reference if isinstance(reference, Mapping) else dict.fromkeys(every, reference)
    found: dict[str, str] = {}
    for attribute, wanted in given.items():
        groups = every.get(str(attribute), [])
        for name in groups:
            if str(wanted) in (name, name.removeprefix(f"{attribute}=")):
                found[str(attribute)] = name
        if isinstance(reference, Mapping) and str(attribute) not in found:
            raise ArgumentError(
                "reference",
                f"is {str(wanted)!r} for {str(attribute)!r}, which has the groups {groups[:10]}.",
            )
    if not found:
        groups = [name for names in every.values() for name in names]
        raise ArgumentError("reference", f"is {str(reference)!r}, which is none of {groups[:10]}.")
    return found


def _compare_by(
    data: AuditData, notion: GroupNotion, crossed: Sequence[tuple[str, ...]]
) -> list[Comparison]:
    strata, kept = _stratified(data, notion)
    numbers = [column for column in kept if is_number(column.values)]
    groups = [read_group(column) for column in kept if not is_number(column.values)]
    together = [cross([g for g in groups if g.name in names])[0] for names in crossed]
    groups = cross(groups) if notion.intersectional else groups + together
    every: list[Column | Attribute] = [*groups, *numbers]
    return [_compare(data, notion, strata, one) for one in every]


def _stratified(data: AuditData, notion: GroupNotion) -> tuple[Strata, list[Column]]:
    """Return the strata of people, and the columns by which they are compared within them."""
    columns, labels = list(data.columns), data.labels
    if isinstance(notion, ConditionalParity):
        columns += data.controls
    strata, kept = split_columns(notion, columns, labels, len(data.weight))
    kept = [column for column in kept if column not in data.controls]
    if notion.reads_labels:  # by what the labels are called
        words = {f"y={k}": words for k, words in enumerate(data.outcomes)}
        outside = words.get(strata.outside, strata.outside)
        strata = Strata(strata.codes, [words[name] for name in strata.names], outside)
    if not (strata.codes >= 0).any():
        raise ValueError(
            f"{notion.name} compares people with {' or '.join(strata.names)}, and there "
            "are none. Check the labels, or ask for another notion."
        )
    return strata, kept


def _compare(
    data: AuditData, notion: GroupNotion, strata: Strata, column: Column | Attribute
) -> Comparison:
    numbers, bins, most, name = None, None, MAX_TYPES, str(column.name)
    by_label = data.labels is not None and not isinstance(notion, ConditionalParity)
    table = data
    if isinstance(column, Attribute):
        moved = groups = column
    else:
        most = max(most, MAX_ENTRIES // len(data))
        room = max(MIN_BINS, MAX_ENTRIES // len(data) // (2 if by_label else len(strata.names)))
        table, binned = data.binned(name, room)
        moved, groups, numbers = binned.moved, binned.groups, binned.numbers
        strata = strata if table is data else _stratified(table, notion)[0]
        bins = len(moved.values) if binned.distinct > room else None
    types, first = number_types(strata.codes, [moved])
    if len(first) > most:
        raise ValueError(
            f"{notion.name} by {name!r} would compare {len(first)} kinds of people "
            f"({len(np.unique(strata.codes))} values of what it is conditioned on), more than "
            f"{most}. Condition on fewer columns, cross fewer, or merge rare values."
        )
    fine, key = types, (name, *strata.names)
    if by_label:
        key = (name, "label")
        fine = np.unique(moved.codes * 2 + table.labels, return_inverse=True)[1]
    return Comparison(
        notion=type(notion),
        attribute=name,
        groups=groups,
        numbers=numbers,
        bins=bins,
        strata=strata,
        people=lay_out(notion, strata, [moved], torch.as_tensor(table.weight)),
        fine=fine,
        fine_key=key,
        rate=notion.rate if isinstance(notion, PredictiveParity) else None,
        table=table,
    )
