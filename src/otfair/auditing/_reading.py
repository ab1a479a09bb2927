"""From the user's arrays and tables to people who can be audited, and a note of who can't be."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from torch import Tensor

from otfair._io.arrays import Array, check_weight, same_length
from otfair.auditing._binning import quantile_codes, range_names
from otfair.tables import (
    Column,
    Columns,
    chosen_names,
    looks_categorical,
    named,
    outcomes,
    read_labels,
    to_columns,
)

MAX_GROUPS = 50
MAX_INTEGERS = 10  # distinct ones, in a column of floats, that are still names of groups
ROUNDING = 1e-3  # what scores may exceed [0, 1] by and still look like probabilities
SIGMOID = "apply the sigmoid, 1 / (1 + exp(-s))"


@dataclass(frozen=True, kw_only=True)
class Audited:
    """The people who are audited: those of the user's who lack nothing."""

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


def read(
    scores: Array,
    X: Array,
    sensitive_features: Array,
    labels: Array,
    sample_weight: Array,
    *,
    continuous: Columns,
    categorical: Columns,
    positive_label: object,
    control_features: Array = None,
    skip_unscored: bool = False,
) -> Audited:
    """Read everything, and leave out people without score, label, group or weight."""
    sensitive = to_frame(sensitive_features, "sensitive_features", "group")
    n = len(sensitive)
    if n == 0 or not len(sensitive.columns):
        raise ValueError(
            "`sensitive_features` is empty; pass at least one column of at least two people."
        )
    column = _single(to_frame(scores, "scores", "score"), "scores")
    h = _numbers(column, "scores")
    y = None if labels is None else _single(to_frame(labels, "labels", "label"), "labels")
    features = None if X is None else to_frame(X, "X", "x")
    control = pd.DataFrame(index=range(n))
    if control_features is not None:
        control = to_frame(control_features, "control_features", "control")
    if both := [name for name in control.columns if name in sensitive.columns]:
        raise ValueError(
            f"{both[0]!r} is both sensitive and a control; within its values nothing is left to "
            "compare. Name it once."
        )
    columns = (("scores", h), ("labels", y), ("X", features), ("control_features", control))
    for argument, values in columns:
        if values is not None:
            same_length(argument, len(values), n)
    given_weight = None
    if sample_weight is not None:  # a missing one is none
        weights = _single(to_frame(sample_weight, "sample_weight", "weight"), "sample_weight")
        numbers = _numbers(weights, "sample_weight")
        given_weight = np.where(np.isnan(numbers), 0.0, numbers)
    weight = check_weight(given_weight, n).cpu().numpy()
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
    for table in (sensitive, control):
        for name in table.columns:
            lacking[f"no value of {name!r}"] = table[name].isna().to_numpy()
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
    given = [("scores", pd.DataFrame({"score": h})), ("sensitive_features", sensitive)]
    given += [("labels", y.to_frame())] if y is not None else []
    given += [("X", features)] if features is not None else []
    given += [("sample_weight", pd.DataFrame({"w": weight}))] if sample_weight is not None else []
    given += [("control_features", control)] if len(control.columns) else []
    return Audited(
        scores=h[rows],
        labels=None if y is None else two,
        outcomes=("", "") if y is None else outcomes(y.iloc[rows], two),
        weight=weight[rows],
        score=str(column.name),
        weighted="" if sample_weight is None else _name(sample_weight, "weight"),
        columns=_sensitive(sensitive.iloc[rows], continuous, categorical),
        controls=tuple(_control(control[name].iloc[rows], weight[rows]) for name in control),
        features=None if features is None else features.iloc[rows].reset_index(drop=True),
        rows=rows,
        received=n,
        dropped={k: int(v.sum()) for k, v in lacking.items() if v.any()},
        checksum=checksum(given),
    )


def to_frame(values: Array, argument: str, single: str) -> pd.DataFrame:
    """Return any table, array or dict of columns as a pandas table with names of text."""
    if isinstance(values, Mapping):
        parts = {
            str(k): _single(to_frame(v, argument, single), f"{argument}[{k!r}]")
            for k, v in values.items()
        }
        lengths = {k: len(v) for k, v in parts.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"`{argument}` has columns of different lengths: {lengths}.")
        return pd.DataFrame(parts)
    if isinstance(values, Tensor):
        values = values.detach().cpu().double().numpy()
    native = _narwhals(values, argument)
    if isinstance(native, nw.Series):
        name = single if native.name in (None, "") else str(native.name)
        return pd.DataFrame({name: _series(native)})
    if isinstance(native, nw.DataFrame):
        return pd.DataFrame({str(s.name): _series(s) for s in native.iter_columns()})
    array = np.asarray(values, dtype=object if _has_text(values) else None)
    if array.ndim not in (1, 2):
        raise ValueError(
            f"`{argument}` must have one row a person and one or more columns; received shape "
            f"{array.shape}."
        )
    if array.ndim == 1:
        return pd.DataFrame({single: array}).infer_objects()
    names = [single] if array.shape[1] == 1 else [f"{single}{j}" for j in range(array.shape[1])]
    return pd.DataFrame(array, columns=names).infer_objects()


def _name(values: Array, otherwise: str) -> str:
    """Return the name of a column, if it has one."""
    name = getattr(values, "name", None)
    return otherwise if name in (None, "") else str(name)


def _narwhals(values: Array, argument: str) -> Any:
    names = [str(name) for name in getattr(values, "columns", ())]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"`{argument}` has columns of one name: {twice}. Rename them.")
    return nw.from_native(values, eager_only=True, allow_series=True, pass_through=True)


