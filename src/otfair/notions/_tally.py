"""People counted by what a notion reads of them, so that those of many places are typed as one.

Maths: docs/scaling.md. A notion looks at the sensitive values and the label of a person, and sums
weights. So each place counts its distinct combinations of these, the tables of all places are put
below each other, and the notion types the combinations as if they were people: groups, types and
constraints are those of everybody, and no table is longer than there are combinations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import torch

from otfair._io.arrays import Array, check_weight
from otfair.notions._base import GroupNotion, Notion
from otfair.notions._constraints import People
from otfair.notions._gaps import known_people, known_sensitive
from otfair.tables import one_below, to_frame, to_series


@dataclass(frozen=True)
class Tally:
    """The distinct combinations of sensitive values and label in one place, with their weight.

    Made by `tally`; `join` puts those of all places below each other, in the order of the places.
    """

    sensitive: pd.DataFrame  # (c, a)
    labels: pd.Series | None  # (c,)
    weight: np.ndarray  # (c,) of all people of a combination
    count: np.ndarray  # (c,) how many they are

    def people(self, notion: Notion, gaps: bool = False) -> People:
        """Type the combinations, each as a person who has the weight of all its people.

        With `gaps`, people who lack a sensitive value get no weight, and else are refused.
        """
        if not all(isinstance(part, GroupNotion) for part in notion.parts):
            raise TypeError(
                "a notion of one's own reads all people at once, who are in several places here; "
                f"pass a notion of groups, such as `DemographicParity()`. Received {notion!r:.60}."
            )
        read = known_people if gaps else type(notion).people
        return read(notion, self.sensitive, self.labels, self.weight)

    def missing(self, notion: Notion) -> int:
        """Return how many people lack a sensitive value, where that is no error."""
        known = known_sensitive(notion, self.sensitive)
        return 0 if known is None else int(self.count[~known].sum())


def tally(
    sensitive: Array, labels: Array = None, sample_weight: Array = None
) -> tuple[Tally, np.ndarray]:
    """Count the people of one place; returns also which combination each of them has, (n,)."""
    frame = to_frame(sensitive, "sensitive_features", "group").reset_index(drop=True)
    n, names = len(frame), list(frame.columns)
    keys = [pd.factorize(frame[name], use_na_sentinel=False)[0] for name in names]
    outcome = None
    if labels is not None:
        outcome = to_series(labels, "labels", "label").reset_index(drop=True)
        keys.append(pd.factorize(outcome, use_na_sentinel=False)[0])
    weight = np.ones(n)
    if sample_weight is not None:  # all of one place may weigh nothing
        weight = check_weight(np.append(sample_weight, 1.0), n + 1).numpy()[:-1]
    _, first, codes = np.unique(np.stack(keys), axis=1, return_index=True, return_inverse=True)
    codes = codes.reshape(-1)
    own = Tally(
        frame.iloc[first].reset_index(drop=True),
        None if outcome is None else outcome.iloc[first].reset_index(drop=True),
        np.bincount(codes, weight, len(first)),
        np.bincount(codes, minlength=len(first)),
    )
    return own, codes


def join(tallies: Sequence[Tally]) -> Tally:
    """Put the tallies of all places below each other."""
    frames = [own.sensitive for own in tallies]
    columns = {tuple(frame.columns) for frame in frames}
    if len(columns) > 1:
        raise ValueError(f"sensitive columns differ between partitions: {sorted(columns)[:2]}.")
    labels = [own.labels for own in tallies if own.labels is not None]
    table = {name: one_below([f[name] for f in frames]) for name in frames[0].columns}
    return Tally(
        pd.DataFrame(table),
        one_below(labels) if labels else None,
        np.concatenate([own.weight for own in tallies]),
        np.concatenate([own.count for own in tallies]),
    )


def represent(people: People) -> People:
    """Return two people of each type, who together have the weight of all of that type.

    With scores a standard deviation above and below the mean of their type, they have the sums of
    scores and of their squares that all people have: constraints and violations are the same.
    """
    K = len(people.type_names)
    return replace(
        people, types=torch.arange(K).repeat_interleave(2),
        weight=(people.mass / 2).repeat_interleave(2),
    )  # fmt: skip
