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
from otfair.notions import Attribute
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
QUARTERS = 4  # of a continuous attribute, for tables and charts
SIGMOID = "apply the sigmoid, 1 / (1 + exp(-s))"


@dataclass(frozen=True)
class Binned:
    """A continuous attribute, in bins that score moves between and in quarters that are shown."""

    moved: Attribute  # values are the means of the bins
    groups: Attribute
    numbers: np.ndarray  # (n,) as they are
    distinct: int  # how many values there are


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

    def binned(self, name: str, room: int) -> tuple[AuditData, Binned]:
        """Return a continuous attribute in at most `room` bins, and whose bins these are."""
        (values,) = (column.values for column in self.columns if column.name == name)
        fine, coarse = (quantile_codes(values, count, self.weight) for count in (room, QUARTERS))
        means = np.bincount(fine, self.weight * values) / np.bincount(fine, self.weight)
        names = [f"{name} {one}" for one in range_names(values, coarse)]
        moved = Attribute(fine, means, name, is_group=False)
        groups = Attribute(coarse, np.array(names, dtype=object), name, is_group=True)
        return self, Binned(moved, groups, values, len(np.unique(values)))

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


@dataclass(frozen=True, kw_only=True)
class Given:
    """What a user gave, in columns, before anybody is left out."""

    scores: np.ndarray  # h (n,); NaN where missing
    labels: pd.Series[Any] | None
    weight: np.ndarray  # w (n,); 0 where missing
    sensitive: pd.DataFrame
    control: pd.DataFrame
    features: pd.DataFrame | None
    score: str
    weighted: str

    @property
    def lacking(self) -> dict[str, np.ndarray]:
        """What people may lack, and who does, (n,) bool each."""
        out = {"no score": np.isnan(self.scores), "no weight": self.weight <= 0}
        if self.labels is not None:
            out["no label"] = self.labels.isna().to_numpy()
        for name, values in (*self.sensitive.items(), *self.control.items()):
            out[f"no value of {name!r}"] = values.isna().to_numpy()
        return out

    @property
    def checksum(self) -> str:
        """SHA-256 of all of it."""
        labels = None if self.labels is None else self.labels.to_frame()
        weight = pd.DataFrame({"w": self.weight}) if self.weighted else None
        return checksum(
            {
                "scores": pd.DataFrame({"score": self.scores}),
                "sensitive_features": self.sensitive,
                "labels": labels,
                "X": self.features,
                "sample_weight": weight,
                "control_features": self.control,
            }
        )


def read(
    scores: Array, X: Array, sensitive_features: Array, labels: Array, sample_weight: Array, *,
    continuous: Columns, categorical: Columns, positive_label: object,
    control_features: Array = None, skip_unscored: bool = False,
    names: Mapping[str, Mapping[str, str]] | None = None,
) -> AuditData:  # fmt: skip
    """Read everything, and leave out people without score, label, group or weight."""
    given = read_given(
        scores, X, sensitive_features, labels, sample_weight, control_features, names
    )
    h, y, n, weight = given.scores, given.labels, len(given.scores), given.weight
    if given.weighted:
        check_weight(weight, n)
    unscored = np.isnan(h)
    if not skip_unscored:
        refuse_unscored(int(unscored.sum()), n, int(unscored.argmax()))
    lacking = given.lacking
    dropped = {why: int(who.sum()) for why, who in lacking.items() if who.any()}
    rows = np.flatnonzero(~np.any([*lacking.values()], axis=0))
    refuse_nobody(len(rows), n, dropped)
    check_range(range_of(h[rows]))
    sensitive = given.sensitive.iloc[rows]
    refuse_lists(sensitive)
    two = np.zeros(0) if y is None else read_labels(y.iloc[rows], positive_label)
    columns = named(to_columns(sensitive, "sensitive_features"))
    features, control = given.features, given.control
    return AuditData(
        scores=h[rows],
        labels=None if y is None else two,
        outcomes=("", "") if y is None else outcomes(y.iloc[rows], two),
        weight=weight[rows],
        score=given.score,
        weighted=given.weighted,
        columns=read_sensitive(columns, continuous, categorical),
        controls=tuple(read_control(control[name].iloc[rows], weight[rows]) for name in control),
        features=None if features is None else features.iloc[rows].reset_index(drop=True),
        rows=rows,
        received=n,
        dropped=dropped,
        checksum=given.checksum,
    )


