"""Parts of a notion's rows, each of which speaks of one attribute, or of one group.

Maths: docs/derivation.md, sections 5 and 15. People who are alike in the rows of a part are of one
type in it, so that its types are unions of those of all rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import torch
from torch import Tensor

from otfair.notions._constraints import People

Weigh: TypeAlias = Literal["people", "attributes", "groups"]
OWN_ROWS = "own rows"  # what rows that the user has given are called together


@dataclass(frozen=True)
class Part:
    """Some of the rows, and the same people typed by these rows alone."""

    name: str  # of the attribute or group; "" for all rows
    people: People
    merge: Tensor | None  # (K,) the type of this part that each type of all rows is in; none if all


def check_weigh(weigh: str | None) -> None:
    """Raise where a setting does not say what a penalty is summed over."""
    if weigh not in (None, "people", "attributes", "groups"):
        raise ValueError(
            f'unknown weigh {weigh!r}; pass "people" (one penalty for all), "attributes" (one for '
            'each of them) or "groups" (one for each group against the others).'
        )


def attributes_of(people: People) -> tuple[str, ...]:
    """Return the attributes that the rows speak of, each once, in their order."""
    return tuple(dict.fromkeys(_attribute(people, c) for c in range(len(people.names))))


def parts_of(people: People, weigh: str) -> tuple[Part, ...]:
    """Return the parts of the rows by attribute or by group; one part where nothing tells them.

    Two groups that are each other's complement, such as those of a column with two of them, say the
    same and are one part, named by both.
    """
    check_weigh(weigh)
    if weigh == "people":
        return (Part("", people, None),)
    rows: dict[str, list[int]] = {}
    for c, group in enumerate(people.groups):
        rows.setdefault(_attribute(people, c) if weigh == "attributes" else group, []).append(c)
    parts = [_part(people, name, some) for name, some in rows.items()]
    parts = _distinct(parts) if weigh == "groups" else parts
    return tuple(parts) if len(parts) > 1 else (Part("", people, None),)


def _attribute(people: People, row: int) -> str:
    return OWN_ROWS if people.kinds[row] == "fixed" else people.compared[row][0]


def _part(people: People, name: str, rows: list[int]) -> Part:
    """Keep some rows, and merge the types that these do not tell apart."""
    Y = people.strata[rows]
    S = torch.where(Y, people.design[rows], 0.0)  # outside of its stratum a row is silent
    both, merge = torch.unique(torch.cat([S, Y.to(S.dtype)]), dim=1, return_inverse=True)
    S, Y = both[: len(rows)], both[len(rows) :] > 0
    names, kinds = ([of[c] for c in rows] for of in (people.names, people.kinds))
    part = replace(
        people,
        design=S,
        strata=Y,
        kinds=tuple(kinds),
        target=people.target[rows],
        rates=None if people.rates is None or "precision" not in kinds else people.rates[rows],
        names=tuple(names),
        compared=tuple(people.compared[c] for c in rows),
        groups=tuple(people.groups[c] for c in rows),
        type_names=tuple(_type_name(names, kinds, S[:, k], Y[:, k]) for k in range(S.shape[1])),
        types=merge[people.types],
    )
    return Part(name, part, merge)


def _type_name(names: list[str], kinds: list[str], S: Tensor, Y: Tensor) -> str:
    """Name a type by what the rows say of it."""
    said = [
        name if kind == "group" else f"{name}={value:.6g}"
        for name, kind, value, inside in zip(names, kinds, S.tolist(), Y.tolist())
        if inside and (value or kind != "group")
    ]
    return ", ".join(said) or "others"


def _distinct(parts: list[Part]) -> list[Part]:
    """Join the parts of groups that divide all people alike."""
    found: dict[tuple[object, ...], Part] = {}
    for part in parts:
        assert part.merge is not None
        key: tuple[object, ...] = (part.name,)
        if set(part.people.kinds) == {"group"}:
            number: dict[int, int] = {}
            key = tuple(number.setdefault(k, len(number)) for k in part.merge.tolist())
        same = found.get(key)
        found[key] = part if same is None else replace(same, name=f"{same.name}, {part.name}")
    return list(found.values())
