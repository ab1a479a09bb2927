"""`FairDecisions`: fair decisions, or scores, from any classifier.

Maths: docs/decisions.md. The pieces are the rows of a notion (`_rows.py`), a model of groups
(`_groups.py`), the program (`_program.py`), and limits that hold as observed (`_tuning.py`) and for
new people (`_margin.py`).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import check_consistent_length
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _routing_enabled,
    process_routing,
)
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_y,
    check_is_fitted,
    has_fit_parameter,
)

from otfair._io.arrays import Array, same_length
from otfair._io.saved import SaveMixin
from otfair.decisions._calibration import calibrated, learn_calibration
from otfair.decisions._groups import Block
from otfair.decisions._limits import Family
from otfair.decisions._margin import Promise, errors, keep_promise
from otfair.decisions._mixing import rule_of
from otfair.decisions._numbers import jitter, number_of, seed_of
from otfair.decisions._path import Judges, draw_path, is_by_ratio, path_of
from otfair.decisions._people import (
    folds_of,
    read_weight,
    read_X,
    see_crowds,
    with_mean_one,
)
from otfair.decisions._report import GroupRate, accuracy, check_final, missed_by, rates_of, warn
from otfair.decisions._retraining import helps, weighed, weight_name, worth
from otfair.decisions._rows import Limit, Row, families_of, read_rows
from otfair.decisions._settings import check_settings, threshold_of
from otfair.decisions._sight import SeesPeople
from otfair.decisions._smooth import Sample
from otfair.decisions._stored import check_loaded, check_stored
from otfair.decisions._tuning import tune
from otfair.notions import STORED_NOTIONS, Notion, as_encoded, as_notion, known_sensitive
from otfair.tables import same_people, two_classes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# What `fit` sets in some cases only.
OPTIONAL = ("encoder_", "group_models_", "calibration_", "shares_", "retrained_", "prices_")


class FairDecisions(
    SeesPeople,
    SaveMixin,
    ClassifierMixin,  # type: ignore[misc]
    MetaEstimatorMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Fair decisions from any classifier: the best that keep the rates of groups within limits.

    The decision is positive where ``score - threshold - duals . rows(x) > 0``: the score of a
    classifier, less a small price for each group, as far as the features tell it. The rule is
    deterministic and does not need the sensitive attributes of the people it decides about. (With
    `retrain` the score is that of two classifiers; see docs/decisions.md.)

    Parameters
    ----------
    estimator : classifier with `predict_proba`
        Any binary classifier; it is cloned and trained, unless ``cv="prefit"``.
    notion : Notion or str, default="demographic_parity"
        What is compared: rates of positive decisions ("demographic_parity"), true and false
        positive rates ("equalized_odds"), or any other notion, or stack of them.
    max_difference : float or dict, default=None
        Largest difference between the rates of two groups; for each attribute, as in
        ``{"sex": 0.05, "race": 0.1}``, or for all. For a continuous attribute, the largest
        change of the rate per standard deviation.
    min_ratio : float or dict, default=None
        Smallest ratio between the rates of two groups, such as 0.8.
    min_rate : float or dict, default=None
        Smallest rate of a group: of all, of each attribute's, or of single ones by their name, as
        in ``{"sex=Female": 0.3}`` (``"sex=Female | y=1"`` with equalized odds).
    threshold : float, default=0.5
        The score above which a decision is worth making.
    cost_false_positive, cost_false_negative : float, default=None
        Costs of the two errors; together they take the place of `threshold`.
    confidence : float or None, default=0.9
        How sure it is that limits hold for new people. None asks for those who tune the rule only.
    new_people : float or int, default=1/3
        How many new people: a share of those who tune the rule, or, above 1, a number. Infinity
        speaks of the population.
    cv : int, splitter or "prefit", default=5
        How scores of people not trained on are made. With "prefit" the estimator is fitted already,
        and `fit` takes people whom it has not seen.
    group_estimator : classifier, default=None
        Predicts groups from features; by default multinomial logistic regression on a
        `TableEncoder`.
    use_sensitive : bool, default=False
        Whether the rule may use the sensitive attributes of the people it decides about; then
        `predict` needs them.
    ties : {"together", "random"}, default="together"
        People with equal scores and expected groups have one decision, or are told apart by a
        number made from their features: the same person has the same answer always.
    target : {"decisions", "scores"}, default="decisions"
        What is made fair. Fair scores are ``clip(score - duals . rows(x), 0, 1)``, the nearest in
        squares whose means are within the limits; `predict_proba` returns them.
    randomize : bool, default=False
        Whether people may be spread over several rules, where one alone does not meet the limits,
        or not as well: equalized odds within a narrow limit, above all. A number made from a
        person's features tells their rule: the same person has the same answer always.
    retrain : bool, default=False
        Whether the classifier is trained a second time, for the decisions that are worth making
        at the prices of the limits. That may help models that are too simple for their table, such
        as logistic regression. It is for limits on rates, not for equalized odds and others within
        labels. `fit` takes about twice as long, and the estimator must take `sample_weight`.
    random_state : int, RandomState or None, default=0
        Seed of folds, of random ties, and of the numbers that spread people over rules. What was
        drawn at `fit` stays.
    n_jobs : int, default=None
        Folds trained at a time, as in joblib.

    Attributes
    ----------
    estimator_ : classifier
        The classifier, trained on all people.
    classes_ : ndarray of shape (2,)
        The classes; the second is the positive one.
    duals_ : ndarray of shape (n_rows,) or (n_rules, n_rows)
        The price of each row, in scores; 0 where a limit costs nothing.
    shares_ : ndarray of shape (n_rules,)
        The share of people that each rule decides about, where they are spread over several.
    retrained_ : classifier
        The classifier that was trained a second time, if that helped those who tuned the rule.
    prices_ : ndarray of shape (n_rows,)
        The prices that it was trained at.
    names_ : list of str
        Names of the rows, such as ``"sex=Female | y=1"``.
    limits_met_ : bool
        Whether the limits are met by the people who tuned the rule, in all groups that are large
        enough for a promise.
    confidence_ : float
        How sure it is that new people meet the limits of all groups that are promised it.
    groups_ : list
        Rates of each group, before and after; `summary` returns them as a table.
    accuracy_ : float
        Of people not trained on; `accuracy_before_` is that of the threshold alone.
    accuracy_before_ : float
        Accuracy of the threshold alone.
    n_missing_sensitive_ : int
        People whose sensitive values are missing: they train the classifier, not the rule.

    Examples
    --------
    >>> import otfair
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> data = otfair.load_dataset("synthetic", n=4000)
    >>> model = make_pipeline(otfair.TableEncoder(), LogisticRegression())
    >>> fair = otfair.FairDecisions(model, max_difference=0.1)
    >>> fair = fair.fit(data.X, data.y, sensitive_features=data.sensitive_features["sex"])
    >>> fair.limits_met_
    True
    >>> bool(fair.confidence_ >= 0.9)
    True
    """

    _fitted = (
        "classes_", "duals_", "rows_", "blocks_", "groups_", "limits_met_", "confidence_",
        "accuracy_", "accuracy_before_", "n_missing_sensitive_", "n_features_in_",
        "feature_names_in_", "calibration_", "shares_", "seed_", "prices_",
    )  # fmt: skip
    _nested = ("estimator_", "encoder_", "group_models_", "retrained_")
    _stored_types: ClassVar = {
        **STORED_NOTIONS, "Row": Row, "Block": Block, "GroupRate": GroupRate,
    }  # fmt: skip

    def __init__(
        self,
        estimator: Any,
        notion: Notion | str = "demographic_parity",
        *,
        max_difference: Limit = None,
        min_ratio: Limit = None,
        min_rate: Limit = None,
        threshold: float = 0.5,
        cost_false_positive: float | None = None,
        cost_false_negative: float | None = None,
        confidence: float | None = 0.9,
        new_people: float = 1 / 3,
        cv: Any = 5,
        group_estimator: Any = None,
        use_sensitive: bool = False,
        ties: str = "together",
        target: str = "decisions",
        randomize: bool = False,
        retrain: bool = False,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.notion = notion
        self.max_difference = max_difference
        self.min_ratio = min_ratio
        self.min_rate = min_rate
        self.threshold = threshold
        self.cost_false_positive = cost_false_positive
        self.cost_false_negative = cost_false_negative
        self.confidence = confidence
        self.new_people = new_people
        self.cv = cv
        self.group_estimator = group_estimator
        self.use_sensitive = use_sensitive
        self.ties = ties
        self.target = target
        self.randomize = randomize
        self.retrain = retrain
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(
        self,
        X: Array,
        y: Array,
        sensitive_features: Array = None,
        sample_weight: Array = None,
        **params: Any,
    ) -> Self:
        """Train the classifier and tune the rule.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Features, as the estimator takes them.
        y : array-like of shape (n_samples,)
            Labels of two classes.
        sensitive_features : array-like or data frame
            One or many sensitive columns. Gaps are allowed.
        sample_weight : array-like of shape (n_samples,), default=None
            One for each row by default.
        **params : object
            What else the estimator's `fit` takes, where metadata routing is on.

        Returns
        -------
        FairDecisions
            The fitted classifier itself.
        """
        check_settings(self)
        if y is None:  # the words are those of scikit-learn
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        same_people({"X": X, "y": y, "sensitive_features": sensitive_features})
        X, target = read_X(X, self.__sklearn_tags__().input_tags.sparse), _check_y(y)
        check_consistent_length(X, target)
        check_classification_targets(target)
        classes, labels = two_classes(np.asarray(target))
        if sensitive_features is None:
            raise ValueError(
                "`sensitive_features` are missing; pass `fit(X, y, sensitive_features=...)`."
            )
        given = read_weight(sample_weight, len(labels))
        weight = with_mean_one(given)
        notion, known = self._read(sensitive_features, len(labels))
        rows, values = read_rows(notion, sensitive_features, labels, weight, known)
        families = families_of(rows, self.max_difference, self.min_ratio, self.min_rate)
        if not families:
            raise ValueError(
                "no limit speaks of any group: attributes have one group only, or are numbers, for "
                "which `max_difference` is."
            )
        if self.retrain and any(row.label >= 0 for row in rows):
            raise ValueError(
                "`retrain=True` is for limits on rates of decisions, not within labels, where "
                "prices take away what labels are worth. For narrow limits on equalized odds pass "
                "`randomize=True` instead."
            )
        if not hasattr(self.estimator, "predict_proba"):
            raise TypeError(
                f"{type(self.estimator).__name__} has no `predict_proba`, which scores are taken "
                "from; wrap it in scikit-learn's `CalibratedClassifierCV`."
            )
        routed = partial(self._fit_params, sensitive_features, params)
        fit_params = routed(None if sample_weight is None else given)
        if self.retrain:
            weighed(self.estimator, routed, given)  # raises before anything is trained
        for name in OPTIONAL:  # of an earlier fit
            self.__dict__.pop(name, None)
        self.classes_, self.rows_, self.seed_ = classes, rows, seed_of(self.random_state)
        folds = folds_of(self.cv, labels, values, self.seed_)
        self.estimator_, scores = self._cross_fit(X, np.asarray(target), folds, fit_params)
        own = scores
        self.blocks_: list[Block] = []
        final: np.ndarray | None = None  # rows that people are expected to have by final models
        said = np.empty((len(labels), 0))  # scores and such rows, as new people would be seen
        if self.use_sensitive:
            member = self._known(sensitive_features, own)
            self.calibration_ = learn_calibration(labels, own, member, weight * known)
            scores = calibrated(own, member, self.calibration_)
            expected = self._known(sensitive_features, scores)
        else:
            expected = self._cross_fit_groups(X, values, weight * known, folds, scores)
            last = self._scores(self.estimator_, X)  # by the final classifier
            said = np.column_stack([last, self._expected(X, last)])
            scores, expected = see_crowds(said, scores, expected)
            final = self._expected(X, scores)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
            elif hasattr(self, name):
                delattr(self, name)
        shares = np.array([row.share for row in rows])
        number = number_of(X, self.seed_) if self.randomize else None
        judges = partial(
            self._judges_of, expected=expected, observed=values / shares, weight=weight,
            labels=labels, number=number,
        )  # fmt: skip
        tuning = judges(self._gain(X, scores))
        promise = self._tune(tuning.sample, families)
        chances: np.ndarray | None = None  # that decisions are worth making, where trained for that
        if self.retrain and promise.rule.duals.any():
            prices = promise.rule.duals / shares
            value = worth(labels, values, prices, threshold_of(self))
            model, tried = self._cross_fit_again(X, value, given, routed, folds, said)
            if tried is not None:
                second = judges(self._gain_again(X, tried, scores, expected, prices))
                again = self._tune(second.sample, families)
                if helps(second, again, tuning, promise):
                    tuning = replace(second, free=tuning.sample.outcome(np.zeros(len(rows))))
                    promise, chances = again, tried
                    self.retrained_, self.prices_ = model, prices
        sample = tuning.sample
        self.duals_ = promise.rule.duals / shares
        if (mix := promise.rule.mix) is not None:
            self.duals_, self.shares_ = mix.duals / shares, mix.shares
        missed = missed_by(sample, promise, families)
        if final is not None and missed[0] == 0:
            seen = replace(sample, predicted=final / shares)
            if chances is not None:
                gain = self._gain_again(X, chances, scores, final, self.prices_)
                seen = replace(seen, gain=gain)
            promise = check_final(sample, seen, promise, families)
        self.limits_met_ = missed[0] == 0
        self.confidence_ = float(promise.confidence)
        before = own if sample.soft else (own > threshold_of(self)).astype(np.float64)
        self.groups_ = rates_of(sample, promise, rows, before)
        self.n_missing_sensitive_ = int((~known).sum())
        self._tuning, self._families = tuning, families  # for `path`
        self.accuracy_ = tuning.cost(promise.rule, families)["accuracy"]
        self.accuracy_before_ = accuracy(sample, before, labels, threshold_of(self))
        told_apart = self.ties == "random" or self.randomize
        apart = None if told_apart else partial(jitter, X, self.seed_)
        warn(sample, promise, self.groups_, missed, self.confidence, apart)
        return self

    def predict(self, X: Array, sensitive_features: Array = None) -> np.ndarray:
        """Return the decisions.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Features, as for `fit`.
        sensitive_features : array-like or data frame, default=None
            Needed with ``use_sensitive=True``, and not used otherwise.

        Returns
        -------
        ndarray of shape (n_samples,)
            One class for each row.
        """
        positive = self.decision_function(X, sensitive_features) > 0
        return np.asarray(self.classes_[positive.astype(int)])

    def decision_function(self, X: Array, sensitive_features: Array = None) -> np.ndarray:
        """Return by how much each person is above the threshold that holds for them.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Features, as for `fit`.
        sensitive_features : array-like or data frame, default=None
            As for `predict`.

        Returns
        -------
        ndarray of shape (n_samples,)
            Positive where the decision is.
        """
        margin = self._margin(X, sensitive_features)
        soft = self.target == "scores"
        return np.clip(margin, 0.0, 1.0) - threshold_of(self) if soft else margin

    def predict_proba(self, X: Array, sensitive_features: Array = None) -> np.ndarray:
        """Return the scores of the two classes: the classifier's own, or fair ones.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Features, as for `fit`.
        sensitive_features : array-like or data frame, default=None
            As for `predict`.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            With ``target="scores"`` the fair scores; else the classifier's, which decisions need
            not follow.
        """
        check_is_fitted(self)
        if self.target == "scores":
            positive = np.clip(self._margin(X, sensitive_features), 0.0, 1.0)
        else:
            positive = self._scores(self.estimator_, X)
        return np.column_stack([1 - positive, positive])

    def summary(self) -> pd.DataFrame:
        """Return the rates of each group, of the people who tuned the rule.

        Returns
        -------
        DataFrame
            One row for each group: its people, its rate before and after with a 95 % interval, and
            whether the limit is promised for new people.
        """
        check_is_fitted(self)
        return pd.DataFrame([vars(group) for group in self.groups_]).set_index("name")

    def path(
        self,
        limits: Any = None,
        X: Array = None,
        y: Array = None,
        sensitive_features: Array = None,
        sample_weight: Array = None,
    ) -> pd.DataFrame:
        """Return what each limit costs, by the people who tuned the rule, or by others.

        Parameters
        ----------
        limits : array-like of float, default=None
            Largest differences (or smallest ratios, where only `min_ratio` is set); by default
            twelve, from no limit that counts to equal rates.
        X : array-like or data frame, default=None
            Features of others who judge, such as people kept out; those of `fit` by default.
        y : array-like, default=None
            Their labels.
        sensitive_features : array-like or data frame, default=None
            Their sensitive columns.
        sample_weight : array-like, default=None
            Their weights.

        Returns
        -------
        DataFrame
            One row for each limit: accuracy, largest difference and smallest ratio of rates, and
            the rate of positive decisions; and whether those who tuned the rule meet the limit. No
            margin is kept, and a classifier that was trained again stays as it is.
        """
        tuning = self._tuned_by()
        others = (X, y, sensitive_features)
        if all(part is None for part in others):
            return path_of(tuning, self._families, limits, tuning)
        if any(part is None for part in others):
            raise ValueError("people who judge need `X`, `y` and `sensitive_features`, all three.")
        return path_of(tuning, self._families, limits, self._judges(*others, sample_weight))

    def plot_path(self, path: pd.DataFrame | None = None, axes: Axes | None = None) -> Axes:
        """Draw accuracy against the limit.

        Parameters
        ----------
        path : DataFrame, default=None
            Of `path`, which is called by default.
        axes : matplotlib.axes.Axes, default=None
            Where to draw; a new figure of pyplot by default.

        Returns
        -------
        matplotlib.axes.Axes
            The axes that were drawn on.
        """
        path = self.path() if path is None else path
        before = path.attrs.get("no limit", self.accuracy_before_)  # not of a table that was read
        return draw_path(path, is_by_ratio(self._families), before, axes)

    def get_metadata_routing(self) -> MetadataRouter:
        """Return who takes what, as scikit-learn's metadata routing asks.

        Returns
        -------
        MetadataRouter
            Of this classifier and its estimator.
        """
        router = MetadataRouter(owner=type(self).__name__).add_self_request(self)
        mapping = MethodMapping().add(caller="fit", callee="fit")
        return router.add(estimator=self.estimator, method_mapping=mapping)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        if hasattr(self.estimator, "__sklearn_tags__"):
            tags.input_tags = self.estimator.__sklearn_tags__().input_tags
        if self.group_estimator is None and not self.use_sensitive:
            tags.input_tags.sparse = False  # the default model of groups reads tables
        return tags

    @property
    def names_(self) -> list[str]:
        """Names of the rows."""
        return [row.name for row in self.rows_]

    def _fit_params(
        self, sensitive: Array, params: dict[str, Any], weight: Array
    ) -> dict[str, Any]:
        """Return what the estimator's `fit` is given besides X and y."""
        own = {"sensitive_features": sensitive, "sample_weight": weight}
        own = {name: value for name, value in own.items() if value is not None}
        if _routing_enabled():
            routed = process_routing(self, "fit", **own, **params)
            return dict(routed.estimator.fit)
        if params:
            raise TypeError(f"fit takes {sorted(params)} only where metadata routing is on.")
        found = {n: v for n, v in own.items() if has_fit_parameter(self.estimator, n)}
        if weight is not None and (name := weight_name(self.estimator)) is not None:
            found[name] = weight  # of a pipeline, its last step
        return found

    def _read(self, sensitive: Array, people: int) -> tuple[Notion, np.ndarray]:
        """Return the notion for these columns, and of whom all are known, (n,) bool."""
        notion = as_encoded(as_notion(self.notion), sensitive)
        found = known_sensitive(notion, sensitive)
        known = np.ones(people, dtype=bool) if found is None else found
        same_length("sensitive_features", len(known), people, "X")
        return notion, known

    def _margin(self, X: Array, sensitive: Array) -> np.ndarray:
        """Return gains less the prices of expected rows; fair scores before they are clipped."""
        gain, expected = self._seen(X, sensitive)
        if not hasattr(self, "shares_"):
            return np.asarray(gain - expected @ self.duals_)
        own = self.duals_[rule_of(self.shares_, number_of(X, self.seed_))]  # (n, d)
        return np.asarray(gain - (expected * own).sum(axis=1))

    def _tune(self, sample: Sample, families: list[Family]) -> Promise:
        if self.confidence is not None:
            many = float(self.new_people)
            share = many / len(sample.gain) if many > 1 and np.isfinite(many) else many
            return keep_promise(sample, families, self.confidence, share)
        d = sample.observed.shape[1]
        rule = tune(sample, families, np.zeros(d))
        outcome = rule.outcome(sample)
        none = np.zeros(d, dtype=bool)
        return Promise(
            rule, np.zeros(d), errors(sample, rule.rates, outcome), np.nan, none, np.zeros(d)
        )

    def _tuned_by(self) -> Judges:
        check_is_fitted(self)
        if not hasattr(self, "_tuning"):
            raise ValueError(
                "a path needs the people of `fit`, whom a file does not hold; fit again."
            )
        return self._tuning

    def _judges(self, X: Array, y: Array, sensitive: Array, sample_weight: Array) -> Judges:
        """Return other people as the rule sees them, and as they are."""
        same_people({"X": X, "y": y, "sensitive_features": sensitive})
        if strange := set(np.unique(np.asarray(y))) - set(self.classes_):
            raise ValueError(
                f"`y` has labels {sorted(map(str, strange))}; those of `fit` are {self.classes_}."
            )
        labels = (np.asarray(y) == self.classes_[1]).astype(int)
        weight = read_weight(sample_weight, len(labels))
        notion, known = self._read(sensitive, len(labels))
        rows, values = read_rows(notion, sensitive, labels, weight, known)
        observed = np.zeros((len(labels), len(self.rows_)))
        place = {row.name: c for c, row in enumerate(rows)}
        for c, row in enumerate(self.rows_):
            if (own := place.get(row.name)) is not None:
                observed[:, c] = values[:, own] / rows[own].share
        gain, expected = self._seen(X, sensitive)
        spread = self._tuning.sample.number is not None
        number = number_of(X, self.seed_) if spread else None
        judges = self._judges_of(gain, expected, observed, weight, labels, number)
        if not hasattr(self, "retrained_"):
            return judges
        free = self._scores(self.estimator_, X) > threshold_of(self)
        return replace(judges, free=free.astype(np.float64))

    def _judges_of(
        self,
        gain: np.ndarray,
        expected: np.ndarray,
        observed: np.ndarray,
        weight: np.ndarray,
        labels: np.ndarray,
        number: np.ndarray | None,
    ) -> Judges:
        shares = np.array([row.share for row in self.rows_])
        soft = self.target == "scores"
        sample = Sample(gain, expected / shares, observed, weight, soft, number=number)
        return Judges(sample, labels, threshold_of(self))

    _check_fitted = staticmethod(check_stored)

    def _check_loaded(self) -> None:
        check_loaded(self)
