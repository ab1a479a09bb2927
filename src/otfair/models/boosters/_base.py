"""What a booster is to `OTFBoostingClassifier`: train, predict, gains, and a text format."""

from __future__ import annotations

import importlib
import importlib.util
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from otfair.models._objective import OTFObjective

PROVIDED = "it is what this class provides"
ROUNDS = "the rounds of boosting are `n_estimators`"
WEIGHTS = "with the penalty boosters do not know it; pass `sample_weight` instead"
EARLY = "there is no early stopping; choose `n_estimators`, or train with `OTFObjective`"


@dataclass(frozen=True)
class TreeData:
    """People to train a booster on: raw features, categories as codes."""

    X: np.ndarray  # (n, p)
    labels: np.ndarray  # (n,)
    weight: np.ndarray | None  # (n,)
    categories: np.ndarray  # (p,) bool
    names: list[str]  # (p,) of the features

    def allowed_names(self, refused: str) -> list[str] | None:
        """Return the names if they differ and have none of the letters refused, else none."""
        bad = any(letter in name for name in self.names for letter in refused)
        return None if bad or len(set(self.names)) < len(self.names) else self.names


@dataclass(frozen=True)
class Booster(ABC):
    """A trained booster, with the margin at which it started where it does not know it itself."""

    name: ClassVar[str]  # of its package, and of our extra
    rates: ClassVar[tuple[str, ...]]  # what it calls the learning rate
    default_rate: ClassVar[float]
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
                f"({error}). Install it: pip install 'otfair[{cls.name}]'."
            ) from error

    @classmethod
    def is_installed(cls) -> bool:
        """Whether the booster's package is there, without importing it."""
        return importlib.util.find_spec(cls.name) is not None

    @classmethod
    def learning_rate(cls, params: dict[str, Any]) -> float:
        """Return the share of a step that is taken with these parameters."""
        given = [float(params[rate]) for rate in cls.rates if rate in params]
        return max([rate for rate in given if rate > 0], default=cls.default_rate)

    @classmethod
    @abstractmethod
    def train(
        cls, data: TreeData, rounds: int, params: dict[str, Any], objective: OTFObjective | None
    ) -> Self:
        """Train; without an objective, by the booster's own cross-entropy."""

    @classmethod
    def reads(cls, text: str) -> bool:
        """Whether a text is in this booster's format."""
        return text.startswith(cls.text_start)

    @classmethod
    @abstractmethod
    def from_text(cls, text: str, offset: float) -> Self:
        """Return the booster that `to_text` wrote."""

    @abstractmethod
    def to_text(self) -> str:
        """Return the model in the booster's own format."""

    @abstractmethod
    def logits(self, X: np.ndarray) -> np.ndarray:
        """Return the logits of the positive class, (n,)."""

    @abstractmethod
    def gains(self, count: int) -> np.ndarray:
        """Return the gain of all splits by each of `count` features, (p,)."""
