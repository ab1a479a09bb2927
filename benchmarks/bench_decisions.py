r"""Fair decisions against their peers: test gap, accuracy and time, on the same splits and models.

    python benchmarks/bench_decisions.py --datasets adult/sex bank/age_binned --methods margin plain
    PYTHONPATH=folder/of/error-parity python benchmarks/bench_decisions.py --methods error_parity

Tables are split 70/30 by the seeds; of ACSIncome, 120000 people of one part train and 150000 of the
other test. What is done already is in the file, which is replaced in one step after every run, so
that a run that was stopped goes on. docs/decisions.py makes the tables and the figure.

How long a million people take (the first limit of a method trains the models of its folds):

    python benchmarks/bench_decisions.py --datasets loans/origin --seeds 0 --bases logistic \
        --methods plain margin --limits 0.05 0.02

Models are trained once for all limits of a split, so `seconds` is what a method takes besides them.
`train` and `predict` are seconds of processor with them: what is found trained already counts with
the time that it took.
Methods that post-process scores (fair decisions, fairlearn's ThresholdOptimizer, error-parity)
tune on scores of people whom the model has not seen, by five folds. Gaps of methods that decide by
chance are of expected rates.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import joblib
import numpy as np
import pandas as pd
import torch
from fairlearn.postprocessing import ThresholdOptimizer
from fairlearn.reductions import DemographicParity, EqualizedOdds, ExponentiatedGradient
from rows import Rows
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from xgboost import XGBClassifier

import otfair
from otfair.datasets._adult import COLUMNS
from otfair.decisions import _groups

RESULTS = Path("docs/decisions.csv")
TABLES = (
    "adult/sex", "adult/race", "bank/age_binned", "dutch/sex", "diabetes/gender",
    "acs_income/sex", "acs_income/race",
)  # fmt: skip
MILLION = "loans/origin"  # a made-up table, for time: see below
TRAIN, TEST = 120_000, 150_000  # people of ACSIncome
LIMITS = {"demographic_parity": (0.05, 0.02, 0.01), "equalized_odds": (0.05, 0.02)}
ALPHAS = (0.7, 0.9, 0.97, 0.99, 0.999)
SMALLER = {"n_estimators": 200, "max_depth": 5}  # booster
LARGER = {"n_estimators": 300, "max_depth": 6}  # for ACSIncome
SIZE = dict(SMALLER)  # that of the table at hand
LARGE = 0.005  # share of people, from which a group is called large
REDUCTIONS = {"logistic": 50, "boosted": 20}  # of ExponentiatedGradient; fairlearn's default is 50
DRAWS = 20  # of decisions by chance, where expected ones are not offered
KEY = ["table", "base", "notion", "seed", "method", "setting"]


def codes(X: pd.DataFrame) -> np.ndarray:
    """Numbers for trees: categories in their order."""
    columns = [c.cat.codes if isinstance(c.dtype, pd.CategoricalDtype) else c for _, c in X.items()]
    return np.column_stack(columns).astype(np.float32)


def logistic() -> Any:
    return LogisticRegression(max_iter=300)


def booster() -> Any:
    return XGBClassifier(learning_rate=0.1, n_jobs=1, **SIZE)


BASES: dict[str, Callable[[], Any]] = {
    "logistic": lambda: make_pipeline(otfair.TableEncoder(), logistic()),
    "boosted": lambda: make_pipeline(FunctionTransformer(codes), booster()),
}
TRAINED: dict[Any, tuple[Any, float]] = {}  # models of the split at hand, and their seconds
SPENT: dict[str, float] = defaultdict(float)  # seconds that were saved, and those of predicting


def clock() -> float:
    """Return seconds of processor, as if nothing had been found trained already."""
    return time.process_time() + SPENT["saved"]


def once(key: Any, make: Callable[[], Any]) -> Any:
    """Return what was made for this key in this split."""
    if key in TRAINED:
        SPENT["saved"] += TRAINED[key][1]
    else:
        began = clock()
        made = make()
        TRAINED[key] = made, clock() - began
    return TRAINED[key][0]


@contextmanager
def predicting() -> Iterator[None]:
    """Count what is done within as predicting, of new people."""
    began = clock()
    yield
    SPENT["predict"] += clock() - began


class Base(ClassifierMixin, BaseEstimator):
    """A classifier that is trained once on the same people."""

    def __init__(self, name: str) -> None:
        self.name = name

    def fit(self, X: pd.DataFrame, y: np.ndarray, sample_weight: np.ndarray | None = None) -> Base:
        """Train, or find what was trained."""
        self.classes_ = np.unique(y)
        key = (self.name, joblib.hash((X.index.to_numpy(), y, sample_weight)))
        model = BASES[self.name]()
        weighed = {}
        if sample_weight is not None:
            weighed[f"{model.steps[-1][0]}__sample_weight"] = sample_weight
        self.model_ = once(key, lambda: model.fit(X, y, **weighed))
        return self

    def predict_proba(self, X: pd.DataFrame) -> np.ndarray:
        """Return the scores of the two classes."""
        return np.asarray(self.model_.predict_proba(X))


learn = _groups.learn
_groups.learn = lambda rows, values, features, weight: once(
    ("groups", joblib.hash((values, features))), lambda: learn(rows, values, features, weight)
)


def adult_all() -> SimpleNamespace:
    """Adult as in LinearPost's paper: with race as a feature and people who miss values."""
    train, test = sorted(otfair.locate_dataset("adult").values())
    parts = [
        pd.read_csv(path, names=COLUMNS, skiprows=skip, skipinitialspace=True)
        for path, skip in ((train, 0), (test, 1))
    ]
    table = pd.concat(parts, ignore_index=True)
    table = table.apply(lambda c: c.astype("category") if c.dtype.kind not in "if" else c)
    label = table["income-per-year"].astype(str).str.startswith(">50K").to_numpy(dtype=int)
    X = table.drop(columns=["income-per-year", "fnlwgt", "sex"])
    return SimpleNamespace(X=X, y=label, sensitive_features=table[["sex"]])


