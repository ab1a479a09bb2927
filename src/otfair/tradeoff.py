"""The trade-off of fairness and predictive power: models of many strengths, judged and drawn."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import torch
from joblib import Parallel, delayed
from matplotlib.axes import Axes
from matplotlib.text import Annotation
from sklearn.base import clone
from sklearn.model_selection import train_test_split

from otfair._io.arrays import Array, same_length
from otfair._io.progress import track
from otfair._io.settings import LARGEST_COUNT, MOST_RESAMPLES, check_real, check_seed, check_whole
from otfair.distributed import is_dask
from otfair.losses import FairnessLoss, OTFLoss, cloud
from otfair.metrics import (
    DifferenceOf,
    ViolationOf,
    criterion_of,
    draw_counts,
    estimate,
    read_groups,
)
from otfair.models import (
    FairClassifier,
    OTFBoostingClassifier,
    OTFClassifier,
    PartedJudge,
    encoded_columns,
    split_rows,
    with_receivers,
)
from otfair.notions import (
    DemographicParity,
    EqualizedOdds,
    Notion,
    as_notion,
    known_people,
    named_kinds,
)
from otfair.tables import TableEncoder, known_rows, read_two_classes, same_people, take_rows
from otfair.transport import adjusted_otf

ALPHAS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
UNFAIRNESS = {  # what may be drawn, and what to call it
    "violation": "violation of the notion",
    "pdp": "correlation of score and group",
    "peo": "correlation of score and group, given the label",
    "dp_difference": "difference in positive decisions",
    "eo_difference": "difference in true or false positive rates",
    "pp_difference": "difference in positive predictive values",
    "otf_cost": "OTF cost per person",
}
METRICS = ("auc", "log_loss", "accuracy", *UNFAIRNESS)
STRENGTH = "otfair-strength"  # by which our labels of a picture are known
OFFSET, LABEL_SIZE = (5.0, -10.0), (36, 10)  # from a point to its label, and its size, in points


def tradeoff_curve(
    X: Array,
    y: Array,
    *,
    sensitive_features: Array,
    notion: Notion | str | None = None,
    regularizer: str | FairnessLoss | None = None,
    weigh: str | None = None,
    alphas: Iterable[float] | None = None,
    estimator: FairClassifier | None = None,
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
        One or many sensitive columns. People who lack a value are learnt from, and have no part in
        fairness.
    notion : Notion or str, default=None
        The fairness notion; by default that of the `estimator`.
    regularizer : str or FairnessLoss, default=None
        The penalty; by default that of the `estimator`.
    weigh : {"people", "attributes", "groups"}, default=None
        What the penalty is summed over, as for `OTFClassifier`; by default as in the `estimator`.
    alphas : iterable of float, default=None
        Strengths; 0 to 0.9 in steps of 0.1 by default.
    estimator : OTFClassifier or OTFBoostingClassifier, default=None
        A classifier with settings of your own; its `alpha` and `max_violation` are not used. Its
        `cost_features` are columns of a table as it is before encoding.
    test_size, random_state : float and int, default=0.2, 0
        Share of the rows to test on, and seed of the split, which is stratified by label. On Dask
        each row is drawn by itself.
    n_jobs : int, default=1
        Processes to judge the models with; more than one pay for large tables only.
    n_bootstrap : int, default=100
        Resamples of rows for the intervals; without any, as on Dask, they have no width.
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
        ``attrs["receivers"]`` is the `receivers_` of the strength at which it is least sure.

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
    given_alphas = list(ALPHAS if alphas is None else alphas)
    strengths = [check_real("alphas", alpha, 0, 1) for alpha in given_alphas]
    if not strengths:
        raise ValueError("`alphas` must be numbers in [0, 1], at least one; received none.")
    given = {"notion": notion, "regularizer": regularizer, "weigh": weigh}
    if is_dask(X):
        check_whole("n_bootstrap", n_bootstrap, 0, MOST_RESAMPLES)
        check_real("test_size", test_size, 0, 1, "()")
        people = {"X": X, "y": y, "sensitive_features": sensitive_features}
        rows = split_rows(people, test_size, int(check_whole("random_state", random_state, 0)))
        return _parted_curve(rows, estimator, given, strengths, verbose, n_bootstrap)
    labels = read_two_classes(y, "y")
    check_whole("n_bootstrap", n_bootstrap, 0, MOST_RESAMPLES)
    check_seed(random_state)
    if isinstance(test_size, numbers.Integral):
        check_whole("test_size", test_size, 1, len(labels))
    else:
        check_real("test_size", test_size, 0, 1, "()")
    if n_jobs is not None:
        check_whole("n_jobs", n_jobs, -LARGEST_COUNT)
    if sensitive_features is None:
        raise ValueError("`sensitive_features` are missing; pass one or many columns of them.")
    same_length("X", len(X), len(labels), "y")
    known = known_rows(sensitive_features, "sensitive_features")
    same_length("sensitive_features", len(known), len(labels), "y")
    same_people({"X": X, "y": y, "sensitive_features": sensitive_features})
    fit, test = train_test_split(
        np.arange(len(labels)), test_size=test_size, random_state=random_state, stratify=labels
    )
    parts, encoder = [take_rows(X, rows) for rows in (fit, test)], None
    table = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(table, nw.DataFrame) and not isinstance(estimator, OTFBoostingClassifier):
        encoder = TableEncoder().set_output(transform="pandas").fit(parts[0])
        parts = [encoder.transform(part) for part in parts]
    estimator = _settle(estimator, given, encoder)
    split = [
        (name, Z, labels[rows], take_rows(sensitive_features, rows))
        for name, Z, rows in (("train", parts[0], fit), ("test", parts[1], test))
    ]
    for name, _, known, sensitive in split:  # before training, which takes time
        try:
            known_people(as_notion(estimator.notion), sensitive, known)
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
        delayed(_judge_all)(judges, model) for model in models
    )
    rows = track(rows, "judging", len(models), verbose=verbose)
    curve = pd.DataFrame([{"alpha": a, **row} for row, a in zip(rows, strengths)])
    told = [model.receivers_ for model in models]
    curve.attrs["receivers"] = max(filter(None, told), key=_unsure, default=None)
    return curve


def _unsure(told: dict[str, Any]) -> float:
    """Return how wide the interval is of what a sample of receivers does to a penalty."""
    return 0.0 if told["ratio"] is None else float(told["high"] - told["low"])


def _parted_curve(
    rows: dict[str, Any],
    estimator: FairClassifier | None,
    given: dict[str, Any],
    strengths: list[float],
    verbose: bool,
    n_bootstrap: int,
) -> pd.DataFrame:
    """Return the curve of people on Dask's workers, who are divided already."""
    encoder = None
    if rows["train"]["X"].is_table:
        encoder = TableEncoder().fit(rows["train"]["X"])
        for part in rows.values():
            part["X"] = encoder.transform(part["X"])
    settled = _settle(estimator, given, encoder)
    X, y, sensitive = rows["train"].values()
    path = settled.fit_path(X, y, sensitive, strengths)
    models = list(track(path, "training", len(strengths), verbose=verbose))
    judges = {
        name: PartedJudge(part["X"], part["y"], part["sensitive_features"], models[0], n_bootstrap)
        for name, part in rows.items()
    }
    out = []
    for alpha, model in zip(strengths, track(models, "judging", len(models), verbose=verbose)):
        row = {"alpha": alpha}
        for part, judge in judges.items():
            row |= {f"{part}_{name}": value for name, value in _estimates(judge(model)).items()}
        out.append(row)
    curve = pd.DataFrame(out)
    told = [model.receivers_ for model in models]
    curve.attrs["receivers"] = max(filter(None, told), key=_unsure, default=None)
    return curve


