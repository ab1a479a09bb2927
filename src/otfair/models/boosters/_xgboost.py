"""XGBoost, whose text format is JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from otfair.models._objective import OTFObjective
from otfair.models.boosters._base import (
    PROVIDED,
    ROUNDS,
    WEIGHTS,
    Booster,
    Stopping,
    TreeData,
)
from otfair.models.boosters._xgboost_text import rewritten


@dataclass(frozen=True)
class XGBoost(Booster):
    """A trained ``xgboost.Booster``."""

    name: ClassVar[str] = "xgboost"
    defaults: ClassVar[dict[str, Any]] = {"learning_rate": 0.1, "max_depth": 5, "reg_lambda": 10}
    aliases: ClassVar[dict[str, tuple[str, ...]]] = {
        "learning_rate": ("eta",),
        "reg_lambda": ("lambda",),
    }
    text_start: ClassVar[str] = "{"
    refused: ClassVar[dict[str, str]] = {
        "objective": PROVIDED,
        **dict.fromkeys(("num_boost_round", "num_round", "num_rounds"), ROUNDS),
        "scale_pos_weight": WEIGHTS,
    }

    @classmethod
    def known(cls) -> frozenset[str]:
        xgboost = cls.package()
        rows = xgboost.DMatrix(np.eye(2), np.arange(2))
        settings = json.loads(xgboost.train({"verbosity": 0}, rows, 0).save_config())
        return frozenset({*_names(settings), "verbosity", "eval_metric"})

    @classmethod
    def train(
        cls,
        data: TreeData,
        rounds: int,
        params: dict[str, Any],
        objective: OTFObjective | None,
        stopping: Stopping | None = None,
    ) -> Self:
        xgboost, names = cls.package(), data.allowed_names("[]<\\")
        kinds = ["c" if category else "q" for category in data.categories]

        def rows_of(some: TreeData) -> Any:
            return cls._rows(some.X, names, kinds, label=some.labels, weight=some.weight)

        rows = rows_of(data)
        params = {"objective": "binary:logistic", "verbosity": 1, **start_of(data), **params}
        if objective is not None and "base_score" not in params:
            # Where XGBoost itself would start, which it finds for objectives of its own only.
            probe = xgboost.train({**params, "max_depth": 1}, rows, 1)
            learnt = json.loads(probe.save_config())["learner"]["learner_model_param"]["base_score"]
            params["base_score"] = float(learnt.strip("[]"))
        watched: dict[str, Any] = {}
        if stopping is not None:
            stop = xgboost.callback.EarlyStopping(rounds=stopping.patience, save_best=True)
            watched = {"evals": [(rows_of(stopping.data), "kept_out")], "verbose_eval": False}
            watched |= {"callbacks": [stop], "custom_metric": stopping.metric}
        return cls(xgboost.train(params, rows, rounds, obj=objective, **watched))

    @classmethod
    def rewritten(cls, text: str, levels: list[int | None]) -> str:
        return rewritten(text, levels)

    @classmethod
    def from_text(cls, text: str, offset: float) -> Self:
        xgboost = cls.package()
        with xgboost.config_context(verbosity=0):  # it would print on standard output
            model = xgboost.Booster()
            model.load_model(bytearray(text.encode()))
        return cls(model, offset)

    def to_text(self) -> str:
        return str(self.model.save_raw("json").decode())

    def logits(self, X: np.ndarray) -> np.ndarray:
        rows = self._rows(X, self.model.feature_names, self.model.feature_types)
        raw = self.model.predict(rows, output_margin=True)
        return np.asarray(raw, dtype=np.float64) + self.offset

    @property
    def rounds(self) -> int:
        return int(self.model.num_boosted_rounds())

    def gains(self, count: int) -> np.ndarray:
        names = self.model.feature_names or [f"f{j}" for j in range(count)]
        gains = self.model.get_score(importance_type="total_gain")
        return np.array([float(gains.get(name, 0.0)) for name in names])

    @classmethod
    def _rows(cls, X: np.ndarray, names: list[str] | None, kinds: list[str], **more: Any) -> Any:
        features = {"feature_names": names, "feature_types": kinds, "enable_categorical": True}
        return cls.package().DMatrix(X, **features, **more)


def start_of(data: TreeData) -> dict[str, float]:
    """Return where to start if nearly all weight is on one class, which XGBoost before 3.2 refuses.

    It is where later versions start.
    """
    share = float(np.average(data.labels, weights=data.weight))
    start = min(max(share, 1e-6), 1 - 1e-6)
    return {} if start == share else {"base_score": start}


def _names(settings: Any) -> Iterator[str]:
    """Yield the names of all settings, however deep."""
    if isinstance(settings, list):
        settings = dict(enumerate(settings))
    for name, value in settings.items():
        if isinstance(value, (dict, list)):
            yield from _names(value)
        else:
            yield str(name)
