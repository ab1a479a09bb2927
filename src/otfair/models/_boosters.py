"""XGBoost and LightGBM behind one door: train, predict, and their own text formats."""

from __future__ import annotations

import importlib
import json
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np

from otfair.models._objective import OTFObjective

BOOSTERS = ("xgboost", "lightgbm")
ROUNDS = "the rounds of boosting are `n_estimators`"
WEIGHTS = "with the penalty boosters do not know it; pass `sample_weight` instead"
EARLY = "there is no early stopping; choose `n_estimators`, or train with `OTFObjective`"
# Parameters of boosters that this class provides itself, or that no objective but their own heeds.
REFUSED = {
    "objective": "it is what this class provides",
    **dict.fromkeys(
        ("num_iterations", "num_iteration", "num_boost_round", "num_round", "num_rounds", "n_iter",
         "nrounds", "num_trees", "num_tree", "max_iter", "n_iterations"), ROUNDS,
    ),
    **dict.fromkeys(("scale_pos_weight", "is_unbalance", "unbalance", "class_weight"), WEIGHTS),
    **dict.fromkeys(("sigmoid", "boost_from_average"), "the penalty takes the plain logit"),
    "boost": "it is too like `booster`, which names the library; pass it as `boosting`",
    "cat_feature": "columns of text, booleans and categories are the categories",
    **dict.fromkeys(("early_stopping_rounds", "early_stopping_round", "early_stopping"), EARLY),
}  # fmt: skip
RATES = ("learning_rate", "eta", "shrinkage_rate")
DEFAULT_RATES = {"xgboost": 0.3, "lightgbm": 0.1}


@dataclass(frozen=True)
class TreeData:
    """People to train a booster on: raw features, categories as codes."""

    X: np.ndarray  # (n, p)
    labels: np.ndarray  # (n,)
    weight: np.ndarray | None  # (n,)
    categories: np.ndarray  # (p,) bool
    names: list[str]  # (p,) of the features


@dataclass(frozen=True)
class Ensemble:
    """A trained booster, and the margin at which it started where it does not know it itself."""

    booster: Any
    offset: float

    def margins(self, X: np.ndarray, categories: np.ndarray) -> np.ndarray:
        """Return the logits of the positive class, (n,)."""
        if type(self.booster).__module__.startswith("xgboost"):
            rows = _matrix(_module("xgboost"), X, categories, self.booster.feature_names)
            raw = self.booster.predict(rows, output_margin=True)
        else:
            raw = self.booster.predict(X, raw_score=True)
        return np.asarray(raw, dtype=np.float64) + self.offset

    def importances(self, count: int) -> np.ndarray:
        """Return each feature's share of the gain of all splits, (p,); zero without splits."""
        if type(self.booster).__module__.startswith("xgboost"):
            names = self.booster.feature_names or [f"f{j}" for j in range(count)]
            gains = self.booster.get_score(importance_type="total_gain")
            found = np.array([float(gains.get(name, 0.0)) for name in names])
        else:
            found = np.asarray(self.booster.feature_importance("gain"), dtype=np.float64)
        return found / (found.sum() or 1.0)


def train(
    name: str, data: TreeData, rounds: int, params: dict[str, Any], objective: OTFObjective | None
) -> Ensemble:
    """Train a booster; without an objective, by its own cross-entropy."""
    run = _train_xgboost if name == "xgboost" else _train_lightgbm
    return run(data, rounds, params, objective)


def check_params(params: dict[str, Any], own: list[str]) -> None:
    """Raise where a parameter is not the booster's to take, or looks like one of our own."""
    for name in params:
        if name in REFUSED:
            raise ValueError(f"`{name}` can't be set here: {REFUSED[name]}.")
        if close := get_close_matches(name, own, 1, 0.8):
            raise ValueError(f"unknown setting `{name}`; did you mean `{close[0]}`?")


def learning_rate(name: str, params: dict[str, Any]) -> float:
    """Return the share of a step that a booster takes."""
    given = [float(params[rate]) for rate in RATES if rate in params]
    return max([rate for rate in given if rate > 0], default=DEFAULT_RATES[name])


def to_text(booster: Any) -> str:
    """Return a booster in its own format: XGBoost's JSON, LightGBM's text."""
    if type(booster).__module__.startswith("xgboost"):
        return str(booster.save_raw("json").decode())
    return str(booster.model_to_string())


def from_text(text: str) -> Any:
    """Return the booster that `to_text` wrote; JSON tells XGBoost's from LightGBM's."""
    if not text.startswith("{"):
        return _module("lightgbm").Booster(model_str=text)
    booster = _module("xgboost").Booster()
    booster.load_model(bytearray(text.encode()))
    return booster


def _module(name: str) -> Any:
    if name not in BOOSTERS:
        raise ValueError(f"unknown booster {name!r}; pass one of {', '.join(BOOSTERS)}.")
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"`booster={name!r}` needs the package {name}, which can't be imported ({error}). "
            f"Install it: pip install 'otfair[{name}]'."
        ) from error


def _matrix(
    xgboost: Any,
    X: np.ndarray,
    categories: np.ndarray,
    names: list[str] | None,
    labels: np.ndarray | None = None,
    weight: np.ndarray | None = None,
) -> Any:
    kinds = ["c" if category else "q" for category in categories]
    return xgboost.DMatrix(
        X, labels, weight=weight, feature_names=names, feature_types=kinds, enable_categorical=True
    )


def _allowed(names: list[str], refused: str) -> list[str] | None:
    """Return the features' names if the booster takes them all, else none."""
    bad = any(letter in name for name in names for letter in refused)
    return None if bad or len(set(names)) < len(names) else names


def _train_xgboost(
    data: TreeData, rounds: int, params: dict[str, Any], objective: OTFObjective | None
) -> Ensemble:
    xgboost = _module("xgboost")
    names = _allowed(data.names, "[]<")
    rows = _matrix(xgboost, data.X, data.categories, names, data.labels, data.weight)
    params = {"objective": "binary:logistic", "verbosity": 1, **params}
    if objective is not None and "base_score" not in params:
        # Where XGBoost itself would start, which it finds for objectives of its own only.
        probe = xgboost.train({**params, "max_depth": 1}, rows, 1)
        learnt = json.loads(probe.save_config())["learner"]["learner_model_param"]["base_score"]
        params["base_score"] = float(learnt.strip("[]"))
    return Ensemble(xgboost.train(params, rows, rounds, obj=objective), 0.0)


def _train_lightgbm(
    data: TreeData, rounds: int, params: dict[str, Any], objective: OTFObjective | None
) -> Ensemble:
    lightgbm = _module("lightgbm")
    params, offset, start = {"verbosity": -1, **params}, 0.0, None
    if objective is None:
        params["objective"] = "binary"
    else:
        # A function, as LightGBM copies its parameters, and would copy an object with its people.
        params["objective"] = lambda margins, rows: objective(margins, rows)
        start = objective.init_score
        offset = float(start[0])
    rows = lightgbm.Dataset(
        data.X,
        data.labels,
        weight=data.weight,
        init_score=start,
        feature_name=_allowed(data.names, '",:[]{} ') or "auto",
        categorical_feature=np.flatnonzero(data.categories).tolist(),
        params={"verbosity": params["verbosity"]},
        free_raw_data=False,
    )
    return Ensemble(lightgbm.train(params, rows, rounds), offset)
