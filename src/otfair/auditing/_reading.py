"""From the user's arrays and tables to people who can be audited, and a note of who can't be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from otfair._io.arrays import ArgumentError, Array, check_weight, same_length
from otfair.auditing._statistics import quantile_codes, range_names
from otfair.metrics import resample
from otfair.tables import (
    MAX_CODES,
    MAX_GROUPS,
    Column,
    Columns,
    Kind,
    checksum,
    is_number,
    named,
    outcomes,
    percentages,
    plain_text,
    read_labels,
    sensitive_kinds,
    to_columns,
    to_frame,
    to_series,
)

ROUNDING = 1e-3  # what scores may exceed [0, 1] by and still look like probabilities
SIGMOID = "apply the sigmoid, 1 / (1 + exp(-s))"


@dataclass(frozen=True, kw_only=True)
class AuditData:
    """The rows that are audited: those of the user's that lack nothing."""

    scores: np.ndarray  # h (n,), in [0, 1]
    labels: np.ndarray | None  # y (n,), 0 or 1
    weight: np.ndarray  # w (n,), positive
    columns: tuple[Column, ...]  # sensitive: text for groups, floats for numbers
    controls: tuple[Column, ...]  # text; people are also compared within their values
    features: pd.DataFrame | None  # as given
    rows: np.ndarray  # (n,) which of the user's rows
    received: int
    dropped: dict[str, int]
    checksum: str
    outcomes: tuple[str, str]  # what y=0 and y=1 are, such as "paid = yes"; "" without labels
    score: str  # what the scores are called
    weighted: str  # what the weights are called; "" without weights

    def __len__(self) -> int:
        return len(self.scores)

    def total(self, comparison: Any, function: Callable[..., Any], *given: Any) -> Any:
        """Return what a function sums over people, who are compared so."""
        return function(self, comparison, *given)

    def largest(self, comparison: Any, function: Callable[..., np.ndarray]) -> np.ndarray:
        """Return the largest numbers that a function finds among people."""
        return function(self, comparison)

    def resampled(
        self, comparison: Any, counts: Any, function: Callable[..., Any], *given: Any
    ) -> np.ndarray:
        """Return sums over people, and over each resample of them, (1 + R, s).

        The function returns the matrix (s, n) whose products are these sums.
        """
        return resample(function(self, comparison, *given), counts)

    @property
    def median_score(self) -> float:
        """The median of the scores, whatever people weigh."""
        return float(np.median(self.scores))

    @property
    def are_decisions(self) -> bool:
        """Whether all scores are 0 or 1."""
        return bool(np.isin(self.scores, (0.0, 1.0)).all())


