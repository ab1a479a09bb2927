"""What is learnt of one column of a table, and the column as standardised numbers by it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from otfair.tables._kinds import OBJECT_MIXED, Kind, kind_of, type_name
from otfair.tables._text import plain_text

Floats = NDArray[np.float64]
UNKNOWN = -1  # code of a category without an output column; `pandas.factorize` uses it for missing
LARGEST = np.finfo(np.float64).max / 4  # differences of such numbers do not overflow
MANY_COLUMNS = 1000  # of one category, all dense


@dataclass(frozen=True, kw_only=True)
class EncodedColumn:
    """What was learnt of one input column: its output columns, with their mean and scale."""

    name: str
    levels: tuple[str, ...] | None  # of a category; None for a number
    missing: bool  # whether there were missing values, which get an output column of their own
    mean: Floats  # (width,)
    scale: Floats  # (width,)

    @property
    def outputs(self) -> list[str]:
        """Names of the output columns."""
        values = [self.name] if self.levels is None else [f"{self.name}={v}" for v in self.levels]
        return values + [f"{self.name} is missing"] * self.missing

    def numbers(self, column: nw.Series[Any]) -> Floats:
        """Values of a column that was numeric in `fit`, NaN where missing."""
        # A column of gaps alone can be read as numbers that are missing.
        sound = _is_number(column) or column.dtype == nw.Boolean
        if not sound and not column.is_null().all():
            raise ValueError(
                f"Column {column.name!r} was numeric in `fit`, and now has the type "
                f"{column.dtype}. Convert it to numbers, as it was then."
            )
        return _numbers(column)

    def positions(self, column: nw.Series[Any]) -> NDArray[np.intp]:
        """Output column of each row of a category within its block, or UNKNOWN."""
        _is_number(column)  # an error for what is neither
        return _positions(self.levels or (), self.missing, *_codes(column))

    def write(self, block: Floats, column: nw.Series[Any]) -> None:
        """Write the output columns into a block, (n, width)."""
        if self.levels is not None:
            positions = self.positions(column)
            block[:] = -self.mean / self.scale
            rows = np.flatnonzero(positions != UNKNOWN)
            block[rows, positions[rows]] = ((1 - self.mean) / self.scale)[positions[rows]]
            return
        values = self.numbers(column)
        gaps = np.isnan(values)
        block[:, 0] = (np.where(gaps, self.mean[0], values) - self.mean[0]) / self.scale[0]
        if self.missing:
            block[:, 1] = (gaps - self.mean[1]) / self.scale[1]

    def tree_codes(self, column: nw.Series[Any]) -> Floats:
        """Numbers as they are, or the codes of a category; NaN for what is missing or not known."""
        if self.levels is None:
            return self.numbers(column)
        codes = self.positions(column)
        return np.where((codes == UNKNOWN) | (codes == len(self.levels)), np.nan, codes)


def learn_column(column: nw.Series[Any], weight: Floats) -> EncodedColumn:
    """Learn the values, means and scales of a column from rows of positive weight."""
    return _fit_number(column, weight) if _is_number(column) else _fit_category(column, weight)


def summarize_column(column: nw.Series[Any], weight: Floats) -> tuple[pd.Series[Any], Floats]:
    """Return a few values with weights, from which the same is learnt as from a whole column.

    Of a category these are its distinct values; of numbers, two a standard deviation above and
    below their mean, and a gap for all gaps. Those of several parts are put below each other.
    """
    if not _is_number(column):
        native = pd.Series(column.to_native()).reset_index(drop=True)
        codes, _ = pd.factorize(native, use_na_sentinel=False)
        _, first = np.unique(codes, return_index=True)
        counts = np.bincount(codes, weight, len(first)).astype(np.float64)
        return native.iloc[first].reset_index(drop=True), counts
    values = _numbers(column)
    gaps = np.isnan(values)
    found, weights = [np.nan], [float(weight[gaps].sum())]
    if not gaps.all():
        some = pd.Series(values[~gaps])
        known = _fit_number(nw.from_native(some, series_only=True), weight[~gaps])
        wide = float(known.scale[0]) if np.ptp(some) > 0 else 0.0
        found += [known.mean[0] - wide, known.mean[0] + wide]
        weights += [0.5 * float(weight[~gaps].sum())] * 2
    return pd.Series(found, name=column.name), np.array(weights)


def _is_number(column: nw.Series[Any]) -> bool:
    """Whether a column is to stay a number; an error for what is neither number nor category."""
    kind = kind_of(column)
    if kind is Kind.OTHER and not column.is_null().all():
        found = type_name(column)
        problem = f" has the type {found}, neither a number nor a category"
        if found in OBJECT_MIXED:  # lists, dicts and the like
            problem = ": each value must be a string or a number"
        raise TypeError(
            f"Column {column.name!r}{problem}. Turn it into a number (such as days since a date) "
            "or into text first."
        )
    return kind is Kind.NUMBER


def _numbers(column: nw.Series[Any]) -> Floats:
    """Values of a numeric column, NaN where missing."""
    native = column.to_native()
    if isinstance(native, pd.Series) and native.dtype.kind in "biuf":
        values = native.to_numpy(np.float64, na_value=np.nan)  # a wide table has many of these
    elif column.is_null().all():  # of any type, even one that can't be cast
        return np.full(len(column), np.nan)
    elif column.dtype == nw.Object:
        values = column.to_numpy()
        values = np.where(pd.isna(values), np.nan, values).astype(np.float64)
    else:
        values = column.cast(nw.Float64).to_numpy().astype(np.float64)
    if (np.abs(values) > LARGEST).any():
        raise ValueError(
            f"Column {column.name!r} has infinite values, or numbers beyond {LARGEST:.0e}. "
            "Replace them by a number or by NaN."
        )
    return values


def _codes(column: nw.Series[Any]) -> tuple[NDArray[np.intp], list[str]]:
    """Distinct values of a category as text, and the position of each row's; -1 where missing."""
    native = column.to_native()
    if not isinstance(native, pd.Series) and column.dtype in (nw.Categorical, nw.Enum):
        # Not straight to NumPy: pyarrow would put some other row's value into the gaps.
        column = column.cast(nw.String)
    values = native if isinstance(native, pd.Series) else column.to_numpy()
    codes, distinct = pd.factorize(values)
    used = codes.max() + 1  # pandas < 3 may list NA as a last value that no row has
    return codes, [plain_text(value) for value in distinct[:used]]


