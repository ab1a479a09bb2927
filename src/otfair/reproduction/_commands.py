"""Which commands make these runs, found from what each of them plans."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

from otfair.reproduction._plan import COLUMNS, Run, plan

TARGETS = (*COLUMNS, "published", "attributes", "others", "epsilon", "postprocess")
ONE_PROTOCOL = {"published": "paper", "others": "full"}  # of which there is one


def commands(runs: Iterable[Run]) -> list[str]:
    """Return commands that make all of the runs.

    First those whose runs are all there, each with the most splits that it has; then, for what is
    left, those with most of it, and how many of their runs were made.
    """
    runs = list(runs)
    made = set(runs)
    most = max((run.split for run in runs), default=-1) + 1
    planned: dict[str, set[Run]] = {}
    left, out = set(made), []
    for protocol, target in product(("full", "paper"), TARGETS):
        if ONE_PROTOCOL.get(target, protocol) != protocol:
            continue
        own: dict[str, set[Run]] = {}
        for n in range(1, most + 1):
            asked = set(plan(target, protocol, n))
            if asked not in own.values():  # some have fewer splits than are asked for
                own[f"otfair reproduce {target} --protocol {protocol} --splits {n}"] = asked
        planned |= own
        whole = [text for text, asked in own.items() if asked <= made and asked & left]
        if whole:
            left -= own[whole[-1]]
            out.append(whole[-1])
    while left:
        text, asked = max(planned.items(), key=lambda item: (len(item[1] & left), -len(item[1])))
        if not asked & left:
            break  # made by an older plan
        left -= asked
        out.append(f"{text}  # of whose {len(asked)} runs {len(asked & made)} were made")
    return out