def read(
    scores: Array, X: Array, sensitive_features: Array, labels: Array, sample_weight: Array, *,
    continuous: Columns, categorical: Columns, positive_label: object,
    control_features: Array = None, skip_unscored: bool = False,
    names: Mapping[str, Mapping[str, str]] | None = None,
) -> AuditData:  # fmt: skip
    """Read everything, and leave out people without score, label, group or weight."""
    sensitive = to_frame(sensitive_features, "sensitive_features", "group")
    n = len(sensitive)
    if n == 0 or not len(sensitive.columns):
        raise ArgumentError(
            "sensitive_features", "is empty; pass at least one column of at least two people."
        )
    column = to_series(scores, "scores", "score")
    h = _numbers(column, "scores")
    y = None if labels is None else to_series(labels, "labels", "label")
    features = None if X is None else to_frame(X, "X", "x")
    control = pd.DataFrame(index=range(n))
    if control_features is not None:
        control = to_frame(control_features, "control_features", "control")
    sensitive, control = (_in_words(frame, names or {}) for frame in (sensitive, control))
    if both := [name for name in control.columns if name in sensitive.columns]:
        raise ValueError(
            f"{both[0]!r} is both sensitive and a control; within its values nothing is left to "
            "compare. Name it once."
        )
    columns = (("scores", h), ("labels", y), ("X", features), ("control_features", control))
    for argument, values in columns:
        if values is not None:
            same_length(argument, len(values), n)
    weighted = ""
    if sample_weight is not None:  # a missing one is none
        weights = to_series(sample_weight, "sample_weight", "weight")
        numbers = _numbers(weights, "sample_weight")
        weighted = str(weights.name) or "weight"
        sample_weight = np.where(np.isnan(numbers), 0.0, numbers)
    weight = check_weight(sample_weight, n).cpu().numpy()
    unscored = np.isnan(h)
    if unscored.any() and not unscored.all() and not skip_unscored:
        raise ValueError(
            f"{int(unscored.sum())} of {n} scores are missing, the first in row "
            f"{int(unscored.argmax())} (counted from 0). Score these people too, or leave them out "
            "with `skip_unscored=True` (on the command line, `--skip-unscored`)."
        )

    lacking = {"no score": unscored, "no weight": weight <= 0}
    if y is not None:
        lacking["no label"] = y.isna().to_numpy()
    for name, values in (*sensitive.items(), *control.items()):
        lacking[f"no value of {name!r}"] = values.isna().to_numpy()
    kept = ~np.any([*lacking.values()], axis=0)
    if not kept.any():
        raise ValueError(
            f"nobody is left of {n} people: "
            + ", ".join(f"{int(v.sum())} have {k}" for k, v in lacking.items() if v.any())
            + ". Check that the right columns were passed."
        )
    rows = np.flatnonzero(kept)
    _check_range(h[rows])
    two = np.zeros(0) if y is None else read_labels(y.iloc[rows], positive_label)
    given = {
        "scores": pd.DataFrame({"score": h}),
        "sensitive_features": sensitive,
        "labels": None if y is None else y.to_frame(),
        "X": features,
        "sample_weight": pd.DataFrame({"w": weight}) if weighted else None,
        "control_features": control,
    }
    return AuditData(
        scores=h[rows],
        labels=None if y is None else two,
        outcomes=("", "") if y is None else outcomes(y.iloc[rows], two),
        weight=weight[rows],
        score=str(column.name),
        weighted=weighted,
        columns=_sensitive(sensitive.iloc[rows], continuous, categorical),
        controls=tuple(read_control(control[name].iloc[rows], weight[rows]) for name in control),
        features=None if features is None else features.iloc[rows].reset_index(drop=True),
        rows=rows,
        received=n,
        dropped={k: int(v.sum()) for k, v in lacking.items() if v.any()},
        checksum=checksum(given),
    )


def _in_words(frame: pd.DataFrame, names: Mapping[str, Mapping[str, str]]) -> pd.DataFrame:
    """Return columns with words in place of their codes, where there are some."""
    out = frame.copy(deep=False)
    for name in frame.columns:
        words = {str(code): str(word) for code, word in names.get(str(name), {}).items()}
        if words:
            texts = frame[name].astype(object).map(plain_text, na_action="ignore")
            out[name] = texts.map(lambda text: words.get(text, text), na_action="ignore")  # noqa: B023
    return out


def _numbers(column: pd.Series[Any], argument: str) -> np.ndarray:
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(np.float64, na_value=np.nan)
    bad = np.isnan(numbers) & column.notna().to_numpy()
    if bad.any():
        first = str(column[bad.argmax()])
        remedy = percentages(first) or "Pass scores in [0, 1], or decisions as 0 and 1."
        remedy = remedy if argument == "scores" else "Pass one number per person."
        raise ArgumentError(
            argument,
            f"must be numbers; {int(bad.sum())} are not, the first is {first!r} in "
            f"row {int(bad.argmax())}. {remedy}",
        )
    return numbers


