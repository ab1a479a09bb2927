"""From a table of mixed columns to standardised numbers, for distances and linear models."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, ClassVar, Self

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import _check_feature_names_in, check_array, check_is_fitted

from otfair._io.arrays import check_weight
from otfair._io.checks import brief, check_shapes, check_width, require
from otfair._io.memory import machine_memory, say_size
from otfair._io.saved import SaveMixin
from otfair.distributed import is_dask, map_rows, read_parts
from otfair.tables._columns import to_narwhals
from otfair.tables._encoded_column import EncodedColumn, Floats, learn_column, summarize_column

SMALLEST = 1e-290  # scale of a column; numbers that are divided by less are numbers no more


class TableEncoder(SaveMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """One-hot encode the categories of a table, then standardise every column.

    Text, booleans and categories become one 0/1 column per value, numbers stay one column. Each of
    these is then shifted and scaled to mean 0 and variance 1 on the rows of `fit`, so that
    Euclidean distances make sense. Arrays are accepted, and tables of pandas, polars and other
    libraries known to narwhals. The output is a dense float64 array (see `set_output` for tables).

    Attributes
    ----------
    n_features_in_ : int
        Number of columns seen by `fit`.
    feature_names_in_ : ndarray of str
        Their names, where the table had names.
    columns_ : list
        What was learnt of each column.

    Notes
    -----
    - A category that `fit` has not seen is 0 in all dummies of its column *before* they are
      standardised, and -sqrt(p / (1 - p)) after it in the dummy of a value with share p.
    - A missing category is a value of its own, called ``"<column> is missing"``.
    - A missing number is replaced by the mean, and a 0/1 column ``"<column> is missing"`` is added.
    - Where `fit` saw no missing value there is no such column; one that comes up in `transform` is
      treated as an unseen category, or replaced by the mean.
    - A column that is all missing in `fit` becomes the one column ``"<column> is missing"``.
    - A column that was constant in `fit` is kept, and is 0 on its rows, so that the width depends
      on the values alone; a different value later is shifted but not scaled.
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
        X : table or array of shape (n, p)
            One row per person.
        y : None, default=None
            Ignored.
        sample_weight : array of shape (n,), default=None
            A weight w counts as w copies, and 0 leaves a row out; 1 by default.

        Returns
        -------
        TableEncoder
            The encoder itself.
        """
        if is_dask(X):
            return self._fit_parts(X, sample_weight)
        table, named = _as_table(X)
        weight = check_weight(sample_weight, len(table)).cpu().numpy()
        if not weight.all():
            table, weight = table.filter((weight > 0).tolist()), weight[weight > 0]
        self.columns_ = [learn_column(column, weight) for column in table.iter_columns()]
        self.n_features_in_ = len(table.columns)
        if named:
            self.feature_names_in_ = np.asarray(table.columns, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def _fit_parts(self, X: Any, sample_weight: Any) -> Self:
        """Learn columns of a Dask collection from summaries of their parts."""
        found = read_parts({"X": X, "sample_weight": sample_weight}).gather(_summaries)
        self.fit(found[0][0])  # names and number of columns
        self.columns_ = []
        for parts in zip(*(columns for _, columns in found)):
            values = pd.concat([value for value, _ in parts], ignore_index=True)
            weight = np.concatenate([own for _, own in parts])
            table = pd.DataFrame({parts[0][0].name: values[weight > 0]})
            (column,) = nw.from_native(table, eager_only=True).iter_columns()
            self.columns_.append(learn_column(column, weight[weight > 0]))
        return self

    def transform(self, X: Any) -> Floats:
        """Encode a table.

        Parameters
        ----------
        X : table or array of shape (n, p)
            It has the columns that `fit` had.

        Returns
        -------
        ndarray of float64
            One row per person, one column for each name of `get_feature_names_out`.
        """
        check_is_fitted(self)
        if is_dask(X):
            width = sum(len(learnt.mean) for learnt in self.columns_)
            return map_rows(self.transform, X, width)  # type: ignore[no-any-return]
        table = _fitted_table(self, X)
        ends = np.cumsum([len(learnt.mean) for learnt in self.columns_])
        _refuse_too_large(len(table), int(ends[-1]), self.columns_)
        encoded = np.empty((len(table), ends[-1]))
        blocks = np.split(encoded, ends[:-1], axis=1)  # views of it
        for learnt, block, column in zip(self.columns_, blocks, table.iter_columns(), strict=True):
            learnt.write(block, column)
        return encoded

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the output columns.

        Parameters
        ----------
        input_features : array of str, default=None
            Names of the input columns, where `fit` was given an array without any.

        Returns
        -------
        ndarray of str
            A number keeps its name; a category gives ``"<column>=<value>"``.
        """
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        columns = [replace(c, name=str(name)) for name, c in zip(names, self.columns_, strict=True)]
        return np.asarray([output for c in columns for output in c.outputs], dtype=object)

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        taken = tags.input_tags
        taken.allow_nan = taken.categorical = taken.string = True
        return tags

    @staticmethod
    def _check_fitted(state: Any) -> None:
        width, columns = check_width(state), state.columns_
        require(isinstance(columns, list) and len(columns) == width, "its columns do not match")
        for column in columns:
            require(isinstance(column, EncodedColumn), "it has a column of another kind")
            levels = () if column.levels is None else column.levels
            text = isinstance(levels, tuple) and {str} >= set(map(type, (column.name, *levels)))
            require(text, f"the values of column {brief(column.name)} are not text")
            require(len(set(levels)) == len(levels), f"column {column.name!r} has a value twice")
            outputs = len(column.outputs)
            require(outputs > 0, f"column {brief(column.name)} becomes nothing")
            check_shapes(column, mean=(outputs,), scale=(outputs,))
            require(bool((column.scale > SMALLEST).all()), "a column is divided by nothing")
            with np.errstate(over="ignore"):
                shifts = 4 * column.mean / column.scale
            require(bool(np.isfinite(shifts).all()), "a column is shifted out of sight")
        named = getattr(state, "feature_names_in_", None)
        if named is not None:
            require([c.name for c in columns] == list(named), "its columns have other names")