def _shares(counts: NDArray[Any]) -> Floats:
    """Return numbers that sum to one; just one is exactly 1, and none overflows."""
    counts = counts / counts.max()
    return np.asarray(counts / counts.sum(), dtype=np.float64)


def _fit_number(column: nw.Series[Any], weight: Floats) -> EncodedColumn:
    values = _numbers(column)
    gaps = np.isnan(values)
    if gaps.all():  # nothing tells that it is a number: the same as text that is always missing
        return _fit_category(column, weight)
    low, span = values[~gaps].min(), np.ptp(values[~gaps])
    # In units of the span: exact for a constant, and no overflow for very large numbers.
    units = (values - low) / span if span > 0 else np.zeros_like(values)
    centre = _shares(weight[~gaps]) @ units[~gaps]
    spread = np.sqrt(_shares(weight) @ np.where(gaps, 0.0, units - centre) ** 2)  # a gap: the mean
    mean, scale = low + span * centre, span * spread
    scale = scale if scale > 0 else 1.0  # a constant, or numbers too close for a spread
    gap_mean, gap_scale = _dummy_moments(_shares(np.bincount(gaps, weight, 2))[1])
    missing = bool(gaps.any())
    means, scales = np.array([[mean, gap_mean], [scale, gap_scale]])[:, : 1 + missing]
    return EncodedColumn(name=column.name, levels=None, missing=missing, mean=means, scale=scales)


def _fit_category(column: nw.Series[Any], weight: Floats) -> EncodedColumn:
    codes, labels = _codes(column)
    missing = bool((codes == UNKNOWN).any())
    # Whole numbers in the order of numbers, all else in the order of text.
    key = (lambda v: (len(v), v)) if all(v.isdecimal() for v in labels) else str
    levels = tuple(sorted(set(labels), key=key))
    if len(levels) > MANY_COLUMNS:
        warnings.warn(
            f"Column {column.name!r} has {len(levels)} different values and becomes as many "
            "columns. Leave it out if it names people rather than describes them.",
            stacklevel=4,
        )
    positions = _positions(levels, missing, codes, labels)
    counts = np.bincount(positions, weight, len(levels) + missing)
    mean, scale = _dummy_moments(_shares(counts))
    return EncodedColumn(name=column.name, levels=levels, missing=missing, mean=mean, scale=scale)


def _dummy_moments(share: Any) -> tuple[Any, Any]:
    """Mean and scale of a 0/1 column by its share of ones; a constant one keeps its scale."""
    spread = np.sqrt(share * (1 - share))
    return share, np.where(spread > 0, spread, 1.0)


def _positions(
    levels: tuple[str, ...], missing: bool, codes: NDArray[np.intp], labels: list[str]
) -> NDArray[np.intp]:
    """Output column of each row within its block, or UNKNOWN."""
    known = dict(zip(levels, range(len(levels))))
    if set(levels) <= {"False", "True"}:  # which may come as numbers another time
        same = {"0": "False", "0.0": "False", "1": "True", "1.0": "True"}
        labels = [same.get(label, label) for label in labels]
    lookup = [known.get(label, UNKNOWN) for label in labels]
    lookup.append(len(levels) if missing else UNKNOWN)  # code -1 is the last entry
    return np.asarray(lookup, dtype=np.intp)[codes]
