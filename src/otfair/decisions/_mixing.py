"""Several rules over which people are spread, where one alone does not do as well.

Maths: docs/decisions.md, section "Several rules at once". With r_k and g_k the observed rates and
the mean gain of rule k, shares p of people meet the limits best by a program of few variables:

    max_p,u,z  sum_k p_k g_k - PRICE z    s.t.  L sum_k p_k r_k + M u <= q + z,  sum_k p_k = 1

with p, z >= 0. Its duals are prices of rows, which make the next rule, until none is worth more at
these prices than those there are. A number made from a person's features says which rule is theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from otfair.decisions._limits import Inequalities
from otfair.decisions._smooth import PRICE, Sample

ROUNDS = 20  # programs solved at most, each with new rules
PARTS = (0.7, 0.3)  # of the way from the prices of the mixture to the new ones
GAINS = 1e-7  # of mean gain, that a new rule must be worth more
LEAST = 1e-6  # share of people that a rule must have


@dataclass(frozen=True)
class Mix:
    """Rules, and the share of people that each decides about."""

    duals: np.ndarray  # (m, d)
    shares: np.ndarray  # (m,), which add up to 1

    def outcome(self, sample: Sample) -> np.ndarray:
        """Return the decisions, (n,): those of each person's rule."""
        assert sample.number is not None
        each = np.column_stack([sample.outcome(duals) for duals in self.duals])  # (n, m)
        return np.asarray(each[np.arange(len(each)), rule_of(self.shares, sample.number)])


def rule_of(shares: np.ndarray, number: np.ndarray) -> np.ndarray:
    """Return which rule decides about people, (n,), by their numbers in [0, 1)."""
    place = np.searchsorted(np.cumsum(shares), number, side="right")
    return np.asarray(np.minimum(place, len(shares) - 1))


class Mixing:
    """The rules that there are for some people, and the best shares of them."""

    def __init__(self, sample: Sample, duals: Sequence[np.ndarray]) -> None:
        self.sample = sample
        self.duals: list[np.ndarray] = []
        self.rates: list[np.ndarray] = []
        self.gains: list[float] = []
        for own in duals:
            self.add(own)

    def add(self, duals: np.ndarray) -> None:
        """Add a rule, with what it does to everybody."""
        outcome = self.sample.outcome(duals)
        self.duals.append(duals)
        self.rates.append(self.sample.rates(outcome))
        self.gains.append(self.sample.value(outcome))

    def extend(self, limits: Inequalities) -> None:
        """Add rules until the one of the prices is worth no more at them than those there are."""
        for _ in range(ROUNDS):
            shares, prices, worth = self._solve(limits)
            mean = shares @ np.array(self.duals)
            self.add(prices)
            if self.gains[-1] - prices @ self.rates[-1] <= worth + GAINS:
                return
            for part in PARTS:
                self.add(part * prices + (1 - part) * mean)

    def best(self, limits: Inequalities) -> tuple[Mix, np.ndarray]:
        """Return the best mixture, and its rates if shares are met in every group."""
        shares, _, _ = self._solve(limits)
        kept = np.flatnonzero(shares > LEAST)
        shares = shares[kept] / shares[kept].sum()
        return Mix(np.array(self.duals)[kept], shares), shares @ np.array(self.rates)[kept]

    def _solve(self, limits: Inequalities) -> tuple[np.ndarray, np.ndarray, float]:
        """Return the shares, the prices of rows, and what a rule is worth at them."""
        rates, m, f = np.array(self.rates).T, len(self.gains), limits.free.shape[1]  # (d, m)
        k = len(limits.bound)
        matrix = np.hstack([limits.rows @ rates, limits.free, -np.ones((k, 1))])
        whole = np.concatenate([np.ones(m), np.zeros(f + 1)])[None]
        found = linprog(
            np.concatenate([-np.array(self.gains), np.zeros(f), [PRICE]]),
            matrix, limits.bound, whole, [1.0],
            bounds=[(0, None)] * m + [(None, None)] * f + [(0, None)],
        )  # fmt: skip
        if not found.success:  # the first rule alone is always allowed, at a price
            raise RuntimeError(f"HiGHS failed on {m} rules and {k} limits: {found.message}")
        prices = -limits.rows.T @ found.ineqlin.marginals
        return found.x[:m], prices, -float(found.eqlin.marginals[0])
