"""Labels of two values: which one is positive, and what both are called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from otfair._io.arrays import ArgumentError, Array, same_length
from otfair.tables._columns import to_columns, to_series
from otfair.tables._kinds import is_number
from otfair.tables._text import listed, plain_text

# Labels that say themselves which one is positive.
POSITIVE = {"1", "1.0", "true", "yes", "y", "t", "positive", "pos", "good", "accepted", "approved"}
POSITIVE |= {"granted", "ja", "oui", "si", "sí", "sim"}
NEGATIVE = {"0", "0.0", "false", "no", "n", "f", "negative", "neg", "bad", "rejected", "denied"}
NEGATIVE |= {"refused", "declined", "-1", "-1.0", "nein", "nej", "nee", "non", "não"}


def read_labels(column: pd.Series[Any], positive: object = None) -> np.ndarray:
    """Return labels as zeros and ones, (n,); without `positive` they must say which one is 1."""
    names, found = _texts(column), label_values(column)
    if positive is not None:
        chosen = {plain_text(v) for v in column.astype(object).unique() if _same(v, positive)}
        if not chosen:
            raise ArgumentError(
                "positive_label", f"is {positive!r}, which no label is; they are {found[:5]}."
            )
        return names.isin(chosen).to_numpy(np.int64)
    if len(found) == 1 and found[0].casefold() in POSITIVE | NEGATIVE:
        return np.full(len(names), found[0].casefold() in POSITIVE, np.int64)
    if (known := positive_value(found)) is not None:
        return (names == known).to_numpy(np.int64)
    remedy = "Pass 1 for the positive outcome and 0 for every other."
    if len(found) == 2:
        remedy = f"Say which one is positive with `positive_label={likely_positive(found)!r}`."
    received = f"{len(found)} values: {listed(found)}"
    raise ArgumentError("labels", f"must be binary; received {received}. {remedy}")


def binary_labels(labels: Array, n: int, notion: str) -> np.ndarray:
    """Return labels that must be zeros and ones as integers, (n,)."""
    if labels is None:
        raise ValueError(
            f"{notion} compares people of equal label: pass `labels` (0 or 1 per person)."
        )
    columns = to_columns(labels, "labels")
    if len(columns) != 1:
        problem = f"must be one column of zeros and ones; received {len(columns)}."
        raise ArgumentError("labels", problem)
    values = columns[0].values
    same_length("labels", len(values), n)
    found = np.unique(values)
    if values.dtype.kind not in "biuf" or not np.isin(found, [0, 1]).all():
        raise ArgumentError(
            "labels",
            f"must be 0 or 1; received the values {listed(found.tolist())}. Map the positive "
            "outcome to 1 and the other to 0, for example with `(y == positive).astype(int)`.",
        )
    return values.astype(np.int64)


def known_labels(labels: Array) -> tuple[Array, np.ndarray]:
    """Return labels as an audit takes them, and who has one, (n,) bool.

    Text such as "yes" and "no" becomes ones and zeros; so does a missing label, which is nobody's.
    """
    column = to_series(labels, "labels", "label")
    known = column.notna().to_numpy(dtype=bool)
    some = column[known]
    if not is_number(some) and not pd.api.types.is_bool_dtype(some):
        some = pd.Series(read_labels(some), some.index)
    elif known.all():
        return labels, known
    return some.reindex(column.index, fill_value=0), known


def two_classes(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the two classes of a target in order, and which one each row has, (n,) 0 or 1."""
    classes, labels = np.unique(y, return_inverse=True)
    if len(classes) > 2:  # the words are those of scikit-learn
        raise ValueError(
            "Only binary classification is supported. The type of the target is multiclass: "
            f"{len(classes)} classes."
        )
    if len(classes) < 2:
        raise ValueError(
            f"Classifier can't train when only one class is present: every label is {classes[0]!r}."
        )
    return classes, np.asarray(labels)


def read_two_classes(y: Array, argument: str) -> np.ndarray:
    """Return one column of two classes as zeros and ones, (n,)."""
    columns = to_columns(y, argument)
    classes, labels = np.unique(columns[0].values, return_inverse=True)
    if len(columns) != 1 or len(classes) != 2:
        raise ArgumentError(
            argument,
            f"must be one column of two classes; received {len(columns)} column(s), the first with "
            f"{len(classes)} value(s) such as {classes[:3].tolist()}.",
        )
    return np.asarray(labels)


def label_values(column: pd.Series[Any]) -> list[str]:
    """Return the distinct labels as text, numbers in their order and then text in its own."""
    return sorted(_texts(column).unique(), key=_order)


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


def label_names(column: pd.Series[Any], labels: np.ndarray) -> tuple[str, str]:
    """Return what the negative and the positive label are called, such as "no" and "yes"."""
    names = _texts(column)
    yes = next(iter(names[labels == 1]), "1")
    others = names[labels == 0].unique().tolist()
    return others[0] if len(others) == 1 else f"not {yes}", yes


def outcomes(column: pd.Series[Any], labels: np.ndarray) -> tuple[str, str]:
    """Say what the negative and the positive label are, such as "paid = no" and "paid = yes"."""
    no, yes = label_names(column, labels)
    return f"{column.name} = {no}", f"{column.name} = {yes}"


def _texts(column: pd.Series[Any]) -> pd.Series[str]:
    return column.astype(object).map(plain_text)


def _same(label: object, positive: object) -> bool:
    """Whether a label is the one meant; a gap makes 1.0 of 1 and of True, all of them the same."""
    alike = label == positive or str(label) == str(positive)
    return alike or plain_text(label) == plain_text(_number(str(positive)))


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _order(text: str) -> tuple[bool, float, str]:
    number = _number(text)
    return (False, number, "") if isinstance(number, float) else (True, 0.0, text)
