"""From a table of mixed columns to standardised numbers, for distances and linear models."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import _check_feature_names_in, check_array, check_is_fitted

from otfair._io.arrays import check_weight
from otfair._io.saved import SaveMixin, check_shapes, check_width, require
from otfair.tables._columns import to_narwhals
from otfair.tables._kinds import OBJECT_MIXED, Kind, kind_of, type_name
from otfair.tables._text import plain_text

Floats = NDArray[np.float64]
UNKNOWN = -1  # code of a category without an output column; `pandas.factorize` uses it for missing
LARGEST = np.finfo(np.float64).max / 4  # differences of such numbers do not overflow
MANY_VALUES = 1000  # of one category, each of them a dense column


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
        values = [self.name] if self.levels is None else [f"{self.name}={v}" for v in self.levels]
        return values + [f"{self.name} is missing"] * self.missing


class TableEncoder(SaveMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """One-hot encode the categories of a table, then standardise every column.

    Text, booleans and categories become one 0/1 column a value, numbers stay one column. Every
    resulting column, dummies included, is then shifted and scaled to mean 0 and variance 1 on the
    rows seen by `fit`, so that Euclidean distances between rows make sense.

    Tables of pandas, polars and other libraries known to narwhals are accepted, and arrays. The
    output is a dense float64 array (see `set_output` for tables).

    Attributes
    ----------
    n_features_in_ : number of columns seen by `fit`.
    feature_names_in_ : their names, where the table had names.
    columns_ : what was learnt of each column.

    Notes
    -----
    - A category that `fit` has not seen is 0 in all dummies of its column *before* they are
      standardised. After it, the dummy of a value with share p is -sqrt(p / (1 - p)): the row is
      treated as one that has none of the known values.
    - A missing category is a value of its own, called ``"<column> is missing"``.
    - A missing number is replaced by the mean, and a 0/1 column ``"<column> is missing"`` is added.
      The column is then standardised, so that the replaced value becomes exactly 0.
    - Where `fit` saw no missing value there is no such column; one that comes up in `transform` is
      treated as an unseen category, or replaced by the mean.
    - A column that is all missing in `fit` becomes the one column ``"<column> is missing"``.
    - A column that was constant in `fit` is kept, so that the width depends on the values alone. It
      is 0 on the rows of `fit`; a different value later is shifted but not scaled.
    - Values of a category are compared as text: 1 in one table is "1" in another. Where `fit` saw
      booleans, 0 and 1 are False and True.
    - A category of more than 1000 values, such as people's names, brings a warning: all is dense.

    Examples
    --------
    >>> import pandas as pd
    >>> from otfair import TableEncoder
    >>> table = pd.DataFrame({"age": [20, 30, 40, 50], "job": ["a", "b", "a", "b"]})
    >>> encoder = TableEncoder().fit(table)
    >>> encoder.get_feature_names_out()
    array(['age', 'job=a', 'job=b'], dtype=object)
    >>> encoder.transform(table).round(2)
    array([[-1.34,  1.  , -1.  ],
           [-0.45, -1.  ,  1.  ],
           [ 0.45,  1.  , -1.  ],
           [ 1.34, -1.  ,  1.  ]])

    A value that was not there to fit on:

    >>> encoder.transform(pd.DataFrame({"age": [35], "job": ["c"]}))
    array([[ 0., -1., -1.]])
    """

    __metadata_request__fit: ClassVar = {"sample_weight": True}  # of a pipeline that has them
    _fitted = ("n_features_in_", "feature_names_in_", "columns_")
    _stored_types: ClassVar = {"Column": EncodedColumn}

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the values, means and scales of each column.

        Parameters
        ----------
        X : a table or an array, one row a person.
        y : ignored.
        sample_weight : (n,), one by default; a weight w is w copies, and 0 leaves a row out.
        """
        table, named = _as_table(X)
        weight = check_weight(sample_weight, len(table)).cpu().numpy()
        if not weight.all():
            table, weight = table.filter((weight > 0).tolist()), weight[weight > 0]
        self.columns_ = [
            _fit_number(column, weight) if _is_number(column) else _fit_category(column, weight)
            for column in map(table.get_column, table.columns)
        ]
        self.n_features_in_ = len(table.columns)
        if named:
            self.feature_names_in_ = np.asarray(table.columns, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def transform(self, X: Any) -> Floats:
        """Encode a table.

        Parameters
        ----------
        X : a table or an array with the columns that `fit` had.

        Returns
        -------
        ndarray of float64, one row a person, one column a name of `get_feature_names_out`
        """
        check_is_fitted(self)
        table, named = _as_table(X)
        self._check_columns(table.columns, named)
        encoded = np.empty((len(table), sum(len(c.mean) for c in self.columns_)))
        start = 0
        for learnt, name in zip(self.columns_, table.columns, strict=True):
            column = table.get_column(name)
            block = encoded[:, start : start + len(learnt.mean)]
            start += len(learnt.mean)
            if learnt.levels is None:
                _write_number(block, learnt, column)
            else:
                _write_category(block, learnt, column)
        return encoded

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the output columns.

        Parameters
        ----------
        input_features : names of the input columns, where `fit` was given an array; otherwise
            they must be the ones seen by `fit`.

        Returns
        -------
        ndarray of str: a number keeps its name; a category gives ``"<column>=<value>"``
        """
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        outputs = [
            output
            for name, column in zip(names, self.columns_, strict=True)
            for output in replace(column, name=str(name)).outputs
        ]
        return np.asarray(outputs, dtype=object)

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    @staticmethod
    def _check_fitted(state: Any) -> None:
        width, columns = check_width(state), state.columns_
        require(isinstance(columns, list) and len(columns) == width, "its columns do not match")
        for column in columns:
            sound = isinstance(column, EncodedColumn) and type(column.missing) is bool
            require(sound, "it has a column of another kind")
            levels = () if column.levels is None else column.levels
            text = isinstance(levels, tuple) and all(
                isinstance(v, str) for v in (column.name, *levels)
            )
            require(text, f"the values of column {column.name!r} are not text")
            outputs = len(column.outputs)
            check_shapes(column, mean=(outputs,), scale=(outputs,))

    def _check_columns(self, columns: list[str], named: bool) -> None:
        """Compare with the columns seen by `fit`; the wording is that of scikit-learn."""
        own = type(self).__name__
        fitted_names = getattr(self, "feature_names_in_", None)
        if named and fitted_names is None:
            warnings.warn(
                f"X has feature names, but {own} was fitted without feature names",
                stacklevel=3,
            )
        elif not named and fitted_names is not None:
            warnings.warn(
                f"X does not have valid feature names, but {own} was fitted with feature names",
                stacklevel=3,
            )
        elif named and fitted_names is not None and columns != list(fitted_names):
            missing = [name for name in fitted_names if name not in columns]
            extra = [name for name in columns if name not in fitted_names]
            details = ""
            if extra:
                details += f"\nFeature names unseen at fit time: {', '.join(extra)}."
            if missing:
                details += (
                    f"\nFeature names seen at fit time, yet now missing: {', '.join(missing)}."
                )
            if not details:
                details = "\nFeature names must be in the same order as they were in fit."
            raise ValueError(
                f"The feature names should match those that were passed during fit.{details}\n"
                f"Select the columns {own} was fitted on: `X[list(fitted.feature_names_in_)]`."
            )
        if len(columns) != self.n_features_in_:
            raise ValueError(
                f"X has {len(columns)} features, but {own} is expecting "
                f"{self.n_features_in_} features as input."
            )


def _as_table(X: Any) -> tuple[nw.DataFrame[Any], bool]:
    """Any input as a table, and whether its columns have names of their own."""
    table = to_narwhals(X, "X")
    if not isinstance(table, nw.DataFrame):
        # A list of rows may mix types: as objects, they keep them.
        rows = np.asarray(X, dtype=object) if isinstance(X, list | tuple) else X
        rows = check_array(rows, dtype=None, ensure_all_finite=False)
        return _without_names(pd.DataFrame(rows)), False
    kinds = {type(name).__name__ for name in table.columns if not isinstance(name, str)}
    if kinds and any(isinstance(name, str) for name in table.columns):
        raise TypeError(
            f"Column names must be text, all of them or none; got text and {', '.join(kinds)}. "
            "Convert them: `X.columns = X.columns.astype(str)`."
        )
    rows, columns = table.shape
    for count, what in ((rows, "sample(s)"), (columns, "feature(s)")):
        if count == 0:
            raise ValueError(
                f"Found a table with 0 {what} (shape=({rows}, {columns})) while a minimum of 1 is "
                "required."
            )
    return (_without_names(X), False) if kinds else (table, True)


def _without_names(table: pd.DataFrame) -> nw.DataFrame[Any]:
    names = [f"x{i}" for i in range(table.shape[1])]
    return nw.from_native(table.set_axis(names, axis=1), eager_only=True)


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
    if column.is_null().all():  # of any type, even one that can't be cast
        return np.full(len(column), np.nan)
    if column.dtype == nw.Object:
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
    width = 2 if gaps.any() else 1
    return EncodedColumn(
        name=column.name,
        levels=None,
        missing=width == 2,
        mean=np.array([mean, gap_mean])[:width],
        scale=np.array([scale, gap_scale])[:width],
    )


def _fit_category(column: nw.Series[Any], weight: Floats) -> EncodedColumn:
    codes, labels = _codes(column)
    missing = bool((codes == UNKNOWN).any())
    # Whole numbers in the order of numbers, all else in the order of text.
    key = (lambda v: (len(v), v)) if all(v.isdecimal() for v in labels) else str
    levels = tuple(sorted(set(labels), key=key))
    if len(levels) > MANY_VALUES:
        warnings.warn(
            f"Column {column.name!r} has {len(levels)} different values and becomes as many "
            "columns. Leave it out if it names people rather than describes them.",
            stacklevel=3,
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
    known = {level: position for position, level in enumerate(levels)}
    if set(levels) <= {"False", "True"}:  # which may come as numbers another time
        same = {"0": "False", "0.0": "False", "1": "True", "1.0": "True"}
        labels = [same.get(label, label) for label in labels]
    lookup = [known.get(label, UNKNOWN) for label in labels]
    lookup.append(len(levels) if missing else UNKNOWN)  # code -1 is the last entry
    return np.asarray(lookup, dtype=np.intp)[codes]


def _numbers_again(column: nw.Series[Any]) -> Floats:
    """Values of a column that was numeric in `fit`, NaN where missing."""
    # Nothing at all can be read as numbers that are missing.
    if not (_is_number(column) or column.dtype == nw.Boolean or column.is_null().all()):
        raise ValueError(
            f"Column {column.name!r} was numeric in `fit`, and now has the type {column.dtype}. "
            "Convert it to numbers, as it was then."
        )
    return _numbers(column)


def _positions_again(
    column: nw.Series[Any], levels: tuple[str, ...], missing: bool
) -> NDArray[np.intp]:
    """`_positions` of a column that was a category in `fit`, and may come as numbers now."""
    _is_number(column)  # an error for what is neither
    return _positions(levels, missing, *_codes(column))


def _write_number(block: Floats, learnt: EncodedColumn, column: nw.Series[Any]) -> None:
    values = _numbers_again(column)
    gaps = np.isnan(values)
    values = np.where(gaps, learnt.mean[0], values)
    block[:, 0] = (values - learnt.mean[0]) / learnt.scale[0]
    if learnt.missing:
        block[:, 1] = (gaps - learnt.mean[1]) / learnt.scale[1]


def _write_category(block: Floats, learnt: EncodedColumn, column: nw.Series[Any]) -> None:
    positions = _positions_again(column, learnt.levels or (), learnt.missing)
    block[:] = -learnt.mean / learnt.scale
    rows = np.flatnonzero(positions != UNKNOWN)
    ones = (1 - learnt.mean) / learnt.scale
    block[rows, positions[rows]] = ones[positions[rows]]
