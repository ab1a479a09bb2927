"""The trade-off curve: train at many strengths, and judge on both parts of a split."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.model_selection import train_test_split

from otfair._io.arrays import Array, same_length
from otfair._io.progress import track
from otfair.losses import FairnessLoss
from otfair.models import FairClassifier, OTFBoostingClassifier, OTFClassifier, encoded_columns
from otfair.notions import Notion, as_notion
from otfair.tables import TableEncoder, read_two_classes, to_columns
from otfair.tradeoff._judge import Judge, judge_all

ALPHAS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


def tradeoff_curve(
    X: Array,
    y: Array,
    *,
    sensitive_features: Array,
    notion: Notion | str | None = None,
    regularizer: str | FairnessLoss | None = None,
    alphas: Iterable[float] | None = None,
    estimator: FairClassifier[Any] | None = None,
    test_size: float = 0.2,
    random_state: int = 0,
    n_jobs: int = 1,
    n_bootstrap: int = 100,
    verbose: bool = False,
) -> pd.DataFrame:
    """Train at many strengths, and judge each model on both parts of a split.

    Parameters
    ----------
    X : array-like or data frame of shape (n_samples, n_features)
        Features; a table is encoded by `TableEncoder`, fitted on the training part. Boosted trees
        see the table itself.
    y : array-like of shape (n_samples,)
        Labels of two classes.
    sensitive_features : array-like or data frame
        One or many sensitive columns.
    notion : Notion or str, default=None
        The fairness notion; by default that of the `estimator`.
    regularizer : str or FairnessLoss, default=None
        The penalty; by default that of the `estimator`.
    alphas : iterable of float, default=None
        Strengths; 0 to 0.9 in steps of 0.1 by default.
    estimator : OTFClassifier or OTFBoostingClassifier, default=None
        A classifier with settings of your own; its `alpha` and `max_violation` are not used. Its
        `cost_features` are columns of a table as it is before encoding.
    test_size : float, default=0.2
        Share of the rows to test on; the split is stratified by label.
    random_state : int, default=0
        Seed of the split.
    n_jobs : int, default=1
        Processes to judge the models with; more than one pay for large tables only.
    n_bootstrap : int, default=100
        Resamples of rows for the intervals; without any, they have no width.
    verbose : bool, default=False
        Whether to show progress.

    Returns
    -------
    pandas.DataFrame
        One row for each strength. For ``train`` and ``test`` and each of AUC, log-loss, accuracy,
        the violation of the notion itself, PDP and PEO by all columns, the differences of decisions
        at 0.5 (columns of numbers apart; NaN where there are no others) and the adjusted OTF cost
        per person, by the cost and features of the estimator: the value, and the ends of its 95 %
        interval in ``_low`` and ``_high``. The interval of the OTF cost holds the duals fixed.

    Examples
    --------
    >>> import otfair
    >>> data = otfair.load_dataset("synthetic", n=600)
    >>> curve = otfair.tradeoff_curve(
    ...     data.X, data.y, sensitive_features=data.sensitive_features[["sex"]],
    ...     alphas=[0, 0.5], n_bootstrap=20,
    ... )
    >>> bool(curve["train_pdp"][1] < curve["train_pdp"][0])
    True
    """
    labels, strengths = read_two_classes(y, "y"), _read_alphas(alphas)
    if sensitive_features is None:
        raise ValueError("`sensitive_features` are missing; pass one or many columns of them.")
    same_length("X", len(X), len(labels), "y")
    people = len(to_columns(sensitive_features, "sensitive_features")[0].values)
    same_length("sensitive_features", people, len(labels), "y")
    fit, test = train_test_split(
        np.arange(len(labels)), test_size=test_size, random_state=random_state, stratify=labels
    )
    raw = isinstance(estimator, OTFBoostingClassifier)
    parts, encoder = _features(X, fit, test, raw=raw)
    estimator = _settle(estimator, notion, regularizer, encoder)
    split = [
        (name, Z, labels[rows], _take(sensitive_features, rows))
        for name, Z, rows in (("train", parts[0], fit), ("test", parts[1], test))
    ]
    for name, _, known, sensitive in split:  # before training, which takes time
        try:
            as_notion(estimator.notion).people(sensitive, known)
        except ValueError as error:
            raise ValueError(f"in the {name} part of the split, {error}") from None
    _, Z, known, sensitive = split[0]
    path = estimator.fit_path(Z, known, sensitive, strengths)
    models = list(track(path, "training", len(strengths), verbose=verbose))
    judges = {
        name: Judge(Z, known, sensitive, models[0], n_bootstrap)
        for name, Z, known, sensitive in split
    }
    rows = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(judge_all)(judges, model) for model in models
    )
    rows = track(rows, "judging", len(models), verbose=verbose)
    return pd.DataFrame([{"alpha": a, **row} for row, a in zip(rows, strengths)])


def _read_alphas(alphas: Iterable[float] | None) -> list[float]:
    strengths = [float(alpha) for alpha in (ALPHAS if alphas is None else alphas)]
    if not strengths or not all(0 <= alpha <= 1 for alpha in strengths):
        raise ValueError(f"`alphas` must be numbers in [0, 1], at least one; received {strengths}.")
    return strengths


def _features(
    X: Array, fit: np.ndarray, test: np.ndarray, *, raw: bool
) -> tuple[list[Array], TableEncoder | None]:
    """Return the features of both parts, and what encoded them."""
    table = nw.from_native(X, eager_only=True, pass_through=True)
    if raw:
        return [_take(X, rows) for rows in (fit, test)], None
    if not isinstance(table, nw.DataFrame):
        X = np.asarray(X)
        return [X[fit], X[test]], None
    encoder = TableEncoder().set_output(transform="pandas").fit(_take(X, fit))
    return [encoder.transform(_take(X, rows)) for rows in (fit, test)], encoder


def _settle(
    estimator: FairClassifier[Any] | None,
    notion: Notion | str | None,
    regularizer: str | FairnessLoss | None,
    encoder: TableEncoder | None,
) -> FairClassifier[Any]:
    """Return the classifier to train, with the settings that were given."""
    estimator = OTFClassifier() if estimator is None else estimator
    if not isinstance(estimator, FairClassifier):
        raise TypeError(
            "`estimator` must be an OTFClassifier or OTFBoostingClassifier; received "
            f"{type(estimator).__name__}. A table is encoded without a pipeline."
        )
    if estimator.geometry is not None:
        raise ValueError(
            "the estimator's `geometry` is of people to train on, whom this function chooses "
            "itself. Say who is like whom by `cost_features`, or train by `OTFClassifier.fit_path`."
        )
    given = {"notion": notion, "regularizer": regularizer}
    settled: FairClassifier[Any] = clone(estimator)
    settled.set_params(**{name: value for name, value in given.items() if value is not None})
    if settled.cost_features is not None and encoder is not None:
        settled.cost_features = encoded_columns(settled.cost_features, encoder.columns_)
    return settled


def _take(table: Array, rows: np.ndarray) -> Array:
    """Return some rows of a table or array of any kind."""
    if isinstance(table, Mapping):
        return {name: _take(column, rows) for name, column in table.items()}
    native = nw.from_native(table, eager_only=True, allow_series=True, pass_through=True)
    if isinstance(native, (nw.DataFrame, nw.Series)):
        return native[rows].to_native()
    return np.asarray(table)[rows]