def _series(series: Any) -> Any:
    """Return a column as pandas holds it best, whatever library it came from."""
    native = series.to_native()
    if isinstance(native, pd.Series):
        return native.reset_index(drop=True)
    if series.dtype.is_numeric() and series.dtype != nw.Decimal:
        return pd.Series(series.to_numpy())
    if series.dtype in (nw.Categorical, nw.Enum):
        series = series.cast(nw.String)
    return pd.Series(series.to_list(), dtype=object).infer_objects()


def _has_text(values: Array) -> bool:
    """Whether a list or array may hold text beside gaps, which NumPy would turn into text."""
    if isinstance(values, np.ndarray):
        return values.dtype.kind in "USOT"
    return np.asarray(values).dtype.kind in "USOT"


def _single(frame: pd.DataFrame, argument: str) -> pd.Series[Any]:
    if len(frame.columns) != 1:
        hint = " Of `predict_proba(X)` pass the last column, `[:, 1]`." * (argument == "scores")
        raise ValueError(f"`{argument}` must be one column; received {len(frame.columns)}.{hint}")
    return frame.iloc[:, 0]


def _numbers(column: pd.Series[Any], argument: str) -> np.ndarray:
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(np.float64, na_value=np.nan)
    bad = np.isnan(numbers) & column.notna().to_numpy()
    if bad.any():
        first = str(column[bad.argmax()])
        remedy = percentages(first) or "Pass scores in [0, 1], or decisions as 0 and 1."
        remedy = remedy if argument == "scores" else "Pass one number a person."
        raise ValueError(
            f"`{argument}` must be numbers; {int(bad.sum())} are not, the first is {first!r} in "
            f"row {int(bad.argmax())}. {remedy}"
        )
    return numbers


def percentages(text: str) -> str:
    """Say what to do with scores such as "74.8%", or nothing."""
    looks = text.strip().endswith("%")
    return "They look like percentages: remove the % and divide them by 100." * looks


def _check_range(h: np.ndarray) -> None:
    low, high = float(h.min()), float(h.max())
    if not np.isfinite([low, high]).all():
        raise ValueError(
            f"`scores` must lie in [0, 1]; {int(np.isinf(h).sum())} of {len(h)} are infinite. Mend "
            "what made them, such as a logarithm of 0."
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
        raise ValueError(
            f"`scores` must lie in [0, 1]; {bad} of {len(h)} do not: they range from {low:.4g} to "
            f"{high:.4g}. {remedy}"
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
    numbers = chosen_names(continuous, columns, "continuous")
    groups = chosen_names(categorical, columns, "categorical")
    if both := sorted(numbers & groups):
        raise ValueError(
            f"sensitive columns {both} are named as both continuous and categorical, by `audit` or "
            "by its notions, and an audit reads a column in one way. Name them once."
        )
    out = []
    for column in columns:
        name = str(column.name)
        if name in numbers and column.values.dtype.kind not in "biuf":
            raise ValueError(
                f"sensitive column {name!r} is named as continuous but holds text, such as "
                f"{str(column.values[0])!r}; convert it to numbers first."
            )
        if name in numbers or not (name in groups or _looks_grouped(column)):
            out.append(Column(name, column.values.astype(np.float64)))
            continue
        values = column.values
        if values.dtype.kind == "f" and (values == values.round()).all():
            values = values.astype(np.int64)  # a gap had made floats of them
        texts = values.astype(str)
        present = list(dict.fromkeys(column.categories or ())) or _in_order(values)
        used = set(texts)
        present = [value for value in present if value in used]
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
    for column in out:
        if column.values.dtype.kind == "f" and np.ptp(column.values) == 0:
            raise ValueError(
                f"sensitive column {column.name!r} has only one value here, "
                f"{column.values[0]:.6g}; there is nothing to compare. Leave the column out."
            )
    return tuple(out)


def _control(column: pd.Series[Any], weight: np.ndarray) -> Column:
    """Return a control as text; numbers of many values become quarters."""
    name, numbers = str(column.name), pd.api.types.is_numeric_dtype(column)
    numbers = numbers and not pd.api.types.is_bool_dtype(column)
    if numbers and column.nunique() > MAX_INTEGERS:
        values = column.to_numpy(np.float64)
        codes = quantile_codes(values, 4, weight)
        names = range_names(values, codes)
        return Column(name, np.array(names)[codes], tuple(names))
    texts = column.astype(object).map(str).to_numpy(str)
    found = list(dict.fromkeys(np.unique(texts).tolist()))
    if len(found) > MAX_GROUPS:
        raise ValueError(
            f"control {name!r} has {len(found)} values, more than {MAX_GROUPS}. Merge rare ones."
        )
    return Column(name, texts, tuple(found))


def _in_order(values: np.ndarray) -> list[str]:
    return [str(v) for v in np.unique(values).tolist()]


def _looks_grouped(column: Column) -> bool:
    values = column.values
    if values.dtype.kind != "f":
        return looks_categorical(column)
    found = np.unique(values)
    return len(found) <= MAX_INTEGERS and bool((found == found.round()).all())


def checksum(tables: list[tuple[str, pd.DataFrame]]) -> str:
    """SHA-256 of names and values as they were read, gaps included."""
    digest = hashlib.sha256()
    for argument, table in tables:
        for name in table.columns:
            column = table[name]
            digest.update(f"{argument}\x1f{name}\x1e".encode())
            if pd.api.types.is_numeric_dtype(column):
                numbers = column.to_numpy(np.float64, na_value=np.nan)
                digest.update((numbers + 0.0).tobytes())
            else:
                values = column.astype(object)
                codes, found = pd.factorize(values.where(values.isna(), values.map(str)))
                digest.update("\x1f".join(map(str, found)).encode(errors="replace"))
                digest.update(codes.astype(np.int64).tobytes())
    return digest.hexdigest()
