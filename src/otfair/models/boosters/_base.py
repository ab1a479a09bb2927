"""What a booster is to `OTFBoostingClassifier`: train, predict, gains, and a text format."""

from __future__ import annotations

import importlib
import importlib.util
from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from otfair.models._booster_metric import BoosterMetric
from otfair.models._objective import OTFObjective

PROVIDED = "it is what this class provides"
ROUNDS = "the rounds of boosting are `n_estimators`"
WEIGHTS = "with the penalty boosters do not know it; pass `sample_weight` instead"
EARLY = "pass `early_stopping_rounds`"


@dataclass(frozen=True)
class TreeData:
    """People to train a booster on: raw features, categories as codes."""

    X: np.ndarray  # (n, p)
    labels: np.ndarray  # (n,)
    weight: np.ndarray | None  # (n,)
    categories: np.ndarray  # (p,) bool
    names: list[str]  # (p,) of the features

    def allowed_names(self, refused: str) -> list[str] | None:
        """Return the names if they differ and have none of the letters refused, else none.

        Nor may they have line ends and the like, which the text of a model could not hold.
        """
        fine = [n for n in self.names if n.isprintable() and n and not set(refused) & set(n)]
        return fine if len(set(fine)) == len(self.names) else None


@dataclass(frozen=True)
class Stopping:
    """People kept out of training, and for how many rounds they may find it no better."""

    data: TreeData
    patience: int
    metric: BoosterMetric | None  # of our objective; none for the booster's own cross-entropy


@dataclass(frozen=True)
class Booster(ABC):
    """A trained booster, with the margin at which it started where it does not know it itself."""

    name: ClassVar[str]  # of its package, and of our extra
    # What is set unless the user does: its own defaults learn small tables by heart.
    defaults: ClassVar[dict[str, Any]]
    aliases: ClassVar[dict[str, tuple[str, ...]]]  # other names of these
    text_start: ClassVar[str]  # of its format, and of no other's
    # Parameters that our class provides itself, or that only the booster's own objective heeds, and
    # why. They are refused for every booster: a setting must not change its meaning with it.
    refused: ClassVar[dict[str, str]]

    model: Any
    offset: float = 0.0

    @classmethod
    def package(cls) -> Any:
        """Import the booster's package."""
        try:
            return importlib.import_module(cls.name)
        except ImportError as error:
            raise ImportError(
                f"`booster={cls.name!r}` needs the package {cls.name}, which can't be imported "
                f"({error}). Install it: pip install {cls.name}."
            ) from error

    @classmethod
    def is_installed(cls) -> bool:
        """Whether the booster's package is there, without importing it."""
        return importlib.util.find_spec(cls.name) is not None

    @classmethod
    def learning_rate(cls, params: dict[str, Any]) -> float:
        """Return the share of a step that is taken with these parameters."""
        names = ("learning_rate", *cls.aliases["learning_rate"])
        given = [float(params[rate]) for rate in names if rate in params]
        return max([rate for rate in given if rate > 0], default=cls.defaults["learning_rate"])

    @classmethod
    def with_defaults(cls, params: dict[str, Any]) -> dict[str, Any]:
        """Return parameters with our defaults for those that are given by none of their names."""
        ours = {
            name: value
            for name, value in cls.defaults.items()
            if not any(known in params for known in (name, *cls.aliases.get(name, ())))
        }
        return ours | params

    @classmethod
    @abstractmethod
    def known(cls) -> Collection[str]:
        """Return the names of all parameters that the booster has, by any name; none if unsure."""

    @classmethod
    @abstractmethod
    def train(
        cls,
        data: TreeData,
        rounds: int,
        params: dict[str, Any],
        objective: OTFObjective | None,
        stopping: Stopping | None = None,
    ) -> Self:
        """Train; without an objective, by the booster's own cross-entropy.

        With people to stop by, the trees after the round that they found best are left out.
        """

    @property
    @abstractmethod
    def rounds(self) -> int:
        """Rounds of boosting that the model is made of."""

    @classmethod
    def reads(cls, text: str) -> bool:
        """Whether a text is in this booster's format."""
        return text.startswith(cls.text_start)

    @classmethod
    @abstractmethod
    def rewritten(cls, text: str, levels: list[int | None]) -> str:
        """Return the model of a text that anybody may have written, checked and written anew.

        `levels` are the numbers of categories of each feature, None for numbers. Whatever is not
        sound is a `ValueError`: the booster's own code would crash on it.
        """

    @classmethod
    @abstractmethod
    def from_text(cls, text: str, offset: float) -> Self:
        """Return the booster that `to_text` wrote; the text of a file is `rewritten` before."""

    @abstractmethod
    def to_text(self) -> str:
        """Return the model in the booster's own format."""

    @abstractmethod
    def logits(self, X: np.ndarray) -> np.ndarray:
        """Return the logits of the positive class, (n,)."""

    @abstractmethod
    def gains(self, count: int) -> np.ndarray:
        """Return the gain of all splits by each of `count` features, (p,)."""