def loans() -> Any:
    """Made-up applications, so many that a million train."""
    return otfair.load_dataset("synthetic", n=1_428_572)


LOADERS: dict[str, Callable[[], Any]] = {"adult_all": adult_all, "loans": loans}  # besides ours


class Split:
    """A table, split by a seed."""

    def __init__(self, table: str, seed: int) -> None:
        TRAINED.clear()
        name, attribute = table.split("/")
        SIZE.update(LARGER if name == "acs_income" else SMALLER)
        if name == "acs_income":
            parts = [otfair.load_dataset(name, part=part) for part in ("train", "test")]
            rng = np.random.default_rng(seed)
            rows = [
                np.sort(rng.choice(len(data.y), size, replace=False))
                for data, size in zip(parts, (TRAIN, TEST))
            ]
        else:
            data = LOADERS[name]() if name in LOADERS else otfair.load_dataset(name)
            people = np.arange(len(data.y))
            rows = train_test_split(people, test_size=0.3, random_state=seed, stratify=data.y)
            parts = [data, data]
        (self.X, self.X_test), (self.y, self.y_test), (self.S, self.S_test) = (
            [pick(part)[own] for part, own in zip(parts, rows)]
            for pick in (
                lambda part: part.X.reset_index(drop=True).iloc,
                lambda part: np.asarray(part.y),
                lambda part: np.asarray(part.sensitive_features[attribute].astype(str)),
            )
        )
        self.seed = seed

    def tuning(self, base: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores of training people, by models that have not seen them, and of test."""

        def make() -> np.ndarray:
            own = np.empty(len(self.y))
            for train, test in self.folds():
                model = Base(base).fit(self.X.iloc[train], self.y[train])
                own[test] = model.predict_proba(self.X.iloc[test])[:, 1]
            return own

        return once(("tuning", base), make), self.scores(base)

    def folds(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Return rows that train and rows that are predicted, five times."""
        return StratifiedKFold(5, shuffle=True, random_state=self.seed).split(self.X, self.y)

    def scores(self, base: str) -> np.ndarray:
        """Return the scores of test people."""
        model = Base(base).fit(self.X, self.y)
        with predicting():
            found = once(("scores", base), lambda: model.predict_proba(self.X_test)[:, 1])
        return found.astype(np.float64)

    def matrices(self, base: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the features of training and test people as numbers."""
        if base == "boosted":
            return codes(self.X), codes(self.X_test)
        return once("encoded", lambda: self._encoded)

    @cached_property
    def _encoded(self) -> tuple[np.ndarray, np.ndarray]:
        encoder = otfair.TableEncoder().fit(self.X)
        return encoder.transform(self.X), encoder.transform(self.X_test)

    def judge(self, decided: np.ndarray, notion: str) -> dict[str, Any]:
        """Return gaps and accuracy of decisions, 0 or 1, or of their chances, on test people."""
        rates = self.rates(decided, notion)
        shares = pd.Series(self.S).value_counts(normalize=True)
        large = {g: v for g, v in rates.items() if shares.get(g[0], 0) >= LARGE}
        y = self.y_test
        right = np.where(y == 1, decided, 1 - decided)
        hits = [right[y == label].mean() for label in (0, 1)]
        if set(np.unique(decided)) <= {0, 1}:
            assert np.isclose(np.mean(hits), balanced_accuracy_score(y, decided))
        ratios = [min(r.values()) / max(max(r.values()), 1e-12) for r in strata(large)]
        return {
            "gap": gap(rates),
            "gap_large": gap(large),
            "ratio_large": min(ratios),
            "accuracy": right.mean(),
            "balanced": np.mean(hits),
        }

    def rates(self, decided: np.ndarray, notion: str) -> dict[tuple[str, Any], float]:
        """Return the rate of each group, in each stratum, on test people."""
        odds = notion == "equalized_odds"
        frame = pd.DataFrame({"d": decided, "s": self.S_test, "y": self.y_test if odds else "all"})
        return frame.groupby(["s", "y"])["d"].mean().to_dict()


def strata(rates: dict[tuple[str, Any], float]) -> list[dict[str, float]]:
    """Return the rates of groups, for each stratum."""
    return [
        {g: v for (g, y), v in rates.items() if y == stratum}
        for stratum in dict.fromkeys(y for _, y in rates)
    ]


def gap(rates: dict[tuple[str, Any], float]) -> float:
    """Return the largest difference of rates between two groups of a stratum."""
    gaps = [max(r.values()) - min(r.values()) for r in strata(rates) if len(r) > 1]
    return max(gaps, default=np.nan)


Runs = Iterator[tuple[float, np.ndarray, dict[str, Any]]]  # setting, decisions, and what is known


def free(split: Split, base: str, notion: str, limits: list[float]) -> Runs:
    yield np.nan, (split.scores(base) > 0.5).astype(float), {}


def fair(**options: Any) -> Callable[..., Runs]:
    def run(split: Split, base: str, notion: str, limits: list[float]) -> Runs:
        for limit in limits:
            model = otfair.FairDecisions(Base(base), notion, max_difference=limit, **options)
            model.fit(split.X, split.y, sensitive_features=split.S)
            given = {"sensitive_features": split.S_test} if model.use_sensitive else {}
            with predicting():
                decided = model.predict(split.X_test, **given).astype(float)
            if hasattr(model, "shares_"):  # as for others who decide by chance: expected decisions
                draws = []
                for model.seed_ in range(DRAWS):
                    draws.append(model.predict(split.X_test, **given))
                decided = np.mean(draws, axis=0, dtype=float)
            known = {"confidence": model.confidence_, "met": model.limits_met_}
            rates = split.rates(decided, notion)
            promised = {}
            for row, group in zip(model.rows_, model.groups_):
                label = row.label if notion == "equalized_odds" else "all"
                name = row.name.split("=", 1)[1].split(" | ")[0]
                promised[name, label] = group.promised
            kept = {g: v for g, v in rates.items() if promised.get(g, False)}
            known |= {
                "gap_promised": gap(kept), "promised": sum(promised.values()),
                "groups": len(promised), "tuning_accuracy": model.accuracy_,
            }  # fmt: skip
            yield limit, decided, known

    return run


class Scores(ClassifierMixin, BaseEstimator):
    """A classifier whose only feature is a score."""

    classes_ = np.array([0, 1])

    def fit(self, X: np.ndarray, y: np.ndarray) -> Scores:
        """Learn nothing."""
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Return the scores."""
        return np.column_stack([1 - X[:, 0], X[:, 0]])


def thresholds(split: Split, base: str, notion: str, limits: list[float]) -> Runs:
    odds = notion == "equalized_odds"  # to which fairlearn gives no tolerance
    for limit in limits[:1] if odds else limits:
        own, new = split.tuning(base)
        model = ThresholdOptimizer(
            estimator=Scores(), constraints=notion, prefit=True, predict_method="predict_proba",
            objective="accuracy_score", tol=None if odds else limit,
        )  # fmt: skip
        model.fit(own[:, None], split.y, sensitive_features=split.S)
        with predicting():
            chances = model._pmf_predict(new[:, None], sensitive_features=split.S_test)[:, 1]
        yield 0.0 if odds else limit, chances, {}


def error_parity(split: Split, base: str, notion: str, limits: list[float]) -> Runs:
    from error_parity import RelaxedThresholdOptimizer  # not among our dependencies

    groups, code = np.unique(split.S, return_inverse=True)
    code_test = np.searchsorted(groups, split.S_test)
    for limit in limits:
        own, new = split.tuning(base)
        model = RelaxedThresholdOptimizer(
            predictor=lambda X: X[:, 0], constraint=notion, tolerance=limit, seed=split.seed
        )
        model.fit(own[:, None], split.y, group=code)
        with predicting():
            draws = [model.predict(new[:, None], group=code_test)]
        draws += [model.predict(new[:, None], group=code_test) for _ in range(DRAWS - 1)]
        yield limit, np.mean(draws, axis=0, dtype=float), {}


def reduction(split: Split, base: str, notion: str, limits: list[float]) -> Runs:
    constraint = DemographicParity if notion == "demographic_parity" else EqualizedOdds
    X, X_test = split.matrices(base)
    for limit in limits:  # which fairlearn takes as the distance from the overall rate
        own = logistic() if base == "logistic" else booster()
        model = ExponentiatedGradient(
            own, constraint(difference_bound=limit / 2), max_iter=REDUCTIONS[base]
        )
        model.fit(X, split.y, sensitive_features=split.S)
        with predicting():
            chances = model._pmf_predict(X_test)[:, 1]
        yield limit, chances, {}


def otf(split: Split, base: str, notion: str, limits: list[float]) -> Runs:
    if base == "logistic":
        X, X_test = split.matrices(base)
        clf = otfair.OTFClassifier(notion, standardize=False)
    else:
        X, X_test = split.X, split.X_test
        clf = otfair.OTFBoostingClassifier("xgboost", notion, learning_rate=0.1, n_jobs=1, **SIZE)
    for model in clf.fit_path(X, split.y, split.S, limits):  # which are alphas here
        with predicting():
            decided = (model.predict_proba(X_test)[:, 1] > 0.5).astype(float)
        yield model.alpha_, decided, {}


METHODS: dict[str, Callable[..., Runs]] = {
    "free": free,
    "margin": fair(),
    "plain": fair(confidence=None),
    "even": fair(confidence=0.5),
    "attribute": fair(confidence=None, use_sensitive=True),
    "mixed": fair(confidence=None, randomize=True),
    "again": fair(confidence=None, retrain=True),
    "mixed_attribute": fair(confidence=None, use_sensitive=True, randomize=True),
    "thresholds": thresholds,
    "error_parity": error_parity,
    "reduction": reduction,
    "otf": otf,
}


ELSEWHERE = ("even", "mixed", "mixed_attribute", "again")  # not of docs/decisions.md
OWN = [m for m in METHODS if m not in ELSEWHERE]
UNTUNED = {"reduction", "otf"}  # methods that need no scores of a classifier
SETTINGS: dict[str, tuple[float, ...]] = {"free": (np.nan,), "otf": ALPHAS}  # else limits


def settings(method: str, notion: str, limits: Sequence[float]) -> list[float]:
    """Return the settings of a method that have a row each."""
    if method in SETTINGS:
        return list(SETTINGS[method])
    if notion == "equalized_odds" and method in ("thresholds", "again"):
        return [0.0] if method == "thresholds" else []  # a second training is for limits on rates
    return list(limits)


def run(chosen: argparse.Namespace) -> None:
    rows, methods = Rows(chosen.output, KEY), Rows(chosen.output, KEY[:-1])

    def known(method: tuple[Any, ...], setting: float) -> bool:
        # A method without settings has NaN for one, which does not equal itself.
        return method in methods if np.isnan(setting) else (*method, float(setting)) in rows

    for table in chosen.datasets:
        for seed in chosen.seeds:
            split: Split | None = None
            for base in chosen.bases:
                for notion in chosen.notions:
                    limits = (chosen.limits or LIMITS)[notion]
                    for method in chosen.methods:
                        own = (table, base, notion, seed, method)
                        left = [s for s in settings(method, notion, limits) if not known(own, s)]
                        if not left:
                            continue
                        split = Split(table, seed) if split is None else split
                        if method not in UNTUNED:
                            split.tuning(base)
                        began, before = time.perf_counter(), (clock(), SPENT["predict"])
                        with warnings.catch_warnings():
                            warnings.simplefilter("ignore")
                            for setting, decided, extra in METHODS[method](
                                split, base, notion, left
                            ):
                                spent = time.perf_counter() - began
                                row = dict(zip(KEY, (*own, setting)))
                                row |= split.judge(decided, notion) | extra | {"seconds": spent}
                                row["predict"] = SPENT["predict"] - before[1]
                                row["train"] = clock() - before[0] - row["predict"]
                                rows.add(row)
                                print(
                                    f"{table} {base} {notion} {seed} {method} {setting}: gap "
                                    f"{row['gap']:.4f}, accuracy {row['accuracy']:.4f}, "
                                    f"{spent:.1f} s", flush=True,
                                )  # fmt: skip
                                began, before = time.perf_counter(), (clock(), SPENT["predict"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--datasets", nargs="+", choices=(*TABLES, MILLION), default=list(TABLES)
    )  # fmt: skip
    parser.add_argument("--seeds", nargs="+", type=int, default=list(range(5)))
    parser.add_argument("--limits", nargs="+", type=float, help="of every notion")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=OWN)
    parser.add_argument("--bases", nargs="+", choices=BASES, default=list(BASES))
    parser.add_argument(
        "--notions", nargs="+", choices=LIMITS, default=["demographic_parity"]
    )  # fmt: skip
    parser.add_argument("--jobs", type=int, default=1, help="threads")
    parser.add_argument("-o", "--output", type=Path, default=RESULTS)
    chosen = parser.parse_args()
    if chosen.limits:
        chosen.limits = dict.fromkeys(chosen.notions, chosen.limits)
    torch.set_num_threads(chosen.jobs)
    run(chosen)


if __name__ == "__main__":
    main()
