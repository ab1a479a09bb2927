"""How a rule sees people: what decisions about them gain, and the rows they are expected to have.

Maths: docs/decisions.md, section "Deciding without the sensitive attribute". Those who tune the
rule are seen by models that have not been trained on them; new people by the final models.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from otfair._io.arrays import Array
from otfair.decisions import _groups
from otfair.decisions._calibration import calibrated
from otfair.decisions._groups import Block
from otfair.decisions._numbers import jitter
from otfair.decisions._people import Folds, read_X, see_crowds, take
from otfair.decisions._retraining import gains, has_signs, weighed, weights
from otfair.decisions._rows import Row, known_values
from otfair.decisions._settings import threshold_of
from otfair.notions import as_encoded, as_notion
from otfair.tables import TableEncoder, known_rows, take_rows


class SeesPeople:
    """The part of `FairDecisions` that looks at people; settings and fitted state are its own."""

    # Settings.
    estimator: Any
    notion: Any
    cv: Any
    group_estimator: Any
    use_sensitive: bool
    ties: str
    target: str
    n_jobs: int | None
    __sklearn_tags__: Callable[..., Any]
    # Fitted.
    classes_: np.ndarray
    estimator_: Any
    rows_: list[Row]
    seed_: int
    blocks_: list[Block]
    group_models_: list[Any]
    encoder_: TableEncoder
    calibration_: np.ndarray
    retrained_: Any
    prices_: np.ndarray

    def _cross_fit(
        self, X: Array, y: np.ndarray, folds: Folds, params: dict[str, Any]
    ) -> tuple[Any, np.ndarray]:
        """Return the classifier, and the scores of people by one that has not seen them."""
        if isinstance(self.cv, str) and self.cv == "prefit":
            check_is_fitted(self.estimator)
            return self.estimator, self._scores(self.estimator, X)

        def trained(rows: np.ndarray | None) -> Any:
            some = {n: v if rows is None else take(v, rows) for n, v in params.items()}
            data = (X, y) if rows is None else (take(X, rows), y[rows])
            return clone(self.estimator).fit(*data, **some)

        parts = [train for train, _ in folds]
        *models, last = Parallel(n_jobs=self.n_jobs)(
            delayed(trained)(rows) for rows in [*parts, None]
        )
        scores = np.full(len(y), np.nan)
        for model, (_, test) in zip(models, folds, strict=True):
            scores[test] = self._scores(model, take(X, test))
        if np.isnan(scores).any():
            raise ValueError("`cv` must put every person into one test part.")
        return last, scores

    def _cross_fit_again(
        self,
        X: Array,
        value: np.ndarray,
        weight: np.ndarray,
        routed: Callable[[np.ndarray], dict[str, Any]],
        folds: Folds,
        said: np.ndarray,
    ) -> tuple[Any, np.ndarray | None]:
        """Train for the sign of what decisions are worth, (n,); return it, and people's chances.

        None where decisions of one sign only are left. `said` is what the final models say of
        people, by which crowds are found.
        """
        weight = weights(value, weight)
        if not has_signs(value, weight, folds):
            return None, None
        signs = self.classes_[(value > 0).astype(int)]
        params = weighed(self.estimator, routed, weight)
        model, chances = self._cross_fit(X, signs, folds, params)
        final = np.column_stack([self._scores(model, X), said])
        return model, see_crowds(final, chances, said)[0]

    def _cross_fit_groups(
        self, X: Array, values: np.ndarray, weight: np.ndarray, folds: Folds, scores: np.ndarray
    ) -> np.ndarray:
        """Learn the model of groups; return the rows that people are expected to have, (n, d)."""
        expected = np.zeros_like(values)
        if self.group_estimator is not None:
            learner = (self.group_estimator, self.rows_)
            for train, test in folds:
                fitted = _groups.learn_by(*learner, values[train], take(X, train), weight[train])
                expected[test] = _groups.predict_by(fitted, self.rows_, take(X, test), scores[test])
            self.group_models_ = _groups.learn_by(*learner, values, X, weight)
            return expected
        self.encoder_ = TableEncoder().fit(X)
        features = self.encoder_.transform(X)
        self.blocks_ = _groups.learn(self.rows_, values, features, weight)
        seen = (self.rows_, self.blocks_, values, features, weight, scores)
        if (left_out := _groups.expected_left_out(*seen)) is not None:
            return left_out
        for train, test in folds:
            blocks = _groups.learn(self.rows_, values[train], features[train], weight[train])
            expected[test] = _groups.predict(self.rows_, blocks, features[test], scores[test])
        return expected

    def _known(self, sensitive: Array, scores: np.ndarray) -> np.ndarray:
        if sensitive is None:
            raise ValueError(
                "`use_sensitive=True` needs the sensitive attributes of those it decides about; "
                "pass `predict(X, sensitive_features=...)`."
            )
        notion = as_encoded(as_notion(self.notion), sensitive)
        known = np.flatnonzero(known_rows(sensitive, "sensitive_features"))
        out = np.zeros((len(scores), len(self.rows_)))
        if len(known):  # others have no price
            some = take_rows(sensitive, known)
            out[known] = known_values(notion, self.rows_, some, scores[known])
        return out

    def _expected(self, X: Array, scores: np.ndarray) -> np.ndarray:
        """Return the rows that people are expected to have, (n, d), by their features."""
        if self.group_estimator is not None:
            return _groups.predict_by(self.group_models_, self.rows_, X, scores)
        features = self.encoder_.transform(X)
        return _groups.predict(self.rows_, self.blocks_, features, scores)

    def _seen(self, X: Array, sensitive: Array) -> tuple[np.ndarray, np.ndarray]:
        """Return what a decision about people gains, and the rows they are expected to have."""
        check_is_fitted(self)
        X = read_X(X, self.__sklearn_tags__().input_tags.sparse)
        scores = self._scores(self.estimator_, X)
        if self.use_sensitive:
            scores = calibrated(scores, self._known(sensitive, scores), self.calibration_)
            return self._gain(X, scores), self._known(sensitive, scores)
        expected = self._expected(X, scores)
        if not hasattr(self, "retrained_"):
            return self._gain(X, scores), expected
        chances = self._scores(self.retrained_, X)
        return self._gain_again(X, chances, scores, expected, self.prices_), expected

    def _gain(self, X: Array, scores: np.ndarray) -> np.ndarray:
        """Return what decisions gain, (n,), by scores."""
        soft = self.target == "scores"
        return self._told_apart(X, scores if soft else scores - threshold_of(self))

    def _gain_again(
        self,
        X: Array,
        chances: np.ndarray,
        scores: np.ndarray,
        expected: np.ndarray,
        prices: np.ndarray,
    ) -> np.ndarray:
        """Return what decisions gain, (n,), by chances that they are worth making."""
        return self._told_apart(X, gains(chances, scores, expected, prices, threshold_of(self)))

    def _told_apart(self, X: Array, gain: np.ndarray) -> np.ndarray:
        return gain + jitter(X, self.seed_) if self.ties == "random" else gain

    def _scores(self, model: Any, X: Array) -> np.ndarray:
        """Return the scores of the positive class."""
        column = list(model.classes_).index(self.classes_[1])
        return np.asarray(model.predict_proba(X)[:, column], dtype=np.float64)
