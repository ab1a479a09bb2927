"""Settings of public callables at the edge: `case(seed)` draws a call and odd values for it.

What a call must do with them: return finite numbers, or raise an error that names a setting that
was changed, or say that no solution was found. Nothing else.
"""

from __future__ import annotations

import math
import re
import signal
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

import otfair

N = 40
SECONDS = 120  # no call on so few people takes as long
NUMBERS = (
    0, 0.0, -0.0, -1, -1.0, -1e-300, 5e-324, 1e-320, 1e-308, 1e-300, 1e-200, 1e-150, 1e-100, 1e-50,
    1e-30, 1e-17, 1e-12, 1e-8, 1e-3, 0.1, 1 / 3, 0.5, 1 - 1e-9, 1 - 1e-16, 1, 1.0, 1 + 1e-12, 2,
    2.0, 3, 2.5, 7.0, 1e3, 1e8, 1e17, 1e50, 1e100, 1e150, 1e200, 1e300, 1e308, 1.7e308,
    math.inf, -math.inf, math.nan,
)  # fmt: skip
OF_NUMPY = (
    np.float16(0.1), np.float16(6e-8), np.float32(1e-3), np.float32(1e-45), np.float64(0.5),
    np.float64("nan"), np.float32("inf"), np.longdouble("1e-4000"), np.longdouble("1e4000"),
    np.int8(1), np.int64(2), np.uint8(3), np.int64(-5), np.array(0.1), np.array([0.1, 0.2]),
    np.array([]), np.array("a"), np.datetime64("2020-01-01"), np.complex128(1),
)  # fmt: skip
OTHERS = (
    True, False, np.True_, np.False_, None, "", "0.1", "auto", "nan", "max", b"1", Decimal("0.1"),
    Decimal("NaN"), Decimal("1e-400"), Fraction(1, 10), Fraction(10**400, 3), 10**18, 2**31, 2**63,
    2**64, 10**400, -(10**400), 10**5000, 1j, [], [0.1], (), {}, {"a": 0.1}, set(), object(), len,
    date(2020, 1, 1), torch.tensor(0.1), torch.tensor([0.1, 0.2]), float, ...,
)  # fmt: skip
VALUES = (*NUMBERS, *OF_NUMPY, *OTHERS)
# What an entry of an array may be.
ENTRIES = tuple(v for v in NUMBERS if isinstance(v, float))


@dataclass(frozen=True)
class Call:
    """A callable with people to call it for, and what of it can be set."""

    name: str
    run: Callable[..., Any]  # of settings; returns numbers that must be finite
    numbers: tuple[str, ...]  # settings that are numbers
    vectors: tuple[str, ...] = ()  # arguments with one number for each person
    # Settings of which a large number is work that was asked for.
    work: tuple[str, ...] = ()


@dataclass(frozen=True)
class Case:
    """A call with odd settings."""

    seed: int
    call: Call
    settings: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.seed}: {self.call.name}({shown(self.settings)})"


def shown(settings: dict[str, Any]) -> str:
    """Return settings as they would be written, none of them too long."""
    out = []
    for name, value in settings.items():
        long = isinstance(value, int) and value.bit_length() > 400
        out.append(f"{name}={'a huge int' if long else repr(value)[:200]}")
    return ", ".join(out)


def case(seed: int) -> Case:
    """Draw a call, and odd values of one or two of its settings."""
    rng = np.random.default_rng(seed)
    call = CALLS[rng.integers(len(CALLS))]
    known = call.numbers + call.vectors
    chosen = rng.choice(len(known), size=min(len(known), 1 + (rng.random() < 0.2)), replace=False)
    return Case(seed, call, {known[k]: _value(rng, call, known[k]) for k in chosen})


def _value(rng: np.random.Generator, call: Call, name: str) -> Any:
    if name in call.vectors:
        return _vector(rng)
    while True:
        value = VALUES[rng.integers(len(VALUES))]
        is_number = isinstance(value, int | float | np.number)
        if name not in call.work or not (is_number and 100 < value < 2**64):
            return value


def _vector(rng: np.random.Generator) -> Any:
    """Return numbers of people, of which some or all are at the edge."""
    values = rng.uniform(0.05, 0.95, N)
    some = rng.random(N) < rng.choice([0.03, 0.5, 1.0])
    values[some] = rng.choice(np.array(ENTRIES), size=int(some.sum()))
    kind = rng.integers(4)
    if kind == 0:
        return values.astype(np.longdouble)
    if kind == 1:
        return torch.as_tensor(values)
    return values.tolist() if kind == 2 else values


