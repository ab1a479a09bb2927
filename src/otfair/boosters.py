"""XGBoost and LightGBM behind one door: train, predict, and their own text formats."""

from __future__ import annotations

import importlib
import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from otfair.boosting import OTFObjective

BOOSTERS = ("xgboost", "lightgbm")


@dataclass(frozen=True)
class TreeData:
    """People to train a booster on: raw features, categories as codes."""

    X: np.ndarray  # (n, p)
    labels: np.ndarray  # (n,)
    weight: np.ndarray | None  # (n,)
    categories: np.ndarray  # (p,) bool


@dataclass(frozen=True)
class Ensemble:
    """A trained booster, and the margin at which it started where it does not know it itself."""

    booster: Any
    offset: float

    def margins(self, X: np.ndarray, categories: np.ndarray) -> np.ndarray:
        """Return the logits of the positive class, (n,)."""
        if type(self.booster).__module__.startswith("xgboost"):
            rows = _matrix(_module("xgboost"), X, categories)
            raw = self.booster.predict(rows, output_margin=True)
        else:
            raw = self.booster.predict(X, raw_score=True)
        return np.asarray(raw, dtype=np.float64) + self.offset


def train(
    name: str, data: TreeData, rounds: int, params: dict[str, Any], objective: OTFObjective | None
) -> Ensemble:
    """Train a booster; without an objective, by its own cross-entropy."""
    run = _train_xgboost if name == "xgboost" else _train_lightgbm
    return run(data, rounds, params, objective)


def to_text(booster: Any) -> str:
    """Return a booster in its own format: XGBoost's JSON, LightGBM's text."""
    if type(booster).__module__.startswith("xgboost"):
        return str(booster.save_raw("json").decode())
    return str(booster.model_to_string())


def from_text(name: str, text: str) -> Any:
    """Return the booster that `to_text` wrote."""
    module = _module(name)
    if name == "xgboost":
        booster = module.Booster()
        booster.load_model(bytearray(text.encode()))
        return booster
    return module.Booster(model_str=text)


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
    labels: np.ndarray | None = None,
    weight: np.ndarray | None = None,
) -> Any:
    kinds = ["c" if category else "q" for category in categories]
    return xgboost.DMatrix(X, labels, weight=weight, feature_types=kinds, enable_categorical=True)


def _train_xgboost(
    data: TreeData, rounds: int, params: dict[str, Any], objective: OTFObjective | None
) -> Ensemble:
    xgboost = _module("xgboost")
    rows = _matrix(xgboost, data.X, data.categories, data.labels, data.weight)
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
        categorical_feature=np.flatnonzero(data.categories).tolist(),
        params={"verbosity": params["verbosity"]},
        free_raw_data=False,
    )
    return Ensemble(lightgbm.train(params, rows, rounds), offset)
