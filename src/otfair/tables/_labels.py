"""Labels of two values: which one is positive, and what both are called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from otfair.tables._read import plain_text

# Labels that say themselves which one is positive.
POSITIVE = {"1", "1.0", "true", "yes", "y", "t", "positive", "pos", "good", "accepted", "approved"}
POSITIVE |= {"granted", "ja", "oui", "si", "sí", "sim"}
NEGATIVE = {"0", "0.0", "false", "no", "n", "f", "negative", "neg", "bad", "rejected", "denied"}
NEGATIVE |= {"refused", "declined"}
NEGATIVE |= {"-1", "-1.0", "nein", "nej", "nee", "non", "não"}


def read_labels(column: pd.Series[Any], positive: object = None) -> np.ndarray:
    """Return labels as zeros and ones, (n,)."""
    values = column.astype(object)
    names = values.map(plain_text)
    found = sorted(names.unique())
    if positive is not None:
        # A gap makes 1.0 of 1 and of True, and one is as good as the other.
        chosen = {
            plain_text(v)
            for v in values.unique()
            if v == positive or str(positive) in (str(v), plain_text(v))
        }
        if not chosen:
            raise ValueError(
                f"`positive_label` is {positive!r}, which no label is; they are {found[:5]}."
            )
        return names.isin(chosen).to_numpy(np.int64)
    if len(found) == 1 and found[0].casefold() in POSITIVE | NEGATIVE:
        return np.full(len(names), found[0].casefold() in POSITIVE, np.int64)
    if (known := positive_value(found)) is not None:
        return (names == known).to_numpy(np.int64)
    shown = ", ".join(map(repr, found[:5])) + (", ..." if len(found) > 5 else "")
    raise ValueError(
        f"`labels` must be binary; received {len(found)} values: {shown}. "
        + (
            f"Say which one is positive with `positive_label={likely_positive(found)!r}`."
            if len(found) == 2
            else "Pass 1 for the positive outcome and 0 for every other."
        )
    )


def positive_value(values: Sequence[str]) -> str | None:
    """Return which of two labels is positive, where both of them say so; None where they don't."""
    yes = [value for value in values if value.casefold() in POSITIVE]
    no = [value for value in values if value.casefold() in NEGATIVE]
    return yes[0] if len(values) == 2 and len(yes) == len(no) == 1 else None


def likely_positive(values: Sequence[str]) -> str:
    """Return the label that is most likely positive; of two that say nothing, the last."""
    yes = [value for value in values if value.casefold() in POSITIVE]
    maybe = [value for value in values if value.casefold() not in NEGATIVE]
    return (yes if len(yes) == 1 else maybe or list(values))[-1]


def outcomes(column: pd.Series[Any], labels: np.ndarray) -> tuple[str, str]:
    """Say what the negative and the positive label are, such as "paid = no" and "paid = yes"."""
    names = column.astype(object).map(plain_text)
    yes = next(iter(names[labels == 1]), "1")
    others = names[labels == 0].unique().tolist()
    no = others[0] if len(others) == 1 else f"not {yes}"
    return f"{column.name} = {no}", f"{column.name} = {yes}"
