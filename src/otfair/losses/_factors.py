"""By what penalties are multiplied: a balance, and a factor for each part of the rows.

Maths: docs/derivation.md, section 15. They move and are stored with the model, and are never
rounded.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Self

import torch
from torch import Tensor, nn

from otfair.notions import Part

FACTORS = "factors."  # before the names of parts in a `state_dict`


class Factors(nn.Module):
    """The balance of a penalty, and the factors of its parts."""

    balance: Tensor  #: Factor of the penalty, 1 until `balance_` sets it.

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("balance", torch.ones((), dtype=torch.float64))
        self._factors: dict[str, float] = {}
        self._parts: tuple[Part, ...] = ()  # of the dataset's rows

    @property
    def factors(self) -> Mapping[str, float]:
        """Factor of each attribute's (or group's) own penalty, 1 where there is none.

        `balance_` sets them, and so may you: ``loss.factors = {"sex": 1.0, "race": 20.0}``. They
        are in the `state_dict`.
        """
        return MappingProxyType(self._factors)

    @factors.setter
    def factors(self, given: Mapping[str, float]) -> None:
        factors = {str(name): float(factor) for name, factor in given.items()}
        for name, factor in factors.items():
            if not 0 <= factor < torch.inf:
                raise ValueError(f"a factor must be finite and not negative; {name}: {factor!r}.")
        self._check_factors(factors, self._parts)
        self._factors = factors

    @property
    def balances(self) -> float | dict[str, float]:
        """The balance, or where parts are weighed the balance times the factor of each."""
        if len(self._parts) < 2 and not self._factors:
            return float(self.balance)
        names = [part.name for part in self._parts] or list(self._factors)
        return {name: float(self.balance) * self._factors.get(name, 1.0) for name in names}

    @balances.setter
    def balances(self, given: float | Mapping[str, float]) -> None:
        if not isinstance(given, Mapping):
            self.balance.fill_(float(given))
            return
        logs = [math.log(factor) for factor in given.values()]
        mean = math.exp(sum(logs) / len(logs))
        self.factors = {name: factor / mean for name, factor in given.items()}
        self.balance.fill_(mean)

    def _apply(self, fn: Any, recurse: bool = True) -> Self:
        """Move with the model, but let no cast of it round the balance, or overflow it."""
        exact = self.balance
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        self.balance = exact.to(self.balance.device)
        return self

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts of the dataset's rows that are weighed; one, called "", without weighing."""
        return self._parts

    @staticmethod
    def _check_factors(factors: Mapping[str, float], parts: Sequence[Part]) -> None:
        """Raise where a factor is of no part of the dataset's rows, if these are known."""
        names = [part.name for part in parts]
        if parts and (unknown := [name for name in factors if name not in names]):
            raise ValueError(
                f"`factors` names {unknown[0]!r}, but what is weighed is {', '.join(names) or '-'}."
            )

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        for name, factor in self._factors.items():
            destination[f"{prefix}{FACTORS}{name}"] = torch.tensor(factor, dtype=torch.float64)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *more: Any) -> None:
        begin = f"{prefix}{FACTORS}"
        stored = [name for name in state_dict if name.startswith(begin)]
        self.factors = {name[len(begin) :]: float(state_dict.pop(name)) for name in stored}
        super()._load_from_state_dict(state_dict, prefix, *more)
