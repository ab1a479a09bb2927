"""The rows of a notion as means over people: what is counted, in whom, and what is compared.

Maths: docs/decisions.md, section "The linear program". A group's row is its rate of positive
decisions in a stratum; a continuous attribute's is the slope of decisions per standard deviation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from otfair._io.arrays import Array
from otfair.decisions._limits import Family
from otfair.notions import GroupNotion, Memory, Notion, People, known_people

Limit = float | Mapping[str, float] | None


@dataclass(frozen=True)
class Row:
    """One row: how a person's value is read, and what it is divided by."""

    name: str  # such as "sex=Female | y=1"
    attribute: str
    stratum: str
    kind: str  # "group", "continuous" or "fixed"
    part: int  # which notion of a stack it is of
    label: int  # of the stratum; -1 where strata are not labels
    mean: float  # of a continuous attribute in its stratum; else 0
    scale: float  # its standard deviation; else 1
    share: float  # of people, who are in the group or stratum
    target: float  # what a fixed row is compared with
    outside: bool = False  # whether it is of those in the stratum who are not in the group


def read_rows(
    notion: Notion, sensitive: Array, labels: np.ndarray, weight: np.ndarray, known: np.ndarray
) -> tuple[list[Row], np.ndarray]:
    """Return the rows of a notion, and each person's values, (n, d), which are 0 if not known."""
    rows: list[Row] = []
    values: list[np.ndarray] = []
    for j, part in enumerate(notion.parts):
        people = known_people(part, sensitive, labels, weight)
        if "precision" in people.kinds:
            raise ValueError(
                "a rule of decisions can't be tuned for predictive parity: it limits differences "
                "of rates, which are linear in the decisions, and precision is a share of the "
                "decisions themselves. Pass another notion, such as 'equalized_odds', or train "
                "with this one: `OTFClassifier(notion='predictive_parity')`."
            )
        design, strata, mass = _by_type(people)
        types, total = people.types.cpu().numpy(), weight.sum()
        label_of = _label_of(part, people)
        for c, (name, kind) in enumerate(zip(people.names, people.kinds)):
            attribute, stratum = people.compared[c]
            given = (attribute, stratum, kind, j, label_of.get(stratum, -1))
            inside = mass * strata[c]
            if not inside.sum() > 0:
                continue
            if kind == "fixed":
                target = float(people.target[c]) / total
                rows.append(Row(name, *given, 0.0, 1.0, 1.0, target))
                values.append(design[c][types])
            elif kind == "continuous":
                mean = float(inside @ design[c] / inside.sum())
                scale = float(np.sqrt(inside @ (design[c] - mean) ** 2 / inside.sum()))
                if scale > 0:
                    rows.append(Row(name, *given, mean, scale, inside.sum() / total, 0.0))
                    values.append(((design[c] - mean) / scale * strata[c])[types])
            else:
                for outside in (False, True) if _is_alone(people, c) else (False,):
                    member = strata[c] * ((design[c] > 0) != outside)
                    if mass @ member > 0:
                        called = f"not {name}" if outside else name
                        share = float(mass @ member) / total
                        rows.append(Row(called, *given, 0.0, 1.0, share, 0.0, outside))
                        values.append(member[types])
    return rows, np.column_stack(values).astype(np.float64) * known[:, None]


def known_values(
    notion: Notion, rows: Sequence[Row], sensitive: Array, scores: np.ndarray
) -> np.ndarray:
    """Return E[value | score, attributes] for new people, (n, d); unknown groups have 0."""
    out = np.zeros((len(scores), len(rows)))
    for j, asked in enumerate(notion.parts):
        own = [(c, row) for c, row in enumerate(rows) if row.part == j]
        part = _as_fitted(asked, [row for _, row in own])
        if any(row.kind == "fixed" for _, row in own):
            raise ValueError(
                "rows of your own can't be read without labels; leave `use_sensitive=False`."
            )
        by_label = any(row.label >= 0 for _, row in own)
        for label, chance in ((0, 1 - scores), (1, scores)) if by_label else ((0, 1.0),):
            people = Memory().people(part, sensitive, np.full(len(scores), label))
            design, strata, _ = _by_type(people)
            types, place = people.types.cpu().numpy(), {n: c for c, n in enumerate(people.names)}
            for c, row in own:
                k = place.get(row.name.removeprefix("not ") if row.outside else row.name)
                if k is None:
                    continue
                value = design[k]
                if row.kind == "continuous":
                    value = (value - row.mean) / row.scale
                elif row.outside:
                    value = 1.0 - value
                out[:, c] += chance * (value * strata[k])[types]
    return out