def _summaries(rows: dict[str, Any]) -> tuple[Any, list[tuple[Any, Floats]]]:
    """Return one row of a part, and a summary of each of its columns."""
    table, _ = _as_table(rows["X"])
    weight = np.ones(len(table))
    if rows.get("sample_weight") is not None:
        given = np.append(np.asarray(rows["sample_weight"]), 1.0)
        weight = check_weight(given, len(given)).numpy()[:-1]
        table, weight = table.filter((weight > 0).tolist()), weight[weight > 0]
    columns = [summarize_column(column, weight) for column in table.iter_columns()]
    named = zip(columns, table.columns)
    return rows["X"][:1], [(value.rename(name), own) for (value, own), name in named]


def _refuse_too_large(rows: int, width: int, columns: list[EncodedColumn]) -> None:
    """Raise where the dense array of a table would not fit into the memory there is."""
    needed, there = 8 * rows * width, machine_memory()
    if needed > there:
        widest = max(columns, key=lambda column: len(column.mean))
        raise ValueError(
            f"the table takes {say_size(needed)} once its categories are columns, and there are "
            f"{say_size(there)} of memory. Column {widest.name!r} alone becomes "
            f"{len(widest.mean)} columns: leave it out, or merge its rare values."
        )


def tree_matrix(owner: Any, X: Any, columns: list[EncodedColumn]) -> np.ndarray:
    """Return a table as trees see it, (n, p): numbers, codes of categories, NaN for gaps.

    The table must have the columns that `owner`, an estimator, saw in `fit`.
    """
    pairs = zip(columns, _fitted_table(owner, X).iter_columns(), strict=True)
    return np.column_stack([learnt.tree_codes(column) for learnt, column in pairs])


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
    if not rows or not columns:
        what = "feature(s)" if rows else "sample(s)"
        raise ValueError(
            f"Found a table with 0 {what} (shape=({rows}, {columns})) while a minimum of 1 is "
            "required."
        )
    return (_without_names(X), False) if kinds else (table, True)


def _without_names(table: pd.DataFrame) -> nw.DataFrame[Any]:
    names = [f"x{i}" for i in range(table.shape[1])]
    return nw.from_native(table.set_axis(names, axis=1), eager_only=True)


def _fitted_table(owner: Any, X: Any) -> nw.DataFrame[Any]:
    """Any input as a table with the columns of `fit`; what differs is said as scikit-learn does."""
    table, named = _as_table(X)
    own, columns = type(owner).__name__, table.columns
    fitted_names = getattr(owner, "feature_names_in_", None)
    if named != (fitted_names is not None):
        had, was = ("has", "without") if named else ("does not have valid", "with")
        problem = f"X {had} feature names, but {own} was fitted {was} feature names"
        warnings.warn(problem, stacklevel=3)
    elif fitted_names is not None and columns != list(fitted_names):
        missing = [name for name in fitted_names if name not in columns]
        extra = [name for name in columns if name not in fitted_names]
        unlike = {"unseen at fit time": extra, "seen at fit time, yet now missing": missing}
        details = [f"Feature names {how}: {', '.join(n)}." for how, n in unlike.items() if n]
        details = details or ["Feature names must be in the same order as they were in fit."]
        said = "The feature names should match those that were passed during fit."
        remedy = f"Select the columns {own} was fitted on: `X[list(fitted.feature_names_in_)]`."
        raise ValueError("\n".join([said, *details, remedy]))
    if (width := len(columns)) != (fitted := owner.n_features_in_):
        raise ValueError(
            f"X has {width} features, but {own} is expecting {fitted} features as input."
        )
    return table