def failure(case: Case) -> str | None:
    """Return what is wrong with how a call takes its settings, or None."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with _time_limit():
                numbers = case.call.run(**case.settings)
        except otfair.TransportError:
            return None  # which says what to do
        except (ValueError, TypeError) as error:
            named = any(re.search(rf"\b{name}\b", str(error)) for name in case.settings)
            return None if named else f"{type(error).__name__} names no setting: {error}"
        except Exception as error:
            return f"{type(error).__name__}: {error}"
    honest = any(issubclass(w.category, (ConvergenceWarning, otfair.LimitWarning)) for w in caught)
    for w in caught:
        if issubclass(w.category, RuntimeWarning):
            return f"{w.category.__name__}: {w.message}"
    if not honest and not np.isfinite(np.hstack([np.ravel(_plain(x)) for x in numbers])).all():
        return "not finite, without a word"
    return None


def _plain(x: Any) -> Any:
    return x.detach().numpy() if isinstance(x, torch.Tensor) else np.asarray(x, dtype=float)


class _time_limit:
    """Raise where a call does not end; only in a main thread, as signals are."""

    def __enter__(self) -> None:
        def stop(*_: object) -> None:
            raise TimeoutError(f"not done after {SECONDS} s")

        self.before = signal.signal(signal.SIGALRM, stop)
        signal.alarm(SECONDS)

    def __exit__(self, *_: object) -> None:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, self.before)


@cache
def people() -> SimpleNamespace:
    """Return a few people with features, groups, labels and scores."""
    rng = np.random.default_rng(0)
    X, sex = rng.normal(size=(N, 3)), np.array(["a", "b"] * (N // 2))
    y = (X[:, 0] + (sex == "a") + rng.normal(size=N) > 0.5).astype(int)
    return SimpleNamespace(X=X, sex=sex, y=y, scores=rng.uniform(0.05, 0.95, N))


def _cost(cost: Callable[..., Any], **settings: Any) -> Iterable[Any]:
    p, scale = people(), settings.pop("scale", "max")
    scores, weight = settings.pop("scores", p.scores), settings.pop("sample_weight", None)
    fair = otfair.DemographicParity().constraints(p.sex, sample_weight=weight)
    found = cost(scores, otfair.PointCloud(p.X, scale=scale), fair, **settings)
    if isinstance(found, otfair.AdjustedTransport):
        return found.value, found.gradient
    return found.value, found.fair_scores, found.constraint_duals, found.transport_cost


def _penalty(kind: Callable[..., Any], **settings: Any) -> Iterable[Any]:
    p = people()
    logits = torch.linspace(-2, 2, N, dtype=torch.float64, requires_grad=True)
    groups = torch.as_tensor(np.stack([p.sex == "a", p.sex == "b"], 1), dtype=torch.float64)
    value = kind(**settings)(logits, torch.as_tensor(p.X), groups)
    value.backward()
    return value, logits.grad


def _fitted(make: Callable[..., Any], **settings: Any) -> Iterable[Any]:
    p, weight = people(), settings.pop("sample_weight", None)
    model = make(**settings)
    model.fit(p.X, p.y, sensitive_features=p.sex, sample_weight=weight)
    return (model.predict_proba(p.X),)


def _decided(**settings: Any) -> Iterable[Any]:
    p = people()
    if not {"max_difference", "min_ratio", "min_rate"} & {*settings}:
        settings["max_difference"] = 0.2
    if "cost_false_positive" in settings:
        settings.setdefault("cost_false_negative", 1.0)
    settings.setdefault("confidence", None)
    settings.setdefault("cv", 2)
    model = otfair.FairDecisions(LogisticRegression(), **settings)
    model.fit(p.X, p.y, sensitive_features=p.sex)
    return (model.predict(p.X),)


def _audited(**settings: Any) -> Iterable[Any]:
    p = people()
    given = {"scores": p.scores, "labels": p.y, "n_bootstrap": 3, "bounded": False} | settings
    found = otfair.audit(X=p.X, sensitive_features=p.sex, **given)
    found.to_json()
    table = found.summary()
    return table["violation"], table["otf_cost"], table["moved"], table["otf_smooth"]


def _curve(**settings: Any) -> Iterable[Any]:
    p = people()
    if "alphas" in settings:  # a strength, not a list of them
        settings["alphas"] = [settings["alphas"]]
    given = {"alphas": [0.5], "n_bootstrap": 3} | settings
    curve = otfair.tradeoff_curve(p.X, p.y, sensitive_features=p.sex, **given)
    return curve["train_auc"], curve["test_pdp"]


def _metric(metric: Callable[..., Any], *more: str, **settings: Any) -> Iterable[Any]:
    p = people()
    given = {name: getattr(p, {"labels": "y"}.get(name, name)) for name in more}
    return (metric(**{"scores": p.scores, "sensitive_features": p.sex} | given | settings),)


def _scorer(**settings: Any) -> Iterable[Any]:
    p, model = people(), LogisticRegression().fit(people().X, people().y)
    scorer = otfair.make_fair_scorer("roc_auc", **settings)
    return (scorer(model, p.X, p.y, sensitive_features=p.sex),)


def _synthetic(**settings: Any) -> Iterable[Any]:
    data = otfair.make_synthetic(**{"n": 30} | settings)
    return data.truth.scores, data.X.select_dtypes("number").to_numpy(dtype=float)


def _parity(**settings: Any) -> Iterable[Any]:
    p, notion = people(), otfair.PredictiveParity(**settings)
    return (np.asarray(notion.constraints(p.sex, p.y).matrix),)


SMOOTH = ("epsilon", "slack", "scale", "tol", "max_evaluations")
COORDINATE = ("max_sweeps", "tol", "univariate_tol", "residual_tol", "epsilon")
TRAINED = (
    "alpha", "epsilon", "max_violation", "confidence", "new_people", "cv", "validation_fraction",
    "balance", "scale", "random_state",
)  # fmt: skip
BOOSTED = {"n_estimators": 2, "n_jobs": 1, "cv": 2}
THRESHOLD = ("threshold",)
BOTH = ("scores", "sample_weight")


def _bind(run: Callable[..., Any], *first: Any, **fixed: Any) -> Callable[..., Any]:
    return lambda **settings: run(*first, **fixed | settings)


CALLS = (
    Call("smooth_otf", _bind(_cost, otfair.smooth_otf), SMOOTH, BOTH),
    Call("relaxed_otf", _bind(_cost, otfair.relaxed_otf), SMOOTH, BOTH),
    Call("adjusted_otf", _bind(_cost, otfair.adjusted_otf), SMOOTH, BOTH),
    Call("adjusted_otf bounded", _bind(_cost, otfair.adjusted_otf, bounded=True), SMOOTH, BOTH),
    Call("exact_otf", _bind(_cost, otfair.exact_otf), ("slack", "scale"), BOTH),
    Call("smooth_otf coordinate", _bind(_cost, otfair.smooth_otf, solver="coordinate"), COORDINATE,
         work=("max_sweeps",)),
    Call("OTFLoss", _bind(_penalty, otfair.OTFLoss), SMOOTH),
    Call("NormLoss", _bind(_penalty, otfair.NormLoss), ("p", "smoothing")),
    Call("BarycenterLoss", _bind(_penalty, otfair.BarycenterLoss), ("p", "smoothing")),
    Call("CorrelationLoss", _bind(_penalty, otfair.CorrelationLoss), ("smoothing",)),
    Call("OTFClassifier", _bind(_fitted, otfair.OTFClassifier),
         (*TRAINED, "C", "tol", "max_iter"), ("sample_weight",), work=("cv",)),
    Call("OTFClassifier adam", _bind(_fitted, otfair.OTFClassifier, solver="adam", epochs=2),
         ("learning_rate", "epochs", "batch_size", "alpha", "epsilon", "balance"),
         work=("epochs",)),
    Call("OTFBoostingClassifier xgboost",
         _bind(_fitted, otfair.OTFBoostingClassifier, booster="xgboost", **BOOSTED),
         (*TRAINED, "n_estimators", "early_stopping_rounds", "stopping_fraction", "n_jobs"),
         ("sample_weight",), work=("n_estimators", "cv", "n_jobs")),
    Call("OTFBoostingClassifier lightgbm",
         _bind(_fitted, otfair.OTFBoostingClassifier, booster="lightgbm", **BOOSTED,
               min_child_samples=1, min_data_in_bin=1),
         (*TRAINED, "n_estimators", "early_stopping_rounds", "stopping_fraction"),
         ("sample_weight",), work=("n_estimators", "cv")),
    Call("FairDecisions", _decided,
         ("max_difference", "min_ratio", "min_rate", "threshold", "cost_false_positive",
          "cost_false_negative", "confidence", "new_people", "cv", "random_state"), work=("cv",)),
    Call("audit", _audited, ("threshold", "epsilon", "n_bootstrap", "random_state", "receivers"),
         BOTH, work=("n_bootstrap",)),
    Call("tradeoff_curve", _curve,
         ("alphas", "test_size", "random_state", "n_bootstrap", "n_jobs"),
         work=("n_bootstrap", "n_jobs")),
    Call("demographic_parity_difference", _bind(_metric, otfair.demographic_parity_difference),
         THRESHOLD, BOTH),
    Call("equalized_odds_difference", _bind(_metric, otfair.equalized_odds_difference, "labels"),
         THRESHOLD, BOTH),
    Call("predictive_parity_difference",
         _bind(_metric, otfair.predictive_parity_difference, "labels"), THRESHOLD, BOTH),
    Call("predictive_parity_violation",
         _bind(_metric, otfair.predictive_parity_violation, "labels"), ("rate",), BOTH),
    Call("pdp_violation", _bind(_metric, otfair.pdp_violation), (), BOTH),
    Call("peo_violation", _bind(_metric, otfair.peo_violation, "labels"), (), BOTH),
    Call("mean_score_difference", _bind(_metric, otfair.mean_score_difference), (), BOTH),
    Call("neighbour_gap", _bind(_metric, otfair.neighbour_gap, "X"), ("n_neighbors",), BOTH),
    Call("make_fair_scorer", _scorer, ("max_violation", "price")),
    Call("make_synthetic", _synthetic,
         ("n", "female_share", "direct_bias", "proxy_bias", "label_noise", "seed"), work=("n",)),
    Call("PredictiveParity", _parity, ("rate",)),
)  # fmt: skip