def families_of(
    rows: Sequence[Row], max_difference: Limit, min_ratio: Limit, min_rate: Limit = None
) -> list[Family]:
    """Return which rows are compared, with the limits of their attributes, and smallest rates."""
    attributes = {row.attribute for row in rows}
    groups = [row.name for row in rows if row.kind == "group"]
    for name, given, known in (
        ("max_difference", max_difference, attributes),
        ("min_ratio", min_ratio, attributes),
        ("min_rate", min_rate, attributes | set(groups)),
    ):
        if isinstance(given, Mapping) and (extra := set(given) - known):
            those = f" and the groups {groups}" if name == "min_rate" else ""
            raise ValueError(
                f"`{name}` names {sorted(extra)}; the attributes are {sorted(attributes)}{those}."
            )
    found: dict[tuple[int, str, str], list[int]] = {}
    for c, row in enumerate(rows):
        found.setdefault((row.part, row.attribute, row.stratum), []).append(c)
    families = []
    for (_, attribute, stratum), own in found.items():
        difference, ratio = (_limit(x, attribute) for x in (max_difference, min_ratio))
        name = f"{attribute} | {stratum}" if stratum else attribute
        kind = rows[own[0]].kind
        if kind == "group":
            if len(own) > 1 and (difference, ratio) != (None, None):
                families.append(Family(name, np.array(own), difference, ratio))
            continue
        if ratio is not None and difference is None:
            raise ValueError(
                f"`min_ratio` compares groups, and {attribute!r} is not made of groups; limit it "
                f'by `max_difference={{"{attribute}": ...}}`, or bin it.'
            )
        if difference is not None:
            families += [
                Family(rows[c].name, np.array([c]), difference, None, rows[c].target) for c in own
            ]
    for c, row in enumerate(rows):
        floor = _limit(min_rate, row.name if _names(min_rate, row.name) else row.attribute)
        if row.kind == "group" and floor is not None:
            families.append(Family(row.name, np.array([c]), floor=floor))
    return families


def _names(given: Limit, name: str) -> bool:
    return isinstance(given, Mapping) and name in given


def _as_fitted(part: Notion, rows: Sequence[Row]) -> Notion:
    """Return a notion that reads columns as `fit` did, whatever few people would make of them."""
    if not isinstance(part, GroupNotion) or part.encoded or part.intersectional:
        return part
    kinds = {row.attribute: row.kind for row in rows}
    named = {k: tuple(a for a, kind in kinds.items() if kind == k) for k in kinds.values()}
    return replace(part, continuous=named.get("continuous", ()), categorical=named.get("group", ()))


def _limit(given: Limit, attribute: str) -> float | None:
    return given.get(attribute) if isinstance(given, Mapping) else given


def _by_type(people: People) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return design and strata, (d, K), and the mass of each type, (K,)."""
    design, strata = people.design.cpu().numpy(), people.strata.cpu().numpy()
    return design, strata.astype(np.float64), people.mass.cpu().numpy()


def _label_of(part: Notion, people: People) -> dict[str, int]:
    """Return the label that each stratum stands for, where strata are labels."""
    within = part.within_labels if isinstance(part, GroupNotion) else ()
    strata = dict.fromkeys(stratum for _, stratum in people.compared)
    return dict(zip(strata, within))


def _is_alone(people: People, c: int) -> bool:
    """Whether a group has no other to be compared with, as one column of a one-hot matrix."""
    return people.compared.count(people.compared[c]) == 1