def _settle(
    estimator: FairClassifier | None, given: dict[str, Any], encoder: TableEncoder | None
) -> FairClassifier:
    """Return a copy of the classifier, with the settings that were given."""
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
    settled: FairClassifier = clone(estimator)
    settled.set_params(**{name: value for name, value in given.items() if value is not None})
    if settled.cost_features is not None and encoder is not None:
        settled.cost_features = encoded_columns(settled.cost_features, encoder.columns_)
    return settled


class Judge:
    """The people of one part of the split, ready to judge models with bootstrap intervals."""

    def __init__(
        self, X: Array, y: np.ndarray, sensitive: Array, model: FairClassifier, count: int
    ) -> None:
        self.X, self.y = X, y
        loss = model.regularizer
        if not isinstance(loss, OTFLoss):
            loss = OTFLoss(model.notion, model.epsilon, cost=model.cost, scale=model.scale)
        self.epsilon = loss.epsilon
        notion, kinds = as_notion(model.notion), named_kinds(as_notion(model.notion))
        notions = (notion, DemographicParity(**kinds), EqualizedOdds(**kinds))
        self.people = [known_people(n, sensitive, y) for n in notions]
        self.constraints = c = self.people[0].constraints()
        weight, alike = self.people[0].weight, model.cost_features_of(X)
        geometry = cloud(alike, weight, loss.cost, loss.scale)
        geometry.verbose = model.verbose
        self.geometry = with_receivers(geometry, self.people[0], self.epsilon, model.receivers, [0])
        # Now, so that processes need not compute them again.
        self.geometry.soft_distances(
            c.column_types, self.epsilon, c.column_weight, len(c.type_names)
        )
        found, _, self.known = read_groups(sensitive, **kinds)
        groups = [group.codes for group in found]
        self.by_group = DifferenceOf(groups) if groups else None
        self.by_label = DifferenceOf(groups, y) if groups else None
        counts = draw_counts(len(y), count, seed=0)
        self.weights = np.vstack([np.ones(len(y)), counts])  # (1 + B, n)

    def __call__(self, model: FairClassifier) -> dict[str, float]:
        """Return each metric of a model, with the ends of its interval."""
        h, W = model.predict_proba(self.X)[:, 1], self.weights
        a = adjusted_otf(np.clip(h, 1e-12, 1.0), self.geometry, self.constraints, self.epsilon)
        safe = np.clip(h, 1e-15, 1 - 1e-15)
        each = [
            -np.where(self.y == 1, np.log(safe), np.log1p(-safe)),
            (h > 0.5) == self.y,
        ]
        means = W @ np.transpose(each) / W.sum(1)[:, None]  # (1 + B, 2)
        # The cost is homogeneous in the scores, so that these sum to it.
        cost = W @ (a.gradient * h) / (W @ self.known)
        ranks = np.unique(h, return_inverse=True)[1]
        others = np.array([self._by_group(h, ranks, w) for w in W])  # (1 + B, 7)
        found = dict(zip(("log_loss", "accuracy"), means.T))
        found["otf_cost"] = np.maximum(cost, 0.0)  # as every true one is
        names = (
            "auc",
            "violation",
            "pdp",
            "peo",
            "dp_difference",
            "eo_difference",
            "pp_difference",
        )
        found |= dict(zip(names, others.T))
        return _estimates(found)

    def _by_group(self, h: np.ndarray, ranks: np.ndarray, w: np.ndarray) -> list[float]:
        judged, decided = w * self.known, h > 0.5
        weight = torch.from_numpy(judged)
        judged_people = (replace(p, weight=weight) for p in self.people)
        violations = [criterion_of(ViolationOf.name, p)(h) for p in judged_people]
        differences = [np.nan] * 3
        if self.by_group is not None and self.by_label is not None:
            differences = [of(decided, judged) for of in (self.by_group, self.by_label)]
            differences.append(self.by_group(self.y == 1, judged * decided))
        return [_auc(ranks, self.y, w), *violations, *differences]