def read_given(
    scores: Array, X: Array, sensitive_features: Array, labels: Array, sample_weight: Array,
    control_features: Array, names: Mapping[str, Mapping[str, str]] | None,
) -> Given:  # fmt: skip
    """Read what a user gave, of all people or of some."""
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
    weighted, weight = "", np.ones(n)
    if sample_weight is not None:  # a missing one is none
        weights = to_series(sample_weight, "sample_weight", "weight")
        numbers = _numbers(weights, "sample_weight")
        weighted = str(weights.name) or "weight"
        same_length("sample_weight", len(numbers), n)
        # With one person more, as of some people all may be without weight.
        more = np.append(np.where(np.isnan(numbers), 0.0, numbers), 1.0)
        weight = check_weight(more, n + 1).cpu().numpy()[:-1]
    return Given(
        scores=h, labels=y, weight=weight, sensitive=sensitive, control=control,
        features=features, score=str(column.name), weighted=weighted,
    )  # fmt: skip


def refuse_unscored(count: int, n: int, first: int) -> None:
    """Raise where some scores are missing; where all are, nobody is left."""
    if 0 < count < n:
        raise ValueError(
            f"{count} of {n} scores are missing, the first in row {first} (counted from 0). Score "
            "these people too, or leave them out with `skip_unscored=True` (on the command line, "
            "`--skip-unscored`)."
        )


def refuse_nobody(left: int, n: int, dropped: Mapping[str, int]) -> None:
    """Raise where nobody can be audited."""
    if not left:
        raise ValueError(
            f"nobody is left of {n} people: "
            + ", ".join(f"{count} have {why}" for why, count in dropped.items())
            + ". Check that the right columns were passed."
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


@dataclass(frozen=True)
class Range:
    """Between what numbers scores lie, and how many of n are infinite, or outside of [0, 1]."""

    low: float
    high: float
    infinite: int
    outside: int
    n: int

    def wider(self, other: Range) -> Range:
        """Return the range of both."""
        counts = (self.infinite + other.infinite, self.outside + other.outside, self.n + other.n)
        return Range(min(self.low, other.low), max(self.high, other.high), *counts)


def range_of(h: np.ndarray) -> Range:
    """Return the range of scores, (n,)."""
    outside = int(((h < 0) | (h > 1)).sum())
    return Range(float(h.min()), float(h.max()), int(np.isinf(h).sum()), outside, len(h))


def check_range(found: Range) -> None:
    """Raise where scores are no scores, or all the same."""
    low, high, bad = found.low, found.high, found.outside
    if not np.isfinite([low, high]).all():
        raise ArgumentError(
            "scores",
            f"must lie in [0, 1]; {found.infinite} of {found.n} are infinite. Mend "
            "what made them, such as a logarithm of 0.",
        )
    if low < 0 or high > 1:
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
            f"must lie in [0, 1]; {bad} of {found.n} do not: they range from {low:.4g} to "
            f"{high:.4g}. {remedy}",
        )
    if low == high:
        raise ValueError(
            f"every score is {low:.4g}, so there is nothing to audit: equal scores are fair. Check "
            "that the right column was passed."
        )


def refuse_lists(frame: pd.DataFrame) -> None:
    """Raise where a sensitive column holds lists."""
    for name in frame.columns:
        if frame[name].dtype == object and frame[name].map(pd.api.types.is_list_like).any():
            raise ValueError(
                f"sensitive column {name!r} holds lists, where each person needs one value. Turn "
                "them into text, as with `.map(str)`, or pass one column for each place."
            )


def read_sensitive(
    columns: list[Column], continuous: Columns, categorical: Columns
) -> tuple[Column, ...]:
    """Return groups as columns of text and numbers as columns of floats."""
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
