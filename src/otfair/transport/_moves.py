"""Who sends how much score where, derived from a solution: by types, or by pairs of near people.

Maths: docs/derivation.md, sections 5 and 14.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from otfair.geometry import NearestDistances, SoftDistances, TypedColumns


class Moves(Protocol):
    """What a solution says of the people that score comes from and goes to."""

    @property
    def mass(self) -> Tensor:
        """Score from each row person to each type, (n, K)."""

    @property
    def paid(self) -> Tensor:
        """What that costs, (n, K)."""

    def received(self) -> Tensor:
        """Score per unit of weight that each column person gets, (m,)."""

    def plan(self, threshold: float) -> Tensor:
        """Return the coupling, (n, m), sparse, without entries up to a share of their row."""


@dataclass(frozen=True)
class TypeMoves:
    """Score goes to types, and spreads over their people as their distances say."""

    mass: Tensor  # (n, K)
    spread: SoftDistances | NearestDistances

    @property
    def paid(self) -> Tensor:
        return self.mass * self.spread.mean_cost

    def received(self) -> Tensor:
        return self.spread.column_mass(self.mass)

    def plan(self, threshold: float) -> Tensor:
        return self.spread.plan(self.mass, threshold)


@dataclass(frozen=True)
class PlaceMoves:
    """Score goes from people to places, pair by pair."""

    sender: np.ndarray  # (p,) row person
    place: np.ndarray  # (p,)
    amount: np.ndarray  # (p,)
    cost: np.ndarray  # (p,) of a unit
    columns: TypedColumns
    caps: np.ndarray  # (u,) the most that each place may receive
    n_senders: int

    @cached_property
    def mass(self) -> Tensor:
        return self._by_type(self.amount)

    @cached_property
    def paid(self) -> Tensor:
        return self._by_type(self.amount * self.cost)

    def received(self) -> Tensor:
        weight = self.columns.weight
        total = np.minimum(np.bincount(self.place, self.amount, len(weight)), self.caps)
        return self.columns.to_people(torch.as_tensor(total, device=weight.device) / weight)

    def plan(self, threshold: float) -> Tensor:
        people = (self.columns.person_weight > 0).nonzero().squeeze(1).cpu().numpy()
        place = self.columns.member.cpu().numpy()[people]
        weight, total = self.columns.person_weight.cpu().numpy(), self.columns.weight.cpu().numpy()
        shape = (len(total), len(weight))
        spread = sp.csr_array((weight[people] / total[place], (place, people)), shape)
        sent = np.bincount(self.sender, self.amount, self.n_senders)
        whole = (self._pairs(self.amount) @ spread).tocoo()
        i, j = whole.coords
        some = whole.data > threshold * sent[i]
        index = torch.as_tensor(np.stack([i[some], j[some]]).astype(np.int64))
        values = torch.as_tensor(whole.data[some])
        out = torch.sparse_coo_tensor(index, values, whole.shape, check_invariants=True)
        return out.coalesce().to(self.columns.weight.device)

    def _pairs(self, values: np.ndarray) -> sp.csr_array:
        shape = (self.n_senders, len(self.columns.points))
        return sp.csr_array((values, (self.sender, self.place)), shape)

    def _by_type(self, values: np.ndarray) -> Tensor:
        types, K = self.columns.types.cpu().numpy(), self.columns.n_types
        sums = np.bincount(self.sender * K + types[self.place], values, self.n_senders * K)
        return torch.as_tensor(sums.reshape(-1, K), device=self.columns.weight.device)