def _estimates(found: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Return each metric, (1 + B,), with the ends of its interval."""
    out: dict[str, float] = {}
    for name in METRICS:
        values = found[name] if len(found[name]) > 1 else np.repeat(found[name], 2)  # no width
        e = estimate(values)
        out |= {name: e.value, f"{name}_low": e.low, f"{name}_high": e.high}
    return out


def _judge_all(judges: dict[str, Judge], model: FairClassifier) -> dict[str, float]:
    """Judge a model on each part of the split."""
    return {
        f"{part}_{name}": value
        for part, judge in judges.items()
        for name, value in judge(model).items()
    }


def _auc(ranks: np.ndarray, y: np.ndarray, w: np.ndarray) -> float:
    """Weighted area under the ROC curve, from the ranks of the scores; ties count half."""
    positive, negative = (np.bincount(ranks, w * (y == label)) for label in (1, 0))
    pairs = positive.sum() * negative.sum()
    below = np.cumsum(negative) - negative / 2
    return float(positive @ below / pairs) if pairs else np.nan


def plot_tradeoff(
    curves: pd.DataFrame | Mapping[str, pd.DataFrame],
    axes: Axes | None = None,
    *,
    violation: str = "pdp",
    part: str = "test",
) -> Axes:
    """Draw AUC against unfairness, one line for each curve, with 95 % intervals.

    Parameters
    ----------
    curves : pandas.DataFrame or mapping of str to pandas.DataFrame
        A curve of `tradeoff_curve`, or what to call each of several, and the curve.
    axes : matplotlib.axes.Axes, default=None
        Where to draw; a new figure of pyplot by default.
    violation : str, default="pdp"
        What is unfair: "violation" (of the notion trained for), "pdp", "peo", "dp_difference",
        "eo_difference", "pp_difference" or "otf_cost".
    part : {"train", "test"}, default="test"
        The part of the split.

    Returns
    -------
    matplotlib.axes.Axes
        The axes that were drawn on.

    Examples
    --------
    >>> import otfair
    >>> from matplotlib.figure import Figure
    >>> data = otfair.load_dataset("synthetic", n=300)
    >>> curve = otfair.tradeoff_curve(
    ...     data.X, data.y, sensitive_features=data.sensitive_features["sex"], alphas=[0, 0.5],
    ... )
    >>> axes = otfair.plot_tradeoff({"OTF": curve}, Figure().subplots())
    >>> axes.get_xlabel()
    'correlation of score and group (test; less is fairer)'
    """
    if violation not in UNFAIRNESS or part not in ("train", "test"):
        raise ValueError(
            f"`violation` must be one of {', '.join(UNFAIRNESS)} and `part` train or test; "
            f"received {violation!r} and {part!r}."
        )
    if axes is None:
        import matplotlib.pyplot as plt  # only here: it chooses how figures are shown

        axes = plt.figure(figsize=(6, 4), layout="constrained").subplots()
    named = {"": curves} if isinstance(curves, pd.DataFrame) else curves
    for name, curve in named.items():
        x, auc = curve[f"{part}_{violation}"], curve[f"{part}_auc"]
        (line,) = axes.plot(x, auc, "o-", ms=4, lw=1.5, label=name)
        ends = [[v - curve[f"{v.name}_low"], curve[f"{v.name}_high"] - v] for v in (auc, x)]
        yerr, xerr = np.clip(ends, 0, None)
        axes.errorbar(x, auc, yerr, xerr, "none", ecolor=line.get_color(), alpha=0.3, lw=0.8)
        alphas = curve["alpha"].to_numpy()
        for k in {int(alphas.argmin()), int(alphas.argmax())}:
            axes.annotate(
                f"α = {alphas[k]:g}", (x.iloc[k], auc.iloc[k]), OFFSET, fontsize=8, gid=STRENGTH,
                textcoords="offset points", color=line.get_color(),
            )  # fmt: skip
    axes.set(xlabel=f"{UNFAIRNESS[violation]} ({part}; less is fairer)", ylabel=f"AUC ({part})")
    axes.spines[["top", "right"]].set_visible(False)
    if any(named):
        axes.legend(frameon=False, loc="lower right")
    part_labels(axes)
    return axes


def part_labels(axes: Axes) -> None:
    """Move labels of points that coincide below each other, once everything is drawn."""
    axes.autoscale_view()  # limits would else be known at drawing only
    placed: list[tuple[float, float]] = []
    for text in axes.texts:
        if not isinstance(text, Annotation) or text.get_gid() != STRENGTH:
            continue  # not ours
        x, y = axes.transData.transform(text.xy) * 72 / axes.figure.dpi
        (right, down), (width, height) = OFFSET, LABEL_SIZE
        while met := [b for a, b in placed if abs(x - a) < width and abs(y + down - b) < height]:
            down = min(met) - 1.1 * height - y
        text.set_position((right, down))
        placed.append((x, y + down))
