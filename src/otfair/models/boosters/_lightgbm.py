"""LightGBM, which has a text format of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from otfair._io.checks import one_line
from otfair._io.settings import as_real
from otfair.models._objective import OTFObjective
from otfair.models.boosters._base import (
    EARLY,
    PROVIDED,
    ROUNDS,
    WEIGHTS,
    Booster,
    Stopping,
    TreeData,
)
from otfair.models.boosters._lightgbm_text import rewritten

# The fewest people of a leaf, by all its names; 20 unless it is set.
LEAF = (
    "min_child_samples", "min_data_in_leaf", "min_data_per_leaf", "min_samples_leaf", "min_data",
)  # fmt: skip


@dataclass(frozen=True)
class LightGBM(Booster):
    """A trained ``lightgbm.Booster``."""

    name: ClassVar[str] = "lightgbm"
    defaults: ClassVar[dict[str, Any]] = {"learning_rate": 0.1, "reg_lambda": 10}
    aliases: ClassVar[dict[str, tuple[str, ...]]] = {
        "learning_rate": ("eta", "shrinkage_rate"),
        "reg_lambda": ("lambda_l2", "lambda"),
    }
    text_start: ClassVar[str] = "tree"
    refused: ClassVar[dict[str, str]] = {
        "objective": PROVIDED,
        **dict.fromkeys(
            ("num_iterations", "num_iteration", "num_boost_round", "num_round", "num_rounds",
             "n_iter", "nrounds", "num_trees", "num_tree", "max_iter", "n_iterations"), ROUNDS,
        ),
        **dict.fromkeys(("scale_pos_weight", "is_unbalance", "unbalance", "class_weight"), WEIGHTS),
        **dict.fromkeys(("sigmoid", "boost_from_average"), "the penalty takes the plain logit"),
        "boost": "it is too like `booster`, which names the library; pass it as `boosting`",
        "cat_feature": "columns of text, booleans and categories are the categories",
        **dict.fromkeys(("early_stopping_round", "early_stopping", "n_iter_no_change"), EARLY),
    }  # fmt: skip

    @classmethod
    def known(cls) -> frozenset[str]:
        # LightGBM has no public list; without this one, parameters go unchecked, as it takes them.
        listed = getattr(cls.package().basic, "_ConfigAliases", None)
        if listed is None:
            return frozenset()
        listed.get("verbosity")  # it reads them at first use
        return frozenset(
            {*listed.aliases, *(a for names in listed.aliases.values() for a in names)}
        )

    @classmethod
    def train(
        cls,
        data: TreeData,
        rounds: int,
        params: dict[str, Any],
        objective: OTFObjective | None,
        stopping: Stopping | None = None,
    ) -> Self:
        lightgbm = cls.package()
        params, offset, start = {"verbosity": -1, **params}, 0.0, None
        if objective is None:
            params["objective"] = "binary"
        else:
            # LightGBM copies its parameters, and would copy an object with its people: a function.
            params["objective"] = lambda margins, rows: objective(margins, rows)
            _refuse_few(len(data.labels), params)
            start = objective.init_score
            offset = float(start[0])
        rows = lightgbm.Dataset(
            data.X,
            data.labels,
            weight=data.weight,
            init_score=start,
            feature_name=data.allowed_names('",:[]{} ') or "auto",
            categorical_feature=np.flatnonzero(data.categories).tolist(),
            params={name: value for name, value in params.items() if name != "objective"},
            free_raw_data=False,
        )
        if objective is not None:
            _refuse_alike(rows, params)
        if stopping is None:
            return cls(cls._trained(params, rows, rounds), offset)
        some = stopping.data
        begin = None if start is None else np.full(len(some.labels), offset)
        kept_out = rows.create_valid(some.X, some.labels, weight=some.weight, init_score=begin)
        stop = lightgbm.early_stopping(stopping.patience, verbose=False)
        judged = {"metric": "binary_logloss" if stopping.metric is None else "None"}
        model = cls._trained(
            params | judged, rows, rounds,
            valid_sets=[kept_out], feval=stopping.metric, callbacks=[stop],
        )  # fmt: skip
        return cls.from_text(model.model_to_string(), offset)  # without the trees after the best

    @classmethod
    def _trained(cls, params: dict[str, Any], rows: Any, rounds: int, **more: Any) -> Any:
        """Train; what LightGBM can't train on is a `ValueError`."""
        lightgbm = cls.package()
        try:
            return lightgbm.train(params, rows, rounds, **more)
        except lightgbm.basic.LightGBMError as error:
            raise ValueError(
                f"LightGBM can't train on these people ({one_line(str(error))}). Pass more of "
                "them, features that differ between them, or other parameters."
            ) from error

    @classmethod
    def rewritten(cls, text: str, levels: list[int | None]) -> str:
        return rewritten(text, levels)

    @classmethod
    def from_text(cls, text: str, offset: float) -> Self:
        return cls(cls.package().Booster(model_str=text), offset)

    def to_text(self) -> str:
        return str(self.model.model_to_string())

    def logits(self, X: np.ndarray) -> np.ndarray:
        raw = self.model.predict(X, raw_score=True)
        return np.asarray(raw, dtype=np.float64) + self.offset

    @property
    def rounds(self) -> int:
        return int(self.model.current_iteration())

    def gains(self, count: int) -> np.ndarray:
        return np.asarray(self.model.feature_importance("gain"), dtype=np.float64)


def _smallest_leaf(params: dict[str, Any]) -> float:
    return next((as_real(params[name]) or 0.0 for name in LEAF if name in params), 20.0)


def _refuse_few(people: int, params: dict[str, Any]) -> None:
    """Raise where no tree can have two leaves, on which LightGBM fails."""
    smallest = _smallest_leaf(params)
    if people < 2 * smallest:
        raise ValueError(
            f"LightGBM can't split {people} people into two leaves of at least {smallest:g} each "
            "(`min_child_samples`). Pass a smaller `min_child_samples`, such as "
            f"{max(1, people // 10)}, or more people."
        )


def _refuse_alike(rows: Any, params: dict[str, Any]) -> None:
    """Raise where no feature has two bins, on which LightGBM prints and fails."""
    rows.construct()
    if not any(rows.feature_num_bin(j) for j in range(rows.num_feature())):
        raise ValueError(
            "LightGBM can't train on these people: no feature divides them into two leaves of at "
            f"least {_smallest_leaf(params):g} each (`min_child_samples`). Pass features that "
            "differ between them, a smaller `min_child_samples`, or more people."
        )