def _check_range(h: np.ndarray) -> None:
    low, high = float(h.min()), float(h.max())
    if not np.isfinite([low, high]).all():
        raise ArgumentError(
            "scores",
            f"must lie in [0, 1]; {int(np.isinf(h).sum())} of {len(h)} are infinite. Mend "
            "what made them, such as a logarithm of 0.",
        )
    if low < 0 or high > 1:
        bad = int(((h < 0) | (h > 1)).sum())
        remedy = "Turn them into probabilities, or pass decisions as 0 and 1."
        if low > -ROUNDING and high < 1 + ROUNDING:
            remedy = "They look like probabilities that were rounded badly: clip them to [0, 1]."
        elif low < 0:
            remedy = f"They look like logits: {SIGMOID}."
        elif high <= 10:
            remedy = (
                f"They look like logits ({SIGMOID}), or like marks or small percentages (divide "
                "them by the largest that there can be)."
            )
        elif high <= 100:
            remedy = "They look like percentages: divide them by 100."
        raise ArgumentError(
            "scores",
            f"must lie in [0, 1]; {bad} of {len(h)} do not: they range from {low:.4g} to "
            f"{high:.4g}. {remedy}",
        )
    if low == high:
        raise ValueError(
            f"every score is {low:.4g}, so there is nothing to audit: equal scores are fair. Check "
            "that the right column was passed."
        )


def _sensitive(
    frame: pd.DataFrame, continuous: Columns, categorical: Columns
) -> tuple[Column, ...]:
    """Return groups as columns of text and numbers as columns of floats."""
    for name in frame.columns:
        if frame[name].dtype == object and frame[name].map(pd.api.types.is_list_like).any():
            raise ValueError(
                f"sensitive column {name!r} holds lists, where each person needs one value. Turn "
                "them into text, as with `.map(str)`, or pass one column for each place."
            )
    columns = named(to_columns(frame, "sensitive_features"))
    kinds, out = sensitive_kinds(columns, continuous, categorical), []
    for column in columns:
        name, is_group = str(column.name), kinds[str(column.name)] is Kind.GROUP
        if not is_group and column.values.dtype.kind not in "biuf":
            raise ValueError(
                f"sensitive column {name!r} is named as continuous but holds text, such as "
                f"{str(column.values[0])!r}; convert it to numbers first."
            )
        if not is_group:
            if np.ptp(values := column.values.astype(np.float64)) == 0:
                raise ValueError(
                    f"sensitive column {name!r} has only one value here, {values[0]:.6g}; there is "
                    "nothing to compare. Leave the column out."
                )
            out.append(Column(name, values))
            continue
        found, codes = np.unique(column.values, return_inverse=True)
        plain = [plain_text(value) for value in found.tolist()]
        texts = np.array(plain)[codes]
        in_order = column.categories or plain
        used = set(texts)
        present = [value for value in dict.fromkeys(in_order) if value in used]
        if len(present) > MAX_GROUPS:
            raise ValueError(
                f"sensitive column {name!r} has {len(present)} groups, more than {MAX_GROUPS}. "
                f"Merge the rare ones, or name it in `continuous` if it holds numbers."
            )
        if len(present) < 2:
            raise ValueError(
                f"sensitive column {name!r} has only one group here, {present[0]!r}, so there is "
                "nothing to compare it with. Leave the column out, or pass people of the others."
            )
        out.append(Column(name, texts, tuple(present)))
    return tuple(out)


def read_control(column: pd.Series[Any], weight: np.ndarray) -> Column:
    """Return a control as text; numbers of many values become quarters."""
    name = str(column.name)
    if is_number(column) and column.nunique() > MAX_CODES:
        values = column.to_numpy(np.float64)
        codes = quantile_codes(values, 4, weight)
        names = range_names(values, codes)
        return Column(name, np.array(names)[codes], tuple(names))
    texts = column.astype(object).map(plain_text).to_numpy(str)
    found = np.unique(texts).tolist()
    if len(found) > MAX_GROUPS:
        raise ValueError(
            f"control {name!r} has {len(found)} values, more than {MAX_GROUPS}. Merge rare ones."
        )
    return Column(name, texts, tuple(found))
